"""What adapters of either kind are trained on, what is held out, and the model card that says so."""
