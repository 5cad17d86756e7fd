"""The runs of verbalizer tasks, and what their figures have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval_ext.families.verbalizer.schema import KINDS, SCHEMA
from lm_eval_ext.reports.study import Entry, Study
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.runs import TaskRun

FAMILY = "verbalizer"
DIRECT, THOUGHT = (value.replace("_", " ") for value in SCHEMA.values["prompting"])
GOLDEN, FLIPPED = "golden", "flipped"
"""Two verbalizers with the same words: each label's own, and the other label's."""
METRICS = {"accuracy": "acc", "prior rate": "prior_rate", "invalid rate": "invalid_rate"}
ACCURACY = {"accuracy": "acc"}
HEADS = {"model": "", "prompting": "", "naturalness": "label words"}
TOGETHER = "overall"


def facts(run: TaskRun) -> Mapping[str, Any]:
    """Return what a task tests; nothing for a user-defined task, which names no verbalizer."""
    naturalness, words = run.metadata["naturalness"], run.metadata["verbalizer"]
    if naturalness is None or words is None:
        return {}
    return {
        "prompting": prompting(run),
        "dataset": run.metadata["dataset"],
        "naturalness": naturalness,
        "words": words.replace("_", "/"),
    }


def prompting(run: TaskRun) -> str:
    """Return how a task prompts, for display."""
    return str(run.metadata["prompting"]).replace("_", " ")


def guessing(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the reference line of random guessing; none if it is not the same in all tasks."""
    guesses = {entry.run.schema.guess(entry.run.metadata) for entry in entries}
    return {
        "reference": guesses.pop() if len(guesses) == 1 else None,
        "reference_name": "random guessing",
    }


def fewer_words(entries: Iterable[Entry]) -> dict[tuple[str, str], str]:
    """Return, by prompting and naturalness, the only label words that are there, if another prompting has others, too.

    Levels that stand side by side are otherwise taken for means over the same label words.
    """
    words: dict[tuple[str, str], dict[str, None]] = {}
    all_words: dict[str, set[str]] = {}
    for entry in entries:
        words.setdefault((entry["prompting"], entry["naturalness"]), {})[entry["words"]] = None
        all_words.setdefault(entry["naturalness"], set()).add(entry["words"])
    return {
        (prompt, naturalness): f"{', '.join(names)} only"
        for (prompt, naturalness), names in words.items()
        if names.keys() < all_words[naturalness]
    }


def with_words(study: Study, entries: Iterable[Entry]) -> tuple[Study, list[Entry]]:
    """Return runs whose prompting says which levels have only some of the label words, and a study in that order."""
    listed, titles = list(entries), {}
    partly = fewer_words(listed)
    for prompt in (DIRECT, THOUGHT):
        levels = study.in_order("naturalness", (level for level_prompt, level in partly if level_prompt == prompt))
        words = "; ".join(f"{level}: {partly[prompt, level]}" for level in levels)
        titles[prompt] = f"{prompt} ({words})" if words else prompt
    renamed = [entry.with_facts(prompting=titles[entry["prompting"]]) for entry in listed]
    return study.ordered(prompting=titles.values()), renamed


def kinds_of(datasets: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of tasks that some datasets belong to, each with these of its datasets."""
    by_kind = {kind: tuple(name for name in members if name in datasets) for kind, members in KINDS.items()}
    return {kind: members for kind, members in by_kind.items() if members}


def scopes_of(datasets: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return what means are over: all datasets, those of each kind if it is a part with several, and each by itself."""
    kinds = {kind: members for kind, members in kinds_of(datasets).items() if 1 < len(members) < len(datasets)}
    return {TOGETHER: datasets, **kinds, **{name: (name,) for name in datasets}}


def in_scopes(entries: Sequence[Entry], datasets: tuple[str, ...]) -> Iterator[Entry]:
    """Yield each entry for every scope that its dataset is in; a scope is known if all its datasets are."""
    for scope, members in scopes_of(datasets).items():
        for entry in entries:
            if entry["dataset"] in members:
                yield replace(entry.with_facts(scope=scope), question=entry["dataset"])


def incomplete(study: Study) -> tuple[Issue, ...]:
    """Return which models were not run on all tasks that others were run on."""
    return tuple(
        issue
        for prompt in (DIRECT, THOUGHT)
        for issue in study.incomplete([entry for entry in study.entries if entry["prompting"] == prompt], f"{prompt} ")
    )
