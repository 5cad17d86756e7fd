"""The error of commands that train."""

from __future__ import annotations

import importlib.util

LIBRARIES = ("torch", "transformers", "accelerate", "peft")
"""The libraries that training needs."""


class TrainingError(ValueError):
    """A model cannot be trained as requested; the message names what is wrong and says what to do."""


def require_libraries() -> None:
    """Check, without importing them, that the libraries for training are installed.

    Raises:
        TrainingError: a library is missing; the message names the extra that installs it.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise TrainingError(f"training needs {', '.join(missing)}: pip install 'lm-eval-ext[hf]'")
