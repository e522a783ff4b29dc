"""Frequency oracle, server side: estimate counts from randomised reports about the levels of a tree of intervals.

In local differential privacy each person sends one randomised report. Here the values lie in the cells of a grid, and
each level of a tree divides the grid into intervals, from coarse to fine. A person reports the interval of one level in
which the own value lies. A report supports several answers, the true one most often. The server counts the reports that
support each answer (a tally), removes the bias (debiasing), and combines the levels into counts of cells.

    LevelReports         one level: its people, its randomiser's probabilities, and the debiasing of its tallies
    AggregatedReports    the distribution of all tallies of a release; debiases, reconstructs and simulates
    simulate_errors      simulated errors of debiased counts, for intervals
    apportion_people     how many people report about each level

Formal guarantees: everything here is a function of randomised reports and public facts, so it has no privacy loss
beyond the loss of the reports (post-processing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.codec import STORED_CODEC, JsonSchema, Natural
from dpcurves.distributions.interval_sums import IntervalSums, Tier
from dpcurves.distributions.output_distribution import (
    VALUES_PER_CHUNK,
    Family,
    Noise,
    NoisySums,
    Part,
    sum_over_intervals,
)
from dpcurves.queries.query import Places, places_to_array

from .reported_pairs import DebiasedReports

# The distribution of randomised reports about one tiling: public support probabilities of a report.
MOST_REPORTS = 2**50
"""Largest number of reports, so that sums of counts stay exact in 64-bit integers; more are refused."""


@dataclass(frozen=True, slots=True)
class LevelReports:
    """One level of the tree: reports about the interval in which each person's value lies, or that it is missing.

    The answers are the intervals in order, and as last one "missing".

    Attributes:
        starts: First cell of each interval, rising.
        reports: Number of people who reported about this level.
        randomiser: Name of their randomiser, such as ``hadamard``.
        p_true: Probability that a report supports the true answer.
        p_other: Probability that it supports a given other answer.
        p_true_and_other: Probability that it supports both the true answer and a given other answer.
        p_two_others: Probability that it supports both of two given other answers.

    Raises:
        ValueError: `reports` is negative, or answers cannot be distinguished with these probabilities.
    """

    starts: Places
    reports: Natural
    randomiser: str
    p_true: Fraction
    p_other: Fraction
    p_true_and_other: Fraction
    p_two_others: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.reports <= MOST_REPORTS:
            raise InvalidArgument(
                "reports",
                f"must be from 0 to {MOST_REPORTS} at each level of the tree, got {self.reports}; use the unchanged "
                "text of to_json",
            )
        if not 0 <= self.p_other < self.p_true <= 1 or not all(
            0 <= probability <= 1 for probability in self.joint_probabilities
        ):
            raise InvalidArgument(
                "responses",
                "must have probabilities from 0 to 1, and support the true answer more often than another; use the "
                "unchanged text of to_json",
            )
        if not (self.p_two_others < self.p_other and self.p_true_and_other <= self.p_other):
            raise InvalidArgument(
                "responses",
                "must have p_two_others below p_other, and p_true_and_other at most p_other; use the unchanged text "
                "of to_json",
            )

    @property
    def joint_probabilities(self) -> tuple[Fraction, Fraction]:
        """Probabilities that a report supports two given answers: the true one and another, and two others."""
        return self.p_true_and_other, self.p_two_others

    @property
    def gain(self) -> Fraction:
        """Probability that a report supports the true answer, minus the probability that it supports another answer."""
        return self.p_true - self.p_other

    @property
    def first_cells(self) -> IntArray:
        """First cell of each interval of the level, increasing, (intervals,)."""
        return places_to_array(self.starts)

    @property
    def expected_false_support(self) -> float:
        """Expected number of reports that support an answer which is true for no person."""
        return float(self.reports * self.p_other)

    def find_debiased_variance(self, share: Any, *, sum_is_known: bool) -> Any:
        """Return the variance, per report, of the debiased count of an answer with this share; a scalar or an array.

        The true answers are fixed, so sampling error is not included. `sum_is_known` is for vectors of all answers
        whose sum is known: debiased counts then have the covariance of independent counts with this variance,
        conditioned on their sum. Proof. Given the true answers c, the supports of u and w have covariance ``n constant
        + (c_u + c_w) slope`` and the variance of the support of u exceeds ``n constant + 2 c_u slope`` by some d_u. A
        linear combination whose weights over answers add up to 0 cancels the constant and every term that depends on u
        or w alone; least squares with a known sum uses only weights of this kind. So only d_u matters.

        Args:
            share: Share of the reports, from 0 to 1, whose true answer this is.
            sum_is_known: Whether the counts of all answers add up to a known number.
        """
        true_variance, other_variance, constant, slope, gain = _compute_covariances(
            self.p_true, self.p_other, *self.joint_probabilities
        )
        variance = share * true_variance + (1 - share) * other_variance
        if sum_is_known:
            variance = variance - constant - 2 * share * slope
        return variance / gain**2

    def debias_tallies(self, tallies: FloatArray) -> DebiasedReports:
        """Return unbiased estimates of the number of people with each true answer, with the variance of one report.

        The estimates are shifted by a constant so that they add up to the number of reports. Their covariance is that
        of `find_debiased_variance`.

        Args:
            tallies: Number of reports that support each answer, (answers,).
        """
        counts = (tallies - self.expected_false_support) / float(self.gain)
        common, true = (float(self.find_debiased_variance(share, sum_is_known=True)) for share in (0.0, 1.0))
        return DebiasedReports(
            counts + (self.reports - counts.sum()) / len(counts), self.reports, common, true - common
        )


@lru_cache(maxsize=256)  # a pure function of public probabilities
def _compute_covariances(
    p_true: Fraction, p_other: Fraction, p_true_and_other: Fraction, two_others: Fraction
) -> tuple[float, ...]:
    """Return the variances and covariances, over reports, of whether a report supports an answer (is counted for it).

    Args:
        p_true: Probability that a report supports the person's answer.
        p_other: Probability that it supports one given other answer.
        p_true_and_other: Probability that it supports both.
        two_others: Probability that it supports two given other answers.

    Returns:
        Variance of the support of the true answer, variance of another's, `constant` and `slope` of the covariances in
        `LevelReports.find_debiased_variance`, and the gain ``p_true - p_other``.
    """
    constant = two_others - p_other**2
    slope = p_true_and_other - p_true * p_other - constant
    exact = p_true * (1 - p_true), p_other * (1 - p_other), constant, slope, p_true - p_other
    return tuple(float(value) for value in exact)


def simulate_errors(distribution: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Return simulated errors of the debiased counts of a release, as `AggregatedReports.debias` returns them.

    If few false reports are expected, their numbers are binomial and far from normal, so whole releases are simulated.
    Otherwise each error is a sum over many people, and is drawn from a normal distribution with the exact covariances.

    Args:
        distribution: Distribution of the release, with the share of people in each cell that is assumed.
        draws: Number of simulated releases.
        generator: Source of the simulation. It needs no secrecy.

    Returns:
        Errors in people, estimate minus truth, (draws, values).
    """
    # 1000: expected false reports from which their binomial number is simulated as normal: its skewness is below 0.04
    is_skewed = any(level.reports * level.p_other < 1000 for level in distribution.reported_levels)
    # 10**9: people that are sampled without replacement at most; a limit of NumPy
    simulate_distribution = (
        _simulate_reports
        if is_skewed and distribution.whole and distribution.people < 10**9
        else _simulate_normal_errors
    )
    return simulate_distribution(distribution, draws, generator)


