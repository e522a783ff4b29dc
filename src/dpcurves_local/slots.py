"""SECRET. Where one person's value lies in the table that a task counts. Whatever it is, it has a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from math import inf, nan, prod
from numbers import Real
from typing import Any

import numpy as np

from dpcurves.data import Axis, Categories

_CLASSES = (str, int, float)


def slot_of(axes: Sequence[Axis | Categories], value: Any) -> int:
    """The number of the cell of a value, row by row; where something is missing, how many cells there are.

    Formal guarantees: it raises nothing and warns of nothing, so that neither a crash nor a line in a log of the device
    tells the value. What is no number, or no declared category, is missing; a number too large for a float is as far
    out as infinity.

    Args:
        axes: The axes of the table.
        value: SECRET. Of one axis the value, of several a mapping from columns to values.
    """
    slot = 0
    for axis, each in zip(axes, _each(axes, value), strict=True):
        own = _category(axis, each) if isinstance(axis, Categories) else _cell(axis, each)
        if own == axis.slots:
            return prod(axis.slots for axis in axes)
        slot = slot * axis.slots + own
    return slot


def _each(axes: Sequence[Axis | Categories], value: Any) -> list[Any]:
    """The value of each axis; None: there is none."""
    try:
        if isinstance(value, Mapping):
            return [value.get(axis.column) for axis in axes]
    except Exception:  # a mapping may do anything
        return [None for _ in axes]
    return [None] * (len(axes) - 1) + [value]


def _cell(axis: Axis, value: Any) -> int:
    return int(axis.grid.cell_of(np.array([_number(value)]))[0])


def _number(value: Any) -> float:
    """NaN for what is no number: text, octets, truth values, what can not be converted, whatever it raises."""
    try:
        return nan if isinstance(value, bool) or not isinstance(value, Real | Decimal) else _float(value)
    except Exception:  # a class of numbers may do anything
        return nan


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _category(axis: Categories, value: Any) -> int:
    """The declared category that a value is, or prints like; all of them: it is none."""
    with suppress(Exception):  # a class of values may do anything; and a whole number may be too long to print
        known = value.item() if isinstance(value, np.generic) else value
        if isinstance(known, _CLASSES):
            return next(place for place, category in enumerate(axis.values) if _same(known, category))
    return axis.slots


def _same(value: Any, category: Any) -> bool:
    return bool(value == category) or str(value) == str(category)
