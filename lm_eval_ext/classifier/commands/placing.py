"""The options that say where a causal language model runs, the same for all subcommands of ``classifier``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lm_eval_ext.argument_types import count
from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.placement import DTYPES, Placement


def add_placement_to(command: argparse.ArgumentParser, *, batch_size: bool = True) -> None:
    """Add ``--device`` and ``--dtype`` to a subcommand and, unless it has its own, ``--batch-size``."""
    command.add_argument(
        "--device",
        help="where a causal language model runs: cpu, cuda, cuda:1 … (default: one GPU if there is one, else cpu)",
    )
    command.add_argument("--dtype", choices=DTYPES, help="the type of its weights (default: auto, as they were saved)")
    if batch_size:
        command.add_argument(
            "--batch-size",
            metavar="N",
            type=count,
            help=f"responses that it reads at a time (default: {Placement().batch_size})",
        )


def placement_for(names: Sequence[str], options: argparse.Namespace) -> Placement:
    """Return where the readers of a command run.

    Args:
        names: the names of available readers.
        options: the parsed command line.

    Raises:
        ReaderError: there is no such device, or none of the readers has a placement.
    """
    placement = Placement.of(
        {"device": options.device, "dtype": options.dtype, "batch_size": options.batch_size},
    )
    if str(placement) and not any(map(readers.is_causal, names)):
        raise ReaderError(
            f"{placement}: for causal language models only, and {', '.join(names)} "
            f"{'is' if len(names) == 1 else 'are'} none; the other readers run on the CPU"
        )
    return placement
