"""``python -m lm_eval`` in forked processes that begin with its imports done, which cost more than most runs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.task_files import parse_task_files_once

# Forks once per line of standard input and answers with the exit status.
SERVER = """
import atexit, contextlib, gc, importlib, json, os, runpy, sys, threading

replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import lm_eval.tasks, lm_eval.utils
from lm_eval_ext.families.registry import FAMILIES
for name in (
    *("lm_eval.evaluator", "lm_eval.models.huggingface", "langdetect", "nltk", "rouge_score.rouge_scorer"),
    # What transformers imports only when a tiny model is loaded and answers.
    *("transformers.generation", "transformers.models.llama.modeling_llama"),
    *(f"lm_eval_ext.models.{model}" for model in ("reference", "self_refine", "two_turns")),
    *(family.task.partition(":")[0] for family in FAMILIES.values()),
):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
with contextlib.suppress(ImportError, LookupError):  # without NLTK's sentence data
    from lm_eval_ext.families.manyifeval.rows import TEST, all_rows
    # Composing them is most of what a run of manyifeval takes.
    all_rows("embedded", TEST)
exec(sys.argv.pop())
parse_task_files_once()
lm_eval.tasks.TaskManager()
gc.freeze()  # a collection in a forked process would copy all that it walks over
for line in sys.stdin:
    request, child = json.loads(line), os.fork()
    if child == 0:
        os.chdir(request["folder"])
        for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        if not request["tables"]:
            lm_eval.utils.make_table = lambda *_: "not made in tests"
        status = 0
        try:
            for options in request["runs"]:
                sys.argv[1:] = options
                runpy.run_module("lm_eval", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        # As the interpreter ends, except that it takes nothing apart: that would take twenty times as long as the run.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=replies, flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class WarmHarness:
    """A process that has imported the harness, and forks.

    Each run is a process of its own, but all have one environment and one hash seed: what depends on these starts
    ``python -m lm_eval`` itself.
    """

    process: subprocess.Popen[str]

    def evaluate(self, folder: Path, runs: Sequence[Sequence[str]], *, tables: bool = True) -> tuple[int, str]:
        """Run ``python -m lm_eval`` in a folder, with each list of options in turn, in one process.

        Args:
            folder: where to run.
            runs: the options of each run.
            tables: whether results are printed as tables. With two hundred tasks, printing takes longer than the rest.

        Returns:
            Its exit status and what it printed, errors last.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with TemporaryDirectory() as place:
            printed = {name: str(Path(place) / name) for name in ("stdout", "stderr")}
            request = {
                "folder": str(folder),
                "runs": [list(options) for options in runs],
                "tables": tables,
                **printed,
            }
            print(json.dumps(request), file=self.process.stdin, flush=True)
            status = int(self.process.stdout.readline())
            return status, "".join(Path(path).read_text(encoding="utf-8") for path in printed.values())


@contextmanager
def warm_harness(environment: Mapping[str, str]) -> Iterator[WarmHarness]:
    """Start the process with an environment, and end it."""
    # The tests' modules cannot be imported there.
    command, pipe = [sys.executable, "-c", SERVER, inspect.getsource(parse_task_files_once)], subprocess.PIPE
    with subprocess.Popen(command, env=dict(environment), stdin=pipe, stdout=pipe, text=True) as process:
        yield WarmHarness(process)
