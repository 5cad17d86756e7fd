"""Makes this package's tasks, LMs and filters available in the unmodified harness.

No released harness (up to 0.5.0.dev1) discovers task plugins. ``lm_eval_ext.pth`` therefore calls ``start.install`` at
interpreter startup. It adds a finder to ``sys.meta_path`` that waits for ``lm_eval.tasks`` and ``lm_eval.models``, lets
their own loader run, and then calls this module to register our tasks, LMs and filters. It also waits for
``lm_eval.evaluator``, to look for the data that our tasks need before a run loads its model. The rules:

* It never raises: if anything goes wrong here, the harness continues as if this package were not installed. The one
  exception is data that a selected task of ours lacks: the harness would load the model first, for minutes.
* The user's choice wins: our folder comes before ``--include_path`` (in the harness, the last path wins),
  ``include_defaults=False`` also excludes our tasks, a name that is already taken stays with its owner, and
  ``LM_EVAL_EXT_AUTOLOAD=0`` turns everything off.
* At startup only ``start`` is imported, which imports nothing itself: an interpreter that never imports the harness
  loses well under a millisecond.
"""

from __future__ import annotations

TYPE_CHECKING = False  # only for annotations
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from inspect import BoundArguments, Signature
    from types import ModuleType
    from typing import Any

MODELS = {
    "conversation": "lm_eval_ext.models.conversation:ConversationLM",
    "recorded": "lm_eval_ext.models.recorded:RecordedLM",
    "reference": "lm_eval_ext.models.reference:ReferenceLM",
    "self_refine": "lm_eval_ext.models.self_refine:SelfRefineLM",
    "two_turns": "lm_eval_ext.models.conversation:TwoTurnsLM",
}
FILTERS = {
    "mcq_classifier": "lm_eval_ext.families.paired_mcq.filters:mcq_classifier",
    "mcq_llm": "lm_eval_ext.families.paired_mcq.filters:mcq_llm",
    "mcq_rules": "lm_eval_ext.families.paired_mcq.filters:mcq_rules",
    "mcq_string_match": "lm_eval_ext.families.paired_mcq.filters:mcq_string_match",
    "verbalizer_answer": "lm_eval_ext.families.verbalizer.answer:VerbalizerAnswer",
}


# What `pip install 'lm-eval-ext[hf]'` installs and the harness's base installation lacks.
OF_HF = ("torch", "transformers", "accelerate", "peft")


def append_to(spec: ModuleSpec) -> None:
    """Add our step to the loading of one of the harness's modules."""
    loader = spec.loader
    run = getattr(loader, "exec_module", None)
    if run is None or not hasattr(loader, "__dict__"):
        return

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        try:
            run(module)
        except ModuleNotFoundError as error:
            # The harness says no more than that there is no such module.
            if error.name in OF_HF:
                error.msg = f"{error.msg}. Hugging Face models need more packages: pip install 'lm-eval-ext[hf]'"
            raise
        if module.__name__ == spec.name:
            serve(module)

    # A spec's loader is used for this one import only, so we can set the step on the instance. Unlike a wrapper, it
    # remains the loader that importlib.resources, inspect and pkgutil expect.
    vars(loader)["exec_module"] = exec_module


def serve(module: ModuleType) -> None:
    """Take our step after the loading of one of the harness's modules, without ever raising an error."""
    try:
        if after := _AFTER[module.__name__]:
            after(module)
    except Exception as error:
        _warn("lm-eval-ext could not register with %s: %s", module.__name__, error)


def _warn(message: str, *values: object) -> None:
    import logging  # noqa: PLC0415 # not at interpreter start

    logging.getLogger(__name__).warning(message, *values)


