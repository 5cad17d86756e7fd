"""What is published of a model: its id, and its figures as the harness wrote them."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.publishing.published import PublishedModel, how, published
from lm_eval_ext.results.load import GivenName
from tests.reports.conftest import ResultFolder
from tests.reports.files import CONFIG, SST2, write_run
from tests.reports.gate.two_runs import SNLI, right

pytestmark = pytest.mark.harness

ID = "our-team/model"


def only(folder: Path, *ids: GivenName) -> PublishedModel:
    (model,), _ = published([folder], ids)
    return model


def test_the_id_is_what_was_loaded_from_the_hub(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {SST2: right(5)}, arguments={"pretrained": "owner/one", "dtype": "bfloat16"})
    model = only(tmp_path)
    assert model.id == "owner/one"
    assert how(model.runs[0].model) == "--model hf dtype=bfloat16"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"pretrained": "/models/one"}, "pretrained is '/models/one'"),
        ({"pretrained": "gpt2"}, "pretrained is 'gpt2'"),
        ({"policy": "oracle"}, "it has no argument `pretrained`"),
        ({"pretrained": "owner/one", "peft": "owner/adapter"}, "it was run with peft"),
        ({"pretrained": "owner/one", "base": "hf", "strategy": "feedback"}, "it was run with base"),
    ],
)
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
    of_file = {"model": "hf", "model_args": {"pretrained": "out/step-500"}, "model_sha": ""}
    path = write_run(tmp_path, {SST2: right(5)})
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "config": of_file}), encoding="utf-8")
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


def test_the_figure_of_a_group_is_the_harness_s_own(result_folder: ResultFolder, real_rows: str) -> None:
    tasks = ["verbalizer_sst2"]
    folder = result_folder("random", tasks, limit=5, source=real_rows)
    model = only(folder, GivenName(folder, ID))
    of_group = model.headline("verbalizer_sst2")
    of_tasks = [score for score in model.scores() if score.metric == "acc"]
    assert len(of_tasks) == 12
    assert of_group.rows == 60
    # All tasks have the same number of rows.
    assert of_group.value == pytest.approx(sum(score.value for score in of_tasks) / 12)
    assert (of_group.metric, of_group.higher_is_better) == ("acc", True)
    assert all(score.range != (-inf, inf) for score in model.scores())


def test_a_group_whose_tasks_are_of_two_runs_has_no_figure(tmp_path: Path) -> None:
    groups = {"both": [SST2, SNLI], SST2: [], SNLI: []}
    write_run(tmp_path, {SST2: right(5)}, group_subtasks=groups)
    write_run(tmp_path, {SNLI: right(5)}, group_subtasks=groups, stamp="2026-01-03T03-04-05.678901")
    with pytest.raises(ReportError, match=r"owner/one, both: no figure of acc for this group .* or publish its tasks"):
        only(tmp_path).headline("both")
