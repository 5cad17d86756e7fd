"""The README's table of GPT-3's recorded answers matches the output of the command."""

from __future__ import annotations

import re
from pathlib import Path

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.natural_instructions.predictions import score
from tests.families.natural_instructions.test_encodings import PUBLISHED


def test_the_table_of_recorded_answers_matches_the_output_of_score(shared_data: Path) -> None:
    path = shared_data / "natural_instructions" / "gpt3_predictions.jsonl"
    with path.open("rb") as lines:
        found = score(lines, path.name)
    assert (found.scored, found.skipped, len(found.rouge_l)) == (12_100, 1_100, 11)
    means = {PUBLISHED[tuple(encoding.split(" + "))]: mean for encoding, mean in found.encodings.items()}
    text = (Path(tasks_dir()) / "natural_instructions" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| (?:([-+][\d.]+) % )?\|$", text, re.MULTILINE)
    base = means["prompt"]
    assert rows == [
        (
            encoding,
            f"{100 * means[encoding]:.2f}",
            "" if encoding == "prompt" else f"{100 * (means[encoding] - base) / base:+.1f}",
        )
        for encoding, _, _ in rows
    ]
    assert {encoding for encoding, _, _ in rows} == set(PUBLISHED.values())
