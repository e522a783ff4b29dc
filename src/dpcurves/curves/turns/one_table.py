"""Shared parts of questions about one column: curves by category, and words for axes and ledgers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...arguments import chosen, require_kind
from ...queries import Hint
from ...release import Evidence
from ..by_category import ByCategory, rows_of
from ..keys import By, columns_of, combined, keys_of

Curve = TypeVar("Curve", bound=Any)


def in_rows(by: By, evidence: Evidence, make: Callable[[Evidence], Curve]) -> Any:
    """Read one curve; with `by`, one from each row, as `ByCategory`."""
    if by is None:
        return make(evidence)
    rows = zip(combined(keys_of(by)), rows_of(evidence), strict=True)
    return ByCategory(columns_of(by), {category: make(row) for category, row in rows})


def axis_label(column: str, measured_in: str) -> str:
    """The label of an axis.

    Raises:
        TypeError: the measuring unit is no text.
    """
    require_kind("measured_in", measured_in, str, "a text")
    return f"{column} ({measured_in})" if measured_in else column


def in_words(what: str, column: str, by: By) -> str:
    """The description that a ledger keeps."""
    return f"{what} of {column}{by_words(by)}"


def by_words(by: By) -> str:
    """By which columns records are parted, for a ledger.

    >>> from dpcurves.data import Categories
    >>> by_words((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    ' by sex, ward'
    """
    return f" by {', '.join(columns_of(by))}" if by else ""


def hint_of(hint: object) -> Hint | None:
    """The hint that is given as itself or by its word.

    Raises:
        ValueError: it is another word.
    """
    return None if hint is None else chosen("hint", hint, Hint, also=", or none")


def hinted(hint: Hint | None) -> str:
    """The description of a hint that a ledger keeps."""
    return "" if hint is None else f", said to be {hint.value}" if hint is not Hint.ATOMS else ", said to have atoms"
