"""NLTK's data come by themselves: found, downloaded once, or an error that says what to do."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lm_eval_ext.verifiers import MissingDataError, tokenization
from tests.loopback import closed_port, serving_folder

INDEX = """<nltk_data><packages>
<package id="punkt_tab" name="Punkt" subdir="tokenizers" unzip="1" size="{size}" unzipped_size="{unzipped}"
 checksum="{md5}" sha256_checksum="{sha256}" url="{url}/punkt_tab.zip"/>
</packages><collections/></nltk_data>"""

# For the process of the download, too: NLTK's downloader asks a server on this machine, which it otherwise refuses.
STAND_IN = """
import os, sys
sys.modules |= dict.fromkeys(("scipy", "sklearn"))  # NLTK imports them if they are there, which takes a second
import nltk.downloader
nltk.downloader.Downloader.DEFAULT_URL = os.environ["STAND_IN"]
try:
    from nltk import pathsec
    pathsec.ENFORCE = False
except ImportError:  # before 3.10
    pass
"""

# What a run does, from where NLTK finds nothing but in its folder in the home folder.
PROGRAM = """
import logging, os, sys
import nltk.data
nltk.data.path[:] = [os.path.expanduser("~/nltk_data")]
logging.basicConfig(format="log: %(message)s")
from lm_eval_ext.verifiers import tokenization
print(list(tokenization.sentences("It rains, Mr. Smith. We go home.")))
print(list(tokenization.sentences("One. Two.")))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a server of data: the English part of the installed ones, zipped."""
    content, folder = tmp_path_factory.mktemp("content"), tmp_path_factory.mktemp("served")
    english = Path(str(tokenization.find(tokenization.PUNKT)))
    shutil.copytree(english, content / "punkt_tab/english")
    shutil.make_archive(str(folder / "punkt_tab"), "zip", content)
    return folder


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the folder; yield the address of the index, and the list of what is asked for."""
    with serving_folder(folder) as (url, asked):
        archive = (folder / "punkt_tab.zip").read_bytes()
        described = {
            "size": len(archive),
            "unzipped": sum(path.stat().st_size for path in _unpacked(folder)),
            "md5": hashlib.md5(archive, usedforsecurity=False).hexdigest(),
            "sha256": hashlib.sha256(archive).hexdigest(),
        }
        (folder / "index.xml").write_text(INDEX.format(url=url, **described), encoding="utf-8")
        yield f"{url}/index.xml", asked


def _unpacked(folder: Path) -> list[Path]:
    if not (folder / "unpacked").exists():
        shutil.unpack_archive(folder / "punkt_tab.zip", folder / "unpacked")
    return [path for path in (folder / "unpacked").rglob("*") if path.is_file()]


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a process that asks the server of which ``STAND_IN`` has the address."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path/sitecustomize.py").write_text(STAND_IN, encoding="utf-8")
    return {"PYTHONPATH": str(tmp_path / "path"), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, stand_in: Mapping[str, str]) -> Started:
    """Return a function that starts the program with an empty home folder, given the address of an index."""
    (tmp_path / "home").mkdir()

    def run(address: str, **variables: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if name not in {*tokenization.OFFLINE, "NLTK_DATA"}}
        here = {"HOME": str(tmp_path / "home"), "STAND_IN": address}
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**kept, **stand_in, **here, **variables},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


SENTENCES = "['It rains, Mr. Smith.', 'We go home.']\n['One.', 'Two.']\n"


@pytest.mark.slow
def test_runs_that_start_at_once_do_not_spoil_each_others_download_and_later_ones_need_none(
    start: Started, served: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "home/nltk_data"
    line = f"log: NLTK's sentence data (punkt_tab) are not installed: downloading them to {folder}\n"
    with server(served) as (address, asked):
        runs = [start(address), start(address)]
        for status, output, errors in map(ended, runs):
            assert (status, output) == (0, SENTENCES), errors
            assert errors in {line, ""}  # nothing where the other had finished
        assert asked.count("/index.xml") == asked.count("/punkt_tab.zip") in {1, 2}
        asked.clear()
        assert ended(start(address)) == (0, SENTENCES, "")
        assert asked == []
    # As NLTK's own downloader leaves them, and nothing else.
    assert sorted(path.name for path in folder.iterdir()) == ["tokenizers"]
    assert sorted(path.name for path in (folder / "tokenizers").iterdir()) == ["punkt_tab", "punkt_tab.zip"]


ErrorWithoutData = Callable[..., str]


@pytest.fixture
def error_without_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stand_in: Mapping[str, str]
) -> Iterator[ErrorWithoutData]:
    """Return a function that returns the error of this process where NLTK finds nothing and looks into one folder."""
    import nltk  # noqa: PLC0415 # a second

    def message(**variables: str) -> str:
        for variable, value in {**stand_in, **variables}.items():
            monkeypatch.setenv(variable, value)
        with pytest.raises(MissingDataError) as caught:
            tokenization.find(tokenization.PUNKT)
        return str(caught.value)

    (tmp_path / "data").mkdir()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "data")])
    for variable in tokenization.OFFLINE:
        monkeypatch.delenv(variable, raising=False)
    tokenization._failed_download.cache_clear()
    yield message
    tokenization._failed_download.cache_clear()


