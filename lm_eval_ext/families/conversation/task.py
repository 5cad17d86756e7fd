"""The harness tasks on conversations, which ``--model conversation`` plays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import datasets

from lm_eval_ext import sources
from lm_eval_ext.families.conversation.rows import POLICIES, Row, composed_rows, document, rows_hash
from lm_eval_ext.families.conversation.schema import MOST_TURNS, SCHEMA, TURNS
from lm_eval_ext.families.conversation.scores import score
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.rows import NAME, TEST, origin
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.harness.family_task import Documents, FamilyTask
from lm_eval_ext.harness.requests import KnownAnswers, LazyAnswers, TurnsInstance, with_floors
from lm_eval_ext.verifiers.tokenization import PUNKT, Data, require

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance


class ConversationTask(FamilyTask):
    """A task prompt with one instruction; each further message adds one, and some withdraw one (``manyifeval_turns``).

    Raises:
        ValueError: the LM does not play conversations.
        RowsError: the rows are not available or not valid, or have fewer instructions.
        MissingDataError: NLTK's sentence data are not installed.
    """

    FAMILY = "conversation"
    SCHEMA = SCHEMA
    NO_DEMONSTRATIONS = "few-shot examples would be further turns, with instructions of their own; remove --num_fewshot"
    ROW_SEED_VERSION = ManyIFEvalTask.ROW_SEED_VERSION

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the dataset of the task prompts, which is manyifeval's, with a task that reads it."""
        return {NAME: "manyifeval_turns"}

    # The dataset is where manyifeval has it.
    datasets_at = ManyIFEvalTask.datasets_at
    hub_datasets = ManyIFEvalTask.hub_datasets

    @classmethod
    def nltk_data(cls, _config: Mapping[str, Any]) -> Sequence[Data]:
        """Return the data that verdicts need."""
        return (PUNKT,)

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Add what the harness needs to a leaf's config; see the base class."""
        refuse_rows(config, "all rows of their source are evaluated; remove rows (--limit evaluates fewer)")
        config["metadata"]["rows_origin"] = origin(self.source, self.row_seed)
        config["test_split"] = TEST
        if self.source != sources.HUB or self.row_seed is not None:
            config["dataset_path"] = NAME
        return {"dataset": NAME, TURNS: MOST_TURNS}

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""
        return composed_rows(self.source, self.row_seed)

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer."""
        require(PUNKT)
        docs = datasets.Dataset.from_list([document(row) for row in self.rows])
        return Documents(TEST, docs, {"rows_hash": rows_hash(self.rows)})

    def before_requests(self) -> None:
        """Reject an LM that would answer the first message only."""
        self.require_turns("goes on after the model's own answers")

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answers of each policy in all turns."""
        return self._known({policy: partial(self._row(doc).conversation, policy) for policy in POLICIES}, doc)

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the request with all messages.

        The further ones are among its arguments, by which a cache of responses tells it from another conversation.
        """
        row = self._row(doc)
        first, *then = (
            with_floors(self._known({policy: partial(row.answer, policy, turn) for policy in POLICIES}, doc), message)
            for turn, message in enumerate(row.messages)
        )
        further = json.dumps(row.messages[1:], ensure_ascii=False)
        given = {"messages": row.messages, "system": self.system_prompt(doc), "then": then}
        return [TurnsInstance.of(request, first, arguments=(*request.arguments, further), **given)]

    def _known(self, answers: Mapping[str, Any], doc: Mapping[str, Any]) -> LazyAnswers:
        return LazyAnswers(answers, f"conversation, key {doc['key']!r}")

    def _row(self, doc: Mapping[str, Any]) -> Row:
        return self._by_messages[doc["key"], tuple(doc["messages"])]

    @cached_property
    def _by_messages(self) -> Mapping[tuple[int | str, tuple[str, ...]], Row]:
        return {(row.key, row.messages): row for row in self.rows}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``."""
        return dict(score(doc, results))

    def unscored(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the answers of all turns: ``--predict_only`` needs no metrics, but all answers."""
        return {TURNS: score(doc, results)[TURNS]}
