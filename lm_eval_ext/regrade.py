"""``lm-eval-ext verify``: recorded responses, in any supported format, judged by their verifiable instructions."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from lm_eval_ext.classifier.evaluation import wilson
from lm_eval_ext.cli.progress import with_progress
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS, answers_to
from lm_eval_ext.results.issue import grouped
from lm_eval_ext.results.rows import is_sample, responses_in
from lm_eval_ext.results.samples import scores_of_draws
from lm_eval_ext.sources import RowsError, numbered_rows, row_of_line
from lm_eval_ext.trip_wires import IN_WORDS, Rollout, all_tripped
from lm_eval_ext.verifiers import ALL_EDITIONS, EDITIONS, Checker, Edition, Response, Verdict, instructions_of, unpacked
from lm_eval_ext.verifiers.rows import COLUMNS, GROUND_TRUTH, ROW_FIELDS

FIELDS = ("key", "prompt", *COLUMNS)
"""Of a file of prompts: IFEval's ``input_data.jsonl``."""
EXAMPLES = "examples"
"""One more answer of an audit: what stands in quotation marks in the prompt, a line each."""
SHOWN = 40
"""How many characters of an answer a table shows."""
MOST_ERRORS = 20
"""How many invalid rows a message names."""
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")


def add_verify_to(verify: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    verify.add_argument(
        "rows",
        metavar="ROWS.jsonl",
        help="samples of manyifeval, ifbench or ifeval tasks (lm_eval --log_samples); or rows with response, "
        "instruction_id_list and kwargs (as in google/IFEval; null arguments are ignored), or with response and "
        "ground_truth (as in IF-RLVR's data sets); or, with --prompts, "
        'rows with key and response; "-": standard input',
    )
    verify.add_argument(
        "--prompts",
        metavar="PROMPTS.jsonl",
        help="rows with key, prompt, instruction_id_list and kwargs (IFEval's input_data.jsonl); each "
        "response is judged by the instructions of its prompt, found by key or else by prompt",
    )
    verify.add_argument(
        "--edition",
        choices=ALL_EDITIONS,
        default="faithful",
        help="faithful (the default): IFEval's published verdicts, made deterministic; repaired: a human reader's; "
        "multi_if: those of Multi-IF's code, which counts words and sentences by the language of the response",
    )
    verify.add_argument(
        "--loose",
        action="store_true",
        help="print loose verdicts: also judge the response without its first line, last line or asterisks",
    )
    verify.add_argument("--keep-reasoning", action="store_true", help="judge reasoning blocks as part of the response")
    instead = verify.add_mutually_exclusive_group()
    instead.add_argument(
        "--floors",
        action="store_true",
        help="judge no responses; print the share of the rows that answers without content pass: ok, the prompt "
        "itself, a refusal, nothing. Rows need a prompt and no response",
    )
    instead.add_argument(
        "--audit",
        action="store_true",
        help="like --floors, for each type of instruction, and also for what the prompt has in quotation marks; types "
        "that reward such answers first; and the shortest answer that a search found to pass",
    )
    instead.add_argument(
        "--trip-wires",
        action="store_true",
        help="print no verdicts but how many responses look as if they were written for the checkers: the prompt "
        "echoed, keywords alone, a template, hardly longer than the cheapest passing answer",
    )
    verify.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    judge = _print_floors if options.floors or options.audit else _print_trip_wires if options.trip_wires else _judge
    prompts = read_prompts(Path(options.prompts)) if options.prompts else None
    if options.rows == "-":
        judge(sys.stdin.buffer, "standard input", prompts, options)
    else:
        with Path(options.rows).open("rb") as lines:
            judge(with_progress(lines), options.rows, prompts, options)
    return 0


def _print_floors(lines: Iterable[bytes], origin: str, prompts: Prompts | None, options: argparse.Namespace) -> None:
    of_responses = {
        "--edition": options.edition != "faithful",
        "--loose": options.loose,
        "--keep-reasoning": options.keep_reasoning,
    }
    if given := [name for name, is_given in of_responses.items() if is_given]:
        raise RowsError(
            f"{given[0]}: --floors and --audit judge no responses, and print strict verdicts of both editions; "
            f"remove {given[0]}"
        )
    rows = (prompt_and_instructions(where, row, prompts) for where, row in numbered_rows(lines, origin))
    overall, by_type = accepted(rows)
    if not overall.total:
        raise RowsError(f"{origin}: no rows; expected one prompt with its instructions per line")
    answers = (*CONTENT_FREE_ANSWERS, EXAMPLES)
    print(f"{overall.total} rows; percent that an answer passes, strictly: as published / repaired")
    listed = {"all instructions of a row": overall} | (by_type if options.audit else {})
    width = max(map(len, listed))
    cheapest = "  cheapest answer to the first, with its characters" if options.audit else ""
    print(f"{'':{width}}  {'asked':>6}" + "".join(f"{answer:>14}" for answer in answers) + cheapest)
    for name, tally in listed.items():
        shares = (" / ".join(f"{100 * tally.share(answer, edition):.1f}" for edition in EDITIONS) for answer in answers)
        cheapest = f"  {_cheapest(tally.first)}" if options.audit else ""
        print(f"{name:{width}}  {tally.total:>6}" + "".join(f"{share:>14}" for share in shares) + cheapest)


def _cheapest(instructions: Sequence[Checker]) -> str:
    """Return the cheapest passing answer by each edition, in words."""
    from lm_eval_ext.cheapest import cheapest  # noqa: PLC0415 # what writes responses takes a while to import

    texts = (cheapest(instructions, edition) for edition in EDITIONS)
    return " / ".join("none found" if text is None else f"{_abridged(text)} {len(text)}" for text in texts)


def _abridged(text: str) -> str:
    """Return the beginning of a text in a line, in quotation marks."""
    return json.dumps(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def _print_trip_wires(
    lines: Iterable[bytes], origin: str, prompts: Prompts | None, options: argparse.Namespace
) -> None:
    from lm_eval_ext.cheapest import cheapest  # noqa: PLC0415 # as above

    @cache
    def length(instructions: Sequence[Checker]) -> int | None:
        text = cheapest(instructions, options.edition)
        return None if text is None else len(text)

    errors: list[RowsError] = []
    rollouts, passed = [], []
    for judged in regrade(lines, origin, options.edition, not options.keep_reasoning, prompts, on_error=errors.append):
        row = judged.answered.prompt_row
        answer = Response(judged.answered.response, strip_reasoning=not options.keep_reasoning).text.raw
        instructions = instructions_of(row["instruction_id_list"], row["kwargs"])
        rollouts.append(Rollout(_prompt_of(row) or "", answer, instructions))
        passed.append((judged.loose if options.loose else judged.strict).follow_all_instructions)
    if not rollouts:
        _raise_all(errors, 0)
    wires = all_tripped(rollouts, length)
    print(f"{len(wires)} responses; percent that trip a wire, with 95 % intervals; passed: all instructions followed")
    print(
        f"{'':10}  {'responses':>9}  {'percent':>7}  {'from':>5}  {'to':>5}  {'passed':>6}  what it is, and the first"
    )
    for name, words in {**IN_WORDS, "any": "any of them"}.items():
        indices = [index for index, wire in enumerate(wires) if wire == name or (name == "any" and wire)]
        low, high = wilson(len(indices), len(wires))
        shares = f"{len(indices):>9}  {100 * len(indices) / len(wires):7.1f}  {100 * low:5.1f}  {100 * high:5.1f}"
        pays = f"{100 * fmean(passed[index] for index in indices):6.1f}" if indices else f"{'':6}"
        first = f": {_abridged(rollouts[indices[0]].answer)}" if indices and name != "any" else ""
        print(f"{name:10}  {shares}  {pays}  {words}{first}")
    _raise_all(errors, len(rollouts))


def _judge(lines: Iterable[bytes], origin: str, prompts: Prompts | None, options: argparse.Namespace) -> None:
    strict, loose, answered, rows, empty, null = [], [], set(), 0, 0, 0
    errors: list[RowsError] = []
    for judged in regrade(lines, origin, options.edition, not options.keep_reasoning, prompts, on_error=errors.append):
        # ASCII works in any terminal or locale, and a response may contain what UTF-8 cannot encode (a lone surrogate).
        print(json.dumps(judged.row(options.loose)))
        strict.append(judged.strict)
        loose.append(judged.loose)
        rows += judged.answered.draw <= 1
        empty += judged.is_empty
        null += judged.answered.response is None
        if prompts:
            answered.add(judged.answered.prompt_row["key"])
    sys.stdout.flush()
    if strict:
        print(f"{'rows':28}{rows}", file=sys.stderr)
        if len(strict) > rows:
            print(f"{'responses':28}{len(strict)}", file=sys.stderr)
        for name, value in accuracies(strict, loose, options.edition).items():
            print(f"{name:27} {value:.4f}", file=sys.stderr)
    shown = loose if options.loose else strict
    by_number = grouped((len(verdict.follow_instruction_list), verdict) for verdict in shown)
    if any(number > 1 for number in by_number):
        print(f"by number of instructions, {'loose' if options.loose else 'strict'}:", file=sys.stderr)
        print("instructions  responses  inst_level  prompt_level  predicted", file=sys.stderr)
        for number, verdicts in sorted(by_number.items()):
            inst_level = fmean(verdict.share for verdict in verdicts)
            prompt_level = fmean(verdict.follow_all_instructions for verdict in verdicts)
            # Equation 3, the curse of instructions.
            levels = f"{inst_level:12.4f}{prompt_level:14.4f}{inst_level**number:11.4f}"
            print(f"{number:12}{len(verdicts):11}{levels}", file=sys.stderr)
    if empty:
        print(
            f"note: {empty} of {len(strict)} responses are empty ({null} of them null) and follow no instruction",
            file=sys.stderr,
        )
    if prompts and len(answered) < len(prompts.by_key):
        missing = [key for key in prompts.by_key if key not in answered]
        print(
            f"note: {len(missing)} of {len(prompts.by_key)} prompts have no response; the first is {missing[0]!r}",
            file=sys.stderr,
        )
    _raise_all(errors, rows)


def _raise_all(errors: Sequence[RowsError], rows: int) -> None:
    """Raise what was wrong with invalid rows, if there were any besides the valid ones."""
    if errors:
        messages = [str(error) for error in errors[:MOST_ERRORS]]
        more = [f"and {len(errors) - len(messages)} more"] if len(errors) > len(messages) else []
        counted = f"{len(errors)} of {rows + len(errors)} rows are invalid; they have no verdict and are in no figure:"
        raise RowsError("\n".join([counted, *messages, *more]))


# What answers without content earn.


def examples_in(prompt: str) -> str:
    """Return what a prompt has in quotation marks or as code, a line each; empty if it has nothing of the kind."""
    return "\n".join("".join(parts) for parts in _QUOTED.findall(prompt))


@dataclass
class Accepted:
    """How often answers without content follow instructions, strictly judged.

    Attributes:
        total: the number of rows, or of instructions of one type.
        followed: of these, by answer and edition: rows with all instructions followed, or followed instructions.
        first: the instructions of the first row, or the first instruction of the type.
    """

    total: int = 0
    followed: Counter[tuple[str, Edition]] = field(default_factory=Counter)
    first: tuple[Checker, ...] = ()

    def share(self, answer: str, edition: Edition) -> float:
        """Return the share that an answer follows."""
        return self.followed[answer, edition] / self.total

    @property
    def floor(self) -> float:
        """The share of the best of ``CONTENT_FREE_ANSWERS``, by the published verdicts."""
        return max(self.share(answer, "faithful") for answer in CONTENT_FREE_ANSWERS)


def accepted(rows: Iterable[tuple[str, Sequence[Checker]]]) -> tuple[Accepted, dict[str, Accepted]]:
    """Return how often each answer is accepted: of rows, and of the instructions of each type.

    Args:
        rows: the prompt and the instructions of each row.

    Returns:
        Of rows; and by instruction id, those that pay most for the best of ``CONTENT_FREE_ANSWERS`` first.
    """
    overall, by_type = Accepted(), dict[str, Accepted]()
    for prompt, instructions in rows:
        answers = answers_to(prompt) | {EXAMPLES: examples_in(prompt)}
        overall.total += 1
        overall.first = overall.first or tuple(instructions)
        for instruction in instructions:
            by_type.setdefault(instruction.id, Accepted(first=(instruction,))).total += 1
        for name, answer in answers.items():
            response = Response(answer)
            for edition in EDITIONS:
                verdict = response.follows(instructions, edition)
                overall.followed[name, edition] += verdict.follow_all_instructions
                for instruction, followed in zip(instructions, verdict.follow_instruction_list, strict=True):
                    by_type[instruction.id].followed[name, edition] += followed
    return overall, dict(sorted(by_type.items(), key=lambda item: (-item[1].floor, item[0])))


# Verdicts.


@dataclass(frozen=True)
class Judged:
    """A row with the verdicts of one edition.

    Attributes:
        answered: the row.
        strict: which instructions the response follows.
        loose: which instructions the response or a variant of it follows.
        is_empty: whether there was nothing to judge.
    """

    answered: Answered
    strict: Verdict
    loose: Verdict
    is_empty: bool

    def row(self, loose: bool) -> dict[str, Any]:
        """Return the row with ``follow_instruction_list`` and ``follow_all_instructions``, replacing older ones."""
        verdict = self.loose if loose else self.strict
        return {
            **self.answered.row,
            "follow_instruction_list": list(verdict.follow_instruction_list),
            "follow_all_instructions": verdict.follow_all_instructions,
        }


def regrade(  # noqa: PLR0913 # half of them are options
    lines: Iterable[bytes],
    origin: str,
    edition: Edition = "faithful",
    strip_reasoning: bool = True,
    prompts: Prompts | None = None,
    *,
    on_error: Callable[[RowsError], None] | None = None,
) -> Iterator[Judged]:
    """Yield the verdicts of each line, of every draw if it has several.

    Args:
        lines: in a format that ``answered`` accepts. A null response (an API withheld it) is empty and follows no
            instruction. Blank lines are skipped.
        origin: the file's name, for messages.
        edition: see ``verifiers.Edition``.
        strip_reasoning: whether reasoning blocks are removed before a response is judged.
        prompts: supplies the instructions, if given.
        on_error: called with the error of an invalid line, after which the next one is judged; if it is ``None``, the
            error is raised.

    Raises:
        RowsError: a line is invalid, or there are no rows; the message names file, row and field.
    """
    has_rows = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        has_rows = True
        where = f"{origin}, row {number}"
        try:
            judged = _judged(where, row_of_line(where, line), edition, strip_reasoning, prompts)
        except RowsError as error:
            if on_error is None:
                raise
            on_error(error)
        else:
            yield from judged
    if not has_rows:
        raise RowsError(f"{origin}: no rows; expected one response per line")


def _judged(
    where: str, row: Mapping[str, Any], edition: Edition, strip_reasoning: bool, prompts: Prompts | None
) -> list[Judged]:
    """Return the verdicts of a row's draws; for the parameters, see ``regrade``."""
    judged = []
    for draw in answered(where, row, prompts):
        with _naming(where, draw.prompt_row):
            instructions = instructions_of(draw.prompt_row["instruction_id_list"], draw.prompt_row["kwargs"])
            response = Response(draw.response, strip_reasoning=strip_reasoning)
            strict, loose = (response.follows(instructions, edition, loose) for loose in (False, True))
        judged.append(Judged(draw, strict, loose, response.text.is_blank))
    return judged


@contextmanager
def _naming(where: str, row: Mapping[str, Any]) -> Iterator[None]:
    """Name a row, and its fields that say what was asked, in an error of the checkers."""
    try:
        yield
    except (TypeError, ValueError) as error:
        fields = "fields 'instruction_id_list' and 'kwargs'"
        with suppress(ValueError):
            packed = unpacked({GROUND_TRUTH: row.get(GROUND_TRUTH)})
            if all(packed[name] == row[name] for name in COLUMNS):
                fields = f"field {GROUND_TRUTH!r}"
        raise RowsError(f"{where}, {fields}: {error}") from error


def accuracies(strict: Sequence[Verdict], loose: Sequence[Verdict], edition: Edition) -> dict[str, float]:
    """Return the accuracies under the harness's names.

    Args:
        strict: by response; at least one.
        loose: by response.
        edition: the edition of the verdicts. The harness's names are those of published verdicts.

    Returns:
        ``prompt_level_strict_acc``: the share of the responses that follow all their instructions;
        ``inst_level_strict_acc``: the share of all instructions that are followed; both also loose. In the repaired
        edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and ``loose``.
    """
    names = ("repaired", "repaired_loose") if edition == "repaired" else ("strict", "loose")
    figures = {}
    for name, verdicts in zip(names, (strict, loose), strict=True):
        followed = [is_followed for verdict in verdicts for is_followed in verdict.follow_instruction_list]
        figures[f"prompt_level_{name}_acc"] = fmean(verdict.follow_all_instructions for verdict in verdicts)
        figures[f"inst_level_{name}_acc"] = fmean(followed)
    return figures


# The lines: responses with their instructions, in any of the formats.


@dataclass(frozen=True)
class Answered:
    """A response with its instructions.

    Attributes:
        row: the parsed line, with the instructions of its prompt added if it was recorded without them.
        prompt_row: the mapping with ``instruction_id_list`` and ``kwargs``.
        response: the model's response; ``None`` if an API withheld it.
        draw: the number of the response among those of its row, from 1, if the row was answered several times
            (``repeats``) or has several turns, else 0.
    """

    row: Mapping[str, Any]
    prompt_row: Mapping[str, Any]
    response: str | None
    draw: int = 0


def answered(where: str, row: Mapping[str, Any], prompts: Prompts | None) -> tuple[Answered, ...]:
    """Return the response of a row, or each of several draws, whose rows have their number as ``draw``.

    Args:
        where: file and row, for messages.
        row: a row with ``response``, ``instruction_id_list`` and ``kwargs``, or with
            ``ground_truth`` (see ``unpacked``) in place of these two; a line of the harness's samples, whose
            ``doc`` has them; or, with ``prompts``, a row with ``response`` and the ``key`` (or ``prompt``) of the
            prompt that it answers.
        prompts: supplies the instructions, if given.

    Raises:
        RowsError: the line has none of these formats; the message names file, row and field.
    """
    prompt_row = _prompt_row(where, row, prompts)
    if prompts is None and is_sample(row):
        try:
            responses = responses_in(row)
            turns = tuple(_turns(row, prompt_row, responses))
        except (TypeError, ValueError) as error:
            raise RowsError(f"{where}, {error}") from error
        if turns or len(responses) == 1:
            return turns or (Answered(row, prompt_row, responses[0]),)
        return tuple(
            Answered({**row, "draw": draw}, prompt_row, response, draw)
            for draw, response in enumerate(responses, start=1)
        )
    if prompts is None:
        row = prompt_row
        _require(where, row, ROW_FIELDS)
    else:
        _require(where, row, ("response",))
        row = {**prompt_row, **row, **{field: prompt_row[field] for field in COLUMNS}}
    response = row["response"]
    if response is not None and not isinstance(response, str):
        raise RowsError(f"{where}, field 'response': expected text, found {response!r}")
    return (Answered(row, prompt_row, response),)


def _turns(row: Mapping[str, Any], doc: Mapping[str, Any], responses: Sequence[str | None]) -> Iterator[Answered]:
    """Yield the answers to each message of a conversation, with its number as ``turn``; none of other samples.

    Of several draws of a run without scores, only the first has more than the last answer.

    Args:
        row: a line of the harness's samples.
        doc: its document.
        responses: the last answer of each draw.

    Raises:
        TypeError: the line does not have the turns of each draw.
    """
    if "in_force" not in doc or "turns" not in row:
        return
    rows = [
        {**doc, **{name: [doc[name][index] for index in indices] for name in COLUMNS}} for indices in doc["in_force"]
    ]
    of_draws = [of_draw["turns"] for of_draw in scores_of_draws(row) or [dict(row)]]
    number = 0
    for draw, response in enumerate(responses, start=1):
        named = {**row, **({"draw": draw} if len(responses) > 1 else {})}
        is_known = draw <= len(of_draws)
        answers = [record["answer"] for record in of_draws[draw - 1]] if is_known else [response]
        first = 1 if is_known else len(rows)
        for turn, (answer, turn_row) in enumerate(zip(answers, rows[first - 1 :], strict=False), start=first):
            number += 1
            yield Answered({**named, "turn": turn}, turn_row, answer, number)


def prompt_and_instructions(
    where: str, row: Mapping[str, Any], prompts: Prompts | None
) -> tuple[str, tuple[Checker, ...]]:
    """Return the prompt and the instructions of a row, which needs no response.

    Args:
        where: file and row, for messages.
        row: as in ``answered``, with a ``prompt``, or with ``messages``, of which the user's last one is the prompt.
        prompts: supplies both, if given.

    Raises:
        RowsError: the line has none of these; the message names file, row and field.
    """
    prompt_row = _prompt_row(where, row, prompts)
    _require(where, prompt_row, COLUMNS)
    prompt = _prompt_of(prompt_row)
    if prompt is None:
        raise RowsError(
            f"{where}: expected a field 'prompt' that is text, or 'messages' with one of the user; found "
            f"{', '.join(prompt_row)}"
        )
    with _naming(where, prompt_row):
        instructions = instructions_of(prompt_row["instruction_id_list"], prompt_row["kwargs"])
        if not instructions:
            raise ValueError("no instructions; expected at least one")
    return prompt, instructions


def _prompt_row(where: str, row: Mapping[str, Any], prompts: Prompts | None) -> Mapping[str, Any]:
    """Return the mapping that has the instructions: of a file of prompts, of a sample's document, or the row itself."""
    if prompts is not None:
        try:
            return prompts.of(row)
        except ValueError as error:
            raise RowsError(f"{where}: {error}") from error
    if not is_sample(row):
        return _plain(where, row)
    doc = _plain(f"{where}, field 'doc'", row["doc"])
    expected = "samples of a task with verifiable instructions, such as manyifeval_n03 or ifeval"
    _require(f"{where}, field 'doc'", doc, COLUMNS, expected, hint="")
    return doc


def _prompt_of(row: Mapping[str, Any]) -> str | None:
    """Return the prompt of a row, or the user's last message; ``None`` if there is no such text."""
    prompt = row.get("prompt")
    if "prompt" not in row and isinstance(row.get("messages"), list):
        messages = [message for message in row["messages"] if isinstance(message, Mapping)]
        users = [message for message in messages if message.get("role") == "user"]
        prompt = users[-1].get("content") if users else None
    return prompt if isinstance(prompt, str) else None


def _plain(where: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with IFEval's columns, taken out of ``ground_truth`` where it has that column instead.

    Raises:
        RowsError: ``ground_truth`` is malformed; the message names file, row and field.
    """
    try:
        return unpacked(row)
    except ValueError as error:
        raise RowsError(f"{where}, field {GROUND_TRUTH!r}: {error}") from error


def _require(
    where: str,
    row: Mapping[str, Any],
    fields: tuple[str, ...],
    expected: str = "",
    hint: str = f"; --prompts FILE supplies the instructions by key; {GROUND_TRUTH!r}, as in IF-RLVR, holds both",
) -> None:
    for name in fields:
        if name not in row:
            names = ", ".join(row) + (hint if name in COLUMNS else "")
            raise RowsError(f"{where}: no field {name!r}; expected {expected or ', '.join(fields)}; found {names}")


# A file of prompts with their instructions, for responses recorded without them.


@dataclass(frozen=True)
class Prompts:
    """Prompts in the format of IFEval's ``input_data.jsonl``.

    Attributes:
        origin: the file's name, for messages.
        by_key: key to row.
        by_text: prompt to row.
    """

    origin: str
    by_key: Mapping[str | int, Mapping[str, Any]]
    by_text: Mapping[str, Mapping[str, Any]]

    def of(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row of the prompt that a response answers, found by ``key``, or by ``prompt`` if it has no key.

        Raises:
            ValueError: the response has neither, or there is no such prompt.
        """
        if "key" in response:
            key = response["key"]
            if isinstance(key, str | int) and key in self.by_key:
                return self.by_key[key]
            raise ValueError(f"no prompt with key {key!r} in {self.origin}")
        if "prompt" not in response:
            raise ValueError(f"no field 'key' or 'prompt' to find its prompt by; found {', '.join(response)}")
        prompt = response["prompt"]
        if isinstance(prompt, str) and prompt in self.by_text:
            return self.by_text[prompt]
        raise ValueError(f"no prompt {str(prompt)[:60]!r} in {self.origin}, and no field 'key'")


def read_prompts(path: Path) -> Prompts:
    """Return the prompts of a file.

    Args:
        path: JSON lines with ``key``, ``prompt``, ``instruction_id_list`` and ``kwargs``; or with ``ground_truth`` (see
            ``verifiers.unpacked``) in place of the last two.

    Raises:
        OSError: the file cannot be opened.
        RowsError: a row is invalid, or a key occurs twice; the message names file, row and field.
    """
    by_key: dict[str | int, Mapping[str, Any]] = {}
    by_text: dict[str, Mapping[str, Any]] = {}
    with path.open("rb") as lines:
        for where, content in numbered_rows(lines, str(path)):
            row = _plain(where, content)
            _require(where, row, FIELDS, hint="")
            if not isinstance(row["key"], str | int):
                raise RowsError(f"{where}, field 'key': expected text or a whole number, found {row['key']!r}")
            if not isinstance(row["prompt"], str):
                raise RowsError(f"{where}, field 'prompt': expected text, found {row['prompt']!r}")
            if row["key"] in by_key:
                raise RowsError(f"{where}: key {row['key']!r} already occurs in an earlier row; expected it once")
            by_key[row["key"]] = row
            by_text.setdefault(row["prompt"], row)
    if not by_key:
        raise RowsError(f"{path}: no prompts; expected one row with {', '.join(FIELDS)} per line")
    return Prompts(str(path), by_key, by_text)
