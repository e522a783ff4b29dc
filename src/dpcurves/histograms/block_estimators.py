"""Table estimators on blocks of cells: single cells, equal blocks, hierarchies, wavelets, adaptive and refined grids.

An estimator counts blocks of cells with noise and spreads each count evenly over its cells. So a region of cells has
two errors:

    error of a region = noise of its blocks + unevenness inside blocks

Small blocks have more noise, large ones more unevenness. For n records and privacy loss epsilon the best number of
equal blocks of a plane is about ``n * epsilon / 10`` (`parts_per_axis`).

- `CellEstimator`: each cell. `UniformGridEstimator`: equal blocks.
- `HierarchyEstimator`: nested blocks. `PriveletEstimator`: Haar wavelets of the table.
- `AdaptiveGridEstimator`, `RefinedGridEstimator`: two or three levels; later rounds divide blocks of earlier ones.

Formal guarantees: rounds have public fractions that add up to the granted loss, and blocks are functions of earlier
answers, so rounds compose adaptively.

References: Dwork, McSherry, Nissim and Smith 2006; Qardaji, Yang and Li 2013 (uniform and adaptive grids, hierarchies).

>>> parts_per_axis(4000, epsilon=1, axes=2)  # 20 x 20 blocks
20
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np

from ..arrays import FloatArray, IntArray
from ..conversation import Release, Setting, Step
from ..distributions import HaarTensorSums, Noise, estimate_table
from ..estimation import BoxTree, JointEstimate, TreeEstimate, find_leaves, first_cells_of_nodes, subtree_maxima
from ..queries import CountUse, RegionQuery, WaveletQuery
from . import table_estimator as tables


@dataclass(frozen=True, slots=True)
class CellEstimator:
    """Count each cell with noise, in one round: the baseline (Dwork, McSherry, Nissim and Smith 2006)."""

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count every cell in one round, and return the noisy counts as estimates.

        Args:
            axes: Axes of the table.
            setting: Ignored.
            budget_fraction: Fraction of the loss to spend.
        """
        extent = tables.Extent.from_axes(axes)
        estimate = yield from tables.count_regions(
            axes, extent, [np.arange(extent.cells)], CountUse.CELLS, budget_fraction
        )
        return replace(estimate, has_shared_estimates=False)


@dataclass(frozen=True, slots=True)
class UniformGridEstimator:
    """Count about ``records * epsilon / 10`` equal blocks (Qardaji, Yang and Li 2013), in one round or two.

    If the number of records is private, a twentieth of the budget counts them first; the paper assumes that it is
    known.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count all records if their number is private, then equal blocks; return the counts spread evenly over cells.

        Args:
            axes: The axes of the table.
            setting: Loss and adjacency.
            budget_fraction: Fraction of the loss for all rounds.
        """
        extent = tables.Extent.from_axes(axes)
        records, remaining, releases = yield from tables.estimate_record_count(axes, extent, setting, budget_fraction)
        parts = parts_per_axis(records, tables.epsilon_per_record(setting, remaining), len(extent.shape))
        estimate = yield from tables.count_regions(
            axes, extent, [tables.equal_blocks(extent.shape, parts)], CountUse.CELLS, remaining
        )
        return tables.EstimatedTable(
            estimate.cells, estimate.outside, estimate.missing, (*releases, *estimate.releases)
        )


