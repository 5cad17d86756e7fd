"""The table of repairs: each is of a published row, says what is wrong with it, and gives arguments that are right."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from lm_eval_ext.families.ifbench.repairs import EDITION, Fault, Repair, digest_of, repairs
from lm_eval_ext.families.ifbench.rows import IFEVAL, ONE_TURN, IFBenchRow, published_rows, repaired_rows
from lm_eval_ext.families.ifbench.witnesses import respond
from lm_eval_ext.sources import EMBEDDED_FOLDER
from lm_eval_ext.verifiers import Checker, Response
from tests.conftest import ROOT
from tests.harness.tasks import make

DATASETS = (IFEVAL, ONE_TURN)
PAGE = ROOT / "docs/appendix/repaired-rows.md"
WORDS_IN_A_ROW = 7
"""The longest run of a prompt's words that a reason may have, for prompts are not copied into this project."""


def published(real_ifeval: str, dataset: str) -> Mapping[int | str, IFBenchRow]:
    return {row.key: row for row in published_rows(real_ifeval, dataset).rows}


def of(dataset: str) -> list[Repair]:
    return [repair for repair in repairs().values() if repair.benchmark == dataset]


def test_a_repair_has_a_fault_a_reason_and_at_least_one_reading_that_came_to_it() -> None:
    assert len(repairs()) == sum(1 for _ in (ROOT / "lm_eval_ext/families/ifbench/repairs.jsonl").open()) == 21
    for repair in repairs().values():
        assert repair.benchmark in DATASETS
        assert repair.fault in get_args(Fault)
        assert 1 <= repair.readings <= 3
        assert 20 < len(repair.reason) < 250


@pytest.mark.parametrize(("dataset", "corrected", "left_out"), [(IFEVAL, 3, 11), (ONE_TURN, 4, 3)])
def test_every_repair_is_of_a_published_row(dataset: str, corrected: int, left_out: int, real_ifeval: str) -> None:
    found = repaired_rows(real_ifeval, dataset)
    assert (found.corrected, found.left_out, found.unlike) == (corrected, left_out, ())
    by_key = published(real_ifeval, dataset)
    assert len(found.rows) == len(by_key) - left_out
    for repair in of(dataset):
        row = by_key[repair.key]
        at_fault = row.instructions[repair.position]
        assert at_fault.id == repair.id
        for name, (old, new) in (repair.arguments or {}).items():
            assert at_fault.arguments()[name] == old != new


def test_corrected_arguments_are_those_that_the_prompt_states(real_ifeval: str) -> None:
    by_key = published(real_ifeval, IFEVAL)
    for key, words in ((337, "at least 400"), (1174, "at least 6"), (3311, "'objective'")):
        assert words in by_key[key].prompt
    of_words = published(real_ifeval, ONE_TURN)
    for row in repaired_rows(real_ifeval, ONE_TURN).rows:
        asked = of_words[row.key].instructions[0].arguments()
        if row.instructions[0].id == "repeat:repeat_span":
            # What the prompt asks for, by its own indices, is what both editions now accept.
            span = " ".join(asked["prompt_to_repeat"].split()[asked["n_start"] : asked["n_end"] + 1])
            assert verdicts(span, of_words[row.key]) == (False, True)
            assert verdicts(span, row) == (True, True)


def verdicts(text: str, row: IFBenchRow) -> tuple[bool, bool]:
    """Return whether a text follows all instructions of a row, in both editions."""
    response = Response(text)
    faithful, repaired = (response.follows(row.instructions, edition) for edition in ("faithful", "repaired"))
    return faithful.follow_all_instructions, repaired.follow_all_instructions


def test_every_row_that_is_kept_can_be_followed_and_every_row_that_cannot_is_left_out(real_ifeval: str) -> None:
    left_out = {(repair.benchmark, repair.key) for repair in repairs().values() if repair.arguments is None}
    for dataset in DATASETS:
        assert all(respond(row.instructions) for row in repaired_rows(real_ifeval, dataset).rows)
        by_key = published(real_ifeval, dataset)
        assert {(dataset, key) for key, row in by_key.items() if respond(row.instructions) is None} <= left_out


def test_no_reason_quotes_a_prompt(real_ifeval: str) -> None:
    for repair in repairs().values():
        prompt = f" {' '.join(published(real_ifeval, repair.benchmark)[repair.key].prompt.split())} "
        reason = repair.reason.split()
        runs = (reason[start : start + WORDS_IN_A_ROW] for start in range(len(reason) - WORDS_IN_A_ROW + 1))
        assert not [run for run in runs if f" {' '.join(run)} " in prompt], repair.key


