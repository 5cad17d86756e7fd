"""Subtasks: the paper's 61 (section 3), what a task file contains (section 3.2, Figure 3), and where files are.

``subtasks.tsv`` lists the 61: the names of their files in both published formats, category, source dataset and split.
Section 3.3 names seven categories but not their members. The published evaluation scripts list six (13, 16, 12, 8, 10
and 2 subtasks), without long text generation. The authors' own table of tasks (``tasks/README.md`` in the repository
allenai/natural-instructions, as of 2021) assigns a category to each of the 61, and all seven have members: long text
generation covers subtasks that ask for more than a sentence, namely a pair of questions with their answers (029, 030)
or a story (059). In the scripts' list, these three are among the ten of minimal text modification; nothing else
differs. None of the three is among the twelve evaluation subtasks, so figures per category on the evaluation split are
the same with either list.

Task files are in the public repository, in this package, or in the user's own folder.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from lm_eval_ext.sources import (
    EMBEDDED,
    EMBEDDED_FOLDER,
    EMBEDDED_NOTE,
    HUB,
    IN_COMMANDS,
    RowsError,
    no_folder,
    reason,
)


@dataclass(frozen=True)
class Subtask:
    """One of the 61 subtasks.

    Attributes:
        name: the name of its version-1 file, without the suffix.
        version_2: the name of its version-2 file, without the suffix.
        category: one of ``CATEGORIES``.
        source_dataset: the dataset whose crowdsourcing instructions it was made from (section 3.1, Table 8).
        evaluated: whether it is one of the twelve subtasks of the evaluation split.
    """

    name: str
    version_2: str
    category: str
    source_dataset: str
    evaluated: bool


_, *_ROWS = Path(__file__).with_name("subtasks.tsv").read_text(encoding="utf-8").splitlines()
SUBTASKS: Mapping[str, Subtask] = {
    name: Subtask(name, version_2, category, source_dataset, split == "evaluation")
    for name, version_2, category, source_dataset, split in (row.split("\t") for row in _ROWS)
}
"""Maps names to subtasks, ordered by number."""
EVALUATION = tuple(name for name, subtask in SUBTASKS.items() if subtask.evaluated)
"""The evaluation split (section 4.2): two subtasks of each category except long text generation."""
CATEGORIES = tuple(dict.fromkeys(subtask.category for subtask in SUBTASKS.values()))
OWN = "uncategorised"
"""What stands for the category of subtasks that have none: user-defined ones."""
SOURCE_DATASETS = tuple(dict.fromkeys(subtask.source_dataset for subtask in SUBTASKS.values()))

Field = Literal["definition", "prompt", "avoid", "emphasis"]
"""The texts of an instruction that a prompt may show; no published prompt shows the title."""
HEADINGS: Mapping[Field, str] = {
    "definition": "Definition",
    "prompt": "Prompt",
    "avoid": "Things to Avoid",
    "emphasis": "Emphasis & Caution",
}
"""Maps a field to its name in a prompt and in a version-1 file, in the order in which a prompt shows them."""


@dataclass(frozen=True)
class Example:
    """A positive or negative example of an instruction.

    Attributes:
        input: the input.
        output: the correct output, or an incorrect one in a negative example.
        reason: why the example is good or bad; empty if the file does not say.
        suggestion: how a negative example could be corrected; empty if the file does not say.
    """

    input: str
    output: str
    reason: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Instance:
    """An input of a subtask with its correct outputs.

    Attributes:
        input: the input.
        outputs: the references, at least one.
    """

    input: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """A subtask: its instruction and its instances.

    A field that the file omits on purpose (its value is ``-``) is empty; a field that does not exist in the file's
    format is ``None``. An encoding skips an empty field, but raises an error if a field is ``None``.

    Attributes:
        task: the subtask's name, which is the name of its version-1 file: ``subtask033_winogrande_answer_generation``.
        origin: the file, for messages.
        title: the task in a line.
        prompt: the task in one sentence.
        definition: the detailed instruction. Version-2 files merge all instruction fields into it.
        avoid: what to avoid ("Things to Avoid").
        emphasis: emphasis and warnings ("Emphasis & Caution").
        positive, negative: examples of correct and of incorrect answers.
        instances: the instances in file order, on which the choice of evaluated instances depends.
    """

    task: str
    origin: str
    title: str | None
    prompt: str | None
    definition: str | None
    avoid: str | None
    emphasis: str | None
    positive: tuple[Example, ...]
    negative: tuple[Example, ...]
    instances: tuple[Instance, ...]


NONE = "-"
"""The placeholder for an empty field in a version-1 file."""
TITLE, EXAMPLES = "Title", "Examples"
PROMPT, DEFINITION = HEADINGS["prompt"], HEADINGS["definition"]
POSITIVE, NEGATIVE, INSTANCES = "Positive Examples", "Negative Examples", "Instances"


@cache
def read(path: Path, task: str) -> Instruction:
    """Return the instruction and the instances of a task file; each file is read once per process.

    Args:
        path: a JSON file of version 1 (``Title``, ``Prompt``, … ``Examples``, ``Instances``) or version 2
            (``Definition`` as a list, the examples at the top level).
        task: the subtask's name.

    Returns:
        The instruction, with texts exactly as in the file, including white space. Missing texts are ``None`` and
        missing examples are empty; whether that matters depends on the encoding.

    Raises:
        RowsError: the file has neither format; the message names subtask, file and field.
    """
    origin = f"{task} ({path})"
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{origin}: not JSON in UTF-8 ({error}); expected a task file of version 1 or 2") from error
    if not isinstance(content, dict):
        raise RowsError(f"{origin}: expected one JSON object, found {type(content).__name__}")
    file = _Part(origin, content)
    if {EXAMPLES, TITLE, PROMPT} & content.keys():
        if not isinstance(content.get(EXAMPLES, {}), dict):
            raise file.error(f"expected an object, found {content[EXAMPLES]!r:.60}", EXAMPLES)
        examples, definition = _Part(origin, content.get(EXAMPLES, {})), file.text(DEFINITION)
    elif POSITIVE in content:
        examples, definition = file, content.get(DEFINITION)
        if isinstance(definition, list):
            definition = "\n".join(file.checked(text, f"field {DEFINITION!r}") for text in definition)
        else:
            # In early commits.
            definition = file.text(DEFINITION)
    else:
        raise file.error(
            f"not a task file; expected version 1 ({TITLE}, {PROMPT}, {DEFINITION}, …, {EXAMPLES}, {INSTANCES}) or "
            f"version 2 ({DEFINITION}, {POSITIVE}, {NEGATIVE}, {INSTANCES}); found {', '.join(content) or 'no fields'}"
        )
    file.required(INSTANCES)
    instances = tuple(_instance(part) for part in file.parts(INSTANCES, "index", 0))
    if not instances:
        raise file.error("expected at least one, found none", f"field {INSTANCES!r}")
    return Instruction(
        task=task,
        origin=str(path),
        title=file.text(TITLE),
        prompt=file.text(PROMPT),
        definition=definition,
        avoid=file.text(HEADINGS["avoid"]),
        emphasis=file.text(HEADINGS["emphasis"]),
        positive=tuple(map(_example, examples.parts(POSITIVE, "number", 1))),
        negative=tuple(map(_example, examples.parts(NEGATIVE, "number", 1))),
        instances=instances,
    )


@dataclass(frozen=True)
class _Part:
    """An object in a task file, every error about which names the subtask, the file and the place.

    Attributes:
        origin: the subtask and the file.
        content: the object.
        place: where it is in the file; empty for the file as a whole.
    """

    origin: str
    content: Mapping[str, Any]
    place: str = ""

    def error(self, problem: str, *within: str) -> RowsError:
        where = ", ".join(filter(None, (self.place, *within)))
        return RowsError(": ".join(filter(None, (self.origin, where, problem))))

    def required(self, field: str) -> Any:
        if field not in self.content:
            raise self.error(f"no field {field!r}; found {', '.join(self.content) or 'none'}")
        return self.content[field]

    def text(self, field: str) -> str | None:
        """Return a text field: empty if the file marks it as empty, ``None`` if the file does not have it.

        Only a value that is exactly ``-`` means empty: the published prompts show ``-`` followed by a space, which some
        files have.
        """
        value = self.content.get(field)
        return None if value is None else "" if value == NONE else self.checked(value, f"field {field!r}")

    def required_text(self, field: str) -> str:
        """Return a text field as it stands: an input or an output may be a dash."""
        return self.checked(self.required(field), f"field {field!r}")

    def checked(self, value: object, *within: str) -> str:
        """Return a text, all of which can be put into a prompt and a hash."""
        if not isinstance(value, str):
            raise self.error(f"expected text, found {value!r:.60}", *within)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = f"{value[error.start]!a}"
            raise self.error(
                f"expected text, found half a surrogate pair ({half}); fix or remove it", *within
            ) from error
        return value

    def parts(self, field: str, counted: str, first: int) -> Iterator[_Part]:
        """Yield the objects in a list; a dash in a list of examples stands for none.

        Args:
            field: the field with the list.
            counted: how messages call an object's position.
            first: the position of the first.
        """
        values = self.content.get(field, [])
        if not isinstance(values, list):
            raise self.error(f"expected a list, found {values!r:.60}", f"field {field!r}")
        for position, value in enumerate(values, start=first):
            part = _Part(self.origin, value, f"{field}, {counted} {position}")
            if isinstance(value, dict):
                yield part
            elif field == INSTANCES or not isinstance(value, str) or value.strip() != NONE:
                raise part.error(f"expected an object, found {value!r:.60}")


def _example(part: _Part) -> Example:
    reason = part.text("reason") or part.text("explanation") or ""
    return Example(part.required_text("input"), part.required_text("output"), reason, part.text("suggestion") or "")


def _instance(part: _Part) -> Instance:
    """Return an instance, whose references are a list of texts, or a single text in a few files."""
    input_text, output = part.required_text("input"), part.required("output")
    outputs = [output] if isinstance(output, str) else output
    if not isinstance(outputs, list) or not outputs:
        raise part.error(f"expected a list of at least one reference, found {output!r:.60}", "field 'output'")
    references = enumerate(outputs, start=1)
    return Instance(
        input_text, tuple(part.checked(reference, "field 'output'", f"number {n}") for n, reference in references)
    )


REPOSITORY = "allenai/natural-instructions"
COMMIT = "e0fd31052b21acea5bd95fb00253e1ee1f5d8259"
"""A commit rather than a branch, so that the scores of one version of our tasks rest on one version of the files."""
ADDRESS = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/tasks"
"""The location of the version-2 files. Version 1 was available for download from a site that is now offline.

