"""What the lines of samples files contain: responses, scores, scores of draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.rows import (
    generated,
    is_sample,
    response_in,
    responses_in,
)
from lm_eval_ext.results.runs import TaskRun, rows_of
from lm_eval_ext.results.samples import certainties, scores_of_draws
from tests.conftest import save
from tests.other_files import STAMP, MadeUp, write_other_run
from tests.own_tasks import Scripted, write_tasks
from tests.reports.files import edited_lines

SCORES = {"acc": [1.0, 0.0], "prior_rate": [0.0, 1.0]}
BY_DRAW = [{"acc": 1.0, "prior_rate": 0.0}, {"acc": 0.0, "prior_rate": 1.0}]


@pytest.mark.parametrize(
    ("responses", "response"),
    [(["x"], "x"), ([["x"]], "x"), ([""], ""), ([None], None), ([[None]], None), ("x", "x"), (None, None)],
)
def test_the_response_is_what_the_filter_left(responses: Any, response: str | None) -> None:
    sample = {"doc": {}, "resps": [["unfiltered"]], "filtered_resps": responses}
    assert is_sample(sample)
    assert responses_in(sample) == [response]
    assert response_in(sample) == response


def test_every_draw_is_a_response() -> None:
    assert responses_in({"doc": {}, "filtered_resps": [["x", None, "y"]]}) == ["x", None, "y"]


NO_RESPONSE: Sequence[Any] = ([], ["x", "y"], [[]], [[["x"]]], [["x", 3]], [3], {})


@pytest.mark.parametrize(
    ("read", "responses"),
    # Several draws are not one response.
    [(response_in, [["x", "y"]]), *((read, none) for read in (response_in, responses_in) for none in NO_RESPONSE)],
)
def test_two_requests_and_what_is_no_text_are_an_error(read: Callable[[Any], object], responses: Any) -> None:
    with pytest.raises(ValueError, match=r"^field 'filtered_resps': expected one response, found "):
        read({"doc": {}, "filtered_resps": responses})


@pytest.mark.parametrize("line", [{}, {"doc": {}}, {"filtered_resps": ["x"]}, {"doc": "x", "filtered_resps": ["x"]}])
def test_other_lines_are_not_samples(line: dict[str, Any]) -> None:
    assert not is_sample(line)


@pytest.mark.parametrize(
    ("responses", "text"),
    [
        ([["x"]], "x"),
        ([["x", "y"]], "y"),
        ([[[-1.5, False]], [[-0.5, True]], ["x"]], "x"),
        ([[None]], ""),
        ([], ""),
        (None, ""),
    ],
    ids=["one", "two draws", "after log-likelihoods", "withheld", "none", "not recorded"],
)
def test_the_generated_text_is_that_of_the_last_request(responses: Any, text: str) -> None:
    assert generated({"doc": {}, "resps": responses, "filtered_resps": ["[invalid]"]}) == text


LOGGED = {"scores_per_repeat": {**SCORES, "by_instruction": [True, False, True]}}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"acc": 0.5, "draws": SCORES}, BY_DRAW),
        # The harness logs one score for each response; of one response with several values, it is no draw's.
        ({**LOGGED, "resps": [["x", "y"]]}, BY_DRAW),
        ({**LOGGED, "resps": [["x"]]}, []),
        ({**LOGGED, "resps": [[["-1.5", "False"]], [["-0.5", "True"]]]}, []),
        # A single draw is the row itself.
        ({"acc": 1.0}, []),
        ({"acc": 1.0, "draws": {"acc": [1.0]}}, []),
    ],
)
def test_each_draw_has_its_scores(line: dict[str, Any], expected: list[dict[str, float]]) -> None:
    assert scores_of_draws(line) == expected


SURE, UNSURE = '{"reading": "A", "certainty": 1.0}', '{"reading": "none", "certainty": 0}'


@pytest.mark.parametrize(
    ("responses", "draws", "expected"),
    [
        ([SURE], 1, "1.0"),
        ([["-2.5", "False"], ["-0.5", "True"], UNSURE], 1, "0.0"),
        ([["-2.5", "False"], [SURE, UNSURE]], 2, "1.0 0.0"),
        ([[SURE]], 1, "1.0"),
        # What does not say it: a plain answer, an older reading, as many as there are not draws, nothing.
        (["A"], 1, "nan"),
        (['{"reading": "A"}'], 1, "nan"),
        (["[" * 100_000], 1, "nan"),
        ([[SURE, SURE]], 3, "nan nan nan"),
        (None, 1, "nan"),
    ],
)
def test_a_reading_says_how_sure_it_is_in_every_draw(responses: Any, draws: int, expected: str) -> None:
    assert " ".join(map(str, certainties({"filtered_resps": responses}, draws))) == expected


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (3, "expected the scores of each draw"),
        ({"acc": 1.0}, "expected the scores of each draw"),
        ({"acc": [1.0, 0.0], "prior_rate": [1.0]}, "expected as many scores of each metric as there are draws"),
        ({}, "expected as many scores of each metric as there are draws"),
    ],
)
def test_malformed_scores_are_an_error(draws: object, expected: str) -> None:
    with pytest.raises(TypeError, match=expected):
        scores_of_draws({"draws": draws})


TASK = "gsm8k"


def read(folder: Path, draws: list[list[object]], metric: str = "exact_match") -> TaskRun:
    """Write and read a run of rows with these draws of ``exact_match``; the harness's figure is that of the first."""
    first = [float(of_row[0] is True or of_row[0] == 1) for of_row in draws]
    write_other_run(folder, {TASK: MadeUp(first, metric=metric)})
    with edited_lines(folder / f"samples_{TASK}_{STAMP}.jsonl") as lines:
        for line, of_row in zip(lines, draws, strict=True):
            line |= {"resps": [["x"] * len(of_row)], "scores_per_repeat": {"exact_match": of_row}}
    (runs,) = load_apart([[folder]], choice=Choice())
    (run,) = runs.counting
    return run


