"""Shares of records in bins of any width, read off one paid distribution function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import Refused, chance
from ..arrays import FloatArray
from ..data import Grid
from ..postprocess import mean_counts, simultaneous_errors
from .question import require_independent
from .result import Covered
from .turns.declared_grid import read_grid, written_grid
from .turns.prefixes import Prefixes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade
    from ..release import Evidence, PrivacyStatement


ROUNDING = 1e-6  # of the width of a cell
MOST_NAMED = 10


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Covered):
    """What share of the records lies in each bin.

    Bins are differences of one curve that never falls: none is negative, and bins over the whole grid add up to all
    records there. Noise is less than that of counting every bin, the more so the wider bins are; what one bin has too
    much its neighbours have too little. Values outside the grid are clamped into its end cells, unless it counts them
    apart; bins at its ends hold them.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``: edges of the grid, for inside its cells nothing was counted.
        share: The share of the records that have a value, of shape ``(bins,)``.
        total: How many records have a value: estimated unless public.
        label: What the x axis shows.
        privacy: What stands on every picture.
        prefixes: The evidence that the curve was read from.

    Where bins are of unequal width, a picture shows shares per unit of x. As a data frame: columns ``left``, ``right``,
    ``share`` and ``count``.
    """

    KIND: ClassVar[str] = "bins"

    x: FloatArray
    share: FloatArray
    total: float
    label: str
    privacy: PrivacyStatement
    prefixes: Prefixes

    @classmethod
    def along(cls, prefixes: Prefixes, bins: SupportsIndex | ArrayLike, label: str, privacy: PrivacyStatement) -> Bins:
        """So many bins of about one width, or those between such edges, of readings along a grid.

        Edges that are none of the grid are moved to the nearest one, which a note says.

        Raises:
            ValueError: there is no bin, or edges do not rise, lie outside of the grid, or have one nearest edge.
        """
        grid = prefixes.grid
        at, notes = bin_edges(bins, grid)
        share = np.diff(prefixes.shares[at])
        return cls(grid.edges[at], share, prefixes.total, label, privacy.noted(*notes), prefixes)

    @property
    def count(self) -> FloatArray:
        """Records in each bin."""
        return self.share * self.total

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of the shares, all correct at once with chance `level`: shape ``(bins, 2)``.

        Between the nearest edges that were measured, inside a bin and around it, the noise of the unbiased estimate is
        simulated. A bin has at least what is inside and at most what is around. That holds for these records; for the
        `population` that they were drawn from, half of the error chance goes to sampling, divided by the number of
        bins, in each of which it is binomial: so those hold more often than `level` says. That needs independent units
        of one record each.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        level = chance("level", level)
        if not population:
            return self._around(level, generator)
        require_independent(self.privacy)
        least, most = self.total * self._around((1 + level) / 2, generator).T
        ends = mean_counts(least, most, self.total, (1 - level) / 2 / len(self.share))
        return np.minimum(ends / self.total, 1.0)

    def _around(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        known = np.flatnonzero(self.prefixes.measured)
        places = self.prefixes.grid.edges[known]
        below = np.concatenate([[0.0], self.prefixes.unbiased_shares[known], [1.0]])
        left, right = self.x[:-1], self.x[1:]
        around = np.searchsorted(places, left, side="right"), np.searchsorted(places, right) + 1
        begin, end = np.searchsorted(places, left) + 1, np.searchsorted(places, right, side="right")
        inside = begin, np.maximum(begin, end)
        noises = map(_closed, self.prefixes.deviations(generator))
        moved = (np.hstack([noise[:, last] - noise[:, first] for first, last in (inside, around)]) for noise in noises)
        errors = simultaneous_errors(moved, level)
        least, most = (below[last] - below[first] for first, last in (inside, around))
        ends = np.stack([least - errors[: len(left)], most + errors[len(left) :]], axis=1)
        return np.clip(_widened(ends, self.share), 0.0, 1.0)

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """What was released, turn by turn."""
        return self.prefixes.turns

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_bars(
            self.x, self.share, privacy, upwards="share of records", label=self.label, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        return {"left": self.x[:-1], "right": self.x[1:], "share": self.share, "count": self.count}

    def _arrays(self) -> dict[str, FloatArray]:
        return {"x": self.x, "share": self.share}

    def _question(self) -> dict[str, object]:
        return {"label": self.label, **written_grid(self.prefixes.grid)}

    @classmethod
    def _opened(cls, opened: Opened) -> Bins:
        question = opened.evidence["question"]
        prefixes = Prefixes.from_json(opened.evidence["releases"], read_grid(question))
        return cls.along(prefixes, opened.arrays["x"], question["label"], opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.share)} bins")

    def _title(self) -> str:
        return f"Histogram of {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        return [("bins", display.numeral(len(self.share)))]


def bin_edges(bins: SupportsIndex | ArrayLike, grid: Grid) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The numbers of the edges of so many bins of about one width, or of those nearest to given edges, and a note.

    Raises:
        ValueError: there is no bin, or edges do not rise, lie outside of those of the grid, or have one nearest edge.

    >>> bin_edges(2, Grid(0, 10, cells=5))
    (array([0, 2, 5]), ())
    >>> bin_edges([0, 2.2, 10], Grid(0, 10, cells=5))[1]
    ('bins: moved to the nearest edges of the grid: 2.2 to 2',)
    """
    if isinstance(bins, SupportsIndex) and not isinstance(bins, np.ndarray):
        if not 1 <= index(bins) <= grid.cells:
            raise Refused("bins", f"from one to {grid.cells} are needed, as many as there are cells, got {index(bins)}")
        return grid.nearest_edge(np.linspace(grid.lower, grid.upper, index(bins) + 1)), ()
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise Refused("bins", "a number of bins is needed, or at least two edges, each above the one before")
    if edges[0] < grid.lower or edges[-1] > grid.upper:
        raise Refused("bins", f"edges from {grid.lower:g} to {grid.upper:g} are needed, where the grid is")
    return _nearest(edges, grid)


def _nearest(edges: FloatArray, grid: Grid) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    at = grid.nearest_edge(edges)
    found, width = grid.edge(at), np.diff(grid.edges).min()
    tied = np.flatnonzero(np.diff(at) == 0)
    if len(tied):
        pair = " and ".join(f"{edge:.10g}" for edge in edges[tied[0] : tied[0] + 2])
        raise Refused("bins", f"{pair} have the same nearest edge of the grid, {found[tied[0]]:.10g}")
    moved = np.flatnonzero(np.abs(found - edges) > ROUNDING * width)
    return at, (_moved(edges[moved].tolist(), found[moved].tolist()),) if len(moved) else ()


def _moved(edges: list[float], found: list[float]) -> str:
    pairs = [f"{edge:.10g} to {place:.10g}" for edge, place in zip(edges, found, strict=True)]
    more = f", and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return f"bins: moved to the nearest edges of the grid: {', '.join(pairs[:MOST_NAMED])}{more}"


def _closed(noise: FloatArray) -> FloatArray:
    """With an edge below all records and an edge above all: there is no noise on them."""
    return np.pad(noise, ((0, 0), (1, 1)))


def _widened(ends: FloatArray, share: FloatArray) -> FloatArray:
    """Intervals wide enough to hold the share that is shown, which is shrunken and never negative."""
    return np.stack([np.minimum(ends[:, 0], share), np.maximum(ends[:, 1], share)], axis=1)
