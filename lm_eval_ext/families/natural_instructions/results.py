"""What the harness's result files say of our tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lm_eval_ext.families.natural_instructions.gains import Score
from lm_eval_ext.result_files import ResultFile, find, name_of_model, read
from lm_eval_ext.sources import RowsError

METRIC = "rouge_l,none"


@dataclass(frozen=True)
class Runs:
    """What the harness's result files say of our tasks.

    Attributes:
        model: which one was run.
        scores: one for each subtask and encoding.
        notes: what the reader should know: files without our tasks, runs that a newer one replaced.
    """

    model: str
    scores: tuple[Score, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Leaf:
    """One task in one file.

    Attributes:
        name: the task's.
        score: what it says.
        setting: what must be the same under every encoding of a subtask, by name.
        model: which was run.
        file: that it stands in.
        date: of the run, in seconds since 1970.
    """

    name: str
    score: Score
    setting: Mapping[str, object]
    model: str
    file: Path
    date: float


def read_runs(paths: Sequence[Path]) -> Runs:
    """Return the runs of our tasks that ``lm_eval --output_path`` wrote.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are read.

    Raises:
        RowsError: a file is not readable or not a result file, none is of our tasks, several models were run, or the
            encodings of a subtask on different rows or in different settings.
    """
    leaves, notes = [], []
    for path in find(paths):
        found = _leaves(read(path))
        leaves += found
        if not found:
            notes.append(f"{path}: no results of Natural Instructions tasks; not used")
    if not leaves:
        raise RowsError(
            f"no results of Natural Instructions tasks in {', '.join(map(str, paths))}; expected what `lm_eval "
            "--tasks natural_instructions_… --output_path FOLDER` writes: results_*.json"
        )
    _require_one_model(leaves)
    newest = []
    for name, group in groupby(
        sorted(leaves, key=lambda leaf: (leaf.name, leaf.date, leaf.file)), lambda leaf: leaf.name
    ):
        *older, last = group
        newest.append(last)
        notes += [f"{name}: {last.file} is newer than {leaf.file}, which is not used" for leaf in older]
    _require_one_task_each(newest)
    _require_the_same_setting(newest)
    return Runs(newest[0].model, tuple(leaf.score for leaf in newest), tuple(notes))


def _leaves(file: ResultFile) -> list[_Leaf]:
    return [
        _leaf(name, metadata, file) for name, metadata in file.tasks() if {"subtask", "encoding"} <= metadata.keys()
    ]


def _leaf(name: str, metadata: Mapping[str, Any], file: ResultFile) -> _Leaf:
    content = file.content
    try:
        score = Score(
            str(metadata["subtask"]),
            metadata["category"],
            str(metadata["encoding"]),
            float(content["results"][name][METRIC]),
            int(content["n-samples"][name]["effective"]),
        )
        setting = {
            "source": metadata["source"],
            "instances_hash": metadata["instances_hash"],
            "number of rows": score.n,
            "version": metadata.get("version"),
            "prompt_budget": metadata.get("prompt_budget"),
            "examples": metadata.get("examples"),
            "generation_kwargs": content["configs"][name].get("generation_kwargs"),
            "chat_template_sha": content.get("chat_template_sha"),
            "system_instruction_sha": content.get("system_instruction_sha"),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(
            f"{file.path}, task {name!r}: {error!r}; expected {METRIC} in results, the number of rows in n-samples, "
            "and category, source and instances_hash in the metadata, as our tasks write them"
        ) from error
    model = name_of_model(content.get("model_source"), file.config.get("model_args"))
    return _Leaf(name, score, setting, model, file.path, file.date)


def _require_one_model(leaves: Sequence[_Leaf]) -> None:
    first = {leaf.model: leaf.file for leaf in reversed(leaves)}
    if len(first) > 1:
        named = "; ".join(f"{model} ({file})" for model, file in sorted(first.items()))
        raise RowsError(f"results of several models: {named}. Expected one; name the files or the folder of one model")


def _require_one_task_each(leaves: Sequence[_Leaf]) -> None:
    seen: dict[tuple[str, str], _Leaf] = {}
    for leaf in leaves:
        other = seen.setdefault((leaf.score.subtask, leaf.score.encoding), leaf)
        if other is not leaf:
            raise RowsError(
                f"{leaf.score.subtask}, encoding {leaf.score.encoding!r}: two tasks, {other.name} ({other.file}) and "
                f"{leaf.name} ({leaf.file}); expected one"
            )


def _require_the_same_setting(leaves: Sequence[_Leaf]) -> None:
    seen: dict[str, _Leaf] = {}
    for leaf in leaves:
        other = seen.setdefault(leaf.score.subtask, leaf)
        for name, value in leaf.setting.items():
            if other.setting[name] != value:
                raise RowsError(
                    f"{leaf.score.subtask}: its encodings were not run alike, and a gain would say nothing: {name} is "
                    f"{other.setting[name]!r} for {other.score.encoding!r} ({other.file}) and {value!r} for "
                    f"{leaf.score.encoding!r} ({leaf.file}). Run them anew in one setting, or name the files of one"
                )
