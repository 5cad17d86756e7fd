"""Malformed files: they are named with the reason, and everything else is read."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.results.files import read, short_repr
from lm_eval_ext.results.load import find_runs, load
from lm_eval_ext.results.runs import Decoding, Runs, rows_of
from lm_eval_ext.sources import RowsError
from tests.reports.files import CONFIG, SST2, edited, edited_lines, samples_of, verbalizer_line, write_run

GOLDEN = "verbalizer_sst2_natural_golden"
HUGE = 10**400


def texts(runs: Runs) -> tuple[str, ...]:
    return tuple(map(str, runs.issues))


# Values of a row

INFINITE, UNKNOWN = float("inf"), float("nan")
NO_ID = "doc_id is {}; expected the number of a row)"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *(
            ({"acc": value}, f"acc is {short_repr(value)}; expected a number from 0 to 1)")
            for value in (1e12, 1e300, HUGE, -1, INFINITE, UNKNOWN, "right", None)
        ),
        *(
            ({"doc_id": value}, NO_ID.format(short_repr(value)))
            for value in (INFINITE, UNKNOWN, 1.5, "0", True, 2**40, HUGE, -1, None)
        ),
        ({"acc": ["x" * 1000]}, "acc is ['" + "x" * 78 + "…; expected a number from 0 to 1)"),
        ({"doc_id": 0}, "doc_id 0 is also in an earlier line)"),
        pytest.param('"text"', "'text' is not a row)", id="no row"),
        pytest.param('{"doc_id": 2, "filter": "answer"}', "no 'acc')", id="no score"),
        pytest.param('{"doc_id": 1e400, "filter": "answer", "acc": 0}', NO_ID.format("inf"), id="overflow"),
        pytest.param("[" * 100_000, "", id="too deep"),
    ],
)
def test_a_line_that_is_no_row_or_has_an_impossible_value_is_left_out(
    line: Mapping[str, Any] | str, reason: str, tmp_path: Path
) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0, 1]}))
    *others, last = samples.read_text().splitlines()
    text = line if isinstance(line, str) else json.dumps({**json.loads(last), **line})
    samples.write_text("\n".join([*others, text]))
    runs = load([tmp_path])
    assert rows_of(runs.counting[0]).ids.tolist() == [0, 1]
    assert rows_of(runs.counting[0]).values["acc"].tolist() == [1, 0]
    assert texts(runs)[0].startswith(f"{samples}: skipped line 3 ({reason}")


def test_a_hash_that_is_no_valid_text_makes_no_difference(tmp_path: Path) -> None:
    with edited_lines(samples_of(write_run(tmp_path, {SST2: [1, 0, 1]}))) as lines:
        lines[-1]["doc_hash"] = "\ud800"
    runs = load([tmp_path])
    assert rows_of(runs.counting[0]).values["acc"].tolist() == [1, 0, 1]
    assert texts(runs) == ()


def test_of_a_million_bad_lines_three_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0]}))
    samples.write_bytes(samples.read_bytes() + b"\n" * 1000 + os.urandom(100).replace(b"\n", b"") + b"\n")
    (text,) = texts(load([tmp_path]))
    bad = [f"line {number} (truncated or not JSON)" for number in (3, 4, 5)]
    assert text == f"{samples}: skipped {', '.join(bad)} and 998 more"


@pytest.mark.parametrize("content", [b"", b"\x00" * 5000, bytes(range(256)) * 20], ids=["empty", "zeros", "binary"])
def test_malformed_samples_give_figures_without_intervals(content: bytes, tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0]}))
    samples.write_bytes(content)
    runs = load([tmp_path])
    assert runs.counting[0].rows is None
    assert runs.counting[0].figure("acc") == 0.5
    assert any(text.startswith(f"{samples}: no rows of the filter 'answer'") for text in texts(runs))


@pytest.mark.parametrize("levels", [900, 3000])
def test_a_row_that_is_nested_too_deeply_is_counted_but_not_shown(levels: int, tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0]}))
    deep = "[" * levels + "]" * levels
    lines = [json.dumps(verbalizer_line(number, 1 - number)) for number in range(2)]
    samples.write_text("\n".join(line.replace('"resps": ', f'"resps": {deep}, "were": ') for line in lines))
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0


# What a file of results holds


@pytest.mark.parametrize("name", ["../../elsewhere", "a/b", "/etc/passwd"])
def test_a_task_whose_name_is_a_path_is_not_read(name: str, tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1], GOLDEN: [1]})
    with edited(path) as content:
        for table in ("results", "configs", "n-samples"):
            content[table][name] = content[table].pop(SST2)
    runs = load([tmp_path])
    assert [run.task for run in runs.counting] == [GOLDEN]
    assert texts(runs) == (f"{path}, task {name!r}: its name is a path; expected the name of a task; left out",)


@pytest.mark.parametrize("arguments", ["temperature=1", [1], 3])
def test_generation_arguments_that_are_no_object_are_none(arguments: object, tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1]}, config={"generation_kwargs": arguments})
    runs = load([tmp_path])
    assert runs.counting[0].decoding == Decoding(0.0)
    assert texts(runs) == ()


def test_a_task_whose_name_is_too_long_for_a_file_has_no_samples(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]})
    path.write_text(path.read_text().replace(SST2, SST2 + "x" * 300))
    (text,) = texts(load([tmp_path]))
    assert "no samples of" in text


def of_facts(**facts: object) -> dict[str, Any]:
    """Return a task's config with other facts, without those that are ``...``."""
    changed = {**CONFIG["metadata"], **facts}
    return {**CONFIG, "metadata": {name: value for name, value in changed.items() if value is not ...}}


