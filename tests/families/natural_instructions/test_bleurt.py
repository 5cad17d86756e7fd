"""BLEURT with transformers' own classes, on tiny checkpoints in the published layout."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.natural_instructions.scores import BleurtError, bleurt_scorer
from lm_eval_ext.families.natural_instructions.task import NaturalInstructionsTask
from tests.families.natural_instructions.task_files import CASES, TASK, folder_with, version_1

torch = pytest.importorskip("torch", reason="torch is not installed (extra: bleurt)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra: bleurt)")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS += ["the", "a", "bird", "cat", "dog", "sings", "sleeps", "by", "window", ".", ",", "un", "##loved"]
SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
}
BERT, REMBERT = None, 8
"""The width of the embeddings: the network's, or one of their own, as the BLEURT-20 checkpoints have it."""


def checkpoint(folder: Path, narrow: int | None) -> Path:
    """Write a BLEURT checkpoint as bleurt-pytorch does; its weights come from a formula, the same anywhere."""
    from safetensors.torch import save_file  # noqa: PLC0415 # comes with transformers

    if narrow is None:
        shape = transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES, num_labels=1))
    else:
        config = transformers.RemBertConfig(
            **SIZES, num_labels=1, input_embedding_size=narrow, bos_token_id=None, eos_token_id=None
        )
        shape = transformers.RemBertForSequenceClassification(config)
    weights = {}
    for name, tensor in shape.state_dict().items():
        published = name.replace("rembert.", "bleurt.").replace("bert.", "bleurt.", not name.startswith("rembert."))
        published = published.replace("embedding_hidden_mapping_in", "embedding_projection")
        numbers = torch.arange(tensor.numel(), dtype=torch.float64) * (0.3 + len(name) / 10) + sum(name.encode()) % 100
        offset = 1.0 if "LayerNorm.weight" in name else 0.0
        weights[published] = (0.5 * torch.sin(numbers) + offset).float().reshape(tensor.shape).contiguous()
    # Older files also contain the positions.
    weights["bleurt.embeddings.position_ids"] = (
        torch.arange(SIZES["max_position_embeddings"]).expand(1, -1).contiguous()
    )
    save_file(weights, folder / "model.safetensors")
    config = {"model_type": "bleurt", "architectures": ["BleurtForSequenceClassification"], **SIZES}
    config |= {"embedding_size": narrow, "layer_norm_eps": 1e-12, "id2label": {"0": "LABEL_0"}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return folder


def score(folder: Path, prediction: str, *references: str) -> float:
    (found,) = bleurt_scorer(str(folder))([prediction], [references])
    return found


@pytest.mark.parametrize(
    ("narrow", "reference", "prediction", "expected"),
    [(narrow, *case) for narrow, kind in ((BERT, "bert"), (REMBERT, "rembert")) for case in CASES["bleurt"][kind]],
)
def test_scores_equal_those_of_the_original_package(
    narrow: int | None, reference: str, prediction: str, expected: float, tmp_path: Path
) -> None:
    assert score(checkpoint(tmp_path, narrow), prediction, reference) == pytest.approx(expected, abs=1e-6)


def test_the_best_reference_counts_in_any_position(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, REMBERT)
    worse, better = sorted(score(folder, "a fox", reference) for reference in ("the dog sings", "the cat"))
    assert better != worse
    assert score(folder, "a fox", "the dog sings", "the cat") == pytest.approx(better, abs=1e-6)
    assert score(folder, "a fox", "the cat", "the dog sings") == pytest.approx(better, abs=1e-6)


def test_a_score_depends_neither_on_the_order_of_the_rows_nor_on_their_batches(tmp_path: Path) -> None:
    scorer = bleurt_scorer(str(checkpoint(tmp_path, BERT)))
    texts = [f"{article} {animal} {verb}{end}" for article in ("the", "a") for animal in ("bird", "cat", "dog")
             for verb in ("sings", "sleeps", "sleeps by the window") for end in ("", ".", ",")]  # fmt: skip
    references = [["the cat sleeps"], ["a dog"]] * (len(texts) // 2)
    scores = scorer(texts, references)
    assert len(scores) == 54 == len(set(texts))  # two batches
    assert scorer(texts[::-1], references[::-1])[::-1] == scores
    alone = [scorer([text], [of])[0] for text, of in zip(texts, references, strict=True)]
    assert alone == pytest.approx(scores, abs=1e-6)


BIRD, DOG, OF_THREE = "bird " * 10, "dog " * 10, "the cat sleeps"


@pytest.mark.parametrize(
    ("limit", "pair", "same", "other"),
    [
        # 24 positions, three of them for special tokens: 21 are left, of which the reference takes 3.
        (None, ("bird " * 18 + "dog " * 9, OF_THREE), ("bird " * 18, OF_THREE), ("bird " * 17, OF_THREE)),
        # It is the reference that is truncated if that is the longer one.
        (None, (OF_THREE, "bird " * 18 + "dog " * 9), (OF_THREE, "bird " * 18), (OF_THREE, "bird " * 17)),
        # 21 tokens are left for 11 and 11: of two texts of the same length, the prediction is truncated.
        (None, (DOG + "cat", BIRD + "cat"), (DOG, BIRD + "cat"), (DOG + "cat", BIRD)),
        # The tokenizer may have a lower limit than the network: three special tokens and three leave six.
        (12, ("bird " * 7, OF_THREE), ("bird " * 6, OF_THREE), ("bird " * 5, OF_THREE)),
    ],
)
def test_the_longer_text_of_an_overlong_pair_is_truncated(
    limit: int | None, pair: tuple[str, str], same: tuple[str, str], other: tuple[str, str], tmp_path: Path
) -> None:
    folder = checkpoint(tmp_path, BERT)
    if limit:
        (folder / "tokenizer_config.json").write_text(f'{{"model_max_length": {limit}}}', encoding="utf-8")
    assert score(folder, *pair) == score(folder, *same) != score(folder, *other)


def built(bleurt: str, folder: Path) -> NaturalInstructionsTask:
    config = {"task": "ferries", "dataset_name": TASK, "encoding": "prompt"}
    source = folder_with(folder, version_1())
    return NaturalInstructionsTask({**config, "metadata": {"source": source, "bleurt": bleurt}})


def test_a_task_reports_bleurt_next_to_rouge(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, REMBERT)
    task = built(str(folder), tmp_path / "files")
    assert task.higher_is_better() == {"rouge_l": True, "empty_rate": False, "bleurt": True}
    doc = {**task.eval_docs[0], "output": ["the dog sings", "the cat"]}
    scores = task.process_results(doc, ["<think>the bird</think>a cat"])
    assert scores["bleurt"] == score(folder, "a cat", "the dog sings", "the cat")
    # It is called for every answer, and loaded once.
    assert bleurt_scorer(str(folder)) is bleurt_scorer(str(folder))


def test_score_reports_bleurt_next_to_rouge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = checkpoint(tmp_path, REMBERT)
    predictions = tmp_path / "rows.jsonl"
    rows = [("a cat", ["the dog sings", "the cat"]), ("a fox", ["the dog"])]
    lines = [{"task": "t", "encoding": "e", "prediction": text, "references": of} for text, of in rows]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["natural-instructions", "score", str(predictions), "--bleurt", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    mean = sum(score(folder, text, *of) for text, of in rows) / 2
    assert found["bleurt"] == {"t": {"e": pytest.approx(mean)}}
    assert found["encodings_bleurt"] == {"e": pytest.approx(mean)}
    # A checkpoint that cannot be used is an error, and nothing is scored.
    assert main(["natural-instructions", "score", str(predictions), "--bleurt", str(tmp_path / "nowhere")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("lm-eval-ext: the BLEURT checkpoint")


def test_an_unusable_checkpoint_is_reported_before_the_first_answer(tmp_path: Path) -> None:
    with pytest.raises(BleurtError, match=r"no model\.safetensors in "):
        built(str(tmp_path), tmp_path / "files")


def test_a_sentencepiece_checkpoint_uses_its_own_pieces(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed (extra: bleurt)")
    words, pieces = tmp_path / "words", tmp_path / "pieces"
    for folder in (words, pieces):
        folder.mkdir()
        checkpoint(folder, REMBERT)
    (pieces / "vocab.txt").unlink()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the bird sings", "the cat sleeps", "the dog sleeps"]),
        model_prefix=str(pieces / "spm"),
        model_type="word",
        vocab_size=len(WORDS),
        hard_vocab_limit=False,
        **{"pad_id": 0, "pad_piece": "[PAD]", "unk_id": 1, "unk_piece": "[UNK]", "bos_id": -1, "eos_id": -1},
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        minloglevel=2,
    )
    made = sentencepiece.SentencePieceProcessor(model_file=str(pieces / "spm.model"))
    ordered = [made.id_to_piece(number).removeprefix("▁") for number in range(made.get_piece_size())]
    (words / "vocab.txt").write_text("\n".join(ordered) + "\n", encoding="utf-8")
    for prediction in ("the cat sleeps", "the fox", ""):
        assert score(pieces, prediction, "the dog sleeps") == score(words, prediction, "the dog sleeps")
    assert score(pieces, "the cat", "the dog") != score(pieces, "the fox", "the dog")


def test_a_prediction_without_references_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="without references"):
        score(checkpoint(tmp_path, BERT), "a fox")


@pytest.mark.parametrize("package", ["torch", "transformers", "safetensors"])
def test_without_the_extra_the_error_explains_how_to_install_it(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(tmp_path, BERT)
    monkeypatch.setitem(sys.modules, package, None)  # as where it is not installed
    with pytest.raises(BleurtError, match=r"pip install 'lm-eval-ext\[bleurt\]'") as failure:
        bleurt_scorer(str(tmp_path))
    assert package in str(failure.value)


def _pickled(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _changed(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (_pickled, "no model.safetensors in .*only has pytorch_model.bin.*weights_only=True"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "Error: "),
        (lambda folder: (folder / "config.json").unlink(), "config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "JSONDecodeError"),
        (lambda folder: (folder / "vocab.txt").unlink(), "no tokenizer in .*spm.model, tokenizer.json or vocab.txt"),
        (lambda folder: _changed(folder, model_type="llama"), "model_type 'llama' in config.json; expected bleurt"),
        (lambda folder: _changed(folder, embedding_size=4), "size mismatch"),
        (lambda folder: _changed(folder, num_hidden_layers=3), "Missing key"),
    ],
)
def test_an_unusable_checkpoint_is_named_with_the_reason_and_the_remedy(
    damage: Any, complaint: str, tmp_path: Path
) -> None:
    damage(checkpoint(tmp_path, REMBERT))
    with pytest.raises(BleurtError, match=complaint) as failure:
        bleurt_scorer(str(tmp_path))
    assert str(failure.value).startswith(f"the BLEURT checkpoint {str(tmp_path)!r} cannot be used: ")
    assert "lucadiliello/BLEURT-20" in str(failure.value)


def test_a_name_that_is_neither_folder_nor_on_the_hub_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants  # noqa: PLC0415 # comes with transformers

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BleurtError, match="'nobody/bleurt-none' cannot be used: not a folder, and could not be loaded"):
        bleurt_scorer("nobody/bleurt-none")
