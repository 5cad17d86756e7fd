"""detectable_format and detectable_content, in both editions."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text


@pytest.mark.parametrize(
    ("number", "text", "faithful", "repaired"),
    [
        pytest.param(2, "* a\n* b\n---", False, True, id="trap: a rule of dashes"),
        pytest.param(2, "* a\n    * deeper\n* b", False, True, id="trap: sub-bullets, two items"),
        pytest.param(3, "* a\n    * deeper\n* b", True, False, id="trap: sub-bullets, three"),
        pytest.param(2, "• a\n• b", False, True, id="trap: round bullets"),
        pytest.param(2, "+ a\n+ b", False, True, id="trap: plus signs"),
        pytest.param(2, "1. a\n2. b", False, True, id="trap: numbers"),
        pytest.param(2, "-5 degrees\n-6 degrees", True, False, id="trap: minus signs"),
        pytest.param(2, "*one* word\n*two* words", True, False, id="trap: italics"),
        (2, "* a\n* b", True, True),
        (2, "- a\n- b", True, True),
        (2, "* a\n- b", True, True),
        (2, "Two points:\n\n* a\n\n* b\n\nDone.", True, True),
        (2, "* a\ngoes on\n* b", True, True),
        (2, "  * a\n  * b", True, True),
        (2, "* a", False, False),
        (1, "* a", True, True),
        (2, "* a\n* b\n* c", False, False),
        (2, "a * b\nc - d", False, False),
        # marks that only look like bullets
        (2, "* a\n***\n* b", True, True),
        (2, "* a\n* * *\n* b", False, True),
        (0, "**a** and\n**b**", True, True),
        (2, "*a\n*b", True, False),
        (2, "-\n-", True, False),
        (2, "```\n* a\n* b\n```", True, False),
        (2, "~~~\n* a\n~~~\n* b\n* c", False, True),
        # depth
        (2, "1. a\n   - deeper\n   - deeper\n2. b", True, True),
        (1, "1. a\n2. b\n\n* c", True, True),
        (3, "1. a\n2. b\n\n* c", False, False),
        (1, "* a\n\n  * deeper\n", False, True),
        (2, "* a\n\ntext\n\n  * b", True, True),
        (2, "* a\n * b", True, True),
        (2, "1) a\n2) b", False, True),
        # a response in quotation marks
        (2, '"* a\n* b"', False, True),
        # a legal 0
        (0, "no list", True, True),
        (0, "* a", False, False),
        (0, "", False, False),
        (0, " \n", False, False),
    ],
)
def test_bullets_are_counted(number: int, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_format:number_bullet_lists", {"num_bullets": number})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("x << 2 and y >> 3", True, False, id="trap: shifts"),
        ("<<poem of joy>>\nRoses are red.", True, True),
        ("<< poem of joy >>\nRoses are red.", True, True),
        ("# **<< poem of joy >>**\nRoses are red.", True, True),
        ('"<<poem of joy>>"', True, True),
        ("Here is <<poem of joy>> for you.", True, True),
        ("Here is << poem of joy >> for you.", True, False),
        ("Roses are red.\n<<poem of joy>>", True, True),
        ("<<a>>", True, True),
        ("<<<a>>>", True, True),
        ("Title: << poem of joy >>", True, True),
        ("<<123>>", True, True),
        ("<<***>>", True, False),
        ("cout<<x>>y", True, False),
        ("<<Из А в Я>>", True, True),
        ("<<From A -> B>>", True, True),
        ("<poem of joy>", False, False),
        ("<<poem of joy>", False, False),
        ("<poem of joy>>", False, False),
        (">>poem of joy<<", False, False),
        ("<<>>", False, False),
        ("<< >>", False, False),
        ("<<poem\nof joy>>", False, False),
        ("«poem of joy»", False, False),
        ("poem of joy", False, False),
        ("", False, False),
        ("\n", False, False),
    ],
)
def test_a_title_is_in_double_angle_brackets(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_format:title")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("number", "text", "faithful", "repaired"),
    [
        (2, "*one* and *two*", True, True),
        (2, "**one** and **two**", True, True),
        (2, "*one* and **two**", True, True),
        (2, "*one*, *two*.", True, True),
        (2, "_*one*_ “*two*”", True, True),
        (2, "*one*", False, False),
        (2, "*one* two", False, False),
        (1, "*one* and *two*", True, True),
        (2, "***one***", True, False),  # IFEval counts *one* and **one**
        (1, "***one***", True, True),
        (2, "*one **inside** two*", True, True),
        # asterisks that enclose nothing
        (1, "2 * 3 * 4", True, False),
        (1, "* a * b", True, False),
        (1, "* a footnote*", True, False),
        (1, "* *one* in a list", False, True),
        (1, "* a\n* b", False, False),
        (1, "*one\ntwo*", False, True),
        (1, "*one\n\ntwo*", False, False),
        (1, "* *", False, False),
        (1, "****", False, False),
        (1, "** **", False, False),
        (1, "_one_", False, True),
        (2, "_one_ and __two__", False, True),
        (1, "snake_case_name", False, False),
        (1, "`*one*`", True, False),
        (1, r"\*one\*", True, False),
        (1, "*one", False, False),
        # a legal 0
        (0, "none", True, True),
        (0, "", False, False),
        (0, "\n", False, False),
    ],
)
def test_highlights_are_counted(number: int, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_format:number_highlighted_sections", {"num_highlights": number})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("mark", "number", "text", "faithful", "repaired"),
    [
        pytest.param("section", 2, "intersection 12 section 1", True, False, id="trap: in a word, in a line"),
        pytest.param("Section", 1, "intersection 12 Section 1", True, False, id="trap: in a line"),
        pytest.param("Section", 2, "Section 1\na\nSECTION 2\nb", False, True, id="trap: SECTION 2"),
        ("Section", 2, "Section 1\na\nSection 2\nb", True, True),
        ("Section", 2, "Section 1: a\nSection 2. b", True, True),
        ("Section", 2, "**Section 1**\n\n## Section 2", True, True),
        ("Section", 2, "_Section 1_\n  Section 2", True, True),
        ("Section", 2, "Section1\nSection2", True, True),
        ("Section", 2, "Section\t1\n100. Section 2", True, True),
        ("Section", 2, "Section 1\n1000. Section 2", True, False),
        ("Section", 2, "Section 10\na", False, False),
        ("Section", 1, "Section 1\na\nSection 2\nb", True, True),
        ("Section", 3, "Section 1\na\nSection 2\nb", False, False),
        ("Section", 2, "Section one\nSection two", False, True),
        ("Section", 2, "Section I\nSection II", False, True),
        ("Section", 1, "Section XI", False, True),
        ("Section", 1, "Section X", False, False),  # what the instruction writes for any number
        ("Section", 1, "Section eleven", False, False),
        ("Section", 1, "Section onerous", False, False),
        ("Section", 1, "Section Inner", False, False),
        ("Section", 2, "Section A\nSection B", False, False),
        ("Section", 1, "As Section 1 says", True, False),
        ("Section", 1, "Section\n1", True, False),
        ("Section", 1, "section 1", False, True),
        ("SECTION", 1, "SECTION 1", True, True),
        (" Section ", 1, "Section 1", True, True),
        ("Art.", 1, "Arty 1", True, False),
        ("?", 1, "1", True, False),  # the mark makes IFEval's own expression another one
        ("Art.", 1, "Art. 1", True, True),
        # a legal 0
        ("Section", 0, "none", True, True),
        ("Section", 0, "", False, False),
        ("Section", 0, "\n", False, False),
    ],
)
def test_sections_are_counted(mark: str, number: int, text: str, faithful: bool, repaired: bool) -> None:
    arguments = {"section_spliter": mark, "num_sections": number}
    checker = instruction("detectable_format:multiple_sections", arguments)
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


SECTION_PIECES = st.sampled_from(
    [
        *"\n\n\n  \t\r\x1c\u2028#*_-:.)1X",
        "Part",
        "part",
        "##",
        "Part\n#",
        "_1",
        "1.",
        "12)",
        "1234.",
        "IV",
        "two",
        "a",
        "ſ",
    ]
)


@settings(derandomize=True, deadline=None, max_examples=800)
@given(
    st.sampled_from(["Part", "#", "##", "_1", "*", "- #", "§", "Part\n#"]),
    st.lists(SECTION_PIECES, max_size=14).map("".join),
)
def test_sections_match_the_plain_regular_expression(mark: str, text: str) -> None:
    number = r"(?:\d+|(?!X\b)[IVX]+(?=[*_ \t]*(?:[:.)–—-]|$))|(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)"
    # In quadratic time: all white space before a number, and each shorter row of marks before what begins a section.
    plain = rf"^(?:\s*\d{{1,3}}[.)])?(?:[^\w\n]|_)*{re.escape(mark)}[*_:# \t-]*{number}"
    count = len(re.findall(plain, text, re.IGNORECASE | re.MULTILINE))
    checkers = [
        instruction("detectable_format:multiple_sections", {"section_spliter": mark, "num_sections": least})
        for least in (count, count + 1)
    ]
    assert [checker.repaired(Text(text)) for checker in checkers] == [True, False]


def test_a_run_of_section_marks_is_read_in_linear_time() -> None:
    checker = instruction("detectable_format:multiple_sections", {"section_spliter": "#", "num_sections": 1})
    taken = []
    for size in (200, 20_000):
        begin = time.process_time()
        assert not checker.repaired(Text("#" * size))
        taken.append(time.process_time() - begin)
    # Linear time is 100 times and quadratic time 10,000.
    assert taken[1] < 1000 * max(taken[0], 0.0001), taken


def test_a_section_mark_that_is_not_a_regular_expression_is_an_error_or_literal() -> None:
    arguments = {"section_spliter": "(Part", "num_sections": 2}
    checker = instruction("detectable_format:multiple_sections", arguments)
    with pytest.raises(ValueError, match=r"^detectable_format:multiple_sections: .*\(Part.*invalid regular expression"):
        checker.follows(Text("(Part 1)\n(Part 2)"), "faithful")
    assert checker.follows(Text("(Part 1)\n(Part 2)"), "repaired")
    assert not checker.follows(Text("Part 1\nPart 2"), "repaired")


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("NaN", True, False, id="trap: NaN"),
        pytest.param('{"a": NaN}', True, False, id="trap: NaN inside"),
        pytest.param("```json\n{}\n```\nThat is all.", False, True, id="trap: text after a fenced block"),
        ('{"a": [1, null]}', True, True),
        (' \n{"a": 1}\n', True, True),
        ("[]", True, True),
        ('"text"', True, False),
        ("7", True, False),
        ("null", True, False),
        ("[-Infinity]", True, False),
        ('["NaN"]', True, True),
        ("{'a': 1}", False, False),
        ('{"a": 1,}', False, False),
        ('{"a": 1', False, False),
        ('{"a": 1}\n{"a": 2}', False, False),
        ('Here: {"a": 1}', False, False),
        ("a: 1", False, False),
        # fences
        ("```json\n{}\n```", True, True),
        ("```JSON\n{}\n```", True, True),
        ("```\n{}\n```", True, True),
        ("```{}```", True, True),
        ("~~~\n{}\n~~~", False, True),
        ("Here:\n```json\n{}\n```", False, True),
        ("```json\n{}", True, True),  # never closed
        ("```json\n```", False, False),
        ("```json\nNaN\n```", True, False),
        ("```yaml\na: 1\n```", False, False),
        ("```\n1\n```\n```\n2\n```", False, False),
        ("{}\n```\na: 1\n```", False, False),
        # deeper than Python reads
        pytest.param("[" * 100_000 + "]" * 100_000, False, False, id="a hundred thousand lists"),
        ("", False, False),
        ("\n", False, False),
    ],
)
def test_the_response_is_json(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_format:json_format")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("My answer is yes. But no wait, My answer is no.", True, False, id="trap: yes, then no"),
        ("My answer is yes.", True, True),
        ("My answer is no.", True, True),
        ("My answer is maybe.", True, True),
        ("All in all: My answer is no. Sorry!", True, True),
        ("My answer is no. I repeat: My answer is no.", True, True),
        ("My answer is maybe. My answer is no. My answer is yes.", True, False),
        ("My answer is yes", False, False),
        ("My answer is yes!", False, False),
        ("my answer is yes.", False, True),
        ("My answer is\nyes.", False, True),
        ("My answer is **yes**.", False, True),
        ("**My answer is no.** MY ANSWER IS NO.", True, True),
        ("My answer is yes. my answer is no.", True, False),
        ("Yes.", False, False),
        ("", False, False),
        ("\n", False, False),
    ],
)
def test_one_of_three_answers_is_given(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_format:constrained_response")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("number", "text", "faithful", "repaired"),
    [
        pytest.param(3, "[a link](http://x) arr[0] [ ]", True, False, id="trap: a link, an index, a check box"),
        (3, "Dear [name], [street], [town]", True, True),
        (3, "[name]\n[street]\n[town]", True, True),
        (3, "[name][street][town]", True, True),
        (3, "[name] [street]", False, False),
        (2, "[name] [street] [town]", True, True),
        (1, "[a]", True, True),
        (1, "[Your Name Here]", True, True),
        (1, "[name 2]", True, True),
        (1, "[имя]", True, True),
        (1, "你好[姓名]", True, True),
        # what is no placeholder to a reader
        (1, "[]", True, False),
        (1, "[1]", True, False),
        (1, "[^1]", True, False),
        (1, "- [x] done", True, False),
        (1, "  * [X] done", True, False),
        (1, "1. [x] done", True, False),
        (1, "- [xx] done", True, True),
        (1, "- [x] call [name]", True, True),
        (2, "- [x] call [name]", True, False),
        (1, "I am [x] years old", True, True),
        (1, '["one", "two"]', True, False),
        (1, "names[first]", True, False),
        (1, "[name](http://x)", True, False),
        (1, "[name] (optional)", True, True),
        (1, "[name]: optional", True, True),
        # marks of emphasis touch it
        (1, "**[name]**", True, True),
        (1, "_[name]_", True, True),
        # nested ones count once, on one line each
        (1, "[[name]]", True, True),
        (2, "[[name]]", False, False),
        (1, "[first\nsecond]", False, False),
        (1, "[name", False, False),
        (1, "name]", False, False),
        (1, "]name[", False, False),
        (1, "(name)", False, False),
        (1, "[[[[[[name]", True, True),
        # a legal 0
        (0, "nothing", True, True),
        (0, "", False, False),
        (0, "\n", False, False),
    ],
)
def test_placeholders_are_counted(number: int, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_content:number_placeholders", {"num_placeholders": number})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("marker", "text", "faithful", "repaired"),
    [
        pytest.param("P.S.", "the app.s. thing", True, False, id="trap: inside a word"),
        ("P.S.", "Goodbye.\nP.S. I forgot.", True, True),
        ("P.S.", "Goodbye.\n\n  P.S. I forgot.", True, True),
        ("P.S.", "P.S. I forgot.", True, True),
        ("P.S.", "Goodbye.\np.s. I forgot.", True, True),
        ("P.S.", "Goodbye.\nP. S. I forgot.", True, True),
        ("P.S.", "Goodbye.\n**P.S.** I forgot.", True, True),
        ("P.S.", "Goodbye.\n_P.S. I forgot._", True, True),
        ("P.S.", 'Goodbye.\n"P.S. I forgot."', True, True),
        ("P.S.", "Goodbye.\n> P.S. I forgot.", True, True),
        ("P.S.", "Goodbye.\nP.S.", True, True),
        ("P.S.", "Goodbye. P.S. I forgot.", True, False),
        ("P.S.", "Goodbye.\nThe P.S. follows.", True, False),
        ("P.S.", "Goodbye.\nP.P.S. I forgot.", True, False),
        ("P.S.", "Goodbye.\nPS: I forgot.", False, True),
        ("P.S.", "Goodbye.\nP.S I forgot.", False, True),
        ("P.S.", "Goodbye.\nPsalms follow.", False, False),
        ("P.S.", "Goodbye.\nP.S.A. tests follow.", True, False),
        ("P.S.", "Goodbye.", False, False),
        (" P.S. ", "Goodbye.\nP.S. I forgot.", True, True),
        ("P.P.S", "Goodbye.\nP.P.S I forgot.", True, True),
        ("P.P.S", "Goodbye.\nP.P.S. I forgot.", True, True),
        ("P.P.S", "Goodbye.\np. p. s. I forgot.", True, True),
        ("P.P.S", "Goodbye.\nPPS: I forgot.", False, True),
        ("P.P.S", "Goodbye.\nP.S. I forgot.", False, False),
        ("P.P.S", "the app.p.s thing", True, False),
        # any other marker: a regular expression, or literal
        ("N.B. (last)", "Goodbye.\nN.B. (last) I forgot.", False, True),
        ("N.B. (last)", "Goodbye.\nN.B. last I forgot.", True, False),
        ("PS", "Goodbye.\nPS: I forgot.", True, True),
        ("PS", "Goodbye.\nPsalms follow.", True, False),
        ("P.S.", "", False, False),
        ("P.S.", " \n", False, False),
    ],
)
def test_a_postscript_starts_a_line(marker: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("detectable_content:postscript", {"postscript_marker": marker})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


def test_a_marker_that_is_not_a_regular_expression_is_an_error_or_literal() -> None:
    checker = instruction("detectable_content:postscript", {"postscript_marker": "(PS"})
    with pytest.raises(ValueError, match=r"^detectable_content:postscript: .*\(ps.*invalid regular expression"):
        checker.follows(Text("Goodbye.\n(PS I forgot)"), "faithful")
    assert checker.follows(Text("Goodbye.\n(PS I forgot)"), "repaired")
    assert not checker.follows(Text("Goodbye.\nPS I forgot"), "repaired")
