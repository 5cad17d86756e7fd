"""Tables of tests: the YAML file beside a module of tests has what it tests row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def tables(module: str) -> dict[str, Any]:
    """Return the tables of a module of tests, by name.

    Args:
        module: the ``__file__`` of the module.
    """
    by_name: dict[str, Any] = yaml.safe_load(Path(module).with_suffix(".yaml").read_text(encoding="utf-8"))
    return by_name
