"""The readers by name, and whether they can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from lm_eval_ext.classifier import adapter, predict, rules, string_match
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.sources import reason

NAMES = ("string_match", "rules", "encoder", "default")
"""The readers that need no folder of the user's, in order of cost."""

LLM = "llm:"
"""Stands before the folder or hub id of a language model that is asked with the paper's prompt and its examples."""

EXPECTED = (
    f"{', '.join(NAMES)}, or the folder or hub id (owner/name) of an adapter, or {LLM} and that of a language model"
)
"""What may be asked for, in words."""

RULES_ONLY = (
    'The rules read answers without any model: --metadata \'{"answer_classifier": "rules"}\' and no answer_llm '
    "(with lm-eval-ext classifier: --reader rules)"
)


class ReaderError(ValueError):
    """A reader that cannot be had; the message names what is missing and says what to do."""


def unavailable(what: str) -> ReaderError:
    """Return the error that says what is missing and how to do without it."""
    return ReaderError(f"{what}\n{RULES_ONLY}")


def reader(name: str) -> Reader:
    """Return a reader.

    Args:
        name: ``string_match``; ``rules``; ``encoder`` (the adapter that ships with this package, alone); ``default``
            (the rules where they are certain, else that adapter); the folder or hub id of an adapter, of which ours for
            the encoder are combined with the rules likewise; or ``llm:`` and that of a language model (see ``llm``).

    Raises:
        ReaderError: there is no such reader, or it cannot be loaded.
    """
    if name == "string_match":
        return string_match.read
    if name == "rules":
        return rules.read
    if _is_llm(name):
        return llm(name.removeprefix(LLM), 4)
    require(name)
    name = _expanded(name)
    if name not in NAMES and file_of(name, adapter.DESCRIPTION) is None:
        from lm_eval_ext.classifier import causal  # noqa: PLC0415 # it imports this module

        return causal.adapter_reader(name)
    if name == "encoder":
        return predict.encoder_reader(None)
    return predict.default_reader() if name == "default" else predict.default_reader(_fetched(name))


def require(name: str) -> None:
    """Check, without loading weights, that a reader can be had.

    Raises:
        ReaderError: it cannot; the message names what is missing and the way without it.
    """
    if name in ("string_match", "rules"):
        return
    if _is_llm(name):
        require_llm(name.removeprefix(LLM))
        return
    name = _expanded(name)
    if not name or (name not in NAMES and not Path(name).is_dir() and "/" not in name):
        raise unavailable(f"no reader {name!r}: expected {EXPECTED}")
    require_packages()
    if name in NAMES:
        _require_encoder(None)
    elif file_of(name, adapter.DESCRIPTION):
        _require_encoder(_fetched(name))
    else:
        _require_causal(name)


def llm(path: str, shots: Literal[0, 4]) -> Reader:
    """Return the reader that asks a causal language model with the paper's prompt (Figure 6).

    Args:
        path: the model's folder or hub id.
        shots: how many examples the prompt has.

    Raises:
        ReaderError: it cannot be loaded.
    """
    require_llm(path)
    from lm_eval_ext.classifier import causal  # noqa: PLC0415

    return causal.llm_reader(_expanded(path), shots)


def require_llm(path: str) -> None:
    """Check, without loading weights, that ``llm`` can be had.

    Raises:
        ReaderError: it cannot; the message names what is missing and the way without it.
    """
    require_packages()
    _require_causal(_expanded(path))


def require_packages() -> None:
    """Check that the packages can be imported which loading or training a model needs.

    Raises:
        ReaderError: one cannot.
    """
    try:
        predict.require_libraries()
    except ValueError as error:
        raise unavailable(str(error)) from error


def _require_encoder(folder: Path | None) -> None:
    try:
        predict.require_default(folder)
    except ValueError as error:
        raise unavailable(str(error)) from error


def _is_llm(name: str) -> bool:
    return name.startswith(LLM) and name != LLM


def _expanded(name: str) -> str:
    # A shell expands ~, but not inside of --metadata's JSON.
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _require_causal(name: str) -> None:
    from lm_eval_ext.classifier import causal_model  # noqa: PLC0415 # it imports this module

    if file_of(name, causal_model.ADAPTER_CONFIG) is None and file_of(name, "config.json") is None:
        raise unavailable(
            f"{_place(name)} holds no reader: expected {adapter.DESCRIPTION} or {causal_model.ADAPTER_CONFIG} "
            "(an adapter) or config.json (a model)"
        )
    causal_model.require(name)


def _place(name: str) -> str:
    if Path(name).is_dir():
        return f"the folder {name!r}"
    return f"{name!r}" + (", of which only the local cache counts under HF_HUB_OFFLINE," if is_offline() else "")


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


def _unreachable(place: str, error: Exception) -> ReaderError:
    return unavailable(f"{place!r} is no folder, and it could not be had from the Hugging Face Hub: {reason(error)}")


def _fetched(place: str) -> Path:
    folder = Path(place)
    if folder.is_dir():
        return folder
    import huggingface_hub  # noqa: PLC0415

    try:
        return Path(huggingface_hub.snapshot_download(place, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:
        raise _unreachable(place, error) from error
