"""Curves that are read from one release of scores: precision, gain, net benefit, confusion, calibration."""

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
from ..inference.knowledge import KNOWN_AT, is_uninformative, known_values
from ..inference.rates import (
    EDGES,
    FLAGGED,
    PRECISION,
    RECALL,
    cumulate_from_top,
    net_benefit_ratio,
    pin_share_ends,
    sweep_boxes,
)
from ..summaries.two_classes import LEAST_MASS, net_benefit, odds, precision_and_recall
from .class_table import (
    BAND,
    GROUPS,
    BandedTableResult,
    ClassTable,
    ClassTableResult,
    Metric,
    estimate_metric,
    group_cells_evenly,
)
from .question import require_independent
from .result import EACH, PlotArguments


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecall(BandedTableResult):
    """Precision and recall at each threshold: the share of positives above it, and the share of all positives there.

    Attributes:
        precision: Share of positives among the records above each threshold; 1 where none is. Shape ``(points,)``.
        recall: Share of the positives that lie above each threshold, of the same shape; NaN without positives.
        thresholds: In falling order; at point i, scores at or above threshold i count as above it. The first is
            infinite.
        average_precision: The mean precision at the scores of the positives.
        table: What the curve was read from.
    """

    KIND = "precision-recall"
    SIZE = display.SQUARE
    TITLE = "Precision-recall curve"
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
        """From released counts, for nothing."""
        likely = table.counts.likely_counts
        precision, recall = precision_and_recall(likely)
        return cls(precision, recall, table.thresholds, estimate_metric(table, Metric.AVERAGE_PRECISION), table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band]:
        """Lower and upper ends of `precision`, and those of `recall`, at all thresholds at once with chance `level`.

        They are for the rates of these records; with `population`, those of the population that the records were drawn
        from, which needs independent units of one record each. The bands of both rates are simultaneous: see
        `ratio_bands`. Where noise alone can explain the count above a threshold, the interval of precision is 0 to 1.
        """
        asked = PRECISION, RECALL
        precision, recall = self.table.bands(asked, level, population=population, generator=generator)
        return precision, pin_share_ends(recall)

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        precision, recall = self.band(level, population=population)
        return sweep_boxes(recall, precision)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        recall, precision = self._mask_unknown("recall", self.recall), self._mask_unknown("precision", self.precision)
        return draw_precision_recall(recall, precision, self.average_precision, edges=EDGES, shades=shades, **how)


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeGain(BandedTableResult):
    """The share of the positives among the records with the highest scores, by threshold.

    Attributes:
        flagged: Share of all records above each threshold, of shape ``(points,)``; NaN without records.
        gain: Share of the positives above it, of the same shape; NaN without positives.
        lift: The gain divided by the flagged share: how many times as many positives as among equally many random
            records.
        thresholds: In falling order; at point i, scores at or above threshold i count as above it. The first is
            infinite.
        table: What the curve was read from.
    """

    KIND = "cumulative-gain"
    SIZE = display.SQUARE
    TITLE = "Cumulative gain"
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
        """From released counts, for nothing."""
        negative, positive = table.counts.likely_counts[:, ::-1]
        flagged, gain = _shares_above_thresholds(negative + positive), _shares_above_thresholds(positive)
        lift = np.divide(gain, flagged, out=np.full_like(gain, np.nan), where=flagged > 0)
        return cls(flagged, gain, lift, table.thresholds, table)

    def band(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[Band, Band, Band]:
        """Lower and upper ends of `flagged`, of `gain` and of `lift`, at all thresholds at once with chance `level`.

        They are for these records; with `population`, for the population that the records were drawn from, which needs
        independent units of one record each. All are simultaneous: see `ratio_bands`. The limits of the lift are the
        tighter of two: those that follow from the limits of precision and prevalence, and those that follow from the
        limits of both shares. Where the share of records above a threshold may be zero the upper limit is infinite.
        """
        asked = FLAGGED, RECALL, PRECISION
        shares = self.table.bands(asked, level, population=population, generator=generator)
        flagged, gain = (pin_share_ends(share) for share in shares[:2])
        prevalence = shares[2][0][-1:], shares[2][1][-1:]  # below all thresholds
        one, other = _divide_bands(shares[2], prevalence), _divide_bands(gain, flagged)
        return flagged, gain, (np.maximum(one[0], other[0]), np.minimum(one[1], other[1]))

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        flagged, gain, _ = self.band(level, population=population)
        return sweep_boxes(flagged, gain)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        flagged, gain = self._mask_unknown("flagged", self.flagged), self._mask_unknown("gain", self.gain)
        return display.draw_gain(flagged, gain, edges=EDGES, shades=shades, **how)


def _shares_above_thresholds(count: FloatArray) -> FloatArray:
    above = np.append(0.0, np.cumsum(count))
    return above / above[-1] if above[-1] >= LEAST_MASS else np.full_like(above, np.nan)


def _divide_bands(part: Band, whole: Band) -> Band:
    """Ends of a quotient of two numbers that lie between theirs; infinity where the second may be 0."""
    (low, high), (least, most) = np.broadcast_arrays(*part), np.broadcast_arrays(*whole)
    upper = np.divide(high, least, out=np.full(high.shape, np.inf), where=least > 0)
    return low / np.maximum(most, 1e-300), upper


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(ClassTableResult):
    """The net benefit of acting where a probability is at or above a threshold (Vickers and Elkin 2006).

    It is the share of true positives minus the share of false positives times the odds of the threshold, t / (1 - t):
    acting at a probability of t or above implies that a false positive costs t / (1 - t) times what a true one gains.

    Attributes:
        threshold: Rising probabilities, the inner edges of the grid, of shape ``(points,)``.
        benefit: Net benefit of acting by the scores, per record, of the same shape.
        all_benefit: The net benefit of acting on everybody. That of acting on nobody is 0.
        table: What the curve was read from.
    """

    KIND = "decision-curve"
    TITLE = "Decision curve"
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
        """From released counts, for nothing.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a decision curve")
        at, points = table.grid.edges[1:-1], _threshold_indices(table)
        false, true = cumulate_from_top(table.counts.likely_counts)
        size = float(false[-1] + true[-1])
        by_scores = net_benefit(true[points], false[points], size, at)
        everybody = net_benefit(true[-1:], false[-1:], size, at)
        return cls(at, by_scores, everybody, table)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> Band:
        """Lower and upper ends of `benefit`, at all thresholds at once with chance `level`.

        They hold the net benefit of these records; with `population`, that of the population that the records were
        drawn from, which needs independent units of one record each. See `ratio_bands`.
        """
        points, thresholds = _threshold_indices(self.table), len(self.table.thresholds)
        asked = (net_benefit_ratio(odds(self.threshold), points, thresholds),)
        ((lower, upper),) = self.table.bands(asked, level, population=population, generator=generator)
        return lower[points], upper[points]

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        return self.band(level, population=population)

    def _possible_range(self, name: str) -> tuple[Any, ...]:
        return -odds(self.threshold), 1.0

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        benefit, all_benefit = (
            self._mask_unknown("benefit", self.benefit),
            self._mask_unknown("all_benefit", self.all_benefit),
        )
        return display.draw_decision(self.threshold, benefit, all_benefit, shades=shades, **how)


def _threshold_indices(table: ClassTable) -> np.ndarray:
    """The number of the highest slots above each inner edge of the grid."""
    apart = int(table.grid.outside is Outside.APART)
    return table.grid.slots - apart - np.arange(1, table.grid.cells)


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
        "f1": ((TRUE_POSITIVE,), (FALSE_POSITIVE, FALSE_NEGATIVE)),
    }
)
"""Each rate as two groups of counts: the first divided by the sum of both; F1 follows from such a share."""
MEAN_OF_BOTH = list(RATES).index("f1")


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(ClassTableResult):
    """The confusion matrix at one threshold, and rates: a score at or above the threshold is called positive.

    Attributes:
        threshold: The edge of the grid that is nearest to the one that was asked for.
        matrix: Counts of shape ``(2, 2)``, as in scikit-learn: rows are the true labels, columns the predicted ones,
            negatives first. Never below 0.
        table: What they were read from.
    """

    KIND = "confusion"
    TITLE = "Confusion matrix at {threshold:g}"
    REPR_FACTS = "threshold {threshold:g}, accuracy {rates[accuracy]:.3f}"
    ARRAYS = ("threshold", "matrix", "rates")
    JSON_SCHEMAS = MappingProxyType({"matrix": display.ROWS})
    INTERVAL_NAME = EACH

    threshold: float
    matrix: FloatArray
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable, threshold: float = 0.5) -> Confusion:
        """From released counts, for nothing."""
        point = table.nearest_threshold_index(threshold)
        edge = float(table.thresholds[point])
        if table.grid.values is None and describe_point(edge, threshold) != describe_point(edge, edge):
            note = f"rates are those at a threshold of {describe_point(edge, threshold)} of the grid"
            table = replace(table, privacy=table.privacy.with_notes(note))
        return cls(edge, _count_outcomes(table.counts.likely_counts, point).reshape(2, 2), table)

    @property
    def rates(self) -> dict[str, float]:
        """Rates by name; NaN where one is not known: see `known_values`.

        The shares that are predicted positive (``flagged``) and are positive (``prevalence``), and the usual rates;
        ``f1`` is the harmonic mean of precision and recall.
        """
        part, rest = _split_rate_counts(self.matrix.ravel())
        shares = np.divide(part, part + rest, out=np.full(len(part), np.nan), where=part + rest >= LEAST_MASS)
        known = known_values(_insert_f1(shares), self._intervals_at(KNOWN_AT).T)
        return dict(zip(RATES, known.tolist(), strict=True))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Confidence limits of `rates`, in their order, shape ``(rates, 2)``: each holds on its own, at this `level`.

        They are for the rates of these records; with `population`, that of the population that the records were drawn
        from, which needs independent units of one record each. The interval is 0 to 1 where noise alone can explain
        what was counted. F1 rises with the share of true positives among all that are positive or called so, whose
        interval is taken along.
        """
        found = self._intervals_at(level, population=population, generator=generator)
        lower, upper = self._intervals_at(KNOWN_AT).T
        found[is_uninformative(lower, upper, 0.0, 1.0)] = 0.0, 1.0
        return found

    def _intervals_at(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        found = self.table.share_intervals(
            lambda cells: _split_rate_counts(_count_outcomes(cells, self._threshold_index)),
            level,
            population=population,
            generator=generator,
        )
        return _insert_f1(found.T).T

    def count_intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Confidence limits of the four counts, each on its own, of shape ``(2, 2, 2)``: limits along the last axis.

        With `population`, they are for the expected counts in a sample of this size; see `mean_intervals`. Arguments
        and errors as for `intervals`.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        noise = _count_outcomes(
            self.table.simulate_errors(population=False, generator=generator), self._threshold_index
        )
        counts = _count_outcomes(self.table.counts.unbiased_counts, self._threshold_index)
        if population:
            normal, size = sampling_generator(generator).standard_normal(noise.shape), max(float(counts.sum()), 1.0)
            return np.reshape(mean_intervals(counts, noise, normal, size, level), (2, 2, 2))
        found = [basic_interval(count, errors, level) for count, errors in zip(counts.tolist(), noise.T, strict=True)]
        return np.reshape(np.maximum(np.array(found), 0.0), (2, 2, 2))

    @property
    def _threshold_index(self) -> int:
        return self.table.nearest_threshold_index(self.threshold)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        return display.draw_confusion(self.matrix, self.threshold, self.rates, shades=shades, **how)

    def _columns(self) -> dict[str, Any]:
        return {"rate": list(self.rates), "value": list(self.rates.values())}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Confusion:
        table = ClassTable.from_evidence(document.evidence, document.privacy)
        return cls.from_counts(table, float(document.arrays["threshold"]))

    def _summary(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), display.format_number(rate)) for name, rate in self.rates.items()]


