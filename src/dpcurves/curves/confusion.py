"""The confusion matrix at one threshold: four counts, and the rates that are computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import display
from ..arguments import chance
from ..arrays import FloatArray
from ..postprocess import GroupCounts, GroupNoise, interval, mean_intervals, share_intervals
from ..postprocess.inference.simulation_seed import sampling_generator
from ..postprocess.summaries.roc import LEAST_MASS
from .class_table import ClassTable, TableReading
from .covering import EACH
from .question import require_independent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade
    from ..release import PrivacyStatement

TRUE_NEGATIVE, FALSE_POSITIVE, FALSE_NEGATIVE, TRUE_POSITIVE = range(4)
RATES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = MappingProxyType(
    {
        "recall": ((TRUE_POSITIVE,), (FALSE_NEGATIVE,)),
        "false_positive_rate": ((FALSE_POSITIVE,), (TRUE_NEGATIVE,)),
        "precision": ((TRUE_POSITIVE,), (FALSE_POSITIVE,)),
        "negative_predictive_value": ((TRUE_NEGATIVE,), (FALSE_NEGATIVE,)),
        "accuracy": ((TRUE_NEGATIVE, TRUE_POSITIVE), (FALSE_POSITIVE, FALSE_NEGATIVE)),
        "flagged": ((FALSE_POSITIVE, TRUE_POSITIVE), (TRUE_NEGATIVE, FALSE_NEGATIVE)),
        "prevalence": ((FALSE_NEGATIVE, TRUE_POSITIVE), (TRUE_NEGATIVE, FALSE_POSITIVE)),
    }
)
"""Each rate as two groups of counts: the first divided by the sum of both."""


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(TableReading):
    """The confusion matrix at one threshold, and rates: a score at or above the threshold is called positive.

    Attributes:
        threshold: The edge of the grid that is nearest to the one that was asked for.
        matrix: Counts of shape ``(2, 2)``, as in scikit-learn: rows are the true labels, columns the predicted ones,
            negatives first. Never below 0.
        table: What they were read from.
    """

    KIND: ClassVar[str] = "confusion"

    threshold: float
    matrix: FloatArray
    table: ClassTable

    @classmethod
    def read(cls, table: ClassTable, threshold: float = 0.5) -> Confusion:
        """From released counts, for nothing."""
        point = table.point_at(threshold)
        return cls(float(table.thresholds[point]), _four(table.counts.likely, point).reshape(2, 2), table)

    @property
    def rates(self) -> dict[str, float]:
        """Rates by name; NaN where the denominator is 0.

        The shares that are predicted positive (``flagged``) and are positive (``prevalence``), and the usual rates.
        """
        part, rest = _parts(self.matrix.ravel())
        shares = np.divide(part, part + rest, out=np.full(len(part), np.nan), where=part + rest >= LEAST_MASS)
        return dict(zip(RATES, shares.tolist(), strict=True))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Confidence limits of `rates`, in their order, shape ``(rates, 2)``: each holds on its own, at this `level`.

        They are for the rates of these records; with `population`, that of the population that the records were drawn
        from, which needs independent units of one record each. The interval is 0 to 1 where noise alone can explain
        what was counted.

        Args:
            level: The chance of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level, noise = chance("level", level), _parts(self._noise(population, generator))
        part, rest = _parts(_four(self.table.counts.unbiased, self._point))
        nothing = np.zeros_like(part)
        normal = sampling_generator(generator).standard_normal(noise[0].shape) if population else None
        groups = GroupCounts(part, rest, nothing, nothing, nothing)
        return share_intervals(groups, GroupNoise(*noise, nothing), normal, level)

    def count_intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Confidence limits of the four counts, each on its own, of shape ``(2, 2, 2)``: limits along the last axis.

        With `population`, they are for the expected counts in a sample of this size; see `mean_intervals`. Arguments
        and errors as for `intervals`.
        """
        level, noise = chance("level", level), self._noise(population, generator)
        counts = _four(self.table.counts.unbiased, self._point)
        if population:
            normal, size = sampling_generator(generator).standard_normal(noise.shape), max(float(counts.sum()), 1.0)
            return np.reshape(mean_intervals(counts, noise, normal, size, level), (2, 2, 2))
        found = [interval(count, errors, level) for count, errors in zip(counts.tolist(), noise.T, strict=True)]
        return np.reshape(np.maximum(np.array(found), 0.0), (2, 2, 2))

    @property
    def _point(self) -> int:
        return self.table.point_at(self.threshold)

    def _noise(self, population: bool, generator: np.random.Generator | None) -> FloatArray:
        if population:
            require_independent(self.privacy)
        return _four(self.table.errors(population=False, generator=generator), self._point)

    def _covers(self) -> str:
        return EACH

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_confusion(self.matrix, self.threshold, self.rates, privacy, shades=shaded, ax=ax, name=name)

    def _columns(self) -> dict[str, Any]:
        return {"rate": list(self.rates), "value": list(self.rates.values())}

    def _arrays(self) -> dict[str, object]:
        return {"threshold": self.threshold, "matrix": self.matrix, "rates": self.rates}

    @classmethod
    def _opened(cls, opened: Opened) -> Confusion:
        table = ClassTable.from_evidence(opened.evidence, opened.privacy)
        return cls.read(table, float(opened.arrays["threshold"]))

    def _in_short(self) -> tuple[str, ...]:
        return (f"threshold {self.threshold:g}", f"accuracy {self.rates['accuracy']:.3f}")

    def _title(self) -> str:
        return f"Confusion matrix at {self.threshold:g}"

    def _summary(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), display.numeral(rate)) for name, rate in self.rates.items()]


def _four(cells: FloatArray, point: int) -> FloatArray:
    """True negatives, false positives, false negatives and true positives: (..., 2, cells) to (..., 4)."""
    first = cells.shape[-1] - point  # the highest cells, from this one on, are called positive
    sides = [each.sum(axis=-1) for each in (cells[..., :first], cells[..., first:])]
    return np.stack(sides, axis=-1).reshape(*cells.shape[:-2], 4)


def _parts(four: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The counts that each rate is a share of, and the rest: (..., 4) to (..., rates)."""
    part, rest = (
        np.stack([four[..., list(counted)].sum(axis=-1) for counted in side], axis=-1)
        for side in zip(*RATES.values(), strict=True)
    )
    return part, rest
