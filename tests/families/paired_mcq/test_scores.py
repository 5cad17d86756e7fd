"""The metrics by hand, on the paper's own counts, and compared with a second computation on the annotated responses."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas
import pytest

from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.families.paired_mcq.first_tokens import first_token
from lm_eval_ext.families.paired_mcq.schema import (
    GOLD,
    PAIRED,
    SCHEMA,
    mean_entropy,
    sd_over_shuffles,
    share_after_white_space,
    share_of_refusals,
    total_variation,
)
from lm_eval_ext.families.paired_mcq.scores import Value, options_of, scores
from tests.families.jsonl import read_jsonl

WITH_REFUSAL, WITHOUT = ("Yes", "Refused", "No"), ("Yes", "No")


def row(options: Sequence[str] = WITH_REFUSAL, gold: str = "") -> dict[str, Any]:
    return {"key": "key", "shuffle": 3, "options": options, "gold": gold}


# first token A; what the text says -> mismatch, mismatch_refusal, refusal, no_answer, several, the content chosen
ROWS: dict[str, tuple[Value, tuple[int, int, int, int, int, tuple[str, ...]]]] = {
    "the same letter": ("A", (0, 0, 0, 0, 0, ("Yes",))),
    "another letter": ("C", (1, 0, 0, 0, 0, ("No",))),
    "the refusal option": ("B", (1, 1, 1, 0, 0, ("Refused",))),
    "a refusal, which is the refusal option": ("refused", (1, 1, 1, 0, 0, ("Refused",))),
    "two letters, the first token's among them": (["A", "C"], (1, 0, 0, 0, 1, ("No", "Yes"))),
    "two letters, the refusal's among them": (["B", "C"], (1, 0, 0, 0, 1, ("No", "Refused"))),
    "no answer": ("none", (1, 0, 0, 1, 0, ())),
    "a letter with another option's text": ("contradiction", (1, 0, 0, 1, 0, ())),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS.keys())
def test_a_rows_scores_follow_from_its_two_readings(
    text: Value, expected: tuple[int, int, int, int, int, tuple[str, ...]]
) -> None:
    mismatch, by_refusal, refusal, no_answer, several, content = expected
    found = scores(row(), text, "A")
    assert found == {
        "mismatch": mismatch,
        "mismatch_sd": (3, mismatch),
        "mismatch_refusal": by_refusal,
        "mismatch_refusal_share": (mismatch, by_refusal),
        "refusal": refusal,
        "refusal_first_token": 0,
        "first_token_spelling": ("", "A"),
        "no_answer": no_answer,
        "contradiction": float(text == "contradiction"),
        "several": several,
        "empty_rate": 0,
        "entropy_text": ("key", content),
        "entropy_first_token": ("key", ("Yes",)),
        "position_bias": ("A", text if text in ("A", "B", "C") else "B" if text == "refused" else "-"),
    }


def test_a_first_token_and_a_text_that_both_refuse_agree() -> None:
    for text in ("B", "refused"):
        found = scores(row(), text, "B")
        assert (found["mismatch"], found["mismatch_refusal"]) == (0, 0)
        assert (found["refusal"], found["refusal_first_token"]) == (1, 1)
        assert found["entropy_text"] == found["entropy_first_token"] == ("key", ("Refused",))


def test_a_refusal_is_a_mismatch_where_no_option_offers_it() -> None:
    found = scores(row(WITHOUT), "refused", "A")
    assert (found["mismatch"], found["mismatch_refusal"], found["refusal"]) == (1, 1, 1)
    assert found["entropy_text"] == ("key", ("Refused",))
    assert found["position_bias"] == ("A", "-")


# the right letter is A: first token, text -> first_token_acc, text_acc
RIGHT: dict[str, tuple[str, Value, tuple[int, int]]] = {
    "both": ("A", "A", (1, 1)),
    "the first token alone": ("A", "C", (1, 0)),
    "the text alone": ("C", "A", (0, 1)),
    "neither": ("C", "C", (0, 0)),
    "the right one among several": ("A", ["A", "C"], (1, 0)),
    "a refusal": ("A", "B", (1, 0)),
    "no answer": ("A", "none", (1, 0)),
}


@pytest.mark.parametrize(("token", "text", "expected"), RIGHT.values(), ids=RIGHT.keys())
def test_both_readings_are_scored_if_there_is_a_correct_option(
    token: str, text: Value, expected: tuple[int, int]
) -> None:
    found = scores(row(gold="A"), text, token)
    assert (found["first_token_acc"], found["text_acc"]) == expected


@pytest.mark.parametrize(("paired", "gold"), list(product([True, False], repeat=2)))
def test_every_row_has_every_metric_of_its_task_and_no_other(paired: bool, gold: bool) -> None:
    has = [need for need, there in ((PAIRED, paired), (GOLD, gold)) if there]
    names = {metric.name for metric in SCHEMA.reported(has)}
    for text in ("A", ["A", "B"], "refused", "none", "contradiction"):
        found = scores(row(gold="C" if gold else ""), text, "A" if paired else None)
        assert set(found) == names
        json.dumps(found)  # the harness logs it
    assert len(names) == {(True, False): 14, (True, True): 16, (False, False): 6, (False, True): 7}[paired, gold]


@pytest.mark.parametrize(
    ("reading", "mismatch"),
    [(Reading.of("A"), 0), (Reading.of("CA"), 1), (Reading.refusal(options_of(row())), 1), (Reading("none"), 1)],
)
def test_recorded_readings_have_the_same_scores(reading: Reading, mismatch: int) -> None:
    written = json.loads(json.dumps(reading.value))
    assert scores(row(), written, "A")["mismatch"] == mismatch


# What a figure is computed from, and the figure


def outcomes(*counts: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return ten or so outcomes of one question: the first so many times, the second so many times …"""
    return [("q", (str(number),)) for number, count in enumerate(counts) for _ in range(count)]


