"""Estimate hazards from noisy counts of few records, by empirical Bayes over constant, smooth and rough hazards.

With few records or much noise the Kaplan-Meier estimate of noisy counts is erratic. `estimate_shrunken_hazards` returns
hazards that are compatible with the counts instead. Events and censored records are modelled together:

- The logarithm of each hazard is a Gaussian process: a level, a slope in the logarithm of time (a Weibull
  distribution), a smooth part and an independent part per cell, or only some of these.
- Records leave by both hazards, so counts are multinomial around their expectation, plus the released noise.
- Priors (`EVENT_PRIORS`, `CENSORING_PRIORS`) are averaged by their marginal likelihood in Laplace's approximation.

The curve is that of these records, not of a population. The part of the difference between counts and expectation that
is not noise is kept, so that counts without noise stay unchanged.

Formal guarantees: post-processing of released counts and of the public distribution of their noise.

Reference: Rasmussen and Williams 2006, *Gaussian processes for machine learning*, chapters 3 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, cho_factor, solve_triangular
from scipy.linalg.lapack import dpotrs
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from dpcurves.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate of hazards."""

    negligible_weight: float = 1e-3
    """Ratio of a variance to the largest one, or posterior probability, below which it is left out."""
    negligible_noise: float = 0.05
    """Records: with a smaller standard deviation of the noise, counts are used as they are, without shrinkage."""


TUNING = Tuning()
"""Numbers that steer the estimate of hazards."""

LOG_HAZARD_RANGE = -12.0, 2.5
"""Smallest and largest log hazard of a block of cells, so that exponentials are normal doubles; logs beyond are
clipped."""


class HazardPrior(NamedTuple):
    """Prior of a log hazard, as the standard deviations of its parts.

    Attributes:
        level: Standard deviation of a constant, around the typical hazard.
        slope: Standard deviation of the change per unit of log time.
        smooth: Standard deviation of a smooth deviation.
        length: Length scale of the smooth deviation, as a fraction of the grid.
        rough: Standard deviation of independent deviations of each cell.
        straight: If True, the typical hazard belongs to survival that falls linearly to 0 at the end of the grid. If
            False, it is constant, with median survival in the middle of the grid.
    """

    level: float
    slope: float
    smooth: float
    length: float
    rough: float
    straight: bool = False

    def mean_log_hazards(self, cells: int) -> FloatArray:
        """Return the prior mean of the natural logarithm of the hazard in each cell, shape (cells,).

        Args:
            cells: Number of cells.
        """
        if self.straight:
            return np.asarray(-np.log(cells - np.arange(cells)))
        return np.full(cells, np.log(2 * np.log(2) / cells))

    def basis_matrix(self, cells: int) -> FloatArray:
        """Return the matrix that maps standard normal parameters to deviations of log hazards from their prior mean.

        Args:
            cells: Number of cells.

        Returns:
            Matrix of shape (cells, parameters), whose product with its transpose is the prior covariance.
        """
        position = (np.arange(cells) + 0.5) / cells
        columns = [np.full((cells, 1), self.level), self.slope * (np.log(position) + 1)[:, None]]
        if self.smooth:
            variances, waves = np.linalg.eigh(np.exp(-0.5 * (np.subtract.outer(position, position) / self.length) ** 2))
            retained = variances > TUNING.negligible_weight * variances.max()
            columns.append(self.smooth * waves[:, retained] * np.sqrt(variances[retained]))
        if self.rough:
            columns.append(self.rough * np.eye(cells))
        return np.hstack(columns)


EVENT_PRIORS = (
    HazardPrior(0.7, 0.0, 0.0, 1.0, 0.0), HazardPrior(0.7, 0.4, 0.0, 1.0, 0.0), HazardPrior(0.7, 0.4, 0.5, 0.3, 0.0),
    HazardPrior(0.7, 0.4, 0.8, 0.15, 0.0), HazardPrior(0.7, 0.4, 0.0, 1.0, 1.5),
    HazardPrior(0.5, 0.0, 0.0, 1.0, 0.0, straight=True),
)  # fmt: skip
"""Priors of the log hazard of events, whose posterior means are averaged by their probability; the numbers are the
fields of `HazardPrior`, chosen for a small error on the distributions of `benchmarks/survival_few.py`."""
CENSORING_PRIORS = (
    HazardPrior(1.0, 0.4, 0.0, 1.0, 0.0),
    HazardPrior(1.0, 0.4, 0.8, 0.2, 0.0),
    HazardPrior(1.0, 0.4, 0.0, 1.0, 1.5),
)
"""Priors of the log hazard of censoring, averaged likewise; the numbers are the fields of `HazardPrior`, chosen on the
distributions of `benchmarks/survival_few.py`."""


