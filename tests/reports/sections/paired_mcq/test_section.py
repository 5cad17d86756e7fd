"""The report's section on paired_mcq: known answers, figures by hand, and missing data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import pairwise
from math import isnan, log
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.families.paired_mcq.schema import mean_entropy
from lm_eval_ext.families.paired_mcq.scores import Value, scores
from lm_eval_ext.reports.cells import Cells
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Section
from lm_eval_ext.reports.page.html import split_constant
from lm_eval_ext.reports.sections.paired_mcq.measures import Measured, distance, doubts, entropies
from lm_eval_ext.reports.sections.paired_mcq.section import figures, section
from lm_eval_ext.reports.statistics import RESAMPLES
from lm_eval_ext.results.comparability import as_one
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load, load_apart
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited, edited_lines, write_tasks
from tests.reports.planted import without_samples
from tests.reports.sections import reading_tables
from tests.reports.sections.reading_tables import Exactly, Numbers, marks, numbers, section_on, titles, values

POLICIES = ("oracle", "chatty", "refuser", "always_a")
LOW, EXAMPLE, ARC = "paired_mcq_opinionqa_low", "paired_mcq_opinionqa_example", "paired_mcq_arc_challenge_medium"
ROWS = 60
"""Of each task: six questions in ten orders."""
Row = tuple[str, str, Value]
"""Question, first token, and which of the options Yes, No and Refused the text chooses."""
section_of = partial(section_on, section)


def label(policy: str) -> str:
    return f"reference policy={policy}"


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder) -> dict[str, Path]:
    """Return the results of each policy."""
    return {
        policy: result_folder(policy, (LOW, EXAMPLE, ARC), limit=ROWS, answer_classifier="rules") for policy in POLICIES
    }


@pytest.fixture(scope="module")
def known(folders: Mapping[str, Path]) -> Section:
    """Return the section on all policies."""
    return section_of(*folders.values())


@pytest.fixture(scope="module")
def text_alone(result_folder: ResultFolder) -> Section:
    folder = result_folder("refuser", ("text_mcq_opinionqa_medium",), limit=30, answer_classifier="rules")
    return section_of(folder)


def figure(found: Section, name: str) -> Figure:
    return reading_tables.figure(found, f"paired_mcq_{name}")


def cells(found: Section, name: str) -> Numbers:
    """Return the estimates of a figure's table by model, dataset and level, by heading."""
    return numbers(found, f"paired_mcq_{name}")


# policy -> mismatch, its part that is refusals, refusal of the text, of the first token, distance of letters is 0
KNOWN = {
    "oracle": (0.0, 0.0, 0.0, 0.0),
    "chatty": (1.0, 0.0, 0.0, 0.0),
    "refuser": (1.0, 1.0, 1.0, 0.0),
}


@pytest.mark.parametrize("policy", KNOWN)
@pytest.mark.parametrize(
    ("dataset", "level"), [("opinionqa", "low"), ("opinionqa", "example"), ("arc_challenge", "medium")]
)
def test_a_policy_has_its_known_mismatch_and_refusals(policy: str, dataset: str, level: str, known: Section) -> None:
    mismatch = cells(known, "mismatch")[label(policy), dataset, level]
    refusal = cells(known, "refusal")[label(policy), dataset, level]
    found = (mismatch["mismatch"], mismatch["mismatch: the text refuses"], refusal["text"], refusal["first token"])
    # Every row is alike, so is every reexample.
    assert all(each == Exactly(value) for each, value in zip(found, KNOWN[policy], strict=True))


def test_always_a_never_mismatches_and_only_answers_a(known: Section) -> None:
    place = (label("always_a"), "opinionqa", "low")
    assert cells(known, "mismatch")[place]["mismatch"].value == 0
    shares = {about[3]: values(line) for about, line in cells(known, "letters").items() if about[:3] == place}
    assert {reading: of_letters.pop("A") for reading, of_letters in shares.items()} == {"first token": 1, "text": 1}
    assert {share for of_letters in shares.values() for share in of_letters.values()} == {0.0}


