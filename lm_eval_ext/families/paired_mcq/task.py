"""The harness task of every paired_mcq and text_mcq leaf."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import datasets
import jinja2
from lm_eval.api.task import ConfigurableTask

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import DATASET_KEYS, own_dataset, refuse_keys
from lm_eval_ext.families.paired_mcq.datasets import DATASETS, MultipleChoice
from lm_eval_ext.families.paired_mcq.expression import columns_of
from lm_eval_ext.families.paired_mcq.filters import options_of
from lm_eval_ext.families.paired_mcq.known import known
from lm_eval_ext.families.paired_mcq.pipelines import pipelines
from lm_eval_ext.families.paired_mcq.prompt import Prompt, level_of_leaf
from lm_eval_ext.families.paired_mcq.questions import Questions, questions
from lm_eval_ext.families.paired_mcq.rows import rows, rows_hash
from lm_eval_ext.families.paired_mcq.scores import Asked, Metric, first_token, metric_list, scores
from lm_eval_ext.known_answers import KnownInstance

if TYPE_CHECKING:
    from collections.abc import Callable

    from lm_eval.api.instance import Instance

PAIRED, TEXT = "paired_mcq_", "text_mcq_"
"""How the names of the leaves begin, and those of their siblings that ask for text alone."""
EXPRESSIONS = ("doc_to_text", "doc_to_choice", "doc_to_target")


@dataclass(frozen=True)
class Score:
    """``process_results``: the metrics of one row.

    A dataclass and no closure, because the harness copies a task's config and writes it into the results.
    """

    def __call__(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Metric]:
        """Score a row: the log-likelihood of each letter, if they were asked for, and what the text says."""
        *loglikelihoods, text = results
        options = options_of(doc)
        token = None
        if loglikelihoods:
            token = first_token([option.letter for option in options], [value for value, _ in loglikelihoods])
        asked = Asked(doc["key"], doc["shuffle"], options, doc["gold"] or None)
        return scores(asked, json.loads(text)["reading"], token)


class PairedMCQTask(ConfigurableTask):  # type: ignore[misc] # the harness ships no types
    """A multiple-choice question asked twice at once: for its first token's letter, and for a text.

    A leaf's YAML says, besides the harness's own keys:

    * ``constraint``: the instruction's level (Table 1): ``low``, ``medium``, ``high``, ``example``, ``example_abc``;
    * ``paired``: whether first tokens are asked for (absent: they are); without, an API that gives no log-likelihoods
      serves;
    * ``dataset_path``: ``opinionqa``, ``arc_challenge``, ``commonsense_qa`` or ``mmlu``, or a dataset of the user's: a
      name, and on the hub ``owner/name`` (with ``dataset_name``, ``dataset_kwargs``: ``revision``, ``data_files``);
      then also ``test_split``, and as a column or a template over the columns: ``doc_to_text`` (the question),
      ``doc_to_choice`` (the list of options), and ``doc_to_target`` if one of them is right (its number from 0, its
      letter or its text).

    Raises:
        ValueError: a leaf or ``--metadata`` that do not say this (the message names leaf and key), or a reader that
            cannot be loaded.
        RowsError: rows that cannot be had or are not what they should be.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {key: value for key, value in config.items() if key != "class"}
        name = config["task"]
        level = level_of_leaf(name, config.pop("constraint", None))
        self._paired = _is_paired(name, config.pop("paired", True))
        metadata = config["metadata"] = dict(config.get("metadata") or {})
        self._source = sources.chosen_source(metadata)
        metadata |= {"constraint": level, "paired": self._paired}
        self._dataset = _dataset_of_leaf(config)
        hub = self._dataset.hub if self._source == sources.HUB else None
        config |= {
            # What the results should say: the evaluated split, and where the dataset lies.
            "dataset_path": hub.repository if hub else self._dataset.name,
            "dataset_name": hub.config if hub else None,
            "test_split": self._dataset.split,
            "validation_split": None,
            "training_split": None,
            "doc_to_text": Prompt(level),
            "doc_to_choice": None,
            "doc_to_target": "gold",
            "process_results": Score(),
            "filter_list": pipelines(name, config.get("filter_list") or [], metadata),
            "metric_list": metric_list(self._paired, self._dataset.gold is not None),
        }
        super().__init__(config=config)

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Read the rows; the harness's name for it."""
        self.dataset = {self.config.test_split: _as_dataset(self._dataset, self._source)}
        self.config.metadata["rows_hash"] = rows_hash(self._dataset, self._source)
        found = questions(self._dataset, self._source)
        if found.left_out:
            self.config.metadata["left_out"] = len(found.left_out)
            _warn_of(found)

    def fewshot_docs(self) -> None:
        """Return nothing: the harness reads this of every task, and there are no demonstrations."""

    def build_all_requests(self, *, tokenizer_name: str = "", **options: Any) -> None:
        """Build the requests, once it is clear that they can be answered.

        A cache of them (``--cache_requests``) serves only the rows and the instruction that it was made of.

        Raises:
            ValueError: demonstrations are asked for, or log-likelihoods of an LM that gives none.
        """
        if self.config.num_fewshot:
            raise ValueError(
                f"task {self.config.task!r}: --num_fewshot {self.config.num_fewshot}; these tasks have no "
                "demonstrations: an example's letter moves both readings (section 4.1), which is what the levels "
                "example and example_abc are there to show"
            )
        if self._paired:
            self._require_loglikelihoods(options.get("chat_template"))
        made_of = f"{rows_hash(self._dataset, self._source)}-{self.config.metadata['constraint']}"
        super().build_all_requests(tokenizer_name=f"{tokenizer_name}-rows{made_of}", **options)

    def _require_loglikelihoods(self, chat_template: Callable[..., str] | None) -> None:
        """Ask the LM for the log-likelihoods of nothing.

        The harness hands tasks no LM, but its chat template is a method of it, and chat APIs, which are those without
        log-likelihoods, need one. Elsewhere the harness's own error comes before any generation, since the letters
        come first.
        """
        lm = getattr(chat_template, "__self__", None)
        if lm is None:
            return
        try:
            lm.loglikelihood([])
        except NotImplementedError as error:
            name = self.config.task
            sibling = f"--tasks {TEXT}{name.removeprefix(PAIRED)} is the same task without them"
            own = "`paired: false` in its YAML asks for text alone"
            raise ValueError(
                f"task {name!r} asks for the log-likelihoods of option letters, and {type(lm).__name__} gives none; "
                f"{sibling if name.startswith(PAIRED) else own} ({error})"
            ) from error
        except Exception:
            # It does not take an empty list, or has another complaint, which is the harness's to hear.
            return

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> list[Instance]:
        """Return the letters' log-likelihoods, in their order, and then the text, all after the same context.

        Each with what each policy of the ``reference`` LM would answer to it. The letters of a row cost an LM that
        keeps its last logits, as HFLM does, a single forward pass.
        """
        options = options_of(doc)
        answers = known(options, doc["gold"] or None)
        letters = [option.letter for option in options] if self._paired else []
        delimiter = self._delimiter(kwargs.get("apply_chat_template", False))
        text: Instance = super().construct_requests(doc, ctx, **kwargs)
        text.idx = len(letters)
        asked = [
            KnownInstance(
                request_type="loglikelihood",
                doc=doc,
                arguments=(ctx, f"{delimiter}{letter}"),
                idx=index,
                metadata=kwargs["metadata"],
                known_answers=answers.letters,
            )
            for index, letter in enumerate(letters)
        ]
        return [*asked, KnownInstance.of(text, answers.texts)]

    def _delimiter(self, apply_chat_template: bool) -> str:
        """Return what stands between a prompt and a letter: what the harness has for its own multiple choice."""
        prefix = self.config.gen_prefix
        if apply_chat_template and (not prefix or prefix[-1].isspace()):
            return ""
        return str(self.config.target_delimiter)


