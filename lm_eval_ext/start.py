"""The code that every interpreter of the environment runs at startup: it installs a finder that waits for the harness.

Everything else, including the rules, is in ``autoload``, which is imported when the harness is. This module imports
only what the interpreter has already loaded, so not even ``__future__``; annotations are therefore strings.
"""

import sys

# Importing typing would cost more than this module does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

WAITS_FOR = ("lm_eval.tasks", "lm_eval.models", "lm_eval.models.huggingface", "lm_eval.evaluator")


class HarnessFinder:
    """A meta-path finder that adds a step to the harness's own loading of the modules in ``WAITS_FOR``."""

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the other finders' spec for one of these, with our step added; ``None`` for any other module."""
        if fullname not in WAITS_FOR:
            return None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    _append_our_step(spec)
                    return spec
        return None


def _append_our_step(spec: "ModuleSpec") -> None:
    try:
        from lm_eval_ext.autoload import append_to  # noqa: PLC0415 # not at interpreter start

        append_to(spec)
    except Exception:  # noqa: S110 # an error of ours must not prevent the import of the harness
        pass


def install() -> None:
    """Install the finder, once. If the harness is already imported, register with it immediately."""
    if is_active():
        return
    sys.meta_path.insert(0, HarnessFinder())
    for name in WAITS_FOR:
        if name in sys.modules:
            from lm_eval_ext.autoload import serve  # noqa: PLC0415 # not at interpreter start

            serve(sys.modules[name])


def is_active() -> bool:
    """Tell whether this interpreter was started with the autoload line (or ``install`` was called)."""
    # Compare names, because a reload of this module creates a new class.
    finder_name = (__name__, HarnessFinder.__name__)
    return any((type(finder).__module__, type(finder).__name__) == finder_name for finder in sys.meta_path)