def test_entropy_and_position_bias_equal_those_of_the_harness(known: Section, folders: Mapping[str, Path]) -> None:
    runs = load(list(folders.values())).counting
    assert len(runs) == len(POLICIES) * 3
    for run in runs:
        ((_, policy),) = run.model.arguments
        place = label(policy), "arc_challenge" if "arc" in run.task else "opinionqa", run.metadata["constraint"]
        entropy, bias = cells(known, "entropy")[place], cells(known, "position_bias")[place]["position bias"]
        expected = tuple(run.figure(name) for name in ("entropy_first_token", "entropy_text", "position_bias"))
        assert (*values(entropy).values(), bias.value) == pytest.approx(expected, abs=1e-12)
    # Always answering A chooses the first content: a different one in nearly every order.
    assert cells(known, "entropy")[label("always_a"), "opinionqa", "low"]["text"].value > 1
    assert cells(known, "entropy")[label("oracle"), "opinionqa", "low"]["text"].value == 0


@pytest.mark.parametrize(("policy", "accuracies"), [("oracle", (1, 1)), ("chatty", (1, 0)), ("refuser", (1, 0))])
def test_both_readings_are_scored_if_there_is_a_correct_option(
    policy: str, accuracies: tuple[int, int], known: Section
) -> None:
    found = cells(known, "accuracy")
    assert {place[1] for place in found} == {"arc_challenge"}
    of_policy = found[label(policy), "arc_challenge", "medium"]
    assert (of_policy["first token"].value, of_policy["text"].value) == accuracies
    floor = of_policy["floor"].value
    assert 0 < floor < 1
    assert of_policy["text, above floor"].value == pytest.approx((accuracies[1] - floor) / (1 - floor))
    assert figure(known, "accuracy").reading.endswith("higher is better (floor: one answer to all rows).")


def test_readers_are_side_by_side_and_only_the_selected_one_has_an_interval(known: Section) -> None:
    found = cells(known, "readers")[label("refuser"), "opinionqa", "low"]
    assert list(found) == ["rules", "string_match"]
    assert [estimate.value for estimate in found.values()] == [1, 1]
    assert [estimate.has_interval for estimate in found.values()] == [True, False]
    assert note("Texts read by: rules.") in known.issues


def test_models_are_groups_of_one_plot_and_levels_its_bars(known: Section) -> None:
    assert titles(known, "paired_mcq_mismatch") == ["arc_challenge", "opinionqa"]
    _, bars = marks(figure(known, "mismatch"), Bars)
    assert bars.categories == tuple(map(label, POLICIES))
    assert [series.name for series in bars.series] == ["low", "medium", "example"]
    assert bars.series[0].parts == (0.0, 0.0, 1.0, 0.0)
    # Nobody was asked these questions at the level medium.
    assert all(isnan(value.value) for value in bars.series[1].values)


def test_a_level_or_reading_has_the_same_position_in_every_panel(known: Section) -> None:
    for found in known.figures:
        series = {tuple(series.name for series in bars.series) for bars in marks(found, Bars)}
        assert len(series) == 1, found.name


def test_a_single_model_has_its_levels_side_by_side(folders: Mapping[str, Path]) -> None:
    found = section_of(folders["always_a"])
    assert titles(found, "paired_mcq_entropy") == ["arc_challenge", "opinionqa"]
    _, bars = marks(figure(found, "entropy"), Bars)
    assert (bars.categories, bars.unit) == (("low", "example"), "number")
    assert [series.name for series in bars.series] == ["first token", "text"]


def test_every_number_that_is_drawn_is_in_the_table(known: Section) -> None:
    for found in known.figures:
        in_table = {cell for row in found.table.rows for cell in row if isinstance(cell, Estimate)}
        for bars in marks(found, Bars):
            assert {value for series in bars.series for value in series.values if value.exists} <= in_table


