"""Names, settings and sizes of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.results.files import read
from lm_eval_ext.results.issue import note, warning
from lm_eval_ext.results.load import GivenName, load
from lm_eval_ext.results.models import (
    EvaluatedModel,
    Size,
    Sizes,
    arguments,
    evaluated_model,
    labels,
    read_sizes,
    sizes,
)
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, write_run
from tests.tables import tables

TABLES = tables(__file__)


def model(kind: str, arguments: Mapping[str, str], setting: Mapping[str, str] | None = None) -> EvaluatedModel:
    return EvaluatedModel(kind, tuple(sorted(arguments.items())), tuple((setting or {}).items()))


@pytest.mark.parametrize(("who", "name"), TABLES["names"])
def test_a_model_is_named_after_its_weights(who: Sequence[Any], name: str) -> None:
    assert [*labels([model(*who)]).values()] == [name]


@pytest.mark.parametrize(
    ("first", "second", "names"), TABLES["distinguished"].values(), ids=TABLES["distinguished"].keys()
)
def test_models_of_the_same_name_are_distinguished_by_what_differs(
    first: Sequence[Any], second: Sequence[Any], names: list[str]
) -> None:
    assert list(labels([model(*first), model(*second)]).values()) == names


def test_models_with_different_arguments_never_share_a_name() -> None:
    several = [
        model("hf", {"pretrained": "m"}),
        model("hf", {"pretrained": "m", "dtype": "float16"}),
        model("hf", {"pretrained": "m, no dtype"}),
        model("hf", {"pretrained": "m"}, {"gen_kwargs": "a=1"}),
    ]
    assert len({*labels(several).values()}) == len(several)


@pytest.mark.parametrize(("found", "expected"), TABLES["arguments"])
def test_model_arguments_are_a_mapping_or_a_string(found: object, expected: dict[str, str]) -> None:
    assert arguments(found) == expected


def of_file(folder: Path, shots: object = 0, source: object = "hub", **changed: Any) -> EvaluatedModel:
    return evaluated_model(read(write_run(folder, {SST2: [1]}, **changed)), shots, source)


def test_a_setting_lists_only_what_differs_from_the_harnesss_default(tmp_path: Path) -> None:
    assert of_file(tmp_path).setting == ()
    call = {"gen_kwargs": {"temperature": 1, "do_sample": True}}
    asked = of_file(tmp_path, 4, "embedded", chat_template_sha="c", system_instruction_sha="s", call=call)
    assert asked.setting == (
        ("chat template", "c"),
        ("system instruction", "s"),
        ("few-shot examples", "4"),
        ("gen_kwargs", "do_sample=True,temperature=1"),
        ("rows", "embedded"),
    )
    # With a chat template, examples are turns of their own unless the run says otherwise.
    for given, shots, expected in ((False, 4, "4 in one turn"), (True, 4, "4"), (None, 4, "4"), (False, 0, None)):
        chat = of_file(tmp_path, shots, chat_template_sha="c", fewshot_as_multiturn=given)
        assert dict(chat.setting).get("few-shot examples") == expected
    assert dict(of_file(tmp_path, 4, fewshot_as_multiturn=False).setting) == {"few-shot examples": "4"}
    # The harness writes an empty text where --apply_chat_template was given to such a model, and null without it.
    assert of_file(tmp_path, chat_template=None).setting == ()
    assert of_file(tmp_path, chat_template="").setting == (("chat template", "without a text of its own"),)


def run(folder: Path, name: str, recorded: object = None, **options: Any) -> None:
    """Write a run of a model, with the number of parameters that the harness recorded."""
    call = {} if recorded is None else {"model_num_parameters": recorded}
    arguments = {"pretrained": f"owner/{name}"}
    write_run(folder / f"{name} {options}", {SST2: [1, 0]}, arguments=arguments, call=call, **options)


def by_label(folder: Path, given: Mapping[str, Size] | None = None) -> dict[str, Size]:
    runs = load([folder])
    found = sizes(runs, given or {})
    return {runs.labels[model]: size for model, size in found.by_model.items()}


def families(folder: Path, given: Mapping[str, Size] | None = None) -> dict[str, str]:
    return {label: size.family for label, size in by_label(folder, given).items()}


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_has_a_table_of_models_for_each_family(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [Flan-T5]
        flan-t5-small = "80M"
        flan-t5-xl = "3 b"
        [GPT]
        "gpt/4.5" = 1e12
        exact = 124_439_808
        other = "1.25K"
        """,
    )
    assert read_sizes(path) == {
        "flan-t5-small": Size("Flan-T5", 80_000_000),
        "flan-t5-xl": Size("Flan-T5", 3_000_000_000),
        "gpt/4.5": Size("GPT", 10**12),
        "exact": Size("GPT", 124_439_808),
        "other": Size("GPT", 1250),
    }


def test_models_of_unknown_size_are_listed_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, 'GPT = ["gpt-3.5", "gpt-4"]\n[One]\none-7b = "7B"')
    assert read_sizes(path) == {
        "gpt-3.5": Size("GPT", 1, 2),
        "gpt-4": Size("GPT", 2, 2),
        "one-7b": Size("One", 7 * 10**9),
    }
    assert [size.in_words for size in read_sizes(path).values()] == ["1 of 2", "2 of 2", ""]