The subtasks are the same but were revised: in some, the wording or the order of the instances has changed.
"""
FOLDER = EMBEDDED_FOLDER / "natural_instructions"
"""The embedded files, in version 1."""


def instruction(task: str, source: str) -> Instruction:
    """Return a subtask's instruction and instances.

    Args:
        task: the name of a subtask, or of any task file without its suffix.
        source: ``"hub"``, ``"embedded"`` or the path of a folder with task files of version 1 or 2.

    Raises:
        RowsError: the file is not available, or is not a task file.
    """
    if source == HUB:
        path = _from_hub(task)
        try:
            return read(path, task)
        except RowsError as error:
            # Proxies and sign-in portals may answer any request with a page of their own.
            raise RowsError(
                f"{error}\nThis is the cached copy of {address(task)}; delete it to download it again"
            ) from error
    folder = _folder(source)
    if not folder.is_dir():
        raise no_folder(source, f"task files, such as {task}.json")
    found_file = _file(task, folder)
    if found_file is None:
        names = ", ".join(sorted(entry.stem for entry in folder.glob("*.json"))) or "no task files"
        raise RowsError(
            f"no file for {task!r} in {'the embedded files' if source == EMBEDDED else folder}: expected "
            f"{_expected(task)}; found "
            f"{textwrap.shorten(names, 1500, placeholder=' …')}"
        )
    return read(found_file.resolve(), task)


def is_there(task: str, source: str) -> bool:
    """Tell whether a folder (or the embedded files) has a subtask's file; always false for the hub."""
    return source != HUB and _file(task, _folder(source)) is not None


