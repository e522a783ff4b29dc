"""Histograms of one column, and of two columns together.

Each cell gets one noisy count, ``c_i = n_i + z_i``, with independent noise from the whole loss: a record lies in one
cell, so disjoint cells together cost as much as one.

- `Histogram.count` clips counts at 0 and at a public number of records; `count_between` adds cells up, whose noise
  variances add up as well (a `CDF` has less noise in wide intervals).
- *Intervals* hold for all cells at the same time: ``c_i`` plus and minus a simulated quantile of the largest noise; for
  the population, sampling is simulated as well.
- A count is *unknown*, NaN, if its interval of level 0.95 contains all possible numbers.
- `Histogram2D`: cells of a plane, from an estimator of `histograms` that may smooth over neighbours.

Formal guarantees: `HistogramQuestion` loses the granted loss, pure or zero-concentrated (`mechanisms.linear`).

References: Dwork, McSherry, Nissim and Smith 2006 (noisy histograms); Ghosh, Roughgarden and Sundararajan 2009.

>>> import dpcurves as dp
>>> ages = dp.histogram([20, 30, 40, 70] * 500, grid=dp.Grid(0, 100, cells=4), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> ages.count.tolist(), ages.intervals(0.95).shape  # lower and upper end for each cell
([500.0, 1000.0, 500.0, 0.0], (4, 2))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import (
    InvalidArgument,
    WrongArgumentType,
    describe_value,
    require_integer,
    require_probability,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray
from ..conversation import (
    WHOLE_BUDGET,
    CellWorkload,
    Evidence,
    Needs,
    PrivacyStatement,
    Setting,
    TableWorkload,
    ask_workload,
)
from ..conversation.notes import add_advice
from ..data import Axis, Grid, Outside
from ..histograms import EstimatedTable, TableEstimator
from ..inference import (
    estimate_scales,
    join_intervals,
    public_generator,
    simultaneous_errors,
    simultaneous_mean_ends,
)
from ..inference.bands import TUNING as BAND_TUNING
from ..inference.moments import KNOWN_PROBABILITY, clip_to_possible, known_counts, whole_ends
from ..inference.simulation import choose_draws, sampling_generator, simulate_sampling_errors
from .by_category import build_by_category, describe_question, format_axis_label
from .outside import infinite_note_thresholds, note_on_order
from .question import (
    By,
    TableQuestion,
    build_privacy_statement,
    cells_to_json,
    grid_from_cells,
    prepend_category_axes,
    require_independent,
)
from .result import (
    UNINFORMATIVE_RELEASE,
    IntervalResult,
    PlotArguments,
    ReleasedResult,
    interval_scopes,
    notes_on_crowded_ends,
    notes_on_end_cells,
)

Places = NDArray[np.int64] | None
"""Indices of edges between which counts are summed; None: each cell singly."""


NO_CELLS = f"no cells hold more records than noise alone may give: {UNINFORMATIVE_RELEASE} of them"
"""Note on cells of which neither a single count nor a sum stands out from the noise."""


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(IntervalResult):
    """Counts of records in each cell of a grid.

    Values outside the grid are clipped into its end cells, unless the grid counts them apart. If the number of records
    is public, no count exceeds it, not even the count of a category; a count is *unknown*, NaN, if its interval of
    level 0.95 contains every number up to this limit.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        count: Records per cell, of shape ``(cells,)``; never below zero, nor above a public number of records.
        unbiased_counts: The counts before negative values were set to zero; sums of them are unbiased.
        error: Standard deviation of the noise of one cell, in records; it does not include sampling.
        missing: Unbiased number of records without a value.
        label: The label of the x axis.
        privacy: The privacy statement, which every plot shows.
        evidence: The released counts.
        grid: The cells; if values outside are counted apart, without the cells for these.

    If cells have unequal widths, plots show records per unit of x. Data frame: columns ``left``, ``right`` and
    ``count``; for declared values, ``value`` and ``count``.
    """

    KIND = "histogram"
    AXIS_COLUMNS = ("left", "right", "value")
    IS_ADDITIVE = True
    SUPPRESSIBLE_COLUMNS = ("count",)
    TOGETHER = 1
    """Largest number of histograms in one plot: a filled band hides the histograms behind it."""
    TITLE = "Histogram of {label}"
    COLUMN_WORDS = display.describe_columns(
        left="{label}, from", right="{label}, to", value="{label}", count=("records", display.CellFormat.COUNT)
    )
    MEASURED = "count"
    REPR_FACTS = "{label}, {count.size} cells"
    SUMMARY = (("cells", "{count.size!n}"), ("standard error of the noise of one cell", "{error!n} records"))
    ARRAYS = ("x", "count")
    JSON_SCHEMAS = MappingProxyType({"x": display.EDGES})

    x: FloatArray
    count: FloatArray
    unbiased_counts: FloatArray
    error: float
    missing: float
    label: str
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid

    @classmethod
    def from_counts(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> Histogram:
        """Return the histogram of released counts of one row of cells, with a note on crowded end cells.

        Args:
            evidence: The counts, one row of all cells of the grid, with the distribution of their noise.
            grid: The grid whose cells were counted.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement; the notes are added to it.
        """
        (cells,), missing = evidence.sums.reconstruct(np.array(evidence.values, dtype=np.float64), evidence.total)
        unbiased = cells[1:-1] if grid.outside is Outside.APART else cells
        error = sqrt(evidence.sums.nested_distribution.parts[-1].noise.variance)
        below = np.append(0.0, np.cumsum(cells))
        noted = privacy.with_notes(*notes_on_end_cells(grid, np.arange(grid.cells + 1), below, evidence))
        if is_noise_alone(unbiased, error):
            noted = noted.with_notes(NO_CELLS)
        histogram = cls(grid.edges, unbiased, unbiased, error, float(missing), label, noted, evidence, grid)
        return replace(histogram, count=histogram.count_between(np.arange(grid.cells + 1)))

    @property
    def total(self) -> float:
        """The number of records with a value, inside or outside the grid: estimated unless public. At least 1."""
        return max(float(self.evidence.unbiased_cells[0].sum()), 1.0)

    def group_edges(self, most: int) -> NDArray[np.int64]:
        """Return indices of the edges that divide all cells into at most `most` groups of neighbouring cells."""
        width = -(-len(self.count) // most)
        return np.append(np.arange(0, len(self.count), width), len(self.count))

    def count_between(self, edges: NDArray[np.int64]) -> FloatArray:
        """Return the numbers of records between neighbouring edges of these indices, (edges - 1,): sums of unbiased
        counts, but never below zero; NaN where unknown.

        Args:
            edges: Indices of edges of the grid, increasing.
        """
        edges = require_edge_indices(edges, self.unbiased_counts.shape[-1])
        indices = None if len(edges) > len(self.unbiased_counts) else edges
        deviations = self.error * np.sqrt(np.diff(edges))
        counts = _sum_between(self.unbiased_counts, indices)
        return known_counts(
            counts,
            deviations,
            self.privacy.most_records,
            lambda: self._find_simultaneous_errors(KNOWN_PROBABILITY, indices, None),
        )

    def intervals(
        self,
        level: float,
        *,
        population: bool = False,
        edges: NDArray[np.int64] | None = None,
        generator: np.random.Generator | None = None,
    ) -> FloatArray:
        """Return confidence limits of the counts, simultaneous with probability `level`: shape ``(cells, 2)``.

        The noise of the unbiased counts is simulated, and a quantile of its largest studentised deviation determines
        the widths. By default the intervals are for the counts of these records, so their limits are integers. With
        `population` they are for the expected counts in a sample of this size, with noise and sampling simulated
        together; this needs independent units of one record each. No limit is below zero, or above a public number of
        records.

        Args:
            level: The probability that all intervals cover.
            population: Whether they are for the population, not for these records.
            edges: Indices of edges: intervals of the counts between these. None: of each cell.
            generator: The random numbers of the simulation; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = require_probability("level", level)
        edges = None if edges is None else require_edge_indices(edges, self.unbiased_counts.shape[-1])
        records = self._record_intervals(level, edges, generator)
        if not population:
            return records
        require_independent(self.privacy)
        return join_intervals(records, self._population_intervals(level, edges, generator))

    def _record_intervals(self, level: float, edges: Places, generator: np.random.Generator | None) -> FloatArray:
        """Return simultaneous intervals of the counts of these records, integers, (cells, 2); with `edges`, of sums
        between these edges.

        Args:
            level: Probability that all intervals are right.
            edges: Indices of edges; None: intervals of the cells.
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        return whole_ends(
            _sum_between(self.unbiased_counts, edges),
            self._find_simultaneous_errors(level, edges, generator),
            self.privacy.most_records,
        )

    def _find_simultaneous_errors(
        self, level: float, edges: Places, generator: np.random.Generator | None
    ) -> FloatArray:
        """Return half-widths, in records, of simultaneous intervals of counts, one for each single or merged cell.

        Half-widths of single cells by the fixed seed are cached, because plots and tables share them. They are
        simulated anew for each given `generator`.

        Args:
            level: Probability that all intervals hold at once.
            edges: Indices of the edges of merged cells; None: single cells.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        if edges is not None:
            return simultaneous_errors(self._simulate_noise(edges, generator), level)
        return self._compute_once(
            level, generator, lambda: simultaneous_errors(self._simulate_noise(None, generator), level)
        )

    def _population_intervals(self, level: float, edges: Places, generator: np.random.Generator | None) -> FloatArray:
        """Return simultaneous intervals of the expected counts in a sample of this size, shape (intervals, 2).

        Args:
            level: Simultaneous confidence level.
            edges: Indices of edges, between which counts are summed.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        counts, non_negative = (
            _sum_between(cells, edges) for cells in (self.unbiased_counts, np.maximum(self.unbiased_counts, 0.0))
        )
        rng = sampling_generator(generator)
        size = max(round(max(self.total, float(non_negative.sum()))), 1)
        scale, noises = estimate_scales(self._simulate_noise(edges, generator))
        errors = (noise + simulate_sampling_errors(non_negative, size, len(noise), rng) for noise in noises)
        limits = simultaneous_mean_ends(counts, scale**2, errors, non_negative, self.total, level)
        return clip_to_possible(np.stack(limits, axis=1), self.privacy.most_records)

    def _simulate_noise(self, edges: Places, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        """Yield blocks of simulated noise of the counts, (draws, cells), or of their sums between edges `edges`.

        Args:
            edges: Indices of the edges of merged cells; None: single cells.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        distribution = self.evidence.sums
        draws = distribution.simulate(
            self.evidence.total, BAND_TUNING.pilot_draws + choose_draws(distribution.cells), public_generator(generator)
        )
        inner = slice(1, -1) if self.grid.outside is Outside.APART else slice(None)
        return (_sum_between(cells[:, 0, inner], edges) for cells, _ in draws)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the counts as bars with their intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_bars(self.x, self.count, upwards="records per cell", label=self.label, shades=shades, **how)

    KEY_WORDS = display.describe_columns(records=("records, sum of the cells", display.CellFormat.COUNT))

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the sum of the counts.

        Args:
            level: Not used: the sum has no interval.
            population: Not used.

        Returns:
            ``records``, the sum of the counts.
        """
        return {"records": float(np.sum(self.count))}

    def _describe_merged_table(
        self,
        edge_indices: NDArray[np.int64],
        *,
        level: float | None,
        population: bool,
        suppress: float | None,
    ) -> display.ResultTable:
        """Return a table of counts in which neighbouring cells are merged.

        Declared values are shown by the first and the last merged value.

        Args:
            edge_indices: Indices of the edges between merged cells.
            level: Confidence level of the intervals; None: the table has none.
            population: If True, intervals for the population are included.
            suppress: Width of an interval, relative to its count, above which the count is shown as ``..``.
        """
        if len(edge_indices) > len(self.count) and level is not None:
            return self.describe_table(level=level, population=population, suppress=suppress)
        values = self.grid.values
        starts, ends = self.x[edge_indices[:-1]], self.x[edge_indices[1:]]
        if values is not None:
            starts, ends = values[edge_indices[:-1]], values[edge_indices[1:] - 1]
        columns: dict[str, Any] = {"left": starts, "right": ends, "count": self.count_between(edge_indices)}
        scopes = interval_scopes(self.privacy, population=population).values() if level is not None else ()
        for is_population in scopes:
            limits = self.intervals(level or 0.0, population=is_population, edges=edge_indices).T
            suffix = "_population" * is_population
            columns |= {f"{name}{suffix}": limit for name, limit in zip(("lower", "upper"), limits, strict=True)}
        interval_columns = [name for name in columns if name.startswith(("lower", "upper"))]
        return self._build_table(self._format_columns(columns, interval_columns, suppress), level or 0.0)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each cell: bounds or declared value, and count."""
        if self.grid.values is not None:
            return {"value": self.grid.values, "count": self.count}
        return {"left": self.x[:-1], "right": self.x[1:], "count": self.count}

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the histogram with `_from_json`: label and cells."""
        return {"label": self.label, **cells_to_json(self.grid)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Histogram:
        """Return the histogram from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        grid = grid_from_cells(document.question, document.arrays["x"])
        return cls.from_counts(document.releases[0], grid, document.question["label"], document.privacy)


