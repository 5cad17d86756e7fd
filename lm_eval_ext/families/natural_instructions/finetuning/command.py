"""``lm-eval-ext natural-instructions export`` and ``train``: training pairs for any trainer, and a fine-tuned model."""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from lm_eval_ext.cli.parser import count, seed
from lm_eval_ext.cli.progress import counted
from lm_eval_ext.families.natural_instructions.budget import NEW_TOKENS, budget_of
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, ENCODINGS
from lm_eval_ext.families.natural_instructions.finetuning.pairs import (
    SIZES,
    Request,
    pairs_hash,
    pairs_in,
    pairs_of,
)
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS
from lm_eval_ext.sources import EMBEDDED, HUB
from lm_eval_ext.training.run import Recipe, TrainingError, add_recipe_to, recipe_of, require_libraries

RECIPES = {
    "seq2seq": Recipe(seed=0, epochs=3, batch_size=16, learning_rate=5e-5, rank=None),
    "causal": Recipe(seed=0, epochs=3, batch_size=16, learning_rate=2e-4, rank=16),
}
"""The default recipe by kind of model: usual values for BART-base as a whole, and for LoRA adapters."""
NON_EVALUATION = tuple(name for name in SUBTASKS if name not in EVALUATION)
"""The 49 subtasks outside the evaluation split. The paper trains on 26 (section 6.1) and does not list them."""
SETS = {"evaluation": EVALUATION, "non-evaluation": NON_EVALUATION}
"""Names of several subtasks."""
NAMED = "names of subtasks or of your own task files, patterns such as 'subtask03*'"
DEFAULT_SUBTASKS = {"generalization": "non-evaluation", "task-specific": "evaluation"}
"""The subtasks of each setting of Table 2."""


