"""The cost of the paired task, compared with generation alone and with two tasks (for the letters and for the text).

The model is a small Llama with random weights, in the harness's own class for Hugging Face models. The generated text
is meaningless, but it has the maximum length that the task allows, because a stop sequence does not occur by chance.
The tokenizer is trained on the embedded questions, so that a prompt has about as many tokens as with a real tokenizer.

For the two tasks, we use the fairest peer that we know: the harness's own multiple choice with the same prompts and
letters, which also costs one forward pass per row, and ``text_mcq``, in one run that loads the model once.

The letters cost a second pass over the prompt, because the harness's generation does not return scores for the first
token.
"""

from __future__ import annotations

import io
import json
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.ratio import Ratio
from lm_eval_ext import tasks_dir
from lm_eval_ext.families.paired_mcq.datasets import OPINIONQA
from lm_eval_ext.families.paired_mcq.prompt import LETTERS, Prompt
from lm_eval_ext.families.paired_mcq.rows import rows
from lm_eval_ext.sources import EMBEDDED

PAIRED, TEXT, CHOICE = "paired_mcq_opinionqa_medium", "text_mcq_opinionqa_medium", "letters_alone"
SIDES = {"paired": (PAIRED,), "text": (TEXT,), "two": (CHOICE, TEXT)}
LIMIT, ROUNDS = 5, 3
VOCABULARY = 2048


@dataclass(frozen=True)
class Cost:
    """The cost of one evaluation: seconds, and the tokens that the model processed, both prompt and new tokens."""

    seconds: float
    tokens: int


def measure() -> Iterator[Ratio]:
    """Yield seconds and tokens, compared with generation alone and with two tasks: the best of interleaved rounds.

    Raises:
        RuntimeError: the model's answers differ between the two tasks and the paired task.
    """
    costs = _costs()
    seconds = {side: min(cost.seconds for cost in found) for side, found in costs.items()}
    tokens = {side: found[0].tokens / 1000 for side, found in costs.items()}
    # For the same amount of work, the seconds vary by a few per cent; the tokens do not.
    for unit, taken, equal in (("seconds", seconds, 1.05), ("1,000 tokens", tokens, 1.0)):
        yield _row(f"paired task, generation alone: {unit}", taken["paired"], taken["text"], 1.15)
        yield _row(f"paired task, two tasks: {unit}", taken["paired"], taken["two"], equal)


def _costs() -> dict[str, list[Cost]]:
    """Return, per side, the cost of each round, after a warm-up round."""
    import torch  # noqa: PLC0415 # takes seconds, which must not count toward other benchmarks

    costs: dict[str, list[Cost]] = {side: [] for side in SIDES}
    threads = torch.get_num_threads()
    # Such a small model does not benefit from a second core, and would have to wait for it when it is busy.
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    try:
        # Hides the progress bars of the harness and the libraries; errors are raised, not printed.
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
            model, loaded = _model(), _tasks(Path(folder))
            answers = {side: _evaluate(model, tasks)[1] for side, tasks in loaded.items()}
            for _ in range(ROUNDS):
                for side, tasks in loaded.items():
                    costs[side].append(_evaluate(model, tasks)[0])
    finally:
        logging.disable(logging.NOTSET)
        torch.set_num_threads(threads)
    if answers["paired"] != answers["two"] or answers["text"] != [row[-1:] for row in answers["paired"]]:
        raise RuntimeError(f"the same model gave different answers to {PAIRED} than to {CHOICE} and {TEXT}")
    return costs


def _row(work: str, ours: float, peer: float, most: float) -> Ratio:
    return Ratio(
        work,
        ours,
        peer,
        f"at most {most:g} times" if most > 1 else "no more",
        lambda ours, peer: ours / peer,
        lambda ratio: ratio <= most,
    )


def _evaluate(model: Any, tasks: Any) -> tuple[Cost, list[list[Any]]]:
    """Return an evaluation's cost and, per row, the model's answers: log-likelihoods (if requested) and text."""
    from lm_eval import evaluate  # noqa: PLC0415

    tokens = 0

    def count(_module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        nonlocal tokens
        tokens += (keywords["input_ids"] if "input_ids" in keywords else arguments[0]).numel()

    hook = model.model.register_forward_pre_hook(count, with_kwargs=True)
    began = time.perf_counter()
    results = evaluate(model, tasks, limit=LIMIT, bootstrap_iters=0)
    seconds = time.perf_counter() - began
    hook.remove()
    answers: list[list[Any]] = [[] for _ in range(LIMIT)]
    for task in tasks["tasks"]:
        for sample in results["samples"][task]:
            # Each row occurs once per reader, with the same responses.
            if sample["filter"] == results["samples"][task][0]["filter"]:
                answers[sample["doc_id"]] += [response[0] for response in sample["resps"]]
    return Cost(seconds, tokens), answers


def _tasks(folder: Path) -> dict[str, Any]:
    """Return the tasks to evaluate on each side."""
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    own = folder / "letters"
    own.mkdir()
    prompts = own / "rows.jsonl"
    with prompts.open("w", encoding="utf-8") as file:
        for row in rows(OPINIONQA, EMBEDDED)[:LIMIT]:
            prompt = Prompt("medium")(row)
            file.write(json.dumps({"prompt": prompt, "letters": [*LETTERS[: len(row["options"])]]}) + "\n")
    config = {
        "task": CHOICE,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(prompts)}, "cache_dir": str(folder / "cache")},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": "letters",
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    (own / f"{CHOICE}.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    # Answers are read with the rules, because there is a separate benchmark for trained readers.
    metadata = {"source": EMBEDDED, "answer_classifier": "rules"}
    manager = TaskManager(include_path=[tasks_dir(), str(own)], include_defaults=False, metadata=metadata)
    return {side: manager.load([*names]) for side, names in SIDES.items()}


def _model() -> Any:
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415
    from lm_eval.models.huggingface import HFLM  # noqa: PLC0415

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=512,
                intermediate_size=1408,
                num_hidden_layers=4,
                num_attention_heads=8,
                max_position_embeddings=1024,
                bos_token_id=0,
                eos_token_id=1,
                pad_token_id=1,
            )
        )
    return HFLM(pretrained=network, tokenizer=_tokenizer(), device="cpu", batch_size=1)


def _tokenizer() -> Any:
    import tokenizers  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    learned = tokenizers.ByteLevelBPETokenizer()
    texts = list(map(Prompt("medium"), rows(OPINIONQA, EMBEDDED)))
    # The letters are requested in the form " B", which occurs in no prompt.
    spaced = [f" {letter}" for letter in LETTERS]
    start, end = "<s>", "</s>"
    learned.train_from_iterator([*texts, *spaced * 2], VOCABULARY, special_tokens=[start, end], show_progress=False)
    tokenizer: Any = transformers.PreTrainedTokenizerFast  # it needs the tokenizer that the trained one wraps
    return tokenizer(tokenizer_object=learned._tokenizer, bos_token=start, eos_token=end, pad_token=end)
