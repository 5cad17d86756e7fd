"""Result files of made-up ManyIFEval runs; the test says what each row follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.reports.files import write_tasks

TYPES = ("punctuation:no_comma", "startend:quotation", "keywords:existence", "detectable_format:title")
"""The first n of them are what a row with n instructions asks for."""
SINGLE = "manyifeval_single"
"""The task of single instructions; each of its rows asks for one of a task prompt's."""
VERDICT_KINDS = ("strict", "loose", "repaired")

Line = dict[str, Any]


def metric(instruction: str) -> str:
    return f"strict_acc_{instruction.replace(':', '_')}"


def row(key: int, followed: Sequence[bool | int], *, repeated: bool = False, **more: Any) -> Line:
    """Return a line of samples.

    Args:
        key: of the task prompt.
        followed: whether each instruction is.
        repeated: whether they are all of one type.
        more: other metrics, or other values of these.
    """
    asked = [TYPES[0]] * len(followed) if repeated else list(TYPES[: len(followed)])
    levels: Line = {}
    for verdict in VERDICT_KINDS:
        levels[f"prompt_level_{verdict}_acc"] = float(all(followed))
        levels[f"inst_level_{verdict}_acc"] = sum(followed) / len(followed)
    by_type = {
        metric(name): [sum(yes for one, yes in zip(asked, followed, strict=True) if one == name), asked.count(name)]
        for name in TYPES
    }
    return {
        "doc": {"key": key, "instruction_id_list": asked},
        "target": "witness",
        "arguments": {"gen_args_0": {"arg_0": f"Prompt {key}", "arg_1": {}}},
        "resps": [[f"Answer {key}"]],
        "filtered_resps": [f"Answer {key}"],
        "filter": "none",
        "curse_residual": [levels["prompt_level_strict_acc"], levels["inst_level_strict_acc"], len(asked)],
        **levels,
        **by_type,
        **more,
    }


def of_model(name: str, **arguments: Any) -> Mapping[str, Any]:
    """Return how the harness was called for a model of a name."""
    return {"model": "hf", "model_args": {"pretrained": name, **arguments}}


def write_rows(
    folder: Path,
    tasks: Mapping[str, Sequence[Line]],
    *,
    config: Mapping[str, Any] | None = None,
    figures: Mapping[str, float] | None = None,
    samples: bool = True,
) -> Path:
    """Write the files of a run; return that of the results.

    Args:
        folder: made if it is not there.
        tasks: their rows.
        config: the kind of model and its arguments.
        figures: of every task, over the means of its rows.
        samples: whether there are any.
    """
    lines = {
        task: [
            {"doc_hash": f"doc {number}", "prompt_hash": f"prompt {number}", **line} for number, line in enumerate(rows)
        ]
        for task, rows in tasks.items()
    }
    results = {
        task: {f"{name},none": value for name, value in {**_means(of_task), **(figures or {})}.items()}
        for task, of_task in lines.items()
    }
    metadata = {task: _metadata(task, rows) for task, rows in tasks.items()}
    return write_tasks(folder, lines, results, metadata, config=config or of_model("one"), samples=samples)


def _metadata(task: str, rows: Sequence[Line]) -> Mapping[str, Any]:
    asked = rows[0]["doc"]["instruction_id_list"]
    return {
        "family": "manyifeval",
        "dataset": "manyifeval",
        "source": "hub",
        "version": 1.0,
        "rows_hash": task,
        "instructions": len(asked),
        "single": task == SINGLE,
        "repeat": len(asked) > 1 and len({*asked}) == 1,
    }


def _means(lines: Sequence[Line]) -> Mapping[str, Any]:
    means: dict[str, Any] = {}
    for name, value in lines[0].items():
        found = [line[name] for line in lines]
        if isinstance(value, float):
            means[name] = sum(found) / len(found)
        elif name.startswith("strict_acc_"):
            asked = sum(one[1] for one in found)
            means[name] = sum(one[0] for one in found) / asked if asked else "N/A"
    return {**means, "curse_residual": 0.0}
