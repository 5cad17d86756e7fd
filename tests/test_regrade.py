"""``lm-eval-ext verify``: the formats of its rows, their verdicts and accuracies, and what the command prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.regrade import (
    EXAMPLES,
    Prompts,
    accepted,
    accuracies,
    answered,
    examples_in,
    read_prompts,
    regrade,
)
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import EDITIONS, Verdict, instruction, instructions_of
from tests.cli.test_cli import COMMAND, run
from tests.conftest import ROOT, completed, offline_environment
from tests.families.jsonl import read_jsonl, write_jsonl
from tests.tables import tables

TABLES = tables(__file__)
ASKED = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}


def lines(*rows: Any) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def test_accuracies_are_over_rows_and_over_all_instructions() -> None:
    strict = [Verdict((True, True, True)), Verdict((False,)), Verdict((True, False))]
    loose = [Verdict((True, True, True)), Verdict((True,)), Verdict((True, False))]
    assert accuracies(strict, loose, "faithful") == {
        "prompt_level_strict_acc": 1 / 3,
        "inst_level_strict_acc": 4 / 6,  # not the mean of 1, 0 and 1/2
        "prompt_level_loose_acc": 2 / 3,
        "inst_level_loose_acc": 5 / 6,
    }
    assert list(accuracies(strict, loose, "repaired")) == [
        "prompt_level_repaired_acc",
        "inst_level_repaired_acc",
        "prompt_level_repaired_loose_acc",
        "inst_level_repaired_loose_acc",
    ]


@pytest.mark.parametrize("text", [[], [b"\n", b"  \n"]])
def test_having_no_rows_is_an_error(text: list[bytes]) -> None:
    with pytest.raises(RowsError, match=r"^file: no rows; expected one response per line"):
        list(regrade(text, "file"))


def test_an_instruction_that_cannot_be_judged_is_an_error_that_names_the_row() -> None:
    keyword = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["(a+)+$"]}], "response": "x"}
    found = regrade([*lines({**ASKED, "response": "x"}), b"\n", *lines(keyword)], "file")
    assert next(found).strict.follow_all_instructions
    with pytest.raises(RowsError, match=r"^file, row 3, fields .*: keywords:existence: .*'\(a\+\)\+\$'"):
        next(found)


GROUND_TRUTH = json.dumps([{"instruction_id": ["punctuation:no_coma"], "kwargs": [None]}])


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({"ground_truth": GROUND_TRUTH}, "field 'ground_truth'"),
        (ASKED | {"instruction_id_list": ["punctuation:no_coma"]}, "fields 'instruction_id_list' and 'kwargs'"),
        # the columns of IFEval count where a row has both
        (
            ASKED | {"instruction_id_list": ["punctuation:no_coma"], "ground_truth": "42"},
            "fields 'instruction_id_list' and 'kwargs'",
        ),
    ],
)
def test_an_error_names_the_fields_that_the_instructions_came_from(asked: dict[str, Any], fields: str) -> None:
    expected = rf"^file, row 1, {fields}: unknown instruction 'punctuation:no_coma'"
    for row in (asked | {"response": "x"}, {"doc": asked, "filtered_resps": ["x"]}):
        with pytest.raises(RowsError, match=expected):
            list(regrade(lines(row), "file"))


# The formats of rows.

PROMPT = {"key": 7, "prompt": "Say hello.", **ASKED}


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(b"\n".join(lines(PROMPT, {**PROMPT, "key": "b", "prompt": "Say no."})))
    return read_prompts(path)


SAMPLE = {"doc_id": 0, "doc": PROMPT, "resps": [["Hello "]], "filter": "none"}


@pytest.mark.parametrize(
    ("row", "response"),
    [
        ({**ASKED, "response": "Hello", "note": 1}, "Hello"),
        # as lm-eval 0.4 and 0.5 write it
        ({**SAMPLE, "filtered_resps": ["Hello"]}, "Hello"),
        ({**SAMPLE, "filtered_resps": [["Hello"]]}, "Hello"),
        # what an API withheld
        ({**ASKED, "response": None}, None),
        ({**SAMPLE, "filtered_resps": [None]}, None),
        ({**SAMPLE, "filtered_resps": [[None]]}, None),
    ],
)
def test_a_row_is_a_response_with_its_instructions(row: dict[str, Any], response: str | None) -> None:
    (found,) = answered("here", row, None)
    assert (found.row, found.prompt_row, found.response) == (row, row.get("doc", row), response)


@pytest.mark.parametrize("written", [json.dumps, repr], ids=["JSON", "a Python literal"])
def test_a_row_of_if_rlvr_has_its_instructions_in_ground_truth(written: Callable[[Any], str], tmp_path: Path) -> None:
    packed = {"ground_truth": written([{"instruction_id": ["punctuation:no_comma"], "kwargs": [None]}])}
    asked = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]}
    (found,) = answered("here", {**packed, "response": "Hello"}, None)
    assert (found.row, found.response) == ({**packed, **asked, "response": "Hello"}, "Hello")
    (found,) = answered("here", {"doc": packed, "filtered_resps": ["Hello"]}, None)
    assert found.prompt_row == {**packed, **asked}
    path = write_jsonl(tmp_path / "prompts.jsonl", [{"key": 7, "prompt": "Say hello.", **packed}])
    (found,) = answered("here", {"key": 7, "response": "Hello"}, read_prompts(Path(path)))
    assert found.prompt_row["instruction_id_list"] == ["punctuation:no_comma"]


def test_every_draw_of_a_row_is_a_response_with_its_number() -> None:
    row = {"doc_id": 0, "doc": PROMPT, "filtered_resps": [["Hello", None, "Hello"]]}
    found = answered("here", row, None)
    assert [(one.row, one.prompt_row, one.response, one.draw) for one in found] == [
        ({**row, "draw": 1}, PROMPT, "Hello", 1),
        ({**row, "draw": 2}, PROMPT, None, 2),
        ({**row, "draw": 3}, PROMPT, "Hello", 3),
    ]


@pytest.mark.parametrize("names", [{"key": 7}, {"key": 7, "prompt": "another"}, {"prompt": "Say hello."}])
def test_a_bare_response_gets_the_instructions_of_its_prompt(names: dict[str, Any], prompts: Prompts) -> None:
    (found,) = answered("here", {**names, "response": "Hello", "model": "m"}, prompts)
    assert found.row == {**PROMPT, **names, "response": "Hello", "model": "m"}
    assert (found.prompt_row, found.response) == (PROMPT, "Hello")


def test_the_prompts_instructions_are_used_if_prompts_are_given(prompts: Prompts) -> None:
    other = {"instruction_id_list": ["startend:quotation"], "kwargs": [{}]}
    (found,) = answered("here", {"key": "b", "response": "Hello", **other}, prompts)
    assert found.row["instruction_id_list"] == found.prompt_row["instruction_id_list"] == ["punctuation:no_comma"]


@pytest.mark.parametrize(("row", "complaint"), TABLES["alone"])
def test_any_other_row_is_an_error_that_says_what_was_expected(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RowsError, match=f"^file, row 3{complaint}"):
        answered("file, row 3", row, None)


@pytest.mark.parametrize(("row", "complaint"), TABLES["with prompts"])
def test_a_response_to_an_unknown_prompt_is_an_error(row: dict[str, Any], complaint: str, prompts: Prompts) -> None:
    with pytest.raises(RowsError, match=f"^file, row 3{complaint}"):
        answered("file, row 3", row, prompts)


@pytest.mark.parametrize(("rows", "complaint"), TABLES["as prompts"])
def test_a_file_of_other_rows_is_not_a_prompts_file(rows: list[Any], complaint: str, tmp_path: Path) -> None:
    path = Path(write_jsonl(tmp_path / "prompts.jsonl", rows))
    with pytest.raises(RowsError, match=f"^{path}{complaint}"):
        read_prompts(path)


def test_a_file_that_is_not_json_is_not_a_prompts_file(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text("no json", encoding="utf-8")
    with pytest.raises(RowsError, match=f"^{path}, row 1: not JSON"):
        read_prompts(path)


# The command.


@dataclass(frozen=True)
class Printed:
    """What the command printed.

    Attributes:
        out: the rows with their verdicts, or a table.
        err: figures and notes.
    """

    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def followed(self) -> list[bool]:
        """Of each row, whether all instructions are followed."""
        return [row["follow_all_instructions"] for row in self.rows]


Verify = Callable[..., Printed]


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Return a function that runs the command with options, on rows or on a file of rows."""

    def run_on(rows: Iterable[Any] | Path, *options: str, status: int = 0) -> Printed:
        path = str(rows) if isinstance(rows, Path) else write_jsonl(tmp_path / "rows.jsonl", rows)
        assert main(["verify", path, *options]) == status
        return Printed(*capsys.readouterr())

    return run_on


