"""How many rows of a user's own dataset are evaluated: logged, recorded and configurable."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lm_eval_ext.sources import EMBEDDED_FOLDER, RowsError
from tests.harness.tasks import OF_FAMILY, make, make_own
from tests.leaves import TOPIC, TRIVIA

pytestmark = pytest.mark.harness

NOTHING: Mapping[str, Any] = MappingProxyType({})
SUBTASK = "subtask002_quoref_answer_generation"
TITLES = {
    "class": "!function lm_eval_ext.families.natural_instructions.task.NaturalInstructionsTask",
    "task": "titles",
    "dataset_name": "titles",
    "encoding": "positive",
}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    # The harness's command line keeps its messages from the root's handlers.
    monkeypatch.setattr(logging.getLogger("lm_eval"), "propagate", True)
    caplog.set_level(logging.INFO, logger="lm_eval")
    return caplog


def load(
    folder: Path,
    leaf: Mapping[str, Any],
    changes: Mapping[str, Any] = NOTHING,
    metadata: Mapping[str, Any] = NOTHING,
) -> Any:
    """Return the task of a leaf, with 150 rows of topics, 8 questions and a subtask of 240 instances next to it."""
    topics = [{"text": f"text {number}", "label": number % 2} for number in range(150)]
    trivia = [{"question": f"{number}?", "options": ["a", "b"]} for number in range(8)]
    for name, rows in (("topic", topics), ("trivia", trivia)):
        (folder / f"{name}_test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    subtask = json.loads((EMBEDDED_FOLDER / "natural_instructions" / f"{SUBTASK}.json").read_text(encoding="utf-8"))
    subtask["Instances"] *= 10
    (folder / "titles.json").write_text(json.dumps(subtask), encoding="utf-8")
    return make_own(folder, {**leaf, **changes}, **metadata)


def recorded(task: Any) -> tuple[object, ...]:
    return tuple(task.config.metadata.get(key) for key in ("rows", "rows_evaluated", "rows_usable"))


def test_dropping_rows_beyond_100_is_logged(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    task = load(tmp_path, TOPIC)
    assert (len(task.eval_docs), recorded(task)) == (100, (None, 100, 150))
    ((_, level, text),) = log.record_tuples
    assert level == logging.WARNING
    assert text == (
        "topic: 100 of 150 usable rows are evaluated; to evaluate all of them, set rows: all in its YAML or pass "
        '--metadata \'{"rows": "all"}\''
    )


@pytest.mark.parametrize(
    ("in_leaf", "in_metadata", "rows"),
    [
        ({"rows": "all"}, {}, 150),
        ({}, {"rows": "all"}, 150),
        ({"rows": 20}, {}, 20),
        ({"rows": 1}, {}, 1),
        ({"rows": 20}, {"rows": 120}, 120),
        ({"metadata": {"version": 1.0, "rows": 20}}, {}, 20),
    ],
)
def test_the_number_of_rows_is_set_in_the_leaf_or_on_the_command_line(
    tmp_path: Path,
    log: pytest.LogCaptureFixture,
    in_leaf: dict[str, Any],
    in_metadata: dict[str, Any],
    rows: int,
) -> None:
    task = load(tmp_path, TOPIC, in_leaf, in_metadata)
    texts = {doc["text"] for doc in task.eval_docs}
    asked = in_metadata.get("rows") or in_leaf.get("rows", 20)
    assert (len(texts), len(task.eval_docs), recorded(task)) == (rows, rows, (asked, rows, 150))
    assert log.record_tuples[-1][1:] == (logging.INFO, f"topic: {rows} of 150 usable rows are evaluated")


def test_requesting_100_rows_selects_the_default_100(tmp_path: Path) -> None:
    default, asked = load(tmp_path, TOPIC), load(tmp_path, TOPIC, {"rows": 100})
    assert default.config.metadata["rows_hash"] == asked.config.metadata["rows_hash"]


def test_all_questions_are_asked_or_the_first_in_their_order(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    everything, some = load(tmp_path, TRIVIA), load(tmp_path, TRIVIA, {"rows": 3})
    assert (len(everything.eval_docs), recorded(everything)) == (80, (None, 8, 8))
    assert (len(some.eval_docs), recorded(some)) == (30, (3, 3, 8))
    assert list(some.eval_docs) == list(everything.eval_docs)[:30]
    assert recorded(load(tmp_path, TRIVIA, {}, {"rows": "all"})) == ("all", 8, 8)
    assert log.messages[:2] == [f"trivia: {rows} of 8 usable rows are evaluated" for rows in (8, 3)]


def test_the_number_of_instances_of_a_custom_subtask_is_logged(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    assert recorded(load(tmp_path, TITLES)) == (None, 100, 240)
    assert """titles: 100 of 240 usable rows are evaluated; --metadata '{"n": 179}' evaluates 179""" in log.messages
    log.clear()
    assert recorded(load(tmp_path, TITLES, {}, {"n": 179})) == (None, 179, 240)
    assert log.messages == ["titles: 179 of 240 usable rows are evaluated"]


def test_nothing_is_logged_for_a_known_dataset(log: pytest.LogCaptureFixture) -> None:
    for name in OF_FAMILY.values():
        assert recorded(make(name)) == (None, None, None)
    assert not log.messages


@pytest.mark.parametrize("leaf", [TOPIC, TRIVIA], ids=lambda leaf: leaf["task"])
@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "some", ["all"]])
def test_an_invalid_number_of_rows_is_rejected(tmp_path: Path, leaf: dict[str, Any], rows: object) -> None:
    with pytest.raises(ValueError, match=rf"task '{leaf['task']}': rows .*; expected a number of rows, 1 or more, or"):
        load(tmp_path, leaf, {"rows": rows})


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (
            TOPIC,
            r"topic_test\.jsonl: 150 rows with a label among yes, no; expected at least 151, the size of the "
            r"evaluation set; to evaluate all of them, set rows: all in its YAML or pass --metadata '{\"rows\"",
        ),
        (TRIVIA, r"trivia .*: 8 rows; expected at least 151 \(key rows\)"),
    ],
    ids=lambda value: value["task"] if isinstance(value, dict) else "",
)
def test_requesting_more_rows_than_exist_is_an_error(tmp_path: Path, leaf: dict[str, Any], message: str) -> None:
    with pytest.raises(RowsError, match=message):
        load(tmp_path, leaf, {"rows": 151})


@pytest.mark.parametrize("family", sorted(OF_FAMILY.keys() - {"paired_mcq"}))
def test_the_papers_datasets_keep_their_rows(family: str) -> None:
    with pytest.raises(ValueError, match=f"task '{OF_FAMILY[family]}': rows 'all'; .*(--limit|n in --metadata)"):
        make(OF_FAMILY[family], {"rows": "all"})


@pytest.mark.parametrize(("given", "rows"), [(5, 50), (100, 160), ("all", 160)])
def test_of_a_known_multiple_choice_dataset_no_more_questions_are_asked_than_given(given: int | str, rows: int) -> None:
    docs = make("paired_mcq_arc_challenge_low", {"rows": given}).eval_docs
    assert len(docs) == rows
    # The first ones, each in ten orders.
    every = make("paired_mcq_arc_challenge_low").eval_docs
    assert [doc["key"] for doc in docs] == [doc["key"] for doc in every][:rows]


@pytest.mark.parametrize(("leaf", "name"), [(TOPIC, "sst2"), (TRIVIA, "mmlu")], ids=["verbalizer", "paired_mcq"])
def test_a_dataset_with_the_name_of_a_known_one_is_not_mistaken_for_it(
    tmp_path: Path, leaf: dict[str, Any], name: str
) -> None:
    load(tmp_path, leaf)
    (tmp_path / f"{leaf['dataset_path']}_test.jsonl").rename(tmp_path / f"{name}_test.jsonl")
    task = load(tmp_path, leaf, {"dataset_path": f"owner/{name}"})
    assert task.config.metadata["dataset"] == f"owner/{name}"
    assert task.config.metadata["rows_evaluated"] in (100, 8)
