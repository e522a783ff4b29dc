"""Laplace noise on a value of few steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpcurves.arguments import Refused, make_whole

from .finite_laplace import FiniteLaplace
from .response import Response
from .wires import Wires, around

MOST_STEPS = 2**16
SCALES = 16
"""The circle is at least so many scales of the noise wide, each way: beyond lies a chance of exp(-16)."""


@dataclass(frozen=True)
class Lattice(Response):
    """A value from 0 to `steps`, with Laplace noise on a circle that it fills to a small part.

    Noise that passes the circle's end comes out at the other one: that happens with chance exp(-16) at most, and moves
    the mean by less than a ten-thousandth of the range.

    Formal guarantees: see `FiniteLaplace`; values differ by `steps` at most.
    """

    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        make_whole(self, steps="steps")
        if not 1 <= self.steps <= MOST_STEPS:
            raise Refused("steps", f"from 1 to {MOST_STEPS} are answered about")

    @property
    def name(self) -> str:
        return f"Laplace noise on {self.steps} steps"

    @cached_property
    def noise(self) -> FiniteLaplace:
        """The law of the noise."""
        room = max(-int(-SCALES * self.steps / self.epsilon // 1), 2 * self.steps)
        return FiniteLaplace(self.epsilon, self.steps, (room - 1).bit_length() + 1)

    @property
    def values(self) -> range:
        return range(self.steps + 1)

    @property
    def answers(self) -> range:
        half, middle = 2 ** (self.noise.width - 1), self.steps // 2
        return range(middle - half, middle + half)

    @property
    def coins(self) -> tuple[int, ...]:
        return self.noise.coins

    def answer(self, value: int, coins: Sequence[int]) -> int:
        return self.decoded(value + self.noise.noise(coins))

    def wires(self, value: Wires, coins: Wires) -> Wires:
        return around(self.noise.wires(coins), value)

    @property
    def ands(self) -> int:
        return self.noise.ands + self.noise.width - 1

    def chance(self, value: int, answer: int) -> Fraction:
        return self.noise.chance(answer - value)

    @property
    def offset(self) -> Fraction:
        return Fraction(self.noise.mean)

    @property
    def gain(self) -> Fraction:
        return Fraction(1)

    def variance(self, value: int) -> float:
        return self.noise.variance - self.noise.mean**2
