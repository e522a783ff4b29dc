"""The Laplace and Gaussian mechanisms on tables of counts: flat histograms, trees of intervals, and stated regions.

A mechanism of this file releases sums of cells with independent integer noise. The sums of one level are over disjoint
intervals of cells, so a record is in one sum per level. Level l gets the budget fraction ``s_l``; the fractions add up
to 1. Released is

    y_l = A_l @ cells + z_l      z_l: discrete Laplace noise of scale D / (s_l * epsilon), or
                                      discrete Gaussian noise of variance parameter D2 / (2 * s_l * rho)

where A_l is a matrix of 0 and 1 with one 1 per column, and D and D2 are the largest L1 and squared L2 distance of
neighbouring tables (`l1_distance`, `squared_l2_distance`). The number of missing records is released too, with the
noise of ``s = 1``.

- `FlatHistogram`: one level.
- `TreeSums`: levels of equal branching, chosen by `tree_strategy.find_best_shape`; also called tree aggregation.
- `PartitionSums`, `RegionSums`: intervals or regions that the query states, for instance from an earlier round.
- `SubsetCounts`: one noisy number of subsets of the units.

The field calls this the matrix mechanism, with strategies of interval sums.

Formal guarantees: level l loses ``s_l`` times the loss, so all levels together lose the loss, pure or
zero-concentrated. The missing records cost nothing extra. `tiling_distribution` has the proof.

References: Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009; Hay, Rastogi, Miklau and
Suciu 2010; Canonne, Kamath and Steinke 2020.

>>> from dpcurves.data import Axis, Grid
>>> from dpcurves.privacy import EACH_RECORD
>>> from dpcurves.queries import CountUse
>>> query = CountQuery((Axis("age", Grid(0, 256, cells=256)),), CountUse.PREFIXES)
>>> loss, adjacency = PrivacyLoss.pure(1), AddRemove(EACH_RECORD)
>>> [round(kind().plan(query, loss, adjacency).error, 2) for kind in (FlatHistogram, TreeSums)]  # records, per prefix
[15.35, 8.27]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from operator import add
from typing import ClassVar

from ..arguments import InvalidArgument
from ..arrays import IntArray
from ..conversation import Plan, UnsupportedQuery
from ..distributions import Family, IntervalSums, Noise, NoisySums, Tier, round_error
from ..noise import discrete_gaussian, discrete_laplace
from ..noise.randomness import Randomness
from ..privacy import AddRemove, Adjacency, PrivacyLoss
from ..queries import (
    CountQuery,
    PartitionQuery,
    Query,
    RegionQuery,
    SquaredWeightQuery,
    SubsetQuery,
    SumQuery,
    WeightedQuery,
    WeightedSpreadQuery,
    WeightedSumQuery,
    WeightQuery,
)
from ..queries.query import Places
from .base import ExactTable, QueryMechanism
from .tree_strategy import TUNING, TreeShape, find_best_shape


def tiling_distribution(
    query: CountQuery | PartitionQuery | RegionQuery | SumQuery | WeightedQuery,
    tilings: Sequence[Places],
    shares: Sequence[Fraction],
    loss: PrivacyLoss,
    adjacency: Adjacency,
) -> IntervalSums:
    """Return the distribution of noisy sums over tilings, each of which uses its fraction of the loss.

    Sums over the intervals of level l have the noise of ``loss * shares[l]``; the missing cell has the noise of the
    whole loss.

    Formal guarantees: all sums together lose at most `loss` under `adjacency`. Let ``d_l`` be the difference of the
    sums of level l between neighbours, and ``m`` the difference of the missing cell. Intervals of one level are
    disjoint, and shares ``s_l`` add up to 1.

    *Pure*: Laplace noise of scale b loses ``|d|_1 / b`` in a level (discrete Laplace noise on integers: Ghosh,
    Roughgarden and Sundararajan 2009). So all levels and the missing cell lose ``sum_l s_l * eps * |d_l|_1 / D + eps *
    |m| / D = eps * sum_l s_l * (|d_l|_1 + |m|) / D``. Each bracket is an L1 distance of neighbouring tables on coarser
    cells, hence at most D, the `l1_distance`.

    *Zero-concentrated*: Gaussian noise with variance parameter v loses rho ``|d|_2**2 / (2 v)`` (Canonne, Kamath and
    Steinke 2020, Theorem 14), and ``sum_l s_l * rho * |d_l|_2**2 / D2 + rho * m**2 / D2`` is at most rho by the same
    brackets, with D2 the `squared_l2_distance`.

    So the missing cell costs nothing extra: a moved record is in the tiling or the missing cell.

    Args:
        query: Counts or sums of all cells; it states how much one record can add.
        tilings: For each level the first cells of its disjoint intervals, from coarse to fine.
        shares: Budget fraction of each level; they add up to 1.
        loss: Privacy budget of all sums together.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: as for `calibrate_noise`.
    """
    levels = tuple(
        Tier(tiling, calibrate_noise(query, loss * share, adjacency))
        for tiling, share in zip(tilings, shares, strict=True)
    )
    missing = None if query.is_signed else calibrate_noise(query, loss, adjacency)
    return IntervalSums(query.rows, query.cells, levels, missing)


def calibrate_noise(query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Noise:
    """Return the least noise at which a table of disjoint sums loses at most `loss`.

    The noise is discrete Laplace noise for a pure loss, and discrete Gaussian noise for a rho.

    Args:
        query: Disjoint sums, with the sensitivity of one record.
        loss: Privacy budget of the table.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: the loss is zero or so small that no sampler has that much noise, or a record cannot add
            anything.
    """
    if query.per_record_sensitivity < 1:
        raise UnsupportedQuery(
            "half", f"a record must be able to add at least 1, got {query.per_record_sensitivity}; choose a larger half"
        )
    return _calibrate_to_distances(l1_distance(query, adjacency), squared_l2_distance(query, adjacency), loss)


def _calibrate_to_distances(distance: Fraction, squared: Fraction, loss: PrivacyLoss) -> Noise:
    """Return the least noise for values of neighbours at this L1 and squared L2 distance.

    Args:
        distance: L1 distance of the values.
        squared: Squared L2 distance of the values.
        loss: Privacy loss, whose kind decides the family of the noise.

    Raises:
        UnsupportedQuery: the loss is zero, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    return require_drawable(Noise.from_loss(loss, distance, squared), loss)


