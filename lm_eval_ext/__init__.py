"""Does a language model do what it is told? Evaluations for lm-evaluation-harness.

This module is imported at every interpreter start of an environment that has the package (see ``autoload``), so it
imports nothing itself.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "tasks_dir"]


def tasks_dir() -> str:
    """Return the absolute path of the folder with the task YAML files, for the harness's ``--include_path``.

    In an installed package it lies inside ``lm_eval_ext``; in a checkout (editable install) beside it.
    """
    from pathlib import Path  # noqa: PLC0415 # not at interpreter start

    package = Path(__file__).resolve().parent
    inside = package / "tasks"
    return str(inside if inside.is_dir() else package.parent / "tasks")
