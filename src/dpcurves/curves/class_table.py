"""Metrics of a binary classifier (AUC, average precision, KS, Brier score, calibration error, log loss) under DP.

`ClassTable` holds one release: noisy counts of positives and negatives in the cells of a public grid of scores. ROC,
precision-recall and decision curves are computed from it (`ClassTableResult`), and so is each number of `Metric`:
`estimate_metric` returns its value, `find_metric_interval` its confidence interval (lower, upper).

Formal guarantees: everything here is a function of one release, so it loses nothing more (post-processing).

With F and G the distribution functions of the scores of negatives and positives, s the score of a record, the middle of
its cell, and n_g, p_g and m_g the records, positives and mean score of a group g of similar scores:

    AUC                 P(positive scores higher) + P(tie) / 2
    average precision   mean, over positives, of the precision at their score
    KS                  max_t |F(t) - G(t)|
    Brier score         mean of (label - s)**2
    ECE                 sum_g n_g / n * |p_g / n_g - m_g|      over ten groups of about equal size
    log loss            mean of -log(probability of the label)

References:
    Brier (1950). Verification of forecasts expressed in terms of probability.
    Naeini, Cooper and Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning.

>>> import dpcurves as dp
>>> labels, predicted = [0, 0, 1, 1] * 500, [0.1, 0.4, 0.35, 0.8] * 500
>>> scores = dp.scores(labels, predicted, grid=dp.Grid(0, 1, cells=16), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> [metric.key for metric in list_metrics(scores.table)], round(estimate_metric(scores.table, Metric.KS), 2)
(['auc', 'average-precision', 'ks', 'brier', 'ece', 'log-loss'], 0.5)
"""

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
from ..conversation.notes import add_advice
from ..data import Grid, Outside
from ..inference import (
    Band,
    GroupCounts,
    GroupNoise,
    public_generator,
    share_intervals,
    upper_quantile,
    upper_quantiles,
)
from ..inference.areas import RankedClassCounts, area_interval, bound_untied_pairs
from ..inference.known_numbers import KNOWN_LEVEL, is_uninformative, known_number
from ..inference.moments import absolute_sum_interval, largest_absolute_interval
from ..inference.rates import ClassCounts, Ratio, SimulatedCounts, ratio_bands
from ..inference.simulation import sampling_generator
from ..summaries import auc_of_counts, two_classes
from .pair_mean import compute_basic_interval
from .question import NO_COLUMNS, ScoredColumns, cells_to_json, grid_from_edges, require_independent
from .result import IntervalResult, SimulationCache

