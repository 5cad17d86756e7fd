"""Which answers are shown as examples, and how prompts and answers are shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.hierarchy.scores import score
from lm_eval_ext.harness.lm import with_draws
from lm_eval_ext.models.reference import ReferenceLM
from lm_eval_ext.reports.sections.examples import Answer, Candidate, choose, examples, prompt_and_answer
from lm_eval_ext.reports.sections.hierarchy.section import VERDICTS
from lm_eval_ext.reports.sections.hierarchy.section import section as hierarchy_section
from lm_eval_ext.reports.sections.ifbench.section import section as ifbench_section
from lm_eval_ext.reports.sections.manyifeval.section import section as manyifeval_section
from lm_eval_ext.reports.sections.natural_instructions.section import section as natural_instructions_section
from lm_eval_ext.reports.sections.paired_mcq.section import section as paired_mcq_section
from lm_eval_ext.reports.sections.verbalizer.section import section as verbalizer_section
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load
from lm_eval_ext.results.runs import Runs
from tests.harness.tasks import OF_FAMILY, evaluate
from tests.reports.files import SST2, verbalizer_line, write_run
from tests.reports.sections.reading_tables import section_on
from tests.reports.sections.verbalizer.files import SNLI
from tests.reports.sections.verbalizer.files import write_run as write_verbalizer_run

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is 1 odd?"}]


def line(prompt: object, answer: object = "Yes.") -> dict[str, Any]:
    return {"arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}}, "resps": [[answer]]}


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        pytest.param("Is 1 odd?", "Is 1 odd?", id="plain text"),
        pytest.param([json.dumps(CHAT)], "system: Be brief.\n\nuser: Is 1 odd?", id="as the harness writes it"),
        pytest.param(json.dumps(CHAT), "system: Be brief.\n\nuser: Is 1 odd?", id="messages as text"),
        pytest.param(CHAT, "system: Be brief.\n\nuser: Is 1 odd?", id="messages"),
        pytest.param('[{"role": "user', '[{"role": "user', id="text that only begins so"),
        pytest.param("[1, 2] is a list. Why?", "[1, 2] is a list. Why?", id="text with a list in it"),
        pytest.param(
            [json.dumps([{"role": "user", "content": [{"type": "text"}]}])],
            '{"role": "user", "content": [{"type": "text"}]}',
            id="a message that is not text",
        ),
    ],
)
def test_a_prompt_is_shown_as_it_was_sent(prompt: object, shown: str) -> None:
    assert prompt_and_answer(line(prompt)) == (shown, "Yes.")


def test_the_generated_answer_is_shown_among_several_requests() -> None:
    row = {
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " A"}, "gen_args_1": {"arg_0": "Q in words", "arg_1": {}}},
        "resps": [[["-1.5", "True"]], ["The answer is A."]],
    }
    assert prompt_and_answer(row) == ("Q in words", "The answer is A.")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Three models with twenty answers each."""
    for name in ("a", "b", "c"):
        write_run(tmp_path / name, {SST2: [0] * 20}, arguments={"pretrained": f"owner/{name}"})
    return load([tmp_path])


def candidates(runs: Runs, model: int, rows: Sequence[int], why: str) -> list[Candidate]:
    return [Candidate(why, Answer(runs.counting[model], row)) for row in rows]


def facts(answer: Answer, _beside: Answer | None) -> dict[str, str]:
    return {"target": answer.line["target"]}


def test_every_behavior_is_shown_before_any_is_repeated(runs: Runs) -> None:
    behaviors = [candidates(runs, 0, range(10), "often"), candidates(runs, 0, range(10, 12), "seldom")]
    chosen = choose(behaviors, most=5)
    assert [(one.why, one.answer.row) for one in chosen] == [
        ("often", 0),
        ("often", 1),
        ("often", 2),
        ("seldom", 10),
        ("seldom", 11),
    ]


def test_at_most_ten_examples_are_shown_and_none_twice(runs: Runs) -> None:
    chosen = choose([candidates(runs, 0, range(20), "one"), candidates(runs, 0, range(20), "another")])
    assert len(chosen) == 10
    assert len({one.answer.key for one in chosen}) == 10


def test_models_take_turns(runs: Runs) -> None:
    of_behavior = [one for model in range(3) for one in candidates(runs, model, range(3), "")]
    names = [runs.labels[one.answer.run.model] for one in choose([of_behavior], most=6)]
    assert sorted(names) == sorted([*runs.labels.values()] * 2)


def test_datasets_of_one_model_take_turns(tmp_path: Path) -> None:
    write_verbalizer_run(tmp_path, {SST2: [0, 0], SNLI: [0, 0]})
    runs = load([tmp_path])
    behaviors = [[*candidates(runs, 0, [row], why), *candidates(runs, 1, [row], why)] for row, why in enumerate("ab")]
    assert [one.answer.run.dataset for one in choose(behaviors, most=2)] == ["verbalizer snli", "verbalizer sst2"]