class NoisyCounts(NamedTuple):
    """Unbiased released counts, and simulated draws of their noise.

    Attributes:
        counts: Counts of the cells, shape (cells,).
        noise: Draws of their noise, shape (draws, cells).
    """

    counts: FloatArray
    noise: FloatArray


class HazardPosterior(NamedTuple):
    """Hazards that are compatible with the release, with their posterior probabilities.

    Attributes:
        hazard: Candidates, shape (candidates, cells).
        weight: Posterior probability of each candidate, shape (candidates,).
    """

    hazard: FloatArray
    weight: FloatArray

    @property
    def survival(self) -> FloatArray:
        """Posterior mean of the survival past each cell, nonincreasing, shape (cells,)."""
        return np.asarray(self.weight @ np.cumprod(1 - self.hazard, axis=1))

    @property
    def cumulative_hazard(self) -> FloatArray:
        """Posterior mean of the sum of hazards up to the end of each cell, shape (cells,)."""
        return np.asarray(self.weight @ np.cumsum(self.hazard, axis=1))


class _PosteriorFit(NamedTuple):
    """Posterior of counts given the release, under one prior.

    Attributes:
        evidence: Log marginal likelihood of the release, up to a constant.
        records: Records at the start, (draws,).
        counts: Events and censored records of each block, (draws, 2, blocks).
        deviation: Standard deviations of numbers at risk given the hazards, (blocks,).
    """

    evidence: float
    records: FloatArray
    counts: FloatArray
    deviation: FloatArray


