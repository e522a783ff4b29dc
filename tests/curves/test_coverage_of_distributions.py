"""Every kind of interval of a distribution covers at least as often as it says, on every kind of data.

Five kinds of data, 1,000 and 100,000 records, epsilon 0.1 and 1, both adjacencies: 40 cases of a few releases each, and
each release is held against all kinds of intervals. Pooled by data and by setting, coverage is no more than 4 standard
deviations below the level. There are 150 checks: one of them would fail by chance in less than 1 of 200 suites, were
intervals exact; the seeds are fixed. A larger table: `python benchmarks/interval_coverage.py`.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt

import pytest
from covered_distributions import CASES, Case, coverage

LEVEL = 0.9
RELEASES = 6
KINDS = 12


@pytest.fixture(scope="module")
def held() -> dict[Case, dict[str, int]]:
    return {case: coverage(case, LEVEL, RELEASES, seed=100 * number) for number, case in enumerate(CASES)}


@pytest.mark.parametrize("field", ["data", "units", "epsilon", "adjacency", None])
def test_intervals_cover_as_often_as_they_say(held: dict[Case, dict[str, int]], field: str | None) -> None:
    covered, drawn = Counter[tuple[object, str]](), Counter[tuple[object, str]]()
    for case, kinds in held.items():
        for kind, count in kinds.items():
            where = None if field is None else getattr(case, field)
            covered[where, kind] += count
            drawn[where, kind] += RELEASES
    assert len({kind for _, kind in drawn}) == KINDS
    too_few = {
        place: covered[place] / many
        for place, many in drawn.items()
        if covered[place] / many < LEVEL - 4 * sqrt(LEVEL * (1 - LEVEL) / many)
    }
    assert too_few == {}
