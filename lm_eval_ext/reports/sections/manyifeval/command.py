"""``lm-eval-ext manyifeval table``: the methods of self-refinement compared, in the cells of the report's figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from math import isclose, isnan
from pathlib import Path

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.layout import shown
from lm_eval_ext.reports.sections.manyifeval.curves import ACCURACIES, FAMILY
from lm_eval_ext.reports.sections.manyifeval.refinement import (
    METHOD,
    REQUESTS,
    UNPARSABLE,
    by_round,
    feedback,
    refinement_of,
)
from lm_eval_ext.reports.study import Entry, Study, grouped
from lm_eval_ext.reports.wording import one_line
from lm_eval_ext.results.comparability import UnlikeFact, differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import Role, TaskRun, newest
from lm_eval_ext.self_refine.metrics import COUNTS
from lm_eval_ext.self_refine.strategies import NAME, STRATEGIES, strategy_named
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_NOTE, RowsError

ALIKE = (
    "source",
    "num_fewshot",
    "fewshot_as_multiturn",
    "generation_kwargs",
    "chat_template_sha",
    "system_instruction_sha",
)
"""The facts that must be the same for all methods."""
ALIKE_BY_TASK = ("rows_hash", "number of rows", "version")
"""The facts that must be the same for all methods within a task, but may differ between tasks."""
VERSION = "self_refine_version"
"""The version of the prompts for judging and refining."""
ALIKE_IF_REFINED = ("rounds", "early_stop", VERSION)
"""The facts that must be the same for all methods that refine; the judgments that are counted depend on the second."""
NO_FIGURE = "-"
"""Table 2's entry if nothing is judged."""
PROMPT, INST = ACCURACIES
COLUMNS = {
    PROMPT: ("Prompt-level accuracy", 3),
    INST: ("Inst-level accuracy", 3),
    "precision": ("Precision", 2),
    "recall": ("Recall", 2),
    "F1": ("F1 score", 2),
    # Two decimals would show 0.00 for a share below 1 in 200.
    "unparsable": ("Unparsable", 3),
    REQUESTS: ("Requests per row", 2),
}
"""The headings of the columns of Table 2, and the number of decimals."""
AFTER_ROUND = "After round"
"""The first column heading of the table of accuracies by round; the round numbers, from 0, follow."""
LEGEND = (
    "Feedback: the positive class is *followed*, so recall is the share of the followed instructions that are judged "
    "followed.",
    "Precision weights followed and broken instructions equally, as in the paper, regardless of how many there are. "
    'It is 1.00 if nothing was judged followed, as for "all false" in the paper.',
    "Unparsable: the share of the judgments that could not be parsed; they count as *not followed*. If none could be "
    "parsed, there is no precision, recall or F1 score.",
)


def add_table_to(table: argparse.ArgumentParser) -> None:
    """Add the options of ``table``."""
    table.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        type=Path,
        help="a results_*.json file, or a folder that is searched recursively for such files",
    )
    table.set_defaults(run=_table)


def _table(options: argparse.Namespace) -> int:
    study, issues = read_methods(options.results)
    for issue in issues:
        print(one_line(str(issue)), file=sys.stderr)
    print("\n".join(map(one_line, markdown(study))), flush=True)
    return 0


def read_methods(paths: Sequence[Path]) -> tuple[Study, tuple[Issue, ...]]:
    """Return the runs of every method of every model, and issues found in the files.

    A run's tasks may be spread over several files. If a method ran a task several times, the newest run is used. A run
    without ``self_refine`` counts as the zero-shot method of its model.

    Args:
        paths: result files, or folders whose ``results_*.json`` files are all read.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a result file, or lacks a figure or has an invalid one; no file is from our tasks; or
            the methods of a model were not run in the same setting.
    """
    found = find_runs(paths, [FAMILY])
    if unevaluated := found.with_role(Role.UNEVALUATED):
        raise RowsError(f"{_where(unevaluated[0])}: no row was evaluated; expected at least one. Run it again")
    every = {id(run): _entry(run) for run in found.counting}
    chosen, replaced = newest(
        found.counting, lambda run: (every[id(run)]["base"], every[id(run)]["strategy"], run.task)
    )
    entries = [every[id(run)] for run in chosen.values()]
    entries.sort(key=lambda entry: (entry["base"], entry["place"], entry["task"]))
    for of_model in grouped(entries, ["base"]).values():
        _require_the_same_setting(of_model)
    for entry in entries:
        _require_figures(entry)
    study = Study(Evidence(found), tuple(entries), (), {"level": tuple(ACCURACIES)})
    return study, (*found.issues, *replaced)


