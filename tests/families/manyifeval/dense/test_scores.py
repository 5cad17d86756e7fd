"""What a report follows of its words, or of the instructions about its sections."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.instructions.kinds import IN_SECTIONS
from lm_eval_ext.families.manyifeval.dense.scores import by_place, score_sections, score_words, sections_of
from lm_eval_ext.families.manyifeval.schema import OF_SECTION_TYPES
from tests.tables import tables

READ = tables(__file__, "reports")


@pytest.mark.parametrize(("response", "followed", "modified", "primacy"), READ["words"]["reports"])
def test_words_are_followed_modified_or_omitted(
    response: str | None, followed: int, modified: int, primacy: float
) -> None:
    found = score_words({"words": READ["words"]["listed"]}, [response])
    assert found["words_followed"] == pytest.approx(followed / 6)
    assert found["words_modified"] == pytest.approx(modified / 6)
    assert found["words_omitted"] == pytest.approx(1 - (followed + modified) / 6)
    assert found["primacy"] == primacy
    thirds = [found[f"words_followed_{third}_third"] for third in ("first", "middle", "last")]
    assert sum(thirds) / 3 == pytest.approx(found["words_followed"])
    assert found["empty_rate"] == (not response)


DOC = dict(zip(("sections", "types", "arguments"), zip(*READ["instructions"]["listed"], strict=True), strict=True))


@pytest.mark.parametrize(("response", "followed", "omitted", "thirds"), READ["instructions"]["reports"])
def test_instructions_are_followed_broken_or_omitted(
    response: str | None, followed: int, omitted: int, thirds: list[float]
) -> None:
    found = score_sections(DOC, [response])
    assert found["instructions_followed"] == pytest.approx(followed / 6)
    assert found["instructions_omitted"] == pytest.approx(omitted / 6)
    assert found["instructions_broken"] == pytest.approx((6 - followed - omitted) / 6)
    assert [found[f"instructions_followed_{third}_third"] for third in ("first", "middle", "last")] == thirds
    assert found["primacy"] == thirds[0] - thirds[-1]
    assert found["empty_rate"] == (not response)


def test_each_type_has_how_many_are_followed_and_asked() -> None:
    found = score_sections(DOC, ["Section 1\nThe end, perhaps.\nSection 2\nThe budget."])
    expected = dict.fromkeys(OF_SECTION_TYPES.values(), (0, 0)) | {
        "section_acc_keywords_existence": (1, 1),
        "section_acc_punctuation_no_comma": (1, 2),
        "section_acc_section_question": (0, 2),
        "section_acc_section_first_letter": (1, 1),
    }
    assert {name: value for name, value in found.items() if name.startswith("section_acc_")} == expected


def test_every_type_about_sections_has_a_metric() -> None:
    assert {name: f"section_acc_{name.replace(':', '_')}" for name in IN_SECTIONS} == OF_SECTION_TYPES


@pytest.mark.parametrize(
    ("verdicts", "thirds"),
    [
        ("100", [1, 0, 0]),
        ("110000", [1, 0, 0]),
        # Ten are divided into three, four and three.
        ("1110000001", [1, 0, 1 / 3]),
        ("0001111000", [0, 1, 0]),
    ],
)
def test_every_verdict_is_in_one_third(verdicts: str, thirds: list[float]) -> None:
    given = [verdict == "1" for verdict in verdicts]
    all_of_them, *of_thirds, primacy = by_place("followed", given).values()
    assert of_thirds == pytest.approx(thirds)
    assert all_of_them == verdicts.count("1") / len(verdicts)
    assert primacy == pytest.approx(thirds[0] - thirds[2])


@pytest.mark.parametrize("heading", READ["headings"])
def test_what_is_below_a_heading_is_a_section(heading: str) -> None:
    report = f"Here it is.\n\n{heading}\nThe staff is small.\n\nIt grows.\n\nSection 4\nMore."
    assert sections_of(report) == {3: "The staff is small.\n\nIt grows.", 4: "More."}


@pytest.mark.parametrize("line", READ["text"])
def test_other_lines_are_text(line: str) -> None:
    assert sections_of(f"Section 1\n{line}\nEnd.") == {1: f"{line}\nEnd."}


@pytest.mark.parametrize(("report", "expected"), READ["reports"])
def test_reports_of_several_kinds(report: str, expected: dict[int, str]) -> None:
    assert sections_of(report) == expected
