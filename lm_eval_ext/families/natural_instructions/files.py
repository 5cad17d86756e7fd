"""Task files: what one contains, in either of the two published formats (section 3.2, Figure 3), and where they are.

They are in the public repository, in this package, or in the user's own folder.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_FOLDER, EMBEDDED_NOTE, HUB, RowsError, no_folder, reason

Field = Literal["definition", "prompt", "avoid", "emphasis"]
"""The texts of an instruction that a prompt may show; no published prompt shows the title."""
HEADINGS: Mapping[Field, str] = MappingProxyType(
    {
        "definition": "Definition",
        "prompt": "Prompt",
        "avoid": "Things to Avoid",
        "emphasis": "Emphasis & Caution",
    }
)
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

    def text(self, field: Field) -> str | None:
        """Return one of the text fields."""
        value: str | None = getattr(self, field)
        return value


NONE = "-"
"""The placeholder for an empty field in a version-1 file."""
TITLE, EXAMPLES = "Title", "Examples"
PROMPT, DEFINITION = HEADINGS["prompt"], HEADINGS["definition"]
POSITIVE, NEGATIVE, INSTANCES = "Positive Examples", "Negative Examples", "Instances"


def read(path: Path, task: str) -> Instruction:
    """Return the instruction and the instances of a task file.

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
    file = _File(task, str(path))
    content = file.parsed(path.read_bytes())
    if EXAMPLES in content or TITLE in content or PROMPT in content:
        examples = file.mapping(content.get(EXAMPLES, {}), EXAMPLES)
        definition = file.text(content, DEFINITION)
    elif POSITIVE in content:
        examples = content
        definition = file.merged(content, DEFINITION)
    else:
        raise file.error(
            f"not a task file; expected version 1 ({TITLE}, {PROMPT}, {DEFINITION}, …, {EXAMPLES}, {INSTANCES}) or "
            f"version 2 ({DEFINITION}, {POSITIVE}, {NEGATIVE}, {INSTANCES}); found {', '.join(content) or 'no fields'}"
        )
    return Instruction(
        task=task,
        origin=str(path),
        title=file.text(content, TITLE),
        prompt=file.text(content, PROMPT),
        definition=definition,
        avoid=file.text(content, HEADINGS["avoid"]),
        emphasis=file.text(content, HEADINGS["emphasis"]),
        positive=file.examples(examples, POSITIVE),
        negative=file.examples(examples, NEGATIVE),
        instances=file.instances(content),
    )


@dataclass(frozen=True)
class _File:
    """Reads the parts of a file, with every error message naming the subtask and the file.

    Attributes:
        task: the subtask's name.
        origin: the file.
    """

    task: str
    origin: str

    def error(self, problem: str) -> RowsError:
        return RowsError(f"{self.task} ({self.origin}): {problem}")

    def parsed(self, content: bytes) -> Mapping[str, Any]:
        try:
            found = json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise self.error(f"not JSON in UTF-8 ({error}); expected a task file of version 1 or 2") from error
        if not isinstance(found, dict):
            raise self.error(f"expected one JSON object, found {type(found).__name__}")
        return found

    def mapping(self, value: object, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"{field}: expected an object, found {value!r:.60}")
        return value

    def sequence(self, value: object, field: str) -> Sequence[Any]:
        if not isinstance(value, list):
            raise self.error(f"field {field!r}: expected a list, found {value!r:.60}")
        return value

    def text(self, content: Mapping[str, Any], field: str) -> str | None:
        """Return a text field: empty if the file marks it as empty, ``None`` if the file does not have it.

        Only a value that is exactly ``-`` means empty: the published prompts show ``-`` followed by a space, which some
        files have.
        """
        value = content.get(field)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(f"field {field!r}: expected text, found {value!r:.60}")
        return "" if value == NONE else value

    def merged(self, content: Mapping[str, Any], field: str) -> str | None:
        """Return a text field of version 2: a list, usually with one text (in early commits, just the text)."""
        value = content.get(field)
        if not isinstance(value, list):
            return self.text(content, field)
        if not all(isinstance(part, str) for part in value):
            raise self.error(f"field {field!r}: expected a list of texts, found {value!r:.60}")
        return "\n".join(value)

    def examples(self, content: Mapping[str, Any], field: str) -> tuple[Example, ...]:
        found = enumerate(self.sequence(content.get(field, []), field), start=1)
        return tuple(self._example(value, f"{field}, number {n}") for n, value in found if not _is_none(value))

    def _example(self, value: object, where: str) -> Example:
        example = self.mapping(value, where)
        given, output = (self._required(example, field, where) for field in ("input", "output"))
        reason = self._optional(example, "reason", where) or self._optional(example, "explanation", where)
        return Example(given, output, reason, self._optional(example, "suggestion", where))

    def _value(self, part: Mapping[str, Any], field: str, where: str) -> object:
        if field not in part:
            raise self.error(f"{where}: no field {field!r}; found {', '.join(part) or 'none'}")
        return part[field]

    def _required(self, part: Mapping[str, Any], field: str, where: str) -> str:
        value = self._value(part, field, where)
        if not isinstance(value, str):
            raise self.error(f"{where}, field {field!r}: expected text, found {value!r:.60}")
        return value

    def _optional(self, part: Mapping[str, Any], field: str, where: str) -> str:
        if part.get(field) is None:
            return ""
        value = self._required(part, field, where)
        return "" if value == NONE else value

    def instances(self, content: Mapping[str, Any]) -> tuple[Instance, ...]:
        if INSTANCES not in content:
            raise self.error(f"no field {INSTANCES!r}; found {', '.join(content)}")
        found = self.sequence(content[INSTANCES], INSTANCES)
        if not found:
            raise self.error(f"field {INSTANCES!r}: expected at least one, found none")
        return tuple(self._instance(instance, f"{INSTANCES}, index {n}") for n, instance in enumerate(found))

    def _instance(self, value: object, where: str) -> Instance:
        instance = self.mapping(value, where)
        return Instance(self._required(instance, "input", where), self._outputs(instance, where))

    def _outputs(self, instance: Mapping[str, Any], where: str) -> tuple[str, ...]:
        """Return the references: a list of texts, or a single text in a few files."""
        value = self._value(instance, "output", where)
        outputs = [value] if isinstance(value, str) else value
        if not isinstance(outputs, list) or not outputs:
            raise self.error(f"{where}, field 'output': expected a list of at least one reference, found {value!r:.60}")
        for n, output in enumerate(outputs, start=1):
            if not isinstance(output, str):
                raise self.error(f"{where}, field 'output', number {n}: expected text, found {output!r:.60}")
        return tuple(outputs)


