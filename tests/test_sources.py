"""A folder of rows: what is read, and the errors for invalid rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet
import pytest

from lm_eval_ext import sources
from lm_eval_ext.sources import HubDataset, RowsError, load

NOWHERE = HubDataset("nobody/nothing")
ROWS = [{"text": "a", "label": 0}, {"text": "b", "label": 1}]


def write(folder: Path, text: str, name: str = "toy_test.jsonl") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_jsonl_and_parquet_give_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    write(tmp_path / "one", jsonl(*ROWS))
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "other" / "toy_test.parquet")
    tables = [load("toy", "test", NOWHERE, str(tmp_path / name)) for name in ("one", "other")]
    assert [list(table.rows) for table in tables] == [ROWS, ROWS]
    assert tables[0].column("label") == tables[1].column("label") == [0, 1]


@pytest.mark.parametrize(
    "changed", [lambda text: f"\ufeff{text}", lambda text: f"{text}\n \n", lambda text: text.strip()]
)
def test_a_mark_of_the_encoding_and_blank_lines_at_the_end_are_no_rows(
    tmp_path: Path, changed: Callable[[str], str]
) -> None:
    table = load("toy", "test", NOWHERE, write(tmp_path, changed(jsonl(*ROWS))))
    assert (table.rows, table.columns) == (ROWS, ("text", "label"))


def test_the_columns_of_a_file_are_those_of_any_row(tmp_path: Path) -> None:
    table = load("toy", "test", NOWHERE, write(tmp_path, jsonl(ROWS[0], {**ROWS[1], "more": 1})))
    assert table.columns == ("text", "label", "more")
    with pytest.raises(RowsError, match="row 1: no field 'more'"):
        table.column("more")


def test_a_file_is_read_once_per_process(tmp_path: Path) -> None:
    source = write(tmp_path, jsonl(*ROWS))
    assert load("toy", "test", NOWHERE, source) is load("toy", "test", NOWHERE, source + "/")


def test_a_tilde_path_to_rows_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, jsonl(*ROWS))
    assert len(load("toy", "test", NOWHERE, "~").rows) == 2


HALF = {"text": ["a", "\ud83d"], "label": 1}
BROKEN = {
    "a broken line": (jsonl(ROWS[0]) + "{oops\n", ", row 2: not JSON"),
    "an empty line": (jsonl(ROWS[0]) + "\n" + jsonl(ROWS[1]), ", row 2: not JSON"),
    "not an object": ("[1]\n", ", row 1: expected an object, found list"),
    "truncated": ('{"text": "a"', ", row 1: not JSON"),
    "half a surrogate pair": (
        jsonl({"text": "\U0001f600 \\ud83d", "label": 0}, HALF),
        ", row 2, field 'text': expected text, found half a surrogate",
    ),
    "empty": ("", ": no rows"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_and_so_is_its_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RowsError, match=rf"toy_test\.jsonl{message}"):
        load("toy", "test", NOWHERE, write(tmp_path, text))


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"toy_test\.parquet: not a readable Parquet file"):
        load("toy", "test", NOWHERE, write(tmp_path, "no parquet", "toy_test.parquet"))


def test_the_error_for_a_missing_dataset_lists_the_folder(tmp_path: Path) -> None:
    source = write(tmp_path, jsonl(*ROWS), "other_test.jsonl")
    message = r"no rows of 'toy' in .*: expected toy_test\.jsonl or \.parquet; found other_test\.jsonl"
    with pytest.raises(RowsError, match=message):
        load("toy", "test", NOWHERE, source)


def test_a_source_that_is_neither_keyword_nor_folder_is_named() -> None:
    with pytest.raises(
        RowsError, match=r"source 'embeded' is not a folder; expected \"hub\", \"embedded\" or the path"
    ):
        load("toy", "test", NOWHERE, "embeded")


def test_a_missing_column_is_named_with_those_found(tmp_path: Path) -> None:
    table = load("toy", "test", NOWHERE, write(tmp_path, jsonl({"sentence": "a", "label": 0})))
    with pytest.raises(RowsError, match=r"has no column 'text'; expected text, label; found sentence, label"):
        table.column("text", ("text", "label"))


def test_a_field_missing_from_one_row_is_named_by_its_row(tmp_path: Path) -> None:
    table = load("toy", "test", NOWHERE, write(tmp_path, jsonl(ROWS[0], {"text": "b"})))
    with pytest.raises(RowsError, match=r"toy_test\.jsonl, row 2: no field 'label'; found text"):
        table.column("label")


@pytest.mark.parametrize("value", [None, 7, ["a"]])
def test_a_value_that_is_not_text_is_named_by_its_row(tmp_path: Path, value: object) -> None:
    table = load("toy", "test", NOWHERE, write(tmp_path, jsonl(ROWS[0], {"text": value, "label": 0})))
    with pytest.raises(RowsError, match=r"toy_test\.jsonl, row 2, field 'text': expected text, found"):
        table.text("text")


def test_a_file_in_another_encoding_is_named_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "toy_test.jsonl").write_bytes(b'{"text": "a"}\n{"text": "caf\xe9"}\n')
    with pytest.raises(RowsError, match=r"toy_test\.jsonl, row 2: not JSON in UTF-8"):
        load("toy", "test", NOWHERE, str(tmp_path))


def test_a_parquet_copy_declares_its_labels_like_the_original(tmp_path: Path) -> None:
    names = datasets.ClassLabel(names=["negative", "positive"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})
    datasets.Dataset.from_list(ROWS, features=features).to_parquet(str(tmp_path / "toy_test.parquet"))
    assert load("toy", "test", NOWHERE, str(tmp_path)).class_names == {"label": ("negative", "positive")}


@pytest.mark.parametrize("source", [5, ["embedded"], None, {"source": "hub"}, ""])
def test_a_source_that_is_not_text_is_named(source: object) -> None:
    with pytest.raises(RowsError, match=r'expected "hub", "embedded" or the path of a folder'):
        sources.chosen_source({"source": source})


def test_the_chosen_source_is_recorded() -> None:
    absent: dict[str, object] = {"version": 1.0}
    assert sources.chosen_source(absent) == "hub"
    assert absent == {"version": 1.0, "source": "hub"}
    embedded: dict[str, object] = {"version": 1.0, "source": "embedded"}
    assert sources.chosen_source(embedded) == "embedded"
    assert embedded == {"version": "1.0+embedded", "source": "embedded", "note": sources.EMBEDDED_NOTE}


def test_has_split_is_always_false_for_the_hub() -> None:
    assert not sources.has_split("sst2", "validation", sources.HUB)
    assert sources.has_split("sst2", "validation", sources.EMBEDDED)
    assert not sources.has_split("sst2", "test", sources.EMBEDDED)
