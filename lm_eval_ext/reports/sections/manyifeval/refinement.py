"""Self-refinement (Curse of Instructions, section 5, Table 2, and Figure 9, appendix E): the report's figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from lm_eval_ext.reports.cells import UNKNOWN, Cells, Key
from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, HeatMap
from lm_eval_ext.reports.layout import COLUMN, as_estimate, panels, table
from lm_eval_ext.reports.sections.examples import Line, counts_of
from lm_eval_ext.reports.sections.figures import captioned
from lm_eval_ext.reports.sections.manyifeval.curves import ACCURACIES, NUMBERED, entries_of
from lm_eval_ext.reports.statistics import Ratio, computed
from lm_eval_ext.reports.study import OWN, Entry, SharedRows, Study, entries_by, shared_rows
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.self_refine.metrics import COUNTS, feedback_shares
from lm_eval_ext.self_refine.strategies import ARGUMENTS, DEFAULT, NAME, STRATEGIES, ZERO_SHOT

_ROUND = re.compile(r"(?:prompt|inst)_level_strict_acc_round_(\d+)")
VERSION = "self_refine_version"
"""Where a run records the version of the prompts for judging and refining."""
UNPARSABLE, REQUESTS = "feedback_unparsable", "base_requests"
QUALITY = {
    "precision": "feedback_precision",
    "recall": "feedback_recall",
    "F1": "feedback_f1",
    "unparsable": UNPARSABLE,
}
"""How good judgments are: the columns of a table and their metrics."""
METHOD = ("base", "place", "method")
"""The facts that tell methods apart: the model, the method's place among those of the model, and its title."""
ALL = 0
"""In place of the number of a round: all of them."""
LABELS = {"followed": (0, 2), "not followed": (1, 3)}
"""The checkers' verdicts, the rows of the matrix: the places of their two counts in ``COUNTS``."""
JUDGED = tuple(f"judged {label}" for label in LABELS)
"""The model's judgments: its columns."""
Method = Sequence[Entry]
"""The runs of a model with one way to refine its answers, or none; each with another number of instructions."""
_SUFFIXES: tuple[Callable[[Entry], str], ...] = (
    lambda _: "",
    lambda entry: f", {entry['rounds']} round{'' if entry['rounds'] == 1 else 's'}" if entry["rounds"] else ", plain",
    lambda entry: f", early_stop={str(entry['early_stop']).lower()}",
    lambda entry: f" ({entry['model']})",
)
"""What is added to the titles of methods that share a strategy: the first of these that tells them apart."""


def refinement_of(run: TaskRun) -> dict[str, Any]:
    """Return how the answers of a run were refined, as facts of an entry.

    Returns:
        ``alone``: the model without refinement; ``strategy``: the strategy's name, and ``method``, its title in
        Table 2; ``rounds``: the most rounds of refinement; ``early_stop``: whether an answer that is judged to follow
        all its instructions is final.
    """
    arguments, alone, strategy = dict(run.model.arguments), run.model, ZERO_SHOT
    if run.model.kind == NAME:
        base_arguments = tuple((name, value) for name, value in run.model.arguments if name not in ARGUMENTS)
        alone = EvaluatedModel(arguments.get("base", ""), base_arguments, run.model.setting)
        # The harness reads the word "none" as Python's None.
        strategy = {"None": ZERO_SHOT}.get(arguments.get("strategy", DEFAULT), arguments.get("strategy", DEFAULT))
    return {
        "alone": alone,
        "strategy": strategy,
        "method": STRATEGIES[strategy].title if strategy in STRATEGIES else strategy,
        "rounds": max((int(match[1]) for metric in run.metrics if (match := _ROUND.fullmatch(metric))), default=0),
        "early_stop": arguments.get("early_stop", "True").lower() != "false",
    }


