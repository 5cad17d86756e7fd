"""What the harness tasks have in common whose instructions can be stated at another place."""

from __future__ import annotations

import logging
from typing import Any

from lm_eval_ext.families.manyifeval.placement import (
    ASKED,
    NEED_MESSAGES,
    PUBLISHED,
    STATED,
    Placement,
    chosen_placement,
    earlier_turn,
)
from lm_eval_ext.families.manyifeval.schema import SCHEMA
from lm_eval_ext.harness.family_task import FamilyTask, shows

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows its messages."""


class PlacedTask(FamilyTask):
    """A task whose prompt is a task prompt followed by its instructions.

    ``placement`` in ``--metadata`` says where the instructions are stated (``placement.Placement``). The documents of a
    subclass have what ``placement.placed`` returns.

    Raises:
        ValueError: there is no such placement, or the leaf or the run cannot have it; the message names them.
    """

    FAMILY = "manyifeval"
    SCHEMA = SCHEMA
    placement: Placement

    def place(self, config: dict[str, Any]) -> None:
        """Have the harness show what the placement says instead of the published prompt; part of ``configure``."""
        self.placement = chosen_placement(config["task"], config["metadata"])
        if self.placement == PUBLISHED:
            return
        if config.get("doc_to_text") != "prompt" or config.get("description"):
            raise ValueError(
                f"task {config['task']!r}: placement {self.placement!r}, but the leaf has a doc_to_text or a "
                "description of its own; remove one or the other"
            )
        config["doc_to_text"] = ASKED
        if self.placement == "system":
            config["description"] = STATED

    def before_requests(self) -> None:
        """Check that the run can state the instructions where they are to be.

        Raises:
            ValueError: there is no conversation, or it would have few-shot examples with the instructions elsewhere.
        """
        name, placement = self.config.task, self.placement
        if placement in NEED_MESSAGES and not self.asking.apply_chat_template:
            raise ValueError(
                f"task {name!r}: placement {placement!r} needs a conversation; run with --apply_chat_template, or "
                "choose the placement before or after"
            )
        if placement in NEED_MESSAGES and self.asking.num_fewshot:
            raise ValueError(
                f"task {name!r}: placement {placement!r} with --num_fewshot {self.asking.num_fewshot}; few-shot "
                "examples would state their instructions nowhere. Run with --num_fewshot 0"
            )
        if placement in NEED_MESSAGES and not self.asking.makes_prompts:
            message = (
                "%s: placement %r: the server makes the prompts out of the messages, so it cannot be checked that the "
                "model is shown the instructions. If requests fail with status 400, the model may have no such role; "
                "choose another placement"
            )
            log.warning(message, name, placement)

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, **options: Any) -> Any:
        """Return the prompt of a row, with the instructions at their place.

        Raises:
            ValueError: the model's chat template leaves them out.
        """
        if self.placement not in NEED_MESSAGES:
            return super().fewshot_context(doc, num_fewshot, **options)
        if self.placement == "system":
            prompt = super().fewshot_context(doc, num_fewshot, **options)
        else:
            system = options.get("system_instruction") or ""
            prompt = options["chat_template"](earlier_turn(doc[STATED], doc[ASKED], system))
        if not shows(prompt, doc[STATED]):
            raise ValueError(
                f"task {self.config.task!r}: placement {self.placement!r}, but the prompt that the model's chat "
                "template makes lacks the instructions: it has no such role. Choose another placement"
            )
        return prompt
