"""The unmodified harness finds our tasks, models and filters, and otherwise behaves as without us."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lm_eval.tasks
import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import start, tasks_dir
from lm_eval_ext.autoload import _AFTER, FILTERS, MODELS
from tests.conftest import ROOT, Harness, completed, offline_environment, written
from tests.forks import Forks
from tests.small_harness import HARNESS_TASK
from tests.tables import tables

pytestmark = pytest.mark.harness

TABLES = tables(__file__)
OURS = tasks_dir()
TASK = "verbalizer_sst2_natural_golden"
OTHER_TASK = "verbalizer_rte_natural_golden"

Python = Callable[..., subprocess.CompletedProcess[str]]
Observe = Callable[..., Any]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Run the test's interpreter in an empty folder, with the autoload on unless told otherwise."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        process = completed(sys.executable, *arguments, folder=folder, environment=environment(tmp_path, **variables))
        assert process.returncode == 0, process.stderr[-4000:]
        return process

    return run


@pytest.fixture
def forked(forks: Forks, tmp_path: Path) -> Python:
    """Run a script (``-c``) or a module (``-m``) in a fork of an interpreter that has not imported the harness."""
    folder = tmp_path / "fork"
    folder.mkdir()

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        process = forks.run(*arguments, folder=folder, environment=environment(tmp_path, **variables))
        assert process.returncode == 0, process.stderr[-4000:]
        return process

    return run


@pytest.fixture
def observe(forked: Python) -> Observe:
    """Run a script and return what it printed last, as JSON."""

    def run(script: str, *arguments: str, **variables: str) -> Any:
        return json.loads(forked("-c", script, *arguments, **variables).stdout.splitlines()[-1])

    return run


def environment(folder: Path, **variables: str) -> dict[str, str]:
    # The user's caches, accelerate configuration and opt-out do not affect the tests.
    return offline_environment(**{"HF_HOME": str(folder / "hf"), "LM_EVAL_EXT_AUTOLOAD": "1", **variables})


# Ways in

OUR_MODEL = ("--model", "reference")
TWO_ROWS = ("--tasks", TASK, "--limit", "2")


def test_the_console_script_lists_our_tasks_and_the_harnesss(python: Python, small_harness: str) -> None:
    command = Path(sys.executable).with_name("lm_eval")
    table = python(str(command), "ls", "tasks", PYTHONPATH=small_harness).stdout
    listed = {cell.strip() for line in table.splitlines() for cell in line.split("|")}
    # A task, two groups and the harness's own.
    assert {TASK, "verbalizer_unnatural", "verbalizer_sst2", HARNESS_TASK} <= listed


EVALUATES = f"""
import json, lm_eval
results = lm_eval.simple_evaluate(model="reference", tasks=[{TASK!r}], limit=2, metadata={{"source": "embedded"}})
print(json.dumps([results["results"][{TASK!r}]["acc,answer"], results["n-samples"][{TASK!r}]]))
"""


def test_simple_evaluate_in_a_script_runs_our_task(observe: Observe, small_harness: str) -> None:
    accuracy, rows = observe(EVALUATES, PYTHONPATH=small_harness)
    assert rows["effective"] == 2
    assert accuracy == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher",
    [
        pytest.param((), id="python -m lm_eval"),
        pytest.param(
            ("-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1"),
            id="accelerate launch -m lm_eval",
        ),
    ],
)
def test_the_command_runs_our_task_with_our_model(harness: Harness, tmp_path: Path, launcher: tuple[str, ...]) -> None:
    if launcher:
        pytest.importorskip("accelerate", reason="accelerate is not installed (extra: hf)")
    variables = environment(tmp_path)
    run = harness(*OUR_MODEL, *TWO_ROWS, source="embedded", launcher=launcher, environment=variables)
    assert run.status == 0, run.output
    assert run.score(TASK, "acc") == 1.0
    assert len(run.samples[TASK]) == 2


def test_an_unknown_policy_raises_our_error(harness: Harness) -> None:
    run = harness(*OUR_MODEL, "--model_args", "policy=oracel", *TWO_ROWS, source="embedded")
    assert run.status != 0
    assert f"--model reference: task '{TASK}' has no policy 'oracel'; expected one of " in run.output.splitlines()[-1]


# What is registered

REGISTERED = """
import json, lm_eval.filters, lm_eval.tasks, lm_eval.models
from lm_eval.api.registry import filter_registry, model_registry
print(json.dumps([list(model_registry), list(filter_registry), lm_eval.tasks.TaskManager().all_tasks]))
"""


def test_our_models_filters_and_tasks_extend_those_of_the_harness(observe: Observe, small_harness: str) -> None:
    with_us = [set(names) for names in observe(REGISTERED, PYTHONPATH=small_harness)]
    alone = [set(names) for names in observe(REGISTERED, PYTHONPATH=small_harness, LM_EVAL_EXT_AUTOLOAD="0")]

    assert [names - own for names, own in zip(with_us, alone, strict=True)][:2] == [set(MODELS), set(FILTERS)]
    assert [own - names for names, own in zip(with_us, alone, strict=True)] == [set(), set(), set()]
    # So the harness's own sets are not empty, and ours are not in them.
    models, filters, tasks = alone
    assert ("hf" in models, "take_first" in filters, HARNESS_TASK in tasks) == (True, True, True)
    assert (TASK in tasks, TASK in with_us[2]) == (False, True)


@pytest.mark.slow
def test_no_task_file_of_the_harness_has_a_name_of_ours() -> None:
    # What follows a key in its line, or is alone in a line of a list; so are other words, but none is a name of ours.
    named = re.compile(rb"^ *(?:- *)?(?:(?:task|group|tag): *(?=\S)|(?<=-)(?: *)(?=[\w.\"'-]+ *$))(.+)$", re.MULTILINE)
    texts = (path.read_bytes() for path in Path(lm_eval.tasks.__file__).parent.rglob("*.yaml"))
    lines = {line for text in texts for line in named.findall(text)}
    theirs = {name.decode() for line in lines for name in re.findall(rb"\w[\w.-]*", line)}
    assert {HARNESS_TASK, "mmlu"} <= theirs
    assert len(theirs) > 10_000
    assert TaskManager(include_path=OURS, include_defaults=False)._index.keys() & theirs == set()


@pytest.mark.slow  # the harness takes ten seconds to index its tasks; the test before this one reads their names
def test_our_names_mean_the_same_with_and_without_the_harness_tasks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The installed harness, with all of its tasks; most other tests start a small one.
    beside = TaskManager(include_path=OURS)._index
    alone = TaskManager(include_path=OURS, include_defaults=False)._index
    assert {entry.kind.name for entry in alone.values()} == {"GROUP", "PY_TASK", "TAG"}
    assert len(beside) - len(alone) > 10_000, "the harness's own tasks were really indexed"
    assert {name: beside[name] for name in alone} == alone
    # Nor does a name of ours hide one of the harness's.
    assert "overrides" not in caplog.text


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("from lm_eval.api.registry import get_model", id="the registry alone"),
        pytest.param("import lm_eval.tasks", id="tasks before models"),
        pytest.param("import lm_eval.models.dummy", id="a module of models"),
    ],
)
def test_both_models_are_found_in_any_import_order(observe: Observe, first: str) -> None:
    # A registry with one entry counts as filled: registering ours too early would lose the harness's own.
    script = f"""