def _register_models(models: ModuleType) -> None:
    from lm_eval.api.registry import model_registry  # noqa: PLC0415 # the harness is not imported at start

    # Only after lm_eval.models has filled the registry, because the harness considers a non-empty registry filled.
    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def _register_tasks(tasks: ModuleType) -> None:
    import functools  # noqa: PLC0415 # not at interpreter start
    import inspect  # noqa: PLC0415 # as above

    from lm_eval.api.registry import filter_registry  # noqa: PLC0415 # as above

    for name, target in FILTERS.items():
        if name not in filter_registry:
            filter_registry.register(name, target=target)

    _mark_groups()
    manager = tasks.TaskManager
    original = manager.__init__
    if getattr(original, "_lm_eval_ext", False):
        return
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 # it is TaskManager.__init__
        failure = None
        bound = _bound_with_our_tasks(signature, self, *args, **kwargs)
        if bound is not None:
            try:
                original(*bound.args, **bound.kwargs)
                return
            except Exception as error:
                failure = error
        # We have nothing to add, or the harness failed with our tasks: call it with the user's own arguments.
        original(self, *args, **kwargs)
        if failure is not None:
            _warn("lm-eval-ext left its tasks out: the harness failed with them (%s)", failure)

    __init__._lm_eval_ext = True  # type: ignore[attr-defined] # the mark that keeps this idempotent
    manager.__init__ = __init__


def _mark_groups() -> None:
    """Let the version of a group have the marks that all its tasks share, if all are ours: ``1.1+embedded``."""
    import functools  # noqa: PLC0415 # not at interpreter start

    try:
        from lm_eval.api.group import Group  # noqa: PLC0415 # the harness is not imported at start
    except ImportError:
        return

    original = Group.version.fget
    if getattr(original, "_lm_eval_ext", False):
        return

    @functools.wraps(original)
    def version(self: Any) -> str:
        own_version: str = original(self)
        try:
            task_marks = zip(*(task.version_marks for task in self.get_all_tasks()), strict=False)
            shared = [mark for mark, *others in task_marks if all(mark_of_task == mark for mark_of_task in others)]
        except Exception:
            # A task of others in it, for example.
            shared = []
        return own_version if own_version == "N/A" else "+".join([own_version, *shared])

    version._lm_eval_ext = True  # type: ignore[attr-defined] # the mark that keeps this idempotent
    Group.version = property(version)


def _bound_with_our_tasks(signature: Signature, *args: Any, **kwargs: Any) -> BoundArguments | None:
    """Return the arguments of ``TaskManager.__init__`` with our folder added, or ``None`` if it cannot be added."""
    try:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if not bound.arguments["include_defaults"]:
            return None
        bound.arguments["include_path"] = with_our_tasks(bound.arguments["include_path"])
    except Exception:
        # An unknown signature or wrong arguments: the harness reports this better than we could.
        return None
    return bound


def with_our_tasks(include_path: Any) -> list[Any]:
    """Return the include paths with our folder first, unless the user already names it.

    Args:
        include_path: as for ``TaskManager``: ``None``, one path or a list of paths.
    """
    from pathlib import Path  # noqa: PLC0415 # not at interpreter start

    from lm_eval_ext import tasks_dir  # noqa: PLC0415 # as above

    paths = list(include_path) if isinstance(include_path, (list, tuple)) else [include_path] if include_path else []
    folder = Path(tasks_dir())
    return paths if any(Path(path).resolve() == folder for path in paths) else [str(folder), *paths]


def _look_for_data_first(evaluator: Any) -> None:
    import functools  # noqa: PLC0415 # not at interpreter start
    import inspect  # noqa: PLC0415 # as above

    original = evaluator.simple_evaluate
    if getattr(original, "_lm_eval_ext", False):
        return
    signature = inspect.signature(original)

    @functools.wraps(original)
    def simple_evaluate(*args: Any, **kwargs: Any) -> Any:
        lacking = None
        try:
            from lm_eval_ext.harness.prerequisites import missing  # noqa: PLC0415 # as above

            arguments = signature.bind(*args, **kwargs).arguments
            lacking = missing(arguments["tasks"], arguments.get("task_manager"), arguments.get("metadata"))
        except Exception:  # noqa: S110 # whatever is wrong, the harness says it better
            pass
        if lacking is not None:
            raise lacking
        return original(*args, **kwargs)

    simple_evaluate._lm_eval_ext = True  # type: ignore[attr-defined] # the mark that keeps this idempotent
    evaluator.simple_evaluate = simple_evaluate


_AFTER: dict[str, Callable[[ModuleType], None] | None] = {
    "lm_eval.tasks": _register_tasks,
    "lm_eval.models": _register_models,
    # Only its error matters.
    "lm_eval.models.huggingface": None,
    "lm_eval.evaluator": _look_for_data_first,
}
