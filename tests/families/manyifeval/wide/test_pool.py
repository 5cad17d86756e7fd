"""The pool: every one of the 83 instructions of IFEval and IFBench is in it or left out for a reason."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.arguments import ARGUMENTS
from lm_eval_ext.families.manyifeval.wide.arguments import WIDE_ARGUMENTS
from lm_eval_ext.families.manyifeval.wide.pool import _EXCLUDED, LEFT_OUT, POOL, SLOTS, conflicting
from lm_eval_ext.verifiers import IFBENCH_GROUPS, ifrlvr, instruction_ids


def test_each_of_the_83_instructions_is_drawn_or_left_out_for_a_reason() -> None:
    others = {name for names in ifrlvr.INSTRUCTIONS.values() for name in names}
    published = [name for name in instruction_ids() if not name.startswith("section:") and name not in others]
    assert sorted([*POOL, *LEFT_OUT]) == published
    assert len(published) == 83
    assert all(LEFT_OUT.values())
    of_ifbench = {f"{group}:{name}" for group, names in IFBENCH_GROUPS.items() for name in names}
    assert (len(of_ifbench.difference(POOL)), len(of_ifbench.intersection(POOL))) == (32, 26)
    assert len(set(POOL) - of_ifbench) == 20


def test_the_pool_contains_manyifevals_15_and_arguments_are_drawn_for_all_of_it() -> None:
    assert set(ARGUMENTS) < set(POOL)
    assert set(WIDE_ARGUMENTS) == set(POOL)


def test_the_page_has_the_slots_of_the_pool_in_order() -> None:
    page = (Path(tasks_dir()) / "manyifeval" / "README.md").read_text(encoding="utf-8")
    section = page.partition("### The larger pool")[2].partition("The other 37")[0]
    assert len(LEFT_OUT) == 37
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    listed = [tuple(re.findall(r"`([a-z_]+:[a-z_-]+)`", line)) for line in lines]
    several = len(listed) - 1
    assert listed == [*SLOTS[:several], tuple(name for slot in SLOTS[several:] for name in slot)]
    assert all(len(slot) == 1 for slot in SLOTS[several:])


def test_two_of_one_slot_conflict_and_so_does_every_pair_of_the_table() -> None:
    for slot in SLOTS:
        assert all(conflicting(one, other) for one, other in combinations(slot, 2))
    for name, others in _EXCLUDED.items():
        assert {name, *others} <= set(POOL)
        assert all(conflicting(name, other) and conflicting(other, name) for other in others)
    assert conflicting("words:repeats", "words:repeats")
    assert not conflicting("words:repeats", "count:numbers")