def refinement(study: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    entries, issues = _refined(study)
    if not entries:
        return
    study = study.ordered(base=(entry["base"] for entry in entries), level=ACCURACIES)
    yield _rounds(study, entries, issues)
    if len({entry["instructions"] for entry in entries}) > 1:
        yield _against_number(study, entries)
    judgments = feedback(entries)
    if judgments.lines:
        bars = panels(_titled(judgments), Bars, "titled", COLUMN, axis="share")
        numbers = table(judgments, {"base": "model", "method": "", "judgments": ""})
        yield captioned("manyifeval_feedback", bars, numbers)
    readable = {(about["base"], about["place"]) for about, line in judgments.about() if line["unparsable"].value != 1}
    by_model = [
        entry
        for entry in entries
        if (entry["base"], entry["place"]) in readable
        and (entry["strategy"] not in STRATEGIES or STRATEGIES[entry["strategy"]].judge == "model")
    ]
    if matrices := confusion(study, by_model):
        yield matrices


def _refined(study: Study) -> tuple[list[Entry], list[Issue]]:
    """Return the runs of models whose answers were refined, with all methods that were otherwise run in the same way.

    They are on the tasks that all methods were run on, with a mask of the rows that all share.
    """
    entries, issues = list[Entry](), list[Issue]()
    order = {strategy: index for index, strategy in enumerate(STRATEGIES)}
    for methods in _methods(study):
        refining = [{entry["instructions"] for entry in method} for method in methods if method[0]["rounds"]]
        numbers = sorted(set.intersection(*refining)) if refining else []
        if not numbers:
            continue
        # If the model was also run without refinement, it has the name of these runs.
        alone = (method[0]["model"] for method in methods if method[0].run.model == method[0]["alone"])
        base = next(alone, methods[0][0]["alone"].name)
        text = f"over the tasks with {', '.join(map(str, numbers))} instructions, on which all of its methods were run"
        alike, unlike = _comparable(methods, numbers)
        base_issues = [note(text), *unlike]
        alike.sort(key=lambda method: order.get(method[0]["strategy"], len(order)))
        shared = {number: _shared(alike, number) for number in numbers}
        reasons = "; ".join(sorted({rows.reason for rows in shared.values() if rows.reason}))
        if reasons:
            base_issues.append(error(f"no figure, because its methods were not run on the same rows: {reasons}"))
        elif left_out := sum(rows.left_out for rows in shared.values()):
            base_issues.append(note(f"{left_out} rows left out because not all of its methods were run on them"))
        prompts = {str(method[0].run.file.config.get(VERSION)) for method in alike if method[0]["rounds"]}
        if len(prompts) > 1:
            what = f"its methods were refined with different prompts ({VERSION} {', '.join(sorted(prompts))})"
            base_issues.append(warning(f"{what}: do not compare them"))
        issues += [replace(issue, text=f"{base}: {issue.text}") for issue in base_issues]
        for index, method in enumerate(alike):
            namesakes = [namesake[0] for namesake in alike if namesake[0]["method"] == method[0]["method"]]
            suffix = next(suffix for suffix in _SUFFIXES if len(set(map(suffix, namesakes))) == len(namesakes))
            facts = {"base": base, "place": index, "method": method[0]["method"] + suffix(method[0])}
            for entry in sorted(method, key=lambda entry: entry["instructions"]):
                if (number := entry["instructions"]) in numbers:
                    mask = shared[number].masks[index]
                    entries.append(replace(entry.with_facts(**facts), question=number, mask=mask, reason=reasons))
    return entries, issues


def _methods(study: Study) -> Iterator[list[Method]]:
    """Yield the methods of each model that were otherwise run in the same way."""
    groups: dict[tuple[Any, ...], list[Method]] = {}
    for runs in entries_by(entries_of(study), ["model"]).values():
        method = [entry.with_facts(**refinement_of(entry.run)) for entry in runs]
        rounds = max(entry["rounds"] for entry in method)
        # Tasks of other families may have been run with other settings.
        alike = method[0]["alone"].full_name, frozenset(entry.run.setting for entry in method)
        groups.setdefault(alike, []).append([entry.with_facts(rounds=rounds) for entry in method])
    yield from groups.values()


def _comparable(methods: Sequence[Method], numbers: Sequence[int]) -> tuple[list[Method], list[Issue]]:
    """Return the methods with refinement, those without that are comparable, and why others are not."""
    comparable, issues = [method for method in methods if method[0]["rounds"]], []
    for method in methods:
        # A run without refinement that lacks some of these tasks is not comparable with those that have them.
        if method[0]["rounds"] or not {*numbers} <= {entry["instructions"] for entry in method}:
            continue
        reasons = {reason for number in numbers if (reason := _shared([*comparable, method], number).reason)}
        if reasons:
            text = f"{method[0]['method']} cannot be compared with refinement: {'; '.join(sorted(reasons))}"
            issues.append(warning(text))
        else:
            comparable.append(method)
    return comparable, issues


def _shared(methods: Sequence[Method], number: int) -> SharedRows:
    return shared_rows([entry.run for method in methods for entry in method if entry["instructions"] == number])


def by_round(study: Study, entries: Sequence[Entry]) -> Cells:
    """Return the accuracies of the answers after each round, by model, level, method and round.

    Without refinement, the only answers are those of every round.
    """
    last = max(entry["rounds"] for entry in entries)
    by_round = [
        replace(
            entry.with_facts(level=name, round=number),
            metric=f"{metric}_round_{number}" if entry["rounds"] else metric,
        )
        for entry in entries
        for name, metric in ACCURACIES.items()
        for number in range((entry["rounds"] or last) + 1)
    ]
    lines = (("base", "level", "place", "method"), "round")
    return study.means(by_round, lines, {"accuracy": OWN}, compared=("place", "method"))


def feedback(entries: Sequence[Entry]) -> Cells:
    """Return how often the judgments that drove the refinement are right, by method and number of judgments.

    Methods without judgments, or with a task whose judgments are missing from the results, are left out.
    """
    lines: dict[Key, dict[str, Estimate]] = {}
    for key, method_entries in entries_by(entries, METHOD).items():
        counts = [[entry.run.figure(name) for name in COUNTS] for entry in method_entries]
        if any(count is None for run_counts in counts for count in run_counts):
            continue
        confusions = np.array(counts, np.float64)
        judgments = confusions.sum(axis=1)
        if not (total := int(judgments.sum())):
            continue
        shares = [entry.run.figure(UNPARSABLE) for entry in method_entries]
        unread = [
            (nan if share is None else share) * count for share, count in zip(shares, judgments, strict=True) if count
        ]
        unparsable = float(sum(unread) / total)
        # A judge of which no judgment could be read has judged nothing. Unread judgments count as "not followed",
        # because they are refined like broken instructions: with nothing else, the precision would be 1 by its
        # convention, as if the judge had found every broken instruction.
        read = [0] * len(COUNTS) if unparsable == 1 else [*map(int, confusions.sum(axis=0))]
        quality = {**feedback_shares(*read), UNPARSABLE: unparsable}
        values = {heading: quality[metric] for heading, metric in QUALITY.items()}
        known = {name: Estimate(nan if value is None else value) for name, value in values.items()}
        lines |= {(*key, total): known}
    return Cells((*METHOD, "judgments"), lines, {heading: [metric] for heading, metric in QUALITY.items()})


def _rounds(study: Study, entries: Sequence[Entry], issues: Sequence[Issue]) -> Figure:
    """Return the accuracy of the answers after each round."""
    cells = by_round(study, entries)
    requests = study.means(entries, (METHOD,), {REQUESTS: REQUESTS})
    counts = {key: as_estimate(line[REQUESTS]) for key, line in requests.lines.items()}
    wide = cells.wide("round", heading="round {round}").with_fact(
        "requests per row",
        lambda about: (
            f"{estimate.value:.2f}" if (estimate := counts[tuple(about[fact] for fact in METHOD)]).exists else None
        ),
    )
    titled, x_axis = _titled(cells, "level"), "rounds of refinement"
    curves = panels(titled, Curves, "round", "method", ("titled",), x_axis=x_axis, axis="accuracy")
    heads = {"base": "model", "method": "", "level": "", "requests per row": ""}
    return captioned("manyifeval_rounds", curves, table(wide, heads, metrics=[REQUESTS]), issues)


def _against_number(study: Study, entries: Sequence[Entry]) -> Figure:
    """Return Figure 6: the accuracy of each method of a model against the number of instructions, in one panel."""
    cells = study.means(entries, (METHOD, "instructions"), ACCURACIES, compared=("place", "method"))
    prompt_level = cells.only(["prompt level"])
    curves = panels(prompt_level, Curves, "instructions", "method", ("base",), untold=("base",), **NUMBERED)
    return captioned("manyifeval_methods", curves, table(cells, {"base": "model", "method": "", "instructions": ""}))


def _titled(cells: Cells, fact: str = "method") -> Cells:
    """Return cells with a fact, and of several models also theirs, as the panel or category that they are shown in."""
    return cells.with_fact("titled", f"{{base}}: {{{fact}}}" if len(cells.values("base")) > 1 else f"{{{fact}}}")


def confusion(study: Study, entries: Sequence[Entry]) -> Figure | None:
    """Return the confusion matrices of judging models; ``None`` if no model judges.

    Args:
        study: all runs.
        entries: the runs with readable judgments.
    """
    lines, issues = {}, []
    for (base, method), method_entries in entries_by(entries, ("base", "method")).items():
        counted = [(entry.run, counts_of(entry.run, _judgments)) for entry in method_entries]
        if unread := [run.task for run, counts in counted if counts is None]:
            text = f"{base}, {method}: only over all rounds, because no rounds are in the samples of"
            issues.append(warning(f"{text} {named(unread)}"))
        ratios: dict[tuple[int, str], list[Ratio]] = {}
        for run, counts in counted:
            nothing = np.zeros(len(run.rows or ()))
            for number in {number for number, _ in counts} if counts and not unread else {ALL}:
                for label, places in LABELS.items():
                    positive, judged = (counts or {}).get((number, label), (nothing, nothing))
                    ratio = _recorded(run, places) if unread else study.evidence.of_counts(run, positive, judged, label)
                    ratios.setdefault((number, label), []).append(ratio)
        for number, label in sorted(ratios, key=lambda key: (key[0] == ALL, key[0])):
            share = Ratio.sum(ratios[number, label])
            name = f"round {number}" if number != ALL else "all rounds"
            key = (base, method, name, label, round(share.count[0]), f"{name}: {label}")
            value = share.value
            lines[key] = dict(zip(JUDGED, (value, computed(lambda part: 1 - part, value)), strict=True))
    if not lines:
        return None
    cells = Cells(("base", "method", "round", "checker", "judgments", "row"), lines)
    maps = panels(_titled(cells), HeatMap, "row", COLUMN, ("titled",), axis="share of a row", higher_is_better=None)
    heads = {"base": "model", "method": "", "round": "", "checker": "", "judgments": ""}
    return captioned("manyifeval_confusion", maps, table(cells, heads, metrics=COUNTS), issues)


def _judgments(line: Line) -> Iterator[tuple[tuple[int, str], float]]:
    """Yield the round of each judgment of an answer, and all of them together, with the checker's verdict; and its own.

    The rounds are those that have judgments.
    """
    judged = [judged_round for judged_round in line["rounds"] if judged_round["judged"] is not None]
    for number, judged_round in enumerate(judged, start=1):
        for is_followed, judgment in zip(judged_round["followed"], judged_round["judged"], strict=True):
            for number_or_all in (number, ALL):
                yield (number_or_all, "followed" if is_followed else "not followed"), bool(judgment)


def _recorded(run: TaskRun, places: tuple[int, int]) -> Ratio:
    """Return the share of the instructions with a verdict of the checkers that are judged followed, from the results.

    Args:
        run: the run.
        places: the indices of the two counts in ``COUNTS``.
    """
    yes, no = (run.figure(COUNTS[place]) or 0.0 for place in places)
    total, count = (np.concatenate([[number], UNKNOWN.values[1:]]) for number in (yes, yes + no))
    return Ratio(total, count)