BAND = "simultaneous band"
"""Label of bands that hold at all points at once."""
SplitCells = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Function from counts (..., 2, slots) to two arrays: numerators of shares, and denominators minus numerators."""
Interval = tuple[float, float]
"""Lower and upper endpoint."""


@dataclass(frozen=True, eq=False)
class ClassTable(SimulationCache):
    """Counts of negatives and positives in the cells of a public grid of scores. Scores in one cell are tied.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
        grid: The cells of the scores.
        privacy: The privacy statement, which every picture shows.
        lattice_counts: Counts of the scores on a lattice, and of other scores, if it was found and not declared. Its
            points are the values of the grid, or else its edges. None: no lattice was found.
        columns: The columns of scores and labels, for titles.
    """

    evidence: Evidence
    grid: Grid
    privacy: PrivacyStatement
    lattice_counts: Evidence | None = None
    columns: ScoredColumns = NO_COLUMNS

    @cached_property
    def counts(self) -> ClassCounts:
        """The released counts of negatives and positives in each cell, with the distribution of their noise."""
        return ClassCounts(self.evidence.sums, self.evidence.values, self.evidence.total)

    @property
    def tied_cells(self) -> BoolArray | None:
        """True for cells whose scores are all equal, (slots,); None if this is not known of any cell."""
        if self.grid.values is None:
            if self.lattice_counts is None:
                return None
            points = np.bincount(self.grid.cell_of(self.grid.edges), minlength=self.grid.slots)
            return np.asarray(points == 1)
        tied = np.ones(self.grid.slots, dtype=np.bool_)
        if self.grid.outside is Outside.APART:
            tied[[0, -1]] = False
        return tied

    @property
    def bound_untied(self) -> Callable[[float], float] | None:
        """Function from an error probability to an upper bound of the number of scores that equal no multiple of the
        step found; None if no step was found.
        """
        return None if self.lattice_counts is None else partial(bound_last_cell, self.lattice_counts)

    @cached_property
    def thresholds(self) -> FloatArray:
        """Decreasing thresholds, the first infinite; at point i, scores at or above threshold i count as positive."""
        thresholds = self.grid.edges[:-1] if self.grid.values is None else self.grid.values
        if self.grid.outside is Outside.APART:  # the upper bound of the grid belongs to its last cell
            thresholds = np.concatenate([[-np.inf], thresholds, [np.nextafter(self.grid.upper, np.inf)]])
        return np.append(np.inf, thresholds[::-1])

    def nearest_threshold_index(self, threshold: float) -> int:
        """Return the index of the point whose threshold is the grid edge nearest to `threshold`.

        With declared values it is the smallest value that is at least the threshold.
        """
        grid = self.grid
        thresholds = np.array([threshold])
        (edge,) = grid.nearest_edge(thresholds) if grid.values is None else np.searchsorted(grid.values, thresholds)
        return self.grid.slots - int(edge) - int(self.grid.outside is Outside.APART)

    def simulate_errors(self, *, population: bool, generator: np.random.Generator | None = None) -> FloatArray:
        """Return simulated errors of the counts of both classes, (draws, 2, slots): in each cell, and outside the grid
        if counted apart.

        Args:
            population: If True, sampling errors are added to the noise.
            generator: Random numbers of the simulation; None: from a fixed public seed.

        Raises:
            ValueError: for the population, units have several records.
        """
        require_independent(self.privacy, population)
        return self.counts.simulate_errors(population=population, generator=generator)

    def bands(
        self, ratios: Sequence[Ratio], level: float, *, population: bool, generator: np.random.Generator | None
    ) -> tuple[Band, ...]:
        """Return for each ratio the lower and upper limits at all thresholds, simultaneous over thresholds and ratios
        with confidence `level`.

        Args:
            ratios: Ratios of sums of counts, each with a value at all thresholds.
            level: Probability that all bands hold at once, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Lower and upper limits, (thresholds,) each, in the order of the ratios.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        simulated = partial(SimulatedCounts.from_counts, self.counts, population=population, generator=generator)
        draws = self._compute_once(population, generator, simulated)
        return self._compute_once((*ratios, level, population), generator, lambda: ratio_bands(draws, ratios, level))

    def share_intervals(
        self, split_cells: SplitCells, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> FloatArray:
        """Return confidence intervals of shares such as precisions, (shares, 2), each of which holds singly.

        Args:
            split_cells: Returns the numerator of each share, and the rest of its denominator, from counts.
            level: Confidence level of each interval.
            population: Whether intervals are for the population, so that they cover sampling, too.
            generator: Random numbers of the simulation; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        noise = split_cells(self.simulate_errors(population=False, generator=generator))
        numerator, remainder = split_cells(self.counts.unbiased_counts)
        zeros = np.zeros_like(numerator)
        normal = sampling_generator(generator).standard_normal(noise[0].shape) if population else None
        groups = GroupCounts(numerator, remainder, zeros, zeros, zeros)
        return share_intervals(groups, GroupNoise(*noise, zeros), normal, level)

    @property
    def are_probabilities(self) -> bool:
        """Whether the grid, or each declared value, lies in [0, 1]."""
        return self.grid.endpoints[0] >= 0 and self.grid.endpoints[1] <= 1

    def require_probabilities(self, what: str) -> None:
        """Raise unless scores are predicted probabilities; the error names the result `what`.

        Raises:
            ValueError: the grid leaves [0, 1].
        """
        if not self.are_probabilities:
            grid_range = " to ".join(f"{endpoint:g}" for endpoint in self.grid.endpoints)
            raise InvalidArgument(
                "grid", f"{what} needs predicted probabilities: ask on a grid within [0, 1], got {grid_range}"
            )

    @property
    def middles(self) -> FloatArray:
        """The middle of each cell of the grid, or its declared value, which stands for all scores in the cell."""
        edges, values = self.grid.edges, self.grid.values
        return (edges[:-1] + edges[1:]) / 2 if values is None else values

    def drop_outside(self, cells: FloatArray) -> FloatArray:
        """Return numbers of the cells without those for scores outside the grid, if any: (..., slots) to (..., cells).

        Args:
            cells: Numbers along the last axis: in each cell, and outside the grid if counted apart.
        """
        return cells[..., 1:-1] if self.grid.outside is Outside.APART else cells

    def question_to_json(self) -> dict[str, Any]:
        """Return the cells of the grid and the columns as JSON values, which `from_evidence` reads.

        Returns:
            JSON values by field name; ``lattice`` only if a common step of the scores was found.
        """
        lattice = {} if self.lattice_counts is None else {"lattice": self.lattice_counts.to_json()}
        return {"edges": self.grid.edges.tolist(), **cells_to_json(self.grid), **self.columns.to_json(), **lattice}

    @classmethod
    def from_evidence(cls, evidence: Mapping[str, Any], privacy: PrivacyStatement) -> ClassTable:
        """Return the table from the evidence of a stored curve in JSON.

        Args:
            evidence: JSON values with the fields ``question`` and ``releases``; the first release has the counts.
            privacy: Privacy statement of the stored curve.
        """
        question = evidence["question"]
        grid = grid_from_edges(question)
        lattice = Evidence.from_json(question["lattice"]) if "lattice" in question else None
        counts = Evidence.from_json(evidence["releases"][0]).as_cell_counts(2)
        return cls(counts, grid, privacy, lattice, ScoredColumns.from_json(question))


class ClassTableResult(IntervalResult):
    """A statistic that is computed from one released table of counts of two classes, at no further loss.

    Attributes:
        table: The released table.
    """

    table: ClassTable

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement, which every picture shows."""
        return self.table.privacy

    @property
    def evidence(self) -> Evidence:
        """The released counts of both classes, with their noise distribution."""
        return self.table.evidence

    @classmethod
    @abstractmethod
    def from_counts(cls, table: ClassTable) -> Self:
        """Return the result from released counts.

        Args:
            table: Released counts of both classes by score.
        """

    def _title(self) -> str:
        """Return the title with the columns of scores and labels."""
        return self.table.columns.add_to_title(super()._title())

    def _question(self) -> dict[str, Any]:
        """Return the JSON fields of the table: its grid and columns."""
        return self.table.question_to_json()

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the result from a parsed JSON document, computed again from its counts.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        return cls.from_counts(ClassTable.from_evidence(document.evidence, document.privacy))


class BandedTableResult(ClassTableResult):
    """A curve of several rates by threshold, with simultaneous bands for all of them.

    Attributes:
        BAND_COLUMNS: The columns that `band` bounds, in its order.
    """

    INTERVAL_NAME = BAND

    BAND_COLUMNS: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def band(self, level: float, *, population: bool = False) -> tuple[Band, ...]:
            """Return for each of `BAND_COLUMNS` the lower and upper limits at all thresholds, simultaneous with
            confidence `level`.

            Args:
                level: Probability that all bands hold at all thresholds at once, between 0 and 1.
                population: Whether the bands are for the population, not for these records.

            Returns:
                A (lower, upper) pair for each of `BAND_COLUMNS`, (points,) each.

            Raises:
                ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
            """
            ...

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """Return columns of the lower and upper limits of each rate, named as in ``precision_lower``.

        Args:
            level: Probability that the band of a rate is right.
            population: If True, the bands are for the population.
        """
        columns = dict[str, Any]()
        for name, limits in zip(self.BAND_COLUMNS, self.band(level, population=population), strict=True):
            columns |= dict(zip((f"{name}_lower", f"{name}_upper"), limits, strict=True))
        return columns


# Single numbers from released counts of two classes, each with its interval.


CALIBRATION_GROUPS = 10
"""Groups of about equal size in which the expected calibration error compares scores and labels: the usual number. More
groups see finer deviations, with more noise in each."""
BOUND_DRAWS = 2**15
"""Draws of noise from which the number of scores that equal no value of the grid is bounded. If fewer than 20 draws lie
beyond the bound, a wider bound by moments is taken instead."""
UNTIED_PROBABILITY = 0.05
"""Probability with which more scores equal no value of the grid than the bound that enters the discretization error."""
NEEDS_POSITIVES = (1,)
"""Classes whose records a statistic needs, as indices: positives."""
NEEDS_BOTH = (0, 1)
"""Classes whose records a statistic needs, as indices: both."""


class ConfidenceSettings(NamedTuple):
    """The confidence level of an interval, whether it is for the population, and the random generator (None: a fixed
    public seed)."""

    level: float
    population: bool
    generator: np.random.Generator | None


@dataclass(frozen=True, slots=True)
class MetricEstimator(ABC):
    """A metric: how it is computed from counts of two classes, and how its interval is.

    Attributes:
        title: Its usual name.
        required_classes: The classes that need records; empty if any record is enough.
        needs_probabilities: Whether scores must lie in [0, 1].
    """

    title: str
    required_classes: tuple[int, ...]
    needs_probabilities: bool

    @abstractmethod
    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return the metric of one or more tables of counts of negatives and positives.

        Args:
            table: Table with the cells of the scores and the released counts, which may decide groups.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The metric of each table in `cells`, (...).
        """

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return the confidence interval of the metric.

        Args:
            table: The released counts.
            errors: Simulated errors of the counts of both classes, (draws, 2, slots), in each cell, and outside the
                grid if counted apart: noise and, for the population, sampling.
            settings: Confidence level, and whether the interval is for the population.
        """
        return table.counts.interval(lambda cells: self.compute(table, cells), errors, settings.level)

    def discretization_error(self, table: ClassTable) -> Interval:
        """Return how far the metric of the exact scores may lie below and above the metric of the cells.

        Args:
            table: Released counts of both classes by score.

        Returns:
            Error below and error above, both at least 0, in units of the metric; here 0.
        """
        return 0.0, 0.0

    def upper_limit(self, table: ClassTable) -> float:
        """Return the largest possible value; the smallest is 0.

        Args:
            table: Released counts of both classes by score.
        """
        return 1.0

    def is_known(self, records: FloatArray, least: FloatArray) -> bool:
        """Return whether there are enough records of each class that the metric needs, or of both together.

        Args:
            records: Number of negatives and of positives, (2,).
            least: Least number of negatives and of positives, (2,).
        """
        if self.required_classes:
            return all(bool(records[row] >= least[row]) for row in self.required_classes)
        return bool(records.sum() >= least.max())


class AreaUnderCurve(MetricEstimator):
    """The area under the ROC curve (AUC), also called concordance of scores and labels."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return the share of pairs of a positive and a negative in which the positive has the higher score.

        Pairs in one cell are tied and count one half (Mann and Whitney 1947).

        Args:
            table: Not used.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The area of each table in `cells`, (...), in [0, 1].
        """
        return auc_of_counts(positive=cells[..., 1, :], negative=cells[..., 0, :])

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return the interval of the area under a ROC curve, for unknown orders of scores inside cells.

        Args:
            table: Released counts of both classes.
            errors: Simulated errors of the counts, (draws, 2, cells).
            settings: Confidence level, whether it is for the population, and random numbers.
        """
        if not settings.population and settings.generator is None:
            return area_interval(_collect_ranked_counts(table, errors), settings.level)
        rng = public_generator(settings.generator)
        noise = table.simulate_errors(population=False, generator=rng)  # drawn first: sampling does not change it
        return area_interval(
            _collect_ranked_counts(table, noise), settings.level, sampling=rng if settings.population else None
        )

    def discretization_error(self, table: ClassTable) -> Interval:
        """Return half the share of tied pairs, as error below and as error above: their true order may add or
        subtract it.

        Args:
            table: Released counts of both classes by score.

        Returns:
            Error below and error above, equal; 0 if a class has no records.
        """
        negative, positive = table.counts.likely_counts
        pairs = float(negative.sum() * positive.sum())
        may_be_ordered = 1.0 if table.tied_cells is None else ~table.tied_cells
        if pairs < two_classes.LEAST_MASS:
            return 0.0, 0.0
        undecided = float((negative * may_be_ordered) @ positive)
        if table.bound_untied is not None and table.tied_cells is not None:
            tied = np.where(table.tied_cells, table.counts.likely_counts, 0.0)
            undecided += bound_untied_pairs(tied, table.bound_untied(UNTIED_PROBABILITY))
        return undecided / 2 / pairs, undecided / 2 / pairs


class AveragePrecision(MetricEstimator):
    """The average precision: the mean, over positives, of the precision at their score."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return the mean precision at the scores of the positives; ties have one threshold.

        Args:
            table: Not used.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The average precision of each table in `cells`, (...), in [0, 1].
        """
        return two_classes.average_precision(cells)

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return an interval of the average precision from simulated errors.

        The wider side is used for both, since precision at few records is skewed.

        Args:
            table: Released counts of both classes.
            errors: Simulated errors of the counts, (draws, 2, cells).
            settings: Confidence level, whether it is for the population, and random numbers.
        """
        exact, draws = (
            two_classes.average_precision(cells)
            for cells in (table.counts.likely_counts, table.counts.likely_counts + errors)
        )
        estimate = float(two_classes.average_precision(table.counts.unbiased_counts))
        return compute_basic_interval(estimate, draws - exact, settings.level, population=True)


class KolmogorovSmirnov(MetricEstimator):
    """The Kolmogorov-Smirnov statistic: the largest gap between the distributions of both classes."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return ``max |F_negative(t) - F_positive(t)|`` over the edges t of the grid.

        Args:
            table: Not used.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The statistic of each table in `cells`, (...), in [0, 1].
        """
        return two_classes.largest_class_gap(cells)

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return an interval that corrects for the upward bias of the largest gap by noise; 0 to 1 if there is one
        cell.

        Args:
            table: Released counts of both classes.
            errors: Simulated errors of the counts of both classes, (draws, 2, slots), in each cell, and outside the
                grid if counted apart.
            settings: Level and scope of the interval.
        """
        if table.grid.slots == 1:
            return 0.0, 1.0
        counts = table.counts.likely_counts
        errors_of_gaps = two_classes.compute_class_gaps(counts + errors) - two_classes.compute_class_gaps(counts)
        return largest_absolute_interval(
            two_classes.compute_class_gaps(table.counts.unbiased_counts), errors_of_gaps, settings.level
        )


class BrierScore(MetricEstimator):
    """The Brier score: the mean squared error of predicted probabilities."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return ``mean((label - score)**2)`` over records; the middle of a cell represents its scores.

        Args:
            table: Table with the cells of the scores; its counts are not read.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The score of each table in `cells`, (...), in [0, 1].
        """
        return two_classes.brier_score(table.drop_outside(cells), table.middles)


class ExpectedCalibrationError(MetricEstimator):
    """The expected calibration error: the mean distance of predicted and observed shares of positives."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return ``sum(n_g / n * |positives_g / n_g - mean score_g|)`` over groups g of about equal size.

        Args:
            table: Table whose released counts decide the groups.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The error of each table in `cells`, (...), in [0, 1].
        """
        return np.asarray(np.abs(self._gaps(table, cells)).sum(axis=-1))

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return an interval that corrects for the upward bias of absolute values by noise.

        Args:
            table: Released counts of both classes.
            errors: Simulated errors of the counts of both classes, (draws, 2, slots), in each cell, and outside the
                grid if counted apart.
            settings: Level and scope of the interval.
        """
        counts = table.counts.likely_counts
        errors_of_gaps = self._gaps(table, counts + errors) - self._gaps(table, counts)
        return absolute_sum_interval(self._gaps(table, table.counts.unbiased_counts), errors_of_gaps, settings.level)

    def _gaps(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return for each group the difference of share of positives and mean score, weighted by its share of the
        records, (..., groups).

        Args:
            table: Table whose released counts decide the groups.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.
        """
        return two_classes.calibration_gaps(
            table.drop_outside(cells), table.middles, group_cells_evenly(table, CALIBRATION_GROUPS)
        )


class LogLoss(MetricEstimator):
    """The log loss, also called cross-entropy: the mean negative log-likelihood of the labels."""

    __slots__ = ()

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return ``mean(-log(p))`` over records, p the predicted probability of the record's label.

        The middle of a cell represents its scores.

        Args:
            table: Table with the cells of the scores; its counts are not read.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.

        Returns:
            The loss of each table in `cells`, (...), in nats.
        """
        return two_classes.log_loss(table.drop_outside(cells), table.middles)

    def upper_limit(self, table: ClassTable) -> float:
        """Return the loss if every label is the less likely one, at the most extreme score.

        Args:
            table: Table with the cells of the scores; its counts are not read.
        """
        extreme_scores = np.array([table.middles.min(), table.middles.max()])
        return float(
            two_classes.log_loss(np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]]), extreme_scores).max()
        )


