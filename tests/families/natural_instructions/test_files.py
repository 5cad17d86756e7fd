"""Where task files come from: a folder, the package, or a loopback stand-in for the public repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions import files
from lm_eval_ext.families.natural_instructions.files import address, instruction, is_there
from lm_eval_ext.sources import RowsError
from tests.families.natural_instructions.task_files import TASK, version_1, version_2, write
from tests.loopback import serving_folder
from tests.test_hub import environment

WINOGRANDE = "subtask033_winogrande_answer_generation"
WINOGRANDE_2 = "task033_winogrande_answer_generation"
TYPING = "subtask046_miscellaenous_question_typing"
TYPING_2 = "task046_miscellaneous_question_typing"
QASC = "subtask040_qasc_question_generation"
QASC_2 = "task040_qasc_question_generation"
ROPES = "subtask059_ropes_story_generation"
V1 = version_1()
V2 = version_2(V1)


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
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    for name in (WINOGRANDE, QASC):
        write(tmp_path, V1, name)
    assert instruction(QASC, "embedded").task == QASC
    message = rf"no file for '{ROPES}' in the embedded files: expected .*; found {WINOGRANDE}, {QASC}$"
    with pytest.raises(RowsError, match=message):
        instruction(ROPES, "embedded")


def test_an_address_uses_the_version_2_name() -> None:
    folder = f"https://raw.githubusercontent.com/allenai/natural-instructions/{files.COMMIT}/tasks"
    assert address(TYPING) == f"{folder}/{TYPING_2}.json"
    assert address("task1356_xlsum_title_generation") == f"{folder}/task1356_xlsum_title_generation.json"


# The public repository

# Prints, for every task of the command line, what comes of reading it twice: as two leaves do.
READ = """
import json, sys
from lm_eval_ext.families.natural_instructions import files
from lm_eval_ext.sources import RowsError

files.ADDRESS, *tasks = sys.argv[1:]
for task in tasks:
    try:
        found = files.instruction(task, "hub")
        assert files.instruction(task, "hub") is found
        print(json.dumps([task, len(found.instances), found.origin]))
    except RowsError as error:
        print(json.dumps([task, 0, str(error)]))
"""


@dataclass(frozen=True)
class Reading:
    """What a process read for a subtask: the number of instances, and the file or the error."""

    instances: int
    said: str


def read_from(address: str, home: Path, *tasks: str, **variables: str) -> dict[str, Reading]:
    # A separate process: on import, the library reads where its cache is and whether it may use the network.
    process = subprocess.run(
        [sys.executable, "-c", READ, address, *tasks],
        env=environment(home, "http://127.0.0.1:1", **variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return {task: Reading(*found) for task, *found in map(json.loads, process.stdout.splitlines())}


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
    first: dict[str, Reading]
    second: dict[str, Reading]


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    home, site = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("site")
    for name in (WINOGRANDE_2, TYPING_2):
        write(site, V2, name)
    write(site, "<html>Sign in to the network</html>", QASC_2)
    with serving_folder(site) as (address, got):
        first = read_from(address, home, WINOGRANDE, TYPING, QASC, ROPES)
        write(site, V2, QASC_2)
        kept = re.search(rf"{QASC} \((.*?)\)", first[QASC].said)
        assert kept is not None
        Path(kept[1]).unlink()
        second = read_from(address, home, WINOGRANDE, QASC)
    return Readings(address, got, home, first, second)


def test_a_file_is_downloaded_once_for_all_leaves_and_processes(readings: Readings) -> None:
    assert readings.first[WINOGRANDE].instances == readings.second[WINOGRANDE].instances == 2
    assert readings.first[TYPING].instances == 2
    assert readings.got.count(f"/{WINOGRANDE_2}.json") == 1
    assert readings.got.count(f"/{TYPING_2}.json") == 1


def test_a_file_missing_from_the_site_is_named_with_the_other_sources(readings: Readings) -> None:
    said = readings.first[ROPES].said
    wanted = f"{readings.address}/task059_ropes_story_generation.json"
    assert said.startswith(
        f"the task file of '{ROPES}' could not be loaded from {wanted}: 404, message='File not found'"
    )
    assert '{"source": "/path/to/folder"}' in said
    assert f"{ROPES}.json or task059_ropes_story_generation.json" in said
    assert "dataset_jsons of the repository allenai/reframing" in said
    assert '{"source": "embedded"}' in said


def test_a_web_page_in_place_of_a_file_is_named_and_can_be_deleted(readings: Readings) -> None:
    said = readings.first[QASC].said
    assert re.match(rf"{QASC} \({re.escape(str(readings.home))}.*\): not JSON in UTF-8", said)
    assert f"the cached copy of {readings.address}/{QASC_2}.json; delete it" in said
    assert readings.second[QASC].instances == 2


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        pytest.param({}, r"Cannot connect to host 127\.0\.0\.1", id="no connection"),
        pytest.param({"HF_HUB_OFFLINE": "1"}, "Offline mode is enabled", id="HF_HUB_OFFLINE"),
        pytest.param({"HF_DATASETS_OFFLINE": "1"}, "Offline mode is enabled", id="HF_DATASETS_OFFLINE"),
    ],
)
def test_without_the_site_the_cache_is_used_and_missing_files_are_named(
    readings: Readings, variables: dict[str, str], why: str
) -> None:
    found = read_from(readings.address, readings.home, WINOGRANDE, ROPES, **variables)
    assert found[WINOGRANDE] == readings.first[WINOGRANDE]
    wanted = re.escape(f"{readings.address}/task059_ropes_story_generation.json")
    assert re.match(rf"the task file of '{ROPES}' could not be loaded from {wanted}: {why}", found[ROPES].said)
    assert "Two other sources work without it" in found[ROPES].said