def answers(*responses: str | None, asked: Mapping[str, Any] = ASKED) -> list[dict[str, Any]]:
    return [{**asked, "response": response} for response in responses]


# As the hub has it: every argument of every instruction, null where it is not this one's.
TWO = {
    "key": 7,
    "prompt": "Say hello.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{"num_words": None, "relation": None}, {"num_words": 2, "relation": "at least"}],
    "response": "<think>Well</think>Hello, world — ünïcode 🦜",
    "note": None,
}
ART = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}], "response": "smart"}
SURE = {**ASKED, "response": "Sure, here it is\nNo comma"}
JUDGED = {**ASKED, "response": "fine", "follow_instruction_list": [False], "follow_all_instructions": False}


@pytest.mark.parametrize(
    ("row", "options", "followed"),
    [
        (TWO, [], [False, True]),
        (JUDGED, [], [True]),
        (ART, [], [True]),  # "art" is part of "smart"
        (ART, ["--edition", "faithful"], [True]),
        (ART, ["--edition", "repaired"], [False]),
        (SURE, [], [False]),
        (SURE, ["--loose"], [True]),
        ({**ASKED, "response": "<think>Well, well</think>No comma"}, [], [True]),
        ({**ASKED, "response": "<think>Well, well</think>No comma"}, ["--keep-reasoning"], [False]),
    ],
)
def test_a_row_is_returned_with_the_verdicts_that_are_asked_for(
    row: dict[str, Any], options: list[str], followed: list[bool], verify: Verify
) -> None:
    verdicts = {"follow_instruction_list": followed, "follow_all_instructions": all(followed)}
    assert verify([row], *options).rows == [row | verdicts]