def estimate_shrunken_hazards(
    events: NoisyCounts, censored: NoisyCounts, records: NoisyCounts, generator: np.random.Generator
) -> HazardPosterior | None:
    """Return hazards shrunk by empirical Bayes, as weighted posterior draws; None if no prior fits the noisy counts.

    Noise can produce counts that no hazards explain.

    Args:
        events: Events in each cell.
        censored: Censored records in each cell, without the records that are still observed at the end.
        records: Number of records at risk in the first cell, as counts of shape ().
        generator: Random numbers for draws around the posterior mode.
    """
    width = -(-len(events.counts) // 96)  # blocks; more cells are merged with their neighbours
    blocks = [_sum_blocks(counts, width) for counts in (events, censored)]
    beyond = records.counts - sum(block.counts.sum() for block in blocks)
    noise_beyond = records.noise - sum(block_counts.noise.sum(axis=1) for block_counts in blocks)
    observed = np.concatenate([*(block_counts.counts for block_counts in blocks), [beyond]])
    noise_draws = np.column_stack([*(block_counts.noise for block_counts in blocks), noise_beyond])
    spread = float(np.std(records.noise))
    first = max(float(records.counts), spread, 1.0)
    draws_per_prior = 16  # in antithetic pairs
    draws = generator.standard_normal((draws_per_prior // 2, len(observed) * 3))
    with threadpool_limits(1, user_api="blas"):  # BLAS threads cost more than they save on matrices of this size
        noise = np.cov(noise_draws, rowvar=False)
        model = _CountModel(observed, noise, first, min(2 * spread / first, 1.0))
        fitted = list(_fit_priors(model, np.concatenate([draws, -draws])))
    if not fitted:
        return None
    best = max(fit.evidence for fit in fitted)
    weights = np.exp([fit.evidence - best for fit in fitted])
    retained = [(fit, weight) for fit, weight in zip(fitted, weights, strict=True) if weight > TUNING.negligible_weight]
    hazard = np.concatenate([_hazards_from_fit(fit, events, censored, width) for fit, _ in retained])
    weight = np.repeat([weight for _, weight in retained], draws_per_prior)
    return HazardPosterior(hazard, weight / weight.sum())


def _fit_priors(model: _CountModel, draws: FloatArray) -> Iterator[_PosteriorFit]:
    """Yield the posterior under each pair of priors of events and of censoring.

    Pairs whose covariance matrix cannot be factorised are skipped.

    Args:
        model: Model of the noisy counts.
        draws: Random numbers for draws from each posterior.
    """
    for priors in product(EVENT_PRIORS, CENSORING_PRIORS):
        try:
            yield model.fit_hazards(*priors, draws)
        except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
            continue


def _hazards_from_fit(fit: _PosteriorFit, events: NoisyCounts, censored: NoisyCounts, width: int) -> FloatArray:
    """Return draws of the hazard of each time cell: events over records at risk, times the probability that any record
    is at risk.

    Args:
        fit: Posterior draws of counts in blocks of cells.
        events: Noisy counts of events by cell.
        censored: Noisy counts of censored records by cell.
        width: Cells in a block.

    Returns:
        Hazards from 0 to 1, (draws, cells).
    """
    died = np.maximum(_spread_over_cells(fit.counts[:, 0], events, width), 0.0)
    leaving = died + np.maximum(_spread_over_cells(fit.counts[:, 1], censored, width), 0.0)
    at_risk = fit.records[:, None] - np.cumsum(leaving, axis=1) + leaving
    deviation = fit.deviation[np.arange(died.shape[1]) // width]
    least_at_risk = 0.5  # records
    probability_at_risk = ndtr((at_risk - least_at_risk) / deviation)
    return np.asarray(np.clip(died / np.maximum(at_risk, least_at_risk), 0.0, 1.0) * probability_at_risk)


class _CountModel(NamedTuple):
    """Model of the released counts: events and censored records of each block, and records still observed at the end.

    Attributes:
        counts: Unbiased counts, shape (2 * blocks + 1,).
        noise: Covariance of their noise.
        initial_records: Prior mean of the number of records at the start.
        log_records_deviation: Standard deviation of the logarithm of that number.
    """

    counts: FloatArray
    noise: FloatArray
    initial_records: float
    log_records_deviation: float

    def fit_hazards(self, events: HazardPrior, censored: HazardPrior, draws: FloatArray) -> _PosteriorFit:
        """Return posterior draws around the most likely hazards, which are found by Newton steps with expected
        curvature.

        Args:
            events: Prior of the hazard of events.
            censored: Prior of the hazard of censoring.
            draws: Standard normal numbers for the draws, shape (draws, parameters or more).
        """
        blocks = len(self.counts) // 2
        usual = np.concatenate([events.mean_log_hazards(blocks), censored.mean_log_hazards(blocks), [0.0]])
        basis = block_diag(
            events.basis_matrix(blocks), censored.basis_matrix(blocks), np.array([[self.log_records_deviation]])
        )
        at = np.zeros(basis.shape[1])
        expected, slopes = self._expect_counts_and_slopes(usual + basis @ at)
        longest = 1.5  # largest change of a log hazard in one step
        for _ in range(12):  # Newton steps, at most
            factor = self._factor_covariance(expected)
            moves = slopes @ basis
            off = self.counts - expected
            whitened = _solve_by_factor(factor, off)
            uphill = moves.T @ whitened - at
            step = np.linalg.solve(_posterior_precision(factor, moves), uphill)
            step *= min(1.0, longest / max(float(np.abs(basis @ step).max()), longest))
            before = 0.5 * float(off @ whitened + at @ at)
            length = 1.0
            # fraction of a Newton step at which its line search ends
            while length > 0.05:
                moved, bent = self._expect_counts_and_slopes(usual + basis @ (at + length * step))
                if self._negative_log_posterior(factor, moved, at + length * step) <= before:
                    break
                length /= 2
            at = at + length * step
            expected = moved
            slopes = bent
            # change of the standardised parameters below which Newton's method has converged
            if float(np.abs(length * step).max()) < 0.02:
                break
        return self._sample_posterior(usual, basis, at, draws[:, : len(at)])

    def _sample_posterior(
        self, usual: FloatArray, basis: FloatArray, parameters: FloatArray, draws: FloatArray
    ) -> _PosteriorFit:
        """Return posterior draws of counts around the mode, and Laplace's approximation of the log marginal likelihood.

        Args:
            usual: Prior means of the log hazards of events and censoring, and of the log number of records.
            basis: Matrix from parameters to deviations from these means.
            parameters: Posterior mode.
            draws: Standard normal numbers, shape (draws, parameters).
        """
        blocks = len(self.counts) // 2
        expected, slopes = self._expect_counts_and_slopes(usual + basis @ parameters)
        factor = self._factor_covariance(expected)
        curved = np.linalg.cholesky(_posterior_precision(factor, slopes @ basis))
        determinants = float(np.log(np.diag(factor[0])).sum() + np.log(np.diag(curved)).sum())
        sampling = self._sampling_covariance(expected)
        gain = _solve_by_factor(factor, sampling).T  # fraction of a difference from the expectation that is not noise
        parameter_draws = parameters + solve_triangular(curved.T, draws.T).T
        expected_draws = self._expect_counts(usual + np.array([basis @ parameters for parameters in parameter_draws]))
        counts = expected_draws + (self.counts - expected_draws) @ gain.T
        before = np.tril(np.ones((blocks, blocks)), -1)
        cumulative = np.hstack([before, before])
        residual = (sampling - gain @ sampling)[:-1, :-1]
        deviation = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", cumulative, residual, cumulative), 1e-6))
        shares = counts[:, :-1].reshape(len(draws), 2, blocks)
        return _PosteriorFit(
            -self._negative_log_posterior(factor, expected, parameters) - determinants,
            expected_draws.sum(axis=1),
            shares,
            deviation,
        )

    def _expect_counts(self, logs: FloatArray) -> FloatArray:
        """Return the counts that hazards let expect: events of each block, censored records of each block, and records
        still at risk after the last, shape (..., 2 * blocks + 1).

        Args:
            logs: Log hazards of events, then of censoring, then the log of the relative number of records, along the
                last axis.
        """
        blocks = len(self.counts) // 2
        hazards = np.exp(np.clip(logs[..., :-1], *LOG_HAZARD_RANGE)).reshape(*logs.shape[:-1], 2, blocks)
        both = hazards.sum(axis=-2)
        fallen = np.concatenate([np.zeros((*logs.shape[:-1], 1)), np.cumsum(both, axis=-1)], axis=-1)
        remaining = self.initial_records * np.exp(np.clip(logs[..., -1:], -2, 2) - fallen)
        gone = (remaining[..., :-1] * -np.expm1(-both))[..., None, :] * (hazards / both[..., None, :])
        return np.concatenate([gone.reshape(*logs.shape[:-1], 2 * blocks), remaining[..., -1:]], axis=-1)

    def _expect_counts_and_slopes(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the counts that hazards predict, and their derivatives, for Newton steps to the most likely hazards.

        Args:
            logs: Log hazards of events, then of censoring, by block; last the log of the number of records, relative to
                the released one.

        Returns:
            Expected counts, (2 * blocks + 1,), and their derivatives by each of `logs`, a square matrix.
        """
        blocks = len(self.counts) // 2
        hazards = np.exp(np.clip(logs[:-1], *LOG_HAZARD_RANGE)).reshape(2, blocks)
        both = hazards.sum(axis=0)
        expected = self._expect_counts(logs)
        remaining = self.initial_records * np.exp(np.clip(logs[-1], -2, 2) - np.append(0.0, np.cumsum(both)))
        stay = np.exp(-both)
        leave = -np.expm1(-both)
        earlier = np.tril(np.ones((blocks, blocks)), -1)
        slopes = np.zeros((len(expected), len(expected)))
        for column, hazard in enumerate(hazards):
            across = slice(column * blocks, (column + 1) * blocks)
            for row, of_row in enumerate(hazards):
                block_index = of_row / both
                counts = expected[row * blocks : (row + 1) * blocks, None]
                diagonal = remaining[:-1] * (stay * block_index + leave * ((row == column) - block_index) / both)
                slopes[row * blocks : (row + 1) * blocks, across] = (
                    np.diag(diagonal * hazard) - earlier * counts * hazard
                )
            slopes[-1, across] = -remaining[-1] * hazard
        slopes[:, -1] = expected
        return expected, slopes

    def _sampling_covariance(self, expected: FloatArray) -> FloatArray:
        """Return the multinomial covariance of the counts, given their expectation.

        Args:
            expected: Expected counts, (2 * blocks + 1,).

        Returns:
            Square matrix in the order of the counts.
        """
        multinomial = np.diag(np.maximum(expected, 1e-3))  # records
        return np.asarray(multinomial - np.outer(expected, expected) / expected.sum())

    def _factor_covariance(self, expected: FloatArray) -> tuple[FloatArray, bool]:
        """Return the Cholesky factor of the covariance of the counts: sampling plus noise.

        It has the form of `scipy.linalg.cho_factor`. A small multiple of the trace is added to the diagonal.

        Args:
            expected: Expected counts, at which the sampling covariance is computed.

        Returns:
            The factor, and whether it is the lower triangle.
        """
        total = self._sampling_covariance(expected) + self.noise
        # relative to the trace, so that the matrix has an inverse
        total[np.diag_indices(len(total))] += 1e-9 * np.trace(total)
        factor, lower = cho_factor(total, lower=True)
        return np.asarray(factor), bool(lower)

    def _negative_log_posterior(
        self, factor: tuple[FloatArray, bool], expected: FloatArray, parameters: FloatArray
    ) -> float:
        """Return minus the log posterior density of the parameters, up to a constant.

        Args:
            factor: Cholesky factor of the covariance of the counts.
            expected: Expected counts at the parameters.
            parameters: Standard normal parameters of the log hazards.
        """
        off = self.counts - expected
        return 0.5 * float(off @ _solve_by_factor(factor, off) + parameters @ parameters)


def _solve_by_factor(factor: tuple[FloatArray, bool], right: FloatArray) -> FloatArray:
    """Return the inverse of a factorised covariance times `right`.

    Equals `scipy.linalg.cho_solve` in every bit, whose checks of arguments take longer than LAPACK on small matrices.

    Args:
        factor: Cholesky factor of the covariance, and whether it is the lower triangle.
        right: Right-hand side, a vector or a matrix of columns.
    """
    lower_triangle, lower = factor
    solution, _ = dpotrs(lower_triangle, right, lower=lower)  # the second result tells of illegal arguments alone
    return np.asarray(solution)


def _posterior_precision(factor: tuple[FloatArray, bool], slopes: FloatArray) -> FloatArray:
    """Return the inverse of the posterior covariance: expected curvature of the likelihood, plus the identity of the
    prior.

    Args:
        factor: Cholesky factor of the covariance of the counts.
        slopes: Derivatives of expected counts by parameters, shape (counts, parameters).
    """
    return np.asarray(slopes.T @ _solve_by_factor(factor, slopes) + np.eye(slopes.shape[1]))


def _sum_blocks(counts: NoisyCounts, width: int) -> NoisyCounts:
    """Return counts and noise summed over blocks of `width` neighbouring cells, along the last axis.

    Args:
        counts: Counts of cells with simulated noise.
        width: Number of cells in a block.
    """
    if width == 1:
        return counts
    starts = np.arange(0, len(counts.counts), width)
    return NoisyCounts(*(np.add.reduceat(count, starts, axis=-1) for count in counts))


def _spread_over_cells(block_counts: FloatArray, counts: NoisyCounts, width: int) -> FloatArray:
    """Distribute estimated counts of blocks over the cells of each block.

    Each cell gets an equal fraction of its block, plus the observed deviation of its count, shrunk by the fraction of
    its variance that is noise.

    Args:
        block_counts: Estimated counts, shape (..., blocks).
        counts: Released counts of the cells, with their noise.
        width: Number of cells in a block.

    Returns:
        Counts of shape (..., cells).
    """
    if width == 1:
        return block_counts
    cells = len(counts.counts)
    block = np.arange(cells) // width
    sizes = np.bincount(block)
    even = (block_counts / sizes)[..., block]

    def deviations_from_even(each: FloatArray) -> FloatArray:
        """Return the count of each cell minus the mean count of the cells of its block, (..., cells).

        Args:
            each: Counts or their noise, (..., cells).
        """
        return np.asarray(each - (np.add.reduceat(each, np.arange(0, cells, width), axis=-1) / sizes)[..., block])

    apart = deviations_from_even(counts.counts)
    noise = float(np.mean(deviations_from_even(counts.noise) ** 2))
    seen = float(np.mean(apart**2))
    return np.asarray(even + apart * (max(1 - noise / seen, 0.0) if seen > 0 else 0.0))
