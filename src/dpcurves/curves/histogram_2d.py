"""Histogram of two columns, in cells of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arguments import Refused, WrongKind, require_kind, shown
from ..arrays import FloatArray
from ..data import Axis, Grid, Outside
from ..histograms import EstimatedTable, TableEstimator
from ..postprocess.inference.moments import possible
from ..release import ALL, Evidence, PrivacyStatement, Setting
from ..workloads import Needs, Table, needed
from .question import statement_of
from .result import Released

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

JOINED = "counts are estimates that join cells of like counts: they have a bias that nobody knows, and no intervals"
CLAMPED = "cells at the ends of a grid also hold all values beyond it"
MOST_CELLS = 2**20
GRID = "a Grid, as in Grid(0, 100, cells=64),"


@dataclass(frozen=True, eq=False, repr=False)
class Histogram2D(Released):
    """Counts of records in each cell of a plane.

    Values outside of a grid are clamped into its end cells, unless it counts them apart.

    Attributes:
        x_edges: Along the first column, of shape ``(columns + 1,)``.
        y_edges: Along the second column, of shape ``(rows + 1,)``.
        count: Records in each cell, never below zero, nor above the number of records where that is public, of shape
            ``(columns, rows)``.
        outside: Records outside the grids, where a grid counts these apart.
        labels: Both columns.
        privacy: The privacy statement, which every picture shows.
        evidence: What was released, turn by turn.

    Data frame: columns ``x_left``, ``x_right``, ``y_left``, ``y_right`` and ``count``, a row for each cell.
    """

    KIND: ClassVar[str] = "histogram-2d"

    x_edges: FloatArray
    y_edges: FloatArray
    count: FloatArray
    outside: float
    labels: tuple[str, str]
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]

    @classmethod
    def read(cls, estimated: EstimatedTable, axes: tuple[Axis, Axis], privacy: PrivacyStatement) -> Histogram2D:
        """From estimated counts."""
        evidence = tuple(Evidence.of(release) for release in estimated.releases)
        labels = str(axes[0].column), str(axes[1].column)
        most = privacy.most_records
        counts = possible(estimated.cells, most)
        outside = float(possible(np.array(estimated.outside), most))
        return cls(axes[0].grid.edges, axes[1].grid.edges, counts, outside, labels, privacy, evidence)

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.evidence

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_plane(self.count, (self.x_edges, self.y_edges), self.labels, privacy, ax=ax, name=name)

    def _columns(self) -> dict[str, FloatArray]:
        left, bottom = (edges[:-1] for edges in (self.x_edges, self.y_edges))
        right, top = (edges[1:] for edges in (self.x_edges, self.y_edges))
        across, upwards = (len(bottom), len(left))
        return {
            "x_left": np.repeat(left, across), "x_right": np.repeat(right, across),
            "y_left": np.tile(bottom, upwards), "y_right": np.tile(top, upwards), "count": self.count.ravel(),
        }  # fmt: skip

    def _arrays(self) -> dict[str, object]:
        return {"x_edges": self.x_edges, "y_edges": self.y_edges, "count": self.count, "outside": self.outside}

    def _question(self) -> dict[str, object]:
        return {"labels": list(self.labels)}

    @classmethod
    def _opened(cls, opened: Opened) -> Histogram2D:
        x_edges, y_edges = (np.asarray(opened.arrays[name], dtype=np.float64) for name in ("x_edges", "y_edges"))
        rows = opened.arrays["count"]
        if len(rows) != len(x_edges) - 1 or any(len(row) != len(y_edges) - 1 for row in rows):
            raise Refused("curve", "x_edges, y_edges, count do not fit together in length")
        across, upwards = opened.evidence["question"]["labels"]
        evidence = tuple(Evidence.from_json(turn) for turn in opened.evidence["releases"])
        count, outside = np.array(rows, dtype=np.float64), float(opened.arrays["outside"])
        return cls(x_edges, y_edges, count, outside, (across, upwards), opened.privacy, evidence)

    def _in_short(self) -> tuple[str, ...]:
        return (*self.labels, f"{self.count.shape[0]} x {self.count.shape[1]} cells")

    def _title(self) -> str:
        return f"{self.labels[0]} and {self.labels[1]}"

    def _summary(self) -> list[tuple[str, str]]:
        cells = f"{self.count.shape[0]} x {self.count.shape[1]}"
        return [("cells", cells), ("records, about", display.numeral(float(self.count.sum() + self.outside)))]


@dataclass(frozen=True, slots=True)
class Histogram2DQuestion:
    """Counts of records in each cell of a plane of two columns.

    Attributes:
        x: A column of numbers.
        y: Another one.
        x_grid: Public cells of the first column.
        y_grid: Public cells of the second column.
        estimator: One of `dpcurves.histograms`: how the plane is counted. None: blocks of cells are counted, and blocks
            with many records are divided and counted again (`RefinedGridEstimator`); where the trust model cannot count
            twice, each cell is counted.

    Raises:
        ValueError: both are one column, or the plane has more than 2**20 cells.
        TypeError: a grid is no `Grid`, or `estimator` is no estimator.
    """

    x: str
    y: str
    x_grid: Grid
    y_grid: Grid
    estimator: TableEstimator | None = None

    def __post_init__(self) -> None:
        require_kind("x_grid", self.x_grid, Grid, GRID)
        require_kind("y_grid", self.y_grid, Grid, GRID)
        for name in ("x", "y"):
            require_kind(name, getattr(self, name), str, "the name of a column")
        if self.x == self.y:
            raise Refused("y", f"another column than the first one is needed, got {shown(self.y)}")
        if self.x_grid.slots * self.y_grid.slots > MOST_CELLS:
            cells = self.x_grid.slots * self.y_grid.slots
            raise Refused("x_grid, y_grid", f"a plane of at most {MOST_CELLS} cells is laid out, got {cells}")
        if self.estimator is not None and (isinstance(self.estimator, type) or not hasattr(self.estimator, "counts")):
            raise WrongKind(
                "estimator", f"one of dpcurves.histograms is needed, as in DawaEstimator(), got {shown(self.estimator)}"
            )

    def steps(self, setting: Setting) -> Needs[Histogram2D]:
        """Estimates of all cells."""
        axes = Axis(self.x, self.x_grid), Axis(self.y, self.y_grid)
        estimated = yield from needed(Table(axes, estimator=self.estimator), ALL)
        privacy = statement_of(estimated.releases)
        joined = (JOINED,) if estimated.joined else ()
        clamped = (CLAMPED,) if any(axis.grid.outside is Outside.CLAMPED for axis in axes) else ()
        return Histogram2D.read(estimated, axes, privacy.noted(*joined, *clamped))

    def __str__(self) -> str:
        return f"counts of {self.x} and {self.y}"
