"""Writes the task files: ``python tasks/_generate.py``; a test proves that the folders are what this writes.

The harness needs one file per name. A group lies in its family's folder, a leaf in ``leaves/``, each under its name.
What the leaves share is in the templates beside the groups, or, for a family with hundreds of leaves, in its class:
the harness parses a template again for each leaf.

The verbalizers of Table 1 are the paper's facts verbatim, as are the prompts of Figures 7 (direct) and 8 (chain of
thought), whose instructions are in ``families/verbalizer/instructions.json``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any, Literal

import yaml

from lm_eval_ext.families.conversation.multi_if import HUB
from lm_eval_ext.families.conversation.schema import MULTI_IF
from lm_eval_ext.families.hierarchy.rows import MOST_TURNS
from lm_eval_ext.families.hierarchy.schema import ARMS, OBEYS
from lm_eval_ext.families.ifbench.repairs import EDITION
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS
from lm_eval_ext.families.manyifeval.schema import DENSE, KEYWORDS, MIXED, PROMPTS
from lm_eval_ext.families.natural_instructions import task as natural_instructions_task
from lm_eval_ext.families.natural_instructions.encodings import ABLATIONS, ENCODINGS
from lm_eval_ext.families.natural_instructions.schema import BLEURT
from lm_eval_ext.families.natural_instructions.subtasks import CATEGORIES, EVALUATION, SUBTASKS
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.release_check import MULTIPLE_CHOICE, QUESTIONS, SETS, TASKS, group_of
from lm_eval_ext.families.release_check import NAME as RELEASE_CHECK
from lm_eval_ext.families.verbalizer import task as verbalizer_task
from lm_eval_ext.families.verbalizer.verbalizer import instructions

HERE = Path(__file__).resolve().parent

File = tuple[str, str]
"""A file's path in this folder, and its text."""


def files() -> Iterator[File]:
    """Yield every task file."""
    yield from verbalizer()
    yield from manyifeval()
    yield from ifbench()
    yield from hierarchy()
    yield from conversation()
    yield from paired_mcq()
    yield from natural_instructions()
    yield from release_check()


class _Class(str):
    """The path of a class, which the harness imports."""


class _Config(dict[str, Any]):
    """The config in a file, which has a line for each key."""


class _Dumper(yaml.SafeDumper):
    """Writes each config in full, classes with the harness's tag, and a text of several lines in one."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _written(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else None)


_Dumper.add_representer(str, _written)
_Dumper.add_representer(
    _Config, lambda dumper, config: dumper.represent_mapping("tag:yaml.org,2002:map", config, flow_style=False)
)
_Dumper.add_representer(_Class, lambda dumper, path: dumper.represent_scalar("!function", path))


def _file(family: str, folder: str, name: str, config: Mapping[str, Any]) -> File:
    text = yaml.dump(_Config(config), Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=math.inf)
    return f"{family}/{folder}{name}.yaml", text


def _leaf(family: str, name: str, config: Mapping[str, Any], template: str = "") -> File:
    included = {"include": f"../{template}"} if template else {}
    return _file(family, "leaves/", name, {**included, "task": name, **config})


def _group(family: str, name: str, members: Iterable[Any], version: str | float, **metrics: Any) -> File:
    """Return a group.

    Args:
        family: the family's name.
        name: the group's name.
        members: the names of its leaves or groups, or groups of its own.
        version: that of its leaves.
        metrics: ``aggregate_metric_list``; none if a figure over its members would be meaningless.
    """
    return _file(family, "", name, {"group": name, "task": [*members], **metrics, "metadata": {"version": version}})


def _means(
    family: str, filter_name: str, always: Iterable[str] = (), perhaps: Iterable[str] = ()
) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the metrics that the groups of a family aggregate.

    Every one costs time when the harness indexes; the report has the means of the other metrics.

    Args:
        family: the family's name.
        filter_name: that of the leaves.
        always: what every leaf has of what metrics need.
        perhaps: what leaves have in some runs. The harness warns of a missing metric if its filter is named.
    """
    schema = FAMILIES[family].schema
    certain = schema.reported([*always])
    weights = {"weight_by_size": False} if schema.tasks_weigh_alike else {}
    return {
        "aggregate_metric_list": [
            {"metric": metric.name, **({"filter_list": filter_name} if metric in certain else {}), **weights}
            for metric in schema.reported([*always, *perhaps])
            if metric.in_groups
        ]
    }


