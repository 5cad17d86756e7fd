"""The base class of the checkers of verifiable instructions, and the registry from instruction id to checker."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeVar, get_args

from lm_eval_ext.verifiers.text import Text

Edition = Literal["faithful", "repaired"]
"""``faithful``: the benchmark's published verdict, bug for bug; ``repaired``: the one that a reader would give."""
EDITIONS: tuple[Edition, ...] = get_args(Edition)
Relation = Literal["at least", "less than"]
"""The two relations of IFEval's counting instructions."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)


class Checker(ABC):
    """A verifiable instruction with its arguments bound; judges any number of responses.

    Subclasses are frozen dataclasses whose fields are the benchmark's arguments. Their docstrings state the rules.

    Attributes:
        id: the benchmark's instruction id, for example ``"length_constraints:number_words"``.
    """

    __slots__ = ()
    id: ClassVar[str]

    @abstractmethod
    def describe(self) -> str:
        """Return the instruction in the benchmark's wording, as ManyIFEval shows IFEval's in a prompt (Table 6)."""

    @abstractmethod
    def faithful(self, text: Text) -> bool:
        """Return the benchmark's published verdict on a text that is not blank."""

    def repaired(self, text: Text) -> bool:
        """Return the verdict that a human reader would give on a text that is not blank; by default the published."""
        return self.faithful(text)

    def require_judgeable(self) -> None:  # noqa: B027 # most checkers can judge with any arguments
        """Raise ``ValueError`` if the faithful edition cannot judge with these arguments.

        That is the case if IFEval uses an argument as a regular expression and it is not a valid one. Constructing the
        checker is still allowed, because the repaired edition can judge.
        """

    def follows(self, text: Text, edition: Edition) -> bool:
        """Return the verdict of one edition. Blank text follows no instruction."""
        return not text.is_blank and (self.faithful(text) if edition == "faithful" else self.repaired(text))


CheckerType = TypeVar("CheckerType", bound=type[Checker])
_CHECKERS: dict[str, type[Checker]] = {}
_MODULES: dict[str, str] = {}
"""The ids that were announced, each with the module that defines its checker."""


def announce(module: str, instruction_ids: Iterable[str]) -> None:
    """Make instruction ids known whose checkers a module registers; it is imported when one of them is first asked for.

    Defining a checker takes a third of a millisecond, and most importers need few of them.
    """
    _MODULES.update(dict.fromkeys(instruction_ids, module))


def checker(instruction_id: str) -> Callable[[CheckerType], CheckerType]:
    """Set the instruction id of a checker class and register it."""

    def register(cls: CheckerType) -> CheckerType:
        cls.id = instruction_id
        _CHECKERS[instruction_id] = cls
        return cls

    return register


def instruction_ids() -> tuple[str, ...]:
    """Return all known instruction ids, in alphabetical order."""
    return tuple(sorted(_CHECKERS.keys() | _MODULES.keys()))


def checker_type(instruction_id: str) -> type[Checker]:
    """Return the class that judges an instruction.

    Raises:
        ValueError: the id is unknown; the message names the nearest ones.
    """
    try:
        if instruction_id not in _CHECKERS and instruction_id in _MODULES:
            importlib.import_module(_MODULES[instruction_id])
        return _CHECKERS[instruction_id]
    except (KeyError, TypeError):
        known = instruction_ids()
        hint = _did_you_mean(instruction_id, known)
        # Eighty names on a line would bury what the message is about.
        hint = hint or f"; lm_eval_ext.verifiers.instruction_ids() lists the {len(known)} known instructions"
        raise ValueError(f"unknown instruction {instruction_id!r}{hint}") from None


def instruction(instruction_id: str, arguments: Mapping[str, Any] | None = None) -> Checker:
    """Return the checker of one instruction with its arguments bound.

    Args:
        instruction_id: for example ``"keywords:frequency"``.
        arguments: the benchmark's keyword arguments. ``None`` values are ignored (the published rows have a null for
            every argument of other instructions); a legal 0 stays 0. A whole number may be written as ``3.0``, as in
            IFBench's rows. No argument is ever drawn at random, not even in place of a negative number.

    Raises:
        TypeError: an argument is missing, unknown or of the wrong type; the message names instruction and argument.
        ValueError: the id is unknown, or an argument has an invalid value.
    """
    cls = checker_type(instruction_id)
    given = {name: _as_whole(value) for name, value in (arguments or {}).items() if value is not None}
    try:
        return cls(**given)
    except TypeError:
        _check_names(cls, given)
        raise  # the names are correct: a value has the wrong type, which the error says


def _as_whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_names(cls: type[Checker], given: Mapping[str, Any]) -> None:
    known = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type] # every checker is a dataclass
    takes = f"it takes {', '.join(known) or 'no arguments'}"
    for name in given:
        if name not in known:
            raise TypeError(f"{cls.id}: unknown argument {name!r}{_did_you_mean(name, known)}; {takes}") from None
    missing = [name for name in known if name not in given]
    if missing:
        raise TypeError(f"{cls.id}: missing argument {', '.join(map(repr, missing))}; {takes}") from None


def _did_you_mean(name: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def compare(count: int, relation: Relation, target: int) -> bool:
    """Return whether ``count`` is at least, or strictly less than, ``target``."""
    return count >= target if relation == "at least" else count < target


# Argument checks shared by constructors. A wrong type raises TypeError, a wrong value ValueError.


def check_count(owner: Checker, name: str, value: object, at_least: int = 0) -> None:
    """Require a whole number of ``at_least`` or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner.id}: {name} must be a whole number, found {value!r}")
    if value < at_least:
        raise ValueError(f"{owner.id}: {name} must be {at_least} or more, found {value}")


def check_percentage(owner: Checker, name: str, value: object) -> None:
    """Require a number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{owner.id}: {name} must be a number, found {value!r}")
    if not 0 <= value <= 100:  # NaN is not, either
        raise ValueError(f"{owner.id}: {name} must be from 0 to 100, found {value}")


def check_relation(owner: Checker, name: str, value: object) -> None:
    """Require one of the two relations."""
    if value not in RELATIONS:
        expected = " or ".join(map(repr, RELATIONS))
        raise ValueError(f"{owner.id}: {name} must be {expected}, found {value!r}")


def check_phrase(owner: Checker, name: str, value: object) -> None:
    """Require text that is not blank."""
    if not isinstance(value, str):
        raise TypeError(f"{owner.id}: {name} must be text, found {value!r}")
    if not value.strip():
        raise ValueError(f"{owner.id}: {name} must not be blank, found {value!r}")


def check_phrases(owner: Checker, name: str, value: object) -> None:
    """Require a list of texts that are not blank; a single text is rejected."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{owner.id}: {name} must be a list of texts, found {value!r}")
    if not value:
        raise ValueError(f"{owner.id}: {name} must not be empty")
    for phrase in value:
        check_phrase(owner, name, phrase)


def normalize(owner: Checker, name: str, value: object) -> None:
    """Replace an argument of a frozen dataclass by its normal form; only for use during construction."""
    object.__setattr__(owner, name, value)
