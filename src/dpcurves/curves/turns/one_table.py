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
) -> Generator[Step, Release, Any]:
    """Ask for one table. `make` reads the curve from it; with `by`, one from each row, as `ByCategory`.

    Raises:
        TypeError: `by` is no `Categories`.
    """
    require_categories(by)
    release = yield Step(CountQuery((axis,) if by is None else (by, axis), read), share=ALL)
    privacy = statement_of([release])
    return in_rows(by, Evidence.of(release), lambda row: make(row, axis.grid, label, privacy))


def require_categories(by: object) -> None:
    """Refuse what are no categories.

    Raises:
        TypeError: `by` is neither `Categories` nor None.
    """
    if by is not None:
        require_kind("by", by, Categories, CATEGORIES)


def in_rows(by: Categories | None, evidence: Evidence, make: Callable[[Evidence], Curve]) -> Any:
    """Read one curve; with `by`, one from each row, as `ByCategory`."""
    if by is None:
        return make(evidence)
    rows = zip(by.values, rows_of(evidence), strict=True)
    return ByCategory(by.column, {category: make(row) for category, row in rows})


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
