"""Subtasks: the table of the 61, what is read from a task file and what is rejected, and where files come from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions import subtasks
from lm_eval_ext.families.natural_instructions.subtasks import (
    CATEGORIES,
    EVALUATION,
    HEADINGS,
    SUBTASKS,
    Example,
    Instance,
    Instruction,
    address,
    instruction,
    is_there,
    read,
)
from lm_eval_ext.sources import RowsError
from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.task_files import CASES, TASK, version_1, version_2, write
from tests.forks import Forks
from tests.loopback import serving_folder
from tests.test_hub import environment

LONG = "long_text_generation"
# The published list, which lacks long text generation, abbreviates the others.
SHORT = dict(zip(("QG", "AG", "IAG", "CF", "MM", "VF"), (name for name in CATEGORIES if name != LONG), strict=True))


def test_61_subtasks_in_seven_categories_are_numbered_without_a_gap() -> None:
    assert [name[7:10] for name in SUBTASKS] == [f"{number:03d}" for number in range(1, 62)]
    assert len(CATEGORIES) == 7


def test_the_evaluation_split_has_two_subtasks_per_category_except_long_text_generation() -> None:
    sizes = Counter(SUBTASKS[name].category for name in EVALUATION)
    assert sizes == {category: 2 for category in CATEGORIES if category != LONG}


def test_a_subtask_is_named_after_its_source_dataset() -> None:
    # Two names abbreviate or misspell it.
    abbreviated = {"miscellaneous": ("miscellaneous", "miscellaenous", "misc")}
    for name, subtask in SUBTASKS.items():
        dataset = subtask.source_dataset
        assert name[11:].startswith(abbreviated.get(dataset, dataset)), name


def test_the_published_list_of_six_differs_only_in_long_text_generation(shared_data: Path) -> None:
    published = json.loads((shared_data / "natural_instructions" / "task_list.json").read_text(encoding="utf-8"))
    assert [task["task"] for task in published] == list(SUBTASKS)
    assert {task["task"] for task in published if task["evaluation_task"]} == set(EVALUATION)
    moved = {task["task"] for task in published if SHORT[task["category"]] != SUBTASKS[task["task"]].category}
    assert {name[7:10] for name in moved} == {"029", "030", "059"}
    assert {SUBTASKS[name].category for name in moved} == {LONG}
    assert {task["category"] for task in published if task["task"] in moved} == {"MM"}


def test_version_2_names_differ_in_their_prefix_and_two_spellings() -> None:
    assert SUBTASKS["subtask001_quoref_question_generation"].version_2 == "task001_quoref_question_generation"
    renamed = {name: subtask.version_2 for name, subtask in SUBTASKS.items() if f"sub{subtask.version_2}" != name}
    assert renamed == {
        "subtask046_miscellaenous_question_typing": "task046_miscellaneous_question_typing",
        "subtask047_misc_answering_science_questions": "task047_miscellaneous_answering_science_questions",
    }


# Task files of both versions

NAMES: Mapping[Any, str] = {"title": "Title", **HEADINGS}
V1 = version_1()
V2 = version_2(V1)
EXAMPLES = V1["Examples"]
POSITIVE = (
    Example("The quay is empty.", "gone", "A ferry that waits is seen."),
    Example("The ramp is down. ", "waiting\n"),
)
INSTANCES = (Instance("Smoke rises behind the cape.", ("gone", "left")), Instance("  Cars queue. ", ("waiting ",)))


def without(content: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != field}


def instance(**fields: object) -> dict[str, Any]:
    """Return a file whose second instance has these fields."""
    return version_1(Instances=[V1["Instances"][0], fields])


def positive(*examples: object) -> dict[str, Any]:
    return version_1(Examples=EXAMPLES | {"Positive Examples": list(examples)})


def read_file(folder: Path, content: object) -> Instruction:
    return read(write(folder, content), TASK)


OF_V1 = Instruction(
    task=TASK,
    origin="",
    title="Where the ferry is",
    prompt="Say whether the ferry waits. ",
    definition="You are told what is seen from the quay.\nAnswer in a word.",
    avoid="",
    emphasis="Fog hides much.  ",
    positive=POSITIVE,
    negative=(Example("The quay is empty.", "lost", "Not a state.", "Say gone."), Example("A horn sounds.", "music")),
    instances=INSTANCES,
)
OF_V2 = replace(
    OF_V1,
    title=None,
    prompt=None,
    definition="You are told what is seen from the quay.\nAnswer in a word.\nFog hides much.  ",
    negative=(Example("The quay is empty.", "lost", "Not a state."), Example("A horn sounds.", "music")),
    avoid=None,
    emphasis=None,
)


@pytest.mark.parametrize(("content", "expected"), [(V1, OF_V1), (V2, OF_V2)], ids=["version 1", "version 2"])
def test_a_file_is_read_verbatim(content: object, expected: Instruction, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    assert read(path, TASK) == replace(expected, origin=str(path))


@pytest.mark.parametrize(
    ("content", "field", "expected"),
    [
        (version_1(**{"Emphasis & Caution": "-"}), "emphasis", ""),
        (version_1(**{"Emphasis & Caution": ""}), "emphasis", ""),
        # Occurs in the published prompts.
        (version_1(**{"Emphasis & Caution": "- "}), "emphasis", "- "),
        (version_1(**{"Emphasis & Caution": " Fog. "}), "emphasis", " Fog. "),
        (version_1(**{"Emphasis & Caution": "-Fog"}), "emphasis", "-Fog"),
        # Older files of version 2 have a plain text here, and reasons by their name in version 1.
        (V2 | {"Definition": "One text."}, "definition", "One text."),
        (V2 | {"Definition": ["One. ", "Two."]}, "definition", "One. \nTwo."),
        (
            V2 | {"Positive Examples": [{"input": "a", "output": "b", "reason": "c"}]},
            "positive",
            (Example("a", "b", "c"),),
        ),
        # Equal instances keep their positions, and a reference need not be in a list.
        (version_1(Instances=[V1["Instances"][0], *V1["Instances"]]), "instances", (INSTANCES[0], *INSTANCES)),
        (instance(input="Fog.", output="gone"), "instances", (INSTANCES[0], Instance("Fog.", ("gone",)))),
    ],
)
def test_a_field_is_kept_in_each_of_its_forms(tmp_path: Path, content: object, field: str, expected: object) -> None:
    assert getattr(read_file(tmp_path, content), field) == expected


@pytest.mark.parametrize("field", NAMES)
def test_a_text_missing_from_a_version_1_file_is_none(tmp_path: Path, field: str) -> None:
    found = read_file(tmp_path, without(V1, NAMES[field]))
    assert {name for name in NAMES if getattr(found, name) is None} == {field}


@pytest.mark.parametrize(
    ("content", "positive", "negative"),
    [
        (version_1(Examples=EXAMPLES | {"Negative Examples": ["-"]}), 2, 0),
        (version_1(Examples=EXAMPLES | {"Negative Examples": ["- "]}), 2, 0),
        (version_1(Examples=EXAMPLES | {"Negative Examples": []}), 2, 0),
        (version_1(Examples=without(EXAMPLES, "Negative Examples")), 2, 0),
        (version_1(Examples=without(EXAMPLES, "Positive Examples")), 0, 2),
        (version_1(Examples={}), 0, 0),
        (without(V1, "Examples"), 0, 0),
        (V2 | {"Negative Examples": ["-"]}, 2, 0),
        (without(V2, "Negative Examples"), 2, 0),
        (V2 | {"Positive Examples": []}, 0, 2),
    ],
)
def test_examples_are_optional(tmp_path: Path, content: dict[str, Any], positive: int, negative: int) -> None:
    found = read_file(tmp_path, content)
    assert (len(found.positive), len(found.negative)) == (positive, negative)


@pytest.mark.parametrize(
    ("parts", "reason", "suggestion"),
    [
        ({}, "", ""),
        ({"reason": "-", "suggestion": "-"}, "", ""),
        ({"reason": "Seen. ", "suggestion": "Say gone. "}, "Seen. ", "Say gone. "),
        ({"explanation": "Seen."}, "Seen.", ""),
        ({"explanation": "-"}, "", ""),
    ],
)
def test_a_reason_or_suggestion_may_be_absent_or_a_dash(
    tmp_path: Path, parts: dict[str, str], reason: str, suggestion: str
) -> None:
    (found,) = read_file(tmp_path, positive({"input": "Fog.", "output": "gone", **parts})).positive
    assert found == Example("Fog.", "gone", reason, suggestion)


CHANGED = {1: V1, 2: V2, "empty": {}}
BROKEN: Mapping[str, tuple[object, str]] = {
    "Latin-1": (b'{"Title": "caf\xe9"}', r"not JSON in UTF-8 \('utf-8' .* position 14"),
    "cut off": ('{"Title": "a",\n "Prompt"', r"not JSON in UTF-8 \(.*line 2 column 10"),
    "nested beyond reason": ("[" * 100_000, "not JSON in UTF-8"),
    "a list": ([V1], "expected one JSON object, found list"),
    **{
        f"{version}: {wrong}": (CHANGED[version] | changes, message)
        for version, cases in CASES["wrong_files"].items()
        for wrong, (changes, message) in cases.items()
    },
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_errors_name_subtask_file_and_field(tmp_path: Path, content: object, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(RowsError, match=rf"^{re.escape(f'{TASK} ({path}): ')}.*{message}"):
        read(path, TASK)


def test_a_long_value_is_shortened_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(RowsError) as raised:
        read_file(tmp_path, version_1(Title=["a" * 10_000]))
    assert str(raised.value).endswith("found ['" + "a" * 58)  # 60 characters


@pytest.fixture(scope="session")
def evaluation_files(shared_data: Path) -> Mapping[Path, dict[str, Any]]:
    """Return the eleven real version-1 files of the evaluation split, with what is in them."""
    paths = sorted((shared_data / "natural_instructions" / "eval_tasks").glob("*.json"))
    return {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}


@pytest.fixture(scope="session")
def shortened_files(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, dict[str, Any]]:
    """Return the 48 real version-1 files with their first twenty instances, with what is in them."""
    folder = tmp_path_factory.mktemp("version-1")
    rows = read_jsonl(shared_data / "natural_instructions" / "tasks_instructions_first20.jsonl")
    return {write(folder, row, row["task"]): row for row in rows}


def test_the_real_evaluation_files_are_read_completely(evaluation_files: Mapping[Path, dict[str, Any]]) -> None:
    read_files = [read(path, path.stem) for path in evaluation_files]
    assert len(read_files) == 11
    # 2 x 430 + 176 + 500 + 4 x 6500 + 2238 + 193 + 312
    assert sum(len(found.instances) for found in read_files) == 30_279
    for content, found in zip(evaluation_files.values(), read_files, strict=True):
        assert [(one.input, list(one.outputs)) for one in found.instances] == [
            (one["input"], one["output"]) for one in content["Instances"]
        ]


def test_the_48_real_instructions_are_read_completely_and_verbatim(
    shortened_files: Mapping[Path, dict[str, Any]],
) -> None:
    read_files = [read(path, path.stem) for path in shortened_files]
    assert [len(found.instances) for found in read_files] == [20] * 48
    assert sum(len(found.positive) for found in read_files) == 200
    assert sum(len(found.negative) for found in read_files) == 94
    assert sum(not found.negative for found in read_files) == 10
    assert all(example.reason for found in read_files for example in found.positive + found.negative)
    # Only a dash in 19 and 7 files, a dash and a blank in 1 and 4; all have titles, prompts and definitions.
    counts = Counter((field, getattr(found, field)) for found in read_files for field in NAMES)
    assert {key: count for key, count in counts.items() if key[1] in ("", "- ", None)} == {
        ("avoid", ""): 19,
        ("emphasis", ""): 7,
        ("avoid", "- "): 1,
        ("emphasis", "- "): 4,
    }
    for content, found in zip(shortened_files.values(), read_files, strict=True):
        texts = {field: content[name] for field, name in NAMES.items()}
        assert {field: getattr(found, field) or "-" for field in NAMES} == texts


def test_a_real_version_2_file_has_the_same_examples_and_instances(
    tmp_path: Path, evaluation_files: Mapping[Path, dict[str, Any]]
) -> None:
    for path, content in evaluation_files.items():
        one = read(path, path.stem)
        two = read(write(tmp_path, version_2(content), path.stem), path.stem)
        assert two.instances == one.instances
        assert two.positive == one.positive
        # Version 2 has no suggestions.
        assert [(e.input, e.output, e.reason) for e in two.negative] == [
            (e.input, e.output, e.reason) for e in one.negative
        ]
        assert two.definition is not None
        assert one.definition is not None
        assert two.definition.startswith(one.definition)
        assert (two.title, two.prompt, two.avoid, two.emphasis) == (None, None, None, None)


# Where task files come from

WINOGRANDE = "subtask033_winogrande_answer_generation"
WINOGRANDE_2 = "task033_winogrande_answer_generation"
TYPING = "subtask046_miscellaenous_question_typing"
TYPING_2 = "task046_miscellaneous_question_typing"
QASC = "subtask040_qasc_question_generation"
QASC_2 = "task040_qasc_question_generation"
ROPES = "subtask059_ropes_story_generation"


@pytest.mark.parametrize(
    ("task", "name", "content"),
    [
        (WINOGRANDE, WINOGRANDE, V1),
        (WINOGRANDE, WINOGRANDE_2, V2),
        (TYPING, TYPING_2, V2),  # spelled otherwise in version 2
        (TASK, TASK, V1),  # a task of the user's own
        (WINOGRANDE_2, WINOGRANDE_2, V2),  # version 2's own name
    ],
)
def test_a_folder_may_contain_either_version(tmp_path: Path, task: str, name: str, content: object) -> None:
    path = write(tmp_path, content, name)
    found = instruction(task, str(tmp_path))
    assert (found.task, found.origin) == (task, str(path))
    assert is_there(task, str(tmp_path))


def test_a_file_can_be_used_under_both_names_in_one_process(tmp_path: Path) -> None:
    write(tmp_path, V2, WINOGRANDE_2)
    assert [instruction(task, str(tmp_path)).task for task in (WINOGRANDE, WINOGRANDE_2)] == [WINOGRANDE, WINOGRANDE_2]


def test_a_folder_named_hub_is_not_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hub").mkdir()
    write(tmp_path / "hub", V1)
    monkeypatch.chdir(tmp_path)
    assert not is_there(TASK, "hub")
    assert is_there(TASK, "./hub")


def test_version_1_is_preferred_if_both_exist(tmp_path: Path) -> None:
    write(tmp_path, V2, WINOGRANDE_2)
    write(tmp_path, V1, WINOGRANDE)
    assert instruction(WINOGRANDE, str(tmp_path)).prompt == V1["Prompt"]


def test_a_file_is_read_once_regardless_of_how_its_folder_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, V1)
    found = instruction(TASK, str(tmp_path))
    path.write_text("changed meanwhile", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert instruction(TASK, str(tmp_path)) is found
    assert instruction(TASK, ".") is found
    assert instruction(TASK, "~") is found


def test_two_folders_are_two_sources(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, version_1(Title=name))
    assert [instruction(TASK, str(tmp_path / name)).title for name in ("one", "two")] == ["one", "two"]


def test_the_error_for_a_missing_subtask_lists_expected_and_existing_files(tmp_path: Path) -> None:
    write(tmp_path, V1, "subtask047_misc_answering_science_questions")
    write(tmp_path, V1)
    message = (
        f"no file for '{TYPING}' in {tmp_path}: expected {TYPING}.json or {TYPING_2}.json; "
        f"found subtask047_misc_answering_science_questions, {TASK}"
    )
    with pytest.raises(RowsError, match=f"^{re.escape(message)}$"):
        instruction(TYPING, str(tmp_path))
    assert not is_there(TYPING, str(tmp_path))


def test_a_custom_task_has_one_name(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=rf": expected {TASK}\.json; found no task files$"):
        instruction(TASK, str(tmp_path))


def test_a_long_list_of_files_is_shortened(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"task{number:03d}.json").touch()
    with pytest.raises(RowsError, match=r"found task000, task001, .* …$") as raised:
        instruction(TASK, str(tmp_path))
    assert len(str(raised.value)) < 2000


def test_a_source_that_is_not_a_folder_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, V1)
    for source in ("embeded", str(path)):
        message = (
            f'source {source!r} is not a folder; expected "hub", "embedded" or the path of a folder with task files'
        )
        with pytest.raises(RowsError, match=re.escape(message)):
            instruction(TASK, source)
        assert not is_there(TASK, source)


def test_the_embedded_subtasks_are_read_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subtasks, "FOLDER", tmp_path)
    for name in (WINOGRANDE, QASC):
        write(tmp_path, V1, name)
    assert instruction(QASC, "embedded").task == QASC
    message = rf"no file for '{ROPES}' in the embedded files: expected .*; found {WINOGRANDE}, {QASC}$"
    with pytest.raises(RowsError, match=message):
        instruction(ROPES, "embedded")


def test_an_address_uses_the_version_2_name() -> None:
    folder = f"https://raw.githubusercontent.com/allenai/natural-instructions/{subtasks.COMMIT}/tasks"
    assert address(TYPING) == f"{folder}/{TYPING_2}.json"
    assert address("task1356_xlsum_title_generation") == f"{folder}/task1356_xlsum_title_generation.json"


# The public repository

# Prints, for every task of the command line, what comes of reading it twice: as two leaves do.
READ = """
import json, sys
from lm_eval_ext.families.natural_instructions import subtasks
from lm_eval_ext.sources import RowsError