ENTROPIES = {
    "the same ten times": (outcomes(10), 0.0),
    "five and five": (outcomes(5, 5), math.log(2)),
    "ten different ones": (outcomes(*[1] * 10), math.log(10)),
    "seven, two and one": (outcomes(7, 2, 1), -(0.7 * math.log(0.7) + 0.2 * math.log(0.2) + 0.1 * math.log(0.1))),
    "no answer is an outcome": ([("q", ("Yes",)), ("q", ())], math.log(2)),
    "several are one outcome": ([("q", ("No", "Yes")), ("q", ("Yes",)), ("q", ("No",))], math.log(3)),
    "the mean over questions": ([*outcomes(5, 5), ("other", ("Yes",)), ("other", ("Yes",))], math.log(2) / 2),
    "a question's rows need not stand together": (
        [("q", ("Yes",)), ("other", ("No",)), ("q", ("No",)), ("other", ("No",))],
        math.log(2) / 2,
    ),
}


@pytest.mark.parametrize(("rows", "expected"), ENTROPIES.values(), ids=ENTROPIES.keys())
def test_entropy_is_the_mean_over_questions_in_nats(rows: list[tuple[str, tuple[str, ...]]], expected: float) -> None:
    found = mean_entropy(rows)
    assert found == pytest.approx(expected, rel=1e-12)
    assert math.copysign(1, found) == 1  # and no -0.0


BIASES = {
    "the same letters": ([("A", "B"), ("B", "A")], 0.0),
    "no letter in common": ([("A", "B"), ("A", "C")], 1.0),
    # A: 1 and 1/2, B: 0 and 1/2: half of 1/2 + 1/2
    "half of the texts elsewhere": ([("A", "A"), ("A", "B")], 0.5),
    # A: 3/4 and 1/4, B: 1/4 and 1/4, none: 0 and 1/2
    "no letter is an outcome": ([("A", "A"), ("A", "-"), ("A", "-"), ("B", "B")], 0.5),
    "mismatches that cancel out are no bias": ([("A", "B"), ("B", "C"), ("C", "A")], 0.0),
}


