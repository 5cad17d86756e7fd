"""The 29 instructions that IF-RLVR adds to IFEval's 25 for training (Pyatkin et al., 2025), under their published ids.

*Faithful* is the verdict of the code that its authors published: ``IFEvalG`` in allenai/open-instruct, at commit
e6c3044. Its other 25 are IFEval's (``ifeval``). A module is imported when an instruction of its groups is first asked
for. Some of these groups have instructions of IFEval or IFBench, too.
"""

from lm_eval_ext.verifiers.checker import announce

announce(f"{__name__}.copying", ["copy", "new"])
announce(f"{__name__}.format", ["count", "detectable_format", "paragraphs", "punctuation"])
announce(f"{__name__}.words", ["count", "first_word", "keywords", "last_word", "letters"])