# verbalizer

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
"""Table 1: dataset -> the two golden label names, the affirmative one first."""
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
"""Table 1: naturalness -> verbalizer -> the words for the two golden labels; ``None`` for the golden names."""
MEANT = {frozenset(pair): pair for pair in (("1", "0"), ("yes", "no"))}
"""Pairs of words that have a meaning by themselves, the affirmative one first."""
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
"""Figures 7 and 8: the part of the prompt that shows the row."""
PROMPTING: Mapping[str, tuple[str, Literal["first", "final"], str]] = {
    "verbalizer": ("_direct", "first", "Answer:"),
    "verbalizer_cot": ("_cot", "final", "Answer: Let's think step by step."),
}
"""Prefix of the names -> the template, which label named in the answer counts, the end of the prompt."""


def verbalizer() -> Iterator[File]:
    """Yield nine datasets under twelve verbalizers, asked directly and with a chain of thought, and their groups."""

    def group(name: str, members: Iterable[str]) -> File:
        return _group("verbalizer", name, members, verbalizer_task.VERSION, **means)

    means = _means("verbalizer", "answer")
    kinds = {level: [f"{level}_{name}" for name in verbalizers] for level, verbalizers in VERBALIZERS.items()}
    all_kinds = list(chain.from_iterable(kinds.values()))
    for prefix in PROMPTING:
        for naturalness, of_level in kinds.items():
            for name, dataset in product(VERBALIZERS[naturalness], GOLDEN):
                yield verbalizer_leaf(prefix, dataset, naturalness, name)
            # Lists the leaves, not the groups of verbalizers, which would clutter every table.
            members = [leaf for kind in of_level for leaf in sorted(f"{prefix}_{dataset}_{kind}" for dataset in GOLDEN)]
            yield group(f"{prefix}_{naturalness}", members)
        for kind in all_kinds:
            yield group(f"{prefix}_{kind}", [f"{prefix}_{dataset}_{kind}" for dataset in GOLDEN])
        for dataset in GOLDEN:
            yield group(f"{prefix}_{dataset}", [f"{prefix}_{dataset}_{kind}" for kind in all_kinds])
        yield group(prefix, [f"{prefix}_{naturalness}" for naturalness in VERBALIZERS])


def verbalizer_leaf(prefix: str, dataset: str, naturalness: str, name: str) -> File:
    """Return the leaf of a verbalizer on a dataset."""
    template, *_ = PROMPTING[prefix]
    golden = GOLDEN[dataset]
    words = VERBALIZERS[naturalness][name] or (golden[::-1] if name == "flipped" else golden)
    meant = MEANT.get(frozenset(words))
    config = {
        "dataset_path": dataset,
        "naturalness": naturalness,
        "verbalizer": name,
        "doc_to_choice": dict(zip(golden, words, strict=True)),
        **({"prior": dict(zip(golden, meant, strict=True))} if meant else {}),
        "doc_to_text": verbalizer_prompt(prefix, dataset, (words[0], words[1])),
    }
    return _leaf("verbalizer", f"{prefix}_{dataset}_{naturalness}_{name}", config, template)


def verbalizer_prompt(prefix: str, dataset: str, words: tuple[str, str]) -> str:
    """Return the prompt of Figure 7 or 8 with the label words in place and the row as template fields."""
    _, counts, end = PROMPTING[prefix]
    published, *_ = instructions(dataset, counts, dict(zip(GOLDEN[dataset], words, strict=True)))
    return f"{published}\n\n{ROWS[dataset]}\n\n{end}"


# manyifeval and ifbench

MOST = 10
"""The maximum number of instructions in a row (section 3.1)."""


def manyifeval() -> Iterator[File]:
    """Yield the leaves with n instructions in every form, and a group over the leaves of each form."""
    up_to_ten = range(1, MOST + 1)
    forms: Mapping[str, tuple[str, str, Iterable[int], Mapping[str, Any]]] = {
        "manyifeval": ("_manyifeval", "02d", up_to_ten, {}),
        "manyifeval_repeat": ("_manyifeval", "02d", range(2, MOST + 1), {"repeat": True}),
        "manyifeval_wide": ("_wide", "02d", up_to_ten, {}),
        "manyifeval_cousins": ("_cousins", "02d", (1, 2, 3, 5, 10), {}),
        "manyifeval_dense": ("_dense", "03d", COUNTS, {}),
    }
    for form, (template, digits, counts, config) in forms.items():
        leaves = {f"{form}_n{count:{digits}}": count for count in counts}
        for name, count in leaves.items():
            yield _leaf("manyifeval", name, {"instructions": count, **config}, template)
        if form == "manyifeval_dense":
            # Of a report's two forms, a run has one.
            means = _means("manyifeval", "none", (DENSE,), (KEYWORDS, MIXED))
        else:
            means = _means("manyifeval", "none", (PROMPTS,))
        yield _group("manyifeval", form, leaves, _version("manyifeval", template), **means)
    yield _leaf("manyifeval", "manyifeval_single", {"instructions": 1, "single": True}, "_manyifeval")


