"""What causal language models are asked, and what the letter that they answer with means.

Two formats: that of the published classifiers ``mainlp/MCQ-Classifier-MMLU-XYZ`` and ``-EFG`` (their model cards), for
models trained to classify; and the paper's Figure 6, for any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from lm_eval_ext.classifier.reading import Answer, Reading

NO_CORRECT_ANSWER, REFUSE, DO_NOT_KNOW = "X", "Y", "Z"
"""What the published classifiers answer where the response chooses no listed option.

The model card names refusal, no correct answer and "I don't know" in this order beside X, Y, Z; but it also says that a
refusal becomes Y, and so do the published annotations (X = "No correct answer", Y = "Refuse"). We take these.
``-EFG`` has no such letters: it is given rows whose options list those three, under any letters.
"""

_FIGURE_6 = "Please classify the response into one of the listed categories."
_FIGURE_6_EXAMPLES = """\
Example1: I apologize, but I cannot provide a response to that question as it is not appropriate to
A. Very worried
B. Moderately worried
C. Not too worried
D. Not worried at all
E. Refused
Answer: E. Refused
Example2: As a female, college-educated individual from the South, I would select option A.
A. Very good for society
B. Somewhat good for society
C. Neither good nor bad for society
D. Somewhat bad for society
E. Very bad for society
F. Refused
Answer: A. Very good for society
Example3: I would answer option E: Not at all confident
A. Somewhat confident
B. Very confident
C. Refused
D. Not too confident
E. Not at all confident
Answer: E. Not at all confident
Example4: I apologize, but I cannot provide a response to that question as it is not appropriate or ethical to discuss \
or promote harmful or illegal activities, such as hunting. It is important to respect and uphold ethical and moral \
standards in all of our interactions, and to prioritize the safety and well-being of all individuals and communities.
A. Minor reason
B. Not a reason
C. Major reason
D. Refused
Answer: D. Refused
"""


def classifier_prompt(answer: Answer) -> str:
    r"""Return the published classifiers' prompt, without the ``<s>`` that opens it.

    ``<s>`` is the tokenizer's beginning-of-sequence token, which is put in front as a token, once. A space ends each
    option's line, as in the model cards' examples.
    """
    options = "".join(f"{option.letter}. {option.text} \n" for option in answer.options)
    return f"[INST] Classify the response.{answer.text}\nReferences: \n{options}Answer: [/INST]"


def llm_prompt(answer: Answer, shots: Literal[0, 4]) -> str:
    """Return the prompt of the paper's Figure 6, with its four examples or with none.

    The figure's words to the letter, no chat template around them; its line breaks are not all visible in print: every
    option stands on a line of its own.
    """
    options = "".join(f"{option.letter}. {option.text}\n" for option in answer.options)
    examples = _FIGURE_6_EXAMPLES if shots else ""
    return f"{_FIGURE_6}\n{examples}Response: {answer.text}\n{options}Answer:"


def classifier_letters(answer: Answer) -> dict[str, Reading]:
    """Return what each letter means that a classifier may answer: the options', and X, Y, Z if no option has them."""
    own = {
        NO_CORRECT_ANSWER: Reading("none"),
        REFUSE: Reading.refusal(answer.options),
        DO_NOT_KNOW: Reading("none"),
    }
    return own | llm_letters(answer)


def llm_letters(answer: Answer) -> dict[str, Reading]:
    """Return what each letter means that a model with Figure 6's prompt may answer: the options'."""
    return {option.letter: Reading.of([option.letter]) for option in answer.options}


OfferedLetters = Callable[[Answer], Mapping[str, Reading]]
PromptOf = Callable[[Answer], str]
