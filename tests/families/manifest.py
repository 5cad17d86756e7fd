"""What the papers' tasks are, family by family: written from the papers and the READMEs, not from the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from tests.families.manyifeval.table_4 import FIFTEEN
from tests.families.verbalizer.table_1 import GOLDEN_NAMES, VERBALIZERS
from tests.tables import tables

Mean = tuple[str, str | None]
"""A metric of which a group has the mean over its leaves, and the filter under which it finds it; ``None`` for any."""


@dataclass(frozen=True)
class Leaf:
    """A leaf: the directions of its metrics, its limit of new tokens, its embedded rows, and what it records.

    The results have the headline and at most three companions; the samples, the details as well.
    """

    metrics: Mapping[str, bool | None]
    details: Mapping[str, bool | None]
    tokens: int
    rows: int
    facts: Mapping[str, object]
    version: float | str = 1.1


@dataclass(frozen=True)
class Family:
    """A family: its leaves; its groups with their parts in order, and of what they are the means; its tags."""

    size: tuple[int, int, int]
    """How many leaves, groups and tags there are, counted by hand."""
    leaves: Mapping[str, Leaf]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    means: Mapping[str, Sequence[Mean]] = field(default_factory=dict)
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filters: tuple[str, ...] = ("none",)
    # Some servers refuse an empty list of stops.
    stop: str = "<|endoftext|>"
    by_size: bool = True
    """Whether a larger leaf counts more in a group's mean."""


def up(*names: str) -> dict[str, bool | None]:
    return dict.fromkeys(names, True)


def down(*names: str) -> dict[str, bool | None]:
    return dict.fromkeys(names, False)


def neither(*names: str) -> dict[str, bool | None]:
    return dict.fromkeys(names)


STRICT, LOOSE, REPAIRED = (
    [f"{level}_level_{kind}_acc" for level in ("prompt", "inst")] for kind in ("strict", "loose", "repaired")
)


def verbalizer() -> Family:
    kinds = [(kind, name) for kind, names in VERBALIZERS.items() for name in names]
    invalid = [f"invalid_{kind}" for kind in ("prior", "echo", "refusal", "multiple", "inflected", "other")]
    metrics, details = {**up("acc"), **neither("prior_rate"), **down("invalid_rate")}, down("empty_rate", *invalid)
    leaves: dict[str, Leaf] = {}
    groups: dict[str, list[str]] = {}
    for family, prompting, tokens in (("verbalizer", "direct", 64), ("verbalizer_cot", "chain_of_thought", 512)):
        groups[family] = [f"{family}_{kind}" for kind in VERBALIZERS]
        for dataset, (kind, name) in product(GOLDEN_NAMES, kinds):
            facts = {"dataset": dataset, "naturalness": kind, "verbalizer": name, "prompting": prompting}
            leaf = f"{family}_{dataset}_{kind}_{name}"
            leaves[leaf] = Leaf(metrics, details, tokens, 100, facts, 1.2)
            groups.setdefault(f"{family}_{dataset}", []).append(leaf)
            groups.setdefault(f"{family}_{kind}_{name}", []).append(leaf)
        for kind, names in VERBALIZERS.items():
            # The datasets of the paper's figures are in alphabetical order.
            members = [f"{family}_{dataset}_{kind}_{name}" for name in names for dataset in sorted(GOLDEN_NAMES)]
            groups[f"{family}_{kind}"] = members
    mean = [(metric, "answer") for metric in ("acc", "prior_rate", "invalid_rate")]
    # 9 datasets x 12 verbalizers x 2 ways of prompting, of each of which there are 1 + 3 + 9 + 12 groups.
    means = dict.fromkeys(groups, mean)
    stop = "You are a helpful assistant"
    return Family((216, 50, 0), leaves, groups, means, filters=("answer",), stop=stop)


