"""Task prompts out of the grammar, and those cut out of IFEval's: plain English, and never the same ones."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from lm_eval_ext.families.manyifeval.prompts import (
    IFEVAL_FILES,
    ROUNDS,
    SPLITS,
    Cut,
    PromptForm,
    grammar,
    prompts_of_seed,
    recipe,
    reconstruct,
    task_prompts,
)
from lm_eval_ext.families.manyifeval.rows import Selection, rows_with_count
from lm_eval_ext.metadata import digest
from lm_eval_ext.sources import RowsError, Table
from lm_eval_ext.verifiers import instructions_of
from tests.families.jsonl import read_jsonl, write_jsonl, write_rows

SEEDS = range(50)
DISTINCT_SEEDS = min(form.size for form in grammar()) // ROUNDS
"""So many row seeds, from 0 on, share no prompt."""


def test_the_grammar_is_as_large_as_the_documentation_says() -> None:
    assert len(grammar()) == 25
    assert sum(form.size for form in grammar()) == 3_050_875
    assert DISTINCT_SEEDS == 2160


def test_every_phrase_is_used_once_and_plain() -> None:
    for form in grammar():
        for phrases in form.phrases:
            assert len(set(phrases)) == len(phrases) > 1
            # No digits, commas or quotation marks, so that no instruction is about what the prompt shows.
            assert all(re.fullmatch(r"[A-Za-z][a-zA-Z '-]*\??|[A-Z][a-zA-Z ]+[.?]", phrase) for phrase in phrases)


def test_no_two_of_many_seeds_share_a_prompt() -> None:
    seeds = [*SEEDS, *range(DISTINCT_SEEDS - 50, DISTINCT_SEEDS)]
    drawn = [prompt for row_seed in seeds for prompt in prompts_of_seed(row_seed, 0, 216)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("row_seed", [0, 7, 10**6, 20261123])
def test_a_draw_has_four_prompts_of_each_form_and_none_twice(row_seed: int) -> None:
    drawn = prompts_of_seed(row_seed, 0, 100)
    assert len(set(prompts_of_seed(row_seed, 0, ROUNDS * len(grammar())))) == ROUNDS * len(grammar())
    of_form = {form.template: pattern(form) for form in grammar()}
    counts = Counter(next(name for name, found in of_form.items() if found.fullmatch(prompt)) for prompt in drawn)
    assert set(counts.values()) == {4}
    assert prompts_of_seed(row_seed, 100, 106) == prompts_of_seed(row_seed, 0, 106)[100:]


def pattern(form: PromptForm) -> re.Pattern[str]:
    """Return what matches exactly the prompts of a form, in any case."""
    given = ("|".join(map(re.escape, phrases)) for phrases in form.phrases)
    template = re.escape(form.template).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile(re.sub(r"\{\w+\}", lambda _: f"(?:{next(given)})", template), re.IGNORECASE)


def test_prompts_are_sentences() -> None:
    for row_seed in SEEDS:
        for prompt in prompts_of_seed(row_seed, 0, 100):
            assert re.fullmatch(r"[A-Z][A-Za-z '.?-]*[.?]", prompt), prompt
            assert "  " not in prompt
            assert 10 <= len(prompt.split()) <= 40


def test_the_prompts_have_not_changed() -> None:
    # A change here is a change of scores, and of metadata.version once seeded rows are released.
    assert digest(json.dumps(prompts_of_seed(7, 0, 216))) == "c1579093046e3956"


Rows = list[dict[str, Any]]

# What a task prompt would say if a constraint had been left in it.
CONSTRAINTS = [
    *("commas?", r"capital(ized)? letters?", "capitali[sz]ed", "all caps", "lower ?case", "upper ?case"),
    *("bullets?", "bullet points?", "placeholders?", "square brackets", "angular brackets", "titled?"),
    *("quotation marks", "paragraphs?", "sections?", r"\d+ (words|sentences)", "at least", "less than", "at most"),
    *("exactly", "keywords?", "markdown", "highlight(ed)?", "json", r"p\. ?s\.", "postscript", "entire", "wrap(ped)?"),
    *("your (response|reply)", "repeat", "no other", "do not", "refrain", "forbidden"),
]
CONSTRAINT = re.compile(rf"\b({'|'.join(CONSTRAINTS)})(?!\w)|\*\*\*|<<|\[", re.IGNORECASE)


@pytest.fixture(scope="module")
def ifeval(real_ifeval: str) -> Rows:
    """Return IFEval's 541 rows."""
    return read_jsonl(Path(real_ifeval) / "ifeval_input_data.jsonl")


