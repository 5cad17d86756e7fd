"""The report, the comparison and the release gate, computed from the harness's results files; no model is run."""
