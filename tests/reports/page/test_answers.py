"""The answers behind the headlines: which ones are shown, in which order, what is said of them, and their links."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lm_eval_ext.reports.figure import Answers, Report
from lm_eval_ext.reports.page import answers as module
from lm_eval_ext.reports.page.answers import anchor
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.html import page
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.recognition import Choice
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited, results_in, samples_of, write_models, write_run

SNLI = "verbalizer_snli_unnatural_flipped"
TREE = {"flipped": [SST2, SNLI]}
RIGHT = [1.0] * 30
WRONG, RIGHT_READ = "expected positive, read negative", "expected positive, read positive"


def report(*folders: Path, each: int = 20) -> Report:
    (runs,) = load_apart([folders], choice=Choice())
    return build(runs, answers_each=each)


def behind(found: Report) -> dict[str, Answers]:
    """Return the answers of a report by model and headline."""
    return {f"{one.model}: {one.headline}": one for section in found.sections for one in section.answers}


def scores(one: Answers) -> list[tuple[str, int | None, str]]:
    return [(shown.task, shown.row, shown.why) for shown in one.shown]


def wrong_in(rows: Sequence[int], count: int = 30) -> list[float]:
    return [float(number not in rows) for number in range(count)]


@pytest.mark.usefixtures("sentence_data")
def test_known_answers_show_exactly_what_they_break(result_folder: ResultFolder) -> None:
    folders = [result_folder(policy, ("manyifeval_n03",), limit=8) for policy in ("oracle", "drop_one")]
    found = behind(report(*folders))
    right, broken = (found[f"reference policy={policy}: manyifeval_n03"] for policy in ("oracle", "drop_one"))
    assert right.count == "none of 8 wrong"
    assert broken.count == "8 got worse, 0 got better; 8 of 8 wrong"
    assert sorted(one.row for one in broken.shown if one.row is not None) == [*range(8)]
    lines = map(json.loads, next(folders[1].rglob("samples_*")).read_text(encoding="utf-8").splitlines())
    types = {line["doc_id"]: {name for name, value in line.items() if value == [0, 1]} for line in lines}
    for one in broken.shown:
        said = dict(one.facts)
        missed = {name.partition(". ")[2] for name, verdict in said.items() if verdict == "not followed"}
        # The scores of the row say of which type the one instruction is that is not followed.
        assert {f"strict_acc_{name.replace(':', '_')}" for name in missed} == types[one.row or 0]
        assert len(missed) == 1
        assert [verdict for verdict in said.values() if verdict.startswith("followed")] == ["followed"] * 2
        assert one.former is not None
        assert "not followed" not in dict(one.former.facts).values()


def test_wrong_answers_come_first_and_tasks_take_turns(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: wrong_in(range(10)), SNLI: wrong_in([3, 4])}, group_subtasks=TREE)
    (one,) = behind(report(tmp_path, each=6)).values()
    assert one.count == "12 of 60 wrong"
    assert {why for _, _, why in scores(one)} == {f"{WRONG} (acc 0)"}
    assert [task for task, _, _ in scores(one)].count(SNLI) == 2
    first, second, third, fourth = [task for task, _, _ in scores(one)][:4]
    assert first != second
    assert (first, second) == (third, fourth)
    rows = [row for task, row, _ in scores(one) if task == SST2]
    assert len({*rows}) == 4
    assert {*rows} <= {*range(10)}
    assert rows != [0, 1, 2, 3], "the first rows of a task may be alike"
    # Of what is not wrong, as much as there is room for.
    (more,) = behind(report(tmp_path, each=15)).values()
    assert [why for _, _, why in scores(more)] == [f"{WRONG} (acc 0)"] * 12 + [f"{RIGHT_READ} (acc 1)"] * 3


def test_of_what_got_worse_the_task_that_lost_most_comes_first(tmp_path: Path) -> None:
    # The names are in either order, so that neither of them decides.
    for number, (most, least) in enumerate(((SST2, SNLI), (SNLI, SST2))):
        lost = {most: wrong_in(range(9)), least: wrong_in([3])}
        scores = {"old": {SST2: RIGHT, SNLI: RIGHT}, "new": lost}
        new = behind(report(*write_models(tmp_path / str(number), scores, group_subtasks=TREE)))["new: flipped"]
        assert new.shown[0].task == most
        assert f"({most} 9 of 30, {least} 1 of 30)" in new.reading


def test_a_task_leads_to_its_first_answer_behind_the_headline_of_its_group(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: wrong_in(range(9)), SNLI: wrong_in([3])}, group_subtasks=TREE)
    report_of_group = report(tmp_path, each=6)
    (answers,) = behind(report_of_group).values()
    text = page(report_of_group)
    for task in (SST2, SNLI):
        link = report_of_group.anchor("one", [task])
        article = text.partition(f'<article id="{link}">')[2].partition("</article>")[0]
        assert f'<p class="of">{task} · row' in article
    assert text.count("<article id=") == 2
    assert report_of_group.anchor("one", [SST2, SNLI]) == answers.anchor


def test_of_two_models_what_got_worse_comes_first_with_both_answers(tmp_path: Path) -> None:
    sides = write_models(tmp_path, {"old": {SST2: wrong_in([1, 2, 7])}, "new": {SST2: wrong_in([2, 5, 9])}})
    old, new = behind(report(*sides, each=5)).values()
    assert (old.count, new.count) == ("3 of 30 wrong", "2 got worse, 2 got better; 3 of 30 wrong")
    assert [one.former for one in old.shown] == [None] * 5
    worse, better = f"got worse: {WRONG} (acc 1 → 0)", f"got better: {RIGHT_READ} (acc 0 → 1)"
    assert sorted(scores(new)[:2]) == [(SST2, row, worse) for row in (5, 9)]
    assert sorted(scores(new)[2:4]) == [(SST2, row, better) for row in (1, 7)]
    assert scores(new)[4:] == [(SST2, 2, f"{WRONG} (acc 0)")]
    read = [(one.answer, one.former.answer) for one in new.shown if one.former and one.former.model == "old"]
    assert read == [*[("negative", "positive")] * 2, *[("positive", "negative")] * 2, ("negative", "negative")]


def test_answers_to_other_rows_are_not_compared(tmp_path: Path) -> None:
    sides = write_models(tmp_path, {"old": {SST2: RIGHT}, "new": {SST2: wrong_in([4])}})
    with edited(sides[1]) as content:
        content["configs"][SST2]["metadata"] |= {"rows_hash": "others"}
    _, new = behind(report(*sides)).values()
    assert new.count == "1 of 30 wrong"
    assert [one.former for one in new.shown] == [None] * 20


@pytest.mark.harness
def test_other_tasks_show_target_and_options_by_group(other_runs: list[Path]) -> None:
    found = behind(report(*other_runs))
    worse = found["wrong-6: colors"]
    assert worse.count == "10 got worse, 0 got better; 11 of 16 wrong"
    assert {one.task for one in worse.shown} == {"colors_few", "colors_many"}
    said = dict(worse.shown[0].facts)
    assert said["expected"] in {" red", " green", " blue"}
    assert said["acc"] == "0"
    assert len(said["log-likelihoods, and per character"].splitlines()) == 3
    assert worse.shown[0].answer != said["expected"]
    assert worse.shown[0].former is not None
    assert worse.shown[0].former.answer == said["expected"]
    # What has no score for each answer, or no requests with text, says so.
    assert all(one.shown or one.issues or one.count.startswith("no answer") for one in found.values())


@pytest.mark.parametrize("limit", ["MOST_ANSWERS", "MOST_OF_MODEL"])
def test_a_page_has_a_limit_that_it_tells(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, {f"own_{number}": [0.0] * 9 for number in range(4)})
    monkeypatch.setattr(module, limit, 10)
    found = report(tmp_path, each=5)
    assert [len(one.shown) for one in behind(found).values()] == [2] * 4
    assert [issue.text for issue in found.issues if "behind each headline" in issue.text] == [
        "behind each headline, 2 answers are shown, not 5: a page has at most 10, and 4 headlines of models "
        "would have 20"
    ]
    assert not [one for one in report(tmp_path, each=2).issues if "behind each headline" in one.text]
    assert behind(report(tmp_path, each=0)) == {}


def test_links_lead_to_the_answers_and_back_and_no_answer_becomes_markup(tmp_path: Path) -> None:
    path = samples_of(write_run(tmp_path, {SST2: wrong_in([3])}))
    path.write_text(path.read_text().replace("review 3", "<script>alert(3)</script> \\u202e"))
    runs = load([tmp_path])
    text = page(build(runs, answers_each=3))
    ids = re.findall(r' id="([^"]+)"', text)
    assert len({*ids}) == len(ids)
    assert anchor("one", SST2) in ids
    assert set(re.findall(r'href="#([^"]+)"', text)) <= {*ids}
    # The figure in the leaderboard leads to them.
    assert f'<a href="#{anchor("one", SST2)}">96.7</a>' in text
    assert {"answers-verbalizer", "section-verbalizer"} <= {*re.findall(r'href="#([^"]+)"', text)}
    # So do the contents, which show where they led.
    assert '<li><a href="#answers-verbalizer">' in text[text.index("<nav") : text.index("</nav>")]
    assert '#answers-verbalizer:target) .contents a[href="#answers-verbalizer"]' in text
    assert f"{SST2} · row 3" in text
    assert "&lt;script&gt;alert(3)&lt;/script&gt; &lt;U+202E&gt;" in text
    assert "<script>alert" not in text
    assert text.count("<script") == 1
    assert "answers-verbalizer" not in page(build(runs))


def test_another_prompt_of_the_former_model_is_told(tmp_path: Path) -> None:
    sides = write_models(tmp_path, {"old": {SST2: RIGHT}, "new": {SST2: wrong_in([3])}})
    for asked, told in (("Review", 0), ("Film", 3)):
        path = samples_of(results_in(sides[1]))
        path.write_text(path.read_text().replace("Review: ", f"{asked}: "))
        assert page(report(*sides, each=3)).count("To another prompt") == told


def test_of_many_models_a_prompt_is_shown_once_and_referred_to(tmp_path: Path) -> None:
    folders = write_models(tmp_path, {name: {SST2: wrong_in([3])} for name in "abc"})
    text = page(report(*folders, each=2))
    assert text.count("Review: review 3") == 1
    link = f'<h5>Prompt</h5>\n<p class="left-out">As <a href="#{anchor("a", SST2)}">shown for a</a></p>'
    assert text.count(link) == 4
    # Of two models, the answers to a row are side by side, below its prompt.
    assert page(report(*folders[:2], each=2)).count("Review: review 3") == 2


def test_a_figure_leads_to_the_answers_to_its_tasks(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: RIGHT, SNLI: RIGHT, "verbalizer_own": RIGHT}, group_subtasks=TREE)
    found = report(tmp_path)
    assert found.anchor("one", [SNLI, SST2]) == anchor("one", "flipped")
    assert found.anchor("one", [SST2, SNLI, "verbalizer_own"]) == anchor("one", "flipped")
    # A task of a headline to its own answers there, which take turns.
    assert {found.anchor("one", [task]) for task in (SST2, SNLI)} == {f"{anchor('one', 'flipped')}:{n}" for n in (0, 1)}
    assert found.anchor("one", ["verbalizer_own"]) == anchor("one", "verbalizer_own")
    assert found.anchor("one", ["quiz"]) == found.anchor("two", [SST2, SNLI]) == ""


def test_no_two_headlines_have_one_anchor() -> None:
    names = [("a b", "c"), ("a", "b c"), ("a:b", "c"), ("a~20b", "c"), ("a%20b", "c")]
    anchors = {anchor(*name) for name in names}
    assert len(anchors) == len(names)
    assert all(re.fullmatch(r"[\w:.~-]+", one, re.ASCII) for one in anchors)
