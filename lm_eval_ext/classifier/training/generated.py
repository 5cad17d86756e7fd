"""Generates training responses: answer templates (frames), filled with questions and their options.

The frames and questions (``corpus/``) were written by hand for this purpose. A frame is a response with slots, whose
label is known by construction: ``"I would go with {letter}, not {other_letter}."`` chooses ``{letter}``.
"""

from __future__ import annotations

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

CORPUS = Path(__file__).resolve().parent / "corpus"
GENERATED = "generated"
"""The model name of generated responses."""

# How often each kind of response is drawn. Nine in ten real answers choose an option, but most of these are clear and
# read by the rules. Among the answers on which the rules abstain, the other kinds are far more frequent.
KINDS = {"option": 62, "refused": 14, "several": 10, "none": 9, "uncertain": 5}
UNDECIDED = "I do not know"
NO_ANSWER = "No correct answer is given"
OFFERS = (REFUSED, UNDECIDED, NO_ANSWER)
"""Options for choosing none of the actual options."""
REFUSAL_OFFERED, NO_ANSWER_OFFERED = 65, 25
"""How often a question gets them, in percent."""
PHRASES = frozenset({"opener", "explanation", "closer"})
"""Slots that are filled with a sentence from the corpus."""
SAYS_NONE_IS_RIGHT = ("none_is_right", "own_answer_not_listed")
"""Styles of the kind ``none`` that choose the option "no correct answer" if there is one."""
PLAIN = frozenset({"letter_only", "letter_and_text", "option_word", "answer_is", "answer_with_explanation"})
"""Styles in which real models usually choose an option, and the percentage drawn from these styles only."""
PLAIN_SHARE = 25
ALONE = ("letter_only", "text_only", "letter_markup", "cut_off")
"""Styles that would become other styles if a sentence came before or after them."""

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
        """How many options the frame chooses."""
        if self.kind == "several":
            return 3 if {"letter3", "text3"} & self.slots else 2
        return int(self.kind == "option")


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A multiple-choice question of the corpus; ``topic`` is a noun phrase."""

    text: str
    options: tuple[str, ...]
    topic: str


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
    return [_response(draw, kind) for kind in kinds]


def _response(draw: random.Random, kind: str) -> Labelled:
    question = draw.choice(questions())
    options = _options(draw, question)
    content = [option for option in options if option.text not in OFFERS]
    draw.shuffle(content)
    styles = frames()[kind]
    if kind == "option" and draw.randrange(100) < PLAIN_SHARE:
        styles = [frame for frame in styles if frame.style in PLAIN]
    while True:
        frame = draw.choice(styles)
        chosen, others = content[: frame.choices], content[frame.choices :]
        slots = _slots(question, options, chosen, others)
        if len(chosen) == frame.choices and frame.slots <= slots.keys() | PHRASES:
            break
    text = frame.text
    if frame.style not in ALONE and not frame.slots & PHRASES:
        text = draw.choice([text, text, text, "{opener}" + text, text + " {closer}", text + " {explanation}"])
    filled = _tidy(_SLOT.sub(lambda slot: _phrase(draw, slot[1], slots), text))
    return Labelled(Answer(filled, options), _label(frame, chosen, options), GENERATED, question.text)


def _tidy(text: str) -> str:
    """Capitalize the start of a filled frame and remove the duplicate full stops that arise when pieces are joined."""
    text = re.sub(r"\.([\"']?)\.(?!\.)", r".\1", text)
    return text[:1].upper() + text[1:] if not re.match(r"[a-z]\b", text) else text


def _phrase(draw: random.Random, slot: str, slots: Mapping[str, str]) -> str:
    """Return the text for a slot; an opening, explanation or closing sentence is drawn and may itself have slots."""
    if slot not in PHRASES:
        return slots[slot]
    fitting = [frame for frame in frames()[slot] if frame.slots <= slots.keys()]
    return _SLOT.sub(lambda inner: slots[inner[1]], draw.choice(fitting).text)


def _options(draw: random.Random, question: CorpusQuestion) -> tuple[Option, ...]:
    texts = [*question.options]
    texts += [REFUSED] * (draw.randrange(100) < REFUSAL_OFFERED)
    texts += [NO_ANSWER, UNDECIDED] * (draw.randrange(100) < NO_ANSWER_OFFERED)
    draw.shuffle(texts)
    return tuple(map(Option, string.ascii_uppercase, texts))


def _slots(
    question: CorpusQuestion, options: Sequence[Option], chosen: Sequence[Option], others: Sequence[Option]
) -> dict[str, str]:
    slots = {"question": question.text, "topic": question.topic}
    slots["options"] = "\n".join(f"{option.letter}. {option.text}" for option in options)
    for prefix, suffix, option in [
        *zip(("", "", ""), ("", "2", "3"), chosen, strict=False),
        *zip(("other_", "third_"), ("", ""), others, strict=False),
    ]:
        core = option.text.rstrip(".!?")
        forms = {
            "letter": option.letter,
            "text": option.text,
            "text_core": core,
            "text_lower": core[:1].lower() + core[1:],
        }
        slots |= {f"{prefix}{name}{suffix}": form for name, form in forms.items()}
    return slots


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
