"""The encoder over a tiny BERT with random weights: shapes, padding, and what is trained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.encoder.encoding import MARKER_NAMES, Encoded
from tests.classifier.encoder.tiny_base import write_bert

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
pytest.importorskip("transformers", reason="transformers is not installed (extra: classifier)")

import torch

from lm_eval_ext.classifier.encoder.network import AnswerEncoder, base_encoder, batch_of, lora_of
from lm_eval_ext.training.loop import with_lora

WIDTH = 16
WORDS = ["[PAD]", "[CLS]", "[SEP]", *MARKER_NAMES, *"abcdefgh"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("tiny-bert"), len(WORDS), WIDTH)


@pytest.fixture
def encoder(base: Path) -> AnswerEncoder:
    """Return the encoder with scoring layers that are not zero."""
    encoder = base_encoder(base).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for layer in (encoder.listed, encoder.mentioned):
            torch.nn.init.normal_(layer.weight)
            torch.nn.init.normal_(layer.bias)
    return encoder


# Two options and three; seven tokens and twelve. The longer one names B twice and C once.
SHORT = Encoded(ids=(1, 9, 10, 11, 12, 13, 2), choices=(1, 2, 3, 4, 5), letters=("A", "B"), named=(-1,) * 7)
LONG = Encoded(
    ids=(1, 33, 34, 35, 2, 9, 10, 11, 12, 13, 14, 2),
    choices=(5, 6, 7, 8, 9, 10),
    letters=("A", "B", "C"),
    named=(-1, 1, 2, 1, *(-1,) * 8),
)


def scores(encoder: AnswerEncoder, encoded: Sequence[Encoded]) -> tuple[Any, Any]:
    with torch.inference_mode():
        kind, member = encoder(*batch_of(encoded))
    return kind, member


def test_a_batch_is_padded_to_its_longest() -> None:
    ids, mask, choices, named = batch_of([SHORT, LONG])
    assert ids.tolist() == [[*SHORT.ids, 0, 0, 0, 0, 0], [*LONG.ids]]
    assert mask.tolist() == [[1] * 7 + [0] * 5, [1] * 12]
    assert choices.tolist() == [[1, 2, 3, 4, 5, -1], [5, 6, 7, 8, 9, 10]]
    assert named.tolist() == [[-1] * 12, [-1, 1, 2, 1, *[-1] * 8]]
    assert {tensor.dtype for tensor in (ids, mask, choices, named)} == {torch.int64}


def test_a_batch_of_one_has_no_padding() -> None:
    ids, mask, choices, named = batch_of([SHORT])
    assert (ids.tolist(), mask.tolist(), choices.tolist()) == ([[*SHORT.ids]], [[1] * 7], [[*SHORT.choices]])
    assert named.tolist() == [[-1] * 7]


def test_every_choice_has_two_scores_and_absent_ones_are_masked(encoder: AnswerEncoder) -> None:
    for found in scores(encoder, [SHORT, LONG]):
        assert found.shape == (2, 6)
        assert found.dtype == torch.float32
        assert torch.isfinite(found).tolist() == [[True] * 5 + [False], [True] * 6]
        assert found[0, 5].item() == float("-inf")
        # A masked choice has no probability, and takes none from the others.
        probabilities = found.softmax(dim=-1)
        assert probabilities[0, 5].item() == 0
        assert probabilities.sum(dim=-1).tolist() == pytest.approx([1, 1])


def test_the_two_scores_come_from_two_layers(encoder: AnswerEncoder) -> None:
    kind, member = scores(encoder, [LONG])
    assert not torch.allclose(kind, member)
    # Scores of different choices differ: each is read at its own place.
    assert len({round(score, 4) for score in kind[0].tolist()}) == 6


def test_a_choice_is_scored_where_it_is_listed_and_wherever_it_is_named(encoder: AnswerEncoder) -> None:
    ids, mask, *_ = batch_of([LONG])
    with torch.inference_mode():
        hidden = encoder.base(input_ids=ids, attention_mask=mask).last_hidden_state[0]
        listed, mentioned = encoder.listed(hidden).tolist(), encoder.mentioned(hidden).tolist()
    for score, found in enumerate(scores(encoder, [LONG])):
        # A, listed at 5, is named nowhere; B, listed at 6, at 1 and 3; C, listed at 7, at 2.
        assert found[0, :3].tolist() == pytest.approx(
            [
                listed[5][score],
                listed[6][score] + math.log(1 + math.exp(mentioned[1][score]) + math.exp(mentioned[3][score])),
                listed[7][score] + math.log(1 + math.exp(mentioned[2][score])),
            ],
            abs=1e-4,
        )


def test_scores_do_not_depend_on_the_rest_of_the_batch(encoder: AnswerEncoder) -> None:
    together = scores(encoder, [SHORT, LONG, SHORT])
    for kind_of_score in (0, 1):
        alone = scores(encoder, [SHORT])[kind_of_score][0].tolist()
        assert together[kind_of_score][0, :5].tolist() == pytest.approx(alone, abs=1e-5)
        assert together[kind_of_score][2, :5].tolist() == pytest.approx(alone, abs=1e-5)
        alone = scores(encoder, [LONG])[kind_of_score][0].tolist()
        assert together[kind_of_score][1].tolist() == pytest.approx(alone, abs=1e-5)


def test_an_untrained_encoder_prefers_only_options_that_are_named(base: Path) -> None:
    # Its scoring layers are zero: 0 for each choice, and log(1 + 1) more for each time it is named.
    for found in scores(base_encoder(base).eval(), [LONG]):
        assert found[0].tolist() == pytest.approx([0, math.log(3), math.log(2), 0, 0, 0])
    for found in scores(base_encoder(base).eval(), [SHORT]):
        assert found.tolist() == [[0.0] * 5]


def test_two_encoders_with_the_same_base_are_equal(base: Path) -> None:
    one, two = base_encoder(base), base_encoder(base)
    assert one.state_dict().keys() == two.state_dict().keys()
    assert all(torch.equal(value, two.state_dict()[name]) for name, value in one.state_dict().items())


def test_an_adapter_trains_low_rank_matrices_markers_and_scores_but_not_the_base(base: Path) -> None:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    tokenizers: Any = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, "[PAD]"))
    model = with_lora(base_encoder(base), 8, lora_of(tokenizer))
    trained = {name: parameter.shape for name, parameter in model.named_parameters() if parameter.requires_grad}
    low_rank = {name: shape for name, shape in trained.items() if ".lora_" in name}
    others = {name: shape for name, shape in trained.items() if ".lora_" not in name}
    # Two layers of six dense layers (query, key, value, their output, and two of the feed-forward), two matrices each.
    assert len(low_rank) == 2 * 6 * 2
    assert all(8 in shape for shape in low_rank.values())
    # One vector per marker; weights and biases of the two scoring layers, each of two scores.
    assert sorted(map(tuple, others.values())) == [(2,), (2,), (2, WIDTH), (2, WIDTH), (len(MARKER_NAMES), WIDTH)]
    # A new adapter changes nothing yet.
    with torch.inference_mode():
        assert model.eval()(*batch_of([SHORT]))[0].tolist() == [[0.0] * 5]
