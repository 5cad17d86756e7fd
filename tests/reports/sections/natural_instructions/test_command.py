"""``lm-eval-ext natural-instructions gains``: what is read from result files, and the gains and gaps that it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.natural_instructions.schema import OWN
from lm_eval_ext.reports.sections.natural_instructions.command import gains, read_encodings
from lm_eval_ext.sources import RowsError

QUESTIONS, ANSWERS = "question_generation", "answer_generation"
CATEGORIES = {"s1": QUESTIONS, "s2": QUESTIONS, "s3": ANSWERS}
COUNTS = {"s2": 10}
"""Of rows; all other subtasks have 100."""


def leaf(subtask: str, encoding: str, rouge_l: float, n: int = 100, **metadata: Any) -> dict[str, Any]:
    """Return what the harness writes of one of our tasks, by its keys at the top."""
    name = f"natural_instructions_{subtask}_{encoding}"
    said = {"family": "natural_instructions", "dataset": subtask, "version": 1.0, "prompt_budget": {"limit": 8}}
    said |= {"subtask": subtask, "category": CATEGORIES.get(subtask), "encoding": encoding}
    said |= {"source": "embedded", "instances_hash": f"hash of {subtask}", "rows_hash": encoding} | metadata
    return {
        "results": {name: {"alias": name, "rouge_l,none": rouge_l, "rouge_l_stderr,none": 0.01}},
        "configs": {name: {"task": name, "metadata": said}},
        "n-samples": {name: {"original": 100, "effective": n}},
    }


def results(path: Path, *leaves: Mapping[str, Any], date: float = 1.0, model: str = "tiny", **top: Any) -> Path:
    content: dict[str, Any] = {key: {} for key in ("results", "configs", "n-samples")}
    for one in leaves:
        content = {key: content[key] | one[key] for key in content}
    content |= {"config": {"model": "hf", "model_args": {"pretrained": model}}, "date": date, **top}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def complaint_of(*paths: Path, **options: bool) -> str:
    """Return why runs are not compared."""
    with pytest.raises(RowsError) as error:
        read_encodings(paths, **options)
    return str(error.value)


def test_several_models_are_an_error_that_names_them(tmp_path: Path) -> None:
    results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), model="one")
    results(tmp_path / "results_2.json", leaf("s1", "all", 0.2), model="two")
    assert re.search(
        r"several models: hf pretrained=one \(.*results_1.json\); hf pretrained=two \(.*results_2.json\)",
        complaint_of(tmp_path),
    )


def test_each_encoding_may_have_a_model_of_its_own_on_request(tmp_path: Path) -> None:
    for encoding in ("prompt", "all"):
        own = leaf("s1", encoding, 0.2, prompt_budget={"limit": 8, "tokenizer": f"bart-{encoding}"})
        results(tmp_path / f"results_{encoding}.json", own, model=f"bart-{encoding}")
    entries, setting, _ = read_encodings([tmp_path], model_per_encoding=True)
    assert setting["model"] == "all: hf pretrained=bart-all; prompt: hf pretrained=bart-prompt"
    assert len(entries.entries) == 2
    results(tmp_path / "results_other.json", leaf("s3", "all", 0.2), model="another")
    said = complaint_of(tmp_path, model_per_encoding=True)
    assert re.search("several models: hf pretrained=another .*; hf pretrained=bart-all", said)


@pytest.mark.parametrize(
    ("part", "change", "complaint"),
    [
        ("rows", {"source": "hub"}, "source is 'hub' for 'all' .* and 'embedded' for 'prompt'"),
        ("rows", {"instances_hash": "other"}, "instances_hash is 'other' for 'all' .* and 'hash of s1' for 'prompt'"),
        ("rows", {"n": 3}, "number of rows is 3 for 'all' .* and 100 for 'prompt'"),  # a run with --limit
        ("rows", {"version": 2.0}, "version is 2.0 for 'all' .* and 1.0 for 'prompt'"),
        ("rows", {"prompt_budget": {"limit": 9}}, "prompt_budget is {'limit': 9} for 'all'"),
        ("config", {"generation_kwargs": {"max_gen_toks": 512}}, "generation_kwargs is"),
        ("file", {"chat_template_sha": "f00d"}, "chat_template_sha is"),
        ("file", {"system_instruction_sha": "f00d"}, "system_instruction_sha is"),
    ],
)
def test_encodings_on_different_rows_or_in_different_settings_are_an_error(
    part: str, change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    changes: dict[str, dict[str, Any]] = {"rows": {}, "config": {}, "file": {}, part: change}
    results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2))
    task = leaf("s1", "all", 0.3, **changes["rows"])
    task["configs"]["natural_instructions_s1_all"] |= changes["config"]
    results(tmp_path / "results_2.json", task, **changes["file"])
    assert re.match(f"s1: its encodings were run differently, .*: {complaint}", complaint_of(tmp_path))


@pytest.mark.parametrize(
    ("fact", "values"),
    [("examples", (None, "paper")), ("examples", (3, "paper")), ("bleurt", ("BLEURT-20", "BLEURT-20-D3"))],
)
def test_a_mean_over_subtasks_is_of_one_setting(fact: str, values: tuple[Any, Any], tmp_path: Path) -> None:
    leaves = [
        leaf(subtask, "prompt", 0.2, **{fact: value}) for subtask, value in zip(("s1", "s3"), values, strict=True)
    ]
    file = results(tmp_path / "results_1.json", *leaves)
    message = f"{fact} is {values[0]!r} for natural_instructions_s1_prompt .* and {values[1]!r} for natural_instr.*_s3"
    assert re.search(message, complaint_of(file))


def test_the_setting_and_bleurt_are_read(tmp_path: Path) -> None:
    name = "subtask033_winogrande_answer_generation"
    one = leaf("s1", "prompt", 0.2, examples="paper", bleurt="BLEURT-20")
    (config,), (figures,) = one["configs"].values(), one["results"].values()
    config["metadata"] |= {"dataset": name, "subtask": name}
    figures["bleurt,none"] = -0.4
    study, setting, _ = read_encodings([results(tmp_path / "results_1.json", one)])
    assert (setting["examples"], setting["bleurt"]) == ("paper", "BLEURT-20")
    found = gains(study, "prompt")
    assert found["source_datasets"]["winogrande"] == found["categories"][QUESTIONS] == found["average"]
    assert found["average"]["prompt"]["bleurt"] == -0.4


def test_runs_without_bleurt_may_be_next_to_runs_with_it(tmp_path: Path) -> None:
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3, bleurt="BLEURT-20"))
    assert read_encodings([file])[1]["bleurt"] == "BLEURT-20"


def test_subtasks_may_differ_in_their_rows_and_encodings_in_their_prompts(tmp_path: Path) -> None:
    leaves = [leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3, rows_hash="x"), leaf("s3", "prompt", 0.2, n=7)]
    assert len(read_encodings([results(tmp_path / "results_1.json", *leaves)])[0].entries) == 3


def test_two_tasks_of_one_subtask_and_encoding_are_an_error(tmp_path: Path) -> None:
    renamed = json.loads(json.dumps(leaf("s1", "prompt", 0.2)).replace("natural_instructions_s1_prompt", "mine"))
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), renamed)
    expected = "s1, encoding 'prompt': two tasks, mine .* and natural_instructions_s1_prompt"
    assert re.search(expected, complaint_of(file))


# Gains


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Compares encodings, each given as subtask to ROUGE-L; a subtask without a category is a user's own."""

    def found(base: str = "prompt", **scores: Mapping[str, float]) -> dict[str, Any]:
        leaves = [
            leaf(subtask, encoding, rouge_l, COUNTS.get(subtask, 100))
            for encoding, of_encoding in scores.items()
            for subtask, rouge_l in of_encoding.items()
        ]
        return gains(read_encodings([results(tmp_path / "results_1.json", *leaves)])[0], base)

    return found


