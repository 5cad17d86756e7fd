"""Rule-based readers: the careful rules and the paper's baseline."""
