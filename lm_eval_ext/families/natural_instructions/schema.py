"""The metrics and facts in the results of Natural Instructions tasks."""

from __future__ import annotations

from dataclasses import replace

from lm_eval_ext.families.natural_instructions import encodings, subtasks
from lm_eval_ext.families.schema import COUNT, EMPTY_RATE, PROMPT_TRUNCATED_RATE, TRUNCATED_RATE, Metric, Schema

ENCODINGS = tuple(encodings.ENCODINGS)
"""The encodings of appendix C."""
ABLATIONS = tuple(encodings.ABLATIONS)
"""The encodings of the ablation study (section 6.3): ``all`` without a field, or ``prompt`` with another field."""
EVALUATION = subtasks.EVALUATION
"""The subtasks of the paper's evaluation split."""
OWN = subtasks.OWN
"""What stands for the category of user-defined subtasks."""
SOURCE_DATASET_OF = {name: subtask.source_dataset for name, subtask in subtasks.SUBTASKS.items()}
"""Maps subtasks to the datasets that they were made from (Table 8)."""
BLEURT = "a BLEURT checkpoint"
"""What a metric needs."""
ROUGE_L = Metric("rouge_l", higher_is_better=True, in_groups=True)

SCHEMA = Schema(
    metrics=(
        ROUGE_L,
        replace(EMPTY_RATE, in_groups=False),
        replace(TRUNCATED_RATE, explains="rouge_l"),
        PROMPT_TRUNCATED_RATE,
        # The number of examples that fit in a prompt: neither direction is better, and it is not a result.
        Metric("examples", higher_is_better=None, explains="rouge_l", drawn=False, range=COUNT),
        # Only on request (--metadata bleurt). A regression's output, near 0 to 1, and near -2 to 2 with some
        # checkpoints, but without a bound.
        Metric("bleurt", higher_is_better=True, needs=(BLEURT,), in_groups=True, range=(-100.0, 100.0)),
    ),
    headlines=(ROUGE_L,),
    facts={
        "subtask": "text",
        "category": "text or null",
        "encoding": "text",
        "prompt_budget": "an object",
        "instances_hash": "text",
    },
    levels=("encoding",),
    values={"encoding": (*ENCODINGS, *ABLATIONS)},
    row_key="index",
    # rows_hash covers prompts, whose length depends on the model's context, so the instances are compared instead.
    rows_fact="instances_hash",
    prompt_facts=("prompt_budget", "examples"),
    tasks_weigh_alike=True,
    # Of each subtask, 100 instances.
    sizes={
        f"natural_instructions_({'|'.join(ENCODINGS)})": (100 * len(EVALUATION), 1),
        "release_check_natural_instructions": (600, 1),
        r"natural_instructions_subtask\d+_\w+": (100, 1),
    },
)
