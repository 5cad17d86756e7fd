"""The data of NLTK that some verdicts need, downloaded once where they are not installed."""

from __future__ import annotations

import logging
import os
import sys
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10
"""How long the server of NLTK's data may take for its first answer."""
DOWNLOAD_SECONDS = 300
"""How long a whole download may take: the largest package has four megabytes."""
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
"""The variables that forbid every download; NLTK has none of its own."""
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})  # as the hub's libraries read them
# A process of its own, because NLTK waits for minutes, or without end before 3.10, and adds the folder to its places.
_DOWNLOADER = """
import os, sys, threading
from nltk.downloader import Downloader, ErrorMessage
name, folder, seconds = sys.argv[1:]
downloader = Downloader()
def give_up():
    print(f"no answer from {downloader.DEFAULT_URL} in {seconds} seconds", flush=True)
    os._exit(1)
waiting = threading.Timer(float(seconds), give_up)
waiting.daemon = True
waiting.start()
for message in downloader.incr_download(name, folder):
    waiting.cancel()
    if isinstance(message, ErrorMessage):
        print(message.message)
        sys.exit(1)
"""


class MissingDataError(LookupError):
    """Data of NLTK are not installed; the message says which, why they were not downloaded, and how to get them."""


@dataclass(frozen=True)
class Data:
    """A package of NLTK's data.

    Attributes:
        name: as ``nltk.downloader`` knows it.
        folder: of the packages of its kind.
        member: what of it is read; a folder ends with a slash.
        called: its name in messages.
        needed_for: what cannot be judged without it.
    """

    name: str
    folder: str
    member: str
    called: str
    needed_for: str


PUNKT = Data(
    "punkt_tab",
    "tokenizers",
    "english/",
    "sentence data",
    "they are needed to count sentences and sometimes words in capitals, and for many of IFBench's instructions",
)
STOP_WORDS = Data("stopwords", "corpora", "english", "stop words", "they are needed for ratio:stop_words")
TAGGER = Data("averaged_perceptron_tagger_eng", "taggers", "", "tagger data", "they are needed for words:start_verb")


def find(data: Data) -> Any:
    """Return NLTK's pointer to data; they are downloaded if they are in none of NLTK's places.

    Raises:
        MissingDataError: they are not installed, and could or should not be downloaded.
    """
    import nltk.data  # noqa: PLC0415 # takes a second to import, and few instructions need it

    path = f"{data.folder}/{data.name}/{data.member}"
    try:
        return nltk.data.find(path)
    except LookupError:
        failure = _failed_download(data)
    try:
        return nltk.data.find(path)
    except LookupError:
        raise MissingDataError(
            f"NLTK's {data.called} ({data.name}, English) are not installed{failure}; {data.needed_for}. Install them "
            f"once with\n"
            f"    python -m nltk.downloader {data.name}\n"
            f"Offline: copy {data.folder}/{data.name} from a machine that has it and set NLTK_DATA to the folder that "
            f"holds {data.folder}/."
        ) from None


@cache
def _failed_download(data: Data) -> str:
    """Download data to where NLTK's own downloader would; return why not, as part of a sentence, else nothing."""
    for variable in OFFLINE:
        if os.environ.get(variable, "").upper() in _TRUE:
            return f", and {variable} forbids their download"
    from nltk.downloader import Downloader  # noqa: PLC0415 # as above

    try:
        target = Path(Downloader().default_download_dir())
        log.warning("NLTK's %s (%s) are not installed: downloading them to %s", data.called, data.name, target)
        download(data, target)
    except (OSError, ValueError) as error:
        return f", and their download failed ({textwrap.shorten(str(error), 200, placeholder=' …')})"
    return ""


def download(data: Data, target: Path) -> None:
    """Download data into a folder of NLTK's data.

    Processes that do so at once do not disturb each other: each downloads into a folder of its own, and what is moved
    from there is complete.

    Raises:
        OSError: they could not be downloaded, or not within ``ANSWER_SECONDS`` and ``DOWNLOAD_SECONDS``.
    """
    import subprocess  # noqa: PLC0415 # rarely needed
    from tempfile import TemporaryDirectory  # noqa: PLC0415 # as above

    # NLTK reads nothing that another account could have written, whatever the umask.
    target.mkdir(mode=0o755, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{data.name}-", dir=target) as folder:
        command = [sys.executable, "-c", _DOWNLOADER, data.name, folder, str(ANSWER_SECONDS)]
        try:
            done = subprocess.run(  # noqa: S603 # this interpreter, with a program and names from here
                command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"not finished after {DOWNLOAD_SECONDS} seconds") from None
        if done.returncode:
            raise OSError(done.stdout or done.stderr)
        place = target / data.folder
        place.mkdir(mode=0o755, exist_ok=True)
        for part in sorted((Path(folder) / data.folder).iterdir()):
            try:
                part.replace(place / part.name)
            except OSError:
                if not (place / part.name).exists():
                    raise
                # Another process was faster.
