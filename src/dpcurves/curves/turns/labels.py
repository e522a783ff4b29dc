"""The positive and the negative value of a label column: a public choice."""

from __future__ import annotations

from ...arguments import Refused, shown
from ...data import Categories
from ...data.axis import Category, category

_OPPOSITES: dict[Category, Category] = {1: 0, 0: 1, -1: 1}


ARGUMENTS = ("neg_label", "pos_label")


def labels(
    column: str, positive: Category, negative: Category | None, arguments: tuple[str, str] = ARGUMENTS
) -> Categories:
    """The two classes, negative first. Any other value is missing. The `arguments` are what refusals call them.

    >>> labels("late", 1, None).values
    (0, 1)

    Raises:
        ValueError: the negative label is missing where it does not go without saying, or is the positive one.
        TypeError: a label is neither text nor number.
    """
    of_negative, of_positive = arguments
    positive = category(of_positive, positive)
    negative = _opposite(positive, of_negative) if negative is None else category(of_negative, negative)
    if positive == negative or str(positive) == str(negative):
        raise Refused(of_positive, f"the positive and the negative label are both {shown(positive)}")
    return Categories(column, (negative, positive), arguments)


def _opposite(positive: Category, argument: str) -> Category:
    if positive not in _OPPOSITES:
        raise Refused(argument, f"say which label is negative, where the positive one is {shown(positive)}")
    return not positive if isinstance(positive, bool) else _OPPOSITES[positive]
