"""Drift detection on a stream under differential privacy: each window's distribution against a reference's.

A stream is a sequence of timestamped tuples (rows); noisy counts of a column's cells are released at every time step. A
window is the sum over some successive steps. `DriftWatch` compares each window with a reference window by statistics
such as the population stability index, Kolmogorov-Smirnov and Wasserstein; `WindowDrift` has their values, thresholds
and alarms. The thresholds limit the probability of any false alarm in a year of windows:

    rate of one window    1 - (1 - false_alarm_rate)**(1 / windows_per_year)
    threshold             upper quantile of the statistic, simulated without drift, at 3/4 of that rate

The factor 3/4 allows for a null distribution that is estimated from noisy counts. Tuples are uncounted if they are
unreadable, late, or in no declared category; their shares of all tuples can be watched as well.

Formal guarantees: all results are functions of released counts, and of simulations from public numbers; no tuple is
read. Such post-processing loses no further privacy.

>>> level, draws = alarm_level_and_draws(Grid(0, 4, cells=4), windows_per_year=52, false_alarm_rate=0.05)
>>> round(1 - level, 5)
0.00074
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp, floor, log, log1p, sqrt
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dpcurves.arguments import InvalidArgument, require_integer, require_probability, require_type
from dpcurves.arrays import FloatArray
from dpcurves.curves.column_drift import (
    CATEGORY_STATISTICS,
    STATISTIC_FUNCTIONS,
    DriftCells,
    DriftStatistic,
    Statistic,
)
from dpcurves.curves.column_drift import TUNING as COLUMN_TUNING
from dpcurves.data import Categories, Grid
from dpcurves.data.grid import middles_of, require_clipped
from dpcurves.distributions import Family
from dpcurves.inference.bands import safe_rank, upper_quantile
from dpcurves.inference.simulation import monte_carlo_p_value, numbered_generator
from dpcurves.inference.two_samples import ReleasedSample
from dpcurves.summaries.two_classes import project_to_simplex

from ..queries import TUPLE_REASONS, UncountedReason
from .counts import TimeStepReading
from .question import NoisyValues
from .uncounted import UncountedReading, UncountedWindow

FIRST_GENERATOR = 70
"""Index of the first of the four numbered random generators that are used here. Other modules use other indices, so
that simulations are independent and repeatable."""
UNCOUNTED: Mapping[UncountedReason, str] = MappingProxyType(
    {reason: f"uncounted: {reason.value}" for reason in TUPLE_REASONS}
)
"""Names of the statistics of uncounted tuples in `StepReading.drift`, by reason."""
Thresholds: TypeAlias = tuple[DriftCells, Mapping[str, tuple[float, FloatArray]]]
"""The reference and an unchanged window; and for each statistic its threshold and its simulated null values."""


@dataclass(frozen=True)
class Tuning:
    """Numbers that steer the simulation of thresholds. Privacy does not depend on them."""

    beyond: int = 60
    """Number of simulated draws that are expected beyond a threshold, which keeps its Monte Carlo error small."""
    least_draws: int = 2000
    """Smallest number of simulated draws."""
    most_draws: int = 2**16
    """Largest number of simulated draws."""
    most_values: int = 2**22
    """Largest number of simulated counts, draws times cells, which bounds memory."""
    size_step: float = log1p(0.1)
    """Natural logarithm of the ratio of window sizes (tuples) that share a threshold, simulated for the smallest."""


TUNING = Tuning()
"""The values that drift is watched with unless a caller passes others."""


@dataclass(frozen=True, slots=True)
class WindowDrift:
    """Distances of a window from the reference.

    Attributes:
        time_step: Number of the step that closes the window, from 1.
        statistics: By statistic (psi, ks, wasserstein, auc; of categories psi, chi_squared, tv; and the changes of the
            shares of uncounted tuples): value, threshold and p-value under no drift.
    """

    time_step: int
    statistics: Mapping[str, DriftStatistic]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Names of the statistics that exceed their thresholds.

        Returns:
            Names; empty without alarm.
        """
        return tuple(statistic for statistic, shift in self.statistics.items() if shift.alarm)

    def to_dicts(self) -> tuple[dict[str, Any], ...]:
        """Return a plain object for each statistic: its name, value, threshold, p-value and alarm.

        Returns:
            Objects in the order of `statistics`.
        """
        return tuple(
            {
                "drift": statistic,
                "value": shift.value,
                "threshold": shift.threshold,
                "pvalue": shift.p_value,
                "alarm": shift.alarm,
            }
            for statistic, shift in self.statistics.items()
        )


