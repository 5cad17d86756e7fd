"""Several runs that differ in the seed are one run; others are not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.results.comparability import as_one
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.runs import Runs, rows_of
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, edited, edited_lines, results_in, samples_of
from tests.reports.gate.two_runs import SAMPLING, write_draws
from tests.tables import tables

TABLES = tables(__file__)
DRAWS = {SST2: [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]}


def together(folders: Sequence[Path]) -> Runs:
    found = load_apart([[folder] for folder in folders])
    return as_one(found, [folder.name for folder in folders])


def drawn(folder: Path, *counts: int) -> None:
    """Give each row of a run so many draws, all alike."""
    with edited_lines(samples_of(results_in(folder))) as lines:
        for line, count in zip(lines, counts, strict=True):
            line["draws"] = {name: [line[name]] * count for name in ("acc", "prior_rate", "invalid_rate")}


def test_rows_have_the_draws_of_all_runs_and_their_mean(tmp_path: Path) -> None:
    runs = together(write_draws(tmp_path, DRAWS))
    (run,) = runs.counting
    assert np.array_equal(rows_of(run).draws["acc"], [[1, 1], [0, 1], [0, 0]])
    assert rows_of(run).values["acc"].tolist() == [1.0, 0.5, 0.0]
    assert run.figure("acc") == pytest.approx(0.5)
    assert list(runs.labels.values()) == ["one"]


def test_rows_in_another_order_are_matched_by_their_number(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, DRAWS)
    samples = samples_of(results_in(folders[1]))
    samples.write_text("".join(reversed(samples.read_text().splitlines(keepends=True))))
    (run,) = together(folders).counting
    assert rows_of(run).values["acc"].tolist() == [1.0, 0.5, 0.0]


def test_a_run_with_several_draws_counts_with_each_of_them(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, {SST2: [[1.0], [0.0]]})
    drawn(folders[0], 3)
    (run,) = together(folders).counting
    assert rows_of(run).values["acc"].tolist() == [0.75]
    assert run.figure("acc") == pytest.approx(0.75)


def test_one_run_stays_as_it_is(tmp_path: Path) -> None:
    (folder,) = write_draws(tmp_path, {SST2: [[1.0, 0.0]]})
    (found,) = load_apart([[folder]])
    assert as_one([found], ["one"]) is found


def test_runs_without_samples_have_mean_figures(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, DRAWS, samples=False)
    (run,) = together(folders).counting
    assert run.rows is None
    assert run.figure("acc") == pytest.approx(0.5)


def test_answers_that_any_draw_lacks_are_said(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, DRAWS)
    with edited(folders[1]) as content:
        content["config"]["recorded"] = {"missing": {SST2: 2}}
    (run,) = together(folders).counting
    lacking = f"2 of 3 answers of {results_in(folders[1])} were not recorded and count as empty"
    assert [issue.text for issue in run.issues if issue.severity == "warning"] == [lacking]


@pytest.mark.parametrize("of_generation", [True, False])
def test_seeds_of_the_harness_and_of_the_generation_distinguish_draws_too(of_generation: bool, tmp_path: Path) -> None:
    folders = write_draws(tmp_path, DRAWS)
    for number, folder in enumerate(folders):
        with edited(folder) as content:
            content["config"] |= {"model_args": {"pretrained": "owner/one"}}
            if of_generation:
                content["config"]["gen_kwargs"] = {**SAMPLING, "seed": number}
                content["configs"][SST2]["generation_kwargs"] = {**SAMPLING, "seed": number}
            else:
                content["config"]["torch_seed"] = number
    (run,) = together(folders).counting
    assert rows_of(run).drawn == 2
    assert dict(run.setting) == ({"gen_kwargs": "do_sample=True,temperature=0.7"} if of_generation else {})


def test_a_row_with_another_number_of_draws_is_skipped(tmp_path: Path) -> None:
    (folder,) = write_draws(tmp_path, {SST2: [[1.0, 0.0]]})
    drawn(folder, 3, 2)
    runs = together([folder])
    assert rows_of(runs.counting[0]).draws["acc"].tolist() == [[1, 1, 1]]
    assert any("skipped line 2 (2 draws; expected 3, as in the lines before)" in str(i) for i in runs.issues)


def test_greedy_draws_are_noted(tmp_path: Path) -> None:
    runs = together(write_draws(tmp_path, DRAWS, config={"generation_kwargs": {"do_sample": False}}))
    assert f"{SST2}: decoded greedily, so a seed should change nothing" in str(runs.issues[-1])


def test_sampled_runs_with_the_same_scores_are_warned_of(tmp_path: Path) -> None:
    (said,) = (str(issue) for issue in together(write_draws(tmp_path, {SST2: [[1.0, 0.0]] * 2})).issues)
    assert said.startswith(f"one-1 and one-2 have the same scores in every row of {SST2}: if their answers are")
    # A model that is always right says nothing.
    assert not together(write_draws(tmp_path / "right", {SST2: [[1.0, 1.0]] * 2})).issues
    assert not together(write_draws(tmp_path / "other", DRAWS)).issues


@pytest.mark.parametrize(("place", "changed", "said"), TABLES["differences"])
def test_what_differs_in_anything_but_the_seed_is_refused(
    tmp_path: Path, place: Sequence[str], changed: dict[str, Any], said: str
) -> None:
    folders = write_draws(tmp_path, DRAWS)
    with edited(folders[1]) as content:
        reduce(getitem, place, content).update(changed)
    with pytest.raises(RowsError, match=said):
        together(folders)


def test_other_prompts_or_rows_are_refused(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, DRAWS)
    samples = samples_of(results_in(folders[1]))
    whole = samples.read_text()
    for text, said in (
        (whole.replace("prompt 1", "prompt x"), "other prompts for the same rows"),
        (whole.replace('"doc_id": 2', '"doc_id": 7'), "other rows"),
    ):
        samples.write_text(text)
        with pytest.raises(RowsError, match=f"one-1 and one-2 are not two draws of one run: {SST2}: {said}"):
            together(folders)
    samples.unlink()
    with pytest.raises(RowsError, match=f"{SST2}: one-2 has no samples"):
        together(folders)


def test_a_missing_task_or_fewer_rows_are_refused(tmp_path: Path) -> None:
    folders = write_draws(tmp_path, {**DRAWS, "verbalizer_snli_unnatural_flipped": DRAWS[SST2]})[:1]
    folders += write_draws(tmp_path, {SST2: DRAWS[SST2][1:]}, seed=2)
    for order in (folders, folders[::-1]):
        with pytest.raises(RowsError, match="one-2 lacks verbalizer_snli_unnatural_flipped"):
            together(order)
    less = tmp_path / "less"
    folders = write_draws(less, {SST2: [[1.0, 0.0]]}) + write_draws(less, {SST2: [[1.0]]}, seed=2)
    with pytest.raises(RowsError, match="2 and 1 rows"):
        together(folders)


@pytest.mark.harness
def test_a_ratio_has_the_sums_of_its_parts_over_all_draws(tmp_path: Path) -> None:
    from tests.harness.tasks import OF_FAMILY, evaluate  # noqa: PLC0415 # imports the harness

    task, folders = OF_FAMILY["manyifeval"], [tmp_path / "1", tmp_path / "2"]
    options: dict[str, Any] = {"limit": 4, "bootstrap_iters": 0, "gen_kwargs": "do_sample=true,temperature=1.0"}
    for seed, (repeats, folder) in enumerate(zip((3, 1), folders, strict=True)):
        metadata, seeds = {"repeats": repeats, "details": True}, {"random_seed": seed, "numpy_random_seed": seed}
        evaluate("reference", [task], metadata, folder, model_args="policy=oracle", **seeds, **options)
    (run,) = together(folders).counting
    rows = rows_of(run)
    assert rows.drawn == 4
    assert rows.denominators
    for metric, denominators in rows.denominators.items():
        # Every answer follows everything.
        assert np.array_equal(rows.values[metric], denominators)
        assert {*np.unique(denominators)} <= {0.0, 4.0, 8.0}
