"""The self-refining LM sends each strategy's prompts to its base, in few calls, and keeps the answers."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.model import LM, CachingLM

from lm_eval_ext.families.manyifeval.answers import RowInstance, known_answers
from lm_eval_ext.models.self_refine import SelfRefineLM
from lm_eval_ext.self_refine.loop import Feedback, Refined
from lm_eval_ext.self_refine.strategies import STRATEGIES, VERSION
from tests.across_versions import plain_instance
from tests.self_refine.scripted import FIRST_PROMPT, NO_COMMAS, QUOTED, TASK, ScriptedLM, request, row

pytestmark = pytest.mark.harness

COMMA_BARE, BARE, DONE = "Blue, deep.", "Blue and deep.", '"Blue and deep."'
"""Answers that break both instructions, only the second, and none."""


def about(answer: str, rest: str) -> str:
    """Return a prompt about an answer: how all of them begin, and the rest."""
    return f"""Below are a task and a response to it.

Task:
{TASK}

=== Response ===
{answer}
=== End of the response ===

{rest}"""


DIRECT_ALL = "Answer with one line per instruction and nothing else: its number, a colon, and YES or NO."
REASONED_ALL = """Reason first, then finish with the line "Verdicts:" and, below it, one line per instruction and \
nothing else: its number, a colon, and YES or NO.

Let's think step by step."""


def judging_together(answer: str, ending: str = DIRECT_ALL) -> str:
    return about(
        answer,
        f"The response should follow these instructions:\n1. {NO_COMMAS}\n2. {QUOTED}\n\n"
        f"Does the response follow each of them? {ending}",
    )


def judging_each(answer: str, ending: str) -> list[str]:
    """Return the prompts that are about an instruction each, the first and the second one."""
    return [
        about(answer, f"The response should follow this instruction:\n- {instruction}\n\nDoes it? {ending}")
        for instruction in (NO_COMMAS, QUOTED)
    ]


DIRECT = "Answer with one word: YES or NO."
REASONED = """Reason first, then finish with a line of its own: "Verdict: YES" or "Verdict: NO".

Let's think step by step."""


def revising(answer: str, *broken: str) -> str:
    named = "\n".join(f"- {instruction}" for instruction in broken)
    ending = "Rewrite the response so that it follows them. Answer with the rewritten response and nothing else."
    return about(answer, f"The response does not follow these instructions:\n{named}\n\n{ending}")


def improving(answer: str) -> str:
    ending = "Improve the response so that it follows them. Answer with the improved response and nothing else."
    return about(answer, f"The response should follow these instructions:\n- {NO_COMMAS}\n- {QUOTED}\n\n{ending}")


