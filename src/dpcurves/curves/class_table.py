"""Released counts of positives and negatives along scores, which ROC, calibration and other curves share; and areas and
other single numbers that are read from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import InvalidArgument, require_probability
from ..arrays import BoolArray, FloatArray
from ..conversation import Evidence, PrivacyStatement
from ..data import Grid, Outside
from ..inference import Band, GroupCounts, GroupNoise, public_generator, share_intervals, upper_quantiles
from ..inference.areas import RankedClassCounts, area_interval
from ..inference.knowledge import KNOWN_AT, is_uninformative, known_number
from ..inference.moments import absolute_sum_interval, largest_absolute_interval
from ..inference.rates import ClassCounts, Ratio, SimulatedCounts, ratio_bands
from ..inference.simulation import sampling_generator
from ..summaries import auc_of_counts, two_classes
from .pair_mean import compute_basic_interval
from .question import cells_to_json, grid_from_edges, require_independent
from .result import IntervalResult, SimulationCache

BAND = "simultaneous band"
Parted = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class ClassTable(SimulationCache):
    """Counts of negatives and positives in the cells of a public grid of scores. Scores in one cell are tied.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
        grid: The cells of the scores.
        privacy: The privacy statement, which every picture shows.
    """

    evidence: Evidence
    grid: Grid
    privacy: PrivacyStatement

    @cached_property
    def counts(self) -> ClassCounts:
        """The counts, and the law of their noise."""
        return ClassCounts(self.evidence.sums, self.evidence.values, self.evidence.total)

    @property
    def tied_cells(self) -> BoolArray | None:
        """Cells with one declared value, in which all scores are the same, (slots,); None where none was declared."""
        if self.grid.values is None:
            return None
        tied = np.ones(self.grid.slots, dtype=np.bool_)
        if self.grid.outside is Outside.APART:
            tied[[0, -1]] = False
        return tied

    @cached_property
    def thresholds(self) -> FloatArray:
        """In falling order; at point i, scores at or above threshold i are called positive. The first is infinite."""
        ends = self.grid.edges[:-1] if self.grid.values is None else self.grid.values
        if self.grid.outside is Outside.APART:  # the upper end of the grid itself lies in its last cell
            ends = np.concatenate([[-np.inf], ends, [np.nextafter(self.grid.upper, np.inf)]])
        return np.append(np.inf, ends[::-1])

    def nearest_threshold_index(self, threshold: float) -> int:
        """The index of the point whose threshold is the edge of the grid that is nearest to this one.

        With declared values it is the first value that is not below the threshold.
        """
        grid, at = self.grid, np.array([threshold])
        (edge,) = grid.nearest_edge(at) if grid.values is None else np.searchsorted(grid.values, at)
        return self.grid.slots - int(edge) - int(self.grid.outside is Outside.APART)

    def simulate_errors(self, *, population: bool, generator: np.random.Generator | None = None) -> FloatArray:
        """Simulated errors of the counts, (draws, 2, slots).

        Raises:
            ValueError: for the population, units have several records.
        """
        require_independent(self.privacy, population)
        return self.counts.simulate_errors(population=population, generator=generator)

    def bands(
        self, ratios: Sequence[Ratio], level: float, *, population: bool, generator: np.random.Generator | None
    ) -> tuple[Band, ...]:
        """Ends of bands of ratios at all thresholds, simultaneous with probability `level`; see `ratio_bands`."""
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        simulated = partial(SimulatedCounts.from_counts, self.counts, population=population, generator=generator)
        found = self._compute_once(population, generator, simulated)
        return self._compute_once((*ratios, level, population), generator, lambda: ratio_bands(found, ratios, level))

    def share_intervals(
        self, split_cells: Parted, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> FloatArray:
        """Intervals of shares, each on its own, (shares, 2): `split_cells` gives parts and rests of cells (..., slots)."""
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        noise = split_cells(self.simulate_errors(population=False, generator=generator))
        part, rest = split_cells(self.counts.unbiased_counts)
        nothing = np.zeros_like(part)
        normal = sampling_generator(generator).standard_normal(noise[0].shape) if population else None
        groups = GroupCounts(part, rest, nothing, nothing, nothing)
        return share_intervals(groups, GroupNoise(*noise, nothing), normal, level)

    @property
    def are_probabilities(self) -> bool:
        """Tell whether the grid, or each declared value, lies in [0, 1]."""
        return self.grid.endpoints[0] >= 0 and self.grid.endpoints[1] <= 1

    def require_probabilities(self, what: str) -> None:
        """Refuse where scores are no predicted probabilities.

        Raises:
            ValueError: the grid leaves [0, 1].
        """
        if not self.are_probabilities:
            ends = " to ".join(f"{end:g}" for end in self.grid.endpoints)
            raise InvalidArgument("grid", f"{what} is of predicted probabilities, which lie in [0, 1], got {ends}")

    @property
    def middles(self) -> FloatArray:
        """The middle of each cell of the grid, which stands for all scores in it; or the declared value."""
        edges, values = self.grid.edges, self.grid.values
        return (edges[:-1] + edges[1:]) / 2 if values is None else values

    def drop_outside(self, cells: FloatArray) -> FloatArray:
        """Without the scores that are counted apart: (..., slots) to (..., cells)."""
        return cells[..., 1:-1] if self.grid.outside is Outside.APART else cells

    def question_to_json(self) -> dict[str, Any]:
        """Plain objects that say what was asked."""
        return {"edges": self.grid.edges.tolist(), **cells_to_json(self.grid)}

    @classmethod
    def from_evidence(cls, evidence: Mapping[str, Any], privacy: PrivacyStatement) -> ClassTable:
        """The table of a stored curve."""
        question = evidence["question"]
        grid = grid_from_edges(question)
        return cls(Evidence.from_json(evidence["releases"][0]).as_cell_counts(2), grid, privacy)


class ClassTableResult(IntervalResult):
    """A statistic that is computed from one released table of counts of two classes, at no further loss.

    Attributes:
        table: What it is read from.
    """

    table: ClassTable

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement, which every picture shows."""
        return self.table.privacy

    @property
    def evidence(self) -> Evidence:
        """Return what was released."""
        return self.table.evidence

    @classmethod
    @abstractmethod
    def from_counts(cls, table: ClassTable) -> Self:
        """From released counts."""

    def _question(self) -> dict[str, Any]:
        return self.table.question_to_json()

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        return cls.from_counts(ClassTable.from_evidence(document.evidence, document.privacy))


