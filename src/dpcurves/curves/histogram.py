"""Counts of records in the cells of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import chance
from ..arrays import FloatArray
from ..data import Axis, Grid, Outside
from ..display import numeral
from ..postprocess import public_generator, simultaneous_errors
from ..postprocess.inference.bands import PILOT, scaled
from ..postprocess.inference.moments import KNOWN, known_counts, possible, whole_ends
from ..postprocess.inference.resampling import sampling_errors
from ..postprocess.inference.sampling import means_at_once, outermost
from ..postprocess.inference.simulation_seed import draws_for, sampling_generator
from ..release import ALL, Evidence, PrivacyStatement, Setting
from ..workloads import Cells, Needs, needed
from .keys import By, axes_of
from .notes import notes_on_end_cells
from .question import require_independent, statement_of
from .result import Covered
from .turns.declared_grid import read_cells, written_cells
from .turns.one_table import axis_label, in_rows, in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade


Places = NDArray[np.int64] | None
"""Numbers of edges between which counts are summed; None: each cell by itself."""


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Covered):
    """Counts of records in each cell of a grid.

    Values outside the grid are clamped into its end cells, unless it counts them apart. Where the number of records is
    public, no count is above it, also not that of a category; if an interval of level 0.95 holds all numbers up to it,
    a count is *not known*: NaN.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        count: Records per cell, never below zero, nor above the number of records where that is public, of shape
            ``(cells,)``.
        unbiased: The counts before negative values were set to zero: their sums have no bias.
        error: Standard deviation of the noise of one cell, in records; it does not include sampling.
        missing: Records without a value, unbiased.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: What the curve was read from.
        grid: Where the cells lie, without the cells for values outside the grid if it counts these apart.

    Where cells are of unequal width, a picture shows records per unit of x. As a data frame: columns ``left``,
    ``right`` and ``count``; of declared values, ``value`` and ``count``.
    """

    KIND: ClassVar[str] = "histogram"

    x: FloatArray
    count: FloatArray
    unbiased: FloatArray
    error: float
    missing: float
    label: str
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> Histogram:
        """From counts of one row of cells."""
        (cells,), missing = evidence.sums.reconstruct(np.array(evidence.values, dtype=np.float64), evidence.total)
        unbiased = cells[1:-1] if grid.outside is Outside.APART else cells
        error = sqrt(evidence.sums.nested.parts[-1].noise.variance)
        below = np.append(0.0, np.cumsum(cells))
        noted = privacy.noted(*notes_on_end_cells(grid, np.arange(grid.cells + 1), below, evidence))
        found = cls(grid.edges, unbiased, unbiased, error, float(missing), label, noted, evidence, grid)
        return replace(found, count=found.count_between(np.arange(grid.cells + 1)))

    @property
    def total(self) -> float:
        """The number of records with a value, inside or outside the grid: estimated unless public. At least 1."""
        return max(float(self._cells.sum()), 1.0)

    def groups(self, most: int) -> NDArray[np.int64]:
        """Indices of the edges that divide all cells into at most this many groups of neighbours."""
        width = -(-len(self.count) // most)
        return np.append(np.arange(0, len(self.count), width), len(self.count))

    def count_between(self, at: NDArray[np.int64]) -> FloatArray:
        """Records between the edges with these indices: sums of unbiased counts, as `count` never below zero."""
        place, most = None if len(at) > len(self.unbiased) else at, self.error * np.sqrt(np.diff(at))
        counts = _between(self.unbiased, place)
        return known_counts(counts, most, self.privacy.most_records, lambda: self._errors_at(KNOWN, place, None))

    def intervals(
        self,
        level: float,
        *,
        population: bool = False,
        at: NDArray[np.int64] | None = None,
        generator: np.random.Generator | None = None,
    ) -> FloatArray:
        """Lower and upper ends of the counts, all correct at once with chance `level`: shape ``(cells, 2)``.

        The noise of the unbiased counts is simulated, and a quantile of its largest studentised deviation gives the
        widths. The intervals are for the counts of these records, so their ends are whole numbers; with `population`,
        for the expected counts in a sample of this size, with noise and sampling simulated together: see
        `means_at_once`. That needs independent units of one record each. No end is below zero, or above the number of
        records where that is public.

        Args:
            level: The probability that all intervals cover.
            population: Whether they are for the population, not for these records.
            at: Numbers of edges: intervals of the counts between these. None: of each cell.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = chance("level", level)
        records = self._around(level, at, generator)
        if not population:
            return records
        require_independent(self.privacy)
        return outermost(records, self._of_population(level, at, generator))

    def _around(self, level: float, at: Places, generator: np.random.Generator | None) -> FloatArray:
        return whole_ends(_between(self.unbiased, at), self._errors_at(level, at, generator), self.privacy.most_records)

    def _errors_at(self, level: float, at: Places, generator: np.random.Generator | None) -> FloatArray:
        is_usual = at is None and generator is None
        errors = self._errors.get(level) if is_usual else None
        if errors is None:
            errors = simultaneous_errors(self._noise(at, generator), level)
        if is_usual:
            self._errors[level] = errors
        return errors

    @cached_property
    def _errors(self) -> dict[float, FloatArray]:
        """Simultaneous errors of all cells, by level: pictures and tables ask for them again and again."""
        return {}

    def _of_population(self, level: float, at: Places, generator: np.random.Generator | None) -> FloatArray:
        counts, likely = (_between(cells, at) for cells in (self.unbiased, np.maximum(self.unbiased, 0.0)))
        chance, size = sampling_generator(generator), max(round(max(self.total, float(likely.sum()))), 1)
        scale, noises = scaled(self._noise(at, generator))
        errors = (noise + sampling_errors(likely, size, len(noise), chance) for noise in noises)
        ends = means_at_once(counts, scale**2, errors, likely, self.total, level)
        return possible(np.stack(ends, axis=1), self.privacy.most_records)

    def _noise(self, at: Places, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        law = self.evidence.sums
        draws = law.simulate(self.evidence.total, PILOT + draws_for(law.cells), public_generator(generator))
        return (_between(self._inner(cells[:, 0]), at) for cells, _ in draws)

    @cached_property
    def _cells(self) -> FloatArray:
        return np.asarray(self.evidence.unbiased[0])

    def _inner(self, cells: FloatArray) -> FloatArray:
        return cells[..., 1:-1] if self.grid.outside is Outside.APART else cells

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_bars(
            self.x, self.count, privacy, upwards="records per cell", label=self.label, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        if self.grid.values is not None:
            return {"value": self.grid.values, "count": self.count}
        return {"left": self.x[:-1], "right": self.x[1:], "count": self.count}

    def _arrays(self) -> dict[str, FloatArray]:
        return {"x": self.x, "count": self.count}

    def _question(self) -> dict[str, object]:
        return {"label": self.label, **written_cells(self.grid)}

    @classmethod
    def _opened(cls, opened: Opened) -> Histogram:
        question = opened.evidence["question"]
        grid = read_cells(question, opened.arrays["x"])
        return cls.read(Evidence.from_json(opened.evidence["releases"][0]), grid, question["label"], opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.count)} cells")

    def _title(self) -> str:
        return f"Histogram of {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        noise = f"{numeral(self.error)} records"
        return [("cells", numeral(len(self.count))), ("standard error of the noise of one cell", noise)]


@dataclass(frozen=True, slots=True)
class HistogramQuestion:
    """Counts of records in each cell of `grid`. One turn.

    Attributes:
        column: A column of numbers.
        grid: Public cells. Values outside are clamped into the end cells, unless they are counted apart.
        by: Categories that were declared in public: one histogram for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        measured_in: The measuring unit of the column, for the axis.
    """

    column: str
    grid: Grid
    by: By = None
    measured_in: str = ""

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table of counts, read cell by cell."""
        label = axis_label(self.column, self.measured_in)
        found = yield from needed(Cells(axes_of(self.by, Axis(self.column, self.grid))), ALL)
        privacy = statement_of(found.releases)
        return in_rows(self.by, found.counts, lambda row: Histogram.read(row, self.grid, label, privacy))

    def __str__(self) -> str:
        return in_words("histogram", self.column, self.by)


def _between(cells: FloatArray, at: Places) -> FloatArray:
    """Sums of the cells between these edges."""
    return cells if at is None else np.add.reduceat(cells, at[:-1], axis=-1)
