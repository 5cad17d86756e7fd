"""The 58 instructions of IFBench (Pyatkin et al., 2025), one module per group.

A module has the name of its group and defines the group's checkers; it is imported when one of them is first asked for.
*Faithful* is the verdict of the code that its authors published, at commit db69a6f of allenai/IFBench.
"""

from lm_eval_ext.verifiers.checker import announce

GROUPS = ("count", "custom", "format", "ratio", "repeat", "sentence", "words")
"""What is before the colon in an instruction id; ``instruction_ids(ifbench)`` lists the instructions of all groups."""

for group in GROUPS:
    announce(f"{__name__}.{group}", [group])
