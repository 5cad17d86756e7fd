"""The metrics of a row (section 4): the first token compared with the text; and the answers of each policy.

If a metric is not a plain mean over rows, each row gives the values that the figure is computed from, and ``schema``
says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mode
from typing import Any

from lm_eval_ext.classifier.reading import REFUSED, Option, is_refusal, refusal_option
from lm_eval_ext.families.paired_mcq.first_tokens import first_token
from lm_eval_ext.families.paired_mcq.prompt import LETTERS
from lm_eval_ext.families.paired_mcq.schema import NO_LETTER, Chosen, InShuffle, Letters, Refused, Spelling
from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.floors import CONSTANT

Value = str | Sequence[str]
"""The reading of a text, as in ``Reading.value``: a letter, a list of letters, or a word of ``NO_OPTION``."""
NO_OPTION = ("refused", "none", "contradiction")
"""The readings that choose no option."""
RowValue = float | InShuffle | Refused | Chosen | Letters | Spelling
"""The value of a metric for one row."""


def options_of(doc: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the options of a row in the order shown."""
    return tuple(Option(letter, text) for letter, text in zip(LETTERS, doc["options"], strict=False))


def score(doc: Mapping[str, Any], results: Sequence[Any], spaces: Sequence[str]) -> dict[str, RowValue]:
    """Return the metrics of one row; see ``scores``.

    Args:
        doc: the row.
        results: the log-likelihood of each spelling of each letter, if they were requested, and the reading of the text
            (``filters``).
        spaces: the white space of the spellings (``first_tokens``).
    """
    *loglikelihoods, text = results
    record = json.loads(text)
    empty = record.get("empty", False)
    if not loglikelihoods:
        return scores(doc, record["reading"], empty=empty)
    letters = [option.letter for option in options_of(doc)]
    space, token = first_token(letters, spaces, [value for value, _ in loglikelihoods])
    return scores(doc, record["reading"], token, space, empty=empty)


def scores(
    doc: Mapping[str, Any], text: Value, token: str | None = None, space: str = "", *, empty: bool = False
) -> dict[str, RowValue]:
    """Return the metrics of one row.

    Args:
        doc: the row: its question's ``key``, the number of its ``shuffle``, its ``options`` in the order shown, the
            refusal among them, and ``gold``, the letter of the correct one; empty if there is none.
        text: a reader's reading of the generated text. A refusal counts as the refusal option, if there is one
            (appendix A.2). A contradiction is no answer: annotators mark it as one.
        token: the letter of the first token; ``None`` if it was not requested.
        space: the white space before the letter in the spelling that is most probable.
        empty: whether the generated text is empty.

    Returns:
        The family's metrics that apply. ``mismatch`` is 0 only if the text names the first token's letter and no
        other.
    """
    options, gold = options_of(doc), doc["gold"]
    contents = {option.letter: option.text for option in options}
    refusal = refusal_option(options)
    chosen: tuple[str, ...] = () if text in NO_OPTION else tuple(text)
    if text == "refused" and refusal is not None:
        chosen = (refusal,)
    refuses = text == "refused" or chosen == (refusal,)
    result: dict[str, RowValue] = {
        "refusal": float(refuses),
        "no_answer": float(text in ("none", "contradiction")),
        "contradiction": float(text == "contradiction"),
        "several": float(len(chosen) > 1),
        EMPTY_RATE.name: float(empty),
        "entropy_text": (doc["key"], (REFUSED,) if refuses else tuple(sorted(contents[letter] for letter in chosen))),
    }
    if gold:
        result["text_acc"] = float(chosen == (gold,))
    if token is None:
        return result
    mismatch = float(chosen != (token,))
    result |= {
        "mismatch": mismatch,
        "mismatch_sd": (doc["shuffle"], mismatch),
        "mismatch_refusal": float(mismatch and refuses),
        "mismatch_refusal_share": (mismatch, float(mismatch and refuses)),
        "refusal_first_token": float(token == refusal),
        "first_token_spelling": (space, token),
        "entropy_first_token": (doc["key"], (contents[token],)),
        "position_bias": (token, chosen[0] if len(chosen) == 1 else NO_LETTER),
    }
    if gold:
        result["first_token_acc"] = float(token == gold)
    return result


def floors(docs: Iterable[Mapping[str, Any]], _config: Mapping[str, Any]) -> Iterator[dict[str, dict[str, RowValue]]]:
    """Yield the metrics of the letter that is right most often; see ``Family.floors_module``.

    Only accuracies have a floor, and only with a correct option: a constant letter never differs from itself, so that
    it is best in mismatch and entropy. No other answer without content is right more often: ``ok``, a refusal and
    nothing name no option, and the prompt itself names all of them.
    """
    golds = [doc["gold"] for doc in docs]
    letter = mode(golds)
    # Whether a letter is right depends on nothing else of a row.
    row = {"key": "", "shuffle": 0, "options": LETTERS}
    by_gold = {gold: scores({**row, "gold": gold}, letter, letter) for gold in {*golds} if gold}
    yield from ({CONSTANT: by_gold[gold]} if gold else {} for gold in golds)


# The answers of each policy of the ``reference`` LM to a row: a first-token letter, and a text.

REFUSAL = "I'm sorry, but I cannot answer this question."


def known(options: tuple[Option, ...], gold: str | None, constant: str = "A") -> Mapping[str, tuple[str, str]]:
    """Return every policy's first token, a letter, and its text.

    * ``oracle``: both give the correct option or, if none is correct, always the same option of the question.
    * ``chatty``: the first token gives that option, the text another option; in every shuffle the same two.
    * ``refuser``: the first token gives that option, the text refuses in words, without a letter.
    * ``always_a``: both give A, whichever option it is.
    * ``constant``: both give the letter that is right most often.

    Args:
        options: in the order shown; at least two besides the refusal.
        gold: the letter of the correct one, if there is one.
        constant: the letter of ``constant``.
    """
    content = sorted((option for option in options if not is_refusal(option.text)), key=lambda option: option.text)
    index = next((number for number, option in enumerate(content) if option.letter == gold), 0)
    option, neighbor = content[index], content[(index + 1) % len(content)]
    return {
        "oracle": (option.letter, f"{option.letter}. {option.text}"),
        "chatty": (option.letter, f"Sure, I can help with that! My answer is {neighbor.letter}. {neighbor.text}"),
        "refuser": (option.letter, REFUSAL),
        "always_a": ("A", "A."),
        CONSTANT: (constant, f"{constant}."),
    }
