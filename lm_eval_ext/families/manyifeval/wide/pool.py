"""Which of IFEval's and IFBench's 83 instructions can be drawn together, which exclude each other, what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product

SLOTS: tuple[tuple[str, ...], ...] = (
    ("keywords:existence",),
    ("keywords:frequency",),
    ("keywords:forbidden_words",),
    ("keywords:letter_frequency",),
    (
        "length_constraints:number_paragraphs",
        "length_constraints:number_words",
        "length_constraints:number_sentences",
        "length_constraints:nth_paragraph_first_word",
        "count:word_count_range",
        "count:unique_word_count",
    ),
    ("detectable_content:number_placeholders",),
    ("detectable_content:postscript",),
    ("detectable_format:number_bullet_lists", "format:list", "format:sub-bullets"),
    ("detectable_format:number_highlighted_sections",),
    ("detectable_format:multiple_sections", "format:output_template"),
    ("detectable_format:title", "format:thesis", "words:start_verb"),
    (
        "change_case:english_capital",
        "change_case:english_lowercase",
        "change_case:capital_word_frequency",
        "format:title_case",
    ),
    ("startend:quotation", "format:quotes", "format:quote_unquote"),
    ("startend:end_checker", "words:words_position"),
    ("punctuation:no_comma",),
    ("count:punctuation", "ratio:sentence_type", "ratio:sentence_balance", "format:emoji"),
    ("count:conjunctions",),
    ("count:numbers",),
    ("count:person_names",),
    ("count:pronouns",),
    ("count:keywords_multiple",),
    ("format:parentheses",),
    ("ratio:stop_words",),
    ("sentence:keyword",),
    ("words:keywords_specific_position",),
    ("words:palindrome",),
    ("words:repeats",),
)
"""The instructions that can be drawn. Two in one slot say something about the same thing and exclude each other."""

POOL: tuple[str, ...] = tuple(name for slot in SLOTS for name in slot)

# Each instruction with those of other slots that exclude it, in the order of the slots.
_EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "length_constraints:number_sentences": ("ratio:sentence_type", "ratio:sentence_balance"),
    # Dividers of paragraphs, and highlights, have asterisks without a hyphen after them.
    "format:sub-bullets": ("length_constraints:number_paragraphs", "detectable_format:number_highlighted_sections"),
    # Sections have numbers and are written as they are.
    "detectable_format:multiple_sections": (
        *("count:numbers", "format:thesis", "change_case:english_capital", "change_case:english_lowercase"),
    ),
    # Nothing comes before the first label, and labels are written as they are.
    "format:output_template": (
        *("detectable_format:title", "format:thesis", "words:start_verb", "words:words_position"),
        *("change_case:english_capital", "change_case:english_lowercase"),
    ),
    # A response begins in one way.
    "words:words_position": ("detectable_format:title", "format:thesis", "startend:quotation"),
    # A quotation mark comes first, and ends the last sentence, which IFBench's code then does not count.
    "startend:quotation": ("words:start_verb", "format:thesis", "ratio:sentence_type", "ratio:sentence_balance"),
    "format:thesis": ("change_case:english_capital", "format:title_case"),
    # Names are written as in the list.
    "count:person_names": ("change_case:english_capital", "change_case:english_lowercase"),
    "count:punctuation": ("punctuation:no_comma",),
    # The last thing of each sentence is an emoji; "P.S." ends one.
    "format:emoji": ("detectable_content:postscript", "startend:end_checker", "words:words_position"),
}

CONFLICTS: frozenset[frozenset[str]] = frozenset(
    frozenset(pair)
    for pairs in (
        *(combinations(slot, 2) for slot in SLOTS),
        *(product([name], others) for name, others in _EXCLUDED.items()),
    )
    for pair in pairs
)
"""The pairs that may not occur together."""

WHOLE_TASK = "a task of its own that leaves no room for the prompt's"
EVERY_WORD = "it decides about every word, so that nearly every other instruction breaks it"
EVERY_SENTENCE = "it decides about every sentence or line, so that nearly every other instruction breaks it"
REPETITION = "the response repeats a given text, whose words and marks the other instructions would count"
LEFT_OUT: Mapping[str, str] = {
    "language:response_language": "the other instructions are about English words",
    "detectable_format:constrained_response": "the response is one of three sentences",
    "detectable_format:json_format": "the response is JSON as a whole",
    "combination:two_responses": "it would leave open which of the two responses the others are about",
    "combination:repeat_prompt": REPETITION,
    "count:words_japanese": "the other instructions are about English words",
    **dict.fromkeys(
        (
            *("custom:character_reverse", "custom:csv_city", "custom:csv_quotes", "custom:csv_special_character"),
            *("custom:date_format_list", "custom:european_capitals_sort", "custom:mcq_count_length"),
            *("custom:multiples", "custom:reverse_newline", "custom:sentence_alphabet", "custom:word_reverse"),
        ),
        WHOLE_TASK,
    ),
    "format:line_indent": EVERY_SENTENCE,
    "format:newline": EVERY_WORD,
    "format:no_bullets_bullets": "IFBench's code lets nothing follow the bullet points",
    "format:no_whitespace": EVERY_WORD,
    "format:options": "the response is one of the given options",
    "ratio:overlap": REPETITION,
    "ratio:sentence_words": "the response is three sentences of equal length",
    **dict.fromkeys(("repeat:repeat_change", "repeat:repeat_simple", "repeat:repeat_span"), REPETITION),
    **dict.fromkeys(
        ("sentence:alliteration_increment", "sentence:increment", "words:last_first", "words:paragraph_last_first"),
        EVERY_SENTENCE,
    ),
    **dict.fromkeys(
        (
            *("words:alphabet", "words:consonants", "words:no_consecutive", "words:odd_even_syllables"),
            *("words:prime_lengths", "words:vowel"),
        ),
        EVERY_WORD,
    ),
}
"""The other instructions, and why no row has them."""


def conflicting(first: str, second: str) -> bool:
    """Tell whether two instruction ids may not occur together; an id conflicts with itself."""
    return first == second or frozenset((first, second)) in CONFLICTS