class BandedTableResult(ClassTableResult):
    """A curve of several rates by threshold, with simultaneous bands for all of them.

    Attributes:
        BAND_COLUMNS: The columns that `band` gives the ends of, in its order.
    """

    INTERVAL_NAME = BAND

    BAND_COLUMNS: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def band(self, level: float, *, population: bool = False) -> tuple[Band, ...]: ...

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """The lower and upper ends of each rate, as ``precision_lower``."""
        found = dict[str, Any]()
        for name, ends in zip(self.BAND_COLUMNS, self.band(level, population=population), strict=True):
            found |= dict(zip((f"{name}_lower", f"{name}_upper"), ends, strict=True))
        return found


# Single numbers that are read from released counts of two classes, each with its interval.


GROUPS = 10
NOTED_WITH_CHANCE = 0.95
NEGATIVE, POSITIVE, EITHER = (0,), (1,), (0, 1)
Ends = tuple[float, float]

NEARLY_ALL, FEW_CELLS = 0.95, 1 / 6
"""The share of the scores, and of the cells, by which scores are crowded."""


class ConfidenceSettings(NamedTuple):
    """The confidence level of an interval, whether it is for the population, and what simulates it."""

    level: float
    population: bool
    generator: np.random.Generator | None


@dataclass(frozen=True, slots=True)
class MetricEstimator(ABC):
    """The reading of one statistic.

    Attributes:
        title: Its usual name.
        required_classes: The classes of which there must be records; empty: any record will do.
        needs_probabilities: Whether scores have to lie in [0, 1].
    """

    title: str
    required_classes: tuple[int, ...]
    needs_probabilities: bool

    @abstractmethod
    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """The number that counts (..., 2, slots) have, of shape (...)."""

    def interval(self, table: ClassTable, errors: FloatArray, sure: ConfidenceSettings) -> Ends:
        """Two ends that have it between them; noise, and the bias that it gives, are simulated."""
        return table.counts.interval(lambda cells: self.compute(table, cells), errors, sure.level)

    def discretization_error(self, table: ClassTable) -> Ends:
        """The distances below and above the value from counts that the order inside cells leaves open, apart from
        noise.
        """
        return 0.0, 0.0

    def upper_limit(self, table: ClassTable) -> float:
        """The largest that it can be; none is below 0."""
        return 1.0

    def is_known(self, records: FloatArray, least: FloatArray) -> bool:
        """Tell whether enough of the records that matter are in these counts of both classes."""
        if self.required_classes:
            return all(bool(records[row] >= least[row]) for row in self.required_classes)
        return bool(records.sum() >= least.max())


