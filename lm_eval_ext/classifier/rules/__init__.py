"""Readers that go by rules: careful ones, and the paper's baseline."""
