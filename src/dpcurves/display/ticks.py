"""Axes with numbers as people write them. Imported only where matplotlib is there already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import AutoLocator, Formatter, MaxNLocator, ScalarFormatter

from .numerals import numeral, numerals

MOST_TICKS = 6


class Plain(Formatter):
    """Tick labels with equal decimals, thousands apart, and without a power of ten at the end of the axis."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return numeral(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the ticks at once."""
        return numerals(np.asarray(values, dtype=np.float64))


def write_plainly(ax: Axes) -> None:
    """Both axes of `ax`, where nobody chose other words for their ticks."""
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(Plain())
    if isinstance(ax.xaxis.get_major_locator(), AutoLocator):
        ax.xaxis.set_major_locator(MaxNLocator(MOST_TICKS, steps=[1, 2, 2.5, 5, 10]))  # room for long numbers
