"""detectable_format and detectable_content, in both editions."""

from __future__ import annotations

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import Case, judged

# Instruction id -> cases: arguments, text, faithful, repaired.
CASES: dict[str, list[Case]] = {
    "detectable_format:number_bullet_lists": [
        ({"num_bullets": 2}, "* a\n* b\n---", False, True),  # trap: a rule of dashes
        ({"num_bullets": 2}, "* a\n    * deeper\n* b", False, True),  # trap: sub-bullets, two items
        ({"num_bullets": 3}, "* a\n    * deeper\n* b", True, False),  # trap: sub-bullets, three
        ({"num_bullets": 2}, "• a\n• b", False, True),  # trap: round bullets
        ({"num_bullets": 2}, "+ a\n+ b", False, True),  # trap: plus signs
        ({"num_bullets": 2}, "1. a\n2. b", False, True),  # trap: numbers
        ({"num_bullets": 2}, "-5 degrees\n-6 degrees", True, False),  # trap: minus signs
        ({"num_bullets": 2}, "*one* word\n*two* words", True, False),  # trap: italics
        ({"num_bullets": 2}, "* a\n* b", True, True),
        ({"num_bullets": 2}, "- a\n- b", True, True),
        ({"num_bullets": 2}, "* a\n- b", True, True),
        ({"num_bullets": 2}, "Two points:\n\n* a\n\n* b\n\nDone.", True, True),
        ({"num_bullets": 2}, "* a\ngoes on\n* b", True, True),
        ({"num_bullets": 2}, "  * a\n  * b", True, True),
        ({"num_bullets": 2}, "* a", False, False),
        ({"num_bullets": 1}, "* a", True, True),
        ({"num_bullets": 2}, "* a\n* b\n* c", False, False),
        ({"num_bullets": 2}, "a * b\nc - d", False, False),
        # marks that only look like bullets
        ({"num_bullets": 2}, "* a\n***\n* b", True, True),
        ({"num_bullets": 2}, "* a\n* * *\n* b", False, True),
        ({"num_bullets": 0}, "**a** and\n**b**", True, True),
        ({"num_bullets": 2}, "*a\n*b", True, False),
        ({"num_bullets": 2}, "-\n-", True, False),
        ({"num_bullets": 2}, "```\n* a\n* b\n```", True, False),
        ({"num_bullets": 2}, "~~~\n* a\n~~~\n* b\n* c", False, True),
        # depth
        ({"num_bullets": 2}, "1. a\n   - deeper\n   - deeper\n2. b", True, True),
        ({"num_bullets": 1}, "1. a\n2. b\n\n* c", True, True),
        ({"num_bullets": 3}, "1. a\n2. b\n\n* c", False, False),
        ({"num_bullets": 1}, "* a\n\n  * deeper\n", False, True),
        ({"num_bullets": 2}, "* a\n\ntext\n\n  * b", True, True),
        ({"num_bullets": 2}, "* a\n * b", True, True),
        ({"num_bullets": 2}, "1) a\n2) b", False, True),
        # a response in quotation marks
        ({"num_bullets": 2}, '"* a\n* b"', False, True),
        # a legal 0
        ({"num_bullets": 0}, "no list", True, True),
        ({"num_bullets": 0}, "* a", False, False),
    ],
    "detectable_format:title": [
        ({}, "x << 2 and y >> 3", True, False),  # trap: shifts
        ({}, "<<poem of joy>>\nRoses are red.", True, True),
        ({}, "<< poem of joy >>\nRoses are red.", True, True),
        ({}, "# **<< poem of joy >>**\nRoses are red.", True, True),
        ({}, '"<<poem of joy>>"', True, True),
        ({}, "Here is <<poem of joy>> for you.", True, True),
        ({}, "Here is << poem of joy >> for you.", True, False),
        ({}, "Roses are red.\n<<poem of joy>>", True, True),
        ({}, "<<a>>", True, True),
        ({}, "<<<a>>>", True, True),
        ({}, "Title: << poem of joy >>", True, True),
        ({}, "<<123>>", True, True),
        ({}, "<<***>>", True, False),
        ({}, "cout<<x>>y", True, False),
        ({}, "<<Из А в Я>>", True, True),
        ({}, "<<From A -> B>>", True, True),
        ({}, "<poem of joy>", False, False),
        ({}, "<<poem of joy>", False, False),
        ({}, "<poem of joy>>", False, False),
        ({}, ">>poem of joy<<", False, False),
        ({}, "<<>>", False, False),
        ({}, "<< >>", False, False),
        ({}, "<<poem\nof joy>>", False, False),
        ({}, "«poem of joy»", False, False),
        ({}, "poem of joy", False, False),
    ],
    "detectable_format:number_highlighted_sections": [
        ({"num_highlights": 2}, "*one* and *two*", True, True),
        ({"num_highlights": 2}, "**one** and **two**", True, True),
        ({"num_highlights": 2}, "*one* and **two**", True, True),
        ({"num_highlights": 2}, "*one*, *two*.", True, True),
        ({"num_highlights": 2}, "_*one*_ “*two*”", True, True),
        ({"num_highlights": 2}, "*one*", False, False),
        ({"num_highlights": 2}, "*one* two", False, False),
        ({"num_highlights": 1}, "*one* and *two*", True, True),
        ({"num_highlights": 2}, "***one***", True, False),  # IFEval counts *one* and **one**
        ({"num_highlights": 1}, "***one***", True, True),
        ({"num_highlights": 2}, "*one **inside** two*", True, True),
        # asterisks that enclose nothing
        ({"num_highlights": 1}, "2 * 3 * 4", True, False),
        ({"num_highlights": 1}, "* a * b", True, False),
        ({"num_highlights": 1}, "* a footnote*", True, False),
        ({"num_highlights": 1}, "* *one* in a list", False, True),
        ({"num_highlights": 1}, "* a\n* b", False, False),
        ({"num_highlights": 1}, "*one\ntwo*", False, True),
        ({"num_highlights": 1}, "*one\n\ntwo*", False, False),
        ({"num_highlights": 1}, "* *", False, False),
        ({"num_highlights": 1}, "****", False, False),
        ({"num_highlights": 1}, "** **", False, False),
        ({"num_highlights": 1}, "_one_", False, True),
        ({"num_highlights": 2}, "_one_ and __two__", False, True),
        ({"num_highlights": 1}, "snake_case_name", False, False),
        ({"num_highlights": 1}, "`*one*`", True, False),
        ({"num_highlights": 1}, r"\*one\*", True, False),
        ({"num_highlights": 1}, "*one", False, False),
        # a legal 0
        ({"num_highlights": 0}, "none", True, True),
    ],
    "detectable_format:multiple_sections": [
        # trap: in a word, in a line
        ({"section_spliter": "section", "num_sections": 2}, "intersection 12 section 1", True, False),
        # trap: in a line
        ({"section_spliter": "Section", "num_sections": 1}, "intersection 12 Section 1", True, False),
        # trap: SECTION 2
        ({"section_spliter": "Section", "num_sections": 2}, "Section 1\na\nSECTION 2\nb", False, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section 1\na\nSection 2\nb", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section 1: a\nSection 2. b", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "**Section 1**\n\n## Section 2", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "_Section 1_\n  Section 2", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section1\nSection2", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section\t1\n100. Section 2", True, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section 1\n1000. Section 2", True, False),
        ({"section_spliter": "Section", "num_sections": 2}, "Section 10\na", False, False),
        ({"section_spliter": "Section", "num_sections": 1}, "Section 1\na\nSection 2\nb", True, True),
        ({"section_spliter": "Section", "num_sections": 3}, "Section 1\na\nSection 2\nb", False, False),
        ({"section_spliter": "Section", "num_sections": 2}, "Section one\nSection two", False, True),
        ({"section_spliter": "Section", "num_sections": 2}, "Section I\nSection II", False, True),
        ({"section_spliter": "Section", "num_sections": 1}, "Section XI", False, True),
        # what the instruction writes for any number
        ({"section_spliter": "Section", "num_sections": 1}, "Section X", False, False),
        ({"section_spliter": "Section", "num_sections": 1}, "Section eleven", False, False),
        ({"section_spliter": "Section", "num_sections": 1}, "Section onerous", False, False),
        ({"section_spliter": "Section", "num_sections": 1}, "Section Inner", False, False),
        ({"section_spliter": "Section", "num_sections": 2}, "Section A\nSection B", False, False),
        ({"section_spliter": "Section", "num_sections": 1}, "As Section 1 says", True, False),
        ({"section_spliter": "Section", "num_sections": 1}, "Section\n1", True, False),
        ({"section_spliter": "Section", "num_sections": 1}, "section 1", False, True),
        ({"section_spliter": "SECTION", "num_sections": 1}, "SECTION 1", True, True),
        ({"section_spliter": " Section ", "num_sections": 1}, "Section 1", True, True),
        ({"section_spliter": "Art.", "num_sections": 1}, "Arty 1", True, False),
        # the mark makes IFEval's own expression another one
        ({"section_spliter": "?", "num_sections": 1}, "1", True, False),
        ({"section_spliter": "Art.", "num_sections": 1}, "Art. 1", True, True),
        # a legal 0
        ({"section_spliter": "Section", "num_sections": 0}, "none", True, True),
    ],
    "detectable_format:json_format": [
        ({}, "NaN", True, False),  # trap: NaN
        ({}, '{"a": NaN}', True, False),  # trap: NaN inside
        ({}, "```json\n{}\n```\nThat is all.", False, True),  # trap: text after a fenced block
        ({}, '{"a": [1, null]}', True, True),
        ({}, ' \n{"a": 1}\n', True, True),
        ({}, "[]", True, True),
        ({}, '"text"', True, False),
        ({}, "7", True, False),
        ({}, "null", True, False),
        ({}, "[-Infinity]", True, False),
        ({}, '["NaN"]', True, True),
        ({}, "{'a': 1}", False, False),
        ({}, '{"a": 1,}', False, False),
        ({}, '{"a": 1', False, False),
        ({}, '{"a": 1}\n{"a": 2}', False, False),
        ({}, 'Here: {"a": 1}', False, False),
        ({}, "a: 1", False, False),
        # fences
        ({}, "```json\n{}\n```", True, True),
        ({}, "```JSON\n{}\n```", True, True),
        ({}, "```\n{}\n```", True, True),
        ({}, "```{}```", True, True),
        ({}, "~~~\n{}\n~~~", False, True),
        ({}, "Here:\n```json\n{}\n```", False, True),
        ({}, "```json\n{}", True, True),  # never closed
        ({}, "```json\n```", False, False),
        ({}, "```json\nNaN\n```", True, False),
        ({}, "```yaml\na: 1\n```", False, False),
        ({}, "```\n1\n```\n```\n2\n```", False, False),
        ({}, "{}\n```\na: 1\n```", False, False),
        # deeper than Python reads
        ({}, "[" * 100_000 + "]" * 100_000, False, False),  # a hundred thousand lists
    ],
    "detectable_format:constrained_response": [
        ({}, "My answer is yes. But no wait, My answer is no.", True, False),  # trap: yes, then no
        ({}, "My answer is yes.", True, True),
        ({}, "My answer is no.", True, True),
        ({}, "My answer is maybe.", True, True),
        ({}, "All in all: My answer is no. Sorry!", True, True),
        ({}, "My answer is no. I repeat: My answer is no.", True, True),
        ({}, "My answer is maybe. My answer is no. My answer is yes.", True, False),
        ({}, "My answer is yes", False, False),
        ({}, "My answer is yes!", False, False),
        ({}, "my answer is yes.", False, True),
        ({}, "My answer is\nyes.", False, True),
        ({}, "My answer is **yes**.", False, True),
        ({}, "**My answer is no.** MY ANSWER IS NO.", True, True),
        ({}, "My answer is yes. my answer is no.", True, False),
        ({}, "Yes.", False, False),
    ],
    "detectable_content:number_placeholders": [
        ({"num_placeholders": 3}, "[a link](http://x) arr[0] [ ]", True, False),  # trap: a link, an index, a check box
        ({"num_placeholders": 3}, "Dear [name], [street], [town]", True, True),
        ({"num_placeholders": 3}, "[name]\n[street]\n[town]", True, True),
        ({"num_placeholders": 3}, "[name][street][town]", True, True),
        ({"num_placeholders": 3}, "[name] [street]", False, False),
        ({"num_placeholders": 2}, "[name] [street] [town]", True, True),
        ({"num_placeholders": 1}, "[a]", True, True),
        ({"num_placeholders": 1}, "[Your Name Here]", True, True),
        ({"num_placeholders": 1}, "[name 2]", True, True),
        ({"num_placeholders": 1}, "[имя]", True, True),
        ({"num_placeholders": 1}, "你好[姓名]", True, True),
        # what is no placeholder to a reader
        ({"num_placeholders": 1}, "[]", True, False),
        ({"num_placeholders": 1}, "[1]", True, False),
        ({"num_placeholders": 1}, "[^1]", True, False),
        ({"num_placeholders": 1}, "- [x] done", True, False),
        ({"num_placeholders": 1}, "  * [X] done", True, False),
        ({"num_placeholders": 1}, "1. [x] done", True, False),
        ({"num_placeholders": 1}, "- [xx] done", True, True),
        ({"num_placeholders": 1}, "- [x] call [name]", True, True),
        ({"num_placeholders": 2}, "- [x] call [name]", True, False),
        ({"num_placeholders": 1}, "I am [x] years old", True, True),
        ({"num_placeholders": 1}, '["one", "two"]', True, False),
        ({"num_placeholders": 1}, "names[first]", True, False),
        ({"num_placeholders": 1}, "[name](http://x)", True, False),
        ({"num_placeholders": 1}, "[name] (optional)", True, True),
        ({"num_placeholders": 1}, "[name]: optional", True, True),
        # marks of emphasis touch it
        ({"num_placeholders": 1}, "**[name]**", True, True),
        ({"num_placeholders": 1}, "_[name]_", True, True),
        # nested ones count once, on one line each
        ({"num_placeholders": 1}, "[[name]]", True, True),
        ({"num_placeholders": 2}, "[[name]]", False, False),
        ({"num_placeholders": 1}, "[first\nsecond]", False, False),
        ({"num_placeholders": 1}, "[name", False, False),
        ({"num_placeholders": 1}, "name]", False, False),
        ({"num_placeholders": 1}, "]name[", False, False),
        ({"num_placeholders": 1}, "(name)", False, False),
        ({"num_placeholders": 1}, "[[[[[[name]", True, True),
        # a legal 0
        ({"num_placeholders": 0}, "nothing", True, True),
    ],
    "detectable_content:postscript": [
        ({"postscript_marker": "P.S."}, "the app.s. thing", True, False),  # trap: inside a word
        ({"postscript_marker": "P.S."}, "Goodbye.\nP.S. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\n\n  P.S. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "P.S. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\np.s. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\nP. S. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\n**P.S.** I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\n_P.S. I forgot._", True, True),
        ({"postscript_marker": "P.S."}, 'Goodbye.\n"P.S. I forgot."', True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\n> P.S. I forgot.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\nP.S.", True, True),
        ({"postscript_marker": "P.S."}, "Goodbye. P.S. I forgot.", True, False),
        ({"postscript_marker": "P.S."}, "Goodbye.\nThe P.S. follows.", True, False),
        ({"postscript_marker": "P.S."}, "Goodbye.\nP.P.S. I forgot.", True, False),
        ({"postscript_marker": "P.S."}, "Goodbye.\nPS: I forgot.", False, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\nP.S I forgot.", False, True),
        ({"postscript_marker": "P.S."}, "Goodbye.\nPsalms follow.", False, False),
        ({"postscript_marker": "P.S."}, "Goodbye.\nP.S.A. tests follow.", True, False),
        ({"postscript_marker": "P.S."}, "Goodbye.", False, False),
        ({"postscript_marker": " P.S. "}, "Goodbye.\nP.S. I forgot.", True, True),
        ({"postscript_marker": "P.P.S"}, "Goodbye.\nP.P.S I forgot.", True, True),
        ({"postscript_marker": "P.P.S"}, "Goodbye.\nP.P.S. I forgot.", True, True),
        ({"postscript_marker": "P.P.S"}, "Goodbye.\np. p. s. I forgot.", True, True),
        ({"postscript_marker": "P.P.S"}, "Goodbye.\nPPS: I forgot.", False, True),
        ({"postscript_marker": "P.P.S"}, "Goodbye.\nP.S. I forgot.", False, False),
        ({"postscript_marker": "P.P.S"}, "the app.p.s thing", True, False),
        # any other marker: a regular expression, or literal
        ({"postscript_marker": "N.B. (last)"}, "Goodbye.\nN.B. (last) I forgot.", False, True),
        ({"postscript_marker": "N.B. (last)"}, "Goodbye.\nN.B. last I forgot.", True, False),
        ({"postscript_marker": "PS"}, "Goodbye.\nPS: I forgot.", True, True),
        ({"postscript_marker": "PS"}, "Goodbye.\nPsalms follow.", True, False),
    ],
}


test_both_editions = judged(CASES)


SECTION_PIECES = st.sampled_from(
    [
        *"\n\n\n  \t\r\x1c\u2028#*_-:.)1X",
        *("Part", "part", "##", "Part\n#", "_1", "1.", "12)", "1234.", "IV", "two", "a", "ſ"),
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
