"""Which value of a label column is positive, and which is negative: a public choice."""

from __future__ import annotations

from ...arguments import Refused, shown
from ...data import Categories
from ...data.axis import Category, category

_OPPOSITES: dict[Category, Category] = {1: 0, 0: 1, -1: 1}


def labels(column: str, positive: Category, negative: Category | None) -> Categories:
    """The two classes, negative first. Any other value is missing.

    >>> labels("late", 1, None).values
    (0, 1)

    Raises:
        ValueError: the negative label is missing where it does not go without saying, or is the positive one.
        TypeError: a label is neither text nor number.
    """
    positive = category("pos_label", positive)
    negative = _opposite(positive) if negative is None else category("neg_label", negative)
    if positive == negative or str(positive) == str(negative):
        raise Refused("pos_label", f"the positive and the negative label are both {shown(positive)}")
    return Categories(column, (negative, positive), ("neg_label", "pos_label"))


def _opposite(positive: Category) -> Category:
    if positive not in _OPPOSITES:
        raise Refused("neg_label", f"say which label is negative, where the positive one is {shown(positive)}")
    return not positive if isinstance(positive, bool) else _OPPOSITES[positive]