Played = Callable[..., tuple[Printed, dict[str, Any]]]


@pytest.fixture
def played(tmp_path: Path, verify: Verify) -> Played:
    """Return a function that plays twelve conversations and verifies their samples; returns also the run's figures."""
    pytest.importorskip("lm_eval")
    from tests.harness.tasks import PLAYED, evaluate  # noqa: PLC0415 # imports the harness

    def play(policy: str, metadata: dict[str, Any], **options: Any) -> tuple[Printed, dict[str, Any]]:
        model: dict[str, Any] = {"model_args": f"base=reference,policy={policy}", "apply_chat_template": True}
        run = evaluate("conversation", [PLAYED], metadata, tmp_path, limit=12, bootstrap_iters=0, **model, **options)
        (samples,) = tmp_path.glob("**/samples_*.jsonl")
        return verify(samples), run["results"][PLAYED]

    return play


@pytest.mark.harness
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("policy", ["oracle", "last"])
def test_every_turn_of_every_draw_is_judged_by_what_is_in_force_there(
    policy: str, repeats: int, played: Played
) -> None:
    printed, figures = played(policy, {"repeats": repeats, "details": True})
    assert len(printed.rows) == 12 * repeats * 10
    assert [(row.get("draw", 1), row["turn"]) for row in printed.rows] == [
        (draw, turn) for _ in range(12) for draw in range(1, repeats + 1) for turn in range(1, 11)
    ]
    for name in ("prompt_level_strict_acc", "prompt_level_loose_acc"):
        assert f"{name:27} {figures[f'{name},none']:.4f}" in printed.err
    assert f"{'rows':28}12" in printed.err


