"""``lm-eval-ext classifier``: train an answer classifier, evaluate readers, read rows."""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.evaluate import as_json, as_markdown, evaluate
from lm_eval_ext.classifier.labelled import (
    Labelled,
    answer_of_row,
    labelled_file,
    numbered_rows,
    question_key,
    split_by_question,
)
from lm_eval_ext.classifier.reading import Answer, Reader, Reading
from lm_eval_ext.sources import RowsError

EPOCHS = {"encoder": 2, "causal": 3}
"""How often training passes over the rows, unless told otherwise."""

BATCH = 256
"""Rows that are read at a time, so that memory does not grow with the file."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``classifier`` and its subcommands to the command line."""
    classifier = commands.add_parser(
        "classifier", help="which option does a free-text answer choose: train, evaluate, read"
    ).add_subparsers(metavar="command", required=True)

    train = classifier.add_parser(
        "train",
        help="train an adapter on labelled rows",
        description="Splits the rows by question, trains on one part, evaluates on the other, and writes the adapter "
        "with a model card. Rows have options ([{letter, text}]), response and label (a letter, a list of letters, "
        '"refused" or "none"), or label_kind and label_letter as in the published annotations; optionally question '
        "and model.",
    )
    train.add_argument("data", metavar="DATA.jsonl", nargs="+", type=Path)
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument("--base", metavar="PATH_OR_ID", help="the base model; of --mode encoder, ours if absent")
    train.add_argument(
        "--mode",
        choices=tuple(EPOCHS),
        default="encoder",
        help="encoder (the default): small and quick on a CPU; causal: a language model that answers with a letter",
    )
    train.add_argument("--seed", type=int, default=0, help="of the split and the training (default: 0)")
    train.add_argument("--epochs", type=_count, help="default: " + ", ".join(f"{n} ({m})" for m, n in EPOCHS.items()))
    train.add_argument(
        "--held-out",
        type=_share,
        default=0.2,
        help="the share of questions to evaluate on (default: 0.2); 0: train on everything and evaluate on nothing",
    )
    train.set_defaults(run=_train)

    judge = classifier.add_parser(
        "evaluate",
        help="compare readers on labelled rows",
        description="Prints accuracy, macro-F1 and weighted-F1, by model, on the rows whose label is one option, on "
        "all, and on those where the rules abstain or disagree with the last reader; then the errors by kind.",
    )
    judge.add_argument("data", metavar="DATA.jsonl", type=Path, help="labelled rows, as for train")
    _add_reader(judge, action="append", help=f"may be repeated (default: {' '.join(readers.NAMES)}); {_READER}")
    judge.add_argument("--json", action="store_true", help="print JSON")
    judge.set_defaults(run=_evaluate)

    read = classifier.add_parser(
        "read",
        help="print rows with the option that their response chooses",
        description="Rows have options ([{letter, text}]) and response; each comes back with reading (a letter, a list "
        'of letters, "refused" or "none") and certainty (0 to 1). Reasoning blocks (<think> ...) are not read; a null '
        "response is empty.",
    )
    read.add_argument("rows", metavar="ROWS.jsonl", help='JSON lines; "-": standard input')
    _add_reader(read, default="default", help=f'default: "default"; {_READER}')
    read.set_defaults(run=_read)


_READER = f"{', '.join(readers.NAMES)}, or the folder or hub id of an adapter"


def _add_reader(parser: argparse.ArgumentParser, **keywords: Any) -> None:
    parser.add_argument("--reader", metavar="NAME", **keywords)


