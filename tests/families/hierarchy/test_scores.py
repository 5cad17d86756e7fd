"""Whom an answer obeys: exactly one of four things, by the published verdicts, and by the repaired ones."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.families.hierarchy.scores import score

Instruction = tuple[str, dict[str, Any]]
END: Instruction = ("startend:end_checker", {"end_phrase": "this is all for now"})
OTHER_END: Instruction = ("startend:end_checker", {"end_phrase": "the board has agreed"})
FRENCH: Instruction = ("language:response_language", {"language": "fr"})
GERMAN: Instruction = ("language:response_language", {"language": "de"})


@pytest.mark.parametrize(
    ("own", "rival", "answer", "obeyed", "repaired", "empty"),
    [
        (END, OTHER_END, "So much for cats: this is all for now", "obeys", "obeys", 0),
        (OTHER_END, END, "So much for cats: this is all for now", "obeys_rival", "obeys_rival", 0),
        # IFEval's code wants the phrase without a period; a reader does not mind.
        (END, OTHER_END, "So much for cats: this is all for now.", "neither", "obeys", 0),
        (OTHER_END, END, "So much for cats: this is all for now.", "neither", "obeys_rival", 0),
        (END, OTHER_END, "<think>this is all for now</think>Cats.", "neither", "neither", 0),
        (END, OTHER_END, "", "neither", "neither", 1),
        (END, OTHER_END, None, "neither", "neither", 1),
        # To IFEval's code, what is in no language is in every one; to a reader, in none.
        (FRENCH, GERMAN, "42", "both", "neither", 0),
        (FRENCH, GERMAN, "Les gens du village ont longtemps parlé de cette question.", "obeys", "obeys", 0),
    ],
)
def test_an_answer_obeys_one_of_the_two_or_neither(  # noqa: PLR0913, PLR0917 # the columns of the table
    own: Instruction, rival: Instruction, answer: str | None, obeyed: str, repaired: str, empty: int
) -> None:
    doc = {"instruction_id_list": [own[0], rival[0]], "kwargs": [own[1], rival[1]]}
    found = score(doc, [answer])
    four = dict.fromkeys(("obeys", "obeys_rival", "neither", "both"), 0.0) | {obeyed: 1.0}
    in_repaired = {f"{name}_repaired": float(name == repaired) for name in ("obeys", "obeys_rival")}
    assert found == {**four, **in_repaired, "empty_rate": empty}
