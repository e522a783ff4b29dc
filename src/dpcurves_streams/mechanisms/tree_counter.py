"""Counts of prefixes of a stream, by the least-squares noise of a whole tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod, sqrt
from typing import Any

import numpy as np

from dpcurves.laws import Family, Noise
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.sequential import read, require_next, written
from dpcurves.mechanisms.sums.calibration import noise_of
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.mechanisms.sums.tree_strategy import Shape, best_shape
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query, TickQuery
from dpcurves.release import Plan

from ..laws import TreeCounts
from ..laws.prefix_trees import Block, Epoch, PrefixTree, block_noise, denominator
from .perturber import added, stream_only
from .window_shape import best_window_shape, mean_window_variance

KIND = "tree counter"
FIRST_EPOCH = 64
EPOCHS = 14
"""Epochs that double, for streams without end: a million ticks. After these the last one goes on."""
FITTING = 2**62
MOST_AT_ONCE = 2**22
"""Ticks of a block times keys, at most: so much noise is at hand."""


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """SECRET: counts so far, the noise of blocks that are over, and the key of the noise of the block at hand.

    Attributes:
        tick: The last tick that was answered.
        counts: The exact number of tuples so far, of each key.
        carried: The noise of all blocks before, of each key, over `TreeCounts.over`.
        secret: What all noise of the block is drawn from; its nodes are drawn again whenever they are needed.
        noise: The noise of all prefixes of the block, which the secret tells: at hand, and not written.
    """

    tick: int
    counts: tuple[int, ...]
    carried: tuple[int, ...]
    secret: bytes
    noise: BlockNoise | None = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """Numbers in hexadecimal digits."""
        numbers = {"counts": self.counts, "carried": self.carried}
        hexadecimal = {name: [f"{each:x}" for each in numbers[name]] for name in numbers}
        return written(KIND, {"tick": self.tick, "secret": self.secret.hex(), **hexadecimal})


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BlockNoise:
    """SECRET: noises of the prefixes of a block, (ticks, keys), over `denominator`, and those of all of it, (keys,)."""

    prefixes: Any
    whole: Any


@dataclass(frozen=True, slots=True)
class TreeCounter:
    """Totals of tuples so far, at every tick: the exact number plus noise that one tree explains best.

    With a public horizon the tree is the one that `best_shape` finds for prefixes. Without one, blocks of epochs that
    double follow one another, each with the tree that is best for its length. Where windows were declared, small blocks
    follow one another for ever, of the shape whose differences of prefixes have the least error (`best_window_shape`).

    Formal guarantees: let x be the counts of a block, cell by cell, A the lower triangle of ones, R the matrix that
    sums the ticks of each node of the tree, and z the noises of the nodes, independent integers. What is released at
    tick t is ``(A x + L z)_t`` plus the same of whole blocks before, rounded, with the L of `block_noise`, for which
    ``L R = A``. All is worked out in fractions and rounded once, so the answers are a function of ``R x + z``, block by
    block: they lose what noisy sums of all nodes lose, though at tick t, z of nodes is used that have not yet begun.

    *Proof, for streams that are chosen after answers too.* Let whoever chooses the stream let one tuple come at a tick
    s of the block or not, and choose s by the answers before it. Hold z on the side without it against
    ``z' = z - R e_s`` on the other. Before s nothing differs, as ``(L R e_s)_t = (A e_s)_t = 0`` for t < s: the same
    answers, so the same s. From s on the exact count is 1 larger and ``L z'`` is 1 smaller: the same answers, hence the
    same later counts. So z to z' is a bijection of all noises that keeps all answers (from z' the answers tell s, and s
    tells z). It shifts one node of each level by 1. *Pure*: discrete Laplace noises of scales b_l lose at most ``sum(1
    / b_l)`` wherever s lies. *Zero-concentrated*: let ``rho = sum(1 / (2 v_l))`` for discrete Gaussian noises. Given
    the noises ``(L z)_t`` of all t < s, which choose s, z lies on a lattice that ``R e_s`` leaves in place. At a whole
    order a the Renyi divergence of such a slice sums ``p(z + (a - 1) R e_s)`` over it, which is its own chance, times
    ``exp(a (a - 1) rho)``; all slices together give ``a rho``. For a stream that does not depend on the answers s is
    fixed, and the loss is that of noisy sums of all nodes, at every order: zero-concentrated with rho. (So where
    somebody chooses tuples by the answers, rho is shown for orders 2, 3, 4, ... only.)
    Noises have the share s_l of the loss each, and shares add up to 1. A unit moves as many tuples as
    ``adjacency.l1_sensitivity`` says: pure losses add up over these; the counts of a level's nodes move by squares of
    at most ``adjacency.squared_l2_sensitivity``, whatever ticks the tuples lie in. *End of proof.*

    Noise of a block is drawn from a secret that is new for each block (`Randomness.keyed`): independent to a
    computationally bounded observer, as all that comes from the operating system.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = stream_only(query)
        whole = noise_of(query, loss, adjacency)
        epochs = tuple(Epoch(blocks, _tree(shape, whole)) for blocks, shape in shapes(query, whole.family))
        law = TreeCounts(query.keys, epochs)
        if query.windows:
            errors = [mean_window_variance(epochs[0].tree, window) for window in query.windows]
            error = sqrt(sum(errors) / len(errors))
        else:
            error = sqrt(law.mean_variance(query.ticks or FIRST_EPOCH * 2**4))
        return Plan(query, loss, adjacency, "least-squares noise of a tree on counts so far", law, printed(error))

    def begin(self, plan: Plan) -> Counted:
        """Nothing was counted."""
        keys = plan.law.required(TreeCounts).keys
        return Counted(0, (0,) * keys, (0,) * keys, b"")

    def step(
        self, table: ExactTable, tick: int, state: Counted, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Counted]:
        """Counts so far, each plus the noise of its prefix, rounded."""
        require_next(tick, state)
        law = plan.law.required(TreeCounts)
        block = law.block(tick)
        place = tick - block.start - 1
        secret = randomness.octets(32) if place == 0 else state.secret
        noise = (None if place == 0 else state.noise) or drawn(block, law.keys, secret)
        counts = added(table, list(state.counts))
        before = rounded(noise.prefixes[place], state.carried, block.tree, law.over)
        answers = added(np.array(counts, dtype=object), before)
        if place + 1 < block.tree.widths[0]:
            return answers, Counted(tick, counts, state.carried, secret, noise)
        share = law.over // block.tree.over  # exact: the deepest tree of the law has the largest
        carried = tuple(old + int(new) * share for old, new in zip(state.carried, noise.whole, strict=True))
        return answers, Counted(tick, counts, carried, b"")

    def restored(self, stored: bytes, plan: Plan) -> Counted:
        """The state that was written; noise of the block is drawn when it is needed."""
        facts = read(KIND, stored)
        counts, carried = (tuple(int(each, 16) for each in facts[name]) for name in ("counts", "carried"))
        return Counted(int(facts["tick"]), counts, carried, bytes.fromhex(facts["secret"]))


