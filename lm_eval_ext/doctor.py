"""Checks an installation: does the harness see what we have, and which sources of rows answer?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_ext import autoload, sources, tasks_dir

if TYPE_CHECKING:
    from lm_eval.tasks import TaskManager

OLDEST_HARNESS = "0.4.12"
FILES = {"manyifeval": ("manyifeval_", "ifeval_")}
"""How the names of a dataset's files begin, where not with its name alone."""


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: what was looked at.
        ok: whether it is as it should be.
        text: what was found and, if it is not ok, what to do.
        required: whether the installation counts as broken without it.
    """

    subject: str
    ok: bool
    text: str
    required: bool = True


def examine(source: str | None = None) -> Iterator[Finding]:
    """Yield the findings one by one, as they are made (the harness takes seconds to index its tasks).

    Args:
        source: the source of rows that must answer (``"hub"``, ``"embedded"``, a folder or file). Without it the
            embedded rows must, and the hub is only reported. The hub is asked only if no other source is named.
    """
    yield _harness()
    yield _autoload()
    yield _tasks()
    yield _models()
    yield _sentences()
    yield _reader()
    if source not in (None, sources.EMBEDDED, sources.HUB):
        yield from _rows("folder", str(source))
    yield from _rows("embedded", sources.EMBEDDED)
    if source in (None, sources.HUB):
        yield _hub(required=source == sources.HUB)
        yield _task_files()


def _harness() -> Finding:
    import lm_eval  # noqa: PLC0415 # each check imports what it checks
    from packaging.version import Version  # noqa: PLC0415

    supported = Version(lm_eval.__version__) >= Version(OLDEST_HARNESS)
    text = f"lm-eval {lm_eval.__version__} at {Path(lm_eval.__file__).parent}"
    wanted = f"{text}; expected {OLDEST_HARNESS} or later: upgrade lm-eval"
    return Finding("harness", supported, text if supported else wanted)


def _autoload() -> Finding:
    if autoload.is_active():
        return Finding("autoload", True, "active: the bare lm_eval command sees our tasks and models")
    if os.environ.get("LM_EVAL_EXT_AUTOLOAD") == "0":
        reason = "switched off by LM_EVAL_EXT_AUTOLOAD=0"
    else:
        reason = "this interpreter did not read lm_eval_ext.pth (pip install --target, python -S, a bare checkout)"
    return Finding("autoload", False, f'{reason}; use --include_path "$(lm-eval-ext tasks-path)"')


def _tasks() -> Finding:
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    manager = TaskManager()
    ours = Path(tasks_dir()).resolve()
    files = set(ours.rglob("*.yaml"))
    entries = {Path(entry.yaml_path).resolve() for entry in manager.task_index.values() if entry.yaml_path}
    missing = sorted(str(path.relative_to(ours)) for path in files - entries)
    text = f"{len(files) - len(missing)} of {len(files)} tasks and groups are visible to the harness"
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        text += f"; missing: {shown}. Another task of the same name, or no autoload, hides them"
    return Finding("tasks", bool(files) and not missing, text)


def _models() -> Finding:
    import lm_eval.models  # noqa: F401, PLC0415 # fills the registry
    from lm_eval.api.registry import model_registry  # noqa: PLC0415

    missing = [name for name in autoload.MODELS if name not in model_registry]
    return Finding("models", not missing, f"missing: {', '.join(missing)}" if missing else ", ".join(autoload.MODELS))


def _sentences() -> Finding:
    from lm_eval_ext.verifiers import MissingDataError, sentences  # noqa: PLC0415

    try:
        sentences.require()
    except MissingDataError as error:
        return Finding("sentences", False, " ".join(str(error).split()), required=False)
    return Finding("sentences", True, "NLTK's sentence data, which the manyifeval tasks need, are installed")


def _reader() -> Finding:
    from lm_eval_ext.classifier import adapter, readers, weights  # noqa: PLC0415

    try:
        readers.require_packages()
        adapter.check(adapter.EMBEDDED)
        weights.base_folder(fetch=False)
    except ValueError as error:
        return Finding("reader", False, " ".join(str(error).split()), required=False)
    return Finding("reader", True, "the answer classifier, which the paired_mcq and text_mcq tasks read with, is there")


def _rows(subject: str, source: str) -> Iterator[Finding]:
    """Yield a finding per family; of a folder or file, a family of which it holds nothing at all is only reported."""
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    from lm_eval_ext.verifiers import MissingDataError  # noqa: PLC0415

    # The rules read without anything that may be missing: here the rows are looked at.
    metadata = {"source": source, "answer_classifier": "rules"}
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=metadata)
    families = _families()
    there = {family: _there(family, source) for family in families}
    for family, tasks_by_name in families.items():
        looked_at = there[family] if any(there.values()) else list(tasks_by_name)
        if not looked_at:
            yield Finding(subject, False, f"{family}: no files", required=False)
            continue
        tasks = [tasks_by_name[name] for name in looked_at]
        try:
            failures = [failure for task in tasks if (failure := _failure(manager, task))]
        except MissingDataError:
            # Said already, and no fault of the source.
            yield Finding(subject, False, f"{family}: not looked at without NLTK's sentence data", subject == "folder")
            continue
        note = f" ({sources.EMBEDDED_NOTE})" if source == sources.EMBEDDED else ""
        text = f"{family}: {len(tasks) - len(failures)} of {len(tasks)} datasets{note}"
        if family == "natural_instructions" and (missing := _number_missing(looked_at)):
            text += f", {missing} of the evaluation split missing"
        shown = [text, *failures[:3], *(["…"] if len(failures) > 3 else [])]
        yield Finding(subject, not failures, "; ".join(shown))


def _families() -> dict[str, dict[str, str]]:
    """Return, per family, its datasets, and of each a task that reads it."""
    from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS  # noqa: PLC0415
    from lm_eval_ext.families.paired_mcq import datasets as paired_mcq  # noqa: PLC0415
    from lm_eval_ext.families.verbalizer import datasets as verbalizer  # noqa: PLC0415

    return {
        "verbalizer": {name: f"verbalizer_{name}_natural_golden" for name in verbalizer.DATASETS},
        "manyifeval": {"manyifeval": "manyifeval_n10"},
        "paired_mcq": {name: f"text_mcq_{name}_low" for name in paired_mcq.DATASETS},
        # What files of either version serve for.
        "natural_instructions": {name: f"natural_instructions_{name}_instance" for name in SUBTASKS},
    }


def _there(family: str, source: str) -> list[str]:
    """Return the datasets of a family that must be in order if a source is: none if it holds none of them.

    A folder has either all datasets of the verbalizer family or none; of the paired_mcq and natural_instructions
    families it may have any.
    """
    from lm_eval_ext.families.natural_instructions import files as task_files  # noqa: PLC0415

    names = list(_families()[family])
    if family == "natural_instructions":
        return [name for name in names if task_files.is_there(name, source)]
    if source == sources.EMBEDDED:
        return names
    path = Path(source).expanduser()
    if path.is_file():
        takes_files = "paired_mcq" if _holds_options(path) else "manyifeval"
        return names[:1] if family == takes_files else []
    files = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    found = [name for name in names if any(file.startswith(FILES.get(name, f"{name}_")) for file in files)]
    return found if family == "paired_mcq" or not found else names


def _number_missing(subtasks: list[str]) -> int:
    """Return how many of the evaluation split of natural_instructions are not there."""
    from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION  # noqa: PLC0415

    return len(set(EVALUATION) - set(subtasks))


def _holds_options(file: Path) -> bool:
    """Tell a file of multiple-choice questions from one of instructions."""
    from lm_eval_ext.families.paired_mcq import opinionqa  # noqa: PLC0415

    try:
        return "options" in opinionqa.table_of(str(file)).columns
    except sources.RowsError:
        return file.suffix in opinionqa.TAB_SEPARATED


def _failure(manager: TaskManager, task: str) -> str:
    """Return what is wrong with the rows of a task, nothing if they are as they should be."""
    try:
        manager.load([task])
    except sources.RowsError as error:
        return str(error)
    return ""


def _hub(required: bool) -> Finding:
    from huggingface_hub import HfApi  # noqa: PLC0415
    from huggingface_hub.constants import HF_HUB_OFFLINE  # noqa: PLC0415

    from lm_eval_ext.families.manyifeval.reconstruction import IFEVAL  # noqa: PLC0415
    from lm_eval_ext.families.paired_mcq import datasets as paired_mcq  # noqa: PLC0415
    from lm_eval_ext.families.verbalizer import datasets as verbalizer  # noqa: PLC0415

    if HF_HUB_OFFLINE:
        return Finding("hub", False, "switched off by HF_HUB_OFFLINE. Cached copies still serve", required)
    hubs = [IFEVAL, *(dataset.hub for dataset in verbalizer.DATASETS.values())]
    hubs += [dataset.hub for dataset in paired_mcq.DATASETS.values() if dataset.hub is not None]
    places = sorted({(hub.repository, hub.revision) for hub in hubs}, key=str)
    silent: dict[str, list[str]] = {}
    for repository, revision in places:
        try:
            HfApi().dataset_info(repository, revision=revision, timeout=10)
        except Exception as error:
            # The library raises many types for one thing: this repository does not answer.
            silent.setdefault(sources.reason(error), []).append(repository)
    answering = len(places) - sum(map(len, silent.values()))
    text = f"{answering} of {len(places)} repositories answer"
    if silent:
        listed = "; ".join(f"{', '.join(repositories)} ({reason})" for reason, repositories in silent.items())
        text += f"; not {listed}. Cached copies still serve"
    return Finding("hub", not silent, text, required)


def _task_files() -> Finding:
    """Return whether the place of the natural_instructions task files answers, which is not on the hub."""
    import http.client  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    from huggingface_hub.constants import HF_HUB_OFFLINE  # noqa: PLC0415

    from lm_eval_ext.families.natural_instructions import files  # noqa: PLC0415

    cached = "Cached copies still serve"
    if HF_HUB_OFFLINE:
        return Finding(
            "files", False, f"natural_instructions: switched off by HF_HUB_OFFLINE. {cached}", required=False
        )
    address = files.address(next(iter(_families()["natural_instructions"])))
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10):  # noqa: S310 # https
            return Finding("files", True, f"natural_instructions: {files.ADDRESS} answers")
    except (OSError, http.client.HTTPException) as error:
        text = f"natural_instructions: {files.ADDRESS} does not answer ({sources.reason(error)}). {cached}"
        return Finding("files", False, text, required=False)
