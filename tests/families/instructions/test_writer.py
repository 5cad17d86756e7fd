"""Generated responses: exactly the chosen instructions are followed, strictly and in both editions."""

from __future__ import annotations

import random
import string
from itertools import combinations, product
from typing import Any

import pytest

from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.instructions.compose import keywords
from lm_eval_ext.families.instructions.kinds import (
    IN_SECTIONS,
    LARGER_POOL,
    LETTERS,
    Arguments,
    Draws,
    conflicting,
)
from lm_eval_ext.families.instructions.plan import Bounds, plan_for
from lm_eval_ext.families.instructions.writer import break_one, respond
from lm_eval_ext.families.manyifeval.answers import POLICIES, known_answers
from lm_eval_ext.families.manyifeval.dense.rows import PER_SECTION, mixed_rows
from lm_eval_ext.families.manyifeval.rows import InstructionRow, all_rows
from lm_eval_ext.harness.requests import answer_of
from lm_eval_ext.verifiers import EDITIONS, Checker, Response, ifrlvr, instruction, instruction_ids
from lm_eval_ext.verifiers.checker import RELATIONS, Relation
from lm_eval_ext.verifiers.ifeval.format import NumberPlaceholders, Title
from lm_eval_ext.verifiers.ifeval.keywords import Existence, ForbiddenWords, LetterFrequency, NoComma
from lm_eval_ext.verifiers.ifeval.language import EnglishCapital, EnglishLowercase
from lm_eval_ext.verifiers.ifeval.length import NumberParagraphs, NumberSentences, NumberWords
from lm_eval_ext.verifiers.ifeval.startend import Quotation
from lm_eval_ext.verifiers.ifrlvr.copying import RepeatPhrase
from lm_eval_ext.verifiers.ifrlvr.format import Paragraphs2, PunctuationExclamation
from lm_eval_ext.verifiers.ifrlvr.words import (
    CountIncrementWord,
    FirstWordAnswer,
    LastWordAnswer,
    WordCountDifferentNumbers,
)
from tests.families.manyifeval.table_4 import FIFTEEN
from tests.known_answers import text_of, verdicts

WORD = None
"""Arguments are drawn with a word of the row's own for it."""
AT_LEAST: Relation = "at least"
LESS_THAN: Relation = "less than"

# instruction -> arguments, the ends of IFEval's ranges among them and numbers beyond
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "keywords:existence": [{"keywords": words} for words in (["fox"], ["fox", "hen"], ["red fox"], ["e"])],
    "keywords:frequency": [
        {"keyword": word, "frequency": count, "relation": relation}
        for word, count, relation in product(["fox", "that"], [1, 2, 3, 50], [AT_LEAST, LESS_THAN])
    ],
    "keywords:forbidden_words": [{"forbidden_words": words} for words in (["fox"], ["fox", "hen"], ["the"], ["e"])],
    "keywords:letter_frequency": [
        {"letter": letter, "let_frequency": count, "let_relation": relation}
        for letter, count, relation in product(string.ascii_lowercase, [1, 10, 100], [AT_LEAST, LESS_THAN])
    ],
    "length_constraints:number_paragraphs": [{"num_paragraphs": count} for count in (1, 2, 5, 20)],
    "length_constraints:number_words": [
        {"num_words": count, "relation": relation} for count, relation in product([20, 100, 500], [AT_LEAST, LESS_THAN])
    ],
    "length_constraints:number_sentences": [
        {"num_sentences": count, "relation": relation}
        for count, relation in product([2, 3, 20, 100], [AT_LEAST, LESS_THAN])
    ],
    "detectable_content:number_placeholders": [{"num_placeholders": count} for count in (1, 2, 4, 20)],
    "detectable_format:number_bullet_lists": [{"num_bullets": count} for count in (0, 1, 2, 5, 20)],
    "detectable_format:title": [{}],
    "change_case:english_capital": [{}],
    "change_case:english_lowercase": [{}],
    "change_case:capital_word_frequency": [
        {"capital_frequency": count, "capital_relation": relation}
        for count, relation in product([1, 2, 20, 200], [AT_LEAST, LESS_THAN])
    ],
    "startend:quotation": [{}],
    "punctuation:no_comma": [{}],
}


