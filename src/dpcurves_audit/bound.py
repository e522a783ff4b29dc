"""Exact confidence limits: of chances, of ratios of chances, and of the privacy loss that counts of outcomes prove."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, sqrt
from os import urandom
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Exact, InvalidArgument, parse_positive_fraction, require_number
from dpcurves.privacy import format_loss

ONE_IN_TEN = 1.2815515655446004
"""Standard errors above which a normal number is once in ten times."""
Counts = NDArray[np.int64]
ORDERS = np.array([1.05, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 12, 16, 32, 64])
"""Orders of Renyi divergences at which zero-concentrated privacy is tested."""


def find_probability_lower_bound(hits: Any, samples: Any, error: float) -> Any:
    """Clopper and Pearson's lower limit of a chance: it is above the chance with a probability of at most `error`.

    >>> round(float(find_probability_lower_bound(50, 100, 0.05)), 4), float(find_probability_lower_bound(0, 100, 0.05))
    (0.4136, 0.0)
    """
    from scipy.stats import beta

    hits, samples = np.asarray(hits), np.asarray(samples)
    return np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), samples - hits + 1), 0.0)


def find_probability_upper_bound(hits: Any, samples: Any, error: float) -> Any:
    """Clopper and Pearson's upper limit of a chance."""
    return 1.0 - find_probability_lower_bound(np.asarray(samples) - np.asarray(hits), samples, error)


def find_log_ratio_lower_bound(hits: Any, other_hits: Any, error: float) -> Any:
    """Lower limit of the logarithm of the ratio of two rates, from counts whose numbers of samples were Poisson.

    Given their sum, the first count is binomial, and its chance has the odds of the ratio: the limit is exact.

    >>> round(float(find_log_ratio_lower_bound(300, 100, 0.05)), 4)
    0.9042
    """
    from scipy.stats import beta

    hits, other_hits = np.asarray(hits), np.asarray(other_hits)
    share = np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1), other_hits + 1), 0.0)
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def find_epsilon_lower_bound(
    hits: Any, other_hits: Any, samples: Any, other_samples: Any, *, delta: float, error: float
) -> Any:
    """Lower limit of epsilon at `delta`, from the hits of one event and the numbers of samples of both data sets."""
    over = find_probability_lower_bound(hits, samples, error / 2) - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            over > 0,
            np.log(np.maximum(over, 0)) - np.log(find_probability_upper_bound(other_hits, other_samples, error / 2)),
            -inf,
        )


def find_rho_lower_bound(counts: Counts, other_counts: Counts, error: float) -> float:
    """Lower limit of rho, from counts of both data sets in the same cells.

    Renyi's divergence of any partition is at most that of the outcomes, which is at most rho times its order. In its
    sum each term rises with one chance and falls with the other, so limits of all chances that hold together give one
    of the sum: one-sided limits, as many as cells, twice. What is beyond rho at some epsilon and delta, by the
    conversion of Canonne, Kamath and Steinke (2020), is beyond it here, too: that follows from the divergence of one
    event.
    """
    each = error / (2 * len(counts))
    low = find_probability_lower_bound(counts, counts.sum(), each)
    return _compute_rho(low, find_probability_upper_bound(other_counts, other_counts.sum(), each))


def estimate_rho(counts: Counts, other_counts: Counts, errors: float) -> float:
    """The rho that counts suggest, with chances that are lowered and raised by so many standard errors: no limit.

    It is a hundredth of the work of `find_rho_lower_bound`, and chooses cells among many.
    """
    (p, q), (n, m) = (counts / counts.sum(), other_counts / other_counts.sum()), (counts.sum(), other_counts.sum())
    low = np.maximum(p - errors * np.sqrt(p * (1 - p) / n), 0.0)
    return _compute_rho(low, np.minimum(q + errors * np.sqrt(q * (1 - q) / m) + errors / m, 1.0))


def _compute_rho(low: Any, high: Any) -> float:
    """Rho that chances of at least `low`, and of at most `high` on the other side, have at least."""
    high = np.maximum(high, 1e-300)
    with np.errstate(divide="ignore"):
        terms = ORDERS[:, None] * np.log(low) + (1 - ORDERS[:, None]) * np.log(high)
    sums = np.logaddexp.reduce(terms, axis=1)
    return max(0.0, float(np.max(sums / ((ORDERS - 1) * ORDERS))))


def sample_poisson(mean: float, probability: float | None = None) -> int:
    """A Poisson number: from the operating system's randomness, or the quantile at a given chance."""
    from scipy.stats import poisson as law

    even = (int.from_bytes(urandom(7)) + 0.5) / 2**56 if probability is None else probability
    return int(law.ppf(even, mean))


