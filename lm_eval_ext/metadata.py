"""What ``--metadata`` and the results say of a task: the keys, the row seed, the marks in the version, digests.

Scores under different marks are no versions of one figure, and are not compared. A row seed draws rows other than the
published ones, equally hard and never seen before.
"""

from __future__ import annotations

import difflib
import hashlib
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

Item = TypeVar("Item")


ROW_SEED = "row_seed"
"""The key of the row seed. Not ``seed``: the harness copies the model's arguments into the metadata, and the ``seed``
that some engines take would choose the rows."""
PARAPHRASES = "paraphrases"
"""The key that says in how many wordings every row is asked, the published one included."""
DETAILS = "details"
"""The key that has the results contain all metrics, not only the headline and its companions."""
FEWEST_PARAPHRASES = 2
"""With fewer, there is nothing to compare."""

VERSION = "version"

KEYS: Mapping[str, str] = {
    "source": "",
    ROW_SEED: "the rows of IFBench and IFEval are finished, so there are no others to draw",
    "repeats": "",
    DETAILS: "",
    "rows": "",
    PARAPHRASES: "its instruction has no other wordings, which only the verbalizer tasks have",
    "placement": "only the manyifeval tasks can state their instructions in another place",
    "form": "only the manyifeval_dense tasks have a choice of forms",
    "keys": "only the manyifeval tasks, but for the dense ones, select task prompts by their keys",
    "n": "only the natural_instructions tasks take a number of instances; --limit evaluates fewer rows",
    "examples": "only the natural_instructions tasks show examples of their instruction",
    "bleurt": "",
    "tokenizer": "",
    "max_length": "",
    "answer_classifier": "",
    "answer_llm": "",
    "answer_llm_shots": "",
    "answer_device": "",
    "answer_dtype": "",
    "answer_batch_size": "",
}
"""The keys, each with the reason why a task refuses it that does not list it in ``FamilyTask.TAKES``; empty if tasks
that have no use for the key ignore it. What changes the rows or the prompts is refused: a user who chose it would take
the scores for those of another task. What says how answers are read may stand in a command for several families.

A leaf can set ``rows``, too, so the families refuse it themselves (``families/leaf.py``)."""

EXPECTED = f"any of {', '.join(KEYS)}"
"""The keys as a list for messages."""

OTHER_KEYS = frozenset(
    {
        # Arguments of models that our tasks read, wherever they are given.
        *("pretrained", "max_model_len", "revision", "trust_remote_code", "gguf_file"),
        *("think_end_token", "enable_thinking"),
        # The harness's own.
        *("version", "config_source", "max_seq_lengths"),
    }
)
"""Known keys that are not ours."""
NEAR = 0.75
"""Two names that are at least as similar (``difflib``) are taken for spellings of one: ``row_sed``, ``rowSeed``."""


def unknown_keys(keys: Iterable[str]) -> list[str]:
    """Return the keys that nothing reads.

    Args:
        keys: the keys of ``--metadata``, without those of ``--model_args``.

    Raises:
        ValueError: a key is a misspelt key of this package.
    """
    unknown = [key for key in keys if key not in KEYS and key not in OTHER_KEYS]
    for key in unknown:
        if meaning := meant(key, KEYS):
            raise ValueError(f"--metadata has an unknown key {key!r}; did you mean {meaning}? Expected {EXPECTED}")
    return unknown


def meant(key: object, known: Collection[str]) -> str:
    """Return the key of which another is a misspelling; empty if it is one of them, or resembles none."""
    written = str(key).lower().replace("-", "_")
    # tokenizer_mode is an argument of some models, and no misspelling of tokenizer.
    if key in known or any(written.startswith(f"{name}_") for name in known):
        return ""
    return next(iter(difflib.get_close_matches(written, known, n=1, cutoff=NEAR)), "")


def misspelt_keys(keys: Iterable[str]) -> dict[str, str]:
    """Return which keys in the metadata of a leaf look like misspellings, each with the key that may be meant.

    A leaf may have keys that nothing reads, whatever they are called.

    Args:
        keys: the keys of the metadata that stand in its YAML.
    """
    pairs = ((key, meant(key, (*KEYS, VERSION))) for key in sorted(keys) if key not in OTHER_KEYS)
    return {key: meaning for key, meaning in pairs if meaning}


def require_version(task: str, version: object) -> None:
    """Reject a leaf without a version, without which no two of its runs could be compared.

    Args:
        task: the task's name, for messages.
        version: as its metadata have it, without marks; ``None`` if they have none.

    Raises:
        ValueError: the leaf has no version.
    """
    if version is None:
        raise ValueError(
            f"task {task!r}: its metadata have no version. The metadata of a leaf replace those of the template that "
            "it includes, so add it to them, as in metadata: {version: 1.0}"
        )


