"""Tells a task which of its metadata are of the run, and which are its own."""

from __future__ import annotations

import inspect
import logging
from functools import lru_cache
from traceback import walk_stack

import lm_eval
from lm_eval.tasks import TaskManager
from lm_eval.utils import simple_parse_args_string

from lm_eval_ext.metadata import EXPECTED, unknown_keys

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""
# The function that loads a run's tasks, whether it is called by the command or from Python.
_RUN = inspect.unwrap(lm_eval.simple_evaluate).__code__


def metadata_of_run() -> tuple[frozenset[str], frozenset[str] | None]:
    """Return which metadata are from the run that is loading a task, and check those that the user gave.

    The harness merges ``--model_args`` and ``--metadata`` into the metadata of each task before the task sees them.

    Returns:
        The names of the model's arguments, empty if a task is loaded from Python before the run; and of all metadata
        that are not from the task's own YAML, ``None`` if that cannot be told.

    Raises:
        ValueError: a key of ``--metadata`` is a misspelt key of this package.
    """
    manager, of_model = None, frozenset[str]()
    # No version of the harness tells a task which of its metadata come from where; the calls that load it know.
    for frame, _ in walk_stack(inspect.currentframe()):
        if manager is None and isinstance(caller := frame.f_locals.get("self"), TaskManager):
            manager = caller
        if frame.f_code is _RUN:
            model_args = frame.f_locals["model_args"]
            of_model = frozenset(
                (simple_parse_args_string(model_args) if isinstance(model_args, str) else model_args) or ()
            )
            break
    if manager is None:
        return of_model, None
    _check_metadata(manager, of_model)
    return of_model, of_model | frozenset(manager.metadata or ())


@lru_cache(maxsize=1)
def _check_metadata(manager: TaskManager, of_model: frozenset[str]) -> None:
    """Check the keys of a manager, which serves one run, and warn about those that nothing reads."""
    if unknown := unknown_keys(key for key in manager.metadata or () if key not in of_model):
        log.warning("--metadata: nothing in lm-eval-ext reads %s; its keys are %s", ", ".join(unknown), EXPECTED)