class Metric(Enum):
    """A number that is computed from scores and labels. Each interval holds singly with probability `level`.

    - `AUC`: area under the ROC curve. The interval is for the area of the exact scores: each limit assumes the worst
      order within cells.
    - `AVERAGE_PRECISION`: mean precision at the scores of the positives; ties have one threshold.
    - `KS`: the Kolmogorov-Smirnov statistic, the largest difference of the distribution functions of both classes.
    - `BRIER`: the Brier score, the mean squared difference of label and score (Brier 1950).
    - `ECE`: the expected calibration error, the mean distance of share of positives and mean score, over ten groups of
      similar scores of about equal size (Naeini, Cooper and Hauskrecht 2015).
    - `LOG_LOSS`: the log loss, or cross-entropy, in natural logarithms: the mean negative logarithm of the predicted
      probability of the label. It may exceed 1.

    Noise and, for the population, sampling are simulated. Noise biases `KS` and `ECE` upwards: their intervals extend
    further down than up, and hold with probability at least `level`.
    """

    AUC = AreaUnderCurve("area under the ROC curve", NEEDS_BOTH, needs_probabilities=False)
    AVERAGE_PRECISION = AveragePrecision("average precision", NEEDS_POSITIVES, needs_probabilities=False)
    KS = KolmogorovSmirnov("Kolmogorov-Smirnov statistic", NEEDS_BOTH, needs_probabilities=False)
    BRIER = BrierScore("Brier score", (), needs_probabilities=True)
    ECE = ExpectedCalibrationError("expected calibration error", (), needs_probabilities=True)
    LOG_LOSS = LogLoss("log loss", (), needs_probabilities=True)

    @property
    def key(self) -> str:
        """The name on the command line, in JSON and in tables."""
        return self.name.lower().replace("_", "-")


