"""Checkers of verifiable instructions: IFEval's 25, IFBench's 58 and IF-RLVR's 29, each in two editions.

    >>> from lm_eval_ext.verifiers import verify
    >>> verify("Hello, world", ["punctuation:no_comma"], [{}]).follow_all_instructions
    False

*Faithful* is the published verdict, *repaired* a careful reader's; a third edition, *multi_if*, is what Multi-IF's code
says of IFEval's instructions in other languages. This package's own instructions (``own``) have the same verdicts in
both editions. Independent of the harness. The checkers of IFBench and IF-RLVR, langdetect and NLTK are imported when
they are first needed.
"""

from lm_eval_ext.verifiers import ifeval, ifrlvr, own
from lm_eval_ext.verifiers.checker import (
    ALL_EDITIONS,
    EDITIONS,
    Checker,
    Edition,
    checker,
    instruction,
    instruction_ids,
)
from lm_eval_ext.verifiers.ifbench import GROUPS as IFBENCH_GROUPS
from lm_eval_ext.verifiers.rows import unpacked
from lm_eval_ext.verifiers.tokenization import MissingDataError
from lm_eval_ext.verifiers.verify import (
    Response,
    Verdict,
    instructions_of,
    verify,
    verify_all,
    without_end_tokens,
    without_reasoning,
)

__all__ = [
    "ALL_EDITIONS",
    "EDITIONS",
    "IFBENCH_GROUPS",
    "Checker",
    "Edition",
    "MissingDataError",
    "Response",
    "Verdict",
    "checker",
    "ifeval",
    "ifrlvr",
    "instruction",
    "instruction_ids",
    "instructions_of",
    "own",
    "unpacked",
    "verify",
    "verify_all",
    "without_end_tokens",
    "without_reasoning",
]
