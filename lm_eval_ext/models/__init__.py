"""LMs that the harness can run by name (``--model``)."""