def _count_outcomes(cells: FloatArray, point: int) -> FloatArray:
    """True negatives, false positives, false negatives and true positives: (..., 2, cells) to (..., 4)."""
    first = cells.shape[-1] - point  # the highest cells, from this one on, are called positive
    sides = [each.sum(axis=-1) for each in (cells[..., :first], cells[..., first:])]
    return np.stack(sides, axis=-1).reshape(*cells.shape[:-2], 4)


def _split_rate_counts(four: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The counts that each rate is a share of, and the rest: (..., 4) to (..., rates)."""
    part, rest = (
        np.stack([four[..., list(counted)].sum(axis=-1) for counted in side], axis=-1)
        for side in zip(*RATES.values(), strict=True)
    )
    return part, rest


def _insert_f1(shares: FloatArray) -> FloatArray:
    """Rates, (..., rates), with F1 in the place of the share j that it follows from, as ``2 j / (1 + j)``."""
    found = shares.copy()
    found[..., MEAN_OF_BOTH] *= 2 / (1 + found[..., MEAN_OF_BOTH])
    return found


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCalibration(ClassTableResult):
    """The observed share of positives against the mean score, in groups of cells. Scores count as middles of cells.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``.
        prob_true: Share of positives in each group, of the same shape; NaN where nobody was counted.
        count: Records in each group, never below zero.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        starts: The first cell of each group.
        table: What the curve was read from.

    Data frame: columns ``left`` and ``right``, where each group lies, ``prob_pred``, ``prob_true`` and ``count``.
    """

    KIND = "score-calibration"
    SIZE = display.SQUARE
    TITLE = "Calibration curve"
    REPR_FACTS = "{count.size} groups"
    ARRAYS = ("prob_pred", "prob_true", "count", "starts")
    JSON_SCHEMAS = MappingProxyType({"starts": INTEGERS})
    INTERVAL_NAME = EACH
    POSSIBLE_RANGES = MappingProxyType({"prob_true": (0.0, 1.0)})

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    starts: NDArray[np.int64]
    table: ClassTable

    @classmethod
    def from_counts(cls, table: ClassTable) -> ScoreCalibration:
        """Ten groups of about equal size by the released counts, at no further loss."""
        return cls.from_even_groups(table, GROUPS)

    @classmethod
    def from_even_groups(cls, table: ClassTable, groups: int) -> ScoreCalibration:
        """At most `groups` groups of about equal size, by the released counts.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a calibration curve")
        return cls.from_group_starts(table, group_cells_evenly(table, groups))

    @classmethod
    def from_group_starts(cls, table: ClassTable, starts: NDArray[np.int64]) -> ScoreCalibration:
        """Groups that begin with these cells.

        Raises:
            ValueError: the scores are no probabilities.
        """
        table.require_probabilities("a calibration curve")
        negative, positive = _sum_groups(table.drop_outside(table.counts.likely_counts), starts)
        count, edges = negative + positive, table.grid.edges[np.append(starts, table.grid.cells)]
        summed = np.add.reduceat(table.drop_outside(table.counts.likely_counts).sum(axis=0) * table.middles, starts)
        mean = np.divide(summed, count, out=(edges[:-1] + edges[1:]) / 2, where=count > 0)
        true = np.divide(positive, count, out=np.full_like(count, np.nan), where=count > 0)
        return cls(np.clip(mean, edges[:-1], edges[1:]), true, count, edges, starts, table)

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `prob_true`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each holds the share of positives among these records of its group; with `population`, the share among the
        population that the records were drawn from, which needs independent units of one record each. The interval is 0
        to 1 where noise alone can explain the count of a group.
        """

        def split_groups(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
            groups = _sum_groups(self.table.drop_outside(cells), self.starts)
            return groups[..., 1, :], groups[..., 0, :]

        return self.table.share_intervals(split_groups, level, population=population, generator=generator)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        observed = self._mask_unknown("prob_true", self.prob_true)
        return display.draw_calibration(self.prob_pred, observed, self.count, shades=shades, **how)

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> ScoreCalibration:
        starts = cast("Any", document.arrays["starts"]).astype(np.int64)
        return cls.from_group_starts(ClassTable.from_evidence(document.evidence, document.privacy), starts)

    def _columns(self) -> dict[str, FloatArray]:
        ends = {"left": self.edges[:-1], "right": self.edges[1:]}
        return {**ends, "prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count}

    def _summary(self) -> list[tuple[str, str]]:
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


def _sum_groups(cells: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Counts (..., 2, cells) of groups: (..., 2, groups)."""
    return np.add.reduceat(cells, starts, axis=-1)