@pytest.mark.harness
def test_of_draws_without_scores_the_last_answers_are_judged_by_what_is_in_force_at_the_end(played: Played) -> None:
    printed, _ = played("oracle", {"repeats": 2}, predict_only=True)
    turns = [(row["draw"], row["turn"]) for row in printed.rows]
    assert turns[:11] == [*((1, turn) for turn in range(1, 11)), (2, 10)]
    assert len(turns) == 12 * 11
    assert f"{'prompt_level_strict_acc':27} 1.0000" in printed.err


def test_every_draw_of_a_sample_is_judged(verify: Verify) -> None:
    draws = [["No comma", "One, two"], ["No comma", "No comma"]]
    samples = [{"doc_id": number, "doc": ASKED, "filtered_resps": [of_row]} for number, of_row in enumerate(draws)]
    printed = verify(samples)
    found = [(row["doc_id"], row["draw"], row["follow_all_instructions"]) for row in printed.rows]
    assert found == [(0, 1, True), (0, 2, False), (1, 1, True), (1, 2, True)]
    assert printed.err.splitlines()[:3] == [
        f"{'rows':28}2",
        f"{'responses':28}4",
        f"{'prompt_level_strict_acc':28}0.7500",
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("no json", "row 2: not JSON in UTF-8"),
        ('{"response": ' + 100_000 * "[", "row 2: not JSON"),
        (
            '{"response": "x", "instruction_id_list": ["punctuation:no_coma"], "kwargs": [{}]}',
            "unknown instruction 'punctuation:no_coma' (did you mean 'punctuation:no_comma'?)",
        ),
    ],
)
def test_a_bad_row_is_named_and_all_others_are_judged(tmp_path: Path, line: str, complaint: str) -> None:
    path, (good,) = tmp_path / "rows.jsonl", lines(*answers("fine"))
    path.write_bytes(good + line.encode() + b"\n" + good)
    process = run("verify", str(path))
    assert process.returncode == 1
    assert [json.loads(row)["follow_all_instructions"] for row in process.stdout.splitlines()] == [True, True]
    printed = process.stderr.splitlines()
    # A broken row is no row that follows nothing.
    assert printed[:2] == [f"{'rows':28}2", f"{'prompt_level_strict_acc':28}1.0000"]
    said = "lm-eval-ext: 1 of 3 rows are invalid; they have no verdict and are in no figure:"
    assert printed[5:6] == [said], printed
    assert printed[6].startswith(f"{path}, row 2")
    assert complaint in printed[6]
    assert len(printed) == 7


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    process = run("verify", write_jsonl(tmp_path / "rows.jsonl", [{"response": "x"}] * 23))
    assert (process.returncode, process.stdout) == (1, "")
    first, *named, last = process.stderr.splitlines()
    assert first == "lm-eval-ext: 23 of 23 rows are invalid; they have no verdict and are in no figure:"
    assert [re.findall(r"row (\d+): no field", each) for each in named] == [[str(row)] for row in range(1, 21)]
    assert last == "and 3 more"


