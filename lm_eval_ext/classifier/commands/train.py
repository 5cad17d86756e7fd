"""``lm-eval-ext classifier train``: labeled rows in, an adapter with its model card out."""

from __future__ import annotations

import argparse
import errno
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lm_eval_ext.argument_types import count, positive, share
from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError, require_libraries
from lm_eval_ext.classifier.causal.training import train_causal, trainable
from lm_eval_ext.classifier.commands.placing import add_placement_to
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.reader import encoder_reader
from lm_eval_ext.classifier.placement import Placement
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.classifier.training import division
from lm_eval_ext.classifier.training.card import card
from lm_eval_ext.classifier.training.recipe import DEFAULTS, Recipe

CHECKPOINT = "checkpoint.pt"
"""The file with the state of an unfinished training run."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``train`` to the subcommands of ``classifier``."""
    train = commands.add_parser(
        "train",
        help="train an adapter on labeled rows",
        description="Splits the rows by question, trains on one part, evaluates on the other, and writes the adapter "
        "with a model card. If it is stopped, the same command continues. Rows have options ([{letter, text}]), "
        'response and label (a letter, a list of letters, "refused", "none" or "contradiction"), or label_kind and '
        "label_letter as in the published annotations; optionally question and model.",
    )
    train.add_argument("data", metavar="DATA.jsonl", nargs="*", type=Path)
    train.add_argument(
        "--generated",
        metavar="N",
        type=count,
        default=0,
        help="add N responses written by this project, which are trained on and never evaluated on (default: 0)",
    )
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument("--base", metavar="PATH_OR_ID", help="the base model (only with --mode causal)")
    train.add_argument(
        "--mode",
        choices=tuple(DEFAULTS),
        default="encoder",
        help="encoder (the default): small and quick on a CPU; causal: a language model that answers with a letter",
    )
    train.add_argument(
        "--seed", type=int, default=0, help="seed for the split, the generated responses and the training (default: 0)"
    )
    train.add_argument(
        "--samples",
        metavar="N",
        type=count,
        help="train on only N of DATA's rows, drawn at random (80 and 1000 in the paper's Table 2); default: "
        "all that are not held out",
    )
    train.add_argument("--epochs", metavar="N", type=count, help=_default("epochs"))
    train.add_argument("--batch-size", metavar="N", type=count, help=f"rows per step; {_default('batch_size')}")
    train.add_argument("--learning-rate", metavar="RATE", type=positive, help=_default("learning_rate"))
    train.add_argument(
        "--rank", metavar="N", type=count, help=f"the rank of the adapter's matrices; {_default('rank')}"
    )
    add_placement_to(train, batch_size=False)
    train.add_argument(
        "--held-out",
        type=share,
        default=0.2,
        help="the share of DATA's questions to evaluate on (default: 0.2); 0: train on everything and hold nothing out",
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


def _default(name: str) -> str:
    return "default: " + ", ".join(f"{getattr(recipe, name)} ({mode})" for mode, recipe in DEFAULTS.items())


def _train(options: argparse.Namespace) -> int:
    if options.mode == "causal" and options.base is None:
        raise ReaderError("--mode causal needs --base: the folder or hub id of a causal language model")
    placement = Placement.of({"device": options.device, "dtype": options.dtype})
    if options.mode == "encoder" and options.base is not None:
        raise ReaderError(
            f"--base {options.base}: --mode encoder has its own base ({weights.REPOSITORY}, pinned); "
            f"{weights.FOLDER_VARIABLE} names a folder with it. --base is for --mode causal"
        )
    if options.mode == "encoder" and str(placement):
        raise ReaderError(f"{placement}: --mode encoder trains on the CPU, so that its result is always the same")
    require_libraries()
    output = options.output.resolve()
    _require_free(output)
    divided = division.divide(
        [division.from_file(path) for path in options.data],
        division.generated(options.generated, options.seed) if options.generated else None,
        [division.from_file(path) for path in options.evaluate_on],
        options.held_out,
        options.seed,
    )
    if options.samples is not None:
        # Rows that a causal model cannot be trained on would not count.
        usable = trainable(divided.taught) if options.mode == "causal" else divided.taught
        divided = replace(divided, taught=division.sample(usable, options.samples, options.seed))
    rows = divided.trained_on
    recipe = _recipe(options)
    with _renamed_at_the_end(output) as folder:
        checkpoint = folder / CHECKPOINT
        if options.mode == "encoder":
            from lm_eval_ext.classifier.encoder.training import train_encoder  # noqa: PLC0415 # torch

            aside = division.calibration(options.seed)
            train_encoder(rows, folder, recipe, calibration=aside, checkpoint=checkpoint)
        else:
            train_causal(rows, options.base, folder, recipe, placement=placement, checkpoint=checkpoint)
        named = _readers(options.mode, folder, placement)
        text = card(options.mode, folder, divided, named, share=options.held_out, recipe=recipe)
        # In the place of PEFT's own.
        (folder / "README.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def _recipe(options: argparse.Namespace) -> Recipe:
    default = DEFAULTS[options.mode]
    given = {name: getattr(options, name) for name in ("epochs", "batch_size", "learning_rate", "rank")}
    return replace(default, seed=options.seed, **{name: value for name, value in given.items() if value is not None})


def _readers(mode: str, folder: Path, placement: Placement) -> Mapping[str, Reader]:
    """Return the readers whose scores a model card has: those that need no training, and the new adapter's."""
    named = {name: readers.reader(name) for name in ("string_match", "rules")}
    if mode == "encoder":
        return named | {"adapter": encoder_reader(folder), "rules, then adapter": readers.reader(str(folder))}
    return named | {"adapter": readers.reader(str(folder), placement)}


def _require_free(output: Path) -> None:
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(errno.EEXIST, "--output exists and is not an empty folder", str(output))


@contextmanager
def _renamed_at_the_end(output: Path) -> Iterator[Path]:
    """Yield a folder next to the requested one, which is renamed to it at the end.

    If training is stopped, only its checkpoint stays; without one, nothing does.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.parent / f".{output.name}.unfinished"
    unfinished.mkdir(exist_ok=True)
    checkpoint = unfinished / CHECKPOINT
    try:
        yield unfinished
        checkpoint.unlink(missing_ok=True)
        if output.is_dir():
            output.rmdir()
        unfinished.rename(output)
    except BaseException as error:
        if not checkpoint.is_file():
            shutil.rmtree(unfinished, ignore_errors=True)
        elif not isinstance(error, ReaderError):
            print(f"training: stopped; the same command continues from {checkpoint}", file=sys.stderr)
        raise