def manyifeval() -> Family:
    types = [f"strict_acc_{name.replace(':', '_')}" for name in FIFTEEN]
    metrics = {**up(*STRICT), **down("empty_rate")}
    wide = up(*LOOSE, *REPAIRED, "curse_residual")
    curse = {**wide, **up(*types)}
    phrasings = {**up(*(f"strict_acc_phrasing_{number}" for number in range(5))), **down("reliability_gap")}
    words = {**up("words_followed"), **neither("primacy"), **down("empty_rate")}
    thirds = up(*(f"words_followed_{third}_third" for third in ("first", "middle", "last")))
    of_words = {**thirds, **down("words_modified", "words_omitted")}
    kinds = {
        "manyifeval": (range(1, 11), Leaf(metrics, curse, 1280, 100, {"repeat": False, "single": False}, 1.3)),
        "manyifeval_repeat": (range(2, 11), Leaf(metrics, curse, 1280, 100, {"repeat": True, "single": False}, 1.3)),
        "manyifeval_cousins": (
            (1, 2, 3, 5, 10),
            Leaf({**metrics, **up("reliable_at_5")}, {**curse, **phrasings}, 1280, 500, {}, 1.3),
        ),
        "manyifeval_wide": (range(1, 11), Leaf(metrics, wide, 1280, 100, {"wide": True}, 1.4)),
        "manyifeval_dense": (
            (10, 20, 50, 100, 200, 300, 400, 500),
            Leaf(words, of_words, 4096, 10, {"dataset": "manyifeval_dense"}, 1.2),
        ),
    }
    facts = {"instructions": 1, "repeat": False, "single": True}
    leaves = {"manyifeval_single": Leaf(metrics, curse, 1280, 1000, facts, 1.3)}
    groups: dict[str, list[str]] = {}
    for group, (counts, leaf) in kinds.items():
        for count in counts:
            name = f"{group}_n{count:0{3 if group.endswith('dense') else 2}d}"
            recorded = {"dataset": "manyifeval", "instructions": count, **leaf.facts}
            leaves[name] = replace(leaf, facts=recorded)
            groups.setdefault(group, []).append(name)
    mean: list[Mean] = [(level, "none") for level in (*STRICT, "empty_rate")]
    # Which of the two a report has depends on its form.
    dense: list[Mean] = [("empty_rate", "none"), ("words_followed", None), ("instructions_followed", None)]
    return Family((43, 5, 0), leaves, groups, dict.fromkeys(groups, mean) | {"manyifeval_dense": dense})


def ifbench() -> Family:
    kinds = ("count", "ratio", "words", "sentence", "format", "custom", "repeat")
    one = {**up(*LOOSE), **down("empty_rate")}
    two = {**one, **neither("prompt_level_loose_acc_first_turn")}
    verdicts = {**up(*STRICT, *REPAIRED), **neither("instructions")}
    details = {**verdicts, **up(*(f"loose_acc_{kind}" for kind in kinds))}
    published = {"benchmark": "ifbench", "dataset": "ifbench", "turns": 1, "repaired": False}
    of_two, of_ifeval = {"dataset": "ifbench_two_turns", "turns": 2}, {"benchmark": "ifeval", "dataset": "ifeval"}
    # No row that was written for this project needs a repair.
    repaired = {"repaired": True, "rows_corrected": 0, "rows_left_out": 0}
    leaves = {
        "ifbench": Leaf(one, details, 2048, 80, published, 1.3),
        "ifbench_repaired": Leaf(one, details, 2048, 80, published | repaired, "1.3+rows1"),
        "ifbench_two_turns": Leaf(two, {**details, **neither("turns")}, 2048, 44, published | of_two, 1.3),
        "ifeval_published": Leaf(one, verdicts, 2048, 18, published | of_ifeval, 1.3),
        "ifeval_repaired": Leaf(one, verdicts, 2048, 18, published | of_ifeval | repaired, "1.3+rows1"),
    }
    return Family((5, 0, 0), leaves)


