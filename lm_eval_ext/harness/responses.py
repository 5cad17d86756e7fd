"""What comes back from a model, before it is scored: several draws of a row, and reasoning without its opening tag.

The harness hands a task all responses to a request (``repeats``), but its own filters keep one of them. Here, each draw
is filtered and scored as if it were the only one, and the figures are means over the draws.

Some chat templates open a reasoning block, so that a response begins in the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lm_eval_ext.endings import Answer, ending_of, has_truncated_prompt
from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.verifiers.verify import with_opening_tag

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance
    from typing_extensions import Self  # not in Python 3.10


def removes_reasoning(lm: Any) -> bool:
    """Return whether an LM removes the reasoning from its responses by itself (``think_end_token``).

    What it returns of a response that was cut off cannot be told from an answer.
    """
    return getattr(lm, "think_end_token", None) is not None


def with_opening(response: Any, prompt: Any) -> Any:
    """Return a response as ``with_opening_tag`` does, with what is known of it.

    Args:
        response: what an LM returned. A refined answer and a conversation are more than their text; their parts have
            the tags already.
        prompt: of its request; messages for a server have no tags.
    """
    if type(response) not in (str, Answer) or not isinstance(prompt, str):
        return response
    whole = with_opening_tag(response, prompt)
    return response if whole is response else Answer(whole, ending_of(response), has_truncated_prompt(response))


def generated_answers(requests: Iterable[Instance]) -> dict[int, list[Any]]:
    """Return, by row, the generated answers to it, of each draw, with what the engine said of them."""
    # Responses beyond the number of draws only pad the shares of several processes.
    return {
        request.doc_id: request.resps[: request.repeats]
        for request in requests
        if request.request_type == "generate_until"
    }


DRAWS = "draws"
"""The metric of a task whose rows are answered several times: the scores of each draw, by metric. Its figure is their
number."""


class Drawn(tuple):  # type: ignore[type-arg] # of values of any kind
    """The first draw's value of a metric that is no number, together with those of all draws.

    The harness writes it to the samples like the value of a single draw; the figure is computed from all draws.

    Attributes:
        draws: the value of each draw.
    """

    draws: tuple[Any, ...]

    def __new__(cls, draws: Sequence[Any]) -> Self:
        """Return the first draw's value."""
        drawn = super().__new__(cls, draws[0])
        drawn.draws = tuple(draws)
        return drawn

    def __reduce__(self) -> tuple[type[Drawn], tuple[tuple[Any, ...]]]:
        """Keep the draws when pickling, for other processes."""
        return Drawn, (self.draws,)


def of_single_draws(request: Instance) -> list[Instance]:
    """Return a request once for each of its draws, each with one response.

    Responses beyond the number of draws only pad the shares of several processes.
    """
    single = []
    for response in request.resps[: request.repeats]:
        draw = copy(request)
        draw.resps, draw.filtered_resps = [response], {}
        single.append(draw)
    return single


def are_alike(requests: Iterable[Instance]) -> bool:
    """Return whether every request with several draws got the same response each time."""
    several = [request.resps for request in requests if request.repeats > 1]
    return bool(several) and all(response == responses[0] for responses in several for response in responses)


def together(filtered: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what each filter made of all draws of a request, in the harness's form.

    Args:
        filtered: what each filter made of each draw.
    """
    # 0.5 has a list for each draw, and wants one for all.
    return {
        name: [answer for of_draw in filtered for answer in (of_draw[name] if HAS_SCORERS else [of_draw[name]])]
        for name in filtered[0]
    }


def by_draw(results: Sequence[Any], draws: int) -> list[list[Any]]:
    """Return what a row is scored by, for each draw.

    Args:
        results: the filtered answers to all requests of a row. Only the last request is answered several times.
        draws: the number of its answers.
    """
    if draws == 1:
        return [list(results)]
    # 0.5 puts the answers to all requests into one list.
    once, drawn = (results[:-draws], results[-draws:]) if HAS_SCORERS else (results[:-1], results[-1])
    return [[*once, answer] for answer in drawn]


def combined(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of a row: means over its draws, and the scores of each draw under the name ``DRAWS``.

    Args:
        scores: those of each draw.
    """
    by_draw = {name: [of_draw[name] for of_draw in scores] for name in scores[0]}
    means = {name: Drawn(values) if isinstance(values[0], tuple) else fmean(values) for name, values in by_draw.items()}
    return {**means, DRAWS: by_draw}


@dataclass(frozen=True)
class OverDraws:
    """An aggregation of rows with several draws: the mean of what another aggregation gives for each draw.

    A draw whose figure is undefined does not count; if all are, so is the mean.

    Attributes:
        aggregation: the aggregation of rows with one draw.
    """

    aggregation: Callable[[list[Any]], float | str]

    def __call__(self, rows: Iterable[Any]) -> float | str:
        """Return the figure."""
        values = list(rows)
        if not isinstance(values[0], Drawn):
            # Numbers are means over draws already; what is not averaged over rows is summed.
            return self.aggregation(values)
        figures = [self.aggregation([row.draws[number] for row in values]) for number in range(len(values[0].draws))]
        numbers = [figure for figure in figures if not isinstance(figure, str)]
        return fmean(numbers) if numbers else figures[0]


def number_of_draws(rows: Iterable[Mapping[str, Sequence[Any]]]) -> int:
    """Return the number of draws of each row, as the figure ``DRAWS``."""
    return len(next(iter(next(iter(rows)).values())))