class DriftWatch:
    """Monitor that compares each window of a stream with a reference by several statistics, with rare false alarms.

    Without drift, a statistic raises an alarm in at least one window of a year with probability of about
    `false_alarm_rate`: each window has false-alarm probability ``1 - (1 - false_alarm_rate) ** (1 /
    windows_per_year)``, times 3/4 because the null distribution is estimated from noisy counts. Thresholds are
    simulated: the reference and a window of equal size are drawn from the estimated distribution of the reference, with
    the noise of both. Tuples are assumed independent.

    With readings of uncounted tuples, the share of each of `UNCOUNTED` among all used tuples is watched too: tuples
    without a value, or in an undeclared state, are "uncounted: other state".

    Formal guarantees: everything is computed from released numbers, so it costs no loss.

    Args:
        grid: Cells or categories of the single counted column.
        reference: Reading at the end of the reference.
        windows_per_year: Number of windows in a year.
        false_alarm_rate: Probability of a false alarm in a year, for each statistic.
        width: Steps of a window: 1, or the width of a window of the question.
        reference_width: Steps of the reference.
        uncounted: Reading of uncounted tuples at the end of the reference; None: they are not watched.
        tuning: Numbers that steer the simulation of thresholds.

    Raises:
        ValueError: Values outside the grid are counted separately; a reading lacks the window, or has other cells; or
            `false_alarm_rate` is not between 0 and 1, or too small to be simulated.
        TypeError: `uncounted` is no reading of uncounted tuples.

    >>> from dpcurves.distributions import Family
    >>> def counted(time_step, counts):
    ...     noisy = NoisyValues(Family.LAPLACE, np.array(counts), 2.0)
    ...     return TimeStepReading(time_step, noisy.values, {}, {}, noisy=noisy, noisy_windows={})
    >>> watch = DriftWatch(Grid(0, 4, cells=4), counted(1, [500.0, 400, 300, 200]), windows_per_year=52)
    >>> watch.compare_window(counted(2, [255.0, 198, 148, 101])).alarms
    ()
    >>> watch.compare_window(counted(3, [100.0, 200, 150, 250])).alarms
    ('psi', 'ks', 'wasserstein', 'auc')
    """

    def __init__(
        self,
        grid: Grid | Categories,
        reference: TimeStepReading,
        *,
        windows_per_year: int,
        false_alarm_rate: float = 0.05,
        width: int = 1,
        reference_width: int = 1,
        uncounted: UncountedReading | None = None,
        tuning: Tuning = TUNING,
    ) -> None:
        """Begin to watch a stream for drift from a reference; thresholds are simulated at the first comparison.

        Args:
            grid: Cells or categories of the single counted column.
            reference: Reading at the end of the reference.
            windows_per_year: Number of windows in a year.
            false_alarm_rate: Probability of a false alarm in a year, for each statistic.
            width: Steps of a window: 1, or the width of a window of the question.
            reference_width: Steps of the reference.
            uncounted: Reading of uncounted tuples at the end of the reference; None: they are not watched.
            tuning: Numbers that steer the simulation of thresholds.
        """
        self._tuning = tuning
        is_numeric = not isinstance(grid, Categories)
        self._statistics: Mapping[str, Statistic] = STATISTIC_FUNCTIONS if is_numeric else CATEGORY_STATISTICS
        self._places = None if isinstance(grid, Categories) else middles_of(require_clipped("grid", grid))
        self._slots = grid.slots
        self._width = require_integer("width", width)
        self._level, self._draws = alarm_level_and_draws(grid, windows_per_year, false_alarm_rate, tuning)
        noisy, total = self._noisy_window(reference, require_integer("reference_width", reference_width))
        noise = _sample_noise(noisy, reference_width, self._draws, numbered_generator(FIRST_GENERATOR))
        self._before = ReleasedSample(noisy.values, project_to_simplex(noisy.values, total), noise)
        self._thresholds: dict[int, Thresholds] = {}
        self._uncounted_before = None if uncounted is None else _find_uncounted_window(uncounted, reference_width)

    def compare_window(self, reading: TimeStepReading, uncounted: UncountedReading | None = None) -> WindowDrift:
        """Return the statistics of the window that ends with this step, each with its threshold and alarm.

        Args:
            reading: Estimated counts of the step, with the sums over its windows.
            uncounted: Totals of uncounted tuples of the same step; needed if their shares are watched, else ignored.

        Raises:
            ValueError: A reading lacks the window, or has other cells.
            TypeError: `uncounted` is missing, or no reading of uncounted tuples.
        """
        noisy, size = self._noisy_window(reading, self._width)
        group = floor(log(size) / self._tuning.size_step)
        if group not in self._thresholds:
            self._thresholds[group] = self._simulate_thresholds(noisy, exp(group * self._tuning.size_step))
        statistics, (cells, thresholds) = {}, self._thresholds[group]
        for statistic, (threshold, null_values) in thresholds.items():
            value = float(self._statistics[statistic](self._before.cells, noisy.values, cells))
            statistics[statistic] = DriftStatistic(value, threshold, monte_carlo_p_value(value, null_values))
        if self._uncounted_before is not None:
            statistics |= self._compare_uncounted(
                self._uncounted_before, _find_uncounted_window(uncounted, self._width)
            )
        return WindowDrift(reading.time_step, MappingProxyType(statistics))

    def _simulate_thresholds(self, noisy: NoisyValues, size: float) -> Thresholds:
        """Return the threshold of each drift statistic, its upper quantile in simulations without drift, for windows of
        one size.

        Args:
            noisy: Counts of a window, for the distribution of their noise.
            size: Number of tuples in the window.

        Returns:
            The cells of both windows; and by statistic its threshold and its simulated values, (draws,).
        """
        expected_counts = self._before.likely / self._before.likely.sum() * size
        noise = _sample_noise(noisy, self._width, self._draws, numbered_generator(FIRST_GENERATOR + 1))
        unchanged = ReleasedSample(expected_counts, expected_counts, noise)
        if self._places is None:
            cells = DriftCells.from_categories(self._before, unchanged)
        else:
            cells = DriftCells.from_positions(self._places, self._before, unchanged)
        null = cells.simulate_null(numbered_generator(FIRST_GENERATOR + 2))
        null_values = {statistic: compute(*null, cells) for statistic, compute in self._statistics.items()}
        return cells, {
            statistic: (upper_quantile(values, self._level), values) for statistic, values in null_values.items()
        }

    def _compare_uncounted(self, before: UncountedWindow, window: UncountedWindow) -> Mapping[str, DriftStatistic]:
        """Test whether the share of uncounted tuples with each reason has changed since the reference.

        Without a change both numbers of tuples are binomial with the share of the reference. Both windows read one tree
        of running totals, so their noises may be correlated: the standard deviations of both shares are added, not
        their variances.

        Args:
            before: Numbers of the reference.
            window: Numbers of the window.

        Returns:
            By name of the statistic: absolute change of the share, its threshold, and its p-value.
        """
        generator = numbered_generator(FIRST_GENERATOR + 3)
        statistics = {}
        sizes = [_count_used_tuples(side) for side in (before, window)]
        # noise of the numbers of used tuples, which is the noise of all counts and reasons
        drawn_sizes = [
            np.maximum(size.tuples + size.deviation * generator.standard_normal(self._draws), 1.0) for size in sizes
        ]
        is_laplace = before.noisy.family is Family.LAPLACE
        for index, reason in enumerate(TUPLE_REASONS):
            counts = [float(side.noisy.values[index]) for side in (before, window)]
            share = min(max(counts[0] / sizes[0].tuples, 0.0), 1.0)
            drawn_counts = [generator.binomial(round(size.tuples), share, self._draws) for size in sizes]
            noise = (
                generator.laplace(0, sqrt(0.5), self._draws) if is_laplace else generator.standard_normal(self._draws)
            )
            deviations = [float(np.asarray(side.noisy.deviations)[index]) for side in (before, window)]
            null_values = np.abs(
                (drawn_counts[1] + deviations[1] * noise) / drawn_sizes[1]
                - (drawn_counts[0] - deviations[0] * noise) / drawn_sizes[0]
            )
            value = abs(counts[1] / sizes[1].tuples - counts[0] / sizes[0].tuples)
            threshold = upper_quantile(null_values, self._level)
            statistics[UNCOUNTED[reason]] = DriftStatistic(value, threshold, monte_carlo_p_value(value, null_values))
        return statistics

    def _noisy_window(self, reading: TimeStepReading, width: int) -> tuple[NoisyValues, float]:
        """Return the noisy counts of the window that ends with a reading.

        Args:
            reading: Reading of a time step.
            width: Steps of the window.

        Returns:
            The counts, (cells,), and their sum, at least 1.

        Raises:
            InvalidArgument: The reading lacks a window of this width, or has another number of cells.
        """
        require_type("reading", reading, TimeStepReading, "a reading of counts")
        noisy = reading.noisy if width == 1 else reading.noisy_windows.get(width)
        if noisy is None:
            known = sorted(reading.noisy_windows)
            raise InvalidArgument("width", f"must be 1 or a window of the question, {known}; got {width}")
        if noisy.values.shape != (self._slots,):
            raise InvalidArgument(
                "grid",
                f"must have as many cells as the stream has counts, {len(noisy.values)};"
                f" it has {self._slots}; use the grid, or the categories, of the stream",
            )
        return noisy, max(float(noisy.values.sum()), 1.0)


