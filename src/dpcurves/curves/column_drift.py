"""Drift of a column between a reference and later windows: stability index, distances and areas, with alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import display
from ..arguments import InvalidArgument, require_probability
from ..arrays import FloatArray, IntArray
from ..conversation import PrivacyStatement
from ..data import Grid, Outside, middles_of
from ..display import draw_curves, format_number
from ..inference import monte_carlo_p_value, numbered_generator, upper_quantile
from ..inference.two_samples import (
    NullDraws,
    ReleasedSample,
    kolmogorov_smirnov_statistic,
    mann_whitney_statistic,
    simulate_null,
)
from ..summaries.two_classes import even_groups
from .cdf import CDF
from .comparison import require_comparable, simulate_samples
from .histogram import Histogram
from .question import require_independent
from .result import CompositeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS, LEAST, SAFE = 10, 0.5, 0.75
"""Bins of the stability index, about even in the reference; and the records that an empty bin is taken to have.
Thresholds are those of this part of the chance of an alarm: the law that they are simulated from is read from noisy
counts itself. At a chance of 0.05 0.038 to 0.043 of 1,000 unchanged windows alarm (`benchmarks/judging_models.py`)."""
PLACE = 60
Curve = CDF | Histogram


class Shift(NamedTuple):
    """A drift statistic of one window, with its alarm threshold and p-value.

    Attributes:
        value: From released counts.
        threshold: It is above this in windows of an unchanged column as often as alarms may be false.
        p_value: The chance of at least this value if nothing changed, noise and sampling included.
    """

    value: float
    threshold: float
    p_value: float

    @property
    def alarm(self) -> bool:
        """Tell whether the value is above its threshold."""
        return self.value > self.threshold


class DriftCells(NamedTuple):
    """Two samples on the same cells, how far apart neighbouring cells are, and the first cells of ten groups."""

    first: ReleasedSample
    second: ReleasedSample
    cell_distances: FloatArray
    groups: IntArray

    @classmethod
    def from_places(cls, places: FloatArray, first: ReleasedSample, second: ReleasedSample) -> DriftCells:
        """Two samples in cells at these places."""
        return cls(first, second, np.diff(places), even_groups(first.likely, GROUPS))

    def simulate_null(self, generator: np.random.Generator) -> NullDraws:
        return simulate_null(self.first, self.second, generator)


class Drift(CompositeResult):
    """How far a column has moved since a reference, window by window, beside thresholds of few false alarms.

    Statistics are the population stability index (PSI) over ten bins that are about even in the reference, the largest
    difference of distribution functions (``ks``), the area between these (``wasserstein``, in units of the column), and
    how far the area under the ROC curve that tells both apart is from one half (``auc``). Their thresholds are
    simulated: windows of as many records, drawn from what both together seem to be, with the noise of both releases.

    Attributes:
        reference: The released curve of the reference.
        windows: The released curves of later windows by name, on the same cells.
        alarms: The chance of a false alarm, for each window and statistic.

    Formal guarantees: all is read from released curves, at no further loss. Losses of windows are those of their
    curves: they add up where one person is in several.

    Data frame: a row for each window and statistic: value, threshold, p-value, alarm. Pictures show each statistic over
    its threshold, window by window: what lies above 1 is an alarm.
    """

    TITLE = "Drift since the reference"
    DISTINGUISHING_FACT = "alarms"
    STATISTICS = "psi", "ks", "wasserstein", "auc"

    def __init__(self, reference: Curve, windows: Mapping[str, Curve], alarms: float = 0.05) -> None:
        self.reference, self.windows, self.alarms = reference, dict(windows), require_probability("alarms", alarms)
        if not self.windows:
            raise InvalidArgument("windows", "at least one curve is needed")
        if "reference" in self.windows:
            raise InvalidArgument("windows", "a window is called otherwise than the reference")
        for window in self.windows.values():
            _require_same_cells(reference, window)

    @cached_property
    def shifts(self) -> Mapping[tuple[str, str], Shift]:
        """By window and statistic."""
        found = {}
        for place, (name, window) in enumerate(self.windows.items()):
            cells = _build_drift_cells(self.reference, window, numbered_generator(PLACE + 2 * place))
            null = cells.simulate_null(numbered_generator(PLACE + 1 + 2 * place))
            for word, read in READ.items():
                value, drawn = float(read(cells.first.cells, cells.second.cells, cells)), read(*null, cells)
                threshold = upper_quantile(drawn, 1 - SAFE * self.alarms)
                found[name, word] = Shift(value, threshold, monte_carlo_p_value(value, drawn))
        return MappingProxyType(found)

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the first window; the reference had a loss of its own."""
        own = next(iter(self.windows.values())).privacy
        return own.with_notes(
            f"each window and the reference have a loss of their own; the reference {self.reference.privacy.loss}"
        )

    def _figure_title(self) -> str:
        return ""

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        names, at = list(self.windows), np.arange(len(self.windows), dtype=np.float64)
        over = {place: each.value / max(each.threshold, 1e-12) for place, each in self.shifts.items()}
        curves = {word: (at, np.array([over[window, word] for window in names])) for word in self.STATISTICS}
        curves["threshold"] = (at, np.ones(len(at)))
        words = "window", f"over the threshold of {self.alarms:.1%} false alarms"
        found = draw_curves(curves, self.privacy, labels=words, ax=ax, share=False)
        found.set_xticks(at, display.format_distinct_labels(names), parse_math=False)
        return found

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """A row for each window and statistic: value, threshold, p-value, alarm."""
        return display.to_frame(self._columns())

    def _columns(self) -> Mapping[str, Any]:
        keys, found = list(self.shifts), list(self.shifts.values())
        return {
            "window": [window for window, _ in keys], "statistic": [word for _, word in keys],
            "value": [each.value for each in found], "threshold": [each.threshold for each in found],
            "p_value": [each.p_value for each in found], "alarm": [each.alarm for each in found],
        }  # fmt: skip

    def _plot(self, shades: Any, /, **how: Any) -> Any:
        return self.plot(how["ax"])

    def _members(self) -> Mapping[str, Any]:
        return {"reference": self.reference, **self.windows}

    def _question(self) -> Mapping[str, object]:
        return {"alarms": self.alarms}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Drift:
        members = cls.parse_members(document)
        return cls(members.pop("reference"), members, float(document.question["alarms"]))

    def _repr_facts(self) -> tuple[str, ...]:
        return f"{len(self.windows)} windows", f"{sum(each.alarm for each in self.shifts.values())} alarms"

    def _summary(self) -> list[tuple[str, str]]:
        return [
            (f"{window}, {word}", f"{format_number(each.value)} (threshold {format_number(each.threshold)})")
            for (window, word), each in self.shifts.items()
        ]