def test_the_table_above_lists_all_fifteen_instructions() -> None:
    assert set(ARGUMENTS) == FIFTEEN


REQUEST = {
    "prompt_to_repeat": (
        "Name three birds that stay in the north all winter.",
        "Why does bread go stale? Explain it in *one* paragraph.",
        "Write a haiku about a lighthouse,\nand give it a title.",
    )
}
SAYINGS = ("Time flies when having fun", "The early bird catches the worm", "Actions speak louder than words")
# Instructions of IF-RLVR that have arguments -> what these are drawn from: the ranges that its code draws from
TRAINED: dict[str, Arguments] = {
    "copy:copy": REQUEST,
    "copy:copying_simple": REQUEST,
    "copy:copying_multiple": {**REQUEST, "N": (2, 3)},
    "copy:repeat_phrase": {"phrase": SAYINGS, "small_n": (2, 3)},
    "new:copy_span_idx": {**REQUEST, "n_start": range(20), "n_end": range(25, 50)},
    "count:counting_composition": {"n_sent": (2, 3), "n_words": (2, 3)},
    "count:count_increment_word": {"keyword1": WORD, "keyword2": WORD},
    "count:lowercase_counting": {"N": (2, 3)},
    "first_word:first_word_answer": {"first_word": WORD},
    "first_word:first_word_sent": {"first_word": WORD},
    "last_word:last_word_answer": {"last_word": WORD},
    "last_word:last_word_sent": {"last_word": WORD},
    "keywords:exclude_word_harder": {"keyword": WORD},
    "keywords:keyword_specific_position": {"keyword": WORD, "n": range(1, 5), "m": range(1, 9)},
    # No text follows both editions where the published code draws "less than".
    "keywords:word_count_different_numbers": {"keyword": WORD, "frequency": range(1, 4), "relation": "at least"},
    "keywords:word_once": {"keyword": WORD},
    "letters:letter_counting": {"N": (2, 3), "relation": RELATIONS},
    "letters:letter_counting2": LETTERS,
}


@pytest.mark.parametrize("name", sorted({*LARGER_POOL.weights} - FIFTEEN))
def test_every_instruction_of_the_larger_pool_can_be_followed_and_broken(name: str) -> None:
    assert_any_can_be_followed_and_broken(name, LARGER_POOL.arguments[name], 1)


WITH = {
    first: [second for second in LARGER_POOL.weights if first < second and not conflicting(first, second)]
    for first in LARGER_POOL.weights
}
"""The types that each type of the larger pool can be in one row with, each pair once."""
NEIGHBORS = [(first, second[-1]) for first, second in WITH.items() if second]
PAIRS = [(first, second) for first, others in WITH.items() for second in others]


@pytest.mark.parametrize(
    "pairs", [NEIGHBORS, pytest.param(PAIRS, marks=pytest.mark.slow)], ids=["one pair of each type", "all pairs"]
)
def test_types_that_do_not_conflict_can_be_followed_and_broken_together(pairs: list[tuple[str, str]]) -> None:
    lacking = []
    for pair in pairs:
        generator = random.Random(f"{pair}")  # noqa: S311 # reproducible by design
        words = iter(generator.sample(keywords(), len(keywords())))
        draws = Draws(generator.choice, words)
        both = [instruction(name, draws.arguments(LARGER_POOL.arguments[name])) for name in pair]
        if respond(both) is None or respond(both, [0, 1]) is None:
            lacking.append(pair)
    assert not lacking, f"in kinds.yaml, they need one slot, or one must exclude the other: {lacking}"


