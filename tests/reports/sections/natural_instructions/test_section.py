"""The report's section on Natural Instructions: known answers, gains by hand, and what is not compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.schema import EVALUATION
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, HeatMap, Section, TableCell
from lm_eval_ext.reports.sections.natural_instructions.section import section
from lm_eval_ext.results.issue import note, warning
from lm_eval_ext.results.load import load
from tests.families.natural_instructions.test_bleurt import BERT, checkpoint
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited, edited_lines, write_tasks
from tests.reports.sections import reading_tables
from tests.reports.sections.reading_tables import Exactly, marks, numbers, section_on, titles, values

NI = "natural_instructions"
WINOGRANDE, QASC = "subtask033_winogrande_answer_generation", "subtask040_qasc_question_generation"
ENCODINGS = ("instance", "prompt", "prompt_definition", "all", "positive")
ORACLE, ECHO = "reference policy=oracle", "reference policy=echo"
section_of = partial(section_on, section)


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder) -> list[Path]:
    tasks = [
        f"{NI}_{subtask}_{encoding}" for subtask in (WINOGRANDE, QASC) for encoding in ("prompt", "all", "positive")
    ]
    return [result_folder(policy, tasks) for policy in ("oracle", "echo")]


@pytest.fixture(scope="module")
def known(folders: list[Path]) -> Section:
    return section_of(*folders)


def figure(found: Section, name: str) -> Figure:
    return reading_tables.figure(found, f"{NI}_{name}")


def names(found: Section) -> list[str]:
    return [name.removeprefix(f"{NI}_") for name in reading_tables.names(found)]


def cells(found: Section, name: str) -> dict[tuple[TableCell, ...], Mapping[str, Estimate]]:
    """Return the estimates of a figure's table by the first two columns, by heading."""
    return {about[:2]: line for about, line in numbers(found, f"{NI}_{name}").items()}


# Known answers


def test_the_oracle_scores_1_under_every_encoding_and_gains_nothing(known: Section) -> None:
    rouge_l = cells(known, "rouge_l")[ORACLE, "all 2 subtasks"]
    encodings = ("prompt", "all", "positive")
    assert {encoding: rouge_l[encoding] for encoding in encodings} == dict.fromkeys(encodings, Exactly(1.0))
    assert [rouge_l[f"{encoding}, above floor"].value for encoding in encodings] == pytest.approx([1] * 3)
    gain = cells(known, "gain")[ORACLE, "all 2 subtasks"]
    assert list(gain) == ["all", "positive", "all, relative (%)", "positive, relative (%)"]
    assert all(each == Exactly(0.0) for each in gain.values())


def test_the_echo_has_the_harnesss_scores_with_subtasks_weighted_equally(known: Section, folders: list[Path]) -> None:
    results = json.loads(next(folders[1].rglob("results_*.json")).read_text(encoding="utf-8"))["results"]
    by_subtask = cells(known, "subtasks")
    for subtask in (WINOGRANDE, QASC):
        for encoding, value in by_subtask[ECHO, subtask].items():
            assert value.value == pytest.approx(results[f"{NI}_{subtask}_{encoding}"]["rouge_l,none"])
            assert value.low < value.value < value.high
    mean = (by_subtask[ECHO, WINOGRANDE]["prompt"].value + by_subtask[ECHO, QASC]["prompt"].value) / 2
    found = cells(known, "rouge_l")[ECHO, "all 2 subtasks"]
    assert found["prompt"].value == pytest.approx(mean)
    # No answer without content scores more.
    assert found["prompt, above floor"].value == pytest.approx(0)
    bars, *_ = marks(figure(known, "rouge_l"), Bars)
    assert bars.reference == pytest.approx(mean)
    assert bars.reference_name == "floor: the prompt itself"


def test_the_examples_show_an_echo_and_right_answers(known: Section) -> None:
    echo, *right = known.examples
    assert (echo.model, echo.why) == (ECHO, "The answer repeats its input.")
    assert {(example.model, example.why.split()[1]) for example in right} == {(ORACLE, "comparison:")}
    assert echo.answer in echo.prompt


# Figures by hand

Scores = Mapping[tuple[str, str], Sequence[float]]
"""By subtask and encoding ROUGE-L of each instance."""


