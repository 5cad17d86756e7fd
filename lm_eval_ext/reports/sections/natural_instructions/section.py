"""The report's section on Natural Instructions: which part of an instruction does a model use?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from typing import Any

import numpy as np

from lm_eval_ext.families.natural_instructions.schema import ABLATIONS, EVALUATION
from lm_eval_ext.reports.cells import Cells, Key, exists
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Figure, HeatMap, Panel, Section
from lm_eval_ext.reports.layout import as_estimate, drawn, floors_in_words, over_floor, panels, table
from lm_eval_ext.reports.sections.examples import (
    UNREADABLE,
    Answer,
    Behavior,
    Candidate,
    Line,
    answers_in,
    examples,
    prompt_and_answer,
    scored,
)
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.sections.natural_instructions.runs import (
    BLEURT,
    FAMILY,
    MOST_NAMED,
    ROUGE_L,
    SAME_ANSWERS,
    Comparable,
    Scopes,
    among,
    comparable,
    in_scopes,
    parts_of,
    relative_gain,
    scopes_of,
    task_specific,
)
from lm_eval_ext.reports.statistics import Ratio, computed
from lm_eval_ext.reports.study import ABOVE_FLOOR, Entry, change, entries_by
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import TaskRun, rows_of

BY_SCOPE = {"model": "", "scope": "mean over"}
GAIN: Mapping[str, Any] = {"axis": "gain in ROUGE-L", "unit": "change"}
MOST_CELLS = 1500
"""The most cells in the subtask heat maps; if there would be more, they show only the evaluation split."""
TAKEN_AWAY = {
    encoding: encoding.removeprefix("all_minus_") for encoding in ABLATIONS if encoding.startswith("all_minus_")
}
"""Encodings that lack a field of ``all``, and the field (Table 4, top)."""
ADDED = {
    encoding: encoding.removeprefix("prompt_").replace("_", " + ")
    for encoding in ("prompt_definition", *ABLATIONS)
    if encoding.startswith("prompt_")
}
"""Encodings that add a field to ``prompt``, and the field (Table 4, bottom)."""
UPPER_BOUND = "task-specific models (upper bound)"


def section(evidence: Evidence) -> Section | None:
    """Return the family's section of the report; ``None`` if none of its tasks was run."""
    runs = comparable(evidence)
    if not runs.models:
        return None
    issues = list(runs.issues)
    if {*runs.encodings} <= {runs.base} or runs.base not in runs.encodings:
        issues.append(note(f"No gains: no model was run with both the base encoding, {runs.base!r}, and another one."))
    bound, not_compared = upper_bound(evidence, runs)
    issues += not_compared
    with_bleurt = [entry.run for entry in runs.entries if BLEURT in entry.run.metrics]
    checkpoints = sorted({str(run.metadata.get(BLEURT)) for run in with_bleurt})
    if len(checkpoints) > 1:
        issues.append(warning(f"No BLEURT: runs were scored with different checkpoints, {named(checkpoints)}."))
    examples_of, not_shown = examples(evidence.runs, _candidates(runs), details_of)
    figures = (*_figures(runs, checkpoints), *bound)
    return Section(FAMILY, *captions()[FAMILY], figures, examples_of, (*issues, *not_shown))


def _figures(runs: Comparable, checkpoints: Sequence[str]) -> Iterator[Figure]:
    """Yield the figures that there are results for; BLEURT of different checkpoints cannot be compared."""
    if runs.scopes:
        yield _rouge_l(runs)
    yield from _gain(runs)
    yield from _by_part(runs, "category")
    yield from _by_part(runs, "source dataset")
    yield from _ablation(runs)
    if len(checkpoints) == 1:
        yield from _bleurt(runs, checkpoints[0])
    yield from _by_subtask(runs)


def _rouge_l(runs: Comparable) -> Figure:
    scopes = {**runs.scopes, **_categories(runs, next(iter(runs.scopes.values())))}
    cells = runs.means(scopes, runs.encodings)
    cells = runs.study.with_floors(cells, in_scopes(runs.entries, scopes), ROUGE_L, ROUGE_L)
    over_scopes = cells.where(lambda about: about["scope"] in runs.scopes)
    bars = panels(over_scopes.only([ROUGE_L]), Bars, "model", "encoding", ("scope",), untold=("scope",), axis="ROUGE-L")
    # A column for each encoding, and for how far each is above the floor if that is known.
    floored = {ROUGE_L: "{encoding}", ABOVE_FLOOR: f"{{encoding}}, {ABOVE_FLOOR}"}
    columns = {column for line in cells.lines.values() for column in line}
    wide = [
        cells.only([name]).wide("encoding", heading=heading) for name, heading in floored.items() if name in columns
    ]
    issues = [
        warning(
            f"{about['model']}: not every subtask was run with {about['encoding']!r}, so there is no mean over "
            f"{about['scope']}."
        )
        for about, line in over_scopes.about()
        if not exists(line[ROUGE_L])
    ]
    bars, numbers = over_floor(bars, over_scopes, ("scope",)), table(reduce(Cells.joined, wide), BY_SCOPE)
    return captioned("natural_instructions_rouge_l", bars, numbers, issues, floors=floors_in_words(cells))


