"""Writes the leaves and groups of this folder: ``python tasks/verbalizer/_generate.py``.

It contains the paper's facts verbatim: the verbalizers of Table 1 and, with the instructions in ``wordings``, the
prompts of Figures 7 (direct) and 8 (chain of thought). A test proves that the folder is what this writes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from lm_eval_ext.families.verbalizer.paraphrases.wordings import instructions
from lm_eval_ext.families.verbalizer.task import VERSION

HERE = Path(__file__).resolve().parent

# The metrics of a group; the report has the means of the others. Every line costs time when the harness indexes tasks.
AGGREGATED = ("acc", "prior_rate", "invalid_rate", "empty_rate")

# Table 1: dataset -> the two golden label names, the affirmative one first.
GOLDEN = {
    "sst2": ("positive", "negative"),
    "fp": ("positive", "negative"),
    "emotion": ("joy", "sadness"),
    "snli": ("entailment", "contradiction"),
    "sick": ("entailment", "contradiction"),
    "rte": ("entailment", "not entailment"),
    "qqp": ("duplicate", "not duplicate"),
    "mrpc": ("equivalent", "not equivalent"),
    "subj": ("subjective", "objective"),
}

# Table 1: naturalness -> verbalizer -> the words for the two golden labels; None for the golden names themselves.
VERBALIZERS: Mapping[str, Mapping[str, tuple[str, str] | None]] = {
    "natural": {"golden": None, "1_0": ("1", "0"), "yes_no": ("yes", "no")},
    "neutral": {
        "foo_bar": ("foo", "bar"),
        "bar_foo": ("bar", "foo"),
        "sfo_lax": ("sfo", "lax"),
        "lax_sfo": ("lax", "sfo"),
        "lake_river": ("lake", "river"),
        "river_lake": ("river", "lake"),
    },
    "unnatural": {"flipped": None, "0_1": ("0", "1"), "no_yes": ("no", "yes")},
}

# Pairs of words that have a meaning by themselves, the affirmative one first.
MEANT = {frozenset(pair): pair for pair in (("1", "0"), ("yes", "no"))}

# Figures 7 and 8: the part of the prompt that shows the row.
_SENTENCES = "Sentence 1: {{{{{}}}}}\nSentence 2: {{{{{}}}}}"
ROWS = {
    "sst2": "Movie review: {{sentence}}",
    "fp": "Financial phrase: {{sentence}}",
    "emotion": "Twitter message: {{text}}",
    "snli": _SENTENCES.format("premise", "hypothesis"),
    "sick": _SENTENCES.format("sentence_A", "sentence_B"),
    "rte": _SENTENCES.format("sentence1", "sentence2"),
    "qqp": "Question 1: {{question1}}\nQuestion 2: {{question2}}",
    "mrpc": _SENTENCES.format("sentence1", "sentence2"),
    "subj": "Movie description: {{text}}",
}


def direct_prompt(dataset: str, words: tuple[str, str]) -> str:
    """Return Figure 7's prompt with the label words in place and the row as template fields."""
    published, *_ = instructions(dataset, "first", dict(zip(GOLDEN[dataset], words, strict=True)))
    return f"{published}\n\n{ROWS[dataset]}\n\nAnswer:"


def cot_prompt(dataset: str, words: tuple[str, str]) -> str:
    """Return Figure 8's prompt in the same way."""
    published, *_ = instructions(dataset, "final", dict(zip(GOLDEN[dataset], words, strict=True)))
    return f"{published}\n\n{ROWS[dataset]}\n\nAnswer: Let's think step by step."


# Family -> (folder, template, prompt).
FAMILIES = {
    "verbalizer": ("direct", "_direct", direct_prompt),
    "verbalizer_cot": ("cot", "_cot", cot_prompt),
}


def label_words(dataset: str, verbalizer: str, words: tuple[str, str] | None) -> tuple[str, str]:
    """Return the words for a dataset's two golden labels, the affirmative one first."""
    affirmative, other = GOLDEN[dataset]
    return words or ((other, affirmative) if verbalizer == "flipped" else (affirmative, other))


def leaf(family: str, dataset: str, naturalness: str, verbalizer: str) -> str:
    """Return the YAML of one leaf."""
    _, template, prompt = FAMILIES[family]
    golden = GOLDEN[dataset]
    words = label_words(dataset, verbalizer, VERBALIZERS[naturalness][verbalizer])
    lines = [
        f"include: ../{template}",
        f"task: {family}_{dataset}_{naturalness}_{verbalizer}",
        f"dataset_path: {dataset}",
        f"naturalness: {naturalness}",
        f"verbalizer: {json.dumps(verbalizer)}",
        f"doc_to_choice: {json.dumps(dict(zip(golden, words, strict=True)))}",
    ]
    if frozenset(words) in MEANT:
        lines.append(f"prior: {json.dumps(dict(zip(golden, MEANT[frozenset(words)], strict=True)))}")
    lines.append(f"doc_to_text: {json.dumps(prompt(dataset, words))}")
    return "\n".join(lines) + "\n"


def group(name: str, members: list[str]) -> str:
    """Return the YAML of one group."""
    lines = [f"group: {name}", "task:", *(f"  - {member}" for member in members), "aggregate_metric_list:"]
    lines += [f"  - {{metric: {metric}, filter_list: answer}}" for metric in AGGREGATED]
    lines += [f"metadata: {{version: {VERSION}}}"]
    return "\n".join(lines) + "\n"


def files() -> Iterator[tuple[str, str]]:
    """Yield every generated file: its path in this folder and its text."""
    for family, (folder, _, _) in FAMILIES.items():
        of_dataset: dict[str, list[str]] = {dataset: [] for dataset in GOLDEN}
        for naturalness, verbalizers in VERBALIZERS.items():
            of_naturalness = []
            for verbalizer in verbalizers:
                leaves = {dataset: f"{dataset}_{naturalness}_{verbalizer}" for dataset in GOLDEN}
                for dataset, name in leaves.items():
                    yield f"{folder}/{name}.yaml", leaf(family, dataset, naturalness, verbalizer)
                    of_dataset[dataset].append(f"{family}_{name}")
                of_verbalizer = [f"{family}_{name}" for name in leaves.values()]
                of_naturalness += sorted(of_verbalizer)
                name = f"{naturalness}_{verbalizer}"
                yield f"{folder}/group_{name}.yaml", group(f"{family}_{name}", of_verbalizer)
            # Lists the leaves, not the groups of verbalizers, which would clutter every table.
            yield f"{folder}/group_{naturalness}.yaml", group(f"{family}_{naturalness}", of_naturalness)
        for dataset, members in of_dataset.items():
            yield f"{folder}/group_{dataset}.yaml", group(f"{family}_{dataset}", members)
        yield f"{folder}/group.yaml", group(family, [f"{family}_{naturalness}" for naturalness in VERBALIZERS])


def main() -> None:
    """Rewrite all files."""
    for folder, _, _ in FAMILIES.values():
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    for name, text in files():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
