"""Evaluates readers on labelled answers."""