@dataclass(frozen=True, slots=True)
class HistogramQuestion(TableQuestion):
    """Counts of records in each cell of `grid`. One round.

    Attributes:
        column: A column of numbers.
        grid: Public cells. Values outside are clipped into the end cells, unless they are counted apart.
        by: Categories that were declared in public: one histogram for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        measured_in: The measuring unit of the column, for the axis.
    """

    column: str
    grid: Grid
    by: By = None
    measured_in: str = ""

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the only query, one noisy count per cell; return the histogram or, with `by`, one histogram per
        category.

        Args:
            setting: Without effect: the query is the same for any loss.
        """
        label = format_axis_label(self.column, self.measured_in)
        answer = yield from ask_workload(
            CellWorkload(prepend_category_axes(self.by, Axis(self.column, self.grid))), WHOLE_BUDGET
        )
        privacy = build_privacy_statement(answer.releases)
        return build_by_category(
            self.by, answer.counts, lambda row: Histogram.from_counts(row, self.grid, label, privacy)
        )

    def __str__(self) -> str:
        return describe_question("histogram", self.column, self.by)


def is_noise_alone(counts: FloatArray, error: float) -> bool:
    """Return whether noise alone may explain the counts: neither single cells nor sums of neighbouring cells are too
    large.

    For each number of neighbouring cells the limit is the 95% quantile of the largest sum of empty cells.

    Args:
        counts: Unbiased counts of the cells.
        error: Standard deviation of the noise of a cell.

    >>> is_noise_alone(np.array([3.0, -2.0, 4.0, 1.0]), 2.0), is_noise_alone(np.full(1000, 3.0), 4.0)
    (True, False)
    """
    for width in {1, *(-(-len(counts) // groups) for groups in (32, 16, 8, 4))}:
        sums = np.add.reduceat(counts, np.arange(0, len(counts), width))
        # the largest of m Laplace noises exceeds b log(m / 0.1) with probability 0.05; normal noises stay below it
        limit = error * np.sqrt(width / 2) * np.log(max(len(sums), 2) / 0.1)
        if sums.max() > limit:
            return False
    return True


def is_plane_of_noise(estimated: EstimatedTable, error: float) -> bool:
    """Return whether noise alone may explain the counts of a plane: neither the total nor any cell is too large.

    If each cell is counted by itself, errors of independent cells add up. Estimators that share counts between cells
    measure the sum by some blocks, with a standard deviation of 4 to 12 direct counts on an empty plane.

    Args:
        estimated: The estimated counts of all cells, and of records outside.
        error: Standard deviation of a direct count at the whole privacy loss.
    """
    cells = estimated.cells
    total = float(cells.sum()) + estimated.outside
    if estimated.has_shared_estimates:
        return total <= 20.0 * error
    largest = error * sqrt(0.5) * log(cells.size / 0.1)  # as in `is_noise_alone`, of single cells
    return total <= 3.0 * error * sqrt(cells.size) and float(cells.max()) <= largest


def require_edge_indices(edges: Any, cells: int) -> NDArray[np.int64]:
    """Return indices of edges as an array.

    Args:
        edges: At least two indices, increasing, from 0 to `cells`.
        cells: Number of cells of the grid.

    Raises:
        TypeError: `edges` is not a list of integers.
        ValueError: the indices do not increase, or lie outside of the grid.
    """
    if isinstance(edges, np.ndarray) and edges.dtype.kind in "iu" and edges.ndim == 1:
        indices = edges.astype(np.int64)
    else:
        items = require_sequence("edges", edges, "a list of indices of edges, as in [0, 2, 5],")
        indices = np.array([require_integer("edges", item) for item in items[: cells + 2]], dtype=object)
    if len(indices) < 2 or not (np.diff(indices) > 0).all() or indices[0] < 0 or indices[-1] > cells:
        raise InvalidArgument("edges", f"at least two rising indices of edges are needed, from 0 to {cells}")
    return indices.astype(np.int64)


def _sum_between(cells: FloatArray, edges: Places) -> FloatArray:
    """Return sums of the cells between these edges, along the last axis; the cells themselves if `edges` is None.

    Args:
        cells: Numbers by cell, on the last axis.
        edges: Indices of edges between which cells are summed; None: each cell by itself.
    """
    return cells if edges is None else np.add.reduceat(cells, edges[:-1], axis=-1)


JOINED_CELLS_NOTE = (
    "counts are estimates that join cells of like counts: they have a bias that nobody knows, and no intervals"
)
"""Note on counts of a plane whose cells share an estimate with neighbours of like counts."""
CLIPPED_VALUES_NOTE = "cells at the ends of a grid also hold all values beyond it"
"""Note on counts of a plane if values beyond a grid were counted in its end cells."""
GRID_EXAMPLE = "a Grid, as in Grid(0, 100, cells=64),"
"""What the error about an argument of another type says is needed."""


@dataclass(frozen=True, eq=False, repr=False)
class Histogram2D(ReleasedResult):
    """Counts of records in each cell of a plane.

    Values outside a grid are clipped into its end cells, unless the grid counts them apart.

    Attributes:
        x_edges: Edges along the first column, of shape ``(columns + 1,)``.
        y_edges: Edges along the second column, of shape ``(rows + 1,)``.
        count: Records in each cell, of shape ``(columns, rows)``; never below zero, nor above a public number of
            records.
        outside: Records outside the grids, if a grid counts these apart.
        labels: The names of both columns.
        privacy: The privacy statement, which every plot shows.
        evidence: The releases, round by round.

    Data frame: columns ``x_left``, ``x_right``, ``y_left``, ``y_right`` and ``count``, a row for each cell.
    """

    KIND = "histogram-2d"
    TITLE = "{labels[0]} and {labels[1]}"
    COLUMN_WORDS = display.describe_columns(
        x_left="{labels[0]}, from",
        x_right="{labels[0]}, to",
        y_left="{labels[1]}, from",
        y_right="{labels[1]}, to",
        count=("records", display.CellFormat.COUNT),
    )
    REPR_FACTS = "{labels[0]}, {labels[1]}, {count.shape[0]} x {count.shape[1]} cells"
    ARRAYS = ("x_edges", "y_edges", "count", "outside")
    JSON_SCHEMAS = MappingProxyType({"x_edges": display.NUMBERS, "y_edges": display.NUMBERS, "count": display.ROWS})

    x_edges: FloatArray
    y_edges: FloatArray
    count: FloatArray
    outside: float
    labels: tuple[str, str]
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]

    @classmethod
    def from_counts(cls, estimated: EstimatedTable, axes: tuple[Axis, Axis], privacy: PrivacyStatement) -> Histogram2D:
        """Return the histogram of estimated counts, clipped to possible values.

        Args:
            estimated: Estimated counts of all cells of the plane and outside it, with their releases.
            axes: Column and grid of each axis.
            privacy: The privacy statement, stored with the result.
        """
        evidence = tuple(Evidence.from_release(release) for release in estimated.releases)
        labels = str(axes[0].column), str(axes[1].column)
        upper_limit = privacy.most_records
        counts = clip_to_possible(estimated.cells, upper_limit)
        outside = float(clip_to_possible(np.array(estimated.outside), upper_limit))
        return cls(axes[0].grid.edges, axes[1].grid.edges, counts, outside, labels, privacy, evidence)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the counts as colours of a plane; return the axes.

        Args:
            shades: Not used: the plane has no intervals.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_plane(self.count, (self.x_edges, self.y_edges), self.labels, **how)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame with one row per cell: edges along both axes, and count."""
        left, bottom = (edges[:-1] for edges in (self.x_edges, self.y_edges))
        right, top = (edges[1:] for edges in (self.x_edges, self.y_edges))
        across = len(bottom)
        upwards = len(left)
        return {
            "x_left": np.repeat(left, across), "x_right": np.repeat(right, across),
            "y_left": np.tile(bottom, upwards), "y_right": np.tile(top, upwards), "count": self.count.ravel(),
        }  # fmt: skip

    def _question(self) -> dict[str, object]:
        """Return the JSON field ``labels``: the labels of both columns."""
        return {"labels": list(self.labels)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Histogram2D:
        """Return the histogram from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: counts and edges do not fit together in length.
        """
        x_edges, y_edges = (np.asarray(document.arrays[name], dtype=np.float64) for name in ("x_edges", "y_edges"))
        rows = document.arrays["count"]
        if len(rows) != len(x_edges) - 1 or any(len(row) != len(y_edges) - 1 for row in rows):
            raise InvalidArgument(
                "curve",
                "x_edges, y_edges and count do not fit together in length: use the text that to_json wrote",
            )
        across, upwards = document.question["labels"]
        count = np.array(rows, dtype=np.float64)
        outside = float(document.arrays["outside"])
        return cls(x_edges, y_edges, count, outside, (across, upwards), document.privacy, document.releases)

    def _summary(self) -> list[tuple[str, str]]:
        """Return two pairs of texts: the shape of the table, and the estimated number of records."""
        cells = f"{self.count.shape[0]} x {self.count.shape[1]}"
        return [("cells", cells), ("records, about", display.format_number(float(self.count.sum() + self.outside)))]


def require_estimator(estimator: object) -> None:
    """Raise unless `estimator` is an estimator of a table, or None.

    Raises:
        TypeError: `estimator` is neither.
    """
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "estimate_table")):
        raise WrongArgumentType(
            "estimator",
            f"an estimator of dpcurves.histograms is needed, as in DawaEstimator(), got {describe_value(estimator)}",
        )