class ParametricMetric(NamedTuple):
    """A metric with a parameter, such as a false positive rate, which cannot be a member of `Metric`.

    Attributes:
        key: Its name in tables of files.
        value: How it is computed.
    """

    key: str
    value: MetricEstimator


def _collect_ranked_counts(table: ClassTable, noise: FloatArray) -> RankedClassCounts:
    """Return the counts by score that the interval of the area needs: released counts, estimated shares of each class,
    and simulated noise of the counts, (draws, 2, cells).

    Args:
        table: Released counts of both classes by score.
        noise: Simulated noise of the counts, of shape (draws, 2, cells).
    """
    estimate = table.counts.likely_counts
    shares = estimate / np.maximum(estimate.sum(axis=1, keepdims=True), two_classes.LEAST_MASS)
    return RankedClassCounts(table.counts.unbiased_counts, shares, [noise], table.tied_cells, table.bound_untied)


def bound_last_cell(evidence: Evidence, probability: float) -> float:
    """Return an upper confidence bound of the number of records in the last cell, at least 0.

    The bound is the noisy count plus a quantile of its simulated noise, or a bound from the moments of the noise if the
    probability is too small to simulate.

    Args:
        evidence: One row of released counts. If a common spacing of the values was searched, the last cell counts the
            numbers that are no multiple of it.
        probability: Largest probability with which the bound may be too small.
    """
    distribution = evidence.sums
    cells, last = distribution.cells, float(evidence.unbiased_cells[0, -1])
    # with 20 draws beyond it a simulated quantile is stable; else the wider bound by moments is taken
    if probability * BOUND_DRAWS >= 20:
        noise = [
            chunk[:, 0, cells - 1]
            for chunk, _ in distribution.simulate(evidence.total, BOUND_DRAWS, public_generator(None))
        ]
        return max(last + upper_quantile(-np.concatenate(noise), 1 - probability), 0.0)
    total = None if evidence.total is None else 0
    weights = distribution.reconstruct(np.eye(distribution.size), total)[0][:, 0, cells - 1]
    return max(last + float(distribution.bound_combined_noise(weights[None], probability)[0]), 0.0)


