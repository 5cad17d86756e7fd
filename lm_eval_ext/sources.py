"""The sources of rows: the Hugging Face Hub, the rows that ship with this package, or the user's own folder.

``--metadata '{"source": …}'`` chooses one of them; there is never a silent fallback to another. Every dataset is read
once per process, however many tasks use it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from lm_eval_ext.metadata import mark_version

HUB = "hub"
EMBEDDED = "embedded"
EMBEDDED_FOLDER = Path(__file__).resolve().parent / "embedded"
EMBEDDED_NOTE = "rows written for demonstrations and tests: do not compare scores on them with any others"
IN_COMMANDS = "with commands of lm-eval-ext, they are its option or argument source"
"""How the same source is chosen where there is no ``--metadata``, for messages."""
SUFFIXES = (".jsonl", ".parquet")
CONNECTION_SECONDS = 10
"""How long the hub may take to accept a connection or to answer before it counts as out of reach."""


class RowsError(ValueError):
    """Rows are not available or not valid; the message names them and says what to do."""


@dataclass(frozen=True)
class HubDataset:
    """A dataset on the hub, in the terms of ``datasets.load_dataset``.

    Attributes:
        repository: ``owner/name``.
        config: the repository's configuration, if it has several.
        revision: a branch, tag or commit.
        data_files: ``(split, path in the repository)`` pairs, if a configuration alone is not enough.
    """

    repository: str
    config: str | None = None
    revision: str | None = None
    data_files: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.repository + (f", config {self.config}" if self.config else "")


@dataclass(frozen=True)
class Table:
    """The rows of one split.

    Attributes:
        origin: the file or hub dataset, for messages and for the results.
        rows: mappings from column to value, in the order of the origin.
        columns: the column names; of a file of JSON lines, those of any row.
        class_names: maps a column to the names of its integer labels, if the origin declares them.
    """

    origin: str
    rows: Sequence[Mapping[str, Any]]
    columns: tuple[str, ...]
    class_names: Mapping[str, tuple[str, ...]]

    def column(self, name: str, expected: Sequence[str] = ()) -> list[Any]:
        """Return the values of one column.

        Args:
            name: the column.
            expected: all columns that the caller needs, for the message.

        Raises:
            RowsError: some or all rows lack the column.
        """
        if name not in self.columns:
            raise RowsError(
                f"{self.origin} has no column {name!r}; expected {', '.join(expected or [name])}; "
                f"found {', '.join(self.columns)}"
            )
        if not isinstance(self.rows, list):
            return list(self.rows[name])  # type: ignore[call-overload] # a datasets.Dataset: columns by name
        for number, row in enumerate(self.rows, start=1):
            if name not in row:
                raise RowsError(f"{self.origin}, row {number}: no field {name!r}; found {', '.join(row)}")
        return [row[name] for row in self.rows]

    def text(self, name: str, expected: Sequence[str] = ()) -> list[str]:
        """Return the values of a text column.

        Raises:
            RowsError: as ``column``, or a value is not text.
        """
        values = self.column(name, expected)
        for number, value in enumerate(values, start=1):
            if not isinstance(value, str):
                raise RowsError(f"{self.origin}, row {number}, field {name!r}: expected text, found {value!r}")
        return values


def chosen_source(metadata: dict[str, Any]) -> str:
    """Return the source that a task's metadata selects, and complete the metadata for the results.

    Args:
        metadata: the task's metadata, which is modified: ``source`` is added if absent; for embedded rows, a note is
            added and the version is marked.

    Raises:
        RowsError: the source is empty or not text.
    """
    source = metadata.setdefault("source", HUB)
    if not isinstance(source, str) or not source:
        raise RowsError(f'source {source!r}: expected "{HUB}", "{EMBEDDED}" or the path of a folder')
    if source == EMBEDDED:
        metadata["note"] = EMBEDDED_NOTE
        mark_version(metadata, EMBEDDED)
    return source


def load(name: str, split: str, hub: HubDataset, source: str = HUB) -> Table:
    """Return the rows of one split of a dataset.

    Args:
        name: the dataset's name in file names: ``<folder>/<name>_<split>.jsonl`` (or ``.parquet``).
        split: for example ``"validation"``.
        hub: the location of the dataset on the hub.
        source: ``"hub"``, ``"embedded"`` or the path of a folder.

    Raises:
        RowsError: the source cannot be reached, does not have the split, or holds a file that is not well-formed.
    """
    if source == HUB:
        return _from_hub(name, split, hub)
    return _from_folder(name, split, _folder(source))


def has_split(name: str, split: str, source: str) -> bool:
    """Tell whether a folder (or the embedded rows) has a file for the split; false for the hub and for what is none."""
    folder = EMBEDDED_FOLDER if source == EMBEDDED else Path(source).expanduser()
    return source != HUB and _file(name, split, folder) is not None


@cache
def _from_hub(name: str, split: str, hub: HubDataset) -> Table:
    splits = _load_dataset(name, hub)
    origin = f"{hub} (hub)"
    if split not in splits:
        raise RowsError(f"{origin} has no split {split!r}; found {', '.join(splits)}")
    rows = splits[split]
    return Table(f"{origin}, split {split}", rows, tuple(rows.column_names), _class_names(rows.features))


@cache
def _load_dataset(name: str, hub: HubDataset) -> Mapping[str, Any]:
    import datasets  # noqa: PLC0415 # takes two seconds, and only the hub needs it
    import huggingface_hub  # noqa: PLC0415 # as above

    files = dict(hub.data_files) or None
    path, revision = hub.repository, hub.revision
    try:
        _require_connection(hub)
        if files:
            # Named files are downloaded first and loaded from disk: when offline, load_dataset does not find them in
            # its cache, because the cache key contains URLs that it can only resolve online
            # (huggingface/datasets#7551).
            patterns = list(files.values())
            path = huggingface_hub.snapshot_download(
                path, repo_type="dataset", revision=revision, allow_patterns=patterns
            )
            revision = None
        splits: Mapping[str, Any] = datasets.load_dataset(path, hub.config, revision=revision, data_files=files)
    except Exception as error:
        # The library raises many types (a dozen for "offline" alone), but the user's remedy is always the same.
        raise RowsError(
            f"the rows of {name!r} ({hub}) could not be loaded from the Hugging Face Hub: {reason(error)}\n"
            f"Two other sources work without it ({IN_COMMANDS}):\n"
            f'  --metadata \'{{"source": "/path/to/folder"}}\'  your own copy: {name}_<split>.jsonl or .parquet, '
            "with the hub's columns\n"
            f'  --metadata \'{{"source": "{EMBEDDED}"}}\'  {EMBEDDED_NOTE}'
        ) from error
    return splits


def _require_connection(hub: HubDataset) -> None:
    """Raise an error now if the hub cannot be reached and no copy is cached.

    The hub's library would find out as quickly, and then try again for half a minute or more.

    Raises:
        ConnectionError: the hub cannot be reached.
    """
    import datasets  # noqa: PLC0415 # as above
    import huggingface_hub  # noqa: PLC0415 # as above

    if datasets.config.HF_HUB_OFFLINE:
        return
    downloaded = huggingface_hub.try_to_load_from_cache(
        hub.repository, datasets.config.REPOCARD_FILENAME, revision=hub.revision, repo_type="dataset"
    )
    # The datasets library spells the name in its own way after the owner's.
    prepared = Path(datasets.config.HF_DATASETS_CACHE).glob(f"{hub.repository.partition('/')[0]}___*")
    endpoint = huggingface_hub.constants.ENDPOINT
    if downloaded is None and not any(prepared) and (failure := _failed_connection(endpoint)):
        raise ConnectionError(f"no connection to {endpoint} ({failure})")


@cache
def _failed_connection(endpoint: str) -> str:
    """Return why nothing answers at an address, if so; whatever it answers is not looked at."""
    import http.client  # noqa: PLC0415 # only the hub needs them
    import socket  # noqa: PLC0415 # as above
    import urllib.request  # noqa: PLC0415 # as above

    question = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310 # the hub's
    try:
        with urllib.request.urlopen(question, timeout=CONNECTION_SECONDS):  # noqa: S310 # as above
            return ""
    except (OSError, http.client.HTTPException) as error:
        # Certificates are the hub's library's business: it knows other authorities.
        why = getattr(error, "reason", error)
        return str(why) if isinstance(why, (ConnectionError, TimeoutError, socket.gaierror)) else ""


def reason(error: Exception) -> str:
    """Return the message of an error from the hub's libraries, on one line."""
    return textwrap.shorten(str(error), 200, placeholder=" …") or type(error).__name__


