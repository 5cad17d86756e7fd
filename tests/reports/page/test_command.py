"""``lm-eval-ext report``, from the harness's own files to the page: its tables have the scores of known answers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.reports.page.answers import anchor
from lm_eval_ext.reports.wording import figure as figure_in_words
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2, samples_of, write_models, write_run
from tests.reports.page.model_runs import GOLDEN
from tests.reports.page.reading import Read, report

LEVELS = ("natural", "neutral", "unnatural")


@pytest.fixture(scope="module")
def tables(known_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return the tables of one report of everybody whose right figures are known."""
    return Read(report(tmp_path_factory.mktemp("page"), *known_runs))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_page_and_figures_do_not_depend_on_the_number_of_processes(
    known_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for cores in (1, 3):
        for module in ("results.samples", "reports.evidence", "reports.page.drawing"):
            monkeypatch.setattr(f"lm_eval_ext.{module}.LARGE", 0)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _process, cores=cores: set(range(cores)))
        folder = tmp_path / str(cores)
        folder.mkdir()
        report(folder, known_runs[4], known_runs[-1], "--export", folder, "--answers", "2")
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("figure", "about", "expected"),
    [
        # Whoever goes by what the words mean is right where they mean their labels, and nowhere else.
        *(
            ("verbalizer_naturalness", (policy, "direct", level), {"accuracy": accuracy})
            for policy, accuracies in (("oracle", (1, 1, 1)), ("prior", (1, 0, 0)))
            for level, accuracy in zip(LEVELS, accuracies, strict=True)
        ),
        # It follows all instructions but one.
        *(
            (
                "manyifeval_curse",
                ("drop_one", str(n)),
                {"prompt level": 0, "instruction level": (n - 1) / n, "predicted": ((n - 1) / n) ** n},
            )
            for n in (1, 2, 5)
        ),
        *(("manyifeval_curse", ("oracle", n), {"prompt level": 1, "predicted": 1}) for n in "125"),
        ("paired_mcq_mismatch", ("oracle",), {"mismatch": 0, "mismatch: the text refuses": 0}),
        ("paired_mcq_mismatch", ("chatty",), {"mismatch": 1, "mismatch: the text refuses": 0}),
        ("paired_mcq_mismatch", ("refuser",), {"mismatch": 1, "mismatch: the text refuses": 1}),
        ("paired_mcq_mismatch", ("always_a",), {"mismatch": 0}),
        ("natural_instructions_rouge_l", ("oracle",), {"prompt": 1, "all": 1}),
    ],
)
def test_known_answers_have_the_scores_that_are_known(
    figure: str, about: Sequence[str], expected: Mapping[str, float], tables: Read
) -> None:
    policy, *further = about
    cells = tables.numbers(figure, f"reference policy={policy}", *further)
    assert {name: cells[name] for name in expected} == {
        name: figure_in_words(value, "share") for name, value in expected.items()
    }


def test_random_answers_are_right_half_of_the_time(tables: Read) -> None:
    accuracies = [
        float(tables.numbers("verbalizer_naturalness", "reference policy=random", "direct", level)["accuracy"])
        for level in LEVELS
    ]
    # 100 coin tosses, in percent: within four standard deviations of 5, and different for every word.
    assert all(30 <= accuracy <= 70 for accuracy in accuracies)
    assert len(set(accuracies)) > 1


def test_the_echo_scores_the_same_little_under_each_encoding(tables: Read) -> None:
    # It repeats the input regardless of the instruction.
    echo = tables.numbers("natural_instructions_rouge_l", "reference policy=echo")
    assert 0 < float(echo["prompt"]) < 50
    assert echo["prompt"] == echo["all"]


def test_the_leaderboard_has_each_familys_headline_for_the_models_that_ran_it(tables: Read) -> None:
    # No task has levels that the overview leaves to a table of the family.
    assert [name for name in tables.tables if name.startswith("leaderboard")] == ["leaderboard"]
    natural, unnatural = f"{GOLDEN} acc ↑", f"{SST2} acc ↑"
    prior = tables.numbers("leaderboard", "reference policy=prior")
    assert [float(prior[words]) for words in (natural, unnatural)] == [1.0, 0.0]
    assert float(tables.numbers("leaderboard", "random guess")[natural]) == 0.5
    assert 0.5 <= float(tables.numbers("leaderboard", "floor")[natural]) < 1


