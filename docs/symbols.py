"""Leads from a symbol to the page of notation: each that stands there, where it first stands on another page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from os.path import relpath

NOTATION = "notation.md"
ROW = re.compile(r"^(\| [^|]+ \| )([ερδΔ])( \|)", re.MULTILINE)
"""A row of a letter that means one thing on every page; others are those of a source, explained where they stand."""
NO_PROSE = (
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)",
    r"`[^`\n]+`",
    r"^#[^\n]*",
    r"!?\[[^\]]*\]\([^)]*\)",
    r"<[^>]+>",
    r"^---\n.*?^---\n",
)
"""Code, headings, links and tags: there a symbol stays as it is."""


def named(page: str) -> str:
    """The page of notation with a place for each symbol."""
    return ROW.sub(lambda row: f"{row[1]}{row[2]} {{ #{anchor(row[2])} }}{row[3]}", page)


def symbols(page: str) -> list[str]:
    """The symbols that the page of notation explains."""
    return [row[2] for row in ROW.finditer(page)]


def linked(text: str, place: str, known: list[str]) -> str:
    """A page on which the first of each symbol leads to its meaning."""
    way = relpath(NOTATION, place.rpartition("/")[0] or ".")
    return "".join(_parts(text, way, set(known)))


def anchor(symbol: str) -> str:
    """The name of its place: `epsilon`."""
    return unicodedata.name(symbol).removeprefix("GREEK ").replace("LETTER ", "").replace(" ", "-").lower()


def _parts(text: str, way: str, open_ones: set[str]) -> Iterator[str]:
    end = 0
    letters = "".join(sorted(open_ones))
    for found in re.finditer(f"{'|'.join(NO_PROSE)}|(?P<symbol>[{letters}])", text, re.MULTILINE | re.DOTALL):
        symbol = found["symbol"]
        yield text[end : found.start()]
        yield f"[{symbol}]({way}#{anchor(symbol)})" if symbol in open_ones else found[0]
        open_ones.discard(symbol)
        end = found.end()
    yield text[end:]
