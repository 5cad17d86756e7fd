"""The nine datasets, loaded by the unmodified `datasets` library from a stand-in for the hub with the real layouts."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.conftest import Run, written
from tests.forks import Forks
from tests.hub import Hub, Table, laid_out, serve, tables
from tests.loopback import closed_port
from tests.tables import tables as tables_of

pytestmark = pytest.mark.harness

TABLES = tables_of(__file__)
GOLDEN = "verbalizer_natural_golden"
CONVERTED_PHRASEBANK = "takala/financial_phrasebank/sentences_allagree/train/0000.parquet"


@dataclass(frozen=True)
class Dataset:
    """Where a dataset is on the hub, and what its labels in use mean."""

    name: str
    repository: str
    labels: Mapping[int, str]

    @property
    def task(self) -> str:
        return f"verbalizer_{self.name}_natural_golden"


DATASETS = [Dataset(**given) for given in TABLES["datasets"]]
NAMES = [dataset.name for dataset in DATASETS]


@dataclass(frozen=True)
class FromHub:
    """A run of the harness from an intact hub into a new cache.

    Attributes:
        hub: the hub, gone by now, and what it was asked.
        home: the cache.
    """

    run: Run
    hub: Hub
    home: Path


def environment(home: Path, endpoint: str, **variables: str) -> dict[str, str]:
    """Return the environment without the user's token, hub settings and proxies, and with a separate cache."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "HUGGING")) and not name.lower().endswith("_proxy")
    }
    return {**kept, "HF_HOME": str(home), "HF_ENDPOINT": endpoint, "TOKENIZERS_PARALLELISM": "false", **variables}


def lm_eval(forks: Forks, folder: Path, variables: Mapping[str, str], *options: str) -> Run:
    """Run the harness with what an import reads of the environment, such as the hub's endpoint."""
    output = folder / "out"
    model = ("--model", "reference", "--model_args", "policy=oracle")
    written_to = ("--output_path", str(output), "--log_samples")
    process = forks.run("-m", "lm_eval", *model, *options, *written_to, folder=folder, environment=variables)
    results, samples = written(output)
    in_order = {task: sorted(rows, key=lambda row: int(row["doc_id"])) for task, rows in samples.items()}
    return Run(process.returncode, process.stdout + process.stderr, results, in_order, output)


def run_from_hub(forks: Forks, folder: Path, small_harness: str, *options: str) -> FromHub:
    home = folder / "home"
    with serve(laid_out(tables())) as hub:
        run = lm_eval(forks, folder, environment(home, hub.endpoint, PYTHONPATH=small_harness), *options)
    assert run.status == 0, run.output[-3000:]
    return FromHub(run, hub, home)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory, forks: Forks, small_harness: str) -> FromHub:
    """Run the nine tasks with the golden words."""
    return run_from_hub(forks, tmp_path_factory.mktemp("golden"), small_harness, "--tasks", GOLDEN)


MANY = [
    "fp_natural_golden",
    "fp_unnatural_flipped",
    "fp_neutral_foo_bar",
    "emotion_natural_golden",
    "emotion_unnatural_0_1",
]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, forks: Forks, small_harness: str) -> FromHub:
    """Run several verbalizers of two datasets, with four demonstrations."""
    tasks = ",".join(f"verbalizer_{name}" for name in MANY)
    return run_from_hub(forks, tmp_path_factory.mktemp("many"), small_harness, "--tasks", tasks, "--num_fewshot", "4")


@pytest.mark.parametrize("dataset", DATASETS, ids=NAMES)
def test_a_dataset_comes_from_its_hub_repository_by_default(golden: FromHub, dataset: Dataset) -> None:
    results = golden.run.results
    assert results["n-samples"][dataset.task] == {"original": 100, "effective": 100}
    assert results["results"][dataset.task]["acc,answer"] == 1.0
    assert results["configs"][dataset.task]["metadata"]["source"] == "hub"
    assert results["configs"][dataset.task]["dataset_path"] == dataset.repository


@pytest.mark.parametrize("dataset", DATASETS, ids=NAMES)
def test_the_hubs_label_numbers_have_the_papers_meaning(golden: FromHub, dataset: Dataset) -> None:
    # The oracle is right for any meaning of the labels, and rows with the other labels (neutral, -1 …) are there.
    read = {(sample["doc"]["label"], sample["target"]) for sample in golden.run.samples[dataset.task]}
    assert read == set(dataset.labels.items())


def test_only_the_all_agree_configuration_of_the_phrasebank_is_downloaded(golden: FromHub) -> None:
    fetched = golden.hub.downloads(".parquet")
    assert [path for path in fetched if path.startswith("takala/")] == [CONVERTED_PHRASEBANK]


