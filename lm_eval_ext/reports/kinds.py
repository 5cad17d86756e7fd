"""What the samples of each family hold, and which of its figures stands for it.

A task is recognised by what it reports, not by its name: a user's own tasks are of a family, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

READERS = ("classifier", "llm", "rules", "string_match")
"""Of answers in free text, the one that reads best first; a reader of a user's own comes after them."""


@dataclass(frozen=True)
class Headline:
    """The figure that stands for a task.

    Attributes:
        metric: its name in results and samples.
        higher_is_better: which way is better.
    """

    metric: str
    higher_is_better: bool


@dataclass(frozen=True)
class Kind:
    """A family, as its result files show it.

    Attributes:
        name: of the family.
        marks: metrics that a task of the family has, all of them.
        headlines: the first that a task has is its own.
        cluster: from a line of the samples what tells the row of the data set, whichever task it is asked in.
        stratum: from a task's name and configuration the data set that its rows are of.
        numbers: metrics that are a number for each row.
        pairs: metrics that are ``[followed, asked]`` for each row.
        letters: metrics that are two letters for each row.
        outcomes: metrics that are a question and what was chosen, for each row.
        tasks_weigh_alike: whether a group's figure is the mean of its tasks', not of all rows.
    """

    name: str
    marks: frozenset[str]
    headlines: tuple[Headline, ...]
    cluster: Callable[[Mapping[str, Any]], Hashable]
    stratum: Callable[[str, Mapping[str, Any]], str]
    numbers: re.Pattern[str]
    pairs: re.Pattern[str] = re.compile("(?!)")
    letters: re.Pattern[str] = re.compile("(?!)")
    outcomes: re.Pattern[str] = re.compile("(?!)")
    tasks_weigh_alike: bool = False

    def headline(self, metrics: Collection[str]) -> Headline:
        """Return the figure that stands for a task with these metrics."""
        return next(headline for headline in self.headlines if headline.metric in metrics)


def _of_doc(field: str) -> Callable[[Mapping[str, Any]], Hashable]:
    def cluster(line: Mapping[str, Any]) -> Hashable:
        found = line["doc"][field]
        if not isinstance(found, str | int):
            raise TypeError(f"doc.{field} is {found!r}; expected text or a whole number")
        return found

    return cluster


def _doc_id(line: Mapping[str, Any]) -> Hashable:
    return int(line["doc_id"])


def _data_set(_task: str, config: Mapping[str, Any]) -> str:
    # On the hub several data sets can lie at one path: those of GLUE do.
    return f"{config.get('dataset_path')} {config.get('dataset_name') or ''}".rstrip()


def _subtask(_task: str, config: Mapping[str, Any]) -> str:
    return str(config["metadata"].get("subtask"))


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="verbalizer",
            marks=frozenset({"acc", "prior_rate", "invalid_rate"}),
            headlines=(Headline("acc", True),),
            cluster=_doc_id,
            stratum=_data_set,
            numbers=re.compile("acc|prior_rate|invalid_rate"),
        ),
        Kind(
            name="manyifeval",
            marks=frozenset({"prompt_level_strict_acc", "inst_level_strict_acc", "curse_residual"}),
            headlines=(Headline("prompt_level_strict_acc", True),),
            cluster=_of_doc("key"),
            stratum=lambda _task, _config: "manyifeval",
            numbers=re.compile(r"(prompt|inst)_level_(strict|loose|repaired)_acc(_round_\d+)?|base_requests"),
            pairs=re.compile("strict_acc_.*"),
        ),
        Kind(
            name="paired_mcq",
            marks=frozenset({"refusal", "no_answer", "consistency_text"}),
            # Without first tokens there is no mismatch; whether it answers at all is then what every data set has.
            headlines=(Headline("mismatch", False), Headline("text_acc", True), Headline("refusal", False)),
            cluster=_of_doc("key"),
            stratum=_data_set,
            numbers=re.compile(
                "mismatch|mismatch_refusal|refusal|refusal_first_token|no_answer|several|first_token_acc|text_acc"
            ),
            letters=re.compile("position_bias"),
            outcomes=re.compile("consistency_.*"),
        ),
        Kind(
            name="natural_instructions",
            marks=frozenset({"rouge_l"}),
            headlines=(Headline("rouge_l", True),),
            cluster=_of_doc("index"),
            stratum=_subtask,
            numbers=re.compile("rouge_l|bleurt|examples"),
            tasks_weigh_alike=True,
        ),
    )
}
"""The families, in the order of the report."""


def recognise(figures: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...]] | None:
    """Return the family of a task and the readers of its answers, the best first; ``None`` if it is of none.

    Args:
        figures: its results: ``{"metric,filter": value}``.
        config: its configuration.
    """
    metadata = config.get("metadata")
    if not isinstance(metadata, dict) or "rows_hash" not in metadata:
        return None
    by_reader: dict[str, set[str]] = {}
    for field in figures:
        metric, comma, reader = field.partition(",")
        if comma:
            by_reader.setdefault(reader, set()).add(metric)
    for kind in KINDS.values():
        readers = [reader for reader, metrics in by_reader.items() if kind.marks <= metrics]
        if readers:
            known = [reader for reader in READERS if reader in readers]
            return kind, (*known, *sorted(set(readers) - set(known)))
    return None
