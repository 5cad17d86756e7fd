"""A recorded chat template renders conversations as transformers does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import jinja2
import pytest

from lm_eval_ext.models.chat_template import ChatTemplate
from tests.tables import tables

pytestmark = pytest.mark.harness

MESSAGES = [
    {"role": "system", "content": "Be brief. <b>"},
    {"role": "user", "content": " Why?\n"},
    {"role": "assistant", "content": "Because."},
    {"role": "user", "content": "And?  "},
]
DATE = datetime(1970, 1, 1)
TEMPLATES: Mapping[str, str] = tables(__file__, "templates")


def of_transformers(source: str, messages: list[dict[str, str]], **options: Any) -> str:
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    (text,), _ = utilities.render_jinja_template([messages], chat_template=source, **tokens, **options)
    assert isinstance(text, str)
    return text


# Those that end with the last message.
CONTINUED = [name for name in TEMPLATES if name not in ("blocks on lines of their own", "JSON")]


@pytest.mark.parametrize(
    ("name", "continued"), [*((name, False) for name in TEMPLATES), *((name, True) for name in CONTINUED)]
)
def test_conversations_are_rendered_as_transformers_does(name: str, continued: bool) -> None:
    options = {"bos_token": "<s>", "eos_token": "</s>"}
    given = {"enable_thinking": False} if name == "variables" else {}
    messages = MESSAGES[:3] if continued else MESSAGES
    # The harness removes system messages where the template rejects them.
    shown = messages[1:] if name == "no system message" else messages
    expected = of_transformers(
        TEMPLATES[name], shown, add_generation_prompt=not continued, continue_final_message=continued, **given
    )
    template = ChatTemplate(TEMPLATES[name], {**options, **given}, DATE)
    assert template.render(messages, add_generation_prompt=not continued) == expected


def test_a_message_that_is_continued_ends_where_the_template_ends_it() -> None:
    last = [{"role": "assistant", "content": "Because "}]
    for name, end in (("turns", "Because "), ("trimmed", "Because")):
        text = ChatTemplate(TEMPLATES[name], {"bos_token": ""}, DATE).render(last, add_generation_prompt=False)
        assert text.endswith(end)
        options = {"add_generation_prompt": False, "continue_final_message": True}
        assert text == of_transformers(TEMPLATES[name], last, **options).removeprefix("<s>")


def test_a_template_that_writes_the_date_writes_that_of_the_recorded_run() -> None:
    day = datetime(2024, 7, 26, 12)
    source = "{{ strftime_now('%d %b %Y') }}: {{ messages[0].content }}"
    assert ChatTemplate(source, {}, day).render(MESSAGES[1:2], True) == "26 Jul 2024:  Why?\n"


def test_a_template_runs_in_a_sandbox_and_an_error_of_its_own_is_raised() -> None:
    escape = ChatTemplate("{{ messages.__class__.__mro__ }}{{ messages[0].__init__.__globals__ }}", {}, DATE)
    with pytest.raises(jinja2.TemplateError):
        escape.render(MESSAGES, True)
    with pytest.raises(jinja2.TemplateError, match="never"):
        ChatTemplate("{{ raise_exception('never') }}", {}, DATE).render(MESSAGES, True)
