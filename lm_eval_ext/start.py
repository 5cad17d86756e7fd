"""What every interpreter of the environment runs at its start: a finder that waits for the harness, and no more.

What follows once the harness comes, and the rules, are in ``autoload``, which is imported then. Nothing is imported
here but what the interpreter has loaded itself, so not even ``__future__``; annotations are texts for that.
"""

import sys

# typing alone would cost more than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

WAITS_FOR = ("lm_eval.tasks", "lm_eval.models")


class HarnessFinder:
    """A meta-path finder that adds one step after the harness's own loading of the two packages it waits for."""

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the other finders' spec for the two packages, with our step appended; ``None`` for anything else."""
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
    except Exception:  # noqa: S110 # whatever is wrong with us, the harness is imported
        pass


def install() -> None:
    """Put the finder in place, once. A harness that is imported already is served at once."""
    if is_active():
        return
    sys.meta_path.insert(0, HarnessFinder())
    for name in WAITS_FOR:
        if name in sys.modules:
            from lm_eval_ext.autoload import serve  # noqa: PLC0415 # not at interpreter start

            serve(sys.modules[name])


def is_active() -> bool:
    """Tell whether this interpreter was started with the autoload line (or ``install`` was called)."""
    # By name: after a reload of this module the class is another one.
    ours = (__name__, HarnessFinder.__name__)
    return any((type(finder).__module__, type(finder).__name__) == ours for finder in sys.meta_path)
