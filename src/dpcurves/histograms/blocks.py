"""Table estimators on public or refined blocks: cells, equal blocks, hierarchies, wavelets, adaptive and refined
grids."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np

from ..arrays import FloatArray, IntArray
from ..conversation import Release, Setting, Step
from ..estimation import BoxTree, JointEstimate, TreeEstimate, find_leaves, first_cells_of_nodes, subtree_maxima
from ..laws import HaarTensorSums, Noise, estimate_table
from ..queries import CountUse, RegionQuery, WaveletQuery
from . import table_estimator as tables


@dataclass(frozen=True, slots=True)
class CellEstimator:
    """A noisy count for each cell (Dwork, McSherry, Nissim and Smith 2006). One turn."""

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for all cells."""
        extent = tables.Extent.from_axes(axes)
        found = yield from tables.count_regions(
            axes, extent, [np.arange(extent.cells)], CountUse.CELLS, budget_fraction
        )
        return replace(found, has_shared_estimates=False)


@dataclass(frozen=True, slots=True)
class UniformGridEstimator:
    """About ``records * epsilon / 10`` equal blocks (Qardaji, Yang and Li 2013). One turn, or two.

    Where the number of records is private a twentieth of the share counts them first; the paper takes it as known.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask how many records there are, if need be, then for blocks."""
        extent = tables.Extent.from_axes(axes)
        records, left, paid = yield from tables.estimate_record_count(axes, extent, setting, budget_fraction)
        parts = parts_per_axis(records, tables.epsilon_per_record(setting, left), len(extent.shape))
        found = yield from tables.count_regions(
            axes, extent, [tables.equal_blocks(extent.shape, parts)], CountUse.CELLS, left
        )
        return tables.EstimatedTable(found.cells, found.outside, found.missing, (*paid, *found.releases))


def parts_per_axis(records: float, epsilon: float, axes: int) -> int:
    """Into how many parts to divide each axis: more cells have more noise, fewer are less even inside.

    >>> parts_per_axis(4000, 1, axes=2), parts_per_axis(-3, 1, axes=2)
    (20, 1)
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    return max(1, math.ceil(math.pow(blocks, 1 / axes) - 1e-9))


@dataclass(frozen=True, slots=True)
class HierarchyEstimator:
    """Along one axis the tree that reads prefixes best; in a plane nested blocks (Qardaji, Yang and Li 2013). One turn.

    With two axes each block is divided into the same number of parts along either axis, and every level has the same
    share of the budget. The root is not counted: its noisy count helps less than its share costs.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for blocks of all sizes."""
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
    """Into how many parts to divide blocks along each axis: least mean squared error of boxes, about.

    With fan-out b and h levels a box has about ``2 * axes`` faces, at each of which up to b - 1 blocks of each level
    are counted, of a variance of ``h**2``: the blocks at a face of the last level are the most, ``side**(axes - 1)``,
    and fall with the level by ``b**(axes - 1)``.

    >>> choose_fan_out(64, 2), choose_fan_out(256, 2), choose_fan_out(4096, 1)
    (8, 7, 16)
    """
    least, best = inf, 2
    for fan in range(2, max(3, side + 1)):
        height = _count_levels(side, fan)
        faces = sum(float(fan) ** (-(axes - 1) * level) for level in range(height))
        error = (fan - 1) * height**2 * faces
        if error < least:
            least, best = error, fan
    return best


def _count_levels(side: int, fan: int) -> int:
    """The number of levels below the whole down to single cells."""
    height, width = 1, fan
    while width < side:
        height, width = height + 1, width * fan
    return height


def _block_levels(shape: tuple[int, ...]) -> Iterator[IntArray]:
    """The number of each cell's block, from coarse to fine."""
    fan = choose_fan_out(max(shape), len(shape))
    height = _count_levels(max(shape), fan)
    for level in range(1, height):
        yield tables.nested_blocks(shape, fan**level)
    yield np.arange(int(np.prod(shape)))


@dataclass(frozen=True, slots=True)
class PriveletEstimator:
    """Haar wavelets of the table (Xiao, Wang and Gehrke 2010). One turn.

    The noise of a box grows with the logarithms of its sides, to the power of 3 in the variance of each axis. So it
    pays on long axes: in a plane of 64 by 64 cells single counts of cells are better.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for all Haar coefficients."""
        extent = tables.Extent.from_axes(axes)
        release = yield Step(WaveletQuery(axes, tuple(extent.inside.tolist()), extent.shape), budget_fraction)
        found = estimate_table(
            release.plan.law.require_type(HaarTensorSums), release.values, release.plan.adjacency.public_record_count
        )
        return tables.EstimatedTable(found.cells, found.outside, found.missing, (release,))


FOR_SIZE = Fraction(1, 100)
"""The part of the share that counts all records, where that is private: a grid that is a little off costs little."""

COARSE = Fraction(2, 5)
"""The part of the rest that counts the blocks; what is left counts their parts."""

PER_PART = 2
"""Records that a part is to hold, in scales of its noise."""


