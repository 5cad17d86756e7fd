"""Causal models as readers: which can be loaded, the exact prompts, the first token, and its certainty."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.availability import RULES_ONLY, ReaderError, Runtime
from lm_eval_ext.classifier.causal.reader import (
    Shots,
    causal_reader,
    letters,
    prompt,
    require,
)
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from tests.classifier.causal.models import DRINKS, WITH_REFUSED, moved

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize(
    ("shots", "expected"),
    [
        (
            None,
            "[INST] Classify the response. I like it hot.\n\nB. Coffee\n"
            "References: \nA. Tea \nB. Coffee \nC. Water \nAnswer: [/INST]",
        ),
        (
            0,
            "Please classify the response into one of the listed categories.\n"
            "Response:  I like it hot.\n\nB. Coffee\nA. Tea\nB. Coffee\nC. Water\nAnswer:",
        ),
        (4, Path(__file__).with_name("figure_6_prompt.txt").read_text(encoding="utf-8").removesuffix("\n")),
    ],
    ids=["published", "Figure 6", "Figure 6 with its examples"],
)
def test_the_prompts_are_the_published_one_and_that_of_figure_6(shots: Shots, expected: str) -> None:
    assert prompt(Answer(" I like it hot.\n\nB. Coffee", DRINKS), shots) == expected


@pytest.mark.parametrize(
    ("options", "letter", "reading"),
    [
        (DRINKS, "B", Reading("option", ("B",))),
        (DRINKS, "X", Reading("none")),
        (DRINKS, "Y", Reading("refused")),
        (DRINKS, "Z", Reading("none")),
        # The option that offers a refusal is what a refusal chooses.
        (WITH_REFUSED, "Y", Reading("option", ("D",))),
        # Where options go that far, the letters are theirs.
        ((Option("X", "Tea"), Option("Y", "Coffee")), "Y", Reading("option", ("Y",))),
    ],
)
def test_the_letters_of_a_published_classifier_have_their_published_meaning(
    options: tuple[Option, ...], letter: str, reading: Reading
) -> None:
    assert letters(Answer("", options), None)[letter] == reading


def test_letters_that_are_not_offered_are_ignored() -> None:
    assert "D" not in letters(Answer("", DRINKS), None)
    assert list(letters(Answer("", DRINKS), 4)) == ["A", "B", "C"]


ANSWERS = [
    Answer("tea", DRINKS),
    Answer("A much longer answer, which says at its very end, at last: coffee", DRINKS),
    Answer("sorry", WITH_REFUSED),
    Answer("ünïcode 🦜", DRINKS),
    Answer("coffee", DRINKS),
]


@cache
def loaded(model: Path, adapter: Path | None) -> tuple[Any, Any]:
    """Return a network and its tokenizer."""
    transformers = pytest.importorskip("transformers")
    network = transformers.AutoModelForCausalLM.from_pretrained(model)
    if adapter is not None:
        network = pytest.importorskip("peft").PeftModel.from_pretrained(network, adapter)
    return network, transformers.AutoTokenizer.from_pretrained(model)


def first_token(model: Path, adapter: Path | None, prompt: str) -> Any:
    """Return the probabilities of the first token, by one plain pass over ``<s>`` and the prompt; no padding."""
    torch = pytest.importorskip("torch")
    network, tokenizer = loaded(model, adapter)
    tokens = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        return network(torch.tensor([[0, *tokens]])).logits[0, -1].softmax(-1)


def letter_tokens(model: Path, letters: str) -> list[int]:
    _, tokenizer = loaded(model, None)
    vocabulary = tokenizer.get_vocab()
    return [vocabulary[letter] for letter in letters]


@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_the_certainty_is_the_letters_probability_among_the_offered_letters(
    learned: Path, base_lm: Path, batch_size: int
) -> None:
    readings = causal_reader(str(learned), Runtime(batch_size=batch_size))(ANSWERS)
    for answer, reading in zip(ANSWERS, readings, strict=True):
        meanings = letters(answer, None)
        offered = "".join(meanings)
        probabilities = first_token(base_lm, learned, prompt(answer, None))
        shares = probabilities[letter_tokens(base_lm, offered)]
        assert probabilities.max() == shares.max()  # the likeliest token is an offered letter
        assert reading.matches(meanings[offered[int(shares.argmax())]])
        assert reading.certainty == pytest.approx(float(shares.max() / shares.sum()), abs=1e-4)


def test_a_tokenizer_that_adds_the_first_token_itself_changes_nothing(
    learned: Path, base_lm: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    processors = pytest.importorskip("tokenizers").processors
    own = tmp_path / "base"
    shutil.copytree(base_lm, own)
    tokenizer = transformers.AutoTokenizer.from_pretrained(own)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer.save_pretrained(own)
    assert transformers.AutoTokenizer.from_pretrained(own)("A")["input_ids"][0] == 0
    adapter = moved(learned, tmp_path / "adapter", base_model_name_or_path=str(own))
    assert causal_reader(str(adapter))(ANSWERS) == causal_reader(str(learned))(ANSWERS)


@pytest.mark.parametrize("shots", [None, 0, 4])
def test_a_first_token_that_is_not_a_letter_gives_no_reading(tiny_model: Path, shots: Shots) -> None:
    # Untrained: its likeliest token is some byte.
    first = first_token(tiny_model, None, prompt(ANSWERS[0], shots))
    assert int(first.argmax()) not in letter_tokens(tiny_model, "ABCXYZ")
    assert causal_reader(str(tiny_model), shots=shots)([ANSWERS[0]]) == [Reading("none", (), 0.0)]


def test_an_llm_is_scored_on_the_option_letters_only(learned: Path, base_lm: Path) -> None:
    # This model's first token is X, which the published classifiers may answer to any question, and an llm may not.
    drinks = Answer("sorry", DRINKS)
    more = Answer("sorry", (*DRINKS, Option("X", "Rum")))
    for answer in (drinks, more):
        assert [int(first_token(base_lm, learned, prompt(answer, 0)).argmax())] == letter_tokens(base_lm, "X")
    assert [reading.value for reading in causal_reader(str(learned), shots=0)([drinks, more])] == ["none", "X"]


def test_a_response_longer_than_the_model_can_hold_is_shortened_in_the_middle(learned: Path) -> None:
    long = Answer("tea" + " " * 10_000 + "tea", DRINKS)  # the tiny model holds 4096 bytes
    (reading,) = causal_reader(str(learned))([long])
    assert reading.kind in ("option", "none", "refused")


def test_no_answers_give_no_readings(learned: Path) -> None:
    assert causal_reader(str(learned))([]) == []


def test_an_adapter_with_pickled_weights_is_refused(learned: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    folder = moved(learned, tmp_path / "pickled")
    torch.save(safetensors.load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    require(str(folder))
    (folder / "adapter_model.safetensors").unlink()
    for load in (require, causal_reader):
        with pytest.raises(
            ReaderError, match=r"pickled' has no adapter_model\.safetensors \(weights of other"
        ) as error:
            load(str(folder))
        assert RULES_ONLY in str(error.value)


def test_a_model_with_pickled_weights_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_model, folder)
    torch.save(safetensors.load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    require(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(ReaderError, match="pickled' has no complete safetensors weights"):
        require(str(folder))


def test_every_shard_of_the_weights_must_exist(tiny_model: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "pieces"
    shutil.copytree(tiny_model, folder)
    (folder / "model.safetensors").unlink()
    transformers.AutoModelForCausalLM.from_pretrained(tiny_model).save_pretrained(folder, max_shard_size="60KB")
    pieces = sorted(folder.glob("model-*.safetensors"))
    assert len(pieces) > 1
    require(str(folder))
    pieces[-1].unlink()
    with pytest.raises(ReaderError, match="no complete safetensors weights"):
        require(str(folder))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"task_type": "SEQ_CLS"}, "is an adapter for SEQ_CLS; expected task_type CAUSAL_LM"),
        ({"base_model_name_or_path": None}, "has no base_model_name_or_path in its adapter_config.json"),
        ({"base_model_name_or_path": "/no/such/model"}, "'/no/such/model' is not a folder and could not be loaded"),
        ({"base_model_name_or_path": "owner/never-fetched"}, "the model 'owner/never-fetched' is not a folder"),
    ],
)
def test_an_adapter_that_cannot_be_loaded_says_why(
    learned: Path, tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    folder = moved(learned, tmp_path / "changed", **changes)
    with pytest.raises(ReaderError) as error:
        require(str(folder))
    assert complaint in str(error.value)
    assert RULES_ONLY in str(error.value)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_an_invalid_configuration_is_named(learned: Path, tmp_path: Path, content: str) -> None:
    folder = moved(learned, tmp_path / "changed")
    (folder / "adapter_config.json").write_text(content, encoding="utf-8")
    with pytest.raises(ReaderError, match=r"adapter_config\.json"):
        require(str(folder))


def test_weights_that_do_not_fit_raise_our_error(learned: Path, tmp_path: Path) -> None:
    folder = moved(learned, tmp_path / "changed", r=4)
    with pytest.raises(ReaderError, match="changed' could not be loaded: "):
        causal_reader(str(folder))
