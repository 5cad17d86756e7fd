"""The harness tasks of task prompts with instructions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lm_eval_ext import sources
from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS
from lm_eval_ext.families.instructions.kinds import FIFTEEN, LARGER_POOL, Pool
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.answers import RowInstance, known_answers
from lm_eval_ext.families.manyifeval.placement import PlacedTask, placed
from lm_eval_ext.families.manyifeval.prompts import IFEVAL, NAME, TEST, configure_source
from lm_eval_ext.families.manyifeval.rows import InstructionRow, Selection, demonstrated, evaluated, rows_hash
from lm_eval_ext.families.manyifeval.schema import (
    PROMPTS,
    SINGLE,
    TYPES,
    WIDE,
    Placement,
)
from lm_eval_ext.families.manyifeval.scores import score
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.harness.family_task import Documents, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.self_refine import metrics as refinement
from lm_eval_ext.self_refine.loop import Refined
from lm_eval_ext.verifiers import instructions_of
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, PUNKT, Data, require, require_for

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance


class ManyIFEvalTask(PlacedTask):
    """A task prompt with n verifiable instructions (Curse of Instructions, 2024).

    In addition to the harness's own keys, a leaf's YAML has:

    * ``instructions``: n, from 1 to 10;
    * ``repeat``: whether the first instruction is repeated n times instead of using the first n (appendix C);
    * ``single``: whether each of a task prompt's instructions has a row of its own, with n = 1 (section 3.1, Table 4).

    ``keys`` in ``--metadata`` selects task prompts: a list of their keys, or the name of a JSON file with such a list.

    Raises:
        ValueError: a key is missing or invalid (the message names leaf and key).
        RowsError: the rows are not available or not valid.
        MissingDataError: a row needs NLTK's sentence data, which is not installed.
    """

    TAKES = ("row_seed", PLACEMENT, "keys")
    # In the first, other types and arguments were dealt to the rows of a seed.
    ROW_SEED_VERSION = 2
    POOL: ClassVar[Pool] = FIFTEEN
    """The types of the instructions, unless the rows are finished."""

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
        has_file = any(name.startswith(starts) for name in sources.file_names(source))
        return [NAME] if has_file or source == sources.EMBEDDED else []

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the location of the task prompts."""
        return [IFEVAL]

    @classmethod
    def nltk_data(cls, config: Mapping[str, Any]) -> Sequence[Data]:
        """Return the data that our rows need; what a user's own rows need is known only when they are read."""
        metadata = config["metadata"]
        are_ours = metadata.get("source", sources.HUB) in (sources.HUB, sources.EMBEDDED) and "keys" not in metadata
        return (PUNKT,) if are_ours else ()

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the number of instructions from a leaf's config; see the base class."""
        task, count = config["task"], config.pop("instructions", None)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= INSTRUCTIONS:
            raise ValueError(f"task {task!r}: instructions must be a number from 1 to {INSTRUCTIONS}, found {count!r}")
        repeat, single = (config.pop(key, False) for key in ("repeat", "single"))
        for key, value in (("repeat", repeat), ("single", single)):
            if not isinstance(value, bool):
                raise ValueError(f"task {task!r}: {key} must be true or false, found {value!r}")
        if single and (count > 1 or repeat):
            raise ValueError(f"task {task!r}: single, but not with instructions: 1 and repeat: false; expected both")
        is_wide = self.POOL is LARGER_POOL
        if is_wide and (repeat or single):
            raise ValueError(f"task {task!r}: repeat or single is set; expected neither")
        keys = _keys(task, config["metadata"].get("keys"))
        self._selection = Selection(self.source, count, repeat, single, keys, self.row_seed, self.POOL)
        refuse_rows(config)
        configure_source(config, self.source, self.row_seed)
        self.place(config)
        self.has = (PROMPTS,) if is_wide else (PROMPTS, TYPES)
        rows_of = {WIDE: True} if is_wide else {SINGLE: single}
        return {"dataset": NAME, "instructions": count, "repeat": repeat, **rows_of}

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer."""
        self.require_data()
        hashed = rows_hash(self.evaluated_rows())
        return Documents(TEST, as_dataset(self.docs(), hashed), {"rows_hash": hashed})

    def docs(self) -> list[dict[str, Any]]:
        """Return the rows as the harness's documents."""
        return [document(row, self.placement) for row in self.evaluated_rows()]

    def require_data(self) -> None:
        """Check that the data are installed that the verdicts need.

        Raises:
            MissingDataError: data are not installed.
        """
        require_for(instruction.id for row in self.evaluated_rows() for instruction in row.instructions)

    def evaluated_rows(self) -> Sequence[InstructionRow]:
        """Return the rows that the documents show."""
        return evaluated(self._selection)

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return the first ``n`` few-shot task prompts with the same number of instructions and generated answers.

        Raises:
            RowsError: there are fewer than ``n``.
        """
        return [document(row, self.placement) for row in demonstrated(self._selection, n)]

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return answers that follow all instructions, all but one, or none of them."""
        return known_answers(row_of(doc), self.placement)

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the request with its row, from which any further questions can be built."""
        row = row_of(doc)
        shown = {"system": self.system_prompt(doc), "chat": self.asking.apply_chat_template}
        return [RowInstance.of(request, self.known_answers(doc), row=row, placement=self.placement, **shown)]

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``. Only refined answers have those of refinement."""
        return score(doc, results, self.has) | _refinement_scores(doc, results)

    def unscored(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the rounds of a refined answer: ``--predict_only`` needs no metrics, but all answers."""
        return {name: value for name, value in _refinement_scores(doc, results).items() if name == "rounds"}


def _refinement_scores(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Return the metrics of a row's refinement; empty if its answer was not refined."""
    if not isinstance(results[0], Refined):
        return {}
    return refinement.scores(results[0], instructions_of(doc["instruction_id_list"], doc["kwargs"]))


class WideTask(ManyIFEvalTask):
    """A task prompt with n instructions of the larger pool. A leaf has ``instructions``.

    Raises:
        RowsError: the rows of the source are finished.
        MissingDataError: NLTK data that verdicts need are not installed.
    """

    POOL = LARGER_POOL
    # Apart from that of the fifteen, whose rows do not change when the larger pool gets a type. Changed with them once.
    ROW_SEED_VERSION = 2

    @classmethod
    def nltk_data(cls, _config: Mapping[str, Any]) -> Sequence[Data]:
        """Return all data that any verdict of the pool may need; drawing the rows needs them, too."""
        return NLTK_DATA

    def require_data(self) -> None:
        """Check for the data of the whole pool, whatever the rows have."""
        require(*NLTK_DATA)


def _keys(task: str, setting: object) -> tuple[int | str, ...] | None:
    """Return the keys of the task prompts to evaluate; ``None`` if none are given.

    Args:
        task: the leaf's name, for messages.
        setting: a list of keys, or the name of a JSON file that contains one.

    Raises:
        ValueError: the value is neither, the file cannot be read, or a key is given twice.
    """
    expected = "expected a list of the task prompts' keys, or the name of a JSON file with such a list"
    if setting is None:
        return None
    keys, where = setting, "keys"
    if isinstance(setting, str):
        where = f"keys in {setting}"
        try:
            keys = json.loads(Path(setting).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"task {task!r}: {where} cannot be read ({error}); {expected}") from error
    if not isinstance(keys, list) or not keys or not all(type(key) in (int, str) for key in keys):
        raise ValueError(f"task {task!r}: {where}: {str(keys)[:80]}; {expected}")
    repeated = [key for key, count in Counter(keys).items() if count > 1]
    if repeated:
        raise ValueError(f"task {task!r}: {where}: {repeated[0]!r} is there more than once; {expected}")
    return tuple(keys)


def document(row: InstructionRow, placement: Placement) -> dict[str, Any]:
    """Return a row as the harness's document."""
    return {
        "key": row.key,
        "task_prompt": row.task_prompt,
        "prompt": row.prompt,
        **columns_of(row.instructions),
        "witness": row.witness,
        **placed(placement, row.task_prompt, row.prompt),
    }


def row_of(doc: Mapping[str, Any]) -> InstructionRow:
    """Return the row of a document; the inverse of ``document``."""
    instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
    return InstructionRow(doc["key"], doc["task_prompt"], doc["prompt"], instructions, doc["witness"])
