"""The report's section on Natural Instructions: which part of an instruction does a model use?"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain

import numpy as np

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Figure, HeatMap, Panel, Section
from lm_eval_ext.reports.layout import drawn, floors_in_words, over_floor, panels, shown, table
from lm_eval_ext.reports.sections.examples import (
    UNREADABLE,
    Answer,
    Candidate,
    Line,
    asked_and_answered,
    examples,
    places_in,
    rows_of,
)
from lm_eval_ext.reports.sections.natural_instructions.runs import (
    ADDED,
    BLEURT,
    FAMILY,
    MOST_NAMED,
    ROUGE_L,
    SAME_ANSWERS,
    TAKEN_AWAY,
    Comparable,
    OfModel,
    Scope,
    comparable,
    relative_gain,
    task_specific,
)
from lm_eval_ext.reports.statistics import Ratio
from lm_eval_ext.reports.study import ABOVE_FLOOR, Cells, Key, change, exists, grouped
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun

BY_SCOPE = {"model": "", "scope": "mean over"}
UPPER_BOUND = "task-specific models (upper bound)"


def section(evidence: Evidence) -> Section | None:
    """Return the family's section of the report; ``None`` if none of its tasks was run."""
    runs = comparable(evidence)
    if not runs.models:
        return None
    issues = list(runs.issues)
    if not runs.others or runs.base not in runs.encodings:
        issues.append(note(f"No gains: no model was run with both the base encoding, {runs.base!r}, and another one."))
    bound, not_compared = upper_bound(evidence, runs)
    issues += not_compared
    if len(runs.checkpoints) > 1:
        issues.append(warning(f"No BLEURT: runs were scored with different checkpoints, {named(runs.checkpoints)}."))
    examples_of, not_shown = examples(evidence.runs, _candidates(runs), said_of)
    return Section(
        FAMILY,
        "Natural Instructions",
        "Which part of an instruction does a model use: the prompt, the definition, the examples?",
        (*_figures(runs), *bound),
        examples_of,
        (*issues, *not_shown),
    )


def _figures(runs: Comparable) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if runs.scopes:
        yield _rouge_l(runs)
    yield from _gain(runs)
    title = "Which categories of tasks benefit from instructions?"
    yield from _by_part(runs, runs.categories(), "category", title, "Figure 4 shows these")
    # Subtasks of a single dataset, or a user's own, are in the other figures.
    if len(runs.source_datasets()) > 1:
        title = "Does the gain depend on the dataset that a subtask was made from?"
        see = "Table 8 lists the subtasks of each dataset"
        yield from _by_part(runs, runs.source_datasets(), "source dataset", title, see)
    yield from _ablation(runs)
    if len(runs.checkpoints) == 1:
        yield from _bleurt(runs)
    if runs.subtasks:
        yield _by_subtask(runs)


def _rouge_l(runs: Comparable) -> Figure:
    cells = runs.with_floors(runs.means(runs.scopes, runs.encodings), runs.scopes)
    bars = panels(cells.only([ROUGE_L]), Bars, "model", "encoding", ("scope",), untold=("scope",), axis="ROUGE-L")
    return Figure(
        "natural_instructions_rouge_l",
        "How good are the answers with each encoding?",
        "ROUGE-L F-measure in percent, best over the references; each subtask has the same weight, and higher is "
        f"better{floors_in_words(cells)}. “instance” contains no instruction at all (Table 3).",
        over_floor(bars, cells, ("scope",)),
        table(_with_floors(cells), BY_SCOPE),
        tuple(
            warning(
                f"{about['model']}: not every subtask was run with {about['encoding']!r}, so there is no mean over "
                f"{about['scope']}."
            )
            for about, line in cells.about()
            if not exists(line[ROUGE_L])
        ),
        (ROUGE_L,),
    )


def _with_floors(cells: Cells) -> Cells:
    """Return means with a column for each encoding, and for how far each is above the floor if that is known."""
    floored = {ROUGE_L: "{encoding}", ABOVE_FLOOR: f"{{encoding}}, {ABOVE_FLOOR}"}
    columns = {column for line in cells.lines.values() for column in line}
    found = [
        cells.only([name]).wide("encoding", heading=heading) for name, heading in floored.items() if name in columns
    ]
    return reduce(Cells.joined, found)


def _gain(runs: Comparable) -> Iterator[Figure]:
    gains = runs.gains(runs.scopes, dict.fromkeys(runs.others, runs.base)).known("scope")
    if not gains.lines:
        return
    options = {"untold": ("scope",), "axis": "gain in ROUGE-L", "unit": "change"}
    yield Figure(
        "natural_instructions_gain",
        f"What does an encoding gain over “{runs.base}”?",
        f"Difference in mean ROUGE-L, in percentage points, between an encoding and “{runs.base}” on the same "
        f"instances; above 0, the added instructions help. The table also has the gain in percent of “{runs.base}” "
        "(Table 3, last column).",
        panels(gains.only(["gain"]), Bars, "model", "encoding", ("scope",), **options),
        table(_side_by_side(gains), BY_SCOPE, "change"),
        metrics=(ROUGE_L,),
    )


