"""The keys of ``--metadata``: which there are, what a misspelt one says, and which tasks take them."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.schema import FORM
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.metadata import (
    KEYS,
    PARAPHRASES,
    ROW_SEED,
    chosen_details,
    chosen_paraphrases,
    chosen_row_seed,
    refuse_keys_of_others,
    seeded_generator,
    unknown_keys,
)
from tests.conftest import ROOT, Harness, Run
from tests.harness.tasks import OF_FAMILY, make
from tests.sampling import sampled
from tests.tables import tables

TABLES = tables(__file__)


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


@pytest.mark.parametrize("given", ["true", 1, [True]])
def test_details_are_asked_for_with_true(given: object) -> None:
    assert (chosen_details("a_task", {}), chosen_details("a_task", {"details": True})) == (False, True)
    with pytest.raises(ValueError, match=r"^task 'a_task': metadata details .*; expected true or false$"):
        chosen_details("a_task", {"details": given})


@pytest.mark.parametrize(("misspelt", "meant"), TABLES["misspelt"])
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
    assert {ROW_SEED, PARAPHRASES, PLACEMENT, FORM} < KEYS.keys()


def test_a_key_of_other_tasks_is_refused_and_one_about_reading_answers_is_not() -> None:
    metadata = {"form": "mixed", "answer_classifier": "rules", "n": None}
    refuse_keys_of_others("a_task", metadata, ["form"])
    message = (
        "task 'a_task': metadata form 'mixed'; only the manyifeval_dense tasks have a choice of forms; run this task "
        "without form, in a command of its own"
    )
    with pytest.raises(ValueError, match=message):
        refuse_keys_of_others("a_task", metadata, ["row_seed"])


VALUES = TABLES["values"]
TAKEN = {family: {*keys} for family, keys in TABLES["taken"].items()}


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


# The row seed

ORACLES = TABLES["oracles"]


def test_without_a_row_seed_version_and_draws_are_the_published_ones() -> None:
    metadata: dict[str, Any] = {"version": 1.1}
    assert chosen_row_seed("a_task", metadata) is None
    assert metadata == {"version": 1.1}
    published = random.Random("20241001/key")  # noqa: S311 # reproducible by design
    assert seeded_generator(20241001, None, "key").random() == published.random()


def test_a_row_seed_marks_the_version_and_changes_every_draw() -> None:
    metadata: dict[str, Any] = {"version": "1.1+embedded", "row_seed": 7}
    assert chosen_row_seed("a_task", metadata) == 7
    assert metadata["version"] == "1.1+embedded+seed7"
    assert chosen_row_seed("a_task", later := {"version": "1.1", "row_seed": 7}, seed_version=2) == 7
    assert later["version"] == "1.1+seed7.2"
    draws = {seeded_generator(20241001, row_seed, "key").random() for row_seed in (None, 0, 1, 7, 17)}
    assert len(draws) == 5


@pytest.mark.parametrize("row_seed", [-1, 1.5, "7", True, [1]])
def test_a_row_seed_that_is_no_whole_number_is_an_error_that_names_task_and_key(row_seed: object) -> None:
    with pytest.raises(ValueError, match=r"task 'a_task': metadata row_seed .*expected a whole number, 0 or more"):
        chosen_row_seed("a_task", {"version": 1.1, "row_seed": row_seed})


def versions(run: Run) -> dict[str, str]:
    return {task: str(version) for task, version in run.results["versions"].items()}


@pytest.mark.harness
@pytest.mark.usefixtures("sentence_data")
@pytest.mark.parametrize("row_seed", sampled([7, 0], 2))
def test_the_oracle_is_right_on_fresh_rows_of_every_family(harness: Harness, row_seed: int) -> None:
    metadata = f'{{"source": "embedded", "row_seed": {row_seed}}}'
    # The model's own seed is among the metadata, too, and must not choose the rows.
    model = ("--model", "reference", "--model_args", "policy=oracle,seed=3")
    run = harness(*model, "--tasks", ",".join(ORACLES), "--metadata", metadata)
    assert run.status == 0, run.output[-3000:]
    found = run.results["results"]
    assert {task: [figure, found[task][figure]] for task, (figure, _) in ORACLES.items()} == ORACLES
    # What draws the rows of manyifeval has changed once.
    assert {task: version.partition("+")[2] for task, version in versions(run).items()} == {
        task: f"embedded+seed{row_seed}{'.2' * task.startswith('manyifeval')}" for task in ORACLES
    }
    for config in run.results["configs"].values():
        assert config["metadata"]["row_seed"] == row_seed


@pytest.mark.harness
def test_the_seed_of_the_model_chooses_no_rows(harness: Harness) -> None:
    options = ("--model", "reference", "--tasks", "verbalizer_sst2_neutral_foo_bar")
    runs = [harness(*options, "--model_args", f"seed={seed}", source="embedded") for seed in (1, 2)]
    hashes = {run.results["configs"]["verbalizer_sst2_neutral_foo_bar"]["metadata"]["rows_hash"] for run in runs}
    assert len(hashes) == 1
    assert all("seed" not in version for run in runs for version in versions(run).values())
