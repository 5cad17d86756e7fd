"""Task files of both versions: what is read, verbatim, and what is rejected."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.files import Example, Instance, Instruction, read
from lm_eval_ext.sources import RowsError
from tests.families.natural_instructions.task_files import TASK, version_1, version_2, write

NAMES: dict[str, str] = {
    "title": "Title",
    "prompt": "Prompt",
    "definition": "Definition",
    "avoid": "Things to Avoid",
    "emphasis": "Emphasis & Caution",
}
V1 = version_1()
V2 = version_2(V1)
EXAMPLES = V1["Examples"]
POSITIVE = (
    Example("The quay is empty.", "gone", "A ferry that waits is seen."),
    Example("The ramp is down. ", "waiting\n"),
)
INSTANCES = (Instance("Smoke rises behind the cape.", ("gone", "left")), Instance("  Cars queue. ", ("waiting ",)))


def without(content: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != field}


def instance(**fields: object) -> dict[str, Any]:
    """Return a file whose second instance has these fields."""
    return version_1(Instances=[V1["Instances"][0], fields])


def positive(*examples: object) -> dict[str, Any]:
    return version_1(Examples=EXAMPLES | {"Positive Examples": list(examples)})


def read_file(folder: Path, content: object) -> Instruction:
    return read(write(folder, content), TASK)


def test_a_version_1_file_is_read_verbatim(tmp_path: Path) -> None:
    path = write(tmp_path, V1)
    assert read(path, TASK) == Instruction(
        task=TASK,
        origin=str(path),
        title="Where the ferry is",
        prompt="Say whether the ferry waits. ",
        definition="You are told what is seen from the quay.\nAnswer in a word.",
        avoid="",
        emphasis="Fog hides much.  ",
        positive=POSITIVE,
        negative=(
            Example("The quay is empty.", "lost", "Not a state.", "Say gone."),
            Example("A horn sounds.", "music"),
        ),
        instances=INSTANCES,
    )


def test_a_version_2_file_has_only_a_definition(tmp_path: Path) -> None:
    path = write(tmp_path, V2)
    assert read(path, TASK) == Instruction(
        task=TASK,
        origin=str(path),
        title=None,
        prompt=None,
        definition="You are told what is seen from the quay.\nAnswer in a word.\nFog hides much.  ",
        avoid=None,
        emphasis=None,
        positive=POSITIVE,
        negative=(Example("The quay is empty.", "lost", "Not a state."), Example("A horn sounds.", "music")),
        instances=INSTANCES,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("-", ""),
        ("", ""),
        ("- ", "- "),  # occurs in the published prompts
        (" Fog. ", " Fog. "),
        ("-Fog", "-Fog"),
    ],
)
def test_a_text_is_kept_unless_it_is_only_a_dash(tmp_path: Path, value: str, text: str) -> None:
    assert read_file(tmp_path, version_1(**{"Emphasis & Caution": value})).emphasis == text


@pytest.mark.parametrize("field", NAMES)
def test_a_text_missing_from_a_version_1_file_is_none(tmp_path: Path, field: str) -> None:
    found = read_file(tmp_path, without(V1, NAMES[field]))
    assert {name for name in NAMES if getattr(found, name) is None} == {field}


@pytest.mark.parametrize(
    ("content", "positive", "negative"),
    [
        (version_1(Examples=EXAMPLES | {"Negative Examples": ["-"]}), 2, 0),
        (version_1(Examples=EXAMPLES | {"Negative Examples": ["- "]}), 2, 0),
        (version_1(Examples=EXAMPLES | {"Negative Examples": []}), 2, 0),
        (version_1(Examples=without(EXAMPLES, "Negative Examples")), 2, 0),
        (version_1(Examples=without(EXAMPLES, "Positive Examples")), 0, 2),
        (version_1(Examples={}), 0, 0),
        (without(V1, "Examples"), 0, 0),
        (V2 | {"Negative Examples": ["-"]}, 2, 0),
        (without(V2, "Negative Examples"), 2, 0),
        (V2 | {"Positive Examples": []}, 0, 2),
    ],
)
def test_examples_are_optional(tmp_path: Path, content: dict[str, Any], positive: int, negative: int) -> None:
    found = read_file(tmp_path, content)
    assert (len(found.positive), len(found.negative)) == (positive, negative)


@pytest.mark.parametrize(
    ("parts", "reason", "suggestion"),
    [
        ({}, "", ""),
        ({"reason": "-", "suggestion": "-"}, "", ""),
        ({"reason": "Seen. ", "suggestion": "Say gone. "}, "Seen. ", "Say gone. "),
        ({"explanation": "Seen."}, "Seen.", ""),
        ({"explanation": "-"}, "", ""),
    ],
)
def test_a_reason_or_suggestion_may_be_absent_or_a_dash(
    tmp_path: Path, parts: dict[str, str], reason: str, suggestion: str
) -> None:
    (found,) = read_file(tmp_path, positive({"input": "Fog.", "output": "gone", **parts})).positive
    assert found == Example("Fog.", "gone", reason, suggestion)


def test_an_older_version_2_file_has_reasons_and_a_plain_string_definition(tmp_path: Path) -> None:
    old = V2 | {"Definition": "One text.", "Positive Examples": [{"input": "a", "output": "b", "reason": "c"}]}
    found = read_file(tmp_path, old)
    assert found.definition == "One text."
    assert found.positive == (Example("a", "b", "c"),)


def test_a_definition_in_parts_is_joined_by_line_feeds(tmp_path: Path) -> None:
    assert read_file(tmp_path, V2 | {"Definition": ["One. ", "Two."]}).definition == "One. \nTwo."


def test_equal_instances_keep_their_positions(tmp_path: Path) -> None:
    one, other = V1["Instances"]
    assert read_file(tmp_path, version_1(Instances=[one, one, other])).instances == (INSTANCES[0], *INSTANCES)


def test_a_reference_need_not_be_in_a_list(tmp_path: Path) -> None:
    assert read_file(tmp_path, instance(input="Fog.", output="gone")).instances[1] == Instance("Fog.", ("gone",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b'{"Title": "caf\xe9"}', r"not JSON in UTF-8 \('utf-8' .* position 14", id="Latin-1"),
        pytest.param('{"Title": "a",\n "Prompt"', r"not JSON in UTF-8 \(.*line 2 column 10", id="cut off"),
        pytest.param("[" * 100_000, "not JSON in UTF-8", id="nested beyond reason"),
        pytest.param([V1], "expected one JSON object, found list", id="a list"),
        pytest.param(
            {"input": "a", "output": "b"},
            r"expected version 1 \(Title, .*Examples, Instances\) or version 2 \(Definition, Positive Examples, "
            r".*Instances\); found input, output$",
            id="neither version",
        ),
        pytest.param({}, "not a task file; .*; found no fields$", id="nothing"),
        pytest.param(without(V1, "Instances"), "no field 'Instances'; found Title, Prompt,", id="no instances, v1"),
        pytest.param(without(V2, "Instances"), "no field 'Instances'; found Contributors,", id="no instances, v2"),
        pytest.param(version_1(Instances=[]), "field 'Instances': expected at least one, found none", id="none"),
        pytest.param(version_1(Instances={}), "field 'Instances': expected a list, found {}", id="instances: object"),
        pytest.param(
            version_1(Instances=["a"]), "Instances, index 0: expected an object, found 'a'", id="instance: text"
        ),
        pytest.param(
            instance(output=["a"]), "Instances, index 1: no field 'input'; found output$", id="instance without input"
        ),
        pytest.param(
            instance(input="a", outputs=["b"]),
            "Instances, index 1: no field 'output'; found input, outputs$",
            id="instance without output",
        ),
        pytest.param(
            instance(input=["a"], output=["b"]),
            r"Instances, index 1, field 'input': expected text, found \['a'\]",
            id="input: list",
        ),
        pytest.param(
            instance(input="a", output=[]),
            r"Instances, index 1, field 'output': expected a list of at least one reference, found \[\]",
            id="no reference",
        ),
        pytest.param(
            instance(input="a", output=None),
            "Instances, index 1, field 'output': expected a list of at least one reference, found None",
            id="output: null",
        ),
        pytest.param(
            instance(input="a", output=["b", 7]),
            "Instances, index 1, field 'output', number 2: expected text, found 7",
            id="reference: number",
        ),
        pytest.param(version_1(Title=["a"]), r"field 'Title': expected text, found \['a'\]", id="title: list"),
        pytest.param(
            version_1(Definition=["a"]), r"field 'Definition': expected text, found \['a'\]", id="definition: list, v1"
        ),
        pytest.param(
            V2 | {"Definition": ["a", 7]},
            r"field 'Definition': expected a list of texts, found \['a', 7\]",
            id="definition: list with a number, v2",
        ),
        pytest.param(V2 | {"Definition": 7}, "field 'Definition': expected text, found 7", id="definition: number"),
        pytest.param(version_1(Examples=[]), r"Examples: expected an object, found \[\]", id="examples: list, v1"),
        pytest.param(
            version_1(Examples={"Positive Examples": "a"}),
            "field 'Positive Examples': expected a list, found 'a'",
            id="positive examples: text",
        ),
        pytest.param(
            positive(EXAMPLES["Positive Examples"][0], "a"),
            "Positive Examples, number 2: expected an object, found 'a'",
            id="example: text",
        ),
        pytest.param(
            positive({"input": "a", "reason": "c"}),
            "Positive Examples, number 1: no field 'output'; found input, reason$",
            id="example without output",
        ),
        pytest.param(
            positive({"input": "a", "output": ["b"]}),
            r"Positive Examples, number 1, field 'output': expected text, found \['b'\]",
            id="output of an example: list",
        ),
        pytest.param(
            positive({"input": "a", "output": "b", "reason": 7}),
            "Positive Examples, number 1, field 'reason': expected text, found 7",
            id="reason: number",
        ),
    ],
)
def test_errors_name_subtask_file_and_field(tmp_path: Path, content: object, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(RowsError, match=rf"^{re.escape(f'{TASK} ({path}): ')}.*{message}"):
        read(path, TASK)


def test_a_long_value_is_shortened_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(RowsError) as raised:
        read_file(tmp_path, version_1(Title=["a" * 10_000]))
    assert str(raised.value).endswith("found ['" + "a" * 58)  # 60 characters


@pytest.fixture(scope="session")
def evaluation_files(shared_data: Path) -> list[Path]:
    """Return the eleven real version-1 files of the evaluation split."""
    return sorted((shared_data / "natural_instructions" / "eval_tasks").glob("*.json"))


@pytest.fixture(scope="session")
def shortened_files(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the 48 real version-1 files with their first twenty instances."""
    folder = tmp_path_factory.mktemp("version-1")
    rows = (shared_data / "natural_instructions" / "tasks_instructions_first20.jsonl").read_text(encoding="utf-8")
    contents = [json.loads(line) for line in rows.splitlines()]
    return [write(folder, content, content["task"]) for content in contents]


