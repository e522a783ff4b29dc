"""Counts of prefixes of a stream whose noise is that of a few nodes of a tree: to compare with least squares."""

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
    """The exact number of tuples so far plus the noises of some nodes, each with a sign.

    Formal guarantees: let L have the signs of tick t in row t, and let R be integers with ``L R = A``, the lower
    triangle of ones, whose columns have a sum of absolute values of at most `nodes`. One tuple more at tick s is hidden
    by noises shifted by column s of R, for fixed streams and for those that are chosen after answers: the proof stands
    in `TreeCounter`. Noises have scale ``nodes / epsilon``, so all answers lose epsilon (event level, one tuple that
    comes or goes). `accounts` gives the columns of R.

    Attributes:
        nodes: How much noise one tuple shifts, at most.
        noises: Whose noise each tick has.
        accounts: What one tuple at a tick shifts.
    """

    nodes: int
    noises: Callable[[int], Signs]
    accounts: Callable[[int], Signs]

    def step(
        self, count: int, tick: int, state: tuple[int, Mapping[Node, int]], epsilon: Fraction, randomness: Randomness
    ) -> tuple[int, tuple[int, dict[Node, int]]]:
        """The noisy total after a tick, and the exact one with the noises of its nodes; both begin with nothing.

        Nodes that a tick has no more are forgotten: none comes back.
        """
        total, known = state[0] + count, state[1]
        signs = self.noises(tick)
        new = [node for node in signs if node not in known]
        fresh = discrete_laplace.sample(self.nodes / epsilon, len(new), randomness).tolist()
        drawn = dict(zip(new, fresh, strict=True))
        kept = {node: known[node] if node in known else drawn[node] for node in signs}
        return total + sum(sign * kept[node] for node, sign in signs.items()), (total, kept)


def theorem_3(ticks: int) -> PathCounter:
    """The noise of all blocks that hold tick t (Barczewski, Mawass and Ramon, Theorem 3), for a public horizon.

    The index in the noise is t, and a tuple counts 1 (the paper does not bound it): then ``ceil((L + 1) / 2)`` noises
    with L + 1 levels are enough. Which tuples a block accounts for, `prefix_walks` says.
    """
    levels = (ticks - 1).bit_length() + 1
    blocks = [(level, number) for level in range(levels) for number in range(-(-ticks // 2**level))]
    shifts: dict[int, Signs] = {tick: {} for tick in range(1, ticks + 1)}
    for block in blocks:
        for term in signed_blocks(ticks, levels, block):
            for cell in range(term.low, term.high):
                shifts[cell + 1][block] = shifts[cell + 1].get(block, 0) + term.sign
    return PathCounter(
        levels // 2 + levels % 2,
        lambda tick: {(level, (tick - 1) >> level): 1 for level in range(levels)},
        lambda tick: shifts[tick],
    )


def binary(ticks: int) -> PathCounter:
    """The whole blocks that make up t ticks (Chan, Shi and Song 2011; Dwork, Naor, Pitassi and others 2010)."""
    levels = (ticks - 1).bit_length() + 1
    return PathCounter(levels, lambda tick: dict.fromkeys(_whole(tick), 1), lambda tick: _around(tick, levels, 2))


def subtracting(ticks: int, radix: int) -> PathCounter:
    """Blocks added and subtracted on the way to t by nearest multiples (Andersson, Pagh, Steiner, Torkamani 2025).

    Raises:
        ValueError: the radix is not odd, or below 3.
    """
    if radix < 3 or radix % 2 == 0:
        raise InvalidArgument("radix", f"an odd number of at least 3 is needed, got {radix}")
    levels = 1
    while (radix**levels - 1) // 2 < ticks:
        levels += 1
    return PathCounter(levels, lambda tick: dict(_walk(tick, radix, levels)), lambda tick: _around(tick, levels, radix))


def mean_variance(counter: PathCounter, ticks: int) -> Fraction:
    """The mean over ticks of the noise's variance, for epsilon 1 and noise that is not discrete."""
    nodes = sum(len(counter.noises(tick)) for tick in range(1, ticks + 1))
    return Fraction(2 * counter.nodes**2 * nodes, ticks)


def _whole(tick: int) -> Iterator[Node]:
    start = 0
    for level in range(tick.bit_length() - 1, -1, -1):
        if tick >> level & 1:
            yield level, start >> level
            start += 1 << level


def _around(tick: int, levels: int, radix: int) -> Signs:
    return {(level, (tick - 1) // radix**level): 1 for level in range(levels)}


def _walk(tick: int, radix: int, levels: int) -> Iterator[tuple[Node, int]]:
    place = 0
    for level in range(levels - 1, -1, -1):
        width = radix**level
        near = (tick + width // 2) // width * width
        for number in range(min(place, near) // width, max(place, near) // width):
            yield (level, number), 1 if near > place else -1
        place = near
