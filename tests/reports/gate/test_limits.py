"""``--limit`` of either side: said in the verdict, in the comparison and in the XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reports.files import SST2, write_run
from tests.reports.gate.test_commands import call
from tests.reports.gate.two_runs import right


def checked(folder: Path, before: float | None, after: float | None, *words: object) -> int:
    """Check one run against another with other limits."""
    for side, limit in (("a", before), ("b", after)):
        asked = {} if limit is None else {"limit": limit}
        write_run(folder / side, {SST2: right(90)}, arguments={"pretrained": f"owner/{side}"}, call=asked)
    return call("check", folder / "b", "--against", folder / "a", "--max-drop", "0.1", *words)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (20, 20, "--limit 20 in the baseline and the candidate"),
        (None, 0.5, "--limit 0.5 in the candidate"),
        (100.0, 20, "--limit 100 in the baseline, --limit 20 in the candidate"),
    ],
)
def test_a_limit_stands_in_the_verdict_the_xml_and_the_comparison(
    before: float | None, after: float, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    xml = tmp_path / "check.xml"
    assert checked(tmp_path, before, after, "--junit", xml) == 0
    verdict, finding, *_ = capsys.readouterr().out.splitlines()
    assert verdict == f"not worse: 1 of 1 ({said})"
    assert f"; not all rows were evaluated: {said}" in finding
    (case,) = ElementTree.parse(xml).getroot().iter("testcase")  # noqa: S314 # our own
    assert said in (case.findtext("system-out") or "")
    assert call("compare", tmp_path / "b", "--against", tmp_path / "a") == 0
    assert f"  {SST2}: not all rows were evaluated: {said}" in capsys.readouterr().out


def test_without_a_limit_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path, None, None) == 0
    assert "limit" not in capsys.readouterr().out.splitlines()[0]