def as_written(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_real_evaluation_files_are_read_completely(evaluation_files: list[Path]) -> None:
    read_files = [read(path, path.stem) for path in evaluation_files]
    assert len(read_files) == 11
    # 2 x 430 + 176 + 500 + 4 x 6500 + 2238 + 193 + 312
    assert sum(len(found.instances) for found in read_files) == 30_279
    for path, found in zip(evaluation_files, read_files, strict=True):
        content = as_written(path)
        assert [(one.input, list(one.outputs)) for one in found.instances] == [
            (one["input"], one["output"]) for one in content["Instances"]
        ]


def test_the_48_real_instructions_are_read_completely(shortened_files: list[Path]) -> None:
    read_files = [read(path, path.stem) for path in shortened_files]
    assert [len(found.instances) for found in read_files] == [20] * 48
    assert sum(len(found.positive) for found in read_files) == 200
    assert sum(len(found.negative) for found in read_files) == 94
    assert sum(not found.negative for found in read_files) == 10
    assert all(example.reason for found in read_files for example in found.positive + found.negative)
    # Only a dash in 19 and 7 files, a dash and a blank in 1 and 4; all have titles, prompts and definitions.
    counts = Counter((field, getattr(found, field)) for found in read_files for field in NAMES)
    assert {key: count for key, count in counts.items() if key[1] in ("", "- ", None)} == {
        ("avoid", ""): 19,
        ("emphasis", ""): 7,
        ("avoid", "- "): 1,
        ("emphasis", "- "): 4,
    }


def test_every_real_text_is_kept_verbatim(shortened_files: list[Path]) -> None:
    for path in shortened_files:
        found, content = read(path, path.stem), as_written(path)
        for field, name in NAMES.items():
            assert getattr(found, field) == ("" if content[name] == "-" else content[name])


def test_a_real_version_2_file_has_the_same_examples_and_instances(
    tmp_path: Path, evaluation_files: list[Path]
) -> None:
    for path in evaluation_files:
        one = read(path, path.stem)
        two = read(write(tmp_path, version_2(as_written(path)), path.stem), path.stem)
        assert two.instances == one.instances
        assert two.positive == one.positive
        # Version 2 has no suggestions.
        assert [(e.input, e.output, e.reason) for e in two.negative] == [
            (e.input, e.output, e.reason) for e in one.negative
        ]
        assert two.definition is not None
        assert one.definition is not None
        assert two.definition.startswith(one.definition)
        assert (two.title, two.prompt, two.avoid, two.emphasis) == (None, None, None, None)
