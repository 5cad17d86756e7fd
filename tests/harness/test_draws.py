"""Rows that are answered several times: every draw is scored, in every family and version of the harness."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.harness.responses import (
    Drawn,
    OverDraws,
    are_alike,
    by_draw,
    combined,
    number_of_draws,
    of_single_draws,
    together,
)
from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.regrade import accuracies, regrade
from lm_eval_ext.results.load import load
from tests.across_versions import plain_instance
from tests.harness import tasks as harness_tasks
from tests.harness.tasks import OF_FAMILY, PLAYED, make

pytestmark = pytest.mark.harness
ROWS = 10
FLIPPED = OF_FAMILY["verbalizer"]


def evaluate(
    folder: Path, arguments: str, tasks: list[str], draws: int | None, *, model: str = "reference", **options: Any
) -> dict[str, Any]:
    """Evaluate some rows of tasks with several draws; return the results, and write them to a folder."""
    metadata = {"details": True, **({"repeats": draws} if draws else {})}
    sampled = {"gen_kwargs": "do_sample=true,temperature=1.0", "limit": ROWS, "bootstrap_iters": 10}
    return harness_tasks.evaluate(model, tasks, metadata, folder, model_args=arguments, **sampled, **options)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Return the results of random answers, three to each row, and their folder."""
    folder = tmp_path_factory.mktemp("drawn")
    return evaluate(folder, "policy=random", [FLIPPED], 3), folder


def test_a_row_has_the_mean_of_its_draws(drawn: tuple[dict[str, Any], Path]) -> None:
    lines = drawn[0]["samples"][FLIPPED]
    assert len(lines) == ROWS
    for line in lines:
        (answers,) = line["resps"]
        assert len(answers) == 3
        right = [float(answer == line["target"]) for answer in answers]
        assert line["draws"]["acc"] == right
        assert line["acc"] == pytest.approx(sum(right) / 3)
    # Not one draw three times.
    assert any(0 < line["acc"] < 1 for line in lines)


def test_the_figure_is_the_mean_over_rows_and_its_error_that_of_rows(drawn: tuple[dict[str, Any], Path]) -> None:
    scores = np.array([line["acc"] for line in drawn[0]["samples"][FLIPPED]])
    figures = drawn[0]["results"][FLIPPED]
    assert figures["acc,answer"] == pytest.approx(scores.mean())
    assert figures["acc_stderr,answer"] == pytest.approx(scores.std(ddof=1) / ROWS**0.5)
    assert figures["draws,answer"] == 3
    assert drawn[0]["higher_is_better"][FLIPPED]["draws"] is None


def test_the_reader_has_every_draw(drawn: tuple[dict[str, Any], Path]) -> None:
    runs = load([drawn[1]])
    rows = runs.counting[0].rows
    assert rows is not None
    assert rows.drawn == 3
    assert rows.draws["acc"].tolist() == [line["draws"]["acc"] for line in drawn[0]["samples"][FLIPPED]]
    said = [str(issue) for issue in runs.issues]
    assert any(text.endswith(f"{FLIPPED}: 3 draws per row, over which figures are means") for text in said)
    # Neither samples and results, nor rows and lines, disagree.
    assert not [text for text in said if "in the results" in text or "skipped" in text]


