"""The rows of every task: 100 for each number of instructions, solvable, and the same on every machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.instructions.kinds import FIFTEEN as POOL_OF_15
from lm_eval_ext.families.manyifeval.command import statistics
from lm_eval_ext.families.manyifeval.prompts import SPLITS, content_of, task_prompts
from lm_eval_ext.families.manyifeval.rows import (
    InstructionRow,
    Selection,
    all_rows,
    evaluated,
    prompt_of,
    rows_hash,
    rows_with_count,
)
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instructions_of
from tests.conftest import SHARED
from tests.families.jsonl import write_jsonl
from tests.families.manyifeval.files import published_rows
from tests.families.manyifeval.table_4 import FIFTEEN
from tests.tables import tables

COUNTS = range(1, 11)
BARE = "bare task prompts, instructions composed"


def test_every_number_of_instructions_has_the_same_task_prompts(source: str) -> None:
    first, *others = (
        [(row.key, row.task_prompt) for row in rows_with_count(Selection(source, count))] for count in COUNTS
    )
    assert len(dict(first)) == len(first) == len(set(dict(first).values())) == 100
    assert others == [first] * 9


@pytest.mark.parametrize("split", SPLITS)
def test_every_row_has_a_prefix_of_ten_of_the_fifteen_and_a_witness_to_all_of_them(source: str, split: str) -> None:
    found = all_rows(source, split)
    assert len(found) == 10 * len(task_prompts(source, split))
    require_witnesses(found)


def require_witnesses(rows: Sequence[InstructionRow]) -> None:
    """Assert that each task prompt's ten rows have the first of its ten instructions, all of different types.

    Their witness follows all ten strictly in both editions.
    """
    for start in range(0, len(rows), 10):
        ten = rows[start + 9]
        types = {instruction.id for instruction in ten.instructions}
        assert len(ten.instructions) == len(types) == len(types & FIFTEEN) == 10
        assert is_as_intended(ten.witness or "", ten.instructions), ten
        for count, row in enumerate(rows[start : start + 10], start=1):
            assert (row.key, row.instructions, row.witness) == (ten.key, ten.instructions[:count], ten.witness)


# source -> task prompts by split; of google/IFEval as many as in the paper (section 3.1)
SIZES = {"embedded": {"test": 100, "train": 10, "fewshot": 6}, "real": {"test": 100, "train": 110, "fewshot": 6}}


def test_the_splits_have_fixed_sizes_and_share_no_task_prompt(source: str) -> None:
    found = {split: task_prompts(source, split) for split in SPLITS}
    sizes = SIZES["embedded" if source == "embedded" else "real"]
    assert {split: len(of_split) for split, of_split in found.items()} == sizes
    everything = [prompt for of_split in found.values() for prompt in of_split]
    assert len({prompt.key for prompt in everything}) == len({prompt.text for prompt in everything}) == len(everything)


# Table 3 says 92.3 words: the published rows are not those that are reconstructed from IFEval.
WORDS = {"embedded": 96.825, "real": 96.132}


def test_the_statistics_are_those_of_the_papers_tables_1_and_3_and_figure_2(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manyifeval", "statistics", "--source", source]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "samples": 1000,
        "prompts": 100,
        "words_per_sample": pytest.approx(WORDS["embedded" if source == "embedded" else "real"]),
        "most_instructions": 10,
        "balanced": True,
        "samples_by_instructions": {str(count): 100 for count in COUNTS},
    }


def test_the_statistics_of_any_rows_say_how_unequal_the_numbers_of_instructions_are() -> None:
    once, twice = instructions_of(["punctuation:no_comma", "startend:quotation"], [{}, {}])
    rows = [
        InstructionRow(1, "Name a color.", "Name a color. No commas.", (once,)),  # 5 words
        InstructionRow(2, "Name two.", "Name two. No commas.", (once,)),  # 4
        InstructionRow(2, "Name two.", "Name two.\nNo commas. In quotation marks.", (once, twice)),  # 7
    ]
    assert statistics(rows) == {
        "samples": 3,
        "prompts": 2,
        "words_per_sample": pytest.approx(16 / 3),
        "most_instructions": 2,
        "balanced": False,
        "samples_by_instructions": {"1": 2, "2": 1},
    }


def test_a_row_seed_draws_task_prompts_and_instructions_whatever_the_source(source: str) -> None:
    # With the pool, as the tasks ask for them: so they are composed once.
    default, fresh = all_rows(source, "test"), all_rows(source, "test", 7, POOL_OF_15)
    assert fresh == all_rows("embedded", "test", 7, POOL_OF_15)
    assert [len(row.instructions) for row in fresh] == [len(row.instructions) for row in default]
    assert not {row.task_prompt for row in fresh} & {row.task_prompt for row in default}
    require_witnesses(fresh)
    assert len({rows_hash(evaluated(Selection(source, 3, row_seed=row_seed))) for row_seed in (None, 7)}) == 2
    assert content_of(source, "test", 7).value == "task prompts and instructions composed under the row seed"


def test_the_splits_of_a_row_seed_share_no_task_prompt() -> None:
    found = {split: {(row.key, row.task_prompt) for row in all_rows("embedded", split, 7)} for split in SPLITS}
    assert {split: len(of_split) for split, of_split in found.items()} == SIZES["real"]
    everything = [pair for of_split in found.values() for pair in of_split]
    assert len(dict(everything)) == len({prompt for _, prompt in everything}) == len(everything)


def test_a_row_seed_keeps_bare_task_prompts_of_ones_own(tmp_path: Path) -> None:
    bare = [{"key": key, "task_prompt": f"Write about the number {key}."} for key in range(1, 4)]
    path = write_jsonl(tmp_path / "manyifeval_test.jsonl", bare)
    fresh = all_rows(str(path), "test", 7)
    assert [row.task_prompt for row in fresh] == [one["task_prompt"] for one in bare for _ in COUNTS]
    assert fresh != all_rows(str(path), "test", 8)
    assert {content_of(path, "test", row_seed).value for row_seed in (7, None)} == {BARE}


def test_a_row_seed_for_finished_rows_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", published_rows()[:20])
    with pytest.raises(RowsError, match="row_seed 7, but its rows are finished, and nothing is drawn; remove row_seed"):
        all_rows(str(path), "test", 7)


@pytest.mark.parametrize("count", [2, 10])
def test_repeated_rows_have_the_first_instruction_the_configured_number_of_times(source: str, count: int) -> None:
    single, repeated = rows_with_count(Selection(source, 1)), rows_with_count(Selection(source, count, repeat=True))
    assert len(repeated) == 100
    for one, row in zip(single, repeated, strict=True):
        assert (row.key, row.task_prompt, row.witness) == (one.key, one.task_prompt, one.witness)
        assert row.instructions == one.instructions * count
        line = one.prompt.split("\n")[-1]
        assert row.prompt == one.prompt + f"\n{line}" * (count - 1)


def test_the_hash_depends_on_the_number_of_instructions_repetition_and_task_prompts() -> None:
    chosen = [Selection("embedded", count, keys=keys) for keys in (None, (1, 2)) for count in COUNTS]
    chosen.append(Selection("embedded", 1, single=True))
    chosen += [Selection("embedded", count, True) for count in COUNTS[1:]]
    assert len({rows_hash(evaluated(selection)) for selection in chosen}) == 20 + 1 + 9
    # Once, the first instruction is the first instruction.
    assert rows_hash(evaluated(Selection("embedded", 1, True))) == rows_hash(evaluated(Selection("embedded", 1)))


def test_the_hash_covers_prompts_arguments_and_order_but_not_the_file(tmp_path: Path) -> None:
    published = published_rows()
    same = write_jsonl(tmp_path / "same.jsonl", published)
    assert rows_hash(evaluated(Selection(same, 2))) == rows_hash(evaluated(Selection("embedded", 2)))
    changed = [dict(row) for row in published]
    changed[1]["prompt"] += "!"  # key 1 with two instructions
    for name, other in (("prompt", changed), ("order", published[::-1])):
        path = write_jsonl(tmp_path / f"{name}.jsonl", other)
        assert rows_hash(evaluated(Selection(path, 2))) != rows_hash(evaluated(Selection(same, 2)))


def test_the_results_record_the_kind_of_rows(source: str, tmp_path: Path) -> None:
    finished = write_jsonl(tmp_path / "finished.jsonl", published_rows())
    assert content_of(finished, "test").value == "finished rows in the published schema"
    assert content_of("embedded", "test").value == BARE
    if source != "embedded":
        assert content_of(source, "test").value == "task prompts cut out of google/IFEval, instructions composed"


# Prints every row of the sources with its witness, every hash, some answers of the reference model, and the hash of
# reports in sections.
PRINT_ROWS = """
import json, sys
from dataclasses import asdict
from lm_eval_ext.families.manyifeval.answers import known_answers
from lm_eval_ext.families.manyifeval.dense import rows as dense
from lm_eval_ext.families.manyifeval.prompts import SPLITS
from lm_eval_ext.families.manyifeval.rows import Selection, all_rows, evaluated, rows_hash
sys.stdout.reconfigure(encoding="utf-8")
for source in sys.argv[1:]:
    for split in SPLITS:
        for row in all_rows(source, split):
            print(json.dumps([row.key, row.prompt, list(map(repr, row.instructions)), row.witness]))
    for count in range(1, 11):
        print(rows_hash(evaluated(Selection(source, count))), rows_hash(evaluated(Selection(source, count, True))))
    for row in all_rows(source, "test")[::50]:
        print(json.dumps({policy: compose() for policy, compose in known_answers(row).items()}))