def notes_on_plane(estimated: EstimatedTable, axes: tuple[Axis, Axis], setting: Setting) -> tuple[str, ...]:
    """Return notes on a plane of noise alone, on crowded end cells of each column, and on records outside a plane that
    counts them apart.

    Args:
        estimated: The estimated counts; a rehearsal has no notes.
        axes: The columns and their cells.
        setting: Public facts, of which loss and adjacency determine the noise.
    """
    if any(release.allotment is None for release in estimated.releases):
        return ()
    # twice the noise of direct counts at the whole privacy loss, because pilot queries use a fraction of the budget
    noise = 2.0 * sqrt(setting.count_noise().variance)
    notes = list[str]()
    for axis_index, axis in enumerate(axes):
        counts = estimated.cells.sum(axis=1 - axis_index)
        deviation = noise * sqrt(estimated.cells.size / len(counts))
        below = np.concatenate([[0.0], np.cumsum(counts)])
        end_notes = notes_on_crowded_ends(axis.grid, np.arange(axis.grid.cells + 1), below, (deviation, deviation))
        notes += [f"{axis.column}: {note}" for note in end_notes]
    within = float(estimated.cells.sum())
    if is_plane_of_noise(estimated, noise / 2.0):
        notes.insert(0, NO_CELLS)
    return (*notes, *note_on_order(estimated.outside, within + estimated.outside, noise, OUTSIDE_OF_PLANE))


