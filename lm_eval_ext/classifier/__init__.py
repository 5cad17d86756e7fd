"""Which option does a free-text answer to a multiple-choice question choose?

Readers of increasing cost: ``string_match`` (the paper's), ``rules`` (careful, abstains), a small encoder with a LoRA
adapter (``encoder``) that decides what the rules do not, and causal LMs (``causal``). All take ``Answer``s and return
``Reading``s. Importing this package imports no torch.
"""

from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading, refusal_option

__all__ = ["Answer", "Option", "Reader", "Reading", "refusal_option"]
