"""Which intervals are tried together, and which of them hold more often than they say, for a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import covered_areas
import covered_distributions
import covered_groups
import covered_orders
import covered_pairs
import covered_reported_pairs
import covered_reports
import covered_scores
import covered_summaries
import covered_survivals
import covered_tables
from kinds import CASES, CONTINUOUS, Case
from tally import Covered


class Family(NamedTuple):
    """Intervals that one release tells of.

    Attributes:
        covered: Draws a release, and tells which intervals held.
        cautious: Kinds that hold more often than they say even of continuous data: `docs/coverage.md` says why, and
            `test_widths_of_intervals` holds them as narrow as they are.
        releases: Of each case of continuous data that a quick test draws: 16 in all at least, for of fewer no number
            of those that hold is too small or too large.
        stride: Of twice so many of the other cases a quick test draws one.
        repeats: Releases of each of these.
        cases: Those it is tried in.
    """

    covered: Covered
    cautious: frozenset[str]
    releases: int
    stride: int
    repeats: int = 1
    cases: tuple[Case, ...] = CASES

    @property
    def smooth(self) -> list[Case]:
        """Cases of continuous data."""
        return [case for case in self.cases if case.data == CONTINUOUS]

    @property
    def few(self) -> list[Case]:
        """Some of the others, in turn."""
        return [case for case in self.cases if case.data != CONTINUOUS][:: 2 * self.stride]


def both(*kinds: str) -> frozenset[str]:
    """For these records and for the population."""
    return frozenset(f"{kind}, {whom}" for kind in kinds for whom in ("records", "population"))


READ = both("auc", "average-precision", "ks", "ece")
"""Scores: the worst order within cells, the worst curve in a band, or the worst signs of errors."""
AREAS = "area", "fine area", "rare area", "coarse area", "region", "coarse region"
"""Areas and regions: all orders within cells."""
AT_EDGES = "one quantile", "searched", "pairs", "difference of quantiles", "region"
"""Quantiles: their intervals end at edges of cells."""


def _families() -> Iterator[tuple[str, Family]]:
    third = CASES[::3]
    replaced = tuple(case for case in CASES if case.adjacency)[::3]
    yield "distributions", Family(covered_distributions.covered, both("quantiles", "one quantile of a curve"), 4, 1)
    yield "searches", Family(covered_distributions.covered_searches, both(*AT_EDGES), 6, 1, 2, third)
    yield "summaries", Family(covered_summaries.covered, covered_summaries.UNKNOWN, 4, 1)
    yield "survivals", Family(covered_survivals.covered, both("median", "band"), 2, 2)
    yield "tables", Family(covered_tables.covered, frozenset(), 2, 1)
    yield "groups", Family(covered_groups.covered, frozenset(), 6, 1, 2, third)
    yield "groups of two servers", Family(covered_groups.covered_of_two_servers, frozenset(), 16, 1, 2, replaced)
    yield "areas", Family(covered_areas.covered, both(*AREAS), 6, 1, 2, third)
    yield "pairs of people", Family(covered_pairs.covered, covered_pairs.CAUTIOUS, 2, 2)
    yield "orders", Family(covered_orders.covered, covered_orders.CAUTIOUS, 2, 2)
    kinds, cases = covered_reported_pairs.CAUTIOUS, covered_reported_pairs.CASES
    yield "reported pairs", Family(covered_reported_pairs.covered, kinds, 4, 2, 2, cases)
    yield "reports", Family(covered_reports.covered, covered_reports.CAUTIOUS, 4, 2, 2, covered_reports.CASES)
    yield "scores", Family(covered_scores.covered, frozenset(), 2, 2)
    yield "numbers of scores", Family(covered_scores.covered_numbers, READ, 6, 1, 2, third)
    yield "differences", Family(covered_scores.covered_differences, READ, 6, 1, 2, third)


FAMILIES: Mapping[str, Family] = MappingProxyType(dict(_families()))