SEQUENCES: Mapping[str, list[tuple[list[str], list[str]]]] = {
    # per call to the base: the prompts it is asked, the replies it gives
    "none": [([FIRST_PROMPT], [COMMA_BARE])],
    "without_feedback": [
        ([FIRST_PROMPT], [COMMA_BARE]),
        ([improving(COMMA_BARE)], [BARE]),
        ([improving(BARE)], [DONE]),
        ([improving(DONE)], [DONE]),
    ],
    "feedback": [
        ([FIRST_PROMPT], [COMMA_BARE]),
        ([judging_together(COMMA_BARE)], ["1: NO\n2: YES"]),  # the second verdict is wrong
        ([revising(COMMA_BARE, NO_COMMAS)], [BARE]),
        ([judging_together(BARE)], ["1: YES\n2: NO"]),
        ([revising(BARE, QUOTED)], [DONE]),
        ([judging_together(DONE)], ["1: YES\n2: YES"]),
    ],
    "feedback_cot": [
        ([FIRST_PROMPT], [COMMA_BARE]),
        ([judging_together(COMMA_BARE, REASONED_ALL)], ["1. One.\n2. Bare.\n\nVerdicts:\n1: NO\n2: NO"]),
        ([revising(COMMA_BARE, NO_COMMAS, QUOTED)], [BARE]),
        ([judging_together(BARE, REASONED_ALL)], ["1. YES, none.\n2. Wrapped.\n\nVerdicts:\n1: YES\n2: YES"]),
    ],
    "feedback_each": [
        ([FIRST_PROMPT], [COMMA_BARE]),
        (judging_each(COMMA_BARE, DIRECT), ["NO", "NO"]),
        ([revising(COMMA_BARE, NO_COMMAS, QUOTED)], [BARE]),
        (judging_each(BARE, DIRECT), ["YES", "NO"]),
        ([revising(BARE, QUOTED)], [DONE]),
        (judging_each(DONE, DIRECT), ["YES", "YES"]),
    ],
    "feedback_each_cot": [
        ([FIRST_PROMPT], [COMMA_BARE]),
        (judging_each(COMMA_BARE, REASONED), ["There is one.\nVerdict: NO", "It is not wrapped.\nVerdict: NO"]),
        ([revising(COMMA_BARE, NO_COMMAS, QUOTED)], [DONE]),
        (judging_each(DONE, REASONED), ["None is left.\nVerdict: YES", "It is wrapped.\nVerdict: YES"]),
    ],
    "oracle": [
        ([FIRST_PROMPT], [BARE]),
        ([revising(BARE, QUOTED)], [COMMA_BARE]),
        ([revising(COMMA_BARE, NO_COMMAS, QUOTED)], [DONE]),
    ],
    "all_false": [
        ([FIRST_PROMPT], [DONE]),
        ([revising(DONE, NO_COMMAS, QUOTED)], [DONE]),
        ([revising(DONE, NO_COMMAS, QUOTED)], [BARE]),
        ([revising(BARE, NO_COMMAS, QUOTED)], [DONE]),
    ],
}


def test_every_strategy_has_an_expected_sequence() -> None:
    assert list(SEQUENCES) == list(STRATEGIES)


@pytest.mark.parametrize("strategy", SEQUENCES)
def test_each_strategy_sends_exactly_these_prompts(strategy: str) -> None:
    calls = SEQUENCES[strategy]
    base = ScriptedLM([reply for _, replies in calls for reply in replies])
    (answer,) = SelfRefineLM(base, strategy=strategy, rounds=3).generate_until([request()])
    assert base.calls == [prompts for prompts, _ in calls]
    answers = [replies[0] for prompts, replies in calls if "YES" not in prompts[0]]  # the other calls ask for judgments
    assert answer == answers[-1]


def hill_or_lake(prompt: str) -> str:
    """Return which of two rows a prompt is about."""
    return "hill" if "hill" in prompt else "lake"


def hill_and_lake() -> list[RowInstance]:
    return [request(row("Describe a hill.")), request(row("Describe a lake."))]


def verdicts_of(answer: Refined) -> list[tuple[bool | None, ...] | None]:
    """Return the verdicts on the answer of each round."""
    return [one.feedback.verdicts if one.feedback else None for one in answer.rounds]


def test_a_row_repaired_in_round_2_is_unchanged_in_round_3() -> None:
    revisions = {"hill": iter([COMMA_BARE] * 2), "lake": iter([COMMA_BARE] * 4)}
    base = ScriptedLM(lambda prompt: next(revisions[hill_or_lake(prompt)], DONE))
    answers = SelfRefineLM(base, strategy="oracle", rounds=5).generate_until(hill_and_lake())

    asked = [[*map(hill_or_lake, call)] for call in base.calls]
    # first answers, rounds 1 and 2, rounds 3 and 4; after round 4 nothing is broken
    assert asked == [["hill", "lake"], ["hill", "lake"], ["hill", "lake"], ["lake"], ["lake"]]
    assert [len(answer.rounds) for answer in answers] == [3, 5]
    assert [str(answer) for answer in answers] == [DONE, DONE]


