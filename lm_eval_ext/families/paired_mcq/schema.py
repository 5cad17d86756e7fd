"""What the results of paired_mcq and text_mcq tasks contain."""

from __future__ import annotations

from lm_eval_ext.families.paired_mcq.prompt import INSTRUCTIONS
from lm_eval_ext.families.schema import EMPTY_RATE, ENTROPY, Metric, Schema

NO_LETTER = "-"
"""Replaces the letter in the samples if a text does not name exactly one."""

SCHEMA = Schema(
    metrics=(
        Metric("mismatch", higher_is_better=False),
        # The spread of the paper's ten runs; the report shows confidence intervals instead.
        Metric("mismatch_sd", higher_is_better=None, per_row=None, drawn=False),
        Metric("mismatch_refusal", higher_is_better=None),
        # The quotient of the two above, which are both shown.
        Metric("mismatch_refusal_share", higher_is_better=None, per_row=None, drawn=False),
        Metric("refusal", higher_is_better=None),
        Metric("refusal_first_token", higher_is_better=None),
        Metric("no_answer", higher_is_better=False),
        # The part of no_answer in which a letter comes with another option's text.
        Metric("contradiction", higher_is_better=False),
        Metric("several", higher_is_better=False),
        # Empty texts are among those without an answer.
        EMPTY_RATE,
        # In nats. The paper calls it answer consistency (Table 3), but lower is better.
        Metric("entropy_first_token", higher_is_better=False, per_row="choice", range=ENTROPY),
        Metric("entropy_text", higher_is_better=False, per_row="choice", range=ENTROPY),
        Metric("position_bias", higher_is_better=False, per_row="letters"),
        Metric("first_token_acc", higher_is_better=True),
        Metric("text_acc", higher_is_better=True),
    ),
    # Without first tokens there is no mismatch; then the refusal rate is the metric that every dataset has.
    headlines=(
        Metric("mismatch", higher_is_better=False),
        Metric("text_acc", higher_is_better=True),
        Metric("refusal", higher_is_better=False),
    ),
    # constraint: how strictly the prompt asks for a letter (Table 1); paired: whether first tokens were asked for.
    facts={"constraint": "text", "paired": "true or false"},
    levels=("constraint",),
    # The weakest constraint first.
    values={"constraint": tuple(INSTRUCTIONS)},
    row_key="key",
    # Appendix A.1.
    over_temperatures=True,
    former_names={"consistency_first_token": "entropy_first_token", "consistency_text": "entropy_text"},
    readers=("classifier", "llm", "rules", "string_match"),
    # Every question is asked in ten shuffles.
    sizes={
        f"(paired|text)_mcq_{dataset}_({'|'.join(INSTRUCTIONS)})": (questions, 10)
        for dataset, questions in (
            ("opinionqa", 414),
            ("arc_challenge", 1172),
            ("commonsense_qa", 1221),
            ("mmlu", 14042),
        )
    },
)