class AreaUnderCurve(MetricEstimator):
    """The area under the ROC curve."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Ties count one half."""
        return auc_of_counts(positive=cells[..., 1, :], negative=cells[..., 0, :])

    def interval(self, table: ClassTable, errors: FloatArray, sure: ConfidenceSettings) -> Ends:
        """That of a ROC curve; see `area_interval`."""
        if not sure.population and sure.generator is None:
            return area_interval(_simulate_areas(table, errors), sure.level)
        draw = public_generator(sure.generator)  # noise first, so that sampling does not depend on it
        noise = table.simulate_errors(population=False, generator=draw)
        return area_interval(_simulate_areas(table, noise), sure.level, sampling=draw if sure.population else None)

    def discretization_error(self, table: ClassTable) -> Ends:
        """Half the share of pairs that are tied by the estimated counts: their true order may add or subtract it."""
        negative, positive = table.counts.likely_counts
        pairs, open_ = float(negative.sum() * positive.sum()), 1.0 if table.tied_cells is None else ~table.tied_cells
        half = float((negative * open_) @ positive) / 2 / pairs if pairs >= two_classes.LEAST_MASS else 0.0
        return half, half


class AveragePrecision(MetricEstimator):
    """The average precision."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Ties have one threshold."""
        return two_classes.average_precision(cells)

    def interval(self, table: ClassTable, errors: FloatArray, sure: ConfidenceSettings) -> Ends:
        """Simulated; see `compute_basic_interval`, whose wider end is taken, for precision at few records is skewed."""
        exact, moved = (
            two_classes.average_precision(cells)
            for cells in (table.counts.likely_counts, table.counts.likely_counts + errors)
        )
        found = float(two_classes.average_precision(table.counts.unbiased_counts))
        return compute_basic_interval(found, moved - exact, sure.level, population=True)


