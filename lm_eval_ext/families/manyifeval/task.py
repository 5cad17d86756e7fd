"""The harness task of every ManyIFEval leaf."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets

from lm_eval_ext import sources
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.answers import known_answers
from lm_eval_ext.families.manyifeval.frozen import demonstration
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placed_task import PlacedTask
from lm_eval_ext.families.manyifeval.placement import Placement, placed
from lm_eval_ext.families.manyifeval.reconstruction import IFEVAL
from lm_eval_ext.families.manyifeval.request import RowInstance, Shown
from lm_eval_ext.families.manyifeval.rows import FEWSHOT, NAME, TEST, Selection, evaluated, origin, rows_hash, rows_of
from lm_eval_ext.families.manyifeval.schema import PROMPTS, SINGLE, TYPES
from lm_eval_ext.families.manyifeval.scores import score
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.harness.family_task import Documents
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.self_refine import metrics as refinement
from lm_eval_ext.self_refine.loop import Refined
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instructions_of, sentences
from lm_eval_ext.verifiers.ifeval.language import CapitalWordFrequency
from lm_eval_ext.verifiers.ifeval.length import NumberSentences

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

SPLIT_BY_NLTK = (NumberSentences, CapitalWordFrequency)
"""The instructions whose verdicts may need NLTK's sentence data."""


class ManyIFEvalTask(PlacedTask):
    """A task prompt with n verifiable instructions (Curse of Instructions, 2024).

    In addition to the harness's own keys, a leaf's YAML has:

    * ``instructions``: n, from 1 to 10;
    * ``repeat``: whether the first instruction is repeated n times instead of using the first n (appendix C);
    * ``single``: whether each of a task prompt's instructions has a row of its own, with n = 1 (section 3.1, Table 4).

    ``keys`` in ``--metadata`` selects task prompts: a list of their keys, or the name of a JSON file with such a list.

    Raises:
        ValueError: one of these keys is missing or invalid (the message names leaf and key).
        RowsError: the rows are not available or not valid.
        MissingDataError: a row needs NLTK's sentence data, which is not installed.
    """

    TAKES = ("row_seed", PLACEMENT, "keys")
    # In the first, other types and arguments were dealt to the rows of a seed.
    ROW_SEED_EDITION = 2

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the only dataset, with a task that reads all of it."""
        return {NAME: "manyifeval_n10"}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the dataset if a folder has its files, or if a file of rows has no multiple-choice options."""
        file = Path(source).expanduser()
        if file.is_file():
            return [NAME] if file.suffix in sources.SUFFIXES and "options" not in sources.columns_in(file) else []
        starts = ("manyifeval_", "ifeval_")
        there = any(name.startswith(starts) for name in sources.file_names(source))
        return [NAME] if there or source == sources.EMBEDDED else []

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the location of the task prompts."""
        return [IFEVAL]

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the number of instructions from a leaf's config; see the base class."""
        task = config["task"]
        self._selection = Selection(
            self.source,
            _number_of_instructions(task, config.pop("instructions", None)),
            _true_or_false(task, "repeat", config.pop("repeat", False)),
            _true_or_false(task, "single", config.pop("single", False)),
            _keys(task, config["metadata"].get("keys")),
            self.row_seed,
        )
        if self._selection.single and (self._selection.count > 1 or self._selection.repeat):
            raise ValueError(f"task {task!r}: single, but not with instructions: 1 and repeat: false; expected both")
        refuse_rows(config, "all rows of their source are evaluated; remove rows (--limit evaluates fewer)")
        config["metadata"]["rows_origin"] = origin(self.source, self.row_seed)
        self.place(config)
        config["test_split"] = TEST
        self.has = (PROMPTS, TYPES)
        if self.source != sources.HUB or self.row_seed is not None:
            config["dataset_path"] = NAME
        chosen = self._selection
        return {
            "dataset": NAME,
            "instructions": chosen.count,
            "repeat": chosen.repeat,
            SINGLE: chosen.single,
        }

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer."""
        self.require_data()
        dataset = _as_dataset(self._selection, self.placement)
        return Documents(TEST, dataset, {"rows_hash": rows_hash(self._selection)})

    def require_data(self) -> None:
        """Check that the data are installed that the verdicts need.

        Raises:
            MissingDataError: they are not.
        """
        require_data(evaluated(self._selection))

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return the first ``n`` few-shot task prompts with the same number of instructions and generated answers.

        Raises:
            RowsError: there are fewer than ``n``.
        """
        return [document(row, self.placement) for row in demonstrated(self._selection, n)]

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return answers that follow all instructions, all but one, or none of them."""
        return known_answers(self._row(doc), self.placement)

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the request with its row, from which any further questions can be built."""
        shown = Shown(self.system_prompt(doc), self.asking.apply_chat_template, self.placement)
        return [RowInstance.of(request, self.known_answers(doc), row=self._row(doc), shown=shown)]

    def _row(self, doc: dict[str, Any]) -> InstructionRow:
        return _by_prompt(self._selection)[doc["key"], doc["prompt"]]

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``. Only refined answers have those of refinement."""
        return score(doc, results, self.has) | _of_refinement(doc, results)

    def unscored(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the rounds of a refined answer: ``--predict_only`` needs no metrics, but all answers."""
        return {name: value for name, value in _of_refinement(doc, results).items() if name == "rounds"}


