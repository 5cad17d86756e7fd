"""The metrics and facts of a task are exactly those in its family's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.metrics import mean

from lm_eval_ext.families.conversation.schema import LANGUAGES
from lm_eval_ext.families.manyifeval.schema import curse_residual
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.families.natural_instructions.scores import rouge_l
from lm_eval_ext.families.paired_mcq.schema import mean_entropy
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import COUNT, FACTS, PROMPT_TRUNCATED_RATE, TRUNCATED_RATE, Metric, RowForm, Schema
from lm_eval_ext.self_refine.loop import Feedback, Refined, Round
from lm_eval_ext.sources import EMBEDDED_FOLDER
from lm_eval_ext.turns import Turns
from tests.families.jsonl import read_jsonl, write_rows
from tests.harness.tasks import OF_FAMILY, make
from tests.known_answers import text_of

pytestmark = pytest.mark.harness

TASKS = {
    **OF_FAMILY,
    "verbalizer, chain of thought": "verbalizer_cot_rte_neutral_foo_bar",
    "verbalizer, in several wordings": "verbalizer_mrpc_natural_yes_no",
    "manyifeval, repeated": "manyifeval_repeat_n03",
    "ifbench, two turns": "ifbench_two_turns",
    "ifbench, repaired": "ifbench_repaired",
    "ifbench, IFEval": "ifeval_repaired",
    "hierarchy, several turns": "hierarchy_turns_slipped_t02",
    "conversation, Multi-IF": "multi_if",
    "manyifeval, in variants": "manyifeval_cousins_n03",
    "manyifeval, larger pool": "manyifeval_wide_n03",
    "manyifeval, many words": "manyifeval_dense_n010",
    "manyifeval, many sections": "manyifeval_dense_n010",
    "paired_mcq, no gold answer": "paired_mcq_opinionqa_high",
    "paired_mcq, text alone": "text_mcq_mmlu_example",
    "natural_instructions, ablation": "natural_instructions_subtask033_winogrande_answer_generation_all_minus_avoid",
}


METADATA: Mapping[str, Mapping[str, Any]] = {
    "verbalizer, in several wordings": {"paraphrases": 8},
    "manyifeval, many sections": {"form": "mixed"},
}
"""By case, what ``--metadata`` says."""


def made(case: str) -> Any:
    """Return the task of a case."""
    return make(TASKS[case], METADATA.get(case))


def family_of(case: str) -> str:
    return case.partition(",")[0]


def answered(task: Any, number: int = 0, policy: str = "oracle") -> dict[str, Any]:
    """Return the scores of a row, answered as a policy does."""
    doc = task.eval_docs[number]
    if family_of(task.FAMILY) != "paired_mcq":
        known = task.known_answers(doc)
        text = text_of(known, policy) if policy in known else Turns("nothing", "nothing at all")
        return dict(task.process_results(doc, [text]))
    # Each row's text names another letter, and each first token another one still.
    letters = [(float(place == (3 * number) % len(doc["options"])), False) for place in range(len(doc["options"]))]
    reading = json.dumps({"reading": "ABCD"[number % 4] if policy == "oracle" else "refused", "certainty": 1.0})
    return dict(task.process_results(doc, [*(letters if task.config.metadata["paired"] else []), reading]))


FORMS: dict[RowForm, Any] = {
    "number": lambda value: isinstance(value, (int, float)),
    "ratio": lambda value: len(value) == 2 and all(isinstance(each, (int, float)) for each in value),
    "letters": lambda value: len(value) == 2 and all(isinstance(each, str) for each in value),
    "choice": lambda value: isinstance(value[0], str) and all(isinstance(each, str) for each in value[1]),
}


@pytest.mark.parametrize("case", TASKS)
def test_every_metric_of_a_task_has_the_direction_and_every_row_the_values_of_its_schema(case: str) -> None:
    task, schema = made(case), FAMILIES[family_of(case)].schema
    found = answered(task)
    assert set(found) == set(task.aggregation())
    for name, higher_is_better in task.higher_is_better().items():
        assert schema.metric(name).direction_in_tables is higher_is_better, name
    for name, value in found.items():
        form = schema.metric(name).per_row
        assert form is None or FORMS[form](value), (name, value)


def test_a_leaf_cannot_list_other_metrics_than_its_family_declares() -> None:
    config = {"task": "mine", "instructions": 2, "doc_to_text": "prompt", "metadata": {"source": "embedded"}}
    with pytest.raises(ValueError, match=r"task 'mine': metric_list is set, .*; remove metric_list"):
        ManyIFEvalTask({**config, "metric_list": [{"metric": "acc"}]})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_metric_that_explains_another_explains_a_metric_of_its_family(family: str) -> None:
    schema = FAMILIES[family].schema
    assert {schema.metric(one.explains).name for one in schema.metrics if one.explains} <= {
        one.name for one in schema.metrics if not one.explains
    }


def test_every_metric_of_a_refined_answer_is_in_the_schema() -> None:
    task, schema = make(OF_FAMILY["manyifeval"]), FAMILIES["manyifeval"].schema
    doc = task.eval_docs[0]
    refined = Refined([Round("No.", Feedback((False, None), ("NO", "?"))), Round("Yes.")], planned=2)
    found = task.process_results(doc, [refined])
    assert found.keys() > answered(task).keys()
    assert set(found) == set(task.aggregation())
    # The harness knows the standard error of its own mean alone.
    means = {name for name, aggregation in task.aggregation().items() if aggregation is mean}
    assert {"prompt_level_strict_acc_round_0", "inst_level_strict_acc_round_2", "base_requests"} <= means
    for name, higher_is_better in task.higher_is_better().items():
        assert schema.metric(name).direction_in_tables is higher_is_better, name


def test_every_metric_of_a_schema_is_reported_by_some_task(tmp_path: Path) -> None:
    given: dict[str, set[str]] = {name: set() for name in FAMILIES}
    for case in TASKS:
        given[family_of(case)] |= set(made(case).aggregation())
    for count in range(2, 8):
        given["verbalizer"] |= set(make(OF_FAMILY["verbalizer"], {"paraphrases": count}).aggregation())
    task = make(OF_FAMILY["manyifeval"])
    task.process_results(task.eval_docs[0], [Refined([Round("No.", Feedback((False, True)))], planned=1)])
    given["manyifeval"] |= set(task.aggregation())
    row = read_jsonl(EMBEDDED_FOLDER / "multi_if_train.jsonl")[0]
    write_rows(tmp_path / "multi_if_train.jsonl", [{**row, "key": of, "language": of} for of in LANGUAGES])
    given["conversation"] |= set(make("multi_if", {"source": str(tmp_path)}).aggregation())
    # They need answers (tests/harness/test_endings.py, tests/harness/test_truncated_prompts.py).
    for metrics in given.values():
        metrics |= {TRUNCATED_RATE.name, PROMPT_TRUNCATED_RATE.name}
    # It needs a checkpoint.
    given["natural_instructions"].add("bleurt")
    for family in FAMILIES.values():
        never = [metric.name for metric in family.schema.metrics if not any(map(metric.covers, given[family.name]))]
        assert never == []


@pytest.mark.parametrize("policy", ["oracle", "another"])
@pytest.mark.parametrize("case", TASKS)
def test_every_value_is_within_its_metrics_range(case: str, policy: str) -> None:
    task, schema = made(case), FAMILIES[family_of(case)].schema
    rows = [answered(task, number, policy) for number in range(min(20, len(task.eval_docs)))]
    for name, aggregate in task.aggregation().items():
        values = [row[name] for row in rows]
        least, most = schema.range(name)
        if schema.metric(name).per_row == "number":
            assert all(least <= value <= most for value in values), name
        figure = aggregate(values)
        assert figure == "N/A" or least <= figure <= most, (name, figure)


def test_ranges_have_the_units_of_the_figures() -> None:
    # Shares are shares and no percent, ROUGE-L among them; entropies are in nats, of ten orders at most log 10.
    mcq, ni = FAMILIES["paired_mcq"].schema, FAMILIES["natural_instructions"].schema
    ten_contents = [("question", (str(number),)) for number in range(10)]
    assert mcq.range("mismatch")[1] < mean_entropy(ten_contents) < mcq.range("entropy_text")[1]
    assert ni.range("rouge_l")[1] == pytest.approx(rouge_l("the very same words", ["the very same words"]))
    # The extremes: all instructions are followed, but never all of a row; or one row follows all, nine none.
    worst = curse_residual([(0.0, 0.9, 10)] * 10), curse_residual([(1.0, 1.0, 1)])
    least, most = FAMILIES["manyifeval"].schema.range("curse_residual")
    assert least < worst[0] < 0 <= worst[1] < most


@pytest.mark.parametrize("case", TASKS)
def test_a_task_records_its_family_and_all_facts_of_the_schema_in_their_types(case: str) -> None:
    recorded, family = made(case).dump_config()["metadata"], FAMILIES[family_of(case)]
    assert recorded["family"] == family.name
    assert family.schema.wrong_facts(recorded) == {}


def test_metadata_of_the_user_does_not_change_the_facts_of_a_task() -> None:
    lies = {"family": "manyifeval", "dataset": "mine", "naturalness": "natural", "rows_hash": "0"}
    recorded = make("verbalizer_sst2_unnatural_0_1", lies).dump_config()["metadata"]
    honest = make("verbalizer_sst2_unnatural_0_1").dump_config()["metadata"]
    assert {key: recorded[key] for key in lies} == {key: honest[key] for key in lies}


# The schema itself

ONE = Metric("acc", higher_is_better=True)
MANY = Metric("strict_acc_*", higher_is_better=True, per_row="ratio")


def schema(*headlines: Metric) -> Schema:
    return Schema((ONE, MANY), headlines, facts={"level": "a whole number"})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_level_is_a_fact_that_some_task_of_the_family_records(family: str) -> None:
    recorded = {fact for case in TASKS if family_of(case) == family for fact in made(case).config.metadata}
    levels = FAMILIES[family].schema.levels
    assert levels
    assert {*levels} <= recorded


def test_levels_are_in_display_order_and_named_by_what_differs() -> None:
    schema = Schema((), (), {}, levels=("size", "kind", "wide"), values={"kind": ("z", "a")})
    facts: Mapping[str, Mapping[str, Any]] = {
        "ten": {"size": 10, "kind": "z"},
        "two": {"size": 2, "kind": "z", "wide": False},
        "also_two": {"size": 2, "kind": "z"},
        "other": {"size": 2, "kind": "a"},
        "wide": {"size": 2, "kind": "own_kind", "wide": True},
        "none": {},
    }
    assert schema.by_level(facts) == {
        "others": ("none",),
        "2 size, z": ("two", "also_two"),
        "2 size, a": ("other",),
        "2 size, own kind, wide": ("wide",),
        "10 size, z": ("ten",),
    }
    assert schema.by_level({name: facts[name] for name in ("two", "also_two")}) == {"": ("two", "also_two")}


def test_a_pattern_matches_several_metrics() -> None:
    assert schema().metric("strict_acc_keywords_existence") is MANY
    with pytest.raises(KeyError, match="loose"):
        schema().metric("loose_acc")


@pytest.mark.parametrize(("given", "headline"), [(("acc", "f1"), "acc"), (("f1",), "f1"), (("f1", "acc"), "acc")])
def test_the_headline_of_a_task_is_the_first_that_it_has(given: Sequence[str], headline: str) -> None:
    assert schema(ONE, Metric("f1", higher_is_better=False)).headline(given).name == headline


@pytest.mark.parametrize(
    ("name", "expected"),
    [("acc", "a number from 0 to 1"), ("requests", "a number, at least 0"), ("residual", "a number from -1 to 1")],
)
def test_a_range_is_described_in_words(name: str, expected: str) -> None:
    counted = Metric("requests", higher_is_better=None, range=COUNT)
    between = Metric("residual", higher_is_better=True, range=(-1.0, 1.0))
    assert Schema((ONE, counted, between), (ONE,), facts={}).expected(name) == expected


def test_a_custom_metric_is_unknown_to_the_schema() -> None:
    assert schema().range("mine") == (-inf, inf)


@pytest.mark.parametrize(
    ("level", "is_valid"),
    [(1, True), (0, True), *((level, False) for level in (True, 1.0, "1", None, [1], -1, 10**400))],
)
def test_a_fact_has_its_type(level: object, is_valid: bool) -> None:
    wrong = {} if is_valid else {"level": "a whole number"}
    assert schema().wrong_facts({**dict.fromkeys(FACTS, "x"), "level": level}) == wrong


def test_a_task_without_a_headline_is_reported() -> None:
    with pytest.raises(KeyError, match="acc"):
        schema(ONE).headline(["loss"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_headline_is_better_in_the_direction_that_the_results_state(family: str) -> None:
    given = FAMILIES[family].schema
    for headline in given.headlines:
        # A metric may have a direction as a headline alone.
        assert given.metric(headline.name).higher_is_better in (headline.higher_is_better, None)
