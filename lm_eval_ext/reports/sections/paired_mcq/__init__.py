"""The report's section on first token against text."""
