"""Readers that ask a causal language model."""
