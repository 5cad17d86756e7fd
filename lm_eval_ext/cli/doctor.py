"""Checks an installation: does the harness find our tasks and models, and which sources of rows respond?"""

from __future__ import annotations

import http.client
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, constants
from packaging.version import Version

from lm_eval_ext import autoload, sources, start, tasks_dir
from lm_eval_ext.classifier.availability import require_libraries
from lm_eval_ext.classifier.encoder import reader as encoder
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.harness import installation
from lm_eval_ext.harness.versions import OLDEST, TESTED
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, MissingDataError, installed, require

INDENT = 17
"""The width of a finding's mark and subject; further lines of its text are indented as far."""
ROWS = (*sources.SUFFIXES, ".json", ".tsv", ".csv")
"""The suffixes of row files of any family."""


@dataclass(frozen=True)
class Check:
    """The result of a check.

    Attributes:
        subject: what was checked.
        ok: whether the check passed.
        text: what was found and, if the check failed, what to do.
        required: whether the installation counts as broken without it.
    """

    subject: str
    ok: bool
    text: str
    required: bool = True

    def __str__(self) -> str:
        """Return the finding as it is printed: mark, subject and text, with further lines of the text below it."""
        mark = "ok" if self.ok else "FAILED" if self.required else "note"
        first, *further = self.text.split("\n")
        return "\n".join([f"{mark:7}{self.subject:10}{first}", *(" " * INDENT + line for line in further)])


def examine(source: str | None = None, include_path: str | None = None) -> Iterator[Check]:
    """Yield the findings one by one, as they are made (the harness takes seconds to index its tasks).

    Args:
        source: the source of rows that must be available (``"hub"``, ``"embedded"``, a folder or file). By default the
            embedded rows must be, and the hub is only reported. The hub is contacted only if no other source is named,
            and the embedded rows are left alone if a folder or a file is.
        include_path: a folder with the YAML files of a user's own tasks, whose rows must be available at the source,
            or on the hub if none is named.
    """
    for check in (_harness, _autoload, _tasks, _models, _nltk, _reader):
        yield check()
    if source not in (None, sources.EMBEDDED, sources.HUB):
        yield from _given(str(source))
    if include_path is not None:
        yield from _own_tasks(include_path, source or sources.HUB)
    if source in (None, sources.EMBEDDED, sources.HUB):
        yield from _rows("embedded", sources.EMBEDDED)
    if source in (None, sources.HUB):
        yield _hub(required=source == sources.HUB)
        yield from _web()


def _harness() -> Check:
    version = installation.VERSION
    text = f"lm-eval {version} at {installation.FOLDER}"
    if version < Version(OLDEST):
        return Check("harness", False, f"{text}; expected {OLDEST} or later: upgrade lm-eval")
    if version > Version(TESTED[-1]):
        newer = f"{text}; newer than {TESTED[-1]}, the newest that lm-eval-ext was tested with; check a known result"
        return Check("harness", False, newer, required=False)
    return Check("harness", True, text)


def _autoload() -> Check:
    if start.is_active():
        return Check("autoload", True, "active: the bare lm_eval command sees our tasks and models")
    if os.environ.get("LM_EVAL_EXT_AUTOLOAD") == "0":
        reason = "switched off by LM_EVAL_EXT_AUTOLOAD=0"
    else:
        reason = "this interpreter did not read lm_eval_ext.pth (pip install --target, python -S, a bare checkout)"
    return Check("autoload", False, f'{reason}; use --include_path "$(lm-eval-ext tasks-path)"')


def _tasks() -> Check:
    files, visible = installation.task_files()
    folder = Path(tasks_dir()).resolve()
    missing = sorted(str(path.relative_to(folder)) for path in files - visible)
    text = f"{len(visible)} of {len(files)} tasks and groups are visible to the harness"
    if missing:
        listed = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        text += f"; missing: {listed}. Either other tasks have the same names, or autoload is inactive"
    return Check("tasks", bool(files) and not missing, text)


def _models() -> Check:
    missing = installation.missing_models(autoload.MODELS)
    return Check("models", not missing, f"missing: {', '.join(missing)}" if missing else ", ".join(autoload.MODELS))


def _nltk() -> Check:
    how_to_install = []
    try:
        require(*NLTK_DATA)
    except MissingDataError as error:
        how_to_install.append(str(error))
    paths = {data: installed(data) for data in NLTK_DATA}
    lines = [f"{data.called}: {paths[data] or 'missing'}" for data in NLTK_DATA]
    return Check("nltk", not how_to_install, "\n".join([*lines, *how_to_install]), required=False)


def _reader() -> Check:
    try:
        require_libraries()
        encoder.require(fetch=False)
    except ValueError as error:
        return Check("reader", False, str(error), required=False)
    return Check("reader", True, "the answer classifier, which the paired_mcq and text_mcq tasks use, is installed")