import json
{first}
from lm_eval.api.registry import get_model
print(json.dumps([get_model("dummy").__name__, get_model("reference").__name__]))
"""
    assert observe(script) == ["DummyLM", "ReferenceLM"]


WITHOUT_TORCH = """
import json, sys
for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
    sys.modules[name] = None
from lm_eval.api.registry import get_model
try:
    get_model("hf")
except ModuleNotFoundError as error:
    print(json.dumps([error.name, str(error)]))
"""


def test_without_torch_the_error_names_the_extra_that_brings_it(observe: Observe) -> None:
    name, message = observe(WITHOUT_TORCH)
    assert name == "torch"
    assert message.endswith(". Hugging Face models need more packages: pip install 'lm-eval-ext[hf]'")
    name, bare = observe(WITHOUT_TORCH, LM_EVAL_EXT_AUTOLOAD="0")
    assert message.startswith(f"{bare}. ")


def test_a_group_has_the_marks_of_its_tasks_in_its_version(tmp_path: Path) -> None:
    (tmp_path / "row.jsonl").write_text('{"q": "?", "a": "!"}\n', encoding="utf-8")
    data = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": str(tmp_path / "row.jsonl")},
        "test_split": "train",
    }
    plain = {"task": "plain", **data, "output_type": "generate_until", "doc_to_text": "q", "doc_to_target": "a"}
    metadata = {"version": 2.0}
    files = {
        "ours": {"group": "ours", "task": [TASK, OTHER_TASK], "metadata": metadata},
        "all": {"group": "all", "task": ["ours", "plain"], "metadata": metadata},
        "unversioned": {"group": "unversioned", "task": [TASK]},
        "plain": plain,
    }
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
    given = {"source": "embedded", "row_seed": 7}
    manager = TaskManager(include_path=[OURS, str(tmp_path)], include_defaults=False, metadata=given)
    found = manager.load(["all"])["groups"] | manager.load(["unversioned"])["groups"]
    versions = {name.rpartition("::")[2]: group.version for name, group in found.items()}
    assert versions == {"all": "2.0", "ours": "2.0+embedded+seed7", "unversioned": "N/A"}


# Whose task it is


INDEXED = """
import json, logging, os, sys
from pathlib import Path
import lm_eval_ext
from lm_eval.tasks import TaskManager

