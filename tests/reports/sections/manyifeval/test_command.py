"""``lm-eval-ext manyifeval table``: what is read from result files, which methods are compared, what is printed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.reports.sections.manyifeval.command import LEGEND, markdown, read_methods
from lm_eval_ext.self_refine.metrics import Confusion
from lm_eval_ext.self_refine.strategies import NAME, STRATEGIES
from lm_eval_ext.sources import RowsError
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited

pytestmark = pytest.mark.harness

Content = dict[str, Any]
FEEDBACK = Confusion(30, 4, 10, 16)
BASE = {"pretrained": "tiny", "dtype": "float32"}


def leaf(name: str, figures: Mapping[str, Any], n: int = 100, **metadata: Any) -> Content:
    """Return what the harness writes of one of our tasks, by its keys at the top."""
    said: Content = {"family": "manyifeval", "dataset": "manyifeval", "version": "1.0", "source": "hub"}
    said |= {"rows_hash": f"hash of {name}", "rows": "cut out", "instructions": 1, "repeat": False} | metadata
    results: Content = {"name": name, "alias": name, "sample_len": n}
    for metric, figure in figures.items():
        results |= {f"{metric},none": figure, f"{metric}_stderr,none": "N/A"}
    config = {"task": name, "num_fewshot": 0, "generation_kwargs": {"until": ["</s>"], "max_gen_toks": 1280}}
    return {
        "results": {name: results},
        "configs": {name: {**config, "metadata": said}},
        "n-samples": {name: {"original": 100, "effective": n}},
    }


def plain(
    name: str = "manyifeval_n01", prompt: float = 0.25, n: int = 100, inst: float = 0.5, **metadata: Any
) -> Content:
    return leaf(name, {"prompt_level_strict_acc": prompt, "inst_level_strict_acc": inst}, n, **metadata)


def refined(  # noqa: PLR0913 # what a run of the refining LM records
    name: str = "manyifeval_n01",
    prompt: float = 0.75,
    n: int = 100,
    rounds: int = 5,
    *,
    inst: float = 0.875,
    feedback: Confusion = FEEDBACK,
    unparsable: float | str = 0.05,
    requests: float = 12.5,
    after: Sequence[tuple[float, float]] = (),
    **metadata: Any,
) -> Content:
    """Return a task whose answers were refined; their accuracies differ in every round, unless ``after`` says them."""
    figures: Content = {"prompt_level_strict_acc": prompt, "inst_level_strict_acc": inst}
    before = after or [(number / 32, 0.5 + number / 32) for number in range(rounds)]
    for number, (prompt_level, inst_level) in enumerate((*before, (prompt, inst))):
        figures[f"prompt_level_strict_acc_round_{number}"] = prompt_level
        figures[f"inst_level_strict_acc_round_{number}"] = inst_level
    figures |= {f"feedback_{name}": count for name, count in asdict(feedback).items()}
    figures |= {"feedback_unparsable": unparsable, "base_requests": requests, "rounds": 2.5}
    return leaf(name, figures, n, strategy="whatever", rounds=rounds, **metadata)


def unjudged(name: str = "manyifeval_n01", rounds: int = 0, **figures: Any) -> Content:
    """Return a task of a strategy without feedback."""
    judged_nothing: Content = {"feedback": Confusion(), "unparsable": "N/A", "requests": rounds + 1.0}
    return refined(name, rounds=rounds, **judged_nothing | figures)


def other_task() -> Content:
    """Return what the harness writes for its own task with the same metrics."""
    content = leaf("ifeval", {"prompt_level_strict_acc": 0.5, "inst_level_strict_acc": 0.5})
    content["configs"]["ifeval"]["metadata"] = {"version": 4.0}
    return content


def write(path: Path, *tasks: Content, model: str = "hf", model_args: object = None, **top: Any) -> Path:
    """Write a file of results.

    Args:
        path: the file.
        tasks: that it is about.
        model: as ``--model``.
        model_args: as ``--model_args``.
        top: further values of the file.
    """
    content: Content = {key: {} for key in other_task()}
    for task in tasks:
        content = {key: content[key] | task[key] for key in content}
    content["config"] = {"model": model, "model_args": BASE if model_args is None else model_args, "batch_size": 1}
    content |= {"date": 1.0, "chat_template_sha": None, "system_instruction_sha": None, "fewshot_as_multiturn": None}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | top), encoding="utf-8")
    return path


def write_refined(path: Path, strategy: str, *tasks: Content, pretrained: str = "tiny", **top: Any) -> Path:
    arguments = {"base": "hf", **BASE, "pretrained": pretrained, "strategy": strategy, "rounds": 5}
    return write(path, *(tasks or (refined(),)), model=NAME, model_args=arguments, **top)


def printed(*paths: Path) -> list[str]:
    return [*markdown(read_methods(paths)[0])]


def rows(head: str, *paths: Path) -> list[str]:
    """Return the rows of all printed tables with a word at their head, without the bars at both ends."""
    parts = "\n".join(printed(*paths)).split("\n\n")
    tables = [part.splitlines() for part in parts if part.startswith(f"| {head} |")]
    return [line.strip("| ") for _, _, *lines in tables for line in lines]


def runs(*paths: Path) -> list[tuple[str, str]]:
    """Return the strategy and the task of each run that is compared."""
    return [(entry["strategy"], entry["task"]) for entry in read_methods(paths)[0].entries]


def complaint_of(*paths: Path) -> str:
    """Return why runs are not compared."""
    with pytest.raises(RowsError) as error:
        read_methods(paths)
    return str(error.value)


@pytest.mark.parametrize(
    ("one", "other", "models"),
    [
        ("base=hf,pretrained=a,rounds=5", {"rounds": 5, "pretrained": "a", "base": "hf"}, ["hf pretrained=a"]),
        (
            "base=hf,pretrained=a,add_bos_token=true",
            {"add_bos_token": True, "base": "hf", "pretrained": "a"},
            ["hf add_bos_token=True,pretrained=a"],
        ),
        ({"base": "hf"}, {"base": "vllm"}, ["hf", "vllm"]),
        (
            {"base": "hf", "pretrained": "a", "revision": "b"},
            {"base": "hf", "pretrained": "a"},
            ["hf pretrained=a", "hf pretrained=a,revision=b"],
        ),
    ],
)
def test_a_model_is_its_base_without_the_arguments_of_the_refinement(
    one: object, other: object, models: list[str], tmp_path: Path
) -> None:
    for number, arguments in enumerate((one, other), start=1):
        write(tmp_path / f"results_{number}.json", refined(), model=NAME, model_args=arguments)
    assert [line for line in printed(tmp_path) if line.startswith("#")] == [f"### `{model}`" for model in models]


@pytest.mark.parametrize(
    ("arguments", "strategy"),
    [
        ({"base": "hf", "strategy": "oracle"}, "oracle"),
        ({"base": "hf", "strategy": "none"}, "none"),
        ("base=hf,strategy=none", "none"),  # the harness reads this as Python's None
        ({"base": "hf"}, "feedback_each_cot"),
    ],
)
def test_the_method_is_the_requested_strategy(arguments: object, strategy: str, tmp_path: Path) -> None:
    content = unjudged() if strategy == "none" else refined()
    file = write(tmp_path / "mine.json", content, model=NAME, model_args=arguments)
    assert runs(file) == [(strategy, "manyifeval_n01")]


@pytest.mark.parametrize(("dates", "newest"), [((1.0, 2.0), 0.875), ((2.0, 1.0), 0.625)])
def test_the_newer_run_of_a_method_is_used_and_the_older_one_named_once(
    dates: tuple[float, float], newest: float, tmp_path: Path
) -> None:
    names = ("manyifeval_n01", "manyifeval_n02")
    first, second = (
        write_refined(
            tmp_path / f"results_{date}_{accuracy}.json",
            "oracle",
            *(refined(name, accuracy) for name in names),
            date=date,
        )
        for date, accuracy in zip(dates, (0.625, 0.875), strict=True)
    )
    study, issues = read_methods([tmp_path])
    assert [entry.run.figure("prompt_level_strict_acc") for entry in study.entries] == [newest] * 2
    used, unused = (second, first) if newest == 0.875 else (first, second)
    assert tuple(map(str, issues)) == (f"{unused}: not used for manyifeval_n01, manyifeval_n02: {used} is newer",)


def test_a_plain_run_and_a_run_with_strategy_none_are_the_same_method(tmp_path: Path) -> None:
    write(tmp_path / "results_1.json", plain(), date=2.0)
    write_refined(tmp_path / "results_2.json", "none", unjudged(), date=1.0)
    (issue,) = read_methods([tmp_path])[1]
    assert [row.split(" | ")[1] for row in rows("Method", tmp_path)] == ["0.250"]
    assert issue.severity == "note"
    assert "results_2.json: not used for manyifeval_n01: " in issue.text
    assert issue.text.endswith("results_1.json is newer")


def test_files_and_tasks_of_others_are_left_out_and_only_files_are_named(tmp_path: Path) -> None:
    ifeval = write(tmp_path / "results_0.json", other_task(), model="vllm")
    mixed = plain()
    mixed["results"]["manyifeval"] = dict(mixed["results"]["manyifeval_n01"])  # the row of a group
    write(tmp_path / "results_1.json", mixed, other_task())
    assert runs(tmp_path) == [("none", "manyifeval_n01")]
    assert tuple(map(str, read_methods([tmp_path])[1])) == (
        f"{ifeval}: no results of manyifeval tasks (ifeval); ignored",
    )


def test_having_no_results_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "results_0.json", other_task())
    said = complaint_of(tmp_path)
    assert said.startswith(f"no results of manyifeval tasks in {tmp_path}, only of ifeval; expected results_")


@pytest.mark.parametrize(
    ("part", "change", "complaint"),
    [
        ("rows", {"source": "embedded"}, "source: 'hub' for 'none', .* and 'embedded' for 'oracle', task many"),
        ("rows", {"rows_hash": "f00d"}, "rows_hash: 'hash of manyifeval_n01' for 'none', .* and 'f00d' for 'oracle'"),
        ("rows", {"version": "1.1"}, "version: '1.0' for 'none', .* and '1.1' for 'oracle'"),
        ("rows", {"n": 5}, "number of rows: 100 for 'none', .* and 5 for 'oracle'"),  # a run with --limit
        ("config", {"num_fewshot": 2}, "num_fewshot: 0 for 'none'.* and 2 for 'oracle'"),
        ("config", {"generation_kwargs": {"top_p": 1}}, "generation_kwargs: .* and {'top_p': 1} for 'oracle'"),
        ("file", {"chat_template_sha": "f00d"}, "chat_template_sha: None for 'none'.* and 'f00d' for 'oracle'"),
        ("file", {"system_instruction_sha": "f00d"}, "system_instruction_sha: None for 'none'.* and 'f00d' for 'oracl"),
    ],
)
def test_methods_on_different_rows_or_in_different_settings_are_not_compared(
    part: str, change: Content, complaint: str, tmp_path: Path
) -> None:
    changes: dict[str, Content] = {"rows": {}, "config": {}, "file": {}, part: change}
    task = refined(**changes["rows"])
    task["configs"]["manyifeval_n01"] |= changes["config"]
    write(tmp_path / "results_1.json", plain())
    write_refined(tmp_path / "results_2.json", "oracle", task, **changes["file"])
    said = complaint_of(tmp_path)
    assert re.match(rf"hf dtype=float32,pretrained=tiny: .* not run in the same setting, .*: {complaint}", said)
    assert ". Run them again" in said
    assert all(str(tmp_path / f"results_{number}.json") in said for number in (1, 2))


def test_fewshot_as_multiturn_matters_only_with_few_shot_examples(tmp_path: Path) -> None:
    for num_fewshot in (0, 1):
        for strategy, multiturn in (("feedback", False), ("oracle", True)):
            task = refined()
            task["configs"]["manyifeval_n01"]["num_fewshot"] = num_fewshot
            write_refined(tmp_path / f"results_{strategy}.json", strategy, task, fewshot_as_multiturn=multiturn)
        if not num_fewshot:
            assert len(runs(tmp_path)) == 2
    assert re.search("fewshot_as_multiturn: False for 'feedback'.* and True for 'oracle'", complaint_of(tmp_path))


@pytest.mark.parametrize(
    ("config", "rounds", "complaint"),
    [
        ({}, 10, "rounds: 5 for 'feedback'.*results_2.* and 10 for 'oracle'.*results_3"),
        ({"self_refine_version": 2.0}, 5, r"self_refine_version: 1\.0 for 'feedback'.* and 2\.0 for 'oracle'"),
        ({"model_args": {"early_stop": False}}, 5, "early_stop: True for 'feedback'.* and False for 'oracle'"),
    ],
)
def test_methods_that_refine_otherwise_are_not_compared(
    config: Content, rounds: int, complaint: str, tmp_path: Path
) -> None:
    write_refined(tmp_path / "results_1.json", "none", unjudged(rounds=0))  # has nothing of the kind
    for number, strategy in enumerate(("feedback", "oracle"), start=2):
        with edited(write_refined(tmp_path / f"results_{number}.json", strategy)) as content:
            content["config"]["self_refine_version"] = 1.0
    assert len(runs(tmp_path)) == 3
    assert "- Rounds of refinement: at most 5." in printed(tmp_path)
    assert not any("early_stop" in line for line in printed(tmp_path))
    file = write_refined(tmp_path / "results_3.json", "oracle", refined(rounds=rounds))
    with edited(file) as content:
        arguments = content["config"]["model_args"] | config.get("model_args", {})
        content["config"] |= {"self_refine_version": 1.0, **config, "model_args": arguments}
    assert re.search(complaint, complaint_of(tmp_path))
    footnotes = [line for line in printed(tmp_path / "results_1.json", file) if line.startswith("- early_stop=false: ")]
    assert bool(footnotes) is ("model_args" in config)


def test_all_methods_have_the_same_tasks_and_all_tasks_the_same_setting(tmp_path: Path) -> None:
    write(tmp_path / "results_1.json", plain(), plain("manyifeval_n02"))
    refined_run = write_refined(tmp_path / "results_2.json", "oracle")
    assert re.search(
        r"tasks: manyifeval_n01, manyifeval_n02 for 'none' \(.*results_1.json\) and manyifeval_n01 for 'oracle' "
        r"\(.*results_2.json\)",
        complaint_of(tmp_path),
    )
    refined_run.unlink()
    write(tmp_path / "results_1.json", plain())
    write(tmp_path / "results_3.json", plain("manyifeval_n02", source="embedded"))
    expected = "source: 'hub' for 'none', task manyifeval_n01 .* and 'embedded' for 'none', task manyifeval_n02"
    assert re.search(expected, complaint_of(tmp_path))


def test_tasks_may_differ_in_rows_and_models_in_any_setting(tmp_path: Path) -> None:
    write(tmp_path / "results_1.json", plain(), plain("manyifeval_n02", n=7))
    write(tmp_path / "results_2.json", plain("manyifeval_n03", source="embedded"), model_args={"pretrained": "b"})
    assert [entry["base"] for entry in read_methods([tmp_path])[0].entries] == [
        "hf dtype=float32,pretrained=tiny",
        "hf dtype=float32,pretrained=tiny",
        "hf pretrained=b",
    ]


ABSENT = object()


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("prompt_level_strict_acc,none", 1.5, "prompt_level_strict_acc,none is 1.5; expected a number from 0 to 1"),
        ("prompt_level_strict_acc,none", float("nan"), "prompt_level_strict_acc,none is nan; expected a number"),
        ("inst_level_strict_acc,none", "N/A", "inst_level_strict_acc,none is 'N/A'; expected a number from 0 to 1"),
        ("inst_level_strict_acc,none", True, "inst_level_strict_acc,none is True; expected a number from 0 to 1"),
        ("feedback_true_positives,none", ABSENT, "no feedback_true_positives,none; expected it"),
        ("feedback_false_positives,none", -1, "feedback_false_positives,none is -1; expected a number, at least 0"),
        ("feedback_false_negatives,none", 1.5, "feedback_false_negatives,none is 1.5; expected a whole number"),
        ("feedback_true_negatives,none", None, "feedback_true_negatives,none is None; expected a number, at least 0"),
        ("feedback_unparsable,none", "N/A", "feedback_unparsable,none is 'N/A'; expected a number from 0 to 1"),
        ("base_requests,none", ABSENT, "no base_requests,none; expected it"),
        # of the last round, one in between, and the first
        ("prompt_level_strict_acc_round_5,none", ABSENT, "no prompt_level_strict_acc_round_5,none; expected it"),
        ("inst_level_strict_acc_round_5,none", ABSENT, "no inst_level_strict_acc_round_5,none; expected it"),
        ("prompt_level_strict_acc_round_3,none", ABSENT, "no prompt_level_strict_acc_round_3,none; expected it"),
        ("inst_level_strict_acc_round_0,none", ABSENT, "no inst_level_strict_acc_round_0,none; expected it"),
        ("_round_", ABSENT, "no prompt_level_strict_acc_round_0,none; expected it"),
        ("prompt_level_strict_acc_round_2,none", 1.5, "prompt_level_strict_acc_round_2,none is 1.5; expected a number"),
        ("inst_level_strict_acc_round_2,none", "N/A", "inst_level_strict_acc_round_2,none is 'N/A'; expected a number"),
    ],
)
def test_an_invalid_score_is_named_with_file_and_task(
    field: str, value: object, complaint: str, tmp_path: Path
) -> None:
    task = refined()
    figures = task["results"]["manyifeval_n01"]
    if value is ABSENT:
        for name in [name for name in figures if field in name]:
            del figures[name]
    else:
        figures[field] = value
    file = write_refined(tmp_path / "results_1.json", "oracle", task)
    assert complaint_of(tmp_path).startswith(f"{file}, task 'manyifeval_n01': {complaint}")


@pytest.mark.parametrize("strategy", ["oracle", "none"])
@pytest.mark.parametrize("level", ["prompt", "inst"])
def test_a_last_round_that_disagrees_with_the_last_answers_means_mixed_runs(
    level: str, strategy: str, tmp_path: Path
) -> None:
    rounds = 5 if strategy == "oracle" else 0
    task = refined(rounds=rounds)
    figures = task["results"]["manyifeval_n01"]
    last = figures[f"{level}_level_strict_acc,none"]
    figures[f"{level}_level_strict_acc,none"] = last + 1e-12  # a mean of the same figures in another order
    file = write_refined(tmp_path / "results_1.json", strategy, task)
    assert len(runs(file)) == 1
    figures[f"{level}_level_strict_acc,none"] = last - 0.01  # one of 100 rows
    write_refined(file, strategy, task)
    assert complaint_of(file) == (
        f"{file}, task 'manyifeval_n01': {level}_level_strict_acc,none is {last - 0.01}; expected {last}, as after "
        f"the last round ({rounds}): both describe the last answers, so the file mixes two runs; give a file as "
        "`lm_eval` wrote it"
    )


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        (("config", "model"), "no config.model and config.model_args; expected both"),
        (("config", "model_args", "base"), "no 'base' in config.model_args; expected one"),
    ],
)
def test_other_missing_fields_are_named(path: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    file = write_refined(tmp_path / "results_1.json", "oracle")
    with edited(file) as content:
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
    assert complaint_of(file).startswith(f"{file}, task 'manyifeval_n01': {complaint}")


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (
            {"model_args": {"base": "hf", "strategy": "hope"}},
            ", config.model_args: no strategy 'hope'; expected one of none",
        ),
        # The harness, given an LM and no name of one, writes down the name of its class.
        ({"model": "SelfRefineLM"}, ": config.model is 'SelfRefineLM'; expected 'self_refine'"),
    ],
)
def test_refined_answers_of_an_unknown_strategy_or_model_are_an_error(
    config: Content, complaint: str, tmp_path: Path
) -> None:
    file = write_refined(tmp_path / "results_1.json", "oracle")
    with edited(file) as content:
        content["config"] |= config
    assert complaint_of(file).startswith(f"{file}, task 'manyifeval_n01'{complaint}")


@pytest.mark.usefixtures("sentence_data")
def test_real_result_files_are_read(result_folder: ResultFolder, capsys: pytest.CaptureFixture[str]) -> None:
    refined_by_oracle = f"{NAME}:base=reference,policy=drop_one,strategy=oracle,rounds=2"
    tasks = ("manyifeval_n02", "manyifeval_n05")
    folders = [str(result_folder(model, tasks, limit=2)) for model in ("drop_one", refined_by_oracle)]
    capsys.readouterr()  # the harness's own progress
    assert main(["manyifeval", "table", *folders]) == 0
    said = capsys.readouterr()
    assert "### `reference policy=drop_one`\n" in said.out
    # One instruction of two, and one of five, is not followed: (1/2 + 4/5) / 2.
    assert "| zero-shot | 0.000 | 0.650 | - | - | - | - | - |\n" in said.out
    # It is repaired in the first round, and nothing is left for the second: the answer and one more request.
    assert "| refinement w/ oracle | 1.000 | 1.000 | 1.00 | 1.00 | 1.00 | 0.000 | 2.00 |\n" in said.out
    assert "| refinement w/ oracle | 0.000 / 0.650 | 1.000 / 1.000 | 1.000 / 1.000 |\n" in said.out
    assert "source `embedded`; rows written for demonstrations and tests" in said.out
    assert "manyifeval_n02, manyifeval_n05 (2 rows each)" in said.out
    assert "at most 2." in said.out
    assert said.err == ""


def test_the_command_reports_omissions_on_standard_error_and_prints_no_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "results_1.json", plain("one\ud800\x1b[2J"), model_args={"pretrained": "two\nlines"})
    other = write(tmp_path / "results_2.json", other_task())
    assert main(["manyifeval", "table", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "### `hf pretrained=two lines`" in said.out
    assert "one<U+D800><U+001B>[2J" in said.out
    assert said.err == f"{other}: no results of manyifeval tasks (ifeval); ignored\n"


# The tables


FIGURE_9 = Confusion(true_positives=76, false_positives=17, false_negatives=24, true_negatives=83)


@pytest.mark.parametrize(
    ("strategy", "feedback", "unparsable", "shown"),
    [
        # 76 / (76 + 17) = 0.817, 76 / 100, 2 · 0.817 · 0.76 / 1.577 = 0.788
        ("feedback_each_cot", FIGURE_9, 0.004, "0.82 | 0.76 | 0.79 | 0.004"),
        ("oracle", Confusion(900, 0, 0, 100), 0.0, "1.00 | 1.00 | 1.00 | 0.000"),
        # Table 2: 1.0, 0, 0
        ("all_false", Confusion(0, 0, 900, 100), 0.0, "1.00 | 0.00 | 0.00 | 0.000"),
        # no judgment could be read: nothing was judged, so there is no precision of 1 for judging nothing followed
        ("feedback", Confusion(0, 0, 90, 10), 1.0, "- | - | - | 1.000"),
        # judged, but nothing was followed: there is no recall
        ("feedback", Confusion(0, 1, 0, 3), 0.25, "0.00 | - | - | 0.250"),
    ],
)
def test_a_row_is_formatted_like_table_2(
    strategy: str, feedback: Confusion, unparsable: float, shown: str, tmp_path: Path
) -> None:
    task = refined(prompt=0.621, inst=0.909, feedback=feedback, unparsable=unparsable, requests=31.25)
    row = f"{STRATEGIES[strategy].title} | 0.621 | 0.909 | {shown} | 31.25"
    assert rows("Method", write_refined(tmp_path / "results_1.json", strategy, task)) == [row]


def test_several_tasks_are_pooled_by_rows_and_judgments(tmp_path: Path) -> None:
    ten, forty = Confusion(6, 1, 2, 1), Confusion(24, 3, 8, 5)
    judged: Content = {"unparsable": 0.5, "requests": 3.0, "after": ((0.5, 0.75), (0.7, 0.85))}
    more: Content = {"unparsable": 0.25, "requests": 7.0, "after": ((0.1, 0.35), (0.5, 0.65))}
    none: Content = {"feedback": Confusion(), "unparsable": "N/A"}
    write_refined(
        tmp_path / "results_1.json",
        "feedback",
        refined("a", 0.9, 100, 2, inst=0.95, feedback=ten, **judged),
        refined("b", 0.5, 300, 2, inst=0.71, feedback=forty, **more),
    )
    # Accuracies: (100 · 0.9 + 300 · 0.5) / 400, not the tasks' mean, 0.7; (95 + 213) / 400. 30 of 40 and 4 of 10 are
    # judged followed: 0.75 / (0.75 + 0.4) = 0.652, and F1 30 / 43. Unparsable: (0.5 · 10 + 0.25 · 40) / 50; by rows it
    # would be 0.3125. Requests: (300 + 2100) / 400.
    assert rows("Method", tmp_path) == ["refinement w/ feedback | 0.600 | 0.770 | 0.65 | 0.75 | 0.70 | 0.300 | 6.00"]
    # (100 · 0.5 + 300 · 0.1) / 400 = 0.2, not 0.3; (75 + 105) / 400; (70 + 150) / 400; (85 + 195) / 400
    after = "refinement w/ feedback | 0.200 / 0.450 | 0.550 / 0.700 | 0.600 / 0.770"
    assert rows("After round", tmp_path) == [after]
    # A task without judgments does not affect their shares.
    without = refined("b", n=900, **none)
    write_refined(tmp_path / "results_1.json", "feedback", refined("a", feedback=FIGURE_9, unparsable=0.5), without)
    assert rows("Method", tmp_path)[0].split(" | ")[3:7] == ["0.82", "0.76", "0.79", "0.500"]


def test_request_counts_for_only_some_tasks_are_not_shown(tmp_path: Path) -> None:
    write_refined(tmp_path / "results_1.json", "none", unjudged("manyifeval_n01"))
    assert rows("Method", tmp_path)[0].endswith("| 1.00")
    write(tmp_path / "results_plain.json", plain("manyifeval_n02"))
    assert rows("Method", tmp_path)[0].endswith("| -")


def test_models_are_sorted_by_name_and_methods_in_the_papers_order(tmp_path: Path) -> None:
    for model in ("b", "a"):
        for strategy, of in reversed([*STRATEGIES.items()]):
            task = refined() if of.refines else unjudged()
            write_refined(tmp_path / f"results_{model}_{strategy}.json", strategy, task, pretrained=model)
    heads = [line for line in printed(tmp_path) if line.startswith("#")]
    assert heads == [f"### `hf dtype=float32,pretrained={model}`" for model in "ab"]
    judges = ("feedback", "feedback+cot", "feedback+each", "feedback+each+cot", "oracle", "all false")
    titles = ["zero-shot", "refinement w/o feedback", *(f"refinement w/ {judge}" for judge in judges)]
    assert [row.split(" | ")[0] for row in rows("Method", tmp_path)] == 2 * titles
    assert [row.split(" | ")[0] for row in rows("After round", tmp_path)] == 2 * titles[1:]


def test_the_tables_are_markdown_with_footnotes(tmp_path: Path) -> None:
    names = ("manyifeval_n02", "manyifeval_n01")
    source: Content = {"source": "embedded"}
    write(tmp_path / "results_1.json", *(plain(name, 0.5, 50, **source) for name in names))
    same = ((0.5, 0.5), (0.5, 0.5))
    once: Content = {"inst": 0.5, "after": same, "requests": 1.0, **source}
    write_refined(
        tmp_path / "results_2.json",
        "without_feedback",
        *(unjudged(name, 2, **once, prompt=0.5, n=50) for name in names),
    )
    assert printed(tmp_path) == [
        "### `hf dtype=float32,pretrained=tiny`",
        "",
        "| Method | Prompt-level accuracy | Inst-level accuracy | Precision | Recall | F1 score | Unparsable "
        "| Requests per row |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| zero-shot | 0.500 | 0.500 | - | - | - | - | - |",
        "| refinement w/o feedback | 0.500 | 0.500 | - | - | - | - | 1.00 |",
        "",
        "| After round | 0 | 1 | 2 |",
        "| --- | ---: | ---: | ---: |",
        "| refinement w/o feedback | 0.500 / 0.500 | 0.500 / 0.500 | 0.500 / 0.500 |",
        "",
        "- Rows: source `embedded`; rows written for demonstrations and tests: do not compare scores on them "
        "with any others.",
        "- Tasks: manyifeval_n01, manyifeval_n02 (50 rows each); all rows have equal weight.",
        "- Rounds of refinement: at most 2.",
        "- After round: prompt-level / inst-level accuracy of the answers after it; 0: the first answers.",
        "",
        *(f"- {sentence}" for sentence in LEGEND),
    ]


def test_a_footnote_appears_only_if_it_applies(tmp_path: Path) -> None:
    write(tmp_path / "results_1.json", plain("t0", n=7), plain("t1", n=9))
    lines = printed(tmp_path)
    assert [line for line in lines if line.startswith("- ")][:-3] == [
        "- Rows: source `hub`.",
        "- Tasks: t0 (7 rows), t1 (9 rows); all rows have equal weight.",
    ]
    # Without refinement there is no table by round.
    assert not any(line.startswith("| After") for line in lines)
    write(tmp_path / "results_1.json", plain("t0", n=7))
    assert "- Tasks: t0 (7 rows); all rows have equal weight." in printed(tmp_path)
