"""Interface of views of curves on the terminal and on pictures, and their bands. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from .output import Covering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..conversation import PrivacyStatement
    from ..curves import ROC, BinnedResiduals, HosmerLemeshow
    from ..curves.result import Ends


# Bands and intervals on the terminal and on pictures, for these records and for the population.


MOST_BANDED = 2**16 + 1  # simulations of more take long


def covered(privacy: PrivacyStatement, sure: Covering, what: str, ends: Ends) -> tuple[str, dict[str, ArrayLike]]:
    """Caption of a table, and its columns of intervals: for these records, and for the population.

    Args:
        privacy: Privacy statement of the curve; where a unit may have several records, there are no intervals for the
            population.
        sure: The level, and whether intervals for the population are shown.
        what: The kind, as ``band``.
        ends: Lower and upper ends.
    """
    import numpy as np

    from ..curves.result import scopes

    whom = scopes(privacy, population=sure.population)
    columns: dict[str, ArrayLike] = {
        name.split()[-1]: np.stack(tuple(ends(sure.level, population=asked)), axis=-1) for name, asked in whom.items()
    }
    return said_of(privacy, sure, what), columns


def banded(curve: ROC, sure: Covering) -> list[tuple[str, dict[str, ArrayLike]]]:
    """Bands of a ROC curve, which bound both rates of a threshold: for each its caption and two columns."""
    import numpy as np

    from ..curves.result import scopes
    from ..display import covering

    found: list[tuple[str, dict[str, ArrayLike]]] = []
    for name, asked in scopes(curve.privacy, population=sure.population).items():
        fpr_lower, fpr_upper, tpr_lower, tpr_upper = curve.band(sure.level, population=asked)
        ends = {"fpr": (fpr_lower, fpr_upper), "tpr": (tpr_lower, tpr_upper)}
        columns: dict[str, ArrayLike] = {
            f"{rate}, {name.split()[-1]}": np.stack(each, axis=-1) for rate, each in ends.items()
        }
        found.append((covering(sure.level, "band, all at once,", name), columns))
    return found


def drawn(curve: Any, sure: Covering, size: tuple[float, float] | None = None) -> Axes:
    """Plot of a curve without a window; its size is that in the curve's HTML summary, unless one is given."""
    from ..display import LANDSCAPE, headless_axes

    own: tuple[float, float] = getattr(curve, "SIZE", LANDSCAPE)
    axes: Axes = curve.plot(ax=headless_axes(size or own), level=sure.level, population=sure.population)
    return axes


def said_of(privacy: PrivacyStatement, sure: Covering, what: str) -> str:
    """Description of the columns of intervals: kind, level, and the records or the population that each covers."""
    from ..curves.result import scopes
    from ..display import covering

    whom = scopes(privacy, population=sure.population)
    return "; ".join(f"{name.split()[-1]}: {covering(sure.level, what, name)}" for name in whom) + left_out(
        privacy, sure
    )


def left_out(privacy: PrivacyStatement, sure: Covering) -> str:
    """Note that intervals for the population were asked for but are left out, as a unit may have several records."""
    from ..curves.result import SEVERAL

    return f"\n{SEVERAL}" if sure.population and privacy.rows_per_unit != 1 else ""


# Interface of views, and views of curves: terminal tables and plots. Names are those of the JSON.


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
        from ..curves.result import scopes
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
        from ..curves.result import EACH, ends_of
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