def list_metrics(table: ClassTable) -> tuple[Metric, ...]:
    """Return the metrics that can be computed: some need scores that are probabilities.

    Args:
        table: Released counts of both classes by score; its grid says whether scores are probabilities.

    Returns:
        Metrics in the order of `Metric`.
    """
    return tuple(metric for metric in Metric if table.are_probabilities or not metric.value.needs_probabilities)


def group_cells_evenly(table: ClassTable, groups: int) -> NDArray[np.int64]:
    """Return the first cells of groups of similar scores of about equal size, by the released counts.

    Args:
        table: Released counts of both classes by score.
        groups: Largest number of groups; ties may leave fewer.

    Returns:
        Increasing indices of cells, the first 0, (groups,).
    """
    return two_classes.even_groups(table.drop_outside(table.counts.likely_counts).sum(axis=0), groups)


def estimate_metric(table: ClassTable, metric: Metric | ParametricMetric) -> float:
    """Return the metric of nonnegative counts near the released ones; NaN if it is unknown: see `known_number`.

    Args:
        table: Released counts of both classes.
        metric: The metric.

    Raises:
        ValueError: the metric needs probabilities, and the scores are not.
    """
    _require_probabilities(table, metric)
    return known_number(
        _estimate_point(table, metric), _masking_interval(table, metric), 0.0, metric.value.upper_limit(table)
    )


