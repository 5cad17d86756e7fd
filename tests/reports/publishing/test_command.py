"""``export`` as a command: what it writes, and what it asks for."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import pytest
import yaml

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.publishing.command import add_publish_to
from tests.reports.files import SST2, edited, write_run
from tests.reports.gate.two_runs import right

HUB = ["--format", "hub-eval-results"]
EEE = ["--format", "every-eval-ever"]
BENCHMARK = ["--benchmark", f"{SST2}=our-team/words:flipped"]
EVALUATOR = ["--organization", "Our Team", "--relationship", "first_party"]


def call(*words: object) -> int:
    parser = argparse.ArgumentParser()
    add_publish_to(parser)
    options = parser.parse_args([*map(str, words)])
    status: int = options.run(options)
    return status


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a folder with a run of a model that is in a local folder."""
    write_run(tmp_path / "run", {SST2: right(3, of=4)}, arguments={"pretrained": "/models/one"})
    return tmp_path / "run"


def test_a_file_for_each_model_is_written_and_printed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", run)
    for number, source in enumerate((run, packed)):
        out = tmp_path / f"out{number}"
        assert call(*HUB, source, "-o", out, "--model-id", f"{source}=our-team/one", *BENCHMARK) == 0
        written = out / "our-team/one/.eval_results/lm-eval-ext.yaml"
        assert capsys.readouterr().out == f"{written}\n"
        assert yaml.safe_load(written.read_text(encoding="utf-8"))[0]["value"] == 0.75
    assert call(*EEE, run, "-o", tmp_path / "eee", "--model-id", f"{run}=our-team/one", *EVALUATOR) == 0
    written = Path(capsys.readouterr().out.strip())
    assert written.parent == tmp_path / "eee/data/lm-eval-ext/our-team/one"
    source = json.loads(written.read_text(encoding="utf-8"))["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Our Team", "first_party")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (HUB, r"format hub-eval-results needs what results do not say; give --benchmark, which .* --help explains"),
        (EEE, r"needs what results do not say; give --organization and --relationship, which"),
        ([*EEE, *EVALUATOR, *BENCHMARK], r"--benchmark belongs to --format hub-eval-results, not to every-eval-ever"),
        ([*HUB, *BENCHMARK, "--organization", "a"], r"--organization belongs to --format every-eval-ever"),
        ([*HUB, *BENCHMARK], r"give it as --model-id RUNS=OWNER/NAME"),
        ([*HUB, *BENCHMARK, *BENCHMARK, "--model-id", "RUN=a/b"], r"--benchmark: verbalizer_\w+ is there twice"),
        ([*HUB, "--benchmark", "other=a/b:c", "--model-id", "RUN=a/b"], r"no results of other; expected one of verba"),
        ([*HUB, "--benchmark", f"{SST2}=../b:c"], r"\.\./b: expected OWNER/NAME, as on the hub"),
    ],
)
def test_what_is_missing_or_wrong_is_an_error_and_nothing_is_written(
    run: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    given = [word.replace("RUN", str(run)) for word in words]
    with pytest.raises(ReportError, match=said):
        call(run, *given, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over_the_results(tmp_path: Path) -> None:
    out = tmp_path / "out/our-team/one/.eval_results"
    results = write_run(out, {SST2: right(3, of=4)}, arguments={"pretrained": "/models/one"})
    renamed = results.rename(out / "lm-eval-ext.yaml")
    content = renamed.read_bytes()
    with pytest.raises(ReportError, match=r"--output: .*lm-eval-ext.yaml is a file that is read"):
        call(*HUB, renamed, "-o", tmp_path / "out", "--model-id", f"{renamed}=our-team/one", *BENCHMARK)
    assert renamed.read_bytes() == content


@pytest.mark.parametrize("words", [["--benchmark", "a=b:c"], ["--benchmark", "a=b/c"], ["--model-id", "a=b"]])
def test_an_option_of_another_form_is_a_usage_error(
    run: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call(*HUB, run, "-o", "out", *words)
    assert "expected " in capsys.readouterr().err


def notes(run: Path) -> str:
    """Publish a run, and return what the file says of its score."""
    out = run.with_name("out")
    assert call(*HUB, run, "-o", out, "--model-id", f"{run}=a/b", *BENCHMARK) == 0
    (written,) = (out / "a/b/.eval_results").iterdir()
    (entry,) = yaml.safe_load(written.read_text(encoding="utf-8"))
    return str(entry["notes"])


@pytest.mark.parametrize(("limit", "option"), [(4.0, "--limit 4"), (None, "--samples")])
def test_a_run_of_some_rows_says_so_everywhere(
    limit: float | None, option: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with edited(run) as content:
        content["config"]["limit"] = limit
        content["n-samples"][SST2]["original"] += 1
    assert notes(run).endswith(f"{option}: only some of the rows")
    assert f"warning: a/b: {option}: only some of the rows; the files say so: {SST2}\n" in capsys.readouterr().err


def test_prompts_that_were_cut_off_and_missing_answers_are_said_everywhere(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with edited(run) as content:
        content["results"][SST2]["prompt_truncated_rate,answer"] = 0.25
        content["config"]["recorded"] = {"missing": {SST2: 3}}
    remarks = (
        "3 answers were not recorded and count as empty",
        "the context had no room for the beginning of 25.0 % of the prompts",
    )
    assert notes(run).endswith("; " + "; ".join(remarks))
    said = capsys.readouterr().err
    assert all(f"warning: a/b: {remark}; the files say so: {SST2}\n" in said for remark in remarks)


def test_a_score_that_is_no_number_is_left_out_and_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with edited(run) as content:
        content["results"][SST2] |= {"prior_rate,answer": float("nan"), "invalid_rate,answer": "N/A"}
    assert call(*EEE, run, "-o", tmp_path / "eee", "--model-id", f"{run}=our-team/one", *EVALUATOR) == 0
    said = capsys.readouterr()
    record = json.loads(Path(said.out.strip()).read_text(encoding="utf-8"))
    assert [each["metric_config"]["metric_id"] for each in record["evaluation_results"]] == ["acc"]
    assert f"our-team/one: left out, because it is not a score: {SST2}, prior_rate: nan in the results\n" in said.err
    # What the harness has no score of is not missing.
    assert "invalid_rate" not in said.err
