"""The files with results that the harness writes: ``lm_eval --output_path FOLDER``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.sources import RowsError

LATEST = 1e11
"""A date that no clock has: what is beyond it, or is no number, was not written by the harness."""


@dataclass(frozen=True)
class ResultFile:
    """One of them.

    Attributes:
        path: the file.
        content: what it holds; ``results`` and ``configs`` are mappings.
        date: of the run, in seconds since 1970; of the file, if it does not say.
    """

    path: Path
    content: Mapping[str, Any]
    date: float

    @property
    def config(self) -> Mapping[str, Any]:
        """How the harness was called; empty if the file does not say."""
        config = self.content.get("config")
        return config if isinstance(config, dict) else {}

    def tasks(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the names of the tasks and their metadata; a task without any is left out."""
        for name, config in self.content["configs"].items():
            if isinstance(config, dict) and isinstance(metadata := config.get("metadata"), dict):
                yield name, metadata


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the files of results, each once.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are found.

    Raises:
        RowsError: a folder has none.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("results_*.json")) if path.is_dir() else [path]
        if not inside:
            raise RowsError(f"{path}: no results_*.json in this folder; expected what `lm_eval --output_path` writes")
        # A file that is named and stands in a named folder as well is one.
        found |= {file.resolve(): file for file in inside if file.resolve() not in found}
    return list(found.values())


def read(path: Path) -> ResultFile:
    """Return what a file of results holds.

    Raises:
        OSError: it cannot be opened.
        RowsError: it is not a file of results.
    """
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path}: not JSON ({error}); expected a results_*.json of the harness") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("results", "configs")):
        raise RowsError(f"{path}: no 'results' and 'configs'; expected a results_*.json of the harness")
    date = content.get("date")
    when = float(date) if isinstance(date, int | float) and 0 <= date < LATEST else path.stat().st_mtime
    return ResultFile(path, content, when)


def name_of_model(model: object, arguments: object) -> str:
    """Return a model's name with all its arguments, because a revision is another model.

    The harness's own name of a model says less, and it makes one up for a model without any.

    Args:
        model: the kind, for example ``hf``.
        arguments: a mapping, whose order does not matter, or text.
    """
    if isinstance(arguments, dict):
        arguments = ",".join(f"{key}={value}" for key, value in sorted(arguments.items()))
    return f"{model} {arguments or ''}".strip()