def write(folder: Path, scores: Scores, model: str = "one", *, samples: bool = True, **changed: Any) -> Path:
    """Write a run.

    Args:
        folder: of its files.
        scores: what it scored.
        model: whose it is.
        samples: whether there are any.
        changed: by encoding, entries of its tasks' metadata.
    """
    lines, figures, metadata = {}, {}, {}
    for (subtask, encoding), of_task in scores.items():
        task = f"{NI}_{subtask}_{encoding}"
        lines[task] = [
            {
                "doc": {"index": number, "input": f"The input number {number}.", "output": [f"word{number}"]},
                "arguments": {"gen_args_0": {"arg_0": f"{encoding} {number}", "arg_1": {}}},
                "resps": [[answer(number, score)]],
                "filter": "none",
                "rouge_l": score,
            }
            for number, score in enumerate(of_task)
        ]
        figures[task] = {"rouge_l,none": sum(of_task) / len(of_task), "rouge_l_stderr,none": 0.01}
        metadata[task] = {
            "family": NI,
            "dataset": subtask,
            "subtask": subtask,
            "category": "verification" if subtask in ("one", "two") else None,
            "encoding": encoding,
            "source": "hub",
            "version": "1.0",
            "prompt_budget": {"limit": 8},
            "instances_hash": f"hash of {subtask}",
            "rows_hash": f"{subtask} {encoding}",
            **changed.get(encoding, {}),
        }
    config = {"model": "hf", "model_args": {"pretrained": f"owner/{model}"}}
    write_tasks(folder, lines, figures, metadata, config=config, samples=samples)
    return folder


def answer(number: int, score: float) -> str:
    """Return an answer that tells what it scored by its look."""
    if score == 1:
        return f"word{number}"
    return {0.0: "", 0.1: f"The input number {number}.", 0.2: f"I think Word{number}, surely", 0.3: "x\nreason: y"}.get(
        score, "something else"
    )


def test_a_gain_is_that_of_the_mean_over_subtasks_and_relative_to_it_by_category(tmp_path: Path) -> None:
    both = {"one": (0.2, 0.4), "two": (0.4, 0.5), "own": (0.5, 0.4)}
    rows = {"one": 4, "two": 2, "own": 3}
    folder = write(
        tmp_path,
        {
            (subtask, encoding): [score] * rows[subtask]
            for subtask, scores in both.items()
            for encoding, score in zip(("prompt", "all"), scores, strict=True)
        },
    )
    found = section_of(folder)
    # (0.4 + 0.5 + 0.4) / 3 vs. (0.2 + 0.4 + 0.5) / 3: 0.2 / 3 more, +18.18 %; each subtask counts the same.
    overall = cells(found, "gain")["one", "all 3 subtasks"]
    assert overall["all"].value == pytest.approx(0.2 / 3)
    assert overall["all, relative (%)"].value == pytest.approx(0.2 / 1.1)
    by_category = cells(found, "gain_by_category")
    # Verification: 0.45 vs. 0.3. Own subtasks: 0.4 vs. 0.5.
    assert by_category["one", "verification"]["all"].value == pytest.approx(0.15)
    assert by_category["one", "verification"]["all, relative (%)"].value == pytest.approx(0.5)
    assert by_category["one", "uncategorised"]["all"].value == pytest.approx(-0.1)
    assert by_category["one", "uncategorised"]["all, relative (%)"].value == pytest.approx(-0.2)
    assert [row[2] for row in figure(found, "gain_by_category").table.rows] == [1, 2, 3]
    # Table 3: the means by category, too, which are not drawn.
    means = {scope: cell["all"].value for (_, scope), cell in cells(found, "rouge_l").items()}
    assert means == pytest.approx({"all 3 subtasks": 1.3 / 3, "uncategorised": 0.4, "verification": 0.45})
    assert len(figure(found, "rouge_l").panels) == 1


def test_a_gain_is_paired(tmp_path: Path) -> None:
    # Instances differ wildly, but each gains exactly 0.1; unpaired it would be 0.1 -+ 0.088. Two hundred of them miss
    # 1 - 0.025**(1 / 200) = 1.8 % that may lose or gain everything.
    scores = {("one", "prompt"): [0.0, 0.9] * 100, ("one", "all"): [0.1, 1.0] * 100}
    shown = cells(section_of(write(tmp_path, scores)), "gain")["one", "the one subtask"]["all"]
    assert shown.value == pytest.approx(0.1)
    assert (shown.low, shown.high) == pytest.approx((0.1 - 0.018 * 1.1, 0.1 + 0.018 * 0.9), abs=0.001)


