"""Are scores honest? Share of positives against mean score, read from released counts of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import chance
from ..arrays import FloatArray
from ..postprocess import GroupCounts, GroupNoise, share_intervals
from ..postprocess.inference.simulation_seed import sampling_generator
from .class_table import ClassTable, TableReading
from .covering import EACH
from .score_readings import GROUPS, groups_of_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade
    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCalibration(TableReading):
    """The observed share of positives against the mean score, in groups of cells. Scores count as middles of cells.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``.
        prob_true: Share of positives in each group, of the same shape; NaN where nobody was counted.
        count: Records in each group, never below zero.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        starts: The first cell of each group.
        table: What the curve was read from.
    """

    KIND: ClassVar[str] = "score-calibration"
    SIZE: ClassVar[tuple[float, float]] = display.SQUARE

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    starts: NDArray[np.int64]
    table: ClassTable

    @classmethod
    def read(cls, table: ClassTable) -> ScoreCalibration:
        """Ten groups of about equal size by the released counts, at no further loss."""
        return cls.of_groups(table, GROUPS)

    @classmethod
    def of_groups(cls, table: ClassTable, groups: int) -> ScoreCalibration:
        """At most `groups` groups of about equal size, by the released counts.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a calibration curve")
        return cls.beginning(table, groups_of_cells(table, groups))

    @classmethod
    def beginning(cls, table: ClassTable, starts: NDArray[np.int64]) -> ScoreCalibration:
        """Groups that begin with these cells.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a calibration curve")
        negative, positive = _grouped(table.inside(table.counts.likely), starts)
        count, edges = negative + positive, table.edges_at(starts)
        summed = np.add.reduceat(table.inside(table.counts.likely).sum(axis=0) * table.middles, starts)
        mean = np.divide(summed, count, out=(edges[:-1] + edges[1:]) / 2, where=count > 0)
        true = np.divide(positive, count, out=np.full_like(count, np.nan), where=count > 0)
        return cls(np.clip(mean, edges[:-1], edges[1:]), true, count, edges, starts, table)

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `prob_true`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each holds the share of positives among these records of its group; with `population`, the share among the
        population that the records were drawn from, which needs independent units of one record each. The interval is 0
        to 1 where noise alone can explain the count of a group.

        Args:
            level: The chance of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        if population:
            self.table.require_independent()
        nothing = np.zeros_like(self.count)
        noise = _grouped(self.table.inside(self.table.errors(population=False, generator=generator)), self.starts)
        negative, positive = _grouped(self.table.inside(self.table.counts.unbiased), self.starts)
        normal = sampling_generator(generator).standard_normal(noise[:, 0].shape) if population else None
        groups = GroupCounts(positive, negative, nothing, self.edges[:-1], self.edges[1:])
        return share_intervals(groups, GroupNoise(noise[:, 1], noise[:, 0], nothing), normal, chance("level", level))

    def _covers(self) -> str:
        return EACH

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_calibration(
            self.prob_pred, self.prob_true, self.count, privacy, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        return {"prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count}

    def _arrays(self) -> dict[str, object]:
        return {**self._columns(), "starts": self.starts}

    @classmethod
    def _opened(cls, opened: Opened) -> ScoreCalibration:
        starts = cast("Any", opened.arrays["starts"]).astype(np.int64)
        return cls.beginning(ClassTable.from_evidence(opened.evidence, opened.privacy), starts)

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.count)} groups",)

    def _title(self) -> str:
        return "Calibration curve"

    def _summary(self) -> list[tuple[str, str]]:
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


def _grouped(cells: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Counts (..., 2, cells) of groups: (..., 2, groups)."""
    return np.add.reduceat(cells, starts, axis=-1)
