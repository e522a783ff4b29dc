"""Which value of a label column is positive, and which is negative: a public choice."""

from __future__ import annotations

from collections.abc import Hashable

from ..data import Categories
from ..data.axis import Category
from ..privacy.given import require_kind

_OPPOSITES: dict[Category, Category] = {1: 0, 0: 1, -1: 1}


def labels(column: str, positive: Category, negative: Category | None) -> Categories:
    """The two classes, negative first. Any other value is missing.

    >>> labels("late", 1, None).values
    (0, 1)

    Raises:
        ValueError: the negative label is missing where it does not go without saying, or is the positive one.
        TypeError: a label is a list of some.
    """
    require_kind("pos_label", positive, Hashable, "a text or a number")
    require_kind("neg_label", negative, Hashable, "a text or a number")
    if negative is None:
        if positive not in _OPPOSITES:
            raise ValueError(f"neg_label: say which label is negative, where the positive one is {positive!r}")
        negative = _OPPOSITES[positive]
        if isinstance(positive, bool):
            negative = bool(negative)
    if positive == negative:
        raise ValueError(f"pos_label: the positive and the negative label are both {positive!r}")
    return Categories(column, (negative, positive))
