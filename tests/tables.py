"""Tables of tests: a YAML file beside a module of tests has what it tests row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def tables(module: str, name: str = "") -> Any:
    """Return what a YAML file beside a module of tests has, usually tables by name.

    Args:
        module: the ``__file__`` of the module.
        name: the file's name without its ending, if it is not the module's.
    """
    path = Path(module).with_suffix(".yaml")
    return yaml.safe_load((path.with_stem(name) if name else path).read_text(encoding="utf-8"))
