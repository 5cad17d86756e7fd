"""Judges responses against their instructions, one or many, by the answer that is left without its reasoning."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

from lm_eval_ext.verifiers.checker import ALL_EDITIONS, Checker, Edition, instruction
from lm_eval_ext.verifiers.rows import GROUND_TRUTH, ROW_FIELDS, unpacked
from lm_eval_ext.verifiers.text import Text

_log = logging.getLogger(__name__)

REASONING_TAGS = "think|thinking|reasoning"
"""The names of the tags around reasoning, as alternatives of a regular expression."""
_TAG = re.compile(rf"<(?P<closes>/)?(?P<name>{REASONING_TAGS})>", re.IGNORECASE)
_UNCLOSED = re.compile(rf"<(?:{REASONING_TAGS})>.*", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(rf"<(?:{REASONING_TAGS})>\s*\Z", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{REASONING_TAGS})>", re.IGNORECASE)
_UNOPENED = re.compile(rf"^.*</(?:{REASONING_TAGS})>", re.DOTALL | re.IGNORECASE)

END_TOKENS = (
    *("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|EOT|>", "<|end|>"),
    *("<|return|>", "<|END_OF_TURN_TOKEN|>", "<|endofturn|>", "<end_of_turn>", "<turn|>", "<eos>", "</s>", "[EOS]"),
    *("<｜end▁of▁sentence｜>", "<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]"),
)
"""What tokenizers put at the end of a reply, and after it in a batch."""


def without_reasoning(response: str) -> str:
    """Return a response without its reasoning, in linear time.

    A block that is opened but never closed means that the answer was not reached: everything from its start is dropped,
    so a response that consists only of it becomes empty. A closing tag without an opening one means that the chat
    template had put the opening one into the prompt: everything before it is reasoning. A response without reasoning is
    returned unchanged; otherwise surrounding white space is stripped from the answer.
    """
    if "<" not in response:  # nearly every response, and reading it three times would show in the time of a verdict
        return response
    answer = _without_blocks(response)
    answer = _UNCLOSED.sub("", answer)
    answer = _UNOPENED.sub("", answer)
    return response if answer == response else answer.strip()


def with_opening_tag(response: str, prompt: str) -> str:
    """Return a response with the tag that its prompt ends with, if it never closes that block.

    Some chat templates open a block of reasoning, so that a response begins in the middle of it. One that never closes
    it is all reasoning, but looks like an answer. One that has the tag already is returned unchanged.

    Args:
        response: the model's response.
        prompt: what the model was shown, after its chat template.
    """
    opening = _OPENED.search(prompt)
    if opening is None or _CLOSING.search(response) or response.startswith(opening.group()):
        return response
    return opening.group() + response


def without_end_tokens(response: str, end_tokens: Sequence[str] = END_TOKENS) -> str:
    """Return a response without the end tokens that a trainer left in it, and without what stands after the last."""
    while (text := response.rstrip()).endswith(tuple(end_tokens)):
        response = text[: -max(len(token) for token in end_tokens if text.endswith(token))]
    return response


def is_empty(response: str | None) -> bool:
    """Return whether a response has no answer.

    Args:
        response: ``None`` if an API withheld it. It is also empty if it is blank, or if nothing but white space is left
            ``without_reasoning``: the model stopped after its reasoning, or was cut off before the end of it.
    """
    return response is None or not without_reasoning(response).strip()


def is_cut_off(response: str) -> bool:
    """Return whether a response ends inside a reasoning block, so that the model never got to its answer."""
    return "<" in response and bool(_UNCLOSED.search(_without_blocks(response)))


def _without_blocks(response: str) -> str:
    r"""Return a response without its closed blocks, as matched by ``<(name)>.*?</\1>``.

    That expression itself would scan to the end of the response for every opening tag that is never closed.
    """
    tags = list(_TAG.finditer(response))
    following: dict[str, int] = {}  # name → where the next closing tag of that name ends
    ends: list[int | None] = []
    for tag in reversed(tags):
        # A case-insensitive back reference compares lower case letter by letter.
        name = tag["name"].replace("\u0130", "i").lower()
        if tag["closes"]:
            following[name] = tag.end()
            ends.append(None)
        else:
            ends.append(following.get(name))
    pieces, position = [], 0
    for tag, end in zip(tags, reversed(ends), strict=True):
        if end is not None and tag.start() >= position:
            pieces.append(response[position : tag.start()])
            position = end
    return "".join([*pieces, response[position:]])


@dataclass(frozen=True)
class Verdict:
    """Which of its instructions a response follows.

    Attributes:
        follow_instruction_list: one verdict per instruction, in their order.
    """

    follow_instruction_list: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Reject an empty list: without instructions a response is neither right nor wrong."""
        if not self.follow_instruction_list:
            raise ValueError("no instructions; expected at least one")

    @property
    def follow_all_instructions(self) -> bool:
        """Whether every instruction is followed."""
        return all(self.follow_instruction_list)

    @property
    def share(self) -> float:
        """The share of the instructions that are followed."""
        return sum(self.follow_instruction_list) / len(self.follow_instruction_list)


