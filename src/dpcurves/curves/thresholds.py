"""How many records lie below a few edges of a grid that may be far too fine to be counted out."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import Refused, chance, make_each_whole, require_kind, several
from ..arrays import FloatArray
from ..data import Axis, Grid, Outside
from ..display import numeral
from ..postprocess import Weighed, mean_counts, non_decreasing, tail_bound
from ..queries import PrefixQuery
from ..release import ALL, Evidence, PrivacyStatement, Release, Setting, Step
from .question import require_independent, statement_of
from .result import Covered
from .turns.declared_grid import grid_from_json, grid_to_json
from .turns.one_table import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(Covered):
    """Counts of records below edges, among records that have a value.

    Attributes:
        x: Edges, rising, of shape ``(thresholds,)``. Values outside the grid are clamped into its end cells, unless it
            counts them apart: below its last edge are then all records.
        count: Noisy integers: records below each edge. Nothing was smoothed; noise may make them fall.
        error: Standard error of the noise of each count, for these records.
        label: What the x axis shows.
        privacy: What stands on every picture.
        evidence: What was released.
        grid: The cells whose edges these are.

    As a data frame: columns ``x``, ``count`` and ``error``.
    """

    KIND: ClassVar[str] = "thresholds"

    x: FloatArray
    count: NDArray[np.int64]
    error: FloatArray
    label: str
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> Thresholds:
        """From what was released, in any order."""
        law = evidence.path
        counts = dict(zip(law.at, evidence.values, strict=False))
        slots = sorted(counts)
        missing = () if law.missing is None else evidence.values[-1:]
        sorted_law = replace(law, at=tuple(slots))
        values = tuple(counts[each] for each in slots)
        return cls(
            edges_below(grid, np.array(slots, dtype=np.int64)),
            np.array(values, dtype=np.int64),
            np.array([sqrt(law.variance) if each else 0.0 for each in slots]),
            label, privacy, Evidence(sorted_law, (*values, *missing), evidence.total), grid,
        )  # fmt: skip

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the counts: those whose paths are alike share noise. Shape ``(thresholds, thresholds)``."""
        return self.evidence.path.covariance

    @property
    def rising(self) -> FloatArray:
        """The closest counts that do not fall, at least 0."""
        return np.maximum(non_decreasing(self.count.astype(np.float64)), 0.0)

    @property
    def holds_all(self) -> bool:
        """Whether the last edge was asked for where values above are clamped: below it are all records."""
        return self.grid.outside is Outside.CLAMPED and self.grid.cells in self.evidence.path.at

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Lower and upper ends of the counts, all correct at once with chance `level`: shape ``(thresholds, 2)``.

        By the exact law of the noise of each count, the chance of an error divided by their number. The counts are
        those of these records; with `population`, the means of such counts over samples of this size: half of the
        error chance goes to sampling, which is binomial for independent units of one record each, and taken as
        Poisson's where the number of units is private.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        error = (1 - chance("level", level)) / len(self.x)
        if not population:
            return self._around(error)
        require_independent(self.privacy)
        total, missing = self.evidence.total, self.evidence.path.missing
        units = inf if total is None or missing is None else max(float(total - self.evidence.values[-1]), 1.0)
        least, most = self._around(error / 2).T
        return mean_counts(least, most, units, error / 2)

    def _around(self, error: float) -> FloatArray:
        """Counts less and more what their noise exceeds with chance `error` at most."""
        law = self.evidence.path
        margin = tail_bound((Weighed(law.levels, 1.0, law.noise),), error / 2)
        reach = np.where(self.error > 0, margin, 0.0)
        return np.maximum(np.stack([self.count - reach, self.count + reach], axis=1), 0.0)

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_counts(self.x, self.count, privacy, label=self.label, shades=shaded, ax=ax, name=name)

    def _columns(self) -> dict[str, Any]:
        return {**self._arrays(), "error": self.error}

    def _arrays(self) -> dict[str, Any]:
        return {"x": self.x, "count": self.count}

    def _question(self) -> dict[str, object]:
        return {"label": self.label, "grid": grid_to_json(self.grid)}

    @classmethod
    def _opened(cls, opened: Opened) -> Thresholds:
        return cls.from_evidence_json(opened.evidence, opened.privacy)

    @classmethod
    def from_evidence_json(cls, stored: Mapping[str, Any], privacy: PrivacyStatement) -> Thresholds:
        """The inverse of `evidence_json`.

        Raises:
            ValueError: the object is not what `evidence_json` writes.
        """
        question, (released,) = stored["question"], stored["releases"]
        return cls.read(Evidence.from_json(released), grid_from_json(question["grid"]), question["label"], privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.x)} thresholds")

    def _title(self) -> str:
        return f"Counts of {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        noise = f"{numeral(self.error.max(initial=0.0))} records"
        return [("thresholds", numeral(len(self.x))), ("standard error of the noise of a count", noise)]


@dataclass(frozen=True, slots=True)
class ThresholdsQuestion:
    """How many records lie below some edges of `grid`? Others may be asked later, under the same request, for nothing.

    Attributes:
        column: A column of numbers.
        grid: Public cells, as fine as doubles can tell apart; they are not laid out.
        at: Numbers of edges, each once: 1 is the first inner edge. Where values outside are clamped, 0 has no records
            below it, and the last edge has all.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: there is no edge, one stands twice, or the grid has fewer.
        TypeError: `grid` is no grid, or `at` is a single number.
    """

    column: str
    grid: Grid
    at: tuple[int, ...]
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_kind("grid", self.grid, Grid, "a Grid, as in Grid(0, 100, cells=64),")
        object.__setattr__(self, "at", several("at", self.at, "a tuple of numbers of edges, as in (1, 7),"))
        make_each_whole(self, at="at")
        if not self.at or len(set(self.at)) < len(self.at):
            raise Refused("at", "at least one number of an edge is needed, each once")
        if any(not 0 <= edge <= self.grid.cells for edge in self.at):
            raise Refused("at", f"numbers of edges from 0 to {self.grid.cells} are needed, got {self.at}")

    @property
    def paid_as(self) -> PrefixQuery:
        """All counts along this grid."""
        return PrefixQuery((Axis(self.column, self.grid),), at=())

    def steps(self, setting: Setting) -> Generator[Step, Release, Thresholds]:
        """One look."""
        apart = int(self.grid.outside is Outside.APART)
        look = yield Step(replace(self.paid_as, at=tuple(edge + apart for edge in self.at)), share=ALL)
        label = axis_label(self.column, self.measured_in)
        return Thresholds.read(Evidence.of(look), self.grid, label, statement_of([look]))

    def __str__(self) -> str:
        return f"counts of {self.column} below edges of a grid"


def edges_below(grid: Grid, slots: NDArray[np.int64]) -> FloatArray:
    """The edge above the first so many slots. Beyond the grid there is none: its ends stand for it."""
    apart = int(grid.outside is Outside.APART)
    return grid.edge(np.clip(slots - apart, 0, grid.cells))
