"""The data on which adapters of either kind are trained and evaluated, and the model card that documents it."""
