"""What instructions consist of: counted by hand, and on the real files next to the paper's figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.natural_instructions.statistics import statistics
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS
from lm_eval_ext.sources import RowsError
from tests.families.natural_instructions.task_files import folder_with, real_folder, version_1, version_2

QUOREF, DURATION = EVALUATION[:2]


def part(subtasks: int, instances: int) -> dict[str, int]:
    return {"subtasks": subtasks, "instances": instances}


def length(mean_words: float | None, given: int) -> dict[str, float | None]:
    return {"mean_words": mean_words, "given": given}


def test_texts_examples_and_instances_are_counted(tmp_path: Path) -> None:
    folder_with(tmp_path, version_1(), QUOREF)
    longer = version_1(
        Prompt="Name it.",
        **{"Things to Avoid": "Do  not\nguess.", "Emphasis & Caution": "-"},
        Instances=version_1()["Instances"] * 2,
    )
    found = statistics(folder_with(tmp_path, longer, DURATION))
    assert found["total"] == part(2, 2 + 4)
    one, other = found["subtasks"][QUOREF], found["subtasks"][DURATION]
    # "Where the ferry is", "Say whether …", "You are told … the quay. Answer in a word.", none, "Fog hides much."
    words = {"title": 4, "prompt": 5, "definition": 13, "avoid": 0, "emphasis": 3}
    assert one == {
        "category": "answer_generation",
        "source_dataset": "quoref",
        "evaluated": True,
        "instances": 2,
        "positive_examples": 2,
        "negative_examples": 2,
        "words": words,
    }
    assert other["words"] == {"title": 4, "prompt": 2, "definition": 13, "avoid": 3, "emphasis": 0}
    assert found["lengths"] == {
        "title": length(4.0, 2),
        "prompt": length(3.5, 2),
        "definition": length(13.0, 2),
        # What an instruction omits has no words; what an example lacks does not count.
        "avoid": length(1.5, 1),
        "emphasis": length(1.5, 1),
        # "A ferry that waits is seen." and "Not a state." in both; "Say gone.".
        "reason": length(4.5, 4),
        "suggestion": length(2.0, 2),
    }
    assert found["categories"]["answer_generation"] == part(1, 2)
    assert found["categories"]["verification"] == part(0, 0)
    assert found["source_datasets"]["mctaco"] == part(1, 4)
    assert len(found["missing"]) == 59


def test_a_version_2_file_has_no_fields_but_a_definition(tmp_path: Path) -> None:
    found = statistics(folder_with(tmp_path, version_2(version_1()), SUBTASKS[QUOREF].version_2))
    assert found["lengths"]["title"] == length(None, 0)
    assert found["subtasks"][QUOREF]["words"]["prompt"] is None
    assert found["lengths"]["definition"]["given"] == 1


def test_the_real_instructions_are_as_long_as_in_the_paper(shared_data: Path, tmp_path: Path) -> None:
    found = statistics(real_folder(shared_data, tmp_path / "files"))
    assert found["total"]["subtasks"] == 48
    mean = {name: round(of_text["mean_words"], 1) for name, of_text in found["lengths"].items()}
    # Table 1, over all 61: 8.3, 12.6, 65.5, 24.1, 45.0, 24.9, 19.x
    assert mean == {
        "title": 8.4,
        "prompt": 12.4,
        "definition": 61.7,
        "avoid": 25.0,
        "emphasis": 49.9,
        "reason": 26.3,
        "suggestion": 19.0,
    }


def test_the_command_prints_json_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = folder_with(tmp_path, version_1(), QUOREF)
    assert main(["natural-instructions", "statistics", source]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert list(found) == ["total", "lengths", "categories", "source_datasets", "subtasks", "missing"]
    assert found["total"] == {"subtasks": 1, "instances": 2}
    assert printed.err == f"60 of the 61 subtasks have no file in {source}\n"


def test_a_folder_without_task_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"no file for 'subtask001_.*: expected subtask001_.*; found no task files"):
        statistics(str(tmp_path))
