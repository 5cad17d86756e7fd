"""What is said of a run whose answers were cut off."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from lm_eval_ext import cli
from lm_eval_ext.reports.page import build
from lm_eval_ext.results.load import load
from lm_eval_ext.results.truncation import Truncation, truncation
from tests.cut_short import CutShort
from tests.harness.tasks import OF_FAMILY, evaluate

pytestmark = pytest.mark.harness
LABELS, QUESTIONS = OF_FAMILY["verbalizer"], "paired_mcq_arc_challenge_low"


def said(folder: Path) -> list[str]:
    return [str(issue) for issue in load([folder]).issues if "cut off" in str(issue)]


def test_the_share_is_said_with_the_limit_and_the_score_on_completed_answers(tmp_path: Path) -> None:
    evaluate(CutShort(3), [LABELS, QUESTIONS], {}, tmp_path, limit=20, bootstrap_iters=0)
    runs = {run.task: run for run in load([tmp_path]).counting}
    assert truncation(runs[LABELS]) == Truncation(LABELS, "acc", 64, 0.3, 0.0, 1.0)
    # For a mismatch, lower is better: the text of an answer that is cut off names no letter.
    assert truncation(runs[QUESTIONS]) == Truncation(QUESTIONS, "mismatch", 256, 0.3, 1.0, 0.0)
    advice = "their scores are not those of whole answers: raise the limit (--gen_kwargs max_gen_toks=N), unless it"
    for task, metric, limit, (there, completed) in (
        (LABELS, "acc", 64, (0, 1)),
        (QUESTIONS, "mismatch", 256, (1, 0)),
    ):
        scores = f"({metric} {there} there, {completed} on completed answers)"
        what = f"answers were cut off at the limit of {limit} new tokens: 30.0 % of {task} {scores}; {advice}"
        assert any(what in issue for issue in said(tmp_path)), said(tmp_path)


def test_each_draw_counts_by_itself(tmp_path: Path) -> None:
    options = {"gen_kwargs": "do_sample=true,temperature=1.0", "limit": 10, "bootstrap_iters": 0}
    evaluate(CutShort(2, "random"), [LABELS], {"repeats": 3}, tmp_path, **options)
    (run,) = load([tmp_path]).counting
    assert run.rows is not None
    found = truncation(run)
    assert found is not None
    assert (found.share, found.score) == (0.2, 0.0)
    whole = run.rows.draws_of("acc")[run.rows.ids % 10 >= 2]
    assert found.completed == pytest.approx(whole.mean())


@pytest.mark.parametrize(("cut", "warned"), [(0, 0), (1, 1)])
def test_a_reader_is_warned_from_one_answer_in_ten_on(tmp_path: Path, cut: int, warned: int) -> None:
    evaluate(CutShort(cut), [LABELS], {}, tmp_path, limit=10, bootstrap_iters=0)
    assert len(said(tmp_path)) == warned


def test_without_samples_the_results_tell_the_share(tmp_path: Path) -> None:
    evaluate(CutShort(5), [LABELS], {}, tmp_path, limit=10, bootstrap_iters=0)
    for samples in tmp_path.rglob("samples_*"):
        samples.unlink()
    (run,) = load([tmp_path]).counting
    found = truncation(run)
    assert found is not None
    assert (found.share, found.limit, np.isnan(found.completed)) == (0.5, 64, True)
    assert any(f"50.0 % of {LABELS};" in issue for issue in said(tmp_path))


def test_the_page_has_the_shares_of_the_tasks_cut_off_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(CutShort(1), [LABELS, QUESTIONS], {}, tmp_path / "run", limit=20, bootstrap_iters=0)
    monkeypatch.setattr(build, "MOST_CUT_OFF", 1)
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path / "run"), "-o", str(page)]) == 0
    shown = page.read_text(encoding="utf-8")
    assert "answers cut off at the limit of new tokens" in shown
    (told,) = re.findall(r"10\.0 % of (?:\w+) \([^)]*on completed answers\); 1 more with up to 10\.0 %", shown)
    assert told.startswith(f"10.0 % of {QUESTIONS} (mismatch 1 there, 0 ") or told.startswith(
        f"10.0 % of {LABELS} (acc "
    )