def test_without_prompt_the_base_is_instance_and_one_of_zero_has_no_relative_gain(tmp_path: Path) -> None:
    found = section_of(write(tmp_path, {("one", "instance"): [0.0] * 3, ("one", "positive"): [0.5] * 3}))
    gain = cells(found, "gain")["one", "the one subtask"]
    assert gain["positive"].value == 0.5
    assert not gain["positive, relative (%)"].exists
    assert "“instance”" in figure(found, "gain").title


def test_a_single_encoding_has_no_gains_and_says_so(tmp_path: Path) -> None:
    found = section_of(write(tmp_path, {("one", "prompt"): [0.2, 0.4]}))
    assert names(found) == ["rouge_l", "subtasks"]
    assert any(issue.text.startswith("No gains") for issue in found.issues)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"instances_hash": "others"}, "instances"),
        ({"source": "folder"}, "source"),
        ({"examples": 3}, "number of examples"),
        ({"prompt_budget": {"limit": 1}}, "prompt_budget"),
        ({"version": "2.0"}, "version"),
    ],
)
def test_an_encoding_in_another_setting_is_left_out_and_the_difference_is_named(
    changed: dict[str, object], named: str, tmp_path: Path
) -> None:
    scores = {("one", encoding): [0.1, 0.3] for encoding in ("prompt", "all", "positive")}
    found = section_of(write(tmp_path, scores, all=changed))
    assert figure(found, "rouge_l").table.columns == ("model", "mean over", "prompt", "positive")
    assert warning(f"one: {NI}_one_all left out: differs from the run under 'prompt' in {named}") in found.issues


def test_models_on_different_instances_are_named(tmp_path: Path) -> None:
    scores = {("one", "prompt"): [0.1, 0.3]}
    found = section_of(
        write(tmp_path / "a", scores), write(tmp_path / "b", scores, "two", prompt={"instances_hash": "others"})
    )
    assert warning("Models were run on different instances of one: do not compare them there.") in found.issues


def test_means_are_over_the_subtasks_that_every_model_ran(tmp_path: Path) -> None:
    both = {("one", "prompt"): [0.2] * 2, ("two", "prompt"): [0.8] * 2}
    one = {("one", "prompt"): [0.4] * 2}
    found = section_of(write(tmp_path / "a", both), write(tmp_path / "b", one, "two"))
    means = cells(found, "rouge_l")
    scope = "the one subtask that all models were run on"
    assert means["one", scope]["prompt"].value == pytest.approx(0.2)
    assert means["two", scope]["prompt"].value == pytest.approx(0.4)
    by_subtask = cells(found, "subtasks")
    assert by_subtask["one", "two"]["prompt"].value == pytest.approx(0.8)
    assert not by_subtask["two", "two"]["prompt"].exists


def test_the_evaluation_split_has_its_own_mean(tmp_path: Path) -> None:
    split = {(subtask, "prompt"): [0.5] * 2 for subtask in EVALUATION}
    found = section_of(write(tmp_path / "more", {**split, ("own", "prompt"): [0.0] * 2}))
    means = cells(found, "rouge_l")
    assert means["one", "the evaluation split (12 subtasks)"]["prompt"].value == 0.5
    assert means["one", "all 13 subtasks"]["prompt"].value == pytest.approx(6 / 13)
    assert [panel.title for panel in figure(found, "rouge_l").panels] == [name for _, name in means]
    alone = section_of(write(tmp_path / "alone", split))
    assert list(cells(alone, "rouge_l")) == [("one", "the evaluation split (12 subtasks)")]


def test_a_model_with_an_incomplete_split_has_no_mean_over_it_and_is_named(tmp_path: Path) -> None:
    split = {(subtask, "prompt"): [0.5] * 2 for subtask in EVALUATION}
    part = {place: scores for place, scores in split.items() if place[0] != EVALUATION[0]}
    found = section_of(write(tmp_path / "a", split), write(tmp_path / "b", part, "two"))
    means = cells(found, "rouge_l")
    assert not means["two", "the evaluation split (12 subtasks)"]["prompt"].exists
    assert means["two", "the 11 subtasks that all models were run on"]["prompt"].value == 0.5
    (issue,) = figure(found, "rouge_l").issues
    assert issue.severity == "warning"
    assert issue.text.startswith("two: not every subtask was run with 'prompt'")


