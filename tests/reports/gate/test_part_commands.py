"""The commands that run the parts of a baseline's rows, and the whole way from ``plan --looks`` to a verdict."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate import part_commands as module
from lm_eval_ext.reports.gate import plan
from lm_eval_ext.reports.gate.looks import parts_of
from lm_eval_ext.reports.gate.part_commands import Command, part_commands
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from tests.conftest import EvaluateEach
from tests.recorded_runs import unpacked
from tests.reports.files import CONFIG, SST2, write_run
from tests.reports.gate.test_commands import Output, call
from tests.reports.gate.two_runs import GOLDEN, SNLI, right


def commands_of(
    folder: Path, count: int = 2, tasks: tuple[str, ...] = (SST2,), files: Path | None = None
) -> list[Command]:
    (runs,) = load_apart([[folder]], choice=Choice(), parts=True)
    return part_commands(runs, parts_of(runs, count), tasks, files)


def test_a_command_is_that_of_the_baseline_with_the_rows_of_a_part(tmp_path: Path) -> None:
    config = {"num_fewshot": 4, "metadata": {**CONFIG["metadata"], "source": "rows"}}
    call_of = {"gen_kwargs": {"max_gen_toks": 9, "until": ["a,b"]}, "batch_size": 8, "limit": 10.0}
    write_run(
        tmp_path,
        {SST2: right(5, 10)},
        config=config,
        call=call_of,
        chat_template_sha="c",
        system_instruction="Be brief.",
    )
    first, second = commands_of(tmp_path)
    rows = [json.loads(command.rows)[SST2] for command in (first, second)]
    assert sorted(rows[0] + rows[1]) == [*range(10)]
    # The harness takes the n-th evaluated row for the n-th of these.
    assert rows == [sorted(of_part) for of_part in rows]
    assert shlex.split(str(first)) == [
        *("lm_eval", "--model", "hf", "--model_args", "pretrained=owner/one", "--tasks", SST2),
        *("--metadata", '{"source": "rows"}', "--num_fewshot", "4"),
        *("--gen_kwargs", '{"max_gen_toks": 9, "until": ["a,b"]}', "--batch_size", "8", "--apply_chat_template"),
        *("--system_instruction", "Be brief.", "--samples", first.rows, "--output_path", "CANDIDATE", "--log_samples"),
    ]


def test_a_group_is_asked_for_by_its_name_if_all_of_it_is_wanted(tmp_path: Path) -> None:
    tree = {"both": [SST2, GOLDEN], SST2: [], GOLDEN: []}
    write_run(tmp_path, {SST2: right(5, 10), GOLDEN: right(5, 10)}, group_subtasks=tree)
    for tasks, asked in (((SST2, GOLDEN), ("both",)), ((GOLDEN,), (GOLDEN,))):
        first, _ = commands_of(tmp_path, tasks=tasks)
        assert first.tasks == asked
        assert {*json.loads(first.rows)} == {*tasks}
        assert first.answers == 5 * len(tasks)


def test_each_call_of_the_baseline_has_a_command_in_each_part(tmp_path: Path) -> None:
    write_run(tmp_path / "1", {SST2: right(5, 10)})
    write_run(tmp_path / "2", {SNLI: right(5, 10)}, config={"num_fewshot": 4})
    commands = commands_of(tmp_path, tasks=(SST2, SNLI), files=Path("parts"))
    assert [(command.part, command.tasks, "--num_fewshot 4" in str(command)) for command in commands] == [
        (part, (task,), task == SNLI) for part in (1, 2) for task in (SNLI, SST2)
    ]
    assert len({command.path for command in commands}) == 4
    assert "--samples parts/part_1_of_2_1.json" in str(commands[0])


def test_0_5_gets_each_row_at_the_place_that_it_numbers(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: right(5, 10)}, lm_eval_version="0.5.0.dev1")
    (runs,) = load_apart([[tmp_path]])
    parts = parts_of(runs, 2).of_answers(runs.counting[0])
    for command in commands_of(tmp_path):
        (numbers,) = json.loads(command.rows).values()
        rows = {row for row in range(10) if parts[row] == command.part}
        assert {*numbers} == rows
        assert [numbers[row] for row in sorted(rows)] == sorted(rows)
        assert command.answers == 5


def test_too_many_rows_for_a_command_go_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, {SST2: right(5, 10)})
    monkeypatch.setattr(module, "LONGEST_ARGUMENT", 20)
    with pytest.raises(ReportError, match="part 1: the numbers of 5 rows are too many for a command; give --parts"):
        commands_of(tmp_path)
    assert len(commands_of(tmp_path, files=tmp_path)) == 2


@pytest.mark.usefixtures("folder")
def test_plan_prints_what_looks_save_and_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    # The table without looks is not looked at; the other one says what a hundred pairs show, too.
    monkeypatch.setattr(plan, "PAIRS", 5)
    monkeypatch.setattr(plan, "PAIRS_LOOKED_AT", 100)
    write_run(Path("old"), {SST2: right(200, 400)})
    assert call("plan --against old --max-drop 0.05 --changed 0.05 --looks 2 --parts made/parts") == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("  with 2 looks:")
    assert lines[start + 1].split() == ["true", "drop", "(points)", "regression", "not", "worse", "rows", "asked"]
    cells = {line.split()[0]: line.split()[1:] for line in lines[start + 2 : start + 7]}
    assert [*cells] == ["0", "1", "2", "5", "10"]
    # An unchanged model is mostly decided after half of the rows or a little more; at the bound, hardly any is.
    assert 50 <= float(cells["0"][2].rstrip("%")) < 85
    assert float(cells["5"][2].rstrip("%")) > 95
    written = [line for line in lines if line.startswith("lm_eval ")]
    assert [re.findall(r"--samples (\S+)", line) for line in written] == [
        [f"made/parts/part_{part}_of_2.json"] for part in (1, 2)
    ]
    rows = [json.loads(Path(f"made/parts/part_{part}_of_2.json").read_text(encoding="utf-8")) for part in (1, 2)]
    assert sorted(rows[0][SST2] + rows[1][SST2]) == [*range(400)]
    assert lines[-1] == "lm-eval-ext check CANDIDATE --against old --max-drop 0.05 --look 2 --of 2"


@pytest.mark.usefixtures("few_pairs")
def test_tasks_of_the_harness_are_run_in_parts_by_their_groups(folder: Path, capsys: Output) -> None:
    places = {version: place.name for version, place in unpacked(folder)}
    assert call(f"plan --against {places['0.4.13']} --max-drop 0.05 --looks 2 --metric acc") == 0
    lines = capsys.readouterr().out.splitlines()
    (words, _) = (shlex.split(line) for line in lines if line.startswith("lm_eval "))
    assert words[words.index("--tasks") + 1] == "colors,shapes,pairs,plain_text,sums"
    rows = json.loads(words[words.index("--samples") + 1])
    assert {task: len(numbers) for task, numbers in rows.items()} == {
        "colors_few": 2,
        "colors_many": 6,
        "pairs": 6,
        "plain_text": 3,
        "shapes_few": 2,
        "shapes_many": 6,
        "sums": 4,
    }
    # What else decides about these tasks is decided alike in the looks.
    assert lines[-1].endswith("--max-drop 0.05 --metric acc --look 2 --of 2")


TASKS = "verbalizer_sst2_unnatural_flipped,verbalizer_sst2_natural_golden,manyifeval_n02,paired_mcq_opinionqa_low"
"""Of three families; the first two ask the same rows."""
METADATA = json.dumps({"source": "embedded", "answer_classifier": "rules"})


@pytest.mark.harness
@pytest.mark.usefixtures("few_pairs", "sentence_data")
def test_a_candidate_that_is_run_in_parts_is_judged_by_the_rows_so_far(
    folder: Path, evaluate_each: EvaluateEach, capsys: Output
) -> None:
    options = ["--model", "reference", "--model_args", "policy=oracle", "--tasks", TASKS, "--metadata", METADATA]
    evaluate_each(folder, {"old": [*options, "--limit", "60"]})
    capsys.readouterr()
    assert call("plan --against old --max-drop 0.02 --looks 3 --parts parts") == 0
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("lm_eval ")]
    # Without the name of the program, and with other places for what it writes.
    first, second, third = (shlex.split(command)[1:-3] for command in commands)
    assert [*map(len, (first, second, third))] == [len(first)] * 3
    evaluate_each(folder, {"new/1": first, "new/2": second})
    capsys.readouterr()
    check = "--against old --max-drop 0.02 --of 3 --look"
    assert call(f"check new {check} 1") == 3
    assert "look 1 of 3: go on: 4 of 4 (--limit 60 in the baseline); evaluate part 2" in capsys.readouterr().out
    assert call(f"check new {check} 2 --json look.json") == 3
    findings = json.loads(Path("look.json").read_text(encoding="utf-8"))["findings"]
    # Of 60 rows each, and of 6 questions in ten orders.
    assert {one["name"]: (one["rows"], one["answers"]) for one in findings} == {
        "verbalizer_sst2_unnatural_flipped": (40, 40),
        "verbalizer_sst2_natural_golden": (40, 40),
        "manyifeval_n02": (40, 40),
        "paired_mcq_opinionqa_low": (4, 40),
    }
    assert [one["change"] for one in findings] == [0.0] * 4
    assert call(f"check new {check} 3") == 2
    assert "lacks rows (doc_id) of the parts so far, " in capsys.readouterr().err
