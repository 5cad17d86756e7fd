"""The demonstrations count their runs, say how long they take, evaluate tasks that exist and end with the report."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import demo
from tests.conftest import ROOT
from tests.test_documentation import task_names


@dataclass
class Started:
    """What a demonstration starts instead of programs, a minute each: the commands, and their environments."""

    status: int = 0
    commands: list[Sequence[str]] = field(default_factory=list)
    environments: list[Mapping[str, str]] = field(default_factory=list)

    def run(self, command: Sequence[str], **options: Any) -> SimpleNamespace:
        self.commands.append(command)
        self.environments.append(options.get("env") or {})
        if self.status:
            options["stderr"].write("\n".join(map(str, range(100))))
        elif "--export" in command:
            figures = Path(command[-1])
            figures.mkdir()
            lines = [[name, "", "", share] for name in ("oracle", "prior") for share in (1, 0.5, 0)]
            with (figures / "verbalizer_naturalness.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([["model", "", "", "value"], *lines])
        return SimpleNamespace(returncode=self.status)

    @property
    def runs(self) -> list[str]:
        return [" ".join(command) for command in self.commands if "--log_samples" in command]


Demonstrate = Callable[..., tuple[list[str], Started]]


@pytest.fixture
def demonstrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Demonstrate:
    """Return a function that runs a demonstration of nothing and returns what it prints and what it starts."""

    def run(name: str, status: int = 0) -> tuple[list[str], Started]:
        started = Started(status)
        monkeypatch.setattr("benchmarks.demo.subprocess.run", started.run)
        monkeypatch.setattr(demo, "smollm2", tuple)
        monkeypatch.setattr(demo, "monotonic", lambda: 275.0 + 60 * len(started.commands))
        if status:
            with pytest.raises(SystemExit) as ended:
                demo.main([name, str(tmp_path / "demo")])
            assert ended.value.code == status
        else:
            demo.main([name, str(tmp_path / "demo")])
        return capsys.readouterr().out.splitlines(), started

    return run


@pytest.mark.parametrize(("name", "count"), [("known", 6), ("model", 10)])
def test_a_demonstration_counts_its_runs_and_ends_with_what_to_open(
    name: str, count: int, demonstrate: Demonstrate, tmp_path: Path
) -> None:
    said, started = demonstrate(name)
    counted = [line.partition(":")[0] for line in said if re.match(r"\d+ of ", line)]
    assert counted == [f"{number} of {count}" for number in range(1, count + 1)]
    assert len(started.runs) == count
    assert f"Open the report, file://{tmp_path}/demo/report.html" in "\n".join(said[said.index("") :])


def test_the_models_with_known_answers_have_their_accuracies_side_by_side(demonstrate: Demonstrate) -> None:
    said, _ = demonstrate("known")
    rows = [line.split() for line in said if line.startswith("  ")]
    assert rows == [["oracle", "100", "50", "0"], ["prior", "100", "50", "0"]]


def test_where_a_run_fails_the_end_of_its_log_is_shown_and_nothing_else_is_run(demonstrate: Demonstrate) -> None:
    said, started = demonstrate("known", 3)
    assert said == ["1 of 6: policy=oracle", *map(str, range(60, 100))]
    assert len(started.commands) == 1


def test_with_a_real_model_it_says_how_long_it_takes_and_how_many_minutes_have_passed(
    demonstrate: Demonstrate,
) -> None:
    said, _ = demonstrate("model")
    assert said[0].startswith("10 runs take about 6 minutes of CPU time")
    # Before the first, it has checked that there are NLTK's data.
    assert [line.rpartition("; ")[2] for line in said[1:11]] == [f"{minutes} min so far" for minutes in range(1, 11)]


def test_its_threads_sleep_while_they_wait_for_each_other(demonstrate: Demonstrate) -> None:
    # By default they spin, which costs CPU time where other programs run, too.
    _, started = demonstrate("model")
    assert [environment.get("OMP_WAIT_POLICY") for environment in started.environments].count("PASSIVE") == 10


def test_every_task_that_the_demonstrations_evaluate_exists(demonstrate: Demonstrate) -> None:
    runs = [run for name in ("known", "model") for run in demonstrate(name)[1].runs]
    named = [name for run in runs for name in run.partition("--tasks ")[2].split()[0].split(",")]
    assert len(named) > 80
    assert set(named) - task_names() == set()


@pytest.mark.parametrize(("target", "name"), [("demo", "known"), ("demo-model", "model")])
def test_make_starts_it_in_an_environment_of_its_own(target: str, name: str) -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition(f"\n{target}: ")[2].splitlines()[1]
    assert f"/bin/python -m benchmarks.demo {name} $(" in recipe
