"""What a checker of a verifiable instruction is, the types of its arguments, and the registry from id to checker."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

from lm_eval_ext.verifiers.text import Text

if sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:
    from typing_extensions import dataclass_transform

Edition = Literal["faithful", "repaired", "multi_if"]
"""``faithful``: the benchmark's published verdict, bug for bug; ``repaired``: the one that a reader would give;
``multi_if``: that of Multi-IF's published code on IFEval's instructions. A checker has a method of each name."""
ALL_EDITIONS: tuple[Edition, ...] = get_args(Edition)
EDITIONS: tuple[Edition, ...] = ("faithful", "repaired")
"""Those that matter for every instruction."""
Accepts = Callable[[Any], Any]
"""What a type of argument is annotated with: returns a value in its normal form, or raises what ``Checker`` raises for
it. The message goes on after the argument's name: "must be text, found 3"."""


class Checker(ABC):
    """A verifiable instruction with its arguments bound; judges any number of responses.

    A subclass is declared with ``@checker``, which makes it a frozen dataclass. Its fields are the benchmark's
    arguments, each of one of the types below (``Count``, ``Phrase`` …). Its docstring states the rules.

    Attributes:
        id: the benchmark's instruction id, for example ``"length_constraints:number_words"``.
        wording: the instruction in the benchmark's words; ``{name}`` stands for an argument.

    Raises:
        TypeError: an argument has the wrong type; the message names instruction and argument.
        ValueError: an argument has an invalid value; the message names both, too.
    """

    __slots__ = ()
    id: ClassVar[str]
    wording: ClassVar[str]
    _accepts: ClassVar[Mapping[str, Accepts]] = {}

    def __post_init__(self) -> None:
        """Check each argument by its type, and bring it into the type's normal form."""
        for name, accepts in self._accepts.items():
            value = getattr(self, name)
            try:
                normal = accepts(value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{self.id}: {name} {error}") from None
            if normal is not value:
                object.__setattr__(self, name, normal)
        self.require_consistent()

    def require_consistent(self) -> None:  # noqa: B027 # the arguments of most checkers go with any others
        """Raise ``ValueError`` if the arguments, each of which is valid by itself, do not go together."""

    @classmethod
    @cache
    def argument_names(cls) -> tuple[str, ...]:
        """Return the names of the arguments, in their order."""
        return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type] # each is a dataclass

    def arguments(self) -> dict[str, Any]:
        """Return the arguments by name, as JSON and the benchmark's wording have them: texts in a list."""
        values = {name: getattr(self, name) for name in self.argument_names()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def describe(self) -> str:
        """Return the instruction in the benchmark's wording, as ManyIFEval shows IFEval's in a prompt (Table 6)."""
        return self.wording.format(**self.arguments())

    @abstractmethod
    def faithful(self, text: Text) -> bool:
        """Return the benchmark's published verdict on a text that is not blank."""

    def repaired(self, text: Text) -> bool:
        """Return the verdict that a human reader would give on a text that is not blank; by default the published."""
        return self.faithful(text)

    def multi_if(self, text: Text) -> bool:
        """Return the verdict of Multi-IF's published code on a text that is not blank; by default IFEval's."""
        return self.faithful(text)

    def require_judgeable(self) -> None:  # noqa: B027 # most checkers can judge with any arguments
        """Raise ``ValueError`` if the faithful edition cannot judge with these arguments.

        That is the case if IFEval uses an argument as a regular expression and it is not a valid one. Constructing the
        checker is still allowed, because the repaired edition can judge.
        """

    def follows(self, text: Text, edition: Edition) -> bool:
        """Return the verdict of one edition. Blank text follows no instruction."""
        if text.is_blank:
            return False
        return self.faithful(text) if edition == "faithful" else bool(getattr(self, edition)(text))


class OneRule(Checker):
    """A verifiable instruction whose two editions have the same rule, and read a text differently.

    They may differ, for example, in what a word is.
    """

    __slots__ = ()

    @abstractmethod
    def holds(self, text: Text, repaired: bool) -> bool:
        """Return the verdict on a text that is not blank.

        Args:
            text: the response, or a variant of it.
            repaired: whether it is read as a human reader does; else as the benchmark's published code does.
        """

    def faithful(self, text: Text) -> bool:
        return self.holds(text, repaired=False)

    def repaired(self, text: Text) -> bool:
        return self.holds(text, repaired=True)


CheckerType = TypeVar("CheckerType", bound=Checker)
_CHECKERS: dict[str, type[Checker]] = {}
_MODULES: dict[str, list[str]] = {}
"""The groups that were announced, each with the modules that define checkers of it."""


def announce(module: str, groups: Iterable[str]) -> None:
    """Make known that a module defines checkers of groups; it is imported when one of such an id is first asked for.

    Defining a checker takes a third of a millisecond, and most importers need few of them.
    """
    for group in groups:
        _MODULES.setdefault(group, []).append(module)


@dataclass_transform(frozen_default=True)
def checker(instruction_id: str, wording: str | None = None) -> Callable[[type[CheckerType]], type[CheckerType]]:
    """Declare a class as the checker of an instruction: make it a frozen dataclass, and register it.

    Args:
        instruction_id: the instruction's id, ``"group:name"``.
        wording: its words, with ``{name}`` for an argument; ``None`` if the class has a ``describe`` of its own.

    Raises:
        TypeError: the class has neither a wording nor a ``describe``, or a field's type does not say what it accepts.
    """

    def declare(cls: type[CheckerType]) -> type[CheckerType]:
        if wording is not None:
            cls.wording = wording
        elif cls.describe is Checker.describe:
            raise TypeError(f"{instruction_id}: no wording; expected one in @checker, or describe() in {cls.__name__}")
        cls.id = instruction_id
        # With slots, a dataclass is another class than the one that it was made of.
        declared = dataclasses.dataclass(frozen=True, slots=True)(cls)
        hints = get_type_hints(declared, include_extras=True)
        accepts: dict[str, Accepts] = {}
        for name in declared.argument_names():
            for function in filter(callable, getattr(hints[name], "__metadata__", ())):
                accepts.setdefault(name, function)
            if name not in accepts:
                raise TypeError(
                    f"{instruction_id}: the type of argument {name!r} does not say what it accepts, found "
                    f"{hints[name]}; expected Count, Phrase or another type of argument in verifiers/checker.py, or "
                    "one of your own, Annotated with a function"
                )
        declared._accepts = accepts
        _CHECKERS[instruction_id] = declared
        return declared

    return declare


def instruction_ids(source: ModuleType | None = None) -> tuple[str, ...]:
    """Return instruction ids in alphabetical order.

    Args:
        source: the part of this library whose checkers are meant, for example ``verifiers.ifrlvr``; all by default.
    """
    for module in chain.from_iterable(_MODULES.values()):
        importlib.import_module(module)
    start = f"{source.__name__}." if source else ""
    return tuple(sorted(name for name, cls in _CHECKERS.items() if f"{cls.__module__}.".startswith(start)))


def checker_type(instruction_id: str) -> type[Checker]:
    """Return the class that judges an instruction.

    Raises:
        ValueError: the id is unknown; the message names the nearest ones.
    """
    try:
        if instruction_id not in _CHECKERS:
            for module in _MODULES.get(str(instruction_id).partition(":")[0], ()):
                importlib.import_module(module)
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
    values = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (arguments or {}).items()
        if value is not None
    }
    try:
        return cls(**values)
    except TypeError:
        known = cls.argument_names()
        takes = f"it takes {', '.join(known) or 'no arguments'}"
        for name in values:
            if name not in known:
                raise TypeError(f"{cls.id}: unknown argument {name!r}{_did_you_mean(name, known)}; {takes}") from None
        if missing := [name for name in known if name not in values]:
            raise TypeError(f"{cls.id}: missing argument {', '.join(map(repr, missing))}; {takes}") from None
        raise  # the names are correct: a value has the wrong type, which the error says