def _of_refinement(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Return the metrics of a row's refinement; empty if its answer was not refined."""
    if not isinstance(results[0], Refined):
        return {}
    return refinement.scores(results[0], instructions_of(doc["instruction_id_list"], doc["kwargs"]))


def demonstrated(selection: Selection, n: int) -> Iterator[InstructionRow]:
    """Yield the first ``n`` few-shot rows of a selection, each with an answer.

    Raises:
        RowsError: there are fewer than ``n``.
    """
    found = rows_of(selection, FEWSHOT)
    if n > len(found) or not all(row.witness for row in found):
        raise RowsError(
            f"source {selection.source!r}: --num_fewshot {n} asks for more few-shot examples than the "
            f"{sum(bool(row.witness) for row in found)} task prompts with a known answer in the {FEWSHOT} split"
        )
    for row in found[:n]:
        known = demonstration("wide" if selection.wide else "fifteen", row) if selection.row_seed is None else None
        # Not the row's own witness: it follows all ten instructions, even those that the prompt does not ask for.
        # In the larger pool, it may be that only this one is known.
        yield replace(row, witness=known or respond(row.instructions) or row.witness)


def _number_of_instructions(task: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= INSTRUCTIONS:
        raise ValueError(f"task {task!r}: instructions must be a number from 1 to {INSTRUCTIONS}, found {count!r}")
    return count


def _true_or_false(task: str, key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"task {task!r}: {key} must be true or false, found {value!r}")
    return value


def _keys(task: str, given: object) -> tuple[int | str, ...] | None:
    """Return the keys of the task prompts to evaluate; ``None`` if none are given.

    Args:
        task: the leaf's name, for messages.
        given: a list of keys, or the name of a JSON file that contains one.

    Raises:
        ValueError: it is neither, the file cannot be read, or a key is given twice.
    """
    expected = "expected a list of the task prompts' keys, or the name of a JSON file with such a list"
    if given is None:
        return None
    keys, where = given, "keys"
    if isinstance(given, str):
        where = f"keys in {given}"
        try:
            keys = json.loads(Path(given).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"task {task!r}: {where} cannot be read ({error}); {expected}") from error
    if not isinstance(keys, list) or not keys or not all(type(key) in (int, str) for key in keys):
        raise ValueError(f"task {task!r}: {where}: {str(keys)[:80]}; {expected}")
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        raise ValueError(f"task {task!r}: {where}: {twice[0]!r} is there more than once; {expected}")
    return tuple(keys)


def require_data(rows: Iterable[InstructionRow]) -> None:
    """Check that the data are installed that the verdicts on rows need.

    Raises:
        MissingDataError: they are not.
    """
    if any(isinstance(instruction, SPLIT_BY_NLTK) for row in rows for instruction in row.instructions):
        sentences.require()


def document(row: InstructionRow, placement: Placement) -> dict[str, Any]:
    """Return a row as the harness's document."""
    return {
        "key": row.key,
        "task_prompt": row.task_prompt,
        "prompt": row.prompt,
        "instruction_id_list": [instruction.id for instruction in row.instructions],
        "kwargs": [instruction.arguments() for instruction in row.instructions],
        "witness": row.witness,
        **placed(placement, row.task_prompt, row.prompt),
    }


@cache
def _by_prompt(selection: Selection) -> dict[tuple[int | str, str], InstructionRow]:
    # Of a task prompt with single instructions, there are several rows.
    return {(row.key, row.prompt): row for row in evaluated(selection)}


@cache
def _as_dataset(selection: Selection, placement: Placement) -> datasets.Dataset:
    return datasets.Dataset.from_list([document(row, placement) for row in evaluated(selection)])