def refuse_keys_of_others(task: str, metadata: Mapping[str, Any], takes: Collection[str]) -> None:
    """Reject what changes the rows or the prompts of other tasks, but not of this task.

    Args:
        task: the task's name, for messages.
        metadata: the task's, without the model's arguments.
        takes: the keys among these that it takes.

    Raises:
        ValueError: the metadata have a key that it does not take.
    """
    for key, reason in KEYS.items():
        if reason and key not in takes and metadata.get(key) is not None:
            raise ValueError(
                f"task {task!r}: metadata {key} {metadata[key]!r}; {reason}; run this task without {key}, in a command "
                "of its own"
            )


def chosen_paraphrases(task: str, metadata: dict[str, Any], most: int) -> int | None:
    """Return in how many wordings a task's metadata have every row asked, and mark the version with it.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, whose ``version`` is modified: a mean over wordings is another figure than the
            accuracy under the published one.
        most: in how many wordings the task can ask its rows, the published one included.

    Returns:
        The number; ``None`` if the metadata set none, so that every row is asked in the published wording.

    Raises:
        ValueError: the number is no whole number from ``FEWEST_PARAPHRASES`` to ``most``.
    """
    count = metadata.get(PARAPHRASES)
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or not FEWEST_PARAPHRASES <= count <= most:
        raise ValueError(
            f"task {task!r}: metadata {PARAPHRASES} {count!r}; expected a whole number from {FEWEST_PARAPHRASES} to "
            f"{most}, the number of wordings of its instruction"
        )
    mark_version(metadata, f"{PARAPHRASES}{count}")
    return count


def chosen_row_seed(task: str, metadata: dict[str, Any], seed_version: int = 1) -> int | None:
    """Return the row seed that a task's metadata set, and mark the version with it; ``None`` if they set none.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, whose ``version`` is modified: scores of different rows are not comparable.
        seed_version: how often what draws the rows of a seed has changed, plus 1; part of the mark from 2 on.

    Raises:
        ValueError: the row seed is not a whole number.
    """
    row_seed = metadata.get(ROW_SEED)
    if row_seed is None:
        return None
    if isinstance(row_seed, bool) or not isinstance(row_seed, int) or row_seed < 0:
        raise ValueError(f"task {task!r}: metadata {ROW_SEED} {row_seed!r}; expected a whole number, 0 or more")
    mark_version(metadata, f"seed{row_seed}" if seed_version == 1 else f"seed{row_seed}.{seed_version}")
    return row_seed


def spread_sample(ordered: Sequence[Item], count: int, generator: random.Random) -> list[Item]:
    """Return ``count`` items in their order, one of each of as many equally large parts.

    So what the items are ordered by (a label, a length) is distributed over them as over all items, under every seed.
    If more than half of the items are wanted, those that are left out are chosen in this way.

    Args:
        ordered: at least ``count`` items.
        count: the number of items to draw.
        generator: a seeded generator, which is advanced.
    """
    few = min(count, len(ordered) - count)
    ends = [len(ordered) * part // few for part in range(few + 1)] if few else []
    indices = {generator.randrange(start, end) for start, end in pairwise(ends)}
    indices_kept = indices if few == count else {*range(len(ordered))} - indices
    return [ordered[index] for index in sorted(indices_kept)]


def seeded_generator(seed: int, row_seed: int | None, *parts: object) -> random.Random:
    """Return the generator of one draw; the same arguments always give the same numbers.

    Args:
        seed: the seed of the published rows.
        row_seed: see ``chosen_row_seed``.
        parts: what is drawn, and for what.
    """
    seeds = str(seed) if row_seed is None else f"{seed}+{row_seed}"
    return random.Random("/".join([seeds, *map(str, parts)]))  # noqa: S311 # reproducible by design


def chosen_details(task: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a task's metadata ask for all metrics in the results.

    Raises:
        ValueError: the metadata say neither true nor false.
    """
    details = metadata.get(DETAILS)
    if not isinstance(details, bool | None):
        raise ValueError(f"task {task!r}: metadata {DETAILS} {details!r}; expected true or false")
    return bool(details)


def mark_version(metadata: dict[str, Any], mark: object) -> None:
    """Add a mark to the ``version`` in a task's metadata: ``1.1`` becomes ``1.1+embedded``."""
    metadata["version"] = f"{metadata.get('version')}+{mark}"


def without_mark(version: object, mark: str) -> str:
    """Return a version without its last mark, if that is the given one: ``1.1+system`` becomes ``1.1``."""
    return str(version).removesuffix(f"+{mark}")


def digest(text: str) -> str:
    """Return 16 hexadecimal digits that are equal if the texts are."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
