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
from tests.families.verbalizer.table_1 import VERBALIZERS, words

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

# Dataset -> what is judged, the condition of its first golden label or of its second one, and what a row is called.
PARTS = {
    "sst2": ("the sentiment of a movie review", "the movie review is [positive|negative]", "Movie review"),
    "fp": ("the sentiment of a financial phrase", "the financial phrase is [positive|negative]", "Financial phrase"),
    "emotion": (
        "the emotion of a Twitter message",
        "the emotion of a Twitter message is [joy|sadness]",
        "Twitter message",
    ),
    "snli": ("if sentence 1 entails sentence 2", "sentence 1 [entails|contradicts] sentence 2", "Sentence"),
    "sick": ("if sentence 1 entails sentence 2", "sentence 1 [entails|contradicts] sentence 2", "Sentence"),
    "rte": ("if sentence 1 entails sentence 2", "sentence 1 [entails|does not entail] sentence 2", "Sentence"),
    "qqp": (
        "if two given questions from Quora are semantically equivalent",
        "these two questions are [|not ]semantically equivalent",
        "Question",
    ),
    "mrpc": (
        "if two sentences from online news sources are semantically equivalent",
        "these two sentences are [|not ]semantically equivalent",
        "Sentence",
    ),
    "subj": (
        "if the given input is a subjective or objective description of a movie",
        "the movie description is [subjective|objective]",
        "Movie description",
    ),
}
# Prefix of the leaves' names -> the figure's words around these parts.
FIGURES = {
    "verbalizer": (
        'You are a helpful assistant judging {judged}. If {first}, you need to output "{one}". If {second}, you need '
        'to output "{other}". You are only allowed to output "{one}" or "{other}".\n\n{row}\n\nAnswer:'
    ),
    "verbalizer_cot": (
        'You are a helpful assistant judging {judged}. If {first}, you need to output your final answer as "{one}". If '
        '{second}, you need to output your final answer as "{other}".\n\n{row}\n\n'
        "Answer: Let's think step by step."
    ),
}


def content(prefix: str, leaf: str) -> Any:
    return yaml.safe_load((TASKS / f"{prefix}_{leaf}.yaml").read_text(encoding="utf-8"))


def prompt(prefix: str, leaf: str) -> str:
    text = content(prefix, leaf)["doc_to_text"]
    shown: str = jinja2.Template(text, keep_trailing_newline=True).render(ROWS[leaf.split("_", 1)[0]])
    return shown


@pytest.mark.parametrize("prefix", FIGURES)
@pytest.mark.parametrize("dataset", PARTS)
def test_every_prompt_is_that_of_figure_7_or_8(prefix: str, dataset: str) -> None:
    judged, condition, called = PARTS[dataset]
    columns = list(ROWS[dataset])
    names = [called] if len(columns) == 1 else [f"{called} 1", f"{called} 2"]
    row = "\n".join(f"{name}: {{{{{column}}}}}" for name, column in zip(names, columns, strict=True))
    first, second = (re.sub(r"\[(.*)\|(.*)\]", rf"\{number}", condition) for number in (1, 2))
    for kind, verbalizers in VERBALIZERS.items():
        for verbalizer in verbalizers:
            one, other = words(dataset, verbalizer)
            parts = {"judged": judged, "first": first, "second": second, "one": one, "other": other, "row": row}
            leaf = content(prefix, f"{dataset}_{kind}_{verbalizer}")
            assert leaf["doc_to_text"] == FIGURES[prefix].format(**parts)


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


@pytest.mark.parametrize("prefix", FIGURES)
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