ours, mine, link, calls = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
lm_eval_ext.tasks_dir = lambda: ours
relative = os.path.relpath(ours)

def owner(entry):
    path = entry and Path(entry.yaml_path).resolve()
    return path and next(name for name, folder in [("ours", ours), ("mine", mine)] if path.is_relative_to(folder))

def index(call):
    overridden = []
    handler = logging.Handler()
    handler.emit = lambda record: overridden.append(record.args[0]) if "overrides" in record.msg else None
    logging.getLogger().addHandler(handler)
    try:
        tasks = eval(call)._index
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        logging.getLogger().removeHandler(handler)
    names = ["verbalizer_sst2_natural_golden", "verbalizer_rte_natural_golden"]
    return [*(owner(tasks.get(name)) for name in names), "hellaswag" in tasks, overridden]

print(json.dumps({call: index(call) for call in calls}))
"""


def indexed(
    observe: Observe, folder: Path, small_harness: str, calls: Iterable[str], autoload: str = "1"
) -> dict[str, Any]:
    # Two tasks in the place of ours: the harness takes a quarter of a second for all of them, per call.
    files = {"ours": (TASK, OTHER_TASK), "mine": (TASK,)}
    for place, tasks in files.items():
        (folder / place).mkdir()
        for task in tasks:
            (folder / place / f"{task}.yaml").write_text(f"task: {task}\n", encoding="utf-8")
    ours, mine, link = (str(folder / name) for name in (*files, "link"))
    Path(link).symlink_to(ours)
    arguments = (ours, mine, link, json.dumps(list(calls)))
    answers: dict[str, Any] = observe(INDEXED, *arguments, PYTHONPATH=small_harness, LM_EVAL_EXT_AUTOLOAD=autoload)
    return answers


def test_user_tasks_take_precedence_and_ours_are_indexed_once(
    observe: Observe, small_harness: str, tmp_path: Path
) -> None:
    # One process for the whole table: importing the harness costs more than every row of it.
    assert indexed(observe, tmp_path, small_harness, TABLES["calls"]) == TABLES["calls"]


def test_invalid_arguments_get_the_harnesss_error(observe: Observe, small_harness: str, tmp_path: Path) -> None:
    answers = []
    for autoload in ("1", "0"):
        folder = tmp_path / autoload
        folder.mkdir()
        found = indexed(observe, folder, small_harness, TABLES["wrong calls"], autoload)
        answers.append({call: answer.replace(str(folder), "") for call, answer in found.items()})
    with_us, alone = answers
    assert with_us == alone
    assert all(answer.startswith("TypeError: ") for answer in alone.values())


def test_a_user_task_of_the_same_name_runs_instead_of_ours(harness: Harness, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    leaf = (Path(OURS) / "verbalizer/leaves/verbalizer_sst2_natural_golden.yaml").read_text(encoding="utf-8")
    leaf = leaf.replace("../_direct", f"{OURS}/verbalizer/_direct").replace("You are a helpful", "This prompt is my")
    (mine / "task.yaml").write_text(leaf, encoding="utf-8")

    run = harness(*OUR_MODEL, *TWO_ROWS, "--include_path", str(mine), source="embedded")
    assert run.status == 0, run.output
    prompts = [sample["arguments"]["gen_args_0"]["arg_0"] for sample in run.samples[TASK]]
    assert [prompt.startswith("This prompt is my assistant") for prompt in prompts] == [True, True]


# Switched off


def test_with_autoload_disabled_tasks_still_run_by_include_path(
    python: Python, forked: Python, small_harness: str, tmp_path: Path
) -> None:
    off = {"LM_EVAL_EXT_AUTOLOAD": "0", "PYTHONPATH": small_harness}
    command = Path(sys.executable).with_name("lm-eval-ext")
    path = python(str(command), "tasks-path", **off).stdout.strip()
    # The harness's own model of random answers: ours are off.
    options = ("--model", "dummy", *TWO_ROWS, "--include_path", path, "--metadata", '{"source": "embedded"}')
    output = tmp_path / "out"
    forked("-m", "lm_eval", *options, "--output_path", str(output), "--log_samples", **off)
    results, samples = written(output)
    assert len(samples[TASK]) == 2
    assert 0 <= results["results"][TASK]["acc,answer"] <= 1


# The line in the .pth file


@pytest.fixture
def site_folder(tmp_path: Path) -> Path:
    """Lay out what a wheel puts into site-packages for the interpreter's start: the package and the line."""
    folder = tmp_path / "site"
    shutil.copytree(
        ROOT / "lm_eval_ext", folder / "lm_eval_ext", ignore=shutil.ignore_patterns("__pycache__", "embedded")
    )
    shutil.copy(ROOT / "lm_eval_ext.pth", folder)
    return folder


