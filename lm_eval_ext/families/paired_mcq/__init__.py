"""Paired MCQ: does the first token's probability name the answer that the text gives?

Wang et al., "'My Answer is C': First-Token Probabilities Do Not Match Text Answers in Instruction-Tuned Language
Models", Findings of ACL 2024.
"""