def test_an_example_is_taken_verbatim_from_the_file(runs: Runs) -> None:
    (shown,), issues = examples(runs, [candidates(runs, 1, [3], "it teaches")], facts)
    assert issues == ()
    assert (shown.why, shown.model, shown.task) == ("it teaches", runs.labels[runs.counting[1].model], SST2)
    assert (shown.prompt, shown.answer) == ("Review: review 3\n\nAnswer:", "negative")
    assert shown.facts == (("target", "positive"),)


REQUEST = {"gen_args_0": {"arg_0": "Q", "arg_1": {}}}
FORM = "a different format from what the harness writes"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({}, "", id="as the harness writes it"),
        pytest.param({"arguments": ...}, "no 'arguments'", id="no arguments"),
        pytest.param({"resps": ...}, "no 'resps'", id="no resps"),
        pytest.param({"target": ...}, "no 'target'", id="no target"),
        pytest.param({"arguments": [["Q", {}]]}, FORM, id="arguments in a list"),
        pytest.param({"arguments": None}, FORM, id="null for arguments"),
        pytest.param({"arguments": {"gen_args_0": ["Q", {}]}}, FORM, id="a request in a list"),
        pytest.param({"arguments": {"gen_args_0": {}}}, "no 'arg_0'", id="a request without its prompt"),
        pytest.param({"arguments": REQUEST, "resps": []}, "no text answer", id="no answers"),
        pytest.param({"arguments": REQUEST, "resps": [[]]}, "no text answer", id="no answer"),
        pytest.param({"arguments": REQUEST, "resps": [None]}, "no text answer", id="null for an answer"),
        pytest.param({"arguments": REQUEST, "resps": [7]}, FORM, id="a number for an answer"),
        pytest.param({"arguments": REQUEST, "resps": [[["-1.5", "True"]]]}, "no text answer", id="only a likelihood"),
    ],
)
def test_an_answer_is_shown_or_the_reason_is_given(changed: dict[str, object], reason: str, tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [0, 0]})
    row = {name: value for name, value in verbalizer_line(1, 0.0, **changed).items() if value is not ...}
    lines = [json.dumps(one) for one in (verbalizer_line(0, 0.0), row)]
    next(tmp_path.glob("samples_*")).write_text("\n".join(lines), encoding="utf-8")
    runs = load([tmp_path])
    shown, issues = examples(runs, [candidates(runs, 0, [0, 1], "")], facts)
    assert len(shown) == (1 if reason else 2)
    expected = "1 of the 2 selected answers cannot be shown; their lines in the samples have: "
    assert issues == ((note(f"{expected}{reason} (1)."),) if reason else ())


def test_a_run_without_samples_has_no_examples(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [0]}, samples=False)
    runs = load([tmp_path])
    with pytest.raises(ValueError, match="verbalizer_sst2_unnatural_flipped: no samples"):
        examples(runs, [candidates(runs, 0, [0], "")], facts)


# Several draws: the first one is shown, and all that is said is about it.


class Alternating(ReferenceLM):
    """The oracle, but the first of every two draws says nothing that was asked for."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the answers."""
        answers = super().generate_until(requests, disable_tqdm)
        return [
            "ok" if draw % 2 == 0 else answer for (_, draw), answer in zip(with_draws(requests), answers, strict=True)
        ]


SECTIONS = {
    "verbalizer": ("verbalizer_sst2_unnatural_0_1", verbalizer_section),
    "manyifeval": ("manyifeval_n03", manyifeval_section),
    "ifbench": ("ifbench", ifbench_section),
    "hierarchy": ("hierarchy_system_user", hierarchy_section),
    "paired_mcq": ("paired_mcq_arc_challenge_low", paired_mcq_section),
    "natural_instructions": (OF_FAMILY["natural_instructions"], natural_instructions_section),
}


@pytest.mark.harness
@pytest.mark.usefixtures("language_data")
@pytest.mark.parametrize("family", SECTIONS)
def test_what_is_said_of_an_answer_is_about_the_draw_that_is_shown(family: str, tmp_path: Path) -> None:
    task, of_family = SECTIONS[family]
    options: dict[str, Any] = {"limit": 20, "bootstrap_iters": 0, "gen_kwargs": "do_sample=true,temperature=1.0"}
    drawn = evaluate(
        Alternating("oracle"), [task], {"repeats": 2}, tmp_path, apply_chat_template=family == "hierarchy", **options
    )
    found = section_on(of_family, tmp_path)
    assert not any("cannot be shown" in issue.text for issue in found.issues)
    for example in found.examples:
        assert example.answer == "ok"
        said = " ".join((example.why, *(f"{name}: {value}" for name, value in example.facts)))
        for wrong in ("score: right", "all followed", "Follows all", "Follows one instruction", "it follows all"):
            assert wrong not in said, said
        if family == "hierarchy":
            (doc,) = (line["doc"] for line in drawn["samples"][task] if line["doc_id"] == example.row)
            right = score(doc, ["ok"])
            verdict = next((verdict for verdict, metric in VERDICTS.items() if right[metric]), "neither")
            assert dict(example.facts)["verdict"] == verdict
    if family == "paired_mcq":
        assert found.examples