# -S leaves site-packages out (an editable install would import half of the standard library before we do), and
# addsitedir reads the .pth files of one folder as the interpreter's start does.
STARTED = """
import json, site, sys
site.addsitedir(sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""


def started(python: Python, folder: Path, **variables: str) -> set[str]:
    process = python("-I", "-S", "-c", STARTED, str(folder), **variables)
    assert process.stderr == ""
    return set(json.loads(process.stdout))


def test_interpreter_start_imports_only_two_of_our_modules(python: Python, site_folder: Path) -> None:
    because_of_us = started(python, site_folder) - started(python, site_folder, LM_EVAL_EXT_AUTOLOAD="0")
    # Not even __future__; typing, pathlib or importlib.metadata would be milliseconds.
    assert because_of_us == {"lm_eval_ext", "lm_eval_ext.start"}


def test_interpreter_start_in_the_installed_environment_imports_two_of_our_modules(python: Python) -> None:
    lines = python("-X", "importtime", "-c", "pass").stderr.splitlines()
    imported = {line.rsplit("|", 1)[-1].strip() for line in lines}
    ours = {name for name in imported if name.split(".")[0] in {"lm_eval", "lm_eval_ext"}}
    assert ours == {"lm_eval_ext", "lm_eval_ext.start"}


@pytest.mark.parametrize(("value", "on"), [("0", False), ("1", True), ("", True), ("00", True), ("false", True)])
def test_only_the_value_0_disables_the_autoload(python: Python, site_folder: Path, value: str, on: bool) -> None:
    assert ("lm_eval_ext" in started(python, site_folder, LM_EVAL_EXT_AUTOLOAD=value)) is on


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(None, id="the package is gone"),
        pytest.param("def install(:", id="a syntax error"),
        pytest.param("raise RuntimeError", id="the import raises"),
        pytest.param("def install(): raise RuntimeError", id="install raises"),
    ],
)
def test_an_interpreter_starts_silently_even_if_the_package_is_damaged(
    python: Python, site_folder: Path, source: str | None
) -> None:
    if source is None:
        shutil.rmtree(site_folder / "lm_eval_ext")
    else:
        (site_folder / "lm_eval_ext/start.py").write_text(source, encoding="utf-8")
    assert "site" in started(python, site_folder)


@pytest.mark.parametrize("source", ["def append_to(:", "raise RuntimeError", "def append_to(spec): raise RuntimeError"])
def test_the_harness_can_be_imported_even_if_the_autoload_is_damaged(
    python: Python, site_folder: Path, source: str
) -> None:
    (site_folder / "lm_eval_ext/autoload.py").write_text(source, encoding="utf-8")
    (site_folder / "lm_eval/tasks").mkdir(parents=True)
    (site_folder / "lm_eval/tasks/__init__.py").write_text("THERE = True", encoding="utf-8")
    script = "import site, sys; site.addsitedir(sys.argv[1]); import lm_eval.tasks; print(lm_eval.tasks.THERE)"
    process = python("-I", "-S", "-c", script, str(site_folder))
    assert (process.stdout, process.stderr) == ("True\n", "")


def test_the_start_hook_waits_for_the_modules_that_the_autoload_patches() -> None:
    assert set(start.WAITS_FOR) == set(_AFTER)


# A harness of another kind: a stand-in for each, because no release is like it (yet)

KNOWN: Mapping[str, str] = TABLES["known"]
IN_A_MODULE: Mapping[str, str] = TABLES["served"]["in a module of its own"]["files"]


def write_stand_in(folder: Path, files: Mapping[str, str | None]) -> str:
    """Write the known harness with other files; return what ``PYTHONPATH`` needs: it wins over the installed harness.

    Args:
        folder: where.
        files: by their paths in the package; ``None`` leaves a file out.
    """
    for name, source in {**KNOWN, **files}.items():
        path = folder / "lm_eval" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if source is not None:
            path.write_text(source, encoding="utf-8")
    return str(folder)


CALLED = """
import importlib, json, sys