def _gain(runs: Comparable) -> Iterator[Figure]:
    gains = runs.gains(runs.scopes).known("scope")
    if not gains.lines:
        return
    bars = panels(gains.only(["gain"]), Bars, "model", "encoding", ("scope",), untold=("scope",), **GAIN)
    numbers = table(_side_by_side(gains), BY_SCOPE, "change")
    yield captioned("natural_instructions_gain", bars, numbers, base=runs.base)


def _side_by_side(gains: Cells) -> Cells:
    """Return gains with a column for each encoding, and one for each relative gain."""
    relative = gains.only(["relative"]).wide("encoding", heading="{encoding}, relative (%)")
    return gains.only(["gain"]).wide("encoding", heading="{encoding}").joined(relative)


def _by_part(runs: Comparable, part: str) -> Iterator[Figure]:
    """Yield a figure of gains over parts of the subtasks of the first scope, and over all of them.

    There is none if there are no gains, or if all subtasks are made from one dataset, as are a user's own.

    Args:
        runs: the runs.
        part: what a part is; see ``parts_of``.
    """
    first_scope = dict(islice(runs.scopes.items(), 1))
    parts = _in_parts(runs, part, chain.from_iterable(first_scope.values()))
    if part == "source dataset" and len(parts) < 2:
        return
    scopes = {**parts, **first_scope}
    gains = runs.gains(scopes)
    if not gains.where(lambda about: about["scope"] in parts).known().lines:
        return
    gains = replace(gains, lines={key: line for _, part in gains.split("model") for key, line in part.lines.items()})
    named_parts = gains.with_fact("part", lambda about: about["scope"].replace("_", " "))
    counted = _side_by_side(gains).with_fact("subtasks", lambda about: len(scopes[about["scope"]]))
    maps = panels(named_parts.only(["gain"]), HeatMap, "part", "encoding", ("model",), **GAIN)
    numbers = table(counted, {"model": "", "scope": part, "subtasks": ""}, "change")
    yield captioned(f"natural_instructions_gain_by_{part.replace(' ', '_')}", maps, numbers, base=runs.base)


def _in_parts(runs: Comparable, part: str, subtasks: Iterable[str]) -> Scopes:
    part_of = {entry["subtask"]: parts_of(entry.run)[part] for entry in runs.entries}
    parts: dict[str, tuple[str, ...]] = {}
    for name, subtask in sorted((part_of[subtask], subtask) for subtask in subtasks):
        parts[name] = (*parts.get(name, ()), subtask)
    return parts


def _categories(runs: Comparable, subtasks: Iterable[str]) -> Scopes:
    """Return subtasks by category (the columns of Table 3); nothing if all are of the same one."""
    categories = _in_parts(runs, "category", subtasks)
    return categories if len(categories) > 1 else {}


def _bleurt(runs: Comparable, checkpoint: str) -> Iterator[Figure]:
    cells = runs.means(runs.scopes, runs.encodings, BLEURT).known("scope")
    if not cells.lines:
        return
    gains = runs.gains(runs.scopes, metric=BLEURT)
    gains = gains.where(lambda about: about["scope"] in cells.values("scope")).only(["gain"])
    wide = cells.wide("encoding", heading="{encoding}").joined(gains.wide("encoding", heading="{encoding}, gain"))
    bars = panels(cells, Bars, "model", "encoding", ("scope",), untold=("scope",), axis="BLEURT", unit="number")
    numbers = table(wide, BY_SCOPE, "number")
    yield captioned("natural_instructions_bleurt", bars, numbers, checkpoint=checkpoint, base=runs.base)


