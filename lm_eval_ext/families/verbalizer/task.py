"""The harness task of every verbalizer leaf: what a leaf's YAML says, turned into rows, requests and scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import datasets

from lm_eval_ext import sources
from lm_eval_ext.families.verbalizer.answer import ANSWER_FILTER
from lm_eval_ext.families.verbalizer.datasets import DATASETS, is_known
from lm_eval_ext.families.verbalizer.leaf import Leaf, filter_list, leaf_of, paraphrased
from lm_eval_ext.families.verbalizer.prompt import WORDINGS, Reads, template
from lm_eval_ext.families.verbalizer.rows import (
    ALL_ROWS,
    GOLDEN,
    Selection,
    demonstrations,
    evaluation_rows,
    rows_hash,
    usable_rows,
)
from lm_eval_ext.families.verbalizer.schema import PARAPHRASE, ROW, SCHEMA, in_wordings, sensitivity
from lm_eval_ext.families.verbalizer.verbalizer import Verbalizer, over_wordings, put_nonce_words
from lm_eval_ext.floors import CONSTANT, most_frequent
from lm_eval_ext.harness.family_task import Documents, FamilyTask, Share
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.metadata import PARAPHRASES, chosen_paraphrases

PROMPTING = {"first": "direct", "final": "chain_of_thought"}
"""How a task records its prompting, by what it reads: the first label, or the conclusion of a chain of thought."""
VERSION = 1.1
"""``metadata.version`` of leaves and groups."""
STOPS = ("You are a helpful assistant",)
"""Some servers reject an empty list of stop sequences. This one stops a model that repeats one of the prompts."""


@dataclass(frozen=True)
class Target:
    """``doc_to_target``: the word that the prompt demands for a row.

    A dataclass, not a method or a closure, because the harness copies a task's config and writes it into the results:
    its ``repr`` shows the verbalizer, not a memory address.
    """

    verbalizer: Verbalizer

    def __call__(self, doc: Mapping[str, Any]) -> str:
        """Return the word for the row's golden label."""
        return self.verbalizer.word(doc[GOLDEN])


FIRST_WORDING = "first_wording"
"""A policy of the ``reference`` LM, under which reliability and sensitivity are known."""