NO_HEADLINE = "no headline metric of the family verbalizer; expected one of acc in results"
OF_OUR_TASKS = "{} in the metadata is {!r}; expected {}, as tasks of this version record it"
KNOWN = f"this version of lm-eval-ext knows only {', '.join(FAMILIES)}"
NO_COUNT = "'effective' in n-samples is {}; expected the number of rows"


@pytest.mark.parametrize(
    ("table", "value", "reason"),
    [
        ("results", [1], NO_HEADLINE),
        ("results", {"other,answer": 1.0}, NO_HEADLINE),
        (
            "results",
            {"alias": SST2, "bypass,answer": 999, "bypass_stderr,answer": "N/A"},
            "made with --predict_only, which writes answers but no scores; run it again without this option",
        ),
        *(
            ("results", {"acc,answer": value}, f"acc,answer is {short_repr(value)}; expected a number from 0 to 1")
            for value in (1e12, 1e300, HUGE, -0.5, INFINITE)
        ),
        ("configs", [1], "its config is [1]; expected an object"),
        ("configs", {"metadata": "x"}, "its metadata is 'x'; expected an object"),
        *(
            ("configs", of_facts(**{fact: value}), OF_OUR_TASKS.format(fact, value, expected))
            for fact, value, expected in (
                ("dataset", ["sst2"], "text"),
                ("source", None, "text"),
                ("version", {"a": 1}, "text or a number"),
                ("version", True, "text or a number"),
                ("rows_hash", [1], "text"),
                ("verbalizer", 7, "text or null"),
                ("prompting", {}, "text"),
                ("label_words", ["positive"], "a text for each label"),
                ("label_words", {"positive": 1}, "a text for each label"),
                ("prior_words", None, "a text for each label"),
            )
        ),
        ("configs", of_facts(family=...), f"unknown family None; {KNOWN}; upgrade lm-eval-ext"),
        ("configs", of_facts(prompting=...), OF_OUR_TASKS.format("prompting", None, "text")),
        # Of another family's tasks, it has not the facts.
        (
            "configs",
            of_facts(family="manyifeval"),
            OF_OUR_TASKS.format("instructions", None, "a whole number"),
        ),
        ("configs", of_facts(family="later"), f"unknown family 'later'; {KNOWN}; upgrade lm-eval-ext"),
        ("n-samples", [1], NO_COUNT.format(None)),
        *(("n-samples", {"effective": value}, NO_COUNT.format(short_repr(value))) for value in (HUGE, 2.0, "2", -1)),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_and_the_others_are_read(
    table: str, value: object, reason: str, tmp_path: Path
) -> None:
    path = write_run(tmp_path, {SST2: [1, 0], GOLDEN: [1]})
    with edited(path) as content:
        content[table][SST2] = value
    runs = load([tmp_path])
    assert [run.task for run in runs.counting] == [GOLDEN]
    (issue,) = runs.issues
    assert issue.severity == "error"
    assert issue.text.startswith(f"{path}, task '{SST2}': {reason}")
    assert issue.text.endswith("; left out")
    # Without any other, there is nothing to read.
    with edited(path) as content:
        del content["configs"][GOLDEN]
    with pytest.raises(RowsError) as error:
        find_runs([path])
    assert (
        str(error.value) == f"{issue.text.removesuffix('; left out')}; expected at least one task with evaluated rows"
    )


# Groups


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"n-samples": None}, f", task '{SST2}': {NO_COUNT.format(None)}"),
        ({"n-samples": {}}, f", task '{SST2}': {NO_COUNT.format(None)}"),
        *(
            ({"group_subtasks": tree}, f": group_subtasks{reason}")
            for tree, reason in (
                (5, " is 5; expected an object with the tasks of each group"),
                ({"g": 7}, ", 'g' is 7; expected a list of names"),
                ({"g": [SST2, 7]}, f", 'g' is ['{SST2}', 7]; expected a list of names"),
                ({"g": {SST2: 1}}, f", 'g' is {{'{SST2}': 1}}; expected a list of names"),
                ({"g": ["g"]}, ": a group contains itself ('g' -> 'g')"),
                ({"g": ["h"], "h": ["g"]}, ": a group contains itself ("),
            )
        ),
    ],
)
def test_malformed_groups_and_row_counts_are_named(changed: Mapping[str, Any], reason: str, tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]}, **changed)
    with pytest.raises(RowsError) as error:
        load([path])
    assert str(error.value).startswith(f"{path}{reason}")


