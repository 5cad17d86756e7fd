"""The report's section on IFBench: known answers, missing samples, examples."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from lm_eval_ext.reports.figure import Bars, Section
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.sections.figures import VERDICT_KINDS
from lm_eval_ext.reports.sections.ifbench.section import section
from lm_eval_ext.results.load import load
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited_lines
from tests.reports.planted import without_samples
from tests.reports.sections.reading_tables import figure, marks, names, numbers, section_on, titles, values

pytestmark = pytest.mark.usefixtures("sentence_data")

ORACLE, DROP_ONE = "reference policy=oracle", "reference policy=drop_one"
TWICE = "reference policy=oracle, two_turns"
section_of = partial(section_on, section)


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder, sentence_data: None) -> list[Path]:
    twice = result_folder("two_turns:base=reference,policy=oracle", ("ifbench_two_turns",), chat=True)
    return [*(result_folder(policy, ("ifbench",)) for policy in ("oracle", "drop_one")), twice]


@pytest.fixture(scope="module")
def known(folders: list[Path]) -> Section:
    """The section of two policies of the reference model, and of one asked twice."""
    return section_of(*folders)


def test_the_figures_are_of_one_turn_and_then_of_two(known: Section) -> None:
    of_each = ("verdicts", "floor", "groups", "types")
    expected = [f"{turns}_{name}" for turns in ("ifbench", "ifbench_two_turns") for name in of_each]
    assert names(known) == [*expected, "ifbench_two_turns_answers"]


def test_verdicts_stand_side_by_side_by_level(known: Section) -> None:
    found = numbers(known, "ifbench_verdicts")
    assert values(found[ORACLE, "prompt level"]) == {"loose": 1.0, "strict": 1.0, "repaired": 1.0}
    # Loosely, one row with sub-bullets alone is followed. 18 of the 80 rows have a second instruction.
    assert values(found[DROP_ONE, "prompt level"]) == {"loose": 1 / 80, "strict": 0.0, "repaired": 0.0}
    assert values(found[DROP_ONE, "instruction level"]) == pytest.approx(
        {"loose": 19 / 98, "strict": 18 / 98, "repaired": 18 / 98}
    )


def test_a_floor_is_drawn_for_each_verdict_and_scores_stand_above_it(known: Section) -> None:
    found = numbers(known, "ifbench_floor")
    assert titles(known, "ifbench_floor") == [*VERDICT_KINDS]
    for verdict, bars in zip(VERDICT_KINDS, marks(figure(known, "ifbench_floor"), Bars), strict=True):
        oracle, drop_one = found[ORACLE, verdict], found[DROP_ONE, verdict]
        floor = oracle["floor"].value
        assert (bars.reference, bars.reference_name) == (floor, "floor: “ok”")
        assert 0 < floor < 1
        assert oracle["above floor"].value == pytest.approx(1)
        assert drop_one["above floor"].value == pytest.approx((drop_one["accuracy"].value - floor) / (1 - floor))
    assert "(floor: “ok”)" in figure(known, "ifbench_floor").reading


def test_groups_and_types_count_instructions(known: Section) -> None:
    # Of the eleven whole tasks, drop_one fails each.
    assert values(numbers(known, "ifbench_groups")["custom",]) == {ORACLE: 1.0, DROP_ONE: 0.0}
    table = figure(known, "ifbench_types").table
    assert len(table.rows) == 58
    asked = {row[0]: row[1] for row in table.rows}
    assert (asked["words:consonants"], asked["custom:csv_city"], sum(map(int, asked.values()))) == (4, 1, 98)  # type: ignore[arg-type]
    of_type = numbers(known, "ifbench_types")
    # One row of each; the pair with a word count breaks the latter.
    assert values(of_type["format:thesis", asked["format:thesis"]])[ORACLE] == 1.0
    assert values(of_type["custom:csv_city", 1]) == {ORACLE: 1.0, DROP_ONE: 0.0}
    assert titles(known, "ifbench_types") == ["count", "custom", "format", "ratio", "repeat", "sentence", "words"]


def test_the_second_message_is_compared_with_the_answer_before_it(known: Section) -> None:
    found = numbers(known, "ifbench_two_turns_answers")
    assert values(found[TWICE,]) == pytest.approx({"first answer": 1 / 44, "second answer": 1.0})


def test_examples_name_the_verdict_on_each_instruction_and_the_second_message(known: Section) -> None:
    whys = [example.why for example in known.examples]
    assert "Follows all instructions." in whys
    assert "Follows one instruction, but not all." in whys
    of_two = next(example for example in known.examples if example.task == "ifbench_two_turns")
    facts = dict(of_two.facts)
    assert facts["second message"].startswith("Rewrite your answer")
    assert facts["first answer"]


def test_without_samples_the_figures_of_the_types_are_left_out(folders: list[Path], tmp_path: Path) -> None:
    shutil.copytree(folders[0], tmp_path / "run")
    without_samples(tmp_path)
    assert names(section_of(tmp_path)) == ["ifbench_verdicts", "ifbench_groups"]
    # The page leaves out a figure that shows nothing.
    report = build(load([tmp_path / "run"]))
    assert [one.name for one in report.sections[0].figures] == ["ifbench_verdicts"]


def test_a_model_without_verdicts_of_single_instructions_is_left_out_with_a_warning(
    folders: list[Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path / "run")
    for samples in tmp_path.rglob("samples_*"):
        samples.write_text(samples.read_text(encoding="utf-8").replace('"instructions": [', '"other": ['), "utf-8")
    types = figure(section_of(folders[0], tmp_path / "run"), "ifbench_types")
    assert types.table.columns == ("type", "instructions", ORACLE)
    (issue,) = types.issues
    assert issue.text == f"{DROP_ONE}: no verdicts of single instructions in samples; left out"


def test_an_example_names_the_benchmark_whose_verdict_a_reader_would_not_share(result_folder: ResultFolder) -> None:
    found = section_of(result_folder("ok", ("ifeval_published",)))
    # To IFEval's code, "ok" is not English.
    (example,) = (one for one in found.examples if "a human reader" in one.why.lower())
    assert example.why.endswith("(repaired verdict); IFEval's strict verdict says it does not.")


def test_published_and_repaired_rows_have_figures_of_their_own(result_folder: ResultFolder) -> None:
    tasks = ("ifeval_repaired", "ifbench_repaired", "ifeval_published")
    found = section_of(result_folder("drop_one", tasks))
    of_ifbench = [f"ifbench_repaired_{name}" for name in ("verdicts", "floor", "groups", "types")]
    of_ifeval = [
        f"ifeval_{rows}_{name}" for rows in ("published", "repaired") for name in ("verdicts", "floor", "types")
    ]
    assert names(found) == [*of_ifbench, *of_ifeval]
    assert figure(found, "ifeval_repaired_verdicts").title == "Does it follow IFEval's instructions, on repaired rows?"
    # 9 of the 18 rows have a second instruction.
    for rows in ("published", "repaired"):
        of_levels = numbers(found, f"ifeval_{rows}_verdicts")
        assert values(of_levels[DROP_ONE, "prompt level"])["strict"] == 0.0
        assert values(of_levels[DROP_ONE, "instruction level"])["strict"] == pytest.approx(9 / 27)
        assert len(figure(found, f"ifeval_{rows}_types").table.rows) == 25


def test_a_type_is_followed_as_often_as_in_the_mean_of_its_draws(result_folder: ResultFolder, tmp_path: Path) -> None:
    folder = shutil.copytree(result_folder("oracle", ("ifbench",), repeats=2), tmp_path / "draws")
    (once,) = {cell.value for cells in numbers(section_of(folder), "ifbench_types").values() for cell in cells.values()}
    # The second draw follows nothing.
    with edited_lines(*folder.rglob("samples_*.jsonl")) as lines:
        for line in lines:
            for verdict in line["draws"]["instructions"][1]:
                verdict["loose"] = False
    found = numbers(section_of(folder), "ifbench_types")
    assert (once, {cell.value for cells in found.values() for cell in cells.values()}) == (1.0, {0.5})