class VerbalizerTask(FamilyTask):
    """Classification with the words of one verbalizer for labels (Li et al., NAACL Findings 2024).

    A leaf's YAML sets these keys of the harness:

    * ``dataset_path``: one of the nine datasets (``sst2`` …), or a user-defined dataset: a name, or on the hub
      ``owner/name`` (with ``dataset_name``, ``dataset_kwargs``: ``revision``, ``data_files``), together with
      ``test_split``, and ``training_split`` if demonstrations are needed;
    * ``doc_to_text``: the prompt, a template over the rows' columns, with the label words in it;
    * ``doc_to_target``: the label column;
    * ``doc_to_choice``: the verbalizer, golden label name to label word. If labels are numbers without declared
      names, their order is that of the numbers: 0, 1, 2 …;

    and these keys of this package:

    * ``rows``: how many rows of a user-defined dataset are evaluated, or ``all``; 100 if absent. It can also be passed
      with ``--metadata``;
    * ``prior``: golden label name to the word that means it by itself; the golden names if absent;
    * ``verbalizer`` and ``naturalness``: the names that the results record; none if absent.

    ``paraphrases`` in ``--metadata`` has every row asked in that many wordings of the instruction.

    Raises:
        ValueError: the leaf is invalid; the message names leaf and key.
        RowsError: the rows cannot be loaded or are invalid.
    """

    FAMILY = "verbalizer"
    SCHEMA = SCHEMA
    TAKES = ("row_seed", PARAPHRASES)
    METADATA: ClassVar[Mapping[str, Any]] = {"version": VERSION}
    DEFAULTS: ClassVar[Mapping[str, Any]] = {"output_type": "generate_until"}
    """Default values for a leaf; not in the template, because the harness would parse it again for each leaf."""

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the nine datasets, each with a task that reads it."""
        return {name: f"verbalizer_{name}_natural_golden" for name in DATASETS}

    @classmethod
    def incomplete(cls, datasets: Collection[str]) -> str:
        """Name the datasets that are missing, without which groups cannot be run."""
        missing = [name for name in DATASETS if name not in datasets]
        return f"not there: {', '.join(missing)}" if missing else ""

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return the locations of the nine datasets."""
        return [dataset.hub for dataset in DATASETS.values()]

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the verbalizer and the dataset from a leaf's config; see the base class."""
        for key, default in self.DEFAULTS.items():
            config.setdefault(key, deepcopy(default))
        self.paraphrases = chosen_paraphrases(config["task"], config["metadata"], WORDINGS)
        if self.row_seed is not None:
            put_nonce_words(config, self.row_seed)
        self._leaf: Leaf = leaf_of(config)
        dataset, verbalizer = self._leaf.dataset, self._leaf.verbalizer
        self._selection = Selection(
            dataset, self._leaf.columns, verbalizer.golden, self.source, self._leaf.rows, self.row_seed
        )
        self._wording = 1
        self._prompts = paraphrased(config["task"], self._leaf, self.paraphrases) if self.paraphrases else ()
        from_hub = self.source == sources.HUB
        config |= {
            # What the results should record: the evaluated split, and the location of the dataset.
            "dataset_path": dataset.hub.repository if from_hub else dataset.name,
            "dataset_name": dataset.hub.config if from_hub else None,
            "test_split": dataset.evaluation_split,
            "training_split": None,
            # The harness would look targets up in it by number.
            "doc_to_choice": None,
            "doc_to_target": Target(verbalizer),
            "filter_list": filter_list(config["filter_list"], self._leaf, self._prompts[1:]),
        }
        if self.paraphrases:
            self.has = in_wordings(self.paraphrases)
            self.variants = (ROW, self.paraphrases)
        return {
            "dataset": dataset.name if is_known(dataset) else str(dataset.hub),
            "verbalizer": self._leaf.verbalizer_name,
            "naturalness": self._leaf.naturalness,
            "prompting": PROMPTING[self._leaf.reads],
            "label_words": dict(zip(verbalizer.golden, verbalizer.words, strict=True)),
            "prior_words": dict(zip(verbalizer.golden, verbalizer.prior, strict=True)),
        }

    def documents(self) -> Documents:
        """Return the evaluated rows, the same ones whatever the verbalizer, each once in every wording."""
        dataset = _as_dataset(self._selection, self.paraphrases)
        return Documents(self.config.test_split, dataset, {"rows_hash": rows_hash(self._selection)}, self._share_of())

    def _share_of(self) -> Share | None:
        if is_known(self._leaf.dataset):
            return None
        rows, usable = len(evaluation_rows(self._selection)), usable_rows(self._selection)
        return Share(rows, usable, ALL_ROWS if rows < usable and not self._leaf.chose_rows else "")

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return the first ``n`` of the fixed, label-balanced demonstrations of appendix A, in the row's wording."""
        wording = {PARAPHRASE: self._wording} if self.paraphrases else {}
        return [{**row, **wording} for row in demonstrations(self._selection, n)]

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, **options: Any) -> Any:
        """Return the prompt of a row."""
        # The harness does not tell which row it wants demonstrations for.
        self._wording = doc[PARAPHRASE] if self.paraphrases else 1
        return super().fewshot_context(doc, num_fewshot, **options)

    def before_requests(self) -> None:
        """Reject demonstrations after a chain-of-thought prompt: they would go from "Let's think" right to a label.

        Raises:
            ValueError: the run has demonstrations and the task reads the conclusion of a chain of thought.
        """
        n, name, leaf = self.asking.num_fewshot, self.config.task, self._leaf
        if not n or leaf.reads == "first":
            return
        direct = f"{leaf.dataset.name}_{leaf.naturalness}_{leaf.verbalizer_name}"
        is_ours = name == f"verbalizer_cot_{direct}"
        instead = f"verbalizer_{direct}" if is_ours else "a leaf that includes the template _direct"
        raise ValueError(
            f"task {name!r}: --num_fewshot {n}; a few-shot example would have to show a chain of thought, "
            f'but the rows have only labels: "Let\'s think step by step. {leaf.verbalizer.words[0]}". '
            f"Use {instead} with --num_fewshot {n}, or run this task with --num_fewshot 0"
        )

    def doc_to_text(self, doc: dict[str, Any], doc_to_text: str | None = None) -> str:
        """Return the prompt of one row; the harness passes a separate template for demonstrations."""
        prompt = doc_to_text or self.config.doc_to_text
        # A template of the user's own for demonstrations has no other wordings.
        if self._prompts and prompt == self.config.doc_to_text:
            prompt = self._prompts[doc[PARAPHRASE] - 1]
        return template(prompt).render(doc)

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``Verbalizer.score`` and ``over_wordings``."""
        found = self._leaf.verbalizer.score(results[0], doc[GOLDEN])
        if not self.paraphrases:
            return dict(found)
        return {**found, **over_wordings(doc, found["acc"] if self.is_whole(doc) else None, self.paraphrases)}

    def for_draws(self, aggregation: Callable[..., Any]) -> Callable[..., Any]:
        """Return an aggregation for rows with this task's number of draws; see the base class."""
        return aggregation if aggregation is sensitivity else super().for_draws(aggregation)

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the word that the prompt demands, the word that names the label by itself, and a random label word.

        ``constant`` gives the same word to all rows, the one that is right most often. If every row is asked in several
        wordings, also what obeys only the published one.
        """
        golden, verbalizer = doc[GOLDEN], self._leaf.verbalizer
        # A chain of thought names the tempting word before its conclusion, which tests how conclusions are read.
        direct = self._leaf.reads == "first"
        thought = "" if direct else f'By itself this means "{verbalizer.prior_word(golden)}". '
        say = "{}" if direct else 'The final answer is "{}".'
        answers: dict[str, str | tuple[str, ...]] = {
            "oracle": thought + say.format(verbalizer.word(golden)),
            "prior": thought + say.format(verbalizer.prior_word(golden)),
            "random": tuple(thought + say.format(word) for word in verbalizer.words),
            CONSTANT: say.format(self._most_frequent_word),
        }
        if self.paraphrases:
            obeys = doc[PARAPHRASE] == 1
            word = verbalizer.word(golden) if obeys else verbalizer.another_word(golden)
            answers[FIRST_WORDING] = thought + say.format(word)
        return answers

    @cached_property
    def _most_frequent_word(self) -> str:
        return self._leaf.verbalizer.word(most_frequent(self.eval_docs[GOLDEN]))


def _defaults(reads: Reads, tokens: int) -> Mapping[str, Any]:
    """Return one greedy generation per row, and how its answer is read."""
    steps = [{"function": ANSWER_FILTER, "reads": reads}, {"function": "take_first"}]
    return {
        **VerbalizerTask.DEFAULTS,
        "generation_kwargs": {"until": list(STOPS), "do_sample": False, "temperature": 0.0, "max_gen_toks": tokens},
        "filter_list": [{"name": "answer", "filter": steps}],
    }


class DirectTask(VerbalizerTask):
    """Direct prompting (Figure 7): the first label that an answer names."""

    DEFAULTS = _defaults("first", 64)


class ChainOfThoughtTask(VerbalizerTask):
    """Chain-of-thought prompting (Figure 8): more tokens to reason, and the conclusion is read."""

    DEFAULTS = _defaults("final", 512)


@cache
def _as_dataset(selection: Selection, paraphrases: int | None) -> datasets.Dataset:
    rows = evaluation_rows(selection)
    if paraphrases is None:
        return datasets.Dataset.from_list([dict(row) for row in rows])
    return datasets.Dataset.from_list(
        [
            {**row, ROW: number, PARAPHRASE: wording}
            for number, row in enumerate(rows)
            for wording in range(1, paraphrases + 1)
        ]
    )