Compared = Callable[..., dict[str, Any]]


def matches(gain: Mapping[str, Any], rouge_l: float, base: float, percent: float, subtasks: int) -> bool:
    found = (gain["rouge_l"], gain["base_rouge_l"], gain["gain_percent"], gain["subtasks"])
    return bool(found == pytest.approx((rouge_l, base, percent, subtasks)))


def test_a_gain_is_relative_to_the_base_per_category_and_over_all_subtasks(compared: Compared) -> None:
    found = compared(prompt={"s1": 0.2, "s2": 0.4, "s3": 0.5}, all={"s1": 0.4, "s2": 0.5, "s3": 0.4})
    assert sorted(found["categories"]) == [ANSWERS, QUESTIONS]
    # Questions: 0.45 vs. 0.3: +50 %, and not the mean of +100 % and +25 %.
    assert matches(found["categories"][QUESTIONS]["all"], 0.45, 0.3, 50.0, 2)
    # Answers: 0.4 vs. 0.5: -20 %.
    assert matches(found["categories"][ANSWERS]["all"], 0.4, 0.5, -20.0, 1)
    # All: 1.3 / 3 vs. 1.1 / 3: 0.2 / 1.1 = +18.18 %; each subtask counts the same, not each category or row.
    assert matches(found["average"]["all"], 1.3 / 3, 1.1 / 3, 200 / 11, 3)
    assert matches(found["average"]["prompt"], 1.1 / 3, 1.1 / 3, 0.0, 3)
    assert found["left_out"] == []