def test_empty_and_null_responses_follow_nothing_and_are_noted_once(verify: Verify) -> None:
    texts = [None, "fine", " ", "<think>Let me", None]
    printed = verify(answers(*texts))
    assert [row["response"] for row in printed.rows] == texts
    assert printed.followed == [text == "fine" for text in texts]
    *found, note = printed.err.splitlines()
    assert figures("\n".join(found))["prompt_level_loose_acc"] == 0.2
    assert note == "note: 4 of 5 responses are empty (2 of them null) and follow no instruction"


def test_rows_from_standard_input_work_in_any_locale(tmp_path: Path) -> None:
    row = json.dumps({**ASKED, "response": "grüß dich"}) + "\n\n"  # a blank line is none
    process = with_input(row + json.dumps({**ASKED, "response": "\ud800"}) + "\n", tmp_path)
    assert process.returncode == 0, process.stderr
    assert [json.loads(line)["follow_all_instructions"] for line in process.stdout.splitlines()] == [True, True]
    broken = with_input("{}\n", tmp_path)
    assert broken.stderr.splitlines()[1].startswith("standard input, row 1: no field 'response'")


def with_input(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return completed(COMMAND, "verify", "-", folder=folder, environment={"LC_ALL": "C", "PATH": ""}, text=text)


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", answers("word " * 200) * 500)
    program = f"import subprocess, sys; p = subprocess.Popen([{COMMAND!r}, 'verify', {path!r}], stdout=subprocess.PIPE, stderr=subprocess.PIPE); p.stdout.readline(); p.stdout.close(); sys.exit(p.wait() or bool(p.stderr.read()))"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def figures(printed: str) -> dict[str, float]:
    of_all, *_ = printed.partition("by number of instructions")
    return {name: float(value) for name, value in (line.split() for line in of_all.splitlines())}


def numbered(printed: str) -> dict[int, tuple[float, ...]]:
    """Return what is printed of each number of instructions."""
    *_, by_number = printed.partition("predicted\n")
    return {int(number): tuple(map(float, found)) for number, *found in map(str.split, by_number.splitlines())}


BOTH = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}


def test_accuracies_by_number_of_instructions_have_the_prompt_level_that_equation_3_predicts(verify: Verify) -> None:
    of_both = answers('"Yes"', "Yes", '"No"', asked=BOTH)
    printed = verify([of_both[0], *answers("One, two"), of_both[1], *answers("Yes"), of_both[2]])
    # In ascending order. Of two instructions, 5 of 6 are followed, and 2 of 3 responses follow both; (5/6)² = 25/36.
    by_number = numbered(printed.err)
    assert list(by_number) == [1, 2]
    assert by_number == {1: (2, 0.5, 0.5, 0.5), 2: (3, 0.8333, 0.6667, 0.6944)}


def test_accuracies_by_number_of_instructions_are_printed_if_a_row_has_several(verify: Verify) -> None:
    rows = [*answers('"Yes"', 'Sure:\n"Yes"', asked=BOTH), *answers("One, two")]
    printed = verify(rows)
    assert "by number of instructions, strict:\n" in printed.err
    # 3 of 4 instructions, 1 of 2 responses, and (3/4)².
    assert numbered(printed.err) == {1: (1, 0, 0, 0), 2: (2, 0.75, 0.5, 0.5625)}
    printed = verify(rows, "--loose")
    assert "by number of instructions, loose:\n" in printed.err
    assert numbered(printed.err) == {1: (1, 0, 0, 0), 2: (2, 1, 1, 1)}
    assert "by number" not in verify(answers("Yes")).err


def test_accuracies_are_printed_in_addition_to_the_verdicts(verify: Verify) -> None:
    printed = verify(answers("fine", "Sure, here:\nfine"))
    assert printed.followed == [True, False]
    assert figures(printed.err) == {
        "rows": 2,
        "prompt_level_strict_acc": 0.5,
        "inst_level_strict_acc": 0.5,
        "prompt_level_loose_acc": 1,
        "inst_level_loose_acc": 1,
    }


