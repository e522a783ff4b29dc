"""SENSITIVE. Where rows come from, and errors of engines with all text taken out that may quote a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import duckdb

from ..arguments import Refused
from .column import Column, called

# SENSITIVE. What an engine says when it fails may quote a record, so nobody hears it.


Result = TypeVar("Result")
FAILURE = "the records could not be read (what the engine says is not shown: it may quote a record)"


def hidden(action: Callable[[], Result], rule: str, argument: str = "data") -> Result:
    """The result of `action`; if it fails, a refusal of `argument` that says `rule` and chains no other exception."""
    try:
        return action()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what Polars panics with is no Exception
        pass  # Raised inside of this block, the new exception would carry the old one along.
    raise Refused(argument, rule)


class Source(Protocol):
    """Rows that DuckDB can scan, each column under the name `called` of its place."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the schema, and the way to read them."""

    @property
    def costly(self) -> bool:
        """Tell whether scanning again is so slow that what is needed is better kept."""

    def scan(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """A FROM clause, for one query, of the columns at `places` (at least one)."""

    def scan_whole(self, connection: duckdb.DuckDBPyConnection, places: Sequence[int]) -> str:
        """`scan` with a column `whole`: bytes that are equal where all columns of two rows are, and only there."""


def with_whole_rows(rows: str, columns: Sequence[Column], places: Sequence[int]) -> str:
    """A FROM clause for `scan_whole`, from one that has all columns.

    In a text all but plain characters are written as codes, so it holds neither of the two that stand between texts
    and for what is missing: what is joined can be taken apart again.
    """
    texts = (column.text.format(called(place)) for place, column in enumerate(columns))
    parts = ", ".join(f"coalesce({text}, chr(30))" for text in texts)
    kept = "".join(f"{called(place)}, " for place in places)
    return f"(SELECT {kept}encode(concat_ws(chr(31), {parts})) AS whole FROM {rows})"
