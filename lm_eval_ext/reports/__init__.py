"""Pictures, comparison and the release gate: from the harness's result files, never from a model."""
