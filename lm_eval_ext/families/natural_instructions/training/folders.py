"""The folder of a model in training, which a later run continues, and of the trained one."""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.recipe import Recipe

RECORD = "training.json"
"""How a model was trained, in its folder: the recipe and the losses."""
STATE = "trainer_state.json"
"""The file that is written last into a checkpoint."""


def is_trained(output: Path, recipe: Recipe) -> bool:
    """Tell whether a folder has the model of a recipe.

    Raises:
        TrainingError: it has the model of another recipe.
        FileExistsError: it is something else than a model of ours or an empty folder.
    """
    record = output / RECORD
    if record.is_file():
        _require_same(_read(record).get("recipe"), recipe, f"{output} has a model that was trained", "another --output")
        return True
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(errno.EEXIST, "--output exists and is not an empty folder", str(output))
    return False


def unfinished(output: Path) -> Path:
    """Return the folder, next to the requested one, of a training that has not ended."""
    return output.with_name(f"{output.name}.unfinished")


def remove_unfinished(output: Path) -> None:
    """Remove the folder of a training that will not be continued."""
    shutil.rmtree(unfinished(output), ignore_errors=True)


def begin(output: Path, recipe: Recipe) -> Path:
    """Return the folder of a training that begins or continues.

    Raises:
        TrainingError: the folder has an unfinished training with another recipe.
    """
    folder = unfinished(output)
    folder.mkdir(parents=True, exist_ok=True)
    begun = folder / RECORD
    if begun.is_file():
        _require_same(
            _read(begun),
            recipe,
            f"{folder} has an unfinished training, begun",
            f"the same arguments to continue it, another --output, or delete {folder}",
        )
    else:
        _write(begun, recipe.as_json())
    return folder


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last complete checkpoint in a folder: a killed run may leave an incomplete one."""
    found = {
        int(match[1]): path
        for path in folder.iterdir()
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name)) and _is_json(path / STATE)
    }
    return found[max(found)] if found else None


def finish(folder: Path, model: Path, output: Path, record: Mapping[str, Any]) -> None:
    """Put the trained model in its place, with its record, and remove the folder of its training."""
    _write(model / RECORD, record)
    if output.is_dir():
        output.rmdir()
    model.rename(output)
    shutil.rmtree(folder)


def _require_same(recorded: object, recipe: Recipe, what: str, remedy: str) -> None:
    wanted = recipe.as_json()
    found = recorded if isinstance(recorded, dict) else {}
    different = [name for name in wanted if found.get(name) != wanted[name]]
    if different:
        values = "; ".join(f"{name} {found.get(name)!r:.80}, not {wanted[name]!r:.80}" for name in different)
        raise TrainingError(f"{what} with other arguments: {values}. Give {remedy}")


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainingError(f"{path}: not JSON ({error}); delete its folder to train again") from error
    return content if isinstance(content, dict) else {}


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _write(path: Path, content: Mapping[str, Any]) -> None:
    # Renamed at the end, so that a kill leaves no half of a file.
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    beside.replace(path)