def drift(reference: Curve, windows: Curve | Mapping[str, Curve], *, alarms: float = 0.05) -> Drift:
    """How far a column has moved since a reference: PSI, Kolmogorov-Smirnov, Wasserstein and area, with alarms.

    Args:
        reference: A released `CDF` or `Histogram`.
        windows: A later one on the same cells, or several by name.
        alarms: The chance of a false alarm, for each window and statistic. For several windows in a year of which one
            may raise a false alarm with chance p, ``1 - (1 - p) ** (1 / windows)``.

    Returns:
        Values, thresholds, p-values and alarms.

    Formal guarantees: spends nothing.

    Raises:
        TypeError: these are no distribution functions, and no histograms.
        ValueError: they are of different kinds or on different cells; values outside were counted apart; a unit has
            several records; or `alarms` is not between 0 and 1, or needs more draws.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=32), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> before, later = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> drift(before, {"May": later}).shifts["May", "ks"].alarm
    True
    """
    return Drift(reference, windows if isinstance(windows, Mapping) else {"now": windows}, alarms)


def require_window(reference: Any, question: Any) -> None:
    """Refuse a reference beside which the answer to a question could not stand, before it is asked.

    Raises:
        ValueError: it is no distribution function or histogram of the question's kind, without categories, on the same
            cells.
    """
    kinds = {"CdfQuestion": CDF, "HistogramQuestion": Histogram}
    kind, grid = kinds.get(type(question).__name__), getattr(question, "grid", None)
    if kind is None or not isinstance(reference, kind) or not isinstance(grid, Grid) or question.by is not None:
        raise InvalidArgument(
            "since", "a cdf or histogram without categories is compared with an earlier one of its kind"
        )
    if not np.array_equal(_find_grid(reference).edges, grid.edges) or grid.outside is Outside.APART:
        raise InvalidArgument("since", "it is on other cells, or values outside are counted apart")
    require_independent(reference.privacy)


def _require_same_cells(reference: Any, window: Any) -> None:
    if isinstance(reference, Histogram) and isinstance(window, Histogram):
        if not np.array_equal(reference.x, window.x):
            raise InvalidArgument("windows", "histograms on the same cells are needed")
        for each in (reference, window):
            require_independent(each.privacy)
    else:
        require_comparable(reference, window)
    if _find_grid(reference).outside is Outside.APART:
        raise InvalidArgument("reference", "values outside were counted apart, and how far they lie is not known")


def _find_grid(curve: Any) -> Grid:
    found: Grid = curve.grid if isinstance(curve, Histogram) else curve.prefixes.grid
    return found


def _build_drift_cells(reference: Any, window: Any, generator: np.random.Generator) -> DriftCells:
    middles = middles_of(_find_grid(reference))
    first, second, bounds = simulate_samples(reference, window, generator)
    places = np.array([middles[one:other].mean() for one, other in pairwise(bounds.tolist())])
    return DriftCells.from_places(places, first, second)


def _compute_bin_shares(cells: FloatArray) -> FloatArray:
    kept = np.maximum(cells, LEAST)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _stability_index(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """The sum over bins of the difference of shares times the log of their ratio."""
    one, other = (_compute_bin_shares(np.add.reduceat(each, cells.groups, axis=-1)) for each in (first, second))
    return np.asarray(((one - other) * np.log(one / other)).sum(axis=-1))


def _wasserstein(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    one, other = (
        np.cumsum(each, axis=-1) / np.maximum(each.sum(axis=-1, keepdims=True), 1.0) for each in (first, second)
    )
    return np.asarray(np.abs(one - other)[..., :-1] @ cells.cell_distances)


READ: Mapping[str, Callable[[FloatArray, FloatArray, DriftCells], FloatArray]] = MappingProxyType({
    "psi": _stability_index,
    "ks": lambda first, second, cells: kolmogorov_smirnov_statistic(first, second),
    "wasserstein": _wasserstein,
    "auc": lambda first, second, cells: np.abs(mann_whitney_statistic(first, second) - 0.5),
})  # fmt: skip
