"""The report's section on conversations."""
