"""``lm-eval-ext natural-instructions train``: subtasks in, a fine-tuned model out."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lm_eval_ext.argument_types import count, positive
from lm_eval_ext.families.natural_instructions.encodings import ENCODINGS
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.families.natural_instructions.training import recipe as defaults
from lm_eval_ext.families.natural_instructions.training.arguments import (
    NAMED,
    add_pairs_to,
    request_of,
)
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError, require_libraries
from lm_eval_ext.families.natural_instructions.training.material import Material, Request, pairs_of
from lm_eval_ext.families.natural_instructions.training.recipe import Recipe, pairs_hash
from lm_eval_ext.families.natural_instructions.training.selection import require_unseen, subtasks_named
from lm_eval_ext.progress import counted
from lm_eval_ext.sources import HUB

DEFAULT_SUBTASKS = {"generalization": "non-evaluation", "task-specific": "evaluation"}
"""The subtasks of each setting of Table 2."""


def add_train_to(family: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``train`` to the subcommands of ``natural-instructions``."""
    train = family.add_parser(
        "train",
        help="fine-tune a model on subtasks: the upper bound, or generalization to unseen subtasks",
        description="Fine-tunes an encoder-decoder such as BART as a whole, or a causal model with a LoRA adapter, "
        "which is merged at the end. The loss is computed on the answers only. The result is a folder for `lm_eval "
        "--model hf --model_args pretrained=DIR` (with backend=seq2seq for an encoder-decoder), with training.json. If "
        "it is stopped, the same command continues.",
    )
    train.add_argument("--base", metavar="PATH_OR_ID", required=True, help="the model, for example facebook/bart-base")
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument(
        "--supervision",
        choices=tuple(DEFAULT_SUBTASKS),
        default="generalization",
        help="generalization (the default): one model, trained on no subtask of the evaluation split; task-specific: "
        "one model for each subtask, in DIR/SUBTASK, the upper bound",
    )
    add_pairs_to(train)
    train.add_argument(
        "--subtasks",
        metavar="NAME",
        nargs="+",
        help=f"{NAMED}, evaluation (the default of task-specific) or non-evaluation (that of generalization)",
    )
    train.add_argument(
        "--plus",
        metavar="N",
        type=count,
        default=0,
        help="with generalization: also N training instances of each of --plus-subtasks (10 in the paper's Table 7)",
    )
    train.add_argument("--plus-subtasks", metavar="NAME", nargs="+", help="default: evaluation")
    train.add_argument(
        "--epochs",
        metavar="N",
        type=count,
        default=defaults.EPOCHS,
        help="passes over the pairs (default: %(default)s)",
    )
    train.add_argument(
        "--batch-size",
        metavar="N",
        type=count,
        default=defaults.BATCH_SIZE,
        help="pairs per step (default: %(default)s)",
    )
    rates = ", ".join(f"{rate} ({kind})" for kind, rate in defaults.LEARNING_RATES.items())
    train.add_argument("--learning-rate", metavar="RATE", type=positive, help=f"default: {rates}")
    train.add_argument(
        "--rank", metavar="N", type=count, help=f"the rank of a causal model's adapter (default: {defaults.RANK})"
    )
    train.add_argument(
        "--device", choices=("cpu", "cuda", "mps"), help="one device is used; default: the accelerator, if there is one"
    )
    train.set_defaults(run=_train)


def _train(options: argparse.Namespace) -> int:
    is_specific = options.supervision == "task-specific"
    subtasks = subtasks_named(options.subtasks or [DEFAULT_SUBTASKS[options.supervision]])
    plus = _plus(options, subtasks)
    if not is_specific:
        require_unseen(subtasks)
    request = request_of(options)
    require_libraries()
    from lm_eval_ext.families.natural_instructions.training.base import backend_of  # noqa: PLC0415 # torch
    from lm_eval_ext.families.natural_instructions.training.fit import require_device  # noqa: PLC0415

    require_device(options.device)
    backend = backend_of(options.base)
    if backend != "causal" and options.rank:
        raise TrainingError(f"--rank is for causal models; {options.base} is an encoder-decoder, trained as a whole")
    output = options.output.resolve()
    jobs = [_Job(output / name, (name,)) for name in subtasks] if is_specific else [_Job(output, subtasks, plus)]
    for job in jobs:
        _run(job, options, request, backend)
    return 0