def parts_per_axis(records: float, epsilon: float, axes: int) -> int:
    """Return into how many equal parts each axis is divided, to balance noise (more blocks) and unevenness within
    blocks (fewer blocks).

    Args:
        records: Number of records; noisy numbers below 0 count as 0.
        epsilon: Epsilon of a count.
        axes: Number of axes.

    >>> parts_per_axis(4000, 1, axes=2), parts_per_axis(-3, 1, axes=2)
    (20, 1)
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    return max(1, math.ceil(math.pow(blocks, 1 / axes) - 1e-9))


@dataclass(frozen=True, slots=True)
class HierarchyEstimator:
    """Count nested blocks of a table, or a tree of intervals along one axis, in one round (Qardaji, Yang and Li 2013).

    With two axes each block is divided into the same number of parts along either axis, and every level has the same
    budget fraction. The root is not counted: its noisy count reduces the error by less than its budget would elsewhere.
    Along one axis the tree has the smallest error of prefixes.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count blocks of all sizes; return their least-squares estimate of every cell.

        Args:
            axes: Axes of the table.
            setting: Without effect here.
            budget_fraction: Fraction of the loss for all counts together.
        """
        extent = tables.Extent.from_axes(axes)
        if extent.shape.count(1) >= len(extent.shape) - 1:
            return (
                yield from tables.count_regions(
                    axes, extent, [np.arange(extent.cells)], CountUse.PREFIXES, budget_fraction
                )
            )
        return (
            yield from tables.count_regions(
                axes, extent, list(_block_levels(extent.shape)), CountUse.CELLS, budget_fraction
            )
        )


def choose_fan_out(side: int, axes: int) -> int:
    """Return the branching factor along each axis that approximately minimises the mean squared error of boxes.

    With branching factor b and h levels a box has about ``2 * axes`` faces, at each of which up to b - 1 blocks of each
    level are counted, of variance ``h**2``: most of them on the last level, ``side**(axes - 1)`` at a face, and fewer
    by ``b**(axes - 1)`` on each higher level.

    Args:
        side: Number of cells of an axis.
        axes: Number of axes.

    >>> choose_fan_out(64, 2), choose_fan_out(256, 2), choose_fan_out(4096, 1)
    (8, 7, 16)
    """
    smallest_error = inf
    best = 2
    for fan in range(2, max(3, side + 1)):
        height = _count_levels(side, fan)
        faces = sum(float(fan) ** (-(axes - 1) * level) for level in range(height))
        error = (fan - 1) * height**2 * faces
        if error < smallest_error:
            smallest_error, best = error, fan
    return best


def _count_levels(side: int, fan: int) -> int:
    """Return the number of tree levels below the root, for this branching factor, down to single cells of an axis.

    Args:
        side: Number of cells of the axis.
        fan: Branching factor along the axis, at least 2.

    Returns:
        At least 1.
    """
    height = 1
    width = fan
    while width < side:
        height = height + 1
        width = width * fan
    return height


def _block_levels(shape: tuple[int, ...]) -> Iterator[IntArray]:
    """Yield, for each level of the hierarchy of blocks from coarse to fine, the block number of each cell.

    Args:
        shape: Number of cells of each axis.

    Yields:
        Arrays over all cells, (cells,); in the last one each cell is a block.
    """
    fan = choose_fan_out(max(shape), len(shape))
    height = _count_levels(max(shape), fan)
    for level in range(1, height):
        yield tables.nested_blocks(shape, fan**level)
    yield np.arange(int(np.prod(shape)))


@dataclass(frozen=True, slots=True)
class PriveletEstimator:
    """Release noisy Haar wavelets of the table, in one round (Xiao, Wang and Gehrke 2010).

    The variance of a box grows with the third power of the logarithm of each side. So wavelets are worthwhile on long
    axes: in a plane of 64 by 64 cells, counts of single cells are more accurate.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Release all Haar coefficients with noise; return the estimates of the cells computed from them.

        Args:
            axes: Axes of the table.
            setting: Without effect here.
            budget_fraction: Fraction of the loss for all coefficients together.

        Returns:
            Estimated counts of cells, outside and missing records, and the release.
        """
        extent = tables.Extent.from_axes(axes)
        release = yield Step(WaveletQuery(axes, tuple(extent.inside.tolist()), extent.shape), budget_fraction)
        estimate = estimate_table(
            release.plan.distribution.require_type(HaarTensorSums),
            release.values,
            release.plan.adjacency.public_record_count,
        )
        return tables.EstimatedTable(estimate.cells, estimate.outside, estimate.missing, (release,))


@dataclass(frozen=True, slots=True)
class AdaptiveGridTuning:
    """Numbers that steer `AdaptiveGridEstimator`."""

    counting_fraction: Fraction = Fraction(1, 100)
    """Budget fraction of the count of all records, if that is private. A slightly wrong grid costs little accuracy."""
    coarse_fraction: Fraction = Fraction(2, 5)
    """Fraction of the remaining budget that counts coarse blocks; their parts get the rest."""
    scales_per_part: int = 2
    """Target signal-to-noise ratio of a part: expected records divided by the scale of its noise."""


ADAPTIVE_GRID_TUNING = AdaptiveGridTuning()
"""The values that `AdaptiveGridEstimator` uses."""


@dataclass(frozen=True, slots=True)
class AdaptiveGridEstimator:
    """Count two levels of blocks, combined by least squares, in two rounds or three (Qardaji, Yang and Li 2013).

    Two fifths of the budget count coarse blocks; the rest counts their parts. The number of parts of a block is about
    half its estimated number of records, times the epsilon of the parts. If the number of records is private, a
    hundredth of the budget counts them first; the paper assumes that it is known.

    A block whose count may be large by noise alone is not divided, a rule that the paper does not have. Without it,
    empty blocks would be divided if their coarse counts are too high, and be estimated as occupied: the sum of many
    parts is noisier, which gives the coarse count more weight. With this rule smaller parts reduce the error where
    records are dense (in the paper a block has a fifth as many parts as records times epsilon), and coarse blocks stay
    large enough for finer parts.

    Formal guarantees: as for `TableEstimator`. Budget fractions are public and add up to `budget_fraction`: 1/100 and
    99/100 of it, or 0 and 1 if the number of records is public; the latter is divided into 2/5 and 3/5. Each round
    counts one tiling of disjoint blocks that depends on public facts and earlier rounds alone. So under either
    adjacency each round loses its fraction, and all rounds together lose `budget_fraction`, by adaptive composition.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count coarse blocks of a plane, then their parts, more where the first counts are large; return the
        least-squares estimate of every cell.

        If the number of records is private, it is counted first.

        Args:
            axes: Axes of the table.
            setting: Loss and adjacency of the question.
            budget_fraction: Fraction of the loss for all counts together.
        """
        extent = tables.Extent.from_axes(axes)
        records, remaining, releases = yield from tables.estimate_record_count(
            axes, extent, setting, budget_fraction, ADAPTIVE_GRID_TUNING.counting_fraction
        )
        epsilon = tables.epsilon_per_record(setting, remaining)
        coarse = tables.equal_blocks(extent.shape, choose_coarse_parts(records, epsilon, extent.shape))
        first = yield from tables.count_regions(
            axes, extent, [coarse], CountUse.CELLS, remaining * ADAPTIVE_GRID_TUNING.coarse_fraction
        )
        block_counts = np.bincount(coarse, weights=first.cells.ravel()).astype(np.float64)
        parts = choose_parts(block_counts, epsilon, len(extent.shape))
        fine = _number_parts(extent.shape, coarse, parts)
        query = tables.build_region_query(axes, extent, [coarse, fine], CountUse.CELLS, round_number=1)
        pairs = coarse * (int(fine.max()) + 1) + fine
        second = yield Step(
            tables.build_region_query(axes, extent, [pairs], CountUse.CELLS, round_number=1),
            remaining * (1 - ADAPTIVE_GRID_TUNING.coarse_fraction),
        )
        return tables.estimate_regions(
            query, extent, tables.join_tilings(first.releases[0], second), (*releases, *first.releases, second)
        )


def choose_coarse_parts(records: float, epsilon: float, shape: tuple[int, ...]) -> int:
    """Return the number of parts of each axis on the coarse level: a quarter of the number for equal blocks, at least
    10.

    It is at most 3/2 of the square root of the longest side, which leaves the second level as many cells per block to
    divide.

    Args:
        records: Number of records; noisy numbers below 0 count as 0.
        epsilon: Epsilon of a count.
        shape: Cells along each axis.

    >>> [choose_coarse_parts(records, 1, (256, 256)) for records in (0, 40_000, 10**6)]
    [10, 16, 24]
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    parts = max(10, math.ceil(math.pow(blocks, 1 / len(shape)) / 4 - 1e-9))
    return min(parts, math.isqrt(9 * max(shape) // 4))


def choose_parts(counts: FloatArray, epsilon: float, axes: int) -> IntArray:
    """Return the number of parts, along each axis, of blocks with these noisy counts.

    A block is divided only if its count exceeds log(blocks) scales of the noise; on average, half an empty block in all
    exceeds that.

    Args:
        counts: Noisy counts, of shape ``(blocks,)``.
        epsilon: Epsilon of both levels together.
        axes: Number of axes.

    >>> choose_parts(np.array([0.0, 10.0, 40.0, 400.0]), 1, axes=2).tolist()
    [1, 2, 4, 11]
    """
    threshold = math.log(len(counts)) / (epsilon * float(ADAPTIVE_GRID_TUNING.coarse_fraction))
    clear_counts = np.where(counts > threshold, counts, 0.0)
    parts = (
        clear_counts * epsilon * float(1 - ADAPTIVE_GRID_TUNING.coarse_fraction) / ADAPTIVE_GRID_TUNING.scales_per_part
    )
    return np.maximum(1, np.ceil(parts ** (1 / axes) - 1e-9)).astype(np.int64)


def _number_parts(shape: tuple[int, ...], coarse: IntArray, parts: IntArray) -> IntArray:
    """Number the parts of blocks: return for each cell the part that it lies in, if each coarse block is divided along
    each axis.

    Args:
        shape: Cells along each axis.
        coarse: Block number of each cell, of shape ``(cells,)``.
        parts: Number of parts of each block along each axis, of shape ``(blocks,)``.
    """
    labels = np.zeros(len(coarse), dtype=np.int64)
    for positions in np.indices(shape).reshape(len(shape), -1):
        low = np.full(len(parts), np.iinfo(np.int64).max)
        high = np.zeros(len(parts), dtype=np.int64)
        np.minimum.at(low, coarse, positions)
        np.maximum.at(high, coarse, positions)
        width = (high - low + 1)[coarse]
        count = np.minimum(parts[coarse], width)
        labels = labels * count + (positions - low[coarse]) * count // width
    return labels


@dataclass(frozen=True, slots=True)
class RefinedGridTuning:
    """Numbers that steer `RefinedGridEstimator`; the estimator's docstring names the data that they were chosen on."""

    first_fraction: Fraction = Fraction(3, 10)
    """Budget fraction of the first round."""
    second_fraction: Fraction = Fraction(1, 5)
    """Budget fraction of the second round, if it takes place."""
    first_level_divisor: int = 2
    """The first blocks lie at this fraction of the depth of the tree of boxes: half of all halvings."""
    tolerance: float = 1.0
    """Variance that the split of a block may keep, in units of the noise of a split if both halves were counted."""
    second_round_ratio: float = 0.7
    """The second round is skipped if it would count more than this fraction of the blocks that the last round would
    count without it: then refinement in two steps saves too little."""
    min_cells: int = 100
    """Cells: smaller tables are counted in one round, because a pilot query costs more than it saves."""


REFINED_GRID_TUNING = RefinedGridTuning()
"""The values that `RefinedGridEstimator` uses."""


@dataclass(frozen=True, slots=True)
class RefinedGridEstimator:
    """Three levels of blocks, each of which divides the uncertain blocks of the level above. One to three rounds.

    Three tenths of the budget count blocks of about as many cells as there are blocks. Along a space-filling curve,
    these counts show which blocks to divide, and how far: a block is divided while halving it, or a part of it, would
    leave more variance than the noise of counting both halves. A fifth of the budget counts these parts, and half of it
    counts the parts of these parts that are then worth counting. If the second round would save the third round few
    blocks, all the remaining budget is spent at once. All rounds are combined by empirical Bayes, as in `dp.cdf`:
    differences that noise alone explains are shrunk.

    The constants in `RefinedGridTuning` were chosen on the sums of random rectangles of three of the six maps of
    DPBench (twitter, BeijingTaxiS, Adult-2D) and of simulated ones (blobs, a line, a slope, atoms), full and thinned to
    1,000 and 10,000 records, at epsilon 0.1 and 1, on 64 x 64 cells. They were tested on the other three (checkin,
    cabspottingS, MDSalary-2D), on other simulated ones, and on 256 x 256 cells.

    Formal guarantees: as for `TableEstimator`. Budget fractions are public and add up to `budget_fraction`: the first
    round has 3/10, and for any answer the later rounds lose 7/10, in one round or in two of 1/5 and 1/2; small tables
    are counted in one round. Each round counts one tiling of disjoint blocks that depends on public facts and earlier
    rounds alone. So under either adjacency each round loses its fraction, and all rounds together lose
    `budget_fraction`, by adaptive composition.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count blocks of a plane in up to three rounds, each with smaller blocks where the earlier counts vary; return
        the joint estimate of every cell.

        Args:
            axes: Axes of the table.
            setting: Loss and adjacency of the question.
            budget_fraction: Fraction of the loss for all counts together.
        """
        plane = _BoxTreeTable.from_axes(axes)
        if plane.extent.cells < REFINED_GRID_TUNING.min_cells or setting.loss.rho == 0:
            return plane.estimate_table(
                [(yield Step(plane.build_query(plane.tree.tilings[-1][:-1], 0), budget_fraction))]
            )
        full_noise = setting.count_noise(budget_fraction)
        releases = [
            (yield Step(plane.build_query(plane.first_blocks, 0), budget_fraction * REFINED_GRID_TUNING.first_fraction))
        ]
        remaining = 1 - REFINED_GRID_TUNING.first_fraction
        splits = plane.estimate_jointly(releases).tree_estimate
        second_blocks, last_blocks = (
            plane.choose_blocks(splits, full_noise, fraction)
            for fraction in (REFINED_GRID_TUNING.second_fraction, remaining)
        )
        if len(second_blocks) <= REFINED_GRID_TUNING.second_round_ratio * len(last_blocks):
            releases.append(
                (yield Step(plane.build_query(second_blocks, 1), budget_fraction * REFINED_GRID_TUNING.second_fraction))
            )
            remaining -= REFINED_GRID_TUNING.second_fraction
            last_blocks = plane.choose_blocks(plane.estimate_jointly(releases).tree_estimate, full_noise, remaining)
        releases.append((yield Step(plane.build_query(last_blocks, 2), budget_fraction * remaining)))
        return plane.estimate_table(releases)


@dataclass(frozen=True, slots=True, eq=False)
class _BoxTreeTable:
    """A table whose cells follow the order of a tree of boxes, so that each box is an interval of positions.

    Attributes:
        axes: The axes of the table.
        extent: Which cells lie inside all grids.
        tree: The tree of boxes.
        places: Flat table positions of the cells in the order of the tree, the outside cells last.
    """

    axes: tables.Axes
    extent: tables.Extent
    tree: BoxTree
    places: tuple[int, ...]

    @classmethod
    def from_axes(cls, axes: tables.Axes) -> _BoxTreeTable:
        """Build the tree of boxes over the cells of the table with these axes.

        Args:
            axes: Axes of the table.
        """
        extent = tables.Extent.from_axes(axes)
        tree = BoxTree.from_shape(extent.shape, len(extent.outside))
        return cls(axes, extent, tree, (*extent.inside[tree.order].tolist(), *extent.outside.tolist()))

    @property
    def first_blocks(self) -> IntArray:
        """First cells of the blocks that the first round counts, in the order of the tree, increasing from 0.

        The tree's order of cells differs from the table's.
        """
        return self.tree.tilings[self.tree.depth // REFINED_GRID_TUNING.first_level_divisor][:-1]

    def build_query(self, starts: IntArray, round_number: int) -> RegionQuery:
        """Return the query that counts the boxes which begin at these positions and end at the next one.

        Args:
            starts: First positions of the boxes in the order of the tree, increasing from 0.
            round_number: Number of the round.
        """
        return RegionQuery(self.axes, self.places, (tuple(starts.tolist()),), CountUse.CELLS, round_number)

    def estimate_jointly(self, releases: list[Release]) -> JointEstimate:
        """Return the joint estimate of all boxes from the releases of all rounds.

        Args:
            releases: Releases of all rounds, in order.
        """
        return JointEstimate.from_releases(releases, self.tree.layout)

    def choose_blocks(self, splits: TreeEstimate, full_noise: Noise, budget_fraction: Fraction) -> IntArray:
        """Choose the blocks to count: boxes of the tree that are not worth dividing with this budget fraction, by their
        first cells.

        The blocks of the first round are returned if a single block would remain.

        Args:
            splits: Estimates of the nodes of the tree from the rounds before.
            full_noise: Noise of a count with the whole loss.
            budget_fraction: Fraction of the loss for the count of blocks.
        """
        noise = Noise(full_noise.family, full_noise.parameter / budget_fraction).variance / 2
        risk = subtree_maxima(splits.layout, splits.variance)
        starts = first_cells_of_nodes(
            splits.layout, find_leaves(splits.layout, risk > REFINED_GRID_TUNING.tolerance * noise)
        )
        return starts if starts[-1] > 0 and starts[1] < self.extent.cells else self.first_blocks

    def estimate_table(self, releases: list[Release]) -> tables.EstimatedTable:
        """Return the least-squares estimate of every cell of the table from all releases.

        Args:
            releases: Releases of all rounds, in order.
        """
        joint = self.estimate_jointly(releases)
        cells = np.empty(self.extent.cells)
        cells[self.tree.order] = joint.cells[: self.extent.cells]
        outside = float(joint.cells[self.extent.cells :].sum())
        return tables.EstimatedTable(cells.reshape(self.extent.shape), outside, joint.missing, tuple(releases))