def _folder(source: str) -> Path:
    if source == EMBEDDED:
        return EMBEDDED_FOLDER
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise no_folder(source, "<dataset>_<split>.jsonl files")
    return folder.resolve()


def file_names(source: str) -> list[str]:
    """Return the names of the files in a folder; an empty list if it is not a folder."""
    folder = Path(source).expanduser()
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def columns_in(path: Path) -> tuple[str, ...]:
    """Return the columns of a file; an empty tuple if it cannot be read."""
    try:
        return from_file(path.resolve()).columns
    except RowsError:
        return ()


def no_folder(source: str, files: str) -> RowsError:
    """Return the error for a source that is not a folder; ``files`` says which files a folder should contain."""
    return RowsError(
        f'source {source!r} is not a folder; expected "{HUB}", "{EMBEDDED}" or the path of a folder with {files}'
    )


def _file(name: str, split: str, folder: Path) -> Path | None:
    return next((path for suffix in SUFFIXES if (path := folder / f"{name}_{split}{suffix}").is_file()), None)


@cache
def _from_folder(name: str, split: str, folder: Path) -> Table:
    path = _file(name, split, folder)
    if path is None:
        names = sorted(entry.name for entry in folder.iterdir() if entry.suffix in SUFFIXES)
        raise RowsError(
            f"no rows of {name!r} in {folder}: expected {name}_{split}.jsonl or .parquet; "
            f"found {', '.join(names) or 'no such files'}"
        )
    return from_file(path)