def _version(family: str, template: str) -> float:
    """Return ``metadata.version`` of a family's template, which a group of its leaves has, too.

    A template may have that of the one it includes.
    """
    text = (HERE / family / template).read_text(encoding="utf-8")
    if version := re.search(r"version: ([\d.]+)", text):
        return float(version[1])
    if included := re.search(r"^include: (.*)$", text, re.MULTILINE):
        return _version(family, included[1])
    raise ValueError(f"{template}: no version; expected metadata: {{version: 1.0}}")


def ifbench() -> Iterator[File]:
    """Yield the prompts of IFBench and IFEval, on rows as published and repaired, and those of two turns."""
    one_turn = {"dataset_path": "allenai/IFBench_test", "turns": 1}
    two_turns = {"dataset_path": "allenai/IFBench_multi-turn", "dataset_name": "ifbench_constraints", "turns": 2}
    of_ifeval = {"dataset_path": "google/IFEval", "benchmark": "ifeval", "turns": 1}
    # Figures on other rows are no versions of one figure.
    version = f"{_version('ifbench', '_ifbench')}+rows{EDITION}"
    repaired = {"repaired": True, "metadata": {"version": version}}
    leaves: Mapping[str, Mapping[str, Any]] = {
        "ifbench": one_turn,
        "ifbench_repaired": {**one_turn, **repaired},
        "ifbench_two_turns": two_turns,
        "ifeval_published": of_ifeval,
        "ifeval_repaired": {**of_ifeval, **repaired},
    }
    for name, config in leaves.items():
        yield _leaf("ifbench", name, config, "_ifbench")


# conversation


def conversation() -> Iterator[File]:
    """Yield the conversations with the model's own answers."""
    yield _leaf("conversation", "manyifeval_turns", {}, "_conversation")
    yield _leaf("conversation", MULTI_IF, {"dataset_path": str(HUB), "benchmark": MULTI_IF}, "_conversation")


# hierarchy

COUNTS_OF_TURNS = (2, 4, 8, 12, MOST_TURNS)


def hierarchy() -> Iterator[File]:
    """Yield the arms with one request, and the system message alone with several; and a group over each."""
    version = _version("hierarchy", "_hierarchy")
    for arm in ARMS:
        yield _leaf("hierarchy", f"hierarchy_{arm}", {"arm": arm}, "_hierarchy")
    yield _group("hierarchy", "hierarchy", (f"hierarchy_{arm}" for arm in ARMS), version)
    histories = {"hierarchy_turns": False, "hierarchy_turns_slipped": True}
    leaves = {
        f"{name}_t{turns:02d}": {"arm": "system", "turns": turns, "slipped": slipped}
        for name, slipped in histories.items()
        for turns in COUNTS_OF_TURNS
    }
    for name, config in leaves.items():
        yield _leaf("hierarchy", name, config, "_hierarchy")
    yield _group("hierarchy", "hierarchy_turns", leaves, version)


# paired_mcq


def paired_mcq() -> Iterator[File]:
    """Yield four datasets at five levels of constraint, with log-likelihoods and for the text alone."""
    datasets = ("opinionqa", "arc_challenge", "commonsense_qa", "mmlu")
    levels = ("low", "medium", "high", "example", "example_abc")
    for prefix, dataset, level in product(("paired_mcq", "text_mcq"), datasets, levels):
        config: dict[str, Any] = {"dataset_path": dataset, "constraint": level}
        if prefix == "text_mcq":
            # Version 1.4 changed the first tokens alone.
            config |= {"paired": False, "metadata": {"version": 1.5}}
        name = f"{prefix}_{dataset}_{level}"
        yield _leaf("paired_mcq", name, {"tag": [f"{prefix}_{dataset}"], **config}, "_paired_mcq")
        if f"{dataset}_{level}" == MULTIPLE_CHOICE:
            # Not in the tag, whose tasks ask all questions already.
            yield _leaf("paired_mcq", f"{name}_{QUESTIONS}", {**config, "rows": QUESTIONS}, "_paired_mcq")


