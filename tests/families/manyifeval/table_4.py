"""Table 4, written down independently of the package's own table."""

from __future__ import annotations

LENGTH = {f"length_constraints:number_{what}" for what in ("paragraphs", "words", "sentences")}
CASE = {f"change_case:{what}" for what in ("english_capital", "english_lowercase", "capital_word_frequency")}
"""Of each of these two groups a prompt has at most one (section 3.1)."""

FIFTEEN = {
    "keywords:existence",
    "keywords:frequency",
    "keywords:forbidden_words",
    "keywords:letter_frequency",
    "detectable_content:number_placeholders",
    "detectable_format:number_bullet_lists",
    "detectable_format:title",
    "startend:quotation",
    "punctuation:no_comma",
    *LENGTH,
    *CASE,
}
