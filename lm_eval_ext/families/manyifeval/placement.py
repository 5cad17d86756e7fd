"""Where a conversation states the instructions, which the reports of ``dense`` have in common with all other tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from lm_eval_ext.families.manyifeval.schema import PLACEMENTS, PUBLISHED, SCHEMA, Placement
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.harness.family_task import FamilyTask
from lm_eval_ext.harness.requests import shows
from lm_eval_ext.metadata import mark_version
from lm_eval_ext.sources import RowsError

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""
NEED_MESSAGES: tuple[Placement, ...] = ("system", "earlier_turn")
"""The placements that only a conversation has."""
AGREED = "I will follow these instructions in my next response."
"""The model's turn after the instructions, if they have a turn of their own."""
STATED, ASKED = "stated", "asked"
"""The fields of a document with another placement: the text that states the instructions, and the user's last turn."""


class PlacedTask(FamilyTask):
    """A task whose prompt is a task prompt followed by its instructions.

    ``placement`` in ``--metadata`` says where the instructions are stated (``schema.Placement``). The documents of a
    subclass have what ``placed`` returns.

    Raises:
        ValueError: there is no such placement, or the leaf or the run cannot have it; the message names them.
    """

    FAMILY = "manyifeval"
    SCHEMA = SCHEMA
    placement: Placement

    def place(self, config: dict[str, Any]) -> None:
        """Have the harness show what the placement says instead of the published prompt; part of ``configure``.

        The version of another placement is marked: scores of two are not comparable as if they were one figure.
        """
        task, metadata = config["task"], config["metadata"]
        self.placement = metadata.get(PLACEMENT, PUBLISHED)
        if self.placement not in PLACEMENTS:
            expected = ", ".join(PLACEMENTS)
            raise ValueError(f"task {task!r}: metadata placement {self.placement!r}; expected one of {expected}")
        if self.placement == PUBLISHED:
            return
        mark_version(metadata, self.placement)
        if config.get("doc_to_text") != "prompt" or config.get("description"):
            raise ValueError(
                f"task {task!r}: placement {self.placement!r}, but the leaf has a doc_to_text or a description of its "
                "own; remove one or the other"
            )
        config["doc_to_text"] = ASKED
        if self.placement == "system":
            config["description"] = STATED

    def before_requests(self) -> None:
        """Check that the run can state the instructions where they are to be.

        Raises:
            ValueError: there is no conversation, or it would have few-shot examples with the instructions elsewhere.
        """
        if self.placement not in NEED_MESSAGES:
            return
        where = f"task {self.config.task!r}: placement {self.placement!r}"
        if not self.asking.apply_chat_template:
            raise ValueError(
                f"{where} needs a conversation; run with --apply_chat_template, or choose the placement before or after"
            )
        if self.asking.num_fewshot:
            raise ValueError(
                f"{where} with --num_fewshot {self.asking.num_fewshot}; few-shot examples would state their "
                "instructions nowhere. Run with --num_fewshot 0"
            )
        if not self.asking.makes_prompts:
            message = (
                "%s: placement %r: the server makes the prompts out of the messages, so it cannot be checked that the "
                "model is shown the instructions. If requests fail with status 400, the model may have no such role; "
                "choose another placement"
            )
            log.warning(message, self.config.task, self.placement)

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, **options: Any) -> Any:
        """Return the prompt of a row, with the instructions at their place.

        Raises:
            ValueError: the model's chat template leaves them out.
        """
        if self.placement == "earlier_turn":
            system = options.get("system_instruction")
            turns = [("user", doc[STATED]), ("assistant", AGREED), ("user", doc[ASKED])]
            messages = [("system", system), *turns] if system else turns
            prompt = options["chat_template"]([{"role": role, "content": content} for role, content in messages])
        else:
            prompt = super().fewshot_context(doc, num_fewshot, **options)
        if self.placement in NEED_MESSAGES and not shows(prompt, doc[STATED]):
            raise ValueError(
                f"task {self.config.task!r}: placement {self.placement!r}, but the prompt that the model's chat "
                "template makes lacks the instructions: it has no such role. Choose another placement"
            )
        return prompt


def placed(placement: Placement, task_prompt: str, prompt: str) -> Mapping[str, str]:
    """Return what the document of a row needs for its placement.

    Args:
        placement: where the instructions are to be.
        task_prompt: the task.
        prompt: the task followed by the instructions.

    Raises:
        RowsError: the prompt, from a file of finished rows, is something else.
    """
    if placement == PUBLISHED:
        return {}
    stated = prompt.removeprefix(task_prompt).strip()
    if not prompt.startswith(task_prompt) or not stated:
        raise RowsError(
            f"placement {placement!r}: the prompt {prompt[:60]!r} … is not its task prompt {task_prompt[:60]!r} … "
            "followed by the instructions, so these cannot be stated elsewhere; remove placement from --metadata"
        )
    return {STATED: stated, ASKED: f"{stated}\n\n{task_prompt}" if placement == "before" else task_prompt}
