"""Cells of a width that people write down, with edges exactly where values are heaped."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, lcm
from re import fullmatch

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused

EXACT_IN_DOUBLES = 2**53


def cells_of_width(lower: float, upper: float, width: float) -> int:
    """The number of cells of this width between two bounds. Numbers are meant as the decimals they print.

    >>> cells_of_width(0.1, 0.7, 0.2)
    3

    Raises:
        ValueError: the width is no finite number above zero, or there is no whole number of cells.
    """
    if not (isfinite(width) and width > 0):
        raise Refused("width", f"a finite number above zero is needed, got {width}")
    if not (isfinite(lower) and isfinite(upper) and lower < upper):
        raise Refused("grid", f"finite bounds are needed, the lower below the upper, got {lower} and {upper}")
    first, last, each = (Fraction(repr(number)) for number in (lower, upper, width))
    cells = (last - first) / each
    if cells.denominator != 1:
        fewer = int(cells)
        ends = " or ".join(f"{float(first + each * many):.12g}" for many in (fewer, fewer + 1) if many)
        raise Refused("width", f"cells of {width:.12g} from {lower:.12g} on do not end at {upper:.12g}, but at {ends}")
    return int(cells)


def edges_of_width(lower: float, width: float, cells: int) -> NDArray[np.float64] | None:
    """The doubles nearest to the decimals ``lower + k * width``; None where doubles do not tell which they are.

    With a common denominator both are whole numbers. Their sums are exact below 2**53, and one division rounds once.

    >>> edges_of_width(-0.3, 0.1, 4).tolist()
    [-0.3, -0.2, -0.1, 0.0, 0.1]
    """
    first, each = Fraction(repr(lower)), Fraction(repr(width))
    whole = lcm(first.denominator, each.denominator)
    start, step = int(first * whole), int(each * whole)
    if max(whole, abs(start), abs(start + cells * step)) >= EXACT_IN_DOUBLES:
        return None
    return (start + step * np.arange(cells + 1, dtype=np.int64)) / float(whole)


def require_edge(value: float, beside: NDArray[np.float64]) -> None:
    """That a value is an edge, exactly: else records on it are counted with others below them.

    Args:
        value: What an edge has to go through.
        beside: The edges of the cell that it lies in.

    Raises:
        ValueError: it is neither of them, which are named.
    """
    if value not in beside.tolist():
        nearest = " and ".join(f"{edge:.12g}" for edge in beside.tolist())
        raise Refused("through", f"{value:.12g} is no edge; the nearest are {nearest}")


def whole_number(text: str) -> int:
    """A whole number, or a power of two that is written as one.

    >>> whole_number("1024"), whole_number("2^10")
    (1024, 1024)
    """
    power = fullmatch(r"2\^([0-9]{1,2})", text)
    return int(text) if power is None else 1 << int(power[1])