def _ablation(runs: Comparable) -> Iterator[Figure]:
    """Yield the changes by single fields, if a model was run on encodings that Table 4 alone has."""
    bases = {name: "all" if name in TAKEN_AWAY else "prompt" for name in among(runs.entries, {*TAKEN_AWAY, *ADDED})}
    ablated = [*scopes_of(runs.entries, {*bases, *bases.values()}).items()][-1:]
    if not ablated or not {*bases} - {"prompt_definition"}:
        return
    gains = runs.gains(dict(ablated), bases).only({"gain": "change in ROUGE-L", "relative": "relative (%)"})
    if not gains.known().lines:
        return
    cells = gains.with_fact("compared with", lambda about: bases[about["encoding"]])
    change, removed, added = "change in ROUGE-L", "removed from “all”", "added to “prompt”"
    by_field = gains.only([change]).with_fact("field", lambda about: {**TAKEN_AWAY, **ADDED}[about["encoding"]])
    titled = by_field.with_fact("title", lambda about: removed if about["encoding"] in TAKEN_AWAY else added)
    parts = dict(titled.split("title"))
    drawings = []
    for title in (removed, added):
        if (title,) in parts:
            mark = drawn(parts[title,], HeatMap, "model", "field", axis=change, unit="change")
            drawings.append(Panel(title, mark))
    numbers = table(cells, ("model", "encoding", "compared with"), "change")
    yield captioned("natural_instructions_ablation", drawings, numbers, scope=ablated[0][0])


def _by_subtask(runs: Comparable) -> Iterator[Figure]:
    """Yield the scores of the subtasks one by one."""
    subtasks = sorted({entry["subtask"] for entry in runs.entries if entry["encoding"] in runs.encodings})
    if len(subtasks) * len(runs.encodings) * len(runs.models) > MOST_CELLS:
        subtasks = [subtask for subtask in subtasks if subtask in EVALUATION]
    if not subtasks:
        return
    cells = runs.means({subtask: (subtask,) for subtask in subtasks}, runs.encodings)
    cells = replace(cells, lines={key: line for _, part in cells.split("model") for key, line in part.lines.items()})
    in_words = cells.with_fact("subtask", lambda about: about["scope"].removeprefix("subtask").replace("_", " "))
    maps = panels(in_words, HeatMap, "subtask", "encoding", ("model",), axis="ROUGE-L")
    numbers = table(cells.wide("encoding", heading="{encoding}"), {"model": "", "scope": "subtask"})
    yield captioned("natural_instructions_subtasks", maps, numbers)


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
    bounds, issues = task_specific(evidence.upper_bound.of_family(FAMILY))
    wanted = next(iter(runs.scopes.values()), ())
    by_subtask = entries_by(runs.entries, ["subtask"])
    alike = {
        subtask: bound
        for subtask, bound in bounds.items()
        if not any([*differences(bound, entry.run, SAME_ANSWERS)] for entry in by_subtask.get((subtask,), ()))
    }
    subtasks = tuple(subtask for subtask in wanted if subtask in alike)
    if different := sorted(bounds.keys() - alike.keys()):
        text = f"The upper bound of {named(different, MOST_NAMED)} was run on other rows or settings: left out."
        issues.append(warning(text))
    if absent := [subtask for subtask in wanted if subtask not in bounds]:
        issues.append(warning(f"No upper bound of {named(absent, MOST_NAMED)}: left out of the gaps."))
    if not subtasks:
        return (), [*issues, warning("No gap to the upper bound: no subtask has both.")]
    return (_gap(evidence, runs, {subtask: alike[subtask] for subtask in subtasks}),), issues


def _gap(evidence: Evidence, runs: Comparable, bounds: Mapping[str, TaskRun]) -> Figure:
    bound_name = " and ".join(sorted({str(run.metadata["encoding"]) for run in bounds.values()}))
    number = f"{len(bounds)} subtasks" if len(bounds) > 1 else "one subtask"
    scopes = {number: tuple(bounds), **_categories(runs, bounds)}
    means = runs.means(scopes, runs.encodings)
    lines: dict[Key, dict[str, Any]] = {}
    below = entries_by((entry for entry in runs.entries if entry["subtask"] in bounds), ("model", "encoding"))
    for (scope,), scope_cells in means.split("scope"):
        bound = Ratio.mean(evidence.ratio(bounds[subtask], ROUGE_L) for subtask in scopes[scope]).value
        lines[UPPER_BOUND, bound_name, scope] = {"ROUGE-L": as_estimate(bound), "gap": None, "gap, relative (%)": None}
        for about, line in scope_cells.known("model", "encoding").about():
            mean, model, encoding = line[ROUGE_L], about["model"], about["encoding"]
            runs_below = (entry for entry in below[model, encoding] if entry["subtask"] in scopes[scope])
            pairs = [(entry.run, bounds[entry["subtask"]]) for entry in runs_below]
            gap = change(pairs, ROUGE_L, computed(np.subtract, bound, mean))
            relative = computed(lambda *sides: 0 - relative_gain(*sides), mean, bound)
            lines[model, encoding, scope] = {"ROUGE-L": mean, "gap": gap, "gap, relative (%)": relative}
    best = lines[UPPER_BOUND, bound_name, number]["ROUGE-L"].value
    options = {"axis": "ROUGE-L", "reference": best, "reference_name": "upper bound"}
    overall = means.where(lambda about: about["scope"] == number)
    bars = Panel("", drawn(overall, Bars, "model", "encoding", **options))
    heads = {"model": "", "encoding": "", "scope": "mean over"}
    numbers = table(Cells(("model", "encoding", "scope"), lines), heads, metrics=[ROUGE_L])
    return captioned("natural_instructions_upper_bound", (bars,), numbers, number=number)


