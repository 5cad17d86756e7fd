"""The spellings of letters, with tokenizers that are trained on the spot, and the token that a model writes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import jinja2
import pytest

from lm_eval_ext.families.paired_mcq.first_tokens import first_token, white_space
from lm_eval_ext.families.paired_mcq.prompt import LETTERS
from lm_eval_ext.harness.requests import Asking
from tests.across_versions import filtered
from tests.harness.tasks import evaluate

LINES = [
    line.format(letter)
    for letter in LETTERS
    for line in ("The answer is {}.", "{}. the first option", "Question: Which one of the options?\nAnswer:{}")
] * 20
LLAMA = (
    "{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else ' ' + m.content }}"
    "{% endfor %}"
)
ZEPHYR = (
    "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content }}{{ '\n' if m.role == 'user' }}{% endfor %}"
    "{{ '<|assistant|>' if add_generation_prompt }}"
)
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}"
    "{{ '<|im_end|>\n' if m.role == 'user' }}{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)
THINKING = CHATML.replace(
    "'\n' + m.content", "'\n' + ('<think>\n\n</think>\n\n' if m.role == 'assistant' else '') + m.content"
)
COLON = "{% for m in messages %}{{ m.content + '\nAnswer:' if m.role == 'user' else m.content }}{% endfor %}"


@pytest.fixture(scope="module")
def sentencepiece_tokenizer() -> Any:
    """Return a tokenizer like Llama 2's."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed (extra: bleurt)")
    transformers = pytest.importorskip("transformers")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        vocab_size=400,
        model_type="bpe",
        byte_fallback=True,
        num_threads=1,
        minloglevel=2,
    )
    made = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    vocabulary = {made.id_to_piece(number): number for number in range(made.get_piece_size())}
    # A piece's score is its rank among the merges.
    merges = [
        (piece[:cut], piece[cut:])
        for piece in sorted(vocabulary, key=lambda piece: -made.get_score(vocabulary[piece]))
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    tokenizer = transformers.LlamaTokenizer(vocab=vocabulary, merges=merges, legacy=False, pad_token="</s>")
    for line in LINES[:3]:
        assert tokenizer.tokenize(line.replace("\n", "")) == made.encode(line.replace("\n", ""), out_type=str)
    return tokenizer


@pytest.fixture(scope="module")
def byte_level_tokenizer() -> Any:
    """Return a tokenizer like those of Llama 3 and Qwen, in which a mark and the letter after it can be one token."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(words), behavior="isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    model.decoder = tokenizers.decoders.ByteLevel()
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=alphabet,
        special_tokens=["</s>", "<|im_start|>", "<|im_end|>"],
        show_progress=False,
    )
    model.train_from_iterator(LINES, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, eos_token="</s>", pad_token="</s>")


class Templated:
    """An LM with a chat template, without a tokenizer."""

    def __init__(self, template: str) -> None:
        self.template = jinja2.Environment().from_string(template)  # noqa: S701 # no HTML

    def apply_chat_template(self, messages: list[dict[str, str]], add_generation_prompt: bool = True) -> Any:
        return self.template.render(messages=messages, add_generation_prompt=add_generation_prompt)


class Tokenizing(Templated):
    """One with a tokenizer."""

    def __init__(self, template: str, tokenizer: Any) -> None:
        super().__init__(template)
        self.tok_encode: Callable[[str], list[int]] = tokenizer.encode


def spaces(lm: Templated, delimiter: str = "", gen_prefix: str | None = None) -> tuple[str, ...]:
    asking = Asking(apply_chat_template=True, chat_template=lm.apply_chat_template)
    return white_space(asking, LETTERS[:5], delimiter, gen_prefix)


# Vocabulary of the LM's tokenizer, if it has one; its chat template; what may stand before a letter.
SPELLINGS: Mapping[str, tuple[str | None, str, tuple[str, ...]]] = {
    # A and ▁A are both single tokens after ].
    "SentencePiece, Llama": ("sentencepiece", LLAMA, ("", " ")),
    # The model writes a line feed first, because the training data had one there.
    "SentencePiece, Zephyr": ("sentencepiece", ZEPHYR, ("", " ", "\n")),
    "SentencePiece, ChatML": ("sentencepiece", CHATML, ("", " ")),
    "what it thinks is no part of a spelling": ("sentencepiece", THINKING, ("", " ")),
    "byte level, Llama": ("byte_level", LLAMA, ("", " ")),
    "byte level, ChatML": ("byte_level", CHATML, ("", " ")),
    # The prompt's colon and a letter would be one token, and nothing would be left to take the probability of.
    "byte level, a colon": ("byte_level", COLON, (" ",)),
    "no tokenizer, Llama": (None, LLAMA, ("", " ")),
    "no tokenizer, Zephyr": (None, ZEPHYR, ("", " ", "\n")),
}


@pytest.mark.parametrize(("vocabulary", "template", "expected"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_letter_follows_nothing_or_a_space_or_what_the_template_has_unless_that_would_change_the_prompt(
    vocabulary: str | None, template: str, expected: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    lm = Templated(template)
    if vocabulary is not None:
        lm = Tokenizing(template, request.getfixturevalue(f"{vocabulary}_tokenizer"))
    assert spaces(lm) == expected


def test_a_spelling_of_more_tokens_is_requested_only_if_the_template_has_it(byte_level_tokenizer: Any) -> None:
    class Characters(Tokenizing):
        """No token is longer than a character."""

        def __init__(self, template: str) -> None:
            super().__init__(template, byte_level_tokenizer)
            self.tok_encode = lambda text: [ord(character) for character in text]

    assert spaces(Characters(COLON)) == ("",)
    assert spaces(Characters(LLAMA)) == ("", " ")


def test_spellings_with_the_same_tokens_are_requested_once(byte_level_tokenizer: Any) -> None:
    words = Tokenizing(LLAMA, byte_level_tokenizer)
    words.tok_encode = lambda text: [hash(word) for word in text.replace("]", " ] ").split()]
    assert spaces(words) == ("",)


def test_the_harness_s_own_spelling_stays_where_every_letter_changes_the_prompt(byte_level_tokenizer: Any) -> None:
    lm = Tokenizing(LLAMA, byte_level_tokenizer)
    lm.tok_encode = lambda text: [len(text), *map(ord, text)]
    assert spaces(lm) == ("",)


def test_the_harness_s_own_spelling_stays_where_the_prompt_is_not_known(sentencepiece_tokenizer: Any) -> None:
    class OfServer(Tokenizing):
        def apply_chat_template(self, messages: list[dict[str, str]], add_generation_prompt: bool = True) -> Any:
            return messages

    assert spaces(OfServer(LLAMA, sentencepiece_tokenizer)) == ("",)
    assert white_space(Asking(), LETTERS[:5], " ") == (" ",)  # no chat template


def test_a_template_that_renders_no_answers_leaves_the_tokenizers_spellings(sentencepiece_tokenizer: Any) -> None:
    class AsksOnly(Tokenizing):
        def apply_chat_template(self, messages: list[dict[str, str]], add_generation_prompt: bool = True) -> Any:
            if len(messages) > 1:
                raise jinja2.TemplateError("no answers")
            return super().apply_chat_template(messages, add_generation_prompt)

    assert spaces(AsksOnly(ZEPHYR, sentencepiece_tokenizer)) == ("", " ")


def test_after_the_beginning_of_an_answer_the_letter_may_follow_a_space(sentencepiece_tokenizer: Any) -> None:
    assert spaces(Tokenizing(LLAMA, sentencepiece_tokenizer), " ", "My answer is") == (" ", "")


# The white space of the spellings, the log-likelihoods, and the spelling that counts.
FIRST: Mapping[str, tuple[tuple[str, ...], tuple[float, ...], tuple[str, str]]] = {
    "the highest": (("",), (-3, -1, -2), ("", "B")),
    "a tie of first and second": (("",), (-1, -1, -2), ("", "A")),
    "a tie of second and third": (("",), (-2, -1, -1), ("", "B")),
    "all alike": (("",), (-5, -5, -5), ("", "A")),
    # A, ▁A, B, ▁B, C, ▁C
    "the best spelling, not the best letter without a space": (("", " "), (-3, -9, -4, -1, -9, -9), (" ", "B")),
    "spellings of one letter are not added": (("", " "), (-2, -2, -1.9, -9, -9, -9), ("", "B")),
    "ties of spellings go to the first": (("", " "), (-1, -1, -1, -1, -1, -1), ("", "A")),
}


@pytest.mark.parametrize(("spaces", "loglikelihoods", "expected"), FIRST.values(), ids=FIRST)
def test_a_letter_is_as_probable_as_its_most_probable_spelling(
    spaces: tuple[str, ...], loglikelihoods: tuple[float, ...], expected: tuple[str, str]
) -> None:
    assert first_token("ABC", spaces, loglikelihoods) == expected


# End to end: a model whose next token never depends on the prompt.

LIMIT = 20
# Whoever requests only the other spelling of the letters reads A.
WRITES = {"sentencepiece": ("▁B", "▁A", "A", "B"), "byte_level": ("B", "A", "ĠA", "ĠB")}


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    """Return the harness's own class for Hugging Face models, with a model in it that always writes the same token."""
    huggingface = pytest.importorskip("lm_eval.models.huggingface")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizer = request.getfixturevalue(f"{request.param}_tokenizer")
    tokenizer.chat_template = {"sentencepiece": LLAMA, "byte_level": CHATML}[request.param]
    size = 8
    network = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=size,
            intermediate_size=size,
            num_hidden_layers=1,
            num_attention_heads=1,
            max_position_embeddings=2048,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=False,
        )
    )
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        network.model.embed_tokens.weight.fill_(1.0)
        network.model.norm.weight.fill_(1.0)
        for place, token in enumerate(WRITES[request.param]):
            network.lm_head.weight[tokenizer.convert_tokens_to_ids(token)] = (9 - place) / size
    return huggingface.HFLM(pretrained=network, tokenizer=tokenizer, device="cpu", batch_size=4)


