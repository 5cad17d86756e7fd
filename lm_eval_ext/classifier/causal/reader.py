"""Reads answers with causal language models: their prompts, and the letter that they generate first.

There are two formats: that of the published classifiers ``mainlp/MCQ-Classifier-MMLU-XYZ`` and ``-EFG`` (from their
model cards), for models trained to classify; and that of the paper's Figure 6, for any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from lm_eval_ext.classifier.availability import Placement
from lm_eval_ext.classifier.causal.model import CausalModel, PromptOf, load
from lm_eval_ext.classifier.reading import Answer, Reader, Reading

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
DEFAULT = Placement()


def adapter_reader(path: str, placement: Placement = DEFAULT) -> Reader:
    """Return the reader that asks a model trained to classify, in the published classifiers' format.

    Args:
        path: the folder or hub id of a PEFT adapter for a causal language model, or of such a model itself.
        placement: where and how the model runs.

    Raises:
        ReaderError: it cannot be loaded.
    """
    return _reader(load(path, placement), classifier_prompt, classifier_letters, placement.batch_size)


def llm_reader(path: str, shots: Literal[0, 4], placement: Placement = DEFAULT) -> Reader:
    """Return the reader that asks any causal language model with the prompt of the paper's Figure 6.

    Args:
        path: the folder or hub id of the model, or of a PEFT adapter for one.
        shots: how many of the figure's examples the prompt includes.
        placement: where and how the model runs.

    Raises:
        ReaderError: it cannot be loaded.
    """
    model = load(path, placement)
    return _reader(model, lambda answer: llm_prompt(answer, shots), llm_letters, placement.batch_size)


def _reader(model: CausalModel, prompt: PromptOf, letters: OfferedLetters, batch_size: int) -> Reader:
    def read(answers: Sequence[Answer]) -> list[Reading]:
        from tqdm import tqdm  # noqa: PLC0415 # only for many rows

        questions = [model.question(answer, prompt) for answer in answers]
        # Batching prompts of similar length keeps padding small.
        order = sorted(range(len(answers)), key=lambda place: len(questions[place]))
        readings: dict[int, Reading] = {}
        with tqdm(total=len(order), desc="reading", unit="response", disable=None, leave=False) as progress:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                probabilities = _next_token(model, [questions[place] for place in batch])
                for place, row in zip(batch, probabilities, strict=True):
                    readings[place] = _reading(row, model.letters, letters(answers[place]))
                progress.update(len(batch))
        return [readings[place] for place in range(len(answers))]

    return read


def _next_token(model: CausalModel, questions: Sequence[Sequence[int]]) -> Any:
    """Return the probabilities of the first generated token: a tensor of shape (questions, vocabulary)."""
    import torch  # noqa: PLC0415 # seconds, and an extra

    longest = max(len(question) for question in questions)
    padding = [longest - len(question) for question in questions]
    # The padding's value does not matter, because the mask hides it.
    padded = [[0] * pad + list(question) for pad, question in zip(padding, questions, strict=True)]
    tokens = torch.tensor(padded, device=model.network.device)
    mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in padding], device=model.network.device)
    with torch.inference_mode():
        generated = model.network.generate(
            input_ids=tokens,
            attention_mask=mask,
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
            pad_token_id=0,
        )
    # Readings look at single probabilities, each of which would be a transfer from a GPU.
    return generated.logits[0].float().softmax(-1).cpu()


def _reading(probabilities: Any, letters: Mapping[int, str], offered: Mapping[str, Reading]) -> Reading:
    """Return the meaning of the most likely token; ``none`` with certainty 0 if it is not one of the offered letters.

    Args:
        probabilities: the tokens' probabilities, a tensor of the vocabulary's size.
        letters: maps a token to the letter that it spells.
        offered: maps a letter to its meaning.
    """
    first = letters.get(int(probabilities.argmax()))
    if first is None or first not in offered:
        return Reading("none", (), 0.0)
    mass = dict.fromkeys(offered, 0.0)
    for token, letter in letters.items():
        if letter in offered:
            mass[letter] += float(probabilities[token])
    return replace(offered[first], certainty=mass[first] / sum(mass.values()))
