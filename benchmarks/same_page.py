"""Whether a change to the reports changes what they say: page, CSV and PNG, byte for byte.

The runs are of models with known answers on embedded rows of every family, a few rows each, so that every figure is
there. Made-up models that answer some rows like one of them and the others like another one have all scores between.

    python -m benchmarks.same_page FOLDER make       # the runs; takes minutes, once
    python -m benchmarks.same_page FOLDER keep       # what this checkout writes about them
    python -m benchmarks.same_page FOLDER compare    # names what has changed since; ends with 1 if anything has
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from lm_eval_ext.cli import main as lm_eval_ext

OWN_LABELS = ("my_sst2", "my_sst2_flipped")
DATASETS = ("sst2", "fp", "snli")
WORDS = ("natural_golden", "natural_1_0", "neutral_foo_bar", "unnatural_flipped", "unnatural_0_1")
LABELS = tuple(f"verbalizer_{name}_{words}" for name in DATASETS for words in WORDS)
THOUGHT = tuple(f"verbalizer_cot_{name}_{words}" for name in DATASETS for words in WORDS)
SHOTS = tuple(f"verbalizer_{name}_{words}" for name in DATASETS for words in ("natural_golden", "unnatural_flipped"))
OWN: Mapping[str, tuple[str, Sequence[str]]] = {
    "my_sst2": ("verbalizer_sst2_unnatural_flipped", ("naturalness:", "verbalizer:")),
    "my_sst2_flipped": ("verbalizer_sst2_unnatural_flipped", ()),
    "my_n02": ("manyifeval_n02", ()),
    "my_ifbench": ("ifbench", ()),
    "my_arc": ("paired_mcq_arc_challenge_low", ()),
}
"""A user's own tasks: copies of published ones, some without the lines that say what they test."""
COUNTS = tuple(f"manyifeval_n{number:02}" for number in (1, 2, 3, 5))
VARIANTS = (
    *(f"manyifeval_{kind}_n{number:02}" for kind in ("repeat", "cousins", "wide") for number in (2, 3, 5)),
    "manyifeval_single",
)
LISTS = tuple(f"manyifeval_dense_n{number:03}" for number in (10, 20, 50, 100, 200))
QUESTIONS = (
    *(f"paired_mcq_{name}_{level}" for name in ("opinionqa", "arc_challenge") for level in ("low", "medium", "high")),
    "text_mcq_opinionqa_low",
)
SUBTASKS = (
    "subtask019_mctaco_temporal_reasoning_category",
    "subtask033_winogrande_answer_generation",
    "subtask040_qasc_question_generation",
)
ENCODINGS = ("instance", "prompt", "prompt_definition", "all", "positive", "all_minus_examples", "prompt_avoid")
PARTS = tuple(f"natural_instructions_{subtask}_{name}" for subtask in SUBTASKS for name in ENCODINGS)
BOUND = tuple(f"natural_instructions_{subtask}_instance" for subtask in SUBTASKS[:2])


@dataclass(frozen=True)
class Run:
    """A run of the harness.

    Attributes:
        tasks: their names.
        policy: of the reference model; or another model and its arguments, separated by a colon.
        limit: the most rows of a task.
        metadata: beside the embedded rows as the source.
        options: of ``simple_evaluate``.
    """

    tasks: Sequence[str]
    policy: str = "oracle"
    limit: int = 12
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


