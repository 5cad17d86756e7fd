"""The comparison of two runs, and the release gate."""
