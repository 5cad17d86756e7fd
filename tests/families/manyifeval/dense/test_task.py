"""Reports with many words, or in sections, through the real harness: known answers, and the report's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.instructions.kinds import IN_SECTIONS
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, MixedRow, dense_rows, mixed_rows, rows_hash
from lm_eval_ext.families.manyifeval.dense.scores import by_place, score_sections
from lm_eval_ext.families.manyifeval.dense.task import DenseTask, section_answers
from lm_eval_ext.reports.figure import Section, TableCell
from lm_eval_ext.reports.sections.manyifeval.section import section
from tests.conftest import EvaluateEach, Run
from tests.harness.tasks import make
from tests.known_answers import text_of
from tests.reports.sections.reading_tables import names, numbers, section_on, values

pytestmark = pytest.mark.harness

LEAVES = tuple(f"manyifeval_dense_n{count:03d}" for count in COUNTS)
POLICIES = ("oracle", "first_half", "drop_one", "other_form", "ignore")
METRICS = ("words_followed", "words_modified", "words_omitted", "primacy")


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    options = ("--model", "reference", "--tasks", "manyifeval_dense", "--metadata", '{"details": true}')
    asked = {policy: (*options, "--model_args", f"policy={policy}") for policy in POLICIES}
    return evaluate_each(tmp_path_factory.mktemp("dense"), asked)


def expected(policy: str, count: int) -> tuple[float, float, float, float]:
    followed = {"oracle": count, "first_half": count // 2, "drop_one": count - 1, "other_form": 0, "ignore": 0}[policy]
    modified = count if policy == "other_form" else 0
    last_third = count - round(count * 2 / 3)
    primacy = {"first_half": 1.0, "drop_one": 1 / last_third}.get(policy, 0.0)
    return followed / count, modified / count, (count - followed - modified) / count, primacy


@pytest.mark.parametrize("policy", POLICIES)
def test_the_scores_are_those_that_the_policy_implies(runs: Mapping[str, Run], policy: str) -> None:
    found = runs[policy].results["results"]
    for leaf, count in zip(LEAVES, COUNTS, strict=True):
        scores = tuple(found[leaf][f"{metric},none"] for metric in METRICS)
        assert scores == pytest.approx(expected(policy, count)), leaf
    mean = sum(expected(policy, count)[0] for count in COUNTS) / len(COUNTS)
    assert found["manyifeval_dense"]["words_followed,none"] == pytest.approx(mean)


# Instructions of many types about sections

FORM = {"form": "mixed", "details": True}
MIXED = LEAVES[:2]
MIXED_RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "oracle": ("oracle", FORM),
    "first_half": ("first_half", FORM),
    "drop_one": ("drop_one", FORM),
    "fresh": ("oracle", {**FORM, "row_seed": 7}),
    "drawn": ("first_half", {**FORM, "repeats": 2}),
    "keywords": ("oracle", {"form": "keywords"}),
}


@pytest.fixture(scope="module")
def mixed_runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    options = ("--model", "reference", "--tasks", ",".join(MIXED))
    asked = {
        name: (*options, "--model_args", f"policy={policy}", "--metadata", json.dumps(metadata))
        for name, (policy, metadata) in MIXED_RUNS.items()
    }
    return evaluate_each(tmp_path_factory.mktemp("mixed"), asked)


def test_the_mixed_forms_scores_are_those_that_the_policy_implies(mixed_runs: Mapping[str, Run]) -> None:
    for leaf, count in zip(MIXED, COUNTS, strict=False):
        last_third = count - round(count * 2 / 3)
        shares = {"oracle": (1.0, 0.0), "first_half": (0.5, 1.0), "drop_one": (1 - 1 / count, 1 / last_third)}
        for name, (followed, primacy) in {**shares, "fresh": shares["oracle"], "drawn": shares["first_half"]}.items():
            found = mixed_runs[name].results["results"][leaf]
            assert found["instructions_followed,none"] == pytest.approx(followed)
            assert found["instructions_broken,none"] == pytest.approx(1 - followed)
            assert found["instructions_omitted,none"] == 0.0
            assert found["primacy,none"] == pytest.approx(primacy)
        types = {name for name in mixed_runs["oracle"].results["results"][leaf] if name.startswith("section_acc_")}
        assert len({name for name in types if "_stderr" not in name}) == len(IN_SECTIONS)
        assert mixed_runs["drawn"].results["results"][leaf]["draws,none"] == 2


def test_form_and_row_seed_are_part_of_the_version_and_the_hash(mixed_runs: Mapping[str, Run]) -> None:
    (leaf, *_) = MIXED
    versions = {name: str(run.results["versions"][leaf]) for name, run in mixed_runs.items()}
    assert versions == {
        **dict.fromkeys(MIXED_RUNS, "1.2+mixed"),
        "fresh": "1.2+seed7+mixed",
        "keywords": "1.2",
    }
    metadata = {name: run.results["configs"][leaf]["metadata"] for name, run in mixed_runs.items()}
    assert len({metadata[name]["rows_hash"] for name in ("oracle", "fresh", "keywords")}) == 3
    assert {metadata[name]["form"] for name in MIXED_RUNS if name != "keywords"} == {"mixed"}
    # As it is without a form.
    assert metadata["keywords"]["rows_hash"] == rows_hash(dense_rows(10))
    assert "form" not in metadata["keywords"]


def test_compare_and_check_refuse_to_mix_the_forms(
    mixed_runs: Mapping[str, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    words, sections = (str(mixed_runs[name].folder) for name in ("keywords", "oracle"))
    assert main(["check", sections, "--against", words, "--max-drop", "0.1"]) == 2
    assert "version 1.2 in the baseline, 1.2+mixed in the candidate" in capsys.readouterr().out
    assert main(["compare", sections, "--against", words]) == 1
    assert "nothing to compare" in (said := capsys.readouterr().err)
    assert "version 1.2 in the baseline, 1.2+mixed in the candidate" in said


def test_the_report_keeps_the_forms_apart(mixed_runs: Mapping[str, Run]) -> None:
    found = section_on(section, *(mixed_runs[name].folder for name in ("keywords", "oracle", "drop_one")))
    assert names(found) == ["manyifeval_dense", "manyifeval_mixed", "manyifeval_mixed_types"]
    assert {model for model, _ in numbers(found, "manyifeval_dense")} == {"reference policy=oracle, no form"}
    assert first_column(found, "manyifeval_mixed") == {
        **{("reference policy=oracle, form=mixed", count): pytest.approx(1.0) for count in COUNTS[:2]},
        **{("reference policy=drop_one", count): pytest.approx(1 - 1 / count) for count in COUNTS[:2]},
    }


def first_column(found: Section, name: str) -> dict[tuple[TableCell, ...], float]:
    """Return the first figure of each row of a table: the share that is followed."""
    return {about: next(iter(values(cells).values())) for about, cells in numbers(found, name).items()}


def test_long_reports_in_sections_may_have_twenty_tokens_for_each_instruction() -> None:
    limits = [make(leaf, FORM).config.generation_kwargs["max_gen_toks"] for leaf in (LEAVES[0], LEAVES[5])]
    assert limits == [4096, 6000]
    assert make(LEAVES[5]).config.generation_kwargs["max_gen_toks"] == 4096


def test_no_answer_is_composed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make(LEAVES[0], FORM)
    doc = task.eval_docs[0]
    composed: list[str] = []
    monkeypatch.setattr("lm_eval_ext.families.manyifeval.dense.task.report", lambda *_: composed.append("one"))
    answers = task.known_answers(doc)
    assert text_of(answers, "oracle") == text_of(answers, "ignore_system") == doc["witness"]
    assert {"drop_one", "ignore_system"} <= set(answers)
    assert composed == []


@pytest.mark.parametrize("form", ["keywords", "mixed"])
def test_the_list_of_a_report_can_be_before_its_task(form: str) -> None:
    published, placed = (make(LEAVES[0], {"form": form} | place).eval_docs for place in ({}, {"placement": "before"}))
    for doc, moved in zip(published, placed, strict=True):
        task, listed = moved["asked"].rsplit("\n\n", 1)[1], moved["stated"]
        assert moved["asked"] == f"{listed}\n\n{task}"
        assert task.startswith("Write a business report on ")
        assert task.count(".") == 1
        assert doc["prompt"].startswith(task)
        assert doc["prompt"].endswith(listed)
        assert len(doc["prompt"]) - len(task) - len(listed) in (1, 2)  # what separates them


@pytest.mark.parametrize("count", [None, 11, "10", True])
def test_a_leaf_with_another_number_of_words_is_an_error(count: Any) -> None:
    with pytest.raises(ValueError, match=r"task 'mine': instructions .*; expected one of 10, 20, 50"):
        DenseTask({"task": "mine", "instructions": count, "metadata": {"version": 1.0}})


@pytest.mark.parametrize("name", ["mix", "", None, 1, ["mixed"]])
def test_no_other_form_exists(name: object) -> None:
    with pytest.raises(ValueError, match=f"task '{LEAVES[0]}': metadata form .*; expected one of keywords, mixed"):
        make(LEAVES[0], {"form": name})


def test_the_report_shows_the_same_figures_and_where_a_curve_breaks(runs: Mapping[str, Run]) -> None:
    found = section_on(section, *(run.folder for run in runs.values()))
    assert names(found) == ["manyifeval_dense"]
    assert first_column(found, "manyifeval_dense") == {
        (f"reference policy={policy}", count): pytest.approx(expected(policy, count)[0])
        for policy in POLICIES
        for count in COUNTS
    }
    # None of these policies follows fewer words of a longer list.
    assert found.figures[0].issues == ()


def expected_of(policy: str, row: MixedRow) -> dict[str, float]:
    """Return the figures that a policy implies, from the row's list alone."""
    count = len(row.instructions)
    half = max(row.sections) // 2
    followed = {
        "oracle": [True] * count,
        "first_half": [place < count // 2 for place in range(count)],
        "drop_one": [place < count - 1 for place in range(count)],
        "first_sections": [number <= half for number in row.sections],
    }.get(policy, [False] * count)
    omitted = {"first_sections": 0.5, "ignore": 1.0}.get(policy, 0.0)
    return {
        "instructions_followed": sum(followed) / count,
        "instructions_omitted": omitted,
        "instructions_broken": 1 - sum(followed) / count - omitted,
        "primacy": by_place("", followed)["primacy"],
    }


@pytest.mark.parametrize("policy", ["oracle", "first_half", "drop_one", "first_sections", "break_all", "ignore"])
@pytest.mark.parametrize("count", [COUNTS[0], COUNTS[2], COUNTS[-1]])
def test_a_row_in_sections_has_the_scores_that_the_policy_implies(policy: str, count: int) -> None:
    for row in mixed_rows(count)[:: 1 if count < 100 else 10]:
        found = score_sections(row.document, [text_of(section_answers(row), policy)])
        figures = expected_of(policy, row)
        assert {name: found[name] for name in figures} == pytest.approx(figures, abs=1e-12), (policy, row.key)
