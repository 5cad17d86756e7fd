"""The harness task of the leaves with instructions of the larger pool; ``rows`` makes their rows, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lm_eval_ext.families.manyifeval.schema import PROMPTS, SINGLE, WIDE
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask
from lm_eval_ext.verifiers.nltk_data import PUNKT, STOP_WORDS, TAGGER, find


class WideTask(ManyIFEvalTask):
    """A task prompt with n instructions of the larger pool. A leaf has ``instructions``.

    Raises:
        RowsError: the rows of the source are finished.
        MissingDataError: NLTK data that verdicts need are not installed.
    """

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Choose the larger pool; see the base class."""
        facts = super().configure(config)
        chosen = self._selection
        if chosen.repeat or chosen.single:
            raise ValueError(f"task {config['task']!r}: repeat or single is set; expected neither")
        self._selection = replace(chosen, wide=True)
        self.has = (PROMPTS,)
        return {**{name: value for name, value in facts.items() if name != SINGLE}, WIDE: True}

    def require_data(self) -> None:
        """Check for all data that any verdict of the pool may need; drawing the rows needs them, too."""
        for data in (PUNKT, STOP_WORDS, TAGGER):
            find(data)
