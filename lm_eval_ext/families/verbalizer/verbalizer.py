"""A verbalizer: which word represents which label (section 3.2), how a prompt demands it, and the score of an answer.

The wordings of the instruction are that of Figures 7 and 8, and others that mean the same (``instructions.json``).
Under a row seed, pairs of nonce words, which no model has seen as labels, are the words of the neutral verbalizers.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mode
from typing import Any, Literal

from lm_eval_ext.families.verbalizer.rows import GOLDEN
from lm_eval_ext.families.verbalizer.schema import OF_WORDING, PARAPHRASE, RELIABLE, ROW, SENSITIVITY
from lm_eval_ext.floors import CONSTANT
from lm_eval_ext.metadata import seeded_generator

Reads = Literal["first", "final"]
"""Which label of an answer counts: the first that it names, or the last one stated as the answer."""
WORDINGS = 8
"""The number of wordings, the published one included."""
Invalid = Literal["empty", "echo", "refusal", "multiple", "inflected", "other"]
"""What a response is that gives no label word as its answer; see ``answer.kind_of``."""


def marker(kind: Invalid) -> str:
    """Return what replaces an invalid response: the harness's own marker for such answers, with the kind in it."""
    return f"[invalid: {kind}]"


_MARKERS: Mapping[str, str] = {
    "empty_rate": marker("empty"),
    "invalid_echo": marker("echo"),
    "invalid_refusal": marker("refusal"),
    "invalid_multiple": marker("multiple"),
    "invalid_inflected": marker("inflected"),
}
"""The metrics of the kinds of invalid answers that a filter recognizes."""


@dataclass(frozen=True)
class Verbalizer:
    """The label words of one task.

    Attributes:
        words: the word that the prompt demands for each golden label, by the label's name, for example ``negative``.
        prior: the word that means each golden label by itself; the golden name if the label words have no such meaning
            (neutral verbalizers).
    """

    words: Mapping[str, str]
    prior: Mapping[str, str]

    def score(self, answer: str, golden: str) -> dict[str, float]:
        """Score one answer.

        Args:
            answer: a label word, a prior word, or a ``marker``.
            golden: the row's golden label.

        Returns:
            ``acc``: 1.0 if the answer is the word that the prompt demands; ``prior_rate``: 1.0 if it is what the label
            means by itself; ``invalid_rate``: 1.0 if it is not a label word. If it is not, exactly one of
            ``empty_rate`` and the ``invalid_…`` of each kind is 1.0.
        """
        invalid = answer not in self.words.values()
        kinds = {metric: float(invalid and answer == text) for metric, text in _MARKERS.items()}
        kinds["invalid_prior"] = float(invalid and answer in self.prior.values())
        return {
            "acc": float(answer == self.words[golden]),
            "prior_rate": float(answer == self.prior[golden]),
            "invalid_rate": float(invalid),
            **kinds,
            "invalid_other": float(invalid and not any(kinds.values())),
        }


@dataclass(frozen=True)
class Question:
    """What the instruction of a dataset asks.

    Attributes:
        judged: what is to be judged: the object of the verb.
        conditions: golden label name to the clause that holds for its rows, in the order of the prompt.
    """

    judged: str
    conditions: Mapping[str, str]


_TEXTS: Mapping[str, Any] = json.loads(Path(__file__).with_name("instructions.json").read_text(encoding="utf-8"))
QUESTIONS: Mapping[str, Question] = {dataset: Question(**parts) for dataset, parts in _TEXTS["questions"].items()}
"""By dataset, the parts of the instruction that depend on it, which every wording has in the words of the figures."""


def instructions(dataset: str, reads: Reads, words: Mapping[str, str]) -> tuple[str, ...]:
    """Return the instruction of a dataset's prompts in every wording, the published one first.

    Each has the role of a helpful assistant, what is judged, which word to output on which condition and, in direct
    prompts, that nothing else may be output. A response that only repeats one of them is read as no answer (a test).

    Args:
        dataset: one of the nine.
        reads: ``"first"`` for the direct prompt (Figure 7), ``"final"`` for the chain of thought (Figure 8).
        words: the label word for each golden label name of ``QUESTIONS``.
    """
    question = QUESTIONS[dataset]
    first_word, second_word = (words[golden] for golden in question.conditions)
    first, second = question.conditions.values()
    return tuple(
        text.format(judged=question.judged, first=first, second=second, one=first_word, other=second_word)
        for text in _TEXTS["wordings"][reads]
    )


