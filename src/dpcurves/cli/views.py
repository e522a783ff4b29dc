"""Views of curves on the terminal and on pictures: tables with intervals, and plots. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

from .option_groups import NOTHING
from .output import Covering, Output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..conversation import PrivacyStatement
    from ..curves import ROC, BinnedResiduals, HosmerLemeshow
    from ..curves.result import Ends

MOST_BANDED = 2**16 + 1  # simulations of more take long
MOST_RATES = 12
TOGETHER = "intervals, all at once,"
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


def drawn(curve: Any, size: tuple[float, float] | None = None, **level: Any) -> Axes:
    """Plot of a curve without a window; its size is that in the curve's HTML summary, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), **level)
    return axes


class PlainView:
    """Base of views of results without intervals."""

    @classmethod
    def of(cls, output: Output) -> Self:
        return cls()

    def draw(self, curve: Any) -> Axes:
        """Plot of the result."""
        return drawn(curve)


@dataclass(frozen=True)
class ResultView:
    """Default view of a result with a band or intervals, by the result's own columns and plot.

    Attributes:
        sure: The level, and whether intervals for the population are shown.
        most: Points up to which a band is shown: more would take long to simulate.
    """

    sure: Covering
    most: int = MOST_BANDED

    @classmethod
    def of(cls, output: Output) -> Self:
        return cls(output.covering())

    def tables(self, curve: Any) -> list[Shown]:
        """Columns of the result, with lower and upper ends."""
        what = curve._covers()
        if curve._points() > self.most:
            return [Shown(f"no {what} is shown of more than {self.most:,} points", curve._columns())]
        return [self.shown(curve, curve._columns(), curve._ends, what)]

    def draw(self, curve: Any) -> Axes:
        """Plot of the result with its band or its intervals."""
        return drawn(curve, level=self.sure.level, population=self.sure.population)

    def whom(self, privacy: PrivacyStatement) -> Mapping[str, bool]:
        """Whom intervals speak of: these records, and the population if it is asked for and units are records."""
        from ..curves.result import scopes

        return scopes(privacy, population=self.sure.population)

    def said(self, privacy: PrivacyStatement, what: str) -> str:
        """Caption of columns of intervals: their kind and level, and the records or the population they cover."""
        from ..display import covering

        told = (f"{name.split()[-1]}: {covering(self.sure.level, what, name)}" for name in self.whom(privacy))
        return "; ".join(told) + self.left_out(privacy)

    def left_out(self, privacy: PrivacyStatement) -> str:
        """Note that intervals for the population are asked for but left out, as a unit may have several records."""
        from ..curves.result import SEVERAL

        return f"\n{SEVERAL}" if self.sure.population and privacy.rows_per_unit != 1 else ""

    def shown(
        self,
        curve: Any,
        columns: Mapping[str, Any],
        ends: Ends | None = None,
        what: str = TOGETHER,
        *,
        head: str = "",
        after: Mapping[str, Any] = NOTHING,
        most: int = 20,
    ) -> Shown:
        """Table of columns, of intervals that are called `what`, and of columns `after` them.

        Without `ends`, the intervals are the curve's own.
        """
        import numpy as np

        from ..curves.result import ends_of

        level, whom, ends = self.sure.level, self.whom(curve.privacy), ends or ends_of(curve.intervals)
        found = {name.split()[-1]: np.stack(tuple(ends(level, population=whom[name])), axis=-1) for name in whom}
        return Shown(head + self.said(curve.privacy, what), {**columns, **found, **after}, most)


class RocView(ResultView):
    """View of a ROC curve: rates by threshold with simultaneous bands, and the AUC with its intervals."""

    def tables(self, curve: ROC) -> list[Shown]:
        import numpy as np

        from ..display import area_rows, covering

        level, whom = self.sure.level, self.whom(curve.privacy)
        (_, area), *intervals = area_rows(curve.auc, curve.areas(whom, level))
        said = "; ".join([f"AUC {area}", *(f"{name}: {ends}" for name, ends in intervals)])
        said += self.left_out(curve.privacy)
        columns = {"threshold": curve.thresholds, "fpr": curve.fpr, "tpr": curve.tpr}
        if len(curve.fpr) > MOST_BANDED:
            return [Shown(f"{said}\nno band is shown of more than {MOST_BANDED:,} thresholds", columns)]
        found = []
        for name, population in whom.items():
            ends = np.stack(curve.band(level, population=population), axis=-1)
            bands = {f"fpr, {name.split()[-1]}": ends[:, :2], f"tpr, {name.split()[-1]}": ends[:, 2:]}
            found.append(Shown(covering(level, "band, all at once,", name), {**columns, **bands}, MOST_RATES))
        return [found[0]._replace(headline=f"{said}\n{found[0].headline}"), *found[1:]]


class HosmerLemeshowView(ResultView):
    """View of a Hosmer-Lemeshow test and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[Shown]:
        from ..curves.result import EACH
        from ..display import numeral

        columns = {
            "lower": curve.edges[:-1], "upper": curve.edges[1:], "count": curve.count,
            "positives": curve.observed, "expected": curve.expected,
        }  # fmt: skip
        test = f"statistic {numeral(curve.statistic)}, p-value {curve.p_value:.2g} for the population\n"
        return [self.shown(curve, columns, what=EACH, head=test)]


@dataclass(frozen=True)
class BinnedResidualsView:
    """View of mean residuals of bins of similar scores."""

    level: float

    @classmethod
    def of(cls, output: Output) -> Self:
        return cls(output.simulated())

    def tables(self, curve: BinnedResiduals) -> list[Shown]:
        within = curve.envelope_at(self.level)
        columns = {
            "prob_pred": curve.prob_pred, "residual": curve.residual, "count": curve.count, "envelope": within
        }  # fmt: skip
        left = f"{curve.outside_of(within):.0%} of the residuals leave the envelope"
        words = f"{left}; for a model that is right for the population {100 * (1 - self.level):.6g}% do"
        return [Shown(words, columns)]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """Plot of the bins with their envelope."""
        return drawn(curve, level=self.level)
