"""Checks an installation: does the harness see what we have, and which sources of rows answer?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lm_eval_ext import autoload, sources, tasks_dir

OLDEST_HARNESS = (0, 4, 12)


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
        source: the source of rows that must answer (``"hub"``, ``"embedded"``, a folder). Without it the embedded rows
            must, and the hub is only reported.
    """
    yield _harness()
    yield _autoload()
    yield _tasks()
    yield _models()
    if source not in (None, sources.EMBEDDED, sources.HUB):
        yield _folder(str(source))
    yield _embedded()
    yield _hub(required=source == sources.HUB)


def _harness() -> Finding:
    import lm_eval  # noqa: PLC0415 # each check imports what it checks

    version = lm_eval.__version__
    supported = tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) >= OLDEST_HARNESS
    place = Path(lm_eval.__file__).parent
    text = f"lm-eval {version} at {place}"
    oldest = ".".join(map(str, OLDEST_HARNESS))
    return Finding("harness", supported, text if supported else f"{text}; expected {oldest} or later: upgrade lm-eval")


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


def _embedded() -> Finding:
    finding = _folder(str(sources.EMBEDDED_FOLDER))
    return Finding("embedded", finding.ok, f"{finding.text}: {sources.EMBEDDED_NOTE}")


def _folder(folder: str) -> Finding:
    from lm_eval_ext.families.verbalizer.datasets import DATASETS  # noqa: PLC0415

    def has_rows(name: str) -> bool:
        dataset = DATASETS[name]
        splits = [dataset.evaluation_split, *(["train"] if dataset.held_out else [])]
        return any(sources.has_split(name, split, folder) for split in splits)

    try:
        return _datasets_answer("folder", list(DATASETS), has_rows)
    except sources.RowsError as error:
        return Finding("folder", False, str(error))


def _hub(required: bool) -> Finding:
    from huggingface_hub import HfApi  # noqa: PLC0415
    from huggingface_hub.constants import HF_HUB_OFFLINE  # noqa: PLC0415

    from lm_eval_ext.families.verbalizer.datasets import DATASETS  # noqa: PLC0415

    if HF_HUB_OFFLINE:
        return Finding("hub", False, "switched off by HF_HUB_OFFLINE. Cached copies still serve", required)
    places = sorted({(dataset.hub.repository, dataset.hub.revision) for dataset in DATASETS.values()}, key=str)
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


def _datasets_answer(subject: str, names: list[str], has_rows: Callable[[str], bool]) -> Finding:
    missing = [name for name in names if not has_rows(name)]
    text = f"{len(names) - len(missing)} of {len(names)} datasets"
    return Finding(subject, not missing, f"{text}; missing: {', '.join(missing)}" if missing else text)
