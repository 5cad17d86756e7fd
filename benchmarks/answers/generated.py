"""Fills answer templates (frames) with questions and their options: ``python -m benchmarks.answers.generated 3000``.

It prints labeled rows, as ``lm-eval-ext classifier train`` reads them. The frames and questions were written by hand
for this purpose. A frame is a response with slots, whose label is known by construction: ``"I would go with {letter},
not {other_letter}."`` chooses ``{letter}``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import REFUSED, Answer, Option, Reading

CORPUS = Path(__file__).resolve().parent
GENERATED = "generated"
"""The model name of generated responses."""

# How often each kind of response is drawn. Nine in ten real answers choose an option, but most of these are clear and
# read by the rules. Among the answers on which the rules abstain, the other kinds are far more frequent: models that
# hedge leave several options open in one answer of five.
KINDS = {"option": 52, "refused": 16, "several": 13, "none": 14, "uncertain": 5}
UNDECIDED = "I do not know"
NO_ANSWER = "No correct answer is given"
OFFERS = (REFUSED, UNDECIDED, NO_ANSWER)
"""Options for choosing none of the actual options."""
REFUSAL_OFFERED, NO_ANSWER_OFFERED = 65, 25
"""How often a question gets them, in percent."""
SAYS_NONE_IS_RIGHT = ("none_is_right", "own_answer_not_listed")
"""Styles of the kind ``none`` that choose the option "no correct answer" if there is one."""
PLAIN = frozenset({"letter_only", "letter_and_text", "option_word", "answer_is", "answer_with_explanation"})
"""Styles in which real models usually choose an option, and the percentage drawn from these styles only."""
PLAIN_SHARE = 25
ALONE = ("letter_only", "text_only", "letter_markup", "cut_off")
"""Styles that would become other styles if a sentence came before or after them."""
DISCLAIMED = ("option", "several")
"""The kinds that often follow a disclaimer."""
DISCLAIMED_SHARE = 20
"""The percentage of the responses of these kinds that get a disclaimer in addition."""
DISCLAIMERS = ("{disclaimer} {turn}", "{disclaimer} ", "{disclaimer}\n\n", "{disclaimer} {disclaimer} {turn}")
ORDERED_SHARE = 75
"""The percentage of responses that name their several options in the order shown."""
SIZES = {2: 5, 3: 3, 4: 2}
"""How many options a list has, and how often."""
_SLOT = re.compile(r"\{([a-z_]+\d?)\}")


@dataclass(frozen=True, slots=True)
class Frame:
    """A response with slots; see ``CONTRIBUTING.md`` for their names."""

    kind: str
    style: str
    text: str

    @property
    def slots(self) -> frozenset[str]:
        """The names of the frame's slots."""
        return frozenset(_SLOT.findall(self.text))

    @property
    def choices(self) -> int:
        """How many options the frame chooses; at least so many if it has a list."""
        if self.kind == "several":
            return 3 if {"letter3", "text3"} & self.slots else 2
        return int(self.kind == "option")


@cache
def frames() -> Mapping[str, Sequence[Frame]]:
    """Return the frames by kind."""
    by_kind: dict[str, list[Frame]] = {}
    for row in _rows("frames.jsonl"):
        by_kind.setdefault(row["kind"], []).append(Frame(row["kind"], row["style"], row["frame"]))
    return by_kind


@cache
def questions() -> Sequence[CorpusQuestion]:
    """Return the questions of the corpus."""
    return [CorpusQuestion(row["question"], tuple(row["options"]), row["topic"]) for row in _rows("questions.jsonl")]


def generated(count: int, seed: int) -> list[Labelled]:
    """Return ``count`` labeled responses; the same seed gives the same responses."""
    draw = random.Random(f"classifier/{seed}")  # noqa: S311 # reproducible by design
    kinds = draw.choices(list(KINDS), list(KINDS.values()), k=count)
    return [_response(draw, frames()[kind]) for kind in kinds]


def _response(draw: random.Random, styles: Sequence[Frame]) -> Labelled:
    question = draw.choice(questions())
    texts = [*question.options]
    texts += [REFUSED] * (draw.randrange(100) < REFUSAL_OFFERED)
    texts += [NO_ANSWER, UNDECIDED] * (draw.randrange(100) < NO_ANSWER_OFFERED)
    draw.shuffle(texts)
    options = tuple(map(Option, string.ascii_uppercase, texts))
    content = [option for option in options if option.text not in OFFERS]
    draw.shuffle(content)
    plain = [frame for frame in styles if frame.kind == "option" and frame.style in PLAIN]
    if plain and draw.randrange(100) < PLAIN_SHARE:
        styles = plain
    while True:
        frame = draw.choice(styles)
        number = draw.choices(list(SIZES), list(SIZES.values()))[0] if frame.slots & LISTS else frame.choices
        chosen, others = content[:number], content[number:]
        if number > 1 and draw.randrange(100) < ORDERED_SHARE:
            chosen.sort(key=lambda option: option.letter)
        filled = slots(draw, question, options, chosen, others)
        if len(chosen) == number and frame.slots <= filled.keys() | PHRASES:
            break
    text = _with_company(draw, frame)

    def fill(slot: re.Match[str]) -> str:
        if slot[1] not in PHRASES:
            return filled[slot[1]]
        # A phrase is drawn. It may hold slots, but no phrases.
        fitting = [phrase for phrase in frames()[slot[1]] if phrase.slots <= filled.keys()]
        return _SLOT.sub(lambda inner: filled[inner[1]], draw.choice(fitting).text)

    # Where pieces are joined, there may be two full stops.
    text = re.sub(r"\.([\"']?)\.(?!\.)", r".\1", _SLOT.sub(fill, text))
    if not re.match(r"[a-z]\b", text):
        text = text[:1].upper() + text[1:]
    return Labelled(Answer(text, options), _label(frame, chosen, options), GENERATED, question.text)


