"""The report's figures on self-refinement (Curse of Instructions, section 5, Table 2, and Figure 9, appendix E)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from math import nan
from typing import Any

import numpy as np

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, HeatMap
from lm_eval_ext.reports.layout import COLUMN, panels, shown, table
from lm_eval_ext.reports.sections.examples import UNREADABLE, Line
from lm_eval_ext.reports.sections.manyifeval.runs import ACCURACIES, PROMPT_LEVEL, of_kind
from lm_eval_ext.reports.statistics import Floats, Ratio
from lm_eval_ext.reports.study import OWN, UNKNOWN, Cells, Entry, SharedRows, Study, grouped, shared_rows
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.self_refine.method import base_of, is_refined, stops_early, strategy_of
from lm_eval_ext.self_refine.metrics import COUNTS, Confusion
from lm_eval_ext.self_refine.strategies import STRATEGIES

_ROUND = re.compile(rf"{PROMPT_LEVEL}_round_(\d+)")
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over task prompts, with the same resamples for "
    "every round and method."
)
ALL = "all rounds"
LABELS = {"followed": (0, 2), "not followed": (1, 3)}
"""The checkers' verdicts, the rows of the matrix: the places of their two counts in ``COUNTS``."""
JUDGED = tuple(f"judged {label}" for label in LABELS)
"""The model's judgments: its columns."""


@dataclass(frozen=True, eq=False)
class Refined:
    """A model with one way to refine its answers, or none.

    Attributes:
        title: its title in Table 2.
        strategy: its name; ``none`` without refinement.
        model, label: the model with it, and its name.
        rounds: the largest number of refinement rounds; 0 without refinement.
        runs: by the number of instructions.
    """

    title: str
    strategy: str
    model: EvaluatedModel
    label: str
    rounds: int
    runs: Mapping[int, TaskRun]