def test_the_table_has_216_distinct_prompts_split_100_110_and_6() -> None:
    assert Counter(cut.split for cut in recipe()) == {"test": 100, "train": 110, "fewshot": 6}  # section 3.1
    assert len({cut.key for cut in recipe()}) == len({cut.sha256 for cut in recipe()}) == 216


def test_the_table_contains_no_text_and_its_spans_are_in_order() -> None:
    for cut in recipe():
        assert re.fullmatch("[0-9a-f]{12}", cut.sha256)
        ends = [0, *(position for span in cut.spans for position in span)]
        assert ends == sorted(ends), cut
        assert all(start < end for start, end in cut.spans)


def test_every_digest_matches_its_prompt_and_every_span_lies_within_it(ifeval: Rows) -> None:
    prompts = {row["key"]: row["prompt"] for row in ifeval}
    for cut in recipe():
        assert hashlib.sha256(prompts[cut.key].encode()).hexdigest().startswith(cut.sha256)
        assert cut.spans[-1][1] <= len(prompts[cut.key])


@pytest.mark.parametrize("split", SPLITS)
def test_the_task_prompts_are_whole_sentences_without_constraints(real_ifeval: str, split: str) -> None:
    for prompt in task_prompts(real_ifeval, split):
        text = prompt.text
        assert text == text.strip()
        assert not re.search(r"\s\s|\s[.,?!]|[.,]{2}|\n", text), prompt.key
        assert text.lstrip('"')[0].isupper(), prompt.key
        assert text.rstrip('"')[-1] in ".?!", prompt.key
        assert not CONSTRAINT.search(text), (prompt.key, CONSTRAINT.search(text))
        assert len(text.split()) >= 3


def test_the_list_of_constraint_phrases_matches_uncut_prompts(ifeval: Rows) -> None:
    prompts = {row["key"]: row["prompt"] for row in ifeval}
    found = sum(bool(CONSTRAINT.search(prompts[cut.key])) for cut in recipe())
    assert found > 150  # the rest are keywords, languages and phrases to end with, which no list foresees


def test_a_task_prompt_keeps_the_instructions_of_its_row(real_ifeval: str, ifeval: Rows) -> None:
    by_key = {row["key"]: row for row in ifeval}
    for split in SPLITS:
        cuts = [cut.key for cut in recipe() if cut.split == split]
        assert [prompt.key for prompt in task_prompts(real_ifeval, split)] == cuts
        for prompt in task_prompts(real_ifeval, split):
            row = by_key[prompt.key]
            assert prompt.own == instructions_of(row["instruction_id_list"], row["kwargs"])


def test_spans_are_joined_and_capitalized() -> None:
    prompt = "In 300 words, write about élan. No commas! Do it well."
    assert Cut(1, "test", "", ((14, 31), (42, 54))).of(prompt) == "Write about élan. Do it well."
    assert Cut(1, "test", "", ((0, 4),)).of("élan") == "Élan"


# Sources


@pytest.mark.parametrize(
    ("name", "given"),
    [*((name, ".") for name in IFEVAL_FILES), *((name, name) for name in ("anything.jsonl", "anything.parquet"))],
)
def test_a_copy_gives_the_same_rows_in_a_folder_under_any_of_its_names_and_by_path_under_any(
    tmp_path: Path, real_ifeval: str, ifeval: Rows, name: str, given: str
) -> None:
    # The order of the file does not matter. Parquet has a null for every argument of another instruction.
    write_rows(tmp_path / name, ifeval[::-1])
    for split in SPLITS:
        assert task_prompts(str(tmp_path / given), split) == task_prompts(real_ifeval, split)


