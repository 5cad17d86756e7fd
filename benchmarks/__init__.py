"""Compares this package with peers on the same work: ``make bench``."""
