"""Error analysis by hand (Natural Instructions, section 6.4): a sample of answers to label, and the labels counted."""
