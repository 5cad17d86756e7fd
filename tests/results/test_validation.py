"""What a report says of runs that finished but measured little: each sign beside a near miss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.results.load import load
from tests.reports.files import SST2, edited, edited_lines, samples_of, write_run

SNLI = "verbalizer_snli_unnatural_flipped"
TEMPLATE = {"chat_template": "{{ messages }}", "chat_template_sha": "5a5a5a5a5a"}
THOUGHT, BLANK = "<think>Let me see", ""


def warnings(folder: Path) -> list[str]:
    return [issue.text for issue in load([folder]).issues if issue.severity == "warning"]


def write_answers(
    folder: Path, *answers: tuple[int, str, str], samples: bool = True, task: str = SST2, **changed: Any
) -> None:
    """Write a run whose answers are all wrong.

    Args:
        folder: made if it is not there.
        answers: how many, the metric of their kind (empty for valid ones), and the response.
        samples: whether there are any.
        task: its name.
        changed: see ``write_run``.
    """
    names = sorted({"empty_rate", *(kind for _, kind, _ in answers)} - {""})
    rows: list[dict[str, Any]] = [
        {**{name: float(name == kind) for name in names}, "invalid_rate": float(bool(kind)), "resps": [[text]]}
        for count, kind, text in answers
        for _ in range(count)
    ]
    path = write_run(folder, {task: [0.0] * len(rows)}, samples=samples, **changed)
    if samples:
        with edited_lines(samples_of(path, task)) as lines:
            for line, row in zip(lines, rows, strict=True):
                line.update(row)
    with edited(path) as content:
        for name in (*names, "invalid_rate"):
            content["results"][task][f"{name},answer"] = sum(row[name] for row in rows) / len(rows)


# A chat template that was forgotten


@pytest.mark.parametrize(
    "model", ["SmolLM2-135M-Instruct", "gemma-2-9b-it", "Qwen-7B-Chat", "instruct_v2", "my-it", "Open-Assistant-3"]
)
def test_a_model_that_is_named_like_a_chat_model_needs_its_template(model: str, tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1, 0], SNLI: [1, 0]}, arguments={"pretrained": f"owner/{model}"}, chat_template=None)
    assert warnings(tmp_path) == [
        f"{model}: was run without a chat template, but may be a chat model (by its name); if it is one, its scores "
        "are too low: run it with --apply_chat_template"
    ]


@pytest.mark.parametrize(
    ("model", "recorded"),
    [
        *((f"instruct/{name}", {}) for name in ("SmolLM2-135M", "bit-llm", "gemma-2-9b", "italian-7b", "chatty")),
        ("instruct/git-base", {}),
        # APIs apply their own template, and the harness records an empty one.
        ("owner/a-chat", TEMPLATE),
        ("owner/a-chat", {"chat_template": "", "chat_template_sha": None}),
    ],
)
def test_another_model_and_one_with_a_template_does_not(
    model: str, recorded: Mapping[str, Any], tmp_path: Path
) -> None:
    write_run(tmp_path, {SST2: [1, 0]}, arguments={"pretrained": model}, **{"chat_template": None, **recorded})
    assert warnings(tmp_path) == []


@pytest.mark.parametrize(
    ("token", "told"), [("<|im_end|>", True), ("<|eot_id|>", True), ("<end_of_turn>", True), ("</s>", False)]
)
def test_so_does_one_whose_text_ends_with_a_turn(token: str, told: bool, tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1, 0]}, tokenizer_eos_token=[token, "2"])
    found = warnings(tmp_path)
    assert len(found) == told
    assert all(f"may be a chat model (its end-of-text token is {token})" in text for text in found)


# Recorded answers


@pytest.mark.parametrize(("kind", "told"), [("hf", True), ("recorded", False)])
def test_of_recorded_responses_nobody_knows_whether_a_template_was_applied(
    kind: str, told: bool, tmp_path: Path
) -> None:
    path = write_run(tmp_path, {SST2: [1, 0]}, chat_template=None)
    with edited(path) as content:
        content["config"]["recorded"] = {"samples": "old", "model": kind, "model_args": {"model": "a-chat"}}
    assert any("was run without a chat template" in text for text in warnings(tmp_path)) == told


def test_missing_answers_and_their_origin_are_said(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1, 0], SNLI: [1, 0]})
    with edited(path) as content:
        content["config"]["recorded"] = {"samples": "old", "model": "hf", "missing": {SNLI: 1, SST2: 0}}
    assert warnings(tmp_path) == [f"one: answers that were not recorded count as empty: {SNLI} (1 of 2)"]
    assert "one: answers of an earlier run (old), scored again" in [issue.text for issue in load([tmp_path]).issues]


# Empty answers


def test_nearly_all_answers_are_empty(tmp_path: Path) -> None:
    write_answers(tmp_path, (9, "empty_rate", BLANK), (1, "", "positive"))
    # They are invalid, too, which is not said besides.
    (found,) = warnings(tmp_path)
    assert found.startswith(f"one: nearly all answers to {SST2} are empty (empty_rate at least 0.9)")


def test_answers_cut_off_while_reasoning_name_the_limit_and_the_remedy(tmp_path: Path) -> None:
    config = {"generation_kwargs": {"max_gen_toks": 64}}
    write_answers(tmp_path, (1, "empty_rate", THOUGHT), (9, "", "positive"), config=config)
    assert warnings(tmp_path) == [
        f"one: many answers to {SST2} end inside a reasoning block, at the limit of 64 new tokens: raise it, for "
        "example --gen_kwargs max_gen_toks=4096"
    ]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([(8, "empty_rate", BLANK), (2, "", "positive")], id="8 of 10 empty"),
        pytest.param([(1, "empty_rate", THOUGHT), (10, "", "positive")], id="1 of 11 cut off"),
        pytest.param(
            [(1, "empty_rate", THOUGHT), (1, "empty_rate", BLANK), (9, "", "positive")],
            id="1 of 11 cut off, and one blank",
        ),
        pytest.param([(2, "empty_rate", "<think>a</think>"), (8, "", "positive")], id="closed blocks"),
        pytest.param([(8, "invalid_other", "positive"), (2, "", "positive")], id="8 of 10 invalid"),
        pytest.param([(10, "invalid_prior", "positive")], id="the words' own meanings"),
    ],
)
def test_nothing_is_said_of_answers_that_measure_the_model(answers: list[tuple[int, str, str]], tmp_path: Path) -> None:
    write_answers(tmp_path, *answers)
    assert warnings(tmp_path) == []


def test_without_samples_nothing_is_known_of_why_answers_are_empty(tmp_path: Path) -> None:
    write_answers(tmp_path, (4, "empty_rate", THOUGHT), samples=False)
    found = warnings(tmp_path)
    assert not any("reasoning block" in text for text in found)
    assert any("are empty (empty_rate at least 0.9)" in text for text in found)


# Invalid answers


@pytest.mark.parametrize(
    ("recorded", "question"),
    [
        ({}, "was it run with its chat template, and with enough new tokens?"),
        (TEMPLATE, "was it run with enough new tokens?"),
    ],
)
def test_nearly_all_answers_are_invalid_and_a_recorded_chat_template_is_not_asked_about(
    recorded: Mapping[str, Any], question: str, tmp_path: Path
) -> None:
    write_answers(tmp_path, (9, "invalid_echo", "Movie review"), (1, "empty_rate", "Movie review"), **recorded)
    (found,) = warnings(tmp_path)
    assert found.startswith(
        f"one: nearly all answers to {SST2} are invalid (invalid_rate at least 0.9; mostly invalid_echo)"
    )
    assert found.endswith(question)


def test_a_result_that_predates_the_kinds_is_warned_of_too(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {SST2: [0.0]}, samples=False)) as content:
        content["results"][SST2]["invalid_rate,answer"] = 1.0
    assert any(
        f"nearly all answers to {SST2} are invalid (invalid_rate at least 0.9):" in text for text in warnings(tmp_path)
    )


def test_one_warning_covers_the_tasks_of_a_model(tmp_path: Path) -> None:
    for number, task in enumerate((SST2, SNLI)):
        write_answers(tmp_path, (10, "empty_rate", BLANK), task=task, stamp=f"2026-01-02T03-04-0{number}.6")
    (found,) = warnings(tmp_path)
    assert f"nearly all answers to {SNLI}, {SST2} are empty" in found