def _entry(run: TaskRun) -> Entry:
    """Return a run with its method.

    Raises:
        RowsError: the file does not state it, or names an unknown method.
    """
    config, facts = run.file.config, refinement_of(run)
    if not isinstance(config.get("model"), str) or not isinstance(config.get("model_args"), dict | str | None):
        raise RowsError(
            f"{_where(run)}: no config.model and config.model_args; expected both, as `lm_eval` writes them"
        )
    if run.model.kind == NAME and "base" not in dict(run.model.arguments):
        raise RowsError(f"{_where(run)}: no 'base' in config.model_args; expected one, because {NAME} requires it")
    try:
        strategy = strategy_named(facts["strategy"])
    except ValueError as error:
        raise RowsError(f"{_where(run)}, config.model_args: {error}") from None
    of_method = {
        "base": facts["alone"].full_name,
        "place": [*STRATEGIES].index(strategy),
        "refines": STRATEGIES[strategy].refines,
    }
    of_files = {"task": run.task, "source": str(run.metadata["source"]), VERSION: config.get(VERSION)}
    return Entry(run, {**facts, **of_method, **of_files}, asked=run.task)


def _where(run: TaskRun) -> str:
    return f"{run.file.path}, task {run.task!r}"


def _require_the_same_setting(entries: Sequence[Entry]) -> None:
    """Check that the methods of a model were run on the same tasks, and in the same setting.

    Raises:
        RowsError: they were not, or a file does not state the setting.
    """
    first, of_task = entries[0], dict[str, Entry]()
    methods = [*grouped(entries, ["place"]).values()]
    for method in methods:
        if {one["task"] for one in method} != {one["task"] for one in methods[0]}:
            both = []
            for of in (methods[0], method):
                files = ", ".join(dict.fromkeys(str(one.run.file.path) for one in of))
                both.append(f"{', '.join(one['task'] for one in of)} for {of[0]['strategy']!r} ({files})")
            raise _unlike(first["base"], "tasks", *both)
    refining = next((one for one in entries if one["refines"]), first)
    for one in entries:
        if one.run.shots is None:
            raise RowsError(f"{_where(one.run)}: no 'num_fewshot' in configs and no n-shot; expected one of them")
        same_task = of_task.setdefault(one["task"], one)
        of_refinement = [UnlikeFact(fact, refining[fact], one[fact]) for fact in ALIKE_IF_REFINED if one["refines"]]
        for other, unlike in chain(
            ((first, found) for found in differences(first.run, one.run, ALIKE)),
            ((refining, found) for found in of_refinement if found.first != found.second),
            ((same_task, found) for found in differences(same_task.run, one.run, ALIKE_BY_TASK)),
        ):
            both = [
                f"{value!r} for {of['strategy']!r}, task {of['task']} ({of.run.file.path})"
                for value, of in ((unlike.first, other), (unlike.second, one))
            ]
            raise _unlike(first["base"], unlike.fact, *both)


def _unlike(model: str, name: str, one: str, other: str) -> RowsError:
    return RowsError(
        f"{model}: its methods were not run in the same setting, so a table would be meaningless: {name}: {one} and "
        f"{other}. Run them again in one setting, or give only the files of one setting"
    )