@dataclass(frozen=True, slots=True)
class AdaptiveGridEstimator:
    """Two levels of blocks (Qardaji, Yang and Li 2013), read together by least squares. Two turns, or three.

    Two fifths of the share count coarse blocks; the rest counts their parts. The number of parts of a block is about
    half the number of records that it seems to hold, times the epsilon of the parts. Where the number of records is
    private, a hundredth of the share counts them first; the paper takes this number as known.

    A block whose count may be large by noise alone is not divided, a rule that the paper does not have. Without it,
    empty blocks would be divided where their coarse counts are too high, and be read as holding records: the more parts
    a block has, the noisier is their sum, and the more the coarse count is trusted. With this rule smaller parts pay
    where records are dense (in the paper a block has a fifth as many parts as records times epsilon), and blocks stay
    so large that their parts can be finer. Each is read with the parts it has.

    Formal guarantees: those of `TableEstimator`. Shares are public, and make up `share`: 1/100 and 99/100, or 0 and 1
    where the number of records is public; of the latter 2/5 and 3/5. Each turn counts one tiling, of blocks that are
    disjoint and follow from public facts and earlier turns alone: so under either adjacency it loses its share, and all
    turns together `share`, by adaptive composition.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask how many records there are, if need be, then for coarse blocks, then for fine ones."""
        extent = tables.Extent.from_axes(axes)
        records, left, paid = yield from tables.estimate_record_count(axes, extent, setting, budget_fraction, FOR_SIZE)
        epsilon = tables.epsilon_per_record(setting, left)
        coarse = tables.equal_blocks(extent.shape, choose_coarse_parts(records, epsilon, extent.shape))
        first = yield from tables.count_regions(axes, extent, [coarse], CountUse.CELLS, left * COARSE)
        seen = np.bincount(coarse, weights=first.cells.ravel()).astype(np.float64)
        parts = choose_parts(seen, epsilon, len(extent.shape))
        fine = _number_parts(extent.shape, coarse, parts)
        query = tables.build_region_query(axes, extent, [coarse, fine], CountUse.CELLS, round_number=1)
        pairs = coarse * (int(fine.max()) + 1) + fine
        second = yield Step(
            tables.build_region_query(axes, extent, [pairs], CountUse.CELLS, round_number=1), left * (1 - COARSE)
        )
        return tables.estimate_regions(
            query, extent, tables.join_tilings(first.releases[0], second), (*paid, *first.releases, second)
        )


