"""Integer noise around zero: its law, its variance, and draws of it for simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import exp, expm1, prod, sqrt
from typing import Any

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray, IntArray

WIDE_LAPLACE = 2.0**32  # scale, above which integers are drawn by rounding a continuous law: relative error 2**-32
WIDE_GAUSSIAN = 1e4  # variance, above which the same is done: relative error of a chance below 1e-5 within 4 sigma
BOXES = 2**16  # into which an even draw falls: as many as two bytes can tell apart
LEAST_VARIANCE = 1e-100  # stands for 0, so that exact values of equal rank share a residual evenly
MOST_PARTIES = 64
LAPLACE_EXCESS = 3.0
"""The fourth cumulant of one Laplace draw, in squared variances. That of a Gaussian law is 0."""


class Family(Enum):
    """A kind of integer noise around zero."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"


@dataclass(frozen=True, slots=True)
class Noise:
    """An exact law of integer noise (Canonne, Kamath and Steinke 2020): one draw by each of the parties, added up.

    Attributes:
        family: Laplace: chance of z proportional to ``exp(-|z| / parameter)``. Gaussian: to
            ``exp(-z**2 / (2 * parameter))``.
        parameter: The scale of a Laplace law, or the variance parameter of a Gaussian one.
        parties: How many have each added such a draw: one, but where none is trusted with the noise.
    """

    family: Family
    parameter: Fraction
    parties: int = 1

    @property
    def variance(self) -> float:
        """The variance of all draws. (A discrete Gaussian has at most its parameter; below 1 the parameter is used.)

        >>> round(Noise(Family.LAPLACE, Fraction(10)).variance, 3)
        199.833
        """
        if self.family is Family.GAUSSIAN:
            return self.parties * float(self.parameter)
        rate = 1 / float(self.parameter)
        return self.parties * 2 * exp(-rate) / expm1(-rate) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """The fourth cumulant, which measures tails: 0 for Gaussian noise. Cumulants of independent draws add up."""
        return LAPLACE_EXCESS * self.variance**2 / self.parties if self.family is Family.LAPLACE else 0.0

    def by(self, parties: int) -> Noise:
        """Such a draw by each of so many parties."""
        return replace(self, parties=parties)

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        several = {"parties": self.parties} if self.parties > 1 else {}
        return {"family": self.family.value, "parameter": str(self.parameter), **several}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Noise:
        """The inverse of `to_json`.

        Raises:
            ValueError: there are fewer than one party, or more than were ever asked.
        """
        parties = int(stored.get("parties", 1))
        if not 1 <= parties <= MOST_PARTIES:
            raise Refused("evidence.parties", f"from 1 to {MOST_PARTIES} are read")
        return cls(Family(stored["family"]), Fraction(stored["parameter"]), parties)


def optional_to_json(noise: Noise | None) -> dict[str, Any] | None:
    """Plain objects, or none."""
    return None if noise is None else noise.to_json()


def optional_from_json(stored: Mapping[str, Any] | None) -> Noise | None:
    """The inverse of `optional_to_json`."""
    return None if stored is None else Noise.from_json(stored)


def draw(noise: Noise, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Integers of one noise law, as floats. Not for protection: `generator` can be predicted."""
    if noise.parties > 1:
        return np.asarray(draw(noise.by(1), (noise.parties, *shape), generator).sum(axis=0))
    if noise.family is Family.LAPLACE:
        return _laplace(float(noise.parameter), shape, generator)
    return _gaussian(float(noise.parameter), shape, generator)


def _laplace(scale: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """The difference of two geometric laws, each an exponential one rounded down: exact to the rounding of doubles."""
    if scale > WIDE_LAPLACE:
        return np.rint(generator.laplace(0, scale, shape))
    above, below = generator.standard_exponential(shape), generator.standard_exponential(shape)
    for wide in (above, below):
        np.floor(np.multiply(wide, scale, out=wide), out=wide)
    return np.subtract(above, below, out=above)


def _gaussian(variance: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """By the inverse of the distribution function, exact to the rounding of doubles."""
    if variance > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(variance), shape))
    reach = int(9 * sqrt(variance)) + 2
    support = np.arange(-reach, reach + 1)
    cumulated = np.cumsum(np.exp(-0.5 * support.astype(np.float64) ** 2 / max(variance, 1e-300)))
    inverted = _in_boxes if prod(shape) > BOXES else _one_by_one
    return np.subtract(inverted(cumulated * (BOXES / cumulated[-1]), shape, generator), reach, dtype=np.float64)


def _one_by_one(cumulated: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """The number of the rising numbers, up to `BOXES`, that an even draw passes."""
    return np.searchsorted(cumulated, generator.random(shape) * BOXES, side="right")


def _in_boxes(cumulated: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """The law of `_one_by_one`, five times as fast: of most boxes of width 1 one answer holds, and is looked up."""
    ends = np.searchsorted(cumulated, np.arange(BOXES + 1), side="right")
    answers = np.where(ends[1:] == ends[:-1], ends[:-1], -1)
    box = generator.integers(0, BOXES, shape, dtype=np.uint16)
    found: IntArray = answers[box]
    cut = np.nonzero(found < 0)
    found[cut] = np.searchsorted(cumulated, box[cut] + generator.random(len(cut[0])), side="right")
    return found