def test_at_most_ten_examples_cover_every_kind(known: Section) -> None:
    assert 5 <= len(known.examples) <= 10
    assert len({(example.model, example.task, example.prompt) for example in known.examples}) == len(known.examples)
    whys = [example.why for example in known.examples]
    # Examples of the same behavior are adjacent.
    assert sum(one != other for one, other in pairwise(whys)) == len(set(whys)) - 1
    refusal = next(example for example in known.examples if example.why.startswith("The text refuses, but"))
    assert refusal.model == label("refuser")
    assert "cannot answer" in refusal.answer
    facts = dict(refusal.facts)
    assert facts["text, as read by rules"].endswith(". Refused")
    assert facts["text, over all orders of the options"] == "Refused (10 of 10)"
    assert facts["mismatch"] == "yes"
    order = next(example for example in known.examples if example.why.startswith("The choice"))
    assert order.model == label("always_a")
    assert dict(order.facts)["text, over all orders of the options"].count(" of 10)") > 1
    # Opinions have no correct option.
    assert {example.task for example in known.examples if "correct option" in dict(example.facts)} == {ARC}
    assert all("correct option" in dict(example.facts) for example in known.examples if example.task == ARC)


def test_without_samples_there_is_no_distribution_of_letters(folders: Mapping[str, Path], tmp_path: Path) -> None:
    bare = Path(copytree(folders["chatty"], tmp_path / "bare"))
    without_samples(bare)
    found = section_of(bare)
    assert "paired_mcq_letters" not in reading_tables.names(found)
    assert any("Without samples" in issue.text and LOW in issue.text for issue in found.issues)


def test_text_only_tasks_show_refusals_missing_answers_and_entropy(text_alone: Section) -> None:
    names = [found.name.removeprefix("paired_mcq_") for found in text_alone.figures]
    assert names == ["refusal", "entropy", "no_answer"]
    place = (label("refuser"), "opinionqa (text alone)", "medium")
    assert cells(text_alone, "refusal")[place] == {"text": Exactly(1.0)}
    assert cells(text_alone, "entropy")[place] == {"text": Exactly(0.0)}
    assert cells(text_alone, "no_answer")[place]["no answer"].value == 0
    (example,) = text_alone.examples
    assert example.why == "The text refuses."


# Figures by hand: questions in two orders each, written down


def write(
    folder: Path,
    rows: Sequence[Row],
    model: str = "one",
    task: str = LOW,
    read: tuple[str, Sequence[float | None]] = ("rules", ()),
) -> Path:
    """Write a run.

    Args:
        folder: where to write.
        rows: the rows.
        model: the model's name.
        task: the task's name.
        read: the reader and how sure it is of each text; without that, it is sure of all.
    """
    reader, certainty = read
    texts = ("Yes", "No", "Refused")
    lines: list[dict[str, Any]] = []
    for number, (question, token, text) in enumerate(rows):
        doc = {"key": question, "shuffle": number, "question": "?", "options": list(texts), "gold": ""}
        line = {
            "doc": doc,
            "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": {}}},
            "resps": [["answer"]],
            "filtered_resps": [json.dumps({"reading": text, "certainty": certainty[number] if certainty else 1.0})],
            "filter": reader,
            **scores(doc, text, token),
        }
        lines.append(line)
    figures = {
        f"{name},{reader}": sum(line[name] for line in lines) / len(lines) if isinstance(value, float) else 0.5
        for name, value in scores(doc, "A", "A").items()
        if name in lines[0]
    }
    metadata = {
        "family": "paired_mcq",
        "dataset": "opinionqa",
        "source": "hub",
        "version": "1",
        "rows_hash": "rows",
        "constraint": "low",
        "paired": True,
    }
    config = {"model": "hf", "model_args": {"pretrained": f"owner/{model}"}}
    write_tasks(folder, {task: lines}, {task: figures}, {task: metadata}, config=config)
    return folder


def test_intervals_resample_questions_with_all_their_orders(tmp_path: Path) -> None:
    # Of 40 questions in two orders, 10 mismatch in both and 30 in neither: mismatch 1/4.
    rows: list[Row] = [(f"q{number}", "A", "B" if number < 10 else "A") for number in range(40) for _ in range(2)]
    found = cells(section_of(write(tmp_path, rows)), "mismatch")["one", "opinionqa", "low"]["mismatch"]
    assert found.value == 0.25
    # Wilson's interval of 10 in 40: 0.142 to 0.402. Of 20 in 80 rows it would be 0.168 to 0.355.
    assert (found.low, found.high) == pytest.approx((0.142, 0.402), abs=0.01)


