"""The metrics of a row: ROUGE-L (Lin, 2004) as the paper measures answers (section 6.1), and BLEURT.

ROUGE-L is stemmed, and the best over the references.

BLEURT (Sellam et al., 2020), the paper's second metric, is available with the extra ``bleurt``. The paper does not say
which checkpoint it used. The public PyTorch checkpoints, converted from Google's, have one of two architectures, both
available in transformers: BERT (the ``bleurt-…`` checkpoints, WordPiece) and RemBERT (the ``BLEURT-20…`` checkpoints,
SentencePiece). The package they were published with, bleurt-pytorch 0.0.1, cannot be imported with transformers 5, so
this module loads them into transformers' own classes, with the same scores up to rounding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.floors import answers_to
from lm_eval_ext.sources import reason
from lm_eval_ext.verifiers.verify import is_empty, without_reasoning

if TYPE_CHECKING:
    import torch


TEXTS, WORDS = 1 << 14, 1 << 16
"""How many texts are remembered as tokens, and how many words as stems."""


def score(doc: Mapping[str, Any], results: Sequence[str | None], bleurt: str | None = None) -> dict[str, float]:
    """Return the metrics of one row.

    Args:
        doc: the row.
        results: the generated text; ``None``, which counts as empty, if an API withholds it.
        bleurt: the name or folder of a BLEURT checkpoint; ``None`` if that metric is not requested.
    """
    prediction = without_reasoning(results[0] or "")
    metrics = {
        "rouge_l": rouge_l(prediction, doc["output"]),
        EMPTY_RATE.name: float(is_empty(results[0])),
        "examples": float(doc["examples"]),
    }
    if bleurt:
        (metrics["bleurt"],) = bleurt_scorer(bleurt)([prediction], [doc["output"]])
    return metrics


def floors(docs: Iterable[Mapping[str, Any]], _config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, float]]]:
    """Yield the metrics of each answer without content to a row; see ``Family.floors_module``.

    What is echoed is the instance's input, not the prompt, which has instruction and examples, too.
    """
    for doc in docs:
        yield {name: score(doc, [answer]) for name, answer in answers_to(doc["input"]).items()}


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """Return the F-measure of the longest common subsequence, for the reference where it is highest.

    Words and figure are those of the library ``rouge_score``. It knows the letters a to z and digits only: a text
    without any scores 0. Time grows with the product of the two lengths.

    Args:
        prediction: what the model answered.
        references: the correct answers; at least one.

    Returns:
        From 0 to 1.

    Raises:
        ValueError: there is no reference.
    """
    if not references:
        raise ValueError("ROUGE-L of a prediction without references; expected at least one reference")
    from rouge_score.scoring import fmeasure  # noqa: PLC0415 # brings numpy

    answer = _tokens(prediction)
    best = 0.0
    for reference in references:
        expected = _tokens(reference)
        if answer and expected:
            length = _length_of_common_subsequence(answer, expected)
            best = max(best, fmeasure(length / len(answer), length / len(expected)))
    return best


def _length_of_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    The library keeps the whole table: of 8,000 by 2,000 words it takes more than 100 MB. This is a row of it at a time,
    one bit per column: 0 where the length grows by one (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004).
    """
    columns, rows = sorted((first, second), key=len)
    masks: dict[str, int] = {}
    for column, word in enumerate(columns):
        masks[word] = masks.get(word, 0) | 1 << column
    ones = state = (1 << len(columns)) - 1
    for word in rows:
        mask = masks.get(word, 0)
        state = ((state + (state & mask)) | (state & ~mask)) & ones
    return (ones ^ state).bit_count()


def has_words(text: str) -> bool:
    """Tell whether ROUGE sees anything of a text: whether it holds a letter from a to z or a digit."""
    return re.search("[a-z0-9]", text.lower()) is not None


@lru_cache(TEXTS)
def _tokens(text: str) -> Sequence[str]:
    """Return the library's stemmed tokens; remembered, for encodings of one subtask share their references."""
    from rouge_score.tokenize import tokenize  # noqa: PLC0415 # brings all of NLTK: a second

    return tuple(tokenize(text, _stemmer()))


@cache
def _stemmer() -> SimpleNamespace:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 # as above

    return SimpleNamespace(stem=lru_cache(WORDS)(PorterStemmer().stem))


