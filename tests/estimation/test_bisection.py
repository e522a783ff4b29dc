"""Halving intervals of thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.inference import Bracket, bisect_bracket
from dpcurves.summaries import isotonic_projection


@pytest.mark.parametrize("cells", [*range(1, 40), 2**20, 2**32, 2**40 - 7])
def test_a_rising_curve_is_crossed_where_it_crosses_in_as_few_looks_as_promised(cells: int) -> None:
    for crossing in {min(max(place, 1), cells) for place in (1, 2, cells // 3 + 1, cells - 1, cells)}:
        asked: list[int] = []

        def reached(threshold: int, crossing: int = crossing, asked: list[int] = asked) -> bool:
            asked.append(threshold)
            return threshold >= crossing

        assert bisect_bracket(cells, reached) == (crossing - 1, crossing)
        assert len(asked) <= (cells - 1).bit_length()
        divided = [threshold & -threshold for threshold in asked]
        assert divided == sorted(set(divided), reverse=True)


def test_it_stops_where_answers_end_and_says_what_is_asked_next() -> None:
    answers = {8: True, 4: False}
    bracket = bisect_bracket(16, answers.get)
    assert bracket == Bracket(4, 8)
    assert bracket.next_threshold() == 6
    assert Bracket(4, 5).next_threshold() is None


def test_the_crossing_is_that_of_the_isotonic_curve_of_all_looks() -> None:
    """Takes 200 random curves (seed 17), however noisy, and whatever the weights."""
    generator = np.random.default_rng(17)
    for _ in range(200):
        cells = int(generator.integers(2, 200))
        curve, level = np.cumsum(generator.normal(0.1, 1, cells + 1)), float(generator.normal(0, 3))
        looks = dict[int, float]()

        def reached(threshold: int) -> bool:
            looks[threshold] = float(curve[threshold])  # noqa: B023
            return looks[threshold] >= level  # noqa: B023

        _, high = bisect_bracket(cells, reached)
        places = np.array(sorted(looks))
        rising = isotonic_projection(
            np.array([looks[place] for place in places]), generator.uniform(0.1, 9, len(places))
        )
        assert np.array_equal(rising >= level, places >= high)