def test_the_interval_of_an_entropy_resamples_questions(tmp_path: Path) -> None:
    # Of 20 questions in two orders, 10 are answered in two ways (entropy log 2) and 10 in one (0): log(2) / 2 = 0.347.
    rows: list[Row] = [(f"q{number}", "A", text) for number in range(20) for text in ("A", "B" if number < 10 else "A")]
    found = cells(section_of(write(tmp_path, rows)), "entropy")["one", "opinionqa", "low"]
    assert found["text"].value == pytest.approx(log(2) / 2, rel=1e-12)
    # log 2 times the mean of 20 draws with 1/2: 0.347 -+ 1.96 * log(2) * sqrt(1/4 / 20) = 0.347 -+ 0.152
    assert (found["text"].low, found["text"].high) == pytest.approx((0.195, 0.499), abs=0.04)
    assert found["first token"] == Exactly(0.0)


def test_the_distance_between_letters_includes_texts_without_a_single_letter(tmp_path: Path) -> None:
    # First tokens: A 3, B 1; texts: A 1, B 1, none 2: (|3 - 1| + |1 - 1| + |0 - 2|) / 4 / 2 = 1/2.
    rows: list[Row] = [("q1", "A", "A"), ("q1", "A", "none"), ("q2", "A", ["A", "B"]), ("q2", "B", "B")]
    found = figure(section_of(write(tmp_path, rows)), "letters")
    assert found.table.columns[4:] == ("A", "B", "no single letter", "position bias")
    first, text = ([cell.value for cell in row[4:] if isinstance(cell, Estimate)] for row in found.table.rows)
    assert first == [0.75, 0.25, 0.0, 0.5]
    assert text == [0.25, 0.25, 0.5, 0.5]


def test_the_interval_of_a_distance_reaches_0_where_letters_differ_by_chance() -> None:
    generator = np.random.default_rng(6)
    covered = 0
    for _ in range(40):
        # Four letters at random, and a third of them drawn again: the true distributions are equal.
        first = generator.integers(4, size=(100, 10))
        second = np.where(generator.random(first.shape) < 0.3, generator.integers(4, size=first.shape), first)
        weights = np.vstack([np.ones(100), generator.multinomial(100, np.full(100, 0.01), RESAMPLES)])
        counts = [np.stack([weights @ (one == letter).sum(1) for letter in range(4)]) for one in (first, second)]
        found = distance(counts[0], counts[1], 10 * weights.sum(1), 100)
        assert found.value > 0
        covered += found.low == 0
    assert covered >= 33


def test_a_distance_of_0_has_a_one_sided_limit_and_one_question_none() -> None:
    same = np.full((2, 1 + RESAMPLES), 5.0)
    assert distance(same, same, same.sum(axis=0), 10) == Estimate(0.0, 0.0, 0.3)
    assert not distance(same, same, same.sum(axis=0), 1).has_interval


def test_texts_without_a_single_option_are_shown_with_contradictions_as_a_part(tmp_path: Path) -> None:
    rows: list[Row] = [("q1", "A", "none"), ("q2", "A", "contradiction"), ("q3", "A", ["A", "B"]), ("q4", "A", "A")]
    found = section_of(write(tmp_path, rows))
    drawn, _ = split_constant(figure(found, "no_answer").panels)
    assert [panel.title for panel in drawn] == ["no answer", "contradiction", "several options"]
    shares = cells(found, "no_answer")["one", "opinionqa", "low"]
    assert values(shares) == {"no answer": 0.5, "contradiction": 0.25, "several options": 0.25}
    assert cells(found, "mismatch")["one", "opinionqa", "low"]["mismatch"].value == 0.75
    readings = {dict(example.facts)["text, as read by rules"] for example in found.examples}
    assert {"no answer", "a letter with another option's text", "A. Yes; B. No"} <= readings


def test_what_a_single_model_does_is_drawn_and_what_none_does_is_said(tmp_path: Path) -> None:
    one: list[Row] = [("q1", "A", "A"), ("q2", "A", ["A", "B"])]
    other: list[Row] = [("q1", "A", "A"), ("q2", "A", "A")]
    shown = figure(section_of(write(tmp_path / "1", one), write(tmp_path / "2", other, "other")), "no_answer")
    drawn, said = split_constant(shown.panels)
    assert [panel.title for panel in drawn] == ["several options"]
    # The name of the axis is not said twice.
    assert [text.partition(" 0.0%")[0] for text in said] == ["no answer", "contradiction"]


