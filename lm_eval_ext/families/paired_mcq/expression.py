"""Expressions over a row in a leaf: the name of a column, or a template over the columns, as in the harness's YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import jinja2.meta

from lm_eval_ext.harness.versions import template_environment

if TYPE_CHECKING:
    from jinja2.environment import TemplateExpression

_IS_TEMPLATE = re.compile(r"{{|{%")
_ONE_FIELD = re.compile(r"\s*{{((?:(?!{{|}}).)*)}}\s*", re.DOTALL)


def columns_of(expression: str) -> tuple[str, ...]:
    """Return the columns that an expression reads.

    Args:
        expression: ``question`` (a column) or ``{{choices.text}}`` (a template).

    Raises:
        jinja2.TemplateError: the template is not well-formed.
    """
    if not _IS_TEMPLATE.search(expression):
        return (expression,)
    environment = template_environment()
    undeclared = jinja2.meta.find_undeclared_variables(environment.parse(expression))
    return tuple(sorted(undeclared - set(environment.globals)))


def value_of(expression: str, row: Mapping[str, Any]) -> Any:
    """Evaluate an expression on a row: the value of a column or of a single ``{{…}}``, else the rendered text.

    Raises:
        Exception: whatever the expression raises for an unexpected row (``ValueError`` of ``index``, …).
    """
    if not _IS_TEMPLATE.search(expression):
        return row[expression]
    field = _ONE_FIELD.fullmatch(expression)
    if field is None:
        return _template(expression).render(row)
    value = _field(field[1])(**row)
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises an error that names what is undefined: the harness's templates are strict
    return value


@cache
def _template(text: str) -> jinja2.Template:
    template: jinja2.Template = template_environment().from_string(text)
    return template


@cache
def _field(text: str) -> TemplateExpression:
    field: TemplateExpression = template_environment().compile_expression(text, undefined_to_none=False)
    return field