def hierarchy() -> Family:
    metrics = up("obeys") | down("obeys_rival", "neither", "empty_rate")
    details = up("obeys_repaired") | down("obeys_rival_repaired", "both")
    arms: dict[str, dict[str, object]] = {
        f"hierarchy_{arm}": {"arm": arm, "turns": None, "slipped": None}
        for arm in ("system", "user", "aligned", "system_user", "user_later", "document", "tool")
    }
    conversations: dict[str, dict[str, object]] = {
        f"{name}_t{turns:02d}": {"arm": "system", "turns": turns, "slipped": slipped}
        for name, slipped in (("hierarchy_turns", False), ("hierarchy_turns_slipped", True))
        for turns in (2, 4, 8, 12, 20)
    }
    leaves = {
        name: Leaf(metrics, details, 1280, 100, {"dataset": "manyifeval", **facts}, 1.2)
        for name, facts in {**arms, **conversations}.items()
    }
    # Arms are never pooled.
    return Family((17, 2, 0), leaves, {"hierarchy": [*arms], "hierarchy_turns": [*conversations]})


def conversation() -> Family:
    metrics = up("prompt_level_strict_acc", "first_loss_turn", "first_loss_recovered") | neither("first_loss_place")
    details = down("empty_rate", "loss_rate") | neither("turns") | up(*STRICT[1:], *LOOSE, *REPAIRED)
    details |= up(*(f"prompt_level_strict_acc_turn_{turn:02d}" for turn in range(1, 11)))
    facts = {"dataset": "manyifeval", "turns": 10}
    by_turn = up(*(f"prompt_level_strict_acc_turn_{turn:02d}" for turn in (1, 2, 3)))
    by_step = [f"overall_acc_turn_{turn:02d}" for turn in (1, 2, 3)]
    by_language = [f"{name}_{of}" for name in by_step for of in ("chinese", "english", "hindi", "spanish")]
    of_steps = down("empty_rate", "loss_rate") | neither("turns") | up(*STRICT[1:], *LOOSE, *REPAIRED, *by_language)
    steps = up("prompt_level_strict_acc", *by_step)
    leaves = {
        "manyifeval_turns": Leaf(metrics, details, 1280, 100, facts, 1.1),
        "multi_if": Leaf(steps, of_steps | by_turn, 1280, 8, {"dataset": "multi_if", "turns": 3}, 1.1),
    }
    return Family((2, 0, 0), leaves)


def paired_mcq() -> Family:
    text = {**neither("refusal"), **down("no_answer")}
    of_text = down("contradiction", "several", "empty_rate", "entropy_text")
    of_both = of_text | down("entropy_first_token", "position_bias")
    of_both |= neither(
        "mismatch_sd", "mismatch_refusal", "mismatch_refusal_share", "refusal_first_token", "first_token_spelling"
    )
    leaves: dict[str, Leaf] = {}
    tags: dict[str, list[str]] = {}
    # The opinions have no gold answer. Each question is asked in ten orders of its options.
    datasets = {"opinionqa": 660, "arc_challenge": 160, "commonsense_qa": 160, "mmlu": 160}
    families = {
        "paired_mcq": (text | down("mismatch"), of_both, up("first_token_acc")),
        "text_mcq": (text, of_text, {}),
    }
    levels = ("low", "medium", "high", "example", "example_abc")
    for (family, (metrics, details, of_gold)), (dataset, rows), level in product(
        families.items(), datasets.items(), levels
    ):
        facts = {
            "dataset": dataset,
            "constraint": level,
            "paired": family == "paired_mcq",
            "answer_classifier": "rules",
        }
        leaf, version = f"{family}_{dataset}_{level}", 1.6 if family == "paired_mcq" else 1.5
        leaves[leaf] = (
            Leaf(metrics, details, 256, rows, facts, version)
            if dataset == "opinionqa"
            else Leaf(metrics | up("text_acc"), details | of_gold, 256, rows, facts, version)
        )
        tags.setdefault(f"{family}_{dataset}", []).append(leaf)
        if (dataset, level) == ("arc_challenge", "medium"):
            # For the release check, and in no tag. There are fewer embedded questions.
            leaves[f"{leaf}_100"] = replace(leaves[leaf], facts={**facts, "rows": 100})
    return Family((42, 0, 8), leaves, tags=tags, filters=("string_match", "rules"))


