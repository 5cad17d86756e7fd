"""Inference-time self-refinement (Curse of Instructions, section 5): answer, judge the answer, revise it, repeat."""
