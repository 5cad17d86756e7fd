"""What the doctor reports about rows in a folder, task files, and the site of the public task files."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import huggingface_hub.constants
import pytest
from packaging.version import Version

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.cli import doctor, main
from lm_eval_ext.cli.doctor import Check
from lm_eval_ext.families.natural_instructions import subtasks
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.harness import installation
from lm_eval_ext.harness.versions import OLDEST, TESTED
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.families.natural_instructions.task_files import TASK, version_1, version_2, write
from tests.leaves import write_leaf
from tests.loopback import closed_port, serving_folder

V1 = version_1()
V2 = version_2(V1)
WINOGRANDE = "subtask033_winogrande_answer_generation"
TYPING_2 = "task046_miscellaneous_question_typing"
QASC_2 = "task040_qasc_question_generation"


def no_files(families: str) -> Check:
    """Return the finding that a folder has nothing of some families, which is no fault."""
    return Check("folder", False, f"{families}: no files", required=False)


def findings_of(folder: Path) -> dict[str, Check]:
    """Return, per family, the doctor's findings about a folder."""
    found = list(doctor._rows("folder", str(folder)))
    assert {finding.subject for finding in found} == {"folder"}
    # One finding names all families that the folder lacks.
    names = [(name, finding) for finding in found for name in finding.text.split(":")[0].split(", ")]
    findings = {
        name: no_files(name) if finding == no_files(finding.text.removesuffix(": no files")) else finding
        for name, finding in names
    }
    assert len(findings) == len(names)
    return findings


@pytest.mark.parametrize(
    ("contents", "datasets", "missing"),
    [
        ({WINOGRANDE: V1}, 1, 11),
        # Version 2, whose second file is spelled differently and not of the evaluation split.
        ({QASC_2: V2, TYPING_2: V2}, 2, 11),
        ({WINOGRANDE: V1, QASC_2: V2}, 2, 10),
        # A custom task counts for nothing.
        ({WINOGRANDE: V1, TASK: V1}, 1, 11),
        (dict.fromkeys(SUBTASKS, V1), 61, 0),
        ({each.version_2: V2 for each in SUBTASKS.values()}, 61, 0),
    ],
)
def test_a_folder_is_checked_for_the_task_files_in_it(
    tmp_path: Path, contents: dict[str, object], datasets: int, missing: int
) -> None:
    for name, content in contents.items():
        write(tmp_path, content, name)
    findings = findings_of(tmp_path)
    text = f"natural_instructions: {datasets} of {datasets} datasets"
    text += f", {missing} of the evaluation split missing" if missing else ""
    assert findings.pop("natural_instructions") == Check("folder", True, text)
    assert findings == {family: no_files(family) for family in FAMILIES if family != "natural_instructions"}


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
    assert findings_of(tmp_path)["natural_instructions"] == no_files("natural_instructions")
    write(tmp_path, V1, WINOGRANDE)
    findings = findings_of(tmp_path)
    assert [family for family in FAMILIES if findings[family].ok] == ["paired_mcq", "natural_instructions"]


@pytest.mark.parametrize(
    ("pattern", "family", "datasets", "name", "bad", "column"),
    [
        ("sst2_validation.jsonl", "verbalizer", 1, "sst2_validation.jsonl", '{"sentence": "a"}', "label"),
        ("*.json*", "verbalizer", 9, "rte_validation.jsonl", '{"sentence1": "a"}', "sentence2"),
        ("[am][rm]*_test.jsonl", "paired_mcq", 2, "mmlu_test.jsonl", '{"question": "So?"}', "choices"),
    ],
)
def test_rows_are_read_and_what_a_folder_lacks_is_no_fault(  # noqa: PLR0913, PLR0917 # a row of the table
    pattern: str, family: str, datasets: int, name: str, bad: str, column: str, tmp_path: Path
) -> None:
    whole, other = tmp_path / "rows", tmp_path / "others"  # what was read of a file is remembered
    whole.mkdir()
    for path in EMBEDDED_FOLDER.rglob(pattern):
        shutil.copy(path, whole)
    finding = findings_of(whole)[family]
    assert finding.ok
    assert finding.text.startswith(f"{family}: {datasets} of {datasets} datasets")
    shutil.copytree(whole, other)
    (other / name).write_text(f"{bad}\n", encoding="utf-8")
    finding = findings_of(other)[family]
    assert (finding.ok, finding.required) == (False, True)
    assert finding.text.startswith(f"{family}: {datasets - 1} of {datasets} datasets")
    assert f"{name} has no column '{column}'" in finding.text


def own_tasks(folder: Path, rows: Path) -> dict[str, Check]:
    """Return the doctor's findings about a folder with tasks, by the first word of their texts."""
    found = list(doctor._own_tasks(str(folder), str(rows)))
    assert {finding.subject for finding in found} == {"own task"}
    return {finding.text.split(":")[0]: finding for finding in found}