def add_export_to(export: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    _add_pairs_to(export)
    export.add_argument("--split", choices=tuple(SIZES), default="train", help="default: train")
    export.add_argument(
        "--tokenizer",
        metavar="PATH_OR_ID",
        help="measures which prompts fit, and with how many examples; default: three characters per token",
    )
    export.add_argument(
        "--max-length", metavar="N", type=count, help="the context in tokens; default: the model's, or 2,048"
    )
    export.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    request, subtasks = _request(options), subtasks_named(options.subtasks)
    budget = budget_of({"tokenizer": options.tokenizer, "max_length": options.max_length}, NEW_TOKENS)
    # All files are read before anything is printed, so that an error leaves no half of an export.
    material = [pairs_of(name, options.split, request, budget) for name in counted(subtasks, " subtasks")]
    for pair in pairs_in(material):
        # ASCII works in any terminal or locale.
        print(json.dumps({**asdict(pair), "split": options.split}))
    sys.stdout.flush()
    for prepared in material:
        print(prepared, file=sys.stderr)
    return 0


def add_train_to(train: argparse.ArgumentParser) -> None:
    """Add the options of ``train``."""
    train.add_argument("--base", metavar="PATH_OR_ID", required=True, help="the model, for example facebook/bart-base")
    train.add_argument("--output", metavar="DIR", required=True, type=Path, help="a new or empty folder")
    train.add_argument(
        "--supervision",
        choices=tuple(DEFAULT_SUBTASKS),
        default="generalization",
        help="generalization (the default): one model, trained on no subtask of the evaluation split; task-specific: "
        "one model for each subtask, in DIR/SUBTASK, the upper bound",
    )
    _add_pairs_to(train, "evaluation (the default of task-specific) or non-evaluation (that of generalization)")
    train.add_argument(
        "--plus",
        metavar="N",
        type=count,
        default=0,
        help="with generalization: also N training instances of each of --plus-subtasks (10 in the paper's Table 7)",
    )
    train.add_argument("--plus-subtasks", metavar="NAME", nargs="+", help="default: evaluation")
    add_recipe_to(train, RECIPES)
    train.add_argument(
        "--device", choices=("cpu", "cuda", "mps"), help="one device is used; default: the accelerator, if there is one"
    )
    train.set_defaults(run=_train)


def _train(options: argparse.Namespace) -> int:
    is_specific = options.supervision == "task-specific"
    subtasks = subtasks_named(options.subtasks or [DEFAULT_SUBTASKS[options.supervision]])
    plus = _plus(options, subtasks)
    if not is_specific and (evaluated := [name for name in subtasks if name in EVALUATION]):
        raise TrainingError(
            f"--subtasks {' '.join(evaluated)}: in the evaluation split, which a model must not have seen in the "
            "setting 'generalization'. To train on a subtask that is evaluated, choose --supervision task-specific; to "
            "add a few of its instances, --plus 10"
        )
    require_libraries()
    from lm_eval_ext.families.natural_instructions.finetuning import trainee  # noqa: PLC0415 # torch, an extra

    # A device that is not there is an error before anything is read.
    trainee.chosen_device(options.device)
    backend = trainee.backend_of(options.base)
    if backend != "causal" and options.rank:
        raise TrainingError(f"--rank is for causal models; {options.base} is an encoder-decoder, trained as a whole")
    models = {options.output / name: (name,) for name in subtasks} if is_specific else {options.output: subtasks}
    for folder, trained_on in models.items():
        _train_one(folder, trained_on, plus, options, backend)
    return 0


def _plus(options: argparse.Namespace, subtasks: Sequence[str]) -> tuple[str, ...]:
    """Return the subtasks of which a model sees a few instances."""
    if not options.plus:
        if options.plus_subtasks:
            raise TrainingError("--plus-subtasks needs --plus, the number of instances of each")
        return ()
    if options.supervision == "task-specific":
        raise TrainingError("--plus is for --supervision generalization; a task-specific model has all instances")
    plus = subtasks_named(options.plus_subtasks or ["evaluation"])
    if in_both := sorted(set(plus) & set(subtasks)):
        raise TrainingError(f"--plus-subtasks {' '.join(in_both)}: also in --subtasks, which are trained on completely")
    return plus


def _train_one(
    output: Path, subtasks: Sequence[str], plus: Sequence[str], options: argparse.Namespace, backend: str
) -> None:
    """Train one model, unless its folder has it, and print its folder and the command that evaluates it."""
    from lm_eval_ext.families.natural_instructions.finetuning import trainee  # noqa: PLC0415 # torch, as above

    budget, request = budget_of({"pretrained": options.base}, NEW_TOKENS), _request(options)
    few = replace(request, instances=options.plus)
    names = [(name, request) for name in subtasks] + [(name, few) for name in plus]
    material = [pairs_of(name, "train", wanted, budget) for name, wanted in counted(names, " subtasks")]
    for prepared in material:
        print(prepared, file=sys.stderr)
    if not (pairs := pairs_in(material)):
        raise TrainingError(
            f"{'; '.join(map(str, material))}. Nothing is left to train on; give files with more "
            "instances, a shorter encoding or a smaller --evaluated (and the same n in lm_eval's --metadata)"
        )
    dev = pairs_in([pairs_of(name, "dev", request, budget) for name in counted(subtasks, " subtasks")])
    recipe = recipe_of(options, RECIPES[backend])
    described = {
        "base": options.base,
        "backend": backend,
        "supervision": options.supervision,
        "encoding": options.encoding,
        "subtasks": subtasks,
        "plus": options.plus,
        "plus_subtasks": plus,
        "evaluated": options.evaluated,
        "instances": options.instances,
        **asdict(recipe),
        "pairs_hash": pairs_hash(pairs, dev),
    }
    if trainee.is_trained(output, described):
        print(f"{output}: already trained", file=sys.stderr)
    else:
        device = trainee.chosen_device(options.device)
        trainee.train(options.base, recipe, described, material, dev, output.resolve(), device)
    print(f"{output}\n{_evaluation(output, subtasks[0], options, backend)}", flush=True)


def _evaluation(output: Path, subtask: str, options: argparse.Namespace, backend: str) -> str:
    """Return the command that evaluates a model, as far as it is known: without tasks if none has this encoding."""
    words = ["lm_eval", "--model", "hf", "--model_args"]
    words.append(f"pretrained={output}" + (",backend=seq2seq" if backend == "seq2seq" else ""))
    if options.supervision == "generalization" and options.encoding in ENCODINGS:
        words += ["--tasks", f"natural_instructions_{options.encoding}"]
    elif options.supervision == "task-specific" and options.encoding in ENCODINGS and subtask in SUBTASKS:
        words += ["--tasks", f"natural_instructions_{subtask}_{options.encoding}"]
    metadata = {} if options.source == HUB else {"source": options.source}
    metadata |= {} if options.evaluated == PUBLISHED else {"n": options.evaluated}
    return shlex.join([*words, *(["--metadata", json.dumps(metadata)] if metadata else [])])


def _add_pairs_to(parser: argparse.ArgumentParser, default_sets: str = "") -> None:
    """Add the options that say which pairs are made; those of ``export`` and ``train`` differ in a default."""
    default = Request("")
    sets = default_sets or f"or {' or '.join(SETS)}"
    parser.add_argument("--subtasks", metavar="NAME", nargs="+", required=not default_sets, help=f"{NAMED}, {sets}")
    parser.add_argument(
        "--encoding",
        required=True,
        choices=tuple(ALL_ENCODINGS),
        metavar="ENCODING",
        help="for example prompt, all or instance",
    )
    parser.add_argument(
        "--source", default=default.source, help=f'"{HUB}" (the default), "{EMBEDDED}", or a folder with task files'
    )
    numbers = {
        "evaluated": (count, "how many instances of each subtask are evaluated: n in lm_eval's --metadata"),
        "instances": (count, "at most N training instances of each subtask"),
        "seed": (seed, "seed of the splits and the training"),
    }
    for name, (type_of, text) in numbers.items():
        given = {"metavar": "N", "type": type_of, "default": getattr(default, name)}
        parser.add_argument(f"--{name}", **given, help=f"{text} (default: %(default)s)")


def _request(options: argparse.Namespace) -> Request:
    """Return which pairs to make of each subtask."""
    return Request(options.encoding, options.source, options.evaluated, options.instances, options.seed)


def subtasks_named(words: Sequence[str]) -> tuple[str, ...]:
    """Return the subtasks that words of a command line name, each once, in the order of the words.

    Args:
        words: names of subtasks or of any task file, patterns such as ``subtask03*``, or names of ``SETS``.

    Raises:
        TrainingError: a pattern matches nothing, or a name resembles a subtask's but is none.
    """
    names: list[str] = []
    for word in words:
        if word in SETS:
            names += SETS[word]
        elif any(sign in word for sign in "*?["):
            matching = fnmatch.filter(SUBTASKS, word)
            if not matching:
                raise TrainingError(
                    f"--subtasks {word}: no subtask matches; expected names such as {EVALUATION[0]}, patterns such as "
                    f"'subtask03*', or {' or '.join(SETS)}"
                )
            names += matching
        elif word not in SUBTASKS and (similar := difflib.get_close_matches(word, SUBTASKS, cutoff=0.9)):
            raise TrainingError(f"--subtasks {word}: no such subtask; did you mean {similar[0]}?")
        else:
            names.append(word)
    return tuple(dict.fromkeys(names))
