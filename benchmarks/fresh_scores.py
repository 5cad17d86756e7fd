"""Draws what known policies score under many row seeds: ``python -m benchmarks.fresh_scores --figure scores.png``.

Three policies answer the embedded rows of manyifeval with five instructions: ``oracle``, ``drop_one``, and one plain
text that is the same for every row. What the text follows depends only on which instructions a seed asks for, so it
shows how much the rows of seeds differ. The band is where 19 of 20 seeds would lie if rows were drawn independently.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import fmean, pstdev

from lm_eval_ext.families.manyifeval.answers import known_answers
from lm_eval_ext.families.manyifeval.prompts import TEST
from lm_eval_ext.families.manyifeval.rows import InstructionRow, all_rows
from lm_eval_ext.harness.requests import answer_of
from lm_eval_ext.sources import EMBEDDED
from lm_eval_ext.verifiers import Response

COUNT = 5
PLAIN = "This is a plain text, with a few words in it.\n\n* It has one bullet point [name].\n\n***\n\nIt has no title."
POLICIES = ("oracle", "drop_one", "plain text")


def main() -> None:
    """Print the scores, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50, help="the number of row seeds")
    parser.add_argument("--figure", metavar="PNG", help="where to write the figure")
    options = parser.parse_args()
    found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    spread = 0.0
    for row_seed in range(options.seeds):
        for policy, shares in shares_followed(row_seed).items():
            found[policy].append(fmean(shares))
            if policy == POLICIES[-1]:
                spread += pstdev(shares) / len(shares) ** 0.5 / options.seeds
    for policy, scores in found.items():
        print(f"{policy}: {fmean(scores):.4f}, standard deviation over seeds {pstdev(scores):.4f}")
    print(f"expected of independent rows: standard deviation {spread:.4f}")
    if options.figure:
        _draw(found, spread, options.figure)


def shares_followed(row_seed: int) -> dict[str, list[float]]:
    """Return the share of instructions followed by policy, for each row of a seed."""
    rows = [row for row in all_rows(EMBEDDED, TEST, row_seed) if len(row.instructions) == COUNT]
    return {policy: [_share(row, policy) for row in rows] for policy in POLICIES}


def _share(row: InstructionRow, policy: str) -> float:
    """Return the share of a row's instructions that a policy follows (``inst_level_strict_acc``)."""
    answer = PLAIN if policy == POLICIES[-1] else str(answer_of(known_answers(row), policy, f"row {row.key}"))
    return Response(answer).follows(row.instructions).share


def _draw(found: dict[str, list[float]], spread: float, path: str) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415 # an extra

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for policy, scores in found.items():
        _line(axes, policy, scores)
    mean = fmean(found[POLICIES[-1]])
    axes.axhspan(mean - 1.96 * spread, mean + 1.96 * spread, alpha=0.2, label="19 of 20 independent draws")
    axes.set(xlabel="row seed", ylabel="inst_level_strict_acc", ylim=(0, 1.05), title=f"{COUNT} instructions, 100 rows")
    axes.legend(loc="center right", fontsize="small")
    figure.savefig(path, dpi=120)


def _line(axes: object, policy: str, scores: Sequence[float]) -> None:
    axes.plot(range(len(scores)), scores, marker=".", linewidth=0.8, label=policy)  # type: ignore[attr-defined] # matplotlib is an extra


if __name__ == "__main__":
    main()
