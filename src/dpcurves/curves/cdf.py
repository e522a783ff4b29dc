"""The distribution function of one column."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..data import Axis, Categories, Grid, Hint, Outside, Read
from ..postprocess import inverse_at, population_band, simultaneous_band, value_at
from ..privacy.given import share
from ..release import Evidence, Face, Release, Setting, Step
from .bins import Bins
from .counted import axis_label, counted, hint_of, hinted, in_words
from .prefixes import Prefixes
from .question import card_of, face_of, require_independent
from .refining import is_worth_looking, refining
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CDF(Result):
    """The share of records below each edge of a grid, among records that have a value.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        y: Shares of records below them, non-decreasing in [0, 1], of the same shape; linear inside cells. The last
            edge is closed: records on it are below.
        count: How many records have a value: estimated unless public.
        label: What the x axis shows.
        face: What stands on every picture of the curve.
        prefixes: The evidence that the curve was read from.
    """

    x: FloatArray
    y: FloatArray
    count: float
    label: str
    face: Face
    prefixes: Prefixes

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, face: Face) -> CDF:
        """From counts of one row of cells."""
        return cls.along(Prefixes(evidence, grid), label, face)

    @classmethod
    def along(cls, prefixes: Prefixes, label: str, face: Face) -> CDF:
        """From readings along a grid, of one turn or of several."""
        return cls(prefixes.grid.edges, prefixes.shares, prefixes.total, label, face, prefixes)

    def cdf(self, t: ArrayLike) -> FloatArray:
        """The share of records below `t`: linear inside cells, 0 below the grid."""
        return value_at(self.x, self.y, np.asarray(t, dtype=np.float64))

    def quantile(self, p: ArrayLike) -> FloatArray:
        """The least value below which a share `p` of the records lies.

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        return inverse_at(self.x, self.y, np.asarray(p, dtype=np.float64))

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Two curves at the edges that have the true curve between them, everywhere at once, with chance `level`.

        The noise of the unbiased estimate is simulated, its largest studentised deviation bounded, and the monotone
        hull taken; edges inside merged cells span both neighbours. If there were several turns, the estimate is that of
        the last one: see `Prefixes`. The true curve is that of the records; with
        `population`, that of the population they were drawn from: half of the error chance goes to the inequality of
        Dvoretzky, Kiefer and Wolfowitz (with Massart's constant), which needs independent units of one record each.

        Returns:
            Lower and upper shares, each of the shape of `x`.
        """
        curve, known = self.prefixes.unbiased_shares, self.prefixes.measured
        deviations = self.prefixes.deviations(generator)
        if population:
            require_independent(self.face)
            lower, upper = population_band(curve, deviations, level, self.count, known)
        else:
            lower, upper = simultaneous_band(curve, deviations, level, known)
        return np.minimum(lower, self.y), np.maximum(upper, self.y)  # shrinkage may have taken the curve outside

    def quantile_interval(
        self, p: float, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Two values that have the quantile `p` between them; for all `p` at once with chance `level`."""
        at = np.asarray(share("p", p))
        lower, upper = self.band(level, population=population, generator=generator)
        return float(inverse_at(self.x, upper, at)), float(inverse_at(self.x, lower, at))

    def histogram(self, bins: SupportsIndex | ArrayLike) -> Bins:
        """The share of records in each of so many bins of one width, or between these edges. Spends nothing.

        Raises:
            ValueError: there is no bin, or edges do not rise or lie outside of the grid.

        >>> import dpcurves as dp
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=256), epsilon=100, adjacency=dp.REPLACE_ONE)
        >>> curve.histogram([0, 4, 8]).share.round(2).tolist()
        [0.67, 0.33]
        """
        return Bins.along(self.prefixes, bins, self.label, self.face)

    def plot(self, ax: Axes | None = None, *, level: float | None = None, name: str | None = None) -> Axes:
        """Draw the curve, with a band if a `level` is given. Spends nothing, however often it is called."""
        band = None if level is None else self.band(level)
        return display.draw_cdf(self.x, self.y, self.face, label=self.label, band=band, level=level, ax=ax, name=name)

    def to_frame(self, *, level: float | None = None) -> Any:
        """Columns ``x`` and ``y`` as a data frame; with a `level`, also the band as ``lower`` and ``upper``."""
        band = {} if level is None else dict(zip(("lower", "upper"), self.band(level), strict=True))
        return display.to_frame({"x": self.x, "y": self.y, **band})

    def to_json(self) -> str:
        """The published format (``kind`` is ``cdf``), with the noise law: a curve read from it has its bands."""
        question = {"label": self.label, "outside": self.prefixes.grid.outside.name}
        releases = [turn.to_json() for turn in self.prefixes.turns]
        return display.envelope(
            "cdf", {"x": self.x, "y": self.y}, self.face, {"question": question, "releases": releases}
        )

    @classmethod
    def from_json(cls, text: str) -> CDF:
        """The curve that `to_json` wrote."""
        opened = display.opened(text, "cdf")
        question = opened.evidence["question"]
        grid = Grid.from_edges(opened.arrays["x"], outside=Outside[question["outside"]])
        return cls.along(Prefixes.from_json(opened.evidence["releases"], grid), question["label"], opened.face)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.x) - 1} cells")

    def _repr_html_(self) -> str:
        return card_of(f"Distribution of {self.label}", self.plot, self._summary(), self.face, level=0.95)

    def _summary(self) -> list[tuple[str, str]]:
        return [(f"{p:.0%} quantile", f"{self.quantile(p):.4g}") for p in (0.25, 0.5, 0.75)]


@dataclass(frozen=True, slots=True)
class CdfQuestion:
    """What share of the records lies below each edge of `grid`? Three turns, or one.

    Where it pays, the question looks, refines, and refines once more: it counts a few intervals, then those that the
    answers make worth counting, with 15, 15 and 70 percent of the loss, and reads one curve from all answers. It asks
    one table instead if cells hold many records each, if there are few cells or several categories, or if the trust
    model cannot count again. This is decided in public, from the grid, the loss, the adjacency and the hint.

    Attributes:
        column: A column of numbers.
        grid: Public cells.
        by: Categories that were declared in public: one curve for each, all for the price of one.
        measured_in: The measuring unit of the column, for the axis.
        hint: What is known in public about how the records lie: `SPREAD` over a good part of the grid, so that cells
            may be counted together; `PEAKED` in a small part, so that it has to be looked for; `ATOMS`: single cells
            hold much, so that each has to be counted. None: nothing. It must not come from the data.

    Raises:
        ValueError: the hint is none of these.
    """

    column: str
    grid: Grid
    by: Categories | None = None
    measured_in: str = ""
    hint: Hint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hint", hint_of(self.hint))

    def steps(self, setting: Setting) -> Generator[Step, Release, Any]:
        """Counts of three partitions, or one table of counts, read along the grid."""
        label, axis = axis_label(self.column, self.measured_in), Axis(self.column, self.grid)
        if self.by is not None or not is_worth_looking(axis, self.hint, setting):
            return (yield from counted(axis, self.by, Read.PREFIXES, label, CDF.read, hint=self.hint))
        releases = yield from refining(axis)
        *earlier, last = (Evidence.of(release) for release in releases)
        return CDF.along(Prefixes(last, self.grid, tuple(earlier)), label, face_of(releases))

    def __str__(self) -> str:
        return in_words("distribution function", self.column, self.by) + hinted(self.hint)