OUTSIDE_OF_PLANE = add_advice(
    "have a value outside of the cells of the plane", "check the units, or name grids that hold them"
)
"""Part of the note on a plane if many records, by released counts, lie outside its cells."""


@dataclass(frozen=True, slots=True)
class Histogram2DQuestion(TableQuestion):
    """Counts of records in each cell of a plane of two columns.

    Attributes:
        x: A column of numbers.
        y: Another column of numbers.
        x_grid: Public cells of the first column.
        y_grid: Public cells of the second column.
        estimator: One of `dpcurves.histograms`, which counts the plane. None: blocks of cells are counted, and blocks
            with many records are divided and counted again (`RefinedGridEstimator`); if the trust model cannot count
            twice, each cell is counted.

    Raises:
        ValueError: both columns are the same, or the plane has more than 2**20 cells.
        TypeError: a grid is no `Grid`, or `estimator` is no estimator.
    """

    x: str
    y: str
    x_grid: Grid
    y_grid: Grid
    estimator: TableEstimator | None = None

    def __post_init__(self) -> None:
        require_type("x_grid", self.x_grid, Grid, GRID_EXAMPLE)
        require_type("y_grid", self.y_grid, Grid, GRID_EXAMPLE)
        for name in ("x", "y"):
            require_type(name, getattr(self, name), str, "the name of a column")
        if self.x == self.y:
            raise InvalidArgument(
                "y",
                f"a column other than that of x is needed, got {describe_value(self.y)} for both: name another column",
            )
        most_cells = 2**20  # 8 MB of counts
        if self.x_grid.slots * self.y_grid.slots > most_cells:
            cells = self.x_grid.slots * self.y_grid.slots
            raise InvalidArgument(
                "x_grid, y_grid",
                f"at most {most_cells} cells are allowed in all, got {cells}: give grids of fewer cells",
            )
        require_estimator(self.estimator)

    def steps(self, setting: Setting) -> Needs[Histogram2D]:
        """Yield the queries by which the question's estimator counts the cells of a plane, in one or several rounds;
        return the histogram.

        Args:
            setting: Loss and adjacency of the question.
        """
        axes = Axis(self.x, self.x_grid), Axis(self.y, self.y_grid)
        estimated = yield from ask_workload(TableWorkload(axes, estimator=self.estimator), WHOLE_BUDGET)
        # `notes_on_plane` reports outside records of the plane as a whole
        privacy = build_privacy_statement(estimated.releases, note_thresholds=infinite_note_thresholds(self.x, self.y))
        privacy = privacy.with_notes(*notes_on_plane(estimated, axes, setting))
        joined = (JOINED_CELLS_NOTE,) if estimated.has_shared_estimates else ()
        clipped = (CLIPPED_VALUES_NOTE,) if any(axis.grid.outside is Outside.CLIPPED for axis in axes) else ()
        return Histogram2D.from_counts(estimated, axes, privacy.with_notes(*joined, *clipped))

    def __str__(self) -> str:
        return f"counts of {self.x} and {self.y}"
