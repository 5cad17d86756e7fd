"""The pictures in the documentation are those of ``make pictures``: runs of the reference model, drawn again."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from PIL import Image

from benchmarks.demo import KNOWN, LABELS, QUESTIONS
from lm_eval_ext.reports.figure import Figure, Report
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.drawing import contents
from lm_eval_ext.results.load import load
from tests.conftest import ROOT
from tests.reports.conftest import ResultFolder

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
REQUIREMENTS = (
    Requirement(line.partition("#")[0])
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
# A version can be pinned for some versions of Python only.
PINNED = {
    each.name: specifier.version
    for each in REQUIREMENTS
    if each.marker is None or each.marker.evaluate()
    for specifier in each.specifier
}


def variables() -> Mapping[str, str]:
    return dict(re.findall(r"^(\w+) := (.+)$", MAKEFILE, re.MULTILINE))


def only_figures_of(report: Report, pictures: list[str]) -> Report:
    """Return a report with the figures that some pictures are of: drawing all of them takes seconds."""

    def is_shown(figure: Figure) -> bool:
        return any(picture.startswith(figure.name) for picture in pictures)

    return replace(
        report, sections=[replace(each, figures=[*filter(is_shown, each.figures)]) for each in report.sections]
    )


def test_the_pictures_of_a_real_model_are_those_that_the_makefile_copies() -> None:
    # Drawing them anew takes the model minutes.
    committed = sorted((ROOT / "docs/pictures/demo-model").glob("*.png"))
    assert [path.name for path in committed] == sorted(variables()["MODEL_PICTURES"].split())


def test_the_pictures_of_known_answers_are_those_that_the_makefile_copies() -> None:
    committed = sorted((ROOT / "docs/pictures").glob("*.png"))
    assert [path.name for path in committed] == sorted(variables()["PICTURES"].split()) == sorted(DRAWN_FROM)


# Each picture and the tasks that it shows, which the runs of other tasks do not change.
DRAWN_FROM = {"paired_mcq_mismatch.png": QUESTIONS, "verbalizer_naturalness_direct.png": LABELS}


@pytest.mark.skipif(
    importlib.metadata.version("matplotlib") != PINNED["matplotlib"],
    reason="other versions of matplotlib draw other pixels; constraints.txt has the one of the pictures",
)
@pytest.mark.slow
def test_the_pictures_are_those_of_make_demo(result_folder: ResultFolder, tmp_path: Path) -> None:
    runs = [(policy, tasks) for policy, tasks in KNOWN if tasks in DRAWN_FROM.values()]
    assert len(runs) == 3 * len(DRAWN_FROM)
    # As in the demonstration's one folder.
    together = tmp_path / "runs"
    for number, (policy, tasks) in enumerate(runs):
        folder = result_folder(policy, [*tasks], answer_classifier="rules")
        shutil.copytree(folder, together / str(number))
    drawn = contents(only_figures_of(build(load([together])), [Path(picture).stem for picture in DRAWN_FROM]))
    for picture in DRAWN_FROM:
        # Pixels, for files of the same ones can differ in how they are packed.
        first, second = Image.open(ROOT / "docs/pictures" / picture), Image.open(BytesIO(drawn[picture]))
        assert first.size == second.size, picture
        assert first.convert("RGBA").tobytes() == second.convert("RGBA").tobytes(), picture