def shapes(query: TickQuery, family: Family) -> list[tuple[int, Shape]]:
    """Blocks of each epoch, and their shape: from public facts alone. Where keys are many, blocks are short."""
    longest = max(MOST_AT_ONCE // query.keys, 1)
    if query.windows:
        return [(1, best_window_shape(query.windows, family))]
    if query.ticks is not None:
        return [_epoch(query.ticks, longest, family)]
    return [_epoch(FIRST_EPOCH * 2**number, longest, family) for number in range(EPOCHS)]


def _epoch(ticks: int, longest: int, family: Family) -> tuple[int, Shape]:
    """The number and the shape of blocks that have so many ticks together."""
    shape = best_shape(1, min(ticks, longest), 1, family, total_is_public=False)
    return -(-ticks // shape.widths[0]), shape


@lru_cache(maxsize=256)  # a pure function of public facts
def _tree(shape: Shape, whole: Noise) -> PrefixTree:
    """A share of the loss has its inverse in the scale of Laplace noise, and in the variance of Gaussian noise."""
    noises = tuple(Noise(whole.family, whole.parameter / share) for share in shape.shares)
    return PrefixTree(shape.widths, noises)


def drawn(block: Block, keys: int, secret: bytes) -> BlockNoise:
    """SECRET: the noise of all prefixes of a block, for each key, from the key of the block."""
    stream, tree = Randomness.keyed(secret, f"{KIND} {block.start}"), block.tree
    sizes = [tree.widths[0] // width for width in tree.widths]
    noises = [
        draws(noise, size * keys, stream).reshape(size, keys) for noise, size in zip(tree.noises, sizes, strict=True)
    ]
    if not fits(tree, max(int(np.abs(each).max()) for each in noises)):
        noises = [each.astype(object) for each in noises]  # exact, too
    return BlockNoise(*block_noise(tree, noises))


def fits(tree: PrefixTree, largest: int) -> bool:
    """Tell whether `block_noise` stays within 64 bits, on the way too, if no noise is larger.

    An estimate from below is at most ``largest`` for each tick below it. With W ticks in all, the sizes of the final
    ones of a level add up to ``2 * W * largest`` more than those of the level above, so to ``(2 * depth + 1) * W *
    largest`` at most; three of these are added on the way.
    """
    depth = len(tree.radices)
    return 8 * (depth + 1) * tree.widths[0] * largest * denominator(tree) < FITTING


def rounded(noise: Any, carried: tuple[int, ...], tree: PrefixTree, over: int) -> list[int]:
    """SECRET: noises of prefixes and of blocks before them, added and rounded to whole numbers, halves up.

    Args:
        noise: That of prefixes of the block, over its `denominator`.
        carried: That of the blocks before, over `over`.
        tree: The tree of the block.
        over: A multiple of ``tree.over``.
    """
    radices, own = prod(tree.radices), over // tree.over
    whole = over * radices
    both = (old * radices + int(new) * own for old, new in zip(carried, noise, strict=True))
    return [(2 * each + whole) // (2 * whole) for each in both]
