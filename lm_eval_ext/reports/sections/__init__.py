"""The report's sections, one for each family."""