def record_budget(loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """Return the budget of one record, to be split among all noisy values that the record shifts by 1.

    It is the largest sum of ``1 / scale`` over these values for Laplace noise, and of ``1 / variance`` for Gaussian
    noise.

    Args:
        loss: Privacy budget of all values together.
        adjacency: Neighbouring relation; with k records per unit, a record gets epsilon / k or 2 * rho / k**2.
    """
    records = adjacency.unit.records
    return 2 * loss.rho / records**2 if loss.epsilon is None else loss.epsilon / records


def calibrate_to_budget(budget: Fraction, loss: PrivacyLoss) -> Noise:
    """Return the least noise of a value that may use `budget` of the `record_budget` when it changes by 1.

    Args:
        budget: Largest ``1 / scale`` of Laplace noise, or ``1 / variance`` of Gaussian noise; above 0.
        loss: Privacy budget of all values together; it decides the family of the noise.

    Raises:
        UnsupportedQuery: no sampler has that much noise.
    """
    return require_drawable(Noise(Family.from_loss(loss), 1 / budget), loss)


def require_positive_loss(loss: PrivacyLoss) -> None:
    """Raise `UnsupportedQuery` if the loss is zero, because no noise is then large enough."""
    if loss.rho == 0:
        raise UnsupportedQuery("epsilon, rho", "noisy sums need a loss above zero; give this step a part of the budget")


def require_drawable(noise: Noise, loss: PrivacyLoss) -> Noise:
    """Return the noise unchanged, after a check that its sampler can draw that much.

    Args:
        noise: Laplace or Gaussian noise.
        loss: Privacy budget, for the message.

    Raises:
        UnsupportedQuery: the scale or variance exceeds the limit of the sampler.
    """
    laplace = noise.family is Family.LAPLACE
    if noise.parameter > (discrete_laplace.LARGEST_SCALE if laplace else discrete_gaussian.LARGEST_VARIANCE):
        raise UnsupportedQuery(
            "epsilon, rho", f"{loss} for a part of the sums needs more noise than can be drawn; give a larger loss"
        )
    return noise


def l1_distance(query: Query, adjacency: Adjacency) -> Fraction:
    """Return the largest L1 distance of the tables of two neighbours.

    Each added or removed record changes the table by at most ``query.per_record_sensitivity``.

    Args:
        query: Query with the largest amount that a record adds to a cell.
        adjacency: Definition of neighbours, with the contribution bound.

    Returns:
        The distance, in units of the table's entries.
    """
    return Fraction(adjacency.l1_sensitivity * query.per_record_sensitivity)


def squared_l2_distance(query: Query, adjacency: Adjacency) -> Fraction:
    """Return the largest squared L2 distance of the tables of two neighbours, on these cells or coarser ones.

    If sums are signed, removed records may take ``-half`` out of the cell to which added records add ``+half``. All
    changes are then in one cell, and the L2 distance is the L1 distance. This cannot happen with counts.

    Args:
        query: Query with the largest amount that a record adds to a cell.
        adjacency: Definition of neighbours, with the contribution bound.
    """
    if query.is_signed:
        return l1_distance(query, adjacency) ** 2
    return Fraction(adjacency.squared_l2_sensitivity * query.per_record_sensitivity**2)


class LinearMechanism(QueryMechanism):
    """Base class of mechanisms that release sums of cells, each with independent noise.

    A subclass plans which sums are released, and how much noise each gets; `run` is the same for all.

    Formal guarantees: a plan loses its loss, pure or zero-concentrated. The proof is in `tiling_distribution` for sums
    over nested tilings, and in `wavelets.calibrate_budgets` for others. The sums are linear in the table: if several
    parties run the mechanism on tables that add up to the table, their answers add up to the noisy sums.
    """

    __slots__ = ()

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return the exact sums of cells, each plus one independent sample of its noise, in the order of
        ``plan.distribution``.

        Args:
            table: SECRET. Exact integers of the query, flat, missing records last.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        distribution = plan.distribution.require_type(NoisySums)  # type: ignore[type-abstract]
        noisy: list[int] = []
        for sums, noise in compute_exact_sums(plan.query.reorder_table(table), distribution):
            noises = sample_noise(noise, sums.size, randomness)
            noisy.extend(map(add, sums.tolist(), noises.tolist()))  # Python integers cannot overflow
        return tuple(noisy)


@dataclass(frozen=True, slots=True)
class FixedWidthMechanism(LinearMechanism):
    """Base class of linear mechanisms that count in intervals of `width` cells.

    Attributes:
        width: Number of cells of an interval, at least 1. Prefixes that end inside an interval are interpolated.

    Raises:
        ValueError: the width is below 1.
    """

    width: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InvalidArgument("width", f"a width of at least 1 cell is needed, got {self.width}")

    def name_with_width(self, name: str) -> str:
        """Return `name`, with the width of the intervals in cells if that is above 1, for plans and messages."""
        return name if self.width == 1 else f"{name}, {self.width} cells wide"


class PrefixMechanism(LinearMechanism):
    """Base class of linear mechanisms that answer only counts that are read as prefixes."""

    __slots__ = ()

    query_types: ClassVar[tuple[type[Query], ...]] = (CountQuery,)
    refusal_template = "{called} answers counts that are read as prefixes, and nothing else"

    def accepts_query(self, query: Query) -> bool:
        """Return True if the query asks for counts that are read as prefixes."""
        return query.uses_prefixes


def plan_sums(
    name: str, query: CountQuery | SumQuery | WeightedQuery, shape: TreeShape, loss: PrivacyLoss, adjacency: Adjacency
) -> Plan:
    """Return the plan of noisy sums over nested tilings of equal width.

    Its error is the standard deviation of a prefix after least squares on all levels, if the query reads prefixes; else
    of an interval of the finest level.

    Args:
        name: Name of the mechanism, for display.
        query: Counts or sums of all cells.
        shape: Width in cells, and budget fraction, of each tiling.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.
    """
    tilings = [range(0, query.cells, width) for width in shape.widths]
    distribution = tiling_distribution(query, tilings, shape.budget_fractions, loss, adjacency)
    if query.uses_prefixes:
        return plan_prefixes(name, query, distribution, loss, adjacency)
    return Plan(query, loss, adjacency, name, distribution, round_error(sqrt(distribution.levels[-1].noise.variance)))


def plan_prefixes(name: str, query: Query, distribution: NoisySums, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
    """Return the plan of noisy sums from which prefixes are estimated by least squares; its error is the error of a
    prefix.

    Args:
        name: Name of the mechanism, for display.
        query: Counts or sums whose prefixes will be read.
        distribution: Distribution of the noisy sums.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.
    """
    variance = distribution.mean_prefix_variance(total_is_public=adjacency.public_record_count is not None)
    return Plan(query, loss, adjacency, name, distribution, round_error(sqrt(variance)))


def compute_exact_sums(table: ExactTable, distribution: NoisySums) -> list[tuple[ExactTable, Noise]]:
    """SECRET: return the exact sums of a table, block by block, each block with the noise that must be added to it.

    Args:
        table: SECRET. Exact integers of the cells, flat, missing records last.
        distribution: Distribution of the noisy sums; it defines which cells are summed.
    """
    cells: ExactTable = table[:-1].reshape(distribution.rows, distribution.cells)
    sums_with_noise = [
        (sums.ravel(), block.noise)
        for sums, block in zip(distribution.apply_strategy(cells), distribution.parts, strict=True)
    ]
    return sums_with_noise if distribution.missing is None else [*sums_with_noise, (table[-1:], distribution.missing)]


def sample_noise(noise: Noise, size: int, randomness: Randomness) -> IntArray:
    """Sample independent integers of discrete Laplace or Gaussian noise.

    Args:
        noise: The family and its parameter. The number of parties in it is not used: the whole noise is sampled.
        size: Number of integers.
        randomness: Source of random bits.

    Returns:
        Integers of 64 bits, of shape ``(size,)``.
    """
    sample = discrete_laplace.sample if noise.family is Family.LAPLACE else discrete_gaussian.sample
    return sample(noise.parameter, size, randomness)


@dataclass(frozen=True, slots=True)
class FlatHistogram(FixedWidthMechanism):
    """Release one noisy count per cell, or per interval of `width` cells, with the whole loss.

    This is the Laplace or the Gaussian mechanism on a histogram.

    Formal guarantees: as for `tiling_distribution`, with one level.

    Attributes:
        width: Number of cells that are counted together; above 1 only for prefixes, which can be interpolated.
    """

    query_types = (CountQuery, SumQuery, WeightQuery, SquaredWeightQuery, WeightedSumQuery, WeightedSpreadQuery)
    display_name = "a flat histogram"

    def _plan(self, query: CountQuery | SumQuery | WeightedQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of one noisy count per interval of `width` cells.

        Args:
            query: Cells to count, or to add values or weights in.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the query asks for cells, and the width is above 1.
        """
        if self.width > 1 and not query.uses_prefixes:
            raise UnsupportedQuery(
                "width", f"intervals of {self.width} cells only serve sums of prefixes; choose width 1 for cells"
            )
        return plan_sums(
            self.name_with_width("flat histogram"), query, TreeShape((self.width,), (Fraction(1),)), loss, adjacency
        )


@dataclass(frozen=True, slots=True)
class TreeSums(FixedWidthMechanism, PrefixMechanism):
    """Release noisy counts of nested intervals, for prefixes and ranges (Hay et al. 2010).

    Branching and budget fractions minimise the exact mean squared error of a prefix (beyond Qardaji, Yang and Li 2013).
    With very little noise the best tree is flatter, because most integer counts are exact. If the number of records is
    public, the root needs no count; a level of one interval per row is counted where that reduces the error.

    Formal guarantees: as for `tiling_distribution`.

    Attributes:
        width: Number of cells of an interval of the finest level. Prefixes that end inside it are interpolated.
    """

    query_types = (CountQuery, WeightQuery)
    display_name = "a tree of intervals"

    def _plan(self, query: CountQuery | WeightQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan with the tree of `find_best_shape`, which depends on the exact noise if that is very small.

        Args:
            query: Cells to count, or to sum weights in.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets, with the public number of records if there is one.
        """
        family = Family.from_loss(loss)
        total_is_public = adjacency.public_record_count is not None
        single_level = calibrate_noise(query, loss, adjacency) if loss.is_pure else None
        small_noise = (
            single_level if single_level is not None and single_level.parameter <= TUNING.discrete_scale else None
        )
        shape = find_best_shape(
            query.rows, query.cells, self.width, family, total_is_public=total_is_public, single_level_noise=small_noise
        )
        return plan_sums(self.name_with_width(f"tree of depth {len(shape.widths)}"), query, shape, loss, adjacency)


@dataclass(frozen=True, slots=True)
class PartitionSums(LinearMechanism):
    """Release noisy counts of the intervals that a `PartitionQuery` states; meant to be read as prefixes.

    Each tiling of the query gets an equal fraction of the loss.

    Formal guarantees: as for `tiling_distribution`, with any tilings. The tilings are public when the round is asked,
    so rounds compose adaptively.
    """

    query_types = (PartitionQuery,)
    display_name = "a partition"
    refusal_template = "{called} answers a query that names its intervals, and nothing else"

    def _plan(self, query: PartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan that counts the query's own tilings, with equal budget fractions.

        Args:
            query: Query with nested tilings of its cells.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.
        """
        depth = len(query.tilings)
        distribution = tiling_distribution(query, query.tilings, (Fraction(1, depth),) * depth, loss, adjacency)
        *coarser, finest = (str(len(tiling)) for tiling in query.tilings)
        sizes = " and ".join([*([", ".join(coarser)] if coarser else []), finest])
        return plan_prefixes(f"partition of {sizes} intervals", query, distribution, loss, adjacency)


@dataclass(frozen=True, slots=True)
class RegionSums(LinearMechanism):
    """Release noisy counts of the regions that a `RegionQuery` states; for prefixes, of a tree over these regions.

    Each tiling of the query gets an equal fraction of the loss. A tree over the regions is the best one for prefixes if
    the number of regions is rounded up to a power of two.

    Formal guarantees: as for `tiling_distribution`, with any order and tilings: both are public when the round is
    asked, and the regions of a tiling are disjoint.
    """

    query_types = (RegionQuery,)
    display_name = "counts of regions"
    refusal_template = "{called} answer a query that names its regions, and nothing else"

    def _plan(self, query: RegionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan that counts the query's regions, for prefixes in a tree over the regions.

        Args:
            query: Query with tilings of a table into regions.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is zero.
        """
        require_positive_loss(loss)
        tilings = query.tilings
        shares = (Fraction(1, len(query.tilings)),) * len(query.tilings)
        if query.use.uses_prefixes:
            tilings, shares = _build_region_tree(query.tilings[0], loss, adjacency)
        distribution = replace(
            tiling_distribution(query, tilings, shares, loss, adjacency), rows=1, cells=prod(query.shape)
        )
        name = "counts of regions" if len(tilings) == 1 else f"counts of regions, {len(tilings)} levels"
        return Plan(
            query, loss, adjacency, name, distribution, round_error(sqrt(distribution.levels[-1].noise.variance))
        )


def _build_region_tree(
    regions: Places, loss: PrivacyLoss, adjacency: Adjacency
) -> tuple[tuple[Places, ...], tuple[Fraction, ...]]:
    """Group regions into a tree, from coarse to fine; return the tilings and their budget fractions.

    Args:
        regions: First cells of the regions, in order.
        loss: Privacy loss of the query.
        adjacency: Add-remove or replace-one.

    Returns:
        Tilings from coarse to fine, each by the first cells of its regions; and a budget fraction for each.
    """
    # Rounding to a power of two limits the number of optimised shapes: optimising takes longer than a release.
    leaves = 1 << (len(regions) - 1).bit_length()
    shape = find_best_shape(
        1, leaves, 1, Family.from_loss(loss), total_is_public=adjacency.public_record_count is not None
    )
    return tuple(regions[::width] for width in shape.widths), shape.budget_fractions


@dataclass(frozen=True, slots=True)
class SubsetCounts(LinearMechanism):
    """Release the noisy number of subsets of units that confirm a claim (Barrientos, Reiter, Machanavajjhala and Chen
    2019).

    The units are split into disjoint subsets, a model is fitted to each, and the subsets whose fit agrees with the
    claim are counted. One unit is in one subset, so the fit itself needs no privacy.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, for any fitted model. *Proof*: all
    used records of a unit lie in one subset, which is a function of the unit and a key alone (for equal records, of
    their index among these, so that an added one moves no other). The verdict of a subset is a function of the multiset
    of its records. So an added or removed unit changes the verdict of at most one subset, and the count by 1. A
    replaced unit leaves one subset and enters another: both verdicts may change, in one direction, so the count changes
    by at most 2, whether or not the unit keeps its identifier, and for any number of its records. With D the change of
    the count: discrete Laplace noise of scale ``D / epsilon``, or discrete Gaussian noise of variance parameter
    ``D**2 / (2 * rho)`` (Canonne, Kamath and Steinke 2020, Theorem 14).
    """

    query_types = (SubsetQuery,)
    display_name = "counts of subsets"

    def _plan(self, query: SubsetQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of one noisy number: how many subsets confirm the claim.

        Args:
            query: Claim about subsets of the records.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.
        """
        distance = Fraction(count_sensitivity(adjacency))
        noise = _calibrate_to_distances(distance, distance**2, loss)
        distribution = IntervalSums(1, 1, (Tier((0,), noise),), None)
        return Plan(query, loss, adjacency, "count of subsets", distribution, round_error(sqrt(noise.variance)))


def count_sensitivity(adjacency: Adjacency) -> int:
    """Return the largest change of the number of confirming subsets between neighbours: subsets of units in which an
    estimate lies between given bounds.

    It is 1 under add-remove, where one subset changes, and 2 under replace-one, where two may.

    Args:
        adjacency: Definition of neighbours.

    >>> from dpcurves.privacy import EACH_RECORD, ReplaceOne, Unit
    >>> count_sensitivity(AddRemove(Unit("patient", 9))), count_sensitivity(ReplaceOne(EACH_RECORD, 100))
    (1, 2)
    """
    return 1 if isinstance(adjacency, AddRemove) else 2
