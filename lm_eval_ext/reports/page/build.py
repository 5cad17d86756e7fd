"""Builds a report from runs: the headlines of all models, the sections, and how each model was run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.processes import in_processes
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Answers, Report, Section
from lm_eval_ext.reports.page.answers import answers
from lm_eval_ext.reports.page.candidates import SideBySide, along
from lm_eval_ext.reports.page.leaderboard import SIDE_BY_SIDE, Board, leaderboard, summary
from lm_eval_ext.reports.page.verdict import Verdict
from lm_eval_ext.results.command import SEEDS, command, names_to_run
from lm_eval_ext.results.issue import Issue, grouped, named, note, of_models
from lm_eval_ext.results.models import Size, sizes
from lm_eval_ext.results.runs import CHOSEN_ROWS, Role, Runs, TaskRun
from lm_eval_ext.results.truncation import truncation

IN_TITLE = 3
"""The most models that the title names; of more, it names the first ones and counts the rest."""
MOST_CUT_OFF = 10
"""The most tasks of a model of which it is told how many answers were cut off; the rest are counted."""
ANY_TASK = "lm_eval_ext.reports.sections.any_task"
RELEASE_CHECK = "lm_eval_ext.reports.sections.release_check.section"


def build(  # noqa: PLR0913 # what a reader can ask of a page
    runs: Runs,
    *,
    given_sizes: Mapping[str, Size] | None = None,
    upper_bound: Runs | None = None,
    verdicts: Sequence[Verdict] = (),
    answers_each: int = 0,
    answers_of: Sequence[str] = (),
) -> Report:
    """Return the whole report.

    Args:
        runs: the runs of the models that it is about.
        given_sizes: the sizes that a file states, by the name of a model.
        upper_bound: the runs of task-specific models, which are only what others are compared with.
        verdicts: whether models are worse than the first one, in the order given.
        answers_each: how many answers are shown behind each headline of a model.
        answers_of: the names of the models whose answers are shown. If none is given, those of all; of many models,
            those of the best, or, if there are verdicts, of the baseline and the last of the worst candidates.

    Raises:
        ReportError: no model has such a name.
    """
    baseline = verdicts[0].names[0] if len(verdicts) == 1 else ""
    evidence = Evidence(runs, sizes(runs, given_sizes or {}), upper_bound, baseline)
    origins, issues = provenance(runs), (*runs.issues, *evidence.sizes.issues)
    if upper_bound is not None:
        origins, issues = origins + provenance(upper_bound), issues + upper_bound.issues
    boards = leaderboard(evidence)
    tasks = {headline.name: headline.tasks for board in boards if not board.is_overview for headline in board.headlines}
    checked = SideBySide(tuple(verdicts)).most_harmful.names if verdicts else ()
    chosen, of_these = _with_answers(runs, boards, answers_of, checked)
    behind, fewer = answers(runs, tasks, answers_each, chosen)
    fewer = (*fewer, *of_these) if answers_each else fewer
    sections, issues = _sections(evidence, behind), issues + fewer
    if not boards:
        # Only tasks without a headline here, such as those with other placements. The first figure says what matters.
        section, *further_sections = sections
        headlines, *further_figures = section.figures
        sections = (replace(section, figures=tuple(further_figures)), *further_sections)
    else:
        headlines = summary(evidence, boards)
    if len(verdicts) > 1:
        sections = (along(SideBySide(tuple(verdicts))), *sections)
    issues = of_models(issues, runs.labels.values())
    title = _listed([*runs.labels.values()], "models")
    if verdicts:
        title = f"{_listed([verdict.names[1] for verdict in verdicts], 'candidates')} against {verdicts[0].names[0]}"
    return Report(title, headlines, sections, origins, issues, _subtitle(runs), verdicts, boards)


def _with_answers(
    runs: Runs, boards: Sequence[Board], answers_of: Sequence[str], checked: Sequence[str]
) -> tuple[Sequence[str], tuple[Issue, ...]]:
    """Return the names of the models whose answers are shown, and a note if it was not the reader who chose them.

    Args:
        runs: the runs.
        boards: the leaderboard.
        answers_of: the models that the reader chose.
        checked: the baseline and the candidate to show if there are many; empty if there is no baseline.
    """
    every = [*runs.labels.values()]
    for name in answers_of:
        if name not in every:
            expected = f"expected one of {named(every, len(every))}"
            raise ReportError(f"--answers-of {name}: no model of the page has this name; {expected}")
    if answers_of or len(every) <= SIDE_BY_SIDE or not boards:
        return answers_of or every, ()
    chosen = [*checked] or [boards[0].models[0]]
    description = "the baseline and the last of the worst candidates" if checked else "the best model"
    text = f"answers are those of {description} ({named(chosen)}); --answers-of NAME shows those of others"
    return chosen, (note(text),)


def _listed(names: Sequence[str], noun: str) -> str:
    """Return names as the title has them; of many, the first ones and how many more there are."""
    if len(names) > IN_TITLE:
        return f"{', '.join(names[: IN_TITLE - 1])} and {len(names) - IN_TITLE + 1} more {noun}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _subtitle(runs: Runs) -> str:
    """Return when the models were evaluated, on how many tasks and rows."""
    days = sorted({datetime.fromtimestamp(run.file.date, timezone.utc).date().isoformat() for run in runs.current})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    tasks = {run.name for run in runs.current}
    rows = sum(len(runs.dataset_rows.get(dataset, ())) for dataset in {run.dataset for run in runs.current})
    answers = sum(run.count for run in runs.current)
    on = [
        f"{len(tasks):,} task{'s' * (len(tasks) > 1)}",
        f"{rows:,} dataset rows" if rows else "",
        f"{answers:,} answers",
    ]
    return f"Evaluated {when}: {', '.join(filter(None, on))}"


def _sections(evidence: Evidence, behind: Mapping[str, Sequence[Answers]]) -> tuple[Section, ...]:
    """Return the sections on what was run: the set to run before a release, each family in order, all other tasks."""
    modules = (RELEASE_CHECK, *(family.section for family in FAMILIES.values()), ANY_TASK)
    jobs = [partial(import_module(module).section, evidence) for module in modules]
    sections = in_processes(jobs, large=evidence.is_large)
    return tuple(
        # Without samples, nothing is known of what is in them alone.
        replace(
            section,
            figures=[figure for figure in section.figures if figure.panels or figure.table.rows],
            answers=behind.get(module, ()),
        )
        for module, section in zip(modules, sections, strict=True)
        if section is not None
    )


Facts = tuple[tuple[str, str], ...]


def provenance(runs: Runs) -> tuple[tuple[str, Facts], ...]:
    """Return names and values for each model: those that all its runs share, then those of single runs.

    Each file is a run, and so is each setting if a file's tasks have several.
    """
    by_model = []
    in_figures = [run for role in (Role.COUNTS, Role.PLACED, Role.SWEPT) for run in runs.with_role(role)]
    for model in runs.models:
        of_model = (run for run in in_figures if run.model == model)
        if of_file := grouped(((str(run.file.path), run.setting), run) for run in of_model):
            of_runs = [_facts(runs, of_setting) for of_setting in of_file.values()]
            shared = [fact for fact in of_runs[0] if all(fact in facts for facts in of_runs[1:])]
            own = [
                (f"run {number} of {len(of_runs)}: {name}", value)
                for number, facts in enumerate(of_runs, start=1)
                for name, value in facts
                if (name, value) not in shared
            ]
            by_model.append((runs.labels[model], (*shared, *own)))
    return tuple(by_model)


def _facts(runs: Runs, of_file: Sequence[TaskRun]) -> Facts:
    file = of_file[0].file
    content = file.content
    facts = {
        "command (reconstructed from the results)": shlex.join(
            command(of_file[0], names_to_run(runs, [run.task for run in of_file]))
        ),
        "evaluated": datetime.fromtimestamp(file.date, timezone.utc).isoformat(timespec="seconds"),
        "lm-eval": content.get("lm_eval_version"),
        "transformers": content.get("transformers_version"),
        "git commit of the working directory": content.get("git_hash"),
        "model revision": file.config.get("model_revision"),
        "model commit": file.config.get("model_sha"),
        "model data type": file.config.get("model_dtype"),
        "chat template (sha256)": content.get("chat_template_sha"),
        "system instruction (sha256)": content.get("system_instruction_sha"),
        "setting": ", ".join(f"{name}: {value}" for name, value in of_file[0].setting),
        "seeds": ", ".join(f"{name} {file.config[name]}" for name in SEEDS if name in file.config),
        "only some of the rows": ", ".join(sorted({run.left_out_by for run in of_file} - {""})).replace(
            CHOSEN_ROWS, f"{CHOSEN_ROWS} (of which, the results do not record, so the command lacks the option)"
        ),
        "answers cut off at the limit of new tokens": _cut_off(of_file),
        "task versions": _counted(str(run.metadata.get("version")) for run in of_file),
        "source of rows": _counted(str(run.metadata.get("source")) for run in of_file),
        "rows (hashes)": ", ".join(dict.fromkeys(str(run.identity[1]) for run in of_file)),
        "results": file.name,
    }
    return tuple((name, str(value)) for name, value in facts.items() if value not in (None, "", "None"))


def _counted(values: Iterable[str]) -> str:
    counts = sorted(Counter(values).items())
    return ", ".join(f"{value} ({count} tasks)" if count > 1 else value for value, count in counts)


def _cut_off(of_file: Sequence[TaskRun]) -> str:
    """Return the tasks that most answers were cut off to, with their shares and their scores without them."""
    truncations = [of_task for run in of_file if run.is_ours and (of_task := truncation(run)) is not None]
    known = f"none of {len(truncations)} tasks" if truncations else ""
    most_first = sorted((of_task for of_task in truncations if of_task.share), key=lambda of_task: -of_task.share)
    words = [of_task.in_words for of_task in most_first[:MOST_CUT_OFF]]
    if further := most_first[MOST_CUT_OFF:]:
        words.append(f"{len(further)} more with up to {100 * further[0].share:.1f} %")
    return "; ".join(words) or known
