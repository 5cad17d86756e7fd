"""Result files of made-up verbalizer runs, whose tasks record their facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.reports import files
from tests.reports.files import CONFIG, SST2, edited

SNLI = "verbalizer_snli_unnatural_flipped"
GOLDEN = "verbalizer_sst2_natural_golden"
NO_YES = "verbalizer_sst2_unnatural_no_yes"
FOO_BAR = "verbalizer_sst2_neutral_foo_bar"
THOUGHT_OUT = "verbalizer_cot_sst2_unnatural_flipped"
OWN = "verbalizer_topic_rotated"
"""A user's own, which names no verbalizer."""
Facts = Mapping[str, Any]
Scores = Mapping[str, Sequence[float]]
"""By task, ``acc`` of each row."""


def facts(dataset: str, naturalness: str | None, verbalizer: str | None, prompting: str = "direct") -> Facts:
    """Return what a task records of itself."""
    return {"dataset": dataset, "naturalness": naturalness, "verbalizer": verbalizer, "prompting": prompting}


RECORDED: Mapping[str, Facts] = {
    SST2: facts("sst2", "unnatural", "flipped"),
    SNLI: facts("snli", "unnatural", "flipped"),
    GOLDEN: facts("sst2", "natural", "golden"),
    NO_YES: facts("sst2", "unnatural", "no_yes"),
    FOO_BAR: facts("sst2", "neutral", "foo_bar"),
    THOUGHT_OUT: facts("sst2", "unnatural", "flipped", "chain_of_thought"),
    OWN: facts("topic", None, None),
}


def write_run(
    folder: Path,
    scores: Scores,
    *,
    recorded: Mapping[str, Facts] = RECORDED,
    metadata: Facts | None = None,
    **options: Any,
) -> Path:
    """Write the files of a run; return that of the results.

    Args:
        folder: made if it is not there.
        scores: by task, ``acc`` of each row.
        recorded: by task, what it is.
        metadata: of every task, over that.
        options: of ``files.write_run``.
    """
    path = files.write_run(folder, scores, **options)
    with edited(path) as content:
        for task in scores:
            content["configs"][task]["metadata"] = {**CONFIG["metadata"], **recorded[task], **(metadata or {})}
    return path