# Errors


def without(row: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != field}


# what is done to a row of the test split; what the message says, {row} being the row's number and {key} its key
BROKEN: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "a blank added to the prompt": (lambda row: row | {"prompt": row["prompt"] + " "}, "row {row}, field 'prompt': .*"),
    "another prompt": (lambda row: row | {"prompt": "Write."}, "row {row}, field 'prompt': .*key {key}"),
    "a prompt that is no text": (lambda row: row | {"prompt": None}, "row {row}, field 'prompt'"),
    "no prompt": (lambda row: without(row, "prompt"), "row {row}: no field 'prompt'"),
    "kwargs null": (lambda row: row | {"kwargs": None}, "row {row}.*'?kwargs'? must be a list, found None"),
    "another key": (lambda row: row | {"key": -1}, "no row with key {key}; expected all 541 rows"),
    "a key that is no number": (lambda row: row | {"key": [row["key"]]}, "row {row}, field 'key'"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_an_invalid_row_is_named_with_the_field(
    tmp_path: Path, ifeval: Rows, change: Callable[[dict[str, Any]], dict[str, Any]], message: str
) -> None:
    key = next(cut.key for cut in recipe() if cut.split == "test")
    changed = [change(row) if row["key"] == key else row for row in ifeval]
    path = write_jsonl(tmp_path / "changed.jsonl", changed)
    expected = message.format(row=1 + [row["key"] for row in ifeval].index(key), key=key)
    with pytest.raises(RowsError, match=rf"changed\.jsonl.*{expected}"):
        task_prompts(path, "test")


def test_changes_to_unused_rows_are_ignored(tmp_path: Path, real_ifeval: str, ifeval: Rows) -> None:
    used = {cut.key for cut in recipe()}
    changed = [row if row["key"] in used else row | {"prompt": "Write."} for row in ifeval]
    assert len([row for row in changed if row["prompt"] == "Write."]) == 541 - 216
    path = write_jsonl(tmp_path / "changed.jsonl", changed)
    assert task_prompts(path, "test") == task_prompts(real_ifeval, "test")


@pytest.mark.parametrize("column", ["key", "prompt", "instruction_id_list", "kwargs"])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_missing_column_is_named_with_the_existing_ones(
    tmp_path: Path, ifeval: Rows, column: str, suffix: str
) -> None:
    path = tmp_path / f"changed.{suffix}"
    write_rows(path, [without(row, column) for row in ifeval])
    message = rf"changed\.{suffix} has no column '{column}'; expected key, prompt, .*found "
    with pytest.raises(RowsError, match=message):
        task_prompts(str(path), "test")


def test_rows_loaded_by_datasets_give_the_same_task_prompts(real_ifeval: str, ifeval: Rows) -> None:
    loaded = datasets.Dataset.from_list(ifeval)
    # As the hub's library gives them, there is a null for every argument of another instruction.
    assert any(value is None for arguments in loaded[0]["kwargs"] for value in arguments.values())
    table = Table("google/IFEval (hub), split train", loaded, tuple(loaded.column_names), {})
    for split in SPLITS:
        assert reconstruct(table, split) == task_prompts(real_ifeval, split)


def test_a_folder_without_rows_names_the_accepted_files(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(RowsError) as caught:
        rows_with_count(Selection(str(tmp_path), 3))
    for name in ("manyifeval_test.jsonl", *IFEVAL_FILES, "found other.jsonl", str(tmp_path)):
        assert name in str(caught.value)


def test_a_nonexistent_path_is_an_error_that_names_every_kind_of_source(tmp_path: Path) -> None:
    with pytest.raises(RowsError) as caught:
        rows_with_count(Selection(str(tmp_path / "nowhere"), 3))
    for name in ("nowhere", '"hub"', '"embedded"', "manyifeval_test.jsonl", "ifeval_train.jsonl"):
        assert name in str(caught.value)


def test_a_file_of_another_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(RowsError, match=r"rows\.csv: expected a file that ends in \.jsonl or \.parquet"):
        rows_with_count(Selection(str(tmp_path / "rows.csv"), 3))
