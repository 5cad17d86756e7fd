"""Scripts and modules in forked processes, which begin with slow imports done and have an environment of their own."""

from __future__ import annotations

import inspect
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from filelock import FileLock

from tests.task_files import parse_task_files_once

# Has a process for each connection, which forks once per line and answers with the exit status. The arguments: what it
# runs before it accepts connections, what each fork runs first, and its socket. It ends when its standard input has
# ended and all connections are closed.
SERVER = """
import atexit, contextlib, gc, importlib, json, os, runpy, select, socket, sys, threading

_, imports, first_in_fork, listening = sys.argv
del sys.argv[1:]
exec(imports)
gc.freeze()  # a collection in a forked process would copy all that it walks over
listener = socket.socket(fileno=int(listening))
while listener in select.select([listener, sys.stdin], [], [])[0]:
    connection, _ = listener.accept()
    if os.fork() == 0:
        listener.close()
        break
    connection.close()
else:
    listener.close()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)
replies = connection.makefile("w")
for line in connection.makefile("r"):
    request, child = json.loads(line), os.fork()
    if child == 0:
        os.chdir(request["folder"])
        if request["environment"] is not None:
            os.environ.clear()
            os.environ.update(request["environment"])
        for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        exec(first_in_fork)
        option, what, *sys.argv[1:] = request["arguments"]
        status = 0
        try:
            if option == "-m":
                runpy.run_module(what, run_name="__main__", alter_sys=True)
            else:
                exec(what, {"__name__": "__main__"})
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
            if status and stop.code != status:
                print(stop.code, file=sys.stderr)
        except BaseException:
            status = 1
            sys.excepthook(*sys.exc_info())
        # As the interpreter ends, except that it takes nothing apart, which costs a second.
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=replies, flush=True)
os._exit(0)
"""

# Libraries only that read no variable which a test sets: `huggingface_hub`, `datasets` and `nltk` read theirs when they
# are imported.
LIBRARIES = """
with contextlib.suppress(ImportError):  # without torch
    import torch.utils.collect_env
    # What the harness writes down of the machine comes from pip and other processes: a second per run.
    torch.utils.collect_env.get_pretty_env_info = lambda: "not collected in tests"
for name in (
    *("aiohttp", "fsspec", "httpx", "jinja2", "multiprocess", "pandas", "pyarrow.parquet", "requests", "yaml"),
    *("scipy.stats", "sklearn.datasets", "sklearn.feature_extraction", "sklearn.svm"),  # what NLTK imports
):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""
# The harness, our tasks and what a run imports, for runs with the environment of the interpreter.
HARNESS = f"""
import lm_eval.tasks, lm_eval.utils
from lm_eval_ext.families.registry import FAMILIES
for name in (
    *("lm_eval.evaluator", "lm_eval.models.huggingface", "langdetect", "nltk", "rouge_score.rouge_scorer"),
    # What transformers imports only when a tiny model is loaded and answers.
    *("transformers.generation", "transformers.models.llama.modeling_llama"),
    *(f"lm_eval_ext.models.{{model}}" for model in ("recorded", "reference", "self_refine", "conversation")),
    *(family.task.partition(":")[0] for family in FAMILIES.values()),
):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
with contextlib.suppress(ImportError, LookupError):  # without NLTK's sentence data
    from lm_eval_ext.families.instructions.kinds import FIFTEEN
    from lm_eval_ext.families.manyifeval.prompts import TEST
    from lm_eval_ext.families.manyifeval.rows import all_rows
    # Composing them is most of what a run of manyifeval takes.
    all_rows("embedded", TEST, None, FIFTEEN)
    # Before the first text, langdetect reads what it knows of 55 languages.
    from lm_eval_ext.verifiers.detection import detect
    detect("the people of the town")
# The tests' modules cannot be imported there.
{inspect.getsource(parse_task_files_once)}
parse_task_files_once()
lm_eval.tasks.TaskManager()
"""


@dataclass(frozen=True)
class Forks:
    """A connection to an interpreter that forks.

    What depends on an interpreter's start (the autoload, the hash seed, threads) is that of this one.
    """

    requests: TextIO
    replies: TextIO

    def run(
        self, *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a script (``-c``) or a module (``-m``) as the interpreter would.

        Args:
            arguments: the interpreter's, from ``-c`` or ``-m``.
            folder: where to run.
            environment: all its variables, if not those of this interpreter; what is read when an interpreter starts,
                except ``PYTHONPATH``, does nothing.
        """
        assert arguments[0] in {"-c", "-m"}
        with TemporaryDirectory() as place:
            printed = {name: str(Path(place) / name) for name in ("stdout", "stderr")}
            variables = None if environment is None else dict(environment)
            request = {"arguments": arguments, "folder": str(folder), "environment": variables, **printed}
            print(json.dumps(request), file=self.requests, flush=True)
            status = int(self.replies.readline())
            output, errors = (Path(path).read_text(encoding="utf-8") for path in printed.values())
        return subprocess.CompletedProcess([sys.executable, *arguments], status, output, errors)


@contextmanager
def forking(
    environment: Mapping[str, str],
    interpreter: str | Path = sys.executable,
    imports: str = LIBRARIES,
    first_in_fork: str = "",
) -> Iterator[Forks]:
    """Start an interpreter with an environment, and end it.

    Args:
        environment: all its variables.
        interpreter: its path.
        imports: what it runs before it forks: ``LIBRARIES`` or ``HARNESS``.
        first_in_fork: what each fork runs first, in its own environment.
    """
    arguments = [str(interpreter), "-c", SERVER, imports, first_in_fork]
    with TemporaryDirectory(prefix="forks-") as folder:
        address = Path(folder) / "socket"
        with _started(arguments, environment, address), _connected(address) as forks:
            yield forks


@contextmanager
def sharing(
    found_in: Path, environment: Mapping[str, str], imports: str = LIBRARIES, first_in_fork: str = ""
) -> Iterator[Forks]:
    """Connect to an interpreter that several test processes share; the first to need it starts it.

    It ends when that process does not need it any more and the others are no longer connected. Whoever comes later
    starts another one.

    Args:
        found_in: the file that says where it is.
        environment: as for ``forking``.
        imports: likewise.
        first_in_fork: likewise.
    """
    arguments = [sys.executable, "-c", SERVER, imports, first_in_fork]
    lock = FileLock(f"{found_in}.lock")
    with ExitStack() as at_end:
        with lock:
            try:
                forks = at_end.enter_context(_connected(Path(found_in.read_text(encoding="utf-8"))))
            except (FileNotFoundError, ConnectionRefusedError):  # it was not started, or its test process was killed
                address = Path(at_end.enter_context(TemporaryDirectory(prefix="forks-"))) / "socket"
                at_end.enter_context(_started(arguments, environment, address))
                found_in.write_text(str(address), encoding="utf-8")
                at_end.callback(_withdraw, found_in, lock)
                forks = at_end.enter_context(_connected(address))
        yield forks


def _withdraw(found_in: Path, lock: FileLock) -> None:
    with lock:
        found_in.unlink()


@contextmanager
def _started(arguments: Sequence[str], environment: Mapping[str, str], address: Path) -> Iterator[None]:
    """Start an interpreter that accepts connections at a socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        # A connection waits until the interpreter accepts it.
        process = subprocess.Popen(
            [*arguments, str(listener.fileno())],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=2,
            pass_fds=[listener.fileno()],
        )
    with process:
        yield


@contextmanager
def _connected(address: Path) -> Iterator[Forks]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(address))
        with connection.makefile("w") as requests, connection.makefile("r") as replies:
            yield Forks(requests, replies)
