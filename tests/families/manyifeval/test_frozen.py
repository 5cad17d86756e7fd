"""The default rows are data: the files are what the generator writes, and no composer or writer can change them."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.instructions import compose, is_as_intended, writer
from lm_eval_ext.families.instructions.kinds import FIFTEEN, KINDS, LARGER_POOL, conflicting
from lm_eval_ext.families.manyifeval import cousins, rows
from lm_eval_ext.families.manyifeval.dense import rows as dense
from lm_eval_ext.families.manyifeval.frozen import Part, frozen
from lm_eval_ext.families.manyifeval.prompts import FEWSHOT, TEST, task_prompts
from lm_eval_ext.families.manyifeval.rows import Selection, all_rows, demonstrated
from lm_eval_ext.metadata import digest
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifeval.length import NumberWords

GENERATOR = Path(tasks_dir()) / "_default_rows.py"


def test_the_files_are_what_the_generator_writes(real_ifeval: str) -> None:
    for part, written in runpy.run_path(str(GENERATOR))["files"](real_ifeval):
        assert {row: plain(value) for row, value in written} == frozen(part), part


# Documents and few-shot prompts contain these answers. Where one has to change, so has metadata.version of the tasks.
PINNED: dict[Part, str] = {
    "fifteen": "0371ebb7d3ae6616",
    "wide": "c1741b4ae9c06f5f",
    "cousins": "da1b2db872a7762a",
    "sections": "dd4ff4970fd4e420",
}


@pytest.mark.parametrize("part", PINNED)
def test_the_default_rows_and_their_answers_have_not_changed(part: Part) -> None:
    assert digest(json.dumps(frozen(part))) == PINNED[part]


def plain(value: object) -> object:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def test_no_default_row_depends_on_what_writes_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_instructions: object) -> None:
        raise AssertionError("a default row asked for a response")

    pools = (FIFTEEN, LARGER_POOL)
    default = {pool: all_rows("embedded", TEST, None, pool) for pool in pools}
    examples = [list(demonstrated(Selection("embedded", 3, pool=pool), 6)) for pool in pools]
    row = default[FIFTEEN][4]
    both = list(cousins.cousins(row)), dense.mixed_rows(50)
    for module in (writer, compose, cousins, dense, rows):
        monkeypatch.setattr(module, "respond", nothing)
    for pool, found in default.items():
        assert all_rows.__wrapped__("embedded", TEST, None, pool) == found
    assert [list(demonstrated(Selection("embedded", 3, pool=pool), 6)) for pool in pools] == examples
    assert all_rows("embedded", FEWSHOT)[2].witness != examples[0][0].witness  # it follows ten instructions, not three
    assert (list(cousins.cousins(row)), dense.mixed_rows.__wrapped__(50)) == both


def test_of_ifevals_own_instructions_the_first_of_each_slot_is_kept_with_its_arguments(real_ifeval: str) -> None:
    ten = {row.key: row.instructions for row in all_rows(real_ifeval, TEST) if len(row.instructions) == 10}
    kept = 0
    for one in task_prompts(real_ifeval, TEST):
        first: dict[str, Checker] = {}
        for each in one.own:
            too_long = isinstance(each, NumberWords) and each.relation == "at least" and each.num_words > 500
            if each.id in FIFTEEN.weights and not too_long:
                first.setdefault(KINDS[each.id].slot, each)
        assert set(first.values()) <= set(ten[one.key]), one.key
        kept += len(first)
    assert kept > 50


def test_every_type_and_relation_occurs_and_comes_first_in_some_default_row() -> None:
    for pool, types, least, firsts in ((FIFTEEN, 15, 8, 11), (LARGER_POOL, 46, 5, 30)):
        tens = [row.instructions for row in all_rows("embedded", TEST, None, pool) if len(row.instructions) == 10]
        counts = Counter(each.id for ten in tens for each in ten)
        # A type that the pool gets later is in rows of a row seed only.
        assert set(counts) <= set(pool.weights)
        assert len(counts) == types
        assert min(counts.values()) >= least
        assert len({ten[0].id for ten in tens}) >= firsts  # or a row with one instruction would be of only a few types
        assert not [pair for ten in tens for pair in combinations(ten, 2) if conflicting(pair[0].id, pair[1].id)]
        for row in all_rows("embedded", TEST, None, pool)[9::10]:
            assert is_as_intended(row.witness or "", row.instructions), row
