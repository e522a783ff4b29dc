"""Released counts of two classes along scores, and what all readings of one release of them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import Refused, chance
from ..arrays import BoolArray, FloatArray
from ..data import Grid, Outside
from ..postprocess.inference.class_counts import ClassCounts
from ..postprocess.inference.ratio_bands import Ratio, Simulated, ratio_bands
from ..release import Evidence, PrivacyStatement
from .question import require_independent
from .result import Covered
from .turns.declared_grid import read_grid, written_cells

if TYPE_CHECKING:
    from ..display import Opened
    from ..postprocess import Band


BAND = "band, all at once,"


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Counts of negatives and positives in the cells of a public grid of scores. Scores in one cell are tied.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
        grid: The cells of the scores.
        privacy: The privacy statement, which every picture shows.
    """

    evidence: Evidence
    grid: Grid
    privacy: PrivacyStatement

    @cached_property
    def counts(self) -> ClassCounts:
        """The counts, and the law of their noise."""
        return ClassCounts(self.evidence.sums, self.evidence.values, self.evidence.total)

    @property
    def tied(self) -> BoolArray | None:
        """Cells with one declared value, in which all scores are the same, (slots,); None where none was declared."""
        if self.grid.values is None:
            return None
        tied = np.ones(self.grid.slots, dtype=np.bool_)
        if self.grid.outside is Outside.APART:
            tied[[0, -1]] = False
        return tied

    @cached_property
    def thresholds(self) -> FloatArray:
        """In falling order; at point i, scores at or above threshold i are called positive. The first is infinite."""
        ends = self.grid.edges[:-1] if self.grid.values is None else self.grid.values
        if self.grid.outside is Outside.APART:  # the upper end of the grid itself lies in its last cell
            ends = np.concatenate([[-np.inf], ends, [np.nextafter(self.grid.upper, np.inf)]])
        return np.append(np.inf, ends[::-1])

    def point_at(self, threshold: float) -> int:
        """The index of the point whose threshold is the edge of the grid that is nearest to this one.

        With declared values it is the first value that is not below the threshold.
        """
        if self.grid.values is not None:
            edge = int(np.searchsorted(self.grid.values, threshold))
            return self.grid.slots - edge - int(self.grid.outside is Outside.APART)
        edge = int(self.grid.nearest_edge(np.array([threshold]))[0])
        return self.grid.slots - edge - int(self.grid.outside is Outside.APART)

    def require_independent(self) -> None:
        """Refuse inference about a population where units have several records, which are not independent.

        Raises:
            ValueError: they have several.
        """
        require_independent(self.privacy)

    def errors(self, *, population: bool, generator: np.random.Generator | None = None) -> FloatArray:
        """Simulated errors of the counts, (draws, 2, slots).

        Raises:
            ValueError: for the population, units have several records.
        """
        if population:
            require_independent(self.privacy)
        return self.counts.errors(population=population, generator=generator)

    def bands(
        self, ratios: Sequence[Ratio], level: float, *, population: bool, generator: np.random.Generator | None
    ) -> tuple[Band, ...]:
        """Ends of bands of ratios at all thresholds, simultaneous with probability `level`; see `ratio_bands`.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = chance("level", level)
        if population:
            require_independent(self.privacy)
        if generator is not None:
            return ratio_bands(Simulated.of(self.counts, population=population, generator=generator), ratios, level)
        asked = (*ratios, level, population)
        if asked not in self._bands:
            found = self._of_population if population else self._of_records
            self._bands[asked] = ratio_bands(found, ratios, level)
        return self._bands[asked]

    @cached_property
    def _bands(self) -> dict[Hashable, tuple[Band, ...]]:
        """Those that were asked for: the same draws make the same bands."""
        return {}

    @cached_property
    def _of_records(self) -> Simulated:
        return Simulated.of(self.counts, population=False, generator=None)

    @cached_property
    def _of_population(self) -> Simulated:
        return Simulated.of(self.counts, population=True, generator=None)

    @property
    def are_probabilities(self) -> bool:
        """Tell whether the grid, or each declared value, lies in [0, 1]."""
        return self.grid.ends[0] >= 0 and self.grid.ends[1] <= 1

    def require_probabilities(self, what: str) -> None:
        """Refuse where scores are no predicted probabilities.

        Raises:
            ValueError: the grid leaves [0, 1].
        """
        if not self.are_probabilities:
            ends = " to ".join(f"{end:g}" for end in self.grid.ends)
            raise Refused("grid", f"{what} is of predicted probabilities, which lie in [0, 1], got {ends}")

    @property
    def middles(self) -> FloatArray:
        """The middle of each cell of the grid, which stands for all scores in it; or the declared value."""
        edges, values = self.grid.edges, self.grid.values
        return (edges[:-1] + edges[1:]) / 2 if values is None else values

    def inside(self, cells: FloatArray) -> FloatArray:
        """Without the scores that are counted apart: (..., slots) to (..., cells)."""
        return cells[..., 1:-1] if self.grid.outside is Outside.APART else cells

    def question(self) -> dict[str, Any]:
        """Plain objects that say what was asked."""
        return {"edges": self.grid.edges.tolist(), **written_cells(self.grid)}

    @classmethod
    def from_evidence(cls, evidence: Mapping[str, Any], privacy: PrivacyStatement) -> ClassTable:
        """The table of a stored curve."""
        question = evidence["question"]
        grid = read_grid(question)
        return cls(Evidence.from_json(evidence["releases"][0]).in_cells(2), grid, privacy)

    def edges_at(self, groups: NDArray[np.int64]) -> FloatArray:
        """The edges of groups of cells that begin with these cells."""
        return np.asarray(self.grid.edges[np.append(groups, self.grid.cells)])


class TableReading(Covered):
    """A statistic that is computed from one released table of counts of two classes, at no further loss.

    Attributes:
        table: What it is read from.
    """

    table: ClassTable

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement, which every picture shows."""
        return self.table.privacy

    @property
    def evidence(self) -> Evidence:
        """Return what was released."""
        return self.table.evidence

    @classmethod
    @abstractmethod
    def read(cls, table: ClassTable) -> Self:
        """From released counts."""

    def _question(self) -> dict[str, Any]:
        return self.table.question()

    @classmethod
    def _opened(cls, opened: Opened) -> Self:
        return cls.read(ClassTable.from_evidence(opened.evidence, opened.privacy))


class BandedReading(TableReading):
    """A curve of several rates by threshold, with simultaneous bands for all of them.

    Attributes:
        BANDED: The columns that `band` gives the ends of, in its order.
    """

    BANDED: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def band(self, level: float, *, population: bool = False) -> tuple[Band, ...]: ...

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The columns; with a `level`, also the lower and upper ends of each rate, as ``precision_lower``.

        The ends are for these records, or, with `population`, for the population.
        """
        columns = dict(self._columns())
        for name, ends in zip(
            self.BANDED, () if level is None else self.band(level, population=population), strict=False
        ):
            columns |= dict(zip((f"{name}_lower", f"{name}_upper"), ends, strict=True))
        return display.to_frame(columns)

    def _covers(self) -> str:
        return BAND
