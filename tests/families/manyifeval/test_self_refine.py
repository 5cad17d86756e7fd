"""Self-refinement end to end through the harness, where the reference model makes the correct scores known."""

from __future__ import annotations

import math
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.models.reference import ReferenceLM
from lm_eval_ext.models.self_refine import SelfRefineLM
from tests.conftest import EvaluateEach, Run
from tests.harness.tasks import evaluate, make
from tests.self_refine.scripted import ScriptedLM

pytestmark = pytest.mark.harness

TASK = "manyifeval_n03"
LEVELS = ("prompt_level_strict_acc", "inst_level_strict_acc")
DIRECTIONS = {
    **dict.fromkeys((*LEVELS, *(f"{level}_round_0" for level in LEVELS)), True),
    **dict.fromkeys((f"feedback_{share}" for share in ("precision", "recall", "f1", "f1_by_count")), True),
    "feedback_unparsable": False,
    # What there is of each depends on the answers, and a request is neither good nor bad.
    **dict.fromkeys(("feedback_true_positives", "feedback_false_negatives", "base_requests"), None),
}
"""Whether higher is better."""


def refined(base: Any, *tasks: str, limit: int, strategy: str, rounds: int = 1, **options: Any) -> dict[str, Any]:
    """Return the results of a model that refines its answers, in one task if no others are named."""
    model = SelfRefineLM(base, strategy=strategy, rounds=rounds)
    return evaluate(model, tasks or [TASK], {}, limit=limit, bootstrap_iters=0, **options)


@pytest.mark.parametrize(
    ("strategy", "policy", "by_round", "requests"),
    [
        # a truthful judge has the broken one repaired, and then nothing more
        ("feedback", "drop_one", (0.0, 1.0, 1.0), 1 + 1 + 1 + 1),
        ("feedback_cot", "drop_one", (0.0, 1.0, 1.0), 1 + 1 + 1 + 1),
        ("feedback_each", "drop_one", (0.0, 1.0, 1.0), 1 + 3 + 1 + 3),
        ("feedback_each_cot", "drop_one", (0.0, 1.0, 1.0), 1 + 3 + 1 + 3),
        ("feedback_each_cot", "oracle", (1.0, 1.0, 1.0), 1 + 3),
        # a model that sees nothing wrong is never asked again
        ("feedback_each_cot", "ignore", (0.0, 0.0, 0.0), 1 + 3),
        # a model that is told nothing repairs nothing; one that is told everything repairs it, and is told again
        ("without_feedback", "drop_one", (0.0, 0.0, 0.0), 1 + 2),
        ("all_false", "drop_one", (0.0, 1.0, 1.0), 1 + 2),
        ("none", "drop_one", (0.0,), 1),
        ("oracle", "drop_one", (0.0, 1.0, 1.0), 1 + 1),
        # a model that ignores feedback continues
        ("all_false", "ignore", (0.0, 0.0, 0.0), 1 + 2),
        ("oracle", "ignore", (0.0, 0.0, 0.0), 1 + 2),
    ],
)
def test_each_strategy_has_the_expected_scores_with_each_policy(
    strategy: str, policy: str, by_round: tuple[float, ...], requests: int
) -> None:
    results = refined(ReferenceLM(policy), limit=4, strategy=strategy, rounds=2)
    found = results["results"][TASK]
    assert tuple(found[f"prompt_level_strict_acc_round_{k},none"] for k in range(len(by_round))) == by_round
    assert f"prompt_level_strict_acc_round_{len(by_round)},none" not in found
    assert found["prompt_level_strict_acc,none"] == by_round[-1]
    assert found["base_requests,none"] == requests
    assert DIRECTIONS.items() <= results["higher_is_better"][TASK].items()


def test_an_empty_last_answer_keeps_its_rounds_and_metrics() -> None:
    # Two first answers, two refinements: one withheld, and one that follows what it follows.
    results = refined(ScriptedLM(["Well.", "Well.", "", "Well."]), limit=2, strategy="all_false", rounds=1)
    found = results["results"][TASK]
    assert found["base_requests,none"] == 2.0
    assert sum(found[f"feedback_{truth}_negatives,none"] for truth in ("true", "false")) == 2 * 3
    for level in LEVELS:
        assert found[f"{level}_round_1,none"] == found[f"{level},none"]
    assert found["inst_level_strict_acc_round_1,none"] < found["inst_level_strict_acc_round_0,none"]
    answers = [[one["answer"] for one in sample["rounds"]] for sample in results["samples"][TASK]]
    assert answers == [["Well.", ""], ["Well.", "Well."]]


def test_predict_only_keeps_every_answer() -> None:
    results = refined(ReferenceLM("drop_one"), limit=1, strategy="oracle", predict_only=True)
    (sample,) = results["samples"][TASK]
    assert len(sample["rounds"]) == 2
    assert sorted(sample["metrics"]) == ["bypass", "ended", "rounds"]