BLEURT = "bleurt"
"""What names the checkpoint, and the folder that it is in."""
RULES = {"answer_classifier": "rules"}
REFINED = "self_refine:base=reference,policy=drop_one,rounds=2,strategy={}"
RUNS: Mapping[str, Run] = {
    "labels": Run((*LABELS, *THOUGHT, *OWN_LABELS)),
    "labels-prior": Run((*LABELS, *THOUGHT, *OWN_LABELS), "prior"),
    "labels-random": Run((*LABELS, *THOUGHT[:-1]), "random"),
    "shots": Run(SHOTS, "random", options={"num_fewshot": 4}),
    "wordings": Run((*SHOTS, *OWN_LABELS), "first_wording", 10, {"paraphrases": 3}),
    "nonce": Run(LABELS, "random,seed=1", metadata={"row_seed": 7}),
    "counts": Run((*COUNTS, *VARIANTS, "my_n02")),
    "counts-drop": Run((*COUNTS, *VARIANTS), "drop_one"),
    "counts-ignore": Run(COUNTS, "ignore"),
    "lists": Run(LISTS),
    "lists-half": Run(LISTS, "first_half"),
    "mixed": Run(LISTS, metadata={"form": "mixed"}),
    "mixed-half": Run(LISTS, "first_half", metadata={"form": "mixed"}),
    **{
        f"{place}-{policy}": Run(
            COUNTS[1:], policy, metadata={"placement": place}, options={"apply_chat_template": True}
        )
        for place in ("before", "system", "earlier_turn")
        for policy in ("oracle", "drop_one", "ignore_system")
    },
    "after-ignore_system": Run(COUNTS[1:], "ignore_system", options={"apply_chat_template": True}),
    **{
        f"refined-{strategy}": Run(COUNTS[1:3], REFINED.format(strategy), 8)
        for strategy in ("none", "without_feedback", "feedback", "feedback_each_cot", "oracle", "all_false")
    },
    "refined-ignore": Run(COUNTS[1:3], "self_refine:base=reference,policy=ignore,rounds=1,strategy=feedback", 8),
    "unfamiliar": Run(["ifbench", "my_ifbench"], limit=40),
    "unfamiliar-drop": Run(["ifbench"], "drop_one", 40),
    "turns": Run(["ifbench_two_turns"], "two_turns:base=reference", 20, options={"apply_chat_template": True}),
    **{
        f"questions-{policy}": Run((*QUESTIONS, "my_arc"), policy, 60, RULES)
        for policy in ("oracle", "chatty", "refuser", "always_a")
    },
    "parts": Run(PARTS, metadata={BLEURT: BLEURT}),
    "parts-echo": Run(PARTS[:-2], "echo", metadata={BLEURT: BLEURT}),
    "bound": Run(BOUND, "oracle"),
}
"""By folder."""
BLENDS = (
    *(("labels", "labels-prior"), ("counts", "counts-drop"), ("lists", "lists-half"), ("mixed", "mixed-half")),
    *(("unfamiliar", "unfamiliar-drop"), ("questions-oracle", "questions-chatty"), ("parts", "parts-echo")),
)
SHARES = {f"blend-{share}": share for share in (30, 50, 60, 70, 80, 90, 95)}
"""In percent: how many rows a made-up model answers like the first of two runs."""
SIZES = '[blend]\n"blend-30" = "70M"\n"blend-50" = "1B"\n"blend-70" = "7B"\n'
SWEEP = (("oracle", 0.0, 1), ("chatty", 0.5, 1), ("refuser", 0.5, 2), ("always_a", 1.0, 1))
"""A made-up model at several temperatures: whose answers, the temperature, the seed."""


def make(folder: Path) -> None:
    """Write the runs."""
    from lm_eval import simple_evaluate  # noqa: PLC0415 # takes seconds, which the other steps do without
    from lm_eval.loggers import EvaluationTracker  # noqa: PLC0415
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    from lm_eval_ext import tasks_dir  # noqa: PLC0415
    from tests.conftest import save  # noqa: PLC0415
    from tests.families.natural_instructions.test_bleurt import BERT, checkpoint  # noqa: PLC0415
    from tests.own_tasks import run_folders  # noqa: PLC0415

    own = folder / "own"
    own.mkdir(parents=True, exist_ok=True)
    for name in OWN:
        (own / f"{name}.yaml").write_text(own_leaf(Path(tasks_dir()), name), encoding="utf-8")
    (folder / BLEURT).mkdir(exist_ok=True)
    checkpoint(folder / BLEURT, BERT)
    for name, run in RUNS.items():
        if (folder / "runs" / name).is_dir():
            continue
        print(name, flush=True)
        model, colon, arguments = run.policy.partition(":")
        output = folder / "unfinished"
        shutil.rmtree(output, ignore_errors=True)
        given = {"source": "embedded", **run.metadata}
        if BLEURT in given:
            given[BLEURT] = str(folder / given[BLEURT])
        tracker = EvaluationTracker(output_path=str(output))
        results = simple_evaluate(
            model if colon else "reference",
            model_args=arguments if colon else f"policy={run.policy}",
            tasks=[*run.tasks],
            task_manager=TaskManager(
                include_path=[tasks_dir(), str(own)],
                include_defaults=False,
                metadata=given,
            ),
            limit=run.limit,
            bootstrap_iters=0,
            evaluation_tracker=tracker,
            log_samples=True,
            verbosity="ERROR",
            **run.options,
        )
        save(results, tracker)
        (folder / "runs").mkdir(exist_ok=True)
        output.rename(folder / "runs" / name)
    if not (folder / "runs" / "others").is_dir():
        for path in [*run_folders(folder / "unfinished")]:
            shutil.copytree(path, folder / "runs" / "others" / path.name)
    for first, second in BLENDS:
        for name, share in SHARES.items():
            # The other form of the same tasks would split each model in two.
            model = name.replace("blend", "sections") if first == "mixed" else name
            blend(folder / "runs" / first, folder / "runs" / second, folder / "blends" / model / first, model, share)
    for policy, temperature, seed in SWEEP:
        sweep(folder / "runs" / f"questions-{policy}", folder / "sweep" / policy, temperature, seed)
    bare = folder / "bare"
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(folder / "runs", bare, ignore=shutil.ignore_patterns("samples_*", "bound"))
    (folder / "sizes.toml").write_text(SIZES, encoding="utf-8")


