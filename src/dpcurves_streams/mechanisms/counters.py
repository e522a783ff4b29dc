"""Counts of prefixes of a stream: by trees, and in constant memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.laws import Family, Noise
from dpcurves.laws.law import round_error
from dpcurves.mechanisms import ExactTable
from dpcurves.mechanisms.linear import calibrate_noise, require_drawable, require_positive_loss, sample_noise
from dpcurves.mechanisms.tree_strategy import TreeShape, find_best_shape
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss

from ..laws import (
    LATTICE,
    MOST_BUFFERED,
    Block,
    BufferedPrefixes,
    Epoch,
    PrefixTree,
    TreeCounts,
    prefix_denominator,
    prefix_noise,
)
from ..queries import TickQuery
from .hierarchy import TickMechanism, add_noise
from .sequential import decode_state, encode_state, require_next

# Shapes of small consecutive trees that estimate sums over sliding windows with the least error.
STEPS = 20
"""Shares are multiples of ``1 / STEPS``."""


@lru_cache(maxsize=256)  # a pure function of public facts
def best_window_shape(windows: tuple[int, ...], family: Family) -> TreeShape:
    """Noise on ticks alone, or on ticks and on blocks of them: whichever has the least error over all windows.

    Compared are, for each window, the mean variance over the places of its end in a block, relative to that of noise
    on ticks alone, which has the variance of one tick for each; and the sum of these. Blocks have a power of two ticks,
    up to the longest window.

    >>> best_window_shape((1,), Family.LAPLACE).widths, best_window_shape((256,), Family.LAPLACE).widths
    ((1,), (32, 1))
    """
    shapes = [TreeShape((1,), (Fraction(1),))]
    for power in range(1, max(windows).bit_length()):
        shapes += [
            TreeShape((2**power, 1), (Fraction(part, STEPS), Fraction(STEPS - part, STEPS))) for part in range(1, STEPS)
        ]
    return min(shapes, key=lambda shape: (_relative_window_error(shape, windows, family), len(shape.widths), shape))


def _relative_window_error(shape: TreeShape, windows: tuple[int, ...], family: Family) -> float:
    whole = Fraction(10**6)
    tree = PrefixTree(shape.widths, tuple(Noise(family, whole / share) for share in shape.budget_fractions))
    alone = Noise(family, whole).variance
    return round_error(sum(mean_window_variance(tree, window) / (window * alone) for window in windows))


def mean_window_variance(tree: PrefixTree, window: int) -> float:
    """The mean variance of the sum over a window, over the places of its end, of blocks one behind the other.

    For at most two levels: a window has the ends of two blocks, or lies in one, and whole ones between.
    """
    width = tree.widths[0]
    ends = np.arange(1, width + 1)
    outside = ends - window  # how far it reaches before the block of its end
    first = np.maximum(outside, 0)
    total = _partial_block_variance(tree, ends - first)
    whole, part = np.divmod(np.maximum(-outside, 0), width)
    return float(np.mean(total + whole * tree.node_variances[0] + _partial_block_variance(tree, part)))


def _partial_block_variance(tree: PrefixTree, ticks: IntArray) -> FloatArray:
    """Variance of the sum of so many ticks of a block, whichever they are."""
    share = ticks / tree.widths[0]
    contrasts = 0.0 if len(tree.widths) == 1 else tree.node_variances[1] * ticks * (1 - share)
    variances: FloatArray = tree.node_variances[0] * share**2 + contrasts
    return variances


TREE_KIND = "tree counter"
FIRST_EPOCH = 64
EPOCHS = 14
"""Epochs that double, for streams without end: a million ticks. After these the last one goes on."""
FITTING = 2**62
MOST_AT_ONCE = 2**22
"""Ticks of a block times keys, at most: so much noise is at hand."""


@dataclass(frozen=True, slots=True, repr=False)
class TreeCounterState:
    """SECRET: counts so far, the noise of blocks that are over, and the key of the noise of the block at hand.

    Attributes:
        tick: The last tick that was answered.
        counts: The exact number of tuples so far, of each key.
        carried_noise: The noise of all blocks before, of each key, over `TreeCounts.block_denominator`.
        secret: What all noise of the block is drawn from; its nodes are drawn again whenever they are needed.
        block_noise: The noise of all prefixes of the block, which the secret tells: at hand, and not written.
    """

    tick: int
    counts: tuple[int, ...]
    carried_noise: tuple[int, ...]
    secret: bytes
    block_noise: BlockNoise | None = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """Numbers in hexadecimal digits."""
        numbers = {"counts": self.counts, "carried": self.carried_noise}
        hexadecimal = {name: [f"{each:x}" for each in numbers[name]] for name in numbers}
        return encode_state(TREE_KIND, {"tick": self.tick, "secret": self.secret.hex(), **hexadecimal})


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BlockNoise:
    """SECRET: noises of the prefixes of a block, (ticks, keys), over `prefix_denominator`, and those of all of it, (keys,)."""

    prefixes: Any
    whole_block: Any


@dataclass(frozen=True, slots=True)
class TreeCounter(TickMechanism):
    """Totals of tuples so far, at every tick: the exact number plus noise that one tree explains best.

    With a public horizon the tree is the one that `find_best_shape` finds for prefixes. Without one, blocks of epochs that
    double follow one another, each with the tree that is best for its length. Where windows were declared, small blocks
    follow one another for ever, of the shape whose differences of prefixes have the least error (`best_window_shape`).

    Formal guarantees: let x be the counts of a block, cell by cell, A the lower triangle of ones, R the matrix that
    sums the ticks of each node of the tree, and z the noises of the nodes, independent integers. What is released at
    tick t is ``(A x + L z)_t`` plus the same of whole blocks before, rounded, with the L of `prefix_noise`, for which
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

    Noise of a block is drawn from a secret that is new for each block (`Randomness.from_key`): independent to a
    computationally bounded observer, as all that comes from the operating system.
    """

    def _plan(self, query: TickQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        whole = calibrate_noise(query, loss, adjacency)
        epochs = tuple(Epoch(blocks, _build_tree(shape, whole)) for blocks, shape in epoch_shapes(query, whole.family))
        law = TreeCounts(query.keys, epochs)
        if query.windows:
            errors = [mean_window_variance(epochs[0].tree, window) for window in query.windows]
            error = sqrt(sum(errors) / len(errors))
        else:
            error = sqrt(law.mean_variance(query.ticks or FIRST_EPOCH * 2**4))
        return Plan(query, loss, adjacency, "least-squares noise of a tree on counts so far", law, round_error(error))

    def begin(self, plan: Plan) -> TreeCounterState:
        """Nothing was counted."""
        keys = plan.law.require_type(TreeCounts).keys
        return TreeCounterState(0, (0,) * keys, (0,) * keys, b"")

    def step(
        self, table: ExactTable, tick: int, state: TreeCounterState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TreeCounterState]:
        """Counts so far, each plus the noise of its prefix, rounded."""
        require_next(tick, state)
        law = plan.law.require_type(TreeCounts)
        block = law.block(tick)
        place = tick - block.start - 1
        secret = randomness.random_bytes(32) if place == 0 else state.secret
        noise = (None if place == 0 else state.block_noise) or sample_block_noise(block, law.keys, secret)
        counts = add_noise(table, list(state.counts))
        before = round_noise(noise.prefixes[place], state.carried_noise, block.tree, law.block_denominator)
        answers = add_noise(np.array(counts, dtype=object), before)
        if place + 1 < block.tree.widths[0]:
            return answers, TreeCounterState(tick, counts, state.carried_noise, secret, noise)
        share = (
            law.block_denominator // block.tree.block_denominator
        )  # exact: the deepest tree of the law has the largest
        carried = tuple(old + int(new) * share for old, new in zip(state.carried_noise, noise.whole_block, strict=True))
        return answers, TreeCounterState(tick, counts, carried, b"")

    def restore_state(self, state_bytes: bytes, plan: Plan) -> TreeCounterState:
        """The state that was written; noise of the block is drawn when it is needed."""
        facts = decode_state(TREE_KIND, state_bytes)
        counts, carried = (tuple(int(each, 16) for each in facts[name]) for name in ("counts", "carried"))
        return TreeCounterState(int(facts["tick"]), counts, carried, bytes.fromhex(facts["secret"]))


def epoch_shapes(query: TickQuery, family: Family) -> list[tuple[int, TreeShape]]:
    """Blocks of each epoch, and their shape: from public facts alone. Where keys are many, blocks are short."""
    longest = max(MOST_AT_ONCE // query.keys, 1)
    if query.windows:
        return [(1, best_window_shape(query.windows, family))]
    if query.ticks is not None:
        return [_epoch_shape(query.ticks, longest, family)]
    return [_epoch_shape(FIRST_EPOCH * 2**number, longest, family) for number in range(EPOCHS)]


def _epoch_shape(ticks: int, longest: int, family: Family) -> tuple[int, TreeShape]:
    """The number and the shape of blocks that have so many ticks together."""
    shape = find_best_shape(1, min(ticks, longest), 1, family, total_is_public=False)
    return -(-ticks // shape.widths[0]), shape


@lru_cache(maxsize=256)  # a pure function of public facts
def _build_tree(shape: TreeShape, full_loss_noise: Noise) -> PrefixTree:
    """A share of the loss has its inverse in the scale of Laplace noise, and in the variance of Gaussian noise."""
    noises = tuple(Noise(full_loss_noise.family, full_loss_noise.parameter / share) for share in shape.budget_fractions)
    return PrefixTree(shape.widths, noises)


def sample_block_noise(block: Block, keys: int, secret: bytes) -> BlockNoise:
    """SECRET: the noise of all prefixes of a block, for each key, from the key of the block."""
    stream, tree = Randomness.from_key(secret, f"{TREE_KIND} {block.start}"), block.tree
    sizes = [tree.widths[0] // width for width in tree.widths]
    noises = [
        sample_noise(noise, size * keys, stream).reshape(size, keys)
        for noise, size in zip(tree.noises, sizes, strict=True)
    ]
    if not fits_in_int64(tree, max(int(np.abs(each).max()) for each in noises)):
        noises = [each.astype(object) for each in noises]  # exact, too
    return BlockNoise(*prefix_noise(tree, noises))


def fits_in_int64(tree: PrefixTree, largest: int) -> bool:
    """Tell whether `prefix_noise` stays within 64 bits, on the way too, if no noise is larger.

    An estimate from below is at most ``largest`` for each tick below it. With W ticks in all, the sizes of the final
    ones of a level add up to ``2 * W * largest`` more than those of the level above, so to ``(2 * depth + 1) * W *
    largest`` at most; three of these are added on the way.
    """
    depth = len(tree.radices)
    return 8 * (depth + 1) * tree.widths[0] * largest * prefix_denominator(tree) < FITTING


def round_noise(
    prefix_noises: Any, carried_noise: tuple[int, ...], tree: PrefixTree, block_denominator: int
) -> list[int]:
    """SECRET: noises of prefixes and of blocks before them, added and rounded to whole numbers, halves up.

    Args:
        prefix_noises: That of prefixes of the block, over its `prefix_denominator`.
        carried_noise: That of the blocks before, over `block_denominator`.
        tree: The tree of the block.
        block_denominator: A multiple of ``tree.over``.
    """
    radices, own = prod(tree.radices), block_denominator // tree.block_denominator
    whole = block_denominator * radices
    both = (old * radices + int(new) * own for old, new in zip(carried_noise, prefix_noises, strict=True))
    return [(2 * each + whole) // (2 * whole) for each in both]


BUFFER_KIND = "buffered counter"
SPACING = 12
REACH = 4
SHORTEST = Fraction(1, 8)
BITS = 64
"""Buffers, and decays, are multiples of ``2**-BITS``."""
PRECISE = 192
LOG_OVER_PI = 7909703528713629648
"""``log(12) / pi`` in units of ``10**-19``, rounded."""


class Buffers(NamedTuple):
    """Weights of earlier ticks in a total: a sum of exponentials.

    Attributes:
        decays: Integers over ``2**BITS``.
        weights: In units of the lattice.
    """

    decays: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class BufferedCounterState:
    """SECRET: the tick, and all buffers of each key, over ``2**BITS``."""

    tick: int
    buffers: tuple[tuple[int, ...], ...]

    def to_bytes(self) -> bytes:
        """Numbers in hexadecimal digits."""
        return encode_state(
            BUFFER_KIND, {"tick": self.tick, "buffers": [[f"{each:x}" for each in row] for row in self.buffers]}
        )


@dataclass(frozen=True, slots=True)
class BufferedCounter(TickMechanism):
    """Totals of tuples so far, with Gaussian noise: nearly a square root of cumulating, with a few buffers.

    A square root of cumulating weighs a count of k ticks before ``binomial(2 k, k) / 4**k``, which is the integral of
    ``u**k / (pi * sqrt(u * (1 - u)))`` from 0 to 1. The trapezoidal rule in ``log(u / (1 - u))``, with steps of
    ``log(SPACING)``, makes a sum of exponentials of it, one buffer each (after McMahan, Moitra and others: buffered
    linear Toeplitz). With longest ``1 / (1 - u)`` about `REACH` times the horizon its mean squared error is 1% to 2%
    below that of the square root itself, which has to remember all counts (Henzinger, Upadhyay and Upadhyay 2023).

    Formal guarantees: zero-concentrated, for streams chosen after answers too. Buffers m_j hold integers: at each tick
    ``m_j <- floor(decay_j * m_j)``, the released value is the count, in units of the lattice, plus ``floor(sum(weight_j
    * m_j))`` plus noise of its own, and then the count is added to each m_j. Let one tuple more come at tick s. All of
    this rises with the counts, so no value falls. With both sides rounded down, the difference of a buffer after k
    ticks is within ``1 / (1 - decay)`` units of ``decay**k``, for at each tick it is off by less than 1 and that decays
    too; so the value k ticks later rises by at most ``bound_k = sum(weight_j * decay_j**k) + slack`` units, where slack
    is 1 for the last rounding and next to nothing for those before, by 1 tuple for k = 0, and not at all before.
    Whatever s is, and whatever counts follow, squares add up to at most ``S = 1 + sum(bound_k**2)``, over all k below
    the horizon: `squared_sensitivity` bounds it from above in whole numbers. Given all answers before, a value is discrete
    Gaussian with a variance parameter v around its exact value: it loses rho ``shift**2 / (2 v)``, and these add up to
    ``S / (2 v)`` at most (Bun and Steinke 2016, Lemma 2.3, with the sum bounded on every path). Several tuples add
    their rises up, so k of them have squares of at most ``k**2 * S`` (triangle inequality). Tuples that go against
    tuples that come: rises p and q have no negative entry, so ``|p - q|**2 <= |p|**2 + |q|**2``. That is
    ``adjacency.squared_l2_sensitivity`` times S.
    """

    def _plan(self, query: TickQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        require_positive_loss(loss)
        if loss.is_pure:
            raise UnsupportedQuery("epsilon", "a buffered counter has Gaussian noise; give rho")
        if query.ticks is None or query.ticks > MOST_BUFFERED:
            raise UnsupportedQuery("ticks", f"a buffered counter needs a public horizon of at most {MOST_BUFFERED}")
        buffers = choose_buffers(query.ticks)
        squares = adjacency.squared_l2_sensitivity * squared_sensitivity(buffers, query.ticks)
        noise = require_drawable(Noise(Family.GAUSSIAN, squares / (2 * loss.rho)), loss)
        decays = tuple(Fraction(decay, 2**BITS) for decay in buffers.decays)
        law = BufferedPrefixes(query.keys, query.ticks, decays, buffers.weights, noise)
        error = round_error(sqrt(law.mean_variance(query.ticks)))
        return Plan(query, loss, adjacency, f"Gaussian noise through {len(decays)} buffers", law, error)

    def begin(self, plan: Plan) -> BufferedCounterState:
        """The initial state: empty buffers."""
        law = plan.law.require_type(BufferedPrefixes)
        return BufferedCounterState(0, ((0,) * len(law.decays),) * law.keys)

    def step(
        self, table: ExactTable, tick: int, state: BufferedCounterState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], BufferedCounterState]:
        """Weighted counts, each plus one draw. Raises `ValueError` after the horizon, too."""
        require_next(tick, state)
        law = plan.law.require_type(BufferedPrefixes)
        if tick > law.ticks:
            raise UnsupportedQuery("tick", f"this stream was planned for {law.ticks} ticks")
        buffers = Buffers(tuple(int(decay * 2**BITS) for decay in law.decays), law.weights)
        exact, kept = update_buffers(table.tolist(), state.buffers, buffers)
        noise = sample_noise(law.noise, law.keys, randomness)
        return add_noise(np.array(exact, dtype=object), noise.tolist()), BufferedCounterState(tick, kept)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> BufferedCounterState:
        """The state that was written."""
        facts = decode_state(BUFFER_KIND, state_bytes)
        return BufferedCounterState(
            int(facts["tick"]), tuple(tuple(int(each, 16) for each in row) for row in facts["buffers"])
        )


def update_buffers(
    counts: list[int], state: tuple[tuple[int, ...], ...], buffers: Buffers
) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """SECRET: the exact values of a tick, on the lattice, and the buffers after it, of each key."""
    values, after = [], []
    for count, row in zip(counts, state, strict=True):
        left = [decay * each >> BITS for decay, each in zip(buffers.decays, row, strict=True)]
        before = sum(weight * each for weight, each in zip(buffers.weights, left, strict=True)) >> BITS
        values.append((count << LATTICE) + before)
        after.append(tuple(each + (count << BITS) for each in left))
    return values, tuple(after)


@lru_cache(maxsize=256)  # a pure function of public facts
def choose_buffers(ticks: int) -> Buffers:
    """Exponentials whose sum is nearly a square root of cumulating, in whole numbers: the same on every machine.

    With ``x = u / (1 - u)`` the rule has ``x = REACH * ticks / SPACING**j``, ``u = x / (1 + x)``, and the weight
    ``log(SPACING) / pi * sqrt(u * (1 - u))``, where the root is that of x over ``1 + x``.
    """
    decays, weights = [], []
    odds = Fraction(REACH * ticks)
    while odds >= SHORTEST:
        decays.append(int(odds / (1 + odds) * 2**BITS))
        root = Fraction(isqrt(int(odds * 4**BITS)), 2**BITS)
        weights.append(int(Fraction(LOG_OVER_PI, 10**19) * 2**LATTICE * root / (1 + odds)))
        odds /= SPACING
    return Buffers(tuple(decays), tuple(weights))


@lru_cache(maxsize=256)  # a pure function of public facts
def squared_sensitivity(buffers: Buffers, ticks: int) -> int:
    """The most that the squares of all rises by one tuple add up to, in squared units of the lattice; see the proof.

    ``bound_k`` is a sum of geometric series, with `slack` as one that does not decay; so is its square.
    """
    one = 1 << BITS
    slack = 1 + sum(
        Fraction(weight, one) / (1 - Fraction(decay, one))
        for decay, weight in zip(buffers.decays, buffers.weights, strict=True)
    )
    total = Fraction(4**LATTICE) + slack**2 * (ticks - 1)
    for decay, weight in zip(buffers.decays, buffers.weights, strict=True):
        total += 2 * slack * weight * _bound_geometric_series(Fraction(decay, one), ticks - 1)
        for other, also in zip(buffers.decays, buffers.weights, strict=True):
            total += weight * also * _bound_geometric_series(Fraction(decay * other, one * one), ticks - 1)
    return ceil(total)


def _bound_geometric_series(ratio: Fraction, length: int) -> Fraction:
    """At least ``ratio + ratio**2 + ...``, so many terms: the last power is rounded down."""
    power, base = 1 << PRECISE, int(ratio * (1 << PRECISE))
    for bit in bin(length)[2:]:
        power = power * power >> PRECISE
        if bit == "1":
            power = power * base >> PRECISE
    return ratio * (1 - Fraction(power, 1 << PRECISE)) / (1 - ratio)
