"""``lm-eval-ext classifier``: train an answer classifier, evaluate readers, read rows."""

from __future__ import annotations

import argparse

from lm_eval_ext.classifier.commands import evaluate as command_evaluate
from lm_eval_ext.classifier.commands import read as command_read
from lm_eval_ext.classifier.commands import train as command_train


def add_to(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """Add ``classifier`` and its subcommands to the command line, and return the subcommands."""
    classifier: argparse._SubParsersAction[argparse.ArgumentParser] = commands.add_parser(
        "classifier", help="find the option that a free-text answer chooses: train, evaluate, read, annotate"
    ).add_subparsers()
    for subcommand in (command_train, command_evaluate, command_read):
        subcommand.add_to(classifier)
    return classifier
