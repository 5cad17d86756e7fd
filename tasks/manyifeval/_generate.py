"""Writes the leaves and groups of this folder: ``python tasks/manyifeval/_generate.py``.

A test proves that the folder is what this writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lm_eval_ext.families.manyifeval.dense.rows import COUNTS

HERE = Path(__file__).resolve().parent
MOST = 10
"""The maximum number of instructions in a row (section 3.1)."""

# The metrics that a group can aggregate: means over its leaves, which have the same number of rows.
AGGREGATED = [
    f"{{metric: {metric}, filter_list: none}}"
    for metric in (
        *(
            f"{level}_level_{verdict}_acc"
            for verdict in ("strict", "loose", "repaired")
            for level in ("prompt", "inst")
        ),
        "empty_rate",
    )
]


def files() -> Iterator[tuple[str, str]]:
    """Yield every file's name and text."""
    distinct = {f"manyifeval_n{count:02d}": f"instructions: {count}\n" for count in range(1, MOST + 1)}
    repeated = {
        f"manyifeval_repeat_n{count:02d}": f"instructions: {count}\nrepeat: true\n" for count in range(2, MOST + 1)
    }
    for name, keys in (distinct | repeated).items():
        yield f"{name}.yaml", f"include: _manyifeval\ntask: {name}\n{keys}"
    yield "manyifeval_single.yaml", "include: _manyifeval\ntask: manyifeval_single\ninstructions: 1\nsingle: true\n"
    cousins = {f"manyifeval_cousins_n{count:02d}": count for count in (1, 2, 3, 5, 10)}
    for name, count in cousins.items():
        yield f"{name}.yaml", f"include: _cousins\ntask: {name}\ninstructions: {count}\n"
    yield "manyifeval_cousins.yaml", _group("manyifeval_cousins", cousins)
    dense = {f"manyifeval_dense_n{count:03d}": count for count in COUNTS}
    for name, count in dense.items():
        yield f"{name}.yaml", f"include: _dense\ntask: {name}\ninstructions: {count}\n"
    # Of its two forms, a run has one. The harness warns of a missing metric if its filter is named.
    in_forms = [
        "{metric: words_followed}",
        "{metric: instructions_followed}",
        "{metric: empty_rate, filter_list: none}",
    ]
    yield "manyifeval_dense.yaml", _group("manyifeval_dense", dense, in_forms, "_dense")
    wide = {f"manyifeval_wide_n{count:02d}": count for count in range(1, MOST + 1)}
    for name, count in wide.items():
        yield f"{name}.yaml", f"include: _wide\ntask: {name}\ninstructions: {count}\n"
    yield "manyifeval_wide.yaml", _group("manyifeval_wide", wide)
    yield "manyifeval.yaml", _group("manyifeval", distinct)
    yield "manyifeval_repeat.yaml", _group("manyifeval_repeat", repeated)


def _version(template: str) -> str:
    """Return ``metadata.version`` of the leaves, from their template; a group has the same one."""
    return re.search(r"version: ([\d.]+)", (HERE / template).read_text(encoding="utf-8"))[1]  # type: ignore[index]


def _group(
    name: str, members: Iterable[str], aggregated: Iterable[str] = AGGREGATED, template: str = "_manyifeval"
) -> str:
    tasks = "".join(f"  - {member}\n" for member in members)
    metrics = "".join(f"  - {metric}\n" for metric in aggregated)
    return f"group: {name}\ntask:\n{tasks}aggregate_metric_list:\n{metrics}metadata:\n  version: {_version(template)}\n"


if __name__ == "__main__":
    for old in HERE.glob("*.yaml"):
        old.unlink()
    for file, text in files():
        (HERE / file).write_text(text, encoding="utf-8")