def test_the_ablation_compares_each_encoding_with_the_one_it_modifies(tmp_path: Path) -> None:
    scores = {"prompt": 0.2, "all": 0.5, "all_minus_examples": 0.3, "prompt_examples": 0.4, "prompt_definition": 0.25}
    found = section_of(write(tmp_path, {("one", encoding): [score] * 3 for encoding, score in scores.items()}))
    rows = {row[1]: row for row in figure(found, "ablation").table.rows}
    assert {name: row[2] for name, row in rows.items()} == {
        "prompt_definition": "prompt",
        "all_minus_examples": "all",
        "prompt_examples": "prompt",
    }
    changes = {name: values(cell) for (_, name), cell in cells(found, "ablation").items()}
    # With the definition 0.25 - 0.2; without examples 0.3 - 0.5; with them 0.4 - 0.2.
    for name, change, relative in (
        ("prompt_definition", 0.05, 0.25),
        ("all_minus_examples", -0.2, -0.4),
        ("prompt_examples", 0.2, 1.0),
    ):
        assert changes[name] == pytest.approx({"change in ROUGE-L": change, "relative (%)": relative})
    taken, added = marks(figure(found, "ablation"), HeatMap)
    assert (taken.columns, added.columns) == (("examples",), ("definition", "examples"))
    assert taken.unit == added.unit == "change"
    # The five encodings of the other figures have none of the ablation's.
    assert figure(found, "rouge_l").table.columns[2:] == ("prompt", "prompt_definition", "all")


def test_the_five_encodings_are_not_an_ablation(tmp_path: Path) -> None:
    scores = {("one", encoding): [0.5] * 2 for encoding in ENCODINGS}
    assert "ablation" not in names(section_of(write(tmp_path, scores)))


def test_gains_are_shown_by_source_dataset_if_there_are_several(tmp_path: Path) -> None:
    scores = {
        (WINOGRANDE, "prompt"): [0.2] * 2,
        (WINOGRANDE, "all"): [0.5] * 2,
        (QASC, "prompt"): [0.4] * 2,
        (QASC, "all"): [0.3] * 2,
    }
    gain = cells(section_of(write(tmp_path / "a", scores)), "gain_by_source_dataset")
    assert {where: cell["all"].value for where, cell in gain.items()} == {
        ("one", "winogrande"): pytest.approx(0.3),
        ("one", "qasc"): pytest.approx(-0.1),
        ("one", "all 2 subtasks"): pytest.approx(0.1),
    }
    one = {place: values for place, values in scores.items() if place[0] == QASC}
    assert "gain_by_source_dataset" not in names(section_of(write(tmp_path / "b", one)))


def test_bleurt_is_shown_where_it_was_requested_as_in_the_harnesss_groups(
    result_folder: ResultFolder, tmp_path: Path
) -> None:
    model = str(checkpoint(tmp_path, BERT))
    folder = result_folder("echo", (f"{NI}_verification",), limit=3, bleurt=model)
    results = json.loads(next(folder.rglob("results_*.json")).read_text(encoding="utf-8"))["results"]
    found = section_of(folder)
    assert model in figure(found, "bleurt").reading
    means = cells(found, "bleurt")[ECHO, "all 2 subtasks"]
    for encoding in ENCODINGS:
        assert means[encoding].value == pytest.approx(results[f"{NI}_verification::{encoding}"]["bleurt,none"])
    # The echo answers alike under every encoding, which does not tell how answers vary.
    assert (means["all, gain"].value, means["all, gain"].has_interval) == (0.0, False)
    assert figure(found, "bleurt").table.unit == "number"


def test_bleurt_of_different_checkpoints_is_not_shown(tmp_path: Path) -> None:
    folders = []
    for model in ("one", "two"):
        folder = write(tmp_path / model, {("one", "prompt"): [0.5] * 2}, model, prompt={"bleurt": f"BLEURT-{model}"})
        with edited(folder) as content:
            content["results"][f"{NI}_one_prompt"]["bleurt,none"] = 0.5
        folders.append(folder)
    found = section_of(*folders)
    assert "bleurt" not in names(found)
    assert warning("No BLEURT: runs were scored with different checkpoints, BLEURT-one, BLEURT-two.") in found.issues
    assert "bleurt" in names(section_of(folders[0]))


def test_two_settings_of_a_model_are_two_models(tmp_path: Path) -> None:
    scores = {("one", "prompt"): [0.5] * 2, ("one", "all"): [0.6] * 2}
    paper = {"examples": "paper", "version": "1.0+paper"}
    filled = {place: [value + 0.2 for value in values] for place, values in scores.items()}
    folders = write(tmp_path / "a", scores), write(tmp_path / "b", filled, prompt=paper, all=paper)
    found = cells(section_of(*folders), "rouge_l")
    assert {model: cell["all"].value for (model, _), cell in found.items()} == {
        "one, no example settings": pytest.approx(0.6),
        "one, example settings=paper": pytest.approx(0.8),
    }


