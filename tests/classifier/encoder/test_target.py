"""The training target for each kind of label."""

from __future__ import annotations

import pytest

from lm_eval_ext.classifier.encoder.encoding import Encoded
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Answer, Option, Reading

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")

from lm_eval_ext.classifier.encoder.trainee import TrainingTarget, target

# Choices: each option, then refusal, several, none.
PLAIN = tuple(map(Option, "ABC", ("Often", "Rarely", "Never")))
OF_PLAIN = Encoded(ids=(1,) * 6, choices=(0, 1, 2, 3, 4, 5), letters=("A", "B", "C"), named=(-1,) * 6)
# "Refused" is B: it is not a separate choice, and the options after it move up.
REFUSABLE = tuple(map(Option, "ABCD", ("Often", "Refused", "Rarely", "Never")))
OF_REFUSABLE = Encoded(ids=(1,) * 6, choices=(0, 1, 2, 3, 4, 5), letters=("A", "C", "D"), named=(-1,) * 6)
REFUSAL, SEVERAL, NONE = 3, 4, 5


@pytest.mark.parametrize(
    ("label", "choice", "members"),
    [
        (Reading("option", ("A",)), 0, (True, False, False)),
        (Reading("option", ("C",)), 2, (False, False, True)),
        (Reading("refused"), REFUSAL, (False, False, False)),
        (Reading("several", ("A", "C")), SEVERAL, (True, False, True)),
        (Reading("several", ("A", "B", "C")), SEVERAL, (True, True, True)),
        (Reading("none"), NONE, (False, False, False)),
        (Reading("contradiction"), NONE, (False, False, False)),
    ],
)
def test_a_label_is_a_choice_and_its_members(label: Reading, choice: int, members: tuple[bool, ...]) -> None:
    assert target(OF_PLAIN, Labelled(Answer("", PLAIN), label)) == TrainingTarget(choice, members)


@pytest.mark.parametrize(
    ("label", "choice", "members"),
    [
        (Reading("option", ("B",)), REFUSAL, (False, False, False)),
        (Reading.refusal(REFUSABLE), REFUSAL, (False, False, False)),
        (Reading("option", ("A",)), 0, (True, False, False)),
        (Reading("option", ("C",)), 1, (False, True, False)),
        (Reading("option", ("D",)), 2, (False, False, True)),
        # Several, the refusal among them: the refusal is no member, as it has no place among the options.
        (Reading("several", ("B", "D")), SEVERAL, (False, False, True)),
        (Reading("none"), NONE, (False, False, False)),
    ],
)
def test_the_refused_option_is_the_refusal_choice(label: Reading, choice: int, members: tuple[bool, ...]) -> None:
    assert target(OF_REFUSABLE, Labelled(Answer("", REFUSABLE), label)) == TrainingTarget(choice, members)
