"""Where the sections of a report begin and end."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.manyifeval.dense.mixed.sections import sections_of


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