@cache
def from_file(path: Path) -> Table:
    """Return the rows of one file.

    Args:
        path: JSON lines (``.jsonl``, one object per line) or Parquet (``.parquet``).

    Raises:
        RowsError: the file has another format, has no rows or is not well-formed.
    """
    if path.suffix not in SUFFIXES:
        raise RowsError(f"{path}: expected a file that ends in {' or '.join(SUFFIXES)}")
    rows: list[Mapping[str, Any]]
    class_names: Mapping[str, tuple[str, ...]] = {}
    if path.suffix == ".jsonl":
        lines = path.read_bytes().rstrip().split(b"\n")
        rows = [
            _evaluated_row(f"{path}, row {number}", line) for number, line in enumerate(lines, start=1) if any(lines)
        ]
    else:
        rows, class_names = _read_parquet(path)
    if not rows:
        raise RowsError(f"{path}: no rows")
    return Table(str(path), rows, tuple(dict.fromkeys(chain.from_iterable(rows))), class_names)


def _evaluated_row(where: str, line: bytes) -> dict[str, Any]:
    """Return the row of a line, all of whose text can be put into a prompt, a table and a hash."""
    row = row_of_line(where, line)
    if b"\\ud" in line.lower():
        for field, value in row.items():
            try:
                json.dumps(value, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError as error:
                raise RowsError(
                    f"{where}, field {field!r}: expected text, found half a surrogate pair "
                    f"({error.object[error.start]!a}), which is not a character; fix or remove the row"
                ) from error
    return row


def numbered_rows(lines: Iterable[bytes], origin: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield, for each non-blank line, its name for messages and the row that it contains.

    Raises:
        RowsError: a line is not a JSON object.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{origin}, row {number}"
            yield where, row_of_line(where, line)


def row_of_line(where: str, line: bytes) -> dict[str, Any]:
    """Return the row in one line of JSON.

    Args:
        where: file and row, for the message.
        line: a JSON object in UTF-8.

    Raises:
        RowsError: the line is not a JSON object in UTF-8.
    """
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{where}: not JSON in UTF-8 ({error}); expected one object per line") from error
    if not isinstance(row, dict):
        raise RowsError(f"{where}: expected an object, found {type(row).__name__}")
    return row


def _read_parquet(path: Path) -> tuple[list[Mapping[str, Any]], Mapping[str, tuple[str, ...]]]:
    import datasets  # noqa: PLC0415 # only for this format
    import pyarrow.parquet  # noqa: PLC0415 # as above

    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise RowsError(f"{path}: not a readable Parquet file ({error})") from error
    # A copy written by the datasets library declares its labels like the original on the hub.
    return table.to_pylist(), _class_names(datasets.Features.from_arrow_schema(table.schema))


def _class_names(features: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    return {column: tuple(feature.names) for column, feature in features.items() if hasattr(feature, "names")}
