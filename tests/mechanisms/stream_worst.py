"""Streams that PeGaSus is bad at hiding, and tuples that are chosen by the answers of a tree: exact losses of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpcurves.distributions import Family, Noise
from dpcurves_streams.distributions import GroupedCounts, PrefixTree, prefix_denominator, prefix_noise
from dpcurves_streams.mechanisms.pegasus import LATTICE_UNITS_PER_TUPLE

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Groups of a stream: one run of time steps that join, and the one that closes it.

CEILING = (6 * exp(-1 / 3) + 2) / 8
"""Part of its epsilon that the Grouper can lose at most, and in the limit of long groups and small epsilons does lose.

Where one tuple more is in the group, let its value c move from a whole number to the next. The chance of the decisions
is the mean over thresholds T of ``prod F(T - D_i) * (1 - F(T - D))``, with the deviations D_i of n time steps that
join, and D of the one that does not, F being the distribution function of the tests' noise. The slope of its logarithm
is ``w * D' - sum(w_i * D_i')``, with weights ``w_i >= 0`` and ``0 <= w <= 1 / d``. Deviations do not fall from time
step to time step, and F is logarithmically concave: the weights w_i do not fall. If all deviations move alike, T may
move instead, so ``sum(w_i) <= 1 / b + w``, which is 3 / d at most. So the slope is at most ``3 * mean - D'`` over d,
where `mean` is one over some of the last D_i'. *Slopes of deviations*: a value above the mean of m values has the slope
2 B / m, with B of them below the mean; one below it has - 2 A / m. Let S be all values that were below a mean that c
was above; then D_i' is at most ``2 * min(1, |S| / i)``. If D' is negative, c is below the last mean, and so is S: D' is
at least ``-2 (1 - g)``, with g = |S| / n. Hence the slope is at most ``6 g (1 + log(1 / g)) + 2 (1 - g)`` over d, which
is largest at ``g = exp(-1 / 3)``; if D' is not negative, it is at most 6 / d. Below a mean, all is mirrored. With d = 8
/ epsilon that is the ceiling. (Deviations are rounded down to a lattice: at worst that adds one of its steps.) A pure
loss of x is ``x**2 / 2`` zero-concentrated: of a rho the Grouper loses the square of the ceiling at most, 0.62.
"""


def worst_group(time_steps: int) -> tuple[IntArray, IntArray]:
    """Values near the ceiling, of so many time steps that join and one that does not; and with one tuple more at the
    first.

    Zeros first, as many as g says; then values so large that the mean comes near 2, which is the value of the tuple
    that may be one more. The last value takes the mean above it.
    """
    low = int(exp(-1 / 3) * time_steps)
    values = np.array([2] + [0] * low + [5] * (time_steps - low - 1))
    last = int((3.5 - values.mean()) * (time_steps + 1) + 3.5)
    ours = np.append(values, last)
    return ours, ours + (np.arange(time_steps + 1) == 0)


def deviations(values: IntArray) -> IntArray:
    """Deviations of the first value, of the first two, and so on, on the lattice, rounded down as `group` does."""
    found = np.zeros(len(values), dtype=np.int64)
    for length in range(2, len(values) + 1):
        members = values[:length]
        total = int(members.sum())
        below = members * length <= total
        found[length - 1] = (
            2 * LATTICE_UNITS_PER_TUPLE * (total * int(below.sum()) - length * int(members[below].sum())) // length
        )
    return found


def log_chance_of_group(values: IntArray, distribution: GroupedCounts) -> float:
    """The logarithm of the chance that all values join but the last, but for a constant: a sum over every noise of T.

    Where scales are large, over every k-th: what is summed is smooth on a thousandth of the scale.
    """
    found, scale, own = (
        deviations(values),
        float(distribution.threshold_noise.parameter),
        float(distribution.test_noise.parameter),
    )
    step, far = max(1, int(scale / 1000)), int(found.max() - distribution.threshold + 40 * scale)
    noise = np.arange(-int(12 * scale) // step, far // step) * step
    logs = -np.abs(noise) / scale
    for deviation, times in zip(*np.unique(found[1:-1], return_counts=True), strict=True):
        logs = logs + times * _log_below(distribution.threshold + noise - deviation, own)
    return float(logsumexp(logs + _log_below(found[-1] + 1 - distribution.threshold - noise, own)))


def _log_below(limit: IntArray, scale: float) -> FloatArray:
    """The logarithm of the chance that discrete Laplace noise is below a limit."""
    rate, near = 1 / scale, np.maximum(limit, 1 - limit)
    small = -rate * near - np.log1p(np.exp(-rate))
    logs: FloatArray = np.where(limit <= 0, small, np.log1p(-np.exp(small)))
    return logs


# A tree of noisy sums, under tuples that come where the answers before tell.


@dataclass(frozen=True)
class Tuples:
    """Rules by which one tuple comes: at a time step, if it has not come yet, by the sum and the parity of answers
    before.

    Attributes:
        comes: For each time step, whether it comes, by that class of the answers before.
    """

    comes: NDArray[np.bool_]

    def at(self, time_step: int, shown: IntArray) -> NDArray[np.bool_]:
        total = shown.sum(axis=0)
        classes = (total > 0) * 2 + total % 2
        found: NDArray[np.bool_] = self.comes[time_step][classes]
        return found


def rules(time_steps: int, number: int, seed: int) -> Iterator[Tuples]:
    """The fixed time steps, and many rules that depend on answers."""
    for time_step in range(time_steps):
        yield Tuples(np.repeat((np.arange(time_steps) == time_step)[:, None], 4, axis=1))
    chance = np.random.default_rng(seed)
    for _ in range(number):
        yield Tuples(chance.random((time_steps, 4)) < 0.5)


def distributions_of_answers(tree: PrefixTree, rule: Tuples, reach: int) -> tuple[FloatArray, FloatArray]:
    """Chances of all rows of answers of one block, without the tuple and with it; noise up to `reach` at each node."""
    sizes = [tree.widths[0] // width for width in tree.widths]
    grid = np.array(list(product(range(-reach, reach + 1), repeat=sum(sizes))), dtype=np.int64).T
    weights = np.zeros(grid.shape[1])
    for nodes, noise in zip(np.split(grid, np.cumsum(sizes)[:-1]), tree.noises, strict=True):
        weights += _log_weights(nodes, noise).sum(axis=0)
    chances, noises = np.exp(weights - logsumexp(weights)), prefix_noise(tree, np.split(grid, np.cumsum(sizes)[:-1]))[0]
    over = prefix_denominator(tree)
    keys = []
    for more in (False, True):
        shown, come = np.zeros((0, grid.shape[1]), dtype=np.int64), np.zeros(grid.shape[1], dtype=np.bool_)
        for time_step in range(tree.widths[0]):
            come = come | rule.at(time_step, shown)
            answer = (more & come) + (2 * noises[time_step] + over) // (2 * over)
            shown = np.concatenate((shown, answer[None]))
        keys.append(shown)
    both = np.concatenate(keys, axis=1)
    low = both.min()
    codes = np.ravel_multi_index(tuple(both - low), (int(both.max() - low) + 1,) * len(both))
    found, places = np.unique(codes, return_inverse=True)
    halves = places.ravel()[: grid.shape[1]], places.ravel()[grid.shape[1] :]
    first, second = (np.bincount(half, chances, len(found)).astype(np.float64) for half in halves)
    return first, second


def _log_weights(nodes: IntArray, noise: Noise) -> FloatArray:
    size = float(noise.parameter)
    logs: FloatArray = -np.abs(nodes) / size if noise.family is Family.LAPLACE else -np.square(nodes) / (2 * size)
    return logs


def divergence_over_order(ours: FloatArray, theirs: FloatArray, order: float, negligible: float) -> float:
    """Divergence of Renyi, over its order; answers of a chance below `negligible` on one side are left out.

    Noise is cut off at some reach: what lies beyond would be infinitely likelier on one side. A sum of positive terms
    of which some are left out is smaller, by less than these chances where they are tiny.
    """
    kept = (ours > negligible) & (theirs > negligible)
    total = float(np.sum(ours[kept] ** order * theirs[kept] ** (1 - order)))
    return float(np.log(total)) / (order * (order - 1))