def own_leaf(tasks: Path, name: str) -> str:
    """Return a user's own task."""
    published, left_out = OWN[name]
    (path,) = tasks.glob(f"*/leaves/{published}.yaml")
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(("task:", "include:", "tag:", *left_out))]
    (template,) = (line.split()[1] for line in lines if line.startswith("include:"))
    return "\n".join([f"include: {(path.parent / template).resolve()}", f"task: {name}", *kept])


def blend(first: Path, second: Path, output: Path, name: str, share: int) -> None:
    """Write a run of a made-up model that answers some rows as in one run, and the others as in another."""
    shutil.rmtree(output, ignore_errors=True)
    others = {path.name.rpartition("_")[0]: path for path in second.rglob("samples_*.jsonl")}
    for path in first.rglob("*.json*"):
        target = output / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.name.startswith("results_"):
            content = json.loads(path.read_text(encoding="utf-8"))
            content["config"] |= {"model": "hf", "model_args": {"pretrained": name}}
            content |= {"model_name": name, "model_name_sanitized": name.replace("/", "__")}
            target.write_text(json.dumps(content), encoding="utf-8")
        elif other := others.get(path.name.rpartition("_")[0]):
            lines = zip(*(each.read_text(encoding="utf-8").splitlines() for each in (path, other)), strict=True)
            chosen = [pair[crc32(f"{path.name} {number}".encode()) % 100 >= share] for number, pair in enumerate(lines)]
            target.write_text("\n".join(chosen) + "\n", encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def sweep(source: Path, output: Path, temperature: float, seed: int) -> None:
    """Write a run as one of a single model at a temperature."""
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(source, output)
    (path,) = output.rglob("results_*.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    given = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
    for config in content["configs"].values():
        config["generation_kwargs"] = {**(config.get("generation_kwargs") or {}), **given}
    content["config"] |= {f"{which}_seed": seed for which in ("random", "numpy", "torch")}
    content["config"] |= {"model": "hf", "model_args": {"pretrained": "owner/swept"}}
    path.write_text(json.dumps(content), encoding="utf-8")


def reports(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of each report and what it is about: many models, few, one, none with samples."""
    runs, blends = folder / "runs", folder / "blends"
    names = sorted(path.name for path in runs.iterdir() if path.name != "bound")
    sizes, bound = ("--sizes", str(folder / "sizes.toml")), ("--upper-bound", str(runs / "bound"))
    yield "all", (*(str(runs / name) for name in names), *bound)
    yield "many", (str(folder / "blends"), *(str(runs / name) for name in ("counts-ignore", "labels-random")), *sizes)
    yield "few", (str(blends / "blend-50"), str(blends / "blend-80"), str(folder / "sweep"), *bound)
    yield "one", (str(blends / "blend-70"),)
    yield "bare", (str(folder / "bare"), str(blends / "blend-60"))
    yield "placed", (str(runs / "before-drop_one"), str(runs / "system-drop_one"))


def write(folder: Path, output: Path) -> None:
    """Write all reports with this checkout."""
    shutil.rmtree(output, ignore_errors=True)
    for name, arguments in reports(folder):
        (output / name).mkdir(parents=True)
        written = ("-o", str(output / name / "page.html"), "--export", str(output / name))
        if status := lm_eval_ext(["report", *arguments, *written]):
            sys.exit(status)


def changed(before: Path, after: Path) -> list[str]:
    """Return the names of the files that differ, or that only one of two folders has."""
    files = {path.relative_to(root) for root in (before, after) for path in root.rglob("*") if path.is_file()}
    return [str(name) for name in sorted(files) if _bytes(before / name) != _bytes(after / name)]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def main() -> None:
    """Do one of the steps."""
    folder, step = Path(sys.argv[1]).resolve(), sys.argv[2]
    match step:
        case "make":
            make(folder)
        case "keep":
            write(folder, folder / "kept")
        case "compare":
            write(folder, folder / "compared")
            found = changed(folder / "kept", folder / "compared")
            print("\n".join(found) or "the same")
            sys.exit(bool(found))
        case _:
            sys.exit(f"{step!r}; expected make, keep or compare")


if __name__ == "__main__":
    main()
