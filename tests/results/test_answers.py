"""The answers of a recorded run: whose they are, to what, and what is wrong with a file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.results.answers import GENERATED, LIKELIHOOD, read_recording, request_key
from lm_eval_ext.results.files import read
from lm_eval_ext.results.models import evaluated_model, labels, missing_answers
from lm_eval_ext.sources import RowsError
from tests.tables import tables

TABLES = tables(__file__)
TIME = "2026-01-01T00-00-00.000001"
PROMPT = "Say yes."
SETTINGS = {"until": ["\n"], "max_gen_toks": 7}


def line(text: str = "yes", reader: str = "none", **more: Any) -> dict[str, Any]:
    """Return a line as the harness writes it: two log-likelihoods, one of them of a whole text, and a text."""
    return {
        "doc_id": 0,
        "doc": {},
        "filter": reader,
        "filtered_resps": [text],
        "arguments": {
            "gen_args_0": {"arg_0": PROMPT, "arg_1": " A"},
            "gen_args_1": {"arg_0": "", "arg_1": "A whole text."},
            "gen_args_2": {"arg_0": PROMPT, "arg_1": SETTINGS},
        },
        "resps": [[["-1.5", "True"]], ["-2.5"], [text]],
        **more,
    }


def write(folder: Path, *lines: Mapping[str, Any], date: float = 1.0, **config: Any) -> Path:
    """Write the results and the samples of a run of one task, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "results": {"a_task": {}},
        "configs": {"a_task": {"task": "a_task", "repeats": 1}},
        "config": {"model": "hf", "model_args": {"pretrained": "owner/small"}, **config},
        "date": date,
    }
    (folder / f"results_{TIME}.json").write_text(json.dumps(content), encoding="utf-8")
    text = "".join(json.dumps(each) + "\n" for each in lines or [line()])
    (folder / f"samples_a_task_{TIME}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_texts_and_log_likelihoods_are_found_by_what_was_asked(tmp_path: Path) -> None:
    lines = [line(reader=reader) for reader in ("one", "other")]
    found = read_recording(str(write(tmp_path, *lines)))
    assert {asked: each.draws for asked, (each,) in found.answers.items()} == {
        (LIKELIHOOD, PROMPT, " A"): ((-1.5, True),),
        (LIKELIHOOD, "A whole text."): (-2.5,),
        (GENERATED, PROMPT): ("yes",),
    }
    (text,) = found.answers[GENERATED, PROMPT]
    assert (text.task, text.row, text.settings, text.as_messages) == ("a_task", 0, SETTINGS, False)
    assert found.model.full_name == "hf pretrained=owner/small"
    # 0.4 asks for the likelihood of a whole text without a context.
    assert request_key(LIKELIHOOD, ("A whole text.",)) == request_key(LIKELIHOOD, ("", "A whole text."))


def test_messages_are_the_same_prompt_however_the_harness_packs_them() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    packed = [json.dumps([{**messages[0], "type": "text"}])]
    assert request_key(GENERATED, (packed, {})) == request_key(GENERATED, ((packed[0],), SETTINGS))
    assert request_key(GENERATED, (packed, {})) == request_key(GENERATED, (messages, {}))
    assert request_key(GENERATED, (packed, {})) != request_key(GENERATED, ("Hi", {}))


def test_responses_that_only_fill_up_the_shares_of_processes_are_no_draws(tmp_path: Path) -> None:
    found = read_recording(str(write(tmp_path, line(resps=[[["-1.5", "True"]], ["-2.5"], ["yes", "yes"]]))))
    assert [each.draws for each in found.answers[GENERATED, PROMPT]] == [("yes",)]


@pytest.mark.parametrize("form", ["folder", "results file", "samples file", "archive"])
def test_a_run_is_read_from_wherever_results_can_be(form: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    archive = tmp_path / "run.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for file in folder.iterdir():
            zipped.write(file, file.name)
    results, samples = folder / f"results_{TIME}.json", folder / f"samples_a_task_{TIME}.jsonl"
    place = {"folder": folder, "results file": results, "samples file": samples, "archive": archive}[form]
    found = read_recording(str(place))
    assert (len(found.answers), found.model.name, found.tasks) == (3, "small", ["a_task"])
    assert found.file is not None
    # Without its results file, a file of samples does not say whose answers it has.
    results.unlink()
    if form == "samples file":
        alone = read_recording(str(samples))
        assert (len(alone.answers), alone.file, alone.model.name) == (3, None, samples.stem)


def test_of_several_models_one_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a", line(text="a"))
    write(tmp_path / "b", line(text="b"), model_args="pretrained=owner/large")
    with pytest.raises(
        RowsError, match=r"answers of 2 models \(hf pretrained=owner/large, hf pretrained=owner/small\)"
    ):
        read_recording(str(tmp_path))
    for name, text in (("small", "a"), ("hf pretrained=owner/large", "b")):
        (found,) = read_recording(str(tmp_path), name).answers[GENERATED, PROMPT]
        assert found.draws == (text,)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"resps": [[["-1.5", "True"]]], "arguments": {}}, r"row 1: KeyError\('gen_args_0'\); expected a line"),
        ({"resps": [[["-1.5", "True"]], ["x"], ["yes"]]}, "row 1: ValueError"),
        ({"resps": [[["-1.5", "True"]], ["-2.5"], [7]]}, "row 1: .*a response is 7; expected text"),
        ({"arguments": {"gen_args_0": {"arg_0": 3, "arg_1": {}}}, "resps": [["yes"]]}, "row 1: TypeError"),
    ],
)
def test_a_malformed_line_is_named(changed: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=message):
        read_recording(str(write(tmp_path, line(**changed))))


@pytest.mark.parametrize(("text", "message"), TABLES["malformed files"])
def test_a_malformed_file_of_responses_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RowsError, match=message):
        read_recording(str(path))


def test_a_run_without_samples_is_an_error(tmp_path: Path) -> None:
    next(write(tmp_path).glob("samples_*")).unlink()
    with pytest.raises(RowsError, match="no samples next to the results; expected a run with --log_samples"):
        read_recording(str(tmp_path))


def test_answers_that_were_scored_again_are_those_of_the_model_that_gave_them(tmp_path: Path) -> None:
    said = {"samples": "results/old", "model": "hf", "model_args": {"pretrained": "owner/small"}, "missing": {"a": 0}}
    again: dict[str, Any] = {"model": "recorded", "model_args": {"samples": "results/old"}, "recorded": said}
    first, second = (
        read(next(write(tmp_path / name, **config).glob("results_*"))) for name, config in (("a", {}), ("b", again))
    )
    one, other = (evaluated_model(file, None, None) for file in (first, second))
    assert (other.kind, other.arguments) == (one.kind, one.arguments) == ("hf", (("pretrained", "owner/small"),))
    assert labels([other]) == {other: "small"}
    assert labels([one, other]) == {one: "small, no recorded answers", other: "small, recorded answers=old"}
    assert missing_answers(second) == missing_answers(first) == {}
    # What is recorded of them can be recorded again.
    assert read_recording(str(tmp_path / "b")).model == read_recording(str(tmp_path / "a")).model
