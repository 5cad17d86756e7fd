"""What a run was given as ``--metadata``, and what as ``--model_args``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.models.reference import ReferenceLM
from tests.conftest import Harness
from tests.harness.tasks import evaluate

pytestmark = pytest.mark.harness

TASKS = ["verbalizer_sst2_natural_golden", "verbalizer_sst2_unnatural_flipped"]


def run(model_args: Any, **metadata: Any) -> Any:
    """Evaluate two tasks as the command does: the model's arguments are merged into the metadata."""
    arguments = dict(pair.split("=") for pair in model_args.split(",")) if isinstance(model_args, str) else model_args
    given = {**arguments, **metadata}
    return evaluate(ReferenceLM(), TASKS, given, model_args=model_args, limit=1, bootstrap_iters=0)


@pytest.mark.parametrize("model_args", ["repeat=3,form=short,n=2", {"repeat": 3, "form": "short", "n": 2}])
def test_an_argument_of_the_model_is_never_taken_for_a_key_of_ours(
    model_args: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(model_args)["results"][TASKS[0]]["acc,answer"] == 1.0
    assert "--metadata" not in caplog.text


def test_the_same_key_in_the_metadata_is_an_error() -> None:
    with pytest.raises(ValueError, match="--metadata has an unknown key 'repeat'; did you mean repeats"):
        run("policy=oracle", repeat=3)


def test_keys_that_nothing_reads_are_warned_of_once_a_run(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        run("policy=oracle", run_name="nightly", purpose="a test")
    warned = [record.message for record in caplog.records if "--metadata" in record.message]
    assert len(warned) == 2
    assert warned[0].startswith(
        "--metadata: nothing in lm-eval-ext reads run_name, purpose; its keys are any of source"
    )


@pytest.mark.usefixtures("sentence_data")
def test_metadata_of_a_leaf_may_have_any_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    leaf = {
        "include": f"{tasks_dir()}/manyifeval/_manyifeval",
        "task": "mine",
        "instructions": 1,
        "metadata": {"version": 1.0, "repeat": "once", "owner": "me"},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(leaf), encoding="utf-8")
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False, metadata={"source": "embedded"})
    assert manager.load(["mine"])["tasks"]["mine"].config.metadata["owner"] == "me"
    assert "--metadata" not in caplog.text


@pytest.mark.parametrize(
    "metadata", [json.dumps({"source": "embedded", "row_sed": 7}), json.dumps({"sorce": "embedded"})]
)
def test_a_run_with_a_misspelt_key_ends_at_once(harness: Harness, metadata: str) -> None:
    found = harness("--model", "reference", "--tasks", TASKS[0], "--metadata", metadata)
    assert found.status != 0
    assert "--metadata has an unknown key" in found.output
    assert found.results == {}
