"""Checks that what a reader needs is available: libraries, and a model's files in a folder or on the hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import LIBRARIES

ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""The file with an adapter's weights. Pickled weights can contain code and are not loaded."""

EXTRA = "pip install 'lm-eval-ext[classifier]'"

RULES_ONLY = (
    'To read answers without a model, use the rules: --metadata \'{"answer_classifier": "rules"}\' without answer_llm '
    "(with lm-eval-ext classifier: --reader rules)"
)


class ReaderError(ValueError):
    """A reader is not available; the message names what is missing and says what to do."""


def unavailable(what: str) -> ReaderError:
    """Return an error that says what is missing and how to read answers without it."""
    return ReaderError(f"{what}\n{RULES_ONLY}")


def require_libraries() -> None:
    """Check, without importing them, that the libraries for loading a model, those for training one, are installed.

    Raises:
        ReaderError: a library is missing; the message names the extra that installs it.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise unavailable(f"this reader loads a model and needs {', '.join(missing)}: {EXTRA}")


def is_offline() -> bool:
    """Tell whether ``HF_HUB_OFFLINE`` is set, so that only the hub's local cache is used."""
    from huggingface_hub import constants  # noqa: PLC0415 # a second, and only the hub needs it

    return bool(constants.HF_HUB_OFFLINE)


def file_of(place: str, name: str, revision: str | None = None) -> Path | None:
    """Return one file of a folder or of a repository on the hub, which is downloaded unless it is in the local cache.

    Args:
        place: a folder, or the id of a repository.
        name: the name of the file.
        revision: the revision of the repository.

    Returns:
        The path of the file, or ``None`` if there is no such file.

    Raises:
        ReaderError: the repository does not exist or cannot be reached.
    """
    folder = Path(place)
    if folder.is_dir():
        return file if (file := folder / name).is_file() else None
    import huggingface_hub  # noqa: PLC0415 # only for the hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError  # noqa: PLC0415 # as above

    try:
        return Path(huggingface_hub.hf_hub_download(place, name, revision=revision))
    except EntryNotFoundError as error:
        if isinstance(error, LocalEntryNotFoundError) and not is_offline():
            raise _unreachable(place, error) from error
        return None
    except (OSError, ValueError) as error:
        raise _unreachable(place, error) from error


def folder_of(place: str) -> Path:
    """Return a local folder, or download an adapter's JSON and safetensors files from the hub and return their folder.

    Raises:
        ReaderError: the repository does not exist or cannot be reached.
    """
    folder = Path(place)
    if folder.is_dir():
        return folder
    import huggingface_hub  # noqa: PLC0415 # a second, and only the hub needs it

    try:
        return Path(huggingface_hub.snapshot_download(place, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:
        raise _unreachable(place, error) from error


def _unreachable(place: str, error: Exception) -> ReaderError:
    return unavailable(f"{place!r} is not a folder and could not be loaded from the Hugging Face Hub: {reason(error)}")
