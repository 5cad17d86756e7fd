"""The 25 instructions of IFEval (Zhou et al., 2023); importing them registers their checkers.

- ``keywords``: the groups keywords and punctuation
- ``length``: length_constraints
- ``format``: detectable_format and detectable_content
- ``language``: language and change_case
- ``startend``: startend and combination
"""

from lm_eval_ext.verifiers.ifeval import format, keywords, language, length, startend  # IFEval's name

__all__ = ["format", "keywords", "language", "length", "startend"]
