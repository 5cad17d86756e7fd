"""The prompts: rendering a template, recognizing where a response repeats it, and the wordings of the instruction.

The wordings are that of Figures 7 and 8, and others that mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import jinja2

from lm_eval_ext.harness.versions import template_environment

Reads = Literal["first", "final"]
"""Which label of an answer counts: the first that it names, or the last one stated as the answer."""
OPENING = 40
"""Length of the prompt's beginning by which a repetition is recognized, in characters."""


@cache
def template(prompt: str) -> jinja2.Template:
    """Return a prompt's template in compiled form."""
    compiled: jinja2.Template = template_environment().from_string(prompt)
    return compiled


@dataclass(frozen=True)
class Prompt:
    """What a repetition of a prompt is recognized by.

    Attributes:
        whole: the template.
        row: the template of the part that shows the row.
        row_starts: see ``row_starts``.
    """

    whole: jinja2.Template
    row: jinja2.Template
    row_starts: tuple[str, ...]

    @classmethod
    def of(cls, prompt: str) -> Prompt:
        """Return what a repetition of a prompt with this template is recognized by."""
        return cls(template(prompt), template(row_part(prompt)), row_starts(prompt))


def row_starts(prompt: str) -> tuple[str, ...]:
    """Return how a row begins in a prompt: its first words, and the text before the first field on its line."""
    before_field = re.search(r"^([^\n{]*\w[^\n{]*?)[ \t]*{{", prompt, re.MULTILINE)
    return (prompt[:OPENING], *([before_field[1]] if before_field else []))


def row_part(prompt: str) -> str:
    """Return the part of a template that shows the row: from the line of its first field on."""
    return prompt[prompt.rfind("\n", 0, prompt.find("{{") + 1) + 1 :]


WORDINGS = 8
"""The number of wordings, the published one included."""


@dataclass(frozen=True)
class Question:
    """What the instruction of a dataset asks.

    Attributes:
        judged: what is to be judged: the object of the verb.
        conditions: golden label name to the clause that holds for its rows, in the order of the prompt.
    """

    judged: str
    conditions: Mapping[str, str]


_ENTAILED = Question(
    "if sentence 1 entails sentence 2",
    {
        "entailment": "sentence 1 entails sentence 2",
        "contradiction": "sentence 1 contradicts sentence 2",
    },
)
QUESTIONS: Mapping[str, Question] = {
    "sst2": Question(
        "the sentiment of a movie review",
        {"positive": "the movie review is positive", "negative": "the movie review is negative"},
    ),
    "fp": Question(
        "the sentiment of a financial phrase",
        {"positive": "the financial phrase is positive", "negative": "the financial phrase is negative"},
    ),
    "emotion": Question(
        "the emotion of a Twitter message",
        {"joy": "the emotion of a Twitter message is joy", "sadness": "the emotion of a Twitter message is sadness"},
    ),
    "snli": _ENTAILED,
    "sick": _ENTAILED,
    "rte": Question(
        _ENTAILED.judged,
        {
            "entailment": "sentence 1 entails sentence 2",
            "not entailment": "sentence 1 does not entail sentence 2",
        },
    ),
    "qqp": Question(
        "if two given questions from Quora are semantically equivalent",
        {
            "duplicate": "these two questions are semantically equivalent",
            "not duplicate": "these two questions are not semantically equivalent",
        },
    ),
    "mrpc": Question(
        "if two sentences from online news sources are semantically equivalent",
        {
            "equivalent": "these two sentences are semantically equivalent",
            "not equivalent": "these two sentences are not semantically equivalent",
        },
    ),
    "subj": Question(
        "if the given input is a subjective or objective description of a movie",
        {"subjective": "the movie description is subjective", "objective": "the movie description is objective"},
    ),
}
"""By dataset, the parts of the instruction that depend on it, which every wording has in the words of the figures."""

# In each: the role of a helpful assistant, what is judged, which word to output on which condition and, in direct
# prompts, that nothing else may be output. A response that only repeats one of them is read as no answer (a test).
_DIRECT = (
    'You are a helpful assistant judging {judged}. If {first}, you need to output "{one}". If {second}, you need to '
    'output "{other}". You are only allowed to output "{one}" or "{other}".',
    'You are a helpful assistant, and your task is to judge {judged}. Output "{one}" if {first}, and output "{other}" '
    'if {second}. You are not allowed to output anything other than "{one}" or "{other}".',
    'As a helpful assistant, you judge {judged}. When {first}, your output has to be "{one}". When {second}, your '
    'output has to be "{other}". The only allowed outputs are "{one}" and "{other}".',
    'Act as a helpful assistant and judge {judged}. The required output is "{one}" if {first} and "{other}" if '
    "{second}. No outputs other than these two are allowed.",
    'Your job as a helpful assistant is to determine {judged}. You must output "{one}" if {first} and "{other}" if '
    "{second}. Your output must be one of these two words, and nothing else is allowed.",
    'Please be a helpful assistant who judges {judged}. If {first}, the output must be "{one}". If {second}, the '
    'output must be "{other}". You are allowed to output only "{one}" or "{other}".',
    "You work as a helpful assistant whose task is judging {judged}. The output that you have to give is "
    '"{one}" when {first}, and "{other}" when {second}. You are allowed to give only one of these two outputs.',
    'Take the role of a helpful assistant that judges {judged}. If {first}, then "{one}" is what you need to output. '
    'If {second}, then "{other}" is what you need to output. Only these two outputs are allowed.',
)
_CHAIN_OF_THOUGHT = (
    'You are a helpful assistant judging {judged}. If {first}, you need to output your final answer as "{one}". If '
    '{second}, you need to output your final answer as "{other}".',
    'You are a helpful assistant, and your task is to judge {judged}. Output your final answer as "{one}" if {first}, '
    'and output your final answer as "{other}" if {second}.',
    "As a helpful assistant, you judge {judged}. When {first}, the final answer that you output has to be "
    '"{one}". When {second}, the final answer that you output has to be "{other}".',
    "Act as a helpful assistant and judge {judged}. The final answer that you are required to output is "
    '"{one}" if {first} and "{other}" if {second}.',
    "Your job as a helpful assistant is to determine {judged}. As your final answer, you must output "
    '"{one}" if {first} and "{other}" if {second}.',
    'Please be a helpful assistant who judges {judged}. If {first}, you must output "{one}" as your final answer. If '
    '{second}, you must output "{other}" as your final answer.',
    "You work as a helpful assistant whose task is judging {judged}. The final answer that you have to output is "
    '"{one}" when {first}, and "{other}" when {second}.',
    'Take the role of a helpful assistant that judges {judged}. If {first}, then "{one}" is what you need to output as '
    'your final answer. If {second}, then "{other}" is what you need to output as your final answer.',
)


def instructions(dataset: str, reads: Reads, words: Mapping[str, str]) -> tuple[str, ...]:
    """Return the instruction of a dataset's prompts in every wording, the published one first.

    Args:
        dataset: one of the nine.
        reads: ``"first"`` for the direct prompt (Figure 7), ``"final"`` for the chain of thought (Figure 8).
        words: the label word for each golden label name of ``QUESTIONS``.
    """
    question = QUESTIONS[dataset]
    (one, first), (other, second) = ((words[golden], clause) for golden, clause in question.conditions.items())
    return tuple(
        text.format(judged=question.judged, first=first, second=second, one=one, other=other)
        for text in (_DIRECT if reads == "first" else _CHAIN_OF_THOUGHT)
    )
