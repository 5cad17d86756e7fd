"""Measures the readers on kinds of wording that they were not trained on: ``python -m benchmarks.held_out_wordings``.

Each kind of wording is a set of styles of the corpus. An adapter is trained on generated responses without the styles
of some kinds and then reads responses of these styles. With ``--folds 2`` (the default) half of the kinds are left out
at a time; with ``--folds 6`` each is left out alone, which takes three times as long.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lm_eval_ext.classifier.corpus.generated import generated, is_kept_aside
from lm_eval_ext.classifier.encoder.reader import encoder_reader
from lm_eval_ext.classifier.encoder.trainee import train_encoder
from lm_eval_ext.classifier.encoder.weights import ENCODER
from lm_eval_ext.classifier.evaluation import agree, reliability
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.classifier.rules import reader as rules

WORDINGS: Mapping[str, frozenset[str]] = {
    "several: lists left open": frozenset(
        {"list_depends", "one_of_list", "only_valid", "all_have_merit", "disclaimer_then_list", "hedged_pair"}
    ),
    "option: after a disclaimer": frozenset({"disclaimer_then_choice", "hedge_then_answer"}),
    "refused: options explained or listed": frozenset(
        {"explains_options", "enumerates_letters", "neutral_list_of_options", "refusal_with_letter_words"}
    ),
    "several: one option per condition": frozenset({"conditional", "perspectives", "depends"}),
    "option: others excluded": frozenset(
        {"option_excluded", "elimination", "wrong_candidates_then_answer", "negation", "text_against_other_text"}
    ),
    "none: own answer, or none is right": frozenset({"own_answer_not_listed", "none_is_right", "excluded_only"}),
}
"""Kinds of wording, and the styles that they consist of."""


def main() -> None:
    """Train, read and print a table of accuracies and one of certainties."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, default=12000, help="number of responses to train on")
    parser.add_argument("--read", type=int, default=300, help="number of responses to read per kind of wording")
    parser.add_argument("--folds", type=int, default=2, help="number of parts that the kinds are divided into")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    print("| held-out wording | rows | rules abstain | rules | encoder | default |\n|---|---:|---:|---:|---:|---:|")
    said: list[Reading] = []
    right: list[bool] = []
    for fold in range(options.folds):
        held_out = list(WORDINGS)[fold :: options.folds]
        with tempfile.TemporaryDirectory() as folder:
            _train(Path(folder), frozenset().union(*(WORDINGS[name] for name in held_out)), options)
            for name in held_out:
                rows = _responses(options.read, options.seed + 1, WORDINGS[name])
                plain = rules.read([row.answer for row in rows])
                encoder = encoder_reader(Path(folder))([row.answer for row in rows])
                default = [one if one.certainty else two for one, two in zip(plain, encoder, strict=True)]
                abstained = sum(one.certainty == 0 for one in plain)
                shares = " | ".join(f"{_accuracy(rows, readings):.1f}" for readings in (plain, encoder, default))
                print(f"| {name} | {len(rows)} | {abstained} | {shares} |", flush=True)
                said += default
                right += [agree(row.label, reading) for row, reading in zip(rows, default, strict=True)]
    print("\n| certainty of default | rows | mean certainty | accuracy |\n|---|---:|---:|---:|")
    for one in reliability(said, right):
        print(f"| {one.above:g} - {one.most:g} | {one.rows} | {one.certainty:.3f} | {100 * one.accuracy:.1f} |")


def _responses(count: int, seed: int, styles: frozenset[str]) -> list[Labelled]:
    return generated(count, seed, lambda frame: frame.style in styles)


def _train(folder: Path, styles: frozenset[str], options: argparse.Namespace) -> None:
    taught = generated(
        options.generated, options.seed, lambda frame: frame.style not in styles and not is_kept_aside(frame)
    )
    aside = generated(
        options.generated // 6, options.seed, lambda frame: frame.style not in styles and is_kept_aside(frame)
    )
    unread = [row for row in aside if rules.decide(row.answer) is None]
    train_encoder(taught, folder, replace(ENCODER, seed=options.seed, epochs=options.epochs), calibration=unread)


def _accuracy(rows: Sequence[Labelled], readings: Sequence[Reading]) -> float:
    right = sum(agree(row.label, reading) for row, reading in zip(rows, readings, strict=True))
    return 100 * right / len(rows)


if __name__ == "__main__":
    main()
