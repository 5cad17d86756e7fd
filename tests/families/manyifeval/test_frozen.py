"""The default rows are data: the files are what the generator writes, and no composer or writer can change them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval import compose
from lm_eval_ext.families.manyifeval.cousins import variants
from lm_eval_ext.families.manyifeval.dense.mixed import rows as reports
from lm_eval_ext.families.manyifeval.frozen import frozen
from lm_eval_ext.families.manyifeval.rows import FEWSHOT, TEST, Selection, _all_rows, all_rows
from lm_eval_ext.families.manyifeval.task import demonstrated

GENERATOR = Path(tasks_dir()) / "_default_rows.py"


def test_the_files_are_what_the_generator_writes(shared_data: Path) -> None:
    for part, rows in runpy.run_path(str(GENERATOR))["files"](str(shared_data / "ifeval")):
        assert {row: plain(value) for row, value in rows} == frozen(part), part


def plain(value: object) -> object:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def test_no_default_row_depends_on_what_writes_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_instructions: object) -> None:
        raise AssertionError("a default row asked for a response")

    default = {wide: all_rows("embedded", TEST, None, wide) for wide in (False, True)}
    examples = list(demonstrated(Selection("embedded", 3), 6))
    row = default[False][4]
    both = list(variants.cousins(row)), reports.mixed_rows(50)
    for module in (compose, variants, reports):
        monkeypatch.setattr(module, "respond", nothing)
    for wide, rows in default.items():
        assert _all_rows.__wrapped__("embedded", TEST, None, wide) == rows
    monkeypatch.setattr("lm_eval_ext.families.manyifeval.task.respond", nothing)
    assert [one.witness for one in demonstrated(Selection("embedded", 3), 6)] == [one.witness for one in examples]
    assert all_rows("embedded", FEWSHOT)[2].witness != examples[0].witness  # which follows three instructions, not ten
    assert (list(variants.cousins(row)), reports.mixed_rows.__wrapped__(50)) == both
