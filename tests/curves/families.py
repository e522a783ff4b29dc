"""Which intervals are tried together, and which of them hold more often than they say, for a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import covered_areas
import covered_distributions
import covered_groups
import covered_scores
import covered_summaries
import covered_survivals
import covered_tables
from kinds import CASES, Case
from tally import Covered


class Family(NamedTuple):
    """Intervals that one release tells of.

    Attributes:
        covered: Draws a release, and tells which intervals held.
        cases: Those it is tried in.
        cautious: Kinds that hold more often than they say even of continuous data: what each allows for besides noise,
            and what is not simulated but bounded, stands where they are worked out.
        releases: Of each of the cases that a quick test draws: every so many of all.
        stride: Of so many cases a quick test draws one.
    """

    covered: Covered
    cautious: frozenset[str]
    releases: int
    stride: int
    cases: tuple[Case, ...] = CASES

    @property
    def few(self) -> tuple[Case, ...]:
        """What a quick test draws: the stride has no divisor in common with the numbers of fields."""
        return self.cases[:: self.stride]


def both(*kinds: str) -> frozenset[str]:
    """For these records and for the population."""
    return frozenset(f"{kind}, {whom}" for kind in kinds for whom in ("records", "population"))


READ = both("auc", "average-precision", "ks", "ece")
"""Scores: the worst order within cells, the worst curve in a band, or the worst signs of errors."""
AT_EDGES = "quantiles", "one quantile", "searched", "pairs", "region"
"""Quantiles: their intervals end at edges of cells."""


def _families() -> Iterator[tuple[str, Family]]:
    yield (
        "distributions",
        Family(covered_distributions.covered, both(*AT_EDGES), 2, 1),
    )
    yield (
        "summaries",
        Family(
            covered_summaries.covered, frozenset({"count, population", "sum, population", "variance, population"}), 2, 1
        ),
    )
    yield "survivals", Family(covered_survivals.covered, both("median"), 1, 1)
    yield "tables", Family(covered_tables.covered, frozenset(), 1, 1)
    yield "groups", Family(covered_groups.covered, frozenset(), 1, 3)
    yield (
        "groups of two servers",
        Family(
            covered_groups.covered_of_two_servers, frozenset(), 1, 3, tuple(case for case in CASES if case.adjacency)
        ),
    )
    yield (
        "areas",
        Family(covered_areas.covered, both("area", "coarse area", "region", "coarse region"), 1, 3),
    )
    yield "scores", Family(covered_scores.covered, READ, 2, 3)
    yield "differences", Family(covered_scores.covered_differences, both("auc", "average-precision", "ks", "ece"), 1, 3)


FAMILIES: Mapping[str, Family] = MappingProxyType(dict(_families()))
