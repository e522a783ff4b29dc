"""Sums over all instances of a batch: an adder tree that takes them chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused

from .circuit import Machine, Number

Wire = TypeVar("Wire", bound=NDArray[Any])
LEAST = 3 * 1024
"""Bits of one weight that are worth a gate before the end."""


def total_offset(number: Number, count: int) -> int:
    """Offset that is added to the sum of so many instances, so that it is never negative."""
    return count << (len(number.wires) - 1) if number.low < 0 else 0


def total_width(number: Number, count: int) -> int:
    """Bits of the sum of so many instances, with `total_offset`."""
    return (count * ((1 << len(number.wires)) - 1)).bit_length()


@dataclass(slots=True)
class Piles(Generic[Wire]):
    """Carry-save adder of a circuit's output over all instances: full adders of three bits of one weight, one AND each.

    Bits of one weight lie on one pile. Three of them become one of their weight and one of twice that, in a batch of
    all that are there; so n bits take less than n ANDs.

    Attributes:
        machine: Machine that evaluates the gates.
        number: Type of the numbers that are added.
        count: Number of instances added.
    """

    machine: Machine[Wire]
    number: Number
    count: int = 0
    _piles: list[list[Wire]] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """Excess of the total's wires over the total: the sum of the offsets of signed numbers."""
        return total_offset(self.number, self.count)

    @property
    def width(self) -> int:
        """Bits of the total."""
        return total_width(self.number, self.count)

    def add(self, wires: Sequence[Wire]) -> None:
        """Add the instances of one chunk.

        Raises:
            ValueError: there are not as many wires as the number has.
        """
        if len(wires) != len(self.number.wires):
            raise Refused("wires", f"{len(self.number.wires)} are needed, got {len(wires)}")
        for weight, wire in enumerate(wires):
            turned = self.number.low < 0 and weight == len(wires) - 1
            self._put(weight, self.machine.negation(wire) if turned else wire)
        self.count += len(wires[0]) if wires else 0
        self._reduce(LEAST)

    def total(self) -> list[Wire]:
        """The bits of the sum, plus `offset`, of all that were added: one instance of each.

        Raises:
            ValueError: nothing was added.
        """
        if self.count < 1:
            raise Refused("numbers", "at least one is needed")
        self._reduce(3)
        return [self._only(weight) for weight in range(self.width)]

    def _put(self, weight: int, wire: Wire) -> None:
        while len(self._piles) <= weight:
            self._piles.append([])
        self._piles[weight].append(wire)

    def _reduce(self, least: int) -> None:
        """Apply full adders from the lowest weight on, till fewer than `least` lie on each pile."""
        weight = 0
        while weight < len(self._piles):
            while sum(map(len, self._piles[weight])) >= least:
                self._add_thirds(weight)
            weight += 1

    def _add_thirds(self, weight: int) -> None:
        pile: Any = np.concatenate(self._piles[weight])
        third = len(pile) // 3
        a, b, c = (pile[place * third : (place + 1) * third] for place in range(3))
        first, second = self.machine.xor(a, c), self.machine.xor(b, c)
        self._piles[weight] = [pile[3 * third :], self.machine.xor(first, b)]
        self._put(weight + 1, self.machine.xor(self.machine.conjunction(first, second), c))

    def _only(self, weight: int) -> Wire:
        """The sum of the last two bits of a weight, or the last one; their carry goes on."""
        pile: Any = np.concatenate(self._piles[weight])
        while len(pile) > 1:
            if len(pile) > 2:
                self._add_thirds(weight)
            else:
                first, second = pile[:1], pile[1:]
                self._piles[weight] = [self.machine.xor(first, second)]
                self._put(weight + 1, self.machine.conjunction(first, second))
            pile = np.concatenate(self._piles[weight])
        found: Wire = pile
        return found
