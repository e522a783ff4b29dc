"""By which declared columns records are parted: one of them, or several at once."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TypeAlias

from ..arguments import Refused, require_kind
from ..data import Axis, Categories
from ..data.axis import Category

By: TypeAlias = Categories | tuple[Categories, ...] | None
"""One column of categories; or several columns, for each combination of their categories; or none."""
Key: TypeAlias = Category | tuple[Category, ...]
"""A category; of several columns one of each."""

CATEGORIES = 'Categories, as in Categories("ward", ("a", "b")),'
MOST_COMBINATIONS = 2**16


def keys_of(by: object) -> tuple[Categories, ...]:
    """The columns that were declared, in their order.

    Formal guarantees: a record has one category of each column at most, so it lies in one combination at most: several
    columns part records as one column does that has a category for each combination.

    Raises:
        TypeError: `by` is neither `Categories`, nor a tuple of these, nor None.
        ValueError: a column stands twice, or two combinations print alike, or there are more than 65,536.
    """
    if by is None:
        return ()
    if not isinstance(by, tuple) or not by:
        by = (by,)
    for each in by:
        require_kind("by", each, Categories, CATEGORIES)
    if len(by) > 1:
        _require_combinations(by)
    return by


def axes_of(by: By, *axes: Axis | Categories) -> tuple[Axis | Categories, ...]:
    """The sides of a table that has a row, or several, for each category."""
    return (*keys_of(by), *axes)


def _require_combinations(keys: tuple[Categories, ...]) -> None:
    if len({each.column for each in keys}) < len(keys):
        raise Refused("by", "each column is named once")
    if prod(each.slots for each in keys) > MOST_COMBINATIONS:
        raise Refused("by", f"at most {MOST_COMBINATIONS} combinations of categories are told apart")
    if len(set(map(named, combined(keys)))) < prod(each.slots for each in keys):
        raise Refused("by", "two combinations of categories print alike")


def combined(keys: tuple[Categories, ...]) -> list[Key]:
    """The categories of one column; of several, all combinations, those of the last column fastest.

    >>> combined((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    [('F', 1), ('F', 2), ('M', 1), ('M', 2)]
    """
    if len(keys) == 1:
        return list(keys[0].values)
    return list(product(*(each.values for each in keys)))


def columns_of(by: By) -> tuple[str, ...]:
    """The names of the columns."""
    return tuple(each.column for each in keys_of(by))


def named(key: Key) -> str:
    """A category, or a combination of them, in words.

    >>> named(("F", "north"))
    'F, north'
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