def test_own_tasks_are_checked_with_their_rows(tmp_path: Path) -> None:
    tasks, rows = tmp_path / "tasks", tmp_path / "rows"
    tasks.mkdir()
    rows.mkdir()
    assert own_tasks(tasks, rows) == {
        str(tasks): Check(
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
    assert found["topic"] == Check("own task", True, f"topic: 100 rows ({rows})")
    missing = f"trivia: no rows of 'trivia' in {rows}: expected trivia_test.jsonl or .parquet; found topic_test.jsonl"
    assert found["trivia"] == Check("own task", False, missing)
    assert not found[str(tasks / "half.yaml")].ok


def test_a_folder_of_own_tasks_that_is_missing_is_named(tmp_path: Path) -> None:
    (finding,) = doctor._own_tasks(str(tmp_path / "taks"), "hub")
    assert (finding.ok, finding.text) == (
        False,
        f"--include_path {tmp_path / 'taks'}: no such folder; expected one with YAML files of tasks",
    )


@pytest.mark.parametrize(
    ("place", "required", "said"),
    [
        ("custom", False, "found topic_test.jsonl, topic_train.jsonl, which match no built-in dataset; a task of your"),
        ("empty", True, "{path}: no rows; expected <dataset>_<split>.jsonl or .parquet, or task files (.json) of Natu"),
        ("emtpy", True, '{path}: no such folder or file; expected "hub", "embedded", or the path of a folder or a'),
    ],
)
def test_a_place_without_rows_of_ours_fails_unless_they_may_be_a_custom_tasks(
    place: str, required: bool, said: str, tmp_path: Path
) -> None:
    for name in ("custom/topic_test.jsonl", "custom/topic_train.jsonl", "custom/notes.txt", "empty/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    first, *others = doctor._given(str(tmp_path / place))
    assert (first.ok, first.required) == (False, required)
    assert first.text.startswith(said.format(path=tmp_path / place))
    assert others == ([no_files(", ".join(FAMILIES))] if (tmp_path / place).exists() else [])


def test_further_lines_of_a_finding_are_indented_below_the_first() -> None:
    text = "no weights. Either of these provides them:\n  pip install weights\n  a copy"
    assert str(Check("reader", False, text, required=False)).split("\n") == [
        "note   reader    no weights. Either of these provides them:",
        "                   pip install weights",
        "                   a copy",
    ]


TOO_NEW = f"; newer than {TESTED[-1]}, the newest that lm-eval-ext was tested with; check a known result"


@pytest.mark.parametrize(
    ("version", "ok", "required", "said"),
    [
        (OLDEST, True, True, f"{installation.FOLDER}"),
        (TESTED[-1], True, True, f"{installation.FOLDER}"),
        ("0.4.11", False, True, f"; expected {OLDEST} or later: upgrade lm-eval"),
        ("9.0", False, False, TOO_NEW),
    ],
)
def test_only_a_harness_that_is_too_old_is_a_fault(
    version: str, ok: bool, required: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "VERSION", Version(version))
    finding = doctor._harness()
    assert (finding.ok, finding.required) == (ok, required)
    assert finding.text.startswith(f"lm-eval {version} at ")
    assert finding.text.endswith(said)


def test_missing_base_weights_are_reported_with_one_remedy_per_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not find_spec("peft"):
        pytest.skip("peft is not installed (extra: classifier)")
    monkeypatch.delenv(weights.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    first, *remedies = str(doctor._reader()).split("\n")
    assert first.startswith("note   reader    the base weights of the answer classifier")
    assert [line.split()[0] for line in remedies] == ["pip", f"{weights.FOLDER_VARIABLE}=/path/to/folder", "once,"]


def test_each_finding_is_said_before_the_next_check_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    events: list[str] = []

    def check(name: str) -> Check:
        events.append(f"made: {name}")
        return Check(name, True, "")

    for name in ("harness", "autoload", "tasks", "models", "nltk", "reader"):
        monkeypatch.setattr(doctor, f"_{name}", lambda name=name: check(name))
    monkeypatch.setattr(doctor, "FAMILIES", {})
    (tmp_path / "rows.jsonl").touch()
    for _ in doctor.examine(str(tmp_path)):
        events.append("said")
    assert events[:4] == ["made: harness", "said", "made: autoload", "said"]
    assert [event.split(":")[0] for event in events[:12]] == ["made", "said"] * 6


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
    assert finding == Check("files", ok, f"natural_instructions: {address} {said}", required=ok)
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
    assert finding == Check("files", False, text, required=False)


def test_a_file_of_rows_is_checked_for_the_families_that_ask_them_and_for_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manyifeval", "export", "--source", "embedded"]) == 0
    exported = tmp_path / "rows.jsonl"
    exported.write_text(capsys.readouterr().out, encoding="utf-8")
    findings = findings_of(exported)
    for family in ("manyifeval", "hierarchy", "conversation"):
        assert findings[family] == Check("folder", True, f"{family}: 1 of 1 datasets")
    for family in ("verbalizer", "natural_instructions"):
        assert findings[family] == no_files(family)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("{}\n", encoding="utf-8")
    assert [finding.ok for finding in doctor._given(str(empty)) if finding.required] == [False] * 3


def test_a_file_of_existing_multiple_choice_questions_is_checked(tmp_path: Path) -> None:
    questions = tmp_path / "opinions.jsonl"
    questions.write_text('{"question": "So?", "options": ["Yes", "No"]}\n', encoding="utf-8")
    findings = findings_of(questions)
    assert findings["paired_mcq"] == Check("folder", True, "paired_mcq: 1 of 1 datasets")
    assert findings["manyifeval"] == no_files("manyifeval")