def _side_by_side(gains: Cells) -> Cells:
    """Return gains with a column for each encoding, and one for each relative gain."""
    relative = gains.only(["relative"]).wide("encoding", heading="{encoding}, relative (%)")
    return gains.only(["gain"]).wide("encoding", heading="{encoding}").joined(relative)


def _by_part(runs: Comparable, scopes: Sequence[Scope], part: str, title: str, see: str) -> Iterator[Figure]:
    """Yield a figure of gains over parts of the subtasks; none if there are no gains.

    Args:
        runs: the runs.
        scopes: the parts.
        part: what a part is.
        title: the figure's title.
        see: what else to look at.
    """
    subtasks = {scope.name: len(scope.subtasks) for scope in (*scopes, *runs.scopes[:1])}
    gains = runs.gains((*scopes, *runs.scopes[:1]), dict.fromkeys(runs.others, runs.base))
    if not gains.where(lambda about: about["scope"] in {scope.name for scope in scopes}).known().lines:
        return
    gains = Cells(gains.by, {key: line for _, of_model in gains.split("model") for key, line in of_model.lines.items()})
    named_parts = gains.with_fact("part", lambda about: about["scope"].replace("_", " "))
    counted = _side_by_side(gains).with_fact("subtasks", lambda about: subtasks[about["scope"]])
    options = {"axis": "gain in ROUGE-L", "unit": "change"}
    yield Figure(
        f"natural_instructions_gain_by_{part.replace(' ', '_')}",
        title,
        f"Difference in mean ROUGE-L, in percentage points, from “{runs.base}” on the same instances of a "
        f"{part}'s subtasks; above 0, the encoding helps. The table also has relative gains, in percent "
        f"({see}).",
        panels(named_parts.only(["gain"]), HeatMap, "part", "encoding", ("model",), **options),
        table(counted, {"model": "", "scope": part, "subtasks": ""}, "change"),
        metrics=(ROUGE_L,),
    )


def _bleurt(runs: Comparable) -> Iterator[Figure]:
    cells = runs.means(runs.scopes, runs.encodings, BLEURT).known("scope")
    if not cells.lines:
        return
    gains = runs.gains(runs.scopes, dict.fromkeys(runs.others, runs.base), BLEURT)
    gains = gains.where(lambda about: about["scope"] in cells.values("scope")).only(["gain"])
    wide = cells.wide("encoding", heading="{encoding}").joined(gains.wide("encoding", heading="{encoding}, gain"))
    yield Figure(
        "natural_instructions_bleurt",
        "How good are the answers by BLEURT?",
        f"BLEURT, computed by {runs.checkpoints[0]}, best over the references; higher is better, and the range "
        f"depends on the checkpoint. The table also has the gain over “{runs.base}” on the same instances (Table 3).",
        panels(cells, Bars, "model", "encoding", ("scope",), untold=("scope",), axis="BLEURT", unit="number"),
        table(wide, BY_SCOPE, "number"),
        metrics=(BLEURT,),
    )


def _ablation(runs: Comparable) -> Iterator[Figure]:
    if runs.ablated is None:
        return
    gains = runs.gains([runs.ablated], runs.ablations).only({"gain": "change in ROUGE-L"})
    if not gains.known().lines:
        return
    cells = gains.with_fact("compared with", lambda about: runs.ablations[about["encoding"]])
    found = []
    for title, fields in (("removed from “all”", TAKEN_AWAY), ("added to “prompt”", ADDED)):
        part = gains.where(lambda about, fields=fields: about["encoding"] in fields)  # type: ignore[misc]
        if part.lines:
            of_fields = part.with_fact("field", lambda about, fields=fields: fields[about["encoding"]])  # type: ignore[misc]
            mark = drawn(of_fields, HeatMap, "model", "field", axis="change in ROUGE-L", unit="change")
            found.append(Panel(title, mark))
    yield Figure(
        "natural_instructions_ablation",
        "Which fields of an instruction help, and which hurt?",
        f"Change in mean ROUGE-L, in percentage points, over {runs.ablated.name}, when a field is removed from the "
        "full instruction (below 0: it helped), and when it is added to the prompt (above 0: it helps; Table 4).",
        tuple(found),
        table(cells, ("model", "encoding", "compared with"), "change"),
        metrics=(ROUGE_L,),
    )