def test_prompts_without_a_response_are_noted(tmp_path: Path, verify: Verify) -> None:
    known = [{"key": key, "prompt": f"Say {key}.", **ASKED} for key in (1, 2, 3)]
    prompts = write_jsonl(tmp_path / "prompts.jsonl", known)
    printed = verify([{"key": 2, "response": "two"}, {"key": 2, "response": "also, two"}], "--prompts", prompts)
    assert [row["prompt"] for row in printed.rows] == ["Say 2.", "Say 2."]
    *found, note = printed.err.splitlines()
    assert figures("\n".join(found))["prompt_level_strict_acc"] == 0.5
    assert note == "note: 2 of 3 prompts have no response; the first is 1"


@pytest.mark.slow
def test_the_accuracies_of_real_responses_are_the_recorded_ones(shared_data: Path, verify: Verify) -> None:
    prompts = str(shared_data / "ifeval" / "ifeval_input_data.jsonl")
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in read_jsonl(shared_data / "ifeval" / "ifeval_responses.jsonl"):
        by_model.setdefault(row["model"], []).append(row)
    assert {len(rows) for rows in by_model.values()} == {541}
    for model, rows in by_model.items():
        bare = [{"key": row["key"], "response": row["response"]} for row in rows]
        printed = verify(bare, "--prompts", prompts)
        found = figures(printed.err)
        several = {number: [*of] for number, of in numbered(printed.err).items() if number > 1}
        assert several == TABLES["recorded"][model]
        for kind in ("strict", "loose"):
            recorded = [row[f"follow_instruction_list_{kind}"] for row in rows]
            # Recorded by another implementation, which sets no seed: a row and an instruction may differ.
            prompt_level = sum(map(all, recorded)) / 541
            inst_level = sum(map(sum, recorded)) / 834
            assert found[f"prompt_level_{kind}_acc"] == pytest.approx(prompt_level, abs=1.1 / 541), model
            assert found[f"inst_level_{kind}_acc"] == pytest.approx(inst_level, abs=1.1 / 834), model
        if model == "Mistral-7B-Instruct-v0.3":  # where it does not
            assert found["prompt_level_strict_acc"] == round(255 / 541, 4)
            assert found["inst_level_strict_acc"] == round(492 / 834, 4)
            assert found["prompt_level_loose_acc"] == round(278 / 541, 4)
            assert found["inst_level_loose_acc"] == round(529 / 834, 4)


# What answers without content score on the published prompts, and what they would earn.

# Rows of which all instructions are followed, strictly, as the published code judges and repaired.
FLOORS_OF = {
    "ifbench_test.jsonl": {"ok": (109, 21), "echo": (40, 17), "refusal": (47, 10), "empty": (0, 0)},
    "ifeval_input_data.jsonl": {"ok": (62, 78), "echo": (134, 101), "refusal": (44, 44), "empty": (0, 0)},
}


@pytest.mark.parametrize("file", FLOORS_OF)
def test_the_floors_of_the_published_prompts_are_those_documented(shared_data: Path, file: str) -> None:
    lines = (shared_data / "ifeval" / file).read_text(encoding="utf-8").splitlines()
    rows = [(row["prompt"], row["instruction_id_list"], row["kwargs"]) for row in map(json.loads, lines)]
    of_rows, _ = accepted((prompt, instructions_of(ids, kwargs)) for prompt, ids, kwargs in rows)
    assert of_rows.total == len(rows)
    found = {name: tuple(of_rows.followed[name, edition] for edition in EDITIONS) for name in CONTENT_FREE_ANSWERS}
    assert found == FLOORS_OF[file]