# A mismatch of 1/2. The reader is unsure of a text that matches (q1) and of two that do not (q4, q5); 0.8 is sure.
DOUBTED: list[Row] = [(f"q{number}", "A", text) for number, text in enumerate(["A", "A", "A", "B", "none", "B"], 1)]
CERTAINTY = (0.79, 0.8, 1.0, 0.5, 0.0, 0.9)


def test_beside_the_mismatch_stands_how_often_the_reader_is_unsure_and_what_it_can_be_then(tmp_path: Path) -> None:
    found = section_of(write(tmp_path, DOUBTED, read=("rules", CERTAINTY)))
    shares = cells(found, "mismatch")["one", "opinionqa", "low"]
    of_reader = [shares[name].value for name in ("reader unsure", "mismatch, at least", "mismatch, at most")]
    assert of_reader == pytest.approx([3 / 6, 1 / 6, 4 / 6])
    assert shares["mismatch"].value == 3 / 6
    assert all(value.has_interval for value in shares.values())
    shown = figure(found, "mismatch")
    assert [panel.title for panel in shown.panels] == ["", "reader unsure"]
    assert "certainty below 0.8" in shown.reading


def test_a_reader_that_is_sure_of_every_text_leaves_no_doubt(tmp_path: Path) -> None:
    found = section_of(write(tmp_path, DOUBTED))
    shown = figure(found, "mismatch")
    assert cells(found, "mismatch")["one", "opinionqa", "low"]["reader unsure"] == Exactly(0.0)
    assert len(shown.panels) == 1
    assert "mismatch, at least" not in shown.table.columns


@pytest.mark.parametrize(
    ("reader", "certainty", "stripped"),
    [("string_match", CERTAINTY, False), ("rules", (*CERTAINTY[:-1], None), False), ("rules", CERTAINTY, True)],
    ids=["pattern", "older", "without what was read"],
)
def test_how_sure_the_reader_was_is_not_made_up(
    reader: str, certainty: Sequence[float | None], stripped: bool, tmp_path: Path
) -> None:
    write(tmp_path, DOUBTED, read=(reader, certainty))
    if stripped:
        with edited_lines(next(tmp_path.glob("samples_*"))) as lines:
            for line in lines:
                del line["filtered_resps"]
    found = section_of(tmp_path)
    assert "reader unsure" not in figure(found, "mismatch").table.columns
    said = "How sure the reader is of a text is not shown, because the samples do not say:"
    assert note(f"{said} {LOW} ({reader}).") in found.issues
    assert bool(found.examples) is not stripped


def test_several_runs_as_one_have_the_certainty_of_every_draw(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / str(seed), DOUBTED, read=("rules", certainty))
        for seed, certainty in enumerate((CERTAINTY, (1.0,) * len(CERTAINTY)))
    ]
    for seed, folder in enumerate(folders):
        with edited(folder) as content:
            content["config"]["random_seed"] = seed
    sides = load_apart([[folder] for folder in folders])
    (run,) = as_one(sides, [folder.name for folder in folders]).counting
    assert doubts(run)["reader unsure"].tolist() == [0.5, 0, 0, 0.5, 0.5, 0]


AGREE, DEPENDS = "First token and text agree", "The choice depends on the order"
DIFFER = "The first token names one option"


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([("q", "A", "A"), ("q", "A", "A")], [AGREE]),
        ([("q", "A", "A"), ("q", "B", "B"), ("r", "A", "A"), ("r", "B", "B")], [AGREE, DEPENDS]),
        ([("q", "A", "B"), ("q", "A", "B")], [DIFFER]),
    ],
    ids=["both agree on the same", "both agree on something else each time", "never agree"],
)
def test_examples_show_two_orders_of_a_question(rows: list[Row], shown: list[str], tmp_path: Path) -> None:
    whys = {example.why for example in section_of(write(tmp_path, rows)).examples}
    assert [words for words in (AGREE, DEPENDS, DIFFER) if any(why.startswith(words) for why in whys)] == shown