def test_subtasks_without_both_runs_are_left_out_and_named(compared: Compared) -> None:
    found = compared(prompt={"s1": 0.2, "s3": 0.5}, all={"s1": 0.3, "s2": 1.0}, positive={"s2": 1.0})
    # s1 alone: 0.3 vs. 0.2; s3 lacks "all", s2 lacks the base.
    assert matches(found["average"]["all"], 0.3, 0.2, 50.0, 1)
    assert matches(found["categories"][QUESTIONS]["all"], 0.3, 0.2, 50.0, 1)
    assert "all" not in found["categories"][ANSWERS]
    # The base itself is shown over all that it was run on.
    assert matches(found["average"]["prompt"], 0.35, 0.35, 0.0, 2)
    # No pair: no figure.
    assert "positive" not in found["average"]
    assert [(one["subtask"], one["encoding"], one["missing"]) for one in found["left_out"]] == [
        ("s2", "all", "prompt"),
        ("s3", "all", "all"),
        ("s1", "positive", "positive"),
        ("s2", "positive", "prompt"),
        ("s3", "positive", "positive"),
    ]


@pytest.mark.parametrize(("base", "other"), [("instance", "prompt"), ("all", "all_minus_negative")])
def test_the_base_may_be_no_instruction_or_the_whole_one(base: str, other: str, compared: Compared) -> None:
    found = compared(base, **{base: {"s1": 0.4, "s2": 0.2}, other: {"s1": 0.5, "s2": 0.4}})
    assert found["base"] == base
    # 0.45 vs. 0.3.
    assert matches(found["average"][other], 0.45, 0.3, 50.0, 2)


def test_gains_are_also_computed_per_source_dataset(compared: Compared) -> None:
    one, two = "subtask039_qasc_find_overlapping_words", "subtask040_qasc_question_generation"
    other = "subtask033_winogrande_answer_generation"
    found = compared(
        prompt={one: 0.2, two: 0.4, other: 0.5, "mine": 0.1}, all={one: 0.3, two: 0.3, other: 0.6, "mine": 0.2}
    )
    assert sorted(found["source_datasets"]) == ["qasc", OWN, "winogrande"]
    assert matches(found["source_datasets"]["qasc"]["all"], 0.3, 0.3, 0.0, 2)
    assert matches(found["source_datasets"]["winogrande"]["all"], 0.6, 0.5, 20.0, 1)
    assert matches(found["source_datasets"][OWN]["all"], 0.2, 0.1, 100.0, 1)
    # Here, they have no category.
    assert matches(found["categories"][OWN]["all"], 0.35, 0.3, 50 / 3, 4)


