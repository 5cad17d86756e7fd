"""The error that stops a report or a comparison."""


class ReportError(Exception):
    """What is missing or wrong, what was expected, and what to do."""
