"""Cross-validates the readers on unseen answers: ``python -m benchmarks.cross_validation DATA.jsonl …``.

By question: five folds that share no question; each is read by an adapter trained on the other four. By model: each
model's answers are read by an adapter trained on the other models' answers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lm_eval_ext.classifier.encoder.reader import encoder_reader, surer
from lm_eval_ext.classifier.encoder.trainee import train_encoder
from lm_eval_ext.classifier.encoder.weights import ENCODER
from lm_eval_ext.classifier.evaluation import as_markdown, evaluate
from lm_eval_ext.classifier.labelled import Labelled, labelled_file, question_key
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.classifier.rules import reader as rules
from lm_eval_ext.classifier.rules.reader import string_match

FOLDS = 5

Split = tuple[str, list[int], list[int]]
"""The name of a split, the rows to train on and the rows to read."""


def main() -> None:
    """Train, read and print the tables; with ``--output``, also write every reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+", metavar="DATA.jsonl")
    parser.add_argument("--by", choices=("question", "model"), default="question")
    parser.add_argument("--also", type=Path, nargs="+", default=[], help="files that every adapter is trained on, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=ENCODER.epochs)
    parser.add_argument("--output", type=Path, help="write the readings to this JSON Lines file")
    options = parser.parse_args()
    files = [labelled_file(path) for path in options.data]
    rows = [row for file in files for row in file]
    also = [row for path in options.also for row in labelled_file(path)]
    splits = list(_by_question(rows) if options.by == "question" else _by_model(rows))
    found: dict[int, Reading] = {}
    for name, taught, read in splits:
        with tempfile.TemporaryDirectory() as folder:
            learned = [rows[number] for number in taught] + also
            train_encoder(learned, Path(folder), replace(ENCODER, seed=options.seed, epochs=options.epochs))
            readings = encoder_reader(Path(folder))([rows[number].answer for number in read])
        found |= dict(zip(read, readings, strict=True))
        print(f"{name}: trained on {len(learned)}, read {len(read)}", flush=True)
    encoder = [found[number] for number in range(len(rows))]
    start = 0
    for path, file in zip(options.data, files, strict=True):
        print(f"\n## {path.name}\n\n{_report(file, encoder[start : start + len(file)])}", flush=True)
        start += len(file)
    if options.output:
        _write(options.output, rows, encoder)


def _by_question(rows: Sequence[Labelled]) -> Iterator[Split]:
    keys = sorted({question_key(row) for row in rows})
    part = {key: number % FOLDS for number, key in enumerate(keys)}
    for fold in range(FOLDS):
        inside = [part[question_key(row)] == fold for row in rows]
        yield f"part {fold + 1} of {FOLDS}", *_divided(inside)


def _by_model(rows: Sequence[Labelled]) -> Iterator[Split]:
    for model in sorted({row.model for row in rows}):
        yield model, *_divided([row.model == model for row in rows])


def _divided(inside: Sequence[bool]) -> tuple[list[int], list[int]]:
    numbers = range(len(inside))
    return [number for number in numbers if not inside[number]], [number for number in numbers if inside[number]]


def _report(rows: Sequence[Labelled], encoder: Sequence[Reading]) -> str:
    answers = [row.answer for row in rows]
    plain = rules.read(answers)
    readings = {
        "string_match": string_match(answers),
        "rules": plain,
        "encoder": encoder,
        "default": [*map(surer, plain, encoder)],
    }
    return as_markdown(evaluate(rows, readings))


def _write(path: Path, rows: Sequence[Labelled], encoder: Sequence[Reading]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row, reading in zip(rows, encoder, strict=True):
            line = {"model": row.model, "label": row.label.value, "encoder": reading.value, "p": reading.certainty}
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