def shown(repair: Repair) -> str:
    """Return the line of the page's table about a repair."""
    changes = [
        f"`{name}`: {json.dumps(old)} → {json.dumps(new)}" for name, (old, new) in (repair.arguments or {}).items()
    ]
    done = "; ".join(changes) or "left out"
    return f"| {repair.key} | `{repair.id}` | {repair.fault} | {done} | {repair.readings} | {repair.reason} |"


def test_the_page_shows_the_whole_table_and_counts_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and line.split("|")[1].strip().isdigit()]
    assert [line for line in lines if "left out" in line or "→" in line] == [*map(shown, repairs().values())]
    for dataset in DATASETS:
        for fault, count in Counter(repair.fault for repair in of(dataset)).items():
            kept = sum(repair.arguments is not None for repair in of(dataset) if repair.fault == fault)
            assert f"| {dataset} | {fault} | {kept} | {count - kept} |" in page


# A row that is not the published one stays as it is


def test_a_digest_is_of_prompt_instructions_and_arguments_but_not_of_white_space() -> None:
    (row, *_), others = published_rows("embedded", IFEVAL).rows, published_rows("embedded", IFEVAL).rows[1:]
    same = digest_of(f" {row.prompt.replace(' ', '  ')}\n", row.instructions)
    assert same == digest_of(row.prompt, row.instructions)
    assert same not in {
        digest_of(row.prompt[:-1], row.instructions),
        digest_of(row.prompt, row.instructions[:1]),
        digest_of(row.prompt, others[0].instructions),
    }


def ours(monkeypatch: pytest.MonkeyPatch, *, arguments: Any, key: int = 1) -> Repair:
    """Make the table one of a repair of the first of our own rows."""
    row: IFBenchRow = published_rows("embedded", IFEVAL).rows[0]
    checker: Checker = row.instructions[0]
    digest = digest_of(row.prompt, row.instructions)
    repair = Repair(IFEVAL, key, digest, 0, checker.id, arguments, "argument", 3, "asks for something else")
    monkeypatch.setattr("lm_eval_ext.families.ifbench.rows.repairs", lambda: {digest: repair})
    repaired_rows.cache_clear()
    return repair


@pytest.fixture(autouse=True)
def _of_the_real_table() -> Any:
    yield
    repaired_rows.cache_clear()


@pytest.mark.harness
def test_results_say_which_edition_and_how_many_rows_were_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make("ifeval_published")
    ours(monkeypatch, arguments={"num_words": (120, 130)})
    corrected = make("ifeval_repaired")
    assert corrected.config.metadata["version"] == f"1.3+rows{EDITION}+embedded"
    assert [corrected.config.metadata[fact] for fact in ("repaired", "rows_corrected", "rows_left_out")] == [True, 1, 0]
    assert "rows_left_out" not in whole.config.metadata
    docs, of_whole = ([*task.eval_docs] for task in (corrected, whole))
    # A document has what its answer is judged by, so that the harness's hash of it tells the editions apart.
    assert [number for number, doc in enumerate(docs) if doc != of_whole[number]] == [0]
    assert docs[0]["kwargs"][0]["num_words"] == 130
    assert corrected.config.metadata["rows_hash"] != whole.config.metadata["rows_hash"]
    ours(monkeypatch, arguments=None)
    left_out = make("ifeval_repaired")
    assert [left_out.config.metadata[fact] for fact in ("rows_corrected", "rows_left_out")] == [0, 1]
    assert [*left_out.eval_docs] == of_whole[1:]


@pytest.mark.harness
def test_a_row_that_the_source_has_otherwise_is_kept_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours(monkeypatch, arguments=None)
    text = (EMBEDDED_FOLDER / "ifeval_train.jsonl").read_text(encoding="utf-8")
    (tmp_path / "ifeval_train.jsonl").write_text(text.replace('"num_words": 120', '"num_words": 121'), "utf-8")
    with caplog.at_level(logging.INFO):
        task = make("ifeval_repaired", {"source": str(tmp_path)})
    assert len(task.eval_docs) == len(published_rows("embedded", IFEVAL).rows)
    assert "ifeval_repaired: kept as they are, because they are not the rows" in caplog.text
    assert caplog.text.rstrip().endswith(": 1")
