"""Rows of an HTML summary that say where quantiles stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..arrays import FloatArray
from ..display import RECORDS, span, standing
from .covering import scopes

if TYPE_CHECKING:
    from ..release import PrivacyStatement

LEVEL = 0.95
"""The level of intervals in HTML summaries."""


class HasQuantiles(Protocol):
    """A distribution function, or counts that were searched for quantiles."""

    @property
    def privacy(self) -> PrivacyStatement: ...

    def quantile(self, p: FloatArray, /) -> FloatArray: ...

    def quantile_cell(self, p: FloatArray, /) -> FloatArray: ...

    def quantile_intervals(self, p: FloatArray, level: float, /, *, population: bool) -> FloatArray: ...


def quantile_rows(curve: HasQuantiles, p: FloatArray) -> list[tuple[str, str]]:
    """Rows of an HTML summary for quantiles: each with the edges between which it lies."""
    names = [f"{share:g} quantile" for share in p.tolist()]
    intervals = {
        whom: curve.quantile_intervals(p, LEVEL, population=asked) for whom, asked in scopes(curve.privacy).items()
    }
    widths = np.diff(intervals[RECORDS])[:, 0].tolist()
    points = zip(curve.quantile(p).tolist(), curve.quantile_cell(p).tolist(), widths, strict=True)
    places = [standing(x, *cell, known_to=width) for x, cell, width in points]
    ends = [[f"{span(*pair)} {whom}" for pair in found.tolist()] for whom, found in intervals.items()]
    words = [f"{place} ({100 * LEVEL:g}%: {', '.join(own)})" for place, *own in zip(places, *ends, strict=True)]
    return list(zip(names, words, strict=True))
