"""Exact confidence limits for privacy audits: lower bounds of probabilities, of epsilon and of rho (Clopper-Pearson).

An audit calls a release many times on two neighbouring data sets, and counts how often an event happens. If the lower
limit of one probability exceeds ``exp(epsilon)`` times the upper limit of the other, the release loses more than
epsilon.

    find_probability_lower_bound    limits of a probability (Clopper and Pearson)
    find_epsilon_lower_bound        a limit of epsilon, from the counts of one event
    find_rho_lower_bound            a limit of rho, from counts in several cells
    Claim, EventCounts              a claimed loss, and the counts with which it is compared

Formal guarantees: a limit is wrong with probability at most `error`, for any release, if calls are independent: counts
are then binomial, and the limits invert exact binomial tests.

>>> limit = find_epsilon_lower_bound(800, 100, 1000, 1000, delta=0, error=0.05)  # hits and samples of both data sets
>>> round(float(limit), 2)  # the release is not 1.8-differentially private
1.86

References:
    Clopper and Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the binomial.
    Jagielski, Ullman and Oprea (2020). Auditing differentially private machine learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, sqrt
from os import urandom
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Exact, InvalidArgument, parse_positive_fraction, require_number
from dpcurves.privacy import format_loss

Counts = NDArray[np.int64]
ORDERS = np.array([1.05, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 12, 16, 32, 64])
"""Orders of Rényi divergences at which a claimed rho (zero-concentrated privacy) is tested; the largest rho counts."""


def find_probability_lower_bound(hits: Any, samples: Any, error: float) -> Any:
    """Return Clopper and Pearson's lower confidence limit of a probability.

    The limit exceeds the probability with probability at most `error`.

    Args:
        hits: Number of hits, of any shape.
        samples: Number of samples, of the same shape.
        error: Probability that the limit is wrong, between 0 and 1.

    Returns:
        Limits from 0 to 1, of the same shape.

    >>> round(float(find_probability_lower_bound(50, 100, 0.05)), 4), float(find_probability_lower_bound(0, 100, 0.05))
    (0.4136, 0.0)
    """
    from scipy.stats import beta

    hits = np.asarray(hits)
    samples = np.asarray(samples)
    return np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), samples - hits + 1), 0.0)


def find_probability_upper_bound(hits: Any, samples: Any, error: float) -> Any:
    """Return Clopper and Pearson's upper confidence limit of a probability.

    The limit is below the probability with probability at most `error`.

    Args:
        hits: Number of hits, of any shape.
        samples: Number of samples, of the same shape.
        error: Probability that the limit is wrong, between 0 and 1.

    Returns:
        Limits from 0 to 1, of the same shape.
    """
    return 1.0 - find_probability_lower_bound(np.asarray(samples) - np.asarray(hits), samples, error)


def find_log_ratio_lower_bound(hits: Any, other_hits: Any, error: float) -> Any:
    """Return a lower confidence limit of the logarithm of the ratio of two rates.

    Both counts must have Poisson numbers of samples with equal means. Given the sum of the counts, the first is then
    binomial, and its odds are the ratio. So the limit is exact.

    Args:
        hits: Number of hits on the first data set, of any shape.
        other_hits: Number of hits on the second, of the same shape.
        error: Probability that the limit is wrong, between 0 and 1.

    >>> round(float(find_log_ratio_lower_bound(300, 100, 0.05)), 4)
    0.9042
    """
    from scipy.stats import beta

    hits = np.asarray(hits)
    other_hits = np.asarray(other_hits)
    share = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), other_hits + 1), 0.0)
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def find_epsilon_lower_bound(
    hits: Any, other_hits: Any, samples: Any, other_samples: Any, *, delta: float, error: float
) -> Any:
    """Return a lower confidence limit of epsilon at a given delta, from the counts of one event.

    Args:
        hits: Number of hits on the data set where the event is likelier, of any shape.
        other_hits: Number of hits on the other, of the same shape.
        samples: Number of samples of the first data set.
        other_samples: Number of samples of the other.
        delta: Delta of the claim.
        error: Probability that the limit is wrong, between 0 and 1.

    Returns:
        The limit; minus infinity if the counts show nothing.
    """
    excess = find_probability_lower_bound(hits, samples, error / 2) - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            excess > 0,
            np.log(np.maximum(excess, 0)) - np.log(find_probability_upper_bound(other_hits, other_samples, error / 2)),
            -inf,
        )


def find_rho_lower_bound(counts: Counts, other_counts: Counts, error: float) -> float:
    """Return a lower confidence limit of rho (zero-concentrated privacy), from counts in cells.

    The Rényi divergence of a partition is at most the divergence of the outcomes, which is at most rho times its order.
    Each term of its sum grows with one probability and shrinks with the other. So simultaneous limits of all
    probabilities, two per cell, give a limit of the sum.

    A release that violates rho at some epsilon and delta, by the conversion of Canonne, Kamath and Steinke (2020),
    violates it here as well, by the divergence of one event.

    Args:
        counts: Number of outcomes in each cell on the first data set, (cells,).
        other_counts: Number of outcomes in each cell on the second, (cells,).
        error: Probability that the limit is wrong, between 0 and 1.

    Returns:
        The limit, at least 0.
    """
    error_per_limit = error / (2 * len(counts))
    low = find_probability_lower_bound(counts, counts.sum(), error_per_limit)
    return _compute_rho(low, find_probability_upper_bound(other_counts, other_counts.sum(), error_per_limit))


def estimate_rho(counts: Counts, other_counts: Counts, errors: float) -> float:
    """Return an estimate of rho, lowered by standard errors. It is no confidence limit.

    The estimate takes a hundredth of the time of `find_rho_lower_bound`, so it serves to choose among many partitions.

    Args:
        counts: Number of outcomes in each cell on the first data set, (cells,).
        other_counts: Number of outcomes in each cell on the second, (cells,).
        errors: Standard errors by which probabilities are lowered on one side and raised on the other.

    Returns:
        The estimate, at least 0.
    """
    (p, q), (n, m) = (counts / counts.sum(), other_counts / other_counts.sum()), (counts.sum(), other_counts.sum())
    low = np.maximum(p - errors * np.sqrt(p * (1 - p) / n), 0.0)
    return _compute_rho(low, np.minimum(q + errors * np.sqrt(q * (1 - q) / m) + errors / m, 1.0))


def _compute_rho(low: Any, high: Any) -> float:
    """Return the smallest rho that allows these probabilities of cells, over all `ORDERS` of the Rényi divergence.

    Args:
        low: Lower limits of the cells' probabilities on the first data set, (cells,).
        high: Upper limits on the second, (cells,).
    """
    high = np.maximum(high, 1e-300)
    with np.errstate(divide="ignore"):
        terms = ORDERS[:, None] * np.log(low) + (1 - ORDERS[:, None]) * np.log(high)
    sums = np.logaddexp.reduce(terms, axis=1)
    return max(0.0, float(np.max(sums / ((ORDERS - 1) * ORDERS))))


def sample_poisson(mean: float, probability: float | None = None) -> int:
    """Draw a Poisson number of samples, or return a quantile of the Poisson distribution.

    Args:
        mean: Mean of the number.
        probability: Probability whose quantile is returned; None: random, by the operating system.
    """
    from scipy.stats import poisson as distribution

    uniform = (int.from_bytes(urandom(7)) + 0.5) / 2**56 if probability is None else probability
    return int(distribution.ppf(uniform, mean))


@dataclass(frozen=True)
class Claim:
    """A claimed privacy loss of a release.

    Attributes:
        epsilon: Epsilon of a pure claim, or of one with a delta.
        delta: Delta; 0 for a pure claim, or for rho.
        rho: Rho of a zero-concentrated claim.
    """

    epsilon: float | None
    delta: float = 0.0
    rho: float | None = None

    @classmethod
    def from_parameters(cls, epsilon: Exact | None, delta: float, rho: Exact | None) -> Claim:
        """Return the claim that these parameters state: epsilon, epsilon with delta, or rho.

        Args:
            epsilon: Claimed epsilon; None: a rho is claimed.
            delta: Claimed delta.
            rho: Claimed rho; None: an epsilon is claimed.

        Raises:
            ValueError: neither epsilon nor rho is given, or both are, or one is out of range.
        """
        if (epsilon is None) == (rho is None):
            raise InvalidArgument(
                "epsilon, rho",
                "the claimed loss of the release is missing or given twice: give either epsilon, as in "
                "epsilon=0.5, or rho",
            )
        delta_value = require_number("delta", delta)
        if not 0 <= delta_value < 1 or (delta_value > 0 and epsilon is None):
            raise InvalidArgument(
                "delta", "a probability from 0 to below 1 is needed, as in 1e-6, and only with epsilon"
            )
        if rho is not None:
            return cls(None, 0.0, float(parse_positive_fraction("rho", rho)))
        return cls(float(parse_positive_fraction("epsilon", epsilon)), delta_value)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {format_loss(self.rho)}"
        return f"epsilon {format_loss(self.epsilon or 0)}" + (
            f" at delta {format_loss(self.delta)}" if self.delta else ""
        )

    @property
    def amount(self) -> float:
        """The claimed epsilon; the claimed rho if no epsilon is claimed. Lower bounds are compared with it."""
        return self.epsilon if self.epsilon is not None else float(self.rho or 0)

    @property
    def parameter(self) -> str:
        """Name of the claimed parameter: epsilon or rho."""
        return "rho" if self.epsilon is None else "epsilon"

    def find_detectable_deficit(self, samples: int, error: float) -> float | None:
        """Return how much less noise than claimed an audit would detect in about 9 of 10 runs.

        The forecast is for a noisy count: Laplace noise if epsilon is claimed, Gaussian noise for rho. For epsilon it
        applies the limits to the counts of a run at the worst decile; for rho to the expected counts, with a tenth of
        the error.

        Args:
            samples: Samples of each data set.
            error: Probability that a limit is wrong, between 0 and 1.

        Returns:
            The smallest detected share of missing noise, in whole percent; None if no share is detected.

        >>> round(Claim(1.0).find_detectable_deficit(12_000, 0.05), 2), Claim(1.0).find_detectable_deficit(10, 0.05)
        (0.06, None)
        """
        is_detected = self._is_detected if self.rho is None else self._is_detected_in_cells
        low, high = 0, 100  # percent; larger deficits are detected as well
        while samples > 0 and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_detected(middle / 100, samples, error) else (middle, high)
        return high / 100 if samples > 0 and high < 100 else None

    def _is_detected(self, share: float, samples: int, error: float) -> bool:
        """Return True if an audit would detect this lack of Laplace noise in about 9 of 10 runs (counts at the worst
        decile).

        Args:
            share: Fraction of the claimed noise that is missing, from 0 to below 1.
            samples: Samples of each data set.
            error: Probability that a limit is wrong.
        """
        true_epsilon = min(self.amount / (1 - share), 500.0)
        p = 1 / (1 + exp(-true_epsilon))
        q = exp(-true_epsilon) * p
        # a standard normal number exceeds it with probability 1/10
        deviation = 1.2815515655446004 * sqrt(samples) / sqrt((1 - p) / p + (1 - q) / q)
        hits = samples * p - (1 - p) * deviation
        other_hits = samples * q + (1 - q) * deviation
        counts = int(max(hits, 0)), int(np.ceil(other_hits))
        limit = max(
            float(find_log_ratio_lower_bound(*counts, error)),
            float(
                find_epsilon_lower_bound(
                    min(counts[0], samples), min(counts[1], samples), samples, samples, delta=0, error=error
                )
            ),
        )
        return limit > self.amount

    def _is_detected_in_cells(self, share: float, samples: int, error: float) -> bool:
        """Return True if Gaussian noise that is too small is detected at the expected counts of eight cells.

        Args:
            share: Fraction of the claimed noise that is missing, from 0 to below 1.
            samples: Samples of each data set.
            error: Probability that a limit is wrong; a tenth of it is used.
        """
        from scipy.special import ndtr

        edges = np.array([-np.inf, -2, -1, -0.5, 0, 0.5, 1, 2, np.inf])
        shift = sqrt(2 * self.amount) / (1 - share)
        counts, other_counts = (np.diff(ndtr(edges + sign * shift / 2)) * samples for sign in (-1, 1))
        return find_rho_lower_bound(counts.astype(np.int64), other_counts.astype(np.int64), error / 10) > self.amount


@dataclass(frozen=True)
class EventCounts:
    """How often an event happened in fresh samples of two data sets.

    Attributes:
        hits: Hits on the data set where the event is likelier.
        other_hits: Hits on the other data set.
        samples: Samples of the first.
        other_samples: Samples of the other.
    """

    hits: int
    other_hits: int
    samples: int
    other_samples: int

    def bound_epsilon(self, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Return a lower confidence limit of epsilon from the counts of one event on two neighbouring data sets.

        Args:
            claim: The claim, whose delta is used.
            error: Probability that the limit is wrong, between 0 and 1.
            as_ratio: Whether the numbers of samples are Poisson. If so, and delta is 0, the ratio of both counts is
                used.
        """
        if as_ratio and not claim.delta:
            return float(find_log_ratio_lower_bound(self.hits, self.other_hits, error))
        return float(
            find_epsilon_lower_bound(
                self.hits, self.other_hits, self.samples, self.other_samples, delta=claim.delta, error=error
            )
        )

    def is_ratio_sharper(self, samples: float, error: float) -> bool:
        """Return True if the ratio of counts is expected to give the larger limit than limits of both probabilities.

        The choice must be made before the samples are drawn, from these earlier counts.

        Args:
            samples: Expected number of samples of each data set.
            error: Probability that the limit is wrong, between 0 and 1.
        """
        p = (self.hits + 0.5) / (self.samples + 1)
        q = (self.other_hits + 0.5) / (self.other_samples + 1)
        hits = round(p * samples)
        other_hits = round(q * samples)
        return bool(
            find_log_ratio_lower_bound(hits, other_hits, error)
            > find_epsilon_lower_bound(hits, other_hits, round(samples), round(samples), delta=0, error=error)
        )
