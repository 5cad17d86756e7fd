"""A loopback stand-in for the Hugging Face Hub: what `datasets.load_dataset` needs for small repositories."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from itertools import cycle, islice
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import datasets
import yaml

from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.loopback import serving

MAIN = "main"
CONVERTED = "refs/convert/parquet"

Row = Mapping[str, Any]
Feature = str | tuple[str, ...]
"""A pyarrow type by name, or the class names of an integer label."""
Files = Mapping[str, bytes]
"""Path in the repository to content."""
Repository = Mapping[str, Files]
"""Branch to its files."""


@dataclass(frozen=True)
class Table:
    """What one configuration of a dataset holds.

    Attributes:
        features: column to its type, in the dataset's order.
        splits: split to its rows.
    """

    features: Mapping[str, Feature]
    splits: Mapping[str, Sequence[Row]]

    def with_column_renamed(self, old: str, new: str) -> Table:
        def renamed(row: Mapping[str, Any]) -> dict[str, Any]:
            return {new if column == old else column: value for column, value in row.items()}

        splits = {split: [renamed(row) for row in rows] for split, rows in self.splits.items()}
        return Table(renamed(self.features), splits)

    def with_classes(self, column: str, *names: str) -> Table:
        return replace(self, features={**self.features, column: names})

    def without_split(self, split: str) -> Table:
        return replace(self, splits={name: rows for name, rows in self.splits.items() if name != split})


@dataclass(frozen=True)
class Request:
    """A request that the stand-in was sent; the path without escapes and query."""

    method: str
    path: str


@dataclass(frozen=True)
class Hub:
    """A running stand-in.

    Attributes:
        endpoint: for HF_ENDPOINT.
        requests: everything it was asked, in order.
    """

    endpoint: str
    requests: list[Request]

    def downloads(self, suffix: str) -> list[str]:
        """Return, sorted, repository and path of every file whose path ends so; as often as it was downloaded."""
        paths = [request.path for request in self.requests if request.method == "GET" and "/resolve/" in request.path]
        return sorted(re.sub(r"^/datasets/|/resolve/[0-9a-f]{40}", "", path) for path in paths if path.endswith(suffix))


@contextmanager
def serve(repositories: Mapping[str, Repository]) -> Iterator[Hub]:
    """Serve the repositories (`owner/name` to repository) on a free port of the loopback interface."""
    requests: list[Request] = []
    with serving(partial(_Handler, repositories, requests)) as address:
        yield Hub(address, requests)


class _NotFoundError(Exception):
    """What is asked for is not there; its text is the code that the hub's clients read from a header."""