def test_without_early_stopping_a_kept_answer_is_judged_in_every_round() -> None:
    def reply(prompt: str) -> str:
        if "YES" not in prompt:
            return BARE
        # The judge is content with the hill, with the lake never.
        return "1: YES\n2: YES" if "hill" in prompt else "1: YES\n2: NO"

    base = ScriptedLM(reply)
    model = SelfRefineLM(base, strategy="feedback", rounds=3, early_stop="false")
    hill, lake = model.generate_until(hill_and_lake())

    asked = [[*map(hill_or_lake, call)] for call in base.calls]
    # first answers, then three times: both are judged, and one is revised
    assert asked == [["hill", "lake"], *([["hill", "lake"], ["lake"]] * 3)]
    assert [len(answer.rounds) for answer in (hill, lake)] == [1 + 3, 1 + 3]
    assert verdicts_of(hill) == [(True, True)] * 3 + [None]
    assert {one.answer for one in hill.rounds} == {BARE}
    # the first answer, three judgments, and no revision or three
    assert [answer.requests for answer in (hill, lake)] == [1 + 3, 1 + 3 + 3]


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize(
    ("strategy", "calls", "requests"),
    [
        # calls for 3 rounds in which nothing is ever right; requests of each row with its 2 instructions
        ("none", 1, 1),
        ("without_feedback", 1 + 3, 1 + 3),
        ("feedback", 1 + 2 * 3, 1 + 3 * (1 + 1)),
        ("feedback_cot", 1 + 2 * 3, 1 + 3 * (1 + 1)),
        ("feedback_each", 1 + 2 * 3, 1 + 3 * (2 + 1)),
        ("feedback_each_cot", 1 + 2 * 3, 1 + 3 * (2 + 1)),
        ("oracle", 1 + 3, 1 + 3),
        ("all_false", 1 + 3, 1 + 3),
    ],
)
def test_the_base_is_called_once_and_at_most_twice_a_round(strategy: str, calls: int, requests: int, rows: int) -> None:
    base = ScriptedLM(lambda prompt: "NO" if prompt.endswith((DIRECT, REASONED)) else COMMA_BARE)
    answers = SelfRefineLM(base, strategy=strategy, rounds=3).generate_until([request() for _ in range(rows)])
    assert len(base.calls) == calls
    assert sum(map(len, base.calls)) == requests * rows
    assert [answer.requests for answer in answers] == [requests] * rows


def test_reasoning_is_kept_in_the_rounds_but_not_in_later_prompts() -> None:
    thinking = f"<think>Commas, commas, commas.</think>{BARE}"
    base = ScriptedLM([thinking, "<think>1: NO, I think.</think>1: YES\n2: NO", DONE, "1: YES\n2: YES"])
    (answer,) = SelfRefineLM(base, strategy="feedback", rounds=1).generate_until([request()])
    assert base.calls[1:] == [[judging_together(BARE)], [revising(BARE, QUOTED)]]
    assert [one.answer for one in answer.rounds] == [thinking, DONE]
    assert verdicts_of(answer)[0] == (True, False)


def test_a_null_completion_is_an_empty_answer() -> None:
    base = ScriptedLM(lambda prompt: None if prompt == FIRST_PROMPT else DONE)  # type: ignore[arg-type, return-value]
    (answer,) = SelfRefineLM(base, strategy="oracle", rounds=1).generate_until([request()])
    assert [one.answer for one in answer.rounds] == ["", DONE]


def test_an_instruction_with_an_unparsable_judgment_is_revised() -> None:
    base = ScriptedLM([BARE, "YES", "I could not say.", DONE, "YES", "YES"])
    (answer,) = SelfRefineLM(base, strategy="feedback_each", rounds=2).generate_until([request()])
    assert base.calls[2] == [revising(BARE, QUOTED)]
    assert answer.rounds[0].feedback == Feedback((True, None), ("YES", "I could not say."))


def test_everything_except_generation_is_delegated_to_the_base() -> None:
    left = (
        *("loglikelihood", "loglikelihood_rolling", "chat_template", "tokenizer_name", "device", "rank", "world_size"),
        *("all_gather", "gather_object", "barrier", "batch_sizes"),
    )
    given = {name: object() for name in left}
    base = type("Base", (ScriptedLM,), given)([])
    model = SelfRefineLM(base, strategy="none")
    assert {name: getattr(model, name) for name in left} == given
    assert model.apply_chat_template([{"role": "user", "content": "Hi"}]) == "<user>Hi|answer:"
    assert model.apply_chat_template([{"role": "user", "content": "Hi"}], add_generation_prompt=False) == "<user>Hi"
    assert not hasattr(model, "tokenizer")
    assert model.get_model_info() == {"self_refine_version": VERSION}
    base.get_model_info = lambda: {"model_sha": "abc"}
    assert model.get_model_info() == {"model_sha": "abc", "self_refine_version": VERSION}


