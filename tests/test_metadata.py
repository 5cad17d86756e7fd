"""The keys of ``--metadata``: which there are, what a misspelt one says, and which tasks take them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.schema import FORM
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.metadata import KEYS, PARAPHRASES, chosen_paraphrases, refuse_keys_of_others, unknown_keys
from lm_eval_ext.row_seed import KEY
from tests.conftest import ROOT
from tests.harness.tasks import OF_FAMILY, make


def test_without_paraphrases_the_version_is_the_published_one() -> None:
    metadata: dict[str, Any] = {"version": 1.1}
    assert chosen_paraphrases("a_task", metadata, 8) is None
    assert metadata == {"version": 1.1}


def test_their_number_is_marked_in_the_version() -> None:
    metadata: dict[str, Any] = {"version": "1.1+embedded", "paraphrases": 5}
    assert chosen_paraphrases("a_task", metadata, 8) == 5
    assert metadata["version"] == "1.1+embedded+paraphrases5"


@pytest.mark.parametrize("count", [1, 0, -2, 9, 99, "five", "5", True, False, 5.0, [5]])
def test_another_number_is_an_error_that_names_task_key_and_what_is_expected(count: object) -> None:
    message = r"^task 'a_task': metadata paraphrases .*; expected a whole number from 2 to 8, the number of wordings"
    with pytest.raises(ValueError, match=message):
        chosen_paraphrases("a_task", {"version": 1.1, "paraphrases": count}, 8)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("row_sed", "row_seed"),
        ("row-seed", "row_seed"),
        ("rowSeed", "row_seed"),
        ("paraphrase", "paraphrases"),
        ("sorce", "source"),
        ("SOURCE", "source"),
        ("placment", "placement"),
        ("forms", "form"),
        ("repeat", "repeats"),
        ("answer_clasifier", "answer_classifier"),
        ("max_lenght", "max_length"),
    ],
)
def test_a_misspelt_key_is_an_error_that_names_the_key_that_was_meant(misspelt: str, meant: str) -> None:
    message = rf"--metadata has an unknown key {misspelt!r}; did you mean {meant}\? Expected any of source, row_seed, "
    with pytest.raises(ValueError, match=message):
        unknown_keys(["source", misspelt])


def test_other_keys_are_unknown_but_no_error_unless_they_are_known_to_the_harness_or_of_a_model() -> None:
    others = ["run_name", "release", "date", "seed", "purpose", "note"]
    assert unknown_keys([*KEYS, "version", "max_seq_lengths", "pretrained", "think_end_token", *others]) == others


def test_every_key_that_the_code_reads_is_declared() -> None:
    reads = re.compile(r'metadata(?:\.get\(|\.pop\(|\.setdefault\(|\[)"(\w+)"')
    recorded = {"version", "note", "rows_origin", "config_source", "paired"}  # by the tasks themselves
    found = {
        key
        for folder in ("families", "harness")
        for path in (ROOT / "lm_eval_ext" / folder).rglob("*.py")
        for key in reads.findall(path.read_text(encoding="utf-8"))
    }
    assert {"answer_llm", "keys", "n"} & found
    assert unknown_keys(found - recorded) == []
    assert {KEY, PARAPHRASES, PLACEMENT, FORM} < KEYS.keys()


def test_a_key_of_other_tasks_is_refused_and_one_about_reading_answers_is_not() -> None:
    metadata = {"form": "mixed", "answer_classifier": "rules", "n": None}
    refuse_keys_of_others("a_task", metadata, ["form"])
    message = (
        "task 'a_task': metadata form 'mixed'; only the manyifeval_dense tasks have a choice of forms; run this task "
        "without form, in a command of its own"
    )
    with pytest.raises(ValueError, match=message):
        refuse_keys_of_others("a_task", metadata, ["row_seed"])


VALUES = {"row_seed": 7, "paraphrases": 8, "placement": "before", "form": "mixed", "keys": [1], "n": 5, "examples": 1}
TAKEN = {
    "verbalizer": {"row_seed", "paraphrases"},
    "manyifeval": {"row_seed", "placement", "keys"},
    "ifbench": set(),
    "paired_mcq": {"row_seed"},
    "natural_instructions": {"row_seed", "n", "examples"},
}


def test_every_key_that_some_task_refuses_is_tried() -> None:
    assert {key for key, reason in KEYS.items() if reason} == VALUES.keys()
    assert TAKEN.keys() == OF_FAMILY.keys()


@pytest.mark.harness
@pytest.mark.parametrize(
    ("task", "key"),
    [
        *((OF_FAMILY[family], key) for family, taken in TAKEN.items() for key in sorted(VALUES.keys() - taken)),
        ("manyifeval_cousins_n01", "form"),
        ("manyifeval_wide_n01", "form"),
        ("manyifeval_dense_n010", "keys"),
    ],
)
def test_a_task_refuses_each_key_that_would_change_nothing_in_it(task: str, key: str) -> None:
    value = re.escape(repr(VALUES[key]))
    with pytest.raises(ValueError, match=f"task '{task}': metadata {key} {value}; .*; run this task without {key}"):
        make(task, {key: VALUES[key]})
