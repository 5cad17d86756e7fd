"""The harness task of every paired_mcq and text_mcq leaf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from statistics import mode
from typing import TYPE_CHECKING, Any

import datasets
import jinja2

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import (
    ALL,
    DATASET_KEYS,
    own_dataset,
    refuse_keys,
    rows_of_leaf,
)
from lm_eval_ext.families.paired_mcq import schema
from lm_eval_ext.families.paired_mcq.datasets import (
    DATASETS,
    OPINIONQA,
    TAB_SEPARATED,
    MultipleChoice,
    columns_of,
    is_known,
)
from lm_eval_ext.families.paired_mcq.filters import pipelines
from lm_eval_ext.families.paired_mcq.first_tokens import white_space
from lm_eval_ext.families.paired_mcq.prompt import INSTRUCTIONS, LETTERS, Prompt
from lm_eval_ext.families.paired_mcq.rows import questions, rows, rows_hash
from lm_eval_ext.families.paired_mcq.scores import known, options_of, score
from lm_eval_ext.harness.engines import NOT_TO_THINK, thinks_unless_told, warn_once
from lm_eval_ext.harness.family_task import Documents, FamilyTask, Share, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance
from lm_eval_ext.harness.versions import asked_once

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

PAIRED, TEXT = "paired_mcq_", "text_mcq_"
"""The prefixes of the leaves' names, and of those of their siblings that request only text."""
EXPRESSIONS = ("doc_to_text", "doc_to_choice", "doc_to_target")


