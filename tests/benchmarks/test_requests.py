"""The peer of the benchmark of requests."""

from __future__ import annotations

from pathlib import Path

import yaml

from benchmarks.requests import _write_peer


def test_the_peer_has_as_many_tasks_as_the_group_that_it_stands_beside(tmp_path: Path) -> None:
    folder = _write_peer(tmp_path / "peer")
    group = yaml.safe_load((folder / "group.yaml").read_text(encoding="utf-8"))
    assert len(group["task"]) == 108
    assert {path.stem for path in folder.glob("verbalizer_*.yaml")} == {*group["task"]}
