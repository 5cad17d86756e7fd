"""Scores in the format of Every Eval Ever, the shared database of the EvalEval coalition.

The format is ``eval.schema.json`` of https://github.com/evaleval/every_eval_ever, version 0.3.0.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import Any

from lm_eval_ext import __version__
from lm_eval_ext.reports.publishing.published import HUB_ID, PublishedModel, Score, how, limit
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.sources import HUB

SCHEMA_VERSION = "0.3.0"
COLLECTION = "lm-eval-ext"
"""The folder of the database in which the records are."""
LOADERS = ("arrow", "audiofolder", "csv", "imagefolder", "json", "pandas", "parquet", "text", "webdataset", "xml")
"""What ``dataset_path`` is where the rows are files of the user: a loader of the library ``datasets``."""
NAME = re.compile(r"[\w.-]*\w", re.ASCII)
"""The form of a dataset without an owner."""
SELF_DEPLOYED = ("hf", "hf-auto", "huggingface", "vllm", "sglang")
"""The harness's model types that load the weights themselves."""


@dataclass(frozen=True)
class Evaluator:
    """Who ran the evaluation.

    Attributes:
        organization: the name.
        relationship: what it is to the model's developer, one of ``RELATIONSHIPS``.
    """

    organization: str
    relationship: str


def contents(models: Sequence[PublishedModel], evaluator: Evaluator) -> dict[Path, bytes]:
    """Return a record for each model, by its path below the output folder: ``data/lm-eval-ext/OWNER/NAME/UUID.json``.

    The name is made from the content, so the same results always make the same file.
    """
    found = {}
    for model in models:
        content = (json.dumps(_record(model, evaluator), indent=2, allow_nan=False) + "\n").encode()
        name = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
        found[Path("data", COLLECTION, model.id, f"{name}.json")] = content
    return found


def _record(model: PublishedModel, evaluator: Evaluator) -> dict[str, Any]:
    when = str(int(model.date))
    versions = sorted({str(run.file.content.get("lm_eval_version") or "unknown") for run in model.runs})
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{COLLECTION}/{model.id}/{when}",
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "lm-evaluation-harness with lm-eval-ext",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship,
        },
        "eval_library": {
            "name": "lm_eval",
            "version": ", ".join(versions),
            "additional_details": {"lm-eval-ext": __version__},
        },
        "model_info": _model_info(model),
        "evaluation_results": [_result(score) for score in model.scores()],
    }


def _model_info(model: PublishedModel) -> dict[str, Any]:
    developer, _, name = model.id.partition("/")
    run = model.runs[0]
    kind = run.model.kind
    details = {
        "deployment_type": "self_deployed" if kind in SELF_DEPLOYED else "unknown",
        # The results do not say it.
        "model_availability": "unknown",
        "lm_eval_model": how(run.model),
    }
    commits = {each.file.config.get("model_sha") for each in model.runs}
    if len(commits) == 1 and isinstance(commit := commits.pop(), str) and commit:
        details["model_commit"] = commit
    return {"name": name, "id": model.id, "developer": developer, "additional_details": details}


def _result(score: Score) -> dict[str, Any]:
    run = score.run
    least, most = score.range
    uncertainty: dict[str, Any] = {"num_samples": score.rows}
    if score.error is not None:
        uncertainty["standard_error"] = {"value": score.error, "method": "lm_eval: rows as independent"}
    return {
        "evaluation_result_id": f"{score.name}/{score.metric}",
        "evaluation_name": score.name,
        "source_data": _source_data(run),
        "evaluation_timestamp": str(int(run.file.date)),
        "metric_config": {
            "metric_id": score.metric,
            "metric_name": score.metric,
            "metric_parameters": {"filter": run.reader},
            "lower_is_better": not score.higher_is_better,
            "score_type": "continuous",
            "min_score": _bound(least),
            "max_score": _bound(most),
        },
        "score_details": {"score": score.value, "uncertainty": uncertainty},
        "generation_config": _generation_config(run),
    }


def _source_data(run: TaskRun) -> dict[str, Any]:
    details = {
        fact: str(run.metadata[fact])
        for fact in ("version", run.schema.rows_fact)
        if run.metadata.get(fact) is not None
    }
    path = str(run.config.get("dataset_path") or "")
    # Our own tasks know their dataset by its name; what is recorded for others is made from their configuration.
    known = str(run.metadata["dataset"]) if run.is_ours else path
    from_files = run.metadata["source"] != HUB if run.is_ours else not path
    # The name can have a configuration after a comma.
    unnamed = _is_local(known.partition(",")[0])
    if from_files or unnamed or _is_local(path):
        name = known if run.is_ours and not unnamed else run.task
        return {
            "dataset_name": name,
            "source_type": "other",
            "additional_details": {**details, "source": "files"},
        }
    place = {"hf_repo": path} if HUB_ID.fullmatch(path) else {}
    return {
        "dataset_name": known,
        "source_type": "hf_dataset",
        **place,
        "samples_number": run.count,
        "additional_details": details,
    }


def _is_local(path: str) -> bool:
    """Return whether a dataset's path is not its name on the hub but a place of files, or what loads files."""
    return bool(path) and (path in LOADERS or not (HUB_ID.fullmatch(path) or NAME.fullmatch(path)))


def _generation_config(run: TaskRun) -> dict[str, Any]:
    given = run.config.get("generation_kwargs")
    given = given if isinstance(given, dict) else {}
    arguments: dict[str, Any] = {
        name: float(given[name]) for name in ("temperature", "top_p") if _is_number(given.get(name))
    }
    if _is_number(given.get("max_gen_toks")):
        arguments["max_tokens"] = int(given["max_gen_toks"])
    details = {name: str(value) for name, value in run.setting}
    if run.shots is not None:
        details["num_fewshot"] = str(run.shots)
    if (limited := limit(run)) is not None:
        details["limit"] = limited
    return {"generation_args": arguments, "additional_details": details}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bound(value: float) -> float | str:
    """Return a bound as the schema has it."""
    return ("Infinity" if value > 0 else "-Infinity") if isinf(value) else value
