"""Shares of records in bins of any width, read off one paid distribution function."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..data import Grid, Outside
from ..postprocess import simultaneous_errors, value_at
from .prefixes import Prefixes
from .question import card_of
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..release import Face

FloatArray = NDArray[np.float64]

ROUNDING = 1e-6  # of the width of a cell


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Result):
    """What share of the records lies in each bin.

    Bins are differences of one curve that never falls: none is negative, and bins over the whole grid add up to all
    records there. Noise is less than that of counting every bin, the more so the wider bins are; what one bin has too
    much its neighbours have too little.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``.
        share: Of the records that have a value, of shape ``(bins,)``.
        total: How many records have a value: estimated unless public.
        label: What the x axis shows.
        face: What stands on every picture.
        prefixes: The evidence that the curve was read from.
    """

    x: FloatArray
    share: FloatArray
    total: float
    label: str
    face: Face
    prefixes: Prefixes

    @classmethod
    def along(cls, prefixes: Prefixes, bins: SupportsIndex | ArrayLike, label: str, face: Face) -> Bins:
        """So many bins of one width, or those between such edges, of readings along a grid.

        Raises:
            ValueError: there is no bin, or edges do not rise, or lie outside of the grid.
        """
        edges = bin_edges(bins, prefixes.grid.edges)
        share = np.diff(value_at(prefixes.grid.edges, prefixes.shares, edges))
        return cls(edges, share, prefixes.total, label, face, prefixes)

    @property
    def count(self) -> FloatArray:
        """Records in each bin."""
        return self.share * self.total

    def intervals(self, level: float, *, generator: np.random.Generator | None = None) -> FloatArray:
        """Lower and upper ends of the shares, all correct at once with chance `level`: shape ``(bins, 2)``.

        Between the nearest edges that were measured, inside a bin and around it, the noise of the unbiased estimate is
        simulated. A bin has at least what is inside and at most what is around.
        """
        known = np.flatnonzero(self.prefixes.measured)
        places = self.prefixes.grid.edges[known]
        below, noise = _closed(self.prefixes.unbiased_shares[known], self.prefixes.deviations(generator)[:, known])
        left, right = self.x[:-1], self.x[1:]
        around = np.searchsorted(places, left, side="right"), np.searchsorted(places, right) + 1
        begin, end = np.searchsorted(places, left) + 1, np.searchsorted(places, right, side="right")
        inside = begin, np.maximum(begin, end)
        errors = simultaneous_errors(
            np.hstack([noise[:, last] - noise[:, first] for first, last in (inside, around)]), level
        )
        least, most = (below[last] - below[first] for first, last in (inside, around))
        ends = np.stack([least - errors[: len(left)], most + errors[len(left) :]], axis=1)
        return np.clip(_around(ends, self.share), 0.0, 1.0)

    def plot(self, ax: Axes | None = None, *, level: float | None = None, name: str | None = None) -> Axes:
        """Draw the shares, with intervals if a `level` is given. Spends nothing, however often it is called."""
        intervals = None if level is None else self.intervals(level)
        return display.draw_bins(
            self.x, self.share, self.face, label=self.label, intervals=intervals, level=level, ax=ax, name=name
        )

    def to_frame(self, *, level: float | None = None) -> Any:
        """Columns ``left``, ``right``, ``share`` and ``count``; with a `level`, its ``lower`` and ``upper``."""
        columns = {"left": self.x[:-1], "right": self.x[1:], "share": self.share, "count": self.count}
        ends = {} if level is None else dict(zip(("lower", "upper"), self.intervals(level).T, strict=True))
        return display.to_frame({**columns, **ends})

    def to_json(self) -> str:
        """The published format (``kind`` is ``bins``), with the noise law: bins read from it have their intervals."""
        grid = self.prefixes.grid
        question = {"label": self.label, "outside": grid.outside.name, "edges": grid.edges.tolist()}
        releases = [turn.to_json() for turn in self.prefixes.turns]
        arrays = {"x": self.x, "share": self.share}
        return display.envelope("bins", arrays, self.face, {"question": question, "releases": releases})

    @classmethod
    def from_json(cls, text: str) -> Bins:
        """The bins that `to_json` wrote."""
        opened = display.opened(text, "bins")
        question = opened.evidence["question"]
        grid = Grid.from_edges(question["edges"], outside=Outside[question["outside"]])
        prefixes = Prefixes.from_json(opened.evidence["releases"], grid)
        return cls.along(prefixes, opened.arrays["x"], question["label"], opened.face)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.share)} bins")

    def _repr_html_(self) -> str:
        return card_of(f"Histogram of {self.label}", self.plot, [("bins", str(len(self.share)))], self.face, level=0.95)


def bin_edges(bins: SupportsIndex | ArrayLike, x: FloatArray) -> FloatArray:
    """Edges of as many bins of one width, or the edges themselves, for a curve with edges `x`.

    Raises:
        ValueError: there is no bin, or edges do not rise, or lie outside of those of the curve.

    >>> bin_edges(4, np.array([0.0, 1.0, 2.0])).tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    if isinstance(bins, SupportsIndex) and not isinstance(bins, np.ndarray):
        if index(bins) < 1:
            raise ValueError(f"bins: at least one is needed, got {index(bins)}")
        return _snapped(np.linspace(x[0], x[-1], index(bins) + 1), x)
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise ValueError("bins: a number of bins is needed, or at least two edges, each above the one before")
    if edges[0] < x[0] or edges[-1] > x[-1]:
        raise ValueError(f"bins: edges from {x[0]:g} to {x[-1]:g} are needed, where the grid is")
    return _snapped(edges, x)


def _snapped(edges: FloatArray, x: FloatArray) -> FloatArray:
    """Onto an edge of the curve where only rounding keeps them apart: it may be one that was measured."""
    right = np.clip(np.searchsorted(x, edges), 1, len(x) - 1)
    nearest = np.where(edges - x[right - 1] < x[right] - edges, right - 1, right)
    return np.where(np.abs(edges - x[nearest]) <= ROUNDING * (x[right] - x[right - 1]), x[nearest], edges)


def _closed(curve: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """With an edge below all records and an edge above all: there is no noise on them."""
    none = np.zeros((len(noise), 1))
    return np.concatenate([[0.0], curve, [1.0]]), np.hstack([none, noise, none])


def _around(ends: FloatArray, share: FloatArray) -> FloatArray:
    """Intervals wide enough to hold the share that is shown, which is shrunken and never negative."""
    return np.stack([np.minimum(ends[:, 0], share), np.maximum(ends[:, 1], share)], axis=1)