def _plus(options: argparse.Namespace, subtasks: Sequence[str]) -> tuple[str, ...]:
    if not options.plus:
        if options.plus_subtasks:
            raise TrainingError("--plus-subtasks needs --plus, the number of instances of each")
        return ()
    if options.supervision == "task-specific":
        raise TrainingError("--plus is for --supervision generalization; a task-specific model has all instances")
    plus = subtasks_named(options.plus_subtasks or ["evaluation"])
    if both := sorted(set(plus) & set(subtasks)):
        raise TrainingError(f"--plus-subtasks {' '.join(both)}: also in --subtasks, which are trained on completely")
    return plus


@dataclass(frozen=True)
class _Job:
    """One model to train: its folder, its subtasks, and those of which it sees a few instances."""

    output: Path
    subtasks: tuple[str, ...]
    plus: tuple[str, ...] = ()


def _run(job: _Job, options: argparse.Namespace, request: Request, backend: str) -> None:
    from lm_eval_ext.families.natural_instructions.budget import NEW_TOKENS, budget_of  # noqa: PLC0415
    from lm_eval_ext.families.natural_instructions.training import fit, folders  # noqa: PLC0415

    budget = budget_of({"pretrained": options.base}, NEW_TOKENS)
    few = replace(request, instances=options.plus)
    names = [(name, request) for name in job.subtasks] + [(name, few) for name in job.plus]
    material = Material.of(pairs_of(name, "train", one, budget) for name, one in counted(names, " subtasks"))
    for line in material.described():
        print(line, file=sys.stderr)
    material.require_pairs()
    dev = Material.of(pairs_of(name, "dev", request, budget) for name in counted(job.subtasks, " subtasks"))
    recipe = Recipe(
        base=options.base,
        backend=backend,
        supervision=options.supervision,
        encoding=options.encoding,
        subtasks=job.subtasks,
        plus=options.plus,
        plus_subtasks=job.plus,
        evaluated=options.evaluated,
        instances=options.instances,
        seed=options.seed,
        epochs=options.epochs,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate or defaults.LEARNING_RATES[backend],
        rank=(options.rank or defaults.RANK) if backend == "causal" else None,
        pairs_hash=pairs_hash(material.pairs, dev.pairs),
    )
    if folders.is_trained(job.output, recipe):
        # Left by a training that was killed after its model had taken its place.
        folders.remove_unfinished(job.output)
        print(f"{job.output}: already trained", file=sys.stderr)
    else:
        fit.train(recipe, material, dev, job.output, options.device)
    print(f"{job.output}\n{_evaluation(job, options, backend)}", flush=True)


def _evaluation(job: _Job, options: argparse.Namespace, backend: str) -> str:
    """Return the command that evaluates a model, as far as it is known: without tasks if none has this encoding."""
    # Relative to the current folder, if it is in there.
    shown = os.path.relpath(job.output)
    model = str(job.output) if shown.startswith("..") else shown
    words = ["lm_eval", "--model", "hf", "--model_args"]
    words.append(f"pretrained={model}" + (",backend=seq2seq" if backend == "seq2seq" else ""))
    if options.supervision == "generalization" and options.encoding in ENCODINGS:
        words += ["--tasks", f"natural_instructions_{options.encoding}"]
    elif options.supervision == "task-specific" and options.encoding in ENCODINGS and job.subtasks[0] in SUBTASKS:
        words += ["--tasks", f"natural_instructions_{job.subtasks[0]}_{options.encoding}"]
    metadata = {} if options.source == HUB else {"source": options.source}
    metadata |= {} if options.evaluated == PUBLISHED else {"n": options.evaluated}
    return shlex.join([*words, *(["--metadata", json.dumps(metadata)] if metadata else [])])
