"""Figures with their uncertainty: means of runs, functions of sums over rows, and the floors beside them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import Metric
from lm_eval_ext.floors import CONSTANT, CONTENT_FREE_ANSWERS, IN_WORDS
from lm_eval_ext.reports.evidence import ByAnswer, Evidence, Floor, floors_of
from lm_eval_ext.reports.gate.text import FLOORS_READING
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.statistics import RESAMPLES, Population, Replicates, estimate
from lm_eval_ext.reports.wording import figure
from lm_eval_ext.results.aggregation import Aggregate, aggregate
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.verifiers import MissingDataError
from tests.harness.tasks import OF_FAMILY
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited_lines, samples_of, write_run
from tests.test_regrade import FLOORS_OF


def lacking_prior_rate(folder: Path, *, samples: bool) -> Evidence:
    path = write_run(folder, {SST2: [1, 0]}, samples=samples)
    for file in folder.iterdir():
        file.write_text(file.read_text(encoding="utf-8").replace("prior_rate", "of_another_name"), encoding="utf-8")
    return Evidence(load([path]))


@pytest.mark.parametrize("samples", [True, False])
def test_a_metric_missing_from_the_results_has_no_value_and_one_unknown_to_the_family_is_an_error(
    samples: bool, tmp_path: Path
) -> None:
    evidence = lacking_prior_rate(tmp_path, samples=samples)
    (run,) = evidence.runs.counting
    assert np.isnan(evidence.ratio(run, "prior_rate").value.values).all()
    assert evidence.ratio(run, "acc").value.figure == 0.5
    assert not isnan(evidence.mean([run], "acc").figure)
    with pytest.raises(KeyError, match="accuracy"):
        evidence.ratio(run, "accuracy")


@pytest.mark.parametrize("samples", [True, False])
def test_a_report_shows_results_without_a_metric(samples: bool, tmp_path: Path) -> None:
    (section,) = build(lacking_prior_rate(tmp_path, samples=samples).runs).sections
    assert "verbalizer_naturalness" in [figure.name for figure in section.figures]


ROWS = 300
JUDGED = np.random.default_rng(7).integers(0, 2, (ROWS, 2))


def f1() -> Aggregate:
    both, one = int((JUDGED.sum(axis=1) == 2).sum()), int(JUDGED.sum())
    found = aggregate("f1", None, JUDGED.tolist(), 2 * both / one)
    assert found is not None
    return found


def test_resamples_of_rows_spread_as_the_jackknife_does() -> None:
    figures = f1().of_sums(Population({"data": range(ROWS)}).weights("data") @ f1().terms)
    without = f1().without_each()
    assert figures[0] == f1().figure
    # Two estimates of one standard error; that of 1,000 resamples is off by 2.2 %.
    jackknife = np.sqrt((ROWS - 1) / ROWS * np.sum((without - without.mean()) ** 2))
    assert np.std(figures[1:]) == pytest.approx(jackknife, rel=0.1)
    assert len(figures) == 1 + RESAMPLES


def test_the_figure_without_a_row_is_that_of_the_others() -> None:
    others = np.delete(f1().terms, 4, axis=0)
    assert f1().without_each()[4] == pytest.approx(float(f1().of_sums(others.sum(axis=0))))


def test_answers_to_one_row_are_summed() -> None:
    answers = replace(f1(), terms=np.array([[1.0, 1], [0, 1], [1, 1]]))
    assert answers.summed(np.array([0, 1, 0])).terms.tolist() == [[2, 2], [0, 1]]


# Floors: what answers without content score on the same rows, without another run

N01, ENCODING, MCQ = "manyifeval_n01", OF_FAMILY["natural_instructions"], OF_FAMILY["paired_mcq"]
OWN_ANSWERS = (OF_FAMILY["ifbench"], N01, "manyifeval_cousins_n02", "manyifeval_dense_n010", ENCODING)
LABELS = (OF_FAMILY["verbalizer"], "verbalizer_cot_snli_natural_golden", MCQ)
RULES = {"answer_classifier": "rules"}
# Of a few rows, one label for all is not always the best answer; everything else holds of any rows.
FEW = {"limit": 40}


def has_floor(metric: Metric) -> bool:
    return bool(metric.higher_is_better) and metric.range == (0, 1) and metric.per_row == "number"


def by_answer(run: TaskRun) -> ByAnswer:
    found = floors_of(run)
    assert not isinstance(found, Issue), str(found)
    return found


def floored(run: TaskRun) -> dict[str, dict[str, float]]:
    """Return by answer the figures of all metrics that have a floor."""
    return {
        answer: {name: float(values.mean()) for name, values in scores.items() if has_floor(run.schema.metric(name))}
        for answer, scores in by_answer(run).items()
    }


def floor_of(evidence: Evidence, *runs: TaskRun) -> Floor:
    """Return that of the headline of some tasks."""
    floor = evidence.floor(runs, runs[0].headline.name)
    assert floor is not None
    return floor


TEXTS, CHAT = (*CONTENT_FREE_ANSWERS,), {"chat": True}


@pytest.mark.parametrize(
    ("answers", "tasks", "options"),
    [
        pytest.param(TEXTS, OWN_ANSWERS, FEW, id="texts"),
        pytest.param(TEXTS, [N01], {"placement": "before", **FEW}, id="instructions before", marks=pytest.mark.slow),
        pytest.param(TEXTS, ["manyifeval_dense_n020"], {"form": "mixed", **FEW}, id="sections", marks=pytest.mark.slow),
        pytest.param(TEXTS, ["ifbench_two_turns"], CHAT | FEW, id="two turns", marks=pytest.mark.slow),
        pytest.param(TEXTS, ["hierarchy_document", "hierarchy_tool"], CHAT | FEW, id="conversations"),
        pytest.param((*TEXTS, CONSTANT), LABELS, RULES, id="labels and options"),
        pytest.param((CONSTANT,), [OF_FAMILY["verbalizer"]], {"paraphrases": 2}, id="wordings", marks=pytest.mark.slow),
    ],
)
def test_a_floor_is_the_score_of_the_policy_of_its_name(
    answers: Sequence[str], tasks: Sequence[str], options: dict[str, str | int], result_folder: ResultFolder
) -> None:
    model = "two_turns:base=reference,policy={}" if "ifbench_two_turns" in tasks else "{}"
    runs = {
        answer: {run.task: run for run in load([result_folder(model.format(answer), tasks, **options)]).current}
        for answer in answers
    }
    for task in tasks:
        # All from the documents of one run.
        floors = floored(runs[answers[0]][task])
        assert floors.keys() == ({CONSTANT} if CONSTANT in answers else {*answers})
        for answer in answers:
            found = {
                metric: runs[answer][task].figure(metric)
                for metric in next(iter(floors.values()))
                if metric != "bleurt"
            }
            if answer in floors:
                assert floors[answer] == pytest.approx(found, rel=1e-12), (task, answer)
                assert runs[answer][task].headline.name in found or not has_floor(runs[answer][task].headline)
            else:
                # Of labels and options, one for all rows is the best of all answers without content.
                assert all((value or 0) <= floors[CONSTANT][metric] for metric, value in found.items()), (task, answer)


@pytest.mark.parametrize(
    ("task", "rows", "file"),
    [
        ("ifbench", 300, "ifbench_test.jsonl"),
        pytest.param("ifeval_published", 541, "ifeval_input_data.jsonl", marks=pytest.mark.slow),
    ],
)
def test_the_floors_of_a_run_on_the_published_prompts_are_those_of_the_prompts(
    task: str, rows: int, file: str, shared_data: Path, result_folder: ResultFolder
) -> None:
    (run,) = load([result_folder("empty", [task], source=str(shared_data / "ifeval"))]).counting
    floors = {
        answer: tuple(round(rows * of[f"prompt_level_{verdict}_acc"]) for verdict in ("strict", "repaired"))
        for answer, of in floored(run).items()
    }
    assert floors == FLOORS_OF[file]


def test_the_answer_is_the_best_over_all_tasks_and_weighs_them_as_their_group_does(result_folder: ResultFolder) -> None:
    tasks = [N01, "manyifeval_n02"]
    evidence = Evidence(load([result_folder("ok", tasks)]))
    runs = evidence.runs.counting
    means = {answer: np.mean([floored(run)[answer]["prompt_level_strict_acc"] for run in runs]) for answer in TEXTS}
    floor = floor_of(evidence, *runs)
    assert floor.answer == max(means, key=means.__getitem__) == "echo"
    assert floor.value.figure == pytest.approx(means["echo"])
    assert floor.value.values.shape == (1 + RESAMPLES,)
    assert floor.in_words == IN_WORDS["echo"]


@pytest.mark.parametrize(("edited", "said"), [(False, IN_WORDS["echo"]), (True, "any answer")])
def test_no_answer_is_named_as_the_best_if_all_score_the_same(
    edited: bool, said: str, result_folder: ResultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = Evidence(load([result_folder("ok", [N01])]))
    (run,) = evidence.runs.counting
    found = by_answer(run)
    if edited:
        found = {answer: {name: 0 * values for name, values in of.items()} for answer, of in found.items()}
    monkeypatch.setattr("lm_eval_ext.reports.evidence.floors_of", lambda _: found)
    assert floor_of(evidence, run).in_words == said


def test_a_score_above_the_floor_is_0_at_the_floor_and_1_if_all_is_right(result_folder: ResultFolder) -> None:
    sides = load_apart([[result_folder(policy, [N01])] for policy in ("oracle", "echo", "ok")])
    evidence = Evidence(sides[0])
    oracle, echo, ok = (
        estimate(floor_of(evidence, run).above(evidence.mean([run], run.headline.name)))
        for side in sides
        for run in side.counting
    )
    assert [oracle.value, echo.value] == pytest.approx([1, 0])
    assert ok.low < ok.value < min(0, ok.high)
    assert ok.rows == 100
    all_right = Replicates(np.ones(1 + RESAMPLES))
    assert np.isnan(Floor("echo", all_right).above(all_right).values).all()


def test_floors_are_computed_once_for_all_models_with_the_same_rows(
    result_folder: ResultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counting(run: TaskRun) -> object:
        read.append(run.task)
        return floors_of(run)

    monkeypatch.setattr("lm_eval_ext.reports.evidence.floors_of", counting)
    evidence = Evidence(load([result_folder(policy, [N01]) for policy in ("oracle", "echo", "ok")]))
    floors = [floor_of(evidence, run) for run in evidence.runs.counting]
    assert len(floors) == 3
    assert len({id(floor) for floor in floors}) == 1
    assert read == [N01]


@pytest.mark.parametrize(
    ("task", "metric"), [(MCQ, "mismatch"), (MCQ, "entropy_text"), (N01, "curse_residual"), (N01, "empty_rate")]
)
def test_what_an_answer_without_content_is_best_at_has_no_floor(
    task: str, metric: str, result_folder: ResultFolder
) -> None:
    evidence = Evidence(load([result_folder("ok", [task], **(RULES if task == MCQ else {}))]))
    assert evidence.floor(evidence.runs.counting, metric) is None
    assert evidence.no_floor(evidence.runs.counting, metric) == []


def test_a_task_whose_documents_lack_what_is_needed_has_no_floor_and_a_reason_and_one_without_samples_has_none(
    tmp_path: Path,
) -> None:
    path = write_run(tmp_path, {SST2: [1, 0]})
    without = Evidence(load([write_run(tmp_path / "without samples", {SST2: [1, 0]}, samples=False)]))
    assert without.floor(without.runs.counting, "acc") is None
    with edited_lines(samples_of(path)) as lines:
        for line in lines:
            del line["doc"]["golden_label"]
    evidence = Evidence(load([path]))
    assert evidence.floor(evidence.runs.counting, "acc") is None
    (why,) = evidence.no_floor(evidence.runs.counting, "acc")
    assert (why.severity, str(why)) == (
        "note",
        "no floor, because it cannot be computed from the documents: the samples have no 'golden_label'",
    )


def test_missing_data_are_a_reason_of_one_line(result_folder: ResultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingDataError("several\n    lines")

    monkeypatch.setattr(f"{FAMILIES['manyifeval'].floors_module}.floors", missing)
    evidence = Evidence(load([result_folder("ok", [N01])]))
    assert evidence.floor(evidence.runs.counting, "prompt_level_strict_acc") is None
    assert [str(why) for why in evidence.no_floor(evidence.runs.counting, "prompt_level_strict_acc")] == [
        "no floor, because NLTK data are missing; lm-eval-ext doctor says which, and how to get them"
    ]


def test_compare_and_check_say_how_far_both_sides_are_above_the_floor(
    result_folder: ResultFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [str(result_folder("oracle", [N01])), "--against", str(result_folder("ok", [N01]))]
    (ok,) = load([Path(sides[2])]).counting
    right, floor = ok.figure(ok.headline.name) or 0, floored(ok)["echo"][ok.headline.name]
    below = (right - floor) / (1 - floor)
    for command in (["compare"], ["check", "--max-drop", "0.02"]):
        files = {name: tmp_path / f"{command[0]}.{name}" for name in ("json", "csv")}
        written = [text for name, path in files.items() for text in (f"--{name}", str(path))]
        assert main([*command, *sides, *written]) == 0
        said = capsys.readouterr().out
        (shown,) = (line.split("  ") for line in said.splitlines() if IN_WORDS["echo"] in line and N01 in line)
        cells = [cell.strip() for cell in shown if cell.strip()]
        assert cells[:4] == [N01, f"{100 * floor:.1f}", IN_WORDS["echo"], figure(below, "share")]
        assert cells[5] == "100.0"
        assert FLOORS_READING in said
        (found,) = json.loads(files["json"].read_text(encoding="utf-8"))["findings"]
        assert (found["floor"], found["floor_answer"]) == (pytest.approx(floor), "echo")
        assert found["baseline_above_floor"] == pytest.approx(below)
        assert found["baseline_above_floor_low"] < below < found["baseline_above_floor_high"]
        assert found["candidate_above_floor"] == pytest.approx(1)
        (line,) = csv.DictReader(files["csv"].read_text(encoding="utf-8").splitlines())
        assert float(line["candidate_above_floor"]) == found["candidate_above_floor"]


def test_both_sides_are_above_the_floor_of_the_rows_that_are_compared(
    result_folder: ResultFolder, tmp_path: Path
) -> None:
    (some, every), written = (result_folder("refusal", [N01], limit=limit) for limit in (10, None)), tmp_path / "c.json"
    (on_some,), (on_every,) = (load([folder]).counting for folder in (some, every))
    metric = on_some.headline.name
    floor, of_every = (max(of[metric] for of in floored(run).values()) for run in (on_some, on_every))
    right = on_some.figure(metric) or 0
    assert right < floor != of_every
    for candidate, baseline in ((some, every), (every, some)):
        assert main(["compare", str(candidate), "--against", str(baseline), "--json", str(written)]) == 0
        (found,) = json.loads(written.read_text(encoding="utf-8"))["findings"]
        assert [found[key] for key in ("answers", "baseline", "candidate", "floor")] == [10, right, right, floor]
        for side in ("baseline", "candidate"):
            assert found[f"{side}_above_floor"] == pytest.approx((right - floor) / (1 - floor))


def test_a_comparison_of_what_has_no_floor_shows_no_table_of_floors(
    result_folder: ResultFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [result_folder(policy, [MCQ], **RULES) for policy in ("ok", "constant")]
    assert main(["compare", str(sides[0]), "--against", str(sides[1])]) == 0
    assert "floor" not in capsys.readouterr().out