# Appendix C: the five encodings, and the parts that the ablation takes from all of them or adds to the prompt alone.
FIVE = ("instance", "prompt", "prompt_definition", "all", "positive")
WITHOUT = ("definition", "prompt", "avoid", "emphasis", "positive", "negative", "examples")
WITH = ("avoid", "emphasis", "positive", "negative", "examples", "definition_positive")
ENCODINGS = (*FIVE, *(f"all_minus_{part}" for part in WITHOUT), *(f"prompt_{part}" for part in WITH))
# Of GPT-3's outputs.
PUBLISHED = (
    *("prompt", "prompt_definition", "all", "positive", "all_minus_negative", "all_minus_examples"),
    *("prompt_avoid", "prompt_emphasis", "prompt_positive", "prompt_examples", "prompt_definition_positive"),
)
# By their numbers, as the paper's section 4.2 and the published folder of the evaluation split have them.
TWELVE = ("002", "003", "005", "008", "022", "033", "034", "039", "040", "044", "045", "052")
ABLATED = ("019", "033", "040")
COUNTS: Mapping[str, int] = tables(__file__, "natural_instructions")
"""How many subtasks are of each category, and of each source dataset."""


def numbered(*numbers: str) -> list[str]:
    """Return the subtasks with these numbers, in order."""
    return [name for name in SUBTASKS if name.removeprefix("subtask").split("_")[0] in numbers]


def natural_instructions() -> Family:
    family = "natural_instructions"
    metrics, details = {**up("rouge_l"), **down("empty_rate")}, neither("examples")
    leaves = {
        f"{family}_{subtask}_{encoding}": Leaf(
            metrics, details, 16, 2, {"subtask": subtask, "category": SUBTASKS[subtask].category, "encoding": encoding}
        )
        for encoding in ENCODINGS
        for subtask in (
            SUBTASKS
            if encoding in FIVE
            else numbered(*sorted({*ABLATED, *TWELVE}) if encoding in PUBLISHED else ABLATED)
        )
    }
    of = {
        name: [each for each, one in SUBTASKS.items() if name in (one.category, one.source_dataset)] for name in COUNTS
    }
    assert {name: len(subtasks) for name, subtasks in of.items()} == COUNTS
    groups = {family: [f"{family}_{encoding}" for encoding in FIVE]}
    groups |= {f"{family}_{encoding}": members(numbered(*TWELVE), encoding) for encoding in FIVE}
    inner: list[tuple[str, Sequence[str], Sequence[str]]] = [
        *((f"{family}_{name}", subtasks, FIVE) for name, subtasks in of.items()),
        (f"{family}_ablation", numbered(*ABLATED), ENCODINGS),
        (f"{family}_published", numbered(*TWELVE), PUBLISHED),
    ]
    for group, subtasks, encodings in inner:
        groups[group] = [f"{group}::{encoding}" for encoding in encodings]
        groups |= {f"{group}::{encoding}": members(subtasks, encoding) for encoding in encodings}
    # Encodings are never pooled. BLEURT's filter is found by the harness, and without BLEURT no group has the metric.
    means: dict[str, list[Mean]] = {
        group: [("rouge_l", "none"), ("bleurt", None)] for group, parts in groups.items() if parts[0] in leaves
    }
    # 61 x 5 + 3 x 13 + the seven further published encodings of 10 subtasks, for two of the twelve are among the three;
    # the family, five encodings, seven categories, ten source datasets, the ablation and what was published.
    return Family((414, 25, 0), leaves, groups, means, stop="\n\n", by_size=False)


def members(subtasks: Sequence[str], encoding: str) -> list[str]:
    return [f"natural_instructions_{subtask}_{encoding}" for subtask in subtasks]


MANIFEST: Mapping[str, Family] = {
    family.__name__: family()
    for family in (verbalizer, manyifeval, ifbench, hierarchy, conversation, paired_mcq, natural_instructions)
}