@pytest.mark.parametrize("draws", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", instruction_ids(ifrlvr))
def test_every_instruction_that_models_are_trained_with_can_be_followed_and_broken(name: str, draws: int) -> None:
    assert_any_can_be_followed_and_broken(name, TRAINED.get(name, {}), draws)


def assert_any_can_be_followed_and_broken(name: str, drawn_from: Arguments, draws: int) -> None:
    """Draw an instruction's arguments some number of times, and assert that each can be followed and broken."""
    for seed in range(draws):
        generator = random.Random(seed)  # noqa: S311 # reproducible by design
        words = iter(generator.sample(keywords(), len(keywords())))
        assert_followed_and_broken(name, Draws(generator.choice, words).arguments(drawn_from))


def assert_followed_and_broken(name: str, arguments: dict[str, Any]) -> None:
    """Assert that there is a text that follows an instruction in both editions, and one that breaks it in both."""
    alone = [instruction(name, arguments)]
    assert verdicts(respond(alone), alone) == [(True,), (True,)], arguments
    assert verdicts(respond(alone, [0]), alone) == [(False,), (False,)], arguments


@pytest.mark.parametrize("code", ["de", "en", "es", "fr", "it", "pt"])
def test_a_language_can_be_followed_and_broken_in_as_many_texts_as_there_are_variants(code: str) -> None:
    alone = [instruction("language:response_language", {"language": code})]
    for broken, expected in (([], True), ([0], False)):
        texts = [respond(alone, broken, variant) for variant in range(20)]
        assert len(set(texts)) == 20
        for text in texts:
            assert verdicts(text, alone) == [(expected,), (expected,)]


def test_a_language_without_sentences_has_no_text() -> None:
    assert respond([instruction("language:response_language", {"language": "hi"})]) is None


SUBSETS = [broken for size in range(PER_SECTION + 1) for broken in combinations(range(PER_SECTION), size)]


def test_any_of_a_sections_instructions_can_be_broken_and_the_others_followed() -> None:
    judged = set()
    for row in mixed_rows(50):
        for number in (1, 4, 8):
            about = [one for one, section in zip(row.instructions, row.sections, strict=True) if section == number]
            for broken in SUBSETS:
                text = respond(about, broken)
                assert text is not None, (about, broken)
                assert is_as_intended(text, about, broken)
            judged |= {one.id for one in about}
    assert judged == set(IN_SECTIONS)


def test_a_chosen_instruction_is_broken_and_the_others_are_followed() -> None:
    instructions = [
        instruction("count:numbers", {"N": 4}),
        instruction("format:emoji", {}),
        instruction("words:repeats", {"small_n": 8}),
        instruction("punctuation:no_comma", {}),
    ]
    for broken in range(4):
        expected = tuple(index != broken for index in range(4))
        assert verdicts(respond(instructions, [broken]), instructions) == [expected] * 2


# What a plan that breaks "at least" and follows "less than" has in common: as many at most; and the other way round.
@pytest.mark.parametrize(
    ("relation", "target", "follow", "expected"),
    [
        (AT_LEAST, 3, True, Bounds(3, None)),
        (AT_LEAST, 3, False, Bounds(0, 2)),  # not at least three: two at most
        (LESS_THAN, 3, True, Bounds(0, 2)),  # strictly less
        (LESS_THAN, 3, False, Bounds(3, None)),
        (AT_LEAST, 0, False, Bounds(0, -1)),  # always true, so it cannot be broken
    ],
)
def test_opposite_relations_are_opposite_bounds(relation: Any, target: int, follow: bool, expected: Bounds) -> None:
    bounds = Bounds()
    bounds.relate(relation, target, follow)
    assert bounds == expected


def test_instructions_that_exclude_each_other_have_a_plan_if_one_is_broken() -> None:
    both = [
        instruction("keywords:frequency", {"keyword": word, "frequency": 3, "relation": relation})
        for word, relation in (("oak", AT_LEAST), ("OAK", LESS_THAN))
    ]
    assert plan_for(both) is None
    for broken, bounds in ((0, Bounds(0, 2)), (1, Bounds(3, None))):
        plan = plan_for(both, [broken])
        assert plan is not None
        assert plan.phrases == {"oak": bounds}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_single_instruction_can_be_followed_and_broken(name: str) -> None:
    for arguments in ARGUMENTS[name]:
        assert_followed_and_broken(name, arguments)


COMMA, TITLE, QUOTATION, CAPITAL, SMALL = NoComma(), Title(), Quotation(), EnglishCapital(), EnglishLowercase()

# instructions, indices to break, whether there is a response
TOGETHER: dict[str, tuple[list[Checker], list[int], bool]] = {
    "all capitals and all small": ([CAPITAL, SMALL], [], False),
    "not all small and all capitals": ([SMALL, CAPITAL], [0], True),
    "all capitals and not all small": ([CAPITAL, SMALL], [1], True),
    "a word present and absent": ([Existence(("fox",)), ForbiddenWords(("Fox",))], [], False),
    "a word present, another absent": ([Existence(("fox",)), ForbiddenWords(("hen",))], [], True),
    "a word present and a word that contains it absent": (
        [Existence(("fox",)), ForbiddenWords(("foxglove",))],
        [],
        True,
    ),
    "a word present that contains an absent one": ([Existence(("foxglove",)), ForbiddenWords(("fox",))], [], True),
    "a word present without its letter": ([Existence(("zebra",)), LetterFrequency("z", 1, LESS_THAN)], [], False),
    "a word present with its letter once": ([Existence(("zebra",)), LetterFrequency("z", 2, LESS_THAN)], [], True),
    "a letter five times and fewer than five": (
        [LetterFrequency("q", 5, AT_LEAST), LetterFrequency("q", 5, LESS_THAN)],
        [],
        False,
    ),
    "a letter exactly four times": ([LetterFrequency("q", 4, AT_LEAST), LetterFrequency("q", 5, LESS_THAN)], [], True),
    "fifty sentences in nine words": ([NumberSentences(50, AT_LEAST), NumberWords(9, LESS_THAN)], [], False),
    "two sentences in a hundred words": ([NumberSentences(3, LESS_THAN), NumberWords(100, AT_LEAST)], [], True),
    "five paragraphs in one sentence": ([NumberSentences(2, LESS_THAN), NumberParagraphs(5)], [], True),
    "a comma within quotation marks": ([QUOTATION, COMMA], [1], True),
    "placeholders and a title in capitals": ([CAPITAL, TITLE, NumberPlaceholders(3)], [], True),
    "neither e nor t": ([LetterFrequency("e", 1, LESS_THAN), LetterFrequency("t", 1, LESS_THAN)], [], True),
    "no vowel": ([LetterFrequency(vowel, 1, LESS_THAN) for vowel in "aeiou"], [], False),
    "every letter ten times": ([LetterFrequency(each, 10, AT_LEAST) for each in string.ascii_lowercase], [], True),
    "the same instruction twice": ([TITLE, TITLE], [], True),
    "the same instruction followed and broken": ([TITLE, TITLE], [0], False),
    "a comma among marks and none": ([COMMA, instruction("count:punctuation")], [], False),
    "a section in both cases": ([instruction("section:lowercase"), instruction("section:capitals")], [], False),
    "one that is not in any pool": ([TITLE, instruction("detectable_format:json_format")], [], False),
    # At least nothing cannot be broken, fewer than nothing not followed.
    "at least 0 words broken": ([NumberWords(0, AT_LEAST)], [0], False),
    "fewer than 0 words": ([NumberWords(0, LESS_THAN)], [], False),
    "no sentence at all": ([NumberSentences(1, LESS_THAN)], [], False),
    # The published code judges by the relation, and the repaired edition by the number, which the wording states.
    "exactly two and fewer than two": ([WordCountDifferentNumbers("fox", 2, LESS_THAN)], [], False),
    "not exactly two and not fewer than two": ([WordCountDifferentNumbers("fox", 2, LESS_THAN)], [0], True),
    "a phrase without a middle": ([RepeatPhrase("Never", 2)], [], False),
    "five of IF-RLVR's": (
        [
            FirstWordAnswer("zebra"),
            LastWordAnswer("wolf"),
            CountIncrementWord("fox", "hen"),
            Paragraphs2(),
            PunctuationExclamation(),
        ],
        [],
        True,
    ),
    "no paragraph at all": ([NumberParagraphs(0)], [], False),
    "not no paragraph": ([NumberParagraphs(0)], [0], True),
}


@pytest.mark.parametrize(("instructions", "broken", "possible"), TOGETHER.values(), ids=TOGETHER.keys())
def test_only_contradictory_instructions_have_no_response(
    instructions: list[Checker], broken: list[int], possible: bool
) -> None:
    text = respond(instructions, broken)
    if possible:
        intended = tuple(index not in broken for index in range(len(instructions)))
        assert verdicts(text, instructions) == [intended, intended]
    else:
        assert text is None


def test_the_same_instructions_get_the_same_response() -> None:
    instructions = [COMMA, TITLE, NumberWords(100, AT_LEAST), LetterFrequency("q", 5, AT_LEAST)]
    assert respond(instructions) == respond(list(instructions))
    assert break_one(instructions) == break_one(list(instructions))


# Every seventh row has any number of instructions from one to ten.
@pytest.fixture(scope="module", params=[7, pytest.param(1, marks=pytest.mark.slow)])
def step(request: pytest.FixtureRequest) -> int:
    """Return the step in which rows are taken: every seventh, or all."""
    value: int = request.param
    return value


@pytest.fixture(scope="module", params=["embedded", "real"])
def rows(request: pytest.FixtureRequest, step: int) -> tuple[InstructionRow, ...]:
    """Return some of the 1,000 test rows of a source, or all."""
    source = "embedded" if request.param == "embedded" else str(request.getfixturevalue("real_ifeval"))
    found = all_rows(source, "test")
    assert len(found) == 1000
    return found[::step]


def test_drop_one_breaks_exactly_one_instruction_of_every_row(rows: tuple[InstructionRow, ...]) -> None:
    assert {len(row.instructions) for row in rows} == set(range(1, 11))
    for row in rows:
        found = verdicts(break_one(row.instructions), row.instructions)
        assert found[0] == found[1], row
        assert found[0].count(False) == 1, row


def test_ignore_breaks_every_instruction_of_every_row(rows: tuple[InstructionRow, ...]) -> None:
    for row in rows:
        assert (
            verdicts(text_of(known_answers(row), "ignore"), row.instructions) == [(False,) * len(row.instructions)] * 2
        ), row


def test_the_dropped_instruction_is_also_broken_loosely_if_possible() -> None:
    # Loose takes the asterisks off, and the divider between two paragraphs with them: then there is one again.
    one = NumberParagraphs(1)
    alone = Response(break_one([one]) or "")
    assert alone.follows([one]).follow_instruction_list == (False,)
    assert alone.follows([one], loose=True).follow_instruction_list == (True,)
    for both in ([one, COMMA], [COMMA, one]):
        response = Response(break_one(both) or "")
        for edition in EDITIONS:
            verdict = dict(zip(both, response.follows(both, edition, loose=True).follow_instruction_list, strict=True))
            assert verdict == {one: True, COMMA: False}


def test_a_repeated_instruction_is_dropped_in_every_position() -> None:
    repeated = [COMMA, COMMA, COMMA]
    assert verdicts(break_one(repeated), repeated) == [(False, False, False)] * 2
    # Read from a file, equal instructions are not one and the same object.
    among_others = [COMMA, TITLE, instruction("punctuation:no_comma")]
    assert among_others[0] is not among_others[2]
    assert verdicts(break_one(among_others), among_others) == [(False, True, False)] * 2


def test_instructions_that_cannot_be_broken_are_skipped() -> None:
    always = NumberWords(0, AT_LEAST)
    assert break_one([always]) is None
    assert verdicts(break_one([always, TITLE]), [always, TITLE]) == [(True, False)] * 2
    # Even if the one that can be broken is only broken strictly.
    one = NumberParagraphs(1)
    assert verdicts(break_one([one, always]), [one, always]) == [(False, True)] * 2


def test_the_policies_answer_rows_with_and_without_a_witness() -> None:
    instructions = (TITLE, COMMA)
    row = InstructionRow("made up", "Say it.", "Say it.", instructions)
    answers = known_answers(row)
    assert set(answers) == {*POLICIES, "ignore_system"} == {"oracle", "drop_one", "ignore", "ignore_system"}
    assert len(answers) == 4
    assert verdicts(text_of(answers, "oracle"), instructions) == [(True, True)] * 2
    assert verdicts(text_of(answers, "drop_one"), instructions) == [(False, True)] * 2
    assert verdicts(text_of(answers, "ignore"), instructions) == [(False, False)] * 2
    with_witness = InstructionRow("made up", "Say it.", "Say it.", instructions, witness="as it is")
    assert text_of(known_answers(with_witness), "oracle") == "as it is"


def test_a_row_without_a_known_answer_is_named_with_the_policy() -> None:
    row = InstructionRow(17, "Say it.", "Say it.", (CAPITAL, SMALL))
    with pytest.raises(ValueError, match="row 17: no answer is known for policy 'oracle'"):
        answer_of(known_answers(row), "oracle", "row 17")
