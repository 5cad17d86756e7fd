"""``lm-eval-ext rows``: the rows of a task with a right answer to each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.cli import main
from lm_eval_ext.sources import EMBEDDED_FOLDER
from lm_eval_ext.verifiers import verify
from tests.leaves import write_leaf
from tests.tables import tables

TABLES = tables(__file__)
pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]


def printed(capsys: pytest.CaptureFixture[str], *words: str, source: object = "embedded") -> list[dict[str, Any]]:
    assert main(["rows", *words, "--source", str(source)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_have_their_prompt_and_an_answer_that_the_verifiers_accept(capsys: pytest.CaptureFixture[str]) -> None:
    default, fresh = printed(capsys, "manyifeval_n03"), printed(capsys, "manyifeval_n03", "--row-seed", "7")
    assert [len(default), len(fresh)] == [100, 100]
    for row in fresh:
        doc, oracle = row["doc"], row["oracle"]
        assert row["prompt"] == doc["prompt"]
        assert verify(str(oracle), doc["instruction_id_list"], doc["kwargs"]).follow_all_instructions
    assert not {row["prompt"] for row in default} & {row["prompt"] for row in fresh}


def test_a_group_prints_the_rows_of_its_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, "verbalizer_unnatural_flipped", "--row-seed", "1")
    assert len(rows) == 900
    assert {row["task"] for row in rows} == {
        f"verbalizer_{dataset}_unnatural_flipped"
        for dataset in ("sst2", "fp", "emotion", "snli", "sick", "rte", "qqp", "mrpc", "subj")
    }


def test_every_row_is_printed_in_each_of_its_wordings(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, "verbalizer_sst2_neutral_foo_bar", "--metadata", '{"paraphrases": 3}', "--row-seed", "1")
    assert len(rows) == 300
    assert len({row["prompt"] for row in rows[:3]}) == 3
    assert len({row["oracle"] for row in rows[:3]}) == 1
    assert [row["doc"]["paraphrase"] for row in rows[:6]] == [1, 2, 3, 1, 2, 3]


def test_metadata_choose_other_rows_as_in_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    form = ("--metadata", '{"form": "mixed"}')
    default, fresh = (printed(capsys, "manyifeval_dense_n010", *form, *seed) for seed in ((), ("--row-seed", "7")))
    assert [len(default), len(fresh)] == [10, 10]
    for row in (*default, *fresh):
        assert row["oracle"] == row["doc"]["witness"]
        assert str(row["prompt"]).count("\n- Section ") == 10
    assert not {row["prompt"] for row in default} & {row["prompt"] for row in fresh}


def test_the_rows_of_an_own_task_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_leaf(tmp_path, "topic")
    lines = [json.dumps({"text": f"text {number}", "label": number % 2}) for number in range(120)]
    (tmp_path / "topic_test.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = ("topic", "--include_path", str(tmp_path))
    rows = printed(capsys, *words, source=tmp_path)
    assert len(rows) == 100
    assert all(row["oracle"] == ("bar" if row["doc"]["label"] else "foo") for row in rows)
    assert len(printed(capsys, *words, "--metadata", '{"rows": "all"}', source=tmp_path)) == 120


def test_a_row_that_no_known_answer_follows_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}
    contradicting = {
        "instruction_id_list": ["keywords:existence", "keywords:forbidden_words"],
        "kwargs": [{"keywords": ["cat"]}, {"forbidden_words": ["cat"]}],
    }
    rows = [
        {"key": key, "task_prompt": f"Write {key}.", "prompt": f"Write {key}.\nBelow.", **instructions}
        for key, instructions in enumerate((kept, contradicting), start=1)
    ]
    no_rules: dict[str, object] = {"not_conflict_rules_list": [], "rules": []}
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**row, **no_rules}) + "\n" for row in rows), encoding="utf-8")
    known, unknown = (row["oracle"] for row in printed(capsys, "manyifeval_n02", source=path))
    assert (isinstance(known, str), unknown) == (True, None)


def test_questions_are_printed_where_the_classifier_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(name: str) -> None:
        raise ReaderError(f"no base weights for {name}")

    monkeypatch.setattr(readers, "require", fail)
    assert len(printed(capsys, "paired_mcq_arc_challenge_low")) == 160
    metadata = ("--metadata", '{"answer_classifier": "default"}')
    assert main(["rows", "paired_mcq_arc_challenge_low", *metadata, "--source", "embedded"]) == 1


def test_a_task_that_is_not_ours_has_no_rows_to_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with EMBEDDED_FOLDER.joinpath("mmlu_test.jsonl").open(encoding="utf-8") as file:
        (tmp_path / "plain.jsonl").write_text(file.readline(), encoding="utf-8")
    config = {"task": "plain", "dataset_path": "json", "test_split": "train", "doc_to_text": "q", "doc_to_target": "a"}
    data = {"dataset_kwargs": {"data_files": str(tmp_path / "plain.jsonl")}}
    (tmp_path / "plain.yaml").write_text(json.dumps({**config, **data}), encoding="utf-8")
    assert main(["rows", "plain", "--include_path", str(tmp_path)]) == 1
    assert "task 'plain' has no class of this package" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "message"), TABLES["metadata"])
def test_invalid_metadata_are_an_error(given: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rows", "manyifeval_n03", "--metadata", given])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("words", "message"), TABLES["requests"])
def test_an_invalid_request_is_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rows", *words, "--source", "embedded"]) == 1
    printed_errors = capsys.readouterr().err
    assert message in printed_errors
    assert "Traceback" not in printed_errors
