"""How a judge's reply is interpreted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_ext.self_refine.judgment import concluded, verdict, verdicts
from lm_eval_ext.self_refine.strategies import STRATEGIES, judge_one, judge_together, reply

YES, NO, UNSAID = True, False, None


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        # only the word
        ("YES", YES),
        ("no", NO),
        ("**No**.", NO),
        ("\n\u201cYes.\u201d\n", YES),
        ("Yess", UNSAID),
        ("ye\u017f", YES),  # a long s
        ("", UNSAID),
        ("Maybe.", UNSAID),
        # with a reason after or before it
        ("NO. It has two commas.", NO),
        ("No \u2013 it has two commas.", NO),
        ("Yes\nThere is no comma in it.", YES),
        ("No commas are used in it.", UNSAID),
        ("No commas are used in it. YES", YES),
        ("Yes men are not mentioned.", UNSAID),
        ("It has two commas, so the answer is no.", NO),
        ("It speaks of a casino", UNSAID),
        ("There is none, so yes!!!!!!!!", YES),
        ("There is one, so no!!!!!!!!", NO),
        # the first word against the last
        ("NO. It should say yes", NO),
        ("Yes. Wait, there is one at the end: NO", NO),
        ("Yes. Wait, there is one at the end. No.", UNSAID),
        ("YES\n\nNO", UNSAID),
        # a stated verdict counts before all else
        ("No commas are in the first line.\nVerdict: YES", YES),
        ("Verdict: NO\nLet me know if I should explain: yes?", NO),
        ("**Verdict:** **NO**", NO),
        ("### Verdict:\nYES", YES),
        ("The verdict is NO.", NO),
        ("verdict\uff1ano", NO),
        ("Verdict: $\\boxed{\\text{NO}}$", NO),
        ("Verdict: YES. On second thoughts there is one.\nVerdict: NO", NO),
        ("Verdict: NOT SURE", UNSAID),
        ("Verdict: NO because of the comma in it", NO),
        ("Verdict: No commas are in it", UNSAID),
        ("Verdict: No commas are in it, so YES", YES),
        ("The verdict is no longer open", UNSAID),
        ("Verdict \u2014 NO. There is a comma in it", NO),
        ("Verdict: [NO]\nThere is a comma in it", NO),
        ("It is time for a verdict. No: there is a comma in it", UNSAID),
        ("My verdict follows. No commas are in it", UNSAID),
        # neither the question nor the reasoning is a verdict
        ("Answer with one word: YES or NO.", UNSAID),
        ('finish with a line of its own: "Verdict: YES" or "Verdict: NO"', UNSAID),
        ("YES/NO", UNSAID),
        # forms that a model of 135 million parameters has
        ("Yes\n\nThe answer is yes.", YES),
        ("The answer to this question is:\n\nThe answer to this question is:\n\nYes", YES),
        ("The answer is: YES", YES),
        ("Yes\n\nThe sea is blue. The sea is blue. The sea is", YES),
        ("* Yes\n* No", UNSAID),
        ("The sea is blue.\n\nYES or NO", UNSAID),
        ("The task:\nDescribe the sea.\n\nThe response must have one word:\nYES\n\nThe response must have", UNSAID),
        ("The sea is blue.\n\nResponse:\n- Yes\n\nThe response should follow this instruction:\n", UNSAID),
        # reasoning blocks
        ("<think>YES, surely.\nVerdict: YES</think>NO", NO),
        ("<think>YES, surely", UNSAID),
    ],
)
def test_a_verdict_on_one_instruction_is_parsed(said: str, judged: bool | None) -> None:
    assert verdict(said) is judged


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        # the form asked for, and how it is adorned
        ("1: YES\n2: NO\n3: YES", (YES, NO, YES)),
        ("1. yes\n2. no\n3. yes", (YES, NO, YES)),
        ("1) YES\n2) NO\n3) YES", (YES, NO, YES)),
        ("1 - YES\n2 - NO\n3 - YES", (YES, NO, YES)),
        ("1 YES\n2 NO\n3 YES", (YES, NO, YES)),
        ("**1:** YES\n**2:** NO\n**3:** YES", (YES, NO, YES)),
        ("- 1: YES\n- 2: NO\n- 3: YES", (YES, NO, YES)),
        ("| 1 | YES |\n| 2 | NO |\n| 3 | YES |", (YES, NO, YES)),
        ("Instruction 1: Yes\nInstruction 2: No\nInstruction 3: Yes", (YES, NO, YES)),
        ("Instruction #1: Yes\nConstraint 2: No\nRequirement 3: Yes", (YES, NO, YES)),
        ("1: YES, 2: NO, 3: YES", (YES, NO, YES)),
        ("1: YES, 2: NO (a comma), 3: NO", (UNSAID, UNSAID, UNSAID)),
        ("Here you are:\n\n1: YES\n2: NO\n3: YES\n\nTwo of 3 are followed.", (YES, NO, YES)),
        ("YES\nNO\nYES", (YES, NO, YES)),
        ("YES\n\nNO\n\nYES", (YES, NO, YES)),
        ("1: the first line has none\n1: YES\n2: NO\n3: YES", (YES, NO, YES)),
        # with the instruction's words or a reason
        ("1. Refrain from the use of any commas: YES\n2: NO, it has 3 of them\n3: YES (2 of 2)", (YES, NO, YES)),
        ("1 (no commas): NO\n2 (no title): NO\n3: YES", (NO, NO, YES)),
        # on the next line
        ("1\nYES\n2\nNO\n3\nYES", (YES, NO, YES)),
        ("1. No commas.\n   - YES\n\n2. A title.\n\n   - NO\n\n3. Two words.\n   - YES", (YES, NO, YES)),
        ("1. No commas.\nThere is none.\nYES\n2: NO\n3: YES", (UNSAID, NO, YES)),
        ("1: YES\nNO\n2: NO\n3: YES", (YES, NO, YES)),
        ("1: well\n2: NO\nYES\n3: YES", (UNSAID, NO, YES)),
        # what is missing, said twice, or none of the instructions
        ("1: YES\n3: NO", (YES, UNSAID, NO)),
        ("1: YES\n2: well\n3: NO", (YES, UNSAID, NO)),
        ("1: YES\n2: NO\n3: YES\n2: YES", (YES, UNSAID, YES)),
        ("1: YES\n2: NO\n3: YES\n3: YES", (YES, NO, YES)),
        ("0: NO\n1: YES\n2: NO\n3: YES\n4: NO\n13: NO", (YES, NO, YES)),
        ("Exactly 2 bullet points: YES", (UNSAID, UNSAID, UNSAID)),
        ("YES\nNO", (UNSAID, UNSAID, UNSAID)),
        ("YES", (UNSAID, UNSAID, UNSAID)),
        ("", (UNSAID, UNSAID, UNSAID)),
        ("<think>1: NO\n2: NO\n3: NO</think>1: YES\n2: NO\n3: YES", (YES, NO, YES)),
    ],
)
def test_verdicts_on_three_instructions_are_parsed(said: str, judged: tuple[bool | None, ...]) -> None:
    assert verdicts(said, 3) == judged


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("1: NO", NO),
        ("NO", NO),
        ("It has one.\nSo it is not.\nVerdict: NO", NO),
        ("2: NO", UNSAID),
        ("1 or 2?", UNSAID),
    ],
)
def test_a_single_instruction_needs_no_number(said: str, judged: bool | None) -> None:
    assert verdicts(said, 1) == (judged,)


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        # the form asked for, whatever the reasoning says before it
        ("1. Is it YES? NO.\n2: YES\n\nVerdicts:\n1: YES\n2: NO\n3: YES", (YES, NO, YES)),
        ("No commas: one is after Blue.\n\n**Final verdicts:**\n\n1: NO\n2: YES\n3: YES", (NO, YES, YES)),
        ("I see 3.\nVerdicts: 1: YES, 2: NO, 3: YES", (YES, NO, YES)),
        ("Verdicts:\n1: NO\n2: NO\n3: NO\nLet me look again.\nVerdicts:\n1: YES\n2: YES\n3: NO", (YES, YES, NO)),
        ("1. No commas: YES\n2. A title: YES\nVerdicts:\n1: NO\n3: YES", (NO, UNSAID, YES)),
        ("Verdicts:\nYES\nNO\nYES", (YES, NO, YES)),
        # without the line, or cut off after it: what the part about an instruction arrives at
        ("1. No commas.\nThere is one.\nVerdict: NO\n2. A title.\nIt has one.\nYES\n3. Well.", (NO, YES, UNSAID)),
        ("**Instruction 1:** It has none. YES\n\n**Instruction 2**\nNone.\nSo: NO\n\n3 - YES", (YES, NO, YES)),
        ("1. YES, at first sight.\n2. YES\n3. YES\nBut then:\n1: NO", (NO, YES, YES)),
        ("1: NO\n2: YES\n3: NO\nVerdicts:", (NO, YES, NO)),
        # nothing is stated: the reasoning was cut off
        ("1. No commas. Let me count them: 1, 2", (UNSAID, UNSAID, UNSAID)),
        ("The response has no commas and a title.", (UNSAID, UNSAID, UNSAID)),
        ("It has 2 paragraphs.\n\n4: YES\n13: NO", (UNSAID, UNSAID, UNSAID)),
        ("<think>Verdicts:\n1: NO\n2: NO\n3: NO</think>Verdicts:\n1: YES\n2: YES\n3: YES", (YES, YES, YES)),
    ],
)
def test_the_verdicts_that_reasoning_arrives_at_are_parsed(said: str, judged: tuple[bool | None, ...]) -> None:
    assert concluded(said, 3) == judged


@given(st.lists(st.booleans(), min_size=1, max_size=25))
def test_replies_in_the_requested_format_are_parsed(truth: list[bool]) -> None:
    assert verdicts(reply(truth, STRATEGIES["feedback"]), len(truth)) == tuple(truth)
    assert concluded(reply(truth, STRATEGIES["feedback_cot"]), len(truth)) == tuple(truth)
    for strategy in ("feedback_each", "feedback_each_cot"):
        assert [verdict(reply([one], STRATEGIES[strategy])) for one in truth] == truth


@given(st.text(), st.integers(1, 10))
def test_any_reply_has_one_verdict_for_each_instruction(said: str, count: int) -> None:
    assert len(verdicts(said, count)) == len(concluded(said, count)) == count
    assert verdict(said) in (True, False, None)


@pytest.mark.parametrize("answer", ["", "Blue."])
def test_a_reply_that_repeats_its_prompt_has_no_verdict(answer: str) -> None:
    instructions = ["Answer with 3 words.", "Include keywords ['no', 'yes'] in the response."]
    assert [verdict(judge_one("Task.", instructions[1], answer, cot)) for cot in (True, False)] == [None, None]
    assert verdicts(judge_together("Task.", instructions, answer, cot=False), 2) == (None, None)
    assert concluded(judge_together("Task.", instructions, answer, cot=True), 2) == (None, None)


@pytest.mark.parametrize(
    "unit",
    [
        *("verdict ", "verdict: ", "\nverdicts: ", " ", "\n", "*", "yes or ", "1", "1: yes, ", "1 (", "1\n"),
        *("\\boxed{", "no no "),
    ],
)
def test_a_megabyte_of_any_text_is_parsed(unit: str) -> None:
    # A rule whose cost is the square of the length would take hours.
    said = "verdict" + unit * (1_000_000 // len(unit)) + "verdict"
    assert verdict(said) is None
    assert verdicts(said, 3)[1:] == (None, None)
    assert concluded(said, 3)[1:] == (None, None)


@pytest.mark.parametrize(
    ("strategy", "verdicts", "said"),
    [
        ("feedback", [True, False], "1: YES\n2: NO"),
        ("feedback_cot", [True, False], "Verdicts:\n1: YES\n2: NO"),
        ("feedback_each", [False], "NO"),
        ("feedback_each_cot", [True], "Verdict: YES"),
    ],
)
def test_the_shortest_reply_in_the_requested_format_is_parsed(strategy: str, verdicts: list[bool], said: str) -> None:
    assert reply(verdicts, STRATEGIES[strategy]) == said


def test_the_tenth_instruction_has_a_number_of_two_digits() -> None:
    said = "\n".join(f"{number}: {'NO' if number == 10 else 'YES'}, as asked" for number in range(1, 11))
    assert verdicts(said, 10) == (YES,) * 9 + (NO,)
