"""Questions about pairs of people: the mean of a function of two people's values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ..arguments import Refused, make_whole
from ..data.axis import Axis
from ..data.grid import Grid
from .base import Query
from .pairing import Pairing

DEGREE = 2
"""Functions of more people at once (the volume under an ROC surface is a mean of one) have a place, and no circuit."""


@dataclass(frozen=True, slots=True)
class KernelForm:
    """The public form of a kernel: a symmetric function of two people's whole numbers.

    Attributes:
        circuit: A digest of the circuit that works it out.
        columns: What of each person it reads, in order, and in how many bits.
        least: No value is below it.
        most: No value is above it.
        step: What one of these whole numbers stands for.
        degree: How many people it is a function.

    Raises:
        ValueError: it has one value alone, or is of more than two people.
    """

    circuit: str
    columns: tuple[tuple[str, int], ...]
    least: int
    most: int
    step: Fraction = Fraction(1)
    degree: int = DEGREE

    def __post_init__(self) -> None:
        make_whole(self, least="kernel", most="kernel", degree="degree")
        if self.least >= self.most:
            raise Refused("kernel", "it has the same value for all pairs: there is nothing to ask")
        if self.degree != DEGREE:
            raise Refused("degree", f"functions of {DEGREE} people are asked for, got {self.degree}")

    @property
    def span(self) -> int:
        """The range of its values."""
        return self.most - self.least


@dataclass(frozen=True, slots=True)
class PairQuery(Query):
    """The mean of a kernel over pairs of people. The axes are the kernel's columns, on whole numbers.

    Attributes:
        kernel: What is worked out for each pair.
        pairing: Which pairs, in no more than so many for each person.
        seed: The commitment to the seed that pairs are drawn from, which was published before any value; empty: a plan.
    """

    kernel: KernelForm
    pairing: Pairing
    seed: str = ""

    @classmethod
    def about(cls, kernel: KernelForm, pairing: Pairing, seed: str = "") -> Self:
        """The question that a kernel is for."""
        axes = (Axis(name, Grid(0, 1 << bits, cells=1 << bits)) for name, bits in kernel.columns)
        return cls(tuple(axes), kernel, pairing, seed)

    @property
    def pairs_per_unit(self) -> int:
        """In how many pairs a person is, at most."""
        return self.pairing.each

    @property
    def per_record_sensitivity(self) -> int:
        """The largest change of the sum over all pairs by one person."""
        return self.pairing.each * self.kernel.span
