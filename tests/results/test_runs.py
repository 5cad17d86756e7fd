"""Everything that reads results agrees on which run is newer and which model it belongs to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext.reports.gains.results import read_scores
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.self_refine.results import read_methods
from tests.reports.gains.test_results import leaf, results
from tests.reports.manyifeval_files import of_model, row, write_rows

N01 = "manyifeval_n01"


@pytest.mark.parametrize("newer", ["a", "b"])
def test_report_compare_and_table_agree_on_the_newest_run(newer: str, tmp_path: Path) -> None:
    for name, followed in (("a", True), ("b", False)):
        path = write_rows(tmp_path / name, {N01: [row(0, [followed])]}, config=of_model("one"))
        content = json.loads(path.read_text()) | {"date": 2000.0 if name == newer else 1000.0}
        content["configs"][N01]["generation_kwargs"] = {}
        path.write_text(json.dumps(content))
    accuracy = 1.0 if newer == "a" else 0.0
    (methods, issues) = read_methods([tmp_path])
    (of_report,), (of_comparison,) = load([tmp_path]).runs, load_apart([[tmp_path]])[0].runs
    (of_table,) = methods
    assert of_report.figure("prompt_level_strict_acc") == accuracy
    assert of_comparison.figure("prompt_level_strict_acc") == accuracy
    assert of_table.scores[0].prompt_level == accuracy
    # Model and replaced runs are reported in the same way, too.
    assert of_table.model == of_report.model.full_name == "hf pretrained=one"
    assert issues == load([tmp_path]).issues
    older = "b" if newer == "a" else "a"
    assert str(issues[0]).startswith(f"{tmp_path / older}")


def test_report_and_gains_agree_on_the_newest_run_even_with_equal_dates(tmp_path: Path) -> None:
    for number, rouge_l in ((1, 0.2), (2, 0.3)):
        results(tmp_path / f"results_{number}.json", leaf("s1", "prompt", rouge_l), date=1.0)
    (of_report,) = load([tmp_path]).runs
    of_gains = read_scores([tmp_path])
    assert of_report.figure("rouge_l") == of_gains.scores[0].rouge_l == 0.3
    assert of_gains.model == of_report.model.full_name


def test_reading_results_needs_neither_reports_nor_the_harness() -> None:
    code = (
        "import sys, pkgutil, importlib, lm_eval_ext.results as package\n"
        "for found in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(f'{package.__name__}.{found.name}')\n"
        "foreign = ('lm_eval.', 'lm_eval_ext.reports', 'torch', 'datasets')\n"
        "print([name for name in sys.modules if name.startswith(foreign)])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
