"""What the tasks of all families have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.harness.requests import answer_of
from lm_eval_ext.models.reference import ReferenceLM
from tests.conftest import Harness
from tests.harness.tasks import CASES, OF_FAMILY, evaluate, make, make_own, options_of
from tests.known_answers import text_of

pytestmark = pytest.mark.harness


@pytest.mark.parametrize("family", OF_FAMILY)
@pytest.mark.parametrize("number", [-1, -20, 1.5, "two", True])
def test_an_invalid_num_fewshot_is_rejected(family: str, number: object) -> None:
    task = make(OF_FAMILY[family])
    task.config.num_fewshot = number
    message = f"task '{OF_FAMILY[family]}': --num_fewshot {number}; expected a number of few-shot examples, 0"
    with pytest.raises(ValueError, match=message):
        task.build_all_requests()


@pytest.mark.parametrize("family", OF_FAMILY)
def test_metadata_of_a_run_cannot_change_the_facts_about_a_task(family: str) -> None:
    facts = make(OF_FAMILY[family]).facts
    recorded = make(OF_FAMILY[family], dict.fromkeys(("family", "dataset", "rows_hash"), "mine")).config.metadata
    assert {name: recorded[name] for name in facts} == facts


def test_an_answer_that_is_not_known_is_an_error_that_says_which_rows_have_one() -> None:
    with pytest.raises(ValueError, match="no answer is known") as error:
        answer_of({"oracle": lambda: None}, "oracle", "row 7")
    assert str(error.value) == (
        "row 7: no answer is known for policy 'oracle'. Rows composed by this package have one for every policy; "
        "finished rows from other origins may not"
    )


@pytest.mark.parametrize("family", OF_FAMILY)
def test_every_request_has_the_answers_without_content(family: str) -> None:
    task = make(OF_FAMILY[family])
    task.build_all_requests(limit=1, **options_of(task))
    doc = task.eval_docs[0]
    echo = doc["input"] if family == "natural_instructions" else task.doc_to_text(doc)
    for request in task.instances:
        known = request.known_answers
        assert text_of(known, "ok") == "ok"
        assert text_of(known, "empty") == ""
        assert text_of(known, "refusal").startswith("I'm sorry")
        assert text_of(known, "echo") == echo
        assert text_of(known, "oracle")


@pytest.mark.parametrize(("group", "most"), [("verbalizer_unnatural", 100), ("manyifeval", 60)])
def test_what_the_command_prints_of_a_group_is_short(harness: Harness, group: str, most: int) -> None:
    run = harness("--model", "reference", "--tasks", group, "--limit", "1", source="embedded")
    assert run.status == 0, run.output[-3000:]
    tables = [line for line in run.output.splitlines() if line.startswith("|")]
    # Each leaf has three metrics, and so has its group, in both tables.
    assert 3 * len(run.samples) + 2 * 3 < len(tables) <= most
    # The samples of every row have the details.
    (sample, *_) = next(iter(run.samples.values()))
    assert len(sample["metrics"]) > 3
    assert {*sample["metrics"]} <= sample.keys()


# What a run was given as ``--metadata``, and what as ``--model_args``

TASKS = ["verbalizer_sst2_natural_golden", "verbalizer_sst2_unnatural_flipped"]


def evaluated(model_args: Any, **metadata: Any) -> Any:
    """Evaluate two tasks as the command does: the model's arguments are merged into the metadata."""
    arguments = dict(pair.split("=") for pair in model_args.split(",")) if isinstance(model_args, str) else model_args
    given = {**arguments, **metadata}
    return evaluate(ReferenceLM(), TASKS, given, model_args=model_args, limit=1, bootstrap_iters=0)