@pytest.mark.slow
def test_the_nine_datasets_come_from_the_cache_once_the_hub_is_gone(
    golden: FromHub, forks: Forks, small_harness: str, tmp_path: Path
) -> None:
    with closed_port() as endpoint:
        settings = environment(golden.home, endpoint, HF_HUB_OFFLINE="1", PYTHONPATH=small_harness)
        again = lm_eval(forks, tmp_path, settings, "--tasks", GOLDEN)
    assert again.status == 0, again.output[-3000:]
    for dataset in DATASETS:
        hashes = [[sample["doc_hash"] for sample in run.samples[dataset.task]] for run in (golden.run, again)]
        assert hashes[0] == hashes[1]
        assert again.results["results"][dataset.task] == golden.run.results["results"][dataset.task]
        assert again.results["configs"][dataset.task]["metadata"]["source"] == "hub"


@pytest.mark.slow
@pytest.mark.parametrize(("task", "name", "column", "field", "words"), TABLES["demonstrated"])
def test_four_shots_come_from_the_hubs_training_split(  # noqa: PLR0913, PLR0917 # a row of the table
    many: FromHub, task: str, name: str, column: str, field: str, words: Mapping[int, str]
) -> None:
    samples = many.run.samples[f"verbalizer_{task}"]
    shown = [
        re.findall(rf"{field}: (.*)\n\nAnswer:(.*)", sample["arguments"]["gen_args_0"]["arg_0"]) for sample in samples
    ]
    assert len(shown) == 100
    demonstrations = shown[0][:4]
    # Each prompt: the same four, then the row itself, unanswered.
    assert shown == [[*demonstrations, (sample["doc"][column], "")] for sample in samples]
    labels = {row[column]: row["label"] for row in tables()[name].splits["train"]}
    assert [word.strip() for _, word in demonstrations] == [words[labels[text]] for text, _ in demonstrations]
    # Four over two labels: two each.
    assert sorted(Counter(labels[text] for text, _ in demonstrations).values()) == [2, 2]
    assert not {text for text, _ in demonstrations} & {sample["doc"][column] for sample in samples}


@pytest.mark.parametrize("name", ["fp", "emotion"])
def test_many_tasks_request_a_dataset_as_often_as_one_task(golden: FromHub, many: FromHub, name: str) -> None:
    repository = next(dataset.repository for dataset in DATASETS if dataset.name == name)
    asked = [
        Counter(request for request in hub.requests if f"/{repository}" in request.path)
        for hub in (golden.hub, many.hub)
    ]
    assert asked[0]
    assert asked[1] == asked[0]


def test_every_file_is_downloaded_once_for_any_number_of_tasks(many: FromHub) -> None:
    emotion = [f"dair-ai/emotion/split/{split}-00000-of-00001.parquet" for split in ("test", "train", "validation")]
    assert many.hub.downloads(".parquet") == [*emotion, CONVERTED_PHRASEBANK]


# how the hub is out of reach: environment, and dataset, how the message names it and the reason
OUT_OF_REACH = {
    "offline_mode": ({"HF_HUB_OFFLINE": "1"}, ("sst2", "(nyu-mll/glue, config sst2)", "Offline")),
    "closed_port": ({}, ("fp", "(takala/financial_phrasebank)", r"no connection to http://127\S+ \(.*refused\)")),
}


@pytest.mark.parametrize(("variables", "told"), OUT_OF_REACH.values(), ids=OUT_OF_REACH)
def test_without_hub_and_cache_the_error_names_dataset_reason_and_other_sources(
    forks: Forks, small_harness: str, tmp_path: Path, variables: Mapping[str, str], told: tuple[str, str, str]
) -> None:
    name, place, reason = told
    with closed_port() as endpoint:
        settings = environment(tmp_path / "home", endpoint, PYTHONPATH=small_harness, **variables)
        run = lm_eval(forks, tmp_path, settings, "--tasks", f"verbalizer_{name}_natural_golden")
    assert run.status != 0
    assert not run.results
    _, error, message = run.output.rpartition("RowsError: ")
    assert error, run.output[-3000:]
    assert "Retrying in" not in run.output  # as the hub's library says, once for each of many seconds
    first, *others = message.strip().splitlines()
    assert first.startswith(f"the rows of {name!r} {place} could not be loaded from the Hugging Face Hub: ")
    assert re.search(reason, first.partition("Hub: ")[2])
    assert '"source": "/path/to/folder"' in "\n".join(others)
    assert '"source": "embedded"' in "\n".join(others)