class PairedMCQTask(FamilyTask):
    """A multiple-choice question asked in two ways at once: for the first token's letter, and for a text.

    A leaf's YAML sets these keys, besides the harness's own:

    * ``constraint``: the instruction's level (Table 1): ``low``, ``medium``, ``high``, ``example``, ``example_abc``;
    * ``paired``: whether first tokens are requested (the default); if not, the API need not support
      log-likelihoods;
    * ``dataset_path``: ``opinionqa``, ``arc_challenge``, ``commonsense_qa`` or ``mmlu``, or a user-defined dataset: a
      name, or on the hub ``owner/name`` (with ``dataset_name``, ``dataset_kwargs``: ``revision``, ``data_files``),
      together with ``test_split`` and, each a column or a template over the columns, ``doc_to_text`` (the question),
      ``doc_to_choice`` (the list of options), and ``doc_to_target`` if one of them is correct (its number from 0, its
      letter or its text);
    * ``rows``: how many questions are asked, each in ten orders, or ``all`` (the default). It can also be passed with
      ``--metadata``. A user-defined dataset must have as many; the sources of the others differ in size, and of one
      that has fewer, all are asked.

    Raises:
        ValueError: the leaf or ``--metadata`` is invalid (the message names leaf and key), or a reader cannot be
            loaded.
        RowsError: the rows cannot be loaded or are invalid.
    """

    FAMILY = "paired_mcq"
    SCHEMA = schema.SCHEMA

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the datasets, each with a task that reads it but requests no log-likelihoods."""
        return {name: f"{TEXT}{name}_low" for name in DATASETS}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the datasets that have files in a folder, or the dataset that a file can be."""
        file = Path(source).expanduser()
        if file.is_file():
            is_ours = file.suffix in TAB_SEPARATED or "options" in sources.columns_in(file)
            return [OPINIONQA.name] if is_ours else []
        return super().datasets_at(source)

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the locations of the datasets with a gold answer."""
        return [dataset.hub for dataset in DATASETS.values() if dataset.hub is not None]

    NO_DEMONSTRATIONS = (
        "these tasks have no few-shot examples, because the letter of an example shifts both readings (section 4.1); "
        "the levels example and example_abc show this effect"
    )

    @classmethod
    def require_readers(cls, config: Mapping[str, Any]) -> None:
        """Check that the readers of the leaf's answers can be loaded; see the base class."""
        pipelines(str(config.get("task")), config.get("filter_list") or [], dict(config["metadata"]))

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the constraint level, the dataset and the readers from a leaf's config; see the base class."""
        name = config["task"]
        level = config.pop("constraint", None)
        if not isinstance(level, str) or level not in INSTRUCTIONS:
            raise ValueError(f"task {name!r}: constraint {level!r}; expected one of {', '.join(INSTRUCTIONS)}")
        self._paired = config.pop("paired", True)
        if not isinstance(self._paired, bool):
            raise ValueError(f"task {name!r}: paired must be true or false, found {self._paired!r}")
        # The harness adds the model's arguments to the metadata.
        if self._paired and config["metadata"].get("enable_thinking") is True:
            raise ValueError(_needs_loglikelihoods(name, "a model with enable_thinking=True provides none"))
        self._multiple_choice = _dataset_of_leaf(config)
        hub = self._multiple_choice.hub if self.source == sources.HUB else None
        config |= {
            # What the results should record: the evaluated split, and the location of the dataset.
            "dataset_path": hub.repository if hub else self._multiple_choice.name,
            "dataset_name": hub.config if hub else None,
            "test_split": self._multiple_choice.split,
            "validation_split": None,
            "training_split": None,
            "doc_to_text": Prompt(level),
            "doc_to_choice": None,
            "doc_to_target": "gold",
            "filter_list": pipelines(name, config.get("filter_list") or [], config["metadata"]),
        }
        # Known once the run's prompting options are (``before_requests``).
        self._spaces: tuple[str, ...] = ("",)
        has_gold = self._multiple_choice.gold is not None
        self.has = (*([schema.PAIRED] if self._paired else []), *([schema.GOLD] if has_gold else []))
        return {
            "dataset": self._multiple_choice.name
            if is_known(self._multiple_choice)
            else str(self._multiple_choice.hub or self._multiple_choice.name),
            "constraint": level,
            "paired": self._paired,
        }

    def documents(self) -> Documents:
        """Return the questions, each with its options in ten orders."""
        facts: dict[str, Any] = {"rows_hash": rows_hash(self._multiple_choice, self.source, self.row_seed)}
        of_dataset = questions(self._multiple_choice, self.source)
        usable, left_out = len(of_dataset.usable), of_dataset.left_out
        if left_out:
            facts["left_out"] = len(left_out)
            total = usable + len(left_out)
            warn_once(f"left out {len(left_out)} of {total} questions as unusable; the first: {left_out[0]}")
        share = None
        if not is_known(self._multiple_choice):
            share = Share(self._multiple_choice.rows or usable, usable)
        return Documents(
            self._multiple_choice.split, _as_dataset(self._multiple_choice, self.source, self.row_seed), facts, share
        )

    def before_requests(self) -> None:
        """Find the spellings of letters; check how texts are drawn, and that the LM provides log-likelihoods.

        The latter is checked by requesting those of an empty list.

        The harness passes no LM to tasks. But the chat template is a method of the LM, and chat APIs, which are the LMs
        without log-likelihoods, need one. For other LMs the harness's own error precedes any generation, because the
        letters come first.

        Raises:
            ValueError: the LM provides none, or texts would be drawn otherwise than asked for.
        """
        kwargs, name = self.config.generation_kwargs or {}, self.config.task
        temperature = kwargs.get("temperature")
        if temperature and kwargs.get("do_sample") is False:
            raise ValueError(
                f"task {name!r}: temperature={temperature} with do_sample=False, with which some models sample and "
                f"others do not; pass --gen_kwargs do_sample=true,temperature={temperature}"
            )
        if self._paired:
            letters = LETTERS[: max(map(len, self.eval_docs["options"]))]
            prefix = self.config.gen_prefix
            # What stands between a prompt and a letter in the harness's own multiple choice.
            is_templated = self.asking.apply_chat_template and (not prefix or prefix[-1].isspace())
            delimiter = "" if is_templated else str(self.config.target_delimiter)
            self._spaces = white_space(self.asking, letters, delimiter, prefix)
        lm = self.asking.lm
        if lm is None or not self._paired:
            return
        if thinks_unless_told(self.asking):
            why = "this model thinks unless it is told otherwise, so that its first token begins the reasoning"
            raise ValueError(f"{_needs_loglikelihoods(name, why)}; or, if it is not to think, {NOT_TO_THINK}")
        try:
            lm.loglikelihood([])
        except NotImplementedError as error:
            why = f"{type(lm).__name__} provides none"
            raise ValueError(f"{_needs_loglikelihoods(name, why)} ({error})") from error
        except Exception:
            # The LM rejects an empty list, or fails for another reason, which the harness will report.
            return

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the text of each policy; its letters belong to the requests for letters."""
        return {policy: text for policy, (_, text) in self._known(doc).items()}

    def _known(self, doc: Mapping[str, Any]) -> Mapping[str, tuple[str, str]]:
        return known(options_of(doc), doc["gold"] or None, self._most_frequent_letter)

    @cached_property
    def _most_frequent_letter(self) -> str:
        return mode(self.eval_docs["gold"]) or LETTERS[0]

    def _made_of(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._made_of(options), "spaces": self._spaces}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``."""
        return dict(score(doc, results, self._spaces))

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return the log-likelihoods of each letter's spellings, in the letters' order, and then the text.

        All follow the same context. For an LM that caches its last logits, as HFLM does, all spellings of one token
        cost a single forward pass.
        """
        letters = [option.letter for option in options_of(doc)] if self._paired else []
        spelled = [f"{space}{letter}" for letter in letters for space in self._spaces]
        first_tokens = {policy: first for policy, (first, _) in self._known(doc).items()}
        letter_requests = [
            KnownInstance.of(
                request,
                first_tokens,
                request_type="loglikelihood",
                arguments=(request.args[0], spelling),
                idx=index,
                **asked_once(request),
            )
            for index, spelling in enumerate(spelled)
        ]
        return [*letter_requests, KnownInstance.of(request, self.known_answers(doc), idx=len(spelled))]


def _needs_loglikelihoods(task: str, why: str) -> str:
    """Return the message for a task that an LM without log-likelihoods is asked."""
    sibling = f"--tasks {TEXT}{task.removeprefix(PAIRED)} is the same task without them"
    remedy = "set `paired: false` in its YAML to ask for text only"
    return (
        f"task {task!r} needs the log-likelihoods of option letters, but {why}; "
        f"{sibling if task.startswith(PAIRED) else remedy}"
    )


def _dataset_of_leaf(config: dict[str, Any]) -> MultipleChoice:
    dataset = DATASETS.get(str(config.get("dataset_path")))
    if dataset is not None:
        keys = (*DATASET_KEYS, *EXPRESSIONS)
        refuse_keys(config, keys, f"is one of {', '.join(DATASETS)}, whose location and columns are built in")
    else:
        name, hub, split = own_dataset(config, DATASETS)
        question, options = (_expression(config, key) for key in EXPRESSIONS[:2])
        gold = _expression(config, EXPRESSIONS[2]) if config.get(EXPRESSIONS[2]) is not None else None
        dataset = MultipleChoice(name, hub, split, question, options, gold)
    count = rows_of_leaf(config)
    return replace(dataset, rows=None if count == ALL else count)


def _expression(config: Mapping[str, Any], key: str) -> str:
    value = config.get(key)
    try:
        if isinstance(value, str) and value.strip() and columns_of(value):
            return value
        problem = "reads no column"
    except jinja2.TemplateError as error:
        problem = f"is not a valid template ({error})"
    raise ValueError(
        f"task {config['task']!r}: {key} {value!r} {problem}; expected a column, or a template over the columns as in "
        "'{{choices.text}}'"
    )


@cache
def _as_dataset(dataset: MultipleChoice, source: str, row_seed: int | None) -> datasets.Dataset:
    return as_dataset(rows(dataset, source, row_seed), rows_hash(dataset, source, row_seed))
