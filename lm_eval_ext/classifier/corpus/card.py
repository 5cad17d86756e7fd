"""The model card of an adapter: its training data, its training and its scores.

It is read on other machines than the one used for training, so it does not name folders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lm_eval_ext.classifier.corpus.division import Data, Division, questions, sha256
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.evaluation import as_markdown, evaluate, readings
from lm_eval_ext.classifier.labelled import Labelled, question_key
from lm_eval_ext.classifier.reading import Reader
from lm_eval_ext.training.run import RECORD, Recipe, versions


def card(  # noqa: PLR0913 # everything that describes a training run
    mode: str, folder: Path, division: Division, named: Mapping[str, Reader], *, share: float, recipe: Recipe
) -> str:
    """Return the model card of a newly trained adapter; the readers are run to compute its scores.

    Args:
        mode: what was trained: ``encoder`` or ``causal``.
        folder: the folder of the adapter.
        division: the rows used for training and the other rows.
        named: maps names for the card to the readers whose scores it reports.
        share: the requested fraction of questions to hold out.
        recipe: the hyperparameters; their seed is also that of the split.
    """
    lines = [
        "---",
        "library_name: peft",
        "tags: [lm-eval-ext, answer-classifier]",
        "---",
        "",
        f"# Answer classifier ({mode})",
        "",
        "Reads which option a free-text answer to a multiple-choice question chooses.",
        "Use it with `lm-eval-ext classifier read ROWS.jsonl --reader THIS_FOLDER`, or in a task with",
        '`--metadata \'{"answer_classifier": "THIS_FOLDER"}\'`.',
        "",
        "## Data",
        "",
        "| File | Rows | SHA-256 |",
        "| --- | --- | --- |",
        *(f"| {data.name} | {len(data.rows)} | {_hashes(data)} |" for data in _sources(division)),
        "",
        *_division(division, share, recipe.seed),
        "",
        "## Training",
        "",
        f"- mode {mode}, seed {recipe.seed}, epochs {recipe.epochs}",
        f"- batch size {recipe.batch_size}, learning rate {recipe.learning_rate}, rank {recipe.rank}",
        *_base(folder),
        "- " + ", ".join(f"{package} {version}" for package, version in versions().items()),
        *_records(folder),
        "",
        "## Scores",
        "",
        _scores(named, division),
    ]
    return "\n".join(lines)


def _sources(division: Division) -> list[Data]:
    return [*division.files, *([division.generated] if division.generated else [])]


def _hashes(data: Data) -> str:
    if len(data.hashes) == 1:
        return "".join(f"`{digest}`" for digest in data.hashes.values())
    return ", ".join(f"{name} `{digest}`" for name, digest in data.hashes.items())


def _division(division: Division, share: float, seed: int) -> list[str]:
    """Describe what was trained on and held out, and which rows are annotated."""
    count = len(division.generated.rows) if division.generated else 0
    if not division.files:
        return [
            f"Trained only on {count} generated responses. No annotated rows were used for training. No rows were held "
            "out."
        ]
    taught, held_out = division.taught, division.held_out
    lines = [
        f"Split by question (seed {seed}, share {share}): trained on {len(taught)} rows of {questions(taught)} "
        f"questions; held out {len(held_out)} rows of {questions(held_out)} questions."
    ]
    if count:
        lines.append(f"The {count} generated responses were also used for training; none of them were held out.")
    return [*lines, f"The training data include {len(taught)} annotated rows, from the files above."]


def _base(folder: Path) -> list[str]:
    """Describe an adapter's base from the adapter's files; for a local base, its name and its weights' hashes."""
    ours, its = folder / weights.DESCRIPTION, folder / "adapter_config.json"
    described = json.loads((ours if ours.is_file() else its).read_text(encoding="utf-8"))
    base = described["base" if ours.is_file() else "base_model_name_or_path"]
    revision = described.get("revision")
    local = Path(base).is_dir()
    lines = [f"- base `{Path(base).name if local else base}`" + (f", revision `{revision}`" if revision else "")]
    if local:
        files = sorted(Path(base).glob("*.safetensors"))
        lines += [f"- base weights {path.name}: SHA-256 `{sha256(path)}`" for path in files]
    return lines


def _records(folder: Path) -> list[str]:
    """Return the files in which training recorded its settings, next to the adapter."""
    lines = []
    for file in sorted(folder.glob("*.json")):
        if file.name in (RECORD, weights.DESCRIPTION):
            lines += ["", f"`{file.name}`:", "", "```json", file.read_text(encoding="utf-8").strip(), "```"]
    return lines


def _scores(named: Mapping[str, Reader], division: Division) -> str:
    parts = [("Evaluated on the held-out rows.", division.held_out)] if division.held_out else []
    parts += [(_measured(data, division), data.rows) for data in division.measured]
    return "\n".join(f"{text}\n\n{_tables(named, rows)}" for text, rows in parts) or "No rows were held out.\n"


def _measured(data: Data, division: Division) -> str:
    """Describe evaluation rows and, because rows of one question are alike, how many of their questions are not new."""
    known = {question_key(row) for row in division.trained_on}
    shared = sum(question_key(row) in known for row in data.rows)
    return (
        f"Evaluated on {data.name} (SHA-256 {_hashes(data)}). None of its rows were used for training; {shared} of its "
        f"{len(data.rows)} rows are about questions in the training data."
    )


def _tables(named: Mapping[str, Reader], rows: Sequence[Labelled]) -> str:
    return as_markdown(evaluate(rows, {name: readings(reader, rows, name) for name, reader in named.items()}))