LOAD_EACH_TASK = """
import json, sys
from lm_eval.tasks import TaskManager
from lm_eval_ext import tasks_dir
manager = TaskManager(include_defaults=False, include_path=tasks_dir())
errors = {}
for task in sys.argv[1:]:
    try:
        manager.load([task])
    except Exception as error:
        errors[task] = f"{type(error).__name__}: {error}"
print(json.dumps(errors))
"""


def changed_tables() -> dict[str, Table]:
    """Return the datasets, each changed in another way."""
    intact = tables()
    subj = intact["subj"]
    recoded = {split: [{**row, "label": 1 - row["label"]} for row in rows] for split, rows in subj.splits.items()}
    return {
        **intact,
        "sst2": intact["sst2"].with_column_renamed("sentence", "review"),
        "qqp": intact["qqp"].with_column_renamed("label", "is_duplicate"),
        "rte": intact["rte"].with_classes("label", "not_entailment", "entailment"),
        "mrpc": intact["mrpc"].without_split("validation"),
        "fp": intact["fp"].with_classes("label", "positive", "neutral", "negative"),
        "emotion": intact["emotion"].with_classes("label", "sadness", "joy", "love", "anger", "surprise", "fear"),
        "snli": intact["snli"].without_split("test"),
        "sick": intact["sick"].with_column_renamed("sentence_B", "sentence_b"),
        "subj": replace(subj, splits=recoded),
    }


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Mapping[str, str]:
    """Have the harness load the nine tasks, one by one, from a hub whose datasets were changed; task to error."""
    folder = tmp_path_factory.mktemp("changed")
    tasks = [dataset.task for dataset in DATASETS]
    with serve(laid_out(changed_tables())) as hub:
        variables = environment(folder / "home", hub.endpoint)
        process = forks.run("-c", LOAD_EACH_TASK, *tasks, folder=folder, environment=variables)
    assert process.returncode == 0, process.stderr[-3000:]
    found: Mapping[str, str] = json.loads(process.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(("name", "said"), TABLES["changed"].items())
def test_a_changed_repository_is_named_with_what_was_expected_and_found(
    errors: Mapping[str, str], name: str, said: str
) -> None:
    assert re.match(f"RowsError: {said}", errors[f"verbalizer_{name}_natural_golden"], re.DOTALL)


# The whole command, but for the checks that take seconds and are not of the hub; test_cli.py has these.
DOCTOR = """
import sys
from lm_eval_ext import cli
from lm_eval_ext.cli import doctor
doctor._tasks = doctor._models
doctor._rows = lambda *_: iter(())
sys.exit(cli.main(["doctor", "--source", "hub"]))
"""


def doctor(forks: Forks, folder: Path, endpoint: str) -> tuple[int, str]:
    """Return the exit status of `lm-eval-ext doctor --source hub` and its finding about the hub."""
    # The public repository with task files, which is no part of the hub, is out of reach: nothing listens on port 1.
    variables = environment(folder / "home", endpoint, https_proxy="http://127.0.0.1:1")
    process = forks.run("-c", DOCTOR, folder=folder, environment=variables)
    assert "Traceback" not in process.stderr
    findings = [line for line in process.stdout.splitlines() if line[7:].startswith("hub ")]
    assert len(findings) == 1, process.stdout + process.stderr
    return process.returncode, findings[0]


@pytest.mark.slow
def test_the_doctor_passes_with_a_hub_that_responds(forks: Forks, tmp_path: Path) -> None:
    with serve(laid_out(tables())) as hub:
        status, finding = doctor(forks, tmp_path, hub.endpoint)
    assert status == 0
    # Nine datasets in six repositories (four are configurations of GLUE), IFEval, three of multiple-choice questions.
    assert re.match(r"ok +hub +13 of 13 repositories respond$", finding)


def test_the_doctor_reports_why_the_hub_does_not_respond(forks: Forks, tmp_path: Path) -> None:
    with closed_port() as endpoint:
        status, finding = doctor(forks, tmp_path, endpoint)
    assert status == 1
    assert re.match(r"FAILED +hub +0 of 13 repositories respond", finding)
    assert re.search(r"nyu-mll/glue.* \([^)]*Connect", finding)


@pytest.mark.slow
def test_the_doctor_names_a_missing_repository(forks: Forks, tmp_path: Path) -> None:
    repositories = laid_out(tables())
    del repositories["SetFit/subj"]
    with serve(repositories) as hub:
        status, finding = doctor(forks, tmp_path, hub.endpoint)
    assert status == 1
    assert re.match(r"FAILED +hub +12 of 13 repositories respond", finding)
    assert re.search(r"SetFit/subj \(.*Repository ?Not ?Found", finding)
    assert "nyu-mll/glue" not in finding
