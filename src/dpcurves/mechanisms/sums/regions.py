"""Noisy counts of regions of a whole table, which stand as intervals in an order that the question names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt

from ...laws import Family
from ...privacy import Adjacency, PrivacyLoss
from ...queries import Query, RegionQuery
from ...queries.base import Places, laid_out
from ...release import Plan, UnsupportedQuery
from .calibration import law_over, require_loss
from .linear import Linear, printed
from .tree_strategy import Shape, best_shape


@dataclass(frozen=True, slots=True)
class Regions(Linear):
    """The tilings of a `RegionQuery`, each with the same share of the loss; for prefixes a tree over its regions.

    The tree is the one that reads prefixes best where regions are as many as the next power of two.

    Formal guarantees: those of `calibration.law_over`, for whatever order and tilings: both are public when the turn is
    asked, and the regions of a tiling are disjoint.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, RegionQuery):
            raise UnsupportedQuery(
                "question", "counts of regions answer a query that names its regions, and nothing else"
            )
        require_loss(loss)
        tilings, shares = query.tilings, (Fraction(1, len(query.tilings)),) * len(query.tilings)
        if query.read.of_prefixes:
            tilings, shares = _tree(query.tilings[0], loss, adjacency)
        law = replace(law_over(query, tilings, shares, loss, adjacency), rows=1, cells=prod(query.shape))
        name = "counts of regions" if len(tilings) == 1 else f"counts of regions, {len(tilings)} levels"
        return Plan(query, loss, adjacency, name, law, printed(sqrt(law.levels[-1].noise.variance)))


def _tree(regions: Places, loss: PrivacyLoss, adjacency: Adjacency) -> tuple[tuple[Places, ...], tuple[Fraction, ...]]:
    """Groups of regions, from coarse to fine, and what share of the loss each tiling gets."""
    family = Family.LAPLACE if loss.is_pure else Family.GAUSSIAN
    # A few shapes serve all numbers of regions: to find one for each number would take longer than to release it.
    leaves = 1 << (len(regions) - 1).bit_length()
    shape = best_shape(1, leaves, 1, family, total_is_public=adjacency.total is not None)
    return _grouped(regions, shape), shape.shares


def _grouped(regions: Places, shape: Shape) -> tuple[Places, ...]:
    if isinstance(regions, range):
        return tuple(regions[::width] for width in shape.widths)
    first = laid_out(regions)
    return tuple(tuple(first[::width].tolist()) for width in shape.widths)
