"""Judges a row of another library: its instructions are named by IFEval's two columns, or by IF-RLVR's one.

Instructions of test sets are kept out of training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.verifiers import (
    ALL_EDITIONS,
    Checker,
    Edition,
    Response,
    Verdict,
    ifeval,
    ifrlvr,
    instructions_of,
    own,
    unpacked,
)
from lm_eval_ext.verifiers.rows import COLUMNS, GROUND_TRUTH, cell
from lm_eval_ext.verifiers.tokenization import require_for

_SHOWN = 60
"""How many characters of a prompt an error shows."""
_LIBRARY = f"{own.__name__.rpartition('.')[0]}."
FOR_TRAINING = (ifeval, ifrlvr, own)
"""The parts of the library whose instructions may be trained on: IFEval's, IF-RLVR's, and this package's own."""


class RowError(ValueError):
    """A row cannot be judged; the message names it and what is wrong with it."""


@dataclass(frozen=True)
class Judging:
    """How responses are judged; the options of ``verify``.

    Attributes:
        edition: see ``verifiers.Edition``.
        strip_reasoning: whether reasoning blocks are removed before anything is judged.
    """

    edition: Edition = "faithful"
    strip_reasoning: bool = True

    def __post_init__(self) -> None:
        """Reject an unknown edition before the first response, which may be hours away."""
        if self.edition not in ALL_EDITIONS:
            raise ValueError(f"unknown edition {self.edition!r}; expected {' or '.join(map(repr, ALL_EDITIONS))}")

    def answer(self, response: str) -> Response:
        """Return a response as it is judged."""
        return Response(response, strip_reasoning=self.strip_reasoning)

    def strict_and_loose(self, response: str, instructions: tuple[Checker, ...], where: str) -> dict[str, Verdict]:
        """Return the two verdicts by the words with which the harness's names tell them apart.

        In the repaired edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and ``loose``.

        Args:
            response: the model's response.
            instructions: of the response's row.
            where: names the row in errors.

        Raises:
            RowError: the response cannot be judged.
        """
        with naming(where):
            answer = self.answer(response)
            verdicts = (answer.follows(instructions, self.edition, loose) for loose in (False, True))
            return dict(zip(words(self.edition), verdicts, strict=True))


def words(edition: Edition) -> tuple[str, str]:
    """Return the words for strict and loose verdicts in the names of figures, as in ``prompt_level_strict_acc``."""
    return ("repaired", "repaired_loose") if edition == "repaired" else ("strict", "loose")


