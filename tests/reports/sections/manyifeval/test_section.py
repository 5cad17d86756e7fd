"""The report's section on ManyIFEval: known answers, hand-made rows, and missing data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.figure import Curves, HeatMap, Section
from lm_eval_ext.reports.paired import ONE_SIDE, MeanChange, RowSums
from lm_eval_ext.reports.sections.manyifeval.curves import type_name
from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.results.issue import error, note, warning
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, edited, write_run
from tests.reports.manyifeval_files import SINGLE, TYPES, Line, metric, of_model, row, write_rows
from tests.reports.sections.reading_tables import Exactly, figure, marks, names, numbers, section_on, titles, values

N01, N02, N03, REPEAT = "manyifeval_n01", "manyifeval_n02", "manyifeval_n03", "manyifeval_repeat_n03"
TASKS = (N02, N03, REPEAT)
ROWS = 4
REFINED = "self_refine:base=reference,policy=drop_one,strategy=oracle,rounds=2"
ORACLE, DROP_ONE = "reference policy=oracle", "reference policy=drop_one"
REPAIRED = "reference policy=drop_one rounds=2, self_refine oracle"
ZERO_SHOT, BY_ORACLE = "zero-shot", "refinement w/ oracle"
ONE = "one"
Tasks = Mapping[str, Sequence[Line]]
section_of = partial(section_on, section)


@pytest.fixture(scope="module")
def known(result_folder: ResultFolder, sentence_data: None) -> Section:
    """The section of two policies of the reference model, and of one with its answers refined."""
    folders = [result_folder(policy, TASKS, limit=ROWS) for policy in ("oracle", "drop_one")]
    return section_of(*folders, result_folder(REFINED, (N02, N03), limit=ROWS))


def of_rows(folder: Path, tasks: Tasks, **options: Any) -> Section:
    write_rows(folder, tasks, **options)
    return section_of(folder)


# Known answers


@pytest.mark.parametrize(
    ("model", "instructions", "share"),
    [(DROP_ONE, 2, 1 / 2), (DROP_ONE, 3, 2 / 3), (ORACLE, 3, 1.0), (REPAIRED, 3, 1.0)],
)
def test_one_broken_instruction_is_the_curse_at_its_worst_and_none_shows_no_curse(
    known: Section, model: str, instructions: int, share: float
) -> None:
    prompt_level = float(share == 1)
    predicted = share**instructions
    found = numbers(known, "manyifeval_curse")[model, instructions]
    expected = {"instruction level": share, "predicted": predicted, "residual": prompt_level - predicted}
    assert {name: values(found)[name] for name in expected} == pytest.approx(expected)
    # It is so in every row, but other rows could differ: a one-sided limit.
    assert found["prompt level"] == Exactly(prompt_level)
    floor = found["floor"].value
    assert found["above floor"].value == pytest.approx((prompt_level - floor) / (1 - floor))


def test_prediction_and_floor_are_dashed_in_one_panel_per_model_and_one_panel_has_all_models(known: Section) -> None:
    assert titles(known, "manyifeval_curse") == [
        "all models: prompt level",
        "all models: instruction level",
        *(ORACLE, DROP_ONE, REPAIRED),
    ]
    together, each, first, *_ = marks(figure(known, "manyifeval_curse"), Curves)
    # Figure 1, left: the instruction level of the same models, for which there is no floor.
    assert [series.name for series in each.series] == [series.name for series in together.series[:-1]]
    shares = {series.name: [value.value for value in series.values] for series in each.series}
    assert shares == {ORACLE: [1, 1], DROP_ONE: [1 / 2, pytest.approx(2 / 3)], REPAIRED: [1, 1]}
    assert (together.axis, each.axis) == ("prompt level", "instruction level")
    # Three models and the floor, which they share.
    assert (together.x, [series.dashed for series in together.series]) == ((2, 3), [False, False, False, True])
    assert [series.dashed for series in first.series] == [False, True, False, True]
    floors = [numbers(known, "manyifeval_curse")[ORACLE, n]["floor"] for n in (2, 3)]
    assert list(together.series[-1].values) == list(first.series[-1].values) == floors


def test_the_strict_and_the_repaired_verdict_on_a_policy_agree(known: Section) -> None:
    found = numbers(known, "manyifeval_verdicts")
    assert values(found[ORACLE, "prompt level"]) == {"strict": 1.0, "loose": 1.0, "repaired": 1.0}
    assert values(found[DROP_ONE, "prompt level"])["strict"] == values(found[DROP_ONE, "prompt level"])["repaired"] == 0
    # As many rows with 2 instructions as with 3: (1/2 + 2/3) / 2.
    assert values(found[DROP_ONE, "instruction level"])["strict"] == pytest.approx(7 / 12)


def test_a_broken_repeated_instruction_is_broken_in_every_repetition(known: Section) -> None:
    found = numbers(known, "manyifeval_repetition")
    assert found.keys() == {(ORACLE, 3), (DROP_ONE, 3)}
    assert list(found[ORACLE, 3].values()) == [Exactly(1.0), Exactly(1.0), Exactly(0.0)]
    assert list(found[DROP_ONE, 3].values()) == [Exactly(0.0), Exactly(0.0), Exactly(0.0)]
    # The difference has the limits of check: rows that all changed alike do not exclude that others would not.
    (*_, difference) = found[ORACLE, 3].values()
    limits = MeanChange.of_rows(RowSums.of_single_answers(np.zeros(ROWS), np.ones(ROWS), (ROWS,)), ROWS).limits(
        ONE_SIDE, ONE_SIDE
    )
    assert (difference.low, difference.high) == pytest.approx(limits)


def test_repetition_is_compared_on_the_same_task_prompts(tmp_path: Path) -> None:
    # Of four task prompts two are followed, of the two that are repeated, 3 and 4, none; in another order.
    tasks = {
        N03: [row(key, [key < 3, 1, 1]) for key in (1, 2, 3, 4)],
        REPEAT: [row(key, [key == 3] * 3, repeated=True) for key in (4, 3)],
    }
    found = of_rows(tmp_path, tasks)
    # 0 and 1/2, and not 1/2 both.
    assert list(values(numbers(found, "manyifeval_repetition")[ONE, 3]).values()) == [0.0, 0.5, 0.5]
    issue = note("one: task prompts left out because one of the two lacks them: 2 with n = 3")
    assert figure(found, "manyifeval_repetition").issues == (issue,)
    assert numbers(found, "manyifeval_curse")[ONE, 3]["prompt level"].value == 0.5


@pytest.mark.parametrize(
    ("key", "version", "reason"),
    [
        pytest.param(1, 1.0, "", id="the same task prompt"),
        pytest.param(2, 1.0, "they have no rows in common", id="another task prompt"),
        pytest.param(1, 2.0, "their versions differ", id="another version"),
    ],
)
def test_repetition_on_its_own_is_not_compared(key: int, version: float, reason: str, tmp_path: Path) -> None:
    results = write_rows(tmp_path, {N03: [row(1, [1, 0, 1])], REPEAT: [row(key, [1, 1, 1], repeated=True)]})
    with edited(results) as content:
        content["configs"][REPEAT]["metadata"]["version"] = version
    found = section_of(tmp_path)
    cells = numbers(found, "manyifeval_repetition")[ONE, 3].values()
    assert [cell.value for cell in cells if cell.exists] == ([] if reason else [0.0, 1.0, 1.0])
    text = f"one: not compared for n = 3, because the two have different task prompts: {reason}"
    assert figure(found, "manyifeval_repetition").issues == ((error(text),) if reason else ())


def test_a_type_has_a_share_for_each_number_and_one_of_all_its_instructions(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {N02: [row(1, [1, 1]), row(2, [1, 0])], N03: [row(1, [0, 1, 0])]})
    of_type = values(numbers(found, "manyifeval_types")[ONE, "startend quotation"])
    assert of_type == pytest.approx({"n = 2": 1 / 2, "n = 3": 1.0, "all": 2 / 3})


def test_reported_broken_instructions_are_repaired_in_one_round(known: Section) -> None:
    found = numbers(known, "manyifeval_rounds")
    # One request for the answer, and one to repair it.
    assert list(found[DROP_ONE, BY_ORACLE, "prompt level", "2.00"].values()) == [*map(Exactly, (0.0, 1.0, 1.0))]
    assert list(found[DROP_ONE, ZERO_SHOT, "prompt level", None].values()) == [Exactly(0.0)] * 3
    by_instruction = found[DROP_ONE, BY_ORACLE, "instruction level", "2.00"]
    assert list(values(by_instruction).values()) == pytest.approx([7 / 12, 1.0, 1.0])
    # Two answers to each row, 2 or 3 instructions: 2 · 4 · (2 + 3) judgments.
    ((about, cells),) = numbers(known, "manyifeval_feedback").items()
    assert about == (DROP_ONE, BY_ORACLE, 40)
    assert values(cells) == {"precision": 1.0, "recall": 1.0, "F1": 1.0, "unparsable": 0.0}


def test_examples_of_known_answers_show_broken_and_repaired_instructions(known: Section) -> None:
    assert 5 <= len(known.examples) <= 10
    (broken, *_) = [example for example in known.examples if example.why.startswith("Breaks one of 3")]
    facts = dict(broken.facts)
    assert (broken.model, broken.task, facts["instructions"]) == (DROP_ONE, N03, "3")
    assert "," not in facts["not followed (strict)"]
    (repaired, *_) = [example for example in known.examples if example.why.startswith("Refinement helps")]
    facts = dict(repaired.facts)
    assert repaired.model == REPAIRED
    assert facts["not followed (strict)"] == "none"
    assert facts["round 0"].startswith("not followed: ")
    assert not facts["round 0"].startswith("not followed: none")
    assert facts["round 1"] == "not followed: none; judged not followed: none"


# Intervals


def test_intervals_resample_task_prompts(tmp_path: Path) -> None:
    rows = [row(key, [key % 2, key % 2]) for key in range(100)]
    found = numbers(of_rows(tmp_path, {N02: rows}), "manyifeval_curse")[ONE, 2]
    assert values(found) == {"prompt level": 0.5, "instruction level": 0.5, "predicted": 0.25, "residual": 0.25}
    # Of 100 draws from a half, 40 to 60 are right in 95 of 100 cases: p lies in [0.4, 0.6], so that p² lies in
    # [0.16, 0.36] and, as every answer follows all or nothing, p - p² in [0.24, 0.25].
    for column, low, high in (("prompt level", 0.40, 0.60), ("predicted", 0.16, 0.36), ("residual", 0.24, 0.25)):
        assert (found[column].low, found[column].high) == pytest.approx((low, high), abs=0.025), column


def test_the_same_task_prompts_with_other_numbers_do_not_narrow_intervals(tmp_path: Path) -> None:
    two, three = ([row(key, [key % 2] * count) for key in range(50)] for count in (2, 3))
    alone = of_rows(tmp_path / "alone", {N02: two})
    both = of_rows(tmp_path / "both", {N02: two, N03: three})
    # Answers that fail on the other half of the task prompts: whichever are drawn, half of the answers are right.
    opposite = of_rows(tmp_path / "opposite", {N02: two, N03: [row(key, [1 - key % 2] * 3) for key in range(50)]})
    first, second, third = (
        numbers(one, "manyifeval_verdicts")[ONE, "prompt level"]["strict"] for one in (alone, both, opposite)
    )
    assert first == second
    assert first.low < 0.5 < first.high
    assert third == Exactly(0.5)


# How many instructions


def test_the_number_of_instructions_is_the_recorded_one_regardless_of_the_name(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {"mine": [row(1, [1, 0, 1])], "manyifeval_n10": [row(1, [1, 0])]})
    assert [row[1] for row in figure(found, "manyifeval_curse").table.rows] == [2, 3]
    # One model has one panel of each kind.
    assert titles(found, "manyifeval_curse") == titles(found, "manyifeval_types") == [""]


@pytest.mark.parametrize("samples", [True, False])
def test_repetition_is_determined_by_the_recorded_facts(samples: object, tmp_path: Path) -> None:
    tasks = {"mine": [row(1, [1, 0, 1], repeated=True)], "other": [row(1, [1, 1, 1])]}
    found = of_rows(tmp_path, tasks, samples=bool(samples))
    assert values(numbers(found, "manyifeval_repetition")[ONE, 3])["repeated"] == 0.0


def test_answers_without_recorded_instructions_are_counted_but_not_shown(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {N02: [row(2, [1, 1]), row(1, [1, 0], doc={"key": 1})]})
    assert [example.why for example in found.examples] == ["Follows all 2 instructions."]
    text = "1 of the 2 selected answers cannot be shown; their lines in the samples have: no 'instruction_id_list' (1)."
    assert found.issues == (note(text),)
    assert numbers(found, "manyifeval_curse")[ONE, 2]["prompt level"].value == 0.5


def test_a_task_without_loose_and_repaired_verdicts_has_its_other_figures(tmp_path: Path) -> None:
    line = row(1, [1, 0])
    bare = {name: value for name, value in line.items() if "_loose_" not in name and "_repaired_" not in name}
    found = of_rows(tmp_path, {N02: [bare]})
    assert numbers(found, "manyifeval_curse")[ONE, 2]["instruction level"].value == 0.5
    assert dict(found.examples[0].facts)["verdicts"] == "strict: not all"


# What is missing


def test_a_model_that_lacks_tasks_of_others_has_no_mean_over_them_and_is_named(tmp_path: Path) -> None:
    two, three = [row(1, [1, 1])], [row(1, [0, 0, 0])]
    write_rows(tmp_path / "a", {N02: two, N03: three}, config=of_model("whole"))
    write_rows(tmp_path / "b", {N02: two}, config=of_model("part"))
    found = section_of(tmp_path)
    assert not numbers(found, "manyifeval_verdicts")["part", "prompt level"]["strict"].exists
    for name in ("manyifeval_verdicts", "manyifeval_types"):
        (issue,) = figure(found, name).issues
        assert issue.text.startswith("part: not run on 1 of the tasks that other models were run on")


def test_of_two_equivalent_tasks_the_one_run_by_more_models_is_used(tmp_path: Path) -> None:
    write_rows(tmp_path / "a", {"a_task_of_mine": [row(1, [0, 0])], N02: [row(1, [1, 1])]})
    write_rows(tmp_path / "b", {N02: [row(1, [1, 0])]}, config=of_model("two"))
    found = section_of(tmp_path)
    assert numbers(found, "manyifeval_curse")[ONE, 2]["prompt level"].value == 1.0
    assert numbers(found, "manyifeval_others")[ONE, "a_task_of_mine"]["prompt level"].value == 0.0


# How many models


def of_models(folder: Path, count: int) -> Section:
    for number in range(count):
        write_rows(folder / f"m{number}", {N02: [row(1, [1, 0])]}, config=of_model(f"m{number}"))
    return section_of(folder)


def test_many_models_share_panels_and_remain_distinguishable(tmp_path: Path) -> None:
    found = of_models(tmp_path, 9)
    levels = [
        f"{part}: {level} level" for level in ("prompt", "instruction") for part in ("models 1 to 4", "models 5 to 9")
    ]
    # More than four have no panels of their own.
    assert titles(found, "manyifeval_curse") == levels
    assert titles(found, "manyifeval_types") == ["overall (1 to 4)", "overall (5 to 9)"]
    first, _ = marks(figure(found, "manyifeval_types"), HeatMap)
    assert first.columns == ("m0", "m1", "m2", "m3")
    assert len(first.rows) == len(TYPES)


@pytest.mark.parametrize(("models", "own"), [(4, ["m0", "m1", "m2", "m3"]), (5, [])])
def test_up_to_four_models_have_a_panel_each(tmp_path: Path, models: int, own: list[str]) -> None:
    together = ["all models: prompt level", "all models: instruction level"]
    assert titles(of_models(tmp_path, models), "manyifeval_curse") == [*together, *own]


# Self-refinement


def method(strategy: str, rounds: int, **more: Any) -> Mapping[str, Any]:
    """Return how the harness was called for refined answers."""
    arguments = {"base": "hf", "pretrained": "one", "strategy": strategy, "rounds": rounds, **more}
    return {"model": "self_refine", "model_args": arguments}


def after(*prompt_levels: float) -> Line:
    """Return what a refined row has more: its accuracies after each round from 0."""
    return {
        f"{level}_level_strict_acc_round_{number}": value
        for level in ("prompt", "inst")
        for number, value in enumerate(prompt_levels)
    } | {"base_requests": 3.0}


def feedback(*counts: int, unparsable: float = 0.0) -> Mapping[str, float]:
    """Return the results of judgments: true and false positives, false and true negatives."""
    which = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    counted = zip(which, counts, strict=True)
    return {f"feedback_{name}": count for name, count in counted} | {"feedback_unparsable": unparsable}


def test_methods_of_a_model_are_compared_over_their_common_tasks(tmp_path: Path) -> None:
    write_rows(tmp_path / "plain", {N02: [row(1, [1, 0])], N03: [row(1, [1, 1, 1])]})
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1], **after(0.0, 1.0))]}, config=method("oracle", 1))
    write_rows(tmp_path / "b", {N02: [row(1, [1, 0], **after(0.0, 0.0, 0.0))]}, config=method("feedback", 2))
    found = section_of(tmp_path)
    cells = numbers(found, "manyifeval_rounds")
    # It follows all three of the other task, which is not in these figures.
    assert list(values(cells[ONE, ZERO_SHOT, "prompt level", None]).values()) == [0.0] * 3
    by_oracle = cells[ONE, BY_ORACLE, "prompt level", "3.00"]
    assert (by_oracle["round 0"].value, by_oracle["round 1"].value) == (0.0, 1.0)
    assert not by_oracle["round 2"].exists
    assert list(values(cells[ONE, "refinement w/ feedback", "prompt level", "3.00"]).values()) == [0.0] * 3
    curves, _ = marks(figure(found, "manyifeval_rounds"), Curves)
    # Table 2's order.
    assert [series.name for series in curves.series] == [ZERO_SHOT, "refinement w/ feedback", BY_ORACLE]
    issue = note("one: over the tasks with 2 instructions, on which all of its methods were run")
    assert figure(found, "manyifeval_rounds").issues == (issue,)


def test_the_methods_of_a_model_share_a_panel_against_the_number_of_instructions(tmp_path: Path) -> None:
    write_rows(tmp_path / "plain", {N02: [row(1, [1, 1])], N03: [row(1, [1, 1, 0])]})
    refined = {N02: [row(1, [1, 1], **after(0.0, 1.0))], N03: [row(1, [1, 1, 1], **after(0.0, 1.0))]}
    write_rows(tmp_path / "a", refined, config=method("oracle", 1))
    write_rows(tmp_path / "other", {N02: [row(1, [1, 1])]}, config=of_model("two"))  # it refines nothing
    found = section_of(tmp_path)
    assert titles(found, "manyifeval_methods") == [""]
    (curves,) = marks(figure(found, "manyifeval_methods"), Curves)
    assert curves.x == (2, 3)
    series = {series.name: [value.value for value in series.values] for series in curves.series}
    assert series == {ZERO_SHOT: [1, 0], BY_ORACLE: [1, 1]}
    cells = numbers(found, "manyifeval_methods")
    assert cells[ONE, ZERO_SHOT, 3]["instruction level"].value == pytest.approx(2 / 3)


def test_with_one_number_of_instructions_there_are_no_curves_of_methods(tmp_path: Path) -> None:
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1], **after(0.0, 1.0))]}, config=method("oracle", 1))
    assert "manyifeval_methods" not in names(section_of(tmp_path))


@pytest.mark.parametrize(
    ("tasks", "config", "reason"),
    [
        pytest.param({N02: [row(1, [1, 1])]}, of_model("one"), None, id="the same row"),
        pytest.param({N02: [row(1, [1, 1])]}, of_model("other"), "", id="of another model"),
        pytest.param({N02: [row(1, [1, 1])]}, of_model("one", dtype="float16"), "", id="with other arguments"),
        pytest.param({N03: [row(1, [1, 1, 1])]}, of_model("one"), "", id="of other tasks"),
        pytest.param({N02: [row(2, [1, 1])]}, of_model("one"), "they have no rows in common", id="another row"),
    ],
)
def test_first_and_refined_answers_are_compared_only_on_the_same_rows_in_the_same_setting(
    tasks: Tasks, config: Mapping[str, Any], reason: str | None, tmp_path: Path
) -> None:
    write_rows(tmp_path / "plain", tasks, config=config)
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1], **after(0.0, 1.0))]}, config=method("oracle", 1))
    found = section_of(tmp_path)
    shown = {about[1] for about in numbers(found, "manyifeval_rounds")}
    assert shown == ({ZERO_SHOT, BY_ORACLE} if reason is None else {BY_ORACLE})
    issues = [warning(f"one: {ZERO_SHOT} cannot be compared with refinement: {reason}")] if reason else []
    assert list(figure(found, "manyifeval_rounds").issues[1:]) == issues


@pytest.mark.parametrize("alike", [True, False])
def test_settings_of_other_families_do_not_separate_a_model_from_its_refined_answers(
    alike: bool, tmp_path: Path
) -> None:
    longer = {"gen_kwargs": "max_gen_toks=8192"}
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1], **after(0.0, 1.0))]}, config={**method("oracle", 1), **longer})
    write_rows(tmp_path / "plain", {N02: [row(1, [1, 1])]}, config={**of_model("one"), **(longer if alike else {})})
    write_run(tmp_path / "b", {SST2: [1]}, arguments={"pretrained": "one"}, config={"num_fewshot": 4})
    found = numbers(section_of(tmp_path), "manyifeval_rounds")
    assert {about[:2] for about in found} == {(ONE, BY_ORACLE), *([(ONE, ZERO_SHOT)] if alike else [])}


def test_methods_are_compared_on_the_same_rows(tmp_path: Path) -> None:
    # Without refinement 3 of 4 are followed, of the two that were refined 1.
    write_rows(tmp_path / "plain", {N02: [row(key, [1, key != 2]) for key in (1, 2, 3, 4)]})
    refined = [row(1, [1, 1], **after(0.0, 1.0)), row(2, [1, 1], **after(1.0, 1.0))]
    write_rows(tmp_path / "a", {N02: refined}, config=method("oracle", 1))
    found = section_of(tmp_path)
    cells = numbers(found, "manyifeval_rounds")
    assert [cell.value for cell in cells[ONE, ZERO_SHOT, "prompt level", None].values()] == [0.5, 0.5]
    assert [cell.value for cell in cells[ONE, BY_ORACLE, "prompt level", "3.00"].values()] == [0.5, 1.0]
    assert figure(found, "manyifeval_rounds").issues == (
        note("one: over the tasks with 2 instructions, on which all of its methods were run"),
        note("one: 2 rows left out because not all of its methods were run on them"),
    )
    assert numbers(found, "manyifeval_curse")[ONE, 2]["prompt level"].value == 0.75


def test_refinements_without_common_rows_have_no_figure_and_a_note(tmp_path: Path) -> None:
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1], **after(0.0, 1.0))]}, config=method("oracle", 1))
    write_rows(tmp_path / "b", {N02: [row(2, [1, 0], **after(0.0, 0.0))]}, config=method("feedback", 1))
    found = section_of(tmp_path)
    cells = [cell for of_row in numbers(found, "manyifeval_rounds").values() for cell in of_row.values()]
    assert cells
    assert not any(cell.exists for cell in cells)
    issue = error("one: no figure, because its methods were not run on the same rows: they have no rows in common")
    assert figure(found, "manyifeval_rounds").issues[1:] == (issue,)


@pytest.mark.parametrize(
    ("rounds", "arguments", "titles"),
    [
        (2, {}, {f"{BY_ORACLE}, 1 round", f"{BY_ORACLE}, 2 rounds"}),
        (1, {"early_stop": False}, {f"{BY_ORACLE}, early_stop=true", f"{BY_ORACLE}, early_stop=false"}),
    ],
)
def test_one_strategy_in_two_settings_is_two_methods(
    rounds: int, arguments: Mapping[str, Any], titles: set[str], tmp_path: Path
) -> None:
    for name, config, count in (("a", method("oracle", 1), 1), ("b", method("oracle", rounds, **arguments), rounds)):
        line = row(1, [1, 1], **after(*[0.0] * count, 1.0))
        write_rows(tmp_path / name, {N02: [line]}, config=config)
    assert {about[1] for about in numbers(section_of(tmp_path), "manyifeval_rounds")} == titles


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({"base": "hf", "pretrained": "one"}, "refinement w/ feedback+each+cot"),
        ("pretrained=one,strategy=all_false,base=hf", "refinement w/ all false"),
        ("base=hf,pretrained=one,strategy=none", ZERO_SHOT),  # the harness reads this as Python's None
    ],
)
def test_a_method_is_the_requested_strategy_of_its_base(
    arguments: str | Mapping[str, Any], title: str, tmp_path: Path
) -> None:
    config = {"model": "self_refine", "model_args": arguments}
    refined = row(1, [1, 1], **after(0.0, 1.0))
    write_rows(tmp_path / "a", {N02: [row(1, [1, 1]) if title == ZERO_SHOT else refined]}, config=config)
    write_rows(tmp_path / "b", {N02: [refined]}, config=method("oracle", 1))
    found = numbers(section_of(tmp_path), "manyifeval_rounds")
    assert {about[:2] for about in found} == {(ONE, title), (ONE, BY_ORACLE)}


@pytest.mark.parametrize("version", [1.0, 2.0])
def test_methods_whose_prompts_are_of_different_versions_are_named(version: float, tmp_path: Path) -> None:
    line = row(1, [1, 1], **after(0.0, 1.0))
    write_rows(tmp_path / "plain", {N02: [row(1, [1, 1])]})  # has no such prompts
    for strategy, of_strategy in (("oracle", 1.0), ("feedback", version)):
        config = {**method(strategy, 1), "self_refine_version": of_strategy}
        write_rows(tmp_path / strategy, {N02: [line]}, config=config)
    text = "its methods were refined with different prompts (self_refine_version 1.0, 2.0): do not compare them"
    issues = figure(section_of(tmp_path), "manyifeval_rounds").issues
    assert (warning(f"one: {text}") in issues) is (version == 2.0)
    assert any("different prompts" in issue.text for issue in issues) is (version == 2.0)


@pytest.mark.parametrize(
    ("strategy", "counts", "unparsable", "shares"),
    [
        # Figure 9: 76 / (76 + 17) = 0.817, 76 / 100, 2 · 0.817 · 0.76 / 1.577 = 0.788.
        ("feedback_each_cot", (76, 17, 24, 83), 0.004, (0.817, 0.76, 0.788)),
        ("oracle", (900, 0, 0, 100), 0.0, (1.0, 1.0, 1.0)),
        # Table 2: 1.0, 0, 0.
        ("all_false", (0, 0, 900, 100), 0.0, (1.0, 0.0, 0.0)),
        # No judgment could be read: nothing was judged, so there is no precision of 1 for judging nothing followed.
        ("feedback", (0, 0, 90, 10), 1.0, (None, None, None)),
        # Judged, but nothing was followed: there is no recall.
        ("feedback", (0, 1, 0, 3), 0.25, (0.0, None, None)),
    ],
)
def test_feedback_has_the_precision_recall_and_f1_of_table_2(
    strategy: str, counts: tuple[int, ...], unparsable: float, shares: tuple[float | None, ...], tmp_path: Path
) -> None:
    line = row(1, [1, 1], **after(0.0, 1.0))
    given = feedback(*counts, unparsable=unparsable)
    found = of_rows(tmp_path, {N02: [line]}, figures=given, config=method(strategy, 1))
    (cells,) = numbers(found, "manyifeval_feedback").values()
    *judged, unread = cells.values()
    assert [cell.value if cell.exists else None for cell in judged] == pytest.approx(list(shares), abs=5e-4)
    assert unread.value == unparsable


def test_several_tasks_are_pooled_by_rows_and_judgments(tmp_path: Path) -> None:
    one = [row(key, [1, 1], **after(float(key == 1), 1.0)) for key in (1, 2)]
    three = [row(key, [1, 0, 0], **{**after(0.0, float(key < 3)), "base_requests": 7.0}) for key in range(1, 7)]
    of_one, of_three = feedback(6, 1, 2, 1, unparsable=0.5), feedback(24, 3, 8, 5, unparsable=0.25)
    write_rows(tmp_path / "one", {N02: one}, figures=of_one, config=method("feedback", 1))
    write_rows(tmp_path / "three", {N03: three}, figures=of_three, config=method("feedback", 1))
    found = section_of(tmp_path)
    # Requests: (2 · 3 + 6 · 7) / 8. Round 0: 1 of 8 rows; round 1: 2 + 2 of 8; the tasks' means would be 0.25 and 0.67.
    rounds = numbers(found, "manyifeval_rounds")[ONE, "refinement w/ feedback", "prompt level", "6.00"]
    assert list(values(rounds).values()) == [1 / 8, 4 / 8]
    # 30 of 40 and 4 of 10 are judged followed: 0.75 / (0.75 + 0.4) = 0.652, and F1 30 / 43. Unparsable:
    # (0.5 · 10 + 0.25 · 40) / 50; by rows it would be 0.3125.
    ((about, cells),) = numbers(found, "manyifeval_feedback").items()
    assert about[2] == 50
    expected = {"precision": 0.75 / 1.15, "recall": 0.75, "F1": 30 / 43, "unparsable": 0.3}
    assert values(cells) == pytest.approx(expected)


def test_without_judgments_there_is_no_figure_about_them(tmp_path: Path) -> None:
    line = row(1, [1, 1], **after(0.0, 1.0))
    found = of_rows(tmp_path, {N02: [line]}, figures=feedback(0, 0, 0, 0), config=method("without_feedback", 1))
    assert "manyifeval_rounds" in names(found)
    assert "manyifeval_feedback" not in names(found)


# The judge's mistakes


def rounds(*judged: tuple[list[bool], list[bool | None]]) -> Line:
    """Return what a refined row has of its rounds: what each answer follows, and the judgments; the last has none."""
    one = [{"answer": "…", "followed": truth, "judged": said, "replies": ["…"]} for truth, said in judged]
    return {"rounds": [*one, {"answer": "…", "followed": [True], "judged": None, "replies": None}]}


YES, NO, UNREAD = True, False, None
FIRST = rounds(([YES, NO], [YES, YES]), ([YES, NO], [NO, NO]))
SECOND = rounds(([YES, YES], [NO, UNREAD]), ([NO, NO], [YES, NO]))
THIRD = rounds(([YES, NO], [YES, NO]))  # nothing was left to judge after the first round


def judged_rows(*extra: Line) -> list[Line]:
    return [row(key, [1, 0], **after(0.0, 0.0, 0.0), **more) for key, more in enumerate(extra, start=1)]


def test_the_confusion_matrix_of_all_tasks_is_normalized_by_row_in_each_round(tmp_path: Path) -> None:
    three = row(1, [1, 0, 0], **after(0.0, 0.0), **rounds(([YES, NO, NO], [YES, YES, YES])))
    tasks = {N02: judged_rows(FIRST, SECOND, THIRD), N03: [three]}
    found = of_rows(tmp_path, tasks, figures=feedback(2, 2, 3, 4), config=method("feedback_cot", 2))
    cells = {about[2:]: values(cells) for about, cells in numbers(found, "manyifeval_confusion").items()}
    # Round 1: followed are yes | no, unread | yes | yes; violated yes | no | yes, yes. Round 2: followed no; violated
    # no | yes, no.
    assert {about: line["judged followed"] for about, line in cells.items()} == {
        ("round 1", "followed", 5): 3 / 5,
        ("round 1", "not followed", 4): 3 / 4,
        ("round 2", "followed", 1): 0.0,
        ("round 2", "not followed", 3): pytest.approx(1 / 3),
        ("all rounds", "followed", 6): 3 / 6,
        ("all rounds", "not followed", 7): pytest.approx(4 / 7),
    }
    assert [sum(line.values()) for line in cells.values()] == pytest.approx([1.0] * 6)
    (mark,) = marks(figure(found, "manyifeval_confusion"), HeatMap)
    assert titles(found, "manyifeval_confusion") == ["refinement w/ feedback+cot"]
    assert mark.rows[:2] == ("round 1: followed", "round 1: not followed")
    assert mark.columns == ("judged followed", "judged not followed")


@pytest.mark.parametrize("samples", [True, False], ids=["samples without rounds", "no samples"])
def test_without_recorded_rounds_there_is_one_matrix_over_all(samples: bool, tmp_path: Path) -> None:
    given = feedback(6, 1, 2, 3)
    found = of_rows(tmp_path, {N02: judged_rows({})}, figures=given, config=method("feedback", 2), samples=samples)
    cells = {about[2:]: values(cells) for about, cells in numbers(found, "manyifeval_confusion").items()}
    assert cells == {
        ("all rounds", "followed", 8): {"judged followed": 6 / 8, "judged not followed": 2 / 8},
        ("all rounds", "not followed", 4): {"judged followed": 1 / 4, "judged not followed": 3 / 4},
    }
    text = f"one, refinement w/ feedback: only over all rounds, because no rounds are in the samples of {N02}"
    assert figure(found, "manyifeval_confusion").issues == (warning(text),)


@pytest.mark.parametrize(
    ("strategy", "counts", "unparsable"),
    [("oracle", (3, 0, 0, 3), 0.0), ("all_false", (0, 0, 3, 3), 0.0), ("feedback", (0, 0, 3, 3), 1.0)],
    ids=["the checkers judge", "nobody judges", "no judgment could be read"],
)
def test_only_a_model_that_judges_has_a_confusion_matrix(
    strategy: str, counts: tuple[int, ...], unparsable: float, tmp_path: Path
) -> None:
    given = feedback(*counts, unparsable=unparsable)
    found = of_rows(tmp_path, {N02: judged_rows(FIRST)}, figures=given, config=method(strategy, 2))
    assert "manyifeval_feedback" in names(found)
    assert "manyifeval_confusion" not in names(found)


def test_the_confusion_matrix_of_a_run_agrees_with_its_counts(result_folder: ResultFolder) -> None:
    # drop_one answers break one of two instructions, and it judges truthfully; then all are followed.
    policy = "self_refine:base=reference,policy=drop_one,strategy=feedback_cot,rounds=2"
    found = section_of(result_folder(policy, (N02,), limit=ROWS))
    cells = {about[2:]: values(cells) for about, cells in numbers(found, "manyifeval_confusion").items()}
    right = {"followed": {"judged followed": 1.0, "judged not followed": 0.0}}
    right["not followed"] = {"judged followed": 0.0, "judged not followed": 1.0}
    assert cells["round 1", "followed", ROWS] == cells["round 2", "followed", 2 * ROWS] == right["followed"]
    assert cells["round 1", "not followed", ROWS] == cells["all rounds", "not followed", ROWS] == right["not followed"]
    assert ("round 2", "not followed", 0) in {about[2:] for about in numbers(found, "manyifeval_confusion")}


# Single instructions


def single(key: int, name: str, followed: bool) -> Line:
    """Return a row that asks for one instruction of a type."""
    asked = {metric(other): [int(followed and other == name), int(other == name)] for other in TYPES}
    return {**row(key, [followed]), "doc": {"key": key, "instruction_id_list": [name]}, **asked}


def test_single_instructions_have_a_share_for_each_type_and_are_in_no_other_figure(tmp_path: Path) -> None:
    first, second = TYPES[:2]
    rows = [single(1, first, True), single(1, second, False), single(2, first, True), single(2, second, True)]
    found = of_rows(tmp_path, {SINGLE: [*rows, single(3, first, False)], N02: [row(1, [1, 0])]})
    cells = {about: values(cells)[ONE] for about, cells in numbers(found, "manyifeval_single").items()}
    assert cells[type_name(metric(first)),] == pytest.approx(2 / 3)
    assert cells[type_name(metric(second)),] == 1 / 2
    assert cells["all types",] == 3 / 5
    # A task with one instruction and another with single ones are not the same condition.
    assert {about[1] for about in numbers(found, "manyifeval_curse")} == {2}
    assert "manyifeval_others" not in names(found)


def test_an_older_run_with_one_instruction_does_not_record_whether_it_is_single(tmp_path: Path) -> None:
    results = write_rows(tmp_path, {"manyifeval_n01": [row(1, [1])]})
    with edited(results) as content:
        del content["configs"]["manyifeval_n01"]["metadata"]["single"]
    assert (ONE, 1) in numbers(section_of(tmp_path), "manyifeval_curse")


# Examples


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ({N03: [row(1, [1, 1, 0])]}, "Breaks one of 3"),
        ({N03: [row(1, [1, 0, 0])]}, ""),
        ({N03: [row(1, [0, 0, 0])]}, "Follows none of its instructions (3)"),
        ({N03: [row(1, [1, 1, 1])]}, "Follows all 3"),
        ({N03: [row(1, [1, 0, 0])], N02: [row(1, [1, 1])]}, "The curse of instructions: it follows all 2"),
        ({N03: [row(1, [1, 0, 0])], N02: [row(2, [1, 1])]}, "Follows all 2"),  # of another task prompt
        ({N03: [row(1, [1, 0, 0])], N02: [row(1, [0, 0])]}, "Follows none of its instructions (2)"),  # nothing was lost
        ({N03: [row(1, [1, 0, 0], prompt_level_repaired_acc=1.0)]}, "A human reader would say"),
        ({N03: [row(1, [1, 1, 1], prompt_level_repaired_acc=0.0)]}, "IFEval's strict"),
        ({N03: [row(1, [1, 0, 0], prompt_level_loose_acc=1.0)]}, "Follows the instructions except for"),
        ({N03: [row(1, [1, 1, 1], **after(0.0, 1.0))]}, "Refinement helps"),
        ({N03: [row(1, [1, 0, 0], **after(1.0, 0.0))]}, "Refinement hurts"),
        ({N01: [row(1, [1])], REPEAT: [row(1, [1, 0, 0], repeated=True)]}, "Follows the instruction when it is given"),
    ],
)
def test_an_instructive_answer_is_an_example_with_its_reason(tasks: Tasks, why: str, tmp_path: Path) -> None:
    found = of_rows(tmp_path, tasks)
    first = [example.why for example in found.examples][:1]
    assert [one.startswith(why) for one in first] == ([True] if why else [])


@pytest.mark.parametrize(
    ("fewer", "more", "why"),
    [
        ({N01: [row(1, [1])]}, {REPEAT: [row(1, [1, 0, 0], repeated=True)]}, "when it is given once"),
        ({N02: [row(1, [1, 1])]}, {N03: [row(1, [1, 0, 0])]}, "The curse of instructions"),
    ],
)
def test_answers_are_compared_only_within_one_version(fewer: Tasks, more: Tasks, why: str, tmp_path: Path) -> None:
    results = write_rows(tmp_path, {**fewer, **more})
    with edited(results) as content:
        content["configs"][next(iter(more))]["metadata"]["version"] = 2.0
    assert not any(why in example.why for example in section_of(tmp_path).examples)


def test_only_an_instruction_that_was_among_the_fewer_is_lost(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {"manyifeval_n04": [row(1, [1, 1, 0, 0])], N02: [row(1, [1, 1])]})
    assert not any("curse" in example.why for example in found.examples)


def test_a_lost_instruction_is_named_with_the_previously_followed_ones(tmp_path: Path) -> None:
    found = of_rows(tmp_path, {N03: [row(7, [1, 0, 0])], N02: [row(7, [1, 1])]})
    example = found.examples[0]
    assert example.why.endswith("with 3 it no longer follows “startend quotation”, which was one of them.")
    assert (example.task, example.prompt, example.answer) == (N03, "Prompt 7", "Answer 7")
    assert dict(example.facts) == {
        "instructions": "3",
        "not followed (strict)": "startend quotation, keywords existence",
        "verdicts": "strict: not all, loose: not all, repaired: not all",
        f"followed in {N02}": "punctuation no comma, startend quotation",
    }
