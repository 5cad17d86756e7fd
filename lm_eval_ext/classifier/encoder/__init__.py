"""The reader with a small encoder and a LoRA adapter: its input, its network, its weights, its training."""