def attempt(action):
    try:
        return action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

# Each import twice: a failed one can be tried again.
modules = ["lm_eval.tasks", "lm_eval.tasks", "lm_eval.models", "lm_eval.models"]
imports = [attempt(lambda: importlib.import_module(name).__name__) for name in modules]
tasks, registry = sys.modules.get("lm_eval.tasks"), sys.modules.get("lm_eval.api.registry")
answer = attempt(lambda: eval(sys.argv[1], vars(tasks)))
print(json.dumps([imports, answer, dict(registry.model_registry) if registry else {}]))
"""


@dataclass(frozen=True)
class Called:
    """What a user's script saw of a stand-in.

    Attributes:
        imports: the names of the imported modules, or errors.
        answer: of the user's call, or an error.
        models: the model registry.
        log: standard error.
    """

    imports: list[str]
    answer: Any
    models: dict[str, str]
    log: str


def called(forked: Python, path: str, call: str, autoload: str = "1") -> Called:
    process = forked("-c", CALLED, call, PYTHONPATH=path, LM_EVAL_EXT_AUTOLOAD=autoload)
    imports, answer, models = json.loads(process.stdout.splitlines()[-1])
    return Called(imports, answer, models, process.stderr)


@pytest.mark.parametrize("name", TABLES["left alone"])
def test_an_unknown_harness_is_left_unchanged(forked: Python, tmp_path: Path, name: str) -> None:
    stand_in = TABLES["left alone"][name]
    path = write_stand_in(tmp_path, stand_in["files"])
    alone, with_us = called(forked, path, stand_in["call"], autoload="0"), called(forked, path, stand_in["call"])
    assert alone.answer == stand_in["answer"]
    assert (with_us.imports, with_us.answer) == (alone.imports, alone.answer)
    assert {name: target for name, target in with_us.models.items() if name not in MODELS} == alone.models


@pytest.mark.parametrize("name", TABLES["served"])
def test_a_harness_with_the_known_argument_names_is_supported(forked: Python, tmp_path: Path, name: str) -> None:
    stand_in = TABLES["served"][name]
    path = write_stand_in(tmp_path, stand_in["files"])
    alone, with_us = called(forked, path, stand_in["call"], autoload="0"), called(forked, path, stand_in["call"])
    assert with_us.answer == json.loads(json.dumps(stand_in["answer"]).replace("OURS", OURS))
    assert alone.answer != with_us.answer
    assert with_us.imports == alone.imports
    assert with_us.log == ""


def log_of(forked: Python, folder: Path, name: str) -> list[str]:
    """Return the lines that are logged when a harness is used that is left as it is."""
    stand_in = TABLES["left alone"][name]
    return called(forked, write_stand_in(folder, stand_in["files"]), stand_in["call"]).log.splitlines()


def test_a_failed_registration_is_reported_once(forked: Python, tmp_path: Path) -> None:
    assert log_of(forked, tmp_path, "a registry that raises") == [
        "lm-eval-ext could not register with lm_eval.tasks: frozen",
        "lm-eval-ext could not register with lm_eval.models: frozen",
    ]


def test_tasks_that_the_harness_fails_with_are_reported_as_left_out(forked: Python, tmp_path: Path) -> None:
    (line,) = log_of(forked, tmp_path, "a single path only")
    assert line.startswith("lm-eval-ext left its tasks out: the harness failed with them (can only concatenate list")


def test_a_registered_name_keeps_its_owner(observe: Observe, tmp_path: Path) -> None:
    taken = {"model": "reference", "filter": "verbalizer_answer"}
    assert (taken["model"] in MODELS, taken["filter"] in FILTERS) == (True, True)
    script = """