@pytest.mark.parametrize(("text", "message"), TABLES["malformed sizes"])
def test_an_invalid_file_is_named_with_what_was_expected(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RowsError) as error:
        read_sizes(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_without_a_file_the_recorded_sizes_count_and_families_are_named_after_what_models_share(tmp_path: Path) -> None:
    for name, recorded in (
        ("pythia-70m", 70_426_624),
        ("pythia-1.4b-deduped", 1_414_647_808),
        ("pythia-160m-deduped", 162_322_944),
        ("Qwen2.5-0.5B-Instruct", 494_032_768),
        ("Qwen2.5-7B-Instruct", 7_615_616_512),
        ("gpt2", 124_439_808),
        ("phi3b2", 3_000_000_000),  # no part of the name is a size
    ):
        run(tmp_path, name, recorded)
    assert families(tmp_path) == {
        "pythia-70m": "pythia-…",
        "pythia-160m-deduped": "pythia-…-deduped",
        "pythia-1.4b-deduped": "pythia-…-deduped",
        "Qwen2.5-0.5B-Instruct": "Qwen2.5-…-Instruct",
        "Qwen2.5-7B-Instruct": "Qwen2.5-…-Instruct",
        "gpt2": "gpt2",
        "phi3b2": "phi3b2",
    }
    assert by_label(tmp_path)["pythia-70m"].parameters == 70_426_624


@pytest.mark.parametrize("recorded", [None, -1, 0, True, "7B", 7.5], ids=repr)
def test_what_is_not_a_number_of_parameters_is_no_size(recorded: object, tmp_path: Path) -> None:
    run(tmp_path, "one", recorded)
    assert sizes(load([tmp_path])) == Sizes()


def test_a_file_takes_precedence_and_reports_what_it_lacks_and_what_was_not_run(tmp_path: Path) -> None:
    run(tmp_path, "one-7b", 6_900_000_000)
    run(tmp_path, "two-7b", 7_100_000_000)
    run(tmp_path, "three")
    path = written(tmp_path, '[One]\none-7b = "7B"\none-13b = "13B"')
    assert by_label(tmp_path, read_sizes(path)) == {
        "one-7b": Size("One", 7_000_000_000),
        "two-7b": Size("two-…", 7_100_000_000),
    }
    assert sizes(load([tmp_path]), read_sizes(path)).issues == (
        warning("--sizes: no size for three, and their results record none: not in figures by size"),
        note("--sizes: not among the results: one-13b"),
    )


def test_a_model_in_two_settings_is_in_two_families(tmp_path: Path) -> None:
    for name in ("one-7b", "one-13b"):
        for shots in (0, 4):
            run(tmp_path, name, config={"num_fewshot": shots})
    path = written(tmp_path, '[One]\none-7b = "7B"\none-13b = "13B"')
    assert by_label(tmp_path, read_sizes(path)) == {
        f"one-{size}b, {shots}": Size(family, size * 10**9)
        for size in (7, 13)
        for shots, family in (("no few-shot examples", "One"), ("4-shot", "One, 4-shot"))
    }
    # A file may name each by its label.
    path = written(tmp_path, '[Four]\n"one-7b, 4-shot" = "7B"')
    assert by_label(tmp_path, read_sizes(path)) == {"one-7b, 4-shot": Size("Four", 7 * 10**9)}


def test_a_model_that_was_also_run_in_another_setting_stays_in_its_family(tmp_path: Path) -> None:
    run(tmp_path, "one-13b", 13_000_000_000)
    run(tmp_path, "one-7b", 7_000_000_000)
    run(tmp_path, "one-7b", 7_000_000_000, config={"num_fewshot": 4})
    assert families(tmp_path) == {
        "one-7b, no few-shot examples": "one-…",
        "one-13b": "one-…",
        "one-7b, 4-shot": "one-…, 4-shot",
    }


def test_a_name_that_the_user_gave_may_be_in_the_file(tmp_path: Path) -> None:
    run(tmp_path, "one-7b", 7_000_000_000)
    runs = load([tmp_path], names=[GivenName(tmp_path, "mine-8b")])
    assert list(sizes(runs).by_model.values()) == [Size("mine-…", 7_000_000_000)]
    path = written(tmp_path, '[A]\nmine-8b = "8B"')
    assert list(sizes(runs, read_sizes(path)).by_model.values()) == [Size("A", 8_000_000_000)]
    # What follows the name of its weights in it is no setting.
    runs = load([tmp_path], names=[GivenName(tmp_path, "one-7b-mine")])
    assert list(sizes(runs).by_model.values()) == [Size("one-…-mine", 7_000_000_000)]


def test_two_models_of_one_size_do_not_share_a_curve(tmp_path: Path) -> None:
    for name in "abc":
        run(tmp_path, name)
    path = written(tmp_path, '[One]\na = "7B"\nb = "7B"\nc = "13B"')
    assert families(tmp_path, read_sizes(path)) == {"a": "a", "b": "b", "c": "One"}
