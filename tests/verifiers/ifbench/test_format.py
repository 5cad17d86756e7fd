"""format, in both editions: texts that follow, and near misses.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

from tests.verifiers.cases import Case, judged

DEEP = "(one [two {three (four [five])}])"
STAIRS = "one\n two\n  three"
SENTENCES = "One is first. Two is second.\n"

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "format:parentheses": [
        ({}, DEEP, True, True),
        ({}, "(one [two {three (four)}])", False, False),
        ({}, "a) b) (((((x)))))", True, True),
        # never closed
        ({}, "(((((x", False, False),
        # a closing bracket that closes nothing
        ({}, "(one [two {three :( (four [five])}])", True, True),
        # the depth was reached before
        ({}, "((((( [x]", True, False),
        ({}, "([(([x)]))", False, False),
        ({}, "()()()()()", False, False),
    ],
    "format:quotes": [
        ({}, 'He said "she said \'they said "hi" then\' once".', True, True),
        ({}, "He said \"she said 'hi' once\".", False, False),
        ({}, "'he \"she 'hi' once\" twice'", True, True),
        # an apostrophe
        ({}, '"it\'s "a" b"', False, False),
        ({}, '"one \'it"s" two\'"', True, False),
        ({}, "“one ‘it’s “two” three’ four”", False, True),
        # the same marks again
        ({}, "“one “two “three” four” five”", False, False),
        ({}, '"one \'two\n\n"three"\n\nfour\' five"', True, False),
        # what is nested in one paragraph counts, whatever the next ones have
        ({}, '"one \'two "three" four\' five"\n\nsix "seven" eight', True, True),
        ({}, "no quotes", False, False),
    ],
    "format:options": [
        ({"options": "yes/no/maybe"}, "Yes.", True, True),
        ({"options": "yes/no/maybe"}, "**maybe**", True, True),
        ({"options": "yes/no/maybe"}, "Yes, it is.", False, False),
        ({"options": "yes/no/maybe"}, "“no”", False, True),
        ({"options": "yes/no/maybe"}, "perhaps", False, False),
        ({"options": "yes/no/maybe"}, "...", False, False),
        ({"options": "I know or I don't know"}, "I don't know.", True, True),
        ({"options": "I know or I don't know"}, "I don’t know.", False, True),
        ({"options": "I know or I don't know"}, "I do know.", False, False),
        ({"options": "a), b), c), d)"}, "b)", True, True),
        ({"options": "a), b), c), d)"}, "b", False, True),
        ({"options": "a), b), c), d)"}, "(b)", False, True),
        ({"options": "a), b), c), d)"}, "e)", False, False),
        ({"options": "a), b), c), d)"}, "a), b)", False, False),
        # "or" inside a word divides
        ({"options": "north, south"}, "north", False, True),
        ({"options": "red, green, or blue"}, "blue", True, True),
        ({"options": "red, green, or blue"}, "red", False, True),
    ],
    "format:newline": [
        ({}, "Each\nword\nalone.", True, True),
        ({}, "Each\n\nword\n- alone", True, True),
        ({}, "Each word\nalone", False, False),
        ({}, "Each\nword -\nalone", True, True),
        ({}, "Each\n\t\nword", False, True),
        ({}, "---", True, False),
        ({}, "well-known\nwords", True, True),
    ],
    "format:emoji": [
        ({}, "Hello there 😀. Bye 😀.", True, True),
        ({}, "Hello there. 😀 Bye now! 😀", True, True),
        ({}, "Hello there. 😀 Bye now!", False, False),
        ({}, "Hello there. Bye now! 😀", False, False),
        ({}, "I love it ❤️. So do I 👍🏽.", True, True),
        # not an emoji on its own
        ({}, "We are number 1️⃣.", False, True),
        # one more character
        ({}, "Hello “you 😀”. Bye 😀.", True, True),
        # a sentence of marks
        ({}, "Hello 😀. !!! Bye 😀.", False, True),
        ({}, "😀", True, False),
    ],
    "format:line_indent": [
        ({}, STAIRS, True, True),
        ({}, "one\n two\n two", False, False),
        ({}, "one\n two\nthree", False, False),
        ({}, "one\n\n two\n\n  three", True, True),
        ({}, "\n\none", False, False),
        ({}, "   \n \n  \none\n two", False, True),
        # a tab is as wide as four spaces
        ({}, "one\n  two\n\tthree", False, True),
    ],
    "format:quote_unquote": [
        ({}, 'The "fox" is an animal, and "den" its home.', True, True),
        ({}, 'Her word was "fox".', False, False),
        ({}, 'The words "fox" "den" are short.', False, False),
        ({}, "No quotes at all.", True, False),
        ({}, "The sign '\"' and a \"fox\" as well '\"'", True, False),
        ({}, 'A 5" screen, a 6" one.', True, False),
        ({}, '"fox" 12.', False, True),
        ({}, '"Dear fox,\n\nbye."', False, False),
        ({}, 'The year "1990".', False, False),
    ],
    "format:list": [
        ({"sep": "SEPARATOR"}, "SEPARATOR one\nSEPARATOR two", True, True),
        ({"sep": "SEPARATOR"}, "SEPARATOR one", False, False),
        ({"sep": "!?!?"}, "Two things:\n  !?!? one\n\n  !?!? two", True, True),
        ({"sep": "-"}, "- one\n- two", True, True),
        ({"sep": "SEPARATOR"}, "* one SEPARATOR\n* two SEPARATOR", True, False),
        ({"sep": "SEPARATOR"}, "one SEPARATOR two SEPARATOR three", True, False),
        ({"sep": "SEPARATOR"}, "SEPARATOR one SEPARATOR two", True, True),
        ({"sep": "SEPARATOR"}, "one SEPARATOR two\nthree SEPARATOR four", True, False),
        ({"sep": "-"}, "- well - known", True, False),
        ({"sep": "-"}, "- well-known\nold-time", True, False),
        ({"sep": "..."}, "... one\n... two", True, True),
        ({"sep": "..."}, "* one\n* two", False, False),
    ],
    "format:thesis": [
        ({}, "<i>Foxes are shy.</i> They live in dens.", True, True),
        ({}, "<em>Foxes are shy.</em> They live in dens.", True, True),
        ({}, "*Foxes are shy.* They live in dens.", False, False),
        ({}, "<i>Foxes are shy.</i>", False, False),
        ({}, "<em>Foxes are shy.</em>", True, False),
        ({}, "<i> </i> Foxes are shy.", False, False),
        ({}, "# Foxes\n<i>Foxes are shy.</i>\nThey are.\n# Dens\n<i>Dens are deep.</i>\nThey are.", True, True),
        ({}, "# Foxes\n<i>Foxes are shy.</i>\nThey are.\n# Dens\nDens are deep.", True, False),
        ({}, "<I>Foxes are shy.</I> They live in dens.", False, True),
    ],
    "format:sub-bullets": [
        ({}, "* one\n  - a\n* two\n  - b\n  - c", True, True),
        ({}, "* one\n  - a\n* two", False, False),
        ({}, "*old-time* well-known", True, False),
        ({}, "* one\n  – a", False, False),
        ({}, "*one\n -a\n*two\n -b", True, True),
    ],
    "format:no_bullets_bullets": [
        ({}, SENTENCES + "* a\n* b", True, True),
        ({}, "One is first.\n* a\n* b", False, False),
        ({}, SENTENCES + "* a", False, False),
        ({}, SENTENCES + "\n* a\n* b", True, True),
        ({}, SENTENCES + "* a\n\n* b", False, True),
        ({}, SENTENCES + "- a\n- b", False, False),
        ({}, SENTENCES + "*a\n*b", True, True),
    ],
    "format:title_case": [
        ({}, "The Quick Brown Fox Jumps Over The Lazy Dog.", True, True),
        ({}, "The Quick brown Fox.", False, False),
        ({}, "and the Fox", False, False),
        ({}, "The iPhone Is New.", True, True),
        ({}, "THE FOX", True, True),
        ({}, "Plan b", False, False),
        ({}, "The Self-taught Fox", True, True),
        ({}, "The 2nd Fox", True, True),
    ],
    "format:output_template": [
        ({}, "My Answer: yes\nMy Conclusion: good\nFuture Outlook: bright", True, True),
        ({}, "My Answer: yes My Conclusion: good Future Outlook: bright", True, True),
        ({}, "My Answer: yes\nMy Conclusion: good\nOutlook: bright", False, False),
        ({}, "Sure!\nMy Answer: yes\nMy Conclusion: good\nFuture Outlook: bright", True, False),
        ({}, "My Answer: My Conclusion: Future Outlook:", True, False),
    ],
    "format:no_whitespace": [
        ({}, "NoWhiteSpace", True, True),
        ({}, "No WhiteSpace", False, False),
        ({}, "No\u00a0WhiteSpace", False, False),
        ({}, "No\nWhiteSpace", False, False),
    ],
}


test_both_editions = judged(CASES)
