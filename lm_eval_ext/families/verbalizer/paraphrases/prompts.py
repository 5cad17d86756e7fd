"""The prompt of a leaf in several wordings: only its instruction changes."""

from __future__ import annotations

from lm_eval_ext.families.verbalizer.datasets import is_known
from lm_eval_ext.families.verbalizer.leaf import Leaf
from lm_eval_ext.families.verbalizer.paraphrases.wordings import QUESTIONS, instructions
from lm_eval_ext.metadata import PARAPHRASES


def paraphrased(task: str, leaf: Leaf, count: int) -> tuple[str, ...]:
    """Return the template of a leaf's prompt in several wordings, its own first.

    Args:
        task: the leaf's name, for messages.
        leaf: the leaf.
        count: the number of wordings, up to ``WORDINGS``.

    Raises:
        ValueError: the prompt is not that of Figure 7 or 8, so that what the other wordings say is not what it says.
    """
    asked_for = f"task {task!r}: metadata {PARAPHRASES} {count}"
    words = dict(zip(leaf.verbalizer.golden, leaf.verbalizer.words, strict=True))
    if not is_known(leaf.dataset) or words.keys() != QUESTIONS[leaf.dataset.name].conditions.keys():
        raise ValueError(
            f"{asked_for}; there are other wordings only for the paper's nine datasets with their two labels each, and "
            f"this task is about {', '.join(words)} on {leaf.dataset.name}; run it without {PARAPHRASES}"
        )
    published, *others = instructions(leaf.dataset.name, leaf.reads, words)
    if not leaf.prompt.startswith(f"{published}\n"):
        raise ValueError(
            f"{asked_for}; there are other wordings only for the paper's instruction, and the doc_to_text of this task "
            f"does not begin with it: {published!r}; run it without {PARAPHRASES}, or with that instruction"
        )
    rest = leaf.prompt.removeprefix(published)
    return tuple(instruction + rest for instruction in (published, *others)[:count])
