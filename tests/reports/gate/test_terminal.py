"""What ``check``, ``compare`` and ``plan`` print to a terminal: the answer first, and no line wider than the window."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gate import terminal
from lm_eval_ext.reports.gate.terminal import fitted, wrapped
from tests.reports.files import SST2, write_run
from tests.reports.gate.test_commands import Output, call
from tests.reports.gate.two_runs import SNLI, right, write_draws

LONG = "verbalizer_with_a_name_that_is_longer_than_any_column_of_eighty"
TASKS = [f"verbalizer_task_{number:02}" for number in range(15)]


@pytest.fixture(autouse=True)
def _runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a baseline, a worse run, and one that lacks a task, and print to a terminal of eighty columns."""
    scores = {task: right(90) for task in (SST2, LONG, *TASKS)}
    tree: dict[str, Any] = {"group_subtasks": {"level": [SST2, *TASKS], LONG: []}}
    worse = {**scores, SST2: right(20), LONG: right(88), TASKS[3]: right(80)}
    for name, of_run in (("old", scores), ("worse", worse), ("same", scores), ("less", {**scores, LONG: []})):
        write_run(folder / name, of_run, arguments={"pretrained": f"owner/{name}"}, **tree)
    monkeypatch.setattr(terminal, "width", lambda stream=None: 80)


def printed(output: Output, words: str, width: int = 80) -> list[str]:
    """Return what a command prints, every line of which fits."""
    call(words)
    lines = output.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > width] == []
    return lines


def first_words(lines: Sequence[str]) -> list[str]:
    return [line.split("  ")[0] for line in lines]


def test_only_a_terminal_has_a_width_of_eighty_columns_or_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert terminal.width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns, expected in (("40", 80), ("80", 80), ("132", 132)):
        monkeypatch.setitem(os.environ, "COLUMNS", columns)
        assert terminal.width() == expected


def test_remarks_fit_a_terminal_and_are_one_line_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    said = f"warning: {' '.join(TASKS)}\nare new"
    terminal.remark(said)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    monkeypatch.undo()
    terminal.remark(said)
    line = "lm-eval-ext: " + said.replace("\n", " ")
    assert capsys.readouterr().err == f"{line}\n"
    assert " ".join(lines) == line


def test_a_check_starts_with_the_decision_and_the_tasks_that_lost_most(capsys: Output) -> None:
    lines = printed(capsys, "check worse --against old --max-drop 0.005")
    decision, lost, table, *_ = "\n".join(lines).split("\n\n")
    assert decision.replace("\n", " ") == (
        f"Do not ship: regression in level (90.0 → 85.0), mostly {SST2} (70 of 80 lost answers). One headline is "
        "inconclusive."
    )
    # 70, 10 and 2 answers.
    head, *names = lost.splitlines()
    assert head.split() == ["lost", "most", "old", "new", "lost", "gained", "answers"]
    assert [line.split() for line in names[:2]] == [
        [SST2, "90.0", "20.0", "70", "0", "100"],
        [TASKS[3], "90.0", "80.0", "10", "0", "100"],
    ]
    # A long name has a line of its own, and its numbers are below the others'.
    assert names[2:] == [LONG, names[3]]
    assert names[3].split() == ["90.0", "88.0", "2", "0", "100"]
    assert len(names[3]) == len(names[0])
    rows = table.splitlines()
    assert first_words(rows)[1:5] == ["REGRESSION", "level", "INCONCLUSIVE", LONG]
    assert rows[2].split()[1:4] == ["90.0", "85.0", "−5.00"]  # noqa: RUF001 # as printed
    assert "rows would decide if the true drop is the measured one" in " ".join(table.split())


def test_what_is_said_of_several_headlines_is_said_once(capsys: Output) -> None:
    scores = {SST2: right(90), SNLI: right(90)}
    write_run(Path("one"), scores, arguments={"pretrained": "owner/one"})
    write_run(Path("two"), scores, arguments={"pretrained": "owner/two"}, config={"num_fewshot": 4})
    lines = printed(capsys, "check two --against one --max-drop 0.02")
    said = " ".join(" ".join(lines).split())
    assert said.count("different setting: num_fewshot: 0 in the baseline, 4 in the candidate") == 1
    assert f"{SNLI}, {SST2}: different setting" in said
    # What is missing is said below its row.
    rows = printed(capsys, "check less --against old --max-drop 0.5")
    place = next(number for number, line in enumerate(rows) if line == LONG)
    assert rows[place + 2].strip() == "no rows were evaluated in the candidate"


def test_a_wider_window_has_more_columns(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "width", lambda: 200)
    lines = printed(capsys, "check worse --against old --max-drop 0.02", 200)
    head = next(line for line in lines if "worst" in line)
    assert " ".join(head.split()) == (
        "allowed drop: 2 points old new change worst best lost gained rows p (Holm) changed %"
    )
    # Sentences stay readable.
    assert max(len(line) for line in lines if line.endswith(".")) <= 100


