"""Exact convolution against sums one by one."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.distributions.toeplitz_sums import LARGEST_WEIGHT, PRIMES, causal_convolution

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def test_primes_are_prime_and_their_generators_generate() -> None:
    """By the factors of p - 1, which prove both (Lucas): there is an element of order p - 1."""
    for prime in PRIMES:
        rest, factors, divisor = prime.modulus - 1, set[int](), 2
        while divisor * divisor <= rest:
            while rest % divisor == 0:
                factors.add(divisor)
                rest //= divisor
            divisor += 1
        factors |= {rest} - {1}
        assert pow(prime.generator, prime.modulus - 1, prime.modulus) == 1
        assert all(pow(prime.generator, (prime.modulus - 1) // factor, prime.modulus) != 1 for factor in factors)
        assert (prime.modulus - 1) % 2**24 == 0
        assert prime.modulus < 2**31


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 31, 32, 33, 100])
def test_random_integers_are_convolved_exactly(length: int) -> None:
    dice = np.random.default_rng(length)
    signal = dice.integers(LOWEST, HIGHEST, (3, length), endpoint=True)
    weights = dice.integers(0, LARGEST_WEIGHT, length, endpoint=True)
    expected = [[sum(int(weights[i - j]) * int(row[j]) for j in range(i + 1)) for i in range(length)] for row in signal]
    assert causal_convolution(signal, weights).tolist() == expected
    assert causal_convolution(signal.astype(np.object_), weights).tolist() == expected


@pytest.mark.parametrize("value", [LOWEST, -1, 0, 1, HIGHEST])
def test_extreme_integers_are_convolved_exactly(value: int) -> None:
    length = 1000
    convolved = causal_convolution(np.full((1, length), value), np.full(length, LARGEST_WEIGHT))
    assert convolved[0].tolist() == [value * LARGEST_WEIGHT * (i + 1) for i in range(length)]


def test_integers_of_any_size_stay_exact() -> None:
    signal = np.array([[10**40, -(10**50)]], dtype=np.object_)
    assert causal_convolution(signal, np.array([2, 3])).tolist() == [[2 * 10**40, 3 * 10**40 - 2 * 10**50]]


def test_long_signals_agree_with_running_sums() -> None:
    length = 2**13 + 5
    signal = np.random.default_rng(1).integers(-1000, 1000, (2, length))
    assert np.array_equal(causal_convolution(signal, np.ones(length, dtype=np.int64)), np.cumsum(signal, axis=1))


def test_weights_beyond_the_proof_are_refused() -> None:
    for weights in (np.array([LARGEST_WEIGHT + 1]), np.array([-1])):
        with pytest.raises(ValueError, match="weights"):
            causal_convolution(np.array([[1]]), weights)
