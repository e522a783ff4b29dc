"""Precision against recall, read from released counts of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..display.precision_recall_picture import draw_precision_recall
from ..postprocess import Band
from ..postprocess.inference.ratio_bands import PRECISION, RECALL, from_none_to_all
from ..postprocess.inference.swept import EDGES, swept
from ..postprocess.summaries.precision_recall import average_precision, precision_and_recall
from .class_table import BandedReading, ClassTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade
    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecall(BandedReading):
    """Precision and recall at each threshold: the share of positives above it, and the share of all positives there.

    Attributes:
        precision: Share of positives among the records above each threshold; 1 where none is. Shape ``(points,)``.
        recall: Share of the positives that lie above each threshold, of the same shape; NaN without positives.
        thresholds: In falling order; at point i, scores at or above threshold i count as above it. The first is
            infinite.
        average_precision: The mean precision at the scores of the positives.
        table: What the curve was read from.
    """

    KIND: ClassVar[str] = "precision-recall"
    SIZE: ClassVar[tuple[float, float]] = display.SQUARE
    BANDED: ClassVar[tuple[str, ...]] = ("precision", "recall")

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray
    average_precision: float
    table: ClassTable

    @classmethod
    def read(cls, table: ClassTable) -> PrecisionRecall:
        """From released counts, for nothing."""
        likely = table.counts.likely
        precision, recall = precision_and_recall(likely)
        known = bool(np.isfinite(recall).all())
        mean = float(average_precision(likely)) if known else float("nan")
        return cls(precision, recall, table.thresholds, mean, table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band]:
        """Lower and upper ends of `precision`, and those of `recall`, at all thresholds at once with chance `level`.

        They are for the rates of these records; with `population`, those of the population that the records were drawn
        from, which needs independent units of one record each. The bands of both rates are simultaneous: see
        `ratio_bands`. Where noise alone can explain the count above a threshold, the interval of precision is 0 to 1.

        Args:
            level: The probability that no true value lies outside its ends.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        asked = PRECISION, RECALL
        precision, recall = self.table.bands(asked, level, population=population, generator=generator)
        return precision, from_none_to_all(recall)

    def _ends(self, level: float, /, *, population: bool) -> Band:
        precision, recall = self.band(level, population=population)
        return swept(recall, precision)

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return draw_precision_recall(
            self.recall, self.precision, self.average_precision, privacy, edges=EDGES, shades=shaded, ax=ax, name=name
        )

    def _columns(self) -> dict[str, FloatArray]:
        return {"threshold": self.thresholds, "precision": self.precision, "recall": self.recall}

    def _arrays(self) -> dict[str, object]:
        return {
            "precision": self.precision, "recall": self.recall, "thresholds": self.thresholds,
            "average_precision": self.average_precision,
        }  # fmt: skip

    def _in_short(self) -> tuple[str, ...]:
        return (f"average precision {self.average_precision:.3f}", f"{len(self.recall) - 1} cells")

    def _title(self) -> str:
        return "Precision-recall curve"

    def _summary(self) -> list[tuple[str, str]]:
        return [("average precision", display.numeral(self.average_precision))]