@pytest.mark.harness
@pytest.mark.parametrize(
    ("model", "space"), [("sentencepiece", " "), ("byte_level", "")], indirect=["model"], ids=["sentencepiece", "bytes"]
)
def test_the_token_that_a_model_writes_is_scored(model: Any, space: str) -> None:
    passes: list[int] = []
    hook = model.model.register_forward_pre_hook(
        lambda _module, arguments, keywords: passes.append(len(keywords.get("input_ids", next(iter(arguments), None)))),
        with_kwargs=True,
    )
    task = "paired_mcq_mmlu_medium"
    asked: dict[str, Any] = {"limit": LIMIT, "apply_chat_template": True, "gen_kwargs": "max_gen_toks=1"}
    results = evaluate(model, [task], {"details": True}, bootstrap_iters=0, **asked)
    hook.remove()
    samples = [sample for sample in results["samples"][task] if sample["filter"] == "rules"]
    assert len(samples) == LIMIT
    for sample in samples:
        *letters, _ = sample["arguments"]
        assert [continuation for _, continuation in letters] == [
            f"{before}{letter}" for letter in "ABCDE" for before in ("", " ")
        ]
        assert sample["resps"][-1][0].strip() == "B"
        assert tuple(sample["first_token_spelling"]) == (space, "B")
        assert json.loads(filtered(sample)[-1])["reading"] == "B"
    figures = results["results"][task]
    assert figures["mismatch,rules"] == 0
    assert figures["first_token_spelling,rules"] == float(space == " ")
    # The price: ten requests a row and its text, but one forward pass for the ten, as for the five of one spelling.
    assert sum(passes) == 2 * LIMIT
