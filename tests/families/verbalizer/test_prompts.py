"""The prompts are exactly the paper's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from lm_eval_ext import tasks_dir
from tests.conftest import SHARED

TASKS = Path(tasks_dir()) / "verbalizer" / "leaves"

ROWS = {
    "sst2": {"sentence": "lovely and poignant ."},
    "fp": {"sentence": "Sales doubled ."},
    "emotion": {"text": "i feel fine"},
    "snli": {"premise": "A man runs.", "hypothesis": "A man sleeps."},
    "sick": {"sentence_A": "A dog barks", "sentence_B": "A dog is silent"},
    "rte": {"sentence1": "It rained in Oslo.", "sentence2": "Oslo got wet."},
    "qqp": {"question1": "How old is it?", "question2": "What is its age?"},
    "mrpc": {"sentence1": "He left .", "sentence2": "He went away ."},
    "subj": {"text": "a slow film ."},
}

# Figure 7, one verbalizer per dataset, all rows of Table 1 in turn.
DIRECT = {
    "sst2_natural_golden": (
        "You are a helpful assistant judging the sentiment of a movie review. If the movie review is positive, you need "
        'to output "positive". If the movie review is negative, you need to output "negative". You are only allowed to '
        'output "positive" or "negative".\n\nMovie review: lovely and poignant .\n\nAnswer:'
    ),
    "fp_unnatural_flipped": (
        "You are a helpful assistant judging the sentiment of a financial phrase. If the financial phrase is positive, "
        'you need to output "negative". If the financial phrase is negative, you need to output "positive". You are '
        'only allowed to output "negative" or "positive".\n\nFinancial phrase: Sales doubled .\n\nAnswer:'
    ),
    "emotion_natural_1_0": (
        "You are a helpful assistant judging the emotion of a Twitter message. If the emotion of a Twitter message is "
        'joy, you need to output "1". If the emotion of a Twitter message is sadness, you need to output "0". You are '
        'only allowed to output "1" or "0".\n\nTwitter message: i feel fine\n\nAnswer:'
    ),
    "snli_unnatural_no_yes": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output "no". If sentence 1 contradicts sentence 2, you need to output "yes". You are only allowed to '
        'output "no" or "yes".\n\nSentence 1: A man runs.\nSentence 2: A man sleeps.\n\nAnswer:'
    ),
    "sick_neutral_foo_bar": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output "foo". If sentence 1 contradicts sentence 2, you need to output "bar". You are only allowed to '
        'output "foo" or "bar".\n\nSentence 1: A dog barks\nSentence 2: A dog is silent\n\nAnswer:'
    ),
    "rte_unnatural_flipped": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output "not entailment". If sentence 1 does not entail sentence 2, you need to output "entailment". '
        'You are only allowed to output "not entailment" or "entailment".\n\n'
        "Sentence 1: It rained in Oslo.\nSentence 2: Oslo got wet.\n\nAnswer:"
    ),
    "qqp_natural_golden": (
        "You are a helpful assistant judging if two given questions from Quora are semantically equivalent. If these "
        'two questions are semantically equivalent, you need to output "duplicate". If these two questions are not '
        'semantically equivalent, you need to output "not duplicate". You are only allowed to output "duplicate" or '
        '"not duplicate".\n\nQuestion 1: How old is it?\nQuestion 2: What is its age?\n\nAnswer:'
    ),
    "mrpc_neutral_lax_sfo": (
        "You are a helpful assistant judging if two sentences from online news sources are semantically equivalent. If "
        'these two sentences are semantically equivalent, you need to output "lax". If these two sentences are not '
        'semantically equivalent, you need to output "sfo". You are only allowed to output "lax" or "sfo".\n\n'
        "Sentence 1: He left .\nSentence 2: He went away .\n\nAnswer:"
    ),
    "subj_neutral_river_lake": (
        "You are a helpful assistant judging if the given input is a subjective or objective description of a movie. If "
        'the movie description is subjective, you need to output "river". If the movie description is objective, you '
        'need to output "lake". You are only allowed to output "river" or "lake".\n\n'
        "Movie description: a slow film .\n\nAnswer:"
    ),
}

# Figure 8.
CHAIN_OF_THOUGHT = {
    "sst2_unnatural_flipped": (
        "You are a helpful assistant judging the sentiment of a movie review. If the movie review is positive, you need "
        'to output your final answer as "negative". If the movie review is negative, you need to output your final '
        'answer as "positive".\n\nMovie review: lovely and poignant .\n\nAnswer: Let\'s think step by step.'
    ),
    "fp_natural_yes_no": (
        "You are a helpful assistant judging the sentiment of a financial phrase. If the financial phrase is positive, "
        'you need to output your final answer as "yes". If the financial phrase is negative, you need to output your '
        'final answer as "no".\n\nFinancial phrase: Sales doubled .\n\nAnswer: Let\'s think step by step.'
    ),
    "emotion_unnatural_0_1": (
        "You are a helpful assistant judging the emotion of a Twitter message. If the emotion of a Twitter message is "
        'joy, you need to output your final answer as "0". If the emotion of a Twitter message is sadness, you need to '
        'output your final answer as "1".\n\nTwitter message: i feel fine\n\nAnswer: Let\'s think step by step.'
    ),
    "snli_natural_golden": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output your final answer as "entailment". If sentence 1 contradicts sentence 2, you need to output '
        'your final answer as "contradiction".\n\nSentence 1: A man runs.\nSentence 2: A man sleeps.\n\n'
        "Answer: Let's think step by step."
    ),
    "sick_neutral_bar_foo": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output your final answer as "bar". If sentence 1 contradicts sentence 2, you need to output your '
        'final answer as "foo".\n\nSentence 1: A dog barks\nSentence 2: A dog is silent\n\n'
        "Answer: Let's think step by step."
    ),
    "rte_natural_golden": (
        "You are a helpful assistant judging if sentence 1 entails sentence 2. If sentence 1 entails sentence 2, you "
        'need to output your final answer as "entailment". If sentence 1 does not entail sentence 2, you need to output '
        'your final answer as "not entailment".\n\nSentence 1: It rained in Oslo.\nSentence 2: Oslo got wet.\n\n'
        "Answer: Let's think step by step."
    ),
    "qqp_unnatural_flipped": (
        "You are a helpful assistant judging if two given questions from Quora are semantically equivalent. If these "
        'two questions are semantically equivalent, you need to output your final answer as "not duplicate". If these '
        'two questions are not semantically equivalent, you need to output your final answer as "duplicate".\n\n'
        "Question 1: How old is it?\nQuestion 2: What is its age?\n\nAnswer: Let's think step by step."
    ),
    "mrpc_neutral_sfo_lax": (
        "You are a helpful assistant judging if two sentences from online news sources are semantically equivalent. If "
        'these two sentences are semantically equivalent, you need to output your final answer as "sfo". If these two '
        'sentences are not semantically equivalent, you need to output your final answer as "lax".\n\n'
        "Sentence 1: He left .\nSentence 2: He went away .\n\nAnswer: Let's think step by step."
    ),
    "subj_neutral_lake_river": (
        "You are a helpful assistant judging if the given input is a subjective or objective description of a movie. If "
        'the movie description is subjective, you need to output your final answer as "lake". If the movie description '
        'is objective, you need to output your final answer as "river".\n\nMovie description: a slow film .\n\n'
        "Answer: Let's think step by step."
    ),
}


def content(prefix: str, leaf: str) -> Any:
    return yaml.safe_load((TASKS / f"{prefix}_{leaf}.yaml").read_text(encoding="utf-8"))


def prompt(prefix: str, leaf: str) -> str:
    text = content(prefix, leaf)["doc_to_text"]
    shown: str = jinja2.Template(text, keep_trailing_newline=True).render(ROWS[leaf.split("_", 1)[0]])
    return shown


@pytest.mark.parametrize("leaf", DIRECT)
def test_a_direct_prompt_is_that_of_figure_7(leaf: str) -> None:
    assert prompt("verbalizer", leaf) == DIRECT[leaf]


@pytest.mark.parametrize("leaf", CHAIN_OF_THOUGHT)
def test_a_chain_of_thought_prompt_is_that_of_figure_8(leaf: str) -> None:
    assert prompt("verbalizer_cot", leaf) == CHAIN_OF_THOUGHT[leaf]


def figures() -> dict[str, dict[str, str]]:
    """Return the templates of Figures 7 and 8 out of the paper's text: prefix of the leaves' names -> dataset -> template."""
    path = SHARED / "papers" / "verbalizer-manipulation.txt"
    if not path.is_file():
        pytest.skip(f"the paper's text is not at {path}")
    text = path.read_text(encoding="utf-8")
    text = text[text.index("Figure 6: Per-dataset") :]
    flat = " ".join(re.sub(r"<\|.*?\|>", " ", text).split())
    direct, cot = flat[: flat.index("Figure 7:")], flat[flat.index("Figure 7:") :]
    order = list(ROWS)
    found = {}
    for prefix, part, end in (("verbalizer", direct, "Answer:"), ("verbalizer_cot", cot, "step by step.")):
        starts = [match.start() for match in re.finditer("You are a helpful assistant", part)]
        templates = [part[start : part.index(end, part.index("Answer:", start)) + len(end)] for start in starts]
        found[prefix] = dict(zip(order, templates, strict=True))
    return found


@pytest.mark.parametrize("prefix", ["verbalizer", "verbalizer_cot"])
@pytest.mark.parametrize("dataset", ROWS)
def test_a_golden_prompt_is_the_papers_template_with_the_fields_filled_in(prefix: str, dataset: str) -> None:
    template = figures()[prefix][dataset].replace("\\n", "\n")
    # Figure 7 names QQP's fields {equivalent} and {not equivalent}; its golden words (Table 1) are another pair.
    if dataset == "qqp":
        template = template.replace("equivalent}", "duplicate}")
    for word in content(prefix, f"{dataset}_natural_golden")["doc_to_choice"]:
        assert f'"{{{word}}}"' in template
        template = template.replace(f"{{{word}}}", word)
    row = list(ROWS[dataset].values())
    for field, value in zip(re.findall(r"{(\w+)}", template), row, strict=True):
        template = template.replace(f"{{{field}}}", value)
    squeezed = re.sub(r" ?(\n+) ?", r"\1", template)  # the figures' own line breaks are next to the \n that they print
    assert prompt(prefix, f"{dataset}_natural_golden") == squeezed