def _is_paired(task: str, paired: object) -> bool:
    if not isinstance(paired, bool):
        raise ValueError(f"task {task!r}: paired must be true or false, found {paired!r}")
    return paired


def _dataset_of_leaf(config: Mapping[str, Any]) -> MultipleChoice:
    known_dataset = DATASETS.get(str(config.get("dataset_path")))
    if known_dataset is not None:
        keys = (*DATASET_KEYS, *EXPRESSIONS)
        refuse_keys(config, keys, f"is one of {', '.join(DATASETS)}, whose place and columns are known")
        return known_dataset
    own = own_dataset(config, DATASETS)
    question, options = (_expression(config, key) for key in EXPRESSIONS[:2])
    gold = _expression(config, EXPRESSIONS[2]) if config.get(EXPRESSIONS[2]) is not None else None
    return MultipleChoice(own.name, own.hub, own.split, question, options, gold)


def _expression(config: Mapping[str, Any], key: str) -> str:
    value = config.get(key)
    try:
        if isinstance(value, str) and columns_of(value):
            return value
        problem = "reads no column"
    except jinja2.TemplateError as error:
        problem = f"is no template ({error})"
    raise ValueError(
        f"task {config['task']!r}: {key} {value!r} {problem}; expected a column, or a template over the columns as in "
        "'{{choices.text}}'"
    )


@cache
def _warn_of(found: Questions) -> None:
    left_out, everything = len(found.left_out), len(found.left_out) + len(found.asked)
    message = "%d of %d questions left out, which cannot be asked; the first: %s"
    logging.getLogger(__name__).warning(message, left_out, everything, found.left_out[0])


@cache
def _as_dataset(dataset: MultipleChoice, source: str) -> datasets.Dataset:
    return datasets.Dataset.from_list([dict(row) for row in rows(dataset, source)])