def test_a_base_that_is_an_object_takes_no_arguments() -> None:
    with pytest.raises(ValueError, match=r"base is an LM object .* found \{'policy': 'oracle'\}"):
        SelfRefineLM(ScriptedLM([]), policy="oracle")


def test_the_base_receives_its_arguments() -> None:
    text = "base=reference,policy=drop_one,seed=7,strategy=oracle,rounds=2,early_stop=false"
    model = SelfRefineLM.create_from_arg_string(text, {"batch_size": 4, "device": "cpu", "max_batch_size": None})
    assert (model.base.policy, model.base.seed) == ("drop_one", 7)
    assert (model.strategy, model.rounds, model.early_stop) == (STRATEGIES["oracle"], 2, False)
    # What the harness would read as Python's None.
    assert SelfRefineLM.create_from_arg_string("base=reference,strategy=none").strategy == STRATEGIES["none"]


@pytest.mark.parametrize(
    ("tasks", "named"),
    [
        (["sst2", "sst2"], r"sst2 \(2 requests\)\. "),
        ("abcde", r"a \(1 requests\), b \(1 requests\), c \(1 requests\) and 2 more tasks\. "),
    ],
)
def test_rows_without_instructions_are_rejected_before_any_request(tasks: Sequence[str], named: str) -> None:
    base = ScriptedLM(lambda _prompt: DONE)
    others = [plain_instance("generate_until", {}, ("Hi", {}), task=task) for task in tasks]
    with pytest.raises(ValueError, match=rf"without instructions: {named}"):
        SelfRefineLM(base).generate_until([request(), *others])
    assert base.calls == []


@pytest.mark.parametrize("strategy", ["feedback_each", "feedback_each_cot"])
def test_each_judgment_is_assigned_to_its_row_and_instruction(strategy: str) -> None:
    # The judge says that a hill's answer breaks the first instruction, a lake's the second; one reply per prompt.
    def reply(prompt: str) -> str:
        if "YES" not in prompt:
            return DONE
        return "NO" if ("hill" in prompt) == (NO_COMMAS in prompt) else "YES"

    answers = SelfRefineLM(ScriptedLM(reply), strategy=strategy, rounds=1).generate_until(hill_and_lake())
    assert [verdicts_of(answer)[0] for answer in answers] == [(False, True), (True, False)]


def test_without_rows_no_request_is_sent() -> None:
    base = ScriptedLM([])
    assert SelfRefineLM(base).generate_until([]) == []
    assert base.calls == []


def test_the_papers_method_in_five_rounds_is_the_default() -> None:
    model = SelfRefineLM(ScriptedLM([]))
    assert (model.strategy, model.rounds) == (STRATEGIES["feedback_each_cot"], 5)


def test_every_request_has_the_rows_document_and_generation_arguments() -> None:
    arguments: tuple[Any, ...] = ("as the harness shows it", {"until": ["."], "do_sample": False})
    plain = plain_instance("generate_until", {"key": 7}, arguments, task="manyifeval_n02", row=5, idx=2)
    of = RowInstance.of(plain, known_answers(row()), row=row())
    base = ScriptedLM(lambda _prompt: "NO")
    SelfRefineLM(base, strategy="feedback_each", rounds=2).generate_until([of])
    asked = base.asked
    assert len(asked) == 1 + 2 * (2 + 1)
    assert asked[0].args == plain.args
    for one in asked:
        assert (one.request_type, one.doc, one.idx) == ("generate_until", {"key": 7}, 2)
        assert (one.task_name, one.doc_id, one.repeats) == ("manyifeval_n02", 5, 1)
        assert one.args[1] == arguments[1]
    # Each has its own arguments: a base may change what it is given.
    assert len({id(one.args[1]) for one in asked}) == len(asked)