def _with_company(draw: random.Random, frame: Frame) -> str:
    """Return a frame's text, often with a disclaimer before it or another sentence before or after it."""
    if frame.style in ALONE or frame.slots & PHRASES:
        return frame.text
    if frame.kind in DISCLAIMED and draw.randrange(100) < DISCLAIMED_SHARE:
        return draw.choice(DISCLAIMERS) + frame.text
    text = frame.text
    return draw.choice([text, text, text, "{opener}" + text, text + " {closer}", text + " {explanation}"])


def _label(frame: Frame, chosen: Sequence[Option], options: Sequence[Option]) -> Reading:
    offered = {option.text: option.letter for option in options}
    if frame.kind in ("option", "several"):
        return Reading.of([option.letter for option in chosen])
    if frame.kind == "uncertain" and UNDECIDED in offered:
        return Reading.of([offered[UNDECIDED]])
    if frame.kind == "none":
        says_so = frame.style in SAYS_NONE_IS_RIGHT and NO_ANSWER in offered
        return Reading.of([offered[NO_ANSWER]]) if says_so else Reading("none")
    return Reading.refusal(options)


def _rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


PHRASES = frozenset({"opener", "disclaimer", "turn", "overview", "explanation", "closer"})
"""Slots that are filled with a sentence, or the beginning of one, from the corpus."""
LISTS = frozenset(
    {"letters", "letters_or", "letters_and", "letters_slash", "texts_or", "texts_and"}
    | {"options_or", "options_and", "lines", "bullets"}
)
"""Slots that are filled with all options that the frame chooses, of any number."""
LETTER_FORMS = ("{letter}",) * 7 + ("({letter})", '"{letter}"', "option {letter}", "{letter} ({text})", "**{letter}**")
"""How a list writes its letters, the usual way more often."""


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A multiple-choice question of the corpus; ``topic`` is a noun phrase."""

    text: str
    options: tuple[str, ...]
    topic: str


def slots(
    draw: random.Random,
    question: CorpusQuestion,
    options: Sequence[Option],
    chosen: Sequence[Option],
    others: Sequence[Option],
) -> dict[str, str]:
    """Return the texts of the slots that a question can fill.

    Args:
        draw: draws how lists are written.
        question: the question.
        options: all its options, as shown.
        chosen: those that the frame chooses.
        others: those that it does not.
    """
    filled = {"question": question.text, "topic": question.topic}
    filled["options"] = "\n".join(f"{option.letter}. {option.text}" for option in options)
    for prefix, suffix, option in [
        *zip(("", "", ""), ("", "2", "3"), chosen, strict=False),
        *zip(("other_", "third_"), ("", ""), others, strict=False),
    ]:
        core = option.text.rstrip(".!?")
        filled[f"{prefix}letter{suffix}"] = option.letter
        filled[f"{prefix}text{suffix}"] = option.text
        filled[f"{prefix}text_core{suffix}"] = core
        filled[f"{prefix}text_lower{suffix}"] = core[:1].lower() + core[1:]
    if len(chosen) < 2:
        return filled
    form = draw.choice(LETTER_FORMS)
    comma = draw.choice((",", ""))
    cores = [(option.letter, option.text.rstrip(".!?")) for option in chosen]
    letters = [form.format(letter=letter, text=core) for letter, core in cores]
    texts = [f'"{core}"' for _, core in cores]
    named = [f"{letter}. {core}" for letter, core in cores]
    return filled | {
        "letters": ", ".join(letters),
        "letters_slash": "/".join(letter for letter, _ in cores),
        "letters_or": _joined(letters, comma, "or"),
        "letters_and": _joined(letters, comma, "and"),
        "texts_or": _joined(texts, comma, "or"),
        "texts_and": _joined(texts, comma, "and"),
        "options_or": _joined(named, comma, "or"),
        "options_and": _joined(named, comma, "and"),
        "lines": "\n".join(named),
        "bullets": "\n".join(f"- {name}" for name in named),
    }


def _joined(items: Sequence[str], comma: str, word: str) -> str:
    """Return items as in "A, B, or C", with or without the last comma."""
    if len(items) == 2:
        return f"{items[0]} {word} {items[1]}"
    return f"{', '.join(items[:-1])}{comma} {word} {items[-1]}"


def main() -> None:
    """Print labeled rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="number of responses")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for row in generated(options.count, options.seed):
        shown = [{"letter": option.letter, "text": option.text} for option in row.answer.options]
        line = {"model": row.model, "question": row.question, "options": shown, "response": row.answer.text}
        print(json.dumps(line | {"label": row.label.value}, ensure_ascii=False))


if __name__ == "__main__":
    main()
