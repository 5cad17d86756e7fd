"""The report's section on conflicting instructions."""
