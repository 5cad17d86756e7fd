"""Fine-tunes models on Natural Instructions (sections 4 and 6.1): training pairs, splits and the training itself."""
