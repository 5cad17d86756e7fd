"""A page that the command writes, read as a browser does."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from lm_eval_ext.cli import main

BY_THEMSELVES = {"td": {"td", "th"}, "th": {"td", "th"}, "tr": {"td", "th", "tr"}, "dd": {"dt"}, "dt": {"dd"}}
"""What an element closes where it begins, as HTML has it; what contains these closes them where it ends."""
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


Cell = tuple[str, dict[str, str], str]
"""Name, attributes and text of a cell of a table."""


def report(folder: Path, *words: object) -> str:
    """Return the page that ``lm-eval-ext report`` writes to a folder, about what these words name."""
    page = folder / "report.html"
    assert main(["report", *map(str, words), "-o", str(page)]) == 0
    return page.read_text(encoding="utf-8")


class Read(HTMLParser):
    """A page as a browser reads it, whose every element is closed in order, or by itself where HTML says so.

    Attributes:
        elements: names and attributes.
        tables: by the figure's name, rows of cells: names, attributes and texts.
        text: of the whole page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.tables: dict[str, list[list[Cell]]] = {}
        self.text = ""
        self._open: list[str] = []
        self._table: list[list[Cell]] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        while self._open and self._open[-1] in BY_THEMSELVES.get(tag, ()):
            self._open.pop()
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self._table = self.tables[attributes["data-figure"]] = []
        elif tag == "tr":
            self._table.append([])
        elif tag in {"td", "th"}:
            self._table[-1].append((tag, attributes, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open[-1] != tag and self._open[-1] in BY_THEMSELVES:
            self._open.pop()
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self._open):
            tag, attributes, text = self._table[-1][-1]
            self._table[-1][-1] = (tag, attributes, (text + data).rstrip("\n"))

    def numbers(self, figure: str, *about: str) -> dict[str, str]:
        """Return the cells of the one row that begins with these words, by heading; of a figure, what is sorted by."""
        headings, *rows = [
            [given.get("data-value", text.split(" [")[0]) for _, given, text in row] for row in self.tables[figure]
        ]
        (row,) = [row for row in rows if tuple(row[: len(about)]) == about]
        return dict(zip(headings[len(about) :], row[len(about) :], strict=True))
