"""``lm-eval-ext natural-instructions export``: training pairs as JSON lines, for any trainer."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from lm_eval_ext.argument_types import count
from lm_eval_ext.families.natural_instructions.training.arguments import NAMED, add_pairs_to, request_of
from lm_eval_ext.families.natural_instructions.training.material import Material, pairs_of
from lm_eval_ext.families.natural_instructions.training.selection import SETS, subtasks_named
from lm_eval_ext.families.natural_instructions.training.splits import SIZES
from lm_eval_ext.progress import counted


def add_export_to(family: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``export`` to the subcommands of ``natural-instructions``."""
    export = family.add_parser(
        "export",
        help="print encoded training pairs, one JSON object per line",
        description="Prints subtask, index, encoding, prompt (as the tasks show it), completion (the answer, after a "
        "space), references and split. The splits are the paper's: 6,500 instances of a subtask for training, 500 for "
        "development, 1,000 for tests, at random; in the same proportions if there are fewer. Instances that the "
        "tasks evaluate are in none of them. Standard error has the numbers of each subtask.",
    )
    add_pairs_to(export)
    export.add_argument("--subtasks", metavar="NAME", nargs="+", required=True, help=f"{NAMED}, or {' or '.join(SETS)}")
    export.add_argument("--split", choices=tuple(SIZES), default="train", help="default: train")
    export.add_argument(
        "--tokenizer",
        metavar="PATH_OR_ID",
        help="measures which prompts fit, and with how many examples; default: three characters per token",
    )
    export.add_argument(
        "--max-length", metavar="N", type=count, help="the context in tokens; default: the model's, or 2,048"
    )
    export.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    from lm_eval_ext.families.natural_instructions.budget import NEW_TOKENS, budget_of  # noqa: PLC0415

    request, subtasks = request_of(options), subtasks_named(options.subtasks)
    budget = budget_of({"tokenizer": options.tokenizer, "max_length": options.max_length}, NEW_TOKENS)
    # All files are read before anything is printed, so that an error leaves no half of an export.
    material = Material.of(pairs_of(name, options.split, request, budget) for name in counted(subtasks, " subtasks"))
    for pair in material.pairs:
        # ASCII works in any terminal or locale.
        print(json.dumps({**asdict(pair), "split": options.split}))
    sys.stdout.flush()
    for line in material.described():
        print(line, file=sys.stderr)
    return 0
