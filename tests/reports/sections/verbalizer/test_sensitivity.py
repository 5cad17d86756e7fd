"""The spread over wordings of planted answers, and what chance alone makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from lm_eval_ext.reports.sections.verbalizer.sensitivity import spread_of
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import TaskRun
from tests.reports.files import SST2, STAMP
from tests.reports.sections.verbalizer.files import NO_YES, write_run


def planted(folder: Path, right: Mapping[str, Sequence[Sequence[float]]], *, samples: bool = True) -> list[TaskRun]:
    """Return the runs of tasks whose answers are given by row and wording."""
    count = len(next(iter(right.values()))[0])
    path = write_run(
        folder,
        {task: [acc for row in rows for acc in row] for task, rows in right.items()},
        metadata={"paraphrases": count},
    )
    content = json.loads(path.read_text(encoding="utf-8"))
    for task, rows in right.items():
        accuracies = np.mean(rows, axis=0)
        content["results"][task] |= {
            "prompt_sensitivity,answer": float(np.ptp(accuracies)),
            f"reliable_at_{count},answer": float(np.mean(np.min(rows, axis=1))),
            **{f"acc_paraphrase_{place + 1},answer": float(acc) for place, acc in enumerate(accuracies)},
        }
        file = folder / f"samples_{task}_{STAMP}.jsonl"
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines):
            row, wording = divmod(number, count)
            line["doc"] |= {"row": row, "paraphrase": wording + 1}
            line |= {
                f"acc_paraphrase_{each + 1}": [line["acc"] * (each == wording), int(each == wording)]
                for each in range(count)
            }
            line |= {"prompt_sensitivity": [wording + 1, line["acc"]], f"reliable_at_{count}": [row, line["acc"]]}
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        if not samples:
            file.unlink()
    path.write_text(json.dumps(content), encoding="utf-8")
    return list(load([folder]).counting)


def test_one_hard_wording_is_more_than_chance(tmp_path: Path) -> None:
    found = spread_of(planted(tmp_path, {SST2: [[1, 1, 0]] * 20}))
    assert found.value == 1.0
    # Twenty failures dealt to three wordings: the range of three normals, 1.69 standard deviations of a difference.
    assert found.by_chance == pytest.approx(1.69 * (20 / 3) ** 0.5 / 20, abs=0.02)
    assert found.p == pytest.approx(1 / 1001)


def test_failures_that_are_dealt_evenly_are_no_more_than_chance(tmp_path: Path) -> None:
    rows = [[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 7
    found = spread_of(planted(tmp_path, {SST2: rows}))
    assert found.value == pytest.approx(0.0)
    assert found.p == 1.0


def test_rows_that_are_right_or_wrong_in_all_wordings_have_no_spread_by_chance(tmp_path: Path) -> None:
    found = spread_of(planted(tmp_path, {SST2: [[1, 1], [0, 0]] * 5}))
    assert (found.value, found.by_chance, found.p) == (0.0, 0.0, 1.0)


def test_with_two_wordings_chance_has_the_exact_distribution(tmp_path: Path) -> None:
    # Four rows with one right answer each, all in wording 1: two of 2 ** 4 deals spread as far.
    found = spread_of(planted(tmp_path, {SST2: [[1, 0]] * 4 + [[1, 1]] * 2}))
    assert found.value == pytest.approx(4 / 6)
    assert found.p == pytest.approx(2 / 16, abs=0.03)
    # Mean of |heads - tails| of four coins: 1.5, over six rows.
    assert found.by_chance == pytest.approx(1.5 / 6, abs=0.02)


def test_of_several_tasks_it_is_the_mean_of_their_spreads(tmp_path: Path) -> None:
    opposite = {SST2: [[1, 0]] * 10, NO_YES: [[0, 1]] * 10}
    found = spread_of(planted(tmp_path, opposite))
    assert found.value == 1.0
    assert found.p < 0.05


def test_without_samples_only_the_spread_is_known(tmp_path: Path) -> None:
    found = spread_of(planted(tmp_path, {SST2: [[1, 0], [1, 1]]}, samples=False))
    assert found.value == 0.5
    assert np.isnan(found.by_chance)
    assert np.isnan(found.p)
