"""The 58 instructions of IFBench (Pyatkin et al., 2025), by group.

A module has the name of its group and defines the group's checkers; three small groups share ``small_groups``. It is
imported when one of its instructions is first asked for. *Faithful* is the verdict of the code that its authors
published, at commit db69a6f of allenai/IFBench.
"""

from lm_eval_ext.verifiers.checker import announce

GROUPS = ("count", "custom", "format", "ratio", "repeat", "sentence", "words")
"""What is before the colon in an instruction id; ``instruction_ids(ifbench)`` lists the instructions of all groups."""
_SMALL = ("ratio", "repeat", "sentence")

for group in GROUPS:
    announce(f"{__name__}.{'small_groups' if group in _SMALL else group}", [group])
