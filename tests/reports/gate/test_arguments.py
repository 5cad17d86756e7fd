"""The runs of two sides on the command line."""

from __future__ import annotations

import argparse

import pytest

from lm_eval_ext.cli.parser import Parser
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.arguments import add_k_to, add_runs_to, two_sides

EXPECTED = "two runs"


def parsed(words: str, parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
    whole = parser or Parser()
    command = whole.add_subparsers().add_parser("compare")
    add_runs_to(command, "RUN")
    add_k_to(command)
    return whole.parse_args(["compare", *words.split()])


def paths(words: str) -> list[str]:
    return words.split()


@pytest.mark.parametrize(
    ("words", "sides"),
    [
        ("a b", ("a", "b")),
        ("a -- b", ("a", "b")),
        ("a1 a2 a3 -- b1 b2 b3", ("a1 a2 a3", "b1 b2 b3")),
        ("a1 a2 --k 2 -- b1", ("a1 a2", "b1")),
        ("--k 2 a1 -- b1 b2", ("a1", "b1 b2")),
        ("a1 a2 -- b1 --k 2", ("a1 a2", "b1")),
    ],
)
@pytest.mark.parametrize("parser", [Parser, argparse.ArgumentParser])
def test_two_dashes_separate_the_sides(
    words: str, sides: tuple[str, str], parser: type[argparse.ArgumentParser]
) -> None:
    options = parsed(words, parser())
    assert two_sides(options.runs, options.after, EXPECTED) == tuple(map(paths, sides))
    assert options.k == (2 if "--k" in words else None)


@pytest.mark.parametrize(
    ("words", "found"), [("a1 a2 a3", "3 runs and no --"), ("a1", "1 run and no --; expected two runs")]
)
def test_one_side_is_an_error(words: str, found: str) -> None:
    options = parsed(words)
    with pytest.raises(ReportError, match=found):
        two_sides(options.runs, options.after, EXPECTED)


@pytest.mark.parametrize("words", ["a --", "--", "-- b", "a -- b -- c", "a b --k 0", "a b --k two", "a b --k -1"])
def test_an_empty_side_or_an_invalid_k_is_rejected(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(words)
    assert "expected" in capsys.readouterr().err or words.startswith("--")