def address(task: str) -> str:
    """Return the URL of a subtask's version-2 file in the public repository."""
    return f"{ADDRESS}/{_names(task)[-1]}.json"


def _names(task: str) -> tuple[str, ...]:
    """Return the possible names of a task's file, without the suffix: the version-1 name and the version-2 name."""
    subtask = SUBTASKS.get(task)
    return (task, subtask.version_2) if subtask else (task,)


def _expected(task: str) -> str:
    return " or ".join(f"{name}.json" for name in _names(task))


def _folder(source: str) -> Path:
    return FOLDER if source == EMBEDDED else Path(source).expanduser()


def _file(task: str, folder: Path) -> Path | None:
    # Version 1 is preferred, because it has all fields.
    return next((path for name in _names(task) if (path := folder / f"{name}.json").is_file()), None)


@cache
def _from_hub(task: str) -> Path:
    import datasets  # noqa: PLC0415 # takes two seconds, and only the hub needs it

    # Without the ETag, a cached copy is used immediately, even when offline.
    manager = datasets.DownloadManager(download_config=datasets.DownloadConfig(use_etag=False))
    try:
        return Path(manager.download(address(task)))
    except Exception as error:
        # The library raises many types, but the user's remedy is always the same. Only the cause says whether there is
        # no connection or no such file.
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        raise RowsError(
            f"the task file of {task!r} could not be loaded from {address(task)}: {reason(cause)}\n"
            f"Two other sources work without it ({IN_COMMANDS}):\n"
            f'  --metadata \'{{"source": "/path/to/folder"}}\'  your own copy: {_expected(task)}. '
            "Version 1 has the fields that most encodings need; for the twelve evaluation subtasks it is in the "
            "folder dataset_jsons of the repository allenai/reframing\n"
            f'  --metadata \'{{"source": "{EMBEDDED}"}}\'  {EMBEDDED_NOTE}'
        ) from error
