"""The harness task of the dense leaves."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets

from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.answers import IGNORE_SYSTEM, heard
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, dense_rows, rows_hash
from lm_eval_ext.families.manyifeval.dense.scores import ProcessReport, stem
from lm_eval_ext.families.manyifeval.placed_task import PlacedTask
from lm_eval_ext.families.manyifeval.placement import placed
from lm_eval_ext.families.manyifeval.rows import TEST
from lm_eval_ext.families.manyifeval.schema import DENSE, OF_REPORTS
from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.harness.family_task import Documents
from lm_eval_ext.harness.known_answers import KnownAnswers

NAME = "manyifeval_dense"
TOKENS_PER_WORD = 3
"""Of a line of the list, roughly: hyphen, word, line feed."""


class DenseTask(PlacedTask):
    """A report that must contain n words. A leaf has ``instructions``: n, one of ``COUNTS``.

    The rows are part of this package, whatever ``source`` in ``--metadata`` says.

    Raises:
        ValueError: ``instructions`` is missing or not one of these numbers; the message names leaf and key.
    """

    FAMILY = "manyifeval"
    NO_DEMONSTRATIONS = "a report with hundreds of words leaves no room for others; run with --num_fewshot 0"

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the only dataset, with a task that reads it."""
        return {NAME: f"{NAME}_n010"}

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the number of words from a leaf's config; see the base class."""
        count = config.pop("instructions", None)
        if count not in COUNTS or isinstance(count, bool):
            expected = ", ".join(map(str, COUNTS))
            raise ValueError(f"task {config['task']!r}: instructions {count!r}; expected one of {expected}")
        refuse_rows(config, "all ten reports are evaluated; remove rows (--limit evaluates fewer)")
        self._count: int = count
        self.place(config)
        config |= {
            "dataset_path": NAME,
            "test_split": TEST,
            "process_results": ProcessReport(),
            "metric_list": [
                {"metric": metric.name, "aggregation": "mean", "higher_is_better": metric.higher_is_better}
                for metric in (*OF_REPORTS, EMPTY_RATE)
            ],
        }
        return {"dataset": NAME, "instructions": count, "repeat": False, DENSE: True}

    def documents(self) -> Documents:
        """Return the ten rows."""
        found = [
            {**vars(row), **placed(self.placement, row.task_prompt, row.prompt)}
            for row in dense_rows(self._count, self.row_seed)
        ]
        facts = {"rows_hash": rows_hash(self._count, self.row_seed)}
        return Documents(TEST, datasets.Dataset.from_list(found), facts)

    def before_requests(self) -> None:
        """Say what the rows cost, because a report may be as long as the model's context; see the base class."""
        super().before_requests()
        tokens = self._count * TOKENS_PER_WORD
        message = "%s: %d prompts of about %d tokens each, and up to %d new tokens for each (max_gen_toks)"
        limit = self.config.generation_kwargs["max_gen_toks"]
        logging.getLogger(f"lm_eval.{__name__}").info(message, self.config.task, len(self.eval_docs), tokens, limit)

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return reports with all words, the first half, all but one, other forms only, and none."""
        words = doc["words"]
        answers = {
            "oracle": _report(words),
            "first_half": _report(words[: len(words) // 2]),
            "drop_one": _report(words[:-1]),
            "other_form": _report([other_form(word) for word in words]),
            "ignore": _report([]),
        }
        return {**answers, IGNORE_SYSTEM: answers[heard(self.placement)]}


def other_form(word: str) -> str:
    """Return a word with another ending and the same stem."""
    forms = (f"{word}s", f"{word}ed", f"{word}ing", f"{word}ly", f"{word.removesuffix('s')}")
    return next(form for form in forms if form != word and stem(form) == stem(word))


def _report(words: Sequence[str]) -> str:
    return "\n".join(["Here it is.", *_sentences(words)])


def _sentences(words: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(words), 10):
        yield f"It is about {', '.join(words[start : start + 10])}."
