"""The report's section on verbalizer manipulation."""
