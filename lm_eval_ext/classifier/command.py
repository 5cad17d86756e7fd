"""``lm-eval-ext classifier``: trains an answer classifier, evaluates readers, reads rows."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

from lm_eval_ext.classifier import division, readers
from lm_eval_ext.classifier.availability import DEFAULT, DTYPES, ReaderError, Runtime, require_libraries
from lm_eval_ext.classifier.causal.reader import CAUSAL
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.reader import encoder_reader
from lm_eval_ext.classifier.encoder.weights import ENCODER
from lm_eval_ext.classifier.evaluation import BATCH, as_markdown, evaluate, readings
from lm_eval_ext.classifier.labelled import answer_of_row, labelled_file
from lm_eval_ext.cli.parser import count, seed, share
from lm_eval_ext.cli.progress import with_progress
from lm_eval_ext.sources import numbered_rows
from lm_eval_ext.training.run import CHECKPOINT, add_recipe_to, recipe_of, renamed_at_the_end, require_free

DEFAULTS = {"encoder": ENCODER, "causal": CAUSAL}
"""The default recipes by mode."""


def add_train_to(train: argparse.ArgumentParser) -> None:
    """Add the options of ``train``."""
    train.add_argument("data", metavar="DATA.jsonl", nargs="+", type=Path, help="labeled rows")
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument("--base", metavar="PATH_OR_ID", help="the base model (only with --mode causal)")
    train.add_argument(
        "--mode",
        choices=tuple(DEFAULTS),
        default="encoder",
        help="encoder (the default): small and quick on a CPU; causal: a language model that answers with a letter",
    )
    train.add_argument("--seed", type=seed, default=0, help="seed for the split and the training (default: 0)")
    train.add_argument(
        "--samples",
        metavar="N",
        type=count,
        help="train on only N of DATA's rows, drawn at random (80 and 1000 in the paper's Table 2); default: "
        "all that are not held out",
    )
    add_recipe_to(train, DEFAULTS)
    _add_runtime_to(train, batch_size=False)
    train.add_argument(
        "--held-out",
        type=share,
        default=0.2,
        help="the share of DATA's questions to evaluate on, and for an encoder to calibrate its certainty on (default: "
        "0.2); 0: train on all of them",
    )
    train.add_argument(
        "--held-out-models",
        metavar="MODEL",
        nargs="+",
        default=[],
        help="hold out only rows of these models (the field model of DATA), and train on none of theirs",
    )
    train.add_argument(
        "--evaluate-on",
        metavar="FILE.jsonl",
        nargs="+",
        type=Path,
        default=[],
        help="labeled rows that are not trained on, on which the model card reports scores, too",
    )
    train.set_defaults(run=_train)


def _train(options: argparse.Namespace) -> int:
    if options.mode == "causal" and options.base is None:
        raise ReaderError("--mode causal needs --base: the folder or hub id of a causal language model")
    runtime = Runtime.of({"device": options.device, "dtype": options.dtype})
    if options.mode == "encoder" and (options.base is not None or runtime != DEFAULT):
        raise ReaderError(
            "--base, --device and --dtype are for --mode causal; an encoder has its own base "
            f"({weights.REPOSITORY}, pinned) and is trained on the CPU, so that the result is always the same"
        )
    require_libraries()
    output = options.output.resolve()
    require_free(output)
    from lm_eval_ext.classifier.causal.trainee import train_causal, trainable  # noqa: PLC0415 # torch
    from lm_eval_ext.classifier.encoder.trainee import train_encoder  # noqa: PLC0415 # torch

    divided = division.divide(
        [division.from_file(path) for path in options.data],
        [division.from_file(path) for path in options.evaluate_on],
        options.held_out,
        options.held_out_models,
        options.seed,
    )
    if options.samples is not None:
        # Rows that a causal model cannot be trained on would not count.
        usable = trainable(divided.taught) if options.mode == "causal" else divided.taught
        divided = replace(divided, taught=division.sample(usable, options.samples, options.seed))
    recipe = recipe_of(options, DEFAULTS[options.mode])
    with renamed_at_the_end(output) as folder:
        checkpoint = folder / CHECKPOINT
        if options.mode == "encoder":
            train_encoder(divided.taught, folder, recipe, calibration=divided.held_out, checkpoint=checkpoint)
        else:
            train_causal(divided.taught, options.base, folder, recipe, runtime=runtime, checkpoint=checkpoint)
        # The readers whose scores the card has: those that need no training, and the new adapter's.
        named_readers = {name: readers.reader(name) for name in ("string_match", "rules")}
        if options.mode == "encoder":
            named_readers |= {"adapter": encoder_reader(folder), "rules, then adapter": readers.reader(str(folder))}
        else:
            named_readers |= {"adapter": readers.reader(str(folder), runtime)}
        text = division.card(options.mode, folder, divided, named_readers, share=options.held_out, recipe=recipe)
        # In the place of PEFT's own.
        (folder / "README.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def add_evaluate_to(judge: argparse.ArgumentParser) -> None:
    """Add the options of ``evaluate``."""
    judge.add_argument("data", metavar="DATA.jsonl", type=Path, help="labeled rows, as for train")
    judge.add_argument(
        "--reader",
        metavar="NAME",
        action="append",
        help=f"{readers.EXPECTED}; may be repeated (default: {' '.join(readers.NAMES)})",
    )
    _add_runtime_to(judge)
    judge.add_argument("--json", action="store_true", help="print JSON")
    judge.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.reader or readers.NAMES))
    for name in names:
        readers.require(name)
    runtime = _runtime_for(names, options)
    rows = labelled_file(options.data)
    evaluation = evaluate(rows, {name: readings(readers.reader(name, runtime), rows, name) for name in names})
    print(json.dumps(asdict(evaluation), indent=2) if options.json else as_markdown(evaluation), flush=True)
    return 0


def add_read_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``read``."""
    parser.add_argument("rows", metavar="ROWS.jsonl", help='JSON lines; "-": standard input')
    parser.add_argument("--reader", metavar="NAME", default="default", help=f'default: "default"; {readers.EXPECTED}')
    _add_runtime_to(parser)
    parser.set_defaults(run=_read)


