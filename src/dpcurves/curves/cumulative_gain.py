"""What is gained by looking at the highest scores first: cumulative gain and lift, from released counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..postprocess import Band
from ..postprocess.inference.count_bands import ABOVE, BELOW, BOTH, NEGATIVE, POSITIVE, CountBands, share_ends
from ..postprocess.inference.swept import EDGES, swept
from ..postprocess.summaries.roc import LEAST_MASS
from .class_table import BandedReading, ClassTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade
    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeGain(BandedReading):
    """What share of the positives lies among the records with the highest scores, by threshold.

    Attributes:
        flagged: Share of all records above each threshold, of shape ``(points,)``; NaN without records.
        gain: Share of the positives above it, of the same shape; NaN without positives.
        lift: The gain over the flagged share: how many times more positives than among as many records at random.
        thresholds: Falling; a score at or above threshold i is above at point i. The first is infinite.
        table: What the curve was read from.
    """

    KIND: ClassVar[str] = "cumulative-gain"
    SIZE: ClassVar[tuple[float, float]] = display.SQUARE
    BANDED: ClassVar[tuple[str, ...]] = ("flagged", "gain", "lift")

    flagged: FloatArray
    gain: FloatArray
    lift: FloatArray
    thresholds: FloatArray
    table: ClassTable

    @classmethod
    def read(cls, table: ClassTable) -> CumulativeGain:
        """From released counts, for nothing."""
        negative, positive = table.counts.likely[:, ::-1]
        flagged, gain = _share_above(negative + positive), _share_above(positive)
        lift = np.divide(gain, flagged, out=np.full_like(gain, np.nan), where=flagged > 0)
        return cls(flagged, gain, lift, table.thresholds, table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band, Band]:
        """Lower and upper ends of `flagged`, of `gain` and of `lift`, at all thresholds at once with chance `level`.

        They hold what these records have; with `population`, what all have that the records were drawn from, which
        needs independent units of one record each. All are worked out from the same ends of counts, so all hold at
        once, and more often than `level` says. A lift whose share of records may be none has no upper end but infinity.

        Args:
            level: The chance that nothing leaves its ends.
            population: Whether they cover what holds for the population.
            generator: For the simulation.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        found = self.table.bands(level, population=population, generator=generator)
        flagged, gain = _shares(found, BOTH), _shares(found, POSITIVE)
        precision = share_ends(found.of(ABOVE, POSITIVE), found.of(ABOVE, NEGATIVE))
        low, high = (ends[-1:] for ends in precision)  # below all thresholds: the share of positives among all
        most = np.divide(precision[1], low, out=np.full_like(precision[1], np.inf), where=low > 0)
        return flagged, gain, (precision[0] / np.maximum(high, 1e-300), most)

    def _ends(self, level: float, /, *, population: bool) -> Band:
        flagged, gain, _ = self.band(level, population=population)
        return swept(flagged, gain)

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_gain(self.flagged, self.gain, privacy, edges=EDGES, shades=shaded, ax=ax, name=name)

    def _columns(self) -> dict[str, FloatArray]:
        return {"threshold": self.thresholds, "flagged": self.flagged, "gain": self.gain, "lift": self.lift}

    def _arrays(self) -> dict[str, object]:
        return {"flagged": self.flagged, "gain": self.gain, "lift": self.lift, "thresholds": self.thresholds}

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.gain) - 1} cells",)

    def _title(self) -> str:
        return "Cumulative gain"

    def _summary(self) -> list[tuple[str, str]]:
        return [("thresholds", str(len(self.gain) - 1))]


def _share_above(count: FloatArray) -> FloatArray:
    above = np.append(0.0, np.cumsum(count))
    return above / above[-1] if above[-1] >= LEAST_MASS else np.full_like(above, np.nan)


def _shares(found: CountBands, row: int) -> Band:
    """Ends of the share of a class that lies above each threshold; above all of them lies nobody."""
    lower, upper = share_ends(found.of(ABOVE, row), found.of(BELOW, row))
    upper[0] = 0.0
    return lower, upper