def test_subtasks_in_two_settings_are_named_as_mixed(tmp_path: Path) -> None:
    folders = (
        write(tmp_path / "a", {("one", "prompt"): [0.5] * 2}),
        write(tmp_path / "b", {("two", "prompt"): [0.5] * 2}, prompt={"examples": "paper", "version": "1.0+paper"}),
    )
    differing = f"default ({NI}_one_prompt); paper ({NI}_two_prompt)"
    mixed = "figures over several tasks of natural_instructions mix them"
    issue = warning(f"one: example settings differ between tasks: {differing}; {mixed}")
    assert load(list(folders)).issues == (issue,)


def test_categories_are_rows_and_encodings_columns_with_a_panel_for_each_model(tmp_path: Path) -> None:
    scores = {(subtask, encoding): [0.5] * 2 for subtask in ("one", "own") for encoding in ("prompt", "all")}
    found = section_of(write(tmp_path / "a", scores), write(tmp_path / "b", scores, "two"))
    assert titles(found, f"{NI}_gain_by_category") == ["one", "two"]
    mark, _ = marks(figure(found, "gain_by_category"), HeatMap)
    assert mark.rows == ("uncategorised", "verification", "all 2 subtasks")
    assert (mark.columns, mark.unit) == (("all",), "change")
    (bars,) = marks(figure(found, "gain"), Bars)
    assert (bars.categories, bars.unit) == (("one", "two"), "change")


def test_with_many_models_only_subtasks_of_the_evaluation_split_are_shown(tmp_path: Path) -> None:
    # 61 subtasks under one encoding for 25 models: 1,525 cells; 60 of them: 1,500.
    subtasks = [*EVALUATION, *(f"s{number:02}" for number in range(49))]
    for many, shown in ((subtasks, 12), (subtasks[:-1], 60)):
        scores = {(subtask, "prompt"): [0.5] for subtask in many}
        folders = [write(tmp_path / f"{shown}-{m}", scores, f"m{m}", samples=False) for m in range(25)]
        found = figure(section_of(*folders), "subtasks")
        assert len(found.table.rows) == shown * 25


def test_examples_show_the_largest_gain_and_loss_and_how_answers_fail(tmp_path: Path) -> None:
    scores = {
        ("one", "prompt"): [0.5, 0.0, 1.0, 0.6, 0.1, 0.2, 0.3],
        ("one", "all"): [0.6, 1.0, 0.4, 0.6, 0.6, 0.6, 0.6],
    }
    found = section_of(write(tmp_path, scores))
    by_why = {example.why: example for example in found.examples}
    gain = next(example for why, example in by_why.items() if "better" in why)
    # The second instance: 1.0 vs. 0.0.
    assert (gain.prompt, gain.answer) == ("all 1", "word1")
    assert dict(gain.facts) == {
        "expected": "word1",
        "encoding": "all",
        "ROUGE-L": "100.0 %",
        "answer under “prompt”": "",
        "ROUGE-L under “prompt”": "0.0 %",
    }
    loss = next(example for why, example in by_why.items() if "worse" in why)
    # The third: 0.4 vs. 1.0.
    assert (loss.prompt, dict(loss.facts)["ROUGE-L under “prompt”"]) == ("all 2", "100.0 %")
    assert gain.why == "The same instance is answered better with “all” than with “prompt”."
    assert loss.why == "The same instance is answered worse with “all” than with “prompt”."
    looks = {why.split(",")[0]: example.prompt for why, example in by_why.items()}
    assert looks["The answer is empty."] == "prompt 1"
    assert looks["The answer repeats its input."] == "prompt 4"
    assert looks["The answer contains the right words"] == "prompt 5"
    assert looks["The answer also gives a reason."] == "prompt 6"
    assert any(why.startswith("For comparison: an answer with a ROUGE-L of 100 %") for why in by_why)
    assert len(found.examples) == len(by_why) == 7


