"""The rows that an adapter is trained and evaluated on, and its model card: its data, its training and its scores.

The card is read on other machines than the one used for training, so it does not name folders.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext.classifier.availability import ADAPTER_CONFIG
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.evaluation import as_markdown, evaluate, readings
from lm_eval_ext.classifier.labelled import Labelled, labelled_file, question_key, split_by_question
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.sources import RowsError
from lm_eval_ext.training.run import RECORD, Recipe, versions

CARD = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
"""The model card, with fields."""


@dataclass(frozen=True, slots=True)
class Data:
    """Rows and their origin.

    Attributes:
        name: the name of the origin, without its folder, because a model card is read elsewhere.
        sha256: of the file that the rows come from.
        rows: the labeled rows.
    """

    name: str
    sha256: str
    rows: Sequence[Labelled]


@dataclass(frozen=True, slots=True)
class Division:
    """The division of rows into training and evaluation data.

    Attributes:
        files: the user's labeled rows.
        taught: the rows of these files that are used for training.
        held_out: the rows of these files to evaluate and calibrate on.
        models: the models whose rows alone are held out, if any.
        measured: labeled rows that are used for evaluation only.
    """

    files: Sequence[Data]
    taught: Sequence[Labelled]
    held_out: Sequence[Labelled]
    models: Sequence[str]
    measured: Sequence[Data]


def divide(files: Sequence[Data], measured: Sequence[Data], share: float, models: Sequence[str], seed: int) -> Division:
    """Split the rows of files by question, by model or by both.

    Args:
        files: labeled rows, at least one file.
        measured: rows for evaluation only.
        share: the fraction of the files' questions to hold out.
        models: models to hold out, possibly none. If there are some, rows to train on are of other models, and those
            held out are of these; unless the share is 0, they are about other questions, too.
        seed: the seed of the split.

    Raises:
        RowsError: a model has no rows; no rows are left for training or, unless nothing is to be held out, none of the
            files' rows are left for evaluation; or a file meant for evaluation only is also used for training.
    """
    known = {data.sha256 for data in files}
    for data in measured:
        if data.sha256 in known:
            raise RowsError(
                f"--evaluate-on {data.name}: its rows are also used for training; use --held-out to hold some out"
            )
    rows = [row for data in files for row in data.rows]
    has_rows = {row.model for row in rows}
    for model in models:
        if model not in has_rows:
            raise RowsError(f"--held-out-models {model}: no such model; expected one of {', '.join(sorted(has_rows))}")
    taught, held_out = split_by_question(rows, share, seed)
    if models:
        taught = [row for row in taught if row.model not in models]
        held_out = [row for row in (held_out if share else rows) if row.model in models]
    if not taught or ((share or models) and not held_out):
        with_models = f", with --held-out-models {' '.join(models)}," if models else ""
        raise RowsError(
            f"--held-out {share} of {questions(rows)} questions{with_models} leaves {len(taught)} rows to train on and "
            f"{len(held_out)} to evaluate on; choose another fraction{' or other models' if models else ''}"
        )
    return Division(files, taught, held_out, models, measured)


def sample(rows: Sequence[Labelled], count: int, seed: int) -> list[Labelled]:
    """Return some of the rows, in their order. With the same seed, a smaller sample is part of a larger one.

    Args:
        rows: the rows to draw from.
        count: how many to draw.
        seed: the seed of the draw.

    Raises:
        RowsError: there are not as many rows.
    """
    if count > len(rows):
        raise RowsError(f"--samples {count}: only {len(rows)} rows of DATA can be trained on")
    indices = list(range(len(rows)))
    random.Random(f"samples/{seed}").shuffle(indices)  # noqa: S311 # reproducible by design
    return [rows[index] for index in sorted(indices[:count])]


def from_file(path: Path) -> Data:
    """Return the labeled rows of a file.

    Raises:
        RowsError: the file has invalid rows, or none.
    """
    return Data(path.name, weights.sha256(path), labelled_file(path))


def questions(rows: Iterable[Labelled]) -> int:
    """Return how many questions the rows are about."""
    return len({question_key(row) for row in rows})


def card(  # noqa: PLR0913 # everything that describes a training run
    mode: str, folder: Path, division: Division, named_readers: Mapping[str, Reader], *, share: float, recipe: Recipe
) -> str:
    """Return the model card of a newly trained adapter; the readers are run to compute its scores.

    Args:
        mode: what was trained: ``encoder`` or ``causal``.
        folder: the folder of the adapter.
        division: the rows used for training and the other rows.
        named_readers: maps names for the card to the readers whose scores it reports.
        share: the requested fraction of questions to hold out.
        recipe: the hyperparameters; their seed is also that of the split.
    """
    # What training recorded next to the adapter.
    recorded = folder / (weights.DESCRIPTION if mode == "encoder" else RECORD)
    scores = []
    if division.held_out:
        scores.append(f"Evaluated on the held-out rows.\n\n{_tables(named_readers, division.held_out)}")
    known, taught = {question_key(row) for row in division.taught}, {*division.taught}
    for data in division.measured:
        # Rows of one question are alike.
        shared = sum(question_key(row) in known for row in data.rows)
        used = sum(row in taught for row in data.rows)
        of_rows = f"{used} of its rows were" if used else "None of its rows were"
        scores.append(
            f"Evaluated on {data.name} (SHA-256 `{data.sha256}`). {of_rows} used for training; {shared} of its "
            f"{len(data.rows)} rows are about questions in the training data.\n\n"
            f"{_tables(named_readers, data.rows)}"
        )
    return CARD.format(
        mode=mode,
        recipe=recipe,
        sources="\n".join(f"| {data.name} | {len(data.rows)} | `{data.sha256}` |" for data in division.files),
        share=share,
        models=f", models held out: {', '.join(division.models)}" if division.models else "",
        taught=len(division.taught),
        taught_questions=len(known),
        held_out=len(division.held_out),
        held_out_questions=questions(division.held_out),
        base=_base(folder),
        packages=", ".join(f"{package} {version}" for package, version in versions().items()),
        recorded=recorded,
        record=recorded.read_text(encoding="utf-8").strip(),
        scores="\n".join(scores).removesuffix("\n") or "No rows were held out.",
    )


def _base(folder: Path) -> str:
    """Describe an adapter's base from the adapter's files; for a local base, its name and its weights' hashes."""
    description = folder / weights.DESCRIPTION
    described = json.loads((description if description.is_file() else folder / ADAPTER_CONFIG).read_text("utf-8"))
    base = described.get("base") or described["base_model_name_or_path"]
    revision = described.get("revision")
    local = Path(base).is_dir()
    text = f"- base `{Path(base).name if local else base}`" + (f", revision `{revision}`" if revision else "")
    for path in sorted(Path(base).glob("*.safetensors")) if local else ():
        text += f"\n- base weights {path.name}: SHA-256 `{weights.sha256(path)}`"
    return text


def _tables(named_readers: Mapping[str, Reader], rows: Sequence[Labelled]) -> str:
    return as_markdown(evaluate(rows, {name: readings(reader, rows, name) for name, reader in named_readers.items()}))
