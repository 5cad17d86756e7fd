"""What the doctor reports about rows in a folder, task files, and the site of the public task files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub.constants
import pytest

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.cli import doctor, main
from lm_eval_ext.cli.doctor import Finding
from lm_eval_ext.families.natural_instructions import subtasks
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.families.natural_instructions.task_files import TASK, version_1, version_2, write
from tests.hub import closed_port
from tests.leaves import write_leaf
from tests.loopback import serving_folder

V1 = version_1()
V2 = version_2(V1)
WINOGRANDE = "subtask033_winogrande_answer_generation"
TYPING_2 = "task046_miscellaneous_question_typing"
QASC_2 = "task040_qasc_question_generation"


def findings_of(folder: Path) -> dict[str, Finding]:
    """Return, per family, the doctor's findings about a folder."""
    found = list(doctor._rows("folder", str(folder)))
    assert {finding.subject for finding in found} == {"folder"}
    return dict(zip([finding.text.split(":")[0] for finding in found], found, strict=True))


def expected(text: str) -> Finding:
    return Finding("folder", True, f"natural_instructions: {text}")


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        pytest.param(
            {WINOGRANDE: V1}, "1 of 1 datasets, 11 of the evaluation split missing", id="one file of version 1"
        ),
        pytest.param(
            {QASC_2: V2, TYPING_2: V2},  # the second is not of the evaluation split
            "2 of 2 datasets, 11 of the evaluation split missing",
            id="version 2, one name spelled differently",
        ),
        pytest.param(
            {WINOGRANDE: V1, QASC_2: V2}, "2 of 2 datasets, 10 of the evaluation split missing", id="both versions"
        ),
        pytest.param(
            {WINOGRANDE: V1, TASK: V1},
            "1 of 1 datasets, 11 of the evaluation split missing",
            id="plus a custom task",
        ),
        pytest.param(dict.fromkeys(SUBTASKS, V1), "61 of 61 datasets", id="all, version 1"),
        pytest.param({each.version_2: V2 for each in SUBTASKS.values()}, "61 of 61 datasets", id="all, version 2"),
    ],
)
def test_a_folder_is_checked_for_the_task_files_in_it(tmp_path: Path, contents: dict[str, object], text: str) -> None:
    for name, content in contents.items():
        write(tmp_path, content, name)
    findings = findings_of(tmp_path)
    assert findings.pop("natural_instructions") == expected(text)
    # Of the others it has nothing, which is no fault.
    assert findings.keys() == FAMILIES.keys() - {"natural_instructions"}
    for family, finding in findings.items():
        assert finding == Finding("folder", False, f"{family}: no files", required=False)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        pytest.param("{}", "not a task file; expected version 1 (", id="no task file"),
        pytest.param('{"Title": ', "not JSON in UTF-8 (", id="half a file"),
        pytest.param(version_1(Instances=[]), "field 'Instances': expected at least one, found none", id="no instance"),
    ],
)
def test_a_broken_file_is_named_and_fails(tmp_path: Path, broken: object, why: str) -> None:
    write(tmp_path, V2, QASC_2)
    assert findings_of(tmp_path)["natural_instructions"].ok
    path = write(tmp_path, broken, WINOGRANDE)
    finding = findings_of(tmp_path)["natural_instructions"]
    assert (finding.ok, finding.required) == (False, True)
    assert finding.text.startswith(
        f"natural_instructions: 1 of 2 datasets, 10 of the evaluation split missing; {WINOGRANDE} ({path}): {why}"
    )


def test_only_three_of_many_broken_files_are_named(tmp_path: Path) -> None:
    names = list(SUBTASKS)[:5]
    for name in names:
        write(tmp_path, "{}", name)
    finding = findings_of(tmp_path)["natural_instructions"]
    assert finding.text.startswith("natural_instructions: 0 of 5 datasets, 9 of the evaluation split missing; ")
    assert [name in finding.text for name in names] == [True, True, True, False, False]
    assert finding.text.endswith("; …")


def test_rows_of_other_families_need_no_task_files(tmp_path: Path) -> None:
    name = "mmlu_test.jsonl"
    (tmp_path / name).write_bytes((EMBEDDED_FOLDER / name).read_bytes())
    assert findings_of(tmp_path)["natural_instructions"] == Finding(
        "folder", False, "natural_instructions: no files", required=False
    )
    write(tmp_path, V1, WINOGRANDE)
    findings = findings_of(tmp_path)
    assert [family for family in FAMILIES if findings[family].ok] == ["paired_mcq", "natural_instructions"]