def _read(options: argparse.Namespace) -> int:
    readers.require(options.reader)
    reader = readers.reader(options.reader, _runtime_for([options.reader], options))
    with nullcontext(sys.stdin.buffer) if options.rows == "-" else Path(options.rows).open("rb") as file:
        lines, origin = (file, "standard input") if options.rows == "-" else (with_progress(file), options.rows)
        rows = ((row, answer_of_row(where, row)) for where, row in numbered_rows(lines, origin))
        while batch := list(islice(rows, BATCH)):
            readings = reader([answer for _, answer in batch])
            printed = [
                {**row, "reading": reading.value, "certainty": round(reading.certainty, 4)}
                for (row, _), reading in zip(batch, readings, strict=True)
            ]
            # One call per batch, so that an interruption leaves only whole lines. ASCII, like all JSON that we print.
            sys.stdout.write("".join(f"{json.dumps(row)}\n" for row in printed))
            sys.stdout.flush()
    return 0


def _add_runtime_to(command: argparse.ArgumentParser, *, batch_size: bool = True) -> None:
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
            help=f"responses that it reads at a time (default: {DEFAULT.batch_size})",
        )


def _runtime_for(names: Sequence[str], options: argparse.Namespace) -> Runtime:
    """Return where the readers of a command run.

    Args:
        names: the names of available readers.
        options: the parsed command line.

    Raises:
        ReaderError: there is no such device, or none of the readers is a causal language model.
    """
    runtime = Runtime.of({"device": options.device, "dtype": options.dtype, "batch_size": options.batch_size})
    if runtime != DEFAULT and not any(map(readers.is_causal, names)):
        raise ReaderError(
            "--device, --dtype and --batch-size are for causal language models; the other readers, "
            f"{', '.join(names)} among them, run on the CPU"
        )
    return runtime