def _by_subtask(runs: Comparable) -> Figure:
    cells = runs.means(runs.subtasks, runs.encodings)
    cells = Cells(cells.by, {key: line for _, part in cells.split("model") for key, line in part.lines.items()})
    in_words = cells.with_fact("subtask", lambda about: about["scope"].removeprefix("subtask").replace("_", " "))
    return Figure(
        "natural_instructions_subtasks",
        "Scores by subtask",
        "ROUGE-L of every subtask with every encoding, in percent; higher is better.",
        panels(in_words, HeatMap, "subtask", "encoding", ("model",), axis="ROUGE-L"),
        table(cells.wide("encoding", heading="{encoding}"), {"model": "", "scope": "subtask"}),
        metrics=(ROUGE_L,),
    )


def upper_bound(evidence: Evidence, runs: Comparable) -> tuple[tuple[Figure, ...], list[Issue]]:
    """Return the figure of the gap to task-specific models, if the report was given some, and what is not in it.

    Args:
        evidence: the runs, and those of the task-specific models.
        runs: the runs that can be compared.

    Raises:
        RowsError: a subtask has several upper bounds.
    """
    if evidence.upper_bound is None:
        return (), []
    bounds, issues = task_specific(evidence.upper_bound.of(FAMILY))
    wanted = runs.scopes[0].subtasks if runs.scopes else ()
    alike = {subtask: run for subtask, run in bounds.items() if _is_comparable(subtask, run, runs)}
    subtasks = tuple(subtask for subtask in wanted if subtask in alike)
    if different := sorted(bounds.keys() - alike.keys()):
        issues.append(
            warning(f"The upper bound of {named(different, MOST_NAMED)} was run on other rows or settings: left out.")
        )
    if absent := [subtask for subtask in wanted if subtask not in bounds]:
        issues.append(warning(f"No upper bound of {named(absent, MOST_NAMED)}: left out of the gaps."))
    if not subtasks:
        return (), [*issues, warning("No gap to the upper bound: no subtask has both.")]
    return (_gap(evidence, runs, {subtask: alike[subtask] for subtask in subtasks}),), issues


def _is_comparable(subtask: str, bound: TaskRun, runs: Comparable) -> bool:
    of_subtask = [entry.run for entry in runs.entries if entry["subtask"] == subtask]
    return not any(True for run in of_subtask for _ in differences(bound, run, SAME_ANSWERS))


def _gap(evidence: Evidence, runs: Comparable, bounds: Mapping[str, TaskRun]) -> Figure:
    bound = Ratio.mean(evidence.ratio(run, ROUGE_L) for run in bounds.values()).value
    best = shown(bound)
    encoding = " and ".join(sorted({str(run.metadata["encoding"]) for run in bounds.values()}))
    number = f"{len(bounds)} subtasks" if len(bounds) > 1 else "one subtask"
    means = runs.means([Scope(number, tuple(bounds))], runs.encodings)
    options = {"reference": best.value, "reference_name": "upper bound"}
    lines: dict[Key, dict[str, object]] = {
        (UPPER_BOUND, encoding): {"ROUGE-L": best, "gap": None, "gap, relative (%)": None}
    }
    below = grouped((entry for entry in runs.entries if entry["subtask"] in bounds), ("model", "encoding"))
    for about, line in means.known("model", "encoding").about():
        found, key = line[ROUGE_L], (about["model"], about["encoding"])
        pairs = [(entry.run, bounds[entry["subtask"]]) for entry in below[key]]
        gap, relative = change(pairs, ROUGE_L, bound - found), 0 - relative_gain(found, bound)
        lines[key] = {"ROUGE-L": found, "gap": gap, "gap, relative (%)": relative}
    return Figure(
        "natural_instructions_upper_bound",
        "How far is each encoding from a model trained on the subtask?",
        f"Mean ROUGE-L over {number}, in percent; the line is the mean of task-specific models, each trained on "
        "instances of the subtask that it answers (Table 3). The table has the gap to it, in percentage points and "
        "relative to it, on the same instances.",
        (Panel("", drawn(means, Bars, "model", "encoding", axis="ROUGE-L", **options)),),
        table(Cells(("model", "encoding"), lines), ("model", "encoding")),
        metrics=(ROUGE_L,),
    )


# Examples

MOST_ANSWERS, MOST_LINES = 1500, 5
"""How many answers are examined for failures that scores do not reveal, and how many of one task."""
POOR = 0.5
"""Answers with a ROUGE-L below this are examined for what went wrong."""


def _is_echo(line: Line, answer: str) -> bool:
    # A correct answer may be a word or two of its input.
    return len(answer.split()) > 2 and str(line["doc"]["input"]).strip().startswith(answer.strip())


def _is_wordy(line: Line, answer: str) -> bool:
    references = (re.escape(str(reference).strip().rstrip(".")) for reference in line["doc"]["output"])
    return any(re.search(rf"(?<!\w){words}(?!\w)", answer, re.IGNORECASE) for words in references if words)