class UsedTuples(NamedTuple):
    """Number of used tuples of a window, counted or not, at least 1, and the standard deviation of its noise."""

    tuples: float
    deviation: float


def _count_used_tuples(window: UncountedWindow) -> UsedTuples:
    """Return the number of tuples of a window that the contribution bound lets count, with its noise deviation.

    They are the counted tuples and the uncounted tuples of each reason; users beyond the cap are no tuples.

    Args:
        window: Released numbers of the window.
    """
    reasons = slice(len(TUPLE_REASONS))
    deviations = np.asarray(window.noisy.deviations)[reasons]
    return UsedTuples(
        max(window.counted_tuples + float(window.noisy.values[reasons].sum()), 1.0),
        sqrt(window.counted_deviation**2 + float(deviations @ deviations)),
    )


def _find_uncounted_window(reading: UncountedReading | None, width: int) -> UncountedWindow:
    """Return the numbers of uncounted tuples of the last steps.

    Args:
        reading: Totals of uncounted tuples, with its windows.
        width: Number of steps.

    Raises:
        InvalidArgument: The reading lacks a window of this width.
        TypeError: `reading` is None or something else.
    """
    require_type("uncounted", reading, UncountedReading, "the reading of uncounted tuples of the step")
    assert isinstance(reading, UncountedReading)  # noqa: S101
    if width not in reading.windows:
        raise InvalidArgument("width", f"must be 1 or a window of the question, {sorted(reading.windows)}; got {width}")
    return reading.windows[width]


