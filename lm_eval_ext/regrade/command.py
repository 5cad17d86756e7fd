"""``lm-eval-ext verify``: its options, and what it prints."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from lm_eval_ext.cli.progress import with_progress
from lm_eval_ext.floors import EXAMPLES, FLOORS, accepted
from lm_eval_ext.regrade.regrade import accuracies, asked, read_prompts, regrade
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import EDITIONS


def add_verify_to(verify: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    verify.description = (
        "Prints each row with follow_instruction_list and follow_all_instructions, and the accuracies "
        "(prompt_level_strict_acc, inst_level_strict_acc and both loose) on standard error. A null response follows "
        "no instruction. Reasoning blocks (<think> ...) are removed before a response is judged."
    )
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
        choices=("faithful", "repaired"),
        default="faithful",
        help="faithful (the default): IFEval's published verdicts, made deterministic; repaired: a human reader's",
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
        "that reward such answers first",
    )
    verify.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    judge = _print_floors if options.floors or options.audit else _judge
    if options.rows == "-":
        judge(sys.stdin.buffer, "standard input", options)
    else:
        with Path(options.rows).open("rb") as lines:
            judge(with_progress(lines), options.rows, options)
    return 0


def _print_floors(lines: Iterable[bytes], origin: str, options: argparse.Namespace) -> None:
    rows = (asked(f"{origin}, row {number}", line) for number, line in enumerate(lines, start=1) if line.strip())
    of_rows, of_types = accepted(rows)
    if not of_rows.asked:
        raise RowsError(f"{origin}: no rows; expected one prompt with its instructions per line")
    answers = (*FLOORS, EXAMPLES)
    print(f"{of_rows.asked} rows; percent that an answer passes, strictly: as published / repaired")
    listed = {"all instructions of a row": of_rows} | (of_types if options.audit else {})
    width = max(map(len, listed))
    print(f"{'':{width}}  {'asked':>6}" + "".join(f"{answer:>14}" for answer in answers))
    for name, found in listed.items():
        shares = (" / ".join(f"{100 * found.share(answer, edition):.1f}" for edition in EDITIONS) for answer in answers)
        print(f"{name:{width}}  {found.asked:>6}" + "".join(f"{share:>14}" for share in shares))


def _judge(lines: Iterable[bytes], origin: str, options: argparse.Namespace) -> None:
    prompts = read_prompts(Path(options.prompts)) if options.prompts else None
    strict, loose, answered, rows = [], [], set(), 0
    for judged in regrade(lines, origin, options.edition, not options.keep_reasoning, prompts):
        # ASCII works in any terminal or locale, and a response may contain what UTF-8 cannot encode (a lone surrogate).
        print(json.dumps(judged.row(options.loose)))
        strict.append(judged.strict)
        loose.append(judged.loose)
        rows += judged.answered.draw <= 1
        if prompts:
            answered.add(judged.answered.asked["key"])
    sys.stdout.flush()
    print(f"{'rows':28}{rows}", file=sys.stderr)
    if len(strict) > rows:
        print(f"{'responses':28}{len(strict)}", file=sys.stderr)
    for name, value in accuracies(strict, loose, options.edition).items():
        print(f"{name:27} {value:.4f}", file=sys.stderr)
    if prompts and len(answered) < len(prompts.by_key):
        missing = [key for key in prompts.by_key if key not in answered]
        print(
            f"note: {len(missing)} of {len(prompts.by_key)} prompts have no response; the first is {missing[0]!r}",
            file=sys.stderr,
        )
