"""Reports with many words: the list, and the rows."""

from __future__ import annotations

import itertools

import pytest

from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, SUBJECTS, dense_rows, rows_hash, word_list
from lm_eval_ext.families.manyifeval.dense.scores import stem
from lm_eval_ext.families.manyifeval.dense.task import other_form


def test_no_word_of_the_list_is_a_form_or_the_beginning_of_another() -> None:
    words = sorted(word_list())
    assert len(words) == len({stem(word) for word in words}) >= 2 * COUNTS[-1] - 10
    assert not [(one, other) for one, other in itertools.pairwise(words) if other.startswith(one)]
    assert all(word.isascii() and word.isalpha() and word.islower() and len(word) > 3 for word in words)


@pytest.mark.parametrize("count", COUNTS)
def test_a_prompt_lists_as_many_different_words_as_it_says(count: int) -> None:
    rows = dense_rows(count)
    assert [row.key for row in rows] == list(range(1, len(SUBJECTS) + 1))
    for row in rows:
        first, empty, lead, *lines = row.prompt.split("\n")
        assert SUBJECTS[row.key - 1] in first
        assert empty == ""
        assert f" {count} words " in lead
        assert lines == [f"- {word}" for word in row.words]
        assert len(set(row.words)) == len(lines) == count


def test_longer_lists_begin_with_the_shorter_ones() -> None:
    for short, long in itertools.pairwise(COUNTS):
        for one, other in zip(dense_rows(short), dense_rows(long), strict=True):
            assert other.words[:short] == one.words


def test_the_rows_never_change_and_a_row_seed_draws_others() -> None:
    # A change here is a change of scores, and of metadata.version.
    assert dense_rows(10)[0].words[:4] == ("database", "budget", "nuclear", "landscape")
    assert len({rows_hash(dense_rows(10, row_seed)) for row_seed in (None, 0, 1)}) == 3
    assert dense_rows(10, 1)[0].words != dense_rows(10)[0].words


def test_every_word_has_another_form() -> None:
    for word in word_list():
        assert other_form(word) != word
        assert stem(other_form(word)) == stem(word)
