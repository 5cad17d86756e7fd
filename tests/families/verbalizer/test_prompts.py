"""The prompts are exactly the paper's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from lm_eval_ext import tasks_dir
from tests.conftest import SHARED
from tests.families.verbalizer.table_1 import VERBALIZERS, words
from tests.tables import tables

TASKS = Path(tasks_dir()) / "verbalizer" / "leaves"

CONTENT = tables(__file__, "prompts")
ROWS: Mapping[str, Mapping[str, str]] = CONTENT["rows"]
PARTS: Mapping[str, Sequence[str]] = CONTENT["parts"]
FIGURES: Mapping[str, str] = CONTENT["figures"]


def content(prefix: str, leaf: str) -> Any:
    return yaml.safe_load((TASKS / f"{prefix}_{leaf}.yaml").read_text(encoding="utf-8"))


def prompt(prefix: str, leaf: str) -> str:
    text = content(prefix, leaf)["doc_to_text"]
    shown: str = jinja2.Template(text, keep_trailing_newline=True).render(ROWS[leaf.split("_", 1)[0]])
    return shown


@pytest.mark.parametrize("prefix", FIGURES)
@pytest.mark.parametrize("dataset", PARTS)
def test_every_prompt_is_that_of_figure_7_or_8(prefix: str, dataset: str) -> None:
    judged, condition, called = PARTS[dataset]
    columns = list(ROWS[dataset])
    names = [called] if len(columns) == 1 else [f"{called} 1", f"{called} 2"]
    row = "\n".join(f"{name}: {{{{{column}}}}}" for name, column in zip(names, columns, strict=True))
    first, second = (re.sub(r"\[(.*)\|(.*)\]", rf"\{number}", condition) for number in (1, 2))
    for kind, verbalizers in VERBALIZERS.items():
        for verbalizer in verbalizers:
            one, other = words(dataset, verbalizer)
            parts = {"judged": judged, "first": first, "second": second, "one": one, "other": other, "row": row}
            leaf = content(prefix, f"{dataset}_{kind}_{verbalizer}")
            assert leaf["doc_to_text"] == FIGURES[prefix].format(**parts)


def figures() -> dict[str, dict[str, str]]:
    """Return the templates of Figures 7 and 8 in the paper's text: prefix of leaves' names -> dataset -> template."""
    path = SHARED / "papers" / "verbalizer-manipulation.txt"
    if not path.is_file():
        pytest.skip(f"the paper's text is not at {path}")
    text = path.read_text(encoding="utf-8")
    text = text[text.index("Figure 6: Per-dataset") :]
    flat = " ".join(re.sub(r"<\|.*?\|>", " ", text).split())
    direct, cot = flat[: flat.index("Figure 7:")], flat[flat.index("Figure 7:") :]
    order = list(ROWS)
    found = {}
    for prefix, part, end in (("verbalizer", direct, "Answer:"), ("verbalizer_cot", cot, "step by step.")):
        starts = [match.start() for match in re.finditer("You are a helpful assistant", part)]
        templates = [part[start : part.index(end, part.index("Answer:", start)) + len(end)] for start in starts]
        found[prefix] = dict(zip(order, templates, strict=True))
    return found


@pytest.mark.parametrize("prefix", FIGURES)
@pytest.mark.parametrize("dataset", ROWS)
def test_a_golden_prompt_is_the_papers_template_with_the_fields_filled_in(prefix: str, dataset: str) -> None:
    template = figures()[prefix][dataset].replace("\\n", "\n")
    # Figure 7 names QQP's fields {equivalent} and {not equivalent}; its golden words (Table 1) are another pair.
    if dataset == "qqp":
        template = template.replace("equivalent}", "duplicate}")
    for word in content(prefix, f"{dataset}_natural_golden")["doc_to_choice"]:
        assert f'"{{{word}}}"' in template
        template = template.replace(f"{{{word}}}", word)
    row = list(ROWS[dataset].values())
    for field, value in zip(re.findall(r"{(\w+)}", template), row, strict=True):
        template = template.replace(f"{{{field}}}", value)
    squeezed = re.sub(r" ?(\n+) ?", r"\1", template)  # the figures' own line breaks are next to the \n that they print
    assert prompt(prefix, f"{dataset}_natural_golden") == squeezed