def test_a_folder_with_one_good_dataset_passes_and_what_it_lacks_is_named(tmp_path: Path) -> None:
    name = "sst2_validation.jsonl"
    shutil.copy(EMBEDDED_FOLDER / name, tmp_path)
    assert findings_of(tmp_path)["verbalizer"] == Finding(
        "folder", True, "verbalizer: 1 of 1 datasets, not there: fp, emotion, snli, sick, rte, qqp, mrpc, subj"
    )
    other = tmp_path / "others"  # what was read of a file is remembered
    other.mkdir()
    (other / name).write_text('{"sentence": "a"}\n', encoding="utf-8")
    finding = findings_of(other)["verbalizer"]
    assert (finding.ok, finding.required) == (False, True)
    assert f"{name} has no column 'label'" in finding.text


def own_tasks(folder: Path, rows: Path) -> dict[str, Finding]:
    """Return the doctor's findings about a folder with tasks, by the first word of their texts."""
    found = list(doctor._own_tasks(str(folder), str(rows)))
    assert {finding.subject for finding in found} == {"own task"}
    return {finding.text.split(":")[0]: finding for finding in found}


def test_own_tasks_are_checked_with_their_rows(tmp_path: Path) -> None:
    tasks, rows = tmp_path / "tasks", tmp_path / "rows"
    tasks.mkdir()
    rows.mkdir()
    assert own_tasks(tasks, rows) == {
        str(tasks): Finding(
            "own task",
            False,
            f"{tasks}: no tasks; expected YAML files that include a template of this package; see docs/own-datasets.md",
        )
    }
    for name in ("topic", "trivia"):
        write_leaf(tasks, name)
    (tasks / "plain.yaml").write_text("task: plain\ndataset_path: owner/plain\n", encoding="utf-8")
    (tasks / "half.yaml").write_text("task: [half\n", encoding="utf-8")
    lines = [json.dumps({"text": f"text {number}", "label": number % 2}) for number in range(120)]
    (rows / "topic_test.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = own_tasks(tasks, rows)
    # A task without a class of ours is left to the harness.
    assert found.keys() == {str(tasks / "half.yaml"), "topic", "trivia"}
    assert found["topic"] == Finding("own task", True, f"topic: 100 rows ({rows})")
    missing = f"trivia: no rows of 'trivia' in {rows}: expected trivia_test.jsonl or .parquet; found topic_test.jsonl"
    assert found["trivia"] == Finding("own task", False, missing)
    assert not found[str(tasks / "half.yaml")].ok


def test_a_folder_of_own_tasks_that_is_missing_is_named(tmp_path: Path) -> None:
    (finding,) = doctor._own_tasks(str(tmp_path / "taks"), "hub")
    assert (finding.ok, finding.text) == (
        False,
        f"--include_path {tmp_path / 'taks'}: no such folder; expected one with YAML files of tasks",
    )


def test_a_folder_for_a_custom_task_passes_and_lists_its_files(tmp_path: Path) -> None:
    for name in ("topic_test.jsonl", "topic_train.jsonl", "notes.txt"):
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    first, *others = doctor._given(str(tmp_path))
    assert first == Finding(
        "folder",
        False,
        "found topic_test.jsonl, topic_train.jsonl, which match no built-in dataset; a task of your own checks its "
        "rows when it is loaded",
        required=False,
    )
    assert others == [Finding("folder", False, f"{family}: no files", required=False) for family in FAMILIES]


def test_a_folder_without_rows_fails_and_says_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (failed,) = (finding for finding in doctor._given(str(tmp_path)) if finding.required)
    assert (failed.ok, failed.text) == (
        False,
        f"{tmp_path}: no rows; expected <dataset>_<split>.jsonl or .parquet, or task files (.json) of Natural "
        "Instructions",
    )


def test_a_missing_path_is_reported_once(tmp_path: Path) -> None:
    mistyped = str(tmp_path / "rwos")
    (finding,) = doctor._given(mistyped)
    assert (finding.ok, finding.required) == (False, True)
    assert finding.text.startswith(f"{mistyped}: no such folder or file; expected ")


def test_further_lines_of_a_finding_are_indented_below_the_first() -> None:
    text = "no weights. Either of these provides them:\n  pip install weights\n  a copy"
    assert str(Finding("reader", False, text, required=False)).split("\n") == [
        "note   reader    no weights. Either of these provides them:",
        "                   pip install weights",
        "                   a copy",
    ]


def test_missing_base_weights_are_reported_with_one_remedy_per_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    monkeypatch.delenv(weights.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    first, *remedies = str(doctor._reader()).split("\n")
    assert first.startswith("note   reader    the base weights of the answer classifier")
    assert [line.split()[0] for line in remedies] == ["pip", f"{weights.FOLDER_VARIABLE}=/path/to/folder", "once,"]


def test_each_check_is_announced_before_it_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    events: list[str] = []

    def check(name: str) -> Finding:
        events.append(f"made: {name}")
        return Finding(name, True, "")

    for name in ("harness", "autoload", "tasks", "models", "sentences", "words", "reader"):
        monkeypatch.setattr(doctor, f"_{name}", lambda name=name: check(name))
    monkeypatch.setattr(doctor, "FAMILIES", {})
    (tmp_path / "rows.jsonl").touch()
    for _ in doctor.examine(str(tmp_path), lambda what: events.append(f"announced: {what}")):
        events.append("said")
    assert events[:6] == [
        "announced: the harness",
        "made: harness",
        "said",
        "announced: autoload",
        "made: autoload",
        "said",
    ]
    assert [event.split(":")[0] for event in events[:21]] == ["announced", "made", "said"] * 7


# Where the public files lie

ASKED_FOR = "task001_quoref_question_generation.json"
CACHED = "Cached copies still work"


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the doctor use the network, and ask the loopback interface directly."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(variable, "127.0.0.1")


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize(
    ("there", "ok", "said"),
    [
        (ASKED_FOR, True, "responds"),
        ("another.json", False, f"does not respond (HTTP Error 404: File not found). {CACHED}"),
    ],
)
def test_a_download_site_responds_if_it_has_the_file(
    there: str, ok: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / there).write_text("{}")
    with serving_folder(tmp_path) as (address, got):
        monkeypatch.setattr(subtasks, "ADDRESS", address)
        (finding,) = doctor._web()
    assert finding == Finding("files", ok, f"natural_instructions: {address} {said}", required=ok)
    assert got == []  # it is asked whether it has the file, and not for it


@pytest.mark.usefixtures("online")
def test_without_a_connection_the_reason_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as address:
        monkeypatch.setattr(subtasks, "ADDRESS", f"{address}/tasks")
        (finding,) = doctor._web()
    assert (finding.subject, finding.ok, finding.required) == ("files", False, False)
    assert finding.text.startswith(f"natural_instructions: {address}/tasks does not respond (")
    assert "Connection refused" in finding.text
    assert finding.text.endswith(f"). {CACHED}")


def test_nothing_is_contacted_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    # The place would answer.
    (tmp_path / ASKED_FOR).write_text("{}")
    with serving_folder(tmp_path) as (address, _got):
        monkeypatch.setattr(subtasks, "ADDRESS", address)
        (finding,) = doctor._web()
    text = f"natural_instructions: switched off by HF_HUB_OFFLINE. {CACHED}"
    assert finding == Finding("files", False, text, required=False)


def test_rows_are_read_not_only_file_names(tmp_path: Path) -> None:
    whole = tmp_path / "rows"
    whole.mkdir()
    for path in EMBEDDED_FOLDER.rglob("*.json*"):
        shutil.copy(path, whole)
    assert findings_of(whole)["natural_instructions"] == expected("14 of 14 datasets")
    other = tmp_path / "others"  # what was read of a file is remembered
    shutil.copytree(whole, other)
    (other / "rte_validation.jsonl").write_text('{"sentence1": "a"}\n', encoding="utf-8")
    broken = findings_of(other)["verbalizer"]
    assert (broken.ok, broken.required) == (False, True)
    assert broken.text.startswith("verbalizer: 8 of 9 datasets; ")
    assert "rte_validation.jsonl has no column 'sentence2'" in broken.text


def test_a_file_of_rows_is_checked_for_the_families_that_ask_them_and_for_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manyifeval", "export", "--source", "embedded"]) == 0
    exported = tmp_path / "rows.jsonl"
    exported.write_text(capsys.readouterr().out, encoding="utf-8")
    findings = findings_of(exported)
    for family in ("manyifeval", "hierarchy"):
        assert findings[family] == Finding("folder", True, f"{family}: 1 of 1 datasets")
    for family in ("verbalizer", "natural_instructions"):
        assert findings[family] == Finding("folder", False, f"{family}: no files", required=False)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("{}\n", encoding="utf-8")
    assert [finding.ok for finding in doctor._given(str(empty)) if finding.required] == [False, False]


def test_existing_multiple_choice_questions_are_checked(tmp_path: Path) -> None:
    questions = tmp_path / "opinions.jsonl"
    questions.write_text('{"question": "So?", "options": ["Yes", "No"]}\n', encoding="utf-8")
    findings = findings_of(questions)
    assert findings["paired_mcq"] == Finding("folder", True, "paired_mcq: 1 of 1 datasets")
    assert findings["manyifeval"] == Finding("folder", False, "manyifeval: no files", required=False)
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("mmlu_test.jsonl", "arc_challenge_test.jsonl"):
        shutil.copy(EMBEDDED_FOLDER / name, folder)
    assert findings_of(folder)["paired_mcq"] == Finding("folder", True, "paired_mcq: 2 of 2 datasets")
    other = tmp_path / "others"  # what was read of a file is remembered
    shutil.copytree(folder, other)
    (other / "mmlu_test.jsonl").write_text('{"question": "So?"}\n', encoding="utf-8")
    broken = findings_of(other)["paired_mcq"]
    assert (broken.ok, broken.required) == (False, True)
    assert broken.text.startswith("paired_mcq: 1 of 2 datasets; ")
    assert "mmlu_test.jsonl has no column 'choices'" in broken.text
