"""The drawings of a report, laid out and drawn by matplotlib in the page's colors."""
