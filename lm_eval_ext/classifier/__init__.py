"""Which option does a free-text answer to a multiple-choice question choose?

The readers, from cheap to expensive: ``string_match`` (the paper's baseline), ``rules`` (careful; they abstain when in
doubt), a small encoder with a LoRA adapter (``encoder``) that decides where the rules abstain, and causal LMs
(``causal``). All take ``Answer``s and return ``Reading``s. Importing this package does not import torch.
"""

from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading, refusal_option

__all__ = ["Answer", "Option", "Reader", "Reading", "refusal_option"]
