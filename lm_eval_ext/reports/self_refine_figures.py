"""What the report shows of self-refinement (Curse of Instructions, section 5, Table 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.reports.common_rows import Common, common_rows, ratio
from lm_eval_ext.reports.figure import Bars, Cell, Curves, Estimate, Figure, Panel, Series, Table
from lm_eval_ext.reports.manyifeval_tasks import INST_LEVEL, PROMPT_LEVEL, Model, Place, Study, nothing
from lm_eval_ext.reports.runs import TaskRun
from lm_eval_ext.reports.statistics import Ratio, Replicates, estimate
from lm_eval_ext.reports.subjects import Subject
from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.strategies import ARGUMENTS, DEFAULT, NAME, STRATEGIES, ZERO_SHOT

LEVELS = {"prompt level": PROMPT_LEVEL, "instruction level": INST_LEVEL}
COUNTS = tuple(f"feedback_{name}" for name in Confusion.__dataclass_fields__)
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
FEEDBACK = ("precision", "recall", "F1", "unparsable")
INTERVALS = (
    "Intervals: 95 %, if other task prompts had been drawn (cluster bootstrap by task prompt), the same for every "
    "round and method."
)
_ROUND = re.compile(rf"{PROMPT_LEVEL}_round_(\d+)")


@dataclass(frozen=True, eq=False)
class Method:
    """One way to refine the answers of a model, or none.

    Attributes:
        title: as in Table 2.
        strategy: its name; ``none`` without refinement.
        model: what it was asked.
        rounds: how often an answer is refined at most; 0 without refinement.
    """

    title: str
    strategy: str
    model: Model
    rounds: int


@dataclass(frozen=True)
class Base:
    """A model whose answers were refined.

    Attributes:
        label: its name.
        methods: in Table 2's order; zero-shot, if it was run, the first.
        places: what all of them were asked.
        common: the rows that all methods have of each place, in the order of the methods.
        notes: what was left out, and why.
    """

    label: str
    methods: tuple[Method, ...]
    places: tuple[Place, ...]
    common: Mapping[Place, Common]
    notes: tuple[str, ...]

    def runs(self, method: Method) -> list[TaskRun]:
        """Return a method's runs of what all methods were asked."""
        return [method.model.placed[where] for where in self.places]

    def mean(self, study: Study, method: Method, metric: str) -> Replicates:
        """Return a mean over those rows of all these tasks that all methods have; NaN if a task has none such."""
        found = self.runs(method)
        if any(metric not in run.metrics for run in found) or any(one.reason for one in self.common.values()):
            return nothing()
        number = self.methods.index(method)
        kept = [self.common[where].kept[number] for where in self.places]
        return Ratio.sum(ratio(study.runs, run, metric, rows) for run, rows in zip(found, kept, strict=True)).value

    def after(self, study: Study, method: Method, level: str, number: int) -> Replicates:
        """Return the accuracy of the answers after a round; without refinement it is that of the only ones."""
        if not method.rounds:
            return self.mean(study, method, level)
        return self.mean(study, method, f"{level}_round_{number}") if number <= method.rounds else nothing()


def figures(study: Study) -> Iterator[Figure]:
    """Yield the figures that there is something for."""
    found = bases(study)
    if found:
        yield by_round(study, found)
    judged = [(base, method) for base in found for method in base.methods if _counts(base, method).judgements]
    if judged:
        yield feedback(judged)


def bases(study: Study) -> list[Base]:
    """Return the models whose answers were refined, with all methods that were run alike in all else."""
    groups: dict[Subject, list[Method]] = {}
    for model in study.models:
        strategy = _strategy(model.who)
        title = STRATEGIES[strategy].title if strategy in STRATEGIES else strategy
        groups.setdefault(_base(model.who), []).append(Method(title, strategy, model, _rounds(model)))
    order = [*STRATEGIES]
    found = []
    for who, methods in groups.items():
        refining = [set(method.model.placed) for method in methods if method.rounds]
        places = sorted(where for where in set.intersection(*refining) if not where.repeated) if refining else []
        if places:
            alike, unlike = _alike(methods, places)
            alike.sort(key=lambda one: order.index(one.strategy) if one.strategy in order else len(order))
            common = {where: _common(alike, where) for where in places}
            notes = (*unlike, *_left_out(common))
            found.append(Base(_label(study, who), tuple(_told_apart(alike)), tuple(places), common, notes))
    return found


def _alike(methods: Sequence[Method], places: Sequence[Place]) -> tuple[list[Method], list[str]]:
    """Return the methods with refinement, those without that can be held against them, and why others cannot."""
    alike, notes = [method for method in methods if method.rounds], []
    for method in methods:
        # A run without refinement that lacks some of these tasks is no measure for those with it.
        if method.rounds or not {*places} <= {*method.model.placed}:
            continue
        reasons = {reason for where in places if (reason := _common([*alike, method], where).reason)}
        if reasons:
            notes.append(f"{method.title} is not held against refinement: {'; '.join(sorted(reasons))}")
        else:
            alike.append(method)
    return alike, notes


def _common(methods: Sequence[Method], where: Place) -> Common:
    return common_rows([method.model.placed[where] for method in methods])


def _left_out(common: Mapping[Place, Common]) -> Iterator[str]:
    """Yield what is not in the figures of several methods."""
    reasons = sorted({one.reason for one in common.values() if one.reason})
    if reasons:
        yield f"no figure, for its methods were not asked the same rows: {'; '.join(reasons)}"
    elif rows := sum(one.left_out for one in common.values()):
        yield f"{rows} rows left out, which not all its methods were asked"