def test_different_bounds_have_a_column(capsys: Output) -> None:
    Path("bounds.toml").write_text(f"max_drop = 0.1\n[tasks]\n{LONG} = 0.5\n", encoding="utf-8")
    head, *rows = (
        "\n".join(printed(capsys, "check worse --against old --bounds bounds.toml")).split("\n\n")[2].splitlines()
    )
    assert head.split()[:2] == ["allowed", "old"]
    assert {row.split()[1] for row in rows if row.startswith("level")} == {"10"}


def test_a_comparison_has_groups_the_ten_clearest_tasks_and_how_many_more(capsys: Output) -> None:
    lines = printed(capsys, "compare worse --against old")
    titles, groups, tasks, *_ = "\n".join(lines).split("\n\n")
    assert titles.splitlines() == ["old: old (old)", "new: worse (worse)"]
    assert first_words(groups.splitlines()) == ["groups", "level"]
    head, *rows = tasks.splitlines()
    assert head.split()[:4] == ["clearest", "tasks", "old", "new"]
    assert first_words(rows)[:3] == [SST2, TASKS[3], LONG]
    assert rows[-1] == "7 more (7 equal): --all"
    # Ten, of which the long name takes two lines.
    assert len(rows) == 12
    everything = printed(capsys, "compare worse --against old --all")
    assert {*TASKS, SST2, LONG} <= {*first_words(everything)}
    assert "--all" not in " ".join(everything)


def test_floors_are_there_where_a_score_may_be_no_better_and_where_asked_for(capsys: Output) -> None:
    # The better constant label is right in half of the rows; 20 of 100 are below that.
    few = "\n".join(printed(capsys, "compare worse --against old"))
    (near,) = (part for part in few.split("\n\n") if part.startswith("perhaps not above the floor"))
    assert [name for name in (SST2, LONG, "level") if f"\n{name}" in near] == [SST2]
    every = "\n".join(printed(capsys, "compare worse --against old --all"))
    (all_floors,) = (part for part in every.split("\n\n") if part.startswith("above the floor"))
    assert all(f"\n{name}" in all_floors for name in (SST2, LONG, "level"))
    assert "floor" not in "\n".join(printed(capsys, "compare same --against old"))


@pytest.mark.usefixtures("few_pairs")
def test_plans_and_draws_fit_as_well(capsys: Output) -> None:
    lines = printed(capsys, "plan --rows 200 --answers-per-row 4 --max-drop 0.02")
    assert "".join(lines).count("those to a row with a correlation") == 1
    for model, count in (("base", 50), ("new", 30)):
        write_draws(Path(), {SST2: [right(count), right(count, skip=5)]}, model)
    lines = printed(capsys, "compare new-1 new-2 --against base-1 base-2")
    assert len([line for line in lines if "reliable@k" in line or "pass@k" in line]) >= 2


def test_several_candidates_each_have_a_decision(capsys: Output) -> None:
    lines = printed(capsys, "check worse same less --against old --max-drop 0.2")
    assert lines[0] == "Cannot be told: less. Ship: worse, same."
    assert lines[2].split() == ["worse", "same", "less"]
    said = " ".join("\n".join(lines).split())
    assert f"less: Cannot be told: {LONG} (no rows were evaluated in the candidate). One headline is" in said
    assert "same: Ship: none of 2 headlines is worse by more than 20 points." in said


@pytest.mark.usefixtures("few_pairs")
def test_commands_of_parts_are_not_broken(capsys: Output) -> None:
    call("plan --against old --looks 2 --max-drop 0.02")
    lines = capsys.readouterr().out.splitlines()
    # They are there to be copied.
    assert all("--output_path" in line for line in lines if re.match(r"\S*lm_eval ", line))
    assert any(len(line) > 80 for line in lines)


def test_too_many_columns_continue_below_with_the_names_again() -> None:
    head, rows = ["", *(f"column {number}" for number in range(9))], [["name", *"123456789"], ["other", *"987654321"]]
    lines = [*fitted(40, head, rows)]
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if line and not line.startswith(" ")] == ["name", "other"] * 3
    assert "".join(lines).count("column") == 9


def test_long_lines_break_between_words_and_keep_their_indentation() -> None:
    text = "  " + "word " * 30
    lines = [*wrapped([text.rstrip()], 40)]
    assert [line[: len(line) - len(line.lstrip())] for line in lines] == ["  ", *["    "] * (len(lines) - 1)]
    assert " ".join(" ".join(lines).split()) == text.strip()
    assert [*wrapped(["x" * 50, "short"], 40)] == ["x" * 50, "short"]