def _estimate_point(table: ClassTable, metric: Metric | ParametricMetric) -> float:
    """Return the metric of nonnegative counts near the released ones, within its possible range; NaN if they have no
    records to divide by.

    Args:
        table: Released counts of both classes by score.
        metric: The metric to compute.
    """
    records = _count_used_records(table, metric, table.counts.likely_counts)
    if not metric.value.is_known(records, np.full(2, two_classes.LEAST_MASS)):
        return float("nan")
    value = float(metric.value.compute(table, table.counts.likely_counts))
    return float(min(max(value, 0.0), metric.value.upper_limit(table)))  # rounding errors of sums may leave the range


def _masking_interval(table: ClassTable, metric: Metric | ParametricMetric) -> Interval:
    """Return the interval for these records, at `KNOWN_LEVEL`, that decides whether a metric is known.

    Args:
        table: Released counts of both classes by score.
        metric: The metric to compute; it is unknown if the interval holds all its possible values.

    Returns:
        Lower and upper limit, in units of the metric.
    """
    settings = ConfidenceSettings(KNOWN_LEVEL, population=False, generator=None)
    return table._compute_once((metric, KNOWN_LEVEL), None, lambda: _simulate_interval(table, metric, settings))


def find_discretization_error(table: ClassTable, metric: Metric) -> Interval:
    """Return how much of a metric's interval comes from the unknown order of scores inside cells, not from noise.

    Args:
        table: Released counts of both classes by score.
        metric: The metric whose error is wanted.

    Returns:
        The parts of the distances from the metric to the lower and to the upper end.

    Raises:
        ValueError: the metric needs probabilities and the scores are not.
    """
    _require_probabilities(table, metric)
    below, above = metric.value.discretization_error(table)
    return below, above