# natural_instructions

NATURAL = "natural_instructions"
NATURAL_CLASS = _Class("lm_eval_ext.families.natural_instructions.task.NaturalInstructionsTask")
ABLATED = (
    "subtask019_mctaco_temporal_reasoning_category",
    "subtask033_winogrande_answer_generation",
    "subtask040_qasc_question_generation",
)
"""The subtasks of the ablation study (section 6.3)."""
PUBLISHED = (
    *(encoding for encoding in ENCODINGS if encoding != "instance"),
    "all_minus_negative",
    "all_minus_examples",
    "prompt_avoid",
    "prompt_emphasis",
    "prompt_positive",
    "prompt_examples",
    "prompt_definition_positive",
)
"""The encodings under which GPT-3's outputs to the evaluation split were published."""


def natural_instructions() -> Iterator[File]:
    """Yield 61 subtasks under five encodings, some under more, and groups by encoding, category and source dataset."""
    for name in SUBTASKS:
        further = ABLATIONS if name in ABLATED else PUBLISHED if name in EVALUATION else ()
        for encoding in dict.fromkeys([*ENCODINGS, *further]):
            config = {"dataset_name": name, "encoding": encoding, "class": NATURAL_CLASS}
            yield _leaf(NATURAL, _encoded(name, encoding), config)
    for encoding in ENCODINGS:
        members = [_encoded(name, encoding) for name in EVALUATION]
        yield _group(NATURAL, f"{NATURAL}_{encoding}", members, natural_instructions_task.VERSION, **_NATURAL_MEANS)
    by_encoding = [f"{NATURAL}_{encoding}" for encoding in ENCODINGS]
    yield _group(NATURAL, NATURAL, by_encoding, natural_instructions_task.VERSION)
    for category in CATEGORIES:
        members = [name for name, subtask in SUBTASKS.items() if subtask.category == category]
        yield _by_encoding(f"{NATURAL}_{category}", members, ENCODINGS)
    for dataset in dict.fromkeys(subtask.source_dataset for subtask in SUBTASKS.values()):
        members = [name for name, subtask in SUBTASKS.items() if subtask.source_dataset == dataset]
        yield _by_encoding(f"{NATURAL}_{dataset}", members, ENCODINGS)
    yield _by_encoding(f"{NATURAL}_ablation", ABLATED, [*ENCODINGS, *ABLATIONS])
    yield _by_encoding(f"{NATURAL}_published", EVALUATION, PUBLISHED)


_NATURAL_MEANS = _means(NATURAL, "none", perhaps=(BLEURT,))
"""The figure of a group is the unweighted mean of its leaves."""


def _encoded(subtask: str, encoding: str) -> str:
    return f"{NATURAL}_{subtask}_{encoding}"


def _by_encoding(name: str, subtasks: Sequence[str], encodings: Iterable[str]) -> File:
    """Return a group of groups, one per encoding, which the harness shows as ``name::encoding``."""
    version = natural_instructions_task.VERSION
    groups = [
        {
            "group": encoding,
            "task": [_encoded(subtask, encoding) for subtask in subtasks],
            **_NATURAL_MEANS,
            "metadata": {"version": version},
        }
        for encoding in encodings
    ]
    return _group(NATURAL, name, groups, version)


# release_check


def release_check() -> Iterator[File]:
    """Yield the sets to run before a release, and their own groups."""
    groups: Mapping[str, tuple[float, Mapping[str, Any]]] = {
        "manyifeval": (_version("manyifeval", "_manyifeval"), _means("manyifeval", "none", (PROMPTS,))),
        # All of its arms have a rival, so that their mean says whom the model obeys.
        "hierarchy": (
            _version("hierarchy", "_hierarchy"),
            {"aggregate_metric_list": [{"metric": OBEYS.name, "filter_list": "none"}]},
        ),
        NATURAL: (natural_instructions_task.VERSION, _NATURAL_MEANS),
    }
    for family, (version, means) in groups.items():
        yield _group(RELEASE_CHECK, group_of(family), TASKS[family], version, **means)
    for name, headlines in SETS.items():
        yield _group(RELEASE_CHECK, name, headlines, 1.0)


def main() -> None:
    """Rewrite all files."""
    for old in HERE.rglob("*.yaml"):
        old.unlink()
    for file, text in files():
        path = HERE / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
