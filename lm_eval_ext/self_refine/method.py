"""The method of an evaluated model: its base model and the strategy by which its answers are refined."""

from __future__ import annotations

from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.self_refine.strategies import ARGUMENTS, DEFAULT, NAME, ZERO_SHOT


def is_refined(model: EvaluatedModel) -> bool:
    """Return whether a model's answers are refined, rather than the model being run on its own."""
    return model.kind == NAME


def strategy_of(model: EvaluatedModel) -> str:
    """Return the strategy by which a model's answers are refined; ``none`` for a model that is run on its own."""
    if not is_refined(model):
        return ZERO_SHOT
    strategy = dict(model.arguments).get("strategy", DEFAULT)
    # The harness reads the word "none" as Python's None.
    return ZERO_SHOT if strategy == "None" else strategy


def stops_early(model: EvaluatedModel) -> bool:
    """Return whether an answer that is judged to follow all its instructions is final."""
    return dict(model.arguments).get("early_stop", "True").lower() != "false"


def base_of(model: EvaluatedModel) -> EvaluatedModel:
    """Return the model whose answers are refined, in the same setting; the model itself if it is run on its own."""
    if not is_refined(model):
        return model
    of_base = tuple((name, value) for name, value in model.arguments if name not in ARGUMENTS)
    return EvaluatedModel(dict(model.arguments).get("base", ""), of_base, model.setting)
