"""The form of a report: chosen in the metadata, marked in the version."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.dense.form import Keywords, Mixed, chosen_form


@pytest.mark.parametrize("given", [{}, {"form": "keywords"}])
def test_keywords_are_the_form_without_a_mark(given: dict[str, str]) -> None:
    metadata: dict[str, Any] = {"version": "1.0+seed7", **given}
    form, fact = chosen_form("a_task", metadata)
    assert isinstance(form, Keywords)
    assert (fact, metadata) == ({}, {"version": "1.0+seed7"})


def test_another_form_is_recorded_and_marked() -> None:
    metadata: dict[str, Any] = {"version": "1.0+seed7", "form": "mixed"}
    form, fact = chosen_form("a_task", metadata)
    assert isinstance(form, Mixed)
    assert fact == {"form": "mixed"}
    assert metadata["version"] == "1.0+seed7+mixed"


@pytest.mark.parametrize("name", ["mix", "", None, 1, ["mixed"]])
def test_no_other_form_exists(name: object) -> None:
    with pytest.raises(ValueError, match=r"task 'a_task': metadata form .*; expected one of keywords, mixed"):
        chosen_form("a_task", {"version": 1.0, "form": name})