import json, lm_eval.tasks, lm_eval.models
from lm_eval.api.registry import filter_registry, model_registry
print(json.dumps([model_registry, filter_registry]))
"""
    theirs = {
        "api/registry.py": f"{KNOWN['api/registry.py']}filter_registry[{taken['filter']!r}] = 'theirs:Filter'\n",
        "models/__init__.py": f"{KNOWN['models/__init__.py']}model_registry[{taken['model']!r}] = 'theirs:LM'\n",
    }
    models, filters = observe(script, PYTHONPATH=write_stand_in(tmp_path / "theirs", theirs))
    assert (models[taken["model"]], filters[taken["filter"]]) == ("theirs:LM", "theirs:Filter")

    models, filters = observe(script, PYTHONPATH=write_stand_in(tmp_path / "free", {}))
    assert (models[taken["model"]], filters[taken["filter"]]) == (MODELS[taken["model"]], FILTERS[taken["filter"]])


# Once, and in time

INSTALLED = """
import importlib, json, sys
{before}
from lm_eval_ext import autoload, start
{after}
import lm_eval.models, lm_eval.tasks
from lm_eval.api.registry import filter_registry, model_registry
start.install()

layers, function = 0, lm_eval.tasks.TaskManager.__init__
while hasattr(function, "__wrapped__"):
    layers, function = layers + 1, function.__wrapped__
finders = sum(type(finder).__name__ == "HarnessFinder" for finder in sys.meta_path)
print(json.dumps([finders, layers, "reference" in model_registry, "verbalizer_answer" in filter_registry]))
"""


@pytest.mark.parametrize("autoload", ["1", "0"])
@pytest.mark.parametrize(("before", "after"), TABLES["installations"].values(), ids=TABLES["installations"])
def test_there_is_only_one_finder_and_one_wrapper_around_the_harness(
    observe: Observe, tmp_path: Path, before: str, after: str, autoload: str
) -> None:
    # Its manager is a separate module, as today's: a reload of lm_eval.tasks finds the same class again.
    path = write_stand_in(tmp_path, IN_A_MODULE)
    script = INSTALLED.format(before=before, after=after)
    finders, layers, *registered = observe(script, PYTHONPATH=path, LM_EVAL_EXT_AUTOLOAD=autoload)
    assert (finders, layers, registered) == (1, 1, [True, True])


# What the import system and its users expect of a module

IMPORTED = """
import importlib, importlib.resources, importlib.util, inspect, json, pkgutil, sys

spec = importlib.util.find_spec("lm_eval.tasks")
found = {"loaded by find_spec": "lm_eval.tasks" in sys.modules, "type of its loader": type(spec.loader).__name__}

import lm_eval.tasks, lm_eval.models
for module in (lm_eval.tasks, lm_eval.models):
    name = module.__name__
    source = open(module.__file__).read()
    found[name] = {
        "origin": module.__spec__.origin,
        "loader": type(module.__spec__.loader).__name__,
        "state of the loader": sorted(vars(module.__spec__.loader)),
        "one loader": module.__loader__ is module.__spec__.loader,
        "inspect": inspect.getsource(module) == source,
        "resources": importlib.resources.files(module).joinpath("__init__.py").read_text() == source,
        "pkgutil.get_data": pkgutil.get_data(name, "__init__.py").decode() == source,
        "pkgutil.iter_modules": sorted(entry.name for entry in pkgutil.iter_modules(module.__path__)),
    }
manager = lm_eval.tasks.TaskManager
found["signature"] = str(inspect.signature(manager))
found["source of __init__"] = inspect.getsource(manager.__init__)
found["name"] = [manager.__init__.__qualname__, manager.__init__.__module__, manager.__init__.__doc__]

for module in (lm_eval.models, lm_eval.tasks):
    importlib.reload(module)
from lm_eval.api.registry import model_registry
found["reloaded"] = sorted(set(model_registry) - {"conversation", "recorded", "reference", "self_refine", "two_turns"})
print(json.dumps(found))
"""


def test_the_harness_modules_look_unchanged_to_python(observe: Observe) -> None:
    with_us, alone = observe(IMPORTED), observe(IMPORTED, LM_EVAL_EXT_AUTOLOAD="0")
    assert with_us == alone
    assert with_us["loaded by find_spec"] is False
    assert with_us["type of its loader"] == "SourceFileLoader"
    checks = ("one loader", "inspect", "resources", "pkgutil.get_data")
    assert [with_us["lm_eval.tasks"][check] for check in checks] == [True, True, True, True]
    assert "hf" in with_us["reloaded"]
