"""Continual counting: private running totals of a stream, by the tree (binary) mechanism or a matrix factorization.

At each time step t, the exact counts of the step come in, and the totals over the steps 1 to t are released with noise.
Independent noise on each step would add up to a variance that grows like t. Two mechanisms need much less:

    TreeCounter        adds noise to sums over blocks of steps (tree aggregation). A total is the sum of few blocks, so
                       its variance grows with a power of log t
    BufferedCounter    correlates the noise of successive steps by a matrix factorization that needs constant memory

Both guarantee the privacy loss of the plan for all time steps together; proofs are in the docstrings of the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, isqrt, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import Family, Noise
from dpcurves.distributions.output_distribution import round_error
from dpcurves.mechanisms import ExactTable
from dpcurves.mechanisms.linear import calibrate_noise, require_drawable, require_positive_loss, sample_noise
from dpcurves.mechanisms.tree_strategy import TreeShape, find_best_shape
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss

from ..distributions import (
    LATTICE_BITS,
    Block,
    BufferedPrefixes,
    Epoch,
    PrefixTree,
    TreeCounts,
    WeightedSteps,
    prefix_denominator,
    prefix_noise,
)
from ..queries import MOST_TIME_STEPS, TimeStepQuery
from .hierarchy import TimeStepMechanism, add_noise
from .sequential import decode_state, encode_state, require_next

# Shapes of small consecutive trees that minimise the error of sums over sliding windows.


@lru_cache(maxsize=256)  # a pure function of public facts
def best_window_shape(windows: tuple[int, ...], family: Family) -> TreeShape:
    """Return the tree shape with the least error over all windows: noise on single steps, or on steps and on blocks.

    The error is the sum over windows of the mean variance over the positions of the window's end in a block, relative
    to noise on single steps. Blocks have a power of two steps, up to the longest window.

    Args:
        windows: Lengths of the windows in steps.
        family: Laplace or Gaussian noise.

    >>> best_window_shape((1,), Family.LAPLACE).widths, best_window_shape((256,), Family.LAPLACE).widths
    ((1,), (32, 1))
    """
    shapes = [TreeShape((1,), (Fraction(1),))]
    fraction_steps = 20  # steps: budget fractions that are tried are multiples of 1/20
    for power in range(1, max(windows).bit_length()):
        shapes += [
            TreeShape((2**power, 1), (Fraction(part, fraction_steps), Fraction(fraction_steps - part, fraction_steps)))
            for part in range(1, fraction_steps)
        ]
    return min(shapes, key=lambda shape: (_relative_window_error(shape, windows, family), len(shape.widths), shape))


def _relative_window_error(shape: TreeShape, windows: tuple[int, ...], family: Family) -> float:
    """Return the sum over windows of the mean variance of a window sum, relative to noise on single steps.

    Args:
        shape: Shape of the tree of a block of steps.
        windows: Lengths of the windows in steps.
        family: Family of the noise.
    """
    whole = Fraction(10**6)
    tree = PrefixTree(shape.widths, tuple(Noise(family, whole / share) for share in shape.budget_fractions))
    alone = Noise(family, whole).variance
    return round_error(sum(mean_window_variance(tree, window) / (window * alone) for window in windows))


def mean_window_variance(tree: PrefixTree, window: int) -> float:
    """Return the mean variance of a window sum over the positions of its end, for consecutive equal blocks.

    For at most two levels: a window covers parts of two blocks with whole blocks between, or lies in one block.

    Args:
        tree: Tree over each block of steps, with one or two levels.
        window: Number of steps of a window.
    """
    width = tree.widths[0]
    ends = np.arange(1, width + 1)
    starts = ends - window  # negative: steps of the window before the block of its end
    first = np.maximum(starts, 0)
    total = _partial_block_variance(tree, ends - first)
    whole_blocks, partial = np.divmod(np.maximum(-starts, 0), width)
    return float(np.mean(total + whole_blocks * tree.node_variances[0] + _partial_block_variance(tree, partial)))


def _partial_block_variance(tree: PrefixTree, time_steps: IntArray) -> FloatArray:
    """Return the noise variance of the sum of some consecutive steps of a block, equal for any position in it.

    Args:
        tree: Tree over a block of steps, with one or two levels.
        time_steps: Numbers of steps, each from 0 to the steps of a block.

    Returns:
        Variances, of the shape of `time_steps`.
    """
    fraction = time_steps / tree.widths[0]
    contrasts = 0.0 if len(tree.widths) == 1 else tree.node_variances[1] * time_steps * (1 - fraction)
    variances: FloatArray = tree.node_variances[0] * fraction**2 + contrasts
    return variances


TREE_KIND = "tree counter"
"""Name of this mechanism in stored states and in the context of its noise; a state of another name is refused."""
FIRST_EPOCH = 64
"""Steps of the first epoch of a stream without a horizon; each later epoch is twice as long and has its own trees of
noise."""
INTEGER_BOUND = 2**62
"""Bound below which sums of noise are computed with 64-bit integers, and else with Python's."""


