from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcurves.summaries import counts_to_prefixes, isotonic_projection, monotone_prefixes

numbers = st.lists(st.integers(-20, 20), min_size=1, max_size=12)


@given(numbers, st.integers(0, 2**32))
def test_isotonic_regression_is_the_max_min_of_means(values: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 5, len(values)).astype(float)
    y, n = np.array(values, dtype=np.float64), len(values)

    def mean(first: int, last: int) -> float:
        return float(np.average(y[first : last + 1], weights=weights[first : last + 1]))

    exact = [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
    np.testing.assert_allclose(isotonic_projection(y, weights), exact, atol=1e-9)


@given(numbers)
def test_a_sequence_that_rises_stays_as_it_is(values: list[int]) -> None:
    rising = np.sort(np.array(values, dtype=np.float64))
    np.testing.assert_array_equal(isotonic_projection(rising), rising)


def test_prefixes_start_at_zero_on_any_leading_axes() -> None:
    cells = np.arange(12.0).reshape(2, 2, 3)
    prefixes = counts_to_prefixes(cells)
    assert prefixes.shape == (2, 2, 4)
    assert prefixes[1, 0].tolist() == [0, 6, 13, 21]


@given(numbers, st.integers(0, 40))
def test_monotone_prefixes_rise_from_zero_to_the_total_at_most(values: list[int], upper: int) -> None:
    (found,) = monotone_prefixes(np.array([values], dtype=np.float64), upper)
    assert found[0] == 0
    assert np.all(np.diff(found) >= 0)
    assert found[-1] <= upper


@given(numbers)
def test_a_pinned_total_is_still_met_after_pooling(values: list[int]) -> None:
    total = max(sum(values), 0)
    cells = np.array([[*values, total - sum(values)]], dtype=np.float64)
    assert monotone_prefixes(cells, total)[0, -1] == total


def test_rows_are_made_monotone_each_on_its_own() -> None:
    found = monotone_prefixes(np.array([[2.0, -1.0], [1.0, 1.0]]), None)
    assert found.tolist() == [[0, 1.5, 1.5], [0, 1, 2]]