@pytest.mark.parametrize("model_args", ["repeat=3,form=short,n=2", {"repeat": 3, "form": "short", "n": 2}])
def test_an_argument_of_the_model_is_never_taken_for_a_key_of_ours(
    model_args: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert evaluated(model_args)["results"][TASKS[0]]["acc,answer"] == 1.0
    assert "--metadata" not in caplog.text


def test_the_same_key_in_the_metadata_is_an_error() -> None:
    with pytest.raises(ValueError, match="--metadata has an unknown key 'repeat'; did you mean repeats"):
        evaluated("policy=oracle", repeat=3)


def test_keys_that_nothing_reads_are_warned_of_once_a_run(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        evaluated("policy=oracle", run_name="nightly", purpose="a test")
    warned = [record.message for record in caplog.records if "--metadata" in record.message]
    assert len(warned) == 2
    assert warned[0].startswith(
        "--metadata: nothing in lm-eval-ext reads run_name, purpose; its keys are any of source"
    )


OWN_LEAF = {"include": f"{tasks_dir()}/manyifeval/_manyifeval", "task": "mine", "instructions": 1}


@pytest.mark.usefixtures("sentence_data")
@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"row_sed": 3}, "its metadata have a key 'row_sed', which nothing reads; did you mean row_se"),
        ({"owner": "me"}, ""),
    ],
)
def test_metadata_of_a_leaf_may_have_any_key_but_a_typo_is_said(
    own: Mapping[str, Any], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = make_own(tmp_path, {**OWN_LEAF, "metadata": {"version": 1.0, **own}}, source="embedded").config.metadata
    assert metadata.items() >= {"version": "1.0+embedded", **own}.items()
    assert said in caplog.text
    assert ("which nothing reads" in caplog.text) == bool(said)
    assert "--metadata" not in caplog.text


def test_metadata_of_a_leaf_without_a_version_are_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    message = "task 'mine': its metadata have no version. The metadata of a leaf replace those"
    with pytest.raises(ValueError, match=message):
        make_own(tmp_path, {**OWN_LEAF, "metadata": {"verison": 1.0}}, source="embedded")
    assert "did you mean version" in caplog.text


def test_an_argument_of_a_model_is_no_misspelling_of_ours_when_a_task_is_loaded_before_the_run() -> None:
    make(TASKS[0], {"tokenizer_mode": "slow", "max_length_limit": 5})
    with pytest.raises(ValueError, match="unknown key 'tokeniser'; did you mean tokenizer"):
        make(TASKS[0], {"tokeniser": "slow"})


@pytest.mark.parametrize(
    "metadata", [json.dumps({"source": "embedded", "row_sed": 7}), json.dumps({"sorce": "embedded"})]
)
def test_a_run_with_a_misspelt_key_ends_at_once(harness: Harness, metadata: str) -> None:
    found = harness("--model", "reference", "--tasks", TASKS[0], "--metadata", metadata)
    assert found.status != 0
    assert "--metadata has an unknown key" in found.output
    assert found.results == {}


def test_a_row_that_a_run_names_twice_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    task = "manyifeval_cousins_n02"
    options: dict[str, Any] = {"bootstrap_iters": 0, "model_args": "policy=first_wording"}
    for chosen, whole in (([0, 0, 0, 0, 0], False), ([0, 1, 2, 3, 4, 4], True)):
        run = evaluate("reference", [task], {}, samples={task: chosen}, **options)
        assert run["n-samples"][task]["effective"] == len({*chosen})
        assert (run["results"][task]["reliable_at_5,none"] == "N/A") != whole
        assert ("leave 1 rows without some of their 5 variants" in caplog.text) != whole
        caplog.clear()


@pytest.mark.parametrize("row", [-1, 500])
def test_a_row_that_a_task_has_not_is_named(row: int) -> None:
    task = OF_FAMILY["manyifeval"]
    with pytest.raises(ValueError, match=rf"task '{task}': --samples names row {row}; expected 0 to \d+$"):
        evaluate("reference", [task], {}, samples={task: [0, row]}, bootstrap_iters=0)


@pytest.mark.parametrize(("included", "keys", "message"), CASES["wrong_leaves"])
def test_a_leaf_of_ones_own_says_what_is_wrong_with_it(
    tmp_path: Path, included: str, keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=rf"^task 'mine': {message}"):
        make_own(tmp_path, {"include": f"{tasks_dir()}/{included}.yaml", "task": "mine", **keys}, source="embedded")


def test_a_leaf_of_ones_own_may_have_its_own_generation_arguments(tmp_path: Path) -> None:
    arguments = {"until": ["<|endoftext|>"], "do_sample": False}
    leaf = {"include": f"{tasks_dir()}/manyifeval/_dense", "task": "mine", "instructions": 10}
    task = make_own(tmp_path, {**leaf, "generation_kwargs": arguments}, source="embedded")
    task.build_all_requests(limit=1)
    assert task.instances[0].args[1] == arguments
