"""Parses and checks a verbalizer leaf's YAML, and puts its prompt into several wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import jinja2
import jinja2.meta

from lm_eval_ext.families.leaf import (
    ALL,
    DATASET_KEYS,
    own_dataset,
    refuse_keys,
    refuse_rows,
    rows_of_leaf,
)
from lm_eval_ext.families.verbalizer.answer import ANSWER_FILTER
from lm_eval_ext.families.verbalizer.datasets import DATASETS, Classification, is_known
from lm_eval_ext.families.verbalizer.prompt import QUESTIONS, Reads, instructions
from lm_eval_ext.families.verbalizer.rows import EVALUATION_ROWS
from lm_eval_ext.families.verbalizer.schema import SCHEMA
from lm_eval_ext.families.verbalizer.verbalizer import Verbalizer, verbalizer_of_leaf
from lm_eval_ext.harness.versions import template_environment
from lm_eval_ext.metadata import PARAPHRASES


@dataclass(frozen=True)
class Leaf:
    """A parsed leaf.

    Attributes:
        dataset: which rows are evaluated.
        rows: how many of them; ``None`` for all.
        chose_rows: whether the user set the number; else it is the paper's.
        columns: the columns that the prompt shows.
        verbalizer: the label words.
        verbalizer_name, naturalness: their names in the results; ``None`` if the leaf does not set them.
        reads: which label of an answer counts.
        prompt: the template of the prompt.
    """

    dataset: Classification
    rows: int | None
    chose_rows: bool
    columns: tuple[str, ...]
    verbalizer: Verbalizer
    verbalizer_name: str | None
    naturalness: str | None
    reads: Reads
    prompt: str


def leaf_of(config: dict[str, Any]) -> Leaf:
    """Parse a leaf, and remove this package's own keys from its config.

    Raises:
        ValueError: a key is missing or invalid; the message names leaf and key.
    """
    name = config["task"]
    verbalizer = verbalizer_of_leaf(name, config.get("doc_to_choice"), config.pop("prior", None))
    names = {key: _name(name, key, config.pop(key, None)) for key in ("verbalizer", "naturalness")}
    reads = _reads(name, config.get("filter_list") or [])
    dataset = _dataset(config)
    rows = rows_of_leaf(config)
    columns = _columns(name, config)
    return Leaf(
        dataset,
        None if rows == ALL else rows or EVALUATION_ROWS,
        rows is not None,
        columns,
        verbalizer,
        names["verbalizer"],
        names["naturalness"],
        reads,
        config["doc_to_text"],
    )


def filter_list(
    pipelines: Sequence[Mapping[str, Any]], leaf: Leaf, paraphrases: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the filter pipelines of the YAML, with the arguments that our filter takes from the leaf.

    Args:
        pipelines: those of the YAML.
        leaf: the leaf.
        paraphrases: its prompt in other wordings, if every row is asked in several.
    """
    given = {
        "labels": list(leaf.verbalizer.words),
        "prior": list(leaf.verbalizer.prior),
        "prompt": leaf.prompt,
        **({"paraphrases": list(paraphrases)} if paraphrases else {}),
    }
    return [
        {**pipeline, "filter": [step | given if step["function"] == ANSWER_FILTER else step for step in steps]}
        for pipeline in pipelines
        for steps in [pipeline["filter"]]
    ]


def _name(task: str, key: str, value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"task {task!r}: {key} {value!r}; expected a name, or leave it out")
    # A user-defined verbalizer may have any name; its naturalness has one of three values.
    if key == "naturalness" and value is not None and value not in SCHEMA.values[key]:
        raise ValueError(f"task {task!r}: {key} {value!r}; expected one of {', '.join(SCHEMA.values[key])}")
    return value


def _reads(task: str, pipelines: Sequence[Mapping[str, Any]]) -> Reads:
    steps = [step for pipeline in pipelines for step in pipeline["filter"] if step["function"] == ANSWER_FILTER]
    if not steps:
        raise ValueError(
            f"task {task!r}: no {ANSWER_FILTER} in its filter_list, so nothing would read its answers; "
            "include one of the templates verbalizer/_direct and verbalizer/_cot"
        )
    reads: Reads = steps[0].get("reads", "first")
    if reads not in get_args(Reads):
        raise ValueError(
            f"task {task!r}: {ANSWER_FILTER} has reads {reads!r}; expected one of {', '.join(get_args(Reads))}"
        )
    return reads


def _dataset(config: dict[str, Any]) -> Classification:
    known = DATASETS.get(str(config.get("dataset_path")))
    if known is not None:
        refuse_keys(config, DATASET_KEYS, "is one of the nine built-in datasets, whose location and splits are fixed")
        refuse_rows(
            config,
            f"the paper evaluates {EVALUATION_ROWS} rows of each of its nine datasets; remove rows (--limit evaluates "
            "fewer), or set rows for a dataset of your own",
        )
        return known
    own = own_dataset(config, DATASETS)
    label_column = config.get("doc_to_target") or "label"
    return Classification(own.name, own.hub, own.split, config.get("training_split"), label_column)


def _columns(task: str, config: dict[str, Any]) -> tuple[str, ...]:
    prompt = config.get("doc_to_text")
    try:
        parsed = template_environment().parse(prompt) if isinstance(prompt, str) else None
        columns = sorted(jinja2.meta.find_undeclared_variables(parsed)) if parsed else []
    except jinja2.TemplateError as error:
        raise ValueError(f"task {task!r}: doc_to_text is not a valid template ({error}): {prompt!r}") from error
    if not columns:
        raise ValueError(
            f"task {task!r}: doc_to_text must be a prompt that shows the row, as in 'Review: {{{{text}}}}'; "
            f"found {prompt!r}"
        )
    return tuple(columns)


def paraphrased(task: str, leaf: Leaf, count: int) -> tuple[str, ...]:
    """Return the template of a leaf's prompt in several wordings, its own first.

    Args:
        task: the leaf's name, for messages.
        leaf: the leaf.
        count: the number of wordings, up to ``WORDINGS``.

    Raises:
        ValueError: the prompt is not that of Figure 7 or 8, so that what the other wordings say is not what it says.
    """
    asked_for = f"task {task!r}: metadata {PARAPHRASES} {count}"
    words = dict(zip(leaf.verbalizer.golden, leaf.verbalizer.words, strict=True))
    if not is_known(leaf.dataset) or words.keys() != QUESTIONS[leaf.dataset.name].conditions.keys():
        raise ValueError(
            f"{asked_for}; there are other wordings only for the paper's nine datasets with their two labels each, and "
            f"this task is about {', '.join(words)} on {leaf.dataset.name}; run it without {PARAPHRASES}"
        )
    published, *others = instructions(leaf.dataset.name, leaf.reads, words)
    if not leaf.prompt.startswith(f"{published}\n"):
        raise ValueError(
            f"{asked_for}; there are other wordings only for the paper's instruction, and the doc_to_text of this task "
            f"does not begin with it: {published!r}; run it without {PARAPHRASES}, or with that instruction"
        )
    rest = leaf.prompt.removeprefix(published)
    return tuple(instruction + rest for instruction in (published, *others)[:count])