def _simulate_reports(distribution: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Simulate the errors of whole releases, exactly: people of each cell are sampled by level, then their reports are
    randomised.

    Args:
        distribution: Levels, randomisers and the expected shares of the cells.
        draws: Number of simulated releases.
        generator: Random numbers of the simulation.

    Returns:
        Released minus true numbers of people, (draws, answers of all levels, with missing last).
    """
    people = apportion_people(distribution.people, distribution.cell_shares)
    tallies = []
    missing = []
    for level, sample in zip(
        distribution.reported_levels, _sample_people_by_level(distribution, people, draws, generator), strict=True
    ):
        level_tallies = _sample_tallies(level, distribution.sum_over_answers(level, sample), generator)
        tallies.append(level_tallies[:, :-1])
        missing.append(level_tallies[:, -1:])
    truths = [distribution.sum_over_answers(level, people)[:-1] for level in distribution.reported_levels]
    truth = np.concatenate([*truths, people[-1:]])
    return np.asarray(distribution.debias_levels(tallies, missing) - truth)


def apportion_people(people: int, shares: FloatArray) -> IntArray:
    """Divide people in proportion to shares, into integers that add up to `people`.

    Args:
        people: Number of people.
        shares: Nonnegative weights, (parts,), which need not add up to 1; their sum must be positive.

    Returns:
        Number of people of each part, (parts,), within 1 of the exact proportion.

    >>> apportion_people(10, np.array([0.25, 0.25, 0.5])).tolist()
    [3, 2, 5]
    """
    bounds = np.cumsum(shares) / shares.sum() * people
    return np.asarray(np.diff(np.floor(bounds + 0.5), prepend=0)).astype(np.int64)


def _sample_people_by_level(
    distribution: AggregatedReports, people: IntArray, draws: int, generator: np.random.Generator
) -> list[IntArray]:
    """Draw which people report on which level: each person on one level (sampling without replacement), or everyone on
    all.

    Args:
        distribution: Levels and their numbers of reports.
        people: Number of people of each cell, (cells,).
        draws: Number of simulated releases.
        generator: Random numbers of the simulation.

    Returns:
        For each level the number of people of each cell, (draws, cells).
    """
    if distribution.about_all:
        return [np.repeat(people[None], draws, axis=0) for _ in distribution.reported_levels]
    occupied = np.flatnonzero(people)
    samples = np.zeros((len(distribution.reported_levels), draws, len(occupied)), dtype=np.int64)
    samples[-1] = people[occupied]
    for index, level in enumerate(distribution.reported_levels[:-1]):
        remaining = samples[-1, :1] if index == 0 else samples[-1]
        samples[index] = np.concatenate(
            [
                _sample_hypergeometric(population, level.reports, draws // len(remaining), generator)
                for population in remaining
            ]
        )
        samples[-1] -= samples[index]
    sampled_people = np.zeros((*samples.shape[:-1], len(people)), dtype=np.int64)
    sampled_people[..., occupied] = samples
    return list(sampled_people)


def _sample_hypergeometric(people: IntArray, size: int, draws: int, generator: np.random.Generator) -> IntArray:
    """Draw samples of `size` people without replacement; return the number of people in each cell, (draws, cells).

    Args:
        people: Number of people in each cell, (cells,).
        size: Number of people in a sample.
        draws: Number of samples.
        generator: Random numbers of the samples.
    """
    return np.asarray(generator.multivariate_hypergeometric(people, size, size=draws, method="marginals"))


def _sample_tallies(level: LevelReports, answers: IntArray, generator: np.random.Generator) -> FloatArray:
    """Return simulated tallies: the number of reports that support each answer, (draws, answers).

    Args:
        level: The level of the tree of intervals.
        answers: Number of people with each true answer, (draws, answers) or (answers,).
        generator: Random numbers of the simulation.
    """
    if level.p_two_others == level.p_true_and_other == 0:
        # A report is one answer: the true one with probability `gain`, else a uniform answer.
        true_answers = generator.binomial(answers, float(level.gain))
        uniform = np.full(answers.shape[-1], 1 / answers.shape[-1])
        return np.asarray(
            true_answers + generator.multinomial(level.reports - true_answers.sum(axis=-1), uniform), float
        )
    p_true = float(level.p_true)
    p_other = float(level.p_other)
    other_reports = level.reports - answers
    tallies = generator.binomial(answers, p_true) + generator.binomial(other_reports, p_other)
    mean = answers * p_true + other_reports * p_other
    return np.asarray(mean + (tallies - mean) * _compute_narrowing(level, answers))


def _compute_narrowing(level: LevelReports, answers: IntArray) -> FloatArray:
    """Return the factor by which simulated deviations of tallies shrink because the sum of all answers is known.

    See `LevelReports.find_debiased_variance`.

    Args:
        level: The level of the tree.
        answers: Number of reports whose true answer is each of the answers.

    Returns:
        A factor for each answer, of the shape of `answers`.
    """
    shares = answers / level.reports
    dependent, independent = (
        np.asarray(level.find_debiased_variance(shares, sum_is_known=is_known)) for is_known in (True, False)
    )
    return np.asarray(np.sqrt(np.maximum(dependent, 0.0) / independent))


def _simulate_normal_errors(distribution: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Simulate the errors of whole releases by normal distributions, which is faster than exact simulation.

    Their covariances are the exact ones of false reports, and of sampling people without replacement.

    Args:
        distribution: Levels, randomisers and the expected shares of the cells.
        draws: Number of simulated releases.
        generator: Random numbers of the simulation.

    Returns:
        Errors in people, (draws, answers of all levels, with missing last).
    """
    sampling_errors = _simulate_sampling_errors(distribution, draws, generator)
    counts = []
    missing = []
    for index, level in enumerate(distribution.reported_levels):
        shares = distribution.sum_over_answers(level, distribution.cell_shares)
        deviations = np.sqrt(
            np.maximum(level.find_debiased_variance(shares, sum_is_known=distribution.whole), 0.0) / level.reports
        )
        errors = distribution.people * deviations * generator.standard_normal((draws, len(shares)))
        if sampling_errors:
            errors += sampling_errors[index]
        counts.append(errors[:, :-1])
        missing.append(errors[:, -1:])
    return distribution.combine_levels(counts, missing)


def _simulate_sampling_errors(
    distribution: AggregatedReports, draws: int, generator: np.random.Generator
) -> list[FloatArray]:
    """Simulate the sampling errors of each level: its counts, scaled up, minus the counts of all people.

    The list is empty if every person was asked at all levels. Each level asks a sample, without replacement, of the
    people that finer levels did not ask. If n of m people are drawn, and the sum of these m has the error d, the sum of
    the n has the error ``n / m * d`` plus noise with ``n * (1 - n / m)`` times the covariance ``diag(f) - f f'`` of one
    person. The recursion begins with the finest level, so each level needs only the table of answers to that level.

    Args:
        distribution: Levels and their numbers of reports.
        draws: Number of simulated releases.
        generator: Random numbers of the simulation.

    Returns:
        Errors in people by level, (draws, answers of the level) each.
    """
    if len(distribution.reported_levels) == 1 or distribution.about_all:
        return []
    people = distribution.people
    differences = []
    errors: FloatArray | None = None
    for finer, level in zip(
        [None, *distribution.reported_levels[:0:-1]], distribution.reported_levels[::-1], strict=True
    ):
        shares = distribution.sum_over_answers(level, distribution.cell_shares)
        fraction = level.reports / people
        deviations = np.sqrt(shares * level.reports * (1 - fraction))
        level_errors = deviations * generator.standard_normal((draws, len(shares)))
        if distribution.whole:
            level_errors -= shares * level_errors.sum(axis=-1, keepdims=True)
        if finer is not None and errors is not None:
            table = errors[:, :-1].reshape(len(errors), distribution.rows, -1)
            sums = np.add.reduceat(table, np.searchsorted(finer.first_cells, level.first_cells), axis=-1)
            errors = np.concatenate([sums.reshape(len(errors), -1), errors[:, -1:]], axis=-1)
            level_errors += fraction * errors
        differences.append(distribution.people / level.reports * level_errors)
        errors = -level_errors if errors is None else errors - level_errors
        people = people - level.reports
    return differences[::-1]


@dataclass(frozen=True, slots=True)
class AggregatedReports(NoisySums):
    """Counts of reports that support each answer, by level; each person reports about one level or about all.

    The intervals of a level tile all cells. If people report about all levels, each report has a share of the person's
    loss, and no level is a sample. The answers of a level are its intervals in all rows, and "missing". An unbiased
    estimate of the number of people of the level with an answer is ``(tally - reports * p_other) / gain``, which is
    scaled up to all people. Least squares combines the levels; the total number of people is known.

    The error has two parts: the randomisation of reports (see `LevelReports`), and sampling, because each level asks a
    sample of the people, without replacement and independently of their values; other levels correct that part.

    Values are ordered level by level, within a level row by row, within a row from left to right; then follow the
    tallies of missing values, level by level.

    Attributes:
        rows: Number of cells of all axes but the last.
        cells: Number of cells of the last axis.
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
        whole: Whether all answers are included. If not, the tallies are of some rows of a larger table.
        shares: Share of the people in each cell, and of those with a missing value, if known: the simulation depends on
            released values only through these. None: unknown, taken to be equal in all cells.
        about_all: Whether each person reported about all levels rather than one.

    Raises:
        ValueError: there are no reports.
    """

    KEY: ClassVar[str] = "tallied"
    FIELDS: ClassVar[Mapping[str, str]] = {KEY: "levels", "whole": "whole", "about_all": "about_all"}
    is_nested = True  # after debiasing

    rows: int
    cells: int
    levels: Annotated[tuple[LevelReports, ...], ("minItems", 1)]
    whole: bool = True
    shares: tuple[float, ...] | None = None
    about_all: bool = False

    def __post_init__(self) -> None:
        if self.people < 1:
            raise InvalidArgument(
                "reports", "must be at least 1 over all levels together; add reports before you read a curve"
            )

    @property
    def people(self) -> int:
        """Number of people who reported, at all levels together."""
        reports = [level.reports for level in self.levels]
        return max(reports) if self.about_all else sum(reports)

    @property
    def reported_levels(self) -> tuple[LevelReports, ...]:
        """Levels with at least one report."""
        return tuple(level for level in self.levels if level.reports)

    @property
    def size(self) -> int:
        """Number of released tallies.

        There is one per interval and row of each level; with `whole`, also one per level for missing values.
        """
        return self.rows * sum(len(level.starts) for level in self.levels) + self.whole * len(self.levels)

    def blank_values(self) -> tuple[int, ...]:
        """Return the expected tallies if no person had any of the answers, rounded, as released values of a plan.

        A tally is the number of reports that support an answer. The order is that of the distribution: all intervals,
        level by level, then missing values.
        """
        tallies = [np.full(self.rows * len(level.starts), round(level.expected_false_support)) for level in self.levels]
        missing = [round(level.expected_false_support) for level in self.levels] if self.whole else []
        return (*np.concatenate(tallies).tolist(), *missing)

    @property
    def missing(self) -> Noise | None:
        """Approximate noise of the estimated number of people with a missing value; None if only some rows of a table
        are included.
        """
        if not self.whole:
            return None
        return Noise(Family.GAUSSIAN, Fraction(1 / sum(self._precisions)))

    @property
    def nested_distribution(self) -> IntervalSums:
        """Distribution that approximates the debiased counts of all people: sums of intervals of several levels, with
        noise taken as independent and Gaussian.

        The variances hold for equally frequent intervals and values that are never missing. They are dominated by false
        support, which does not depend on frequencies.
        """
        shares = [1 / (self.rows * len(level.starts)) for level in self.reported_levels]
        variances = [
            self._find_count_variance(level, share) for level, share in zip(self.reported_levels, shares, strict=True)
        ]
        noises = [Noise(Family.GAUSSIAN, Fraction(variance)) for variance in variances]
        levels = tuple(Tier(level.starts, noise) for level, noise in zip(self.reported_levels, noises, strict=True))
        return IntervalSums(self.rows, self.cells, levels, self.missing)

    def debias(self, values: FloatArray) -> FloatArray:
        """Return unbiased counts of all people from tallies, in the order of `nested_distribution`.

        Args:
            values: Released tallies, (..., size).

        Returns:
            Counts, (..., size of the nested distribution).
        """
        if values.shape[-1:] != (self.size,):
            raise InvalidArgument(
                "values",
                f"must have {self.size} entries on the last axis, one for each number of the distribution, got an "
                f"array of shape {values.shape}",
            )
        bounds = np.cumsum([self.rows * len(level.starts) for level in self.levels])
        *tallies_by_level, missing_tallies = np.split(np.asarray(values, dtype=np.float64), bounds, axis=-1)
        missing = [missing_tallies] * len(tallies_by_level)
        if self.whole:
            missing = np.split(missing_tallies, missing_tallies.shape[-1], axis=-1)
        reported = [index for index, level in enumerate(self.levels) if level.reports]
        return self.debias_levels(
            [tallies_by_level[index] for index in reported], [missing[index] for index in reported]
        )

    def debias_levels(self, tallies: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Return the unbiased counts of all people at each reported level.

        Args:
            tallies: Tallies of the intervals of each level.
            missing: Tally of missing values of each level.
        """
        scales = [self.people / level.reports / float(level.gain) for level in self.reported_levels]
        counts = []
        missing_counts = []
        for index, (level, scale) in enumerate(zip(self.reported_levels, scales, strict=True)):
            counts.append((tallies[index] - level.expected_false_support) * scale)
            missing_counts.append((missing[index] - level.expected_false_support) * scale)
        return self.combine_levels(counts, missing_counts)

    def combine_levels(self, counts: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Return the counts of all levels in the order of `nested_distribution`.

        Last comes the number of missing values: the weighted mean of the levels' counts.

        Args:
            counts: Debiased counts of the intervals of each level.
            missing: Debiased count of missing values of each level.
        """
        if not self.whole:
            return np.concatenate(list(counts), axis=-1)
        precisions = self._precisions
        weighted_sum = sum(precision * count for precision, count in zip(precisions, missing, strict=True))
        combined = weighted_sum / sum(precisions)
        return np.concatenate([*counts, np.asarray(combined)], axis=-1)

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return the counts of cells that fit the debiased counts of all levels best (least squares), and of missing
        values.

        Args:
            values: Released tallies.
            total: Not used, because the number of people is the number of reports.
        """
        return self.nested_distribution.reconstruct(self.debias(values), self._known_total)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the variance of the count of the first m cells of a row, for m from 0 to the number of cells.

        People are taken to be spread evenly over all cells. If levels were samples drawn *with* replacement, their
        errors would be independent. Together they are a sample without replacement that contains every person. So for
        any unbiased weights the variance is smaller by the variance of a sample of all people.

        Args:
            total_is_public: Not used, because the number of people is public.
        """
        row = self.nested_distribution.prefix_variances(self.whole)
        if not self.whole or self.about_all:
            return row
        share = np.arange(self.cells + 1) / (self.cells * self.rows)
        return np.maximum(row - self.people * share * (1 - share), 0.0)

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """Return the mean of `prefix_variances`; fast if there are few different intervals.

        Args:
            total_is_public: Without effect: the number of people is known if the distribution covers all rows.

        Returns:
            The variance, in squared people, at least 0.
        """
        mean = self.nested_distribution.mean_prefix_variance(self.whole)
        share = np.arange(1, self.cells) / (self.cells * self.rows)
        is_sampled = self.whole and not self.about_all and self.cells > 1
        sampled = self.people * float((share * (1 - share)).mean()) if is_sampled else 0.0
        return max(mean - sampled, 0.0)

    def area_variance(self) -> float:
        """Return the noise variance of the area under a distribution function, if people are spread evenly over the
        cells.

        The area is the mean of the prefix counts of a row, given its total. Least squares of nested sums of equal
        intervals has eigenvectors that are constant on the intervals of one level and add up to 0 within each interval
        of the level above. Their precision is the sum over this and all finer levels of interval size over variance. So
        the variance is a sum over levels. A level's term is the variance of the position of a cell between its
        intervals, within an interval above, a twelfth of the decrease of ``sum(width**3)``, in shares of the row. (A
        smaller last interval is taken to be as large as the others.) All levels together sample everyone: see
        `prefix_variances`.
        """
        same_interval = [
            1.0,
            *(_compute_same_interval_probability(level.starts, self.cells) for level in self.reported_levels),
        ]
        noises = (float(level.noise.variance) for level in self.nested_distribution.levels)
        precision = [
            self.cells / len(level.starts) / noise for level, noise in zip(self.reported_levels, noises, strict=True)
        ]
        cumulative_precision = np.cumsum(precision[::-1])[::-1]
        variance = self.cells * float((-np.diff(same_interval) / 12 / cumulative_precision).sum())
        is_sampled = self.whole and not self.about_all
        return max(variance - (self.people / self.rows * (1 - same_interval[-1]) / 12 if is_sampled else 0.0), 0.0)

    def condition_on(self, values: Sequence[int]) -> AggregatedReports:
        """Return this distribution with the shares of cells that released tallies suggest, for simulations of the
        error.

        The shares are not negative, and consistent over levels.

        Args:
            values: Released tallies.
        """
        if not self.whole or self.shares is not None:
            return self
        cells, missing = self.reconstruct(np.asarray(values, dtype=np.float64), None)
        missing_share = min(max(float(missing), 0.0), float(self.people)) / self.people
        interval_shares = np.array([1 - missing_share])
        previous = np.zeros(1, dtype=np.int64)
        for level in self.reported_levels:
            starts = (np.arange(self.rows)[:, None] * self.cells + level.first_cells).ravel()
            interval_shares = _divide_shares(
                interval_shares, sum_over_intervals(cells, level.first_cells).ravel(), np.searchsorted(starts, previous)
            )
            previous = starts
        width = np.diff(np.append(self.reported_levels[-1].first_cells, self.cells))
        cell_shares = np.repeat(interval_shares.reshape(self.rows, -1) / width, width, axis=-1)
        return replace(self, shares=(*cell_shares.ravel().tolist(), missing_share))

    def simulate(
        self, total: int | None, draws: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return simulated errors of the estimated counts of cells: by randomised reports, and by sampling people for
        levels.

        Args:
            total: Public number of people; None: private.
            draws: Number of simulated releases.
            generator: Random numbers of the simulation.
        """
        nested = self.nested_distribution
        chunk = max(1, VALUES_PER_CHUNK // (2 * max(self.size, self.rows * self.cells)))
        for start in range(0, draws, chunk):
            errors = simulate_errors(self, min(chunk, draws - start), generator)
            yield nested.reconstruct(errors, None if self._known_total is None else 0)

    @property
    def _precisions(self) -> list[float]:
        """Precision (reciprocal variance) of the count of missing values at each level with reports, if none is
        missing.

        They are the weights with which the levels' counts are combined.
        """
        return [1 / self._find_count_variance(level, 0.0) for level in self.reported_levels]

    @property
    def cell_shares(self) -> FloatArray:
        """Share of each cell, and last of missing values; the shares of some rows need not add up to 1."""
        if self.shares is not None:
            return np.array(self.shares)
        cells = self.rows * self.cells
        return np.append(np.full(cells, 1 / cells), 0.0)

    def sum_over_answers(self, level: LevelReports, cells: Any) -> Any:
        """Return the sums of cells over the answers (intervals, or missing) of one level.

        Args:
            level: The level of the tree.
            cells: Numbers of the cells, the rows one after the other, followed by the missing people, (..., cells + 1).

        Returns:
            Sums, (..., answers).
        """
        table = cells[..., :-1].reshape(*cells.shape[:-1], self.rows, self.cells)
        sums = np.add.reduceat(table, level.first_cells, axis=-1)
        return np.concatenate([sums.reshape(*cells.shape[:-1], -1), cells[..., -1:]], axis=-1)

    def _find_count_variance(self, level: LevelReports, share: float) -> float:
        """Return the variance of the estimated number of people with an answer, from the reports about one level.

        It is that of a sample with replacement, or of everyone if people report about all levels.

        Args:
            level: The level of the tree.
            share: True share of the people who give the answer.

        Returns:
            The variance, in squared people.
        """
        sampled = 0.0 if self.about_all else share
        report_variance = float(level.find_debiased_variance(share, sum_is_known=self.whole)) + sampled
        return self.people**2 / level.reports * report_variance

    @property
    def _known_total(self) -> int | None:
        """Number of people, which is public if the distribution includes all answers; else None."""
        return self.people if self.whole else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """For each level, the number of its intervals and the noise of a debiased count; no noise for levels without
        reports.
        """
        noises = iter(self.nested_distribution.levels)
        no_noise = Noise(Family.GAUSSIAN, Fraction(0))
        return tuple(
            Part(len(level.starts), next(noises).noise if level.reports else no_noise) for level in self.levels
        )

    @property
    def bounds(self) -> IntArray:
        """First cells of the intervals of the finest reported level, as `IntervalSums.bounds`."""
        return self.nested_distribution.bounds

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the sums of cells ``(rows, cells)`` over the intervals of each level, one array per level.

        Args:
            cells: Number of each cell, (rows, cells).
        """
        return [sum_over_intervals(cells, level.first_cells) for level in self.levels]

    def with_rows(self, rows: int) -> AggregatedReports:
        """Return the distribution for another number of rows of the table, as for the tallies of some rows of a larger
        one.

        Shares of cells are left out.

        Args:
            rows: Number of rows.
        """
        return replace(self, rows=rows, whole=False, shares=None)

    def noise_by_source(self, total: int | None) -> FloatArray:
        """Return the noise of the counts of cells as independent sources, as if debiased counts were independent.

        See `IntervalSums.noise_by_source`.

        Args:
            total: Without effect: the number of people is known if the distribution covers all rows.

        Returns:
            Changes of the cells, ``(values, rows, cells)``.
        """
        return self.nested_distribution.noise_by_source(self._known_total)

    def randomised_answers(self, values: Sequence[int]) -> DebiasedReports | None:
        """Return the debiased reports of people about single cells; None if the distribution has several levels or
        rows.

        Args:
            values: Released tallies.
        """
        level = self.levels[0]
        if len(self.levels) > 1 or not self.whole or self.rows > 1 or len(level.starts) < self.cells:
            return None
        return level.debias_tallies(np.asarray(values, dtype=np.float64))

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        """Return the estimated numbers of people without and with a value; None if the distribution covers some rows
        only.

        Args:
            values: The released values.
            total: Without effect: the number of people is known from the reports.
        """
        if not self.whole:
            return None
        missing = float(self.reconstruct(np.asarray(values, dtype=np.float64), None)[1])
        return missing, self.people - missing

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return a release as plain objects. The levels already describe missing values.

        Args:
            values: The released values.
            total: Public number of people; None if it is private.
        """
        return {**NoisySums.to_json(self, values, total), "missing": None}

    def _fields_to_json(self) -> dict[str, Any]:
        """Return the fields of the distribution that are stored with a release.

        Returns:
            ``tallied`` with the levels, ``whole``, and ``about_all`` if it is true.
        """
        fields = {"tallied": STORED_CODEC.encode(self.levels), "whole": self.whole}
        return {**fields, "about_all": True} if self.about_all else fields

    @classmethod
    def json_schema(cls) -> JsonSchema:
        """Return the JSON schema of a stored release; `whole` is required."""
        rule = super(AggregatedReports, cls).json_schema()
        return {**rule, "required": [*rule["required"], "whole"]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of reports that `to_json` stored with a release.

        Args:
            stored: The fields that were stored.

        Raises:
            KeyError, ValueError: fields are missing or inconsistent.
        """
        levels = STORED_CODEC.decode(tuple[LevelReports, ...], stored["tallied"])
        rows = int(stored["rows"])
        cells = int(stored["cells"])
        whole = bool(stored["whole"])
        return cls(rows, cells, levels, whole, about_all=bool(stored.get("about_all", False)))


def _compute_same_interval_probability(starts: range | tuple[int, ...], cells: int) -> float:
    """Return the probability that three cells, drawn uniformly, lie in one interval: a measure of how coarse a level
    is.

    Args:
        starts: First cell of each interval, rising, from 0.
        cells: Number of cells.
    """
    if isinstance(starts, range):
        return ((len(starts) - 1) * starts.step**3 + (cells - starts[-1]) ** 3) / cells**3
    return float(((np.diff(np.append(starts, cells)) / cells) ** 3).sum())


def _divide_shares(cell_shares: FloatArray, counts: FloatArray, first: IntArray) -> FloatArray:
    """Divide the share of each interval among its subintervals on the next level, in proportion to their counts.

    If none of the counts of an interval is positive, its subintervals get equal shares.

    Args:
        cell_shares: Shares of the intervals that are divided.
        counts: Unbiased counts of all subintervals, in order.
        first: Index of the first subinterval of each interval.
    """
    positive = np.maximum(counts, 0.0)
    cells_per_interval = np.diff(np.append(first, len(counts)))
    sums = np.repeat(np.add.reduceat(positive, first), cells_per_interval)
    equal_shares = np.repeat(1 / cells_per_interval, cells_per_interval)
    return np.asarray(
        np.repeat(cell_shares, cells_per_interval) * np.divide(positive, sums, out=equal_shares, where=sums > 0)
    )
