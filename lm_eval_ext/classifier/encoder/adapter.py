"""The description stored with an adapter's weights: its base, its encoding and the temperature of its certainty."""

from __future__ import annotations

import json
from pathlib import Path

from lm_eval_ext.classifier.availability import ADAPTER_WEIGHTS
from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.encoding import ENCODING
from lm_eval_ext.training.run import Recipe

ENCODER = Recipe(seed=0, epochs=2, batch_size=16, learning_rate=1.5e-3, rank=16)
"""How an adapter is trained by default, and the ones in this package were."""
EMBEDDED = tuple(Path(__file__).resolve().parent / "adapters" / number for number in "12")
"""The folders of the adapters that come with this package. Their probabilities are averaged: two adapters of different
trainings err on different wordings (Lakshminarayanan et al. 2017, "Deep Ensembles")."""
DESCRIPTION = "answer_classifier.json"
"""The file that marks a folder as one of our encoder adapters."""
DESCRIBED = {"encoding": ENCODING, "base": weights.REPOSITORY, "revision": weights.REVISION}

TEMPERATURE = "temperature"
"""The field of the description with the divisor of the scores that makes the certainty right; see ``calibration``."""


class AdapterError(ValueError):
    """An adapter is missing, is incomplete or was trained for another base or encoding."""


def describe(folder: Path, temperature: float) -> None:
    """Write the description of an adapter trained with this version into its folder."""
    described = {**DESCRIBED, TEMPERATURE: temperature}
    (folder / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def temperature(folder: Path) -> float:
    """Return the temperature of an adapter that ``check`` accepts."""
    return float(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))[TEMPERATURE])


def check(folder: Path) -> None:
    """Check that a folder contains an adapter that this version can use.

    Raises:
        AdapterError: it does not; the message says what was found.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise AdapterError(f"{folder}: no {DESCRIPTION}; expected a folder that `lm-eval-ext classifier train` wrote")
    # PEFT would otherwise fall back to pickled weights.
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise AdapterError(f"{folder}: no {ADAPTER_WEIGHTS} (weights of other formats are not loaded)")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AdapterError(f"{path}: not JSON in UTF-8 ({error})") from error
    its = found.get(TEMPERATURE) if isinstance(found, dict) else None
    if found != {**DESCRIBED, TEMPERATURE: its} or not isinstance(its, int | float) or not its > 0:
        raise AdapterError(
            f"{path}: {found}, expected {DESCRIBED} and a {TEMPERATURE} above 0; retrain the adapter with this version"
        )