def refinement(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    entries, issues = _refined(study)
    if not entries:
        return
    groups = grouped(entries, ("base", "method"))
    study = study.ordered(base=(base for base, _ in groups), level=ACCURACIES)
    yield _by_round(study, entries, issues)
    runs = {key: [entry.run for entry in group] for key, group in groups.items()}
    judged = {key: of_method for key, of_method in runs.items() if _counts(of_method).judgments}
    if judged:
        yield _feedback(judged)
    readable = {key: of_method for key, of_method in judged.items() if _unparsable(of_method) != 1}
    strategies = {key: STRATEGIES.get(group[0]["refined"].strategy) for key, group in groups.items()}
    by_model = {
        key: of_method
        for key, of_method in readable.items()
        if (strategy := strategies[key]) is None or strategy.judge == "model"
    }
    if matrices := confusion(study.evidence, by_model):
        yield matrices


def _refined(study: Study) -> tuple[list[Entry], list[Issue]]:
    """Return the runs of models whose answers were refined, with all methods that were otherwise run in the same way.

    They are on the tasks that all methods were run on, with the rows ``kept`` that all share.
    """
    entries, issues = list[Entry](), list[Issue]()
    for methods in _methods(study):
        refining = [set(method.runs) for method in methods if method.rounds]
        numbers = sorted(set.intersection(*refining)) if refining else []
        if not numbers:
            continue
        # If the model was also run without refinement, it has the name of these runs.
        alone = (method.label for method in methods if not is_refined(method.model))
        base = next(alone, base_of(methods[0].model).name)
        text = f"over the tasks with {', '.join(map(str, numbers))} instructions, on which all of its methods were run"
        of_base = [note(text)]
        alike, unlike = _comparable(methods, numbers)
        order = [*STRATEGIES]
        alike.sort(key=lambda one: order.index(one.strategy) if one.strategy in order else len(order))
        alike = list(_with_distinct_titles(alike))
        shared = {number: _shared(alike, number) for number in numbers}
        reasons = sorted({one.reason for one in shared.values() if one.reason})
        if reasons:
            text = "no figure, because its methods were not run on the same rows"
            of_base += [*unlike, error(f"{text}: {'; '.join(reasons)}")]
        elif rows := sum(one.left_out for one in shared.values()):
            of_base += [*unlike, note(f"{rows} rows left out because not all of its methods were run on them")]
        else:
            of_base += unlike
        issues += [replace(issue, text=f"{base}: {issue.text}") for issue in of_base]
        entries += [
            Entry(
                method.runs[number],
                {"base": base, "place": place, "method": method.title, "refined": method},
                asked=number,
                kept=shared[number].kept[place],
                reason="; ".join(reasons),
            )
            for place, method in enumerate(alike)
            for number in numbers
        ]
    return entries, issues


def _methods(study: Study) -> Iterator[list[Refined]]:
    """Yield the methods of each model that were otherwise run in the same way."""
    groups: dict[tuple[Any, ...], list[Refined]] = {}
    for (label,), entries in grouped(of_kind(study), ["model"]).items():
        runs = {entry["instructions"]: entry.run for entry in entries}
        model = entries[0].run.model
        strategy = strategy_of(model)
        title = STRATEGIES[strategy].title if strategy in STRATEGIES else strategy
        found = (_ROUND.fullmatch(metric) for run in runs.values() for metric in run.metrics)
        rounds = max((int(match[1]) for match in found if match), default=0)
        # Tasks of other families may have been run with other settings.
        alike = base_of(model).full_name, frozenset(run.setting for run in runs.values())
        groups.setdefault(alike, []).append(Refined(title, strategy, model, label, rounds, runs))
    yield from groups.values()


def _comparable(methods: Sequence[Refined], numbers: Sequence[int]) -> tuple[list[Refined], list[Issue]]:
    """Return the methods with refinement, those without that are comparable, and why others are not."""
    comparable, issues = [method for method in methods if method.rounds], []
    for method in methods:
        # A run without refinement that lacks some of these tasks is not comparable with those that have them.
        if method.rounds or not {*numbers} <= {*method.runs}:
            continue
        reasons = {reason for number in numbers if (reason := _shared([*comparable, method], number).reason)}
        if reasons:
            issues.append(warning(f"{method.title} cannot be compared with refinement: {'; '.join(sorted(reasons))}"))
        else:
            comparable.append(method)
    return comparable, issues


def _shared(methods: Sequence[Refined], number: int) -> SharedRows:
    return shared_rows([method.runs[number] for method in methods])


def _with_distinct_titles(methods: Sequence[Refined]) -> Iterator[Refined]:
    """Yield methods; if several share a strategy, their titles get the rounds, early_stop, or the model's name."""
    for method in methods:
        alike = [other for other in methods if other.title == method.title]
        rounds = f"{method.rounds} round{'' if method.rounds == 1 else 's'}" if method.rounds else "plain"
        if len(alike) == 1:
            yield method
        elif len({other.rounds for other in alike}) == len(alike):
            yield replace(method, title=f"{method.title}, {rounds}")
        elif len({(other.rounds, stops_early(other.model)) for other in alike}) == len(alike):
            yield replace(method, title=f"{method.title}, early_stop={str(stops_early(method.model)).lower()}")
        else:
            yield replace(method, title=f"{method.title} ({method.label})")


def _by_round(study: Study, entries: Sequence[Entry], issues: Sequence[Issue]) -> Figure:
    """Return the accuracy of the answers after each round."""
    last = max(entry["refined"].rounds for entry in entries)
    # Without refinement, the only answers are those of every round.
    by_round = [
        replace(
            entry.with_facts(level=name, round=number),
            metric=f"{metric}_round_{number}" if entry["refined"].rounds else metric,
        )
        for entry in entries
        for name, metric in ACCURACIES.items()
        for number in range((entry["refined"].rounds or last) + 1)
    ]
    by = (("base", "level", "place", "method"), "round")
    cells = study.means(by_round, by, {"accuracy": OWN}, compared=("place", "method"))
    requests = study.means(entries, (("base", "method"),), {REQUESTS: REQUESTS})
    counts = {key: shown(line[REQUESTS]) for key, line in requests.lines.items()}
    wide: Cells = cells.wide("round", heading="round {round}").with_fact(
        "requests per row",
        lambda about: f"{found.value:.2f}" if (found := counts[about["base"], about["method"]]).exists else None,
    )
    several = len(cells.values("base")) > 1
    return Figure(
        "manyifeval_rounds",
        "Does it correct its own answers?",
        "Accuracy of the answers after each round; round 0 is the first answer. Zero-shot has no rounds and is drawn "
        "as a horizontal line. The oracle, whose feedback is always right, shows how well the model corrects known "
        "mistakes; where other methods fall short of it, their feedback is the cause. See section 5 and Table 2 of the "
        f"paper. All methods of a model are over the same rows. {INTERVALS}",
        panels(
            cells.with_fact("panel", "{base}: {level}" if several else "{level}"),
            Curves,
            "round",
            "method",
            ("panel",),
            x_axis="rounds of refinement",
            axis="accuracy",
        ),
        table(wide, {"base": "model", "method": "", "level": "", "requests per row": ""}),
        tuple(issues),
        (*(f"{level}_round_*" for level in ACCURACIES.values()), REQUESTS),
    )


def _feedback(judged: Mapping[tuple[str, str], Sequence[TaskRun]]) -> Figure:
    """Return how often the judgments that drove the refinement are right."""
    several = len({base for base, _ in judged}) > 1
    lines = {}
    for (base, title), runs in judged.items():
        counts, unparsable = _counts(runs), _unparsable(runs)
        readable = counts.unless_unread(unparsable)
        shares = {
            "precision": readable.precision,
            "recall": readable.recall,
            "F1": readable.f1,
            "unparsable": unparsable,
        }
        lines[base, title, counts.judgments, f"{base}: {title}" if several else title] = {
            name: Estimate(nan if share is None else share) for name, share in shares.items()
        }
    cells = Cells(("model", "method", "judgments", "category"), lines)
    return Figure(
        "manyifeval_feedback",
        "Can it tell which instructions its answers follow?",
        "Each judgment of an instruction is compared with the checker's verdict; the positive class is “followed”. "
        "Precision gives followed and violated instructions equal weight, as in the paper (Table 2, Figure 9). With "
        "low precision, violated instructions are left uncorrected; with low recall, followed instructions are "
        "corrected needlessly. A judgment that cannot be read counts as “not followed”; if none can be read, there is "
        "no precision, recall or F1. Over all judgments in all rounds on all rows of a method; without confidence "
        "intervals, because the result files contain only counts.",
        panels(cells, Bars, "category", COLUMN, axis="share"),
        table(cells, ("model", "method", "judgments")),
        metrics=("feedback_precision", "feedback_recall", "feedback_f1", UNPARSABLE),
    )


def _counts(runs: Sequence[TaskRun]) -> Confusion:
    """Return the judgments of all tasks together; none if a task's are missing from the results."""
    found = [[run.figure(name) for name in COUNTS] for run in runs]
    if any(count is None for counts in found for count in counts):
        return Confusion()
    return Confusion.total(Confusion(*(int(count or 0) for count in counts)) for counts in found)


def _unparsable(runs: Sequence[TaskRun]) -> float | None:
    """Return the share of all judgments that could not be read; ``None`` if a task's is missing from the results."""
    unread = 0.0
    for run in runs:
        judgments = sum(run.figure(name) or 0.0 for name in COUNTS)
        share = run.figure(UNPARSABLE) if judgments else 0.0
        if share is None:
            return None
        unread += share * judgments
    return unread / _counts(runs).judgments


def confusion(evidence: Evidence, judged: Mapping[tuple[str, str], Sequence[TaskRun]]) -> Figure | None:
    """Return the confusion matrices of judging models; ``None`` if no model judges.

    Args:
        evidence: all runs.
        judged: by model and method, the runs with readable judgments.
    """
    several = len({base for base, _ in judged}) > 1
    lines, issues = {}, []
    for (base, title), runs in judged.items():
        counted = [(run, by_round(run)) for run in runs]
        unread = [run.task for run, rounds in counted if rounds is None]
        if unread:
            total = np.array([[run.figure(name) or 0.0 for name in COUNTS] for run in runs]).sum(axis=0)
            matrix = {(ALL, label): _without_rows(total, label) for label in LABELS}
            text = f"{base}, {title}: only over all rounds, because no rounds are in the samples of"
            issues.append(warning(f"{text} {named(unread)}"))
        else:
            matrix = _of_rounds(evidence, [(run, rounds) for run, rounds in counted if rounds])
        panel = f"{base}: {title}" if several else title
        for (number, label), (judgments, *shares) in matrix.items():
            key = (base, title, number, label, judgments, panel, f"{number}: {label}")
            lines[key] = dict(zip(JUDGED, shares, strict=True))
    if not lines:
        return None
    cells = Cells(("model", "method", "round", "checker", "judgments", "panel", "row"), lines)
    return Figure(
        "manyifeval_confusion",
        "Which mistakes does it make when it judges its answers?",
        "Rows: what the checker says about an instruction; columns: what the model says. Each row adds up to 100 %, so "
        "a perfect judge has 100 % at the top left and at the bottom right. Round 1 judges the first answers, round 2 "
        "the answers after one refinement, and so on; unless it was run with early_stop=false, answers that were "
        "judged to follow everything are not judged again. A judgment that cannot be read counts as “not followed”. In "
        "Figure 9 of the paper (appendix E), a judge that reasons about all instructions at once (w/ feedback+cot "
        "here) calls 98 % of the followed and 65 % of the violated ones followed; one that reasons about each "
        "separately, 76 % and 17 %. Intervals are 95 % confidence intervals from a cluster bootstrap over task "
        "prompts.",
        panels(cells, HeatMap, "row", COLUMN, ("panel",), axis="share of a row's judgments"),
        table(cells, ("model", "method", "round", "checker", "judgments")),
        tuple(issues),
        COUNTS,
    )


Cell = tuple[int, object, object]
"""How many judgments a row of the matrix has, and the shares that are judged followed, and not followed."""


def _of_rounds(evidence: Evidence, counted: Sequence[tuple[TaskRun, list[Floats]]]) -> dict[tuple[str, str], Cell]:
    """Return the matrix of each round, and of all together."""
    last = max((len(rounds) for _, rounds in counted), default=0)
    of_rounds = {
        f"round {number + 1}": [(run, rounds[number]) for run, rounds in counted if number < len(rounds)]
        for number in range(last)
    }
    of_rounds[ALL] = [(run, np.sum(rounds, axis=0)) for run, rounds in counted]
    return {(name, label): _cell(evidence, of_round, label) for name, of_round in of_rounds.items() for label in LABELS}


def by_round(run: TaskRun) -> list[Floats] | None:
    """Return the counts of each round that has judgments; ``None`` if the samples do not record them."""
    if run.rows is None:
        return None
    rounds: list[Floats] = []
    for row in range(len(run.rows)):
        try:
            found = list(_of_line(run.rows.line(row)))
        except UNREADABLE:
            return None
        for number, counts in enumerate(found):
            if number == len(rounds):
                rounds.append(np.zeros((len(run.rows), len(COUNTS))))
            rounds[number][row] = astuple(counts)
    return rounds


def _of_line(line: Line) -> Iterator[Confusion]:
    for one in line["rounds"]:
        if one["judged"] is not None:
            yield Confusion.of(
                (bool(truth), bool(said)) for truth, said in zip(one["followed"], one["judged"], strict=True)
            )


def _cell(evidence: Evidence, counted: Sequence[tuple[TaskRun, Floats]], label: str) -> Cell:
    """Return a row of the matrix over several tasks."""
    followed, broken = LABELS[label]
    if not counted:
        return 0, UNKNOWN, UNKNOWN
    share = Ratio.sum(
        evidence.of_counts(run, counts[:, followed], counts[:, followed] + counts[:, broken], label)
        for run, counts in counted
    )
    return int(share.count[0]), share.value, 1 - share.value


def _without_rows(total: Floats, label: str) -> Cell:
    yes, no = (float(total[place]) for place in LABELS[label])
    share = yes / (yes + no) if yes + no else nan
    return int(yes + no), Estimate(share), Estimate(1 - share)
