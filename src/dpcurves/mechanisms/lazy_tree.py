"""Binary tree mechanism that samples noise only where it is read: noisy prefix counts on a grid of any size.

Use it for thresholds that arrive one by one: the first count pays for all later ones. The class is `LazyTree`; the
mechanism is also called tree aggregation. The slots of a grid are its cells in order, with those for outside values.
They are the leaves of a binary tree of depth L, and a block is a node of the tree. The count of the first t slots is a
sum over one block per level:

    noisy(t) = sum_b (records_b + z_b) = exact(t) + sum_b z_b

Here ``records_b`` is a signed count of records (`signed_blocks`), and ``z_b`` is the noise of block b. It is sampled
when the block is first read, and the noisy sum is stored from then on. A record is in the counts of at most
``L // 2 + 1`` blocks, against L + 1 in the usual binary mechanism, because distances are written with digits -1, 0 and
1, of which no two neighbours are nonzero.

Formal guarantees: all prefix counts together lose at most the plan's loss, even if each prefix is chosen after seeing
the earlier counts. Proof idea: adding or removing a record equals a shift of at most ``L // 2 + 1`` noises by 1; moving
a record shifts at most L of them (1 if L is 0). The noise is calibrated to this number of shifts (`path_distribution`).

References: Chan, Shi and Song 2011; Dwork, Naor, Pitassi and Rothblum 2010 (the binary mechanism); Barczewski, Mawass
and Ramon, Theorem 1; Reitwiesner 1960 (signed digits).

>>> from dpcurves.data import Axis, Grid
>>> from dpcurves.privacy import EACH_RECORD
>>> query = PrefixQuery((Axis("income", Grid(0, 2**20, cells=2**20)),), prefix_lengths=(1000, 50_000))
>>> plan = LazyTree().plan(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
>>> float(plan.distribution.noise.parameter), round(plan.error, 1)  # scale of a block's noise; error in records
(11.0, 69.5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..conversation import Plan
from ..distributions import Block, Noise, PathSums, round_error
from ..noise.randomness import Memory, Randomness
from ..privacy import AddRemove, Adjacency, PrivacyLoss
from ..queries import PrefixQuery
from .base import Counter, QueryMechanism
from .linear import calibrate_to_budget, record_budget, require_positive_loss, sample_noise

MISSING_COUNT = "missing"
"""Name of the noisy count of missing records in a charge's stored noise, beside the names of blocks."""


