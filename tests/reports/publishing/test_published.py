"""What is published of a model: its id, its figures as the harness wrote them, and the formats."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from math import inf
from pathlib import Path
from shutil import copytree
from typing import Any

import huggingface_hub
import pytest
import yaml

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.publishing.published import (
    SCHEMA_VERSION,
    PublishedModel,
    call_in_words,
    every_eval_ever,
    hub_eval_results,
    published,
)
from lm_eval_ext.results.load import GivenName
from tests.other_files import MadeUp, write_other_run
from tests.reports.conftest import ResultFolder
from tests.reports.files import CONFIG, SST2, edited, write_run
from tests.reports.gate.two_runs import SNLI, right
from tests.tables import tables

pytestmark = pytest.mark.harness

TABLES = tables(__file__)
ID = "our-team/model"


def only(folder: Path, *ids: GivenName) -> PublishedModel:
    (model,), _ = published([folder], ids)
    return model


def test_the_id_is_what_was_loaded_from_the_hub(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {SST2: right(5)}, arguments={"pretrained": "owner/one", "dtype": "bfloat16"})
    model = only(tmp_path)
    assert model.id == "owner/one"
    assert call_in_words(model.runs[0].model) == "--model hf dtype=bfloat16"


@pytest.mark.parametrize(("arguments", "why"), TABLES["ids"])
def test_an_id_that_the_results_do_not_say_is_asked_for_and_taken(
    tmp_path: Path, arguments: dict[str, str], why: str
) -> None:
    write_run(tmp_path / "run", {SST2: right(5)}, arguments=arguments)
    with pytest.raises(ReportError, match=r"do not say which model .* give it as --model-id RUNS=OWNER/NAME") as error:
        published([tmp_path], [])
    assert f"({why})" in str(error.value)
    assert only(tmp_path, GivenName(tmp_path / "run", ID)).id == ID


def test_a_folder_that_looks_like_an_id_is_none(tmp_path: Path) -> None:
    # What the harness writes of a model that it did not find on the hub.
    write_run(tmp_path, {SST2: right(5)}, arguments={"pretrained": "out/step-500"}, call={"model_sha": ""})
    with pytest.raises(ReportError, match="the harness found no 'out/step-500' on the hub"):
        published([tmp_path], [])


def test_one_id_for_two_settings_is_an_error_that_names_them(tmp_path: Path) -> None:
    for shots in (0, 4):
        write_run(tmp_path / str(shots), {SST2: right(5)}, config={"num_fewshot": shots})
    with pytest.raises(ReportError, match=r"owner/one: results of two models or settings .*4-shot.*; expected one"):
        published([tmp_path], [])


def test_embedded_rows_are_not_published(tmp_path: Path) -> None:
    config = {"metadata": {**CONFIG["metadata"], "source": "embedded"}}
    write_run(tmp_path, {SST2: right(5)}, config=config)
    with pytest.raises(ReportError, match=rf"{SST2} asked about rows written for demonstrations .* are not published"):
        published([tmp_path], [])


def test_scores_are_those_of_the_results_with_their_direction_and_range(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: right(3, of=4), SNLI: right(1, of=4)})
    scores = {(score.name, score.metric): score for score in only(tmp_path).scores()}
    assert {name for name, _ in scores} == {SST2, SNLI}
    acc, prior = scores[SST2, "acc"], scores[SST2, "prior_rate"]
    # Three of four rows; the standard error is the file's.
    assert (acc.value, acc.error, acc.rows, acc.higher_is_better, acc.range) == (0.75, 0.1, 4, True, (0.0, 1.0))
    assert (prior.value, prior.error, prior.higher_is_better) == (0.25, None, False)


def test_a_name_without_results_is_an_error_that_lists_those_with(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: right(5)})
    with pytest.raises(ReportError, match=rf"owner/one: no results of other; expected one of {SST2}"):
        only(tmp_path).headline("other")


def test_the_figure_of_a_group_is_the_harness_s_own_and_its_record_is_valid(
    result_folder: ResultFolder, real_rows: str
) -> None:
    folder = result_folder("random", ["verbalizer_sst2"], limit=5, source=real_rows)
    model = only(folder, GivenName(folder, ID))
    of_group = model.headline("verbalizer_sst2")
    of_tasks = [score for score in model.scores() if score.metric == "acc"]
    assert len(of_tasks) == 12
    assert of_group.rows == 60
    # All tasks have the same number of rows.
    assert of_group.value == pytest.approx(sum(score.value for score in of_tasks) / 12)
    assert (of_group.metric, of_group.higher_is_better) == ("acc", True)
    assert all(score.range != (-inf, inf) for score in model.scores())
    (record,) = records(folder, GivenName(folder, ID)).values()
    results = [each for each in record["evaluation_results"] if each["metric_config"]["metric_id"] == "acc"]
    assert len(results) == 12
    assert {each["score_details"]["uncertainty"]["num_samples"] for each in results} == {5}
    assert {each["generation_config"]["generation_args"]["temperature"] for each in results} == {0.0}
    require_valid(record)


def test_a_headline_has_its_own_direction_where_the_metric_has_none(
    result_folder: ResultFolder, tmp_path: Path
) -> None:
    task = "text_mcq_opinionqa_low"
    folder = copytree(result_folder("refuser", (task,), limit=10, answer_classifier="rules"), tmp_path / "run")
    with edited(folder) as content:
        content["configs"][task]["metadata"]["source"] = "hub"
    headline = only(folder, GivenName(folder, ID)).headline(task)
    assert (headline.metric, headline.value, headline.higher_is_better) == ("refusal", 1.0, False)


def test_a_score_of_which_nobody_knows_what_is_better_is_not_published(tmp_path: Path) -> None:
    tasks = {"quiz": MadeUp(right(3, of=4), metric="length", higher=None)}
    write_other_run(tmp_path, tasks, groups={"exam": ["quiz"]}, scores={"exam": {"length,none": 0.75}})
    for name in ("quiz", "exam"):
        with pytest.raises(ReportError, match=f"owner/one, {name}: the results do not say whether a higher length is"):
            only(tmp_path).headline(name)


def test_a_group_whose_tasks_are_of_two_runs_has_no_figure(tmp_path: Path) -> None:
    groups = {"both": [SST2, SNLI], SST2: [], SNLI: []}
    write_run(tmp_path, {SST2: right(5)}, group_subtasks=groups)
    write_run(tmp_path, {SNLI: right(5)}, group_subtasks=groups, stamp="2026-01-03T03-04-05.678901")
    with pytest.raises(
        ReportError, match=r"owner/one, both: no figure of acc in the results; of a group, .* or publish its tasks"
    ):
        only(tmp_path).headline("both")


BENCHMARKS = {SST2: ("our-team/words", "flipped"), SNLI: ("our-team/words", "snli")}


def test_each_model_has_a_file_at_its_place_with_an_entry_for_each_benchmark(tmp_path: Path) -> None:
    for name, score in (("one", 3), ("two", 1)):
        tasks = {SST2: right(score, of=4), SNLI: right(2, of=4)}
        write_run(tmp_path / name, tasks, arguments={"pretrained": f"owner/{name}"}, lm_eval_version="0.4.13")
    models, _ = published([tmp_path], [])
    files = hub_eval_results(models, BENCHMARKS)
    assert [path.as_posix() for path in files] == [
        f"owner/{name}/.eval_results/lm-eval-ext.yaml" for name in ("one", "two")
    ]
    first, _ = map(yaml.safe_load, files.values())
    # The run's date is 1000 seconds after 1970.
    assert first[0] == {
        "dataset": {"id": "our-team/words", "task_id": "flipped"},
        "value": 0.75,
        "date": "1970-01-01T00:16:40Z",
        "notes": f"{SST2}, acc, 4 rows; lm-eval 0.4.13; task version 1.0; --model hf",
    }
    assert [entry["dataset"]["task_id"] for entry in first] == ["flipped", "snli"]


def test_the_hub_s_library_reads_every_field(tmp_path: Path) -> None:
    if not hasattr(huggingface_hub, "parse_eval_result_entries"):
        pytest.skip(f"huggingface_hub {huggingface_hub.__version__} does not know the format")
    write_run(tmp_path, {SST2: right(1, of=4), SNLI: right(2, of=4)}, config={"num_fewshot": 4})
    models, _ = published([tmp_path], [])
    (content,) = hub_eval_results(models, BENCHMARKS, "https://example.org/results").values()
    entry, _ = huggingface_hub.parse_eval_result_entries(yaml.safe_load(content))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("our-team/words", "flipped", 0.25)
    assert (entry.source_url, entry.source_name) == ("https://example.org/results", "Results of lm-evaluation-harness")
    assert entry.date == "1970-01-01T00:16:40Z"
    assert entry.notes is not None
    assert "few-shot examples: 4" in entry.notes
    # Nothing is lost on the way.
    written = huggingface_hub.eval_result_entries_to_yaml([entry])
    assert written[0] == yaml.safe_load(content)[0]


EVALUATOR = ("Our Team", "third_party")


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
    return {path.as_posix(): json.loads(content) for path, content in every_eval_ever(models, *EVALUATOR).items()}


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
    assert results["acc"]["source_data"]["additional_details"]["rows_hash"] == "rows"
    assert (results["acc"]["metric_config"]["min_score"], results["acc"]["metric_config"]["max_score"]) == (0.0, 1.0)
    assert [results[name]["metric_config"]["lower_is_better"] for name in ("acc", "prior_rate")] == [False, True]
    require_valid(record)
    # The same results always make the same file.
    assert records(tmp_path) == {path: record}


def test_a_record_has_the_temperature_that_was_sent(tmp_path: Path) -> None:
    server = {"model": "openai-chat-completions", "model_args": {"model": "gpt-5", "pretrained": "owner/one"}}
    greedy = {"generation_kwargs": {"do_sample": False, "temperature": 0.0}}
    write_run(tmp_path, {SST2: [1]}, call=server, config=greedy)
    (record,) = records(tmp_path).values()
    arguments = [result["generation_config"]["generation_args"] for result in record["evaluation_results"]]
    assert {given["temperature"] for given in arguments} == {1.0}


ELSEWHERE = "/home/somebody/rows"


@pytest.mark.parametrize(("task", "source", "path", "expected"), TABLES["sources"])
def test_where_the_rows_came_from_is_said_without_local_paths(
    task: str, source: str, path: str | None, expected: dict[str, str], tmp_path: Path
) -> None:
    write = write_run if task == SST2 else write_other_run
    rows: Any = right(3, of=4) if task == SST2 else MadeUp(right(3, of=4))
    write(tmp_path, {task: rows})
    with edited(tmp_path) as content:
        kwargs = {"data_files": f"{ELSEWHERE}/a.jsonl"} if path == "json" else None
        content["configs"][task] |= {"dataset_path": path, "dataset_kwargs": kwargs, "test_split": "test"}
        content["configs"][task]["metadata"]["source"] = source
    (record,) = records(tmp_path).values()
    data = record["evaluation_results"][0]["source_data"]
    found = {name: data[name] for name in ("dataset_name", "source_type", "hf_repo") if name in data}
    # A dataset without a place on the hub has the name of the task's.
    assert found == {"dataset_name": "sst2" if task == SST2 else task, **expected}
    assert "somebody" not in json.dumps(record)
    require_valid(record)


def test_a_metric_without_known_limits_has_infinite_ones(tmp_path: Path) -> None:
    better = {SST2: {"acc": True, "mine": False}}
    with edited(write_run(tmp_path, {SST2: right(3, of=4)}, higher_is_better=better)) as content:
        content["results"][SST2]["mine,answer"] = -7
    (record,) = records(tmp_path).values()
    (mine,) = (result for result in record["evaluation_results"] if result["metric_config"]["metric_id"] == "mine")
    assert mine["score_details"]["score"] == -7
    assert [mine["metric_config"][name] for name in ("min_score", "max_score")] == ["-Infinity", "Infinity"]
    assert mine["metric_config"]["lower_is_better"] is True
    require_valid(record)


def test_a_group_has_the_remarks_on_all_of_its_tasks_and_no_place_of_recorded_answers(tmp_path: Path) -> None:
    tasks = {SST2: right(3, of=4), SNLI: right(3, of=4)}
    write_run(tmp_path / "run", tasks, group_subtasks={"both": [SST2, SNLI]}, arguments={"pretrained": "owner/one"})
    with edited(tmp_path / "run") as content:
        content["results"]["both"] = {"alias": "both", "acc,answer": 0.75}
        content["config"]["recorded"] = {
            "samples": "/home/me/answers",
            "model": "hf",
            "model_args": {"pretrained": "owner/one"},
            "missing": {SNLI: 3},
        }
        content["n-samples"][SNLI]["original"] += 1
        content["results"][SNLI]["prompt_truncated_rate,answer"] = 0.5
    model = only(tmp_path)
    remarks = (
        "--samples: only some of the rows; 3 answers were not recorded and count as empty; the context had no room for "
        "the beginning of 25.0 % of the prompts"
    )
    (written,) = hub_eval_results([model], {"both": ("our-team/words", "flipped")}).values()
    (entry,) = yaml.safe_load(written)
    assert entry["notes"].endswith(f"answers of an earlier run, scored again; {remarks}")
    (record,) = every_eval_ever([model], "Our Team", "first_party").values()
    details = [
        result["generation_config"]["additional_details"]
        for result in json.loads(record)["evaluation_results"]
        if result["evaluation_name"] == SNLI
    ]
    assert details
    assert all("3 answers were not recorded" in of_result["remarks"] for of_result in details)
    assert b"/home/me" not in written + record