def find_metric_interval(
    table: ClassTable,
    metric: Metric | ParametricMetric,
    level: float,
    *,
    population: bool,
    generator: np.random.Generator | None,
) -> Interval:
    """Return a confidence interval of a metric. For an unknown metric it holds all possible values: see `known_number`.

    Args:
        table: Released counts of both classes by score.
        metric: The metric.
        level: Confidence level, between 0 and 1.
        population: If True, the interval is for the population, else for these records.
        generator: Random numbers of the simulated noise; None: a fixed public seed.

    Raises:
        ValueError: `level` is not between 0 and 1; the metric needs probabilities, and the scores are not; or for the
            population, units have several records.
    """
    level = require_probability("level", level)
    _require_probabilities(table, metric)
    require_independent(table.privacy, population)
    largest = metric.value.upper_limit(table)
    if is_uninformative(*_masking_interval(table, metric), 0.0, largest):
        return 0.0, largest
    return _simulate_interval(table, metric, ConfidenceSettings(level, population, generator))


def _simulate_interval(table: ClassTable, metric: Metric | ParametricMetric, settings: ConfidenceSettings) -> Interval:
    """Return the confidence interval of a metric from simulated noise; all possible values if noise alone can explain
    the counts.

    Args:
        table: Released counts of both classes.
        metric: The metric.
        settings: Level and scope of the interval, and the random numbers.
    """
    errors = table.simulate_errors(population=settings.population, generator=settings.generator)
    largest = metric.value.upper_limit(table)
    noise = _count_used_records(table, metric, errors)
    noises = noise if metric.value.required_classes else np.repeat(noise.sum(axis=1, keepdims=True), 2, axis=1)
    threshold = two_classes.LEAST_MASS + upper_quantiles(noises, (1 + settings.level) / 2)
    if not metric.value.is_known(_count_used_records(table, metric, table.counts.unbiased_counts), threshold):
        return 0.0, largest
    lower, upper = metric.value.interval(table, errors, settings)
    value = _estimate_point(table, metric)
    if isfinite(value):
        lower = min(lower, value)
        upper = max(upper, value)
    return min(max(lower, 0.0), largest), min(max(upper, 0.0), largest)