def _did_you_mean(name: object, known: Iterable[str]) -> str:
    similar = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {similar[0]!r}?)" if similar else ""


# The types of arguments.


def whole_number(at_least: float = -math.inf) -> Accepts:
    """Return what accepts whole numbers of ``at_least`` or more; any, if another argument is the bound."""

    def accepts(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"must be a whole number, found {value!r}")
        if value < at_least:
            raise ValueError(f"must be {at_least} or more, found {value}")
        return value

    return accepts


def phrase(value: object) -> str:
    """Accept text that is not blank."""
    if not isinstance(value, str):
        raise TypeError(f"must be text, found {value!r}")
    if not value.strip():
        raise ValueError(f"must not be blank, found {value!r}")
    return value


def _letter(value: object) -> str:
    letter = phrase(value)
    if len(letter.lower()) != 1:
        raise ValueError(f"must be one character, found {letter!r}")
    return letter.lower()


def several_phrases(value: object) -> tuple[str, ...]:
    """Accept one or more texts that are not blank, and put them in order."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"must be a list of texts, found {value!r}")
    if not value:
        raise ValueError("must not be empty")
    return tuple(sorted(map(phrase, value)))


def _percentage(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"must be a number, found {value!r}")
    if not 0 <= value <= 100:  # NaN is not, either
        raise ValueError(f"must be from 0 to 100, found {value}")
    return value


def _relation(value: object) -> object:
    if value not in RELATIONS:
        raise ValueError(f"must be {' or '.join(map(repr, RELATIONS))}, found {value!r}")
    return value


Count = Annotated[int, whole_number(0)]
"""A whole number, 0 or more."""
Positive = Annotated[int, whole_number(1)]
"""A whole number, 1 or more."""
Percentage = Annotated[float, _percentage]
"""A number from 0 to 100."""
Phrase = Annotated[str, phrase]
"""Text that is not blank."""
Letter = Annotated[str, _letter]
"""One character; a capital counts as its small letter."""
Trimmed = Annotated[str, lambda value: phrase(value).strip()]
"""Text that is not blank; the white space around it does not matter."""
Phrases = Annotated[tuple[str, ...], several_phrases]
"""Texts that are not blank, at least one; their order does not matter. A single text is rejected."""
Relation = Annotated[Literal["at least", "less than"], _relation]
"""How IFEval's counting instructions relate a count to a number; see ``compare``."""
RELATIONS: tuple[Relation, ...] = get_args(get_args(Relation)[0])


def compare(count: int, relation: Relation, target: int) -> bool:
    """Return whether ``count`` is at least, or strictly less than, ``target``."""
    return count >= target if relation == "at least" else count < target
