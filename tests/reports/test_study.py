"""The engine of figures: entries, and means over groups of them; and which rows several runs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.cells import Cells
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import Ratio
from lm_eval_ext.reports.study import OWN, Entry, SameRows, Study, shared_rows
from lm_eval_ext.results.issue import error, note, warning
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import TaskRun
from tests.reports.files import SST2
from tests.reports.manyifeval_files import row, write_rows
from tests.reports.sections.verbalizer.files import FOO_BAR, GOLDEN, NO_YES, SNLI, write_run

ACC = {"accuracy": "acc"}
ORDERS = {"naturalness": ("natural", "neutral", "unnatural")}


def facts(run: TaskRun) -> Mapping[str, Any]:
    """Return dataset, naturalness and words; nothing for a task that names none."""
    found = {name: run.metadata[name] for name in ("dataset", "naturalness", "verbalizer")}
    return found if found["verbalizer"] else {}


def study_of(folder: Path, scores: Mapping[str, Mapping[str, Sequence[float]]], **options: Any) -> Study:
    """Return the study of models with scores of their tasks."""
    for model, of_model in scores.items():
        write_run(folder / model, of_model, arguments={"pretrained": model}, **options)
    return Study.of_family(Evidence(load([folder])), "verbalizer", facts, ORDERS)


def values(cells: Cells) -> dict[tuple[Any, ...], float | None]:
    """Return the first column by key; ``None`` where there is no figure."""
    found = {key: next(iter(line.values())).figure for key, line in cells.lines.items()}
    return {key: None if isnan(value) else round(value, 6) for key, value in found.items()}


# Entries


def test_of_tasks_with_the_same_facts_the_one_that_most_models_were_run_on_is_an_entry(tmp_path: Path) -> None:
    again = "verbalizer_again"
    recorded = {again: {"verbalizer": "flipped", "naturalness": "unnatural"}, SST2: {}}
    both, one = {again: [1], SST2: [0]}, {SST2: [1]}
    found = study_of(tmp_path, {"a": both, "b": one}, recorded=recorded)
    assert [(entry["model"], entry["task"]) for entry in found.entries] == [("a", SST2), ("b", SST2)]
    assert [(entry["model"], entry["task"], entry.question) for entry in found.other_entries] == [("a", again, again)]


def test_in_a_tie_the_task_of_this_package_is_an_entry_whatever_the_names_of_its_variants(tmp_path: Path) -> None:
    variants = "a_flipped", "b_flipped"
    recorded = {name: {"verbalizer": "flipped", "naturalness": "unnatural"} for name in variants} | {SST2: {}}
    found = study_of(tmp_path / "ours", {"a": {"a_flipped": [1], SST2: [0]}}, recorded=recorded)
    assert [entry["task"] for entry in found.entries] == [SST2]
    assert [entry["task"] for entry in found.other_entries] == ["a_flipped"]
    # Without it, it is the first by name.
    without = study_of(tmp_path / "theirs", {"a": {"b_flipped": [1], "a_flipped": [0]}}, recorded=recorded)
    assert [entry["task"] for entry in without.entries] == ["a_flipped"]


def test_a_task_without_facts_is_among_the_others(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {SST2: [1]}}, metadata={"verbalizer": None})
    assert (found.entries, [entry["task"] for entry in found.other_entries]) == ((), [SST2])


def test_an_entry_has_facts_of_its_task_and_those_that_a_figure_adds(tmp_path: Path) -> None:
    (entry,) = study_of(tmp_path, {"a": {SST2: [1]}}).entries
    assert dict(entry.facts) == {
        "model": "a",
        "task": SST2,
        "dataset": "sst2",
        "naturalness": "unnatural",
        "verbalizer": "flipped",
    }
    added = entry.with_facts(scope="all", dataset="any")
    assert (added["scope"], added["dataset"], added.question) == ("all", "any", ("sst2", "unnatural", "flipped"))


def test_values_are_in_the_order_of_the_study_and_unknown_ones_come_last(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {SST2: [1]}})
    assert found.in_order("naturalness", ["unnatural", "z", "natural", "a"]) == ("natural", "unnatural", "a", "z")
    assert found.ordered(dataset="zy").in_order("dataset", ["a", "y", "z"]) == ("z", "y", "a")


# Means


def test_a_mean_over_tasks_weighs_every_row_alike(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1, 1, 0], NO_YES: [0, 0]}})
    assert values(found.means(found.entries, ("model",), ACC)) == {("a",): 0.5}
    assert values(found.means(found.entries, ("model", "naturalness"), ACC)) == {
        ("a", "natural"): 0.75,
        ("a", "unnatural"): 0.0,
    }


def test_a_mean_over_other_tasks_than_those_of_the_models_beside_it_is_unknown(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], NO_YES: [0]}, "b": {GOLDEN: [1]}})
    assert values(found.means(found.entries, ("model",), ACC)) == {("a",): 0.5, ("b",): None}
    # Both were asked the natural one; each for itself is whole.
    assert values(found.means(found.entries, ("model", "naturalness"), ACC))["b", "natural"] == 1.0
    assert values(found.means(found.entries, ("model",), ACC, compared=())) == {("a",): 0.5, ("b",): 1.0}


def test_groups_that_are_compared_by_another_fact_must_have_asked_the_same_too(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], SST2: [0], SNLI: [1]}})
    of_dataset = [replace(entry, question=entry["dataset"]) for entry in found.entries]
    compared = found.means(of_dataset, ("naturalness",), ACC, compared=("naturalness",))
    # The unnatural words were asked on two datasets, the natural ones on one of them.
    assert values(compared) == {("natural",): None, ("unnatural",): 0.5}


def test_there_is_a_line_for_every_combination_of_values(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], SST2: [0]}, "b": {SST2: [1]}})
    lines = values(found.means(found.entries, ("naturalness", "model"), ACC))
    assert lines == {("natural", "a"): 1, ("natural", "b"): None, ("unnatural", "a"): 0, ("unnatural", "b"): 1}
    assert list(lines) == [("natural", "a"), ("natural", "b"), ("unnatural", "a"), ("unnatural", "b")]


def test_facts_that_belong_together_are_not_combined_with_each_other(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], NO_YES: [0], FOO_BAR: [1]}, "b": {SST2: [1]}})
    lines = found.means(found.entries, ("model", ("naturalness", "verbalizer")), ACC).lines
    asked = [("natural", "golden"), ("neutral", "foo_bar"), ("unnatural", "flipped"), ("unnatural", "no_yes")]
    assert list(lines) == [(model, *both) for model in "ab" for both in asked]


def test_values_of_the_first_facts_are_combined_only_with_what_is_beside_them(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], SNLI: [1]}, "b": {GOLDEN: [1]}})
    lines = found.means(found.entries, ("dataset", "model", "naturalness"), ACC, within=1).lines
    assert list(lines) == [("snli", "a", "unnatural"), ("sst2", "a", "natural"), ("sst2", "b", "natural")]


def test_the_lines_of_a_mean_can_be_given(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1]}})
    assert values(found.means(found.entries, ("model",), ACC, lines=[("c",), ("a",)])) == {("c",): None, ("a",): 1.0}


def test_each_entry_can_have_a_metric_of_its_own(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {SST2: [1, 1, 0, 1]}})
    entries = [
        replace(entry.with_facts(which=metric), metric=metric)
        for entry in found.entries
        for metric in ("acc", "prior_rate", "acc_wording_1")
    ]
    assert values(found.means(entries, ("which",), {"value": OWN})) == {
        ("acc",): 0.75,
        ("acc_wording_1",): None,
        ("prior_rate",): 0.25,
    }


@pytest.mark.parametrize(("kept", "value"), [(None, 0.5), ([True, True, False], 0.75), ([False, False, True], 0.0)])
def test_a_share_of_what_rows_ask_is_over_the_rows_that_the_entry_keeps(
    kept: list[bool] | None, value: float, tmp_path: Path
) -> None:
    # Of the type, the rows ask for one, three and two.
    metric = "strict_acc_punctuation_no_comma"
    followed = ([1], [1, 1, 0], [0, 0])
    rows = [row(number, of_row, repeated=True) for number, of_row in enumerate(followed)]
    write_rows(tmp_path, {"manyifeval_n01": rows})
    found = Study.of_family(Evidence(load([tmp_path])), "manyifeval", lambda run: {"repeat": False}, {})
    entries = [replace(entry, mask=None if kept is None else np.array(kept)) for entry in found.entries]
    assert values(found.means(entries, ("repeat",), {"followed": metric})) == {(False,): value}


def test_a_mean_with_a_run_that_cannot_be_compared_is_unknown(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], SST2: [1]}})
    entries = [replace(entry, reason="other rows") if entry["task"] == SST2 else entry for entry in found.entries]
    assert values(found.means(entries, ("naturalness",), ACC)) == {("natural",): 1.0, ("unnatural",): None}


def test_without_samples_a_mean_over_rows_is_known_and_one_of_unknown_weight_is_not(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1, 1], SST2: [0]}}, samples=False)
    assert values(found.means(found.entries, ("model",), ACC)) == {("a",): 0.75}

    def share(entry: Entry) -> Ratio:
        return Ratio.without_rows(entry.run.figure("acc") or 0.0, 1)

    assert values(found.means(found.entries, ("model",), {"share": share})) == {("a",): None}
    assert values(found.means(found.entries, ("naturalness",), {"share": share})) == {
        ("natural",): 1.0,
        ("unnatural",): 0.0,
    }


def test_tasks_weigh_alike_where_the_family_says_so(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1, 1], SST2: [0]}})

    def alike(entry: Entry) -> Entry:
        family = entry.run.family
        return replace(
            entry, run=replace(entry.run, family=replace(family, schema=replace(family.schema, tasks_weigh_alike=True)))
        )

    assert values(found.means(map(alike, found.entries), ("model",), ACC)) == {("a",): 0.5}


# The same rows

OTHER_NUMBERS = "their numbers of rows differ, and without samples it is unknown which rows they share"
TEXTS = SameRows("not compared on {dataset}", "rows left out", "{count} of {dataset}")


def test_runs_are_compared_on_the_rows_that_all_in_their_group_have(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1, 0], SST2: [1, 0]}})
    entries, issues = found.on_same_rows(found.entries, ("model", "dataset"), TEXTS)
    assert values(found.means(entries, ("naturalness",), ACC)) == {("natural",): 1.0, ("unnatural",): 0.5}
    assert issues == [note("a: rows left out: 1 of sst2")]
    assert [entry.mask.tolist() for entry in entries if entry.mask is not None] == [[True, True, False], [True, True]]


def test_rows_are_not_selected_where_all_runs_have_all(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1], SST2: [1, 0]}})
    entries, issues = found.on_same_rows(found.entries, ("model", "dataset"), TEXTS)
    assert ([entry.mask for entry in entries], issues) == ([None, None], [])


def test_runs_without_common_rows_are_not_compared_and_it_is_said_why(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1, 1, 0], SST2: [1]}}, samples=False)
    entries, issues = found.on_same_rows(found.entries, ("model", "dataset"), TEXTS)
    assert issues == [error(f"a: not compared on sst2: {OTHER_NUMBERS}")]
    assert {entry.reason for entry in entries} == {OTHER_NUMBERS}


def test_models_that_lack_tasks_of_others_are_named(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"a": {GOLDEN: [1], SST2: [1]}, "b": {SST2: [1]}})
    assert found.incomplete(found.entries, "direct ") == (
        warning(
            "b: not run on 1 of the direct tasks that other models were run on; figures that need these tasks are left "
            "out for it"
        ),
    )


# Shared rows


@pytest.mark.parametrize(("scores", "reason"), [([1, 0], ""), ([1, 0, 1], OTHER_NUMBERS)])
def test_without_samples_an_equal_number_of_rows_counts_as_the_same_rows(
    scores: Sequence[float], reason: str, tmp_path: Path
) -> None:
    write_run(tmp_path, {GOLDEN: scores, SST2: [1, 0]}, samples=False)
    found = shared_rows(load([tmp_path]).counting)
    assert (found.masks, found.left_out, found.reason) == ((None, None), 0, reason)


@pytest.mark.parametrize(("same_hash", "reason"), [(True, "their rows differ"), (False, "")])
def test_row_hashes_must_match_unless_they_cover_more_than_the_dataset(
    same_hash: bool, reason: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "a", {GOLDEN: [1, 0]})
    write_run(tmp_path / "b", {SST2: [1, 0]}, metadata={"rows_hash": "others"})
    assert shared_rows(load([tmp_path]).counting, same_hash=same_hash).reason == reason