def by_round(study: Study, found: Sequence[Base]) -> Figure:
    """Return the accuracy of the answers that stand after each round.

    Args:
        study: what was run.
        found: the models, at least one.
    """
    last = max(method.rounds for base in found for method in base.methods)
    numbers = tuple(range(last + 1))
    panels: list[Panel] = []
    rows: list[tuple[Cell, ...]] = []
    for base in found:
        for name, level in LEVELS.items():
            values = {
                method: tuple(estimate(base.after(study, method, level, number)) for number in numbers)
                for method in base.methods
            }
            series = tuple(Series(method.title, of_method) for method, of_method in values.items())
            title = f"{base.label}: {name}" if len(found) > 1 else name
            panels.append(Panel(title, Curves(numbers, series, "rounds of refinement", "accuracy")))
            rows += [
                (base.label, method.title, name, _requests(study, base, method), *of_method)
                for method, of_method in values.items()
            ]
    return Figure(
        "manyifeval_rounds",
        "Does it mend its own answers?",
        "Accuracy of the answers that stand after each round; round 0 is the first answer. Zero-shot has no rounds and "
        "is drawn as a level line. With the oracle, which is told the truth about every answer, one sees how well the "
        "model mends what it knows to be wrong; what other methods lack to it is due to their feedback. As the paper's "
        f"section 5 and Table 2. All methods of a model are of the same rows. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "method", "level", "requests per row", *(f"round {number}" for number in numbers)), tuple(rows)
        ),
        tuple(f"{base.label}: {note}" for base in found for note in (f"over {_in_words(base.places)}", *base.notes)),
    )


def feedback(judged: Sequence[tuple[Base, Method]]) -> Figure:
    """Return how right the judgements are that answers were refined by.

    Args:
        judged: methods with judgements, at least one.
    """
    rows: list[tuple[str, str, int, tuple[Estimate, ...]]] = []
    for base, method in judged:
        counts = _counts(base, method)
        shares = (counts.precision, counts.recall, counts.f1, _unparsable(base, method))
        values = tuple(Estimate(float("nan") if share is None else share) for share in shares)
        rows.append((base.label, method.title, counts.judgements, values))
    one_base = len({label for label, *_ in rows}) == 1
    return Figure(
        "manyifeval_feedback",
        "Does it know which instructions its answers follow?",
        "Every judgement of an instruction against the checker's verdict; the positive class is “followed”. Precision "
        "weighs followed and broken instructions alike, as the paper's does (Table 2, Figure 9): low precision leaves "
        "broken instructions unmended, low recall has followed ones mended. What cannot be read counts as not "
        "followed. Of all judgements in all rounds, of every row that a method was asked; no intervals, for the files "
        "have their counts only.",
        (
            Panel(
                "",
                Bars(
                    tuple(title if one_base else f"{label}: {title}" for label, title, _, _ in rows),
                    tuple(
                        Series(name, tuple(values[place] for *_, values in rows)) for place, name in enumerate(FEEDBACK)
                    ),
                    "share",
                ),
            ),
        ),
        Table(
            ("model", "method", "judgements", *FEEDBACK),
            tuple((label, title, count, *values) for label, title, count, values in rows),
        ),
    )


def _strategy(who: Subject) -> str:
    if who.model != NAME:
        return ZERO_SHOT
    strategy = dict(who.arguments).get("strategy", DEFAULT)
    # The harness reads the word "none" as Python's None.
    return ZERO_SHOT if strategy == "None" else strategy


def _base(who: Subject) -> Subject:
    """Return the model whose answers are refined, in the same setting."""
    if who.model != NAME:
        return who
    of_base = tuple((name, value) for name, value in who.arguments if name not in ARGUMENTS)
    return Subject(dict(who.arguments).get("base", ""), of_base, who.setting)


def _label(study: Study, base: Subject) -> str:
    return study.runs.labels.get(base, base.name)


def _rounds(model: Model) -> int:
    numbers = (_ROUND.fullmatch(metric) for run in model.placed.values() for metric in run.metrics)
    return max((int(match[1]) for match in numbers if match), default=0)


def _told_apart(methods: Sequence[Method]) -> Iterator[Method]:
    """Yield methods; of several of one strategy each with the rounds, or else the name, that tell them apart."""
    for method in methods:
        alike = [other for other in methods if other.title == method.title]
        if len(alike) == 1:
            yield method
        elif len({other.rounds for other in alike}) == len(alike):
            rounds = f"{method.rounds} round{'' if method.rounds == 1 else 's'}" if method.rounds else "plain"
            yield Method(f"{method.title}, {rounds}", method.strategy, method.model, method.rounds)
        else:
            yield Method(f"{method.title} ({method.model.label})", method.strategy, method.model, method.rounds)


def _requests(study: Study, base: Base, method: Method) -> str | None:
    value = estimate(base.mean(study, method, REQUESTS))
    return f"{value.value:.2f}" if value.exists else None


def _counts(base: Base, method: Method) -> Confusion:
    """Return the judgements of all tasks together; none if a task's are not in the results."""
    found = [[run.figure(name) for name in COUNTS] for run in base.runs(method)]
    if any(count is None for counts in found for count in counts):
        return Confusion()
    return Confusion.total(Confusion(*(int(count or 0) for count in counts)) for counts in found)


def _unparsable(base: Base, method: Method) -> float | None:
    """Return the share of all judgements that could not be read; ``None`` if a task's is not in the results."""
    unread = 0.0
    for run in base.runs(method):
        judgements = sum(run.figure(name) or 0.0 for name in COUNTS)
        share = run.figure(UNPARSABLE) if judgements else 0.0
        if share is None:
            return None
        unread += share * judgements
    return unread / _counts(base, method).judgements


def _in_words(places: Sequence[Place]) -> str:
    numbers = [str(where.instructions) for where in places]
    return f"the tasks with {', '.join(numbers)} instructions, which all its methods were asked"