class _Handler(BaseHTTPRequestHandler):
    """Answers on the hub's paths; a path with a slash in its revision comes escaped (`refs%2Fconvert%2Fparquet`)."""

    protocol_version = "HTTP/1.1"

    def __init__(self, repositories: Mapping[str, Repository], requests: list[Request], *connection: Any) -> None:
        self._repositories, self._requests = repositories, requests
        super().__init__(*connection)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing: the requests are on record."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        self._requests.append(Request(self.command, unquote(address.path)))
        status, content, headers = HTTPStatus.OK, b"", {"Content-Type": "application/json"}
        try:
            match [unquote(part) for part in address.path.strip("/").split("/")]:
                case ["api", "datasets", owner, name, *rest] if not rest or (rest[0] == "revision" and len(rest) == 2):
                    files = self._files(f"{owner}/{name}", rest[1] if rest else MAIN)
                    siblings = [{"rfilename": path} for path in files]
                    info = {"id": f"{owner}/{name}", "sha": _commit(files), "siblings": siblings}
                    content = json.dumps(info).encode()
                case ["api", "datasets", owner, name, "tree", revision, *folder]:
                    files = self._files(f"{owner}/{name}", revision)
                    recursive = parse_qs(address.query).get("recursive") == ["true"]
                    content = json.dumps(_listing(files, "/".join(folder), recursive)).encode()
                case ["datasets", owner, name, "resolve", revision, *rest]:
                    files, path = self._files(f"{owner}/{name}", revision), "/".join(rest)
                    headers = {"X-Repo-Commit": _commit(files)}
                    if path not in files:
                        raise _NotFoundError("EntryNotFound")
                    content = files[path]
                    headers["ETag"] = f'"{_oid(content)}"'
                case _:
                    raise _NotFoundError("EntryNotFound")
        except _NotFoundError as error:
            status, headers["X-Error-Code"] = HTTPStatus.NOT_FOUND, str(error)
        self.send_response(status)
        for field, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(field, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _files(self, repository: str, revision: str) -> Files:
        if repository not in self._repositories:
            raise _NotFoundError("RepoNotFound")
        for branch, files in self._repositories[repository].items():
            if revision in (branch, _commit(files)):
                return files
        raise _NotFoundError("RevisionNotFound")


def _listing(files: Files, folder: str, recursive: bool) -> list[dict[str, Any]]:
    """Return the API's description of the files in a folder and of the folders that contain them."""
    prefix = f"{folder}/" if folder else ""
    below = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    if not below:
        raise _NotFoundError("EntryNotFound")
    found: dict[str, None] = {}
    for path in below:
        parts = path.split("/")
        depths = range(1, len(parts) + 1) if recursive else range(1, 2)
        found.update(dict.fromkeys(prefix + "/".join(parts[:depth]) for depth in depths))
    return [
        {"type": "file", "path": path, "oid": _oid(files[path]), "size": len(files[path])}
        if path in files
        else {"type": "directory", "path": path, "oid": _oid(path.encode()), "size": 0}
        for path in sorted(found)
    ]


def _oid(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()  # git's hash


def _commit(files: Files) -> str:
    return _oid("".join(path + _oid(content) for path, content in sorted(files.items())).encode())


# Layouts


def laid_out(tables: Mapping[str, Table]) -> dict[str, Repository]:
    """Lay tables out as the real repositories are.

    Args:
        tables: as `tables` returns them, or some of them changed.
    """
    glue = {name: tables[name] for name in ("sst2", "qqp", "rte", "mrpc")}
    emotion = {"split": tables["emotion"], "unsplit": tables["emotion_unsplit"]}
    disputed = {f"sentences_{agreement}": tables["fp_disputed"] for agreement in ("50agree", "66agree", "75agree")}
    phrasebank = {"sentences_allagree": tables["fp"], **disputed}
    script = b"raise RuntimeError('a loading script that no version of the library since 4.0 runs')\n"
    return {
        "nyu-mll/glue": {MAIN: _with_card(glue)},
        "dair-ai/emotion": {MAIN: _with_card(emotion)},
        "stanfordnlp/snli": {MAIN: _with_card({"plain_text": tables["snli"]})},
        "RobZamp/sick": {
            MAIN: {"README.md": _card({"default": tables["sick"]}), "sick.py": script},
            CONVERTED: _converted({"default": tables["sick"]}),
        },
        "takala/financial_phrasebank": {
            MAIN: {"README.md": _card(phrasebank), "financial_phrasebank.py": script},
            CONVERTED: _converted(phrasebank),
        },
        **ifeval([]),
        **ifbench(),
        **multiple_choice(),
        "facebook/Multi-IF": _of_one_file("default", "data/train", _embedded("multi_if", "train")),
        "SetFit/subj": {
            MAIN: {
                "README.md": b"# Subjective vs Objective\n",
                **{f"{split}.jsonl": _jsonl(rows) for split, rows in tables["subj"].splits.items()},
            }
        },
    }


def ifeval(rows: Sequence[Row]) -> dict[str, Repository]:
    """Lay IFEval's rows out as its repository is: one file of JSON lines and a card that does not speak of it."""
    card = b"---\nlanguage:\n- en\npretty_name: IFEval\n---\n\n# Dataset card\n"
    return {"google/IFEval": {MAIN: {"README.md": card, "ifeval_input_data.jsonl": _jsonl(rows)}}}


def ifbench() -> dict[str, Repository]:
    """Lay the embedded rows of IFBench out as its two real repositories are."""
    # Every entry of kwargs has a null for each argument of other instructions.
    multi_turn = _embedded("ifbench_two_turns", "test")
    return {
        "allenai/IFBench_test": _of_one_file("default", "data/train", _embedded("ifbench", "test")),
        "allenai/IFBench_multi-turn": _of_one_file("ifbench_constraints", "ifbench_constraints/test", multi_turn),
    }


def multiple_choice() -> dict[str, Repository]:
    """Lay the embedded multiple-choice questions out as the real repositories are."""
    value, label = datasets.Value("string"), datasets.ClassLabel(names=["A", "B", "C", "D"])
    choices = {"text": [value], "label": [value]}
    science = {"id": value, "question": value, "choices": choices, "answerKey": value}
    sense = {"id": value, "question": value, "question_concept": value, "choices": choices, "answerKey": value}
    subjects = {"question": value, "subject": value, "choices": [value], "answer": label}
    arc, commonsense = _embedded("arc_challenge", "test"), _embedded("commonsense_qa", "validation")
    return {
        "allenai/ai2_arc": _of_one_file("ARC-Challenge", "ARC-Challenge/test", arc, science),
        "tau/commonsense_qa": _of_one_file("default", "data/validation", commonsense, sense),
        "cais/mmlu": _of_one_file("all", "all/test", _embedded("mmlu", "test"), subjects),
    }


def _of_one_file(config: str, path: str, rows: Sequence[Row], features: Mapping[str, Any] | None = None) -> Repository:
    """Return a repository with one configuration of one split, which the last part of the path names."""
    split = path.rpartition("/")[2]
    places = [{"config_name": config, "data_files": [{"split": split, "path": f"{path}-*"}]}]
    file = _parquet(rows, None if features is None else datasets.Features(features))
    return {MAIN: {"README.md": _card({}, configs=places), f"{path}-00000-of-00001.parquet": file}}


def _with_card(configs: Mapping[str, Table]) -> Files:
    """Return the files of a repository that says in its card where each configuration's splits lie."""
    places = [
        {
            "config_name": config,
            "data_files": [{"split": split, "path": f"{config}/{split}-*"} for split in table.splits],
        }
        for config, table in configs.items()
    ]
    return {"README.md": _card(configs, configs=places), **_parquet_files(configs, "-00000-of-00001.parquet")}


def _converted(configs: Mapping[str, Table]) -> Files:
    """Return the files of the hub's own conversion: one folder per configuration and split, and no card."""
    return _parquet_files(configs, "/0000.parquet")


def _parquet_files(configs: Mapping[str, Table], name: str) -> Files:
    return {
        f"{config}/{split}{name}": _parquet(rows, _typed(table.features))
        for config, table in configs.items()
        for split, rows in table.splits.items()
    }


def _card(tables: Mapping[str, Table], **metadata: object) -> bytes:
    infos = [
        {
            "config_name": config,
            "features": [{"name": column, "dtype": _card_type(feature)} for column, feature in table.features.items()],
            # The number of bytes is required, but only progress bars use it.
            "splits": [
                {"name": split, "num_bytes": 1, "num_examples": len(rows)} for split, rows in table.splits.items()
            ],
        }
        for config, table in tables.items()
    ]
    # A single configuration is not in a list, several are.
    described = {"dataset_info": infos if len(infos) > 1 else infos[0]} if infos else {}
    head = {**described, **metadata}
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n# Dataset card\n".encode()


def _card_type(feature: Feature) -> object:
    if isinstance(feature, str):
        return feature
    return {"class_label": {"names": {str(number): name for number, name in enumerate(feature)}}}


def _typed(features: Mapping[str, Feature]) -> datasets.Features:
    return datasets.Features(
        {
            column: datasets.Value(feature) if isinstance(feature, str) else datasets.ClassLabel(names=list(feature))
            for column, feature in features.items()
        }
    )


def _parquet(rows: Sequence[Row], features: datasets.Features | None) -> bytes:
    """Return a Parquet file as the `datasets` library itself writes it, with the features in its metadata."""
    buffer = BytesIO()
    datasets.Dataset.from_list([dict(row) for row in rows], features=features).to_parquet(buffer)
    return buffer.getvalue()


def _jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


# Rows

_SENTIMENT = ("negative", "neutral", "positive")
_NLI = ("entailment", "neutral", "contradiction")
_EMOTION = ("sadness", "joy", "love", "anger", "fear", "surprise")
_SUBJECTIVITY = ("objective", "subjective")
# As many as the real one has: of a fifth, held out, about (303 + 570) / 5 = 175 have the labels in use, 0 and 2.
_PHRASEBANK = {0: 303, 1: 1391, 2: 570}


def tables() -> dict[str, Table]:
    """Return the datasets by name: the embedded rows, and by number what the real ones have in addition.

    That is: rows with the labels that the paper leaves out, rows without a gold label (-1), further columns and splits.
    """
    glue = {
        "sst2": _glue("sst2", ("sentence",), "negative", "positive"),
        "qqp": _glue("qqp", ("question1", "question2"), "not_duplicate", "duplicate"),
        "rte": _glue("rte", ("sentence1", "sentence2"), "entailment", "not_entailment"),
        "mrpc": _glue("mrpc", ("sentence1", "sentence2"), "not_equivalent", "equivalent"),
    }
    emotion: dict[str, Feature] = {"text": "string", "label": _EMOTION}
    others = _numbered(60, ("text",), range(2, 6))
    snli: dict[str, Feature] = {"premise": "string", "hypothesis": "string", "label": _NLI}
    sentences = ("premise", "hypothesis")
    phrasebank: dict[str, Feature] = {"sentence": "string", "label": _SENTIMENT}
    phrases = _phrases()
    return {
        **glue,
        "emotion": Table(
            emotion,
            {
                "train": [*_embedded("emotion", "train"), *others],
                "validation": _numbered(20, ("text",), range(6)),
                "test": [*_embedded("emotion", "test"), *others],
            },
        ),
        "emotion_unsplit": Table(emotion, {"train": others}),
        "snli": Table(
            snli,
            {
                "test": [*_embedded("snli", "test"), *_numbered(40, sentences, [1, -1])],
                "validation": _numbered(20, sentences, [0, 1, 2, -1]),
                "train": [*_embedded("snli", "train"), *_numbered(40, sentences, [1, -1])],
            },
        ),
        "sick": _sick(),
        "fp": Table(phrasebank, {"train": phrases}),
        # The sentences that all annotators agree on are among those that half of them agree on, and so on.
        "fp_disputed": Table(phrasebank, {"train": [*phrases, *_numbered(30, ("sentence",), range(3))]}),
        "subj": Table(
            {"text": "string", "label": "int64", "label_text": "string"},
            {split: [_with_label_text(row) for row in _embedded("subj", split)] for split in ("train", "test")},
        ),
    }


def _glue(name: str, columns: tuple[str, ...], *labels: str) -> Table:
    def with_index(rows: Sequence[Row]) -> list[Row]:
        return [{**row, "idx": number} for number, row in enumerate(rows)]

    features: dict[str, Feature] = dict.fromkeys(columns, "string")
    splits = {split: with_index(_embedded(name, split)) for split in ("train", "validation")}
    return Table(
        {**features, "label": labels, "idx": "int32"}, {**splits, "test": with_index(_numbered(20, columns, [-1]))}
    )


def _sick() -> Table:
    sentences = ("sentence_A", "sentence_B")
    texts = (
        "entailment_AB",
        "entailment_BA",
        *(f"{name}_{part}" for part in ("original", "dataset") for name in sentences),
    )

    def complete(rows: Sequence[Row]) -> list[Row]:
        others = {**dict.fromkeys(texts, "not used"), "relatedness_score": 3.5}
        return [{"id": str(number), **row, **others} for number, row in enumerate(rows, start=1)]

    return Table(
        {
            **dict.fromkeys(("id", *sentences), "string"),
            "label": _NLI,
            "relatedness_score": "float32",
            **dict.fromkeys(texts, "string"),
        },
        {
            "train": complete([*_embedded("sick", "train"), *_numbered(20, sentences, [1])]),
            "validation": complete(_numbered(20, sentences, range(3))),
            "test": complete([*_embedded("sick", "test"), *_numbered(40, sentences, [1])]),
        },
    )


def _phrases() -> list[Row]:
    written = [*_embedded("fp", "test"), *_embedded("fp", "train")]
    rows = list(written)
    for label, count in _PHRASEBANK.items():
        rows += _numbered(count - sum(row["label"] == label for row in written), ("sentence",), [label])
    return rows


def _with_label_text(row: Row) -> Row:
    return {**row, "label_text": _SUBJECTIVITY[row["label"]]}


def _embedded(name: str, split: str) -> list[Row]:
    lines = (EMBEDDED_FOLDER / f"{name}_{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _numbered(count: int, columns: Sequence[str], labels: Sequence[int]) -> list[Row]:
    """Return rows with a numbered text in each of the columns and the labels in turn."""
    return [
        {**{column: f"Row {number} with the label {label}, {column}." for column in columns}, "label": label}
        for number, label in enumerate(islice(cycle(labels), count))
    ]
