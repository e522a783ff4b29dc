"""Intervals of what is read from scores hold as often as they say; the benchmark of the same name asks more cases."""

from __future__ import annotations

from math import sqrt

import pytest
from covered_scores import Case, coverage


@pytest.mark.parametrize("case", [Case("honest", 2000, 1.0, 1), Case("skewed", 1000, 0.5, 0)], ids=str)
def test_intervals_of_readings_hold_as_often_as_they_say(case: Case) -> None:
    level, releases = 0.9, 30
    least = level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma
    found = {name: held / releases for name, held in coverage(case, level, releases, 7).items()}
    assert {name: share for name, share in found.items() if share < least} == {}