@pytest.mark.parametrize(
    ("values", "gain"),
    [
        # 0.45 vs. 0.3: +50 %.
        (((0.2, 0.4), (0.4, 0.5)), (0.45, 0.3, 50.0)),
        (((0.2, 0.4), (None, 0.5)), (None, None, None)),
        # A gain over a mean that is not above 0 makes no sense.
        (((-0.2, 0.4), (0.0, 0.2)), (0.3, -0.1, None)),
    ],
)
def test_bleurt_is_compared_where_every_subtask_has_it(
    values: Any, gain: tuple[float | None, ...], tmp_path: Path
) -> None:
    leaves = []
    for number, pair in enumerate(values):
        for encoding, bleurt in zip(("prompt", "all"), pair, strict=True):
            one = leaf(f"s{number}", encoding, 0.5, bleurt=bleurt and "BLEURT-20")
            (figures,) = one["results"].values()
            figures |= {} if bleurt is None else {"bleurt,none": bleurt}
            leaves.append(one)
    found = gains(read_encodings([results(tmp_path / "results_1.json", *leaves)])[0], "prompt")["average"]["all"]
    assert [found[key] for key in ("bleurt", "base_bleurt", "bleurt_gain_percent")] == pytest.approx(gain)


def test_a_base_of_zero_has_no_gain(compared: Compared) -> None:
    found = compared(prompt={"s1": 0.0, "s3": 0.5}, all={"s1": 0.3, "s3": 0.5})
    assert found["categories"][QUESTIONS]["all"] == dict(
        rouge_l=0.3,
        base_rouge_l=0.0,
        gain_percent=None,
        subtasks=1,
        instances=100,
        **dict.fromkeys(("bleurt", "base_bleurt", "bleurt_gain_percent")),
    )
    assert matches(found["average"]["all"], 0.4, 0.25, 60.0, 2)  # its share in a mean that is not zero counts


# What is printed


def test_gains_prints_json_and_reports_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "old" / "results_1.json", leaf("s1", "prompt", 0.9), date=1.0)
    results(tmp_path / "new" / "results_2.json", leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3), date=2.0)
    results(tmp_path / "new" / "results_3.json", leaf("s3", "all", 0.5), date=2.0)
    assert main(["natural-instructions", "gains", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    printed = capsys.readouterr()
    no_bleurt = dict.fromkeys(("bleurt", "base_bleurt", "bleurt_gain_percent"))
    base = {"rouge_l": 0.2, "base_rouge_l": 0.2, "gain_percent": 0.0, "subtasks": 1, "instances": 100} | no_bleurt
    # (0.3 - 0.2) / 0.2 = +50 %
    everything = base | {"rouge_l": 0.3, "gain_percent": pytest.approx(50.0)}
    assert json.loads(printed.out) == {
        "model": "hf pretrained=tiny",
        "examples": None,
        "bleurt": None,
        "base": "prompt",
        "categories": {"question_generation": {"prompt": base, "all": everything}},
        "source_datasets": {"uncategorised": {"prompt": base, "all": everything}},
        "average": {"prompt": base, "all": everything},
        "left_out": [{"subtask": "s3", "encoding": "all", "missing": "prompt"}],
    }
    older, left_out = printed.err.splitlines()
    assert older.startswith(f"{tmp_path / 'old' / 'results_1.json'}: not used for natural_instructions_s1_prompt: ")
    assert left_out == "s3 is left out of the gain of 'all': no run of 'prompt'"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--base", "instance"], "lm-eval-ext: no run of the base encoding 'instance'; found all, prompt"),
        (["nowhere"], "lm-eval-ext: nowhere: No such file or directory"),
    ],
)
def test_the_error_explains_why_gains_are_unavailable(
    options: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3))
    assert main(["natural-instructions", "gains", str(file), *options]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(complaint)


# The upper bound


def runs(folder: Path) -> Path:
    """Write the results of one model under two encodings."""
    leaves = [leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3), leaf("s3", "prompt", 0.4), leaf("s2", "prompt", 0.1)]
    return results(folder / "runs" / "results_1.json", *leaves)


