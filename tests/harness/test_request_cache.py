"""``--cache_requests`` serves only requests that would be built identically."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lm_eval.caching.cache
import pytest

from lm_eval_ext.families.paired_mcq.prompt import Prompt
from lm_eval_ext.harness.requests import answer_of, fingerprint, functions
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.harness.tasks import CASES, OF_FAMILY, Playing, make, make_own, options_of
from tests.known_answers import text_of
from tests.leaves import TOPIC, TRIVIA
from tests.sampling import sampled

pytestmark = pytest.mark.harness


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lm_eval.caching.cache, "PATH", str(tmp_path / "cache"))


def chat_template(greeting: str) -> Callable[..., str]:
    class Greeting(Playing):
        def as_lines(self, messages: list[dict[str, str]], **_options: Any) -> str:
            return greeting + super().as_lines(messages)

    return Greeting().as_lines


def few(family: str, metadata: Mapping[str, str] | None = None) -> Any:
    """Return the task of a family with some eight rows: the cache takes a second to write a hundred conversations."""
    task = make(OF_FAMILY[family], metadata)
    of_split = task.dataset.items()
    task.dataset = {split: rows.select(range(0, len(rows), max(1, len(rows) // 8))) for split, rows in of_split}
    return task


def asked(task: Any, **options: Any) -> list[tuple[str, Any]]:
    """Build a task's requests, and return what they ask."""
    task.build_all_requests(**{**options_of(task), **options})
    return [(instance.request_type, instance.args) for instance in task.instances]


def other_rows(family: str, folder: Path) -> dict[str, str]:
    """Write a folder with other rows of the family's task, and return the metadata that choose it."""
    shutil.copytree(EMBEDDED_FOLDER, folder)
    path = folder / CASES["embedded"][family]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        content = json.loads(text)
        content["Instances"] = content["Instances"][::-1]
        text = json.dumps(content)
    else:
        text = "".join(reversed(text.splitlines(keepends=True)[3:]))
    (folder / path.name).write_text(text, encoding="utf-8")
    return {"source": str(folder)}


Change = tuple[Mapping[str, str], Callable[[Any], None], Mapping[str, Any]]
"""Metadata, what is done to the task, and options of the build."""


def changes(family: str, folder: Path) -> dict[str, Change]:
    def generate_more(task: Any) -> None:
        task.set_config("generation_kwargs", {"max_gen_toks": 17, "do_sample": True, "temperature": 0.7}, update=True)

    def ask_otherwise(task: Any) -> None:
        task.config.description = "Mind the gap.\n"

    def ask_all_but_the_first_otherwise(task: Any) -> None:
        first, other = task.eval_docs[0], task.eval_docs[len(task.eval_docs) - 1]
        field = next(name for name, value in first.items() if isinstance(value, str) and value != other[name])
        task.config.description = f"{{% if {field} != {json.dumps(first[field])} %}}Mind the gap.\n{{% endif %}}"

    def nothing(_task: Any) -> None:
        pass

    found: dict[str, Change] = {
        "generation arguments": ({}, generate_more, {}),
        "source": (other_rows(family, folder), nothing, {}),
        "system instruction": ({}, nothing, {"system_instruction": "Be brief."}),
        "description": ({}, ask_otherwise, {}),
        "description of other rows": ({}, ask_all_but_the_first_otherwise, {}),
        "chat template": ({}, nothing, {"apply_chat_template": True, "chat_template": chat_template("Hello! ")}),
        "another chat template": ({}, nothing, {"apply_chat_template": True, "chat_template": chat_template("Hi! ")}),
        "some of the rows": ({}, nothing, {"samples": [3, 5]}),
    }
    if family in ("verbalizer", "manyifeval"):
        for shots in (2, 4):
            found[f"{shots} demonstrations"] = ({}, lambda task, n=shots: task.set_config("num_fewshot", n), {})  # type: ignore[misc]
    return found


