"""The count that a tuple belongs to: its state among the declared ones. SECRET values come as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from dpcurves.data.axis import Axis, Categories

from .moments import SECOND, moment

LARGEST_MOMENT = 2**60


class Keys:
    """Finds the place of a tuple among the declared cells.

    Args:
        axes: The states.
    """

    __slots__ = ("_axes", "_numbers", "_texts")

    def __init__(self, axes: Sequence[Axis | Categories]) -> None:
        self._axes = tuple(axes)
        self._texts = [_texts(axis) for axis in self._axes]
        self._numbers = [_numbers(axis) for axis in self._axes]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are read."""
        return tuple(str(axis.column) for axis in self._axes)

    def find(self, given: Mapping[str, Any]) -> int | None:
        """The place of a tuple; None: it is in no declared cell."""
        place = 0
        for axis, texts, numbers in zip(self._axes, self._texts, self._numbers, strict=True):
            slot = _slot(axis, texts, numbers, given.get(str(axis.column)))
            if slot is None:
                return None
            place = place * axis.slots + slot
        return place


def when(value: Any) -> int | None:
    """The moment that a field says; None: it says none. Never raises."""
    number = _number(value)
    try:
        found = moment("time", value) if number is None else round(number * SECOND)
    except (ValueError, TypeError, OverflowError, ArithmeticError, AttributeError):
        return None
    return found if abs(found) <= LARGEST_MOMENT else None


def _slot(axis: Axis | Categories, texts: Mapping[str, int], numbers: Mapping[float, int], value: Any) -> int | None:
    if isinstance(value, str) and value in texts:
        return texts[value]
    number = _number(value)
    if number is None:
        return None
    if isinstance(axis, Categories):
        return numbers.get(number)
    slot = int(axis.grid.cell_of(np.array([number]))[0])
    return slot if slot < axis.slots else None


def _number(value: Any) -> float | None:
    if isinstance(value, str | int | float | np.integer | np.floating):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        return number if isfinite(number) else None
    return None


def _texts(axis: Axis | Categories) -> dict[str, int]:
    values = axis.values if isinstance(axis, Categories) else ()
    return {value: slot for slot, value in enumerate(values) if isinstance(value, str)}


def _numbers(axis: Axis | Categories) -> dict[float, int]:
    values = axis.values if isinstance(axis, Categories) else ()
    return {float(value): slot for slot, value in enumerate(values) if not isinstance(value, str)}