@pytest.mark.parametrize("chat", [True, False])
def test_few_shot_examples_precede_only_the_first_answer(
    chat: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
    calls = []
    for _ in range(2):  # the second time the requests, rows and all, come from the harness's cache
        base = ScriptedLM(lambda _prompt: "Well.")
        caplog.clear()
        with caplog.at_level("DEBUG", "lm_eval"):
            asked = {"num_fewshot": 2, "apply_chat_template": chat, "fewshot_as_multiturn": chat}
            refined(base, limit=1, strategy="all_false", cache_requests=True, **asked)
        calls.append(base.calls)
    assert "Building contexts" not in caplog.text
    assert calls[0] == calls[1]
    lead = "Your response should follow the instructions below:"
    assert [call[0].count(lead) for call in calls[0]] == [3, 0]
    assert [call[0].startswith("<user>") for call in calls[0]] == [chat, chat]


def in_order(run: Run) -> list[dict[str, Any]]:
    return sorted(run.samples[TASK], key=itemgetter("doc_id"))


def test_a_real_model_is_prompted_through_its_chat_template(
    evaluate_each: EvaluateEach, tiny_model: Path, tmp_path: Path
) -> None:
    options = ["--apply_chat_template", "--system_instruction", "Be brief.", "--limit", "3", "--tasks", TASK]
    options += ["--gen_kwargs", "max_gen_toks=12", "--batch_size", "2", "--device", "cpu"]
    options += ["--metadata", '{"source": "embedded"}']
    refining = f"base=hf,pretrained={tiny_model},strategy=feedback,rounds=2"
    runs = {
        "refined": ["--model", "self_refine", "--model_args", refining, *options],
        "plain": ["--model", "hf", "--model_args", f"pretrained={tiny_model}", *options],
    }
    found_runs = evaluate_each(tmp_path, runs)
    run, plain = found_runs["refined"], found_runs["plain"]

    # What the base is, the results say as they do without us.
    assert run.results["chat_template"] == plain.results["chat_template"] != ""
    assert run.results["config"]["model_num_parameters"] == plain.results["config"]["model_num_parameters"]
    for sample, other in zip(in_order(run), in_order(plain), strict=True):
        assert sample["prompt_hash"] == other["prompt_hash"]
        assert sample["rounds"][0]["answer"] == other["resps"][0][0]
        assert sample["rounds"][-1]["answer"] == sample["resps"][0][0]
        # Random weights judge nothing, so everything is revised in each round: answer, twice judged and mended.
        assert [one["judged"] for one in sample["rounds"]] == [[None] * 3, [None] * 3, None]
        assert [len(one["replies"] or []) for one in sample["rounds"]] == [1, 1, 0]
    found = run.results["results"][TASK]
    assert found["feedback_unparsable,none"] == 1.0
    assert found["base_requests,none"] == 5.0
    for k, level in ((k, level) for k in range(3) for level in LEVELS):
        shares = [sample["rounds"][k]["followed"] for sample in in_order(run)]
        values = [float(all(share)) if level.startswith("prompt") else sum(share) / len(share) for share in shares]
        assert found[f"{level}_round_{k},none"] == pytest.approx(math.fsum(values) / len(values))


@pytest.mark.parametrize("other", ["verbalizer_sst2_unnatural_flipped", "manyifeval_dense_n010"])
def test_a_task_whose_answers_cannot_be_refined_is_rejected_by_name(other: str) -> None:
    message = rf"rows without instructions: {other} \(2 requests\)\. .* dense tasks do not count"
    with pytest.raises(ValueError, match=message):
        refined(ReferenceLM("oracle"), TASK, other, limit=2, strategy="oracle")


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("description", ["", "Mind the instructions."])
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_system_prompt_and_description_precede_every_prompt(system: str | None, description: str, chat: bool) -> None:
    base = ScriptedLM(lambda _prompt: "NO")
    model = SelfRefineLM(base, strategy="feedback_each", rounds=1)
    task = make(TASK)
    task.set_config("description", description)
    task.build_all_requests(
        limit=1,
        system_instruction=system,
        apply_chat_template=chat,
        chat_template=model.apply_chat_template if chat else None,
    )
    model.generate_until(task.instances)
    said = "\n\n".join(filter(None, [system, description]))
    before = (f"<system>{said}|" if said else "") + "<user>" if chat else said
    prompts = [prompt for call in base.calls for prompt in call]
    assert len(prompts) == 1 + 3 + 1
    # The harness's own prompt, and ours after it.
    assert prompts[0].startswith(before)
    assert prompts[0].endswith("|answer:") == chat
    for prompt in prompts[1:]:
        assert prompt.startswith(f"{before}Below are a task and a response to it.")
        assert prompt.endswith("|answer:") == chat