def test_types_that_pay_for_nothing_come_first() -> None:
    prompts = [
        ("Say more.", (instruction("length_constraints:number_words", {"num_words": 9, "relation": "at least"}),)),
        ("Say less.", (instruction("length_constraints:number_words", {"num_words": 9, "relation": "less than"}),)),
        ("No commas", (instruction("punctuation:no_comma"),)),
        ('End with "the end".', (instruction("startend:end_checker", {"end_phrase": "the end"}),)),
    ]
    of_rows, of_types = accepted(prompts)
    assert [(name, found.total, found.floor) for name, found in of_types.items()] == [
        ("punctuation:no_comma", 1, 1.0),
        ("length_constraints:number_words", 2, 0.5),
        ("startend:end_checker", 1, 0.0),
    ]
    assert of_rows.share("ok", "faithful") == 0.5
    # What the prompt has in quotation marks is its own example.
    assert of_types["startend:end_checker"].share(EXAMPLES, "faithful") == 1


def test_the_examples_of_a_prompt_are_what_it_quotes() -> None:
    assert examples_in('Say "yes" or “no”, or `maybe`; not "this\nthing".') == "yes\nno\nmaybe"
    assert examples_in("Say it.") == ""


OF_IF_RLVR = {"ground_truth": GROUND_TRUTH.replace("coma", "comma")}


def test_floors_need_no_responses(verify: Verify) -> None:
    # The columns of training data; the user's last message is the prompt.
    messages = [{"role": "user", "content": "a, b"}, {"role": "user", "content": "a"}]
    sample = {**SAMPLE, "doc": {"prompt": 'Say "ok".', **ASKED}, "filtered_resps": ["Yes, ok"]}
    rows = [{"prompt": "Red, green or blue?", **ASKED}, {"messages": messages, **OF_IF_RLVR}, sample]
    printed = verify(rows, "--floors")
    title, headings, line = printed.out.splitlines()
    assert title.startswith("3 rows; percent")
    both = {name: f"{share} / {share}" for name, share in {"ok": "100.0", "echo": "66.7", "empty": "0.0"}.items()}
    assert headings.split() == ["asked", "ok", "echo", "refusal", "empty", "examples"]
    assert line.split("  ")[0] == "all instructions of a row"
    # The refusal has a comma; one prompt has something in quotation marks.
    shares = " ".join(line.split()[5:])
    assert shares == f"3 {both['ok']} {both['echo']} 0.0 / 0.0 {both['empty']} 33.3 / 33.3"


def test_an_audit_lists_types_that_pay_for_nothing_first(verify: Verify) -> None:
    asked = {
        "instruction_id_list": ["keywords:existence", "punctuation:no_comma"],
        "kwargs": [{"keywords": ["red"]}, {}],
    }
    printed = verify([{"prompt": "Say it.", **asked}], "--audit")
    _, headings, *lines = printed.out.splitlines()
    names = [line.split("  ")[0] for line in lines]
    assert names == ["all instructions of a row", "punctuation:no_comma", "keywords:existence"]
    # The shares are below their headings, however long the names are.
    end = headings.index("examples") + len("examples")
    assert {line[end - 1 : end + 3] for line in lines} == {'0  "'}
    assert [line[end + 2 :] for line in lines] == ['"red" 3 / "red" 3', '"a" 1 / "a" 1', '"red" 3 / "red" 3']


COLORS = "Name three colors of the rainbow without a comma."


def test_trip_wires_are_counted_with_what_they_earn(verify: Verify) -> None:
    text = "Red is the first of them and blue comes much later. Green is between them."
    responses = ["ok", "a, b c d e", text, None, 5]
    rows = [{"prompt": COLORS, **ASKED, "response": response} for response in responses]
    printed = verify(rows, "--trip-wires", status=1)
    assert "1 of 5 rows are invalid" in printed.err
    lines = {line.split()[0]: line.split()[1:] for line in printed.out.splitlines()}
    assert lines["4"][0] == "responses;"
    assert lines["no_content"][:5] == ["1", "25.0", "4.6", "69.9", "100.0"]
    assert lines["letters"][:5] == ["1", "25.0", "4.6", "69.9", "0.0"]
    assert lines["any"][:5] == ["2", "50.0", "15.0", "85.0", "50.0"]
    assert lines["echo"][:4] == ["0", "0.0", "0.0", "49.0"]


