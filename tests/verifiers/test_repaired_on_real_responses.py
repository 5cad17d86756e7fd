"""How often the repaired edition differs from IFEval on real responses: the table in ``appendix/ifeval-checkers.md``.

After a change of a checker, ``python -m tests.verifiers.test_repaired_on_real_responses`` prints its figures as they
are now.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.verifiers import EDITIONS, Response, instructions_of
from tests.conftest import ROOT, SHARED
from tests.families.jsonl import read_jsonl
from tests.verifiers.cases import counted, documented

PAGE = (ROOT / "docs/appendix/ifeval-checkers.md").read_text(encoding="utf-8")


def judged(data: Path) -> list[tuple[str, bool, bool]]:
    """Return id and strict verdicts, faithful and repaired, of four models' responses to IFEval's 541 prompts."""
    prompts = {row["key"]: row for row in read_jsonl(data / "ifeval/ifeval_input_data.jsonl")}
    found: list[tuple[str, bool, bool]] = []
    for row in read_jsonl(data / "ifeval/ifeval_responses.jsonl"):
        ids, response = prompts[row["key"]]["instruction_id_list"], Response(row["response"])
        instructions = instructions_of(ids, prompts[row["key"]]["kwargs"])
        both = (response.follows(instructions, edition).follow_instruction_list for edition in EDITIONS)
        found += zip(ids, *both, strict=True)
    return found


@pytest.mark.slow
def test_the_editions_differ_as_documented(shared_data: Path) -> None:
    verdicts = judged(shared_data)
    assert len(verdicts) == 4 * 834  # four models, 834 instructions in 541 rows
    differing = counted(verdicts)
    assert differing == documented(PAGE)
    same = [name for name, *_ in verdicts if name not in differing]
    assert len(set(same)) == 9
    assert f"| the other nine | {len(same):,} | 0 | 0 |" in PAGE


if __name__ == "__main__":
    for instruction_id, figures in counted(judged(SHARED / "data")).items():
        print(f"| `{instruction_id}` | {' | '.join(map(str, figures))} |")
