"""Values of any range, rounded at random to few steps before they are answered about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dpcurves.arguments import Refused, make_whole

from .flip import Flip
from .lattice import Lattice
from .response import Response
from .wires import Wires, plus, times, total

WIDEST = 48
FINEST = 6
LARGEST_FACTOR = 63
SPARED = Fraction(1, 200)
"""What part of the range may be left empty before values are multiplied, to fill it better."""


class _Scale(NamedTuple):
    """Values times `factor` fill a range of ``2**places``."""

    factor: int
    places: int


@dataclass(frozen=True)
class Rounded(Response):
    """A value from `least` to `most`, rounded at random to ``2**fine`` steps, and answered about.

    Values are multiplied by a small odd number so that the largest is nearly a power of two; an even number is added
    below the places of the steps; and what it carries over rounds up, with the chance of exactly what is rounded. The
    step is answered about as by `Flip`, if there is but one, or as by `Lattice`. With one step, one bit says all: the
    variance is that of a coin, whatever was rounded.

    Formal guarantees: rounding looks at the value and at coins of its own, so the loss is that of the answer.

    Attributes:
        least: The smallest value.
        most: The largest one.
        fine: How many places the number of steps has: 0 to 6.

    Raises:
        ValueError: there is one value, or more than 2**48, or `fine` is not from 0 to 6.
    """

    least: int
    most: int
    fine: int

    def __post_init__(self) -> None:
        super().__post_init__()
        make_whole(self, least="least", most="most", fine="fine")
        if not (1 <= self.span <= 2**WIDEST and 0 <= self.fine <= FINEST):
            raise Refused("kernel", f"its values have to span from 1 to 2**{WIDEST}")

    @property
    def span(self) -> int:
        """The range of the values."""
        return self.most - self.least

    @property
    def name(self) -> str:
        return f"{self.within.name}, rounded at random" if self.dither else self.within.name

    @cached_property
    def within(self) -> Response:
        """The response that is applied to the rounded value."""
        return Flip(self.epsilon) if not self.steps else Lattice(self.epsilon, 2**self.steps)

    @property
    def steps(self) -> int:
        """The number of binary places of the number of steps: where values are fewer, as many as they have."""
        return min(self.fine, self.scale.places)

    @cached_property
    def scale(self) -> _Scale:
        """The scale that maps values onto the range."""
        tried = [_scale(self.span, factor) for factor in range(1, LARGEST_FACTOR + 1, 2)]
        good = (scale for scale in tried if self._empty(scale) <= SPARED)
        return next(good, min(tried, key=self._empty))

    def _empty(self, scale: _Scale) -> Fraction:
        return 1 - Fraction(self.span * scale.factor, 2**scale.places)

    @property
    def dither(self) -> int:
        """The number of binary places that are rounded."""
        return self.scale.places - self.steps

    @property
    def values(self) -> range:
        return range(self.least, self.most + 1)

    @property
    def answers(self) -> range:
        return self.within.answers

    @property
    def coins(self) -> tuple[int, ...]:
        return (self.dither, *self.within.coins)

    def answer(self, value: int, coins: Sequence[int]) -> int:
        dither, *others = coins
        scaled = (value - self.least) * self.scale.factor
        return self.within.answer(scaled + dither >> self.dither, others)

    def wires(self, value: Wires, coins: Wires) -> Wires:
        shifted = plus(value, -self.least % 2 ** len(value)) if self.least else value
        scaled = times(shifted[: self.span.bit_length()], self.scale.factor)[: self.scale.places + 1]
        dither, others = coins[: self.dither], coins[self.dither :]
        return self.within.wires(_rounded(scaled, dither, self.steps), others)

    @property
    def ands(self) -> int:
        """An upper bound on the AND gates of `wires` after the value was shifted to begin at 0."""
        scaled = (self.scale.factor.bit_count() - 1) * (self.span.bit_length() + FINEST)
        return self.within.ands + self.scale.places * bool(self.dither) + scaled

    def chance(self, value: int, answer: int) -> Fraction:
        low, part = self._split(value)
        above = self.within.chance(low + 1, answer) if part else Fraction(0)
        return (1 - part) * self.within.chance(low, answer) + part * above

    def _split(self, value: int) -> tuple[int, Fraction]:
        """The step below a value, and how far above it the value lies."""
        scaled = (value - self.least) * self.scale.factor
        low = scaled >> self.dither
        return low, Fraction(scaled, 2**self.dither) - low

    @property
    def offset(self) -> Fraction:
        return self.within.offset - self.gain * self.least

    @property
    def gain(self) -> Fraction:
        return self.within.gain * Fraction(self.scale.factor, 2**self.dither)

    def variance(self, value: int) -> float:
        low, part = self._split(value)
        share = float(part)
        apart = share * (1 - share) * float(self.within.gain) ** 2
        above = self.within.variance(low + 1) if part else 0.0
        return (1 - share) * self.within.variance(low) + share * above + apart


def _scale(span: int, factor: int) -> _Scale:
    return _Scale(factor, (span * factor - 1).bit_length())


def _rounded(scaled: Wires, dither: Wires, steps: int) -> Wires:
    """Round a number of steps at random: a coin is added, and its places are cut off."""
    if not dither:
        return scaled
    kept = scaled[len(dither) :]
    *_, carry = total(dither, scaled[: len(dither)])
    if steps and kept:
        return total(kept, (carry,))[: steps + 1]
    # The one place of a single step is set only where all below are not: then nothing is carried into it.
    return (kept[0] ^ carry if kept else carry,)
