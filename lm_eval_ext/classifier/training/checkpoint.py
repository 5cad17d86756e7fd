"""The state of an unfinished training run, from which the same command continues it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier.availability import LIBRARIES, ReaderError
from lm_eval_ext.classifier.labelled import Labelled

TRAINING, STATE = "training", "state"


@dataclass(frozen=True)
class Checkpoint:
    """A file with the state of a training run.

    Attributes:
        path: the file, which exists only while the run is unfinished.
        training: everything that the result depends on; the file is of use only to a run with the same.
    """

    path: Path
    training: Mapping[str, Any]

    def load(self) -> dict[str, Any] | None:
        """Return the state; ``None`` if there is none.

        Raises:
            ReaderError: the file is damaged or belongs to another training run.
        """
        import torch  # noqa: PLC0415 # seconds, and an extra

        if not self.path.is_file():
            return None
        otherwise = f"delete it to start over, or choose another --output:\n{self.path}"
        try:
            # Only tensors and plain values: other pickled content is refused.
            found = torch.load(self.path, map_location="cpu", weights_only=True)
            known, state = json.loads(found[TRAINING]), dict(found[STATE])
        except Exception as error:
            raise ReaderError(
                f"the checkpoint of an interrupted training run is damaged ({type(error).__name__}); {otherwise}"
            ) from error
        ours = json.loads(json.dumps(dict(self.training)))
        if differing := [name for name in sorted({*known, *ours}) if known.get(name) != ours.get(name)]:
            raise ReaderError(
                "there is a checkpoint of an interrupted training run with another "
                f"{', '.join(f'{name} ({known.get(name)}, now {ours.get(name)})' for name in differing)}; repeat its "
                f"command to continue it, {otherwise}"
            )
        return state

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the file in one step, so that a kill leaves the previous state or this one."""
        import torch  # noqa: PLC0415 # seconds, and an extra

        partial = self.path.with_name(f"{self.path.name}.partial")
        torch.save({TRAINING: json.dumps(dict(self.training)), STATE: dict(state)}, partial)
        partial.replace(self.path)

    def remove(self) -> None:
        """Remove the file."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.partial")):
            path.unlink(missing_ok=True)


def digest(rows: Sequence[Labelled]) -> str:
    """Return 16 hexadecimal digits that identify rows and their order."""
    return hashlib.sha256("\n".join(map(repr, rows)).encode(errors="surrogatepass")).hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of the packages that a training run depends on."""
    return {name: metadata.version(name) for name in ("lm-eval-ext", *LIBRARIES)}