FAILURES: Mapping[str, Callable[[Line, str], bool]] = {
    "The answer is empty.": lambda _, answer: not answer.strip(),
    "The answer repeats its input.": _is_echo,
    "The answer contains the right words, but so many others that its score is low.": _is_wordy,
    "The answer also gives a reason.": lambda _, answer: "reason:" in answer.casefold(),
}
"""What is wrong with a poor answer; the first that applies counts."""
UNSEEN = "The answer has little in common with the references."
"""For an answer that cannot be read; it is kept so that the report says that it cannot be shown."""
PERFECT = "For comparison: an answer with a ROUGE-L of 100 %, which ignores case, punctuation and word endings."


def _candidates(runs: Comparable) -> list[list[Candidate]]:
    """Return the candidates for each behavior, the best first."""
    found, base = runs.by_model, runs.base
    changes = [change for of_model in found.values() for change in _changes(of_model, base)]
    gains = [one for change, one in sorted(changes, key=lambda pair: -pair[0]) if change > 0]
    losses = [one for change, one in sorted(changes, key=lambda pair: pair[0]) if change < 0]
    sampled = [run for of_model in found.values() for run in of_model.values() if run.rows is not None]
    instructive = [gains, losses, *_failures(sampled)]
    return [*instructive, _perfect(sampled, {one.answer.key for one in chain.from_iterable(instructive)})]


def _changes(of_model: OfModel, base: str) -> Iterator[tuple[float, Candidate]]:
    """Yield, for each encoding, the instance that gains the most over the base, and the one that loses the most."""
    best: dict[tuple[str, str], tuple[float, Answer, Answer]] = {}
    for (subtask, encoding), run in of_model.items():
        beside = of_model.get((subtask, base))
        if beside is None or beside is run or run.rows is None or beside.rows is None:
            continue
        places = places_in(beside, run)
        differences = np.where(places < 0, np.nan, run.rows.values[ROUGE_L] - beside.rows.values[ROUGE_L][places])
        if np.isnan(differences).all():
            continue
        for word, sign in (("better", 1), ("worse", -1)):
            row = int(np.nanargmax(sign * differences))
            change = float(differences[row])
            if (encoding, word) not in best or sign * change > sign * best[encoding, word][0]:
                best[encoding, word] = (change, Answer(run, row), Answer(beside, int(places[row])))
    for (encoding, word), (change, answer, its) in best.items():
        why = f"The same instance is answered {word} with “{encoding}” than with “{base}”."
        yield change, Candidate(why, answer, its)


def _failures(runs: Sequence[TaskRun]) -> list[list[Candidate]]:
    """Return poor answers by what is wrong with them, one for each model."""
    by_behavior: dict[str, dict[EvaluatedModel, Candidate]] = {why: {} for why in (*FAILURES, UNSEEN)}
    poor = [
        Answer(run, int(row))
        for run in runs
        for row in np.flatnonzero(rows_of(run).values[ROUGE_L] < POOR)[:MOST_LINES]
    ]
    # Evenly over models and tasks, and only some, because every line is read from its file.
    for answer in poor[:: len(poor) // MOST_ANSWERS + 1]:
        if why := _failure(answer):
            by_behavior[why].setdefault(answer.run.model, Candidate(why, answer))
    return [list(of_models.values()) for of_models in by_behavior.values()]


def _failure(poor: Answer) -> str | None:
    """Return what is wrong with a poor answer; ``None`` if it is nothing in ``FAILURES``."""
    try:
        _, text = asked_and_answered(poor.line)
        return next((why for why, shows in FAILURES.items() if shows(poor.line, text)), None)
    except UNREADABLE:
        return UNSEEN


def _perfect(runs: Sequence[TaskRun], shown: Collection[Hashable]) -> list[Candidate]:
    """Return one answer that agrees with a reference and shows no other behavior, if there is any."""
    perfect = (Answer(run, int(row)) for run in runs for row in np.flatnonzero(rows_of(run).values[ROUGE_L] == 1))
    return [Candidate(PERFECT, answer) for answer in perfect if answer.key not in shown][:1]


def said_of(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return the references and the score of an answer, and the same instance's answer under another encoding."""
    line = answer.line
    found = {
        "expected": " / ".join(str(reference).strip() for reference in line["doc"]["output"]),
        "encoding": str(answer.run.metadata["encoding"]),
        "ROUGE-L": _percent(line),
    }
    if beside is not None:
        encoding = beside.run.metadata["encoding"]
        _, found[f"answer under “{encoding}”"] = asked_and_answered(beside.line)
        found[f"ROUGE-L under “{encoding}”"] = _percent(beside.line)
    return found


def _percent(line: Line) -> str:
    return f"{100 * line[ROUGE_L]:.1f} %"
