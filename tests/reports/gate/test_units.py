"""Which parts of two runs are compared."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gate.units import Compared, Sides, lowest_levels, unlike
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import load, load_apart
from tests.reports.conftest import ResultFolder
from tests.reports.files import CONFIG, SST2, edited, edited_lines, write_run
from tests.reports.gate.two_runs import GOLDEN, NAMES, SNLI, right, sides, sides_in, sides_of, unit

BOTH = {SST2: right(3), SNLI: right(4)}
TREE = {"all": ["level"], "level": [SST2, SNLI]}


def told(found: Compared | Issue) -> dict[str, list[str]]:
    """Return the issues of what can be compared, by severity."""
    of_severity: dict[str, list[str]] = {}
    for issue in unit(found).issues:
        of_severity.setdefault(issue.severity, []).append(issue.text)
    return of_severity


def test_a_task_is_paired_with_itself_and_a_group_with_all_its_tasks(tmp_path: Path) -> None:
    both = sides(tmp_path, BOTH, BOTH, groups=TREE)
    assert both.known == ("all", "level", SNLI, SST2)
    for name, tasks in (("all", [SST2, SNLI]), ("level", [SST2, SNLI]), (SNLI, [SNLI])):
        found = unit(both.take(name))
        assert (found.name, found.family, found.headline.name) == (name, "verbalizer", "acc")
        assert found.is_group == (len(tasks) > 1)
        assert [pair.before.task for pair in found.pairs] == [pair.after.task for pair in found.pairs] == tasks


@pytest.mark.parametrize(("entry", "expected"), [({"acc,answer": 0.5}, ("level",)), ({}, (SNLI, SST2))])
def test_a_group_that_the_harness_lists_without_a_score_is_replaced_by_its_tasks(
    entry: Mapping[str, float], expected: Sequence[str], tmp_path: Path
) -> None:
    both = sides(tmp_path, BOTH, BOTH, groups={"level": [SST2, SNLI]})
    for results in tmp_path.rglob("results_*.json"):
        with edited(results) as content:
            content["results"]["level"] = {"alias": "level", **entry}
    both = sides_in(tmp_path)
    assert tuple(sorted(lowest_levels(both.before))) == expected
    said = str(both.take("level")) if isinstance(both.take("level"), Issue) else ""
    assert said == ("" if entry else "the results hold no acc of this group, only of its tasks")


@pytest.mark.parametrize(
    ("before", "after", "name", "expected"),
    [
        ([SST2, SNLI], [SST2], SNLI, "missing from B"),
        ([SST2], [SST2, SNLI], SNLI, "missing from A"),
        ([SST2, SNLI], [SST2], "all", f"missing from B: {SNLI}"),
        ([SST2], [SST2, SNLI], "all", f"missing from A: {SNLI}"),
        ([SST2, SNLI], [GOLDEN], "all", "missing from B"),
        ([SST2], [SST2], "no_such_task", "missing from A"),
    ],
)
def test_tasks_missing_on_one_side_are_named(
    tmp_path: Path, before: Sequence[str], after: Sequence[str], name: str, expected: str
) -> None:
    first, second = ({task: right(3) for task in tasks} for tasks in (before, after))
    assert str(sides(tmp_path, first, second, groups={"all": [SST2, SNLI]}).take(name)) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"version": 2.0}, "version 1.0 in A, 2.0 in B"),
        ({"rows_hash": "others"}, "different rows: rows_hash rows in A, others in B"),
        # What else the metadata say changes nothing of what is asked.
        ({"note": "something else"}, ""),
    ],
)
def test_scores_of_different_things_are_not_paired(tmp_path: Path, changed: Mapping[str, Any], expected: str) -> None:
    of_after = {"config": {"metadata": {**CONFIG["metadata"], **changed}}}
    both = sides(tmp_path, BOTH, BOTH, groups=TREE, of_after=of_after)
    if expected:
        assert [str(both.take(name)) for name in (SST2, "all")] == [expected, f"{expected} ({SST2}, {SNLI})"]
    else:
        assert unit(both.take("all"))


MCQ = "paired_mcq_arc_challenge_medium"


@pytest.fixture(scope="module")
def mcq(result_folder: ResultFolder) -> Path:
    return result_folder("oracle", [MCQ], limit=20, answer_classifier="rules")


def test_only_a_reader_common_to_both_sides_is_used(mcq: Path, tmp_path: Path) -> None:
    # The rules read better, but the other run has matching only.
    matched = without_reader(mcq, "rules", tmp_path / "matched")
    for paths, reader in (((mcq, matched), "string_match"), ((matched, mcq), "string_match"), ((mcq, mcq), "rules")):
        found = unit(sides_of(*paths).take(MCQ))
        assert [run.reader for pair in found.pairs for run in (pair.before, pair.after)] == [reader, reader]
        assert not found.headline.higher_is_better
    assert told(sides_of(mcq, matched).take(MCQ))["warning"] == ["read by string_match because B has no rules"]
    ours = without_reader(mcq, "string_match", tmp_path / "ours")
    assert str(sides_of(matched, ours).take(MCQ)) == "answers read by string_match in A, rules in B"


def without_reader(run: Path, reader: str, into: Path) -> Path:
    shutil.copytree(run, into, dirs_exist_ok=True)
    with edited(into) as content:
        figures = content["results"][MCQ]
        content["results"][MCQ] = {field: value for field, value in figures.items() if not field.endswith(f",{reader}")}
    return into


# What covers everything


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({}, [SNLI, GOLDEN, SST2]),
        # An average over all would hide what the level shows.
        ({"all": ["level", GOLDEN], "level": [SST2, SNLI]}, ["level", GOLDEN]),
        ({"level": [SST2, SNLI]}, ["level", GOLDEN]),
        # The lower of two groups of the same tasks; the harness has it last.
        ({"all": ["level"], "level": [SST2, SNLI]}, ["level", GOLDEN]),
        # Neither holds the other.
        ({"one": [SST2, SNLI], "two": [SNLI, GOLDEN]}, ["one", "two"]),
        # A task of others, or of no row, is in no average of ours.
        ({"all": ["level", "ifeval"], "level": [SST2, SNLI]}, ["level", GOLDEN]),
    ],
)
def test_the_lowest_groups_and_the_ungrouped_tasks_cover_everything(
    tmp_path: Path, groups: Mapping[str, Sequence[str]], expected: Sequence[str]
) -> None:
    write_run(tmp_path, {**BOTH, GOLDEN: right(5)}, group_subtasks=groups)
    assert list(lowest_levels(load([tmp_path]))) == expected


def test_a_group_without_a_common_metric_is_not_compared_but_split_into_tasks(tmp_path: Path, mcq: Path) -> None:
    groups = {"mixed": [SST2, MCQ], "all": ["level", MCQ], "level": [SST2, SNLI]}
    write_run(tmp_path, BOTH, arguments={"policy": "oracle"}, group_subtasks=groups)
    (runs,) = load_apart([[tmp_path, mcq]])
    assert str(Sides(runs, runs, NAMES).take("mixed")) == "its tasks have no metric in common: acc, mismatch"
    assert list(lowest_levels(runs)) == ["level", MCQ]


# What was asked otherwise


def of_rows(folder: Path, changed: Mapping[str, Any]) -> Sides:
    """Return two runs of three rows; in the second one, row 1 has other fields."""
    both = sides(folder, {SST2: right(3, of=3)}, {SST2: right(3, of=3)})
    with edited_lines(both.after.counting[0].samples_path) as lines:
        lines[1] |= changed
    return sides_in(folder)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("doc_hash", "different rows under the same doc_id"),
        ("target_hash", "different gold answers to the same rows (target_hash)"),
    ],
)
def test_other_rows_and_other_gold_answers_are_not_compared(field: str, expected: str, tmp_path: Path) -> None:
    assert str(of_rows(tmp_path, {field: "other"}).take(SST2)) == expected


NO_PROMPTS = "B lacks prompt_hash in some rows, so the prompts cannot be compared"
NO_DOCS = "B lacks doc_hash in some rows, so only rows_hash shows that the rows are the same"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"prompt_hash": "other"}, {"warning": ["different prompts for the same rows"]}),
        *(
            ({field: none}, expected)
            for none in (None, "", 7)
            for field, expected in (
                ("prompt_hash", {"warning": [NO_PROMPTS]}),
                ("doc_hash", {"note": [NO_DOCS]}),
                ("target_hash", {}),
                ("no hash", {}),
            )
        ),
    ],
)
def test_other_prompts_and_rows_without_hashes_are_reported(
    changed: Mapping[str, object], expected: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    assert told(of_rows(tmp_path, changed).take(SST2)) == expected


def test_a_differing_prompt_is_reported_before_an_unknown_one(tmp_path: Path) -> None:
    both = of_rows(tmp_path, {"prompt_hash": "other"})
    samples = both.before.counting[0].samples_path
    samples.write_text(samples.read_text(encoding="utf-8").replace('"prompt 2"', "null"), encoding="utf-8")
    assert told(sides_in(tmp_path).take(SST2)) == {"warning": ["different prompts for the same rows"]}


TEMPLATE = {"chat_template": "t", "chat_template_sha": "c"}


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"config": {"num_fewshot": 4}}, "different setting: num_fewshot: 0 in A, 4 in B"),
        ({"system_instruction_sha": "s"}, "different setting: system_instruction_sha: none in A, s in B"),
        (
            {"config": {"generation_kwargs": {"max_gen_toks": 1}}},
            "different setting: generation_kwargs: none in A, {'max_gen_toks': 1} in B",
        ),
        # Of the same weights, too.
        (
            {**TEMPLATE, "arguments": {"pretrained": "owner/one"}},
            "different setting: chat_template_sha: none in A, c in B",
        ),
    ],
)
def test_different_settings_are_a_warning(tmp_path: Path, changed: Mapping[str, Any], warning: str) -> None:
    assert told(sides(tmp_path, BOTH, BOTH, groups=TREE, of_after=changed).take("all")) == {"warning": [warning]}


@pytest.mark.parametrize(("shots", "template", "differ"), [(4, TEMPLATE, True), (0, TEMPLATE, False), (4, {}, False)])
def test_examples_in_one_turn_are_another_setting_than_examples_as_turns(
    shots: int, template: Mapping[str, str], differ: bool, tmp_path: Path
) -> None:
    for side, as_turns in (("a", True), ("b", False)):
        changed: dict[str, Any] = {**template, "fewshot_as_multiturn": as_turns}
        write_run(tmp_path / side, BOTH, config={"num_fewshot": shots}, **changed)
    warnings = told(sides_in(tmp_path).take(SST2)).get("warning", [])
    assert warnings == ["different setting: fewshot_as_multiturn: True in A, False in B"] * differ


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        pytest.param(
            {"model_args": "pretrained=here/tiny"},
            {"model_args": "pretrained=there/tiny,dtype=bfloat16"},
            {"note": ["model argument dtype: none in A, bfloat16 in B"]},
            id="the same weights served otherwise",
        ),
        pytest.param(
            {"model_args": "pretrained=here/tiny"},
            {"model_args": "pretrained=there/other,dtype=bfloat16"},
            {},
            id="another model, which has arguments of its own",
        ),
        pytest.param(
            {"recorded": {"missing": {SST2: 1, SNLI: 0}}},
            {},
            {"warning": [f"1 of 100 answers of A were not recorded and count as empty ({SST2})"]},
            id="answers that count as empty because they were not recorded",
        ),
    ],
)
def test_how_a_run_was_called_is_said_as_far_as_it_matters(
    tmp_path: Path, of_a: Mapping[str, Any], of_b: Mapping[str, Any], expected: Mapping[str, Sequence[str]]
) -> None:
    sides(tmp_path, BOTH, BOTH, groups=TREE)
    for side, config in (("a", of_a), ("b", of_b)):
        with edited(tmp_path / side) as content:
            content["config"] |= config
    assert told(sides_in(tmp_path).take("all")) == expected


@pytest.mark.parametrize(
    ("templates", "noted"),
    [
        # A template can print the date.
        ("ab", "different prompts under the same chat template"),
        ("b", "chat_template_sha: none in A, c in B"),
    ],
)
def test_prompts_under_chat_templates_may_differ(tmp_path: Path, templates: str, noted: str) -> None:
    of_rows(tmp_path, {"prompt_hash": "other"})
    for side in templates:
        with edited(tmp_path / side) as content:
            content.update(TEMPLATE)
    assert told(sides_in(tmp_path).take(SST2)) == {"note": [noted]}


def test_another_seed_of_the_generation_is_no_other_setting(tmp_path: Path) -> None:
    sides(tmp_path, BOTH, BOTH, groups=TREE)
    for side, seed in (("a", 1), ("b", 2)):
        with edited(tmp_path / side) as content:
            arguments = {"do_sample": True, "temperature": 0.7, "seed": seed}
            content["config"]["gen_kwargs"] = arguments
            for config in content["configs"].values():
                config["generation_kwargs"] = arguments
    assert "warning" not in told(sides_in(tmp_path).take(SST2))


def test_a_warning_about_a_group_names_the_affected_tasks(tmp_path: Path) -> None:
    both = sides(tmp_path, BOTH, BOTH, groups=TREE)
    samples = next(run for run in both.after.counting if run.task == SNLI).samples_path
    samples.write_text(samples.read_text(encoding="utf-8") + "{", encoding="utf-8")
    (warning,) = told(sides_in(tmp_path).take("all"))["warning"]
    assert warning.startswith(f"{samples}: skipped line 101 (truncated or not JSON)")
    assert warning.endswith(f"({SNLI})")


def test_readings_by_two_models_are_not_paired(mcq: Path, tmp_path: Path) -> None:
    for name, model in (("a", "own"), ("b", "other"), ("c", "own")):
        shutil.copytree(mcq, tmp_path / name)
        for path in (tmp_path / name).rglob("*.json*"):
            text = path.read_text(encoding="utf-8")
            path.write_text(
                text.replace(",rules", ",classifier").replace('"filter": "rules"', '"filter": "classifier"')
            )
        with edited(tmp_path / name) as content:
            content["configs"][MCQ]["metadata"]["answer_classifier"] = model
    assert str(sides_in(tmp_path).take(MCQ)) == "answer_classifier own in A, other in B"
    assert unit(sides_of(tmp_path / "a", tmp_path / "c").take(MCQ))


def test_a_task_without_evaluated_rows_is_reported_but_not_paired(tmp_path: Path) -> None:
    both = sides(tmp_path, {SST2: [], SNLI: right(5)}, {SST2: right(5), SNLI: right(5)}, groups=TREE)
    assert lowest_levels(both.before) == (SNLI, SST2)
    assert str(both.take(SST2)) == "no rows were evaluated in A"
    assert str(both.take("all")) == f"no rows were evaluated in A: {SST2}"


INSTRUCTIONS = "natural_instructions_subtask033_winogrande_answer_generation_all"


@pytest.mark.parametrize(
    ("lines", "metadata", "warning"),
    [
        ({}, {}, ""),
        # Its rows contain the examples that fit the model's context.
        ({"doc_hash": "other", "prompt_hash": "other"}, {}, ""),
        ({}, {"prompt_budget": {"limit": 100, "unit": "words"}}, "different setting: prompt_budget: {"),
        ({}, {"examples": 1}, "different setting: examples: "),
        ({}, {"note": "another"}, ""),
    ],
)
def test_rows_with_fewer_examples_for_lack_of_context_are_still_paired(
    result_folder: ResultFolder, tmp_path: Path, lines: Mapping[str, str], metadata: Mapping[str, Any], warning: str
) -> None:
    run = result_folder("echo", [INSTRUCTIONS])
    other = Path(shutil.copytree(run, tmp_path / "other"))
    with edited(other) as content:
        content["configs"][INSTRUCTIONS]["metadata"] |= metadata
    with edited_lines(*other.rglob("samples_*.jsonl")) as rows:
        rows[:] = [{**row, **lines} for row in rows]
    found = told(sides_of(run, other).take(INSTRUCTIONS)).get("warning", [])
    assert len(found) == bool(warning)
    assert all(each.startswith(warning) for each in found)


def test_only_the_first_of_many_warnings_about_a_group_are_printed(tmp_path: Path) -> None:
    scores = {f"verbalizer_sst2_natural_{number}": right(5) for number in range(8)}
    sides(tmp_path, scores, scores, groups={"many": [*scores]})
    for samples in (tmp_path / "b").glob("samples_*"):
        samples.write_text(samples.read_text(encoding="utf-8") + "{", encoding="utf-8")
    *shown, rest = told(sides_in(tmp_path).take("many"))["warning"]
    assert (len(shown), rest) == (5, "and 3 more warnings about its tasks")


def test_tasks_read_by_different_readers_have_no_common_metric(tmp_path: Path) -> None:
    (run,) = (pair.before for pair in unit(sides(tmp_path, BOTH, BOTH).take(SST2)).pairs)
    assert unlike([run, replace(run, task=SNLI)]) is None
    other = replace(run, task=SNLI, readers=("rules",), figures={"acc,rules": 0.5})
    assert str(unlike([run, other])) == "the answers to its tasks were read by different readers: answer, rules"
