"""Few-shot against zero-shot answers of one model to the same rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Section
from lm_eval_ext.reports.sections.verbalizer.section import section
from lm_eval_ext.results.issue import error, note
from lm_eval_ext.results.load import load
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, samples_of
from tests.reports.sections.reading_tables import figure, names, numbers, titles, values
from tests.reports.sections.verbalizer.files import GOLDEN, NO_YES, SNLI, THOUGHT_OUT, write_run

COLUMNS = tuple(
    f"{words}, {which}"
    for words in ("natural (golden)", "unnatural (flipped)")
    for which in ("zero-shot", "few-shot", "gain")
)


def run(folder: Path, shots: int, scores: Mapping[str, Sequence[float]], model: str = "one", **options: Any) -> Path:
    config = {"num_fewshot": shots}
    return write_run(folder / f"{model} {shots}", scores, arguments={"pretrained": model}, config=config, **options)


def section_of(folder: Path) -> Section | None:
    return section(Evidence(load([folder])))


def test_table_2_has_both_accuracies_and_their_difference(tmp_path: Path) -> None:
    run(tmp_path, 0, {GOLDEN: [1, 1, 1, 0], SST2: [0, 0, 1, 0], SNLI: [0, 0, 0, 0], NO_YES: [1, 1, 1, 1]})
    run(tmp_path, 4, {GOLDEN: [1, 1, 1, 1], SST2: [1, 1, 1, 0], SNLI: [1, 0, 0, 0]})
    found = section_of(tmp_path)
    cells = numbers(found, "verbalizer_few_shot")
    of_sst2 = values(cells["one, 4-shot", 4, "sst2"])
    assert of_sst2 == pytest.approx(dict(zip(COLUMNS, (3 / 4, 1.0, 1 / 4, 1 / 4, 3 / 4, 2 / 4), strict=True)))
    together = cells["one, 4-shot", 4, "overall"]
    # There are golden words on one dataset only, so their mean over both is not known.
    assert [name for name, cell in together.items() if cell.exists] == list(COLUMNS[3:])
    assert [together[name].value for name in COLUMNS[3:]] == pytest.approx([1 / 8, 4 / 8, 3 / 8])
    overall = figure(found, "verbalizer_few_shot").panels[0].mark
    assert isinstance(overall, Bars)
    assert overall.categories == ("one, 4-shot",)
    assert [series.name for series in overall.series] == [name for name in COLUMNS if "gain" not in name]
    assert titles(found, "verbalizer_few_shot") == ["overall", "one, 4-shot"]


def test_the_gain_is_paired(tmp_path: Path) -> None:
    # Half of the rows are right, and one in ten more with examples: the gain varies far less than the accuracies.
    zero = [float(number % 2) for number in range(100)]
    few = [1.0 if number % 10 == 0 else value for number, value in enumerate(zero)]
    run(tmp_path, 0, {SST2: zero})
    run(tmp_path, 4, {SST2: few})
    cells = numbers(section_of(tmp_path), "verbalizer_few_shot")["one, 4-shot", 4, "sst2"]
    before, gain = cells["unnatural (flipped), zero-shot"], cells["unnatural (flipped), gain"]
    assert gain.value == pytest.approx(0.1)
    assert gain.high - gain.low < 0.7 * (before.high - before.low)


def test_every_number_of_examples_is_compared_with_none(tmp_path: Path) -> None:
    for shots in (0, 1, 4):
        run(tmp_path, shots, {SST2: [0, 1]})
        run(tmp_path, shots, {SST2: [1, 1]}, model="two")
    abouts = {about[:2] for about in numbers(section_of(tmp_path), "verbalizer_few_shot")}
    assert abouts == {(f"{model}, {shots}-shot", shots) for model in ("one", "two") for shots in (1, 4)}


@pytest.mark.parametrize(
    ("model", "shots", "tasks"),
    [
        ("two", 4, {SST2: [1, 0]}),
        ("one", 4, {NO_YES: [1, 0]}),
        ("one", 4, {THOUGHT_OUT: [1, 0]}),
        ("one", 4, {SNLI: [1, 0]}),
    ],
    ids=["another model", "other label words", "chain of thought", "another dataset"],
)
def test_other_runs_are_not_compared(
    model: str, shots: int, tasks: Mapping[str, Sequence[float]], tmp_path: Path
) -> None:
    run(tmp_path, 0, {SST2: [1, 0]})
    run(tmp_path, shots, tasks, model=model)
    assert "verbalizer_few_shot" not in names(section_of(tmp_path))


def test_two_numbers_of_examples_without_a_zero_shot_run_are_not_compared(tmp_path: Path) -> None:
    run(tmp_path, 1, {SST2: [1, 0]})
    run(tmp_path, 4, {SST2: [1, 1]})
    assert "verbalizer_few_shot" not in names(section_of(tmp_path))


def test_only_the_rows_that_both_were_run_on_count(tmp_path: Path) -> None:
    run(tmp_path, 0, {SST2: [1, 1, 0, 0]})
    run(tmp_path, 4, {SST2: [1, 1]})
    found = section_of(tmp_path)
    cells = values(numbers(found, "verbalizer_few_shot")["one, 4-shot", 4, "sst2"])
    assert cells["unnatural (flipped), zero-shot"] == 1.0
    text = "one, 4-shot: rows left out because one of the two was not run on them: 2 of sst2 (flipped)"
    assert figure(found, "verbalizer_few_shot").issues == (note(text),)


def test_different_rows_have_no_comparison_and_an_error(tmp_path: Path) -> None:
    run(tmp_path, 0, {SST2: [1, 1]})
    path = samples_of(run(tmp_path, 4, {SST2: [1, 1]}))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps({**line, "doc_id": line["doc_id"] + 50}) + "\n" for line in lines))
    found = section_of(tmp_path)
    text = "one, 4-shot: sst2 with flipped words is not compared with zero-shot: they have no rows in common"
    assert figure(found, "verbalizer_few_shot").issues == (error(text),)
    cells = numbers(found, "verbalizer_few_shot")
    assert not any(cell.exists for of_row in cells.values() for cell in of_row.values())


def test_real_runs_with_known_answers_gain_nothing(result_folder: ResultFolder, tmp_path: Path) -> None:
    folder = result_folder("oracle", (GOLDEN, SST2), limit=6)
    (results,) = folder.rglob("results_*.json")
    content = json.loads(results.read_text(encoding="utf-8"))
    for config in content["configs"].values():
        config["num_fewshot"] = 4
    again = tmp_path / results.name
    again.write_text(json.dumps(content), encoding="utf-8")
    for samples in results.parent.glob("samples_*"):
        (tmp_path / samples.name).write_bytes(samples.read_bytes())
    found = section(Evidence(load([folder, tmp_path])))
    cells = values(numbers(found, "verbalizer_few_shot")["reference policy=oracle, 4-shot", 4, "sst2"])
    assert list(cells.values()) == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
