"""A run whose tasks lack data of NLTK ends before its model is created, with one error about all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.families.ifbench.task import IFBenchTask
from lm_eval_ext.harness.prerequisites import missing
from lm_eval_ext.harness.versions import task_index
from lm_eval_ext.verifiers import MissingDataError, tokenization
from tests.conftest import offline_environment
from tests.forks import Forks

pytestmark = pytest.mark.harness

ALL = [data.name for data in tokenization.NLTK_DATA]
PUNKT = [tokenization.PUNKT.name]

# The environment of the tests has the data, in a place that no variable changes.
WITHOUT_DATA = """
import nltk.data
from lm_eval_ext.verifiers import tokenization
nltk.data.path[:], tokenization.CARRIED = [], "nowhere"
"""
# A model that takes minutes to load, as far as the harness knows.
RUN = f"""
import pathlib, runpy, sys
{WITHOUT_DATA}
import lm_eval.models
from lm_eval.api.registry import model_registry
from lm_eval_ext.models.reference import ReferenceLM

class Slow(ReferenceLM):
    def __init__(self, *args, **options):
        pathlib.Path("created").touch()
        super().__init__(*args, **options)

model_registry.register("slow", target=Slow)
"""
COMMAND = RUN + 'runpy.run_module("lm_eval", run_name="__main__", alter_sys=True)\n'
FROM_PYTHON = RUN + 'import lm_eval; lm_eval.simple_evaluate(model="slow", tasks=["ifbench"], limit=2)\n'

# Which leaves are refused before the model, and which cannot be loaded.
COMPARED = f"""
import json, sys
{WITHOUT_DATA}
from lm_eval.tasks import TaskManager
from lm_eval_ext import tasks_dir
from lm_eval_ext.harness.prerequisites import missing
from lm_eval_ext.verifiers import MissingDataError

manager = TaskManager(include_path=[tasks_dir()], include_defaults=False, metadata=json.loads(sys.argv[1]))
found = {{}}
for name in json.loads(sys.argv[2]):
    try:
        manager.load([name])
        loaded = True
    except MissingDataError:
        loaded = False
    found[name] = [missing([name], manager, None) is None, loaded]
print(json.dumps(found))
"""


def environment(home: Path, pythonpath: str) -> dict[str, str]:
    """Return an environment with an empty home folder, in which nothing says where NLTK's data are."""
    variables = offline_environment(HOME=str(home), PYTHONPATH=pythonpath)
    variables.pop("NLTK_DATA", None)
    return variables


def test_the_command_ends_before_the_model_is_created_and_names_all_that_is_missing(
    forks: Forks, small_harness: str, tmp_path: Path
) -> None:
    def run(tasks: str) -> tuple[int, str]:
        options = ("--model", "slow", "--tasks", tasks, "--limit", "2", "--metadata", '{"source": "embedded"}')
        process = forks.run("-c", COMMAND, *options, folder=tmp_path, environment=environment(tmp_path, small_harness))
        return process.returncode, process.stderr

    status, errors = run("ifbench,ifeval_published,verbalizer_sst2_natural_golden")
    assert status == 1
    assert not (tmp_path / "created").exists()
    error = errors[errors.rindex("MissingDataError: ") :].splitlines()
    assert "and HF_HUB_OFFLINE forbids their download" in error[0]
    assert [line.split(":")[0].strip() for line in error[1:4]] == ALL
    assert error[5] == "    python -m nltk.downloader punkt_tab stopwords averaged_perceptron_tagger_eng"
    assert error[6].startswith("Offline: copy tokenizers/punkt_tab, corpora/stopwords and taggers/averaged_perceptron_")
    assert error[7:] == [
        "Or install a package that carries the sentence data and stop words: "
        "(umask 022; pip install --no-deps llama-index-core)",
    ]
    # What needs none of the data is not held up.
    status, errors = run("verbalizer_sst2_natural_golden")
    assert status == 0, errors[-2000:]
    assert (tmp_path / "created").exists()


def test_so_does_a_run_from_python_without_a_manager(forks: Forks, small_harness: str, tmp_path: Path) -> None:
    process = forks.run("-c", FROM_PYTHON, folder=tmp_path, environment=environment(tmp_path, small_harness))
    assert process.returncode == 1
    assert "averaged_perceptron_tagger_eng: needed for words:start_verb, and so for the ifbench" in process.stderr
    assert not (tmp_path / "created").exists()


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    return TaskManager(include_path=[tasks_dir()], include_defaults=False)