@dataclass(frozen=True)
class Claim:
    """A privacy loss that a release is said to have at most.

    Attributes:
        epsilon: Epsilon, where it is pure or has a delta.
        delta: Delta; 0 where the loss is pure, or a rho.
        rho: Rho, where the loss is zero-concentrated.
    """

    epsilon: float | None
    delta: float = 0.0
    rho: float | None = None

    @classmethod
    def from_parameters(cls, epsilon: Exact | None, delta: float, rho: Exact | None) -> Claim:
        """The claim that was given by its numbers.

        Raises:
            ValueError: neither epsilon nor rho is given, or both are, or one is out of range.
        """
        if (epsilon is None) == (rho is None):
            raise InvalidArgument("epsilon, rho", "one of the two is needed, the loss that the release is said to have")
        chance = require_number("delta", delta)
        if not 0 <= chance < 1 or (chance > 0 and epsilon is None):
            raise InvalidArgument("delta", "a chance from 0 on and below 1 is needed, and epsilon with it")
        if rho is not None:
            return cls(None, 0.0, float(parse_positive_fraction("rho", rho)))
        return cls(float(parse_positive_fraction("epsilon", epsilon)), chance)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {format_loss(self.rho)}"
        return f"epsilon {format_loss(self.epsilon or 0)}" + (
            f" at delta {format_loss(self.delta)}" if self.delta else ""
        )

    @property
    def amount(self) -> float:
        """The number that a lower limit is held against."""
        return self.epsilon if self.epsilon is not None else float(self.rho or 0)

    @property
    def parameter(self) -> str:
        """The currency: epsilon or rho."""
        return "rho" if self.epsilon is None else "epsilon"

    def find_detectable_deficit(self, samples: int, error: float) -> float | None:
        """Share of noise that may be missing without being found in 9 of 10 runs, of a count with the usual noise.

        Laplace's noise where epsilon is claimed, by the limits at two counts of a run worse than nine of ten; Gauss's
        where rho is, by the limit at the counts that are expected with a tenth of the error. None: no share is found.

        >>> round(Claim(1.0).find_detectable_deficit(12_000, 0.05), 2), Claim(1.0).find_detectable_deficit(10, 0.05)
        (0.06, None)
        """
        found = self._is_detected if self.rho is None else self._is_detected_in_cells
        low, high = 0, 100  # what is missing is found from some share on
        while samples > 0 and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if found(middle / 100, samples, error) else (middle, high)
        return high / 100 if samples > 0 and high < 100 else None

    def _is_detected(self, share: float, samples: int, error: float) -> bool:
        """At the counts of a run that is worse than nine of ten."""
        true = min(self.amount / (1 - share), 500.0)
        p = 1 / (1 + exp(-true))
        q = exp(-true) * p
        spread = ONE_IN_TEN * sqrt(samples) / sqrt((1 - p) / p + (1 - q) / q)
        ours, theirs = samples * p - (1 - p) * spread, samples * q + (1 - q) * spread
        both = int(max(ours, 0)), int(np.ceil(theirs))
        limit = max(
            float(find_log_ratio_lower_bound(*both, error)),
            float(
                find_epsilon_lower_bound(
                    min(both[0], samples), min(both[1], samples), samples, samples, delta=0, error=error
                )
            ),
        )
        return limit > self.amount

    def _is_detected_in_cells(self, share: float, samples: int, error: float) -> bool:
        from scipy.special import ndtr

        edges = np.array([-np.inf, -2, -1, -0.5, 0, 0.5, 1, 2, np.inf])
        shift = sqrt(2 * self.amount) / (1 - share)
        ours, theirs = (np.diff(ndtr(edges + move * shift / 2)) * samples for move in (-1, 1))
        return find_rho_lower_bound(ours.astype(np.int64), theirs.astype(np.int64), error / 10) > self.amount


@dataclass(frozen=True)
class EventCounts:
    """Hits of an event in fresh samples of two data sets.

    Attributes:
        hits: Hits of the data set on which the event is likelier.
        other_hits: Hits of the other one.
        samples: Samples of the first.
        other_samples: Samples of the second.
    """

    hits: int
    other_hits: int
    samples: int
    other_samples: int

    def bound_epsilon(self, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Lower limit of epsilon, by the ratio of Poisson counts or by limits of both chances."""
        if as_ratio and not claim.delta:
            return float(find_log_ratio_lower_bound(self.hits, self.other_hits, error))
        return float(
            find_epsilon_lower_bound(
                self.hits, self.other_hits, self.samples, self.other_samples, delta=claim.delta, error=error
            )
        )

    def is_ratio_sharper(self, samples: float, error: float) -> bool:
        """Tell which of both limits is the larger one at so many samples; decided before these are drawn."""
        p, q = (self.hits + 0.5) / (self.samples + 1), (self.other_hits + 0.5) / (self.other_samples + 1)
        ours, theirs = round(p * samples), round(q * samples)
        return bool(
            find_log_ratio_lower_bound(ours, theirs, error)
            > find_epsilon_lower_bound(ours, theirs, round(samples), round(samples), delta=0, error=error)
        )