@pytest.mark.skipif(not HAS_SCORERS, reason="the harness has no --repeats")
def test_the_option_repeats_does_the_same(drawn: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    found = evaluate(tmp_path, "policy=random", [FLIPPED], None, repeats=3)
    assert found["samples"][FLIPPED] == drawn[0]["samples"][FLIPPED]


def test_every_family_scores_every_draw(tmp_path: Path, sentence_data: None) -> None:
    others = [task for task in OF_FAMILY.values() if task != PLAYED]

    def run(draws: int) -> Mapping[str, Any]:
        folder, base = tmp_path / str(draws), "base=reference,policy=oracle"
        played = evaluate(folder, base, [PLAYED], draws, model="conversation", apply_chat_template=True)
        asked = evaluate(folder, "policy=oracle", others, draws, apply_chat_template=True)
        return {PLAYED: played, **dict.fromkeys(others, asked)}

    once, twice = run(1), run(2)
    runs = {run.task: run for run in load([tmp_path / "2"]).counting}
    for task in OF_FAMILY.values():
        # The answers of the oracle are the same in each draw, so all figures are.
        single, double = once[task], twice[task]
        drawn = {name: value for name, value in double["results"][task].items() if not name.startswith("draws")}
        assert drawn == pytest.approx(single["results"][task], nan_ok=True)
        assert not any(name.startswith("draws") for name in single["results"][task])
        rows = runs[task].rows
        assert rows is not None
        assert rows.drawn == 2
        for line in double["samples"][task]:
            # Letters are asked for once: their log-likelihoods are the same each time.
            assert [len(answers) for answers in line["resps"]] == [1] * (len(line["resps"]) - 1) + [2]


def test_recorded_draws_are_judged_again_as_they_were(tmp_path: Path, sentence_data: None) -> None:
    task = OF_FAMILY["manyifeval"]
    recorded = evaluate(tmp_path, "policy=drop_one", [task], 2)["results"][task]
    (samples,) = tmp_path.rglob("samples_*")
    judged = list(regrade(samples.read_bytes().splitlines(), str(samples)))
    assert [one.answered.draw for one in judged] == [1, 2] * ROWS
    found = accuracies([one.strict for one in judged], [one.loose for one in judged], "faithful")
    assert {f"{name},none": value for name, value in found.items()}.items() <= recorded.items()


def test_refined_answers_are_drawn_and_refined_several_times(tmp_path: Path, sentence_data: None) -> None:
    refined = "base=reference,policy=drop_one,strategy=feedback,rounds=1"
    task = OF_FAMILY["manyifeval"]
    results = evaluate(tmp_path, refined, [task], 2, model="self_refine")
    figures = results["results"][task]
    assert (figures["prompt_level_strict_acc_round_0,none"], figures["draws,none"]) == (0, 2)
    # An answer, a judgment and a revision for each draw.
    assert figures["base_requests,none"] == pytest.approx(3)
    for line in results["samples"][task]:
        assert len(line["draws"]["rounds"]) == 2


def test_answers_are_scored_even_if_predictions_alone_are_asked_for(tmp_path: Path) -> None:
    found = evaluate(tmp_path, "policy=random", [FLIPPED], 2, predict_only=True)
    assert [len(line["resps"][0]) for line in found["samples"][FLIPPED]] == [2] * ROWS
    assert "draws" not in found["samples"][FLIPPED][0]


@pytest.mark.parametrize("repeats", [0, -1, 1.5, "two", True])
def test_an_invalid_number_of_draws_is_rejected(repeats: object) -> None:
    task = make(FLIPPED, {"repeats": repeats})
    with pytest.raises(ValueError, match=f"task '{FLIPPED}': repeats {repeats!r}; expected a number of draws per row"):
        task.build_all_requests()


def test_greedy_draws_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lm_eval"):
        make(FLIPPED, {"repeats": 2}).build_all_requests(limit=1)
    assert f"task '{FLIPPED}': repeats 2 with greedy decoding, which gives the same text each time" in caplog.text


def test_sampled_draws_that_are_all_the_same_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lm_eval"):
        evaluate(tmp_path / "same", "policy=oracle", [FLIPPED], 2)
    assert f"{FLIPPED}: all 2 draws of every row are the same text, although texts are sampled" in caplog.text
    other = plain_instance("generate_until", {}, ("prompt", {}))
    other.repeats, other.resps = 2, ["x", "y"]
    assert not are_alike([other])
    other.resps = ["x", "x"]
    assert are_alike([other])


def test_responses_that_pad_the_share_of_a_process_are_no_draws() -> None:
    request = plain_instance("generate_until", {}, ("prompt", {}))
    request.repeats, request.resps = 2, ["x", "y", "y"]
    assert [one.resps for one in of_single_draws(request)] == [["x"], ["y"]]


def test_values_that_are_no_numbers_keep_all_draws() -> None:
    scores: list[Mapping[str, Any]] = [{"acc": 1.0, "pair": ("A", "B")}, {"acc": 0.0, "pair": ("A", "C")}]
    row = combined(scores)
    assert row == {"acc": 0.5, "pair": ("A", "B"), "draws": {"acc": [1.0, 0.0], "pair": [("A", "B"), ("A", "C")]}}
    # Other processes get them pickled.
    copy = pickle.loads(pickle.dumps(row["pair"]))  # noqa: S301 # our own
    assert copy.draws == (("A", "B"), ("A", "C"))
    assert number_of_draws([row["draws"]]) == 2


def test_an_aggregation_is_the_mean_over_draws() -> None:
    def last(rows: list[Any]) -> float | str:
        return "N/A" if rows[-1][0] is None else float(rows[-1][0])

    rows = [Drawn([(1,), (2,), (None,)]), Drawn([(3,), (5,), (None,)])]
    # Of the draws: 3, 5, and none.
    assert OverDraws(last)(rows) == 4
    assert OverDraws(last)([Drawn([(None,), (None,)])]) == "N/A"
    # Numbers are means over draws already.
    assert OverDraws(sum)([1.5, 2.0]) == 3.5


def test_the_draws_of_the_last_request_are_scored_one_by_one() -> None:
    # 0.5 has a list for each filtered answer, and puts all into one.
    filtered = together([{"f": ["x"]}, {"f": ["y"]}] if HAS_SCORERS else [{"f": "x"}, {"f": "y"}])
    assert filtered == {"f": ["x", "y"]}
    results = [-1.0, -2.0, "x", "y"] if HAS_SCORERS else [-1.0, -2.0, ["x", "y"]]
    assert by_draw(results, 2) == [[-1.0, -2.0, "x"], [-1.0, -2.0, "y"]]
    assert by_draw([-1.0, "x"], 1) == [[-1.0, "x"]]


@pytest.mark.parametrize("wraps", [False, True])
def test_draws_that_a_cache_would_make_one_are_refused(wraps: bool, tmp_path: Path) -> None:
    model, task = ("conversation", OF_FAMILY["conversation"]) if wraps else ("reference", FLIPPED)
    arguments = "base=reference,policy=oracle" if wraps else "policy=random"
    options: dict[str, Any] = {"limit": 2, "bootstrap_iters": 0, "apply_chat_template": True, "model_args": arguments}
    evaluate = harness_tasks.evaluate
    cached = {**options, "use_cache": str(tmp_path / "cache")}
    message = r"repeats 2 with --use_cache: all draws of a row .*; add do_sample=true to --gen"
    with pytest.raises(ValueError, match=message):
        evaluate(model, [task], {"repeats": 2}, gen_kwargs="temperature=0.7", **cached)
    for given, gen_kwargs in ((cached, "temperature=0.7,do_sample=true"), (options, "temperature=0.7")):
        assert task in evaluate(model, [task], {"repeats": 2}, gen_kwargs=gen_kwargs, **given)["results"]
