"""Requests whose answers are known, so that the ``reference`` LM can give the right one, or a particular wrong one.

A family's task puts on each request what every *policy* would answer; ``models/reference.py`` looks the policy up and
knows no family. The answers ride on the request and not in its ``doc``, because the harness hashes the ``doc`` into
``doc_hash``, which stays equal for the same row under every task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from lm_eval.api.instance import Instance

if TYPE_CHECKING:
    from typing_extensions import Self  # Python 3.10 has none of its own

KnownAnswers = Mapping[str, "str | tuple[str, ...]"]
"""Policy name to its answer: one text, or several of which the LM draws one."""


@dataclass
class KnownInstance(Instance):  # type: ignore[misc] # the harness ships no types
    """A harness request that carries what each policy would answer to it.

    Attributes:
        known_answers: policy name to its answer. For ``generate_until`` the generated text; for ``loglikelihood``
            the one continuation that is certain (compared without surrounding white space).
    """

    known_answers: KnownAnswers = field(default_factory=dict)

    @classmethod
    def of(cls, request: Instance, known_answers: KnownAnswers, **changed: Any) -> Self:
        """Return a request like one of the harness's, with its known answers.

        Args:
            request: nothing was answered to it yet.
            known_answers: see the class.
            changed: fields that are not the request's, among them those that a subclass adds.
        """
        # Which fields there are differs between versions of the harness; what an answer goes into starts empty.
        given = {each.name: getattr(request, each.name) for each in fields(Instance) if each.name not in _ANSWERED}
        return cls(**{**given, "known_answers": known_answers, **changed})


_ANSWERED = ("resps", "filtered_resps")
