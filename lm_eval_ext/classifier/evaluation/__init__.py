"""Evaluates readers on labeled answers."""
