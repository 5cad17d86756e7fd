"""The 29 instructions that IF-RLVR adds to IFEval's 25 for training (Pyatkin et al., 2025), under their published ids.

*Faithful* is the verdict of the code that its authors published: ``IFEvalG`` in allenai/open-instruct, at commit
e6c3044. Its other 25 are IFEval's (``ifeval``). A module is imported when one of its instructions is first asked for.

- ``copying``: the groups copy and new
- ``format``: detectable_format, paragraphs and punctuation, and counting_composition
- ``words``: first_word, last_word, keywords, count and letters
"""

from collections.abc import Mapping
from types import MappingProxyType

from lm_eval_ext.verifiers.checker import announce

INSTRUCTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "copying": (
            "copy:copy",
            "copy:copying_multiple",
            "copy:copying_simple",
            "copy:repeat_phrase",
            "new:copy_span_idx",
        ),
        "format": (
            "count:counting_composition",
            "detectable_format:bigram_wrapping",
            "detectable_format:sentence_hyphens",
            "detectable_format:square_brackets",
            "paragraphs:paragraphs",
            "paragraphs:paragraphs2",
            "punctuation:punctuation_dot",
            "punctuation:punctuation_exclamation",
        ),
        "words": (
            "count:count_increment_word",
            "count:count_unique",
            "count:lowercase_counting",
            "first_word:first_word_answer",
            "first_word:first_word_sent",
            "keywords:exclude_word_harder",
            "keywords:keyword_specific_position",
            "keywords:no_adjacent_consecutive",
            "keywords:palindrome",
            "keywords:start_end",
            "keywords:word_count_different_numbers",
            "keywords:word_once",
            "last_word:last_word_answer",
            "last_word:last_word_sent",
            "letters:letter_counting",
            "letters:letter_counting2",
        ),
    }
)
"""Module to the ids of its instructions."""

for module, ids in INSTRUCTIONS.items():
    announce(f"{__name__}.{module}", ids)
