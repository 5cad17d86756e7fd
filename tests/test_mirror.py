"""Every module has its tests under the same name, or a reason why they are elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

# A module, or a folder (its name ends with a slash), to the reason and the tests, whose paths are below tests/.
ELSEWHERE: dict[str, tuple[str, str]] = {
    # How a harness is met: shown by real runs, with each supported version of it.
    "start": ("starts interpreters", "test_autoload.py"),
    "harness/versions": ("what versions differ in shows in runs", "test_harness_versions.py"),
    "harness/installation": ("the doctor's view of an installation", "test_doctor.py"),
    "harness/known_answers": ("answers reach the reference model", "models/test_reference.py"),
    "harness/lm": ("what our LMs share", "models/test_self_refine.py"),
    "harness/filters": ("readers in a pipeline", "families/paired_mcq/test_filters.py"),
    "harness/aggregation": ("figures over rows, in results", "families/paired_mcq/test_known_answers.py"),
    # What a leaf says and records: every leaf is loaded by the real harness.
    "families/registry": ("the list that the tests of all families walk", "families/test_schema.py"),
    "families/family": ("the list that the tests of all families walk", "families/test_schema.py"),
    "families/instructions": ("rows and scores of two families", "families/manyifeval/test_scores.py"),
    "families/ifbench/schema": ("held against what every task gives", "families/test_schema.py"),
    "families/ifbench/task": ("loaded leaf by leaf", "families/ifbench/test_leaves.py"),
    "families/ifbench/request": ("what an LM is told of a row", "models/test_two_turns.py"),
    "families/ifbench/row": ("the type of a row", "families/ifbench/test_rows.py"),
    "families/ifbench/turns": ("two answers, scored", "families/ifbench/test_scores.py"),
    "families/ifbench/witness/": ("texts of every type", "families/ifbench/witness/test_respond.py"),
    "models/wrapping": ("what LMs share that wrap another", "models/test_self_refine.py"),
    "families/manyifeval/schema": ("held against what every task gives", "families/test_schema.py"),
    "families/manyifeval/task": ("loaded leaf by leaf", "families/manyifeval/test_leaves.py"),
    "families/manyifeval/request": ("what self-refinement is told of a row", "models/test_self_refine.py"),
    "families/manyifeval/arguments": ("drawn with the rows", "families/manyifeval/test_demands.py"),
    "families/manyifeval/wide/arguments": ("drawn for every type", "families/manyifeval/wide/test_witness.py"),
    "families/manyifeval/wide/plan": ("what a response needs", "families/manyifeval/wide/test_witness.py"),
    "families/manyifeval/fresh/dealing": ("the mix of every draw", "families/manyifeval/fresh/test_compose.py"),
    "families/manyifeval/fresh/pool": ("the mix of every draw", "families/manyifeval/fresh/test_compose.py"),
    "families/manyifeval/instruction_row": ("the type of a row", "families/manyifeval/test_compose.py"),
    "families/natural_instructions/schema": ("held against what every task gives", "families/test_schema.py"),
    "families/natural_instructions/task": ("loaded leaf by leaf", "families/natural_instructions/test_leaves.py"),
    "families/natural_instructions/training/arguments": (
        "arguments of two commands",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/training/base": (
        "the model of a training",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/training/errors": (
        "one exception",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/training/fit": (
        "the training itself",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/training/material": (
        "the pairs of a training",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/training/recipe": (
        "what a training records",
        "families/natural_instructions/training/test_train_command.py",
    ),
    "families/natural_instructions/instruction": (
        "what reading a file makes",
        "families/natural_instructions/test_read.py",
    ),
    "families/digest": ("pinned hashes of rows", "families/manyifeval/test_rows.py"),
    "families/manyifeval/cousins/phrasings": (
        "wordings of a row's variants",
        "families/manyifeval/cousins/test_variants.py",
    ),
    "families/paired_mcq/schema": ("held against what every task gives", "families/test_schema.py"),
    "families/paired_mcq/task": ("loaded leaf by leaf", "families/paired_mcq/test_leaves.py"),
    "families/paired_mcq/datasets": ("a table: its questions are read", "families/paired_mcq/test_questions.py"),
    "families/paired_mcq/expression": ("a field of a row", "families/paired_mcq/test_own_dataset.py"),
    "families/paired_mcq/known": ("answers of policies", "families/paired_mcq/test_known_answers.py"),
    "families/paired_mcq/opinionqa": ("one form of questions", "families/paired_mcq/test_questions.py"),
    "families/paired_mcq/pipelines": ("the filters of a leaf", "families/paired_mcq/test_leaves.py"),
    "families/paired_mcq/shuffles": ("the orders of a question's rows", "families/paired_mcq/test_rows.py"),
    "families/verbalizer/schema": ("held against what every task gives", "families/test_schema.py"),
    "families/verbalizer/task": ("loaded leaf by leaf", "families/verbalizer/test_leaves.py"),
    "families/verbalizer/datasets": ("a table: its rows are read", "families/verbalizer/test_rows.py"),
    "families/verbalizer/filters": ("the reader in a pipeline", "families/verbalizer/test_answer.py"),
    "families/verbalizer/leaf": ("wrong leaves, key by key", "families/verbalizer/test_bad_leaves.py"),
    "families/verbalizer/mentions": ("a step of reading an answer", "families/verbalizer/test_answer.py"),
    "families/verbalizer/verbalizer": ("words and scores of every leaf", "families/verbalizer/test_leaves.py"),
    # Steps of one algorithm, which is tested whole.
    "annotation/": ("from results to a sheet to its labels", "annotation/test_command.py"),
    "classifier/availability": ("errors of readers that are missing", "classifier/test_readers.py"),
    "classifier/evaluation/": ("what evaluate prints", "classifier/commands/test_evaluate.py"),
    "classifier/rules/phrases": ("wordings that the rules know", "classifier/rules/test_reader.py"),
    "classifier/rules/grouping": ("a step of reading by rules", "classifier/rules/test_reader.py"),
    "classifier/rules/stance": ("a step of reading by rules", "classifier/rules/test_reader.py"),
    "classifier/commands/placing": ("options of the subcommands", "classifier/commands/test_commands.py"),
    "version_mark": ("versions of runs under a row seed", "test_row_seed.py"),
    "argument_types": ("options of the subcommands", "classifier/commands/test_commands.py"),
    "classifier/training/": ("what train writes", "classifier/commands/test_train.py"),
    "self_refine/": ("strategies, round by round", "models/test_self_refine.py"),
    "integrations/rows": ("rows, whole and malformed", "integrations/test_trl_rewards.py"),
    "regrade/prompts": ("known prompts of responses", "regrade/test_command.py"),
    "verifiers/capitals": ("words in capitals, as NLTK has them", "verifiers/test_text.py"),
    "verifiers/ifbench/emojis": ("what an emoji is", "verifiers/ifbench/test_format.py"),
    "verifiers/ifbench/geography": ("what a capital and a country are called", "verifiers/ifbench/test_custom.py"),
    "verifiers/ifbench/layout": ("lines and sections", "verifiers/ifbench/test_format.py"),
    "verifiers/ifbench/nesting": ("what brackets and quotes enclose", "verifiers/ifbench/test_format.py"),
    "verifiers/ifbench/tables": ("rows and fields of a table", "verifiers/ifbench/test_custom.py"),
    "verifiers/detector": ("langdetect's own results", "verifiers/test_detection.py"),
    "verifiers/markdown": ("constructs that instructions ask for", "verifiers/ifeval/test_format.py"),
    "verifiers/nltk_data": ("what is missing, and how to get it", "verifiers/test_text.py"),
    "verifiers/phrases": ("what a phrase matches", "verifiers/ifeval/test_keywords.py"),
    "verifiers/sentences": ("sentences, as Punkt has them", "verifiers/test_text.py"),
    "verifiers/tags": ("the part of speech of a first word", "verifiers/ifbench/test_words.py"),
    "verifiers/tokens": ("word tokens, as NLTK has them", "verifiers/test_text.py"),
    # One reader of results: tested by what it makes of files.
    "results/files": ("files, whole and malformed", "results/test_malformed.py"),
    "results/samples": ("lines, whole and malformed", "results/test_malformed.py"),
    "results/rows": ("the columns that a samples file makes", "results/test_load.py"),
    "results/issue": ("what the reader reports", "results/test_load.py"),
    "results/comparability": ("what two sides differ in", "reports/gate/test_units.py"),
    # Drawings and texts: tested by what a page shows.
    "reports/errors": ("one exception", "reports/page/test_command.py"),
    "reports/wording": ("texts of the page", "reports/page/test_html.py"),
    "reports/other_tasks": ("options of the commands", "reports/gate/test_other_tasks.py"),
    "reports/gate/difference": ("what a comparison measures", "reports/gate/test_comparison.py"),
    "reports/gate/check_text": ("what check prints", "reports/gate/test_commands.py"),
    "reports/gate/comparison_text": ("what compare prints", "reports/gate/test_commands.py"),
    "reports/gate/sampled/text": ("what compare and check print", "reports/gate/test_commands.py"),
    "reports/page/build": ("the report of a whole folder", "reports/page/test_html.py"),
    "reports/page/drawing/": ("what is drawn", "reports/page/test_plots.py"),
    "reports/sections/any_task/": ("a section is its figures", "reports/sections/any_task/test_section.py"),
    "reports/sections/variants": ("a share of rows, in figures", "reports/sections/verbalizer/test_paraphrases.py"),
    "reports/sections/conditions": ("which runs a figure compares", "reports/sections/verbalizer/test_section.py"),
    "reports/sections/ifbench/": ("a section is its figures", "reports/sections/ifbench/test_section.py"),
    "reports/sections/manyifeval/": ("a section is its figures", "reports/sections/manyifeval/test_section.py"),
    "reports/sections/natural_instructions/": (
        "a section is its figures",
        "reports/sections/natural_instructions/test_section.py",
    ),
    "reports/sections/paired_mcq/": ("a section is its figures", "reports/sections/paired_mcq/test_section.py"),
    "reports/sections/verbalizer/": ("a section is its figures", "reports/sections/verbalizer/test_section.py"),
    "__main__": ("the command, started", "test_command_line.py"),
}


def modules() -> Iterator[str]:
    """Yield the modules of the package, and of verifiers/ next to it, as paths without a suffix."""
    for root, prefix in ((ROOT / "lm_eval_ext", Path()), (ROOT / "verifiers", Path("verifiers"))):
        for path in sorted(root.rglob("*.py")):
            name = (prefix / path.relative_to(root)).with_suffix("")
            if name.name != "__init__" and not (not prefix.parts and name.parts[0] == "verifiers"):
                yield name.as_posix()


def mirror(module: str) -> Path:
    path = Path(module)
    return ROOT / "tests" / path.parent / f"test_{path.name}.py"


def without_mirror() -> list[str]:
    return [module for module in modules() if not mirror(module).is_file()]


def test_a_module_without_a_test_file_says_where_its_tests_are() -> None:
    folders = {module: {f"{folder.as_posix()}/" for folder in Path(module).parents} for module in without_mirror()}
    assert [module for module, above in folders.items() if not ({module} | above) & set(ELSEWHERE)] == []


def test_a_module_tested_elsewhere_has_exactly_the_tests_that_it_names() -> None:
    lacking = [f"{module}/" for module in without_mirror()]
    assert [place for place in ELSEWHERE if not any(each.startswith(f"{place.rstrip('/')}/") for each in lacking)] == []
    assert [tests for _, tests in ELSEWHERE.values() if not (ROOT / "tests" / tests).is_file()] == []