subtasks.ADDRESS, *tasks = sys.argv[1:]
for task in tasks:
    try:
        found = subtasks.instruction(task, "hub")
        assert subtasks.instruction(task, "hub") is found
        print(json.dumps([task, len(found.instances), found.origin]))
    except RowsError as error:
        print(json.dumps([task, 0, str(error)]))
"""


def read_from(forks: Forks, address: str, home: Path, *tasks: str, **variables: str) -> dict[str, tuple[int, str]]:
    """Return what a process reads for each subtask: the number of instances, and the file or the error."""
    # A separate process: on import, the library reads where its cache is and whether it may use the network.
    of_process = environment(home, "http://127.0.0.1:1", **variables)
    process = forks.run("-c", READ, address, *tasks, folder=home, environment=of_process)
    assert process.returncode == 0, process.stderr
    return {task: (instances, said) for task, instances, said in map(json.loads, process.stdout.splitlines())}


@dataclass(frozen=True)
class Readings:
    """Two processes that read from a stand-in, which is gone by now.

    Attributes:
        address: of the stand-in.
        got: the paths that it was asked for.
        home: where the library keeps what it fetched.
        first: what the first process read.
        second: what the second one did, after the page in the place of a file was gone from the site and the cache.
    """

    address: str
    got: list[str]
    home: Path
    first: dict[str, tuple[int, str]]
    second: dict[str, tuple[int, str]]


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Readings:
    home, site = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("site")
    for name in (WINOGRANDE_2, TYPING_2):
        write(site, V2, name)
    write(site, "<html>Sign in to the network</html>", QASC_2)
    with serving_folder(site) as (address, got):
        first = read_from(forks, address, home, WINOGRANDE, TYPING, QASC, ROPES)
        write(site, V2, QASC_2)
        kept = re.search(rf"{QASC} \((.*?)\)", first[QASC][1])
        assert kept is not None
        Path(kept[1]).unlink()
        second = read_from(forks, address, home, WINOGRANDE, QASC)
    return Readings(address, got, home, first, second)


def test_a_file_is_downloaded_once_for_all_leaves_and_processes(readings: Readings) -> None:
    assert readings.first[WINOGRANDE][0] == readings.second[WINOGRANDE][0] == readings.first[TYPING][0] == 2
    assert readings.got.count(f"/{WINOGRANDE_2}.json") == 1
    assert readings.got.count(f"/{TYPING_2}.json") == 1


def test_a_file_missing_from_the_site_is_named_with_the_other_sources(readings: Readings) -> None:
    _, said = readings.first[ROPES]
    wanted = f"{readings.address}/task059_ropes_story_generation.json"
    assert said.startswith(
        f"the task file of '{ROPES}' could not be loaded from {wanted}: 404, message='File not found'"
    )
    assert '{"source": "/path/to/folder"}' in said
    assert f"{ROPES}.json or task059_ropes_story_generation.json" in said
    assert "dataset_jsons of the repository allenai/reframing" in said
    assert '{"source": "embedded"}' in said


def test_a_web_page_in_place_of_a_file_is_named_and_can_be_deleted(readings: Readings) -> None:
    _, said = readings.first[QASC]
    assert re.match(rf"{QASC} \({re.escape(str(readings.home))}.*\): not JSON in UTF-8", said)
    assert f"the cached copy of {readings.address}/{QASC_2}.json; delete it" in said
    assert readings.second[QASC][0] == 2


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        pytest.param({}, r"Cannot connect to host 127\.0\.0\.1", id="no connection"),
        pytest.param({"HF_HUB_OFFLINE": "1"}, "Offline mode is enabled", id="HF_HUB_OFFLINE"),
        pytest.param({"HF_DATASETS_OFFLINE": "1"}, "Offline mode is enabled", id="HF_DATASETS_OFFLINE"),
    ],
)
def test_without_the_site_the_cache_is_used_and_missing_files_are_named(
    readings: Readings, forks: Forks, variables: dict[str, str], why: str
) -> None:
    found = read_from(forks, readings.address, readings.home, WINOGRANDE, ROPES, **variables)
    assert found[WINOGRANDE] == readings.first[WINOGRANDE]
    wanted = re.escape(f"{readings.address}/task059_ropes_story_generation.json")
    _, said = found[ROPES]
    assert re.match(rf"the task file of '{ROPES}' could not be loaded from {wanted}: {why}", said)
    assert "Two other sources work without it" in said
