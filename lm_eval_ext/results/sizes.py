"""How many parameters each evaluated model has, and which models are one family at several sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lm_eval_ext.results.files import read_toml, shown
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Role, Runs
from lm_eval_ext.sources import RowsError

RECORDED = "model_num_parameters"
"""Where the harness records the number of parameters of a model that it has loaded itself."""
EXAMPLE = '[Pythia] with lines like "pythia-70m" = "70M" or "pythia-1b" = 1_011_781_632'
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMBT]?)", re.IGNORECASE)
_IN_NAME = re.compile(r"(?<![0-9A-Za-z.])\d+(?:\.\d+)?[KMBT](?![0-9A-Za-z])", re.IGNORECASE)
"""The part of a model's name that states its size: 7b, 1.4B, 70m."""


@dataclass(frozen=True)
class Size:
    """The size of a model.

    Attributes:
        family: the models that differ from it only in size.
        parameters: the number of its parameters.
    """

    family: str
    parameters: int


@dataclass(frozen=True)
class Sizes:
    """The sizes of evaluated models.

    Attributes:
        of: by model; models of unknown size are left out.
        issues: which models are left out, and which families are guessed.
    """

    of: Mapping[EvaluatedModel, Size] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class GivenSizes:
    """The sizes that a file states.

    Attributes:
        path: the file.
        of: by the name of a model.
    """

    path: Path
    of: Mapping[str, Size]


def read_sizes(path: Path) -> GivenSizes:
    """Read sizes from a TOML file with a table for each family: the names of its models, and their parameters.

    Raises:
        OSError: it cannot be read.
        RowsError: it is not such a file, a size is not a number of parameters, or a model is in two families.
    """
    content = read_toml(path, f"a table for each family: {EXAMPLE}")
    found: dict[str, Size] = {}
    for family, models in content.items():
        if not isinstance(models, dict) or not models:
            raise RowsError(f"{path}: {family!r} is {shown(models)!r}; expected a table for each family: {EXAMPLE}")
        for name, value in models.items():
            if name in found:
                raise RowsError(
                    f"{path}: the model {name!r} is in the families {found[name].family!r} and {family!r}; expected one"
                )
            found[name] = Size(family, _parameters(f"{path}, [{family}], {name!r}", value))
    if not found:
        raise RowsError(f"{path}: no models; expected a table for each family: {EXAMPLE}")
    return GivenSizes(path, found)


def _parameters(where: str, value: object) -> int:
    number = 0.0
    if isinstance(value, str) and (match := _COUNT.fullmatch(value.strip())):
        number = float(match[1]) * UNITS[match[2].upper()]
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18:
        number = float(value)
    if not 1 <= number < 1e18:
        raise RowsError(
            f'{where}: {shown(value)}; expected a number of parameters, for example "70M", "1.4B" or 7_000_000'
        )
    return round(number)


def sizes(runs: Runs, given: GivenSizes | None = None) -> Sizes:
    """Return the sizes of the models that were run.

    A size is the one that the file states for the model, by its name in the report or the name of its weights, or else
    the number of parameters in its results. The results do not record a family: it is the name without the size in it
    (``Qwen2.5-…-Instruct``).

    Args:
        runs: all runs.
        given: the sizes that a file states.
    """
    found: dict[EvaluatedModel, Size] = {}
    used: set[str] = set()
    without: list[str] = []
    for model, label in runs.labels.items():
        stated = given.of if given else {}
        # A user may have given it any name.
        name = model.name if label.startswith(model.name) else label
        further = _further(label.removeprefix(name))
        parameters = _recorded(runs, model)
        if label in stated:
            used.add(label)
            found[model] = stated[label]
        elif model.name in stated:
            used.add(model.name)
            size = stated[model.name]
            found[model] = Size(size.family + further, size.parameters)
        elif parameters is not None:
            found[model] = Size(_IN_NAME.sub("…", name) + further, parameters)
        else:
            without.append(label)
    issues = []
    if given and without:
        issues.append(
            warning(
                f"{given.path}: no size for {named(without)}, and their results record none: not in figures by size"
            )
        )
    if given and (unused := [name for name in given.of if name not in used]):
        issues.append(note(f"{given.path}: not among the results: {named(unused)}"))
    return Sizes(_distinct(found, runs.labels), tuple(issues))


def _further(differences: str) -> str:
    """Return what distinguishes a model from others of its name, without what it only lacks.

    A model that was also run with few-shot examples is called "no few-shot examples" without them, but it belongs to
    the same family as models that were only run without.
    """
    parts = [part for part in differences.split(", ") if part and not part.startswith("no ")]
    return "".join(f", {part}" for part in parts)


def _recorded(runs: Runs, model: EvaluatedModel) -> int | None:
    for run in runs.with_role(Role.COUNTS, Role.PLACED):
        value = run.file.config.get(RECORDED)
        # The harness records -1 if it cannot tell.
        if run.model == model and isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
    return None


def _distinct(found: Mapping[EvaluatedModel, Size], labels: Mapping[EvaluatedModel, str]) -> dict[EvaluatedModel, Size]:
    """Return the sizes; of several models of one family and size, each is a family of its own, for they differ."""
    alike: dict[Size, list[EvaluatedModel]] = {}
    for model, size in found.items():
        alike.setdefault(size, []).append(model)
    return {
        model: size if len(alike[size]) == 1 else Size(labels[model], size.parameters) for model, size in found.items()
    }
