"""From files to rows: which runs are used, and what is reported about the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.runs import Role, Runs, TaskRun, rows_of
from lm_eval_ext.sources import RowsError
from tests.reports.files import CONFIG, SST2, STAMP, edited, samples_of, verbalizer_line, write_run
from tests.reports.manyifeval_files import of_model, row
from tests.reports.sections.manyifeval.test_placements import N02, placed
from tests.reports.sections.paired_mcq.test_section import LOW
from tests.reports.sections.paired_mcq.test_temperatures import drawn
from tests.tables import tables

TABLES = tables(__file__)
SNLI = "verbalizer_snli_unnatural_flipped"


def metadata(**changed: Any) -> dict[str, Any]:
    return {"metadata": {**CONFIG["metadata"], **changed}}


def texts(runs: Runs) -> tuple[str, ...]:
    return tuple(map(str, runs.issues))


# What is read


def test_a_run_contains_its_rows_with_their_scores(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1, 0, 1, 1]})
    runs = load([tmp_path])
    (run,) = runs.counting
    assert (run.task, run.family.name, run.count) == (SST2, "verbalizer", 4)
    assert (run.reader, run.headline.name) == ("answer", "acc")
    assert rows_of(run).values["acc"].tolist() == [1, 0, 1, 1]
    assert rows_of(run).ids.tolist() == [0, 1, 2, 3]
    assert rows_of(run).line(2)["doc"] == {"sentence": "review 2", "golden_label": "negative"}
    assert estimate(Evidence(runs).ratio(run, "acc").value).value == 0.75
    assert texts(runs) == ()


def test_the_same_row_under_another_verbalizer_is_one_cluster(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1, 0], "verbalizer_sst2_natural_golden": [1, 1]})
    runs = load([tmp_path])
    assert {run.dataset for run in runs.counting} == {"verbalizer sst2"}
    assert runs.dataset_rows["verbalizer sst2"] == {0: 0, 1: 1}
    assert [rows_of(run).clusters.tolist() for run in runs.counting if run.rows is not None] == [[0, 1], [0, 1]]


def test_rows_of_two_datasets_are_never_the_same_row(tmp_path: Path) -> None:
    for name in ("sst2", "qqp"):
        write_run(tmp_path / name, {f"verbalizer_{name}_natural_golden": [1, 0]}, config=metadata(dataset=name))
    runs = load([tmp_path])
    assert {run.dataset for run in runs.counting} == {"verbalizer sst2", "verbalizer qqp"}
    assert [len(runs.dataset_rows[run.dataset]) for run in runs.counting] == [2, 2]


@pytest.mark.parametrize(("models", "labels"), TABLES["order"].values(), ids=TABLES["order"].keys())
def test_models_and_their_runs_are_in_argument_order(models: dict[str, Any], labels: list[str], tmp_path: Path) -> None:
    for folder, arguments in models.items():
        write_run(tmp_path / folder, {SST2: [1]}, arguments=arguments)
    runs = load([tmp_path / "g", tmp_path / "f"])
    assert list(runs.labels.values()) == labels
    assert [runs.labels[run.model] for run in runs.counting] == labels


@pytest.mark.parametrize(
    ("tree", "groups"),
    [
        (
            {"all": ["level"], "level": [SST2, SNLI], SST2: [], SNLI: []},
            {"all": (SST2, SNLI), "level": (SST2, SNLI)},
        ),
        # The harness puts the upper group's name before that of a group that is written inside it.
        (
            {"a": ["a::prompt"], "a::prompt": [SST2], "b": ["b::prompt"], "b::prompt": [f"b::prompt::{SNLI}"]},
            {"a": (SST2,), "a::prompt": (SST2,), "b": (SNLI,), "b::prompt": (SNLI,)},
        ),
    ],
)
def test_groups_keep_their_names_and_have_their_tasks(
    tree: dict[str, Any], groups: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    write_run(tmp_path, {SST2: [1], SNLI: [1]}, group_subtasks=tree)
    assert load([tmp_path]).groups == groups


def test_a_group_has_its_tasks_of_the_newest_results_in_any_order_of_the_paths(tmp_path: Path) -> None:
    both = write_run(
        tmp_path / "a", {SST2: [1], SNLI: [0]}, arguments={"pretrained": "a"}, group_subtasks={"level": [SST2, SNLI]}
    )
    one = write_run(
        tmp_path / "b", {SST2: [1]}, arguments={"pretrained": "b"}, date=2000, group_subtasks={"level": [SST2]}
    )
    told = f"group level: other tasks in {both} than in the newest results with it, whose tasks count"
    for paths in ([both, one], [one, both]):
        runs = load(paths)
        assert runs.groups == {"level": (SST2,)}
        assert told in texts(runs)
    # Results that newer ones replace say nothing about the figures.
    write_run(tmp_path / "a" / "again", {SST2: [1], SNLI: [0]}, arguments={"pretrained": "a"}, date=1500)
    replaced = load([tmp_path])
    assert replaced.groups == {"level": (SST2,)}
    assert told not in texts(replaced)


def test_the_row_of_a_group_is_not_a_task(tmp_path: Path) -> None:
    with edited(write_run(tmp_path, {SST2: [1]})) as content:
        content["results"]["verbalizer"] = content["results"][SST2]
    assert [run.task for run in load([tmp_path]).counting] == [SST2]


# Of several runs the newest


def test_a_file_given_in_several_ways_is_read_once(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", {SST2: [1]})
    (link := tmp_path / "link").symlink_to(tmp_path / "run")
    runs = load([tmp_path / "run", path, link])
    assert [run.file.path for run in runs.counting] == [path]
    assert texts(runs) == ()


def test_the_newer_of_two_runs_is_used_and_the_older_one_named(tmp_path: Path) -> None:
    newer = write_run(tmp_path / "1", {SST2: [1, 1]}, date=2000)
    older = write_run(tmp_path / "2", {SST2: [0, 0], SNLI: [1, 1]}, date=1000)
    runs = load([tmp_path])
    assert {run.task: run.figure("acc") for run in runs.counting} == {SST2: 1.0, SNLI: 1.0}
    assert texts(runs) == (f"{older}: not used for {SST2}: {newer} is newer",)
    # Nothing but its config says at which temperature a task was run whose own YAML sets it.
    with edited(newer) as content:
        content["configs"][SST2]["generation_kwargs"] = {"do_sample": True, "temperature": 0.7}
    assert texts(load([tmp_path])) == (
        f"{older}: not used for {SST2}: {newer} is newer (temperature 0.7 instead of 0)",
    )


@pytest.mark.parametrize("other", TABLES["settings"].values(), ids=TABLES["settings"].keys())
def test_the_same_weights_in_other_settings_are_not_replaced(other: dict[str, Any], tmp_path: Path) -> None:
    write_run(tmp_path / "1", {SST2: [1]})
    write_run(tmp_path / "2", {SST2: [0]}, date=2000, **other)
    runs = load([tmp_path])
    assert len(runs.counting) == 2
    first, second = runs.labels.values()
    assert first != second
    assert sum(label.startswith("one, no ") for label in (first, second)) == 1
    assert texts(runs) == ()


# Each run has one role


@pytest.fixture
def every_role(tmp_path: Path) -> Path:
    """Return results of one model: rerun, at several temperatures, at two placements, and newest without rows."""
    write_run(tmp_path / "1", {SST2: [1, 1], SNLI: [1]}, date=1000)
    write_run(tmp_path / "2", {SST2: [0, 0], SNLI: []}, date=2000)
    for name, placement in (("3", "after"), ("4", "system")):
        with edited(placed(tmp_path / name, placement, {N02: [row(1, [1, 1])]})) as content:
            content["config"] = of_model("owner/one")
    for name, temperature, seed in (("5", 0.5, 2), ("6", 0.0, 1), ("7", 0.5, 1), ("8", 0.5, 1)):
        drawn(tmp_path / name, temperature, seed, [("q", "A", "A")])
    return tmp_path


def roles(runs: Sequence[TaskRun], *roles: Role) -> list[tuple[str, str, Role]]:
    return [(run.name, run.file.path.parent.name, run.role) for run in runs if not roles or run.role in roles]


def test_each_run_in_the_files_has_one_role_and_one_run_of_a_task_counts(every_role: Path) -> None:
    runs = load([every_role])
    assert roles(runs.all) == [
        (N02, "3", Role.COUNTS),
        (f"{N02} (system)", "4", Role.PLACED),
        (LOW, "6", Role.COUNTS),
        (SNLI, "1", Role.COUNTS),
        (SST2, "2", Role.COUNTS),
        # Of each temperature and seed, the newest.
        (LOW, "8", Role.SWEPT),
        (LOW, "5", Role.SWEPT),
        (SST2, "1", Role.OLDER),
        (LOW, "7", Role.OLDER),
        (SNLI, "2", Role.UNEVALUATED),
    ]
    assert list(runs.labels.values()) == ["one"]
    assert [run.task for run in runs.counting] == [N02, LOW, SNLI, SST2]
    assert [run.file.path.parent.name for run in runs.swept] == ["6", "8", "5"]
    assert runs.empty == frozenset(), "SNLI has an older run with rows"
    # Samples are read of what a figure shows, and of nothing else.
    read = {run.role for run in runs.all if run.rows is not None}
    assert read == {Role.COUNTS, Role.PLACED, Role.SWEPT}


def test_the_run_that_counts_in_place_of_one_without_rows_says_so_itself(every_role: Path) -> None:
    doubts = {run.task: tuple(map(str, run.issues)) for run in load([every_role]).all if run.issues}
    (path,) = (every_role / "2").glob("results_*.json")
    assert doubts == {SNLI: (f"{SNLI}: its run in {path} is newer than the one shown but cannot be used",)}


def test_in_a_comparison_temperatures_and_placements_are_models_of_their_own(every_role: Path) -> None:
    (runs,) = load_apart([[every_role]])
    assert not runs.with_role(Role.PLACED, Role.SWEPT)
    # What is drawn again with another seed replaces what was drawn before.
    assert {run.file.path.parent.name for run in runs.counting} == {"1", "2", "3", "4", "6", "8"}
    assert {runs.labels[run.model] for run in runs.counting if run.task == LOW} != {"one"}
    assert len({run.model for run in runs.counting if run.task == N02}) == 2


# What is missing or wrong is named, and the rest is shown


def test_without_samples_there_are_results_but_no_intervals(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1, 0]}, samples=False)
    runs = load([tmp_path])
    figure = estimate(Evidence(runs).ratio(runs.counting[0], "acc").value)
    assert (figure.value, figure.has_interval) == (0.5, False)
    (note,) = texts(runs)
    assert note.startswith(f"{path}: no samples of {SST2} next to it (expected samples_{SST2}_{STAMP}.jsonl; run with")
    assert "--log_samples" in note


def test_many_tasks_without_samples_give_one_note_per_file(tmp_path: Path) -> None:
    path = write_run(tmp_path, {f"verbalizer_{number}": [1] for number in range(9)}, samples=False)
    (note,) = texts(load([tmp_path]))
    assert note.startswith(
        f"{path}: no samples of verbalizer_0, verbalizer_1, verbalizer_2, verbalizer_3, verbalizer_4 and 4 more next to"
    )


def test_a_truncated_line_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0, 1]}))
    text = samples.read_bytes()
    samples.write_bytes(text[: len(text) - 40])
    runs = load([tmp_path])
    assert estimate(Evidence(runs).ratio(runs.counting[0], "acc").value).value == 0.5
    assert texts(runs) == (
        f"{samples}: skipped line 3 (truncated or not JSON)",
        f"{samples}: 2 rows here but 3 in the results; figures are computed from the rows here",
    )


def test_lines_of_a_filter_without_scores_are_not_read(tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0]}))
    others = [json.dumps(verbalizer_line(number, number, filter="raw")) + "\n" for number in range(2)]
    samples.write_text("".join(others) + samples.read_text())
    runs = load([tmp_path])
    assert rows_of(runs.counting[0]).values["acc"].tolist() == [1, 0]
    assert texts(runs) == ()


@pytest.mark.parametrize("case", TABLES["said"].values(), ids=TABLES["said"].keys())
def test_what_makes_scores_of_several_runs_or_rows_doubtful_is_named(case: dict[str, Any], tmp_path: Path) -> None:
    for folder, run in case["runs"].items():
        given = {**run, "config": metadata(**run.get("config", {}))}
        write_run(tmp_path / folder, given.pop("scores"), **given)
    said = [str(issue).replace(f"{tmp_path}/", "") for issue in load([tmp_path]).issues]
    assert said == case["said"]


def test_a_task_without_rows_is_left_out_and_named(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [], SNLI: [1]})
    runs = load([tmp_path])
    assert [run.task for run in runs.counting] == [SNLI]
    assert texts(runs) == (f"{path}, task {SST2!r}: no rows were evaluated; left out",)
    assert runs.empty == {SST2}


def test_embedded_rows_do_not_replace_real_ones(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: [1]})
    write_run(tmp_path / "b", {SST2: [1]}, date=2000, config=metadata(source="embedded"))
    assert sorted(load([tmp_path]).labels.values()) == ["one, embedded rows", "one, no rows"]


@pytest.mark.parametrize(
    ("metric", "score", "told"),
    [
        ("acc", 0.25, "0.25"),
        ("prior_rate", 0.1, "0.1"),
        ("prior_rate", float("nan"), "no number"),
        ("prior_rate", "N/A", "no number"),
    ],
)
def test_a_score_that_disagrees_with_its_rows_is_a_warning(
    metric: str, score: object, told: str, tmp_path: Path
) -> None:
    with edited(path := write_run(tmp_path, {SST2: [1, 0]})) as content:
        content["results"][SST2][f"{metric},answer"] = score
    (note,) = texts(load([tmp_path]))
    assert note.startswith(
        f"{samples_of(path)}: {metric} is 0.5 over its rows but {told} in the results; expected both"
    )


@pytest.mark.parametrize("date", [None, float("inf"), float("nan"), -1, 1e20, "yesterday"])
def test_an_invalid_date_is_replaced_by_the_modification_time(date: Any, tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]}, date=date)
    assert load([tmp_path]).counting[0].file.date == path.stat().st_mtime


# What cannot be read at all


def test_tasks_of_other_packages_are_a_note_and_alone_an_error_that_names_our_families(tmp_path: Path) -> None:
    other = tmp_path / "other" / "results_x.json"
    other.parent.mkdir()
    other.write_text(json.dumps({"results": {"hellaswag": {"acc,none": 0.5}}, "configs": {"hellaswag": {}}}))
    with pytest.raises(
        RowsError, match=r"no results of our tasks in .*, only of hellaswag; expected .*verbalizer, many"
    ):
        load([tmp_path])
    write_run(tmp_path, {SST2: [1]})
    assert texts(load([tmp_path])) == (f"{other}: no results of our tasks (hellaswag); ignored",)


def test_having_only_tasks_without_rows_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: []})
    with pytest.raises(RowsError, match=f"{SST2}': no rows were evaluated; expected at least one"):
        load([tmp_path])