@dataclass(frozen=True, slots=True, repr=False)
class TreeCounterState:
    """SECRET: running totals, the noise of finished blocks, and the secret of the current block's noise.

    Attributes:
        time_step: Last step that was released.
        counts: Exact running total of each key.
        carried_noise: Noise of all finished blocks, per key, over `TreeCounts.block_denominator`.
        secret: Seed of the block's noise, whose nodes are drawn again whenever they are needed.
        block_noise: Noise of all prefixes of the block, a cache that is not serialised.
    """

    time_step: int
    counts: tuple[int, ...]
    carried_noise: tuple[int, ...]
    secret: bytes
    block_noise: BlockNoise | None = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """SECRET: return the state as bytes, without the cached noise; numbers are in hexadecimal."""
        numbers = {"counts": self.counts, "carried": self.carried_noise}
        hexadecimal = {name: [f"{number:x}" for number in numbers[name]] for name in numbers}
        return encode_state(TREE_KIND, {"time_step": self.time_step, "secret": self.secret.hex(), **hexadecimal})


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BlockNoise:
    """SECRET: noise of a block's prefixes, (time_steps, keys), over `prefix_denominator`, and of the whole block."""

    prefixes: Any
    whole_block: Any


@dataclass(frozen=True, slots=True)
class TreeCounter(TimeStepMechanism):
    """Running totals at every step: the exact total plus noise from one tree, combined by least squares.

    With a public horizon the tree has the shape that `find_best_shape` finds for prefixes. Without a horizon, blocks of
    doubling epochs follow one another, each with the best tree for its length. If windows were declared, small equal
    blocks follow one another without end, of the shape with the least error of differences of prefixes
    (`best_window_shape`).

    Formal guarantees: let x be the counts of a block, cell by cell, A the lower triangle of ones, R the matrix that
    sums the steps of each node of the tree, and z the independent integer noises of the nodes. The release at step t is
    ``(A x + L z)_t`` plus the same for earlier whole blocks, rounded, with the L of `prefix_noise`, for which ``L R =
    A``. All is computed in fractions and rounded once, so the releases are a function of ``R x + z``, block by block:
    they lose what noisy sums of all nodes lose, although the release at step t uses z of nodes that have not begun.

    *Proof, including streams chosen after releases.* Let the stream's chooser add a tuple at step s of the block or
    not, and choose s from earlier releases. Compare z without the tuple to ``z' = z - R e_s`` with it. Before s nothing
    differs, as ``(L R e_s)_t = (A e_s)_t = 0`` for t < s: the same releases, so the same s. From s on the exact total
    is 1 larger and ``L z'`` is 1 smaller: the same releases, hence the same later counts. So z to z' is a bijection of
    all noises that preserves all releases (from z' the releases determine s, and s determines z). It shifts one node of
    each level by 1. *Pure*: discrete Laplace noises of scales b_l lose at most ``sum(1 / b_l)``, for any s.
    *Zero-concentrated*: let ``rho = sum(1 / (2 v_l))`` for discrete Gaussian noises. Given the noises ``(L z)_t`` of
    all t < s, which choose s, z lies on a lattice that is invariant under ``R e_s``. At an integer order a the Renyi
    divergence of such a slice sums ``p(z + (a - 1) R e_s)`` over it, which is the slice's probability, times ``exp(a (a
    - 1) rho)``; all slices together give ``a rho``. If the stream does not depend on releases, s is fixed, and the loss
    equals the loss of noisy sums of all nodes, at every order: zero-concentrated with rho. (So if tuples are chosen
    from releases, rho is proven for orders 2, 3, 4, ... only.) Level l has the fraction s_l of the loss, and fractions
    sum to 1. A unit moves at most ``adjacency.l1_sensitivity`` tuples: pure losses add up over these; the counts of a
    level's nodes change by squares of at most ``adjacency.squared_l2_sensitivity``, for any steps of the tuples.
    *End of proof.*

    The noise of a block is drawn from a secret that is fresh for each block (`Randomness.from_key`): independent to a
    computationally bounded observer, like all output of the operating system's generator.
    """

    def _plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of noisy running totals by trees of noise, from public facts alone.

        The error of the plan is the root mean noise variance over the windows, or over the first steps.

        Args:
            query: Keys, steps and windows that are counted.
            loss: Privacy loss of the whole stream.
            adjacency: Neighbouring streams.
        """
        whole = calibrate_noise(query, loss, adjacency)
        epochs = tuple(Epoch(blocks, _build_tree(shape, whole)) for blocks, shape in epoch_shapes(query, whole.family))
        distribution = TreeCounts(query.keys, epochs)
        if query.windows:
            errors = [mean_window_variance(epochs[0].tree, window) for window in query.windows]
            error = sqrt(sum(errors) / len(errors))
        else:
            error = sqrt(distribution.mean_variance(query.time_steps or FIRST_EPOCH * 2**4))
        return Plan(
            query, loss, adjacency, "least-squares noise of a tree on counts so far", distribution, round_error(error)
        )

    def begin(self, plan: Plan) -> TreeCounterState:
        """Return the state before the first step: zero totals, no noise of earlier blocks, and no secret yet.

        Args:
            plan: Plan of the stream.
        """
        keys = plan.distribution.require_type(TreeCounts).keys
        return TreeCounterState(0, (0,) * keys, (0,) * keys, b"")

    def step(
        self, table: ExactTable, time_step: int, state: TreeCounterState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], TreeCounterState]:
        """Return running totals, each plus the noise of its prefix, rounded.

        Args:
            table: Exact counts of the time step. SECRET.
            time_step: Number of the time step, from 1.
            state: State after the step before. SECRET.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            Noisy running totals, one per key, and the state after this step (SECRET).
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(TreeCounts)
        block = distribution.block(time_step)
        position = time_step - block.start - 1
        secret = randomness.random_bytes(32) if position == 0 else state.secret
        noise = (None if position == 0 else state.block_noise) or sample_block_noise(block, distribution.keys, secret)
        counts = add_noise(table, list(state.counts))
        noise_of_prefix = round_noise(
            noise.prefixes[position], state.carried_noise, block.tree, distribution.block_denominator
        )
        answers = add_noise(np.array(counts, dtype=object), noise_of_prefix)
        if position + 1 < block.tree.widths[0]:
            return answers, TreeCounterState(time_step, counts, state.carried_noise, secret, noise)
        # exact: the deepest tree of the distribution has the largest denominator, a multiple of all others
        multiple = distribution.block_denominator // block.tree.block_denominator
        carried = tuple(
            old + int(new) * multiple for old, new in zip(state.carried_noise, noise.whole_block, strict=True)
        )
        return answers, TreeCounterState(time_step, counts, carried, b"")

    def restore_state(self, state_bytes: bytes, plan: Plan) -> TreeCounterState:
        """Parse the serialised state; the block's noise is drawn again when it is needed.

        Args:
            state_bytes: Output of the state's `to_bytes`.
            plan: Plan of the stream; without effect.
        """
        fields = decode_state(TREE_KIND, state_bytes)
        counts, carried = (tuple(int(digits, 16) for digits in fields[name]) for name in ("counts", "carried"))
        return TreeCounterState(int(fields["time_step"]), counts, carried, bytes.fromhex(fields["secret"]))


