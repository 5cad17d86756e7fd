"""The boundary to lm-evaluation-harness: nothing else in the package imports ``lm_eval``."""
