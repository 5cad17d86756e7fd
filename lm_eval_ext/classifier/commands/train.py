"""``lm-eval-ext classifier train``: labeled rows in, an adapter with its model card out."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError, require_libraries
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.reader import encoder_reader
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.classifier.training import division
from lm_eval_ext.classifier.training.card import card

EPOCHS = {"encoder": 2, "causal": 3}
"""How often training passes over the rows, unless told otherwise."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``train`` to the subcommands of ``classifier``."""
    train = commands.add_parser(
        "train",
        help="train an adapter on labeled rows",
        description="Splits the rows by question, trains on one part, evaluates on the other, and writes the adapter "
        "with a model card. Rows have options ([{letter, text}]), response and label (a letter, a list of letters, "
        '"refused", "none" or "contradiction"), or label_kind and label_letter as in the published annotations; '
        "optionally question and model.",
    )
    train.add_argument("data", metavar="DATA.jsonl", nargs="*", type=Path)
    train.add_argument(
        "--generated",
        metavar="N",
        type=_count,
        default=0,
        help="add N responses written by this project, which are trained on and never evaluated on (default: 0)",
    )
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument("--base", metavar="PATH_OR_ID", help="the base model (only with --mode causal)")
    train.add_argument(
        "--mode",
        choices=tuple(EPOCHS),
        default="encoder",
        help="encoder (the default): small and quick on a CPU; causal: a language model that answers with a letter",
    )
    train.add_argument(
        "--seed", type=int, default=0, help="seed for the split, the generated responses and the training (default: 0)"
    )
    train.add_argument("--epochs", type=_count, help="default: " + ", ".join(f"{n} ({m})" for m, n in EPOCHS.items()))
    train.add_argument(
        "--held-out",
        type=_share,
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


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number, at least 1, found {text!r}")
    return int(text)


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (share := float(text)) < 1:
            return share
    raise argparse.ArgumentTypeError(f"expected a number, at least 0 and less than 1, found {text!r}")


def _train(options: argparse.Namespace) -> int:
    if options.mode == "causal" and options.base is None:
        raise ReaderError("--mode causal needs --base: the folder or hub id of a causal language model")
    if options.mode == "encoder" and options.base is not None:
        raise ReaderError(
            f"--base {options.base}: --mode encoder has its own base ({weights.REPOSITORY}, pinned); "
            f"{weights.FOLDER_VARIABLE} names a folder with it. --base is for --mode causal"
        )
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
    rows = divided.trained_on
    epochs = options.epochs or EPOCHS[options.mode]
    with _renamed_at_the_end(output) as folder:
        if options.mode == "encoder":
            from lm_eval_ext.classifier.encoder.training import train_encoder  # noqa: PLC0415 # torch

            aside = division.calibration(options.seed)
            train_encoder(rows, folder, calibration=aside, seed=options.seed, epochs=epochs)
        else:
            from lm_eval_ext.classifier.causal.training import train_causal  # noqa: PLC0415 # torch

            train_causal(rows, options.base, folder, seed=options.seed, epochs=epochs)
        named = _readers(options.mode, folder)
        text = card(options.mode, folder, divided, named, share=options.held_out, seed=options.seed, epochs=epochs)
        # In the place of PEFT's own.
        (folder / "README.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def _readers(mode: str, folder: Path) -> Mapping[str, Reader]:
    """Return the readers whose scores a model card has: those that need no training, and the new adapter's."""
    named = {name: readers.reader(name) for name in ("string_match", "rules")}
    if mode == "encoder":
        return named | {"adapter": encoder_reader(folder), "rules, then adapter": readers.reader(str(folder))}
    return named | {"adapter": readers.reader(str(folder))}


def _require_free(output: Path) -> None:
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(errno.EEXIST, "--output exists and is not an empty folder", str(output))


@contextmanager
def _renamed_at_the_end(output: Path) -> Iterator[Path]:
    """Yield a folder next to the requested one, which is renamed to it at the end; an error leaves neither."""
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.parent / f".{output.name}.unfinished-{os.getpid()}"
    unfinished.mkdir()
    try:
        yield unfinished
        if output.is_dir():
            output.rmdir()
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
