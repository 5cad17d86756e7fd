"""What a report or a comparison cannot go on from."""


class ReportError(Exception):
    """What is missing or wrong, what was expected, and what to do."""
