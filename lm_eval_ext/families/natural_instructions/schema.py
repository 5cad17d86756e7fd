"""What the results of Natural Instructions tasks hold."""

from __future__ import annotations

from lm_eval_ext.families.natural_instructions import encodings, subtasks
from lm_eval_ext.families.schema import COUNT, Metric, Schema

ENCODINGS = tuple(encodings.ENCODINGS)
"""The encodings of appendix C."""
ABLATIONS = tuple(encodings.ABLATIONS)
"""Those of the ablation study (section 6.3): without a field of all, or with another field than the prompt's."""
EVALUATION = subtasks.EVALUATION
"""The subtasks of the paper's evaluation split."""

SCHEMA = Schema(
    metrics=(
        Metric("rouge_l", higher_is_better=True),
        # How many examples a prompt has room for: neither better nor worse, and no result.
        Metric("examples", higher_is_better=None, drawn=False, range=COUNT),
        # Of whoever asked for it (--metadata bleurt); the report keeps to the paper's metric, which every run has.
        # It is a regression's, near 0 to 1, and some checkpoints' near -2 to 2; nothing holds it there.
        Metric("bleurt", higher_is_better=True, drawn=False, range=(-100.0, 100.0)),
    ),
    headlines=(Metric("rouge_l", higher_is_better=True),),
    facts={
        "subtask": "text",
        "category": "text or null",
        "encoding": "text",
        "prompt_budget": "an object",
        "instances_hash": "text",
    },
    values={"encoding": (*ENCODINGS, *ABLATIONS)},
    row_key="index",
    # Prompts are as long as the model has room for, and rows_hash is of prompts; the instances must be the same.
    rows_fact="instances_hash",
    prompt_facts=("prompt_budget", "examples"),
    tasks_weigh_alike=True,
)
