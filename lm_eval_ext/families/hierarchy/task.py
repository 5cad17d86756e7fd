"""The harness task of every leaf on conflicting instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from jinja2 import TemplateError

from lm_eval_ext.endings import MORE_ROOM
from lm_eval_ext.families.hierarchy.rows import MOST_TURNS, Arm, Row, rows, rows_hash
from lm_eval_ext.families.hierarchy.schema import ARMS, SCHEMA, SLIPPED, TURNS
from lm_eval_ext.families.hierarchy.scores import score
from lm_eval_ext.families.instructions import columns_of
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.prompts import NAME, TEST, configure_source
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.harness.engines import warn_once
from lm_eval_ext.harness.family_task import Documents, FamilyTask, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers, shows
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers.tokenization import PUNKT, require


class HierarchyTask(FamilyTask):
    """A conversation in which instructions are stated at several places, or in which one is to be followed for long.

    In addition to the harness's own keys, a leaf's YAML has:

    * ``arm``: who states what, one of ``schema.ARMS``;
    * ``turns``: with the arm ``system``, the number of requests, from 2 to ``rows.MOST_TURNS``; one if it is missing;
    * ``slipped``: with ``turns``, whether the last scripted reply breaks the instruction.

    Raises:
        ValueError: one of these keys is missing or invalid, or the run cannot show the model the conversation (the
            message names leaf and key).
        RowsError: the task prompts are not available or not valid, or too few for so many turns.
        MissingDataError: NLTK's sentence data are not installed.
    """

    FAMILY = "hierarchy"
    SCHEMA = SCHEMA
    NLTK_DATA = (PUNKT,)
    NO_DEMONSTRATIONS = "few-shot examples would be further turns, with instructions of their own; remove --num_fewshot"

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the dataset of the task prompts, which is manyifeval's, with a task that reads it."""
        return {NAME: "hierarchy_system_user"}

    # The dataset is where manyifeval has it.
    datasets_at = ManyIFEvalTask.datasets_at
    hub_datasets = ManyIFEvalTask.hub_datasets

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the arm and the number of turns from a leaf's config; see the base class."""
        task, turns = config["task"], config.pop(TURNS, None)
        name, slipped = config.pop("arm", None), config.pop(SLIPPED, False)
        if not isinstance(name, str) or name not in ARMS:
            raise ValueError(f"task {task!r}: arm {name!r}; expected one of {', '.join(ARMS)}")
        if turns is not None and not (type(turns) is int and 1 < turns <= MOST_TURNS and name == "system"):
            raise ValueError(
                f"task {task!r}: turns {turns!r} with arm {name!r}; expected a number from 2 to {MOST_TURNS} with arm "
                "system, or no turns"
            )
        if not isinstance(slipped, bool) or (slipped and turns is None):
            raise ValueError(f"task {task!r}: slipped {slipped!r}; expected true or false, and true only with turns")
        self._arm = Arm(name, turns or 1, slipped)
        refuse_rows(config, "all rows are evaluated; remove rows (--limit evaluates fewer)")
        configure_source(config, self.source, self.row_seed)
        of_turns = {} if turns is None else {TURNS: turns, SLIPPED: slipped}
        return {"dataset": NAME, "arm": name, **of_turns}

    def documents(self) -> Documents:
        """Return the rows; data that a verdict needs is checked now rather than after the last answer.

        Raises:
            RowsError: there are fewer task prompts than turns.
        """
        require(PUNKT)
        evaluated = rows(self.source, self.row_seed)
        if len(evaluated[0].others) < self._arm.earlier:
            raise RowsError(
                f"source {self.source!r}: {len(evaluated[0].others) + 1} task prompts; task {self.config.task!r} needs "
                f"one for each of its {self._arm.earlier + 1} turns"
            )
        docs: list[dict[str, Any]] = [
            {
                "key": row.key,
                "row": row.prompt_key,
                "side": row.side,
                "task_prompt": row.task_prompt,
                "prompt": self._arm.request(row),
                "pair": row.pair.name,
                "group": row.pair.group,
                **columns_of((row.own, row.rival)),
                "witness": row.answer("own"),
            }
            for row in evaluated
        ]
        hashed = rows_hash(evaluated, [doc["prompt"] for doc in docs])
        return Documents(TEST, as_dataset(docs, hashed), {"rows_hash": hashed})

    def before_requests(self) -> None:
        """Check that the run has conversations.

        Raises:
            ValueError: it has not.
        """
        if not self.asking.apply_chat_template:
            raise ValueError(f"task {self.config.task!r} needs a conversation; run with --apply_chat_template")
        if not self.asking.makes_prompts:
            # The same for every arm, most of which are run together.
            warn_once(
                "hierarchy: the server makes the prompts out of the messages, so it cannot be checked that the model "
                "is shown all of them. If requests fail with status 400, the model may not have all roles of an arm "
                "(system, user, assistant and tool)"
            )

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, **options: Any) -> Any:
        """Return the prompt of a row: its conversation, as the model's chat template renders it.

        Raises:
            ValueError: the template cannot render it, or leaves out a message, or the prompt is too long.
        """
        messages = self._arm.conversation(
            self._by_key[doc["key"]],
            self.doc_to_text(doc),
            self.system_prompt(doc),
            arguments_as_text=not self.asking.makes_prompts,
        )
        try:
            prompt = options["chat_template"](messages)
        except TemplateError as error:
            raise ValueError(self._not_shown(messages, str(error))) from error
        for message in messages:
            if not shows(prompt, message["content"]):
                raise ValueError(self._not_shown([message], "it has no such role"))
        # The harness would cut off the beginning of a prompt that is too long, and with it the system message.
        context, encode = (getattr(self.asking.lm, name, None) for name in ("max_length", "tok_encode"))
        if isinstance(prompt, str) and isinstance(context, int) and encode is not None:
            length, new = len(encode(prompt)), (self.config.generation_kwargs or {}).get("max_gen_toks", 0)
            if length + new > context:
                raise ValueError(
                    f"task {self.config.task!r}: a conversation of {length} tokens and {new} new ones do not fit into "
                    f"the model's context of {context}; run tasks with fewer turns, or {MORE_ROOM}"
                )
        return prompt

    def _not_shown(self, messages: Sequence[Mapping[str, Any]], reason: str) -> str:
        roles = ", ".join(dict.fromkeys(message["role"] for message in messages))
        return (
            f"task {self.config.task!r}: the model's chat template does not render a conversation of arm "
            f"{self._arm.name!r} with messages of {roles}: {reason}; run the other arms"
        )

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answers that obey whom each policy obeys."""
        row = self._by_key[doc["key"]]
        return {policy: partial(row.answer, follows) for policy, follows in self._arm.obeyed().items()}

    @cached_property
    def _by_key(self) -> Mapping[str, Row]:
        return {row.key: row for row in rows(self.source, self.row_seed)}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``."""
        return dict(score(doc, results))