def test_entropy_equals_that_of_the_harness_for_rows_in_any_order() -> None:
    generator = np.random.default_rng(7)
    clusters = generator.integers(0, 9, 200).astype(np.int32)
    values: tuple[tuple[str, ...], ...] = ((), ("a",), ("b",), ("a", "b"), ("c",))
    outcomes = np.fromiter((values[number] for number in generator.integers(0, 5, 200)), object)
    found = entropies(clusters, outcomes, 9)
    expected = mean_entropy((str(cluster), outcome) for cluster, outcome in zip(clusters, outcomes, strict=True))
    assert found.mean() == pytest.approx(expected, rel=1e-12)


# Too much for one screen


def result(model: str, level: str, dataset: str = "opinionqa", bias: float = 0.1, **readers: float) -> Measured:
    key = (model, dataset, level)
    figures = {
        "mismatch": Estimate(0.5, 0.4, 0.6),
        "mismatch_refusal": Estimate(0.1),
        "position_bias": Estimate(bias),
    }
    letters = {
        (*key, letter): {"first token": Estimate(first), "text": Estimate(text)}
        for letter, first, text in (("A", 1.0, 1.0 - bias), ("B", 0.0, bias))
    }
    of_readers = {name: Estimate(value) for name, value in readers.items()}
    return Measured.of({key: figures}, {key: of_readers}, letters)


def shown(measured: Measured, name: str) -> Figure:
    return next(figure for figure in figures(measured) if figure.name == f"paired_mcq_{name}")


def together(results: Sequence[Measured]) -> Measured:
    """Return what was measured in several tasks."""
    parts = zip(*((one.figures, one.readers, one.letters) for one in results), strict=True)
    return Measured(*(reduce(Cells.joined, of_all) for of_all in parts))


def test_with_many_letter_distributions_each_model_shows_its_most_biased_one() -> None:
    levels = ("low", "medium", "high", "example")
    many = [result(f"m{m}", level, bias=0.9 if n == m else 0.1) for m in range(4) for n, level in enumerate(levels)]
    found = shown(together(many), "letters")
    assert [panel.title for panel in found.panels] == ["m0, low", "m1, medium", "m2, high", "m3, example"]
    biased = "m0: opinionqa low; m1: opinionqa medium; m2: opinionqa high; m3: opinionqa example"
    text = f"For each model, the dataset and level with the largest position bias ({biased})."
    assert found.issues == (note(text),)
    few = shown(together(many[:12]), "letters")
    assert (len(few.panels), few.issues) == (12, ())


def test_with_many_reader_panels_each_dataset_shows_the_one_with_the_largest_difference() -> None:
    levels, datasets = ("low", "medium", "high", "example", "example_abc"), ("a", "b", "c")
    many = [
        result("m", level, dataset, rules=0.5, classifier=0.9 if level == "high" else 0.5)
        for dataset in datasets
        for level in levels
    ]
    found = shown(together(many), "readers")
    assert [panel.title for panel in found.panels] == ["a, high", "b, high", "c, high"]
    assert len(found.table.rows) == 15
    assert "the table has all levels" in found.issues[0].text


def test_results_without_the_part_that_is_due_to_refusals_have_bars_without_parts() -> None:
    found = shown(Measured.of({("one", "opinionqa", "low"): {"mismatch": Estimate(0.5)}}, {}, {}), "mismatch")
    (bars,) = marks(found, Bars)
    assert [(one.values, one.parts) for one in bars.series] == [((Estimate(0.5),), (0.0,))]


def test_a_single_reader_is_not_compared() -> None:
    assert "paired_mcq_readers" not in [figure.name for figure in figures(result("m", "low", rules=0.5))]


def test_a_level_that_a_model_did_not_run_is_a_gap() -> None:
    found = shown(together([result("one", "low"), result("one", "high"), result("two", "high")]), "mismatch")
    bars, *_ = marks(found, Bars)
    low = next(series for series in bars.series if series.name == "low")
    assert [isnan(value.value) for value in low.values] == [False, True]
    assert low.parts == (0.1, 0.0)
    assert len(found.table.rows) == 3