@pytest.mark.parametrize("given", [{"source": "embedded"}, {"source": "embedded", "form": "mixed"}])
def test_what_is_refused_before_the_model_is_exactly_what_cannot_be_loaded(
    warm: Forks, manager: TaskManager, tmp_path: Path, given: dict[str, Any]
) -> None:
    families = ("manyifeval.dense",) if "form" in given else ("families.ifbench", "manyifeval", "hierarchy")
    # The fewest instructions of their form: more of them need no less.
    fewest = ("_n01", "_n02", "_n010", "_single")
    names = [
        name
        for name, entry in task_index(manager).items()
        if entry.cfg and any(family in str(entry.cfg.get("class")) for family in families)
        if "manyifeval" not in name or name.endswith(fewest)
    ]
    assert len(names) >= (1 if "form" in given else 20)
    process = warm.run("-c", COMPARED, json.dumps(given), json.dumps(names), folder=tmp_path)
    assert process.returncode == 0, process.stderr[-2000:]
    compared = json.loads(process.stdout.splitlines()[-1])
    assert {name: pair for name, pair in compared.items() if pair[0] != pair[1]} == {}
    refused = [name for name, (runs, _) in compared.items() if not runs]
    dense = [name for name in names if "manyifeval_dense" in name]
    assert set(names) - set(refused) == (set() if "form" in given else set(dense))


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk  # noqa: PLC0415 # a second

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(tokenization, "CARRIED", "nowhere")
    monkeypatch.setattr(tokenization, "_failed_download", lambda _: "")


def downloads(error: Exception | None) -> list[str]:
    """Return the names in the command of an error."""
    if error is None:
        return []
    (command,) = (line for line in str(error).splitlines() if line.startswith("    python -m nltk.downloader "))
    return command.split()[3:]


SPECS: dict[str, tuple[Any, list[str]]] = {
    "a task": ("ifeval_published", PUNKT),
    "a group": ("hierarchy", PUNKT),
    "a group with groups": ("manyifeval_wide", ALL),
    "a tag": ("paired_mcq_mmlu", []),
    "a task in a folder": ({"task": "mine", "class": IFBenchTask, "benchmark": "ifeval", "turns": 1}, PUNKT),
    "a group of one's own": ({"group": "mine", "task": ["verbalizer_sst2_natural_golden", "ifbench"]}, ALL),
    "a task with other keys": ({"group": "mine", "task": [{"task": "ifbench", "benchmark": "ifeval"}]}, PUNKT),
    "a group in a group": ({"group": "mine", "task": [{"group": "hierarchy", "num_fewshot": 0}]}, PUNKT),
    "a task of others": ({"task": "theirs", "class": object}, []),
    "no task": ("no_such_task", []),
}


@pytest.mark.parametrize(("spec", "names"), SPECS.values(), ids=SPECS)
@pytest.mark.usefixtures("nothing_installed")
def test_every_form_of_a_selection_is_understood(spec: Any, names: list[str], manager: TaskManager) -> None:
    assert downloads(missing([spec], manager, None)) == names


@pytest.mark.usefixtures("nothing_installed")
def test_the_metadata_of_the_run_count() -> None:
    assert downloads(missing(["manyifeval_dense_n010"], None, None)) == []
    assert downloads(missing(["manyifeval_dense_n010"], None, {"form": "mixed"})) == PUNKT
    # What a user's own rows need is known only when they are read.
    assert downloads(missing(["manyifeval_n01"], None, {"source": "embedded"})) == PUNKT
    assert downloads(missing(["manyifeval_n01"], None, {"source": "a folder"})) == []


@pytest.mark.usefixtures("sentence_data")
def test_where_all_is_installed_nothing_is_missing(manager: TaskManager) -> None:
    assert missing(["ifeval_published", "hierarchy"], manager, None) is None


@pytest.mark.usefixtures("nothing_installed")
def test_after_one_failed_download_no_other_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fail(data: tokenization.Data) -> str:
        tried.append(data.name)
        return ", and their download failed (no answer)"

    monkeypatch.setattr(tokenization, "_failed_download", fail)
    with pytest.raises(MissingDataError) as caught:
        tokenization.require(*tokenization.NLTK_DATA)
    assert tried == PUNKT
    assert str(caught.value).count("and their download failed (no answer)") == 1
    assert downloads(caught.value) == ALL


def test_a_reader_that_is_missing_is_told_before_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_weights(name: str) -> None:
        raise ReaderError(f"no weights for {name}")

    monkeypatch.setattr(readers, "require", no_weights)
    manager = TaskManager(include_path=[tasks_dir()], include_defaults=False, metadata={"source": "embedded"})
    found = missing(["paired_mcq_arc_challenge_medium_100"], manager, None)
    assert isinstance(found, ReaderError)
    assert str(found) == "no weights for default"
    # The rules need none.
    rules = TaskManager(include_path=[tasks_dir()], include_defaults=False, metadata={"answer_classifier": "rules"})
    assert missing(["paired_mcq_arc_challenge_medium_100"], rules, None) is None
