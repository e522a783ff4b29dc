"""How much discrete Gaussian noise makes a promise of (epsilon, delta) true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, floor, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.privacy.loss import rho_for

EXACT_UP_TO = 8  # squared sensitivity: two records of a unit, replaced
LARGEST = 10**6  # variance up to which sums over the whole distribution are cheap
DIGITS = 7
ROUNDING = 1e-9  # of delta, kept back for the rounding of its sum
SPAN = 12  # standard deviations; what lies farther out is below exp(-72) of what is summed


def gaussian_variance(epsilon: Fraction | float, delta: float, squared_sensitivity: int) -> Fraction:
    """The smallest variance parameter known to make discrete Gaussian noise on integers (epsilon, delta)-private.

    Noise is drawn for each coordinate on its own, and neighbours are integer vectors, of any length, whose squared
    Euclidean distance is at most `squared_sensitivity`. Rounded up to 7 digits.

    Formal guarantees: (epsilon, delta) for these neighbours. Up to a squared sensitivity of 8 and a variance of 10**6,
    `delta_of_gaussian` of every possible difference is at most `delta`, at the number that is returned. (It is found
    by halving; that no smaller one would do rests on delta falling in the variance, the promise does not.) Beyond, by
    zero-concentrated privacy: ``squared_sensitivity / (2 * rho)`` (Canonne, Kamath and Steinke 2020, Theorem 4).

    Raises:
        ValueError: `squared_sensitivity` is below 1, or `epsilon` or `delta` is out of range.

    >>> float(gaussian_variance(1, 1e-6, 1)), float(gaussian_variance(1, 1e-6, 100))
    (17.89949, 2052.885)
    """
    if squared_sensitivity < 1:
        raise InvalidArgument(
            "squared_sensitivity", f"a whole number of at least 1 is needed, got {squared_sensitivity}"
        )
    enough = _rounded_up(squared_sensitivity / (2 * rho_for(epsilon, delta)))
    if squared_sensitivity > EXACT_UP_TO or enough > LARGEST:
        return enough
    allowed = delta * (1 - ROUNDING)
    return _least(enough, lambda variance: _worst_delta(variance, epsilon, squared_sensitivity) <= allowed)


def delta_of_gaussian(variance: Fraction | float, epsilon: Fraction | float, shift: Sequence[int]) -> float:
    """The exact delta at `epsilon` of discrete Gaussian noise on one vector and on the same vector moved by `shift`.

    A sum of positive terms, right to a relative 1e-11. For one coordinate it is the difference of two tails of
    Canonne, Kamath and Steinke (2020), Theorem 7.

    For several: the privacy loss depends on the noise through its product with `shift` alone, an integer w. Moving
    the noise by `shift` moves w by the squared length s of `shift`, and splitting the noise in its part along `shift`
    and the rest shows that the chance of w is ``weights[w % s] * exp(-w**2 / (2 * s * variance))``.

    Raises:
        ValueError: `variance` is not above zero.

    >>> delta_of_gaussian(16, 1, [1]) < delta_of_gaussian(16, 1, [1, -1])
    True
    """
    if not variance > 0:
        raise InvalidArgument("variance", f"a number above zero is needed, got {variance}")
    moves = [abs(move) for move in shift if move]
    if not moves:
        return 0.0
    spread, kept = float(variance), float(epsilon)
    squared = sum(move**2 for move in moves)
    weights = _weights(moves, spread)
    start = floor(spread * kept - squared / 2) + 1
    product = start + np.arange(ceil(SPAN * sqrt(squared * spread)) + squared + 2)
    chance = weights[product % squared] * np.exp(-(product.astype(float) ** 2) / (2 * squared * spread))
    excess = (squared + 2 * product) / (2 * spread) - kept
    return float(np.sum(chance * -np.expm1(-np.maximum(excess, 0))))


def _least(enough: Fraction, suffices: Callable[[Fraction], bool]) -> Fraction:
    """By halving, down to the last digit: a variance that suffices, as the one to begin with does."""
    lower, upper = _rounded_up(enough / 2), enough
    while suffices(lower):
        lower, upper = _rounded_up(lower / 2), lower
    while lower < (middle := _rounded_up((lower + upper) / 2)) < upper:
        lower, upper = (lower, middle) if suffices(middle) else (middle, upper)
    return upper


def _worst_delta(variance: Fraction, epsilon: Fraction | float, squared_sensitivity: int) -> float:
    return max(delta_of_gaussian(variance, epsilon, shift) for shift in _shifts(squared_sensitivity))


def _shifts(squared: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All integer vectors up to this squared length, up to order and signs, which change no delta.

    >>> sorted(_shifts(4))
    [(), (1,), (1, 1), (1, 1, 1), (1, 1, 1, 1), (2,)]
    """
    yield ()
    for move in range(1, min(isqrt(squared), largest or squared) + 1):
        for rest in _shifts(squared - move**2, move):
            yield (move, *rest)


def _weights(moves: Sequence[int], spread: float) -> NDArray[np.float64]:
    """The weights in the docstring of `delta_of_gaussian`, one coordinate after the other."""
    span = ceil(SPAN * sqrt(spread)) + 2
    total = float(np.sum(np.exp(-(np.arange(-span, span + 1.0) ** 2) / (2 * spread))))
    first, *others = moves
    weights: NDArray[np.float64] = (np.arange(first**2) % first == 0) / total
    for move in others:
        weights = _with_coordinate(weights, move, spread, span) / total
    return weights


def _with_coordinate(weights: NDArray[np.float64], move: int, spread: float, span: int) -> NDArray[np.float64]:
    # With w = rest + move * x the two exponents add up to that of w and one more:
    # x**2 + (w - move * x)**2 / before == w**2 / after + (x - w * move / after)**2 * after / before.
    before, after = len(weights), len(weights) + move**2
    grown = np.empty(after)
    for product in range(after):
        x = np.arange(-span, span + move + 1)
        farness = (x - product * move / after) ** 2 * (after / before)
        grown[product] = np.sum(weights[(product - move * x) % before] * np.exp(-farness / (2 * spread)))
    return grown


def _rounded_up(variance: Fraction) -> Fraction:
    digits = Context(prec=DIGITS, rounding=ROUND_CEILING)
    return Fraction(digits.divide(Decimal(variance.numerator), Decimal(variance.denominator)))
