"""Precision-recall, cumulative gain (lift), decision and calibration curves, and confusion matrices, of a classifier.

In: a `ClassTable`, the noisy counts of positives and negatives in cells of their score, which one question about scores
released. Out: a result per curve, with confidence bands.

With TP, FP, FN and TN the counts at or above and below threshold t, and n all records,

    precision      TP / (TP + FP)         recall, gain    TP / (TP + FN)
    flagged share  (TP + FP) / n          lift            gain / flagged share
    net benefit    TP / n - FP / n * t / (1 - t)
    F1             2 * TP / (2 * TP + FP + FN)

`PrecisionRecall`, `CumulativeGain` and `DecisionCurve` have bands that hold at all thresholds simultaneously, because
each is a ratio of noisy counts above a threshold (`inference.rates.ratio_bands`). `Confusion` and `ScoreCalibration`
have separate intervals. A rate is unknown, with an interval of all possible values, where noise alone can explain its
denominator.

Formal guarantees: all curves are functions of one release of `ScoresQuestion`, so they lose nothing more
(post-processing).

References: Vickers and Elkin 2006 (decision curves); Davis and Goadrich 2006 (precision and recall).

>>> import dpcurves as dp
>>> labels, predicted = [0, 0, 1, 1] * 500, [0.1, 0.4, 0.35, 0.8] * 500
>>> scores = dp.scores(labels, predicted, grid=dp.Grid(0, 1, cells=16), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> matrix = scores.confusion(0.5)
>>> matrix.matrix.tolist(), round(matrix.rates["precision"], 2)
([[1000.0, 0.0], [500.0, 500.0]], 1.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import require_probability
from ..arrays import FloatArray
from ..codec import INTEGERS
from ..data import Outside
from ..display.numerals import describe_point
from ..display.scores import draw_precision_recall
from ..inference import Band, basic_interval, mean_intervals, sampling_generator
from ..inference.known_numbers import KNOWN_LEVEL, is_uninformative, known_values
from ..inference.rates import (
    FLAGGED,
    PRECISION,
    RATE_EDGES,
    RECALL,
    cumulate_from_top,
    net_benefit_ratio,
    pin_share_ends,
    sweep_boxes,
)
from ..summaries.two_classes import LEAST_MASS, net_benefit, odds, precision_and_recall
from .class_table import (
    BAND,
    CALIBRATION_GROUPS,
    BandedTableResult,
    ClassTable,
    ClassTableResult,
    Metric,
    estimate_metric,
    group_cells_evenly,
)
from .question import require_independent
from .result import INDIVIDUAL_INTERVAL, PlotArguments


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecall(BandedTableResult):
    """Precision and recall at each threshold: the share of positives above it, and the share of all positives above it.

    Attributes:
        precision: Share of positives among the records above each threshold; 1 without records. Shape ``(points,)``.
        recall: Share of the positives above each threshold, of the same shape; NaN without positives.
        thresholds: Decreasing; at point i, scores at or above threshold i count as above it. The first is infinite.
        average_precision: The mean precision at the scores of the positives.
        table: The released table.
    """

    KIND = "precision-recall"
    SIZE = display.SQUARE
    TITLE = "Precision-recall curve"
    COLUMN_WORDS = display.describe_columns(threshold="threshold", precision="precision", recall="recall")
    REPR_FACTS = "average precision {average_precision:.3f}, {table.grid.slots} cells"
    SUMMARY = (("average precision", "{average_precision!n}"),)
    ARRAYS = ("precision", "recall", "thresholds", "average_precision")
    BAND_COLUMNS: ClassVar[tuple[str, ...]] = ("precision", "recall")
    COLUMNS = ("threshold=thresholds", *BAND_COLUMNS)
    POSSIBLE_RANGES = MappingProxyType(
        {name: (0.0, 1.0, f"{name}_lower", f"{name}_upper") for name in ("precision", "recall")}
    )
    IS_CURVE = True

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray
    average_precision: float
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable) -> PrecisionRecall:
        """Return the curve from released counts, at no further loss.

        Args:
            table: Released counts of both classes by score.
        """
        counts = table.counts.likely_counts
        precision, recall = precision_and_recall(counts)
        return cls(precision, recall, table.thresholds, estimate_metric(table, Metric.AVERAGE_PRECISION), table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band]:
        """Return bands of `precision` and of `recall`, simultaneous at all thresholds with confidence `level`.

        They are for the rates of these records; with `population`, for the rates of the population from which the
        records were sampled, which needs independent units of one record each. The bands of both rates are
        simultaneous: see `ratio_bands`. If noise alone can explain the count above a threshold, the interval of
        precision is 0 to 1.

        Args:
            level: Probability that both bands contain their whole curves, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        ratios = PRECISION, RECALL
        precision, recall = self.table.bands(ratios, level, population=population, generator=generator)
        return precision, pin_share_ends(recall)

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        """Return the lower and upper precision at each recall that the plot shades, from the bands of both rates
        together.

        Args:
            level: Probability that the bands of both rates hold at all thresholds at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        precision, recall = self.band(level, population=population)
        return sweep_boxes(recall, precision)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw precision against recall with its band; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        recall = self._mask_unknown("recall", self.recall)
        precision = self._mask_unknown("precision", self.precision)
        return draw_precision_recall(recall, precision, self.average_precision, edges=RATE_EDGES, shades=shades, **how)


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeGain(BandedTableResult):
    """The share of the positives among the records with the highest scores, by threshold.

    Attributes:
        flagged: Share of all records above each threshold, of shape ``(points,)``; NaN without records.
        gain: Share of the positives above it, of the same shape; NaN without positives.
        lift: The gain divided by the flagged share: the ratio to the positives among equally many random records.
        thresholds: Decreasing; at point i, scores at or above threshold i count as above it. The first is infinite.
        table: The released table.
    """

    KIND = "cumulative-gain"
    SIZE = display.SQUARE
    TITLE = "Cumulative gain"
    COLUMN_WORDS = display.describe_columns(
        threshold="threshold",
        flagged=("share of records, highest scores first", display.CellFormat.SHARE),
        gain=("share of the positives", display.CellFormat.SHARE),
        lift="lift",
    )
    REPR_FACTS = "{table.grid.slots} cells"
    SUMMARY = (("thresholds", "{table.grid.slots}"),)
    ARRAYS = ("flagged", "gain", "lift", "thresholds")
    BAND_COLUMNS: ClassVar[tuple[str, ...]] = ("flagged", "gain", "lift")
    COLUMNS = ("threshold=thresholds", *BAND_COLUMNS)
    POSSIBLE_RANGES = MappingProxyType({
        "flagged": (0.0, 1.0, "flagged_lower", "flagged_upper"), "gain": (0.0, 1.0, "gain_lower", "gain_upper"),
        "lift": (0.0, inf, "lift_lower", "lift_upper"),
    })  # fmt: skip
    IS_CURVE = True

    flagged: FloatArray
    gain: FloatArray
    lift: FloatArray
    thresholds: FloatArray
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable) -> CumulativeGain:
        """Return the curve from released counts, at no further loss.

        Args:
            table: Released counts of both classes by score.
        """
        negative, positive = table.counts.likely_counts[:, ::-1]
        flagged = _shares_above_thresholds(negative + positive)
        gain = _shares_above_thresholds(positive)
        lift = np.divide(gain, flagged, out=np.full_like(gain, np.nan), where=flagged > 0)
        return cls(flagged, gain, lift, table.thresholds, table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band, Band]:
        """Return bands of `flagged`, of `gain` and of `lift`, simultaneous at all thresholds with confidence `level`.

        They are for these records; with `population`, for the population from which the records were sampled, which
        needs independent units of one record each. The limits of the lift are the tighter of two: from the limits of
        precision and prevalence, and from the limits of both shares. If the share of records above a threshold may be
        zero, the upper limit is infinite.

        Args:
            level: Probability that the three bands contain their whole curves, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Pairs of lower and upper bounds, (thresholds,) each: of `flagged`, of `gain` and of `lift`.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        ratios = FLAGGED, RECALL, PRECISION
        shares = self.table.bands(ratios, level, population=population, generator=generator)
        flagged, gain = (pin_share_ends(share) for share in shares[:2])
        prevalence = shares[2][0][-1:], shares[2][1][-1:]  # below all thresholds
        by_precision = _divide_bands(shares[2], prevalence)
        by_shares = _divide_bands(gain, flagged)
        return flagged, gain, (np.maximum(by_precision[0], by_shares[0]), np.minimum(by_precision[1], by_shares[1]))

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        """Return the lower and upper gain at each flagged share that the plot shades, from the bands of both together.

        Args:
            level: Probability that the bands of both rates hold at all thresholds at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        flagged, gain, _ = self.band(level, population=population)
        return sweep_boxes(flagged, gain)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the gain against the flagged share with its band; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        flagged = self._mask_unknown("flagged", self.flagged)
        gain = self._mask_unknown("gain", self.gain)
        return display.draw_gain(flagged, gain, edges=RATE_EDGES, shades=shades, **how)


def _shares_above_thresholds(count: FloatArray) -> FloatArray:
    """Return the share of all records above each threshold, (cells + 1,), from counts by decreasing score; NaN
    without records.

    Args:
        count: Counts of records by decreasing score, (cells,).
    """
    above = np.append(0.0, np.cumsum(count))
    return above / above[-1] if above[-1] >= LEAST_MASS else np.full_like(above, np.nan)


def _divide_bands(part: Band, whole: Band) -> Band:
    """Return lower and upper limits of a ratio from the limits of its numerator and denominator.

    Args:
        part: Limits of the numerator.
        whole: Limits of the denominator; where it may be 0, the upper limit of the ratio is infinite.
    """
    (lower, upper_part), (smallest, largest) = np.broadcast_arrays(*part), np.broadcast_arrays(*whole)
    upper = np.divide(upper_part, smallest, out=np.full(upper_part.shape, np.inf), where=smallest > 0)
    return lower / np.maximum(largest, 1e-300), upper


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(ClassTableResult):
    """The net benefit of acting where a probability is at or above a threshold (Vickers and Elkin 2006).

    It is the share of true positives minus the share of false positives times the odds of the threshold, t / (1 - t):
    acting at probability t implies that a false positive costs t / (1 - t) times the benefit of a true positive.

    Attributes:
        threshold: Increasing probabilities, the inner edges of the grid, of shape ``(points,)``.
        benefit: Net benefit of acting by the scores, per record, of the same shape.
        all_benefit: The net benefit of acting on all records. For no record it is 0.
        table: The released table.
    """

    KIND = "decision-curve"
    TITLE = "Decision curve"
    COLUMN_WORDS = display.describe_columns(
        threshold="threshold probability", benefit="net benefit", all_benefit="net benefit of acting on everybody"
    )
    MEASURED = "benefit"
    REPR_FACTS = "{threshold.size} thresholds"
    SUMMARY = (("thresholds", "{threshold.size}"),)
    COLUMNS = ("threshold", "benefit", "all_benefit")
    INTERVAL_NAME = BAND
    POSSIBLE_RANGES = MappingProxyType({"benefit": (), "all_benefit": ()})
    IS_CURVE = True

    threshold: FloatArray
    benefit: FloatArray
    all_benefit: FloatArray
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable) -> DecisionCurve:
        """Return the curve from released counts, at no further loss.

        Args:
            table: Released counts of both classes by score; scores must be probabilities.

        Raises:
            ValueError: the scores are not probabilities.
        """
        table.require_probabilities("a decision curve")
        thresholds = table.grid.edges[1:-1]
        points = _threshold_indices(table)
        false, true = cumulate_from_top(table.counts.likely_counts)
        size = float(false[-1] + true[-1])
        benefit = net_benefit(true[points], false[points], size, thresholds)
        all_benefit = net_benefit(true[-1:], false[-1:], size, thresholds)
        return cls(thresholds, benefit, all_benefit, table)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> Band:
        """Return a band of `benefit`, simultaneous at all thresholds with confidence `level`.

        It is for the net benefit of these records; with `population`, for the population from which the records were
        sampled, which needs independent units of one record each. See `ratio_bands`.

        Args:
            level: Probability that the band contains the whole curve, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        points = _threshold_indices(self.table)
        thresholds = len(self.table.thresholds)
        ratios = (net_benefit_ratio(odds(self.threshold), points, thresholds),)
        ((lower, upper),) = self.table.bands(ratios, level, population=population, generator=generator)
        return lower[points], upper[points]

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        """Return the band of the net benefit, lower and upper.

        Args:
            level: Probability that the band holds at all thresholds at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return self.band(level, population=population)

    def _possible_range(self, name: str) -> tuple[Any, ...]:
        """Return the smallest and largest possible net benefit at each threshold: minus its odds, and 1.

        Args:
            name: Column of the data frame; the range is equal for all of them.
        """
        return -odds(self.threshold), 1.0

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the net benefit of acting by the scores, on all records and on none, with its band; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        benefit = self._mask_unknown("benefit", self.benefit)
        all_benefit = self._mask_unknown("all_benefit", self.all_benefit)
        return display.draw_decision(self.threshold, benefit, all_benefit, shades=shades, **how)


def _threshold_indices(table: ClassTable) -> np.ndarray:
    """Return the index in `ClassTable.thresholds` of each inner edge of the grid, (points,): the number of cells above
    the edge.

    Args:
        table: Released counts of both classes by score.
    """
    outside = int(table.grid.outside is Outside.APART)
    return table.grid.slots - outside - np.arange(1, table.grid.cells)


TRUE_NEGATIVE, FALSE_POSITIVE, FALSE_NEGATIVE, TRUE_POSITIVE = range(4)
"""Indices of the four counts of a confusion matrix, in the order in which they are stored."""
RATES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = MappingProxyType(
    {
        "recall": ((TRUE_POSITIVE,), (FALSE_NEGATIVE,)),
        "false_positive_rate": ((FALSE_POSITIVE,), (TRUE_NEGATIVE,)),
        "precision": ((TRUE_POSITIVE,), (FALSE_POSITIVE,)),
        "negative_predictive_value": ((TRUE_NEGATIVE,), (FALSE_NEGATIVE,)),
        "accuracy": ((TRUE_NEGATIVE, TRUE_POSITIVE), (FALSE_POSITIVE, FALSE_NEGATIVE)),
        "flagged": ((FALSE_POSITIVE, TRUE_POSITIVE), (TRUE_NEGATIVE, FALSE_NEGATIVE)),
        "prevalence": ((FALSE_NEGATIVE, TRUE_POSITIVE), (TRUE_NEGATIVE, FALSE_POSITIVE)),
        "f1": ((TRUE_POSITIVE,), (FALSE_POSITIVE, FALSE_NEGATIVE)),
    }
)
"""Rates of a confusion matrix, each by the indices of two groups of counts: the sum of the first divided by the sum of
both. The share of f1 is converted to F1 afterwards."""
RATE_TITLES: Mapping[str, str] = MappingProxyType({rate: rate.replace("_", " ") for rate in RATES} | {"f1": "F1 score"})
"""Names of rates in tables and pictures, by their names in `RATES`."""
F1_INDEX = list(RATES).index("f1")
"""Index of F1 among the rates: its share is converted to F1, the harmonic mean of precision and recall."""


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(ClassTableResult):
    """The confusion matrix at one threshold, and rates: a score at or above the threshold is classified positive.

    Attributes:
        threshold: The edge of the grid nearest to the requested threshold.
        matrix: Non-negative counts of shape ``(2, 2)``, as in scikit-learn: rows are the true labels, columns the
            predicted ones, negatives first.
        table: The released table.
    """

    KIND = "confusion"
    TITLE = "Confusion matrix at {threshold:g}"
    COLUMN_WORDS = display.describe_columns(rate="rate", value="value")
    MEASURED = "value"
    ROW_WORDS = RATE_TITLES
    REPR_FACTS = "threshold {threshold:g}, accuracy {rates[accuracy]:.3f}"
    ARRAYS = ("threshold", "matrix", "rates")
    JSON_SCHEMAS = MappingProxyType({"matrix": display.ROWS})
    INTERVAL_NAME = INDIVIDUAL_INTERVAL

    threshold: float
    matrix: FloatArray
    table: ClassTable

    def _title(self) -> str:
        """Return the plot title, which names both columns and the threshold."""
        return f"{self.table.columns.add_to_title('Confusion matrix')} at {self.threshold:g}"

    @classmethod
    def from_counts(cls, table: ClassTable, threshold: float = 0.5) -> Confusion:
        """Return the matrix from released counts, at no further loss; a note names the edge that replaces a `threshold`
        between edges.

        Args:
            table: Released counts of both classes by score.
            threshold: Requested threshold, in units of the score; the nearest edge of the grid is used.
        """
        point = table.nearest_threshold_index(threshold)
        edge = float(table.thresholds[point])
        if table.grid.values is None and describe_point(edge, threshold) != describe_point(edge, edge):
            note = f"rates are those at a threshold of {describe_point(edge, threshold)} of the grid"
            table = replace(table, privacy=table.privacy.with_notes(note))
        return cls(edge, _count_outcomes(table.counts.likely_counts, point).reshape(2, 2), table)

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return the matrix, with a row for each true class, and the list of rates.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: See `to_csv`.
        """
        names = ["negative", "positive"], ["called negative", "called positive"]
        matrix = display.build_cross_table("Records by true and predicted class", "true class", names, self.matrix)
        return [matrix, *super().report_tables(level=level, population=population, suppress=suppress)]

    @property
    def rates(self) -> dict[str, float]:
        """Rates by name; NaN if a rate is unknown: see `known_values`.

        The shares of predicted positives (``flagged``) and of positives (``prevalence``), and the usual rates; ``f1``
        is the harmonic mean of precision and recall.
        """
        part, rest = _split_rate_counts(self.matrix.ravel())
        shares = np.divide(part, part + rest, out=np.full(len(part), np.nan), where=part + rest >= LEAST_MASS)
        known = known_values(_insert_f1(shares), self._intervals_at(KNOWN_LEVEL).T)
        return dict(zip(RATES, known.tolist(), strict=True))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return confidence limits of `rates`, in their order, shape ``(rates, 2)``, each with confidence `level`.

        They are for the rates of these records; with `population`, for the population from which the records were
        sampled, which needs independent units of one record each. The interval is 0 to 1 if noise alone can explain the
        counts. F1 is an increasing function of the share of true positives among all records that are positive or
        classified so, whose limits are transformed.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        limits = self._intervals_at(level, population=population, generator=generator)
        lower, upper = self._intervals_at(KNOWN_LEVEL).T
        limits[is_uninformative(lower, upper, 0.0, 1.0)] = 0.0, 1.0
        return limits

    def _intervals_at(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return confidence limits of the rates, (rates, 2), without the check whether a rate is known.

        Args:
            level: Probability that one interval contains its rate.
            population: Whether they are for the population.
            generator: Random numbers of the simulated noise; None: a fixed public seed.
        """
        level = require_probability("level", level)
        limits = self.table._compute_once(
            ("rates", self._threshold_index, level, population),
            generator,
            lambda: self.table.share_intervals(
                lambda cells: _split_rate_counts(_count_outcomes(cells, self._threshold_index)),
                level,
                population=population,
                generator=generator,
            ),
        )
        return _insert_f1(limits.T).T

    def count_intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return confidence limits of the four counts, each with confidence `level`, of shape ``(2, 2, 2)``: limits on
        the last axis.

        With `population`, they are for the expected counts in a sample of this size.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        noise = _count_outcomes(
            self.table.simulate_errors(population=False, generator=generator), self._threshold_index
        )
        counts = _count_outcomes(self.table.counts.unbiased_counts, self._threshold_index)
        if population:
            normal = sampling_generator(generator).standard_normal(noise.shape)
            size = max(float(counts.sum()), 1.0)
            return np.reshape(mean_intervals(counts, noise, normal, size, level), (2, 2, 2))
        limits = [basic_interval(count, errors, level) for count, errors in zip(counts.tolist(), noise.T, strict=True)]
        return np.reshape(np.maximum(np.array(limits), 0.0), (2, 2, 2))

    @property
    def _threshold_index(self) -> int:
        """Index of the threshold in `ClassTable.thresholds`."""
        return self.table.nearest_threshold_index(self.threshold)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the matrix and the rates; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        rates = {RATE_TITLES[name]: rate for name, rate in self.rates.items()}
        return display.draw_confusion(self.matrix, self.threshold, rates, shades=shades, **how)

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame: name and value of each rate.

        Returns:
            ``rate``, the short names, and ``value``, in [0, 1] or NaN, in the order of `rates`.
        """
        return {"rate": list(self.rates), "value": list(self.rates.values())}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Confusion:
        """Return the matrix from a parsed JSON document, computed again from its counts.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        table = ClassTable.from_evidence(document.evidence, document.privacy)
        return cls.from_counts(table, float(document.arrays["threshold"]))

    def _summary(self) -> list[tuple[str, str]]:
        """Return the rows of the summary: name and value of each rate, as texts.

        Returns:
            (title, value) pairs in the order of `rates`.
        """
        return [(RATE_TITLES[name], display.format_number(rate)) for name, rate in self.rates.items()]


def _count_outcomes(cells: FloatArray, point: int) -> FloatArray:
    """Return true negatives, false positives, false negatives and true positives at the threshold with index
    `point`: (..., 2, cells) to (..., 4).

    Args:
        cells: Counts of negatives and positives by decreasing score, (..., 2, cells).
        point: Index of a threshold in `ClassTable.thresholds`.
    """
    first = cells.shape[-1] - point  # index of the first cell that is classified positive
    sums = [part.sum(axis=-1) for part in (cells[..., :first], cells[..., first:])]
    return np.stack(sums, axis=-1).reshape(*cells.shape[:-2], 4)


def _split_rate_counts(outcomes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each rate of a confusion matrix as its numerator, and the rest of its denominator.

    Args:
        outcomes: Numbers of the four outcomes in the order of the matrix, (..., 4).

    Returns:
        Numerators and remainders, (..., rates).
    """
    parts = []
    remainders = []
    for numerator, remainder in RATES.values():
        parts.append(outcomes[..., list(numerator)].sum(axis=-1))
        remainders.append(outcomes[..., list(remainder)].sum(axis=-1))
    return np.stack(parts, axis=-1), np.stack(remainders, axis=-1)


def _insert_f1(shares: FloatArray) -> FloatArray:
    """Return the rates, (..., rates): at the position of F1 the share j is replaced by ``2 j / (1 + j)``.

    Args:
        shares: Shares in the order of the rates, (..., rates); at the position of F1 the Jaccard index j.
    """
    rates = shares.copy()
    rates[..., F1_INDEX] *= 2 / (1 + rates[..., F1_INDEX])
    return rates


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCalibration(ClassTableResult):
    """The observed share of positives against the mean score, in groups of cells. The middle of a cell represents its
    scores.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``.
        prob_true: Share of positives in each group, of the same shape; NaN without records.
        count: Records in each group, not negative.
        edges: Edges of the groups, of shape ``(groups + 1,)``.
        starts: The first cell of each group.
        table: The released table.

    Data frame: columns ``left`` and ``right``, the bounds of each group, ``prob_pred``, ``prob_true`` and ``count``.
    """

    KIND = "score-calibration"
    SIZE = display.SQUARE
    TITLE = "Calibration curve"
    COLUMN_WORDS = display.describe_columns(
        left="scores, from",
        right="scores, to",
        prob_pred="mean predicted probability",
        prob_true="share of positives",
        count=("records", display.CellFormat.COUNT),
    )
    MEASURED = "prob_true"
    REPR_FACTS = "{count.size} groups"
    ARRAYS = ("prob_pred", "prob_true", "count", "starts")
    JSON_SCHEMAS = MappingProxyType({"starts": INTEGERS})
    INTERVAL_NAME = INDIVIDUAL_INTERVAL
    POSSIBLE_RANGES = MappingProxyType({"prob_true": (0.0, 1.0)})

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    starts: NDArray[np.int64]
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable) -> ScoreCalibration:
        """Return the calibration of ten groups of about equal size by the released counts, at no further loss.

        Args:
            table: Released counts of both classes by score; scores must be probabilities.

        Raises:
            ValueError: the scores are not probabilities.
        """
        return cls.from_even_groups(table, CALIBRATION_GROUPS)

    @classmethod
    def from_even_groups(cls, table: ClassTable, groups: int) -> ScoreCalibration:
        """Return the calibration of at most `groups` groups of about equal size, by the released counts.

        Args:
            table: Released counts of both classes by score.
            groups: Largest number of groups; ties may leave fewer.

        Raises:
            ValueError: the scores are not probabilities.
        """
        table.require_probabilities("a calibration curve")
        return cls.from_group_starts(table, group_cells_evenly(table, groups))

    @classmethod
    def from_group_starts(cls, table: ClassTable, starts: NDArray[np.int64]) -> ScoreCalibration:
        """Return the calibration of groups that begin with the cells in `starts`.

        Args:
            table: Released counts of both classes by score.
            starts: Index of the first cell of each group, increasing from 0, of shape ``(groups,)``.

        Raises:
            ValueError: the scores are not probabilities.
        """
        table.require_probabilities("a calibration curve")
        negative, positive = _sum_groups(table.drop_outside(table.counts.likely_counts), starts)
        count = negative + positive
        edges = table.grid.edges[np.append(starts, table.grid.cells)]
        summed = np.add.reduceat(table.drop_outside(table.counts.likely_counts).sum(axis=0) * table.middles, starts)
        mean = np.divide(summed, count, out=(edges[:-1] + edges[1:]) / 2, where=count > 0)
        true = np.divide(positive, count, out=np.full_like(count, np.nan), where=count > 0)
        return cls(np.clip(mean, edges[:-1], edges[1:]), true, count, edges, starts, table)

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return intervals of `prob_true`, of shape ``(groups, 2)``, each with confidence `level`.

        Each is for the share of positives among these records of its group; with `population`, for the population from
        which the records were sampled, which needs independent units of one record each. The interval is 0 to 1 if
        noise alone can explain the count of a group.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """

        def split_groups(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Return the counts of positives and of negatives of each group, each (..., groups).

            Args:
                cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if
                    counted apart.
            """
            groups = _sum_groups(self.table.drop_outside(cells), self.starts)
            return groups[..., 1, :], groups[..., 0, :]

        return self.table.share_intervals(split_groups, level, population=population, generator=generator)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw observed shares against mean scores, with intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        observed = self._mask_unknown("prob_true", self.prob_true)
        return display.draw_calibration(self.prob_pred, observed, self.count, shades=shades, **how)

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> ScoreCalibration:
        """Return the calibration from a parsed JSON document, with its groups.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        starts = cast("Any", document.arrays["starts"]).astype(np.int64)
        return cls.from_group_starts(ClassTable.from_evidence(document.evidence, document.privacy), starts)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each group: bounds, mean score, share of positives,
        records."""
        bounds = {"left": self.edges[:-1], "right": self.edges[1:]}
        return {**bounds, "prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count}

    def _summary(self) -> list[tuple[str, str]]:
        """Return two pairs of texts: the number of groups, and the number of records in them."""
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


def _sum_groups(cells: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return counts of groups that begin with the cells in `starts`: (..., 2, cells) to (..., 2, groups).

    Args:
        cells: Counts of negatives and positives, (..., 2, cells).
        starts: Index of the first cell of each group, increasing from 0.
    """
    return np.add.reduceat(cells, starts, axis=-1)
