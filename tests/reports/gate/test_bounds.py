"""Bounds from a file: what they apply to, and the errors for invalid ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.bounds import Bounds, bounds_of
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2
from tests.reports.gate.two_runs import GOLDEN, SNLI, right, sides

BOTH = {SST2: right(3), SNLI: right(4), GOLDEN: right(5)}
TREE = {"level": [SST2, SNLI]}


def written(folder: Path, text: str) -> Path:
    path = folder / "bounds.toml"
    path.write_text(text, encoding="latin-1")
    return path


@pytest.mark.parametrize(
    ("text", "default", "named"),
    [
        ("max_drop = 0.02", 0.02, {}),
        ("[tasks]\nlevel = 0.01\nmanyifeval = 0", None, {"level": 0.01, "manyifeval": 0.0}),
        ('max_drop = 1\n[tasks]\n"of my own" = 0.05 # why', 1.0, {"of my own": 0.05}),
    ],
)
def test_a_bounds_file_has_a_default_and_bounds_by_name(
    tmp_path: Path, text: str, default: float | None, named: Mapping[str, float]
) -> None:
    found = bounds_of(None, written(tmp_path, text))
    assert (found.default, found.named) == (default, named)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("max-drop = 0.02", "'max-drop' is not a known setting", id="the option's name"),
        pytest.param("level = 0.02", "'level' is not a known setting", id="a name outside of the table"),
        pytest.param("tasks = 0.02", "tasks is 0.02; expected a table", id="no table"),
        pytest.param("max_drop = 2", "max_drop: 2; expected a share from 0 to 1", id="points"),
        pytest.param("max_drop = -0.01", "max_drop: -0.01; expected", id="a gain"),
        pytest.param("max_drop = nan", "max_drop: nan; expected", id="not a number"),
        pytest.param("max_drop = inf", "max_drop: inf; expected", id="infinite"),
        pytest.param("max_drop = " + 400 * "1", "max_drop: 11111.*1…; expected", id="400 digits"),
        pytest.param("[tasks]\nlevel = " + 400 * "1", "'level': 1111.*1…; expected", id="400 digits of a task"),
        pytest.param(
            "max_drop = 0x1" + 5000 * "0", "a number that is too long to be shown", id="5,000 hexadecimal digits"
        ),
        pytest.param("max_drop = true", "max_drop: True; expected", id="a truth value"),
        pytest.param('[tasks]\nlevel = "0.01"', r"\[tasks\], 'level': '0.01'; expected", id="text"),
        pytest.param(
            "[tasks.level]\nmax_drop = 0.01", r"\[tasks\], 'level': {'max_drop': 0.01}; expected", id="a table"
        ),
        pytest.param("max_drop: 0.02", "not TOML", id="YAML"),
        pytest.param("[tasks\n", "not TOML", id="cut off"),
        # The file is in Latin-1, and TOML is UTF-8.
        pytest.param("max_drop = 0.02 # \xff", "not TOML", id="no text"),
        pytest.param("max_drop = " + 5000 * "1", "not TOML", id="a number that Python does not read"),
        pytest.param("tasks." + 5000 * "a." + "a = 0.02", "more than 100 levels of tables", id="a long dotted key"),
        pytest.param("x = " + 5000 * "[" + 5000 * "]", "not TOML", id="deep lists"),
    ],
)
def test_an_invalid_bound_or_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises((ReportError, RowsError), match=complaint) as found:
        bounds_of(None, path)
    assert str(path) in str(found.value)


@pytest.mark.parametrize(
    ("default", "named", "expected"),
    [
        (0.02, {}, {"level": 0.02, GOLDEN: 0.02}),
        (None, {SST2: 0.01}, {SST2: 0.01}),
        # What is named is checked besides the rest, or with its own bound instead.
        (0.02, {SST2: 0.01}, {"level": 0.02, GOLDEN: 0.02, SST2: 0.01}),
        (0.02, {"level": 0.01}, {"level": 0.01, GOLDEN: 0.02}),
        (0.0, {}, {"level": 0.0, GOLDEN: 0.0}),
    ],
)
def test_a_default_bound_applies_to_everything_in_the_baseline(
    tmp_path: Path, default: float | None, named: Mapping[str, float], expected: Mapping[str, float]
) -> None:
    assert Bounds(default, named, "here").over(sides(tmp_path, BOTH, BOTH, groups=TREE)) == expected


@pytest.mark.parametrize(
    ("name", "meant"),
    [("levle", " Did you mean 'level'?"), (SST2.replace("sst2", "sts2"), f" Did you mean '{SST2}'"), ("xyz", "")],
)
def test_a_name_missing_from_both_sides_is_an_error(tmp_path: Path, name: str, meant: str) -> None:
    both = sides(tmp_path, BOTH, BOTH, groups=TREE)
    with pytest.raises(ReportError) as found:
        Bounds(None, {name: 0.01}, "b.toml").over(both)
    message = str(found.value)
    assert message.startswith(f"b.toml: neither side has a task or group '{name}'; expected names as in the results.")
    assert meant in message
    assert ("Did you mean" in message) == bool(meant)


def test_a_name_missing_from_one_side_is_not_an_error(tmp_path: Path) -> None:
    both = sides(tmp_path, {SST2: right(3)}, BOTH)
    assert Bounds(None, {SNLI: 0.01}, "b.toml").over(both) == {SNLI: 0.01}