def test_the_subtask_with_the_largest_change_is_shown_first(tmp_path: Path) -> None:
    # "two" gains 0.3 and loses 0.1, "one" gains 0.1 and loses 0.4, "own" nothing of the kind.
    scores = {
        ("one", "prompt"): [0.5, 0.9],
        ("one", "all"): [0.6, 0.5],
        ("own", "prompt"): [0.5, 0.5],
        ("own", "all"): [0.55, 0.45],
        ("two", "prompt"): [0.5, 0.6],
        ("two", "all"): [0.8, 0.5],
    }
    shown: dict[str, list[tuple[str, str]]] = {"better": [], "worse": []}
    for example in section_of(write(tmp_path, scores)).examples:
        shown[example.why.split()[5]].append((example.task, example.prompt))
    # Then those of subtasks that were shown least.
    assert shown["better"] == [(f"{NI}_{subtask}_all", "all 0") for subtask in ("two", "own", "one")]
    assert shown["worse"] == [(f"{NI}_{subtask}_all", "all 1") for subtask in ("one", "two", "own")]


def test_the_encodings_with_the_largest_changes_are_named(tmp_path: Path) -> None:
    scores = {"prompt": [0.5, 0.5], "instance": [0.6, 0.5], "all": [0.8, 0.5], "positive": [0.5, 0.5]}
    found = section_of(write(tmp_path, {("one", encoding): values for encoding, values in scores.items()}))
    # The largest gain first; under “positive” nothing changes.
    assert [example.why for example in found.examples] == [
        "The same instance is answered better with “all” than with “prompt”.",
        "The same instance is answered better with “instance” than with “prompt”.",
    ]


@pytest.mark.parametrize(
    ("instead", "reason"),
    [
        ('"arguments": null, "others": ', "a different format from what the harness writes (1)."),
        (f'"more": {"[" * 900}{"]" * 900}, "arguments": ', ""),
    ],
    ids=["no prompts", "too deep"],
)
def test_poor_answers_that_cannot_be_read_are_counted_but_not_shown(instead: str, reason: str, tmp_path: Path) -> None:
    write(tmp_path, {("one", "prompt"): [0.1, 0.0]})
    assert len(section_of(tmp_path).examples) == 2
    file = next(tmp_path.glob("samples_*"))
    file.write_text(file.read_text(encoding="utf-8").replace('"arguments": ', instead), encoding="utf-8")
    found = section_of(tmp_path)
    assert found.examples == ()
    # Of the poor answers that cannot be looked at one of each model is chosen.
    (issue,) = [issue.text for issue in found.issues if "of the 1 selected answers cannot be shown" in issue.text]
    assert issue.endswith(reason)


def test_a_gain_is_over_the_instances_common_to_both_encodings(tmp_path: Path) -> None:
    write(tmp_path, {("one", "prompt"): [0.2, 0.2, 0.8], ("one", "all"): [0.4, 0.4, 0.9]})
    scope = "the one subtask"
    # 0.2, 0.2 and 0.1 more.
    assert cells(section_of(tmp_path), "gain")["one", scope]["all"].value == pytest.approx(0.5 / 3)
    with edited_lines(*tmp_path.glob("samples_*_all_*")) as lines:
        del lines[2:]
    found = section_of(tmp_path)
    gain = cells(found, "gain")["one", scope]
    # 0.4 vs. 0.2 where both were run, and not vs. the 0.4 of all three.
    assert (gain["all"].value, gain["all, relative (%)"].value) == pytest.approx((0.2, 1.0))
    assert note(f"one: {NI}_one_all: instances left out of gains because it or 'prompt' lacks them: 1") in found.issues


@pytest.mark.parametrize(
    ("score", "why", "near_miss"),
    [
        # A word or two of the input are no echo, and a correct word inside another word is no correct answer.
        (0.1, "The answer repeats its input.", "The input"),
        (0.2, "The answer contains the right words", "I think word00, surely"),
    ],
)
def test_a_failure_is_not_taken_for_another(score: float, why: str, near_miss: str, tmp_path: Path) -> None:
    write(tmp_path, {("one", "prompt"): [score]})
    (example,) = section_of(tmp_path).examples
    assert example.why.startswith(why)
    with edited_lines(next(tmp_path.glob("samples_*"))) as (line,):
        line["resps"] = [[near_miss]]
    assert section_of(tmp_path).examples == ()


def test_a_duplicate_of_subtask_and_encoding_is_left_out_and_named(tmp_path: Path) -> None:
    write(tmp_path, {("one", "prompt"): [0.5, 0.5]})
    with edited(tmp_path) as content:
        for part in ("results", "configs", "n-samples"):
            content[part]["own_prompt"] = content[part][f"{NI}_one_prompt"]
    found = section_of(tmp_path)
    text = f"one: own_prompt left out because {NI}_one_prompt has the same subtask and encoding"
    assert note(text) in found.issues
