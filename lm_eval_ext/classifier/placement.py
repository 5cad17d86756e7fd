"""Where a causal language model that reads answers runs: by default where the harness would run a model."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lm_eval_ext.classifier.availability import ReaderError

DTYPES = ("auto", "float32", "bfloat16", "float16")
"""The types of the weights; ``auto`` is the type in which they were saved, as in the harness."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and how a causal language model runs.

    Attributes:
        device: a device of torch (``cpu``, ``cuda``, ``cuda:1``, ``mps``); ``None``: one GPU if there is one, else the
            CPU.
        dtype: one of ``DTYPES``.
        batch_size: responses per forward pass.
    """

    device: str | None = None
    dtype: str = DTYPES[0]
    batch_size: int = 8

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Placement:
        """Return the placement with these values; the others are the defaults.

        Args:
            given: values by the attribute's name; ``None`` stands for the default.

        Raises:
            ReaderError: a value is invalid, or there is no such device.
        """
        placement = cls(**{name: value for name, value in given.items() if value is not None})
        require(placement)
        return placement

    @property
    def chosen_device(self) -> str:
        """The device. ``cuda`` is that of the process: under ``accelerate launch``, each process has its own."""
        if self.device is not None:
            return self.device
        import torch  # noqa: PLC0415 # seconds, and an extra

        return "cuda" if torch.cuda.is_available() else "cpu"

    def __str__(self) -> str:
        """Return the values that are not the defaults, for messages."""
        default = asdict(Placement())
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items() if value != default[name])


def require(placement: Placement) -> None:
    """Check that a placement is valid and that its device exists.

    Raises:
        ReaderError: it is not; the message names the value.
    """
    size, dtype = placement.batch_size, placement.dtype
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ReaderError(f"batch size {size!r}: expected a whole number, at least 1")
    if dtype not in DTYPES:
        raise ReaderError(f"dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    # Without torch, the reader itself reports what is missing.
    if placement.device is not None and importlib.util.find_spec("torch"):
        _require_device(placement.device)


def _require_device(name: object) -> None:
    import torch  # noqa: PLC0415 # only if the user names a device

    try:
        # Placing something there is the only test that works for every kind of device.
        torch.empty(1, device=str(name))
    except Exception as error:
        # torch raises several types, with advice that fills pages.
        reason = str(error).strip().partition("\n")[0]
        raise ReaderError(f"device {name!r}: not available here ({reason}); expected cpu, cuda, cuda:1 …") from error