def row_columns(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the two columns of IFEval's rows that name a row's instructions, also out of ``ground_truth``.

    Args:
        row: with these columns, or with IF-RLVR's (see ``unpacked``); as lists, as arrays out of Parquet, or as JSON.
        where: names the row in errors.

    Raises:
        RowError: a column is missing, or ``ground_truth`` is malformed.
    """
    cells = {name: cell(row[name]) for name in (*COLUMNS, GROUND_TRUTH) if name in row}
    if isinstance(cells.get(GROUND_TRUTH), Mapping):
        cells = {name: cell(value) for name, value in cells[GROUND_TRUTH].items() if name in COLUMNS}
    elif cells.get(GROUND_TRUTH) is not None:  # in a mixed set, the other two may be there and empty
        cells = {name: value for name, value in cells.items() if value not in (None, "", [])}
    with naming(f"{where}: {GROUND_TRUTH!r}"):
        plain = unpacked(cells)
    missing = [name for name in COLUMNS if name not in plain]
    if missing:
        raise RowError(
            f"{where}: no {' and no '.join(map(repr, missing))}; expected 'instruction_id_list' and 'kwargs', "
            f"as in IFEval's rows, or {GROUND_TRUTH!r}, as in IF-RLVR's; "
            f"found {', '.join(map(repr, row)) or 'nothing'}"
        )
    return {name: plain[name] for name in COLUMNS}


def labelled(label: Any, *others: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the row of a label, which is the only cell that some trainers hand to a reward.

    Args:
        label: ``ground_truth``, or an object with IFEval's two columns, also as JSON; or nothing.
        others: where the columns are if there is no label.
    """
    if cell(label) not in (None, ""):
        return {GROUND_TRUTH: label}
    return next((row for row in others if row and {*COLUMNS, GROUND_TRUTH} & row.keys()), {})


def row_instructions(row: Mapping[str, Any], where: str) -> tuple[Checker, ...]:
    """Return the checkers of a row.

    Args:
        row: see ``row_columns``.
        where: names the row in errors.

    Raises:
        RowError: as ``row_columns``, or the values are not instructions with their arguments.
    """
    columns = row_columns(row, where)
    with naming(where):
        instructions = instructions_of(columns["instruction_id_list"], columns["kwargs"])
    if not instructions:
        raise RowError(f"{where}: no instructions; expected at least one")
    return instructions


def prompt_and_columns(row: Mapping[str, Any], origin: str = "") -> tuple[str, dict[str, Any]]:
    """Return the prompt of a row and its ``row_columns``, which are instructions with their arguments.

    What their verdicts need is looked for now, and not when the model has answered.

    Args:
        row: with ``prompt`` and, to be named in errors, ``key``; see ``row_columns``.
        origin: what the row is of, for messages.

    Raises:
        RowError: as ``row_instructions``, or the prompt is no text.
        MissingDataError: data of NLTK are not installed.
    """
    where = f"{origin}row with key {row['key']!r}" if "key" in row else f"{origin}row without a key"
    if not isinstance(row.get("prompt"), str):
        raise RowError(f"{where}: 'prompt' must be text, found {row.get('prompt')!r}")
    require_for(instruction.id for instruction in row_instructions(row, where))
    return row["prompt"], row_columns(row, where)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Name the row in an error of the checkers."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise RowError(f"{where}: {error}") from error


def text_of(prompt: Any) -> str:
    """Return the text of a prompt, or of the last message of a conversation; empty if there is none.

    Args:
        prompt: a text, or messages as a list or as an array out of Parquet; their content may be in parts.
    """
    messages = prompt.tolist() if hasattr(prompt, "tolist") else prompt
    if isinstance(messages, Sequence) and messages and isinstance(messages[-1], Mapping):
        return text_in(messages[-1].get("content")) or ""
    return messages if isinstance(messages, str) else ""


def text_in(content: Any) -> str | None:
    """Return the text of a message's content, which may be in parts; ``None`` if it is neither text nor parts."""
    parts = content.tolist() if hasattr(content, "tolist") else content
    if isinstance(parts, str):
        return parts
    try:
        return "".join(part["text"] for part in parts if part["type"] == "text")
    except (TypeError, KeyError):
        return None


def named(row: str, prompt: object) -> str:
    """Return the name of a row for messages, with the beginning of its prompt.

    Args:
        row: the number or key of the row, for example ``"row 3"``.
        prompt: see ``text_of``; left out if it has no text.
    """
    start = " ".join(text_of(prompt).split())
    return f"{row} ({start if len(start) <= _SHOWN else f'{start[:_SHOWN]}…'!r})" if start else row


def is_for_tests(instruction: type[Checker]) -> bool:
    """Return whether an instruction type must not be trained on.

    Models are trained on IFEval's 25 instructions and IF-RLVR's 29, and whoever registers a checker of their own may
    train on it. Every other part of the library belongs to a benchmark of instructions unlike those, such as IFBench.
    """
    module = f"{instruction.__module__}."
    return module.startswith(_LIBRARY) and not module.startswith(tuple(f"{part.__name__}." for part in FOR_TRAINING))


def refuse_tests(instructions: Iterable[Checker], where: str, allow_test_instructions: bool) -> None:
    """Refuse instructions that are meant for tests, unless they are allowed.

    Args:
        instructions: of one row.
        where: names the row in errors.
        allow_test_instructions: whether the user said that the model will not be tested with them.

    Raises:
        RowError: there is such an instruction.
    """
    if allow_test_instructions:
        return
    for instruction in instructions:
        if is_for_tests(type(instruction)):
            raise RowError(
                f"{where}: {instruction.id!r} is an instruction for tests (IFBench); a model that was rewarded for it "
                "no longer shows there whether it follows unfamiliar instructions; train on those of IFEval and "
                "IF-RLVR, or pass allow_test_instructions=True if the model is never tested with it"
            )
