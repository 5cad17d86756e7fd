"""The rows of a row seed: task prompts out of a grammar, and instructions whose mix is the same under every seed."""
