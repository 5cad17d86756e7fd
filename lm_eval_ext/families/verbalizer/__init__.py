"""Verbalizer manipulation: does a model label as told when the label words fight its priors?

Li et al., "Instruction-following Evaluation through Verbalizer Manipulation", Findings of NAACL 2024.
"""