class Response:
    """A response, ready to be judged by any number of instructions, strictly and loosely.

    Loosely, a response follows an instruction if any of eight variants of it does (IFEval, section 2.1): unchanged,
    without asterisks, without its first line, its last line or both, and these three without asterisks.

    Args:
        raw: the model's response; ``None`` if an API withheld it, which is the same as a blank one: it follows no
            instruction.
        strip_reasoning: whether reasoning blocks are removed before anything is judged (see ``without_reasoning``); a
            response that consists only of reasoning is blank, too.
    """

    def __init__(self, raw: str | None, *, strip_reasoning: bool = True) -> None:
        text = Text("" if raw is None else raw)
        self.text = Text(without_reasoning(text.raw)) if strip_reasoning else text

    @cached_property
    def variants(self) -> tuple[Text, ...]:
        """The loose variants that differ from the response and from each other and are not blank."""
        raw = self.text.raw
        lines = raw.split("\n")
        cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
        candidates = [variant for base in (raw, *cut) for variant in (base, base.replace("*", ""))]
        return tuple(Text(variant) for variant in dict.fromkeys(candidates) if variant != raw and variant.strip())

    def follows(self, instructions: Sequence[Checker], edition: Edition = "faithful", loose: bool = False) -> Verdict:
        """Judge the response, strictly or loosely; each checker decides by its ``faithful`` or ``repaired``.

        Args:
            instructions: at least one.
            edition: see ``Edition``.
            loose: whether a variant of the response suffices.

        Raises:
            ValueError: no instructions, or an unknown edition.
        """
        _require_known(edition)
        return Verdict(
            tuple(
                checker.follows(self.text, edition)
                or (loose and any(checker.follows(variant, edition) for variant in self.variants))
                for checker in instructions
            )
        )


def _require_known(edition: str) -> None:
    if edition not in ALL_EDITIONS:
        raise ValueError(f"unknown edition {edition!r}; expected {' or '.join(map(repr, ALL_EDITIONS))}")


def instructions_of(ids: Sequence[str], kwargs: Sequence[Mapping[str, Any] | None]) -> tuple[Checker, ...]:
    """Return the checkers of an IFEval row.

    Args:
        ids: the row's ``instruction_id_list``; an id may occur more than once.
        kwargs: the row's ``kwargs``: one mapping of arguments per id; nulls in it are ignored.

    Raises:
        TypeError, ValueError: as ``instruction``, or the two lists differ in length.
    """
    for name, values in (("instruction_id_list", ids), ("kwargs", kwargs)):
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise TypeError(f"{name} must be a list, found {values!r}")
    if len(ids) != len(kwargs):
        raise ValueError(f"kwargs has {len(kwargs)} entries; expected {len(ids)}, one per instruction")
    for number, arguments in enumerate(kwargs, start=1):
        if arguments is not None and not isinstance(arguments, Mapping):
            raise TypeError(f"kwargs, entry {number}: expected an object of arguments, found {arguments!r}")
    return tuple(instruction(name, arguments) for name, arguments in zip(ids, kwargs, strict=True))


