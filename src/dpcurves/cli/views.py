"""How each kind of curve is shown on the terminal and drawn. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import (
        CDF,
        ROC,
        BinnedResiduals,
        ByCategory,
        Calibration,
        Histogram,
        HosmerLemeshow,
        Quantile,
        Quantiles,
        RocThresholds,
        Thresholds,
    )

Curve = TypeVar("Curve", contravariant=True)
MOST_BANDED = 2**16 + 1


class Shown(NamedTuple):
    """One table: what is said above it, and its columns."""

    headline: str
    columns: Mapping[str, ArrayLike]


class View(Protocol[Curve]):
    """One way to show a kind of curve. `level` is the chance that bands and intervals cover."""

    def tables(self, curve: Curve) -> list[Shown]:
        """What stands on the terminal."""
        ...

    def draw(self, curve: Curve) -> Axes:
        """A picture that no window shows."""
        ...


@dataclass(frozen=True)
class CdfView:
    """Edges, and shares of records below them, in a band if there are no more than `most` edges."""

    level: float
    most: int = MOST_BANDED

    def tables(self, curve: CDF) -> list[Shown]:
        """Edges, shares and the band, which takes long to simulate on very many cells."""
        columns = {"x": curve.x, "y": curve.y}
        if len(curve.y) > self.most:
            return [Shown(f"of more than {self.most} edges no band is shown; --plot draws it", columns)]
        lower, upper = curve.band(self.level)
        words = f"lower, upper: a band that holds the whole curve with chance {self.level:g}"
        return [Shown(words, {**columns, "lower": lower, "upper": upper})]

    def draw(self, curve: CDF) -> Axes:
        """The curve in its band."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes(), level=self.level)


@dataclass(frozen=True)
class QuantilesView:
    """Quantiles with their intervals."""

    level: float

    def tables(self, curve: Quantiles) -> list[Shown]:
        """Shares, values, and the ends of their intervals."""
        lower, upper = curve.intervals(self.level).T
        columns = {"p": curve.p, "x": curve.x, "lower": lower, "upper": upper}
        return [Shown(f"lower, upper: intervals that cover with chance {self.level:g}, all at once", columns)]

    def draw(self, curve: Quantiles) -> Axes:
        """The quantiles with their intervals."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes(), level=self.level)


@dataclass(frozen=True)
class ThresholdsView:
    """Edges, and how many records lie below them."""

    def tables(self, curve: Thresholds) -> list[Shown]:
        """Edges and counts, as they were drawn, with the standard deviation of their noise."""
        words = "count: records below x, among those that have a value; error: standard deviation of the noise"
        return [Shown(words, {"x": curve.x, "count": curve.count, "error": curve.error})]

    def draw(self, curve: Thresholds) -> Axes:
        """The counts with their errors."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


@dataclass(frozen=True)
class QuantileView:
    """One quantile with its interval."""

    def tables(self, curve: Quantile) -> list[Shown]:
        """The share, the value, and the ends of its interval."""
        columns = {"p": [curve.p], "x": [curve.x], "lower": [curve.lower], "upper": [curve.upper]}
        return [Shown(f"lower, upper: an interval that covers with chance {curve.level:g}", columns)]

    def draw(self, curve: Quantile) -> Axes:
        """The quantile with its interval."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


@dataclass(frozen=True)
class HistogramView:
    """Cells and their counts."""

    def tables(self, curve: Histogram) -> list[Shown]:
        """Cells and counts."""
        words = f"standard deviation of the noise of one cell: {curve.error:.3g} records"
        return [Shown(words, {"left": curve.x[:-1], "right": curve.x[1:], "count": curve.count})]

    def draw(self, curve: Histogram) -> Axes:
        """The counts."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


@dataclass(frozen=True)
class RocView:
    """Rates by threshold, and the area with its interval."""

    level: float

    def tables(self, curve: ROC) -> list[Shown]:
        """Rates by threshold."""
        low, high = curve.auc_interval(self.level)
        words = f"AUC {curve.auc:.4f} ({low:.4f} to {high:.4f} covers that of the records with chance {self.level:g})"
        return [Shown(words, {"threshold": curve.thresholds, "fpr": curve.fpr, "tpr": curve.tpr})]

    def draw(self, curve: ROC) -> Axes:
        """The curve and its area."""
        from ..display import SQUARE, headless_axes

        return curve.plot(ax=headless_axes(SQUARE), level=self.level)


@dataclass(frozen=True)
class CalibrationView:
    """Groups of like scores."""

    def tables(self, curve: Calibration) -> list[Shown]:
        """Predicted and observed."""
        columns = {"prob_pred": curve.prob_pred, "prob_true": curve.prob_true, "count": curve.count}
        return [Shown("", columns)]

    def draw(self, curve: Calibration) -> Axes:
        """The groups beside the diagonal."""
        from ..display import SQUARE, headless_axes

        return curve.plot(ax=headless_axes(SQUARE))


@dataclass(frozen=True)
class HosmerLemeshowView:
    """The test, and its groups."""

    def tables(self, curve: HosmerLemeshow) -> list[Shown]:
        """Observed and expected positives."""
        columns = {
            "lower": curve.edges[:-1], "upper": curve.edges[1:], "count": curve.count,
            "positives": curve.observed, "expected": curve.expected,
        }  # fmt: skip
        words = f"statistic {curve.statistic:.4g}, p-value {curve.p_value:.4g}"
        return [Shown(f"{words}; {curve.remark}" if curve.remark else words, columns)]

    def draw(self, curve: HosmerLemeshow) -> Axes:
        """The groups."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


@dataclass(frozen=True)
class RocThresholdsView:
    """Rates by threshold."""

    def tables(self, curve: RocThresholds) -> list[Shown]:
        """Rates by threshold."""
        words = f"AUC {curve.auc:.4f}; standard deviation of the noise of a class below a threshold: {curve.error:.3g}"
        return [Shown(words, {"threshold": curve.thresholds, "fpr": curve.fpr, "tpr": curve.tpr})]

    def draw(self, curve: RocThresholds) -> Axes:
        """The curve and its area."""
        from ..display import SQUARE, headless_axes

        return curve.plot(ax=headless_axes(SQUARE))


@dataclass(frozen=True)
class BinnedResidualsView:
    """Bins of like scores."""

    def tables(self, curve: BinnedResiduals) -> list[Shown]:
        """Mean residuals, and what they stay within if the model is right."""
        columns = {
            "prob_pred": curve.prob_pred, "residual": curve.residual, "count": curve.count, "envelope": curve.envelope
        }  # fmt: skip
        words = (
            f"{curve.outside:.0%} of the residuals are beyond two standard errors; about 5% are if the model is right"
        )
        return [Shown(words, columns)]

    def draw(self, curve: BinnedResiduals) -> Axes:
        """The bins between two standard errors."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


@dataclass(frozen=True)
class CategoriesView:
    """The same for each category."""

    each: View[Any]

    def tables(self, curves: ByCategory[Any]) -> list[Shown]:
        """One table for each category."""
        return [
            Shown(f"{curves.column} {name}" + (f": {shown.headline}" if shown.headline else ""), shown.columns)
            for name, curve in curves.items()
            for shown in self.each.tables(curve)
        ]

    def draw(self, curves: ByCategory[Any]) -> Axes:
        """All in one picture."""
        from ..display import headless_axes

        return curves.plot(ax=headless_axes())
