"""The harness tasks on conversations, which ``--model conversation`` plays."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from lm_eval_ext import sources
from lm_eval_ext.families.conversation.multi_if import HUB, TRAIN, expects_thai, published_rows
from lm_eval_ext.families.conversation.rows import POLICIES, Row, composed_rows, document, rows_hash
from lm_eval_ext.families.conversation.schema import ADDING, MOST_TURNS, MULTI_IF, SCHEMA, STEPS, TURNS, in_turn
from lm_eval_ext.families.conversation.scores import score
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.prompts import NAME, TEST, configure_source
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.harness.family_task import Documents, FamilyTask, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers, TurnsInstance, with_floors
from lm_eval_ext.verifiers.multi_if import thai
from lm_eval_ext.verifiers.tokenization import PUNKT, require

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance


log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""
NO_SEED = "the rows are published ones; remove row_seed from --metadata"


class ConversationTask(FamilyTask):
    """A prompt with instructions; each further message adds one, and those of ``manyifeval_turns`` may withdraw one.

    In addition to the harness's own keys, a leaf's YAML has ``benchmark: multi_if`` if the rows are Multi-IF's.

    Raises:
        ValueError: the LM does not play conversations.
        RowsError: the rows are not available or not valid, or have fewer instructions.
        MissingDataError: NLTK's sentence data are not installed.
        MissingThaiError: rows ask for Thai answers, and what divides them is not installed.
    """

    FAMILY = "conversation"
    SCHEMA = SCHEMA
    NLTK_DATA = (PUNKT,)
    NO_DEMONSTRATIONS = "few-shot examples would be further turns, with instructions of their own; remove --num_fewshot"
    ROW_SEED_VERSION = ManyIFEvalTask.ROW_SEED_VERSION

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the dataset of the task prompts, which is manyifeval's, and Multi-IF's, each with a task."""
        return {NAME: "manyifeval_turns", MULTI_IF: MULTI_IF}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the datasets that are there, manyifeval's where that family has it; see the base class."""
        multi_if = [MULTI_IF] if sources.has_split(MULTI_IF, TRAIN, source) else []
        return [*ManyIFEvalTask.datasets_at(source), *multi_if]

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the locations of both datasets."""
        return [*ManyIFEvalTask.hub_datasets(), HUB]

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Add what the harness needs to a leaf's config; see the base class."""
        refuse_rows(config)
        benchmark = config.pop("benchmark", NAME)
        if benchmark not in (NAME, MULTI_IF):
            raise ValueError(f"task {config['task']!r}: benchmark must be {NAME} or {MULTI_IF}, found {benchmark!r}")
        # Another attribute than the dataset of lm-eval 0.5's tasks.
        self._row_set, turns = benchmark, STEPS if benchmark == MULTI_IF else MOST_TURNS
        self.has = {*map(in_turn, range(1, turns + 1)), ADDING}
        if benchmark == MULTI_IF:
            if self.row_seed is not None:
                raise ValueError(f"task {config['task']!r}: row_seed {self.row_seed!r}; {NO_SEED}")
            self.has = {*self.has, MULTI_IF, *(row.language for row in self.rows)} - {ADDING}
            config["test_split"] = TEST
            if self.source != sources.HUB:
                config["dataset_path"] = MULTI_IF
        else:
            configure_source(config, self.source, self.row_seed)
        return {"dataset": benchmark, TURNS: turns}

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""
        published = self._row_set == MULTI_IF
        return published_rows(self.source) if published else composed_rows(self.source, self.row_seed)

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer."""
        require(PUNKT)
        if any(map(expects_thai, self.rows)):
            thai()
        facts: dict[str, Any] = {"rows_hash": rows_hash(self.rows)}
        if impossible := [row.key for row in self.rows if any(row.contradictions)]:
            facts["rows_contradictory"] = len(impossible)
            message = "%s: rows that ask in some turn for what no answer can do: %d, which count as published: %s"
            log.warning(message, self.config.task, len(impossible), ", ".join(map(str, impossible)))
        docs = [document(row) for row in self.rows]
        return Documents(TEST, as_dataset(docs, facts["rows_hash"]), facts)

    def before_requests(self) -> None:
        """Reject an LM that would answer the first message only."""
        self.require_turns("goes on after the model's own answers")

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answers of each policy in all turns."""
        return {policy: partial(self._by_key[doc["key"]].conversation, policy) for policy in POLICIES}

    @cached_property
    def _by_key(self) -> Mapping[int | str, Row]:
        return {row.key: row for row in self.rows}

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the request with all messages.

        The further ones are among its arguments, by which a cache of responses tells it from another conversation.
        """
        row = self._by_key[doc["key"]]
        first, *then = (
            with_floors({policy: partial(row.answer, policy, turn) for policy in POLICIES}, message)
            for turn, message in enumerate(row.messages)
        )
        further = json.dumps(row.messages[1:], ensure_ascii=False)
        given = {"messages": row.messages, "system": self.system_prompt(doc), "then": then}
        return [TurnsInstance.of(request, first, arguments=(*request.arguments, further), **given)]

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``."""
        return {name: value for name, value in score(doc, results).items() if name in self.metrics}

    def unscored(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the answers of all turns: ``--predict_only`` needs no metrics, but all answers."""
        return {TURNS: score(doc, results)[TURNS]}
