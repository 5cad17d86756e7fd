"""The format of Every Eval Ever, held to its published schema."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.publishing.every_eval_ever import SCHEMA_VERSION, Evaluator, contents
from lm_eval_ext.reports.publishing.published import published
from lm_eval_ext.results.load import GivenName
from tests.other_files import MadeUp, write_other_run
from tests.reports.conftest import ResultFolder
from tests.reports.files import CONFIG, SST2, write_run
from tests.reports.gate.two_runs import right

pytestmark = pytest.mark.harness

EVALUATOR = Evaluator("Our Team", "third_party")


def require_valid(record: dict[str, Any]) -> None:
    """Hold a record to the schema; skip where it is not installed."""
    jsonschema = pytest.importorskip("jsonschema")
    # The package needs a newer Python than some that we support; its schema is a file.
    package = find_spec("every_eval_ever")
    if package is None:
        pytest.skip("every-eval-ever is not installed; make test installs it")
    (folder,) = package.submodule_search_locations or []
    schema = json.loads(Path(folder, "schemas", "eval.schema.json").read_text(encoding="utf-8"))
    assert schema["version"] == SCHEMA_VERSION
    jsonschema.Draft7Validator(schema).validate(record)


def records(folder: Path, *ids: GivenName) -> dict[str, dict[str, Any]]:
    models, _ = published([folder], ids)
    return {path.as_posix(): json.loads(content) for path, content in contents(models, EVALUATOR).items()}


def test_a_record_says_who_what_and_how_well(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: right(3, of=4)}, lm_eval_version="0.4.13")
    ((path, record),) = records(tmp_path).items()
    pattern = r"data/lm-eval-ext/owner/one/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
    assert re.fullmatch(pattern, path)
    # The run's date is 1000 seconds after 1970.
    assert record["evaluation_id"] == "lm-eval-ext/owner/one/1000"
    assert record["eval_library"]["version"] == "0.4.13"
    assert record["model_info"]["id"] == "owner/one"
    assert record["model_info"]["additional_details"]["deployment_type"] == "self_deployed"
    results = {result["metric_config"]["metric_id"]: result for result in record["evaluation_results"]}
    assert results.keys() == {"acc", "prior_rate", "invalid_rate"}
    assert results["acc"]["score_details"] == {
        "score": 0.75,
        "uncertainty": {
            "num_samples": 4,
            "standard_error": {"value": 0.1, "method": "lm_eval: rows as independent"},
        },
    }
    assert (results["acc"]["metric_config"]["min_score"], results["acc"]["metric_config"]["max_score"]) == (0.0, 1.0)
    assert [results[name]["metric_config"]["lower_is_better"] for name in ("acc", "prior_rate")] == [False, True]
    require_valid(record)


def test_the_same_results_always_make_the_same_file(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: right(3, of=4)})
    assert records(tmp_path) == records(tmp_path)


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ("hub", "nyu-mll/glue", {"source_type": "hf_dataset", "hf_repo": "nyu-mll/glue"}),
        ("hub", "sst2", {"source_type": "hf_dataset"}),
        ("/home/somebody/rows", "sst2", {"source_type": "other"}),
        ("hub", "/home/somebody/rows", {"source_type": "other"}),
    ],
)
def test_where_the_rows_came_from_is_said_without_local_paths(
    tmp_path: Path, source: str, path: str, expected: dict[str, str]
) -> None:
    config = {"dataset_path": path, "metadata": {**CONFIG["metadata"], "source": source}}
    write_run(tmp_path, {SST2: right(3, of=4)}, config=config)
    (record,) = records(tmp_path).values()
    data = record["evaluation_results"][0]["source_data"]
    assert {name: data.get(name) for name in ("source_type", "hf_repo") if name in data} == expected
    assert data["additional_details"]["rows_hash"] == "rows"
    assert "somebody" not in json.dumps(record)
    require_valid(record)


@pytest.mark.parametrize(
    ("path", "kwargs", "expected"),
    [
        ("owner/quiz", None, {"dataset_name": "owner/quiz", "source_type": "hf_dataset", "hf_repo": "owner/quiz"}),
        ("gsm8k", None, {"dataset_name": "gsm8k", "source_type": "hf_dataset"}),
        ("/home/somebody/rows", None, {"dataset_name": "quiz", "source_type": "other"}),
        (r"C:\somebody\rows", None, {"dataset_name": "quiz", "source_type": "other"}),
        ("json", {"data_files": "/home/somebody/a.jsonl"}, {"dataset_name": "quiz", "source_type": "other"}),
        # Rows that the task's own code makes.
        (None, None, {"dataset_name": "quiz", "source_type": "other"}),
    ],
)
def test_the_dataset_of_another_task_has_its_name_on_the_hub_or_that_of_the_task(
    tmp_path: Path, path: str | None, kwargs: Any, expected: dict[str, str]
) -> None:
    write_other_run(tmp_path, {"quiz": MadeUp(right(3, of=4))})
    (results,) = tmp_path.glob("results_*")
    content = json.loads(results.read_text(encoding="utf-8"))
    content["configs"]["quiz"] |= {"dataset_path": path, "dataset_kwargs": kwargs, "test_split": "test"}
    # The harness gives --metadata to all tasks of a run.
    content["configs"]["quiz"]["metadata"]["source"] = "/home/somebody/others"
    results.write_text(json.dumps(content), encoding="utf-8")
    (record,) = records(tmp_path).values()
    data = record["evaluation_results"][0]["source_data"]
    assert {name: data[name] for name in ("dataset_name", "source_type", "hf_repo") if name in data} == expected
    assert "somebody" not in json.dumps(record)
    require_valid(record)


def test_a_metric_without_known_limits_has_infinite_ones(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: right(3, of=4)})
    content = json.loads(path.read_text(encoding="utf-8"))
    content["results"][SST2]["mine,answer"] = -7
    content["higher_is_better"] = {SST2: {"acc": True, "mine": False}}
    path.write_text(json.dumps(content), encoding="utf-8")
    (record,) = records(tmp_path).values()
    (mine,) = (result for result in record["evaluation_results"] if result["metric_config"]["metric_id"] == "mine")
    assert mine["score_details"]["score"] == -7
    assert [mine["metric_config"][name] for name in ("min_score", "max_score")] == ["-Infinity", "Infinity"]
    assert mine["metric_config"]["lower_is_better"] is True
    require_valid(record)


def test_real_results_are_valid(result_folder: ResultFolder, real_rows: str) -> None:
    folder = result_folder("random", ["verbalizer_sst2"], limit=5, source=real_rows)
    (record,) = records(folder, GivenName(folder, "our-team/random")).values()
    of_acc = [each for each in record["evaluation_results"] if each["metric_config"]["metric_id"] == "acc"]
    assert len(of_acc) == 12
    assert {each["score_details"]["uncertainty"]["num_samples"] for each in of_acc} == {5}
    assert {each["generation_config"]["generation_args"]["temperature"] for each in of_acc} == {0.0}
    require_valid(record)