def test_the_prompt_of_a_trip_wire_may_be_a_message(verify: Verify) -> None:
    row = {"messages": [{"role": "user", "content": COLORS}], **OF_IF_RLVR, "response": f"{COLORS} Yes!"}
    assert re.search(r"^echo +1  +100\.0 ", verify([row], "--trip-wires").out, re.MULTILINE)


@pytest.mark.parametrize(("row", "complaint"), TABLES["without floors"])
def test_a_row_without_floors_is_named(row: dict[str, Any], complaint: str, verify: Verify) -> None:
    assert f"row 1{complaint}" in verify([row], "--floors", status=1).err


@pytest.mark.parametrize("option", ["--floors", "--audit"])
def test_the_floors_of_bare_responses_are_those_of_their_prompts(option: str, tmp_path: Path, verify: Verify) -> None:
    prompts = write_jsonl(tmp_path / "prompts.jsonl", [{"key": 1, "prompt": "Say it, now.", **ASKED}])
    printed = verify([{"key": 1, "response": "x"}, {"key": 1}], option, "--prompts", prompts)
    # "ok" has no comma, and the prompt has one.
    assert printed.out.splitlines()[2].split()[5:12] == ["2", "100.0", "/", "100.0", "0.0", "/", "0.0"]
    printed = verify([{"key": 2}], option, "--prompts", prompts, status=1)
    assert "row 1: no prompt with key 2 in " in printed.err


@pytest.mark.parametrize("option", [["--edition", "repaired"], ["--loose"], ["--keep-reasoning"]])
@pytest.mark.parametrize("instead", ["--floors", "--audit"])
def test_options_of_responses_are_refused_where_none_are_judged(
    instead: str, option: list[str], verify: Verify
) -> None:
    printed = verify([{"prompt": "Say it.", **ASKED}], instead, *option, status=1)
    assert printed.out == ""
    assert f"{option[0]}: --floors and --audit judge no responses" in printed.err


@pytest.mark.parametrize("mode", ["--floors", "--audit", "--trip-wires"])
def test_a_row_without_instructions_is_named_in_every_mode(mode: str, verify: Verify) -> None:
    without = {"prompt": "x", "response": "y", "instruction_id_list": [], "kwargs": []}
    printed = verify([{"prompt": "Why?", "response": "So.", **ASKED}, without], mode, status=1)
    assert "row 2, fields 'instruction_id_list' and 'kwargs': no instructions" in printed.err
    assert "row 1, fields 'instruction_id_list' and 'kwargs': no instructions" in verify([without], mode, status=1).err


# The examples of docs/verify.md.

TEXT = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_command_line_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (script,) = (block for block in blocks("bash") if "--prompts" in block)
    (floors,) = (block for block in blocks("bash") if "--floors" in block)
    shown, shown_of_floors = blocks("text")
    path = f"{Path(COMMAND).parent}:/usr/bin:/bin"
    for commands, printed, noted in ((script, "", shown), (floors, shown_of_floors, "")):
        environment = offline_environment(PATH=path)
        process = completed("bash", "-ec", commands, folder=tmp_path, environment=environment)
        assert (process.returncode, process.stdout, process.stderr) == (0, printed, noted)
    assert len((tmp_path / "judged.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_library_example_runs() -> None:
    (program,) = blocks("python")
    exec(program, {})  # noqa: S102 # it is in this repository


@pytest.mark.parametrize("expression", ["(a+)+$", ".*a.*b"])
def test_an_expression_that_exceeds_the_limits_is_named(expression: str) -> None:
    assert f"`{expression}`" in TEXT
    with pytest.raises(ValueError, match=re.escape(repr(expression))):
        instruction("keywords:existence", {"keywords": [expression]}).require_judgeable()
