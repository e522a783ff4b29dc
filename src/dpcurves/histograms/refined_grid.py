"""Blocks are counted, divided where that tells, and all counts read together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arrays import IntArray
from ..laws import Family, Noise
from ..postprocess.estimation.binary_tree import beginnings, largest_below, undivided
from ..postprocess.estimation.box_tree import BoxTree
from ..postprocess.estimation.empirical_bayes import Splits
from ..postprocess.estimation.joint_estimate import JointEstimate
from ..queries import Read, RegionQuery
from ..release import Release, Setting, Step
from .extent import Extent
from .table_estimator import Axes, Conversation, EstimatedTable

FIRST_TURN, SECOND = Fraction(3, 10), Fraction(1, 5)
"""What parts of the share count the first blocks, and those between them and the last ones."""
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

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for blocks, then for parts of them, then for parts of these."""
        plane = _Plane.of(axes)
        if plane.extent.cells < FEWEST or setting.loss.rho == 0:
            return plane.estimated([(yield Step(plane.query(plane.tree.tilings[-1][:-1], 0), share))])
        alone = _noise_alone(setting, share)
        releases = [(yield Step(plane.query(plane.blocks, 0), share * FIRST_TURN))]
        left, splits = 1 - FIRST_TURN, plane.read(releases).splits
        parts, last = (plane.worth_counting(splits, alone, part) for part in (SECOND, left))
        if len(parts) <= FEWER * len(last):
            releases.append((yield Step(plane.query(parts, 1), share * SECOND)))
            left -= SECOND
            last = plane.worth_counting(plane.read(releases).splits, alone, left)
        releases.append((yield Step(plane.query(last, 2), share * left)))
        return plane.estimated(releases)


@dataclass(frozen=True, slots=True, eq=False)
class _Plane:
    """A table in the order of its boxes, which are asked for and read by the places where they begin."""

    axes: Axes
    extent: Extent
    tree: BoxTree
    places: tuple[int, ...]

    @classmethod
    def of(cls, axes: Axes) -> _Plane:
        extent = Extent.of(axes)
        tree = BoxTree.of(extent.shape, len(extent.outside))
        return cls(axes, extent, tree, (*extent.inside[tree.order].tolist(), *extent.outside.tolist()))

    @property
    def blocks(self) -> IntArray:
        """The blocks that are counted first."""
        return self.tree.tilings[self.tree.depth // HALF_WAY][:-1]

    def query(self, starts: IntArray, turn: int) -> RegionQuery:
        """Ask for the boxes that begin there."""
        return RegionQuery(self.axes, self.places, (tuple(starts.tolist()),), Read.CELLS, turn)

    def read(self, releases: list[Release]) -> JointEstimate:
        """Read the answers together."""
        return JointEstimate.of(releases, self.tree.layout)

    def worth_counting(self, splits: Splits, alone: Noise, part: Fraction) -> IntArray:
        """Starts of blocks that are not worth dividing, if this part of the share counts them; the first, if all."""
        noise = Noise(alone.family, alone.parameter / part).variance / 2
        risk = largest_below(splits.layout, splits.variance)
        starts = beginnings(splits.layout, undivided(splits.layout, risk > TOLERANCE * noise))
        return starts if starts[-1] > 0 and starts[1] < self.extent.cells else self.blocks

    def estimated(self, releases: list[Release]) -> EstimatedTable:
        """Every cell from all answers."""
        joint, cells = self.read(releases), np.empty(self.extent.cells)
        cells[self.tree.order] = joint.cells[: self.extent.cells]
        outside = float(joint.cells[self.extent.cells :].sum())
        return EstimatedTable(cells.reshape(self.extent.shape), outside, joint.missing, tuple(releases))


def _noise_alone(setting: Setting, share: Fraction) -> Noise:
    """The noise of a count if the whole share were spent on one tiling; to choose by, not to protect."""
    loss, adjacency = setting.loss * share, setting.adjacency
    if loss.epsilon is not None:
        return Noise(Family.LAPLACE, adjacency.l1_sensitivity / loss.epsilon)
    return Noise(Family.GAUSSIAN, adjacency.squared_l2_sensitivity / (2 * loss.rho))
