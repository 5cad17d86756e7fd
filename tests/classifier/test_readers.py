"""Readers by name: which exist, and the errors for unavailable ones, before anything is loaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import RULES_ONLY, ReaderError, Runtime, file_of
from lm_eval_ext.classifier.causal.reader import causal_reader
from lm_eval_ext.classifier.encoder.weights import DESCRIPTION, EMBEDDED
from lm_eval_ext.classifier.readers import LLM, reader, require
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.training.run import LIBRARIES
from tests.classifier.causal.models import DRINKS, moved

pytestmark = pytest.mark.usefixtures("offline")

TEA = Answer("B. Coffee", (Option("A", "Tea"), Option("B", "Coffee")))


@pytest.mark.parametrize("name", ["string_match", "rules"])
def test_two_readers_need_no_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in LIBRARIES:
        monkeypatch.setitem(sys.modules, package, None)
    require(name)
    (reading,) = reader(name)([TEA])
    assert reading.matches(Reading("option", ("B",)))


def test_naming_every_reader_and_reading_by_rules_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from lm_eval_ext.classifier import Answer, Option\n"
        "from lm_eval_ext.classifier.readers import reader\n"
        "reader('rules')([Answer('A', (Option('A', 'Tea'),))])\n"
        "heavy = {'torch', 'transformers', 'peft', 'tokenizers', 'sklearn', 'huggingface_hub', 'numpy', 'lm_eval'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


@pytest.mark.parametrize("package", LIBRARIES)
@pytest.mark.parametrize("name", ["default", "encoder", "some/adapter"])
def test_a_missing_package_is_named_with_how_to_install_or_avoid_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for refuse, of in ((require, name), (reader, name), (require, LLM + name)):
        with pytest.raises(ReaderError) as error:
            refuse(of)
        assert f"needs {package}: pip install 'lm-eval-ext[classifier]'" in str(error.value)
        assert '--metadata \'{"answer_classifier": "rules"}\'' in str(error.value)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("rule", "no reader 'rule': expected string_match, rules, encoder, default, the folder or hub id"),
        ("", "no reader ''"),
        ("owner/never-fetched", "a model); with HF_HUB_OFFLINE, only the local cache of the hub is searched"),
        ("/no/such/folder", "'/no/such/folder' is not a folder and could not be loaded from the Hugging Face Hub"),
        ("{folder}", "does not contain a reader: expected answer_classifier.json or adapter_config"),
        ("llm:{folder}", "does not contain a reader: expected answer_classifier.json or adapter_config"),
        ("{folder}/ours", ": no adapter_model.safetensors (weights of"),
    ],
)
def test_what_is_not_a_reader_is_rejected(name: str, complaint: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "answer_classifier.json").write_text("{}", encoding="utf-8")
    for refuse in (require, reader):
        with pytest.raises(ReaderError) as error:
            refuse(name.format(folder=tmp_path))
        assert complaint in str(error.value)
        assert RULES_ONLY in str(error.value)


def test_a_model_in_the_hubs_cache_is_found_by_its_id(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--owner--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / commit).symlink_to(tiny_model)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert file_of("owner/tiny", "config.json") == repository / "snapshots" / commit / "config.json"
    assert file_of("owner/tiny", "adapter_config.json") is None
    require("owner/tiny")
    require("llm:owner/tiny")
    with pytest.raises(ReaderError, match="owner/other"):
        require("owner/other")


@pytest.mark.usefixtures("encoder_installed")
def test_an_encoders_adapter_on_the_hub_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(origin: str, name: str, revision: str | None) -> str:
        assert (origin, revision) == ("owner/adapter", None)
        return str(shutil.copy(EMBEDDED[0] / name, tmp_path))

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    require("owner/adapter")
    (reading,) = reader("owner/adapter")([Answer("Whatever is brewed from beans, I suppose.", TEA.options)])
    assert reading.certainty > 0


def test_the_way_without_a_model_is_named_once_where_the_hub_stops_answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = pytest.importorskip("huggingface_hub.errors")

    def download(_: str, name: str, revision: str | None) -> str:
        if name != DESCRIPTION:
            raise errors.LocalEntryNotFoundError(f"no connection, {revision}")
        return str(shutil.copy(EMBEDDED[0] / name, tmp_path))

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(ReaderError) as raised:
        require("owner/adapter")
    assert str(raised.value).count(RULES_ONLY) == 1


def test_a_hub_that_does_not_answer_has_not_said_that_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = pytest.importorskip("huggingface_hub.errors")

    def download(*_: object, **__: object) -> str:
        raise errors.LocalEntryNotFoundError("no connection")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert file_of("owner/adapter", "config.json") is None  # offline, what is not in the cache is not there
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(ReaderError, match="could not be loaded from the Hugging Face Hub: no connection"):
        file_of("owner/adapter", "config.json")


def test_a_tilde_path_to_an_adapter_is_expanded(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    monkeypatch.setenv("HOME", str(tiny_model.parent))
    require(f"~/{tiny_model.name}")
    assert len(reader(f"~/{tiny_model.name}")([TEA])) == 1


def test_the_prefix_llm_names_a_language_model(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the published classifiers' letter X says, which is what the adapter has learned, is no letter of an llm's.
    sorry = Answer("sorry", DRINKS)
    name = f"llm:{learned}"
    require(name)
    assert reader(name)([sorry]) == causal_reader(str(learned), shots=4)([sorry]) != reader(str(learned))([sorry])
    asked: list[object] = []
    monkeypatch.setattr("lm_eval_ext.classifier.causal.reader.causal_reader", lambda *given: asked.append(given))
    reader(name, shots=0)
    assert asked == [(str(learned), Runtime(), 0)]


def test_a_faulty_base_model_is_reported_before_loading(learned: Path, tmp_path: Path) -> None:
    require(str(learned))
    with pytest.raises(ReaderError, match="/no/such/base"):
        require(str(moved(learned, tmp_path / "moved", base_model_name_or_path="/no/such/base")))