def _is_none(value: object) -> bool:
    """Tell whether an entry in a list of examples is the placeholder for no examples."""
    return isinstance(value, str) and value.strip() == NONE


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
    """Return a subtask's instruction and instances; each file is read once per process.

    Args:
        task: the name of a subtask, or of any task file without its suffix.
        source: ``"hub"``, ``"embedded"`` or the path of a folder with task files of version 1 or 2.

    Raises:
        RowsError: the file is not available, or is not a task file.
    """
    if source == HUB:
        return _downloaded(task)
    folder = _folder(source)
    if not folder.is_dir():
        raise no_folder(source, f"task files, such as {task}.json")
    path = _file(task, folder)
    if path is None:
        found = ", ".join(sorted(entry.stem for entry in folder.glob("*.json"))) or "no task files"
        raise RowsError(
            f"no file for {task!r} in {'the embedded files' if source == EMBEDDED else folder}: expected "
            f"{_expected(task)}; found "
            f"{textwrap.shorten(found, 1500, placeholder=' …')}"
        )
    return _read(path.resolve(), task)


def is_there(task: str, source: str) -> bool:
    """Tell whether a folder (or the embedded files) has a subtask's file; always false for the hub."""
    return source != HUB and _file(task, _folder(source)) is not None


def address(task: str) -> str:
    """Return the URL of a subtask's version-2 file in the public repository."""
    return f"{ADDRESS}/{_names(task)[-1]}.json"


def _names(task: str) -> tuple[str, ...]:
    """Return the possible names of a task's file, without the suffix: the version-1 name and the version-2 name."""
    known = SUBTASKS.get(task)
    return (task, known.version_2) if known else (task,)


def _expected(task: str) -> str:
    return " or ".join(f"{name}.json" for name in _names(task))


def _folder(source: str) -> Path:
    return FOLDER if source == EMBEDDED else Path(source).expanduser()


def _file(task: str, folder: Path) -> Path | None:
    # Version 1 is preferred, because it has all fields.
    return next((path for name in _names(task) if (path := folder / f"{name}.json").is_file()), None)


@cache
def _read(path: Path, task: str) -> Instruction:
    return read(path, task)


def _downloaded(task: str) -> Instruction:
    path = _from_hub(task)
    try:
        return _read(path, task)
    except RowsError as error:
        # Proxies and sign-in portals may answer any request with a page of their own.
        raise RowsError(
            f"{error}\nThis is the cached copy of {address(task)}; delete it to download it again"
        ) from error


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
            "Two other sources work without it:\n"
            f'  --metadata \'{{"source": "/path/to/folder"}}\'  your own copy: {_expected(task)}. '
            "Version 1 has the fields that most encodings need; for the twelve evaluation subtasks it is in the "
            "folder dataset_jsons of the repository allenai/reframing\n"
            f'  --metadata \'{{"source": "{EMBEDDED}"}}\'  {EMBEDDED_NOTE}'
        ) from error
