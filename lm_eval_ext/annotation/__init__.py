"""Labeling answers by hand: sheets of answers to label, and what their labels say (Wang et al. 2024, appendix A.2)."""
