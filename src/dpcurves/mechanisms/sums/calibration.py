"""Calibration of noise: from shares of a loss to exact laws for the sums of a plan, with the proof."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...laws import Family, IntervalSums, Tier, Noise
from ...noise import discrete_gaussian, discrete_laplace
from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, PartitionQuery, Query, RegionQuery, SumQuery
from ...release import UnsupportedQuery
from .tree_strategy import Shape

Tiling = range | tuple[int, ...]


def law_of(query: CountQuery | SumQuery, shape: Shape, loss: PrivacyLoss, adjacency: Adjacency) -> IntervalSums:
    """The law of noisy sums over nested regular tilings; see `law_over`."""
    tilings = [range(0, query.cells, width) for width in shape.widths]
    return law_over(query, tilings, shape.shares, loss, adjacency)


def law_over(
    query: CountQuery | PartitionQuery | RegionQuery | SumQuery,
    tilings: Sequence[Tiling],
    shares: Sequence[Fraction],
    loss: PrivacyLoss,
    adjacency: Adjacency,
) -> IntervalSums:
    """The law of noisy sums over nested tilings, each level of which may use its share of the loss.

    Sums over the intervals of level l have the noise of ``loss * share``, the missing cell that of all of `loss`.

    Formal guarantees: all sums together lose at most `loss` under `adjacency`. Let ``d_l`` be how far the sums of
    level l differ between neighbours, and ``m`` how far the missing cell does. Intervals of one level are disjoint, and
    shares ``s_l`` add up to 1. *Pure*: Laplace noise of scale b loses ``|d|_1 / b`` in a level (discrete Laplace noise
    on integers: Ghosh, Roughgarden and Sundararajan 2009), so in all
    ``sum_l s_l * eps * |d_l|_1 / D + eps * |m| / D = eps * sum_l s_l * (|d_l|_1 + |m|) / D``, and each bracket is an
    L1 distance of neighbouring tables, on coarser cells, hence at most D, the `distance`. *Zero-concentrated*: Gaussian
    noise with variance parameter v loses rho ``|d|_2**2 / (2 v)`` (Canonne, Kamath and Steinke 2020, Theorem 14), and
    ``sum_l s_l * rho * |d_l|_2**2 / D2 + rho * m**2 / D2`` is at most rho by the same brackets, with D2 the
    `squared_distance`. So the missing cell costs nothing extra: a moved record is in the tiling or in the missing cell.
    """
    levels = tuple(
        Tier(tiling, noise_of(query, loss * share, adjacency)) for tiling, share in zip(tilings, shares, strict=True)
    )
    missing = None if isinstance(query, SumQuery) else noise_of(query, loss, adjacency)
    return IntervalSums(query.rows, query.cells, levels, missing)


def noise_of(query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Noise:
    """Noise for one table of disjoint sums: Laplace for a pure loss, Gaussian for a zero-concentrated one.

    Raises:
        UnsupportedQuery: the loss is so small that no sampler has that much noise, or a record cannot add anything.
    """
    if query.per_record_sensitivity < 1:
        raise UnsupportedQuery("half", f"a record must be able to add at least 1, got {query.per_record_sensitivity}")
    require_loss(loss)
    if loss.epsilon is not None:
        return drawable(Noise(Family.LAPLACE, distance(query, adjacency) / loss.epsilon), loss)
    return drawable(Noise(Family.GAUSSIAN, squared_distance(query, adjacency) / (2 * loss.rho)), loss)


def require_loss(loss: PrivacyLoss) -> None:
    """Raises `UnsupportedQuery` if nothing may be lost."""
    if loss.rho == 0:
        raise UnsupportedQuery("epsilon, rho", "noisy sums need a loss above zero")


def drawable(noise: Noise, loss: PrivacyLoss) -> Noise:
    """The noise itself. Raises `UnsupportedQuery` if no sampler has that much."""
    laplace = noise.family is Family.LAPLACE
    if noise.parameter > (discrete_laplace.LARGEST_SCALE if laplace else discrete_gaussian.LARGEST_VARIANCE):
        raise UnsupportedQuery("epsilon, rho", f"{loss} for a part of the sums needs more noise than can be drawn")
    return noise


def distance(query: Query, adjacency: Adjacency) -> Fraction:
    """L1 distance of the tables of neighbours, at most: each move adds or takes at most `per_record_sensitivity`."""
    return Fraction(adjacency.l1_sensitivity * query.per_record_sensitivity)


def squared_distance(query: Query, adjacency: Adjacency) -> Fraction:
    """Squared L2 distance of the tables of neighbours, at most, on these cells or coarser ones.

    Sums have signs: records that go may take ``-half`` out of the same cell that records that come add ``+half`` to.
    There the L2 distance is the L1 distance. Counts cannot do that.
    """
    if isinstance(query, SumQuery):
        return distance(query, adjacency) ** 2
    return Fraction(adjacency.squared_l2_sensitivity * query.per_record_sensitivity**2)
