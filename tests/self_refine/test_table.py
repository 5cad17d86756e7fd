"""Table 2 out of runs."""

from __future__ import annotations

import pytest

from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.strategies import STRATEGIES
from lm_eval_ext.self_refine.table import COLUMNS, Run, TaskScore, line, markdown

FIGURE_9 = Confusion(true_positives=76, false_positives=17, false_negatives=24, true_negatives=83)


def run(strategy: str, *scores: TaskScore, model: str = "hf pretrained=tiny", source: str = "hub") -> Run:
    rounds = 5 if STRATEGIES[strategy].refines else None
    return Run(model, strategy, source, rounds, scores or (TaskScore("manyifeval_n01", 100, 0.5, 0.5),))


def cells(lines: list[str]) -> list[list[str]]:
    """Return the tables' rows, without those at their head."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in rows if row != list(COLUMNS) and not row[0].startswith("---")]


@pytest.mark.parametrize(
    ("strategy", "score", "row"),
    [
        ("none", TaskScore("t", 100, 0.484, 0.861), "zero-shot | 0.484 | 0.861 | - | - | - | - | -"),
        # refined without feedback: nothing is judged, but requests are counted
        (
            "without_feedback",
            TaskScore("t", 100, 0.56, 0.887, requests=6.0),
            "refinement w/o feedback | 0.560 | 0.887 | - | - | - | - | 6.00",
        ),
        # 76 / (76 + 17) = 0.817, 76 / 100, 2 · 0.817 · 0.76 / 1.577 = 0.788
        (
            "feedback_each_cot",
            TaskScore("t", 100, 0.621, 0.909, FIGURE_9, 0.004, 31.25),
            "refinement w/ feedback+each+cot | 0.621 | 0.909 | 0.82 | 0.76 | 0.79 | 0.004 | 31.25",
        ),
        (
            "oracle",
            TaskScore("t", 100, 0.7, 0.929, Confusion(900, 0, 0, 100), 0.0, 1.5),
            "refinement w/ oracle | 0.700 | 0.929 | 1.00 | 1.00 | 1.00 | 0.000 | 1.50",
        ),
        # Table 2: 1.0, 0, 0
        (
            "all_false",
            TaskScore("t", 100, 0.613, 0.905, Confusion(0, 0, 900, 100), 0.0, 6.0),
            "refinement w/ all false | 0.613 | 0.905 | 1.00 | 0.00 | 0.00 | 0.000 | 6.00",
        ),
        # judged, but nothing was followed: there is no recall
        (
            "feedback",
            TaskScore("t", 100, 0.0, 0.0, Confusion(0, 1, 0, 3), 0.25, 2.0),
            "refinement w/ feedback | 0.000 | 0.000 | 0.00 | - | - | 0.250 | 2.00",
        ),
    ],
)
def test_a_row_of_table_2(strategy: str, score: TaskScore, row: str) -> None:
    assert cells(markdown([run(strategy, score)])) == [row.split(" | ")]


def test_several_tasks_are_one_by_their_rows_and_their_judgements() -> None:
    found = line(
        run(
            "feedback",
            TaskScore("a", 100, 0.9, 0.8, Confusion(6, 1, 2, 1), 0.5, 3.0),  # 10 judgements
            TaskScore("b", 300, 0.5, 0.6, Confusion(24, 3, 8, 5), 0.25, 7.0),  # 40
        )
    )
    assert found.prompt_level == pytest.approx(0.6)  # (100 · 0.9 + 300 · 0.5) / 400; not the tasks' mean, 0.7
    assert found.inst_level == pytest.approx(0.65)  # (80 + 180) / 400
    assert found.precision == pytest.approx(15 / 23)  # 30 of 40 and 4 of 10 judged followed: 0.75 / (0.75 + 0.4)
    assert found.recall == 0.75
    assert found.f1 == pytest.approx(30 / 43)  # 2 · 15/23 · 3/4 / (15/23 + 3/4) = (90/92) / (129/92)
    assert found.unparsable == pytest.approx(0.3)  # (0.5 · 10 + 0.25 · 40) / 50; by rows it would be 0.3125
    assert found.requests == pytest.approx(6.0)  # (300 + 2100) / 400


def test_a_task_without_judgements_leaves_the_others_share_of_unparsable_ones_alone() -> None:
    judged, not_judged = TaskScore("a", 1, 0.5, 0.5, Confusion(1, 1, 1, 1), 0.5), TaskScore("b", 99, 0.5, 0.5)
    assert line(run("feedback", judged, not_judged)).unparsable == 0.5


def test_requests_that_were_counted_for_some_tasks_only_are_no_figure() -> None:
    counted, uncounted = TaskScore("a", 1, 0.5, 0.5, requests=1.0), TaskScore("b", 1, 0.5, 0.5)
    assert line(run("none", counted, uncounted)).requests is None
    assert line(run("none", counted)).requests == 1.0


def test_methods_stand_in_the_papers_order_under_each_model_and_models_in_that_of_their_names() -> None:
    runs = [
        run(name, model=model)
        for model in ("hf pretrained=b", "hf pretrained=a")
        for name in reversed(list(STRATEGIES))
    ]
    lines = markdown(runs)
    assert [line for line in lines if line.startswith("#")] == ["### `hf pretrained=a`", "### `hf pretrained=b`"]
    assert [row[0] for row in cells(lines)] == 2 * [
        "zero-shot",
        "refinement w/o feedback",
        "refinement w/ feedback",
        "refinement w/ feedback+each",
        "refinement w/ feedback+each+cot",
        "refinement w/ oracle",
        "refinement w/ all false",
    ]


def test_the_whole_is_markdown_with_footnotes() -> None:
    scores = (TaskScore("manyifeval_n02", 50, 0.5, 0.75), TaskScore("manyifeval_n01", 50, 0.5, 0.5))
    assert markdown([run("none", *scores, source="embedded"), run("oracle", *scores, source="embedded")]) == [
        "### `hf pretrained=tiny`",
        "",
        "| Method | Prompt-level accuracy | Inst-level accuracy | Precision | Recall | F1 score | Unparsable "
        "| Requests per row |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| zero-shot | 0.500 | 0.625 | - | - | - | - | - |",  # (50 · 0.75 + 50 · 0.5) / 100
        "| refinement w/ oracle | 0.500 | 0.625 | - | - | - | - | - |",
        "",
        "- Rows: source `embedded`; rows written for demonstrations and tests: scores on them are comparable to "
        "nothing.",
        "- Tasks: manyifeval_n01, manyifeval_n02 (50 rows each); each row counts the same.",
        "- Rounds of refinement: at most 5.",
        "",
        "- Feedback: the positive class is *followed*, so recall is the share of the followed instructions that are "
        "judged followed.",
        "- Precision weighs followed and broken instructions alike, as the paper's does, however many there are of "
        "either.",
        "- Unparsable: the share of the judgements that could not be read; they count as *not followed*.",
    ]


@pytest.mark.parametrize(
    ("strategy", "rows", "footnotes"),
    [
        ("none", (7,), ["- Rows: source `hub`.", "- Tasks: t0 (7 rows); each row counts the same."]),
        (
            "oracle",
            (7, 9),
            [
                "- Rows: source `hub`.",
                "- Tasks: t0 (7 rows), t1 (9 rows); each row counts the same.",
                "- Rounds of refinement: at most 5.",
            ],
        ),
    ],
)
def test_a_footnote_says_what_there_is_to_say_and_no_more(
    strategy: str, rows: tuple[int, ...], footnotes: list[str]
) -> None:
    scores = [TaskScore(f"t{number}", count, 0.5, 0.5) for number, count in enumerate(rows)]
    lines = markdown([run(strategy, *scores)])
    assert [line for line in lines if line.startswith("- ")][: len(footnotes)] == footnotes
    assert len([line for line in lines if line.startswith("- ")]) == len(footnotes) + 3