# Examples

MOST_LINES = 5
"""How many answers of a task are examined for failures that scores do not reveal."""
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
PERFECT = Behavior(
    "For comparison: an answer with a ROUGE-L of 100 %, which ignores case, punctuation and word endings.",
    scored({ROUGE_L: 1}),
)


def _candidates(runs: Comparable) -> list[Iterable[Candidate]]:
    """Return the candidates for each behavior, the best first."""
    changes = [
        change for entries in entries_by(runs.entries, ["model"]).values() for change in _changes(entries, runs.base)
    ]
    gains = [candidate for change, candidate in sorted(changes, key=lambda pair: -pair[0]) if change > 0]
    losses = [candidate for change, candidate in sorted(changes, key=lambda pair: pair[0]) if change < 0]
    return [gains, losses, *_failures(runs.entries), PERFECT(runs.entries)]


def _changes(entries: Sequence[Entry], base: str) -> Iterator[tuple[float, Candidate]]:
    """Yield, for each run of a model, the instance that gains most over the base, and the one that loses most."""
    base_runs = {entry["subtask"]: entry.run for entry in entries if entry["encoding"] == base}
    for entry in entries:
        run, beside = entry.run, base_runs.get(entry["subtask"])
        if beside is None or beside is run or run.rows is None or beside.rows is None:
            continue
        places = answers_in(beside, run)
        differences = np.where(places < 0, np.nan, run.rows.values[ROUGE_L] - beside.rows.values[ROUGE_L][places])
        if np.isnan(differences).all():
            continue
        for word, row in (("better", int(np.nanargmax(differences))), ("worse", int(np.nanargmin(differences)))):
            why = f"The same instance is answered {word} with “{entry['encoding']}” than with “{base}”."
            yield float(differences[row]), Candidate(why, Answer(run, row), Answer(beside, int(places[row])))


def _failures(entries: Iterable[Entry]) -> list[Iterable[Candidate]]:
    """Return poor answers by what is wrong with them, one for each model."""
    by_failure: dict[str, dict[EvaluatedModel, Candidate]] = {why: {} for why in (*FAILURES, UNSEEN)}
    for run in (entry.run for entry in entries if entry.run.rows is not None):
        for row in np.flatnonzero(rows_of(run).values[ROUGE_L] < POOR)[:MOST_LINES]:
            answer = Answer(run, int(row))
            try:
                _, text = prompt_and_answer(answer.line)
                why = next((why for why, shows in FAILURES.items() if shows(answer.line, text)), None)
            except UNREADABLE:
                why = UNSEEN
            if why:
                by_failure[why].setdefault(run.model, Candidate(why, answer))
    return [candidates.values() for candidates in by_failure.values()]


def details_of(answer: Answer, beside: Answer | None) -> Mapping[str, str]:
    """Return the references and the score of an answer, and the same instance's answer under another encoding."""
    line = answer.line
    details = {
        "expected": " / ".join(str(reference).strip() for reference in line["doc"]["output"]),
        "encoding": str(answer.run.metadata["encoding"]),
        "ROUGE-L": _percent(line),
    }
    if beside is not None:
        encoding = beside.run.metadata["encoding"]
        _, details[f"answer under “{encoding}”"] = prompt_and_answer(beside.line)
        details[f"ROUGE-L under “{encoding}”"] = _percent(beside.line)
    return details


def _percent(line: Line) -> str:
    return f"{100 * line[ROUGE_L]:.1f} %"
