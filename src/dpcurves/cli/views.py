"""Interface of views, and views of curves: terminal tables and plots. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from .covered import MOST_BANDED, banded, covered, drawn, left_out
from .output import Covering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import ROC, BinnedResiduals, HosmerLemeshow

MOST_RATES = 12
Curve = TypeVar("Curve", contravariant=True)


class Shown(NamedTuple):
    """Table with its caption, its columns, and the most rows that are shown."""

    headline: str
    columns: Mapping[str, ArrayLike]
    most: int = 20


class View(Protocol[Curve]):
    """Interface of views, which show a kind of curve as tables and as a plot."""

    def tables(self, curve: Curve) -> list[Shown]:
        """Tables for the terminal."""
        ...

    def draw(self, curve: Curve) -> Axes:
        """Plot of the curve without a window."""
        ...


@dataclass(frozen=True)
class ResultView:
    """Default view of a result with a band or intervals, by the result's own columns and plot.

    Attributes:
        sure: The level, and whether intervals for the population are shown.
        most: Points up to which a band is shown: more would take long to simulate.
    """

    sure: Covering
    most: int = MOST_BANDED

    def tables(self, curve: Any) -> list[Shown]:
        """Columns of the result, with lower and upper ends."""
        what = curve._covers()
        if curve._points() > self.most:
            return [Shown(f"no {what} is shown of more than {self.most:,} points", curve._columns())]
        words, ends = covered(curve.privacy, self.sure, what, curve._ends)
        return [Shown(words, {**curve._columns(), **ends})]

    def draw(self, curve: Any) -> Axes:
        """Plot of the result with its band or its intervals."""
        return drawn(curve, self.sure)


class RocView(ResultView):
    """View of a ROC curve: rates by threshold with bands, and the AUC with its intervals."""

    def tables(self, curve: ROC) -> list[Shown]:
        """Rates by threshold, with simultaneous bands."""
        from ..curves.covering import scopes
        from ..display import area_rows

        whom = scopes(curve.privacy, population=self.sure.population)
        (_, area), *intervals = area_rows(curve.auc, curve.areas(whom, self.sure.level))
        said = "; ".join([f"AUC {area}", *(f"{name}: {ends}" for name, ends in intervals)])
        said += left_out(curve.privacy, self.sure)
        columns: dict[str, ArrayLike] = {"threshold": curve.thresholds, "fpr": curve.fpr, "tpr": curve.tpr}
        if len(curve.fpr) > MOST_BANDED:
            return [Shown(f"{said}\nno band is shown of more than {MOST_BANDED:,} thresholds", columns)]
        bands = [Shown(words, {**columns, **ends}, MOST_RATES) for words, ends in banded(curve, self.sure)]
        return [Shown(f"{said}\n{bands[0].headline}", bands[0].columns, MOST_RATES), *bands[1:]]


class HosmerLemeshowView(ResultView):
    """View of a Hosmer-Lemeshow test and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[Shown]:
        """Observed and expected positives by group, with intervals of the observed ones."""
        from ..curves.covering import EACH, ends_of
        from ..display import numeral

        words, ends = covered(curve.privacy, self.sure, EACH, ends_of(curve.intervals))
        columns = {
            "lower": curve.edges[:-1], "upper": curve.edges[1:], "count": curve.count,
            "positives": curve.observed, "expected": curve.expected, **ends,
        }  # fmt: skip
        test = f"statistic {numeral(curve.statistic)}, p-value {curve.p_value:.2g} for the population"
        return [Shown(f"{test}\n{words}", columns)]


@dataclass(frozen=True)
class BinnedResidualsView:
    """View of mean residuals of bins of similar scores."""

    level: float

    def tables(self, curve: BinnedResiduals) -> list[Shown]:
        """Mean residuals, and the envelope that holds them if the model is right."""
        within = curve.envelope_at(self.level)
        columns = {
            "prob_pred": curve.prob_pred, "residual": curve.residual, "count": curve.count, "envelope": within
        }  # fmt: skip
        left = f"{curve.outside_of(within):.0%} of the residuals leave the envelope"
        words = f"{left}; for a model that is right for the population {100 * (1 - self.level):.6g}% do"
        return [Shown(words, columns)]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """Plot of the bins with their envelope."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes(), level=self.level)
