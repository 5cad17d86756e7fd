"""How well readers read labelled answers."""
