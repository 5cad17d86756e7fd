"""What the harness's result files say of our tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lm_eval_ext.families.natural_instructions.gains import Score
from lm_eval_ext.sources import RowsError

METRIC = "rouge_l,none"
_NAMES_OF_MODELS = ("peft", "delta", "pretrained", "model", "path", "engine")
"""The keys of ``--model_args`` that the harness takes a model's name from; without one it makes up a random name."""


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
        rows: what identifies the evaluated rows: source, hash of the instances and their number.
        model: which was run.
        file: that it stands in.
        date: of the run, in seconds since 1970.
    """

    name: str
    score: Score
    rows: tuple[str, str, int]
    model: str
    file: Path
    date: float


def read_runs(paths: Sequence[Path]) -> Runs:
    """Return the runs of our tasks that ``lm_eval --output_path`` wrote.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are read.

    Raises:
        RowsError: a file is not readable or not a result file, none is of our tasks, several models were run, or the
            encodings of a subtask were run on different rows.
    """
    leaves, notes = [], []
    for file in _files(paths):
        found = _leaves(file)
        leaves += found
        if not found:
            notes.append(f"{file}: no results of Natural Instructions tasks; not used")
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
    _require_the_same_rows(newest)
    return Runs(newest[0].model, tuple(leaf.score for leaf in newest), tuple(notes))


def _files(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("results_*.json")) if path.is_dir() else [path]
        if not inside:
            raise RowsError(f"{path}: no results_*.json in this folder; expected what `lm_eval --output_path` writes")
        # A file that is named and stands in a named folder as well is one.
        found |= {file.resolve(): file for file in inside if file.resolve() not in found}
    return list(found.values())


def _leaves(file: Path) -> list[_Leaf]:
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{file}: not JSON ({error}); expected a results_*.json of the harness") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("results", "configs")):
        raise RowsError(f"{file}: no 'results' and 'configs'; expected a results_*.json of the harness")
    date = content.get("date")
    when = float(date) if isinstance(date, int | float) else file.stat().st_mtime
    return [
        _leaf(name, content, metadata, file, when)
        for name, config in content["configs"].items()
        if isinstance(config, dict)
        and isinstance(metadata := config.get("metadata"), dict)
        and {"subtask", "encoding"} <= metadata.keys()
    ]


def _leaf(name: str, content: Mapping[str, Any], metadata: Mapping[str, Any], file: Path, when: float) -> _Leaf:
    try:
        score = Score(
            str(metadata["subtask"]),
            metadata["category"],
            str(metadata["encoding"]),
            float(content["results"][name][METRIC]),
            int(content["n-samples"][name]["effective"]),
        )
        rows = (str(metadata["source"]), str(metadata["instances_hash"]), score.n)
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(
            f"{file}, task {name!r}: {error!r}; expected {METRIC} in results, the number of rows in n-samples, and "
            "category, source and instances_hash in the metadata, as our tasks write them"
        ) from error
    return _Leaf(name, score, rows, _model(content), file, when)


def _model(content: Mapping[str, Any]) -> str:
    config = content.get("config")
    arguments = config.get("model_args") if isinstance(config, dict) else None
    shown = (
        ",".join(f"{key}={value}" for key, value in sorted(arguments.items()))
        if isinstance(arguments, dict)
        else str(arguments or "")
    )
    source = content.get("model_source")
    if any(part.split("=")[0] in _NAMES_OF_MODELS for part in shown.split(",")):
        return f"{source} {content.get('model_name')}"
    return f"{source} {shown}".strip()


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


def _require_the_same_rows(leaves: Sequence[_Leaf]) -> None:
    seen: dict[str, _Leaf] = {}
    for leaf in leaves:
        other = seen.setdefault(leaf.score.subtask, leaf)
        if other.rows != leaf.rows:
            raise RowsError(
                f"{leaf.score.subtask}: its encodings were run on different rows, {_rows(other)} and {_rows(leaf)}; "
                "expected one source, the same instances and as many of them"
            )


def _rows(leaf: _Leaf) -> str:
    source, instances, n = leaf.rows
    return f"{leaf.score.encoding!r} on {n} of source {source!r}, instances {instances} ({leaf.file})"
