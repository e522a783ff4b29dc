"""Shares of records in bins of any width, computed from one released distribution function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import Refused, chance
from ..arrays import FloatArray
from ..data import Grid
from ..postprocess import simultaneous_errors
from ..postprocess.inference.bands import scaled
from ..postprocess.inference.sampling import means_at_once, outermost
from ..postprocess.inference.simulation_seed import sampling_generator
from .question import require_independent
from .result import Covered
from .turns.declared_grid import read_grid, written_grid
from .turns.prefixes import PrefixShares
from .turns.spans import Spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade
    from ..release import Evidence, PrivacyStatement


ROUNDING = 1e-6  # of the width of a cell
MOST_NAMED = 10


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Covered):
    """The share of the records in each bin.

    Bins are differences of one curve that never falls: none is negative, and bins over the whole grid add up to all
    records there. Noise is less than that of counting every bin, the more so the wider bins are; where noise adds to
    one bin it takes from its neighbours. Values outside the grid are clamped into its end cells, unless it counts them
    apart; bins at its ends hold them.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``: edges of the grid, for inside its cells nothing was counted.
        share: The share of the records that have a value, of shape ``(bins,)``.
        total: How many records have a value: estimated unless public.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        prefixes: The released counts that the curve was computed from.

    Where bins are of unequal width, a picture shows shares per unit of x. As a data frame: columns ``left``, ``right``,
    ``share`` and ``count``.
    """

    KIND: ClassVar[str] = "bins"

    x: FloatArray
    share: FloatArray
    total: float
    label: str
    privacy: PrivacyStatement
    prefixes: PrefixShares

    @classmethod
    def along(
        cls, prefixes: PrefixShares, bins: SupportsIndex | ArrayLike, label: str, privacy: PrivacyStatement
    ) -> Bins:
        """So many bins of about one width, or those between such edges, of readings along a grid.

        Edges that are not edges of the grid are moved to the nearest one, and a note says so.

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
        `population` that they were drawn from noise and sampling are simulated together: see `means_at_once`. That
        needs independent units of one record each.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = chance("level", level)
        records = self._around(level, generator)
        if not population:
            return records
        require_independent(self.privacy)
        return outermost(records, self._of_population(level, generator))

    def _around(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        counted = self._spans.of(self._below(self.prefixes.unbiased_shares))
        errors = simultaneous_errors(self._noise(generator), level)
        return np.clip(_widened(_inside_and_around(counted - errors, counted + errors), self.share), 0.0, 1.0)

    def _of_population(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        spans, total, chance = self._spans, self.total, sampling_generator(generator)
        below = self._below(self.prefixes.shares)
        counted = total * spans.of(self._below(self.prefixes.unbiased_shares))
        scale, noises = scaled(self._noise(generator))
        errors = (total * each + spans.sampled(below, round(total), len(each), chance) for each in noises)
        ends = means_at_once(counted, (total * scale) ** 2, errors, total * spans.of(below), total, level)
        return np.clip(_inside_and_around(*ends) / total, 0.0, 1.0)

    @cached_property
    def _spans(self) -> Spans:
        """The spans measured inside each bin, then those around each."""
        places = self.prefixes.grid.edges[self.prefixes.measured]
        left, right = self.x[:-1], self.x[1:]
        around = np.searchsorted(places, left, side="right"), np.searchsorted(places, right) + 1
        begin, end = np.searchsorted(places, left) + 1, np.searchsorted(places, right, side="right")
        first, last = np.append(begin, around[0]), np.append(np.maximum(begin, end), around[1])
        return Spans.between(first, last, len(places) + 2)

    def _below(self, shares: FloatArray) -> FloatArray:
        """At measured edges, and at an edge below all records and one above all."""
        return np.concatenate([[0.0], shares[self.prefixes.measured], [1.0]])

    def _noise(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        closed = (np.pad(noise, ((0, 0), (1, 1))) for noise in self.prefixes.deviations(generator))
        return map(self._spans.of, closed)

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
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
        prefixes = PrefixShares.from_json(opened.evidence["releases"], read_grid(question))
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


def _inside_and_around(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The lower ends of what is inside of bins, and the upper ends of what is around: (bins, 2)."""
    bins = len(lower) // 2
    return np.stack([lower[:bins], upper[bins:]], axis=1)


def _widened(ends: FloatArray, share: FloatArray) -> FloatArray:
    """Intervals wide enough to hold the share that is shown, which is shrunken and never negative."""
    return np.stack([np.minimum(ends[:, 0], share), np.maximum(ends[:, 1], share)], axis=1)
