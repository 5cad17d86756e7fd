"""Keeps the instructions of test sets out of training."""

from __future__ import annotations

from collections.abc import Iterable

from lm_eval_ext.integrations.rows import RowError
from lm_eval_ext.verifiers import Checker, ifeval, ifrlvr, own

_LIBRARY = f"{own.__name__.rpartition('.')[0]}."
_FOR_TRAINING = tuple(f"{part.__name__}." for part in (ifeval, ifrlvr, own))
"""The parts of the library whose instructions may be trained on: IFEval's, IF-RLVR's, and this package's own."""


def is_for_tests(instruction: type[Checker]) -> bool:
    """Return whether an instruction type must not be trained on.

    Models are trained on IFEval's 25 instructions and IF-RLVR's 29, and whoever registers a checker of their own may
    train on it. Every other part of the library belongs to a benchmark of instructions unlike those, such as IFBench.
    """
    module = f"{instruction.__module__}."
    return module.startswith(_LIBRARY) and not module.startswith(_FOR_TRAINING)


def refuse_tests(instructions: Iterable[Checker], where: str, allow_test_instructions: bool) -> None:
    """Refuse instructions that are meant for tests, unless they are allowed.

    Args:
        instructions: of one row.
        where: names the row in errors.
        allow_test_instructions: whether the user said that the model will not be tested with them.

    Raises:
        RowError: there is such an instruction.
    """
    if allow_test_instructions:
        return
    for instruction in instructions:
        if is_for_tests(type(instruction)):
            raise RowError(
                f"{where}: {instruction.id!r} is an instruction for tests (IFBench); a model that was rewarded for it "
                "no longer shows there whether it follows unfamiliar instructions; train on those of IFEval and "
                "IF-RLVR, or pass allow_test_instructions=True if the model is never tested with it"
            )
