"""The folders of unfinished and finished trainings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.training import folders
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.recipe import Recipe

RECIPE = Recipe(
    base="bart",
    backend="seq2seq",
    supervision="generalization",
    encoding="all",
    subtasks=("s1", "s2"),
    plus=0,
    plus_subtasks=(),
    evaluated=100,
    instances=6500,
    seed=0,
    epochs=3,
    batch_size=16,
    learning_rate=5e-5,
    rank=None,
    pairs_hash="0123",
)


def checkpoint(folder: Path, step: int, state: str | None) -> None:
    place = folder / f"checkpoint-{step}"
    place.mkdir()
    if state is not None:
        (place / "trainer_state.json").write_text(state, encoding="utf-8")


def test_a_training_continues_from_its_last_complete_checkpoint(tmp_path: Path) -> None:
    folder = folders.begin(tmp_path / "out", RECIPE)
    assert folder == tmp_path / "out.unfinished"
    assert folders.last_checkpoint(folder) is None
    for step, state in ((9, "{}"), (10, "{}"), (11, '{"epoch"'), (12, None)):
        checkpoint(folder, step, state)
    assert folders.begin(tmp_path / "out", RECIPE) == folder
    # 10 and not 9: numbers, not names.
    assert folders.last_checkpoint(folder) == folder / "checkpoint-10"


def test_a_training_with_other_arguments_is_not_continued(tmp_path: Path) -> None:
    folder = folders.begin(tmp_path / "out", RECIPE)
    with pytest.raises(TrainingError) as error:
        folders.begin(tmp_path / "out", replace(RECIPE, epochs=4, seed=1))
    assert str(error.value) == (
        f"{folder} has an unfinished training, begun with other arguments: seed 0, not 1; epochs 3, not 4. Give the "
        f"same arguments to continue it, another --output, or delete {folder}"
    )


def test_a_finished_model_takes_its_place_with_its_record(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()  # empty: it may be there
    assert not folders.is_trained(output, RECIPE)
    folder = folders.begin(output, RECIPE)
    (folder / "model").mkdir()
    folders.finish(folder, folder / "model", output, {"recipe": RECIPE.as_json(), "pairs": 3})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert json.loads((output / "training.json").read_text(encoding="utf-8"))["pairs"] == 3
    assert folders.is_trained(output, RECIPE)
    with pytest.raises(TrainingError, match="has a model that was trained with other arguments: encoding 'all', not"):
        folders.is_trained(output, replace(RECIPE, encoding="prompt"))


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_record_is_reported(content: str, tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text(content, encoding="utf-8")
    with pytest.raises(TrainingError, match=r"training.json: not JSON|with other arguments"):
        folders.is_trained(tmp_path, RECIPE)
