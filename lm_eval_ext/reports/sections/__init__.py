"""The report's section on each family."""
