"""The generated training responses: the corpus is well-formed, and each response matches its label."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers import generated as responses
from benchmarks.answers.generated import (
    CORPUS,
    KINDS,
    LISTS,
    NO_ANSWER,
    PHRASES,
    UNDECIDED,
    Frame,
    frames,
    generated,
    questions,
)
from lm_eval_ext.classifier.labelled import Labelled, digest
from lm_eval_ext.classifier.reading import REFUSED, refusal_option
from tests.test_embedded import runs_of

FORMS = ("{}letter{}", "{}text{}", "{}text_core{}", "{}text_lower{}")
CHOSEN = {form.format("", number) for form in FORMS for number in ("", "2", "3")}
OTHERS = {form.format(which, "") for form in FORMS for which in ("other_", "third_")}
SLOTS = CHOSEN | OTHERS | LISTS | {"question", "topic", "options"} | PHRASES


@cache
def many() -> list[Labelled]:
    return generated(6_000, 7)


def all_frames() -> Iterator[Frame]:
    for of_kind in frames().values():
        yield from of_kind


# --- The corpus -------------------------------------------------------------------------------------------------------


def rows(name: str) -> list[dict[str, Any]]:
    # Strictly UTF-8; an object a line, and no blank one.
    return [json.loads(line) for line in (CORPUS / name).read_bytes().decode("utf-8").splitlines()]


def test_a_frame_has_a_known_kind_style_and_slots() -> None:
    found = rows("frames.jsonl")
    assert {tuple(row) for row in found} == {("kind", "style", "frame")}
    assert {row["kind"] for row in found} == KINDS.keys() | PHRASES
    for row in found:
        assert all(isinstance(value, str) and value.strip() for value in row.values()), row
        assert re.fullmatch(r"[a-z_]+", row["style"]), row
        names = set(re.findall(r"\{([^{}\s\"]*)\}", row["frame"]))
        assert names <= SLOTS, (row["frame"], names - SLOTS)
        # A brace that opens no slot belongs to JSON or LaTeX: it is closed.
        assert row["frame"].count("{") == row["frame"].count("}"), row


def test_frames_and_questions_are_unique() -> None:
    for name, field in (("frames.jsonl", "frame"), ("questions.jsonl", "question")):
        counted = Counter((row.get("kind"), " ".join(row[field].split()).casefold()) for row in rows(name))
        assert [text for text, count in counted.items() if count > 1] == []


def test_a_question_has_distinct_options_and_no_refusal() -> None:
    found = rows("questions.jsonl")
    assert {tuple(row) for row in found} == {("question", "options", "kind", "topic")}
    assert {row["kind"] for row in found} == {"opinion", "fact", "statement"}
    offers = {offer.casefold() for offer in (REFUSED, UNDECIDED, NO_ANSWER)}
    for row in found:
        texts = [option.strip().casefold() for option in row["options"]]
        assert 2 <= len(texts) == len(set(texts)), row
        assert all(texts), row
        assert not offers & set(texts), row
        assert row["question"].strip() == row["question"] != "", row
        assert row["topic"].strip() == row["topic"] != "", row
        assert not re.search(r"\{[a-z_]+\d?\}", row["question"] + row["topic"] + "".join(row["options"])), row


def test_there_is_material_of_every_kind() -> None:
    counted = {kind: len(of_kind) for kind, of_kind in frames().items()}
    assert all(count >= 20 for count in counted.values()), counted
    assert len(questions()) >= 100


def needed(frame: Frame) -> int:
    """Return how many options a question must have for a frame: those it chooses, and those it contrasts them with."""
    others = {slot.split("_")[0] for slot in frame.slots & OTHERS}
    return frame.choices + (2 if "third" in others else 1 if "other" in others else 0)


def test_every_frames_label_is_the_options_that_it_names() -> None:
    for frame in all_frames():
        if frame.kind in PHRASES:
            continue
        if frame.slots & LISTS:
            assert frame.kind == "several", frame
            continue
        named = {re.sub(r"[a-z_]+", "", slot) or "1" for slot in frame.slots & CHOSEN}
        # As many as it chooses, from the first on; one that chooses none names none as chosen.
        assert named == {str(number) for number in range(1, frame.choices + 1)}, frame


@pytest.mark.slow
def test_every_frame_fits_many_questions() -> None:
    for frame in all_frames():
        fitting = sum(len(question.options) >= needed(frame) for question in questions())
        assert fitting >= 20, (frame, fitting)


def test_openings_explanations_and_closing_sentences_are_not_nested() -> None:
    for kind in PHRASES:
        for phrase in frames()[kind]:
            assert not phrase.slots & PHRASES, phrase
            # It is one of an answer that chooses one option.
            assert phrase.slots <= SLOTS - {slot for slot in CHOSEN if slot[-1] in "23"}, phrase
        # An answer that chooses none, to a question of two options, finds one too.
        assert any(not phrase.slots & (CHOSEN | OTHERS) for phrase in frames()[kind])


@pytest.mark.slow
def test_frames_of_every_style_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Counter[Frame]()
    label = responses._label

    def counting(frame: Frame, *rest: Any) -> Any:
        drawn[frame] += 1
        return label(frame, *rest)

    monkeypatch.setattr(responses, "_label", counting)
    generated(20_000, 0)
    never = [frame for kind in KINDS for frame in frames()[kind] if not drawn[frame]]
    # The most frequent kind has some 550 frames and 20,000 · 0.62 · 0.75 = 9,300 draws from all of them: 17 each, so
    # that one is left out with a chance of e^-17.
    assert never == []


# --- What is made of it -----------------------------------------------------------------------------------------------


def test_the_rows_of_a_seed_never_change() -> None:
    # Changes whenever the corpus or the drawing does: then an adapter trained on such rows is another one.
    assert digest(generated(500, 0)) == "d4587ad0106158f9"


def test_different_seeds_make_different_rows() -> None:
    one, again, other = generated(200, 1), generated(200, 1), generated(200, 2)
    assert one == again
    assert sum(row == two for row, two in zip(one, other, strict=True)) < 10
    assert len({row.answer.text for row in one}) > 150


@pytest.mark.parametrize("count", [0, 1, 17])
def test_the_requested_number_of_rows_is_generated(count: int) -> None:
    assert len(generated(count, 3)) == count


def test_every_label_is_an_offered_option() -> None:
    for row in many():
        letters = [option.letter for option in row.answer.options]
        assert letters == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(letters)])
        assert set(row.label.letters) <= set(letters)
        assert len({option.text for option in row.answer.options}) == len(letters) >= 2
        assert len(row.label.letters) == {"option": 1, "refused": 0, "none": 0}.get(
            row.label.kind, max(2, len(row.label.letters))
        )
        assert row.label.certainty == 1
        # A refusal is the option that offers one, where there is one.
        assert row.label.kind != "refused" or refusal_option(row.answer.options) is None


def test_labels_of_every_kind_have_their_configured_shares() -> None:
    shares = {kind: count / len(many()) for kind, count in Counter(row.label.kind for row in many()).items()}
    total = sum(KINDS.values())
    assert shares["several"] == pytest.approx(KINDS["several"] / total, abs=0.02)
    # "option" has what offers to choose nothing, too: most refusals have an option.
    assert shares["option"] > KINDS["option"] / total
    assert 0.01 < shares["refused"] < (KINDS["refused"] + KINDS["uncertain"]) / total
    assert 0.02 < shares["none"] <= KINDS["none"] / total + 0.02


def test_every_slot_is_filled() -> None:
    for row in many():
        assert not {f"{{{slot}}}" for slot in SLOTS} & set(re.findall(r"\{[a-z_]+\d?\}", row.answer.text)), row
        assert row.answer.text.strip(), row


def test_the_letter_and_text_in_a_response_name_the_same_option() -> None:
    by_frame = Frame("option", "letter_and_text", "{letter}. {text}")
    assert by_frame in frames()["option"]
    lines: Mapping[bool, list[Labelled]] = {True: [], False: []}
    for row in many():
        texts = {f"{option.letter}. {option.text}": option.letter for option in row.answer.options}
        if row.answer.text in texts:
            lines[row.label.letters == (texts[row.answer.text],)].append(row)
    assert lines[True]
    assert lines[False] == []


def test_a_list_names_all_that_the_label_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Frame("several", "list", f"{{{slot}}}") for slot in sorted(LISTS)]
    monkeypatch.setattr(responses, "KINDS", {"several": 1})
    monkeypatch.setattr(responses, "frames", lambda: {"several": listed})
    monkeypatch.setattr(responses, "_with_company", lambda _draw, frame: frame.text)
    sizes = Counter[int]()
    for row in generated(300, 0):
        assert row.label.kind == "several"
        sizes[len(row.label.letters)] += 1
        for option in row.answer.options:
            if option.letter in row.label.letters:
                core = option.text.rstrip(".!?")
                assert core in row.answer.text or re.search(rf"\b{option.letter}\b", row.answer.text), row
    assert sizes.keys() == {2, 3, 4}


def test_a_disclaimer_stands_before_a_fifth_of_choices_and_lists() -> None:
    bare = Frame("option", "answer_is", "The answer is {letter}.")
    draw = random.Random(0)  # noqa: S311 # reproducible by design
    texts = [responses._with_company(draw, bare) for _ in range(2_000)]
    assert sum("{disclaimer}" in text for text in texts) / 2_000 == pytest.approx(0.2, abs=0.03)
    nonsense = Frame("none", "nonsense", "Blue.")
    assert not any("{disclaimer}" in responses._with_company(draw, nonsense) for _ in range(100))


# --- It is this project's own -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_corpus_shares_no_sentence_with_the_annotated_responses(shared_data: Path) -> None:
    real = [
        json.loads(line)
        for name in ("mismatch_train", "robustness")
        for line in (shared_data / "mcq" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    # A frame's text between its slots; a question whole.
    pieces = [piece for frame in all_frames() for piece in re.split(r"\{[a-z_]+\d?\}", frame.text)]
    # When this was written, the longest run that a frame shares with a response had 8 words (a truth table's T and F),
    # and that of two questions 9 ("Which of the following is not one of the").
    assert runs_of(pieces, 10) & runs_of((row["response"] for row in real), 10) == set()
    asked = [question.text for question in questions()]
    assert runs_of(asked, 10) & runs_of((row[field] for row in real for field in ("question", "response")), 10) == set()
    # The comparison can find something: the pieces have runs of that length.
    assert len(runs_of(pieces, 10)) > 1_000
