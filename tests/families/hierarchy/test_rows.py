"""The rows: pairs of instructions that exclude each other, evenly dealt, the same in every arm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from lm_eval_ext.families.hierarchy.rows import MOST_TURNS, PROMPTS, Row, rivals, rows
from lm_eval_ext.families.instructions import is_as_intended, lines_of
from lm_eval_ext.families.instructions.compose import keywords
from lm_eval_ext.families.manyifeval.frozen import frozen
from lm_eval_ext.verifiers import EDITIONS, Response
from lm_eval_ext.verifiers.ifeval.language import ENOUGH_WORDS, SURE
from tests.families.jsonl import write_jsonl
from tests.harness.tasks import make
from tests.sampling import sampled

SEEDS = 200


def test_there_are_twenty_pairs_or_more_in_eight_groups_or_more() -> None:
    assert len({pair.name for pair in rivals()}) == len(rivals()) == 25
    assert len({pair.group for pair in rivals()}) == 12


def test_a_pair_about_case_is_about_nothing_else_because_a_reader_takes_emma_for_a_name() -> None:
    about_case = ("change_case:", "section:capitals", "section:lowercase")
    for pair in rivals():
        of_case = [name.startswith(about_case) for name, _ in (pair.first, pair.second)]
        assert of_case == [pair.group == "case"] * 2, pair.name


def test_a_letter_is_rare_enough_to_be_seldom_in_an_answer_that_is_not_written_around_it() -> None:
    prose = "".join(row.task_prompt.lower() for row in rows("embedded", None))
    (pair,) = (pair for pair in rivals() if pair.name == "letter_often_seldom")
    for letter in cast(Mapping[str, Any], pair.first[1])["letter"]:
        assert prose.count(letter) < 0.02 * sum(map(str.isalpha, prose)), letter


@cache
def task_like() -> tuple[str, ...]:
    """Return responses to all sorts of instructions, and what models make of them: in one case, quoted, introduced."""
    witnesses = [found["witness"] for found in frozen("fifteen").values() if found.get("witness")][::5]
    plain = [text for row in rows("embedded", None) for text in (row.answer("own"), row.answer(None)) if text]
    texts = [*witnesses, *plain]
    return tuple(
        dict.fromkeys(
            change(text)
            for text in texts
            for change in (
                str,
                str.upper,
                str.lower,
                lambda text: f'"{text}"',
                lambda text: f"Sure! Here is what you asked for:\n\n{text}\n\nI hope this helps.",
                lambda text: f"{text}\n\n***\n\n{text}",
                lambda text: text[: len(text) // 2],
            )
        )
    )


@cache
def odd() -> tuple[str, ...]:
    """Return texts in which there is little to judge, or something else than words: alone, often, and beside words."""
    signs = [*map(chr, (*range(0x1F300, 0x1F378), *range(0x2190, 0x2208), *range(0x25A0, 0x2618)))]
    pieces = [
        *("42", "½ ②", "Ⅷ ⅷ", "Ⓐ ⓐ", "\uff37\uff49\uff44\uff45", "ǅ", "A casa", "ciao", "hola", "ok", "ªº", "\u200b"),
        *("你好世界", "こんにちは", "สวัสดีครับ", "Привет мир", "नमस्ते दुनिया", "مرحبا بالعالم", "안녕 세계"),
        *("** **", "****", "<<>>", "[]", '""', "“”", "```\n```", "<b></b>", "* \n* "),
        *("1. \n2. ", "***\n***", "___", "?!"),
    ]
    separators = (" ", "\n", "\n\n", "_", "-", ", ", ". ", "\n* ", "\n***\n", "\uff0c")
    lists = [separator.join(texts) for separator in separators for texts in (signs, pieces, map(str, range(300)))]
    return (*pieces, *lists, *(separator.join([piece] * 80) for piece in pieces for separator in (" ", "_")))


@pytest.mark.parametrize("name", sampled([pair.name for pair in rivals()], 6))
def test_no_odd_text_and_no_two_answers_in_one_follow_both_of_a_pair(name: str) -> None:
    for row in (row for row in rows("embedded", None) if row.pair.name == name and row.side == 1):
        both = (row.own, row.rival)
        one, other = (row.answer(side) or "" for side in ("own", "rival"))
        joined = [
            f"{opening}{one}{closing}{separator}{opening}{other}{closing}"
            for opening, closing in (("", ""), ('"', '"'), ("```\n", "\n```"), ("**", "**"))
            for separator in (" ", "\n", "\n\n", "\n***\n", "\n******\n", "")
        ]
        for text in (*odd(), *joined, *(f"{one}\n\n{piece}" for piece in odd()[:20])):
            response = Response(text)
            for edition in EDITIONS:
                if response.follows(both, edition).follow_all_instructions:
                    assert row.pair.group == "languages", text
                    if edition == "faithful":
                        assert response.text.language is None, text
                    else:
                        assert name == "english_portuguese", text
                        assert response.text.words < ENOUGH_WORDS or response.text.detection.probability < SURE, text


@pytest.mark.parametrize("name", sampled([pair.name for pair in rivals()], 12))
def test_no_response_follows_both_of_a_pair(name: str) -> None:
    (first, second), *_ = [(row.own, row.rival) for row in rows("embedded", None) if row.pair.name == name]
    texts = task_like()
    assert len(texts) > 800
    followed: Counter[tuple[bool, ...]] = Counter()
    for text in texts:
        for edition in EDITIONS:
            followed[Response(text).follows((first, second), edition).follow_instruction_list] += 1
    assert not followed[True, True]
    # Of the rest, each is there, so that the texts can show it.
    assert min(followed[True, False], followed[False, True], followed[False, False]) > 0


def every_row(seeds: int) -> Iterator[Row]:
    for seed in (None, *range(seeds)):
        yield from rows("embedded", seed)


@pytest.mark.parametrize("seeds", [5, pytest.param(SEEDS, marks=pytest.mark.slow)])
def test_each_instruction_has_a_response_that_breaks_its_rival_and_each_pair_one_that_breaks_both(seeds: int) -> None:
    for row in every_row(seeds):
        both = (row.own, row.rival)
        for broken, follows in (({1}, "own"), ({0}, "rival"), ({0, 1}, None)):
            text = row.answer(follows)  # type: ignore[arg-type] # one of the sides
            assert text is not None, (row.key, follows)
            assert is_as_intended(text, both, broken), (row.key, follows)


@pytest.mark.parametrize("seeds", [40, pytest.param(SEEDS, marks=pytest.mark.slow)])
def test_every_seed_deals_each_pair_alike_and_both_ways_round(seeds: int) -> None:
    seen = set()
    for seed in (None, *range(seeds)):
        found = rows("embedded", seed)
        assert len({row.key for row in found}) == len(found) == 2 * PROMPTS
        # 50 task prompts, 25 pairs.
        assert set(Counter(row.pair.name for row in found).values()) == {4}
        for one, other in zip(found[::2], found[1::2], strict=True):
            assert (one.own, one.rival, one.task_prompt) == (other.rival, other.own, other.task_prompt)
            assert (one.prompt_key, one.side, other.side) == (other.prompt_key, 1, 2)
        seen.add(tuple(row.key for row in found))
    assert len(seen) == seeds + 1


def test_an_odd_number_of_task_prompts_is_dealt_as_evenly_as_it_can_be(tmp_path: Path) -> None:
    prompts = [{"key": number, "task_prompt": f"Describe town {number}."} for number in range(30)]
    write_jsonl(tmp_path / "manyifeval_test.jsonl", prompts)
    pairs = Counter(row.pair.name for row in rows(str(tmp_path), None))
    assert sum(pairs.values()) == 60
    assert set(pairs.values()) == {2, 4}


def test_a_word_to_be_named_is_not_in_the_task_prompt_in_any_case(tmp_path: Path) -> None:
    *there, one, other = keywords()
    task = f"Write about {', '.join(map(str.capitalize, there))}"
    prompts = [{"key": number, "task_prompt": f"{task} in town {number}."} for number in range(50)]
    write_jsonl(tmp_path / "manyifeval_test.jsonl", prompts)
    named = {row.own.arguments()["keyword"] for row in rows(str(tmp_path), None) if row.pair.group == "keywords"}
    assert named == {one, other}


@pytest.mark.parametrize("seeds", [0, pytest.param(20, marks=pytest.mark.slow)])
def test_the_replies_of_a_conversation_are_different_texts_that_follow_the_instruction(seeds: int) -> None:
    for row in every_row(seeds):
        texts = {row.answer("own", reply) for reply in range(1, MOST_TURNS)}
        assert len(texts) == MOST_TURNS - 1, row.key
        for text in texts:
            assert text is not None, row.key
            assert is_as_intended(text, (row.own, row.rival), {1}), row.key


def test_a_reply_is_of_whole_sentences_because_a_model_may_copy_its_form() -> None:
    sentences, whole = lines_of("lm_eval_ext.families.instructions", "sentences.txt"), Counter[bool]()
    for row in rows("embedded", None):
        text = row.answer("own", 1) or ""
        if row.pair.group not in ("languages", "case"):
            whole.update(part.strip("* ").capitalize() in sentences for part in re.split(r"\. ?|\n+", text) if part)
    # The others have what the instruction asks for: a word, numbers, a divider.
    assert whole[True] > 3 * whole[False] > 0


@pytest.mark.harness
def test_all_arms_have_the_same_rows_and_a_seed_marks_the_version() -> None:
    system, tool = (make(f"hierarchy_{arm}").eval_docs for arm in ("system", "tool"))
    assert system.remove_columns("prompt").to_list() == tool.remove_columns("prompt").to_list()
    fresh = make("hierarchy_tool", {"row_seed": 7})
    assert fresh.config.metadata["version"] == "1.2+embedded+seed7"
    assert not {*fresh.eval_docs["task_prompt"]} & {*tool["task_prompt"]}
