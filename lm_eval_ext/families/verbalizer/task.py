"""The harness task of every verbalizer leaf: what its YAML says, checked and turned into rows, requests and scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from statistics import mode
from typing import Any, ClassVar, get_args

import jinja2

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import (
    ALL,
    DATASET_KEYS,
    columns_in,
    own_dataset,
    refuse_keys,
    refuse_rows,
    rows_of_leaf,
    template,
)
from lm_eval_ext.families.verbalizer.answer import ANSWER_FILTER, plain_label
from lm_eval_ext.families.verbalizer.rows import (
    ALL_ROWS,
    DATASETS,
    EVALUATION_ROWS,
    GOLDEN,
    Classification,
    Selection,
    demonstrations,
    evaluation_rows,
    is_known,
    rows_hash,
    usable_rows,
)
from lm_eval_ext.families.verbalizer.schema import PARAPHRASE, ROW, SCHEMA, in_wordings, sensitivity
from lm_eval_ext.families.verbalizer.verbalizer import (
    QUESTIONS,
    WORDINGS,
    Reads,
    Verbalizer,
    instructions,
    over_wordings,
    put_nonce_words,
)
from lm_eval_ext.floors import CONSTANT
from lm_eval_ext.harness.family_task import Documents, FamilyTask, Share, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.metadata import PARAPHRASES, chosen_paraphrases

PROMPTING = {"first": "direct", "final": "chain_of_thought"}
"""How a task records its prompting, by what it reads: the first label, or the conclusion of a chain of thought."""
VERSION = 1.2
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
        return self.verbalizer.words[doc[GOLDEN]]


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
        name = config["task"]
        self.paraphrases = chosen_paraphrases(name, config["metadata"], WORDINGS)
        if self.row_seed is not None:
            put_nonce_words(config, self.row_seed)
        self._verbalizer = verbalizer = _verbalizer(name, config.get("doc_to_choice"), config.pop("prior", None))
        names = {key: _name(name, key, config.pop(key, None)) for key in ("verbalizer", "naturalness")}
        self._reads = _reads(name, config.get("filter_list") or [])
        dataset, rows = _dataset(config), rows_of_leaf(config)
        self._chose_rows = rows is not None
        evaluated = None if rows == ALL else rows or EVALUATION_ROWS
        columns = _columns(name, config.get("doc_to_text"))
        self._selection = Selection(dataset, columns, tuple(verbalizer.words), self.source, evaluated, self.row_seed)
        self._wording = 1
        self._prompts = self._in_wordings(name, config["doc_to_text"]) if self.paraphrases else ()
        arguments = {
            "labels": list(verbalizer.words.values()),
            "prior": list(verbalizer.prior.values()),
            "prompt": config["doc_to_text"],
        }
        if self.paraphrases:
            self.has = in_wordings(self.paraphrases)
            self.variants = (ROW, self.paraphrases)
            arguments["paraphrases"] = list(self._prompts[1:])
        pipelines = []
        for pipeline in config["filter_list"]:
            steps = [step | arguments if step["function"] == ANSWER_FILTER else step for step in pipeline["filter"]]
            pipelines.append(pipeline | {"filter": steps})
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
            "filter_list": pipelines,
        }
        return {
            "dataset": dataset.name if is_known(dataset) else str(dataset.hub),
            **names,
            "prompting": PROMPTING[self._reads],
            "label_words": verbalizer.words,
            "prior_words": verbalizer.prior,
        }

    def _in_wordings(self, task: str, prompt: str) -> tuple[str, ...]:
        """Return the template of the prompt in the requested number of wordings, its own first.

        Raises:
            ValueError: the prompt is not that of Figure 7 or 8, so that what the other wordings say is not what it
                says.
        """
        dataset, words = self._selection.dataset, self._verbalizer.words
        prefix = f"task {task!r}: metadata {PARAPHRASES} {self.paraphrases}"
        if not is_known(dataset) or words.keys() != QUESTIONS[dataset.name].conditions.keys():
            raise ValueError(
                f"{prefix}; there are other wordings only for the paper's nine datasets with their two labels each, "
                f"and this task is about {', '.join(words)} on {dataset.name}; run it without {PARAPHRASES}"
            )
        published, *others = instructions(dataset.name, self._reads, words)
        if not prompt.startswith(f"{published}\n"):
            raise ValueError(
                f"{prefix}; there are other wordings only for the paper's instruction, and the doc_to_text of this "
                f"task does not begin with it: {published!r}; run it without {PARAPHRASES}, or with that instruction"
            )
        row_template = prompt.removeprefix(published)
        return tuple(instruction + row_template for instruction in (published, *others)[: self.paraphrases])

    def documents(self) -> Documents:
        """Return the evaluated rows, the same ones whatever the verbalizer, each once in every wording."""
        share = None
        if not is_known(self._selection.dataset):
            rows, usable = len(evaluation_rows(self._selection)), usable_rows(self._selection)
            share = Share(rows, usable, ALL_ROWS if rows < usable and not self._chose_rows else "")
        docs: Sequence[Mapping[str, Any]] = evaluation_rows(self._selection)
        if self.paraphrases is not None:
            docs = [
                {**row, ROW: number, PARAPHRASE: wording}
                for number, row in enumerate(docs)
                for wording in range(1, self.paraphrases + 1)
            ]
        hashed = rows_hash(self._selection)
        return Documents(self.config.test_split, as_dataset(docs, hashed), {"rows_hash": hashed}, share)

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
        n = self.asking.num_fewshot
        if n and self._reads == "final":
            raise ValueError(
                f"task {self.config.task!r}: --num_fewshot {n}; a few-shot example would have to show a chain of "
                "thought, but the rows have only labels. Use a task without cot in its name (the template _direct) "
                f"with --num_fewshot {n}, or run this task with --num_fewshot 0"
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
        scores = self._verbalizer.score(results[0], doc[GOLDEN])
        if not self.paraphrases:
            return dict(scores)
        return {**scores, **over_wordings(doc, scores["acc"] if self.is_whole(doc) else None, self.paraphrases)}

    def for_draws(self, aggregation: Callable[..., Any]) -> Callable[..., Any]:
        """Return an aggregation for rows with this task's number of draws; see the base class."""
        return aggregation if aggregation is sensitivity else super().for_draws(aggregation)

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the word that the prompt demands, the word that names the label by itself, and a random label word.

        ``constant`` gives all rows the word that is right most often. If every row is asked in several wordings, also
        what obeys only the published wording.
        """
        golden, verbalizer = doc[GOLDEN], self._verbalizer
        # A chain of thought names the tempting word before its conclusion, which tests how conclusions are read.
        direct = self._reads == "first"
        thought = "" if direct else f'By itself this means "{verbalizer.prior[golden]}". '
        say = "{}" if direct else 'The final answer is "{}".'
        answers: dict[str, str | tuple[str, ...]] = {
            "oracle": thought + say.format(verbalizer.words[golden]),
            "prior": thought + say.format(verbalizer.prior[golden]),
            "random": tuple(thought + say.format(word) for word in verbalizer.words.values()),
            CONSTANT: say.format(self._most_frequent_word),
        }
        if self.paraphrases:
            # Otherwise the word of another label.
            labels = list(verbalizer.words)
            obeyed = golden if doc[PARAPHRASE] == 1 else labels[labels.index(golden) - 1]
            answers[FIRST_WORDING] = thought + say.format(verbalizer.words[obeyed])
        return answers

    @cached_property
    def _most_frequent_word(self) -> str:
        return self._verbalizer.words[mode(self.eval_docs[GOLDEN])]


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


def _verbalizer(task: str, choices: object, prior: object) -> Verbalizer:
    """Return the verbalizer of a leaf.

    Args:
        task: the leaf's name, for messages.
        choices: the leaf's ``doc_to_choice``: golden label name to label word.
        prior: the leaf's ``prior``: golden label name to the word that means it by itself; the golden names if absent.

    Raises:
        ValueError: not such a mapping, a word that is not text, fewer than two labels, or two labels with one word.
    """
    words = _words(task, "doc_to_choice", choices)
    priors = _words(task, "prior", prior) if prior is not None else {golden: golden for golden in words}
    if set(priors) != set(words):
        raise ValueError(
            f"task {task!r}: prior names {', '.join(priors)}; expected the labels of doc_to_choice: {', '.join(words)}"
        )
    return Verbalizer(dict(words), {golden: priors[golden] for golden in words})


def _words(task: str, key: str, words: object) -> Mapping[str, str]:
    if not isinstance(words, Mapping) or len(words) < 2:
        raise ValueError(
            f"task {task!r}: {key} must map two or more golden label names to words, as in "
            f"{{negative: positive, positive: negative}}; found {words!r}"
        )
    owner: dict[str, Any] = {}
    for golden, word in words.items():
        for role, value in (("label name", golden), ("word", word)):
            if not isinstance(value, str) or not plain_label(value):
                raise ValueError(
                    f"task {task!r}: {key} has the {role} {value!r} at {golden!r}, which is not text; "
                    'quote words that YAML parses as another type ("yes", "no", "1", "0")'
                )
        rival = owner.setdefault(plain_label(word), golden)
        if rival != golden:
            raise ValueError(
                f"task {task!r}: {key} gives the word {word!r} to both {rival!r} and {golden!r}; "
                "every label needs a different word, ignoring case"
            )
    return words


def _name(task: str, key: str, value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"task {task!r}: {key} {value!r}; expected a name, or leave it out")
    # A user-defined verbalizer may have any name; its naturalness has one of three values.
    if key == "naturalness" and value is not None and value not in SCHEMA.values[key]:
        raise ValueError(f"task {task!r}: {key} {value!r}; expected one of {', '.join(SCHEMA.values[key])}")
    return value


def _reads(task: str, pipelines: Sequence[Mapping[str, Any]]) -> Reads:
    steps = [step for pipeline in pipelines for step in pipeline["filter"] if step["function"] == ANSWER_FILTER]
    if not steps:
        raise ValueError(
            f"task {task!r}: no {ANSWER_FILTER} in its filter_list, so nothing would read its answers; "
            "include one of the templates verbalizer/_direct and verbalizer/_cot"
        )
    reads: Reads = steps[0].get("reads", "first")
    if reads not in get_args(Reads):
        raise ValueError(
            f"task {task!r}: {ANSWER_FILTER} has reads {reads!r}; expected one of {', '.join(get_args(Reads))}"
        )
    return reads


def _dataset(config: dict[str, Any]) -> Classification:
    known = DATASETS.get(str(config.get("dataset_path")))
    if known is not None:
        refuse_keys(config, DATASET_KEYS, "is one of the nine built-in datasets, whose location and splits are fixed")
        refuse_rows(
            config,
            f"the paper evaluates {EVALUATION_ROWS} rows of each of its nine datasets; remove rows (--limit evaluates "
            "fewer), or set rows for a dataset of your own",
        )
        return known
    label_column = config.get("doc_to_target") or "label"
    return Classification(*own_dataset(config, DATASETS), config.get("training_split"), label_column)


def _columns(task: str, prompt: object) -> tuple[str, ...]:
    """Return the columns that a prompt shows."""
    try:
        columns = columns_in(prompt) if isinstance(prompt, str) else ()
    except jinja2.TemplateError as error:
        raise ValueError(f"task {task!r}: doc_to_text is not a valid template ({error}): {prompt!r}") from error
    if not columns:
        raise ValueError(
            f"task {task!r}: doc_to_text must be a prompt that shows the row, as in 'Review: {{{{text}}}}'; "
            f"found {prompt!r}"
        )
    return columns
