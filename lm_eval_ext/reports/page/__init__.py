"""The report as an HTML page, and its figures as files."""
