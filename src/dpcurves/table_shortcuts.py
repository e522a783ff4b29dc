"""One question about a whole table at hand, in one call, as in `shortcuts`: what is spent does not add up anywhere."""

from __future__ import annotations

from typing import Any

from .arguments import Exact, Refused, several
from .curves import Summary, SummaryQuestion
from .noise.randomness import Randomness
from .privacy import Neighbours, PrivacyLoss
from .shortcuts import Values, _ask, _named, loss_of

__all__ = ["mean", "summary"]


def summary(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """Count, sum, mean and variance of `values`, all from one release.

    Arguments and guarantees as for `cdf`, but `bounds` stand in for a grid: the lower and the upper one are public, and
    values outside count as the bound that is nearer. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.summary([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.mean - 50) < 2 and abs(ages.variance - 866.7) < 100)
    True
    """
    return _summarised(values, bounds, 2, adjacency, loss_of(epsilon, rho), label, randomness)


def mean(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """Count, sum and mean of `values`, with a quarter less noise than `summary`, which releases the variance too.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.mean([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.mean - 50) < 2)
    True
    """
    return _summarised(values, bounds, 1, adjacency, loss_of(epsilon, rho), label, randomness)


def _summarised(  # noqa: PLR0917
    values: Any,
    bounds: tuple[float, float],
    moments: int,
    adjacency: Neighbours,
    loss: PrivacyLoss,
    label: str,
    randomness: Randomness | None,
) -> Summary:
    ends = several("bounds", bounds, "a pair of numbers, the lower one first,")
    if len(ends) != 2:
        raise Refused("bounds", f"two numbers are needed, the lower one first, got {len(ends)}")
    question = SummaryQuestion(label, *ends, moments=moments)
    found: Summary = _ask(_named(label, values), question, loss, adjacency, randomness)
    return found
