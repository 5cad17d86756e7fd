"""How often the repaired edition disagrees with IFEval on real responses: the table in ``docs/verifiers.md``.

After a change of a checker, ``python -m tests.verifiers.test_repaired_on_real_responses`` prints the rows as they are
now and says which of them have changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from lm_eval_ext.verifiers import Response, instructions_of
from tests.conftest import SHARED

# Instruction: (verdicts, faithful says yes and repaired no, faithful says no and repaired yes), strictly judged.
# The comment says the main cause of the difference.
TABLE: Mapping[str, tuple[int, int, int]] = {
    # The same verdicts in both editions.
    "change_case:capital_word_frequency": (100, 0, 0),
    # Lists of names or adjectives in capitals, to langdetect not English.
    "change_case:english_capital": (100, 0, 2),
    # One to three words, too few for langdetect.
    "change_case:english_lowercase": (156, 0, 4),
    # The same: the request is repeated verbatim or not at all.
    "combination:repeat_prompt": (164, 0, 0),
    # Divided by seven or ten asterisks.
    "combination:two_responses": (96, 6, 0),
    # Numbers of references, and lists and indices in code.
    "detectable_content:number_placeholders": (108, 2, 0),
    # A "P.S." in the middle of a line; a "p p s" without full stops.
    "detectable_content:postscript": (104, 1, 1),
    # The same: no response gives two of the options.
    "detectable_format:constrained_response": (40, 0, 0),
    # A fenced block of JSON with a sentence before or after it.
    "detectable_format:json_format": (68, 0, 10),
    # Sections with Roman numerals; "(Verse 1 - SECTION 1)" begins no line.
    "detectable_format:multiple_sections": (56, 1, 3),
    # Numbered items, and items inside items.
    "detectable_format:number_bullet_lists": (124, 0, 13),
    # A highlight that goes on over lines.
    "detectable_format:number_highlighted_sections": (192, 0, 6),
    # The same: titles touch their brackets or are on their own.
    "detectable_format:title": (148, 0, 0),
    # Only as a part of another word: "trusted", "meals".
    "keywords:existence": (156, 7, 0),
    # The same: IFEval asks for whole words here.
    "keywords:forbidden_words": (196, 0, 0),
    # Other forms of the word: "wars", "sneakers".
    "keywords:frequency": (168, 9, 0),
    # "#" is counted, and not a letter in its place.
    "keywords:letter_frequency": (132, 0, 1),
    # The same: langdetect decides in both editions.
    "language:response_language": (124, 0, 0),
    # A colon after the word; a stray line of marks between the paragraphs.
    "length_constraints:nth_paragraph_first_word": (48, 0, 3),
    # A divider at the very end, with a full stop after it.
    "length_constraints:number_paragraphs": (108, 1, 0),
    # The same, here and in the next two.
    "length_constraints:number_sentences": (208, 0, 0),
    "length_constraints:number_words": (208, 0, 0),
    "punctuation:no_comma": (264, 0, 0),
    # A full stop after the phrase.
    "startend:end_checker": (104, 0, 2),
    # The first and the last mark belong to two quotations.
    "startend:quotation": (164, 2, 0),
}


def measured(data: Path) -> dict[str, tuple[int, int, int]]:
    """Return the current table, of four models' responses to IFEval's 541 prompts."""
    import nltk  # noqa: PLC0415 # a second

    folder = data / "ifeval"
    prompts = {}
    for line in (folder / "ifeval_input_data.jsonl").read_text(encoding="utf-8").splitlines():
        prompt = json.loads(line)
        prompts[prompt["key"]] = prompt["instruction_id_list"], prompt["kwargs"]
    verdicts: Counter[tuple[str, bool, bool]] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [str(data / "nltk_data"), *nltk.data.path])
        for line in (folder / "ifeval_responses.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            instructions = instructions_of(*prompts[row["key"]])
            response = Response(row["response"])
            faithful = response.follows(instructions, "faithful").follow_instruction_list
            repaired = response.follows(instructions, "repaired").follow_instruction_list
            verdicts.update(zip((judge.id for judge in instructions), faithful, repaired, strict=True))
    return {
        name: (
            sum(verdicts[name, before, after] for before in (True, False) for after in (True, False)),
            verdicts[name, True, False],
            verdicts[name, False, True],
        )
        for name in sorted({name for name, _, _ in verdicts})
    }


def test_the_editions_differ_as_documented(shared_data: Path) -> None:
    assert measured(shared_data) == TABLE


def test_the_table_counts_every_verdict() -> None:
    assert sum(verdicts for verdicts, _, _ in TABLE.values()) == 4 * 834  # four models, 834 instructions in 541 rows


def print_table() -> None:
    """Print the rows of ``TABLE`` as they are now."""
    for name, row in measured(SHARED / "data").items():
        was = TABLE.get(name)
        print(f'    "{name}": {row},' + ("" if row == was else f"  # was {was}"))


if __name__ == "__main__":
    print_table()