RECOMMENDED = "lucadiliello/BLEURT-20"
INSTALL = "pip install 'lm-eval-ext[bleurt]'"
WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"
WORDPIECE, SENTENCEPIECE = ("tokenizer.json", "vocab.txt"), "spm.model"
TOKENIZER_CONFIG = "tokenizer_config.json"
BATCH = 32
"""Pairs per batch. A constant, so that scores do not depend on the machine's memory."""
CONVERSION = (
    'python -c "import torch, safetensors.torch as s; '
    f"s.save_file(torch.load('{PICKLE}', weights_only=True), '{WEIGHTS}')\""
)

_NOT_TAKEN = ("model_type", "architectures", "auto_map", "dtype", "torch_dtype", "id2label", "label2id", "problem_type")
"""Entries of a checkpoint's configuration about its class and head, which are not passed on."""

Scorer = Callable[[Sequence[str], Sequence[Sequence[str]]], list[float]]
"""Takes predictions and each one's references (at least one); returns each prediction's best score over them."""


class BleurtError(ValueError):
    """BLEURT is not available; the message says why and what to do."""


@cache
def bleurt_scorer(checkpoint: str) -> Scorer:
    """Load BLEURT, once per process, and return a function that scores predictions, taking the best reference each.

    Args:
        checkpoint: a name on the hub, or a folder with ``config.json``, ``model.safetensors`` and the tokenizer's files
            (``vocab.txt`` or ``tokenizer.json``; ``spm.model``).

    Raises:
        BleurtError: the extra is not installed, or the checkpoint is not available or not valid.
    """
    try:
        model = _loaded(checkpoint)
    except ImportError as error:
        raise BleurtError(f"BLEURT needs packages that are not installed ({error}): {INSTALL}") from error
    except Exception as error:
        # The libraries raise many types for a broken file, but the user's remedy is always the same.
        why = str(error) if isinstance(error, BleurtError) else f"{type(error).__name__}: {reason(error)}"
        raise BleurtError(
            f"the BLEURT checkpoint {checkpoint!r} cannot be used: {why}\nExpected the hub name or the folder of a "
            "PyTorch BLEURT checkpoint with safetensors weights. The paper does not name its checkpoint; the publisher "
            f"of the public ones recommends {RECOMMENDED} (2.3 GB)"
        ) from error

    def scores(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
        pairs = [
            [model.pair(reference, prediction) for reference in alternatives]
            for prediction, alternatives in zip(predictions, references, strict=True)
        ]
        if not all(pairs):
            raise ValueError("BLEURT cannot score a prediction without references; expected at least one reference")
        # Each pair once, sorted by length: a score depends neither on the order of the rows nor on the other rows.
        distinct = sorted({*chain.from_iterable(pairs)}, key=lambda pair: (len(pair[0] + pair[1]), pair))
        by_pair: dict[_Pair, float] = {}
        for start in range(0, len(distinct), BATCH):
            batch = distinct[start : start + BATCH]
            by_pair |= zip(batch, model.scores(batch), strict=True)
        return [max(by_pair[pair] for pair in alternatives) for alternatives in pairs]

    return scores


_Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""Token ids of a reference and a prediction, in the order in which BLEURT was trained, without special tokens."""


@dataclass(frozen=True)
class _Bleurt:
    """A loaded checkpoint.

    Attributes:
        network: maps each pair of texts to a number.
        ids: the checkpoint's tokenizer, a function from text to ids without special tokens.
        cls, sep, pad: the ids of the special tokens.
        longest: the maximum number of tokens in a pair, including special tokens.
    """

    network: torch.nn.Module
    ids: Callable[[str], Sequence[int]]
    cls: int
    sep: int
    pad: int
    longest: int

    def pair(self, reference: str, prediction: str) -> _Pair:
        """Return the tokens of a pair; if it is too long, the last token of the longer text is dropped repeatedly."""
        first, second = list(self.ids(reference)), list(self.ids(prediction))
        while len(first) + len(second) > self.longest - 3:
            (first if len(first) > len(second) else second).pop()
        return tuple(first), tuple(second)

    def scores(self, pairs: Sequence[_Pair]) -> list[float]:
        """Return one number per pair."""
        import torch  # noqa: PLC0415 # takes seconds
        from torch.nn.utils.rnn import pad_sequence  # noqa: PLC0415 # as above

        rows = [torch.tensor([self.cls, *first, self.sep, *second, self.sep]) for first, second in pairs]
        kinds = [torch.tensor([0] * (len(first) + 2) + [1] * (len(second) + 1)) for first, second in pairs]
        inputs = {
            "input_ids": pad_sequence(rows, batch_first=True, padding_value=self.pad),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in rows], batch_first=True),
            "token_type_ids": pad_sequence(kinds, batch_first=True),
        }
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            logits = self.network(**{name: tensor.to(device) for name, tensor in inputs.items()}).logits
        scores: list[float] = logits.flatten().tolist()
        return scores


def _loaded(checkpoint: str) -> _Bleurt:
    import huggingface_hub  # noqa: PLC0415 # a second, and only the hub needs it
    import safetensors.torch  # noqa: PLC0415 # an extra, without which two gigabytes would be downloaded in vain
    import torch  # noqa: PLC0415 # as above
    import transformers  # noqa: PLC0415 # as above

    folder = Path(checkpoint).expanduser()
    if not folder.is_dir():
        wanted = ["config.json", WEIGHTS, TOKENIZER_CONFIG, *WORDPIECE, SENTENCEPIECE]
        try:
            folder = Path(huggingface_hub.snapshot_download(checkpoint, allow_patterns=wanted))
        except Exception as error:
            # The hub's library raises a dozen types for "offline" and "no such repository".
            raise BleurtError(
                f"not a folder, and could not be loaded from the hub ({type(error).__name__}: {reason(error)})"
            ) from error
    if not (folder / WEIGHTS).is_file():
        raise BleurtError(
            f"no {WEIGHTS} in {folder}; weights of other formats are not loaded. If a checkpoint only has {PICKLE}, "
            f"download it (hf download {checkpoint} --local-dir FOLDER) and convert it once, in that folder: "
            f"{CONVERSION}"
        )
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network = _network(config)
    prefix = f"{type(network).base_model_prefix}."
    weights = {}
    for name, tensor in safetensors.torch.load_file(folder / WEIGHTS).items():
        # position_ids is not a weight: older files contain the numbers 0, 1, 2, … under that name.
        if not name.endswith("position_ids"):
            renamed = name.replace("bleurt.", prefix, 1) if name.startswith("bleurt.") else name
            weights[renamed.replace(".embedding_projection.", ".embedding_hidden_mapping_in.")] = tensor
    network.load_state_dict(weights)
    network = network.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    ids: Callable[[str], Sequence[int]]
    if (folder / SENTENCEPIECE).is_file():
        import sentencepiece  # noqa: PLC0415 # seconds, and an extra

        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / SENTENCEPIECE))
        ids = pieces.encode
        cls, sep, pad = (pieces.piece_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]"))
    elif any((folder / name).is_file() for name in WORDPIECE):
        words = transformers.BertTokenizer.from_pretrained(folder)
        ids = partial(words.encode, add_special_tokens=False, verbose=False)
        cls, sep, pad = words.cls_token_id, words.sep_token_id, words.pad_token_id
    else:
        raise BleurtError(f"no tokenizer in {folder}; expected {SENTENCEPIECE}, {' or '.join(WORDPIECE)}")
    path = folder / TOKENIZER_CONFIG
    limits = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    longest = min(config["max_position_embeddings"], limits.get("model_max_length", 512))
    return _Bleurt(network, ids, cls, sep, pad, longest)


def _network(config: Mapping[str, Any]) -> Any:
    """Return the untrained network of a checkpoint's configuration."""
    import transformers  # noqa: PLC0415 # seconds, and an extra

    kind = config.get("model_type")
    if kind not in ("bleurt", "bert", "rembert"):
        raise BleurtError(f"model_type {kind!r} in config.json; expected bleurt, bert or rembert")
    shared = {key: value for key, value in config.items() if key not in _NOT_TAKEN} | {"num_labels": 1}
    narrow = config.get("embedding_size") if kind == "bleurt" else None
    if kind == "rembert" or narrow is not None:
        # RemBERT's default ids for the start and end of a text, outside a small vocabulary, are not used for scoring.
        sizes = {"bos_token_id": None, "eos_token_id": None} | shared
        sizes |= {"input_embedding_size": narrow} if narrow is not None else {}
        return transformers.RemBertForSequenceClassification(transformers.RemBertConfig(**sizes))
    return transformers.BertForSequenceClassification(transformers.BertConfig(**shared))