# The command


def test_the_page_and_its_figures_are_written_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run", {SST2: [1, 0]})
    figures = tmp_path / "figures"
    assert report(tmp_path, tmp_path / "run", "--export", figures).startswith("<!DOCTYPE html>")
    exported = sorted(figures.iterdir())
    assert {path.suffix for path in exported} == {".png", ".csv"}
    assert capsys.readouterr().out == f"{tmp_path / 'report.html'}\n{figures} ({len(exported)} files)\n"


def test_sizes_give_curves_that_are_exported_like_other_figures(tmp_path: Path) -> None:
    for number, size in enumerate(("7b", "13b")):
        write_run(tmp_path / size, {SST2: [number, 1]}, arguments={"pretrained": f"llama-{size}"})
    sizes, figures = tmp_path / "models.toml", tmp_path / "figures"
    sizes.write_text('[LLaMA]\nllama-7b = "6.7B"\nllama-13b = 13_015_864_320\n', encoding="utf-8")
    found = Read(report(tmp_path, tmp_path, "--sizes", sizes, "--export", figures))
    for model, size, accuracy in (("llama-7b", "6700000000", "50.0"), ("llama-13b", "13015864320", "100.0")):
        of_model = found.numbers("verbalizer_scaling", "LLaMA", model, size)
        assert of_model == {"unnatural, direct": accuracy, "rows": "2"}
    header, first, *_ = (figures / "verbalizer_scaling.csv").read_text(encoding="utf-8").splitlines()
    assert header == 'family,model,parameters,"unnatural, direct","unnatural, direct low","unnatural, direct high",rows'
    assert first.startswith("LLaMA,llama-7b,6700000000,0.5,")
    assert (figures / "verbalizer_scaling_unnatural-direct.png").is_file()


def test_without_a_file_the_recorded_sizes_are_used(tmp_path: Path) -> None:
    for size, count in (("7b", 6_738_415_616), ("13b", 13_015_864_320)):
        arguments, call = {"pretrained": f"llama-{size}"}, {"model_num_parameters": count}
        write_run(tmp_path / size, {SST2: [0, 1]}, arguments=arguments, call=call)
    assert Read(report(tmp_path, tmp_path)).numbers("verbalizer_scaling", "llama-…", "llama-7b", "6738415616")


def test_omissions_are_reported_on_the_page_and_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run", {SST2: [1, 0]}, samples=False)
    page = report(tmp_path, tmp_path / "run")
    assert f"lm-eval-ext: warning: {tmp_path}" in (said := capsys.readouterr().err)
    assert f"no samples of {SST2} next to it" in said
    assert f"no samples of {SST2} next to it" in page


def test_a_model_name_cannot_clear_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "1", {SST2: [1]}, arguments={"pretrained": "x\x1b[2J"})
    write_run(tmp_path / "2", {SST2: [1, 0]}, arguments={"pretrained": "y"})
    report(tmp_path, tmp_path)
    said = capsys.readouterr().err
    assert "x<U+001B>[2J" in said
    assert "\x1b" not in said


def test_the_answers_are_those_of_the_models_that_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_models(tmp_path, {name: {SST2: [1.0] * number + [0.0] * 6} for number, name in enumerate("abcdef")})

    def shown(*words: str) -> list[str]:
        page = report(tmp_path, tmp_path, *words)
        return [name for name in "abcdef" if f'id="{anchor(name, SST2)}"' in page]

    assert shown() == ["f"]
    assert "note: answers are those of the best model (f); --answers-of NAME shows those of others" in (
        capsys.readouterr().err
    )
    assert shown("--answers-of", "b", "--answers-of", "d") == ["b", "d"]
    assert "answers are those of" not in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--answers-of", "g"]) == 1
    assert "--answers-of g: no model of the page has this name; expected one of" in capsys.readouterr().err


