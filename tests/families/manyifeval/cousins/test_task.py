"""The variants through the real harness: known answers, and the report's figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lm_eval_ext.families.manyifeval.cousins.task import gap, reliable
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure
from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.results.load import load
from tests.conftest import EvaluateEach, Run

pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

TASK = "manyifeval_cousins_n03"
POLICIES = ("oracle", "drop_one", "first_wording")
ROWS = 10 * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cousins")


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, folder: Path) -> Mapping[str, Run]:
    options = ("--model", "reference", "--tasks", TASK, "--metadata", '{"source": "embedded"}', "--limit", str(ROWS))
    return evaluate_each(folder, {policy: (*options, "--model_args", f"policy={policy}") for policy in POLICIES})


# policy -> accuracy over variants, share of rows with every variant followed, their difference
EXPECTED = {"oracle": (1.0, 1.0, 0.0), "drop_one": (0.0, 0.0, 0.0), "first_wording": (0.2, 0.0, 0.2)}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_scores_are_those_that_the_policy_implies(runs: Mapping[str, Run], policy: str) -> None:
    found = runs[policy].results["results"][TASK]
    names = ("prompt_level_strict_acc", "reliable_at_5", "reliability_gap")
    assert tuple(found[f"{name},none"] for name in names) == pytest.approx(EXPECTED[policy])
    by_wording = [found[f"strict_acc_phrasing_{number},none"] for number in range(5)]
    # Two of three instructions are followed where one is dropped, whatever its wording.
    assert by_wording[0] == (pytest.approx(2 / 3) if policy == "drop_one" else 1.0)
    assert sum(by_wording) == pytest.approx({"oracle": 5, "drop_one": 10 / 3, "first_wording": 1 + 8 / 3}[policy])


def test_rows_are_asked_in_five_variants_one_after_the_other(runs: Mapping[str, Run]) -> None:
    docs = [sample["doc"] for sample in runs["oracle"].samples[TASK]]
    assert [doc["cousin"] for doc in docs] == list(range(5)) * 10
    assert len({doc["key"] for doc in docs}) == 10
    assert runs["oracle"].results["configs"][TASK]["metadata"]["cousins"] == 5


def test_reliability_counts_rows_and_the_gap_is_what_is_lost() -> None:
    rows = [("a", 1.0), ("b", 1.0), ("a", 1.0), ("b", 0.0), ("c", 0.0), ("c", 0.0)]
    assert reliable(rows) == pytest.approx(1 / 3)
    assert gap(rows) == pytest.approx(3 / 6 - 1 / 3)


def test_the_report_shows_the_same_figures_and_no_other_curve(runs: Mapping[str, Run], folder: Path) -> None:
    assert runs
    found = section(Evidence(load([folder])))
    assert found is not None
    figure, wordings = found.figures
    assert isinstance(figure, Figure)
    assert isinstance(wordings, Figure)
    assert (figure.name, wordings.name) == ("manyifeval_reliability", "manyifeval_wordings")
    shown = {row[0]: [cell.value for cell in row[2:]] for row in figure.table.rows}  # type: ignore[union-attr]
    assert shown == {f"reference policy={policy}": pytest.approx(EXPECTED[policy]) for policy in POLICIES}
