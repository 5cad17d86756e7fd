"""Reads many rows in batches."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Reader, Reading

BATCH = 256
"""Rows per batch, so that memory use does not grow with the file."""


def readings(reader: Reader, rows: Sequence[Labelled], name: str) -> list[Reading]:
    """Return a reader's readings of rows, showing its progress under its name."""
    from tqdm import tqdm  # noqa: PLC0415 # only for many rows

    found: list[Reading] = []
    with tqdm(total=len(rows), desc=name, unit="response", disable=None) as progress:
        for start in range(0, len(rows), BATCH):
            batch = [row.answer for row in rows[start : start + BATCH]]
            found += reader(batch)
            progress.update(len(batch))
    return found
