"""Table 2 from runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lm_eval_ext.self_refine.metrics import Confusion
from lm_eval_ext.self_refine.strategies import STRATEGIES
from lm_eval_ext.self_refine.table import MethodScores, TaskScore, by_round, line, markdown

FIGURE_9 = Confusion(true_positives=76, false_positives=17, false_negatives=24, true_negatives=83)


def run(
    strategy: str, *scores: TaskScore, model: str = "hf pretrained=tiny", source: str = "hub", rounds: int = 5
) -> MethodScores:
    """Return a run; of scores without accuracies by round no refinement changed anything."""
    refines = STRATEGIES[strategy].refines
    found = (
        replace(score, by_round=score.by_round or ((score.prompt_level, score.inst_level),) * (rounds + 1))
        for score in scores or (TaskScore("manyifeval_n01", 100, 0.5, 0.5),)
    )
    return MethodScores(model, strategy, source, rounds if refines else None, tuple(found))


def tables(lines: list[str], head: str) -> list[list[str]]:
    """Return the rows, cell by cell, of all tables with a word at their head, without the head."""
    found, inside = [], False
    for row in lines:
        inside = row.startswith("| ") and (inside or row.startswith(f"| {head} |"))
        if inside and not row.startswith((f"| {head} |", "| --- |")):
            found.append(row.strip("| ").split(" | "))
    return found


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
        # no judgment could be read: nothing was judged, so there is no precision of 1 for judging nothing followed
        (
            "feedback",
            TaskScore("t", 100, 0.5, 0.9, Confusion(0, 0, 90, 10), 1.0, 2.0),
            "refinement w/ feedback | 0.500 | 0.900 | - | - | - | 1.000 | 2.00",
        ),
        # judged, but nothing was followed: there is no recall
        (
            "feedback",
            TaskScore("t", 100, 0.0, 0.0, Confusion(0, 1, 0, 3), 0.25, 2.0),
            "refinement w/ feedback | 0.000 | 0.000 | 0.00 | - | - | 0.250 | 2.00",
        ),
    ],
)
def test_a_row_is_formatted_like_table_2(strategy: str, score: TaskScore, row: str) -> None:
    assert tables(markdown([run(strategy, score)]), "Method") == [row.split(" | ")]


def test_several_tasks_are_pooled_by_rows_and_judgments() -> None:
    found = line(
        run(
            "feedback",
            TaskScore("a", 100, 0.9, 0.8, Confusion(6, 1, 2, 1), 0.5, 3.0),  # 10 judgments
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


def test_a_task_without_judgments_does_not_affect_the_unparsable_share() -> None:
    judged, not_judged = TaskScore("a", 1, 0.5, 0.5, Confusion(1, 1, 1, 1), 0.5), TaskScore("b", 99, 0.5, 0.5)
    assert line(run("feedback", judged, not_judged)).unparsable == 0.5


def test_request_counts_for_only_some_tasks_are_not_shown() -> None:
    counted, uncounted = TaskScore("a", 1, 0.5, 0.5, requests=1.0), TaskScore("b", 1, 0.5, 0.5)
    assert line(run("none", counted, uncounted)).requests is None
    assert line(run("none", counted)).requests == 1.0


def test_models_are_sorted_by_name_and_methods_in_the_papers_order() -> None:
    runs = [
        run(name, model=model)
        for model in ("hf pretrained=b", "hf pretrained=a")
        for name in reversed(list(STRATEGIES))
    ]
    lines = markdown(runs)
    assert [line for line in lines if line.startswith("#")] == ["### `hf pretrained=a`", "### `hf pretrained=b`"]
    refining = [
        "refinement w/o feedback",
        "refinement w/ feedback",
        "refinement w/ feedback+cot",
        "refinement w/ feedback+each",
        "refinement w/ feedback+each+cot",
        "refinement w/ oracle",
        "refinement w/ all false",
    ]
    assert [row[0] for row in tables(lines, "Method")] == 2 * ["zero-shot", *refining]
    assert [row[0] for row in tables(lines, "After round")] == 2 * refining


def test_the_accuracies_after_each_round_are_means_over_the_rows_of_all_tasks() -> None:
    found = run(
        "oracle",
        TaskScore("a", 100, 0.9, 0.95, by_round=((0.5, 0.75), (0.7, 0.85), (0.9, 0.95))),
        TaskScore("b", 300, 0.5, 0.71, by_round=((0.1, 0.35), (0.5, 0.65), (0.5, 0.71))),
        rounds=2,
    )
    lines = markdown([run("none"), found])
    start = lines.index("| After round | 0 | 1 | 2 |")
    # (100 · 0.5 + 300 · 0.1) / 400 = 0.2, not the tasks' mean, 0.3; (75 + 105) / 400 = 0.45
    # (70 + 150) / 400 = 0.55; (85 + 195) / 400 = 0.7
    # (90 + 150) / 400 = 0.6; (95 + 213) / 400 = 0.77
    assert lines[start + 1 : start + 4] == [
        "| --- | ---: | ---: | ---: |",
        "| refinement w/ oracle | 0.200 / 0.450 | 0.550 / 0.700 | 0.600 / 0.770 |",
        "",
    ]
    whole = line(found)
    assert by_round(found)[-1] == (whole.prompt_level, whole.inst_level)


def test_without_refinement_there_is_no_table_by_round() -> None:
    lines = markdown([run("none", model="hf pretrained=a"), run("oracle", rounds=1, model="hf pretrained=b")])
    assert [row for row in lines if row.startswith(("###", "| After"))] == [
        "### `hf pretrained=a`",
        "### `hf pretrained=b`",
        "| After round | 0 | 1 |",
    ]


def test_the_table_is_markdown_with_footnotes() -> None:
    scores = (TaskScore("manyifeval_n02", 50, 0.5, 0.75), TaskScore("manyifeval_n01", 50, 0.5, 0.5))
    runs = [run(strategy, *scores, source="embedded", rounds=2) for strategy in ("none", "oracle")]
    assert markdown(runs) == [
        "### `hf pretrained=tiny`",
        "",
        "| Method | Prompt-level accuracy | Inst-level accuracy | Precision | Recall | F1 score | Unparsable "
        "| Requests per row |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| zero-shot | 0.500 | 0.625 | - | - | - | - | - |",  # (50 · 0.75 + 50 · 0.5) / 100
        "| refinement w/ oracle | 0.500 | 0.625 | - | - | - | - | - |",
        "",
        "| After round | 0 | 1 | 2 |",
        "| --- | ---: | ---: | ---: |",
        "| refinement w/ oracle | 0.500 / 0.625 | 0.500 / 0.625 | 0.500 / 0.625 |",
        "",
        "- Rows: source `embedded`; rows written for demonstrations and tests: do not compare scores on them "
        "with any others.",
        "- Tasks: manyifeval_n01, manyifeval_n02 (50 rows each); all rows have equal weight.",
        "- Rounds of refinement: at most 2.",
        "- After round: prompt-level / inst-level accuracy of the answers after it; 0: the first answers.",
        "",
        "- Feedback: the positive class is *followed*, so recall is the share of the followed instructions that are "
        "judged followed.",
        "- Precision weights followed and broken instructions equally, as in the paper, regardless of how many there "
        'are. It is 1.00 if nothing was judged followed, as for "all false" in the paper.',
        "- Unparsable: the share of the judgments that could not be parsed; they count as *not followed*. If none "
        "could be parsed, there is no precision, recall or F1 score.",
    ]


@pytest.mark.parametrize(
    ("strategy", "rows", "footnotes"),
    [
        ("none", (7,), ["- Rows: source `hub`.", "- Tasks: t0 (7 rows); all rows have equal weight."]),
        (
            "oracle",
            (7, 9),
            [
                "- Rows: source `hub`.",
                "- Tasks: t0 (7 rows), t1 (9 rows); all rows have equal weight.",
                "- Rounds of refinement: at most 5.",
                "- After round: prompt-level / inst-level accuracy of the answers after it; 0: the first answers.",
            ],
        ),
    ],
)
def test_a_footnote_appears_only_if_it_applies(strategy: str, rows: tuple[int, ...], footnotes: list[str]) -> None:
    scores = [TaskScore(f"t{number}", count, 0.5, 0.5) for number, count in enumerate(rows)]
    lines = markdown([run(strategy, *scores)])
    assert [line for line in lines if line.startswith("- ")][: len(footnotes)] == footnotes
    assert len([line for line in lines if line.startswith("- ")]) == len(footnotes) + 3
