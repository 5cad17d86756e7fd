"""The fixture that makes result files, shared with the tests of reports."""

from __future__ import annotations

from tests.reports.conftest import result_folder

__all__ = ["result_folder"]