def alarm_level_and_draws(
    grid: Grid | Categories, windows_per_year: int, false_alarm_rate: float, tuning: Tuning = TUNING
) -> tuple[float, int]:
    """Compute how rare a false alarm of one window must be, and how many draws simulate its threshold.

    Args:
        grid: Cells or categories of the distribution.
        windows_per_year: Number of windows in a year, from 1.
        false_alarm_rate: Probability of a false alarm in a year, between 0 and 1.
        tuning: Number of simulated draws.

    Returns:
        The quantile level of the threshold, ``1 - 3/4 * rate of one window``, and the number of draws.

    Raises:
        ValueError: `windows_per_year` is below 1, or `false_alarm_rate` is not between 0 and 1, or too small to be
            simulated.
    """
    if require_integer("windows_per_year", windows_per_year) < 1:
        raise InvalidArgument("windows_per_year", "at least 1 window per year is needed; give a narrower window")
    rate_per_year = require_probability("false_alarm_rate", false_alarm_rate)
    rate_per_window = float(-np.expm1(log1p(-rate_per_year) / windows_per_year))
    false_alarm = COLUMN_TUNING.simulated_alarm_ratio * rate_per_window
    needed = max(tuning.least_draws, ceil(tuning.beyond / false_alarm))
    draws = min(needed, tuning.most_draws, tuning.most_values // grid.slots)
    safe_rank(draws, 1 - false_alarm)
    return 1 - false_alarm, draws


def _sample_noise(noisy: NoisyValues, width: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """Simulate the noise of the counts of a window.

    Gaussian noise is drawn with the standard deviations of the counts. Laplace noise of a window is a sum of one draw
    per step: a difference of two gamma variables of shape `width`, scaled to the same deviations.

    Args:
        noisy: The counts, with family and standard deviations of their noise.
        width: Steps of the window.
        draws: Number of draws.
        generator: Random generator of the simulation.

    Returns:
        Noise of each count, (draws, cells).
    """
    shape = draws, len(noisy.values)
    if noisy.family is not Family.LAPLACE:
        return np.asarray(generator.standard_normal(shape) * noisy.deviations)
    up, down = (generator.standard_gamma(width, shape) for _ in range(2))
    return np.asarray((up - down) / sqrt(2 * width) * noisy.deviations)
