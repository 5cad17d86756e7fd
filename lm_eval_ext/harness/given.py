"""What a run was given as ``--metadata``, apart from ``--model_args``.

The harness merges them before a task sees them.
"""

from __future__ import annotations

import inspect
import logging
from functools import lru_cache

import lm_eval
from lm_eval.tasks import TaskManager
from lm_eval.utils import simple_parse_args_string

from lm_eval_ext.metadata import expected, unknown_keys

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""
# The function that loads a run's tasks, whether it is called by the command or from Python.
_RUN = inspect.unwrap(lm_eval.simple_evaluate).__code__


def require_known_metadata() -> frozenset[str]:
    """Check the metadata of the run that is loading a task; once for all its tasks.

    Returns:
        The names of the model's arguments, which are among the metadata of each task; empty if a task is loaded from
        Python before the run.

    Raises:
        ValueError: a key of ``--metadata`` is a misspelt key of this package.
    """
    manager, of_model = None, frozenset[str]()
    # No version of the harness tells a task which of its metadata come from where; the calls that load it know.
    frame = inspect.currentframe()
    while frame is not None:
        if manager is None and isinstance(found := frame.f_locals.get("self"), TaskManager):
            manager = found
        if frame.f_code is _RUN:
            given = frame.f_locals["model_args"]
            of_model = frozenset((simple_parse_args_string(given) if isinstance(given, str) else given) or ())
            break
        frame = frame.f_back
    if manager is not None:
        _check(manager, of_model)
    return of_model


@lru_cache(maxsize=1)
def _check(manager: TaskManager, of_model: frozenset[str]) -> None:
    """Check the keys of a manager, which serves one run, and warn about those that nothing reads."""
    if unknown := unknown_keys(key for key in manager.metadata or () if key not in of_model):
        log.warning("--metadata: nothing in lm-eval-ext reads %s; its keys are %s", ", ".join(unknown), expected())
