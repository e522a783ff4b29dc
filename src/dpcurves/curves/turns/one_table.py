"""Counts of one column along a grid, in one turn: for all records, or for each declared category."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ...arguments import chosen, require_kind
from ...data import Axis, Categories, Grid
from ...queries import CountQuery, Hint, Read
from ...release import ALL, Evidence, PrivacyStatement, Release, Step
from ..by_category import ByCategory, rows_of
from ..question import statement_of

Curve = TypeVar("Curve", bound=Any)
CATEGORIES = 'Categories, as in Categories("ward", ("a", "b")),'


def counted(
    axis: Axis,
    by: Categories | None,
    read: Read,
    label: str,
    make: Callable[[Evidence, Grid, str, PrivacyStatement], Curve],
    *,
    hint: Hint | None = None,
) -> Generator[Step, Release, Any]:
    """Ask for one table. `make` reads the curve from it; with `by`, one from each row, as `ByCategory`.

    Raises:
        TypeError: `by` is no `Categories`.
    """
    if by is not None:
        require_kind("by", by, Categories, CATEGORIES)
    release = yield Step(CountQuery((axis,) if by is None else (by, axis), read, hint), share=ALL)
    evidence, privacy = Evidence.of(release), statement_of([release])
    if by is None:
        return make(evidence, axis.grid, label, privacy)
    rows = zip(by.values, rows_of(evidence), strict=True)
    return ByCategory(by.column, {category: make(row, axis.grid, label, privacy) for category, row in rows})


def axis_label(column: str, measured_in: str) -> str:
    """What stands under an axis.

    Raises:
        TypeError: the measuring unit is no text.
    """
    require_kind("measured_in", measured_in, str, "a text")
    return f"{column} ({measured_in})" if measured_in else column


def in_words(what: str, column: str, by: Categories | None) -> str:
    """What a ledger writes down."""
    return f"{what} of {column}" + (f" by {by.column}" if by else "")


def hint_of(hint: object) -> Hint | None:
    """One of the hints, given as itself or by its word.

    Raises:
        ValueError: it is another word.
    """
    return None if hint is None else chosen("hint", hint, Hint, also=", or none")


def hinted(hint: Hint | None) -> str:
    """What a ledger writes down of a hint."""
    return "" if hint is None else f", said to be {hint.value}" if hint is not Hint.ATOMS else ", said to have atoms"
