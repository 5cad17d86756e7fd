"""Made-up runs of verbalizer tasks of which each file has a part of the rows, as ``lm_eval --samples`` writes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tests.reports.files import CONFIG, verbalizer_line, write_tasks


def write_part(
    folder: Path,
    number: int,
    scores: Mapping[str, Sequence[float]],
    rows: Collection[int],
    *,
    arguments: str = "new",
) -> Path:
    """Write the files of one run of a part; return that of the results.

    Args:
        folder: that of all parts.
        number: of the run, which is newer than those with smaller numbers.
        scores: by task, ``acc`` of each row of the whole task.
        rows: those that the part has.
        arguments: the name of the model.
    """
    lines = {task: [verbalizer_line(row, float(of_task[row])) for row in rows] for task, of_task in scores.items()}
    figures = {
        task: {
            f"{metric},answer": sum(line[metric] for line in of_task) / len(of_task)
            for metric in ("acc", "prior_rate", "invalid_rate")
        }
        for task, of_task in lines.items()
    }
    return write_tasks(
        folder,
        lines,
        figures,
        {},
        config={"model": "hf", "model_args": {"pretrained": f"owner/{arguments}"}},
        stamp=f"2026-01-02T03-04-0{number}.678901",
        configs=dict.fromkeys(scores, CONFIG),
        date=1000.0 + number,
    )
