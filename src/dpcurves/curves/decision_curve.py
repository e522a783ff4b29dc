"""Net benefit of acting on predicted probabilities, by threshold probability, from released counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..data import Outside
from ..postprocess import Band
from ..postprocess.inference.ratio_bands import above, benefit_at
from ..postprocess.summaries.net_benefit import net_benefit, odds
from .class_table import BAND, ClassTable, TableReading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade
    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(TableReading):
    """The net benefit of acting where a probability is at or above a threshold (Vickers and Elkin 2006).

    It is the share of true positives minus the share of false positives times the odds of the threshold, t / (1 - t):
    acting at a probability of t or above implies that a false positive costs t / (1 - t) times what a true one gains.

    Attributes:
        threshold: Rising probabilities, the inner edges of the grid, of shape ``(points,)``.
        benefit: Net benefit of acting by the scores, per record, of the same shape.
        all_benefit: The net benefit of acting on everybody. That of acting on nobody is 0.
        table: What the curve was read from.
    """

    KIND: ClassVar[str] = "decision-curve"

    threshold: FloatArray
    benefit: FloatArray
    all_benefit: FloatArray
    table: ClassTable

    @classmethod
    def read(cls, table: ClassTable) -> DecisionCurve:
        """From released counts, for nothing.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a decision curve")
        at, points = table.grid.edges[1:-1], _points(table)
        false, true = above(table.counts.likely)
        size = float(false[-1] + true[-1])
        by_scores = net_benefit(true[points], false[points], size, at)
        everybody = net_benefit(true[-1:], false[-1:], size, at)
        return cls(at, by_scores, everybody, table)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> Band:
        """Lower and upper ends of `benefit`, at all thresholds at once with chance `level`.

        They hold the net benefit of these records; with `population`, that of the population that the records were
        drawn from, which needs independent units of one record each. See `ratio_bands`.

        Args:
            level: The probability that no true value lies outside its ends.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        points, thresholds = _points(self.table), len(self.table.thresholds)
        asked = (benefit_at(odds(self.threshold), points, thresholds),)
        ((lower, upper),) = self.table.bands(asked, level, population=population, generator=generator)
        return lower[points], upper[points]

    def _ends(self, level: float, /, *, population: bool) -> Band:
        return self.band(level, population=population)

    def _covers(self) -> str:
        return BAND

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_decision(
            self.threshold, self.benefit, self.all_benefit, privacy, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        return {"threshold": self.threshold, "benefit": self.benefit, "all_benefit": self.all_benefit}

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.threshold)} thresholds",)

    def _title(self) -> str:
        return "Decision curve"

    def _summary(self) -> list[tuple[str, str]]:
        return [("thresholds", str(len(self.threshold)))]


def _points(table: ClassTable) -> np.ndarray:
    """The number of the highest slots above each inner edge of the grid."""
    apart = int(table.grid.outside is Outside.APART)
    return table.grid.slots - apart - np.arange(1, table.grid.cells)
