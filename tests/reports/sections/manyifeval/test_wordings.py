"""The figure on wordings: real variants, counted here in another way, and intervals that hold at once."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.reports.sections.manyifeval.variants import WORST, simultaneous
from lm_eval_ext.verifiers import verify
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited_lines
from tests.reports.sections.reading_tables import figure, names, numbers, section_on

TASK, FIGURE = "manyifeval_cousins_n02", "manyifeval_wordings"


@pytest.fixture(scope="module")
def folder(result_folder: ResultFolder, sentence_data: None) -> Path:
    return result_folder("first_wording", (TASK,), limit=100)


def read(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.rglob(f"samples_{TASK}_*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counted(samples: list[dict[str, Any]]) -> dict[tuple[str, int], list[tuple[int, bool]]]:
    """Return task prompt and verdict of every instruction in every wording of every type, judged anew."""
    found: dict[tuple[str, int], list[tuple[int, bool]]] = defaultdict(list)
    for sample in samples:
        doc = sample["doc"]
        verdict = verify(sample["resps"][0][0], doc["instruction_id_list"], doc["kwargs"])
        for name, phrasing, follows in zip(
            doc["instruction_id_list"], doc["phrasings"], verdict.follow_instruction_list, strict=True
        ):
            found[name.replace("_", " "), phrasing].append((doc["key"], follows))
    return found


def test_the_worst_wordings_are_those_with_the_lowest_accuracy_within_their_type(folder: Path) -> None:
    samples = read(folder)
    asked, stated = counted(samples), {line for sample in samples for line in sample["doc"]["prompt"].split("\n")}
    verdicts = {wording: [follows for _, follows in of_wording] for wording, of_wording in asked.items()}
    accuracy = {wording: float(np.mean(of_wording)) for wording, of_wording in verdicts.items()}
    # The policy follows everything as it is published, and breaks one instruction of each other variant.
    assert {accuracy[wording] for wording in accuracy if wording[1] == 0} == {1.0}
    change = {
        (kind, number): value - np.mean([other for (of, _), other in accuracy.items() if of == kind])
        for (kind, number), value in accuracy.items()
    }
    often = [wording for wording, of_wording in asked.items() if len({key for key, _ in of_wording}) > 1]
    worst = sorted(often, key=lambda wording: (round(change[wording], 9), wording))[:WORST]
    of_report = section_on(section, folder)
    found = numbers(of_report, FIGURE)
    rare = f"first_wording: {len(asked) - len(often)} wordings are left out, which only one task prompt has"
    assert rare in str(figure(of_report, FIGURE).issues[0])
    assert len(found) == WORST
    lowest = [cells["minus the type's mean"].value for cells in found.values()]
    assert lowest == pytest.approx([change[wording] for wording in worst])
    for (_, name, text), cells in found.items():
        kind, _, number = str(name).rpartition(", wording ")
        verdicts_of = verdicts[kind, int(number)]
        assert cells["accuracy"].value == pytest.approx(np.mean(verdicts_of))
        assert cells["accuracy"].answers == len(verdicts_of)
        assert cells["minus the type's mean"].value == pytest.approx(change[kind, int(number)])
        assert cells["minus the type's mean"].low < cells["minus the type's mean"].value
        assert f"- {text}" in stated


def test_instructions_whose_wording_or_verdict_is_not_recorded_are_counted(folder: Path, tmp_path: Path) -> None:
    with edited_lines(*Path(copytree(folder, tmp_path / "older")).rglob("samples_*")) as lines:
        del lines[0]["doc"]["phrasings"]
        # One of two of a type: it is not recorded which.
        lines[1][f"strict_acc_{lines[1]['doc']['instruction_id_list'][0].replace(':', '_')}"] = [1, 2]
    issue, *_ = figure(section_on(section, tmp_path), FIGURE).issues
    assert "first_wording: 2 instructions are not counted, because their rows do not record the wording" in issue.text


def test_variants_without_samples_are_in_the_report_but_name_no_wording(folder: Path, tmp_path: Path) -> None:
    bare = copytree(folder, tmp_path / "bare", ignore=ignore_patterns("samples_*"))
    assert names(section_on(section, bare)) == ["manyifeval_reliability"]


def test_intervals_of_many_differences_are_as_wide_as_the_largest_deviation() -> None:
    generator = np.random.default_rng(1)
    many = [np.concatenate([[0.0], generator.normal(scale=0.1, size=4000)]) for _ in range(75)]
    assert simultaneous([]) == []
    single, *_ = simultaneous(many[:1])
    together = simultaneous(many)
    assert single.high == pytest.approx(0.196, abs=0.01)
    # Sidak: the quantile of 0.95 ** (1 / 75), two-sided, is 3.40 standard errors.
    assert np.mean([each.high for each in together]) == pytest.approx(0.340, abs=0.015)


def test_what_does_not_vary_or_does_not_exist_has_no_interval() -> None:
    same, missing = np.full(1001, 0.25), np.concatenate([[0.5], np.full(1000, np.nan)])
    assert [(each.value, each.has_interval) for each in simultaneous([same, missing])] == [(0.25, False), (0.5, False)]
