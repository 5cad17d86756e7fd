"""Labeled answers, and what generates more of them."""
