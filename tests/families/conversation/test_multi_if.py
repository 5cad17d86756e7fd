"""Multi-IF's conversations: their rows, the figures of its code, and what no answer can do."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext import cli
from lm_eval_ext.families.conversation.multi_if import contradiction, published_rows
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instruction, multi_if, verify
from tests.conftest import EvaluateEach, Run
from tests.families.jsonl import WRONG_ROWS, write_rows
from tests.harness.tasks import make
from tests.tables import tables

pytestmark = pytest.mark.harness

TASK = "multi_if"
POLICIES = ("oracle", "forgets_after_2", "last", "ignore", "echo")


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    metadata = '{"source": "embedded", "details": true}'
    shared = ("--metadata", metadata, "--apply_chat_template", "--model", "conversation", "--tasks", TASK)
    options = {policy: (*shared, "--model_args", f"base=reference,policy={policy}") for policy in POLICIES}
    return evaluate_each(tmp_path_factory.mktemp("policies"), options)


def published(lines: Iterable[Mapping[str, Any]], turn: int) -> float:
    """Return a turn's figure: the mean of four accuracies over all answers to it and their instructions."""
    found: dict[bool, list[tuple[bool, ...]]] = {False: [], True: []}
    for line in lines:
        doc = line["doc"]
        for places, said in [*zip(doc["in_force"], line["turns"], strict=True)][turn - 1 : turn]:
            ids, kwargs = ([doc[name][place] for place in places] for name in ("instruction_id_list", "kwargs"))
            for loose, of_answers in found.items():
                verdict = verify(said["answer"], ids, kwargs, edition="multi_if", loose=loose)
                of_answers.append(verdict.follow_instruction_list)
    levels = [[fmean(map(all, rows)), fmean(one for row in rows for one in row)] for rows in found.values()]
    return fmean(level for of_verdict in levels for level in of_verdict)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_figures_of_each_turn_and_language_are_those_of_the_published_code(
    runs: Mapping[str, Run], policy: str
) -> None:
    lines, found = runs[policy].samples[TASK], runs[policy].results["results"][TASK]
    assert [len(line["turns"]) for line in lines] == [3, 3, 3, 2, 3, 3, 3, 3]
    for turn in (1, 2, 3):
        assert found[f"overall_acc_turn_{turn:02},none"] == pytest.approx(published(lines, turn))
        for language in ("English", "Spanish", "Chinese", "Hindi"):
            of_language = [line for line in lines if line["doc"]["language"] == language]
            figure = found[f"overall_acc_turn_{turn:02}_{language.lower()},none"]
            assert figure == pytest.approx(published(of_language, turn))


def test_the_policies_are_right_in_the_turns_that_they_follow(runs: Mapping[str, Run]) -> None:
    right = {"oracle": (1, 1, 1), "forgets_after_2": (1, 1, 0), "ignore": (0, 0, 0)}
    for policy, of_turns in right.items():
        found = runs[policy].results["results"][TASK]
        assert tuple(found[f"prompt_level_strict_acc_turn_{turn:02},none"] for turn in (1, 2, 3)) == of_turns
    # Of the rows that lose something, one has two turns: what is not asked cannot be lost.
    assert runs["forgets_after_2"].results["results"][TASK]["loss_rate,none"] == 7 / 8


def test_every_turn_of_a_recorded_conversation_is_judged(
    runs: Mapping[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = runs["forgets_after_2"].samples[TASK]
    recorded = write_rows(tmp_path / "samples.jsonl", lines)
    assert cli.main(["verify", str(recorded), "--edition", "multi_if"]) == 0
    judged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # The policy is right in the first two turns; one of the eight conversations has no third.
    expected = [(turn, turn <= 2) for line in lines for turn in range(1, len(line["turns"]) + 1)]
    assert [(row["turn"], row["follow_all_instructions"]) for row in judged] == expected
    in_force = [len(places) for line in lines for places in line["doc"]["in_force"]]
    assert [len(row["follow_instruction_list"]) for row in judged] == in_force


def test_the_published_rows_are_read_and_the_contradictory_are_named(shared_data: Path, tmp_path: Path) -> None:
    with (shared_data / "ifeval" / "multiif_english.csv").open(encoding="utf-8", newline="") as lines:
        write_rows(tmp_path / "multi_if_train.jsonl", [*csv.DictReader(lines)])
    found = published_rows(str(tmp_path))
    assert [sum(len(row.messages) == turns for row in found) for turns in (1, 2, 3)] == [0, 13, 896]
    # Three turns with 1 to 3, 2 to 4 or 3 to 5 instructions, and two with 1 and 2 or 2 and 3.
    asked = sum(len(places) for row in found for places in row.in_force)
    assert asked == 519 * (1 + 2 + 3) + 290 * (2 + 3 + 4) + 87 * (3 + 4 + 5) + 6 * (1 + 2) + 7 * (2 + 3)
    impossible = [row for row in found if any(row.contradictions)]
    assert len(impossible) == 37
    assert sum(map(bool, (each for row in impossible for each in row.contradictions))) == 65
    ours = {message for row in published_rows("embedded") for message in row.messages}
    assert ours.isdisjoint(message for row in found for message in row.messages)


CONTRADICTIONS = tables(__file__, "contradictions")


@pytest.mark.parametrize(("one", "other", "near"), CONTRADICTIONS)
def test_two_instructions_that_no_answer_follows_are_found(
    one: tuple[str, dict[str, Any]], other: tuple[str, dict[str, Any]], near: dict[str, Any]
) -> None:
    first, second = instruction(*one), instruction(*other)
    assert contradiction([second, first]) == contradiction([first, second]) == f"{one[0]} and {other[0]}"
    assert contradiction([first, instruction(other[0], near)]) == ""


ROW = {
    **{"key": "1", "language": "Thai", "turn_1_prompt": '{"role": "user", "content": "Why?"}'},
    **{"turn_1_instruction_id_list": '["punctuation:no_comma"]', "turn_1_kwargs": '["{}"]', "turn_2_prompt": None},
    **{"turn_2_instruction_id_list": None, "turn_2_kwargs": None},
}


@pytest.mark.parametrize(("changed", "message"), WRONG_ROWS["multi_if"].values(), ids=WRONG_ROWS["multi_if"])
def test_an_invalid_row_is_an_error_that_names_it(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    write_rows(tmp_path / "multi_if_train.jsonl", [{**ROW, **changed}])
    with pytest.raises(RowsError, match=f"row 1{message}"):
        published_rows(str(tmp_path))


def test_without_what_divides_thai_texts_rows_in_thai_are_an_error_before_the_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "multi_if_train.jsonl", [ROW])
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    multi_if.thai.cache_clear()
    with pytest.raises(multi_if.MissingThaiError, match=r"needs pycrfsuite: pip install 'lm-eval-ext\[multi_if\]'"):
        make(TASK, {"source": str(tmp_path)})


def test_a_row_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="task 'multi_if': row_seed 7; the rows are published ones; remove row_seed"):
        make(TASK, {"row_seed": 7})