def _given(source: str) -> Iterator[Check]:
    """Yield the findings for a folder or a file: whether it exists, and the rows of each family in it."""
    path = Path(source).expanduser()
    if not path.exists():
        expected = f'expected "{sources.HUB}", "{sources.EMBEDDED}", or the path of a folder or a file of rows'
        yield Check("folder", False, f"{source}: no such folder or file; {expected}")
        return
    if not any(installation.task_class(family.task).datasets_at(source) for family in FAMILIES.values()):
        rows = [name for name in sources.file_names(str(path)) if Path(name).suffix in ROWS]
        if rows:
            listed = ", ".join(rows[:5]) + (", …" if len(rows) > 5 else "")
            text = (
                f"found {listed}, which match no built-in dataset; a task of your own checks its rows when it is loaded"
            )
        else:
            expected = "expected <dataset>_<split>.jsonl or .parquet, or task files (.json) of Natural Instructions"
            text = f"{path}: no rows; {expected}"
        yield Check("folder", False, text, required=not rows)
    yield from _rows("folder", source)


def _rows(subject: str, source: str) -> Iterator[Check]:
    """Yield a finding per family of which the source has files, and then one that names the others.

    That a source lacks a family is no failure, and several lines of it would hide one.
    """
    # The rules reader needs nothing that may be missing; only the rows are checked here.
    tasks = installation.OurTasks({"source": source, "answer_classifier": "rules"})
    families = {name: installation.task_class(family.task) for name, family in FAMILIES.items()}
    lacking_files: list[str] = []
    for name, family in families.items():
        names = family.datasets_at(source)
        if not names:
            lacking_files.append(name)
            continue
        try:
            failures = []
            for dataset in names:
                try:
                    tasks.load(family.datasets()[dataset])
                except sources.RowsError as error:
                    failures.append(str(error))
        except MissingDataError:
            # Already reported, and not a fault of the source.
            yield Check(subject, False, f"{name}: not checked, for lack of NLTK's data", subject == "folder")
            continue
        note = f" ({sources.EMBEDDED_NOTE})" if source == sources.EMBEDDED else ""
        text = f"{name}: {len(names) - len(failures)} of {len(names)} datasets{note}"
        if lacking := family.incomplete(names):
            text += f", {lacking}"
        parts = [text, *failures[:3], *(["…"] if len(failures) > 3 else [])]
        yield Check(subject, not failures, "; ".join(parts))
    if lacking_files:
        yield Check(subject, False, f"{', '.join(lacking_files)}: no files", required=False)


def _own_tasks(folder: str, source: str) -> Iterator[Check]:
    """Yield a finding for each of a user's own tasks, and for each file that is none."""
    try:
        tasks = installation.OurTasks({"source": source, "answer_classifier": "rules"}, folder)
    except ValueError as error:
        yield Check("own task", False, str(error))
        return
    for path in tasks.unread():
        yield Check("own task", False, f"{path}: the harness skips it; expected YAML with a task or a group")
    names = tasks.own()
    if not names:
        expected = "expected YAML files that include a template of this package; see docs/own-datasets.md"
        yield Check("own task", False, f"{folder}: no tasks; {expected}")
    for name in names:
        try:
            (task,) = tasks.load(name).values()
        except (ValueError, MissingDataError) as error:  # also RowsError
            text = str(error)
            yield Check("own task", False, text if text.startswith(f"task {name!r}") else f"{name}: {text}")
        else:
            yield Check("own task", True, f"{name}: {len(task.eval_docs)} rows ({source})")


def _hub(required: bool) -> Check:
    if constants.HF_HUB_OFFLINE:
        return Check("hub", False, "switched off by HF_HUB_OFFLINE. Cached copies still work", required)
    hubs = [hub for family in FAMILIES.values() for hub in installation.task_class(family.task).hub_datasets()]
    places = sorted({(hub.repository, hub.revision) for hub in hubs}, key=str)
    silent: dict[str, list[str]] = {}
    for repository, revision in places:
        try:
            HfApi().dataset_info(repository, revision=revision, timeout=10)
        except Exception as error:
            # The library raises many types for the same condition: the repository does not respond.
            silent.setdefault(sources.reason(error), []).append(repository)
    answering = len(places) - sum(map(len, silent.values()))
    text = f"{answering} of {len(places)} repositories respond"
    if silent:
        listed = "; ".join(f"{', '.join(repositories)} ({reason})" for reason, repositories in silent.items())
        text += f"; no response from {listed}. Cached copies still work"
    return Check("hub", not silent, text, required)


def _web() -> Iterator[Check]:
    """Yield, for each family whose public files are not on the hub, whether their download site responds."""
    cached = "Cached copies still work"
    for name, family in FAMILIES.items():
        site = installation.task_class(family.task).web_address()
        if site is None:
            continue
        place, address = site
        if constants.HF_HUB_OFFLINE:
            yield Check("files", False, f"{name}: switched off by HF_HUB_OFFLINE. {cached}", required=False)
            continue
        try:
            with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10):  # noqa: S310 # https
                finding = Check("files", True, f"{name}: {place} responds")
        except (OSError, http.client.HTTPException) as error:
            text = f"{name}: {place} does not respond ({sources.reason(error)}). {cached}"
            finding = Check("files", False, text, required=False)
        yield finding
