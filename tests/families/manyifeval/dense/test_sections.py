"""Reports with instructions of many types: the rows, and the proof that each can be followed."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from lm_eval_ext.families.instructions.kinds import SECTION_TYPES, conflicting_in_section, stated
from lm_eval_ext.families.manyifeval.dense.rows import (
    COUNTS,
    PER_SECTION,
    SUBJECTS,
    MixedRow,
    mixed_rows,
    rows_hash,
)
from lm_eval_ext.families.manyifeval.dense.scores import sections_of
from lm_eval_ext.verifiers import EDITIONS
from lm_eval_ext.verifiers.text import Text

pytestmark = pytest.mark.usefixtures("sentence_data")

FEW = (COUNTS[0], COUNTS[2], COUNTS[-1])
"""Some of the numbers of instructions; all of them take seconds."""


def is_proven(row: MixedRow) -> bool:
    """Tell whether the checkers accept the witness, read as a model's report is."""
    texts = {number: Text(text) for number, text in sections_of(row.witness).items()}
    return all(
        instruction.follows(texts[number], edition)
        for number, instruction in zip(row.sections, row.instructions, strict=True)
        for edition in EDITIONS
    )


@pytest.mark.parametrize("count", FEW)
def test_a_prompt_states_every_instruction_of_every_section(count: int) -> None:
    rows = mixed_rows(count)
    assert [row.key for row in rows] == list(range(1, len(SUBJECTS) + 1))
    for row in rows:
        first, empty, *lines = row.prompt.split("\n")
        assert SUBJECTS[row.key - 1] in first
        assert f"Divide the report into {count // PER_SECTION} sections" in first
        assert f"All of these {count} statements" in first
        assert empty == ""
        assert lines == [
            f"- Section {number} {stated(each)}." for number, each in zip(row.sections, row.instructions, strict=True)
        ]
        assert len(set(lines)) == count
        assert Counter(row.sections) == dict.fromkeys(range(1, count // PER_SECTION + 1), PER_SECTION)
        for number in set(row.sections):
            names = [one.id for one, section in zip(row.instructions, row.sections, strict=True) if section == number]
            assert not [pair for pair in combinations(names, 2) if conflicting_in_section(*pair)]


def test_no_two_instructions_of_a_report_name_one_word() -> None:
    for row in mixed_rows(500):
        fields = ("keywords", "forbidden_words", "keyword")
        values = [getattr(each, field) for each in row.instructions for field in fields if hasattr(each, field)]
        named = [value if isinstance(value, str) else value[0] for value in values]
        assert len(named) == len(set(named)) > 50


def test_all_types_occur_about_as_often_as_their_slot_allows() -> None:
    counts = Counter(each.id for row in mixed_rows(500) for each in row.instructions)
    assert set(counts) == set(SECTION_TYPES)
    assert min(counts.values()) > 60


@pytest.mark.parametrize("row_seed", [None, 7])
def test_the_checkers_accept_every_witness(row_seed: int | None) -> None:
    assert all(is_proven(row) for count in (10, 50) for row in mixed_rows(count, row_seed))


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
def test_every_row_of_50_seeds_has_a_witness_that_the_checkers_accept(count: int) -> None:
    prompts = set()
    for row_seed in range(50):
        # Not kept: all of them would take gigabytes.
        rows = mixed_rows.__wrapped__(count, row_seed)
        assert [row.key for row in rows if not is_proven(row)] == [], row_seed
        prompts |= {row.prompt for row in rows}
    assert len(prompts) == 50 * len(SUBJECTS)


def test_no_row_of_50_seeds_equals_another() -> None:
    # No two sections either: what makes a row new is not its subject.
    seen: Counter[tuple[str, ...]] = Counter()
    for row_seed in (None, *range(50)):
        for row in mixed_rows(10, row_seed):
            seen[tuple(sorted(map(repr, row.instructions)))] += 1
    assert len(seen) == 510


def test_the_rows_never_change() -> None:
    # A change here is a change of scores, and of metadata.version.
    assert tuple(rows_hash(mixed_rows(*drawn)) for drawn in ((10,), (500,), (10, 7))) == (
        "6bac44b381aab486",
        "a3a850a3a35241fd",
        "4ccba098337d2a43",
    )


@pytest.mark.parametrize(
    "heading",
    [
        "Section 3",
        "section 3:",
        "SECTION 3.",
        "## Section 3",
        "### Section 3: Staff and costs",
        "**Section 3**",
        "**Section 3: Staff**",
        "**Section 3:** Staff",
        "_Section 3_",
        "Section 3 - Staff",
        "Section 3 \N{EM DASH} Staff",
        "  > Section 3\r",
    ],
)
def test_what_is_below_a_heading_is_a_section(heading: str) -> None:
    report = f"Here it is.\n\n{heading}\nThe staff is small.\n\nIt grows.\n\nSection 4\nMore."
    assert sections_of(report) == {3: "The staff is small.\n\nIt grows.", 4: "More."}


@pytest.mark.parametrize(
    "line",
    ["Section 3 shows the costs.", "Sections 3", "Section 3rd", "Section three", "In section 3:", "Section 3000"],
)
def test_other_lines_are_text(line: str) -> None:
    assert sections_of(f"Section 1\n{line}\nEnd.") == {1: f"{line}\nEnd."}


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("", {}),
        ("No sections at all.", {}),
        ("Section 1\n\nSection 2\n  \n", {}),
        ("Section 1: All is well.\nSection 2: **So far.**", {1: "All is well.", 2: "So far."}),
        ("Section 2\nLast.\nSection 1\nFirst.", {1: "First.", 2: "Last."}),
        ("Section 1\nOne.\n\n---\n\n## Section 2\nTwo.\n***\n", {1: "One.", 2: "Two."}),
        # A table of contents, and a report that repeats itself.
        ("Section 1: Staff\nSection 2: Costs\n\nSection 1\nOne.\nSection 2\nTwo.", {1: "One.", 2: "Two."}),
        ("Section 1\nSection 2\n\nSection 1\nOne.\nSection 2\nTwo.\nSection 2\nAgain.", {1: "One.", 2: "Two."}),
        ("Section 1\nOne.\nSection 101\nToo many.", {1: "One.", 101: "Too many."}),
    ],
)
def test_reports_of_several_kinds(report: str, expected: dict[int, str]) -> None:
    assert sections_of(report) == expected
