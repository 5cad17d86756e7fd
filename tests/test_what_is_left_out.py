"""Where there is nothing but a clone, tests are left out, and the end of the output says how many and why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nltk.data
import pytest
from nltk.tag.perceptron import PerceptronTagger

from tests import nltk_places
from tests.conftest import ROOT, completed

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_on_real_data(number):
    pytest.skip("the real data are not there\\nmore lines")

def test_in_a_browser():
    pytest.skip("needs a browser")

def test_here():
    pass
"""


def test_the_reasons_of_skipped_tests_stand_once_at_the_end_with_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", ROOT / "pyproject.toml")
    options = (f"--rootdir={tmp_path}", "-p", "no:cacheprovider", tmp_path)
    done = completed(*command, *options, folder=tmp_path, environment={**os.environ, "PYTHONPATH": str(ROOT)})
    *_, title, first, second, closing = done.stdout.splitlines()
    assert "tests left out" in title, done.stdout + done.stderr
    assert (first, second) == ("     3  the real data are not there", "     1  needs a browser")
    assert closing.startswith("1 passed, 4 skipped in ")
    assert done.stdout.count("needs a browser") == 1


def test_a_stand_in_serves_for_a_tagger_that_is_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setenv("NLTK_DATA", "given")
    assert not nltk_places.has_real_tagger()
    nltk_places.provide([tmp_path, tmp_path / "absent"])
    given, place, stand_in = os.environ["NLTK_DATA"].split(os.pathsep)
    assert (given, place) == ("given", str(tmp_path))
    assert nltk.data.path == [str(tmp_path), stand_in]
    assert not nltk_places.has_real_tagger()
    # Not nltk.pos_tag, which would keep the stand-in for all later tests.
    assert PerceptronTagger().tag(["Consider", "the", "river"])[0] == ("Consider", "VB")
    nltk_places.provide([tmp_path])
    assert nltk.data.path == [str(tmp_path), stand_in]  # not another one


@pytest.mark.usefixtures("tagger")
def test_the_stand_in_has_the_tags_of_nltks_tagger() -> None:
    found = {word: nltk.pos_tag([word, "a", "river", "."])[0][1] for word in nltk_places.TAGS}
    assert found == nltk_places.TAGS
