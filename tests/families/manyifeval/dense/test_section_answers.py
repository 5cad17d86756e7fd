"""What the policies of the reference model answer, and the figures that follow."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, MixedRow, mixed_rows
from lm_eval_ext.families.manyifeval.dense.scores import by_place, score_sections
from lm_eval_ext.families.manyifeval.dense.task import section_answers

pytestmark = pytest.mark.usefixtures("sentence_data")


def expected(policy: str, row: MixedRow) -> dict[str, float]:
    """Return the figures that a policy implies, from the row's list alone."""
    count = len(row.instructions)
    half = max(row.sections) // 2
    followed = {
        "oracle": [True] * count,
        "first_half": [place < count // 2 for place in range(count)],
        "drop_one": [place < count - 1 for place in range(count)],
        "first_sections": [number <= half for number in row.sections],
    }.get(policy, [False] * count)
    omitted = {"first_sections": 0.5, "ignore": 1.0}.get(policy, 0.0)
    return {
        "instructions_followed": sum(followed) / count,
        "instructions_omitted": omitted,
        "instructions_broken": 1 - sum(followed) / count - omitted,
        "primacy": by_place("", followed)["primacy"],
    }


POLICIES = ("oracle", "first_half", "drop_one", "first_sections", "break_all", "ignore")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("count", [COUNTS[0], COUNTS[2], COUNTS[-1]])
def test_the_scores_are_those_that_the_policy_implies(policy: str, count: int) -> None:
    for row in mixed_rows(count)[:: 1 if count < 100 else 10]:
        types, arguments = zip(*((one.id, one.arguments()) for one in row.instructions), strict=True)
        doc = {"sections": row.sections, "types": types, "arguments": arguments}
        found = score_sections(doc, [section_answers(row)[policy]])
        figures = expected(policy, row)
        assert {name: found[name] for name in figures} == pytest.approx(figures, abs=1e-12), (policy, row.key)