@pytest.mark.parametrize(
    "tree",
    [
        # 2 ** 40 ways lead from the first to the task.
        {f"{side}{n}": [f"a{n + 1}", f"b{n + 1}"] for n in range(40) for side in "ab"} | {"a40": [SST2], "b40": [SST2]},
        {f"g{n}": [f"g{n + 1}"] for n in range(3000)} | {"g3000": [SST2]},
    ],
    ids=["shared subgroups", "three thousand levels"],
)
def test_groups_take_no_exponential_time_and_may_be_nested_deeply(tree: dict[str, Any], tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1]}, group_subtasks=tree)
    assert read(path).groups == dict.fromkeys(tree, (SST2,))


# Bad files next to good ones


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON ("),
        (b"\x00" * 1000, "not JSON ("),
        (bytes(range(256)), "not JSON ("),
        (b"[" * 100_000, "not JSON ("),
        (b'{"date": ' + b"9" * 5000 + b"}", "not JSON ("),
        (gzip.compress(b"{}"), "not JSON ("),
        (b"[]", "no 'results' and 'configs'"),
        (b'{"results": {}}', "no 'results' and 'configs'"),
        (b'{"results": {}, "configs": {}, "group_subtasks": 3}', "group_subtasks is 3"),
    ],
    ids=["empty", "zeros", "binary", "deep", "digits", "compressed", "a list", "no configs", "groups"],
)
def test_a_malformed_file_in_a_folder_is_named_and_the_others_are_read(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    write_run(tmp_path, {SST2: [1]})
    bad = tmp_path / "results_bad.json"
    bad.write_bytes(content)
    runs = load([tmp_path])
    assert [run.task for run in runs.counting] == [SST2]
    first, doubt = runs.issues
    assert first.severity == "error"
    assert first.text.startswith(f"{bad}: {reason}")
    assert first.text.endswith("; left out")
    assert "; expected a results_*.json of the harness" in first.text or "group_subtasks" in reason
    assert doubt.text == f"{bad} cannot be read and may be newer than the results shown"
    with pytest.raises(RowsError):
        load([tmp_path, bad])


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to nothing", "a link to itself"])
def test_a_file_named_like_a_results_file_that_is_not_one_is_named(kind: str, tmp_path: Path) -> None:
    write_run(tmp_path, {SST2: [1]})
    bad = tmp_path / "results_bad.json"
    make: Mapping[str, Callable[[], None]] = {
        "a folder": bad.mkdir,
        # Nobody writes to it: whoever opened it would wait for ever.
        "a pipe": lambda: os.mkfifo(bad),
        "a link to nothing": lambda: bad.symlink_to("nowhere"),
        "a link to itself": lambda: bad.symlink_to(bad),
    }
    make[kind]()
    assert texts(load([tmp_path]))[0] == f"{bad}: is not a file; expected a results_*.json of the harness; left out"


def test_a_file_without_read_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, {SST2: [1]})
    bad = write_run(tmp_path / "other", {SST2: [1]})
    real = Path.read_bytes

    # Of a superuser no permission is asked.
    def denied(path: Path) -> bytes:
        if path == bad:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert texts(load([tmp_path]))[0] == f"{bad}: Permission denied; left out"
    with pytest.raises(PermissionError):
        load([bad])


