"""detectable_format and detectable_content, in both editions."""

from __future__ import annotations

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.text import Text

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


def test_more_lists_than_python_reads_are_no_json() -> None:
    text = Text("[" * 100_000 + "]" * 100_000)
    checker = instruction("detectable_format:json_format", {})
    assert (checker.faithful(text), checker.repaired(text)) == (False, False)
