"""A kernel and its noise in one circuit: what two parties work out, and neither of them alone could."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...crypto.circuits import Bits, Circuit, Record, traced
from ..finite_coins import Response
from .kernel import Kernel

MOST_PLACES = 64


@lru_cache(maxsize=16)  # a pure function of what is public
def noisy_circuit(kernel: Kernel, response: Response) -> Circuit:
    """The circuit of a pair's answer. Inputs: one party's values and coins, then the other's.

    Formal guarantees: each place of a coin is the XOR of both parties' bits, so it is even, and neither knows it, as
    long as the other's bits are even. The output's wires hold `Response.answer` of the kernel's value and these coins.

    >>> from fractions import Fraction
    >>> from dpcurves_parties.pairs.mechanisms.catalogue import COLLISION
    >>> from dpcurves_parties.pairs.finite_coins import Flip
    >>> noisy_circuit(COLLISION, Flip(Fraction(1))).ands
    29
    """
    shape = {**kernel.bits, **coin_inputs(response)}

    def noisy(one: Record, other: Record) -> Bits:
        value: Bits = kernel.function(one, other)
        coins = [
            place
            for name in coin_inputs(response)
            for place in (getattr(one, name) ^ getattr(other, name)).places()
        ]  # fmt: skip
        return Bits.of_places(response.wires(value.places(), coins))

    return traced(noisy, shape, shape)


def coin_inputs(response: Response) -> dict[str, int]:
    """The even numbers that each party brings, by name, and their bits: all coins' places, one behind another."""
    return {f"coins_{number}": size for number, size in enumerate(sizes_of_coins(response.coins))}


def sizes_of_coins(coins: Sequence[int]) -> list[int]:
    """The places of all coins one behind another, in inputs of 64 bits at most."""
    places = sum(coins)
    return [min(MOST_PLACES, places - start) for start in range(0, places, MOST_PLACES)]
