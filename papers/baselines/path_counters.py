"""Running totals of a stream with the noise of a few nodes of a tree, for comparison with least squares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpcurves.arguments import InvalidArgument
from dpcurves.mechanisms.lazy_tree import signed_blocks
from dpcurves.noise import discrete_laplace
from dpcurves.noise.randomness import Randomness

Node = tuple[int, int]
"""A level, and a number on it."""
Signs = dict[Node, int]


@dataclass(frozen=True, slots=True)
class PathCounter:
    """The exact number of tuples so far plus the signed noises of some nodes.

    Formal guarantees: let L have the signs of step t in row t, and let R be an integer matrix with ``L R = A``, the
    lower triangle of ones, whose columns have absolute sums of at most `nodes`. A further tuple at step s is hidden by
    noises shifted by column s of R, for fixed streams and for streams chosen after releases: see the proof in
    `TreeCounter`. Noises have scale ``nodes / epsilon``, so all releases together lose epsilon (event level, one tuple
    added or removed). `accounts` returns the columns of R.

    Attributes:
        nodes: Largest number of noises that one tuple shifts.
        noises: Signed nodes of each step.
        accounts: Noises that one tuple at a step shifts.
    """

    nodes: int
    noises: Callable[[int], Signs]
    accounts: Callable[[int], Signs]

    def step(
        self,
        count: int,
        time_step: int,
        state: tuple[int, Mapping[Node, int]],
        epsilon: Fraction,
        randomness: Randomness,
    ) -> tuple[int, tuple[int, dict[Node, int]]]:
        """Return the noisy total after a step, and the state: the exact total with the noises of its nodes.

        Nodes that a step no longer uses are dropped, since none comes back.
        """
        total, known = state[0] + count, state[1]
        signs = self.noises(time_step)
        new = [node for node in signs if node not in known]
        draws = discrete_laplace.sample(self.nodes / epsilon, len(new), randomness).tolist()
        new_noises = dict(zip(new, draws, strict=True))
        noises = {node: known[node] if node in known else new_noises[node] for node in signs}
        return total + sum(sign * noises[node] for node, sign in signs.items()), (total, noises)


def theorem_3(time_steps: int) -> PathCounter:
    """Noise of all blocks that contain step t (Barczewski, Mawass and Ramon, Theorem 3), for a public horizon.

    The index in the noise is t, and a tuple counts 1 (the paper does not bound it): then ``ceil((L + 1) / 2)`` noises
    suffice for L + 1 levels. `prefix_walks` returns the tuples that a block accounts for.
    """
    levels = (time_steps - 1).bit_length() + 1
    blocks = [(level, number) for level in range(levels) for number in range(-(-time_steps // 2**level))]
    shifts: dict[int, Signs] = {time_step: {} for time_step in range(1, time_steps + 1)}
    for block in blocks:
        for term in signed_blocks(time_steps, levels, block):
            for cell in range(term.low, term.high):
                shifts[cell + 1][block] = shifts[cell + 1].get(block, 0) + term.sign
    return PathCounter(
        levels // 2 + levels % 2,
        lambda time_step: {(level, (time_step - 1) >> level): 1 for level in range(levels)},
        lambda time_step: shifts[time_step],
    )


def binary(time_steps: int) -> PathCounter:
    """Whole blocks that make up t steps (Chan, Shi and Song 2011; Dwork, Naor, Pitassi and others 2010)."""
    levels = (time_steps - 1).bit_length() + 1
    return PathCounter(
        levels, lambda time_step: dict.fromkeys(_whole(time_step), 1), lambda time_step: _around(time_step, levels, 2)
    )


def subtracting(time_steps: int, radix: int) -> PathCounter:
    """Blocks added and subtracted on the path to t by nearest multiples (Andersson, Pagh, Steiner, Torkamani 2025).

    Raises:
        ValueError: the radix is even, or below 3.
    """
    if radix < 3 or radix % 2 == 0:
        raise InvalidArgument("radix", f"must be odd and at least 3, got {radix}")
    levels = 1
    while (radix**levels - 1) // 2 < time_steps:
        levels += 1
    return PathCounter(
        levels,
        lambda time_step: dict(_walk(time_step, radix, levels)),
        lambda time_step: _around(time_step, levels, radix),
    )


def mean_variance(counter: PathCounter, time_steps: int) -> Fraction:
    """Return the mean noise variance over steps, for epsilon 1 and continuous noise."""
    nodes = sum(len(counter.noises(time_step)) for time_step in range(1, time_steps + 1))
    return Fraction(2 * counter.nodes**2 * nodes, time_steps)


def _whole(time_step: int) -> Iterator[Node]:
    start = 0
    for level in range(time_step.bit_length() - 1, -1, -1):
        if time_step >> level & 1:
            yield level, start >> level
            start += 1 << level


def _around(time_step: int, levels: int, radix: int) -> Signs:
    return {(level, (time_step - 1) // radix**level): 1 for level in range(levels)}


def _walk(time_step: int, radix: int, levels: int) -> Iterator[tuple[Node, int]]:
    position = 0
    for level in range(levels - 1, -1, -1):
        width = radix**level
        nearest = (time_step + width // 2) // width * width
        for number in range(min(position, nearest) // width, max(position, nearest) // width):
            yield (level, number), 1 if nearest > position else -1
        position = nearest
