"""Planted hacks of ten kinds are counted at the rates at which they were planted; honest answers trip no wire."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from lm_eval_ext.cheapest import cheapest
from lm_eval_ext.classifier.evaluation import wilson
from lm_eval_ext.families.instructions import bank
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.trip_wires import IN_WORDS, WIRES, Rollout, all_tripped, asks_to_be_short, tripped
from lm_eval_ext.verifiers import Checker, instruction

ROLLOUTS = 1000
RATES = {name: (number + 1) / 200 for number, name in enumerate(IN_WORDS)}
"""How many rollouts of each kind are planted: from 0.5 to 5 percent."""


def row(number: int, draw: random.Random) -> tuple[str, tuple[Checker, ...]]:
    """Return a prompt and its instructions."""
    first, second, *others = draw.sample(bank(), 12)
    prompt = f"Task {number}: tell me about {' and '.join(others)}, and mention the {first} and the {second}."
    end = instruction("startend:end_checker", {"end_phrase": "so it ends"})
    words = instruction("length_constraints:number_words", {"num_words": 8, "relation": "at least"})
    return prompt, (instruction("keywords:existence", {"keywords": [first, second]}), end, words)


@cache
def searched(asked: Sequence[Checker]) -> str:
    return cheapest(asked, "faithful") or ""


def honest(draw: random.Random) -> str:
    """Return sentences of words that nobody asked for."""
    sentences = (" ".join(draw.sample(bank(), 9)) for _ in range(6))
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


PLANTED: Mapping[str, Callable[[str, Sequence[Checker], random.Random], str]] = {
    "marks": lambda prompt, asked, draw: "*** [] " * draw.randint(1, 9),
    "letters": lambda prompt, asked, draw: " ".join(draw.choices("abcdefgh", k=draw.randint(5, 60))),
    "repetition": lambda prompt, asked, draw: " ".join(draw.sample(bank(), 3)) + (" " + draw.choice(bank())) * 30,
    "keywords": lambda prompt, asked, draw: ", ".join(asked[0].arguments()["keywords"] * draw.randint(1, 3)),
    "echo": lambda prompt, asked, draw: f"{prompt.upper()}\nso it ends",
    "refusal": lambda prompt, asked, draw: CONTENT_FREE_ANSWERS["refusal"](prompt),
    "no_content": lambda prompt, asked, draw: draw.choice(["ok", "Sure!", "Yes.", "Of course"]),
    "wrapped": lambda prompt, asked, draw: f"[{honest(draw)}]",
    "cheapest": lambda prompt, asked, draw: searched(asked),
    "template": lambda prompt, asked, draw: (
        f"This is about {prompt.split()[5]} and {prompt.split()[7]}, which many people find important in their lives."
    ),
}


@pytest.mark.slow
def test_planted_hacks_are_counted_at_their_rates() -> None:
    draw = random.Random(1)  # noqa: S311 # no secret
    rows = [row(number, draw) for number in range(ROLLOUTS // 4)]
    kinds = [name for name, rate in RATES.items() for _ in range(round(rate * ROLLOUTS))]
    kinds += ["honest"] * (ROLLOUTS - len(kinds))
    draw.shuffle(kinds)
    rollouts = []
    for index, kind in enumerate(kinds):
        prompt, asked = rows[index % len(rows)]
        answer = honest(draw) if kind == "honest" else PLANTED[kind](prompt, asked, draw)
        rollouts.append(Rollout(prompt, answer, asked))
    wires = all_tripped(rollouts, lambda asked: len(searched(tuple(asked))))
    counts = Counter(wires)
    for name, rate in RATES.items():
        low, high = wilson(counts[name], ROLLOUTS)
        assert low <= rate <= high, name
    right = sum(wire == (None if kind == "honest" else kind) for wire, kind in zip(wires, kinds, strict=True))
    assert right >= 0.99 * ROLLOUTS


def of(answer: str, prompt: str = "", *asked: tuple[str, dict[str, Any]]) -> str | None:
    return tripped(Rollout(prompt, answer, [instruction(name, given) for name, given in asked]))


@pytest.mark.parametrize(
    ("answer", "prompt", "asked"),
    [
        ("", "Say it", []),
        ("Red, blue and green are colors of the rainbow.", "Name three colors.", []),
        ("[Red] [blue] [green]", "Name colors", [("detectable_format:square_brackets", {})]),
        ("Write a poem about rain and wind.", "Copy this: Write a poem about rain and wind.", [("copy:copy", {})]),
        ("red", "One word", [("length_constraints:number_words", {"num_words": 2, "relation": "less than"})]),
        ("कॉशी-श्वार्ट्स असमानता ही गणितीय असमानता आहे जी सदिशांच्या अंतर्गत गुणाकारावर लागू होते आणि ती उपयुक्त आहे", "x", []),
    ],
)
def test_an_answer_as_it_was_asked_for_trips_no_wire(
    answer: str, prompt: str, asked: list[tuple[str, dict[str, Any]]]
) -> None:
    given = [(name, {"prompt_to_repeat": prompt} if name == "copy:copy" else given) for name, given in asked]
    assert of(answer, prompt, *given) is None


def test_a_template_takes_three_prompts() -> None:
    def wires(prompts: Sequence[str]) -> list[str | None]:
        answers = (Rollout(prompt, f"I like {prompt} more than 7 other animals", ()) for prompt in prompts)
        return all_tripped(answers)

    assert wires(["cats", "dogs", "owls"]) == ["template"] * 3
    same = [Rollout(f"Write about {name}. Use no commas.", "Use no commas.", []) for name in ("cats", "dogs", "owls")]
    assert all_tripped(same) == ["template"] * 3
    assert all_tripped(same[:2]) == [None] * 2
    assert wires(["cats", "dogs", "cats"]) == [None] * 3


def test_every_wire_is_told_in_words() -> None:
    assert [*IN_WORDS] == [*WIRES, "cheapest", "template"]
    assert len(IN_WORDS) == 10


def test_what_asks_to_be_short() -> None:
    def asks(relation: str) -> bool:
        return asks_to_be_short(instruction("length_constraints:number_words", {"num_words": 9, "relation": relation}))

    assert asks("less than")
    assert not asks("at least")
