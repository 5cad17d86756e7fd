"""An environment of Prime Intellect's ``verifiers``: prompts with verifiable instructions, rewarded by the checkers.

The library finds a taskset by the name of a top-level module that exports it, so an environment is a module with one
import (``docs/integrations.md``). Not called ``verifiers``, like the library; and in a checkout of this project, whose
folder ``verifiers/`` would hide the library, an environment must be started from another folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import verifiers.v1 as vf  # noqa: TID251 # the library, not this project's folder
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"this needs Prime Intellect's verifiers ({error}): pip install 'lm-eval-ext[prime]', and start in a folder "
        "that has no verifiers/ of its own, which would hide it"
    ) from error

from lm_eval_ext.integrations.rows import Judging, RowError, naming, refuse_tests, row_columns, row_instructions
from lm_eval_ext.verifiers import Edition, Verdict
from lm_eval_ext.verifiers.tokenization import require_for

__all__ = ["InstructionTaskset"]


class InstructionData(vf.TaskData):
    """A prompt and its instructions, in IFEval's columns."""

    instruction_id_list: list[str]
    kwargs: list[dict[str, Any] | None]


class InstructionTaskConfig(vf.TaskConfig):
    """How a reply is judged, as in ``verify``: ``--env.taskset.task.loose true``."""

    edition: Edition = "faithful"
    loose: bool = False
    strip_reasoning: bool = True


class InstructionTask(vf.Task[InstructionData, vf.State, InstructionTaskConfig]):
    """The rubric: two rewards, of which the dense one counts unless the weights are set otherwise.

    ``--env.taskset.task.rewards.all_followed.weight 1`` and ``….share_followed.weight 0`` reward all or nothing.
    """

    @vf.reward(weight=1.0)
    async def share_followed(self, trace: vf.Trace) -> float:
        """Return the share of the instructions that the model's last reply follows."""
        return self.verdict(trace).share

    @vf.reward(weight=0.0)
    async def all_followed(self, trace: vf.Trace) -> float:
        """Return 1 if the model's last reply follows all instructions, else 0."""
        return float(self.verdict(trace).follow_all_instructions)

    def verdict(self, trace: vf.Trace) -> Verdict:
        """Return which instructions the model's last reply follows; without a reply, none."""
        replies = [message.content or "" for message in trace.assistant_messages]
        # Not trace.last_reply, which is stripped.
        reply = trace.root_reply if trace.root_reply is not None else "".join(replies[-1:])
        where = f"task {self.data.idx}"
        row = {"instruction_id_list": self.data.instruction_id_list, "kwargs": self.data.kwargs}
        instructions = row_instructions(row, where)
        judging = Judging(self.config.edition, self.config.strip_reasoning)
        with naming(where):
            return judging.answer(reply).follows(instructions, judging.edition, self.config.loose)


class InstructionTasksetConfig(vf.TasksetConfig):
    """Which prompts there are: ``--env.taskset.rows prompts.jsonl``."""

    rows: Path = Path("prompts.jsonl")
    """A file of rows as IFEval's, one JSON object per line: ``prompt``, ``instruction_id_list``, ``kwargs``."""
    allow_test_instructions: bool = False
    """Whether rows may have IFBench's instructions, which are meant for tests."""
    task: InstructionTaskConfig = InstructionTaskConfig()


class InstructionTaskset(vf.Taskset[InstructionTask, InstructionTasksetConfig]):
    """The prompts of a file."""

    def load(self) -> Iterator[InstructionTask]:
        """Yield a task per row.

        Raises:
            RowError: a row is malformed or has an instruction for tests; the message gives the file and the line.
            MissingDataError: a row's verdicts need data of NLTK that are not installed.
        """
        for number, line in enumerate(self.config.rows.read_text(encoding="utf-8").split("\n"), start=1):
            if not line.strip():
                continue
            where = f"{self.config.rows}, line {number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise RowError(f"{where}: not JSON: {error}") from error
            if not isinstance(row, dict) or not isinstance(row.get("prompt"), str):
                raise RowError(f"{where}: expected an object with a 'prompt' that is text, found {line[:80]!r}")
            instructions = row_instructions(row, where)
            refuse_tests(instructions, where, self.config.allow_test_instructions)
            require_for(instruction.id for instruction in instructions)
            data = InstructionData(prompt=row["prompt"], **row_columns(row, where))
            yield InstructionTask(data, self.config.task)
