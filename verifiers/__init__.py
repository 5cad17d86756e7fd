"""Checkers of verifiable instructions: IFEval's 25 and IFBench's 58, each in a faithful and in a repaired edition.

    >>> from lm_eval_ext.verifiers import verify
    >>> verify("Hello, world", ["punctuation:no_comma"], [{}]).follow_all_instructions
    False

So are this package's own instructions (``own``). Independent of the harness. IFBench's checkers, langdetect and NLTK
are imported when they are first needed.
"""

from lm_eval_ext.verifiers import ifeval, own
from lm_eval_ext.verifiers.checker import EDITIONS, Checker, Edition, checker, instruction, instruction_ids
from lm_eval_ext.verifiers.ifbench import GROUPS as IFBENCH_GROUPS
from lm_eval_ext.verifiers.nltk_data import MissingDataError
from lm_eval_ext.verifiers.reasoning import without_reasoning
from lm_eval_ext.verifiers.verify import Response, Verdict, instructions_of, verify, verify_all

__all__ = [
    "EDITIONS",
    "IFBENCH_GROUPS",
    "Checker",
    "Edition",
    "MissingDataError",
    "Response",
    "Verdict",
    "checker",
    "ifeval",
    "instruction",
    "instruction_ids",
    "instructions_of",
    "own",
    "verify",
    "verify_all",
    "without_reasoning",
]