def test_a_copy_of_the_model_has_the_same_base() -> None:
    # A copy is made empty, and asked for its methods before it has a base.
    base = ScriptedLM([])
    assert copy.copy(SelfRefineLM(base)).base is base
    with pytest.raises(AttributeError, match="base"):
        SelfRefineLM.__new__(SelfRefineLM).tokenizer  # noqa: B018


def test_the_log_describes_each_step(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="lm_eval.models.self_refine"):
        SelfRefineLM(ScriptedLM(lambda _prompt: "NO"), "feedback_each", rounds=2).generate_until([request()] * 3)
    assert [record.getMessage() for record in caplog.records] == [
        "self_refine, first answers: 3 requests for 3 rows",
        "self_refine, round 1 of 2, feedback: 6 requests for 3 rows",
        "self_refine, round 1 of 2, refinement: 3 requests for 3 rows",
        "self_refine, round 2 of 2, feedback: 6 requests for 3 rows",
        "self_refine, round 2 of 2, refinement: 3 requests for 3 rows",
    ]


# Caches of responses (``--use_cache``): each serves only the refining LM that filled it.

ANSWERED: dict[str, Any] = {"base": "reference", "policy": "drop_one", "strategy": "oracle", "rounds": 2}


def answered(cache: Path, base: LM, strategy: str, rounds: int) -> Any:
    """Return the answer to a row, with a cache of responses."""
    (answer,) = CachingLM(SelfRefineLM(base, strategy, rounds), str(cache)).generate_until([request()])
    return answer


def test_a_cache_keeps_the_rounds(tmp_path: Path) -> None:
    first, again = (
        answered(tmp_path / "responses.db", ScriptedLM(replies), "oracle", 2) for replies in ([BARE, DONE], [])
    )
    assert again == first == DONE
    assert (again.rounds, again.planned) == (first.rounds, 2)


def test_an_interrupted_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    cache = tmp_path / "responses.db"
    asked = ScriptedLM([BARE, "1: YES\n2: NO"])  # and then it has no reply any more
    with pytest.raises(StopIteration):
        answered(cache, asked, "feedback", 1)
    assert [len(call) for call in asked.calls] == [1, 1, 1]

    rest = ScriptedLM([DONE])
    answer = answered(cache, rest, "feedback", 1)
    assert rest.calls == [[revising(BARE, QUOTED)]]
    assert [one.answer for one in answer.rounds] == [BARE, DONE]


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (ANSWERED, ""),
        # Meant to change no answer
        (ANSWERED | {"batch_size": 8, "max_batch_size": 16, "device": "cpu"}, ""),
        (ANSWERED | {"rounds": 3}, "a separate cache for each model and strategy"),
        (ANSWERED | {"strategy": "all_false"}, "the responses of .*'strategy': 'oracle'.* of .*'strategy': 'all_f"),
        (ANSWERED | {"policy": "oracle"}, "'policy': 'drop_one'.*'policy': 'oracle'"),
        (ANSWERED | {"seed": 1}, "'seed': '1'"),
        ({"base": ScriptedLM([]), "strategy": "oracle", "rounds": 2}, "'base': 'reference'.*'base': 'ScriptedLM'"),
    ],
)
def test_a_cache_serves_only_the_same_base_with_the_same_arguments(
    arguments: dict[str, Any], refused: str, tmp_path: Path
) -> None:
    path = tmp_path / "responses.db"
    CachingLM(SelfRefineLM(**ANSWERED | {"batch_size": 1}), str(path)).generate_until([request()])
    for cache in (r"responses\.db", r"responses\.base\.db"):
        with pytest.raises(ValueError, match=rf"{cache} contains .*{refused}") if refused else nullcontext():
            CachingLM(SelfRefineLM(**arguments), str(path))
        path.unlink()  # what the refusal of the first would name; the base LM has one of its own


def test_a_cache_filled_by_another_model_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "responses.db"
    CachingLM(ScriptedLM([BARE]), str(path)).generate_until([request()])
    with pytest.raises(ValueError, match="contains the responses of another model"):
        answered(path, ScriptedLM([]), "oracle", 1)
