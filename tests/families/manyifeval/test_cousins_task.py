"""The variants through the real harness: known answers, and the report's figure."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import pytest

from lm_eval_ext.families.manyifeval.schema import reliability_gap
from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.results.load import load
from tests.conftest import EvaluateEach, Run
from tests.reports.sections.reading_tables import names, numbers, section_on, values

pytestmark = pytest.mark.harness

TASK = "manyifeval_cousins_n03"
POLICIES = ("oracle", "drop_one", "first_wording")
ROWS = 10 * 5


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    options = ("--model", "reference", "--tasks", TASK, "--metadata", '{"source": "embedded", "details": true}')
    asked = {policy: (*options, "--model_args", f"policy={policy}", "--limit", str(ROWS)) for policy in POLICIES}
    # Of the second row, and in the other run of the only one, not every variant.
    cut = {str(rows): (*options, "--model_args", "policy=first_wording", "--limit", str(rows)) for rows in (6, 3)}
    return evaluate_each(tmp_path_factory.mktemp("cousins"), {**asked, **cut})


# policy -> accuracy over variants, share of rows with every variant followed, their difference
EXPECTED = {"oracle": (1.0, 1.0, 0.0), "drop_one": (0.0, 0.0, 0.0), "first_wording": (0.2, 0.0, 0.2)}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_scores_are_those_that_the_policy_implies(runs: Mapping[str, Run], policy: str) -> None:
    found = runs[policy].results["results"][TASK]
    scores = (found[f"{name},none"] for name in ("prompt_level_strict_acc", "reliable_at_5", "reliability_gap"))
    assert tuple(scores) == pytest.approx(EXPECTED[policy])
    by_wording = [found[f"strict_acc_phrasing_{number},none"] for number in range(5)]
    # Two of three instructions are followed where one is dropped, whatever its wording.
    assert by_wording[0] == (pytest.approx(2 / 3) if policy == "drop_one" else 1.0)
    assert sum(by_wording) == pytest.approx({"oracle": 5, "drop_one": 10 / 3, "first_wording": 1 + 8 / 3}[policy])


def test_rows_are_asked_in_five_variants_one_after_the_other(runs: Mapping[str, Run]) -> None:
    docs = [sample["doc"] for sample in runs["oracle"].samples[TASK]]
    assert [doc["cousin"] for doc in docs] == list(range(5)) * 10
    assert len({doc["key"] for doc in docs}) == 10
    assert runs["oracle"].results["configs"][TASK]["metadata"]["cousins"] == 5


def test_the_gap_is_what_is_lost_by_counting_rows() -> None:
    rows = [("a", 1.0), ("b", 1.0), ("a", 1.0), ("b", 0.0), ("c", 0.0), ("c", 0.0)]
    assert reliability_gap(rows) == pytest.approx(3 / 6 - 1 / 3)


def test_a_row_without_some_of_its_variants_counts_for_no_figure_over_variants(runs: Mapping[str, Run]) -> None:
    over_variants = ("reliable_at_5", "reliability_gap", *(f"strict_acc_phrasing_{number}" for number in range(5)))
    cut, nothing = ([runs[rows].results["results"][TASK][f"{name},none"] for name in over_variants] for rows in "63")
    # One row is whole: one of its five variants is followed, and of the twelve instructions in other wordings eight.
    assert cut[:3] == [0.0, pytest.approx(0.2), 1.0]
    assert sum(cut[3:]) == pytest.approx(4 - 4 / 3)
    assert nothing == ["N/A"] * 7
    for rows in "63":
        assert f"{TASK}: --limit or --samples leave 1 rows without some of their 5 variants" in runs[rows].output


@pytest.mark.parametrize(("limit", "whole"), [(6, 5), (3, 0)])
def test_the_report_leaves_the_same_rows_out_and_says_so(runs: Mapping[str, Run], limit: int, whole: int) -> None:
    loaded = load([runs[str(limit)].folder])
    (run,) = loaded.counting
    assert len(run.rows or ()) == whole
    left_out = [str(issue) for issue in loaded.issues if "left out" in str(issue)]
    assert len(left_out) == 1
    said = f"{limit - whole} of {limit} answers left out, to rows that were not asked in all 5 variants; with --limit,"
    assert said in left_out[0]
    (shown,) = numbers(section_on(section, runs[str(limit)].folder), "manyifeval_reliability").values()
    # Of no whole row, there are only the figures of the results.
    expected = [0.2, 0.0, 0.2] if whole else [1 / 3, nan, nan]
    assert [*values(shown).values()] == pytest.approx(expected, nan_ok=True)


def test_the_report_shows_the_same_figures_and_no_other_curve(runs: Mapping[str, Run]) -> None:
    found = section_on(section, *(runs[policy].folder for policy in POLICIES))
    assert names(found) == ["manyifeval_reliability", "manyifeval_wordings"]
    shown = {model: [*values(cells).values()] for (model, _), cells in numbers(found, "manyifeval_reliability").items()}
    assert shown == {f"reference policy={policy}": pytest.approx([*EXPECTED[policy]]) for policy in POLICIES}