def choose_coarse_parts(records: float, epsilon: float, shape: tuple[int, ...]) -> int:
    """Into how many parts to divide each axis at first: a quarter of what equal blocks would have, but 10 at least.

    And no more than three halves of the root of the longest side: the second level is to be finer by as much.

    >>> [choose_coarse_parts(records, 1, (256, 256)) for records in (0, 40_000, 10**6)]
    [10, 16, 24]
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    wanted = max(10, math.ceil(math.pow(blocks, 1 / len(shape)) / 4 - 1e-9))
    return min(wanted, math.isqrt(9 * max(shape) // 4))


def choose_parts(counts: FloatArray, epsilon: float, axes: int) -> IntArray:
    """Into how many parts to divide each axis of blocks with these noisy counts.

    No block is divided that holds less than log(blocks) scales of the noise: of empty ones, half a block in all exceeds
    that on average.

    >>> choose_parts(np.array([0.0, 10.0, 40.0, 400.0]), 1, axes=2).tolist()
    [1, 2, 4, 11]
    """
    least = math.log(len(counts)) / (epsilon * float(COARSE))
    wanted = np.where(counts > least, counts, 0.0) * epsilon * float(1 - COARSE) / PER_PART
    return np.maximum(1, np.ceil(wanted ** (1 / axes) - 1e-9)).astype(np.int64)


def _number_parts(shape: tuple[int, ...], coarse: IntArray, parts: IntArray) -> IntArray:
    """Number the part of its block that each cell lies in, where a block is divided into as many along each axis."""
    label = np.zeros(len(coarse), dtype=np.int64)
    for places in np.indices(shape).reshape(len(shape), -1):
        low = np.full(len(parts), np.iinfo(np.int64).max)
        high = np.zeros(len(parts), dtype=np.int64)
        np.minimum.at(low, coarse, places)
        np.maximum.at(high, coarse, places)
        width = (high - low + 1)[coarse]
        count = np.minimum(parts[coarse], width)
        label = label * count + (places - low[coarse]) * count // width
    return label


FIRST_TURN, SECOND = Fraction(3, 10), Fraction(1, 5)
"""Parts of the share that count the first blocks, and those between them and the last ones."""
HALF_WAY = 2
"""The first blocks are as many halvings above single cells as this part of all is."""
TOLERANCE = 1.0
"""Variance that the split of a block may keep, in units of the noise of a split if both halves were counted."""
FEWER = 0.7
"""The second turn is left out if it would have more than this part of the blocks that the last one would have at once:
then there is nothing to be found that a division in two steps would spare."""
FEWEST = 100
"""Cells from which on looking before counting pays."""


@dataclass(frozen=True, slots=True)
class RefinedGridEstimator:
    """Three levels of blocks, each of which divides what is not known well, read together. One to three turns.

    Three tenths of the share count blocks of about as many cells as there are blocks. Read along a space-filling curve,
    they tell which blocks are worth dividing, and how far: a block is divided while halving it, or a part of it, would
    leave more unknown than the noise of counting both halves. A fifth of the share counts these parts, and half of it
    counts those of their own parts that are then worth counting. Where the second turn would save the third one few
    blocks, all that is left is spent at once. All turns are read together by empirical Bayes, as `dp.cdf` reads its
    own: differences that noise alone explains are shrunk.

    The constants were chosen on the sums of random rectangles of three of the six maps of DPBench (twitter,
    BeijingTaxiS, Adult-2D) and of simulated ones (blobs, a line, a slope, atoms), full and thinned to 1,000 and 10,000
    records, at epsilon 0.1 and 1, on 64 x 64 cells; they were judged on the other three (checkin, cabspottingS,
    MDSalary-2D), on other simulated ones, and on 256 x 256 cells.

    Formal guarantees: those of `TableEstimator`. Parts of the share are public, and make up `share`: the first is 3/10,
    and whatever its answer is, what follows loses 7/10, in one turn or in two of 1/5 and 1/2; where cells are few one
    turn has all. Each turn counts one tiling, of blocks that are disjoint and follow from public facts and earlier
    turns alone: so under either adjacency it loses its part, and all turns together `share`, by adaptive composition.
    """

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for blocks, then for parts of them, then for parts of these."""
        plane = _BoxTreeTable.from_axes(axes)
        if plane.extent.cells < FEWEST or setting.loss.rho == 0:
            return plane.estimate_table(
                [(yield Step(plane.build_query(plane.tree.tilings[-1][:-1], 0), budget_fraction))]
            )
        alone = setting.count_noise(budget_fraction)
        releases = [(yield Step(plane.build_query(plane.first_blocks, 0), budget_fraction * FIRST_TURN))]
        left, splits = 1 - FIRST_TURN, plane.estimate_jointly(releases).tree_estimate
        parts, last = (plane.choose_blocks(splits, alone, part) for part in (SECOND, left))
        if len(parts) <= FEWER * len(last):
            releases.append((yield Step(plane.build_query(parts, 1), budget_fraction * SECOND)))
            left -= SECOND
            last = plane.choose_blocks(plane.estimate_jointly(releases).tree_estimate, alone, left)
        releases.append((yield Step(plane.build_query(last, 2), budget_fraction * left)))
        return plane.estimate_table(releases)


@dataclass(frozen=True, slots=True, eq=False)
class _BoxTreeTable:
    """A table whose cells are in the order of a tree of boxes, so that each box is a range of places."""

    axes: tables.Axes
    extent: tables.Extent
    tree: BoxTree
    places: tuple[int, ...]

    @classmethod
    def from_axes(cls, axes: tables.Axes) -> _BoxTreeTable:
        extent = tables.Extent.from_axes(axes)
        tree = BoxTree.from_shape(extent.shape, len(extent.outside))
        return cls(axes, extent, tree, (*extent.inside[tree.order].tolist(), *extent.outside.tolist()))

    @property
    def first_blocks(self) -> IntArray:
        """The blocks that are counted first."""
        return self.tree.tilings[self.tree.depth // HALF_WAY][:-1]

    def build_query(self, starts: IntArray, round_number: int) -> RegionQuery:
        """Ask for the boxes that begin there."""
        return RegionQuery(self.axes, self.places, (tuple(starts.tolist()),), CountUse.CELLS, round_number)

    def estimate_jointly(self, releases: list[Release]) -> JointEstimate:
        """Read the answers together."""
        return JointEstimate.from_releases(releases, self.tree.layout)

    def choose_blocks(self, splits: TreeEstimate, full_noise: Noise, budget_fraction: Fraction) -> IntArray:
        """Starts of blocks that are not worth dividing, if this part of the share counts them; the first, if all."""
        noise = Noise(full_noise.family, full_noise.parameter / budget_fraction).variance / 2
        risk = subtree_maxima(splits.layout, splits.variance)
        starts = first_cells_of_nodes(splits.layout, find_leaves(splits.layout, risk > TOLERANCE * noise))
        return starts if starts[-1] > 0 and starts[1] < self.extent.cells else self.first_blocks

    def estimate_table(self, releases: list[Release]) -> tables.EstimatedTable:
        """Every cell from all answers."""
        joint, cells = self.estimate_jointly(releases), np.empty(self.extent.cells)
        cells[self.tree.order] = joint.cells[: self.extent.cells]
        outside = float(joint.cells[self.extent.cells :].sum())
        return tables.EstimatedTable(cells.reshape(self.extent.shape), outside, joint.missing, tuple(releases))