@pytest.mark.parametrize("metric", ["exact_match", "pass@1(exact_match)"])
def test_every_draw_counts(metric: str, tmp_path: Path) -> None:
    run = read(tmp_path, [[1.0, 0.0], [0.0, 0.0]], metric)
    assert rows_of(run).draws[metric].tolist() == [[1, 0], [0, 0]]
    assert rows_of(run).values[metric].tolist() == [0.5, 0.0]
    assert rows_of(run).aggregates[metric].figure == pytest.approx(0.25)
    assert not run.issues


def test_what_is_no_mean_over_draws_has_none(tmp_path: Path) -> None:
    # Whether any of three draws is right.
    run = read(tmp_path, [[1.0, 0.0], [0.0, 0.0]], "pass@3(exact_match)")
    assert not rows_of(run).draws


@pytest.mark.parametrize("draws", [[[1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, "yes"], [0.0, 0.0]]])
def test_draws_that_are_not_the_same_number_of_numbers_do_not_count(tmp_path: Path, draws: list[list[object]]) -> None:
    run = read(tmp_path, draws)
    assert not rows_of(run).draws
    assert rows_of(run).values["exact_match"].tolist() == [1.0, 0.0]


class Wavering(Scripted):
    """Answers every row rightly in the first of its draws, and wrongly in all others."""

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        texts, seen = super().generate_until(requests), set()
        found = []
        for request, text in zip(requests, texts, strict=True):
            found.append("no number" if id(request) in seen else text)
            seen.add(id(request))
        return found


@pytest.mark.harness
@pytest.mark.skipif(not HAS_SCORERS, reason="the harness has no --repeats")
def test_real_repeats_are_read(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path / "tasks")
    config = yaml.safe_load((tasks / "sums.yaml").read_text())
    # Its filters keep the first draw.
    del config["filter_list"]
    (tasks / "sums.yaml").write_text(yaml.safe_dump({**config, "doc_to_target": "{{answer}}"}))
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    results = simple_evaluate(
        Wavering(0),
        model_args="pretrained=owner/wavering",
        tasks=["sums"],
        task_manager=TaskManager(include_path=[str(tasks)], include_defaults=False),
        repeats=4,
        bootstrap_iters=10,
        evaluation_tracker=tracker,
        log_samples=True,
    )
    assert results is not None
    save(results, tracker)
    (runs,) = load_apart([[tmp_path / "out"]], choice=Choice())
    (run,) = runs.counting
    assert rows_of(run).drawn == 4
    # The harness's own name for the mean over draws.
    assert set(rows_of(run).values["pass@1(exact_match)"]) == {0.25}
    assert set(map(tuple, rows_of(run).draws["pass@1(exact_match)"])) == {(1, 0, 0, 0)}
