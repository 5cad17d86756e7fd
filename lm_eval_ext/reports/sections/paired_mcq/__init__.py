"""The report's section on paired_mcq: first token against text."""
