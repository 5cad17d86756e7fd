"""What a reader needs: libraries, a model's files in a folder or on the hub, and a device where it runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import missing_libraries

ADAPTER_CONFIG = "adapter_config.json"
"""The file in which PEFT describes an adapter."""
ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""The file with an adapter's weights. Pickled weights can contain code and are not loaded."""

RULES_ONLY = (
    'To read answers without a model, use the rules: --metadata \'{"answer_classifier": "rules"}\' without answer_llm '
    "(with lm-eval-ext classifier: --reader rules)"
)


class ReaderError(ValueError):
    """A reader is not available; the message names what is missing and says what to do."""


def unavailable(problem: str) -> ReaderError:
    """Return an error that says what is missing and how to read answers without it."""
    return ReaderError(f"{problem}\n{RULES_ONLY}")


def require_libraries() -> None:
    """Check, without importing them, that the libraries for loading a model, those for training one, are installed.

    Raises:
        ReaderError: a library is missing; the message names the extra that installs it.
    """
    if missing := missing_libraries():
        raise unavailable(
            f"this reader loads a model and needs {', '.join(missing)}: pip install 'lm-eval-ext[classifier]'"
        )


def is_offline() -> bool:
    """Tell whether ``HF_HUB_OFFLINE`` is set, so that only the hub's local cache is used."""
    from huggingface_hub import constants  # noqa: PLC0415 # a second, and only the hub needs it

    return bool(constants.HF_HUB_OFFLINE)


def file_of(origin: str, name: str, revision: str | None = None) -> Path | None:
    """Return one file of a folder or of a repository on the hub, which is downloaded unless it is in the local cache.

    Args:
        origin: a folder, or the id of a repository.
        name: the name of the file.
        revision: the revision of the repository.

    Returns:
        The path of the file, or ``None`` if there is no such file.

    Raises:
        ReaderError: the repository does not exist or cannot be reached.
    """
    folder = Path(origin)
    if folder.is_dir():
        return file if (file := folder / name).is_file() else None
    import huggingface_hub  # noqa: PLC0415 # only for the hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError  # noqa: PLC0415 # as above

    try:
        return Path(huggingface_hub.hf_hub_download(origin, name, revision=revision))
    except (EntryNotFoundError, OSError, ValueError) as error:
        # While the hub should answer, a file that the cache lacks may be there.
        if isinstance(error, EntryNotFoundError) and (is_offline() or not isinstance(error, LocalEntryNotFoundError)):
            return None
        raise unavailable(
            f"{origin!r} is not a folder and could not be loaded from the Hugging Face Hub: {reason(error)}"
        ) from error


DTYPES = ("auto", "float32", "bfloat16", "float16")
"""The types of the weights; ``auto`` is the type in which they were saved, as in the harness."""


@dataclass(frozen=True, slots=True)
class Runtime:
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
    def of(cls, settings: Mapping[str, Any]) -> Runtime:
        """Return the runtime with these values; the others are the defaults.

        Args:
            settings: values by the attribute's name; ``None`` stands for the default.

        Raises:
            ReaderError: a value is invalid, or there is no such device.
        """
        runtime = cls(**{name: value for name, value in settings.items() if value is not None})
        size, dtype, device = runtime.batch_size, runtime.dtype, runtime.device
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ReaderError(f"batch size {size!r}: expected a whole number, at least 1")
        if dtype not in DTYPES:
            raise ReaderError(f"dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
        # Without torch, the reader itself reports what is missing.
        if device is not None and importlib.util.find_spec("torch"):
            import torch  # noqa: PLC0415 # only if the user names a device

            try:
                # Placing something there is the only test that works for every kind of device.
                torch.empty(1, device=str(device))
            except Exception as error:
                # torch raises several types, with advice that fills pages.
                why = str(error).strip().partition("\n")[0]
                raise ReaderError(
                    f"device {device!r}: not available here ({why}); expected cpu, cuda, cuda:1 …"
                ) from error
        return runtime

    @property
    def chosen_device(self) -> str:
        """The device. ``cuda`` is that of the process: under ``accelerate launch``, each process has its own."""
        if self.device is not None:
            return self.device
        import torch  # noqa: PLC0415 # seconds, and an extra

        return "cuda" if torch.cuda.is_available() else "cpu"


DEFAULT = Runtime()
"""One GPU if there is one, the type in which the weights were saved."""