class KolmogorovSmirnov(MetricEstimator):
    """The Kolmogorov-Smirnov statistic."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """At the edges of the grid."""
        return two_classes.largest_class_gap(cells)

    def interval(self, table: ClassTable, errors: FloatArray, sure: ConfidenceSettings) -> Ends:
        """Noise biases the largest gap upwards: the interval corrects for that."""
        if table.grid.slots == 1:
            return 0.0, 1.0
        likely = table.counts.likely_counts
        moved = two_classes.compute_class_gaps(likely + errors) - two_classes.compute_class_gaps(likely)
        return largest_absolute_interval(
            two_classes.compute_class_gaps(table.counts.unbiased_counts), moved, sure.level
        )


class BrierScore(MetricEstimator):
    """The Brier score."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """The middle of a cell stands for its scores."""
        return two_classes.brier_score(table.drop_outside(cells), table.middles)


class ExpectedCalibrationError(MetricEstimator):
    """The expected calibration error."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Over groups that seem to be of equal size."""
        return np.asarray(np.abs(self._gaps(table, cells)).sum(axis=-1))

    def interval(self, table: ClassTable, errors: FloatArray, sure: ConfidenceSettings) -> Ends:
        """Noise biases absolute values upwards: the interval corrects for that."""
        likely = table.counts.likely_counts
        moved = self._gaps(table, likely + errors) - self._gaps(table, likely)
        return absolute_sum_interval(self._gaps(table, table.counts.unbiased_counts), moved, sure.level)

    def _gaps(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        return two_classes.calibration_gaps(table.drop_outside(cells), table.middles, group_cells_evenly(table, GROUPS))


class LogLoss(MetricEstimator):
    """The log loss."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """The middle of a cell stands for its scores."""
        return two_classes.log_loss(table.drop_outside(cells), table.middles)

    def upper_limit(self, table: ClassTable) -> float:
        """That of labels which are all the less likely ones, at the surest score."""
        surest = np.array([table.middles.min(), table.middles.max()])
        return float(two_classes.log_loss(np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]]), surest).max())


class Metric(Enum):
    """A number that is computed from scores and labels. Each interval holds on its own with probability `level`.

    - `AUC`: area under the ROC curve. The interval is for the area of the exact scores: each end assumes the worst
      order within cells for it.
    - `AVERAGE_PRECISION`: mean precision at the scores of the positives; ties have one threshold.
    - `KS`: the Kolmogorov-Smirnov statistic, the largest difference of the distribution functions of both classes.
    - `BRIER`: the Brier score, the mean squared difference of label and score (Brier 1950).
    - `ECE`: the expected calibration error, the mean distance of share of positives and mean score, over ten groups of
      similar scores that seem to be of equal size (Naeini, Cooper and Hauskrecht 2015).
    - `LOG_LOSS`: the log loss, or cross-entropy, in natural logarithms: the mean of minus the logarithm of the chance
      that the score gave to the label. It may be above 1.

    Noise and, for the population, sampling are simulated. Noise biases `KS` and `ECE` upwards: their intervals
    therefore reach further down than up, and hold with probability at least `level`.
    """

    AUC = AreaUnderCurve("area under the ROC curve", EITHER, needs_probabilities=False)
    AVERAGE_PRECISION = AveragePrecision("average precision", POSITIVE, needs_probabilities=False)
    KS = KolmogorovSmirnov("Kolmogorov-Smirnov statistic", EITHER, needs_probabilities=False)
    BRIER = BrierScore("Brier score", (), needs_probabilities=True)
    ECE = ExpectedCalibrationError("expected calibration error", (), needs_probabilities=True)
    LOG_LOSS = LogLoss("log loss", (), needs_probabilities=True)

    @property
    def key(self) -> str:
        """Its name on the command line, in JSON and in tables."""
        return self.name.lower().replace("_", "-")


def _simulate_areas(table: ClassTable, noise: FloatArray) -> RankedClassCounts:
    likely = table.counts.likely_counts
    shares = likely / np.maximum(likely.sum(axis=1, keepdims=True), two_classes.LEAST_MASS)
    return RankedClassCounts(table.counts.unbiased_counts, shares, [noise], table.tied_cells)


def list_metrics(table: ClassTable) -> tuple[Metric, ...]:
    """The readings that can be computed: some need scores that are probabilities."""
    return tuple(each for each in Metric if table.are_probabilities or not each.value.needs_probabilities)


def group_cells_evenly(table: ClassTable, groups: int) -> NDArray[np.int64]:
    """The first cells of groups of similar scores that seem to be of equal size, by the released counts."""
    return two_classes.even_groups(table.drop_outside(table.counts.likely_counts).sum(axis=0), groups)


def estimate_metric(table: ClassTable, metric: Metric) -> float:
    """The number at the estimated counts; NaN where it is not known: see `known_number`.

    Raises:
        ValueError: it needs probabilities, and the scores are not.
    """
    _require_probabilities(table, metric)
    return known_number(
        _estimate_point(table, metric), _masking_interval(table, metric), 0.0, metric.value.upper_limit(table)
    )


def _estimate_point(table: ClassTable, reading: Metric) -> float:
    """The number at the estimated counts; NaN where they have no mass."""
    counted = _count_used_records(table, reading, table.counts.likely_counts)
    if not reading.value.is_known(counted, np.full(2, two_classes.LEAST_MASS)):
        return float("nan")
    value = float(reading.value.compute(table, table.counts.likely_counts))
    return float(min(max(value, 0.0), reading.value.upper_limit(table)))  # no count is below zero, but sums are rounded


def _masking_interval(table: ClassTable, reading: Metric) -> Ends:
    """The interval for these records that decides whether the number is known."""
    sure = ConfidenceSettings(KNOWN_AT, population=False, generator=None)
    return table._compute_once((reading, KNOWN_AT), None, lambda: _simulate_interval(table, reading, sure))


def find_discretization_error(table: ClassTable, metric: Metric) -> Ends:
    """The parts of the distances from a number to the ends of its interval that are no random error: below, above."""
    _require_probabilities(table, metric)
    below, above = metric.value.discretization_error(table)
    return below, above


def find_metric_interval(
    table: ClassTable, metric: Metric, level: float, *, population: bool, generator: np.random.Generator | None
) -> Ends:
    """An interval that contains the number; all that is possible where it is not known: see `known_number`.

    Raises:
        ValueError: `level` is not between 0 and 1; it needs probabilities, and the scores are not; or for the
            population, units have several records.
    """
    level = require_probability("level", level)
    _require_probabilities(table, metric)
    require_independent(table.privacy, population)
    most = metric.value.upper_limit(table)
    if is_uninformative(*_masking_interval(table, metric), 0.0, most):
        return 0.0, most
    return _simulate_interval(table, metric, ConfidenceSettings(level, population, generator))


def _simulate_interval(table: ClassTable, reading: Metric, sure: ConfidenceSettings) -> Ends:
    """The ends of an interval; all that is possible where noise alone can explain the counts that the number needs."""
    errors, most = (
        table.simulate_errors(population=sure.population, generator=sure.generator),
        reading.value.upper_limit(table),
    )
    noise = _count_used_records(table, reading, errors)
    noises = noise if reading.value.required_classes else np.repeat(noise.sum(axis=1, keepdims=True), 2, axis=1)
    least = two_classes.LEAST_MASS + upper_quantiles(noises, (1 + sure.level) / 2)
    if not reading.value.is_known(
        _count_used_records(table, reading, table.counts.unbiased_counts), least
    ):  # noise may be all there is
        return 0.0, most
    low, high = reading.value.interval(table, errors, sure)
    value = _estimate_point(table, reading)
    if isfinite(value):
        low, high = min(low, value), max(high, value)
    return min(max(low, 0.0), most), min(max(high, 0.0), most)


def notes_on_crowding(table: ClassTable) -> tuple[str, ...]:
    """A note if nearly all scores lie in a few neighbouring cells, by released counts: those of rare events do."""
    if table.tied_cells is not None or notes_on_classes(table):
        return ()
    likely, counted = table.counts.likely_counts.sum(axis=0), table.counts.unbiased_counts.sum(axis=0)
    above = np.append(0.0, np.cumsum(likely)) / max(float(likely.sum()), two_classes.LEAST_MASS)
    ends = np.searchsorted(above, above[:-1] + NEARLY_ALL)
    first = int(np.argmin(np.where(ends < len(above), ends - np.arange(len(ends)), len(above))))
    last = min(int(ends[first]), len(counted))
    few = last - first <= FEW_CELLS * len(counted)
    if not few or counted[first:last].sum() < (2 * NEARLY_ALL - 1) * counted.sum():
        return ()
    low, high = table.grid.boundary(np.array([first, last]))
    return (
        f"nearly all scores lie in {last - first} of {len(counted)} cells, from {low:.4g} to {high:.4g}: name a grid "
        "that is fine there, grid= (--grid), for intervals that are narrower",
    )


def notes_on_classes(table: ClassTable) -> tuple[str, ...]:
    """A note for each class whose count noise alone can explain."""
    errors = table.simulate_errors(population=False)
    found = table.counts.may_lack_class(errors, NOTED_WITH_CHANCE)
    words = [name for name, lacks in zip(("negatives", "positives"), found, strict=True) if lacks]
    if not words:
        return ()
    return (f"noise alone may have made all {' and '.join(words)} that were counted: rates of them are not known",)


def _require_probabilities(table: ClassTable, reading: Metric) -> None:
    if reading.value.needs_probabilities:
        table.require_probabilities(f"the {reading.value.title}")


def _count_used_records(table: ClassTable, reading: Metric, cells: FloatArray) -> FloatArray:
    """Records of both classes, of those that the number is read from."""
    counted = table.drop_outside(cells) if reading.value.needs_probabilities else cells
    return np.asarray(counted.sum(axis=-1))