@dataclass(frozen=True, slots=True)
class LazyTree(QueryMechanism):
    """Noisy prefix counts for thresholds that arrive one by one (Barczewski, Mawass and Ramon, Theorem 1).

    One charge pays for all counts, and thresholds may be chosen adaptively. A count is the sum of the noisy blocks on
    its path, that is the exact count plus the noises of these blocks. Each block that was read is stored in a `Memory`:
    the records that it contains (`signed_blocks`) plus its noise.

    Formal guarantees:

    - *The answers* to any number of adaptively chosen thresholds lose at most the plan's loss, pure or
      zero-concentrated, on records that do not change. The proof is in `path_distribution`.
    - *The stored blocks* must stay secret. If they were read, they would lose no more than the answers under
      add-remove, and under replace-one with an even depth L of the grid. With an odd L they would lose ``(L + 1) / L``
      times as much, because there only sums over paths may be published.
    - *Records that change* between answers are not allowed. Changes are not detected, because a refusal would reveal
      them. Each state of the records then loses at most as much as the stored blocks, because no block is sampled
      twice, and a repeated threshold gets its stored answer.

    Attributes:
        noise_sampler: Function that samples the noise of blocks: all of it, or the share of one of several parties.
    """

    query_types = (PrefixQuery,)
    display_name = "a path of noises"
    refusal_template = "{called} counts prefixes; it cannot answer {kind}"

    noise_sampler: Callable[[Noise, int, Randomness], NDArray[np.int64]] = sample_noise

    def _plan(self, query: PrefixQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of the binary tree for prefix counts, and return the plan of the release.

        Its expected error is the standard deviation of one prefix count, in records.

        Args:
            query: Prefix lengths on the grid.
            loss: Privacy loss of all counts under one charge.
            adjacency: Neighbouring relation, with the contribution bound.

        Raises:
            UnsupportedQuery: the loss is zero, or no sampler has that much noise.
        """
        distribution = path_distribution(query, loss, adjacency)
        name = f"noise path through {distribution.levels} levels"
        return Plan(query, loss, adjacency, name, distribution, round_error(sqrt(distribution.variance)))

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Return the noisy counts of the plan's prefixes, after adding noise to the blocks of the tree that no earlier
        answer used.

        Args:
            count: SECRET. Function of prefix lengths, in slots, that returns exact numbers of records.
            plan: A plan of this mechanism.
            memory: SECRET. Noisy blocks that earlier answers under this charge used.
            randomness: Source of random bits for the noise of new blocks.

        Returns:
            One count per prefix length, then the count of missing records if the plan releases it.
        """
        distribution = plan.distribution.require_type(PathSums)
        paths = [distribution.blocks_on_path(threshold) for threshold in distribution.prefix_lengths]
        blocks = {_block_name(block): block for path in paths for block in path}
        names = [*blocks, *([] if distribution.missing is None else [MISSING_COUNT])]
        stored = memory.recall(names)
        if new := [name for name in names if name not in stored]:
            sums = self._sum_new_blocks(
                distribution, {name: blocks[name] for name in new if name != MISSING_COUNT}, count, randomness
            )
            stored |= memory.keep({name: sums[name] for name in new})
        counts = [sum(stored[_block_name(block)] for block in path) for path in paths]
        return tuple(counts if distribution.missing is None else [*counts, stored[MISSING_COUNT]])

    def _sum_new_blocks(
        self, distribution: PathSums, blocks: dict[str, Block], count: Counter, randomness: Randomness
    ) -> dict[str, int]:
        """SECRET: compute a noisy sum for each block of the noise tree that no earlier answer used, and for the missing
        records if they are counted.

        Args:
            distribution: Noise distributions of the blocks and of the missing count.
            blocks: New blocks by name.
            count: Function of prefix lengths, in slots, that returns exact numbers of records, the missing ones last.
            randomness: Source of random bits.

        Returns:
            Noisy sums by name.
        """
        terms = {name: signed_blocks(distribution.cells, distribution.levels, block) for name, block in blocks.items()}
        edges = sorted(
            {edge for block_terms in terms.values() for term in block_terms for edge in (term.low, term.high)}
        )
        *below, missing = count(tuple(edges))
        exact = dict(zip(edges, below, strict=True))
        noises = self.noise_sampler(distribution.noise, len(blocks), randomness).tolist()
        noisy = {
            name: _sum_signed_blocks(terms[name], exact) + noise for name, noise in zip(blocks, noises, strict=True)
        }
        if distribution.missing is not None:
            noisy[MISSING_COUNT] = missing + int(self.noise_sampler(distribution.missing, 1, randomness)[0])
        return noisy


class SignedBlock(NamedTuple):
    """The records in the cells from `low` to before `high`, added (sign 1) or subtracted (sign -1)."""

    sign: int
    low: int
    high: int


def signed_blocks(cells: int, levels: int, block: Block) -> tuple[SignedBlock, ...]:
    """Return which records a node (block) of the binary noise tree counts, as ranges of cells with signs; half of the
    blocks count none.

    The records of a block are chosen so that the blocks on a path add up to the count of a prefix. Take the bounds of
    cells as points 0, ..., 2**L, and a block as an edge between its two endpoints. The signed sum of the blocks along a
    walk over these edges, added rightwards and subtracted leftwards, contains the cells between its two ends once, and
    no others. All walks lead to one point, *home*: ``2**(levels - 1)``. From a point the walk removes the digits of its
    distance from home, the lowest first, in the form with digits -1, 0 and 1 in which no two neighbours are both
    nonzero (Reitwiesner 1960). A record in cell c counts for the cells from c to the end: for the walk from c to home,
    and, if home is not the last point, for one step from home to the last point.

    The next step of a walk depends on its present point alone, so walks form a tree, and a block contains the records
    of a range of cells: the walk of cell c takes a step of level l from the odd multiple x of ``2**l`` (relative to
    home) to a multiple of ``2**(l + 2)``, or ends at home with it. It reached x by digits below l - 1, which add up to
    at most ``2**l / 3``.

    Formal guarantees: over the blocks of a path (`PathSums.blocks_on_path`) the records add up to those in the first t
    cells. A record is in the terms of at most ``depth // 2 + 1`` blocks, where ``2**depth`` is the least power of two
    not below `cells`: a distance from home is at most ``2**(levels - 1)``, and has at most ``ceil(levels / 2)`` nonzero
    digits. Terms of a record in one cell and in another differ in at most `levels` blocks, rounded up to an even
    number. No difference exceeds 1.

    Args:
        cells: Number of cells of the grid.
        levels: Number of levels of blocks: L or L + 1.
        block: Level, from 0 for single cells, and index of the block within the level, from 0.

    Returns:
        At most two ranges of cells with signs; empty if the block contains no records.

    >>> signed_blocks(cells=16, levels=4, block=(2, 1))
    (SignedBlock(sign=1, low=3, high=6),)
    """
    level, number = block
    home = 1 << (levels - 1)
    left_point = number - (home >> level)
    digit_reach = (1 << level) // 3
    odd, even = (left_point, left_point + 1) if left_point % 2 else (left_point + 1, left_point)
    terms = []
    if even % 4 == 0:
        point = home + (odd << level)
        terms.append(SignedBlock(even - odd, max(point - digit_reach, 0), min(point + digit_reach + 1, cells)))
    if level == levels - 1 and number == 1:
        terms.append(SignedBlock(1, 0, cells))  # home is not the last point
    return tuple(term for term in terms if term.low < term.high)


def path_distribution(query: PrefixQuery, loss: PrivacyLoss, adjacency: Adjacency) -> PathSums:
    """Calibrate the noise of blocks, and of the count of missing records, so that all counts lose at most `loss`.

    Formal guarantees: let L be the depth, the least with ``2**L >= slots``. All counts together are a function of the
    noises of the blocks, each shifted by the signed sum of blocks that the exact counts require. Neighbouring records
    shift the noises by any signed sum that equals the change of the counts; Laplace noise of scale b loses ``1 / b``
    per block in it, and Gaussian noise of variance parameter v loses rho ``1 / (2 v)``. Blocks are edges between points
    (see `signed_blocks`), and signed sums are walks:

    * A record that is added, removed, or becomes missing changes the counts from its cell to the end: a walk from c to
      2**L, of at most ``L // 2 + 1`` steps. (Barczewski, Mawass and Ramon, Lemma 1.)
    * A record that moves changes the counts between two cells: a walk of at most L steps, or 1 if L is 0.

    *Proof.* Let a and b be the distances of a point in a block from the block's two endpoints. They differ by at most
    1, because the block joins its endpoints; so walks outside are no shorter. Let m be the smaller one. If the block is
    the left half of another block, the distances from its endpoints are a and m + 1; if it is the right half, m + 1 and
    b. So over the points in blocks of level l, the largest distance E and the largest m, M, satisfy ``E(l) = M(l - 1) +
    1`` and ``M(l) = E(l - 1)``, with ``E(0) = 1`` and ``M(0) = 0``: hence ``E(l) = l // 2 + 1``, which is the first
    claim. Two points in different halves of all cells, a and b from the left and the middle, c and d from the middle
    and the right, are at most ``min(b + c, a + 1 + d)`` apart. For even L, ``b + c <= 2 E(L - 1) = L``. For odd L, b +
    c is at most L + 1, and in that case b and c both exceed ``M(L - 1) = (L - 1) / 2``, so a and d do not, and
    ``a + 1 + d <= L``. Points in one half are closer, by induction. *End of proof.*

    For even L above 0 no walk needs the block of all cells, so it has no noise: there are L levels, else L + 1.

    A unit of k records changes counts by at most k walks at once: k times the loss, or k**2 times with Gaussian noise.
    The missing cell changes by 1 with each record that is added or removed there. Under add-remove this record changes
    nothing else; under replace-one it gets the fraction of the loss by which L steps exceed ``L // 2 + 1``, and is not
    released if this fraction is zero.

    Rows of a table are concatenated. A record has one slot in all rows, so changing its row is a move as any other.

    Args:
        query: Prefix lengths on the grid.
        loss: Privacy loss of all counts under one charge, pure or zero-concentrated.
        adjacency: Neighbouring relation, with the contribution bound k of a unit.

    Raises:
        UnsupportedQuery: the loss is zero, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    depth = (query.slots - 1).bit_length()
    entering_steps = depth // 2 + 1
    moving_steps = max(depth, 1)
    budget = record_budget(loss, adjacency)
    if isinstance(adjacency, AddRemove):
        step_budget = budget / entering_steps
        missing = budget
    else:
        step_budget = budget / moving_steps
        missing = budget * (1 - Fraction(entering_steps, moving_steps))
    levels = depth if depth > 0 and depth % 2 == 0 else depth + 1
    return PathSums(
        query.slots,
        query.prefix_lengths,
        levels,
        calibrate_to_budget(step_budget, loss),
        calibrate_to_budget(missing, loss) if missing else None,
    )


def _block_name(block: Block) -> str:
    """Return the name under which the noisy sum of a block is stored: its level and index, as ``"2:1"``.

    Args:
        block: Level and index of the block.
    """
    level, number = block
    return f"{level}:{number}"


def _sum_signed_blocks(terms: Sequence[SignedBlock], below: dict[int, int]) -> int:
    """SECRET: return the sum of exact counts of some ranges of slots, each with its sign: the exact sum of a block.

    Args:
        terms: Ranges of slots, each with its sign.
        below: Exact number of records below each edge of the ranges.
    """
    return sum(term.sign * (below[term.high] - below[term.low]) for term in terms)