def test_a_folder_without_list_permission_is_an_error_because_it_may_have_newer_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, {SST2: [1]})
    closed = tmp_path / "closed"
    closed.mkdir()
    real = os.scandir

    def denied(path: str) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(PermissionError, match="closed"):
        load([tmp_path])


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"], ids=["no BOM", "BOM"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_endings_and_a_byte_order_mark_have_no_effect(before: bytes, end: bytes, tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1, 0, 1]})
    for file in (path, samples_of(path)):
        file.write_bytes(before + file.read_bytes().replace(b"\n", end))
    runs = load([tmp_path])
    assert texts(runs) == ()
    assert rows_of(runs.counting[0]).values["acc"].tolist() == [1, 0, 1]
    assert [rows_of(runs.counting[0]).line(row)["doc_id"] for row in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("by", ["", '{"doc_id": 7}\n', "no JSON at all, and longer than any line was\n" * 9])
def test_samples_that_change_after_they_were_read_are_not_shown(by: str, tmp_path: Path) -> None:
    samples = samples_of(write_run(tmp_path, {SST2: [1, 0]}))
    rows = load([tmp_path]).counting[0].rows
    assert rows is not None
    samples.write_text(by)
    with pytest.raises(ValueError, match=r"."):
        rows.line(1)


def test_for_two_runs_of_the_same_date_a_warning_names_the_one_in_use(tmp_path: Path) -> None:
    first, second = (write_run(tmp_path / side, {SST2: [acc]}) for side, acc in (("a", 1), ("b", 0)))
    for order in ([first, second], [second, first]):
        runs = load(order)
        assert runs.counting[0].figure("acc") == 0
        (issue,) = runs.issues
        assert issue.severity == "warning"
        assert issue.text == (
            f"{first}: not used for {SST2}: {second} has the same date and is used because its name sorts later"
        )


# What a terminal or a page is told


def test_file_names_are_escaped_on_page_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a\n<b>\x1b[2J"
    write_run(folder, {SST2: [1]})
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert "<b>" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main(["report", str(folder / "nowhere.json"), "-o", str(tmp_path / "page.html")]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_an_unusable_newer_run_casts_doubt_on_the_older_one(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {SST2: [1], GOLDEN: [1]})
    newer = write_run(tmp_path / "b", {SST2: [1]}, date=2000)
    with edited(newer) as content:
        content["results"][SST2]["acc,answer"] = 7
    runs = load([tmp_path])
    doubt = f"{SST2}: its run in {newer} is newer than the one shown but cannot be used"
    assert {run.task: tuple(map(str, run.issues)) for run in runs.counting} == {SST2: (doubt,), GOLDEN: ()}
    # An older one would not count anyway.
    with edited(newer) as content:
        content["date"] = 10
    assert {run.issues for run in load([tmp_path]).counting} == {()}


@pytest.mark.parametrize("content", ["", '{"results": {}, "configs": {}}'], ids=["bad", "of nothing of ours"])
def test_the_gate_does_not_pass_where_the_newest_file_cannot_be_read(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in "ab":
        write_run(tmp_path / side, {SST2: [1] * 40})
    words = ["check", str(tmp_path / "b"), "--against", str(tmp_path / "a"), "--max-drop", "0.5"]
    assert main(words) == 0
    (tmp_path / "b" / "results_new.json").write_text(content)
    assert main(words) == (0 if content else 2)
    said = capsys.readouterr().out
    assert ("may be newer" in said) is not bool(content)
