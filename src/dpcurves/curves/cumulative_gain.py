"""Cumulative gain and lift: the positives among the highest scores, from released counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..postprocess import Band
from ..postprocess.inference.ratio_bands import FLAGGED, PRECISION, RECALL, from_none_to_all
from ..postprocess.inference.swept import EDGES, swept
from ..postprocess.summaries.roc import LEAST_MASS
from .class_table import BandedReading, ClassTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade
    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeGain(BandedReading):
    """The share of the positives among the records with the highest scores, by threshold.

    Attributes:
        flagged: Share of all records above each threshold, of shape ``(points,)``; NaN without records.
        gain: Share of the positives above it, of the same shape; NaN without positives.
        lift: The gain divided by the flagged share: how many times as many positives as among equally many random
            records.
        thresholds: In falling order; at point i, scores at or above threshold i count as above it. The first is
            infinite.
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

        They are for these records; with `population`, for the population that the records were drawn from, which needs
        independent units of one record each. All are simultaneous: see `ratio_bands`. The limits of the lift are the
        tighter of two: those that follow from the limits of precision and prevalence, and those that follow from the
        limits of both shares. Where the share of records above a threshold may be zero the upper limit is infinite.

        Args:
            level: The probability that no true value lies outside its ends.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        asked = FLAGGED, RECALL, PRECISION
        shares = self.table.bands(asked, level, population=population, generator=generator)
        flagged, gain = (from_none_to_all(share) for share in shares[:2])
        prevalence = shares[2][0][-1:], shares[2][1][-1:]  # below all thresholds
        return flagged, gain, _both(_quotient(shares[2], prevalence), _quotient(gain, flagged))

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


def _quotient(part: Band, whole: Band) -> Band:
    """Ends of a quotient of two numbers that lie between theirs; infinity where the second may be 0."""
    (low, high), (least, most) = np.broadcast_arrays(*part), np.broadcast_arrays(*whole)
    upper = np.divide(high, least, out=np.full(high.shape, np.inf), where=least > 0)
    return low / np.maximum(most, 1e-300), upper


def _both(one: Band, other: Band) -> Band:
    """The hull of the ends of both."""
    return np.maximum(one[0], other[0]), np.minimum(one[1], other[1])