def bound(folder: Path, subtask: str, rouge_l: float, encoding: str = "instance", **metadata: Any) -> Path:
    """Write the results of the model trained on one subtask."""
    path = folder / "bounds" / f"of {subtask}" / encoding / "results_1.json"
    return results(path, leaf(subtask, encoding, rouge_l, **metadata), model=f"bart-{subtask}")


def against_bounds(tmp_path: Path) -> int:
    given = [str(tmp_path / "runs"), "--upper-bound", str(tmp_path / "bounds")]
    return main(["natural-instructions", "gains", *given])


def test_the_gap_is_over_the_subtasks_that_have_an_upper_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs(tmp_path)
    # Another budget: the task-specific model has another tokenizer.
    bound(tmp_path, "s1", 0.5, prompt_budget={"limit": 1008})
    bound(tmp_path, "s3", 0.8)
    assert against_bounds(tmp_path) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["average"]["prompt"]["subtasks"] == 3
    assert found["upper_bound"] == {
        "models": {"s1": "hf pretrained=bart-s1, instance", "s3": "hf pretrained=bart-s3, instance"},
        "rouge_l": pytest.approx(0.65),
        "subtasks": 2,
        "average": {
            # (0.5 + 0.8) / 2 - (0.2 + 0.4) / 2 = 0.35, of 0.65: 53.8 %; s2 has no upper bound.
            "prompt": gap(0.3, 0.65, 0.35, 3500 / 65, 2),
            "all": gap(0.3, 0.5, 0.2, 40.0, 1),
        },
        "categories": {
            QUESTIONS: {"prompt": gap(0.2, 0.5, 0.3, 60.0, 1), "all": gap(0.3, 0.5, 0.2, 40.0, 1)},
            ANSWERS: {"prompt": gap(0.4, 0.8, 0.4, 50.0, 1)},
        },
        "without_upper_bound": ["s2"],
    }
    assert "s2 is left out of the gaps: no upper bound" in printed.err.splitlines()


def gap(rouge_l: float, upper_bound: float, distance: float, percent: float, subtasks: int) -> dict[str, Any]:
    return {
        "rouge_l": pytest.approx(rouge_l),
        "upper_bound": pytest.approx(upper_bound),
        "gap": pytest.approx(distance),
        "gap_percent": pytest.approx(percent),
        "subtasks": subtasks,
    }


def test_an_upper_bound_of_zero_has_no_relative_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(tmp_path)
    bound(tmp_path, "s1", 0.0)
    assert against_bounds(tmp_path) == 0
    found = json.loads(capsys.readouterr().out)["upper_bound"]["average"]["prompt"]
    assert (found["gap"], found["gap_percent"]) == (-0.2, None)


def test_an_upper_bound_on_other_rows_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(tmp_path)
    bound(tmp_path, "s1", 0.5, instances_hash="another")
    assert against_bounds(tmp_path) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "s1: the upper bound was run differently, so a gap would be meaningless: instances_hash is" in printed.err


def test_an_upper_bound_of_other_subtasks_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "runs" / "results_1.json", leaf("s1", "prompt", 0.2))
    bound(tmp_path, "s3", 0.5)
    assert against_bounds(tmp_path) == 1
    assert "the upper bound is of other subtasks (s3) than the scores (s1); expected" in capsys.readouterr().err
