"""Inference-time self-refinement (Curse of Instructions, section 5): answer, judge the answer, mend it, again."""
