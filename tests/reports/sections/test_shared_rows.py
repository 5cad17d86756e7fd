"""Which rows several runs share, or why they share none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lm_eval_ext.reports.sections.shared_rows import shared_rows
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import TaskRun
from tests.reports.files import SST2
from tests.reports.sections.verbalizer.files import GOLDEN, write_run


def runs(folder: Path, scores: Mapping[str, Sequence[float]], *, samples: bool = True) -> tuple[TaskRun, ...]:
    write_run(folder, scores, samples=samples)
    return load([folder]).counting


def test_rows_missing_from_one_run_are_left_out(tmp_path: Path) -> None:
    found = shared_rows(runs(tmp_path, {GOLDEN: [1, 0, 1], SST2: [1, 0]}))
    assert found.left_out == 1
    assert [kept.tolist() for kept in found.kept if kept is not None] == [[True, True, False], [True, True]]


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({GOLDEN: [1, 0], SST2: [1, 0]}, ""),
        (
            {GOLDEN: [1, 0, 1], SST2: [1, 0]},
            "their numbers of rows differ, and without samples it is unknown which rows they share",
        ),
    ],
)
def test_without_samples_an_equal_number_of_rows_counts_as_the_same_rows(
    scores: Mapping[str, Sequence[float]], reason: str, tmp_path: Path
) -> None:
    found = shared_rows(runs(tmp_path, scores, samples=False))
    assert (found.kept, found.left_out, found.reason) == ((None, None), 0, reason)


@pytest.mark.parametrize(("same_hash", "reason"), [(True, "their rows are from different datasets"), (False, "")])
def test_row_hashes_must_match_unless_they_cover_more_than_the_dataset(
    same_hash: bool, reason: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "a", {GOLDEN: [1, 0]})
    write_run(tmp_path / "b", {SST2: [1, 0]}, metadata={"rows_hash": "others"})
    assert shared_rows(load([tmp_path]).counting, same_hash=same_hash).reason == reason