def verify(  # noqa: PLR0913 # half of them are options, and have names
    response: str | None,
    instruction_id_list: Sequence[str],
    kwargs: Sequence[Mapping[str, Any] | None],
    *,
    edition: Edition = "faithful",
    loose: bool = False,
    strip_reasoning: bool = True,
) -> Verdict:
    """Return which instructions a response follows.

    Args:
        response: the model's response; ``None``, if an API withheld it, follows none.
        instruction_id_list: IFEval's instruction ids.
        kwargs: the arguments of each instruction, in the same order; nulls are ignored.
        edition: ``"faithful"`` (IFEval's published verdicts, made deterministic) or ``"repaired"``.
        loose: whether a variant of the response suffices (see ``Response``).
        strip_reasoning: whether reasoning blocks (``<think>…</think>``) are removed before anything is judged.

    Raises:
        TypeError, ValueError: no or unknown instructions, missing or unknown arguments, or a response that is not text.
    """
    answer = Response(response, strip_reasoning=strip_reasoning)
    return answer.follows(instructions_of(instruction_id_list, kwargs), edition, loose)


@overload
def verify_all(
    rows: Iterable[Mapping[str, Any]],
    *,
    edition: Edition = ...,
    loose: bool = ...,
    strip_reasoning: bool = ...,
    return_exceptions: Literal[False] = ...,
) -> Iterator[Verdict]: ...


@overload
def verify_all(
    rows: Iterable[Mapping[str, Any]],
    *,
    edition: Edition = ...,
    loose: bool = ...,
    strip_reasoning: bool = ...,
    return_exceptions: bool,
) -> Iterator[Verdict | Exception]: ...


def verify_all(
    rows: Iterable[Mapping[str, Any]],
    *,
    edition: Edition = "faithful",
    loose: bool = False,
    strip_reasoning: bool = True,
    return_exceptions: bool = False,
) -> Iterator[Verdict | Exception]:
    """Yield the verdict of each row.

    Args:
        rows: rows with ``response``, ``instruction_id_list`` and ``kwargs``, or with ``response`` and ``ground_truth``
            (see ``unpacked``); other fields are ignored. That a response is ``None`` is logged once.
        edition: as in ``verify``.
        loose: as in ``verify``.
        strip_reasoning: as in ``verify``.
        return_exceptions: whether the error of an invalid row is yielded in place of its verdict, as in
            ``asyncio.gather``, and the rows after it are judged.

    Raises:
        TypeError, ValueError: as ``verify``, or a field is missing. Raised when the row is reached; the message gives
            its number.
    """
    _require_known(edition)  # which is no error of a row
    is_logged = False
    for number, packed in enumerate(rows, start=1):
        try:
            row = _complete(packed)
            response = Response(row["response"], strip_reasoning=strip_reasoning)
            verdict = response.follows(instructions_of(row["instruction_id_list"], row["kwargs"]), edition, loose)
        except (TypeError, ValueError) as error:
            with_row = type(error)(f"row {number}: {error}")
            if not return_exceptions:
                raise with_row from error
            yield with_row
            continue
        if row["response"] is None and not is_logged:
            is_logged = True
            _log.warning("row %d has a null response, which follows no instruction; others are not named", number)
        yield verdict


def _complete(packed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with IFEval's columns and a response.

    Raises:
        ValueError: a field is missing or malformed.
    """
    try:
        row = unpacked(packed)
    except ValueError as error:
        raise ValueError(f"{GROUND_TRUTH}: {error}") from error
    missing = [field for field in ROW_FIELDS if field not in row]
    if missing:
        raise ValueError(f"no field {', '.join(missing)}; found {', '.join(row)}")
    return row
