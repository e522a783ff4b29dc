"""Exact confidence limits of probabilities, of their ratios, and of the privacy loss that counts of outcomes prove.

An audit runs a release many times on two neighbouring data sets and counts how often an event happens. If the lower
limit of one probability exceeds ``exp(epsilon)`` times the upper limit of the other, it loses more than epsilon.

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
"""Orders of Rényi divergences at which zero-concentrated privacy is tested."""


def find_probability_lower_bound(hits: Any, samples: Any, error: float) -> Any:
    """Return Clopper and Pearson's lower limit of a probability; it exceeds the probability with probability at most
    `error`.

    Args:
        hits: Number of hits, of any shape.
        samples: Number of samples, of the same shape.
        error: Probability that the limit is wrong, between 0 and 1.

    >>> round(float(find_probability_lower_bound(50, 100, 0.05)), 4), float(find_probability_lower_bound(0, 100, 0.05))
    (0.4136, 0.0)
    """
    from scipy.stats import beta

    hits = np.asarray(hits)
    samples = np.asarray(samples)
    return np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), samples - hits + 1), 0.0)


def find_probability_upper_bound(hits: Any, samples: Any, error: float) -> Any:
    """Return Clopper and Pearson's upper limit of a probability; it is below the probability with probability at most
    `error`.

    Args:
        hits: Number of hits, of any shape.
        samples: Number of samples, of the same shape.
        error: Probability that the limit is wrong, between 0 and 1.
    """
    return 1.0 - find_probability_lower_bound(np.asarray(samples) - np.asarray(hits), samples, error)


def find_log_ratio_lower_bound(hits: Any, other_hits: Any, error: float) -> Any:
    """Return a lower limit of the logarithm of the ratio of two rates, from counts with Poisson numbers of samples.

    Given the sum of both counts, the first is binomial, and its odds are the ratio: the limit is exact.

    Args:
        hits: Number of hits with the one data set, of any shape.
        other_hits: Number of hits with the other, of the same shape.
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
    """Return a lower limit of epsilon at `delta`, from the hits of one event and the numbers of samples of both data
    sets.

    Args:
        hits: Number of hits with the one data set, of any shape.
        other_hits: Number of hits with the other, of the same shape.
        samples: Number of samples of the one.
        other_samples: Number of samples of the other.
        delta: Delta of the claim.
        error: Probability that the limit is wrong, between 0 and 1.
    """
    excess = find_probability_lower_bound(hits, samples, error / 2) - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            excess > 0,
            np.log(np.maximum(excess, 0)) - np.log(find_probability_upper_bound(other_hits, other_samples, error / 2)),
            -inf,
        )


def find_rho_lower_bound(counts: Counts, other_counts: Counts, error: float) -> float:
    """Return a lower limit of rho, from counts of both data sets in the same cells.

    The Rényi divergence of a partition is at most the divergence of the outcomes, which is at most rho times its order.
    Each term of its sum increases in one probability and decreases in the other, so simultaneous limits of all
    probabilities give a limit of the sum: two one-sided limits per cell. A release that violates rho at some epsilon
    and delta, by the conversion of Canonne, Kamath and Steinke (2020), violates it here as well, by the divergence of
    one event.
    """
    error_per_limit = error / (2 * len(counts))
    low = find_probability_lower_bound(counts, counts.sum(), error_per_limit)
    return _compute_rho(low, find_probability_upper_bound(other_counts, other_counts.sum(), error_per_limit))


def estimate_rho(counts: Counts, other_counts: Counts, errors: float) -> float:
    """Return an estimate of rho, with probabilities lowered and raised by `errors` standard errors; it is no confidence
    limit.

    It takes a hundredth of the time of `find_rho_lower_bound`, and chooses cells among many.
    """
    (p, q), (n, m) = (counts / counts.sum(), other_counts / other_counts.sum()), (counts.sum(), other_counts.sum())
    low = np.maximum(p - errors * np.sqrt(p * (1 - p) / n), 0.0)
    return _compute_rho(low, np.minimum(q + errors * np.sqrt(q * (1 - q) / m) + errors / m, 1.0))


def _compute_rho(low: Any, high: Any) -> float:
    """Return the smallest rho of probabilities of at least `low`, and at most `high` on the other side."""
    high = np.maximum(high, 1e-300)
    with np.errstate(divide="ignore"):
        terms = ORDERS[:, None] * np.log(low) + (1 - ORDERS[:, None]) * np.log(high)
    sums = np.logaddexp.reduce(terms, axis=1)
    return max(0.0, float(np.max(sums / ((ORDERS - 1) * ORDERS))))


def sample_poisson(mean: float, probability: float | None = None) -> int:
    """Return a Poisson number: from the operating system's randomness, or the quantile at `probability`."""
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
        """Return the claim with these parameters.

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
        """The claimed epsilon or, without epsilon, the claimed rho, with which lower bounds are compared."""
        return self.epsilon if self.epsilon is not None else float(self.rho or 0)

    @property
    def parameter(self) -> str:
        """Name of the claimed parameter: epsilon or rho."""
        return "rho" if self.epsilon is None else "epsilon"

    def find_detectable_deficit(self, samples: int, error: float) -> float | None:
        """Return the smallest share of missing noise of a count that is detected in 9 of 10 runs; None if none is.

        Laplace noise for a claimed epsilon, by the limits at the counts of a run at the worst decile; Gaussian noise
        for rho, by the limit at the expected counts with a tenth of the error.

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
        """Return whether the deficit is detected at the counts of a run at the worst decile."""
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
        """Return True if Gaussian noise smaller by this share is detected at the expected counts of eight cells."""
        from scipy.special import ndtr

        edges = np.array([-np.inf, -2, -1, -0.5, 0, 0.5, 1, 2, np.inf])
        shift = sqrt(2 * self.amount) / (1 - share)
        counts, other_counts = (np.diff(ndtr(edges + sign * shift / 2)) * samples for sign in (-1, 1))
        return find_rho_lower_bound(counts.astype(np.int64), other_counts.astype(np.int64), error / 10) > self.amount


@dataclass(frozen=True)
class EventCounts:
    """Hits of an event in fresh samples of two data sets.

    Attributes:
        hits: Hits of the data set on which the event is likelier.
        other_hits: Hits of the other data set.
        samples: Samples of the first.
        other_samples: Samples of the second.
    """

    hits: int
    other_hits: int
    samples: int
    other_samples: int

    def bound_epsilon(self, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Return a lower limit of epsilon, by the ratio of Poisson counts or by limits of both probabilities.

        Args:
            claim: The claim, whose delta is used.
            error: Probability that the limit is wrong, between 0 and 1.
            as_ratio: Whether the numbers of samples are Poisson, so that the ratio of both counts may be used.
        """
        if as_ratio and not claim.delta:
            return float(find_log_ratio_lower_bound(self.hits, self.other_hits, error))
        return float(
            find_epsilon_lower_bound(
                self.hits, self.other_hits, self.samples, self.other_samples, delta=claim.delta, error=error
            )
        )

    def is_ratio_sharper(self, samples: float, error: float) -> bool:
        """Return whether the ratio of counts gives the larger limit at `samples` samples; decided before these are
        drawn.
        """
        p = (self.hits + 0.5) / (self.samples + 1)
        q = (self.other_hits + 0.5) / (self.other_samples + 1)
        hits = round(p * samples)
        other_hits = round(q * samples)
        return bool(
            find_log_ratio_lower_bound(hits, other_hits, error)
            > find_epsilon_lower_bound(hits, other_hits, round(samples), round(samples), delta=0, error=error)
        )
