"""Requests with known answers, from which the ``reference`` LM gives the correct one or a particular wrong one.

A family's task attaches to each request the answer of every *policy*; ``models/reference.py`` looks up the policy and
does not depend on any family. The answers are attached to the request, not to its ``doc``, because the harness hashes
the ``doc`` into ``doc_hash``, which must be the same for a row in every task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from lm_eval.api.instance import Instance

if TYPE_CHECKING:
    from typing_extensions import Self  # not in Python 3.10

KnownAnswers = Mapping[str, "str | tuple[str, ...]"]
"""Maps a policy's name to its answer: one text, or several from which the LM draws one."""


@dataclass(frozen=True)
class Composed(Mapping[str, str]):
    """Answers by policy, each composed when it is asked for.

    Attributes:
        answers: composes the answer of each policy; ``None`` if no answer does what the policy says.
        where: the family and the row, for messages.
        why: for the message if there is no answer: which rows have one.
    """

    answers: Mapping[str, Callable[[], str | None]]
    where: str
    why: str = ""

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer.

        Raises:
            KeyError: there is no such policy.
            ValueError: no answer is known that does what the policy says for this row.
        """
        answer = self.answers[policy]()
        if answer is None:
            why = f". {self.why}" if self.why else ""
            raise ValueError(f"{self.where}: no answer is known for policy {policy!r}{why}")
        return answer

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy, without composing its answer."""
        return policy in self.answers

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def also(self, policy: str, like: str) -> Composed:
        """Return these answers and those of one more policy, which answers like another."""
        return replace(self, answers={**self.answers, policy: self.answers[like]})


@dataclass
class KnownInstance(Instance):  # type: ignore[misc] # the harness ships no types
    """A harness request that carries each policy's answer.

    Attributes:
        known_answers: maps a policy's name to its answer: for ``generate_until`` the generated text, for
            ``loglikelihood`` the one certain continuation (compared without surrounding white space).
    """

    known_answers: KnownAnswers = field(default_factory=dict)

    @classmethod
    def of(cls, request: Instance, known_answers: KnownAnswers, **changed: Any) -> Self:
        """Return a copy of a harness request, with known answers.

        Args:
            request: a request that has not been answered yet.
            known_answers: see the class.
            changed: fields that differ from the request's, including those that a subclass adds.
        """
        # The fields differ between versions of the harness. Those that hold responses start empty.
        given = {each.name: getattr(request, each.name) for each in fields(Instance) if each.name not in _ANSWERED}
        return cls(**{**given, "known_answers": known_answers, **changed})


_ANSWERED = ("resps", "filtered_resps")
