"""Ratios against a peer on the same work: ``make bench``."""
