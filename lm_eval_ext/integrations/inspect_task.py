"""A scorer and a task of Inspect (``inspect_ai``).

    inspect eval lm_eval_ext/instruction_following -T dataset=prompts.jsonl --model openai/gpt-4o-mini

Not called ``inspect_ai``: Inspect puts the folder of a task's file on the path, where that name would hide it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample, hf_dataset, json_dataset
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
    from inspect_ai.solver import TaskState, generate
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"this needs Inspect ({error}): pip install 'lm-eval-ext[inspect]'") from error

from lm_eval_ext.integrations.rows import Judging, prompt_and_columns, row_columns, row_instructions
from lm_eval_ext.verifiers import Edition


@metric
def instruction_accuracy() -> Metric:
    """Return the share of all instructions of all samples that are followed: the harness's ``inst_level_…_acc``.

    A sample with four instructions counts twice as much as one with two.
    """

    def accuracy(scores: list[SampleScore]) -> float:
        counts = [
            len(row_columns(sample.sample_metadata or {}, f"sample {sample.sample_id!r}")["instruction_id_list"])
            for sample in scores
        ]
        followed = fsum(sample.score.as_float() * count for sample, count in zip(scores, counts, strict=True))
        return followed / sum(counts) if counts else 0.0

    return accuracy


@scorer(
    metrics={"prompt_level_*": [mean(), stderr()], "inst_level_*": [instruction_accuracy()]},
)
def instructions_followed(edition: Edition = "faithful", strip_reasoning: bool = True) -> Scorer:
    """Return a scorer of the instructions in a sample's metadata, under the names of the harness's ``ifeval`` task.

    Args:
        edition: as in ``verify``. In the repaired edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and
            ``loose`` in the names.
        strip_reasoning: as in ``verify``.

    Returns:
        A scorer with four values per sample: ``prompt_level_strict_acc`` (1 if all instructions are followed, else 0)
        and ``inst_level_strict_acc`` (the share of them that is followed), and both for the loose verdicts.

    Raises:
        ValueError: an unknown edition.
        RowError: while scoring, the instructions of a sample are malformed; the message names the sample.
    """
    judging = Judging(edition, strip_reasoning)

    async def score(state: TaskState, target: Target) -> Score:
        where = f"sample {state.sample_id!r}"
        instructions = row_instructions(state.metadata, where)
        response = state.output.completion
        verdicts = judging.strict_and_loose(response, instructions, where)
        value: dict[str, float] = {}
        for name, verdict in verdicts.items():
            value[f"prompt_level_{name}_acc"] = float(verdict.follow_all_instructions)
            value[f"inst_level_{name}_acc"] = verdict.share
        followed = {name: list(verdict.follow_instruction_list) for name, verdict in verdicts.items()}
        return Score(value=value, answer=response, metadata={"follow_instruction_list": followed})

    return score


@task
def instruction_following(
    dataset: str = "google/IFEval",
    split: str = "train",
    edition: Edition = "faithful",
    strip_reasoning: bool = True,
) -> Task:
    """Return a task that asks prompts with verifiable instructions, each in one turn.

    Args:
        dataset: a dataset on the Hugging Face Hub with IFEval's columns (``allenai/IFBench_test`` has them), or a file
            of such rows, one JSON object per line.
        split: of a dataset on the hub.
        edition: see ``instructions_followed``.
        strip_reasoning: see ``instructions_followed``.

    Raises:
        RowError: a row lacks a column or has malformed instructions; raised before the model is asked anything.
    """
    if dataset.endswith((".jsonl", ".json")):
        samples = json_dataset(dataset, record_to_sample)
    else:
        samples = hf_dataset(dataset, split=split, sample_fields=record_to_sample)
    return Task(dataset=samples, solver=generate(), scorer=instructions_followed(edition, strip_reasoning))


def record_to_sample(row: Mapping[str, Any]) -> Sample:
    """Return the sample of a row of IFEval; its metadata have the columns that the scorer reads.

    Raises:
        RowError: the row lacks a column or has malformed instructions; the message gives its ``key``.
    """
    prompt, columns = prompt_and_columns(row)
    return Sample(input=prompt, id=row.get("key"), metadata=columns)
