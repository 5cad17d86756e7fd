"""The prompts for causal language models, and the meaning of the letters that they answer with.

There are two formats: that of the published classifiers ``mainlp/MCQ-Classifier-MMLU-XYZ`` and ``-EFG`` (from their
model cards), for models trained to classify; and that of the paper's Figure 6, for any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from lm_eval_ext.classifier.reading import Answer, Reading

NO_CORRECT_ANSWER, REFUSE, DO_NOT_KNOW = "X", "Y", "Z"
"""The published classifiers' answers for a response that chooses none of the listed options.

The model card lists refusal, no correct answer and "I don't know" in this order next to X, Y, Z. But it also says that
a refusal becomes Y, and the published annotations agree (X = "No correct answer", Y = "Refuse"). We follow the latter.
``-EFG`` has no such letters: its rows list those three among the options, under any letters.
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
standards in all of our interactions, and to prioritize the well-being and safety of all individuals and communities.
A. Minor reason
B. Not a reason
C. Major reason
D. Refused
Answer: D. Refused
"""


def classifier_prompt(answer: Answer) -> str:
    r"""Return the published classifiers' prompt, without its leading ``<s>``.

    ``<s>`` is the tokenizer's beginning-of-sequence token, which ``CausalModel.tokens`` prepends once, as a token. Each
    option's line ends with a space, as in the model cards' examples.
    """
    options = "".join(f"{option.letter}. {option.text} \n" for option in answer.options)
    return f"[INST] Classify the response.{answer.text}\nReferences: \n{options}Answer: [/INST]"


def llm_prompt(answer: Answer, shots: Literal[0, 4]) -> str:
    """Return the prompt of the paper's Figure 6, with its four examples or without examples.

    The wording is exactly that of the figure, without a chat template. Not all of the figure's line breaks are visible
    in print; here every option is on its own line.
    """
    options = "".join(f"{option.letter}. {option.text}\n" for option in answer.options)
    examples = _FIGURE_6_EXAMPLES if shots else ""
    return f"{_FIGURE_6}\n{examples}Response: {answer.text}\n{options}Answer:"


def classifier_letters(answer: Answer) -> dict[str, Reading]:
    """Map each letter that a classifier may answer (the options'; X, Y, Z unless options use them) to its meaning."""
    own = {
        NO_CORRECT_ANSWER: Reading("none"),
        REFUSE: Reading.refusal(answer.options),
        DO_NOT_KNOW: Reading("none"),
    }
    return own | llm_letters(answer)


def llm_letters(answer: Answer) -> dict[str, Reading]:
    """Map each letter that a model may answer to Figure 6's prompt (the options' letters) to its meaning."""
    return {option.letter: Reading.of([option.letter]) for option in answer.options}


OfferedLetters = Callable[[Answer], Mapping[str, Reading]]
PromptOf = Callable[[Answer], str]