def _require_figures(entry: Entry) -> None:
    """Check the figures of a run.

    Raises:
        RowsError: one is missing or invalid, or the last round's accuracies differ from the task's.
    """
    run = entry.run
    accuracies = {metric: _figure(run, metric) for metric in ACCURACIES.values()}
    if run.model.kind != NAME:
        if REQUESTS in run.metrics:
            raise _wrong(run, "config.model", run.model.kind, f"{NAME!r}, because the answers are refined")
        return
    counts = {name: _figure(run, name) for name in COUNTS}
    for name, count in counts.items():
        if not count.is_integer():
            raise _wrong(run, f"{name},{run.reader}", count, "a whole number")
    if any(counts.values()):
        _figure(run, UNPARSABLE)
    after = [{metric: _figure(run, f"{metric}_round_{n}") for metric in accuracies} for n in range(entry["rounds"] + 1)]
    for metric, last in after[-1].items():
        if not isclose(accuracies[metric], last):
            advice = "both describe the last answers, so the file mixes two runs; give a file as `lm_eval` wrote it"
            expected = f"{last}, as after the last round ({entry['rounds']}): {advice}"
            raise _wrong(run, f"{metric},{run.reader}", accuracies[metric], expected)
    _figure(run, REQUESTS)


def _figure(run: TaskRun, metric: str) -> float:
    field, found = f"{metric},{run.reader}", run.figure(metric)
    if field not in run.figures:
        raise RowsError(f"{_where(run)}: no {field}; expected it, because our tasks write it")
    if found is None or isinstance(run.figures[field], bool):
        raise _wrong(run, field, run.figures[field], run.schema.expected(metric))
    return found


def _wrong(run: TaskRun, field: str, found: object, expected: str) -> RowsError:
    return RowsError(f"{_where(run)}: {field} is {found!r}; expected {expected}")


def markdown(study: Study) -> Iterator[str]:
    """Yield the lines of the tables and their legend.

    Each model, in alphabetical order, has the paper's Table 2, one row per method, and, if one of its methods refines,
    the accuracies by round.
    """
    for (model,), entries in grouped(study.entries, ["base"]).items():
        yield from (f"### `{model}`", "")
        accuracies = by_round(study, entries)
        numbers = accuracies.values("round")
        _, last = [*accuracies.split("round")][-1]
        cells = last.wide("level", "round", heading="{level}").joined(
            study.means(entries, (METHOD,), {REQUESTS: REQUESTS})
        )
        cells = cells.joined(feedback(entries).wide("judgments", heading="{column}"))
        rows = [
            [about["method"], *(_text(line.get(column), decimals) for column, (_, decimals) in COLUMNS.items())]
            for about, line in cells.about()
        ]
        yield from (*_lines(["Method", *(heading for heading, _ in COLUMNS.values())], rows), "")
        refining = {entry["method"]: entry for entry in entries if entry["refines"]}
        if refining:
            by_method = accuracies.wide("level", heading="{level}").split("method")
            rows = [
                [method, *(f"{_text(line[PROMPT], 3)} / {_text(line[INST], 3)}" for line in after.lines.values())]
                for (method,), after in by_method
                if method in refining
            ]
            yield from (*_lines([AFTER_ROUND, *map(str, numbers)], rows), "")
        yield from (f"- {sentence}" for sentence in _footnotes(entries, [*refining.values()]))
        yield ""
    yield from (f"- {sentence}" for sentence in LEGEND)


def _text(value: object, decimals: int) -> str:
    found = shown(value)
    return NO_FIGURE if found is None or isnan(found.value) else f"{found.value:.{decimals}f}"


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(cells)} |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows))


def _footnotes(entries: Sequence[Entry], refining: Sequence[Entry]) -> Iterator[str]:
    source, tasks = entries[0]["source"], {entry["task"]: entry.run.count for entry in entries}
    yield f"Rows: source `{source}`" + (f"; {EMBEDDED_NOTE}." if source == EMBEDDED else ".")
    alike = len(set(tasks.values())) == 1
    named = ", ".join(task if alike else f"{task} ({count} rows)" for task, count in sorted(tasks.items()))
    each = f" ({entries[0].run.count} rows{' each' if len(tasks) > 1 else ''})" if alike else ""
    yield f"Tasks: {named}{each}; all rows have equal weight."
    if refining:
        yield f"Rounds of refinement: at most {refining[0]['rounds']}."
        if not refining[0]["early_stop"]:
            yield "early_stop=false: answers that were judged to follow all instructions are judged in every round."
        yield f"{AFTER_ROUND}: prompt-level / inst-level accuracy of the answers after it; 0: the first answers."