@pytest.mark.parametrize("variable", tokenization.OFFLINE)
def test_where_offline_is_set_nothing_is_asked_for(variable: str, error_without_data: ErrorWithoutData) -> None:
    message = error_without_data(**{variable: "1"})
    assert f"(punkt_tab, English) are not installed, and {variable} forbids their download.\n    punkt_tab: " in message
    assert "    python -m nltk.downloader punkt_tab\nOffline: copy tokenizers/punkt_tab" in message


def test_a_server_that_refuses_connections_is_the_same_error(
    error_without_data: ErrorWithoutData, tmp_path: Path
) -> None:
    with closed_port() as address:
        message = error_without_data(STAND_IN=f"{address}/index.xml")
    assert "and their download failed (Error loading punkt_tab: <urlopen error " in message
    assert "    python -m nltk.downloader punkt_tab\nOffline: copy tokenizers/punkt_tab" in message
    assert list((tmp_path / "data").iterdir()) == []


def test_a_server_that_never_answers_is_the_same_error_after_a_few_seconds(
    error_without_data: ErrorWithoutData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenization, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/index.xml"
        message = error_without_data(STAND_IN=address)
    assert f"and their download failed (no answer from {address} in 1 seconds)" in message


def test_a_download_that_breaks_off_leaves_nothing_behind(
    served: Path, error_without_data: ErrorWithoutData, tmp_path: Path
) -> None:
    shutil.copytree(served, tmp_path / "served")
    with server(tmp_path / "served") as (address, asked):
        archive = tmp_path / "served/punkt_tab.zip"
        archive.write_bytes(archive.read_bytes()[:1000])
        message = error_without_data(STAND_IN=address)
        assert asked == ["/index.xml", "/punkt_tab.zip"]
    assert "and their download failed (" in message
    assert list((tmp_path / "data").rglob("*punkt*")) == []


def test_data_that_nltk_refuses_to_read_are_missing_and_a_copy_is_read(
    served: Path, error_without_data: ErrorWithoutData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nltk.pathsec", reason="this NLTK reads every file")
    import nltk  # noqa: PLC0415 # a second

    folder, copy = tmp_path / "data", tmp_path / "copy"
    shutil.unpack_archive(served / "punkt_tab.zip", folder / "tokenizers")
    assert tokenization.installed(tokenization.PUNKT) is not None
    # As installers leave them that keep every file once.
    file = folder / "tokenizers/punkt_tab/english/abbrev_types.txt"
    (tmp_path / "cached").hardlink_to(file)
    message = error_without_data(HF_HUB_OFFLINE="1")
    assert f"\nNLTK does not read the sentence data in {folder} (" in message
    assert str(file) in message
    assert message.endswith(f"(umask 022; cp -r {folder} COPY), with NLTK_DATA set to COPY.")
    shutil.copytree(folder, copy)
    monkeypatch.setattr(nltk.data, "path", [str(copy), str(folder)])
    assert tokenization.installed(tokenization.PUNKT) is not None


def test_data_that_an_installed_package_carries_are_read_and_not_downloaded(
    served: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "site-packages" / tokenization.CARRIED / "tokenizers"
    place.mkdir(parents=True, mode=0o755)
    shutil.unpack_archive(served / "punkt_tab.zip", place)
    import nltk  # noqa: PLC0415 # a second

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(tokenization, "_failed_download", lambda data: pytest.fail(f"{data.name} was downloaded"))
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    tokenization._splitter.cache_clear()
    try:
        assert list(tokenization.sentences("It rains, Mr. Smith. We go.")) == ["It rains, Mr. Smith.", "We go."]
    finally:
        tokenization._splitter.cache_clear()


def test_the_package_is_not_named_for_data_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk  # noqa: PLC0415 # a second

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(tokenization, "_failed_download", lambda _: "")
    with pytest.raises(MissingDataError) as caught:
        tokenization.find(tokenization.TAGGER)
    assert "and so for the ifbench and manyifeval_wide tasks" in str(caught.value)
    assert tokenization.CARRIER not in str(caught.value)
