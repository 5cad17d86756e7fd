"""``lm-eval-ext classifier train``: labelled rows in, an adapter with its model card out."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lm_eval_ext.classifier import readers, training_data, weights
from lm_eval_ext.classifier.card import card

EPOCHS = {"encoder": 2, "causal": 3}
"""How often training passes over the rows, unless told otherwise."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``train`` to the subcommands of ``classifier``."""
    train = commands.add_parser(
        "train",
        help="train an adapter on labelled rows",
        description="Splits the rows by question, trains on one part, evaluates on the other, and writes the adapter "
        "with a model card. Rows have options ([{letter, text}]), response and label (a letter, a list of letters, "
        '"refused" or "none"), or label_kind and label_letter as in the published annotations; optionally question '
        "and model.",
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
    train.add_argument("--base", metavar="PATH_OR_ID", help="of --mode causal: the base model")
    train.add_argument(
        "--mode",
        choices=tuple(EPOCHS),
        default="encoder",
        help="encoder (the default): small and quick on a CPU; causal: a language model that answers with a letter",
    )
    train.add_argument(
        "--seed", type=int, default=0, help="of the split, the generated responses and the training (default: 0)"
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
        help="labelled rows that are not trained on, on which the model card reports scores, too",
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
        raise readers.ReaderError("--mode causal needs --base: the folder or hub id of a causal language model")
    if options.mode == "encoder" and options.base is not None:
        raise readers.ReaderError(
            f"--base {options.base}: --mode encoder has its own base ({weights.REPOSITORY}, pinned); "
            f"{weights.FOLDER_VARIABLE} names a folder with it. --base is for --mode causal"
        )
    readers.require_packages()
    output = options.output.resolve()
    _require_free(output)
    division = training_data.divide(
        [training_data.from_file(path) for path in options.data],
        training_data.generated(options.generated, options.seed) if options.generated else None,
        [training_data.from_file(path) for path in options.evaluate_on],
        options.held_out,
        options.seed,
    )
    rows = division.trained_on
    epochs = options.epochs or EPOCHS[options.mode]
    with _renamed_at_the_end(output) as folder:
        if options.mode == "encoder":
            from lm_eval_ext.classifier import train  # noqa: PLC0415 # torch

            train.train(rows, folder, seed=options.seed, epochs=epochs)
        else:
            from lm_eval_ext.classifier.causal_training import train_causal  # noqa: PLC0415 # torch

            train_causal(rows, options.base, folder, seed=options.seed, epochs=epochs)
        text = card(options.mode, folder, division, share=options.held_out, seed=options.seed, epochs=epochs)
        # In the place of PEFT's own.
        (folder / "README.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def _require_free(output: Path) -> None:
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(errno.EEXIST, "--output exists and is not an empty folder", str(output))


@contextmanager
def _renamed_at_the_end(output: Path) -> Iterator[Path]:
    """Give a folder beside the one that is wanted, which takes its name at the end; an error leaves neither."""
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