@pytest.mark.parametrize("family", sampled(OF_FAMILY, 3))
def test_a_stale_request_is_never_served(family: str, tmp_path: Path) -> None:
    changed = changes(family, tmp_path / "other")
    plain = asked(few(family), cache_requests=True)
    for what, (metadata, change, options) in changed.items():
        cached, fresh = few(family, metadata), few(family, metadata)
        change(cached)
        change(fresh)
        expected = asked(fresh, **options)
        assert expected != plain, f"{what}: the change changes nothing, so nothing is tested"
        assert asked(cached, cache_requests=True, **options) == expected, what
    assert asked(few(family), cache_requests=True) == plain


@pytest.mark.parametrize("family", OF_FAMILY)
def test_an_unchanged_request_is_served(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = few(family)
    plain = asked(first, cache_requests=True)
    known = [text_of(instance.known_answers, "oracle") for instance in first.instances]
    again = few(family)

    def refuse(*_args: Any, **_options: Any) -> None:
        raise AssertionError("a request is built that the cache holds")

    monkeypatch.setattr(type(again), "construct_requests", refuse)
    assert asked(again, cache_requests=True) == plain
    assert [text_of(instance.known_answers, "oracle") for instance in again.instances] == known


@pytest.mark.parametrize("family", OF_FAMILY)
def test_an_edited_template_changes_the_fingerprint(family: str) -> None:
    plain = asked(few(family), cache_requests=True)
    edited = few(family)
    edited.config.doc_to_text = lambda doc: f"Edited: {sorted(doc)}"
    if family == "verbalizer":
        edited.config.doc_to_text = "Edited: {{sentence}}"
    assert asked(edited, cache_requests=True) != plain


def own(folder: Path, name: str, edit: Mapping[str, Any]) -> Any:
    """Return the task of a user's leaf, with rows next to it."""
    topics = [{"text": f"text {number}", "label": number % 2} for number in range(30)]
    trivia = [{"question": f"{n}?", "choices": {"text": [f"{n}", f"{n}0"]}, "answer": n % 2} for n in range(3)]
    rows = {"topic": topics, "trivia": trivia}[name]
    (folder / f"{name}_test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    leaf = {"topic": TOPIC, "trivia": TRIVIA}[name]
    return make_own(folder, {**leaf, **CASES["leaves"][name], **edit})


def built(task: Any, **options: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    """Build a task's requests, and return what they ask and what is known to be answered."""
    found = asked(task, **options)
    return [
        (*what, {policy: answer_of(each.known_answers, policy, "a row") for policy in each.known_answers})
        for what, each in zip(found, task.instances, strict=True)
    ]


@pytest.mark.parametrize(("name", "edit"), CASES["edits"])
def test_editing_a_key_of_a_leaf_changes_the_requests(name: str, edit: dict[str, Any], tmp_path: Path) -> None:
    plain = built(own(tmp_path, name, {}), cache_requests=True)
    fresh = built(own(tmp_path, name, edit))
    assert fresh != plain, "the edit changes nothing, so nothing is tested"
    assert built(own(tmp_path, name, edit), cache_requests=True) == fresh
    assert built(own(tmp_path, name, {}), cache_requests=True) == plain


def test_requests_built_by_a_users_function_are_not_cached(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # It may be edited, or call what is edited, and look the same.
    task = make(OF_FAMILY["manyifeval"])
    task.config.doc_to_text = lambda doc: doc["prompt"]
    asked(task, cache_requests=True)
    assert not (tmp_path / "cache").exists()
    assert "manyifeval_n02: its requests are not cached, because changes to the function doc_to_text" in caplog.text


def test_functions_are_found_at_any_depth() -> None:
    config = {"a": [1, {"b": len}], "c": Prompt("low"), "d": "text", "e": None}
    assert list(functions(config)) == ["a.b"]


def test_without_the_option_nothing_is_cached(tmp_path: Path) -> None:
    asked(make(OF_FAMILY["manyifeval"]))
    assert not (tmp_path / "cache").exists()


def test_a_fingerprint_is_short_and_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert len(fingerprint({})) == 16
