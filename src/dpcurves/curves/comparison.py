"""Comparison of a curve of two tables: a private one of confidential records, and an exact one of public records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from ..display import numeral, span
from ..postprocess import public_generator
from ..postprocess.inference.independent_difference import LEVEL, Measured, difference, pvalue_of
from ..postprocess.inference.simulation_seed import draws_for
from ..postprocess.inference.two_samples import ReleasedSample, alike, kolmogorov_smirnov
from ..release import OPEN
from .binned_residuals import BinnedResiduals
from .calibration import Calibration
from .cdf import CDF
from .histogram import Histogram
from .question import require_independent
from .roc import ROC
from .two_samples import MOST_DRAWS, ks_test

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE = 1 - LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A private curve beside the exact one of a public table, and a test of whether they differ. Costs nothing.

    Formal guarantees: post-processing of the private curve and of public records.

    Attributes:
        private: The released curve.
        open: The curve of the public table, counted exactly and without protection.
        measure: What was compared: the largest difference of distribution functions, or areas.
        value: The difference: of areas, the private one minus the public one. None: no test is made, there is only the
            picture.
        interval: The 95% confidence interval for the difference of areas, for the population; None for the largest
            difference of distribution functions.
        pvalue: The p-value of the null hypothesis that both tables are samples of one population; it accounts for the
            noise of the private curve and the sampling of both tables. None: no test is made.
    """

    private: Any
    open: Any
    measure: str
    value: float | None
    interval: tuple[float, float] | None
    pvalue: float | None

    @classmethod
    def of(cls, private: Any, counted: Any) -> Comparison:
        """Compare two curves of one kind.

        Raises:
            ValueError: they are of different kinds, or of one that is not compared; or a unit has several records, so
                that nothing can be said of the population.
        """
        if type(private) is not type(counted) or type(private) not in MEASURES:
            kinds = ", ".join(kind.__name__ for kind in MEASURES)
            raise Refused("question", f"curves of one kind are compared: {kinds}")
        require_independent(private.privacy)
        measure, judge = MEASURES[type(private)]
        value, interval, pvalue = judge(private, counted)
        return cls(private, counted, measure, value, interval, pvalue)

    @property
    def differs(self) -> bool | None:
        """Tell whether the test rejects at level 0.05 that both tables are samples of one population.

        None: no test is made.
        """
        return None if self.pvalue is None else self.pvalue < SURE

    @property
    def verdict(self) -> str:
        """The result of the test, in one line."""
        if self.value is None or self.pvalue is None:
            return f"{self.measure}: compare the intervals in the picture, group by group; no test is made"
        ends = "" if self.interval is None else f" (95% interval for the population: {span(*self.interval)})"
        told = "the tables differ" if self.differs else "no difference is seen beyond noise and sampling"
        return f"{self.measure}: {numeral(self.value)}{ends}, p-value {self.pvalue:.2g}: {told}"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = LEVEL,
        names: tuple[str, str] = ("confidential", "public"),
    ) -> Axes:
        """Draw both in one picture: the private curve in its band, the curve of the public table over it.

        Histograms are scaled to the same number of records.

        Args:
            ax: The axes to draw on; None: on a new figure.
            level: The probability that the band covers; None: no band is drawn.
            names: What the legend calls the private and the open one.
        """
        first, second = names
        ax = self.private.plot(ax=ax, level=level, name=first)
        statement = replace(self.open.privacy, trust=OPEN, notes=(), model="")
        axes: Axes = self._of_one_size._drawn(statement, (), ax, second)
        return axes

    @property
    def _of_one_size(self) -> Any:
        """The open curve; a histogram with as many records as the private one has."""
        if not isinstance(self.open, Histogram):
            return self.open
        return replace(self.open, count=self.open.count * (self.private.total / self.open.total))

    def __repr__(self) -> str:
        return f"Comparison({self.verdict})"


Judged = tuple[float | None, tuple[float, float] | None, float | None]


def _of_distributions(private: CDF, counted: CDF) -> Judged:
    found = ks_test(private, counted)
    return found.statistic, None, found.pvalue


def _of_histograms(private: Histogram, counted: Histogram) -> Judged:
    if not np.array_equal(private.x, counted.x):
        raise Refused("question", "histograms on the same cells are compared")
    chance = public_generator(None)
    one, other = (_sample(each, chance) for each in (private, counted))
    found = kolmogorov_smirnov(one, other, alike(one, other, chance))
    return found.statistic, None, found.pvalue


def _sample(histogram: Histogram, chance: np.random.Generator) -> ReleasedSample:
    law, total = histogram.evidence.sums, histogram.evidence.total
    cells: FloatArray = histogram.evidence.unbiased[0]
    draws = min(MOST_DRAWS, draws_for(law.cells))
    noise = np.concatenate([each[:, 0] for each, _ in law.simulate(total, draws, chance)])
    return ReleasedSample(cells, np.maximum(cells, 0.0), noise)


def _of_areas(private: ROC, counted: ROC) -> Judged:
    one, other = (Measured(each.auc, *each.auc_interval(LEVEL, population=True)) for each in (private, counted))
    found = difference(one, other)
    return found.value, (found.lower, found.upper), pvalue_of(found)


def _of_groups(private: Calibration | BinnedResiduals, counted: Calibration | BinnedResiduals) -> Judged:
    """No verdict: a test of slopes whose scores are noisy told like tables apart in up to a third of all cases."""
    return None, None, None


MEASURES: Mapping[type[Any], tuple[str, Callable[[Any, Any], Judged]]] = MappingProxyType(
    {
        CDF: ("largest difference of distribution functions", _of_distributions),
        Histogram: ("largest difference of distribution functions", _of_histograms),
        ROC: ("difference of areas under the ROC curve", _of_areas),
        Calibration: ("shares of positives", _of_groups),
        BinnedResiduals: ("mean residuals", _of_groups),
    }
)