def notes_on_crowding(table: ClassTable) -> tuple[str, ...]:
    """Return a note if nearly all scores lie in a few neighbouring cells, as for rare events.

    Args:
        table: Released counts of both classes by score.

    Returns:
        One note; () if scores are spread, or cells hold tied scores.
    """
    if table.tied_cells is not None or notes_on_classes(table):
        return ()
    counts = table.counts.likely_counts.sum(axis=0)
    unbiased = table.counts.unbiased_counts.sum(axis=0)
    cumulated = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), two_classes.LEAST_MASS)
    nearly_all = 0.95  # share of the scores that lie in few cells if scores are crowded
    group_ends = np.searchsorted(cumulated, cumulated[:-1] + nearly_all)
    first = int(
        np.argmin(np.where(group_ends < len(cumulated), group_ends - np.arange(len(group_ends)), len(cumulated)))
    )
    last = min(int(group_ends[first]), len(unbiased))
    is_crowded = last - first <= (1 / 6) * len(unbiased)  # a sixth of the cells holds nearly all crowded scores
    if not is_crowded or unbiased[first:last].sum() < (2 * nearly_all - 1) * unbiased.sum():
        return ()
    lower, upper = table.grid.boundary(np.array([first, last]))
    fact = f"nearly all scores lie in {last - first} of {len(unbiased)} cells, from {lower:.4g} to {upper:.4g}"
    return (add_advice(fact, "give a grid that is fine there, grid= (--grid), for narrower intervals"),)


def notes_on_found_values(table: ClassTable) -> tuple[str, ...]:
    """Return a note on scores that equal none of the grid's values, if these values were found privately and not
    declared.

    Args:
        table: Released counts of both classes by score.

    Returns:
        One note; () if the values were declared, or no other scores may exist.
    """
    if table.bound_untied is None or table.grid.values is None:
        return ()
    values, untied = table.grid.values, round(table.bound_untied(UNTIED_PROBABILITY))
    if untied == 0:
        return ()
    step = display.format_number(float(values[1] - values[0]))
    return (
        f"scores seem to be multiples of {step}: others, at most {untied} by the released count, are read as the "
        "nearest",
    )


def notes_on_classes(table: ClassTable) -> tuple[str, ...]:
    """Return a note that names the classes whose counts noise alone can explain; empty if all counts are
    significant.

    Args:
        table: Released counts of both classes by score.

    Returns:
        One note, or ().
    """
    errors = table.simulate_errors(population=False)
    # confidence level of the test whether a class may be noise alone
    may_lack = table.counts.may_lack_class(errors, 0.95)
    classes = [name for name, lacks in zip(("negatives", "positives"), may_lack, strict=True) if lacks]
    if not classes:
        return ()
    return (f"the counts of {' and '.join(classes)} may be noise alone: their rates are not known",)


def _require_probabilities(table: ClassTable, metric: Metric | ParametricMetric) -> None:
    """Raise `InvalidArgument` if the metric needs predicted probabilities and the scores are not.

    Args:
        table: Released counts of both classes by score.
        metric: The metric to compute.
    """
    if metric.value.needs_probabilities:
        table.require_probabilities(f"the {metric.value.title}")


def _count_used_records(table: ClassTable, metric: Metric | ParametricMetric, cells: FloatArray) -> FloatArray:
    """Return the records of both classes that the metric uses, (..., 2): scores outside the grid have no
    probability.

    Args:
        table: Released counts of both classes.
        metric: The metric.
        cells: Counts of both classes, (..., 2, slots): in each cell, and outside the grid if counted apart.
    """
    used_cells = table.drop_outside(cells) if metric.value.needs_probabilities else cells
    return np.asarray(used_cells.sum(axis=-1))
