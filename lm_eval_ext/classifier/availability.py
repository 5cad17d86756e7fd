"""Whether what a reader needs can be had: libraries, and the files of a model, in a folder or on the hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from lm_eval_ext.sources import reason

LIBRARIES = ("torch", "transformers", "peft")
"""What loading or training a model takes."""

ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""The file of an adapter's weights; pickled ones, which may hold programs, are not loaded."""

EXTRA = "pip install 'lm-eval-ext[classifier]'"

RULES_ONLY = (
    'The rules read answers without any model: --metadata \'{"answer_classifier": "rules"}\' and no answer_llm '
    "(with lm-eval-ext classifier: --reader rules)"
)


class ReaderError(ValueError):
    """A reader that cannot be had; the message names what is missing and says what to do."""


def unavailable(what: str) -> ReaderError:
    """Return the error that says what is missing and how to do without it."""
    return ReaderError(f"{what}\n{RULES_ONLY}")


def require_libraries() -> None:
    """Check that the libraries are there which loading or training a model needs; none is imported.

    Raises:
        ReaderError: one is not; the message names the extra that brings it.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise unavailable(f"this reader loads a model and needs {', '.join(missing)}: {EXTRA}")


def is_offline() -> bool:
    """Tell whether the hub is switched off (``HF_HUB_OFFLINE``), so that only its local cache counts."""
    from huggingface_hub import constants  # noqa: PLC0415

    return bool(constants.HF_HUB_OFFLINE)


def file_of(place: str, name: str, revision: str | None = None) -> Path | None:
    """Return one file of a folder, or of a repository on the hub (then it is fetched, or found in the local cache).

    Args:
        place: a folder, or a repository's id.
        name: the file's.
        revision: of the repository.

    Returns:
        The file's path; ``None`` where there is no such file.

    Raises:
        ReaderError: the repository does not exist or cannot be reached.
    """
    folder = Path(place)
    if folder.is_dir():
        return file if (file := folder / name).is_file() else None
    import huggingface_hub  # noqa: PLC0415 # only for the hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return Path(huggingface_hub.hf_hub_download(place, name, revision=revision))
    except EntryNotFoundError as error:
        if isinstance(error, LocalEntryNotFoundError) and not is_offline():
            raise _unreachable(place, error) from error
        return None
    except (OSError, ValueError) as error:
        raise _unreachable(place, error) from error


def folder_of(place: str) -> Path:
    """Return a folder, or that of an adapter on the hub, whose descriptions and weights are fetched (safetensors only).

    Raises:
        ReaderError: the repository does not exist or cannot be reached.
    """
    folder = Path(place)
    if folder.is_dir():
        return folder
    import huggingface_hub  # noqa: PLC0415

    try:
        return Path(huggingface_hub.snapshot_download(place, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:
        raise _unreachable(place, error) from error


def _unreachable(place: str, error: Exception) -> ReaderError:
    return unavailable(f"{place!r} is no folder, and it could not be had from the Hugging Face Hub: {reason(error)}")
