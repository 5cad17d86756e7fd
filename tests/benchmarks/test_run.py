"""What ``make bench`` prints before it measures anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, completed


@pytest.mark.slow
def test_missing_nltk_data_is_reported_before_anything_is_measured(tmp_path: Path) -> None:
    # None of this machine's folders: NLTK looks into each of them.
    program = (
        "import os, sys, nltk.data; nltk.data.path[:] = [os.environ['NLTK_DATA']]\n"
        "from benchmarks import run\n"
        "try: run.main()\n"
        "finally: print(sorted({'lm_eval', 'datasets', 'torch'} & sys.modules.keys()))\n"
    )
    environment = {**os.environ, "NLTK_DATA": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = completed(sys.executable, "-c", program, folder=ROOT, environment=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("Nothing was measured: NLTK's sentence data (punkt_tab, English) are not installed")
    assert "python -m nltk.downloader punkt_tab" in done.stderr
    assert done.stdout == "[]\n"