def _count(text: str) -> int:
    if (count := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {text}")
    return count


def _share(text: str) -> float:
    if not 0 <= (share := float(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 0 and less than 1, found {text}")
    return share


def _read(options: argparse.Namespace) -> int:
    from lm_eval_ext.cli import with_progress  # noqa: PLC0415 # it imports this module

    reader = readers.reader(options.reader)
    if options.rows == "-":
        _print_readings(reader, sys.stdin.buffer, "standard input")
        return 0
    with Path(options.rows).open("rb") as lines:
        _print_readings(reader, with_progress(lines), options.rows)
    return 0


def _print_readings(reader: Reader, lines: Iterable[bytes], origin: str) -> None:
    rows = ((row, answer_of_row(where, row)) for where, row in numbered_rows(lines, origin))
    while batch := list(islice(rows, BATCH)):
        readings = reader([answer for _, answer in batch])
        # One call per batch: an interruption finds whole lines written. In ASCII, as everything that we print as JSON.
        sys.stdout.write(
            "".join(_line(row, reading) for (row, _), reading in zip(batch, readings, strict=True)),
        )
        sys.stdout.flush()


def _line(row: Mapping[str, Any], reading: Reading) -> str:
    return json.dumps({**row, "reading": reading.value, "certainty": round(reading.certainty, 4)}) + "\n"


def _evaluate(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.reader or readers.NAMES))
    for name in names:
        readers.require(name)
    rows = labelled_file(options.data)
    evaluation = evaluate(rows, {name: _readings(readers.reader(name), rows, name) for name in names})
    print(json.dumps(as_json(evaluation), indent=2) if options.json else as_markdown(evaluation), flush=True)
    return 0


def _readings(reader: Reader, rows: Sequence[Labelled], name: str) -> list[Reading]:
    from tqdm import tqdm  # noqa: PLC0415

    answers: list[Answer] = [row.answer for row in rows]
    readings: list[Reading] = []
    with tqdm(total=len(answers), desc=name, unit="response", disable=None) as progress:
        for start in range(0, len(answers), BATCH):
            batch = answers[start : start + BATCH]
            readings += reader(batch)
            progress.update(len(batch))
    return readings


def _train(options: argparse.Namespace) -> int:
    if options.mode == "causal" and options.base is None:
        raise readers.ReaderError("--mode causal needs --base: the folder or hub id of a causal language model")
    readers.require_packages()
    output = options.output.resolve()
    _require_free(output)
    data = [_Data(path.name, _sha256(path), labelled_file(path)) for path in options.data]
    rows = [row for part in data for row in part.rows]
    taught, held_out = split_by_question(rows, options.held_out, options.seed)
    if not taught or (options.held_out and not held_out):
        raise RowsError(
            f"--held-out {options.held_out} of {_questions(rows)} questions leaves {len(taught)} rows to train on and "
            f"{len(held_out)} to evaluate on; choose another share"
        )
    epochs = options.epochs or EPOCHS[options.mode]
    with _renamed_at_the_end(output) as folder:
        if options.mode == "encoder":
            from lm_eval_ext.classifier import train  # noqa: PLC0415 # torch

            train.train(taught, folder, base=options.base, seed=options.seed, epochs=epochs)
        else:
            from lm_eval_ext.classifier import causal  # noqa: PLC0415 # torch

            causal.train_causal(taught, options.base, folder, seed=options.seed, epochs=epochs)
        card = _card(options, epochs, data, taught, held_out, folder)
        (folder / "README.md").write_text(card, encoding="utf-8")
    print(card)
    return 0


@dataclass(frozen=True, slots=True)
class _Data:
    name: str
    sha256: str
    rows: Sequence[Labelled]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _questions(rows: Iterable[Labelled]) -> int:
    return len({question_key(row) for row in rows})


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


def _card(  # noqa: PLR0913, PLR0917 # all that there is to say of a training
    options: argparse.Namespace,
    epochs: int,
    data: Sequence[_Data],
    taught: Sequence[Labelled],
    held_out: Sequence[Labelled],
    folder: Path,
) -> str:
    """Return the model card of the adapter in a folder."""
    files = [f"| {part.name} | {len(part.rows)} | `{part.sha256}` |" for part in data]
    packages = ["lm-eval-ext", *readers.PACKAGES]
    lines = [
        "---",
        "library_name: peft",
        "tags: [lm-eval-ext, answer-classifier]",
        "---",
        "",
        f"# Answer classifier ({options.mode})",
        "",
        "Reads which option a free-text answer to a multiple-choice question chooses.",
        "Use: `lm-eval-ext classifier read ROWS.jsonl --reader THIS_FOLDER`, or in a task",
        '`--metadata \'{"answer_classifier": "THIS_FOLDER"}\'`.',
        "",
        "## Data",
        "",
        "| File | Rows | SHA-256 |",
        "| --- | --- | --- |",
        *files,
        "",
        f"Split by question (seed {options.seed}, share {options.held_out}): trained on {len(taught)} rows of "
        f"{_questions(taught)} questions; held out {len(held_out)} rows of {_questions(held_out)} questions.",
        "",
        "## Training",
        "",
        f"- mode {options.mode}, seed {options.seed}, epochs {epochs}",
        *_base(folder),
        "- " + ", ".join(f"{package} {metadata.version(package)}" for package in packages),
        *_records(folder),
        "",
        "## Scores",
        "",
        _scores(options.mode, held_out, folder),
    ]
    return "\n".join(lines)


def _base(folder: Path) -> list[str]:
    """Return what the files beside an adapter say of its base; a local base by the hashes of its weights."""
    ours, its = folder / readers.ENCODER_MARK, folder / "adapter_config.json"
    described = json.loads((ours if ours.is_file() else its).read_text(encoding="utf-8"))
    base = described["base" if ours.is_file() else "base_model_name_or_path"]
    revision = described.get("revision")
    lines = [f"- base `{base}`" + (f", revision `{revision}`" if revision else "")]
    if Path(base).is_dir():
        weights = sorted(Path(base).glob("*.safetensors"))
        lines += [f"- base weights {path.name}: SHA-256 `{_sha256(path)}`" for path in weights]
    return lines


def _records(folder: Path) -> list[str]:
    """Return what the training wrote down beside the adapter."""
    lines = []
    for file in sorted(folder.glob("*.json")):
        if file.name in ("training.json", readers.ENCODER_MARK):
            lines += ["", f"`{file.name}`:", "", "```json", file.read_text(encoding="utf-8").strip(), "```"]
    return lines


def _scores(mode: str, held_out: Sequence[Labelled], folder: Path) -> str:
    if not held_out:
        return "No rows were held out.\n"
    named = {"string_match": readers.reader("string_match"), "rules": readers.reader("rules")}
    if mode == "encoder":
        from lm_eval_ext.classifier import predict  # noqa: PLC0415 # torch

        named["adapter"] = predict.encoder_reader(folder)
        named["rules, then adapter"] = readers.reader(str(folder))
    else:
        named["adapter"] = readers.reader(str(folder))
    readings = {name: _readings(reader, held_out, name) for name, reader in named.items()}
    return "On the held-out rows.\n\n" + as_markdown(evaluate(held_out, readings))
