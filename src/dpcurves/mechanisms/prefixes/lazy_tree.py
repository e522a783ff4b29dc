"""Counts of prefixes of a grid, however fine: of a tree of noises only what is read is ever drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from ...laws import Block, Family, Noise, PathSums
from ...noise.memory import Memory
from ...noise.randomness import Randomness
from ...privacy import AddRemove, Adjacency, PrivacyLoss
from ...queries import PrefixQuery, Query
from ...release import Plan, UnsupportedQuery
from ..base import Counter
from ..sums.calibration import drawable, require_loss
from ..sums.linear import draws
from .prefix_walks import SignedBlock, terms

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LazyTree:
    """The noise of all dyadic blocks on the path of a threshold (Barczewski, Mawass and Ramon, Theorem 1), in time.

    Whoever asks for one count pays for all; thresholds may be chosen one after the other, seeing the answers before.
    Every block that was opened is remembered, as the records that it accounts for (`signed_walks.terms`) plus noise.
    A count is the sum of the blocks on its path: the exact count plus their noises.

    Formal guarantees: *the answers*, to any number of thresholds, lose at most the plan's loss, pure or
    zero-concentrated as it is, however thresholds are chosen, on records that do not change; see `path_law`.
    *What is remembered*, if it should ever be read, loses at most as much under add-remove, and under replace-one if
    the depth L of the grid is even; if L is odd, ``(L + 1) / L`` times as much, for then only sums over paths may be
    seen. So what is remembered stays secret. *Records that change* between answers, as they should not: each state of
    them loses at most as much as what is remembered, for no block is drawn twice, and a threshold that was asked before
    has its old answer. Whether they changed is not looked into: to refuse would tell.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, PrefixQuery):
            raise UnsupportedQuery(
                "question", f"a path of noises counts prefixes; it cannot answer {type(query).__name__}"
            )
        law = path_law(query, loss, adjacency)
        name = f"noise path through {law.levels} levels"
        return Plan(query, loss, adjacency, name, law, float(f"{sqrt(law.variance):.9g}"))

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """The counts, from what is remembered as far as it goes; what is new is written down first."""
        law = plan.law.required(PathSums)
        paths = [law.path(threshold) for threshold in law.at]
        blocks = {_name(block): block for path in paths for block in path}
        names = [*blocks, *([] if law.missing is None else [MISSING])]
        noted = memory.recall(names)
        if new := [name for name in names if name not in noted]:
            drawn = _opened(law, {name: blocks[name] for name in new if name != MISSING}, count, randomness)
            noted |= memory.keep({name: drawn[name] for name in new})
        counts = [sum(noted[_name(block)] for block in path) for path in paths]
        return tuple(counts if law.missing is None else [*counts, noted[MISSING]])


def path_law(query: PrefixQuery, loss: PrivacyLoss, adjacency: Adjacency) -> PathSums:
    """The least noise of a block, and of the count of missing records, with which all counts lose at most `loss`.

    Formal guarantees: let L be the depth: the least with ``2**L >= slots``. All counts together are a function of the
    noises of the blocks, once each is shifted by the signed sum of blocks that the exact counts ask for. Neighbouring
    records shift the noises by any signed sum that equals the change of the counts; Laplace noise of scale b loses
    ``1 / b`` for each block in it, and Gaussian noise of variance parameter v loses rho ``1 / (2 v)``. Blocks are edges
    between points (see `signed_walks`), and signed sums are walks:

    * A record that comes, or goes, or becomes missing, changes the counts from its cell to the end: a walk from c to
      2**L, of at most ``L // 2 + 1`` steps. (Barczewski, Mawass and Ramon, Lemma 1.)
    * A record that moves changes the counts between two cells: a walk of at most L steps, or 1 if L is 0.

    *Proof.* Let a and b be the distances of a point in a block from the block's two ends. They differ by 1 at most, for
    the block joins its ends; so walks outside are no shorter. Let m be the smaller one. If the block is the left half
    of another, the distances from the ends of that one are a and m + 1; if it is the right half, m + 1 and b. So over
    the points in blocks of level l, the largest distance E and the largest m, M, satisfy ``E(l) = M(l - 1) + 1`` and
    ``M(l) = E(l - 1)``, with ``E(0) = 1`` and ``M(0) = 0``: hence ``E(l) = l // 2 + 1``, which is the first claim. Two
    points in different halves of all cells, a and b from the left and the middle, c and d from the middle and the
    right, are at most ``min(b + c, a + 1 + d)`` apart. For even L, ``b + c <= 2 E(L - 1) = L``. For odd L, b + c is
    L + 1 at most, and if it is, b and c are both larger than ``M(L - 1) = (L - 1) / 2``, so a and d are not, and
    ``a + 1 + d <= L``. Points in one half are closer, by induction. *End of proof.*

    For even L above 0 no walk needs the block of all cells, nor has it noise: there are L levels, else L + 1.

    A unit of k records changes counts by at most k such walks at once: k times the loss, or k**2 times with Gaussian
    noise. The missing cell changes by 1 with each record that comes or goes there. Under add-remove such a record
    changes nothing else; under replace-one it takes what L steps leave over of ``L // 2 + 1``, and is not asked for
    where they leave nothing.

    Rows of a table lie one behind the other. A record has one slot in all of them, so one that changes its row moves as
    any other does.

    Raises:
        UnsupportedQuery: nothing may be lost, or no sampler has that much noise.
    """
    require_loss(loss)
    depth = (query.slots - 1).bit_length()
    coming, moving = depth // 2 + 1, max(depth, 1)
    allowed = _allowed(loss, adjacency.unit.records)
    if isinstance(adjacency, AddRemove):
        price, missing = allowed / coming, allowed
    else:
        price, missing = allowed / moving, allowed * (1 - Fraction(coming, moving))
    levels = depth if depth > 0 and depth % 2 == 0 else depth + 1
    return PathSums(query.slots, query.at, levels, _noise(price, loss), _noise(missing, loss) if missing else None)


def _allowed(loss: PrivacyLoss, records: int) -> Fraction:
    """The budget of one record: the sum of ``1 / scale`` of all noises that it shifts by 1, or of ``1 / variance``."""
    return 2 * loss.rho / records**2 if loss.epsilon is None else loss.epsilon / records


def _noise(price: Fraction, loss: PrivacyLoss) -> Noise:
    return drawable(Noise(Family.LAPLACE if loss.is_pure else Family.GAUSSIAN, 1 / price), loss)


def _name(block: Block) -> str:
    level, number = block
    return f"{level}:{number}"


def _opened(law: PathSums, blocks: dict[str, Block], count: Counter, randomness: Randomness) -> dict[str, int]:
    """SECRET: noisy sums of blocks that were not opened before, and of the missing cell."""
    parts = {name: terms(law.cells, law.levels, block) for name, block in blocks.items()}
    edges = sorted({edge for each in parts.values() for term in each for edge in (term.low, term.high)})
    *below, missing = count(tuple(edges))
    exact = dict(zip(edges, below, strict=True))
    noises = draws(law.noise, len(blocks), randomness).tolist()
    noisy = {name: _sum(parts[name], exact) + noise for name, noise in zip(blocks, noises, strict=True)}
    if law.missing is not None:
        noisy[MISSING] = missing + int(draws(law.missing, 1, randomness)[0])
    return noisy


def _sum(parts: Sequence[SignedBlock], below: dict[int, int]) -> int:
    return sum(term.sign * (below[term.high] - below[term.low]) for term in parts)