@pytest.mark.parametrize(("rows", "expected"), BIASES.values(), ids=BIASES.keys())
def test_position_bias_is_the_distance_between_the_two_letter_distributions(
    rows: list[tuple[str, str]], expected: float
) -> None:
    assert total_variation(rows) == pytest.approx(expected, rel=1e-12)


def test_spellings_are_summarized_by_how_many_begin_with_white_space() -> None:
    assert share_after_white_space([(" ", "A"), ("", "A"), ("\n", "B"), ("", "C")]) == 2 / 4


def test_the_refusal_share_is_of_mismatches_and_undefined_without_any() -> None:
    assert share_of_refusals([(1, 1), (1, 0), (1, 1), (0, 0), (1, 0)]) == 2 / 4
    assert share_of_refusals([(0, 0), (0, 0)]) == "N/A"


def test_the_deviation_is_over_the_shares_of_the_shuffles() -> None:
    # Shuffle 0: 1/2, shuffle 1: 0, shuffle 2: 1; mean 1/2, squares 0 + 1/4 + 1/4, over 3 - 1: 1/4.
    rows = [(0, 1.0), (1, 0.0), (2, 1.0), (0, 0.0), (1, 0.0), (2, 1.0)]
    assert sd_over_shuffles(rows) == pytest.approx(0.5)
    assert sd_over_shuffles([(4, 1.0), (4, 0.0)]) == "N/A"


# The paper's figures


def test_the_24_cells_of_the_paper_follow_from_its_counts(shared_data: Path) -> None:
    folder = shared_data / "mcq"
    counts = json.loads((folder / "mismatch_mapping_results.json").read_text(encoding="utf-8"))
    published = json.loads((folder / "mismatch_mapping_means.json").read_text(encoding="utf-8"))
    assert len(published) == 24
    means = {}
    for cell in published:
        runs = counts[cell["constraint"]][cell["model"]].values()
        assert len(runs) == 10
        mismatches = [
            (shuffle, float(number < run["total_mis"]))
            for shuffle, run in enumerate(runs)
            for number in range(run["total"])
        ]
        mean = 100 * fmean(mismatch for _, mismatch in mismatches)
        deviation = sd_over_shuffles(mismatches)
        assert isinstance(deviation, float)
        refusal = 100 * fmean(run["total_refuse"] / run["total"] for run in runs)
        found = (round(mean, 2), round(100 * deviation, 2), round(refusal, 2))
        assert found == (cell["mis_mean"], cell["mis_sd"], cell["refuse_mean"])
        means[cell["model"], cell["constraint"]] = mean
    # Figure 2 (a), and the text of section 4.1: "starting at 66.2 %".
    assert round(means["Llama2-7b-Chat", "Low Constraint"], 2) == 66.18


def test_mismatch_on_the_annotated_responses_equals_a_computation_in_pandas(shared_data: Path) -> None:
    rows = read_jsonl(shared_data / "mcq" / "mismatch_train.jsonl")
    found: dict[str, list[float]] = {}
    for line in rows:
        options = [option["text"] for option in line["options"]]
        letters, logits = zip(*line["first_token_scores"].items(), strict=True)
        label: Value = {"option": line["label_letter"], "multi": list(line["label_letter"] or ""), "nan": "none"}[
            line["label_kind"]
        ]
        _, token = first_token(letters, ("",), logits)
        mismatch = scores(row(options), label, token)["mismatch"]
        assert isinstance(mismatch, float)
        found.setdefault(line["model"], []).append(mismatch)

    frame = pandas.DataFrame(rows)
    said = pandas.DataFrame(frame.first_token_scores.tolist()).idxmax(axis=1)
    expected = (said != frame.label_letter).groupby(frame.model).mean()

    assert {model: fmean(values) for model, values in found.items()} == pytest.approx(expected.to_dict(), rel=1e-12)
    assert len(found) == 4
    assert all(0.1 < share < 0.9 for share in expected)


@pytest.mark.parametrize("empty", [True, False])
def test_an_empty_text_gives_no_answer(empty: bool) -> None:
    found = scores(row(WITHOUT), "none", empty=empty)
    assert (found["no_answer"], found["empty_rate"]) == (1.0, float(empty))
