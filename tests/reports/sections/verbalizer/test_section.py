"""The report's section on verbalizer manipulation: known answers, hand-made rows, and missing data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.figure import Bars, HeatMap, Section
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.issue import error, note
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited_lines, samples_of
from tests.reports.sections.reading_tables import Exactly, figure, marks, names, numbers, section_on, titles, values
from tests.reports.sections.verbalizer.files import FOO_BAR, GOLDEN, OWN, RECORDED, SNLI, THOUGHT_OUT, facts, write_run
from tests.tables import tables

TABLES = tables(__file__)
ASKED = {"natural": GOLDEN, "flipped": SST2, "flipped after a thought": THOUGHT_OUT}
DATASETS = ("sst2", "emotion")
WORDS = ("natural_golden", "neutral_foo_bar", "unnatural_flipped")
TASKS = (
    *(f"verbalizer_{dataset}_{words}" for dataset in DATASETS for words in WORDS),
    *(f"verbalizer_cot_{dataset}_unnatural_flipped" for dataset in DATASETS),
)
ORACLE, PRIOR, RANDOM = (f"reference policy={policy}" for policy in ("oracle", "prior", "random"))
DIRECT, THOUGHT = "direct", "chain of thought"
ONE = "one"
section_of = partial(section_on, section)


@pytest.fixture(scope="module")
def known(result_folder: ResultFolder) -> Section:
    """The section of three policies of the reference model."""
    return section_of(*(result_folder(policy, TASKS) for policy in ("oracle", "prior", "random")))


def of_rows(folder: Path, scores: Mapping[str, Sequence[float]], **options: Any) -> Section:
    """Return the section of hand-made rows; where a row is wrong, the answer is what the label means."""
    write_run(folder, scores, arguments={"pretrained": f"owner/{ONE}"}, **options)
    return section_of(folder)


# Known answers


@pytest.mark.parametrize(
    ("model", "words", "rates"),
    [
        (ORACLE, "natural", (1, 1, 0)),
        (ORACLE, "neutral", (1, 0, 0)),
        (ORACLE, "unnatural", (1, 0, 0)),
        (PRIOR, "natural", (1, 1, 0)),
        (PRIOR, "neutral", (0, 1, 1)),  # "positive" is neither "foo" nor "bar"
        (PRIOR, "unnatural", (0, 1, 0)),
    ],
)
def test_every_naturalness_has_the_policys_known_score(
    known: Section, model: str, words: str, rates: tuple[int, int, int]
) -> None:
    expected = dict(zip(("accuracy", "prior rate", "invalid rate"), map(Exactly, rates), strict=True))
    found = numbers(known, "verbalizer_naturalness")[model, DIRECT, words]
    assert {name: found[name] for name in expected} == expected
    # The most frequent label is right in 101 of 200 rows.
    floor = found["floor"].value
    assert floor == pytest.approx(101 / 200)
    assert found["above floor"].value == pytest.approx((rates[0] - floor) / (1 - floor))


def test_the_kinds_of_invalid_answers_add_up_to_the_invalid_rate(known: Section) -> None:
    by_words, kinds = numbers(known, "verbalizer_naturalness"), numbers(known, "verbalizer_invalid")
    for key, cells in kinds.items():
        assert sum(cell.value for cell in cells.values()) == by_words[key]["invalid rate"].value
    # "positive" is neither "foo" nor "bar".
    assert values(kinds[PRIOR, DIRECT, "neutral"]) == {
        **dict.fromkeys(kinds[PRIOR, DIRECT, "neutral"], 0),
        "usual word": 1,
    }


def test_results_that_predate_the_kinds_have_no_figure_of_them(tmp_path: Path) -> None:
    assert "verbalizer_invalid" not in names(of_rows(tmp_path, {SST2: [1, 0]}))


def test_words_datasets_and_chain_of_thought_have_the_policys_known_scores(known: Section) -> None:
    by_words = numbers(known, "verbalizer_words")[PRIOR, DIRECT]
    assert {column: cell.value for column, cell in by_words.items() if cell.exists} == {
        "golden (natural)": 1.0,
        "foo/bar (neutral)": 0.0,
        "flipped (unnatural)": 0.0,
    }
    by_dataset = numbers(known, "verbalizer_datasets")
    assert values(by_dataset[PRIOR, DIRECT, "emotion"]) == {"natural": 1.0, "neutral": 0.0, "unnatural": 0.0}
    assert values(by_dataset[ORACLE, DIRECT, "sst2"]) == {"natural": 1.0, "neutral": 1.0, "unnatural": 1.0}
    thought = numbers(known, "verbalizer_thought")
    assert list(thought[PRIOR, "overall"].values()) == [Exactly(1.0), Exactly(0.0), Exactly(0.0)]
    assert list(thought[ORACLE, "emotion"].values()) == [Exactly(1.0), Exactly(1.0), Exactly(1.0)]
    gain = numbers(known, "verbalizer_thought_gain")
    assert gain[PRIOR,] == {"overall": Exactly(0.0), "sst2": Exactly(0.0), "emotion": Exactly(0.0)}


def test_all_models_share_one_plot_with_the_chance_line_of_their_tasks(known: Section) -> None:
    direct, thought = marks(figure(known, "verbalizer_naturalness"), Bars)
    assert (direct.reference, direct.reference_name) == (0.5, "random guessing")
    assert direct.categories == thought.categories
    assert len(direct.categories) == 3
    assert [series.name for series in direct.series] == ["natural", "neutral", "unnatural"]
    assert [series.name for series in thought.series] == ["unnatural"]


def test_there_are_at_most_ten_examples_of_known_answers_from_every_model(known: Section) -> None:
    assert 5 <= len(known.examples) <= 10
    assert {example.model for example in known.examples} == {ORACLE, PRIOR, RANDOM}
    (followed, *_) = [example for example in known.examples if example.why.startswith("Right with both")]
    assert followed.model == ORACLE
    facts = dict(followed.facts)
    assert facts["expected"] == facts["read"] == followed.answer != facts["usual word"] == facts["label"]
    assert followed.prompt.endswith("Answer:")


# The same rows


def test_chain_of_thought_is_compared_with_direct_answers_to_the_same_rows(tmp_path: Path) -> None:
    # Of 100 direct answers 46 follow, but of the first ten 4; of ten after a thought 7. Natural words: 1 of the ten.
    write_run(tmp_path / "direct", {SST2: [1] * 4 + [0] * 6 + [1] * 42 + [0] * 48, GOLDEN: [1] + [0] * 49 + [1] * 50})
    write_run(tmp_path / "thought", {THOUGHT_OUT: [1] * 7 + [0] * 3})
    found = section_of(tmp_path)
    # 0.7 - 0.4, and not 0.7 - 0.46.
    assert values(numbers(found, "verbalizer_thought_gain")[ONE,])["sst2"] == pytest.approx(0.3)
    assert values(numbers(found, "verbalizer_thought_gain")[ONE,])["overall"] == pytest.approx(0.3)
    natural, direct, thought = numbers(found, "verbalizer_thought")[ONE, "sst2"].values()
    assert (natural.value, direct.value, thought.value) == pytest.approx((0.1, 0.4, 0.7))
    issue = note("one: rows left out because they were not run in all settings: 90 of sst2")
    assert figure(found, "verbalizer_thought").issues == (issue,)
    assert figure(found, "verbalizer_thought_gain").issues == (issue,)
    assert figure(found, "verbalizer_thought_gain").table.unit == "change"
    # Other figures are of all rows.
    assert numbers(found, "verbalizer_datasets")[ONE, DIRECT, "sst2"]["unnatural"].value == 0.46


@pytest.mark.parametrize(("changed", "reason"), [({}, ""), ({"rows_hash": "others"}, "their rows differ")])
def test_chain_of_thought_on_other_rows_is_not_compared(
    changed: Mapping[str, object], reason: str, tmp_path: Path
) -> None:
    write_run(tmp_path / "direct", {SST2: [0, 1]})
    write_run(tmp_path / "thought", {THOUGHT_OUT: [1, 1]}, metadata=changed)
    found = section_of(tmp_path)
    text = f"one: not compared on sst2, because the settings were not run on the same rows: {reason}"
    for name in ("verbalizer_thought", "verbalizer_thought_gain"):
        assert figure(found, name).issues == ((error(text),) if reason else ())
    gain = numbers(found, "verbalizer_thought_gain")[ONE,]
    assert [cell.value for cell in gain.values() if cell.exists] == ([] if reason else [0.5, 0.5])
    # What is held against nothing is shown all the same.
    assert numbers(found, "verbalizer_datasets")[ONE, THOUGHT, "sst2"]["unnatural"].value == 1.0


# What is missing


def test_a_model_that_lacks_tasks_of_others_has_no_mean_over_them_and_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: [1, 1], SNLI: [0, 0]}, arguments={"pretrained": "whole"})
    write_run(tmp_path / "b", {SST2: [1, 0]}, arguments={"pretrained": "part"})
    found = section_of(tmp_path)
    assert not numbers(found, "verbalizer_naturalness")["part", DIRECT, "unnatural"]["accuracy"].exists
    for name in ("verbalizer_naturalness", "verbalizer_words", "verbalizer_datasets"):
        (issue,) = figure(found, name).issues
        assert issue.text.startswith("part: not run on 1 of the direct tasks that other models were run on")


def test_chain_of_thought_is_compared_only_where_it_was_run(tmp_path: Path) -> None:
    direct = {SST2: [0, 1], GOLDEN: [1, 1], SNLI: [0, 0]}
    assert "verbalizer_thought" not in names(of_rows(tmp_path / "direct", direct))
    both = of_rows(tmp_path / "both", {**direct, THOUGHT_OUT: [1, 1]})
    # snli was not asked after a chain of thought: it is in neither bar.
    assert numbers(both, "verbalizer_thought").keys() == {(ONE, "overall"), (ONE, "sst2")}
    cells = numbers(both, "verbalizer_thought")[ONE, "overall"]
    assert [cell.value for cell in cells.values()] == [1.0, 0.5, 1.0]
    assert numbers(both, "verbalizer_thought_gain")[ONE,]["overall"].value == 0.5


# How many models


@pytest.mark.parametrize(
    ("models", "panels"),
    [(1, ["direct"]), (2, ["m0, direct", "m1, direct"]), (4, ["natural, direct", "unnatural, direct"])],
)
def test_datasets_have_one_panel_per_model_or_with_many_models_per_naturalness(
    models: int, panels: list[str], tmp_path: Path
) -> None:
    for number in range(models):
        write_run(tmp_path / str(number), {SST2: [1, 0], GOLDEN: [1, 1]}, arguments={"pretrained": f"m{number}"})
    found = section_of(tmp_path)
    assert titles(found, "verbalizer_datasets") == panels
    words, *_ = marks(figure(found, "verbalizer_words"), HeatMap)
    assert words.rows == tuple(f"m{number}" for number in range(models))


# Tasks of a user's own


def test_tasks_have_their_recorded_facts_and_custom_values_come_after_the_papers(tmp_path: Path) -> None:
    recorded = {
        GOLDEN: RECORDED[GOLDEN],
        "mine": facts("reviews", "nonsense", "foo_baz"),
        SST2: facts("sst2", "unnatural", "flipped"),
        "other": facts("sst2", "unnatural", "0_1"),
    }
    found = of_rows(tmp_path, {task: [1, 0] for task in recorded}, recorded=recorded)
    assert figure(found, "verbalizer_words").table.columns[2:] == (
        "golden (natural)",
        "flipped (unnatural)",
        "0/1 (unnatural)",
        "foo/baz (nonsense)",
    )
    assert [row[2] for row in figure(found, "verbalizer_datasets").table.rows] == ["sst2", "reviews"]


def test_custom_tasks_are_shown_under_their_names_and_in_no_figure_of_published_ones(tmp_path: Path) -> None:
    words = {"sports": "business", "business": "science", "science": "sports"}
    ways = {OWN: "direct", "verbalizer_topic_thought": "chain_of_thought"}
    own = {task: {**facts("topic", None, None, how), "label_words": words} for task, how in ways.items()}
    found = of_rows(tmp_path, {SST2: [1, 1], **{task: [0, 0] for task in own}}, recorded={**RECORDED, **own})
    assert numbers(found, "verbalizer_naturalness")[ONE, DIRECT, "unnatural"]["accuracy"] == Exactly(1.0)
    assert numbers(found, "verbalizer_others") == {
        (ONE, task, how, 3): {"accuracy": Exactly(0.0), "prior rate": Exactly(1.0), "invalid rate": Exactly(0.0)}
        for task, how in zip(own, (DIRECT, THOUGHT), strict=True)
    }
    (bars,) = marks(figure(found, "verbalizer_others"), Bars)
    assert bars.reference == pytest.approx(1 / 3)
    assert {example.why for example in found.examples} == {"Wrong on a user-defined task."}


# Examples


@pytest.mark.parametrize(("scores", "whys"), TABLES["examples"].values(), ids=TABLES["examples"].keys())
def test_two_instructive_answers_to_a_row_are_examples_with_their_reasons(
    scores: Mapping[str, Sequence[float]], whys: list[str], tmp_path: Path
) -> None:
    of_tasks = {ASKED[words]: of_words for words, of_words in scores.items()}
    assert [example.why for example in of_rows(tmp_path, of_tasks).examples] == whys


def test_an_example_shows_the_expected_and_the_read_word_of_both(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {GOLDEN: [1, 1], SST2: [1, 0]})
    (example,) = [example for example in found.examples if example.why.startswith("The label's usual word")]
    assert (example.task, example.prompt, example.answer) == (SST2, "Review: review 1\n\nAnswer:", "negative")
    assert dict(example.facts) == {
        "label": "positive",
        "label words": "positive for negative, negative for positive",
        "expected": "positive",
        "read": "negative",
        "score": "wrong",
        "usual word": "positive",
        "the same row, natural label words": "expected positive, read positive",
    }


@pytest.mark.parametrize(
    ("prior_rate", "invalid_rate", "why"),
    [(0.0, 1.0, "Gives no label word"), (1.0, 1.0, "Gives the label's usual word"), (1.0, 0.0, "")],
)
def test_answers_that_are_not_label_words_are_distinguished(
    prior_rate: float, invalid_rate: float, why: str, tmp_path: Path
) -> None:
    results = write_run(tmp_path, {FOO_BAR: [0]})
    with edited_lines(samples_of(results, FOO_BAR)) as (line,):
        line |= {"prior_rate": prior_rate, "invalid_rate": invalid_rate}
    found = section_of(results)
    assert [example.why.startswith(why) for example in found.examples] == ([True] if why else [])


def test_rows_with_different_ids_are_not_paired(tmp_path: Path) -> None:
    # Both have a row 0, but not of the same data: the hashes of their rows differ.
    write_run(tmp_path, {GOLDEN: [1]}, arguments={"pretrained": "one"})
    stamp = "2026-01-03T00-00-00.000000"
    write_run(tmp_path, {SST2: [0]}, arguments={"pretrained": "one"}, metadata={"rows_hash": "others"}, stamp=stamp)
    found = section_of(tmp_path)
    assert found.examples == ()
