"""Other wordings of the 15 instructions, which mean the same as the published ones."""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.verifiers import Checker

PHRASINGS = 5
"""The number of wordings of each instruction: the published one, and the four below."""

_OTHERS: Mapping[str, tuple[str, str, str, str]] = {
    "keywords:existence": (
        "Use all of these keywords in the response: {keywords}.",
        "The response must contain the keywords {keywords}.",
        "Make sure that every one of the keywords {keywords} occurs in your response.",
        "Your response has to mention the keywords {keywords}.",
    ),
    "keywords:frequency": (
        "Use the word {keyword} {relation} {frequency} times in your response.",
        "The word {keyword} must occur {relation} {frequency} times in the response.",
        "Your response should contain the word {keyword} {relation} {frequency} times.",
        "Make sure that {keyword} appears as a word {relation} {frequency} times.",
    ),
    "keywords:forbidden_words": (
        "Avoid the keywords {forbidden_words} in your response.",
        "The response must not contain any of the keywords {forbidden_words}.",
        "Do not use these words anywhere in the response: {forbidden_words}.",
        "None of the keywords {forbidden_words} may occur in your response.",
    ),
    "keywords:letter_frequency": (
        "Use the letter {letter} {let_relation} {let_frequency} times in your response.",
        "The letter {letter} must occur {let_relation} {let_frequency} times in the response.",
        "Your response should contain the letter {letter} {let_relation} {let_frequency} times.",
        "Make sure that the letter {letter} appears {let_relation} {let_frequency} times.",
    ),
    "length_constraints:number_words": (
        "Your response should have {relation} {num_words} words.",
        "Write {relation} {num_words} words.",
        "The response must contain {relation} {num_words} words.",
        "Keep the length of your response to {relation} {num_words} words.",
    ),
    "length_constraints:number_sentences": (
        "Answer with {relation} {num_sentences} sentences.",
        "Write {relation} {num_sentences} sentences.",
        "The response must consist of {relation} {num_sentences} sentences.",
        "Use {relation} {num_sentences} sentences in your response.",
    ),
    "length_constraints:number_paragraphs": (
        "Write {num_paragraphs} paragraphs, and put the markdown divider *** between them.",
        "Your response must have exactly {num_paragraphs} paragraphs. Separate them with the markdown divider: ***",
        "Divide the response into {num_paragraphs} paragraphs with the markdown divider *** between one and the next.",
        "Use the markdown divider *** to separate the paragraphs, of which there should be {num_paragraphs}.",
    ),
    "detectable_content:number_placeholders": (
        "Include at least {num_placeholders} placeholders in square brackets, such as [address].",
        "Use {num_placeholders} or more placeholders in the response, each in square brackets like [address].",
        "Your response should have at least {num_placeholders} placeholders in square brackets, for example [address].",
        "Put at least {num_placeholders} placeholders, written in square brackets as in [address], into the response.",
    ),
    "detectable_format:number_bullet_lists": (
        "Include exactly {num_bullets} bullet points in markdown, such as: * This is point 1. * This is point 2",
        "Your response must have {num_bullets} markdown bullet points, no more and no fewer, in this form: "
        "* This is point 1. * This is point 2",
        "Use exactly {num_bullets} bullet points, written in markdown like this: * This is point 1. * This is point 2",
        "There should be exactly {num_bullets} bullet points in your answer. Write them in markdown: "
        "* This is point 1. * This is point 2",
    ),
    "detectable_format:title": (
        "Give your answer a title in double angular brackets, such as <<poem of joy>>.",
        "Include a title, and wrap it in double angular brackets like this: <<poem of joy>>.",
        "The response must have a title that is wrapped in double angular brackets, for example <<poem of joy>>.",
        "Add a title to your response. Put it in double angular brackets, as in <<poem of joy>>.",
    ),
    "change_case:english_capital": (
        "Write the entire response in English and in capital letters only.",
        "Use only capital letters in your whole response, which should be in English.",
        "The complete response must be in English, with all letters capitalized.",
        "Answer in English and in all capitals, from the first letter to the last.",
    ),
    "change_case:english_lowercase": (
        "Write the entire response in English and in lowercase letters only. Use no capital letters.",
        "Use only lowercase letters in your whole response, which should be in English, and no capitals.",
        "The complete response must be in English and in lowercase, without any capital letter.",
        "Answer in English without capital letters: everything must be in lowercase.",
    ),
    "change_case:capital_word_frequency": (
        "Use words with all capital letters {capital_relation} {capital_frequency} times in your response.",
        "The response must contain words in all capital letters {capital_relation} {capital_frequency} times.",
        "Words that are written in all capitals should occur {capital_relation} {capital_frequency} times.",
        "Make sure that words in capital letters throughout appear {capital_relation} {capital_frequency} times.",
    ),
    "startend:quotation": (
        "Put your whole response in double quotation marks.",
        "The entire response must be enclosed in double quotation marks.",
        "Begin and end your response with a double quotation mark, so that all of it is quoted.",
        "Enclose everything that you write in one pair of double quotation marks.",
    ),
    "punctuation:no_comma": (
        "Do not use any commas in your response.",
        "Your entire response must not contain a single comma.",
        "Avoid commas in the whole response.",
        "Write the response without commas.",
    ),
}


def phrased(instruction: Checker, phrasing: int) -> str:
    """Return an instruction in one of its wordings.

    Args:
        instruction: one of the 15 of ManyIFEval (Table 4).
        phrasing: 0 for the published wording, up to ``PHRASINGS`` - 1.
    """
    if phrasing == 0:
        return instruction.describe()
    return _OTHERS[instruction.id][phrasing - 1].format(**instruction.arguments())


def has_phrasings(instruction: Checker) -> bool:
    """Return whether an instruction has other wordings than the published one."""
    return instruction.id in _OTHERS
