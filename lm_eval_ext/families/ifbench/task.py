"""The harness task of all leaves, its requests with the second message, and the ``reference`` LM's answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lm_eval_ext import sources
from lm_eval_ext.families.ifbench.rows import (
    HUB,
    IFEVAL,
    ONE_TURN,
    TEST,
    TWO_TURNS,
    IFBenchRow,
    has_rows,
    published_rows,
    repaired_rows,
    rows_hash,
)
from lm_eval_ext.families.ifbench.schema import ANSWERS, GROUPS, SCHEMA
from lm_eval_ext.families.ifbench.schema import TWO_TURNS as HAS_TWO_TURNS
from lm_eval_ext.families.ifbench.scores import score
from lm_eval_ext.families.ifbench.witnesses import respond
from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.instructions.writer import break_one
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.harness.family_task import Documents, FamilyTask, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance, TurnsInstance, with_floors
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import instructions_of
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, PUNKT, Data, require

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance


log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""
DATASETS: Mapping[str, Mapping[int, str]] = {"ifbench": {1: ONE_TURN, 2: TWO_TURNS}, "ifeval": {1: IFEVAL}}
"""By benchmark, the dataset for each number of turns."""
POLICIES = ("oracle", "drop_one", "ignore")
"""``oracle`` follows every instruction (if they exclude each other: all but one), ``drop_one`` all but one, ``ignore``
none."""


class IFBenchTask(FamilyTask):
    """A prompt with verifiable instructions, or a prompt and then the instructions (IFBench, 2025; IFEval, 2023).

    In addition to the harness's own keys, a leaf's YAML has

    * ``turns``: 1 if the prompt contains the instructions, 2 if they follow in a second message, after the model's own
      answer. Two turns need ``--model conversation``.
    * ``benchmark``: whose rows they are, ``ifbench`` (if absent) or ``ifeval``.
    * ``repaired``: whether rows that the table of repairs names are corrected or left out; false if absent.

    Raises:
        ValueError: a key is missing or invalid, or the LM cannot take two turns; the message names the leaf.
        RowsError: the rows are not available or not valid.
        MissingDataError: NLTK data that verdicts need are not installed.
    """

    FAMILY = "ifbench"
    SCHEMA = SCHEMA
    TAKES = ()
    NO_DEMONSTRATIONS = "IFBench and IFEval are zero-shot: no row has an answer to demonstrate; remove --num_fewshot"

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the datasets by name, each with the task on its rows as published."""
        return {ONE_TURN: "ifbench", TWO_TURNS: "ifbench_two_turns", IFEVAL: "ifeval_published"}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the datasets whose file a folder contains; a single file could be of any family."""
        return [name for name in cls.datasets() if has_rows(source, name)]

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the locations of all datasets."""
        return list(HUB.values())

    @classmethod
    def nltk_data(cls, config: Mapping[str, Any]) -> Sequence[Data]:
        """Return the data that verdicts on the benchmark's rows need."""
        return (PUNKT,) if config.get("benchmark") == "ifeval" else NLTK_DATA

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the keys of the family from a leaf's config; see the base class."""
        task, turns = config["task"], config.pop("turns", None)
        benchmark, self._repaired = config.pop("benchmark", "ifbench"), config.pop("repaired", False)
        if not isinstance(benchmark, str) or benchmark not in DATASETS:
            raise ValueError(f"task {task!r}: benchmark must be {' or '.join(DATASETS)}, found {benchmark!r}")
        if type(turns) is not int or turns not in DATASETS[benchmark]:
            expected = " or ".join(map(str, DATASETS[benchmark]))
            raise ValueError(f"task {task!r}: turns must be {expected}, found {turns!r}")
        if type(self._repaired) is not bool or (self._repaired and turns > 1):
            raise ValueError(
                f"task {task!r}: repaired must be true or false, and false with two turns, found {self._repaired!r}"
            )
        refuse_rows(config)
        # Another attribute than the dataset of lm-eval 0.5's tasks.
        self._turns, self._row_set = turns, DATASETS[benchmark][turns]
        config["test_split"] = TEST
        self.has = (HAS_TWO_TURNS,) * (turns > 1) + (GROUPS,) * (benchmark == "ifbench")
        if self.source != sources.HUB:
            config["dataset_path"] = self._row_set
            config.pop("dataset_name", None)
        return {"dataset": self._row_set, "benchmark": benchmark, "turns": turns, "repaired": self._repaired}

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer."""
        require(*(NLTK_DATA if GROUPS in self.has else (PUNKT,)))
        chosen = (repaired_rows if self._repaired else published_rows)(self.source, self._row_set)
        facts: dict[str, Any] = {"rows_hash": rows_hash(chosen.rows)}
        if self._repaired:
            facts |= {"rows_corrected": chosen.corrected, "rows_left_out": chosen.left_out}
            message = "%s: rows with corrected arguments: %d; rows left out: %d (why: docs/appendix/repaired-rows.md)"
            log.info(message, self.config.task, chosen.corrected, chosen.left_out)
            if chosen.unlike and self.source != sources.EMBEDDED:
                message = "%s: kept as they are, because they are not the rows that the table of repairs is about: %s"
                log.warning(message, self.config.task, ", ".join(map(str, chosen.unlike)))
        elif chosen.left_out:
            facts["rows_left_out"] = chosen.left_out
            message = "%s: rows left out: %d; an argument of their instructions is null in the data"
            log.warning(message, self.config.task, chosen.left_out)
        return Documents(TEST, as_dataset(list(map(document, chosen.rows)), facts["rows_hash"]), facts)

    def before_requests(self) -> None:
        """Reject an LM that would take the first of two turns only.

        Raises:
            ValueError: the LM would.
        """
        if self._turns > 1:
            self.require_turns("asks for the instructions in a second message, after the model's own answer")

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return answers that follow all instructions, all but one, or none of them."""
        return known_answers(row_of(doc))

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the request; with two turns, it carries the second message."""
        if self._turns == 1:
            return [KnownInstance.of(request, self.known_answers(doc))]
        row, then = row_of(doc), with_floors(self.known_answers(doc), doc["second"])
        messages, system = (row.prompt, row.second), self.system_prompt(doc)
        return [TurnsInstance.of(request, first_answers(row), messages=messages, system=system, then=(then,))]

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``.

        Raises:
            ValueError: the second of two turns is missing.
        """
        if self._turns > 1 and not isinstance(results[0], Turns):
            raise ValueError(
                f"task {self.config.task!r}: a response without its first answer; expected the unfiltered responses of "
                "--model conversation"
            )
        return {name: value for name, value in score(doc, results).items() if name in self.metrics}

    def unscored(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the answers of both turns: ``--predict_only`` needs no metrics, but all answers."""
        return {ANSWERS: score(doc, results)[ANSWERS]} if isinstance(results[0], Turns) else {}


def document(row: IFBenchRow) -> dict[str, Any]:
    """Return a row as the harness's document."""
    return {
        "key": row.key,
        "prompt": row.prompt,
        **({"second": row.second} if row.second else {}),
        **columns_of(row.instructions),
        "witness": respond(row.instructions) or "",
    }


def row_of(doc: Mapping[str, Any]) -> IFBenchRow:
    """Return the row of a document; the inverse of ``document``."""
    instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
    return IFBenchRow(doc["key"], doc["prompt"], instructions, doc.get("second", ""))


def known_answers(row: IFBenchRow) -> KnownAnswers:
    """Return the answers to a row; after two turns, the first answer ignores the instructions."""
    return {policy: partial(_last, row, policy) for policy in POLICIES}


def first_answers(row: IFBenchRow) -> KnownAnswers:
    """Return the answers to the first of two messages, which does not contain the instructions: they follow none."""
    return dict.fromkeys(POLICIES, partial(_answer, row, "ignore"))


def _last(row: IFBenchRow, policy: str) -> str | None:
    last = _answer(row, policy)
    if last is None or not row.second:
        return last
    first = _answer(row, "ignore")
    return None if first is None else Turns(first, last)


def _answer(row: IFBenchRow, policy: str) -> str | None:
    if policy == "ignore":
        return respond(row.instructions, range(len(row.instructions)))
    # Of the published rows, one asks for an option of two words, and for each word on a new line.
    return (policy == "oracle" and respond(row.instructions)) or break_one(row.instructions, respond)
