"""Metrics of lighteval for tasks whose rows have verifiable instructions.

Not called ``lighteval``: a folder of custom tasks may be on the path, where that name would hide the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

try:
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc, SamplingMethod
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"this needs lighteval ({error}): pip install 'lm-eval-ext[lighteval]'") from error

from lm_eval_ext.integrations.rows import Judging, RowError, named, prompt_and_columns, row_instructions, words
from lm_eval_ext.verifiers import Edition


def instruction_prompt(line: Mapping[str, Any], task_name: str = "") -> Doc:
    """Return the document of a row of IFEval; lighteval calls this ``prompt_function``.

    Raises:
        RowError: the row lacks a column or has malformed instructions; the message gives its ``key``.
    """
    prompt, columns = prompt_and_columns(line, f"{task_name}, ")
    return Doc(task_name=task_name, query=prompt, choices=[""], gold_index=0, specific=columns)


class InstructionsFollowed(SampleLevelComputation):
    """The four values of a document, under the names of the harness's ``ifeval`` task.

    Judges the response as the model gave it, rather than lighteval's ``text_post_processed``, because reasoning is
    removed here. Of several responses to a document, the first is judged.
    """

    def __init__(self, judging: Judging) -> None:
        self.judging = judging

    def compute(self, doc: Doc, model_response: ModelResponse, **_: Any) -> dict[str, float | list[bool]]:
        """Return ``prompt_level_…``, 1 or 0, and ``inst_level_…``, one verdict per instruction; strict and loose.

        Raises:
            RowError: the document has malformed instructions, or no response.
        """
        where = named(f"{doc.task_name}, document {doc.id!r}", doc.query)
        if not model_response.text:
            raise RowError(f"{where}: no response; expected at least one")
        instructions = row_instructions(doc.specific or {}, where)
        values: dict[str, float | list[bool]] = {}
        for word, verdict in self.judging.strict_and_loose(model_response.text[0], instructions, where).items():
            values[f"prompt_level_{word}_acc"] = float(verdict.follow_all_instructions)
            values[f"inst_level_{word}_acc"] = list(verdict.follow_instruction_list)
        return values


def instruction_metrics(edition: Edition = "faithful", strip_reasoning: bool = True) -> SampleLevelMetricGrouping:
    """Return the metrics of a task whose documents come from ``instruction_prompt``.

    Args:
        edition: as in ``verify``. In the repaired edition, ``repaired`` and ``repaired_loose`` replace ``strict`` and
            ``loose`` in the names.
        strip_reasoning: as in ``verify``.

    Raises:
        ValueError: an unknown edition.
    """
    computation = InstructionsFollowed(Judging(edition, strip_reasoning))
    prompt_level = {f"prompt_level_{word}_acc": fmean for word in words(edition)}
    instruction_level = {f"inst_level_{word}_acc": _share for word in words(edition)}
    functions = prompt_level | instruction_level
    return SampleLevelMetricGrouping(
        metric_name=list(functions),
        higher_is_better=dict.fromkeys(functions, True),
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=computation,
        corpus_level_fn=functions,
    )


def _share(verdicts: Iterable[Sequence[bool]]) -> float:
    """Return the share of all instructions of all documents that are followed."""
    flat = [verdict for row in verdicts for verdict in row]
    return sum(flat) / len(flat)