for row in all_rows("embedded", "test", 7):
    print(json.dumps([row.key, row.prompt, list(map(repr, row.instructions)), row.witness]))
print(dense.rows_hash(dense.mixed_rows(20, 7)))
"""


@pytest.mark.slow
def test_rows_witnesses_and_hashes_do_not_depend_on_hash_seed_or_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SHARED / "data" / "ifeval"
    sizes = SIZES if real.is_dir() else {"embedded": SIZES["embedded"]}
    sources = [str(real) if name == "real" else name for name in sizes]
    # Without coercion and UTF-8 mode, C really means ASCII.
    variables = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", PRINT_ROWS, *sources]
    other = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, check=False)
    assert other.returncode == 0, other.stderr.decode(errors="replace")
    # This process has a seed of its own, and many of the rows already.
    monkeypatch.setattr(sys, "argv", ["", *sources])
    printed = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(printed)) as text:
        exec(PRINT_ROWS, {})  # noqa: S102 # the program above
    text.flush()
    one = printed.getvalue()
    assert one == other.stdout
    assert one.count(b"\n") == sum(10 * sum(splits.values()) + 10 + 20 for splits in sizes.values()) + 1000 + 1


# A score depends on the rows. Where one of these has to change, so has metadata.version in tasks/manyifeval; of the
# embedded test rows, tests/families/rows.json has the hashes.


def test_the_embedded_few_shot_examples_have_not_changed() -> None:
    shown = "".join(json.dumps((row.prompt, row.witness)) + "\n" for row in all_rows("embedded", "fewshot"))
    assert (
        hashlib.sha256(shown.encode()).hexdigest() == "3bf8780696cc9f415fd5c4ed0655b6da69ecf446e2dd870a09bb4e71faa63dd9"
    )


def test_the_rows_reconstructed_from_ifeval_have_not_changed(real_ifeval: str) -> None:
    hashes = [rows_hash(evaluated(Selection(real_ifeval, count))) for count in (1, 5, 10)]
    assert hashes == ["724900260d6733f4", "84297c9faa35da0e", "e77060ac080659fd"]
    assert rows_hash(evaluated(Selection(real_ifeval, 1, single=True))) == "29ef36cdbb8f2eac"


def test_ten_instructions_are_shown_as_in_table_6() -> None:
    table = tables(__file__, "table_6")
    ten = instructions_of(list(table["instructions"]), list(table["instructions"].values()))
    assert prompt_of(table["prompt"].partition("\n")[0], ten) == table["prompt"]
