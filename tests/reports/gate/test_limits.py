"""``--limit`` of either side: said in the verdict, in the comparison and in the XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reports.files import SST2, write_run
from tests.reports.gate.test_commands import call
from tests.reports.gate.two_runs import right


def limited_run(folder: Path, limit: object) -> None:
    path = write_run(folder, {SST2: right(90)}, arguments={"pretrained": f"owner/{folder.name}"})
    if limit is not None:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"model": "hf"', f'"model": "hf", "limit": {limit}'), encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (20, 20, "--limit 20 in the baseline and the candidate"),
        (None, 0.5, "--limit 0.5 in the candidate"),
        (100.0, 20, "--limit 100 in the baseline, --limit 20 in the candidate"),
    ],
)
def test_a_limit_stands_in_the_verdict_and_in_the_xml(
    before: object, after: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited_run(tmp_path / "a", before)
    limited_run(tmp_path / "b", after)
    xml = tmp_path / "check.xml"
    words = ("check", tmp_path / "b", "--against", tmp_path / "a", "--max-drop", "0.1", "--junit", xml)
    assert call(*words) == 0
    verdict, finding, *_ = capsys.readouterr().out.splitlines()
    assert verdict == f"not worse: 1 of 1 ({said})"
    assert f"; not all rows were evaluated: {said}" in finding
    (case,) = ElementTree.parse(xml).getroot().iter("testcase")  # noqa: S314 # our own
    assert said in (case.findtext("system-out") or "")


def test_a_limit_stands_in_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limited_run(tmp_path / "a", 20)
    limited_run(tmp_path / "b", 20)
    assert call("compare", tmp_path / "b", "--against", tmp_path / "a") == 0
    assert (
        f"  {SST2}: not all rows were evaluated: --limit 20 in the baseline and the candidate"
        in capsys.readouterr().out
    )


def test_without_a_limit_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limited_run(tmp_path / "a", None)
    limited_run(tmp_path / "b", None)
    assert call("check", tmp_path / "b", "--against", tmp_path / "a", "--max-drop", "0.1") == 0
    assert "limit" not in capsys.readouterr().out.splitlines()[0]