def floors(docs: Iterable[Mapping[str, Any]], config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, float]]]:
    """Yield the metrics of the word that is right most often; see ``Family.floors_module``.

    No other answer without content is right more often: ``ok``, a refusal and nothing name no label, and the prompt
    itself always names the same one.
    """
    verbalizer = Verbalizer(config["metadata"]["label_words"], config["metadata"]["prior_words"])
    labels = [doc[GOLDEN] for doc in docs]
    word = verbalizer.words[mode(labels)]
    yield from ({CONSTANT: verbalizer.score(word, golden)} for golden in labels)


def over_wordings(
    doc: Mapping[str, Any], right: float | None, count: int
) -> dict[str, tuple[int, float | None] | tuple[float, int]]:
    """Return the metrics over wordings of one answer, of a task that asks every row in several.

    Args:
        doc: the document.
        right: whether the answer is right; ``None`` if the run does not ask the row in every wording.
        count: the number of wordings.

    Returns:
        ``reliable_at_<count>``: the number of the row, and ``right``; ``prompt_sensitivity``: that of the wording, and
        ``right``; ``acc_paraphrase_…``, for each wording: ``right`` and 1, or twice 0 if the answer is to another one.
    """
    wording, counted = doc[PARAPHRASE], (0.0, 0) if right is None else (right, 1)
    return {
        RELIABLE[count]: (doc[ROW], right),
        SENSITIVITY: (wording, right),
        **{OF_WORDING[number]: counted if number == wording else (0.0, 0) for number in range(1, count + 1)},
    }


FILE = Path(__file__).with_name("nonce_words.txt")
"""A word and its number of tokens in GPT-2's vocabulary per line (``tasks/_nonce_words.py``)."""
SEED = 20261122
"""The seed of every draw here; changing it changes scores."""
PAIRS: Mapping[tuple[str, str], int] = {("foo", "bar"): 3, ("sfo", "lax"): 3, ("lake", "river"): 5}
"""The words of the neutral verbalizers (Table 1), and the number of letters of the nonce words in their place."""


@cache
def nonce_words(row_seed: int) -> Mapping[str, str]:
    """Return the nonce word that replaces each word of the neutral verbalizers, the same for all datasets.

    The two words of a pair have equally many letters, and equally many tokens in GPT-2's vocabulary, and differ in
    every letter. No word occurs twice. Verbalizers that swap each other's words, such as foo_bar and bar_foo, still do.

    Args:
        row_seed: see ``metadata.chosen_row_seed``.
    """
    draw = seeded_generator(SEED, row_seed, "nonce words")
    replacements: dict[str, str] = {}
    tokens = dict(line.split() for line in FILE.read_text(encoding="utf-8").splitlines())
    for pair, letters in PAIRS.items():
        # A first word decides the number of tokens, so that each number is as frequent as among the words.
        free = [word for word in tokens if len(word) == letters and word not in replacements.values()]
        first = draw.choice(free)
        alike = [word for word in free if tokens[word] == tokens[first]]
        second = draw.choice([word for word in alike if all(map(operator.ne, word, first))])
        replacements |= zip(pair, (first, second), strict=True)
    return replacements


def put_nonce_words(config: dict[str, Any], row_seed: int) -> None:
    """Replace the words of a neutral verbalizer in a leaf's config; any other leaf stays as it is.

    Args:
        config: the leaf's config, which is modified: ``doc_to_choice``, and the same words in quotation marks in
            ``doc_to_text``.
        row_seed: see ``metadata.chosen_row_seed``.
    """
    words, prompt, replacing = config.get("doc_to_choice"), config.get("doc_to_text"), nonce_words(row_seed)
    if (
        config.get("naturalness") != "neutral"
        or not isinstance(words, Mapping)
        or not isinstance(prompt, str)
        or tuple(sorted(map(str, words.values()))) not in {tuple(sorted(pair)) for pair in PAIRS}
    ):
        return
    config["doc_to_choice"] = {golden: replacing[word] for golden, word in words.items()}
    for word in words.values():
        prompt = prompt.replace(f'"{word}"', f'"{replacing[word]}"')
    config["doc_to_text"] = prompt
