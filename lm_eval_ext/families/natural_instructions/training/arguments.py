"""The arguments that ``natural-instructions export`` and ``train`` share: which training pairs to make."""

from __future__ import annotations

import argparse

from lm_eval_ext.argument_types import count
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.material import Request
from lm_eval_ext.sources import EMBEDDED, HUB

NAMED = "names of subtasks or of your own task files, patterns such as 'subtask03*'"


def add_pairs_to(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    default = Request("")
    parser.add_argument("--encoding", required=True, metavar="ENCODING", help="for example prompt, all or instance")
    parser.add_argument(
        "--source", default=default.source, help=f'"{HUB}" (the default), "{EMBEDDED}", or a folder with task files'
    )
    parser.add_argument(
        "--evaluated",
        metavar="N",
        type=count,
        default=default.evaluated,
        help="how many instances of each subtask are evaluated: n in lm_eval's --metadata (default: %(default)s)",
    )
    parser.add_argument(
        "--instances",
        metavar="N",
        type=count,
        default=default.instances,
        help="at most N training instances of each subtask (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=default.seed,
        help="seed of the splits and of a training (default: %(default)s)",
    )


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 2^32 - 1, found {text!r}")
    return int(text)


def request_of(options: argparse.Namespace) -> Request:
    """Return which pairs to make.

    Raises:
        TrainingError: there is no such encoding.
    """
    from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS  # noqa: PLC0415 # its names

    if options.encoding not in ALL_ENCODINGS:
        raise TrainingError(f"--encoding {options.encoding}: expected one of {', '.join(ALL_ENCODINGS)}")
    return Request(options.encoding, options.source, options.evaluated, options.instances, options.seed)