def test_the_page_is_byte_identical_for_the_same_files(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {SST2: [1, 0, 1], GOLDEN: [1, 1, 0]})
    assert report(tmp_path, tmp_path / "run") == report(tmp_path, tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # Before anything is read.
        ("no_run_at_all -o .", "is a folder; expected the name of the page to write"),
        ("no_run_at_all -o nowhere/report.html", "its folder does not exist"),
        ("results_y.json", "results_y.json: No such file or directory"),
        ("results_x.json", "results_x.json"),
        ("run --sizes models.toml", "[A], 'one': 'huge'; expected a number of parameters"),
        ("run --sizes no.toml", "no.toml: No such file or directory"),
    ],
)
def test_what_cannot_be_read_or_written_is_an_error_and_an_existing_page_is_kept(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", {SST2: [1, 0]})
    for name, text in {"report.html": "old", "results_x.json": "{}", "models.toml": "[A]\none = 'huge'\n"}.items():
        Path(name).write_text(text, encoding="utf-8")
    assert main(["report", *words.split()]) == 1
    assert message in capsys.readouterr().err
    assert Path("report.html").read_text(encoding="utf-8") == "old"


def test_no_page_is_written_over_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = write_run(tmp_path / "run", {SST2: [1, 0]})
    sizes = tmp_path / "sizes.toml"
    sizes.write_text('[a]\none = "7B"', encoding="utf-8")
    for path in (results, samples_of(results), sizes):
        content = path.read_bytes()
        assert main(["report", str(tmp_path / "run"), "--sizes", str(sizes), "-o", str(path)]) == 1
        assert f"--output: {path} is a file that is read" in capsys.readouterr().err
        assert path.read_bytes() == content


def test_the_page_can_be_printed_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", {SST2: [1, 0]})
    assert main(["report", "run", "-o", "-", "--export", "figures"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("<!DOCTYPE html>")
    assert printed.out.rstrip().endswith("</html>")
    assert "figures (" in printed.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "run"]


def test_a_device_receives_only_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run", {SST2: [1, 0]})
    assert main(["report", str(tmp_path / "run"), "-o", "/dev/null"]) == 0
    printed = capsys.readouterr()
    # With /dev/stdout, the name would follow the page.
    assert (printed.out, printed.err) == ("", "/dev/null\n")
    assert Path("/dev/null").is_char_device()


def test_if_a_figure_cannot_be_drawn_neither_page_nor_figures_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", {SST2: [1, 0], GOLDEN: [1, 1]})
    drawn = []

    def failing(drawing: object) -> bytes:
        drawn.append(drawing)
        if len(drawn) == 2:
            raise MemoryError
        return b"PNG"

    monkeypatch.setattr("lm_eval_ext.reports.page.drawing._png", failing)
    with pytest.raises(MemoryError):
        main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html"), "--export", str(tmp_path / "new")])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_figures_cannot_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "run", "--export", "-"])
    assert "expected the name of a folder" in capsys.readouterr().err


def test_without_matplotlib_the_error_names_the_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_run(tmp_path, {SST2: [1]})
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "report.html")]) == 1
    assert "pip install 'lm-eval-ext[report]'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["packed", "Q&A 'old'"])
def test_a_report_about_an_archive_names_it_and_not_where_it_was_extracted(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run", {SST2: [1.0, 0.0]})
    packed = shutil.make_archive(str(tmp_path / name), "zip", tmp_path, "run")
    text = unescape(report(tmp_path, packed, "--name", f"{packed}=the old one")) + capsys.readouterr().err
    assert "the old one" in text
    assert f"{packed}/run/results_" in text
    assert "/lm-eval-ext-" not in text


def test_tasks_that_are_not_ours_are_on_the_page(tmp_path: Path) -> None:
    run = write_other_run(tmp_path / "run", {"quiz": MadeUp([1.0, 1.0, 1.0, 0.0])})
    texts = [text for row in Read(report(tmp_path, run)).tables["any_task_scores"] for _, _, text in row]
    assert [text for text in texts if text.startswith("75.0 [")]