def epoch_shapes(query: TimeStepQuery, family: Family) -> list[tuple[int, TreeShape]]:
    """Return how a stream is divided into epochs of blocks of time steps, each block with a tree of noise.

    It depends on public facts alone. Many keys make blocks shorter, so that their noise fits into memory.

    Args:
        query: Counts of a stream.
        family: Laplace or Gaussian noise.

    Returns:
        For each epoch in order, its number of blocks and their shape; the last epoch repeats in a stream without end.
    """
    # 2**22 steps of a block times keys: the most whose noise is in memory at once
    longest = max(2**22 // query.keys, 1)
    if query.windows:
        return [(1, best_window_shape(query.windows, family))]
    if query.time_steps is not None:
        return [_epoch_shape(query.time_steps, longest, family)]
    # doubling epochs: a million steps; then the last epoch repeats
    return [_epoch_shape(FIRST_EPOCH * 2**number, longest, family) for number in range(14)]


def _epoch_shape(time_steps: int, longest: int, family: Family) -> tuple[int, TreeShape]:
    """Return how an epoch of `time_steps` steps is divided into blocks with a tree of noise each.

    Args:
        time_steps: Number of steps to cover.
        longest: Largest number of steps that the shape of a block is chosen for.
        family: Family of the noise.

    Returns:
        Number of blocks, and their common shape; the last block may reach past the steps.
    """
    shape = find_best_shape(1, min(time_steps, longest), 1, family, total_is_public=False)
    return -(-time_steps // shape.widths[0]), shape


@lru_cache(maxsize=256)  # a pure function of public facts
def _build_tree(shape: TreeShape, full_loss_noise: Noise) -> PrefixTree:
    """Return the tree of noise of a block, with the scale of each level by its budget fraction.

    A budget fraction divides the scale of Laplace noise, and the variance of Gaussian noise.

    Args:
        shape: Widths of the levels, and their budget fractions.
        full_loss_noise: Noise that a single count would have if it were released with the whole loss.
    """
    noises = tuple(Noise(full_loss_noise.family, full_loss_noise.parameter / share) for share in shape.budget_fractions)
    return PrefixTree(shape.widths, noises)


def sample_block_noise(block: Block, keys: int, secret: bytes) -> BlockNoise:
    """SECRET: draw the noise of all prefixes of a block, for each key, from the block's secret.

    Args:
        block: First time step and tree of the block.
        keys: Number of keys.
        secret: Secret of the block, from which its noise is derived.
    """
    stream = Randomness.from_key(secret, f"{TREE_KIND} {block.start}")
    tree = block.tree
    sizes = [tree.widths[0] // width for width in tree.widths]
    noises = [
        sample_noise(noise, size * keys, stream).reshape(size, keys)
        for noise, size in zip(tree.noises, sizes, strict=True)
    ]
    if not fits_in_int64(tree, max(int(np.abs(draws).max()) for draws in noises)):
        noises = [draws.astype(object) for draws in noises]  # Python integers, which are exact too
    return BlockNoise(*prefix_noise(tree, noises))


def fits_in_int64(tree: PrefixTree, largest: int) -> bool:
    """Return True if all intermediate values of `prefix_noise` fit into 64 bits, given the largest absolute noise of a
    node.

    A bottom-up estimate is at most ``largest`` for each step below it. With W steps in all, the absolute final values
    of a level sum to at most ``2 * W * largest`` more than the values of the level above, so to at most ``(2 * depth +
    1) * W * largest``; up to three of these are added.

    Args:
        tree: Tree over a block of steps.
        largest: Largest absolute value of the noise of a node.
    """
    depth = len(tree.radices)
    return 8 * (depth + 1) * tree.widths[0] * largest * prefix_denominator(tree) < INTEGER_BOUND


def round_noise(
    prefix_noises: Any, carried_noise: tuple[int, ...], tree: PrefixTree, block_denominator: int
) -> list[int]:
    """SECRET: return the noise of running totals as integers: noise within the block plus noise of earlier blocks.

    Sums are rounded to the nearest integer, halves up.

    Args:
        prefix_noises: Noise of the block's prefix up to this step for each key, over the tree's `prefix_denominator`.
        carried_noise: Noise of earlier blocks for each key, over `block_denominator`.
        tree: Tree of the block.
        block_denominator: A multiple of ``tree.block_denominator``.
    """
    radices = prod(tree.radices)
    multiple = block_denominator // tree.block_denominator
    denominator = block_denominator * radices
    numerators = (old * radices + int(new) * multiple for old, new in zip(carried_noise, prefix_noises, strict=True))
    return [(2 * numerator + denominator) // (2 * denominator) for numerator in numerators]


BUFFER_KIND = "buffered counter"
"""Name of this mechanism in stored states; a state of another name is refused."""
MEMORY_RATIO = 12
"""Ratio of the memories, in steps, of successive buffers: smaller means more buffers, and a closer approximation of
the square root."""
WORD_BITS = 64
"""Bits. Buffers and decays are multiples of ``2**-64``; more bits round less."""
FRACTION_BITS = 192
"""Binary digits after the point of powers in an upper bound of the effect of one tuple. Powers are rounded down, so
that it stays an upper bound; more digits make it tighter."""
ENDLESS_MEMORY = 2**36
"""Steps. Longest memory of a buffer of streams without a horizon: the error of totals grows as a logarithm until then.
"""


class Buffers(NamedTuple):
    """Weights of earlier steps in a released value: a sum of exponentials.

    Attributes:
        decays: Integers over ``2**WORD_BITS``.
        weights: Integers in units of the lattice.
    """

    decays: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class BufferedCounterState:
    """SECRET: the step, and all buffers of each key, over ``2**WORD_BITS``."""

    time_step: int
    buffers: tuple[tuple[int, ...], ...]

    def to_bytes(self) -> bytes:
        """SECRET: return the state as bytes; numbers are in hexadecimal."""
        return encode_state(
            BUFFER_KIND,
            {"time_step": self.time_step, "buffers": [[f"{number:x}" for number in row] for row in self.buffers]},
        )


@dataclass(frozen=True, slots=True)
class BufferedCounter(TimeStepMechanism):
    """Running totals with Gaussian noise, by nearly the square-root factorization of prefix sums with equal columns.

    The square root of the prefix-sum matrix weights a count of k steps before by ``binomial(2 k, k) / 4**k``, which is
    the integral of ``u**k / (pi * sqrt(u * (1 - u)))`` from 0 to 1. The trapezoidal rule in ``log(u / (1 - u))``, with
    step ``log(MEMORY_RATIO)``, approximates it by a sum of exponentials, one buffer each (buffered linear Toeplitz,
    after McMahan, Moitra and others). Late counts are in few values. So counts are divided by about the length of their
    column, and any step loses nearly the same: the mean squared error is 3 % above the least of all matrices, where the
    plain square root, which must remember all counts, is 10 % above it (Henzinger, Kalinin and Upadhyay 2025).

    *Without a horizon*, all columns are endless. So a count of step s is added to a buffer of memory m > 2 s with the
    weight ``(2 s / m)**(1/4)`` only. Columns then have a finite length, which grows with the logarithm of s, and memory
    is constant. For each t up to 2**24, the mean squared error of the first t totals is at most 1.45 times the error
    for the horizon t, and 1.32 times from 4 steps on. (Jacobsen and Pagh 2025, arXiv 2506.15018, damp all columns alike
    instead, and remember all counts.)

    Formal guarantees: zero-concentrated, including streams chosen after releases. A count of step s is multiplied by
    public integers: by g in its own value, and by h_j when it is added to buffer j (`weigh_steps`). Buffers m_j hold
    integers: at each step ``m_j <- floor(decay_j * m_j)``; the released value is g times the count, in units of the
    lattice, plus ``floor(sum(weight_j * m_j))`` plus independent noise; then h_j times the count is added to m_j. Add
    one tuple at step s. All of this is monotone in the counts, so no value decreases. With both sides rounded down, the
    difference of a buffer after k steps is within ``1 / (1 - decay)`` units of ``h_j * decay**k``, as each step adds an
    error below 1, which decays too. So the value k steps later increases by at most ``bound_k = sum(weight_j * h_j *
    decay_j**k) + slack`` units, where slack is 1 for the last rounding plus almost nothing for the earlier ones; by g
    for k = 0; and not at all before. For this s and any later counts, the squares sum to at most ``g**2 +
    sum(bound_k**2)`` over all k until the horizon, or until step `MOST_TIME_STEPS` of an endless stream, the last one
    that is released. `squared_sensitivity` bounds it from above in integers: S is the largest sum of any s. Given all
    earlier releases, a value is discrete Gaussian with variance parameter v around its exact value: it loses rho
    ``shift**2 / (2 v)``, and these sum to at most ``S / (2 v)`` (Bun and Steinke 2016, Lemma 2.3, with the sum bounded
    on every path). The increases of several tuples add up, so k of them have squares of at most ``k**2 * S`` (triangle
    inequality). If tuples are added and removed, the changes p and q have no negative entry, so ``|p - q|**2 <= |p|**2
    + |q|**2``. That is ``adjacency.squared_l2_sensitivity`` times S.
    """

    def _plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of noisy running totals by a buffered counter, from public facts alone.

        The error of the plan is the error of the totals until the horizon, or of the first totals of an endless stream.

        Args:
            query: Keys and steps that are counted.
            loss: Privacy loss of the whole stream, in rho.
            adjacency: Neighbouring streams.

        Raises:
            UnsupportedQuery: the loss is pure or zero.
        """
        require_positive_loss(loss)
        if loss.is_pure:
            raise UnsupportedQuery("epsilon", "a buffered counter has Gaussian noise; give a loss in rho")
        buffers = choose_buffers(query.time_steps)
        runs = weigh_steps(buffers, query.time_steps)
        squares = adjacency.squared_l2_sensitivity * squared_sensitivity(buffers, runs)
        noise = require_drawable(Noise(Family.GAUSSIAN, squares / (2 * loss.rho)), loss)
        decays = tuple(Fraction(decay, 2**WORD_BITS) for decay in buffers.decays)
        distribution = BufferedPrefixes(
            query.keys, query.time_steps or MOST_TIME_STEPS, runs, decays, buffers.weights, noise
        )
        error = round_error(sqrt(distribution.mean_variance(query.time_steps or FIRST_EPOCH * 2**4)))
        return Plan(query, loss, adjacency, f"Gaussian noise through {len(decays)} buffers", distribution, error)

    def begin(self, plan: Plan) -> BufferedCounterState:
        """Return the initial state: empty buffers.

        Args:
            plan: Plan of the stream.
        """
        distribution = plan.distribution.require_type(BufferedPrefixes)
        return BufferedCounterState(0, ((0,) * len(distribution.decays),) * distribution.keys)

    def step(
        self, table: ExactTable, time_step: int, state: BufferedCounterState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], BufferedCounterState]:
        """Return weighted sums of the counts so far, each plus one draw of noise.

        Args:
            table: Exact counts of the time step. SECRET.
            time_step: Number of the time step, from 1.
            state: State after the step before. SECRET.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            Noisy numbers, one per key, and the state after this step (SECRET).

        Raises:
            UnsupportedQuery: the step is after the last planned one.
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(BufferedPrefixes)
        if time_step > distribution.time_steps:
            raise UnsupportedQuery(
                "time_step",
                f"this stream was planned for {distribution.time_steps} steps, which are released; begin a new stream",
            )
        buffers = Buffers(tuple(int(decay * 2**WORD_BITS) for decay in distribution.decays), distribution.weights)
        exact, new_buffers = update_buffers(table.tolist(), distribution.run_of_step(time_step), state.buffers, buffers)
        noise = sample_noise(distribution.noise, distribution.keys, randomness)
        return add_noise(np.array(exact, dtype=object), noise.tolist()), BufferedCounterState(time_step, new_buffers)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> BufferedCounterState:
        """Return the state that stored bytes hold, as `to_bytes` wrote them. SECRET.

        Args:
            state_bytes: The bytes.
            plan: Without effect here.

        Raises:
            ValueError: the bytes are not a state of this mechanism.
        """
        fields = decode_state(BUFFER_KIND, state_bytes)
        return BufferedCounterState(
            int(fields["time_step"]), tuple(tuple(int(digits, 16) for digits in row) for row in fields["buffers"])
        )


def update_buffers(
    counts: list[int], run: WeightedSteps, state: tuple[tuple[int, ...], ...], buffers: Buffers
) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """SECRET: return the exact weighted sums that a step releases after adding noise, and the buffers after the step.

    Args:
        counts: Exact counts of the step, one per key.
        run: Weights of this step.
        state: Buffers after the step before: one row per key.
        buffers: Decays and weights of the buffers.

    Returns:
        Values as integers in units of ``2**-LATTICE_BITS`` records, one per key, and the new buffers, one row per key.
    """
    values = []
    after = []
    inputs = run.inputs or (run.weight,) * len(buffers.decays)
    for count, row in zip(counts, state, strict=True):
        decayed = [decay * number >> WORD_BITS for decay, number in zip(buffers.decays, row, strict=True)]
        carried = sum(weight * number for weight, number in zip(buffers.weights, decayed, strict=True)) >> WORD_BITS
        values.append(count * run.weight + carried)
        after.append(
            tuple(
                number + (count * added << WORD_BITS - LATTICE_BITS)
                for number, added in zip(decayed, inputs, strict=True)
            )
        )
    return values, tuple(after)


@lru_cache(maxsize=256)  # a pure function of public facts
def choose_buffers(time_steps: int | None) -> Buffers:
    """Return decays and weights of buffers, exponentials whose sum approximates the square root of the prefix-sum
    matrix.

    They are integers that are equal on every machine. With ``x = u / (1 - u)`` the nodes of the trapezoidal rule are
    the memories x of `list_memories`, ``u = x / (1 + x)``, and the weights ``log(MEMORY_RATIO) / pi * sqrt(u * (1 -
    u))``, where the root equals ``sqrt(x) / (1 + x)``.

    Args:
        time_steps: Number of steps of the stream; None: no end.
    """
    decays = []
    weights = []
    for memory in list_memories(time_steps):
        decays.append(int(memory / (1 + memory) * 2**WORD_BITS))
        root = Fraction(isqrt(int(memory * 4**WORD_BITS)), 2**WORD_BITS)
        # log(12) / pi in units of 10**-19; 12 is MEMORY_RATIO
        weights.append(int(Fraction(7909703528713629648, 10**19) * 2**LATTICE_BITS * root / (1 + memory)))
    return Buffers(tuple(decays), tuple(weights))


def list_memories(time_steps: int | None) -> list[Fraction]:
    """Return the memories of a buffered counter's buffers (steps over which a count fades), from long to short.

    Args:
        time_steps: Number of steps of the stream; None: no end.

    >>> [float(memory) for memory in list_memories(1)]
    [32.0, 2.6666666666666665, 0.2222222222222222]
    """
    # The longest memory is 32 horizons: of 1, 2, 4, ..., 64 it has the least error at 256 and 1,024 steps.
    memories = [Fraction(ENDLESS_MEMORY if time_steps is None else 32 * time_steps)]
    # Fraction(1, 8) steps: shortest memory of a buffer
    while memories[-1] / MEMORY_RATIO >= Fraction(1, 8):
        memories.append(memories[-1] / MEMORY_RATIO)
    return memories


@lru_cache(maxsize=256)  # a pure function of public facts
def weigh_steps(buffers: Buffers, time_steps: int | None) -> tuple[WeightedSteps, ...]:
    """Return the weights by which counts are multiplied so that a tuple at any step loses nearly the same privacy.

    A weight is one over the length of the step's column in the strategy matrix, rounded down, by exact arithmetic.
    Consecutive steps share the weight of the first of them, whose column is the longest.

    Args:
        buffers: Decays and weights of the buffers.
        time_steps: Number of steps of the stream; None: no end.

    Returns:
        Runs of consecutive steps with one weight, in order.
    """
    if time_steps is None:
        return tuple(_weigh_endless_steps(buffers))
    runs = list[WeightedSteps]()
    remaining = time_steps
    while remaining:
        # 16: steps with equal weights are a sixteenth of the steps that remain: their error is 0.2 % above the error of
        # weights for each step
        steps = max(remaining // 16, 1)
        unit = WeightedSteps(1, 2**LATTICE_BITS)
        runs.append(WeightedSteps(steps, isqrt(16**LATTICE_BITS // _squared_length(buffers, unit, remaining))))
        remaining -= steps
    return tuple(runs)


def _weigh_endless_steps(buffers: Buffers) -> Iterator[WeightedSteps]:
    """Yield runs of time steps of doubling length, up to `MOST_TIME_STEPS` steps. All steps of a run have one weight.

    A buffer whose memory is longer than twice the number of steps so far gets a smaller input: divided by the fourth
    root of ``memory / (2 * steps)``. The factor 2 and the exponent 1/4 minimise the worst-case error among the factors
    1, 2, 4, ..., 32 and the exponents 1/4, 3/8 and 1/2.

    Args:
        buffers: Decays and weights of the buffers.

    Yields:
        Runs in order; weights in units of ``2**-LATTICE_BITS``.
    """
    step = 1
    while step <= MOST_TIME_STEPS:
        inputs = []
        for memory in list_memories(None):
            share = min(Fraction(2 * step) / memory, Fraction(1))
            inputs.append(isqrt(isqrt(int(share * 16**LATTICE_BITS))))
        squares = _squared_length(buffers, WeightedSteps(1, 2**LATTICE_BITS, tuple(inputs)), MOST_TIME_STEPS)
        weight = isqrt(16**LATTICE_BITS // squares)
        steps = min(step, MOST_TIME_STEPS - step + 1)
        yield WeightedSteps(steps, weight, tuple(weight * added >> LATTICE_BITS for added in inputs))
        step += steps


@lru_cache(maxsize=256)  # a pure function of public facts
def squared_sensitivity(buffers: Buffers, runs: tuple[WeightedSteps, ...]) -> int:
    """Return the squared sensitivity of a buffered counter: a bound on the sum of squared increases by one tuple.

    It is in squared units of the lattice; the class `BufferedCounter` has the proof. The first step of a run bounds the
    others, which have the same weights and fewer values.

    Args:
        buffers: Decays and weights of the buffers.
        runs: Runs of steps with equal weights, in order.
    """
    remaining = accumulate(run.steps for run in reversed(runs))
    return max(_squared_length(buffers, run, steps) for run, steps in zip(reversed(runs), remaining, strict=True))


@lru_cache(maxsize=2048)  # a pure function of public facts
def _squared_length(buffers: Buffers, run: WeightedSteps, values: int) -> int:
    """Return a bound on the squared sensitivity of released values to one tuple: the sum of their squared increases.

    The tuple is in the first of the steps. ``bound_k`` is a sum of geometric series, with `slack` as one that does not
    decay; so is its square.

    Args:
        buffers: Decays and weights of the buffers.
        run: Weights of the tuple's step.
        values: Number of released values from this step on.
    """
    one = 1 << WORD_BITS
    inputs = run.inputs or (run.weight,) * len(buffers.decays)
    series = [
        (decay, weight * Fraction(added, 1 << LATTICE_BITS))
        for decay, weight, added in zip(buffers.decays, buffers.weights, inputs, strict=True)
    ]
    slack = 1 + sum(Fraction(weight, one - decay) for decay, weight in zip(*buffers, strict=True))
    total = Fraction(run.weight**2) + slack**2 * (values - 1)
    for index, (decay, size) in enumerate(series):
        total += 2 * slack * size * _bound_geometric_series(Fraction(decay, one), values - 1)
        for other, other_size in series[: index + 1]:
            count = 1 if other == decay else 2  # the product of two different buffers occurs twice
            total += count * size * other_size * _bound_geometric_series(Fraction(decay * other, one * one), values - 1)
    return ceil(total)


def _bound_geometric_series(ratio: Fraction, length: int) -> Fraction:
    """Return an upper bound of ``ratio + ratio**2 + ... + ratio**length``, in exact fractions of bounded size.

    Args:
        ratio: Ratio of successive terms, below 1.
        length: Number of terms.
    """
    power = 1 << FRACTION_BITS
    base = int(ratio * (1 << FRACTION_BITS))
    for bit in bin(length)[2:]:
        power = power * power >> FRACTION_BITS
        if bit == "1":
            power = power * base >> FRACTION_BITS
    return ratio * (1 - Fraction(power, 1 << FRACTION_BITS)) / (1 - ratio)
