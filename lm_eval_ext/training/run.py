"""What surrounds the loop of a training run: its recipe, its options, its checkpoint, and the folder that it writes."""

from __future__ import annotations

import argparse
import errno
import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from lm_eval_ext.cli.parser import count, positive

LIBRARIES = ("torch", "transformers", "peft")
"""The libraries that training needs, and loading what was trained."""
RECORD = "training.json"
"""The file, next to a trained model, that says how it was trained."""
CHECKPOINT = "checkpoint.pt"
"""The file with the state of an unfinished training run."""


class TrainingError(ValueError):
    """A model cannot be trained as requested; the message names what is wrong and says what to do."""


class DivergedError(TrainingError):
    """A training made the model useless, so that nothing of it is worth keeping."""

    def __init__(self, sign: str) -> None:
        super().__init__(f"{sign}: training diverges. Use a lower --learning-rate")


def missing_libraries() -> list[str]:
    """Return which libraries for training are not installed, without importing them."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


def require_libraries() -> None:
    """Check, without importing them, that the libraries for training are installed.

    Raises:
        TrainingError: a library is missing; the message names the extra that installs it.
    """
    if missing := missing_libraries():
        raise TrainingError(f"training needs {', '.join(missing)}: pip install 'lm-eval-ext[hf]'")


def versions() -> dict[str, str]:
    """Return the versions of the packages that a training run depends on."""
    return {name: metadata.version(name) for name in ("lm-eval-ext", *LIBRARIES)}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The hyperparameters of a training run.

    Attributes:
        seed: seed of an adapter's initialization, of the order of the rows and of dropout.
        epochs: passes over the rows.
        batch_size: rows per step.
        learning_rate: the highest learning rate, which decreases to 0 (see ``loop.Loop.schedule``).
        rank: the rank of the adapter's matrices; its alpha is twice the rank. ``None``: the whole model is trained.
    """

    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    rank: int | None


def add_recipe_to(command: argparse.ArgumentParser, defaults: Mapping[str, Recipe]) -> None:
    """Add the options of a recipe, but for its seed, which other draws of a command depend on, too.

    Args:
        command: the command.
        defaults: the default recipes, by kind of model.
    """

    def default(name: str) -> str:
        values = {kind: value for kind, recipe in defaults.items() if (value := getattr(recipe, name)) is not None}
        return "default: " + ", ".join(f"{value} ({kind})" for kind, value in values.items())

    command.add_argument("--epochs", metavar="N", type=count, help=f"passes over the rows; {default('epochs')}")
    command.add_argument("--batch-size", metavar="N", type=count, help=f"rows per step; {default('batch_size')}")
    command.add_argument("--learning-rate", metavar="RATE", type=positive, help=default("learning_rate"))
    command.add_argument(
        "--rank", metavar="N", type=count, help=f"the rank of the adapter's matrices; {default('rank')}"
    )


def recipe_of(options: argparse.Namespace, default: Recipe) -> Recipe:
    """Return a default recipe with the seed, and the other values, that a command line gives."""
    values = {name: getattr(options, name) for name in ("epochs", "batch_size", "learning_rate", "rank")}
    return replace(default, seed=options.seed, **{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True)
class Checkpoint:
    """A file with the state of an unfinished training run, from which the same command continues it.

    Attributes:
        path: the file, which exists only while the run is unfinished.
        training: everything that the result depends on; the file is of use only to a run with the same.
    """

    path: Path
    training: Mapping[str, Any]

    def load(self) -> dict[str, Any] | None:
        """Return the state; ``None`` if there is none.

        Raises:
            TrainingError: the file is damaged or belongs to another training run.
        """
        import torch  # noqa: PLC0415 # seconds, and an extra

        if not self.path.is_file():
            return None
        otherwise = f"delete it to start over, or choose another --output:\n{self.path}"
        try:
            # Only tensors and plain values: other pickled content is refused.
            content = torch.load(self.path, map_location="cpu", weights_only=True)
            known, state = dict(json.loads(content["training"])), dict(content["state"])
        except Exception as error:
            raise TrainingError(
                f"the checkpoint of an interrupted training run is damaged ({type(error).__name__}); {otherwise}"
            ) from error
        now = json.loads(json.dumps(dict(self.training)))
        if differing := [name for name in sorted({*known, *now}) if known.get(name) != now.get(name)]:
            raise TrainingError(
                "there is a checkpoint of an interrupted training run with another "
                f"{', '.join(f'{name} ({known.get(name)!s:.80}, now {now.get(name)!s:.80})' for name in differing)}; "
                f"repeat its command to continue it, {otherwise}"
            )
        return state

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the file in one step, so that a kill leaves the previous state or this one."""
        import torch  # noqa: PLC0415 # seconds, and an extra

        partial = self.path.with_name(f"{self.path.name}.partial")
        torch.save({"training": json.dumps(dict(self.training)), "state": dict(state)}, partial)
        partial.replace(self.path)


def require_free(output: Path) -> None:
    """Check that a folder is new or empty.

    Raises:
        FileExistsError: the folder has files.
    """
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(errno.EEXIST, "--output exists and is not an empty folder", str(output))


@contextmanager
def renamed_at_the_end(output: Path) -> Iterator[Path]:
    """Yield a folder next to the requested one, which is renamed to it at the end.

    If training is stopped, only its checkpoint stays; without one, or if the training diverged, nothing does.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.parent / f".{output.name}.unfinished"
    unfinished.mkdir(exist_ok=True)
    checkpoint = unfinished / CHECKPOINT
    try:
        yield unfinished
        checkpoint.unlink(missing_ok=True)
        if output.is_dir():
            output.rmdir()
        unfinished.rename(output)
    except BaseException as error:
        if isinstance(error, DivergedError) or not checkpoint.is_file():
            shutil.rmtree(unfinished, ignore_errors=True)
        elif not isinstance(error, ValueError):  # which says itself what to do
            print(f"training: stopped; the same command continues from {checkpoint}", file=sys.stderr)
        raise
