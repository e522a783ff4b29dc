"""Gates over anything that has XOR, AND and NOT: a wire of a circuit, or NumPy's arrays of truth values.

Numbers are sequences of wires, the lowest place first. A coin is an even number that nobody knows: the XOR of two
parties' bits, place by place. AND is what a gate costs two parties; XOR and NOT are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

Wire = Any
Wires = Sequence[Wire]


def below(coin: Wires, parts: int) -> Wire:
    """The gate that compares a coin with a public number from 1 to ``2**len(coin) - 1``: its chance is that number's
    share.

    From the lowest place on that is set in `parts`, where NOT decides; each further place takes one AND.
    """
    lowest = _lowest(parts)
    found = ~coin[lowest]
    for place in range(lowest + 1, len(coin)):
        unset = ~coin[place]
        # a place that is set in `parts` decides where the coin's is not, and leaves it open otherwise
        found = ~(coin[place] & ~found) if parts >> place & 1 else unset & found
    return found


def ands_below(bits: int, parts: int) -> int:
    """The number of AND gates of `below`."""
    return bits - 1 - _lowest(parts)


def _lowest(parts: int) -> int:
    return (parts & -parts).bit_length() - 1


def chosen(which: Wire, one: Wire, zero: Wire) -> Wire:
    """The first of two wires where `which` is set, else the second: one AND."""
    return zero ^ (which & (one ^ zero))


def total(one: Wires, other: Wires) -> tuple[Wire, ...]:
    """The sum of two numbers, and its carry as one more place: an AND for each place of the longer one.

    Raises:
        ValueError: one of them has no place.
    """
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    carry, places = long[0] & short[0], [long[0] ^ short[0]]
    for place in range(1, len(long)):
        if place < len(short):
            left, right = long[place], short[place]
            places.append(left ^ right ^ carry)
            carry = carry ^ ((left ^ carry) & (right ^ carry))
        else:
            places.append(long[place] ^ carry)
            carry = long[place] & carry
    return (*places, carry)


def around(number: Wires, other: Wires) -> tuple[Wire, ...]:
    """A number of a circle and one that is no wider, added there: an AND for each place but the last."""
    if len(number) == 1:
        return (number[0] ^ other[0],)
    *places, carry = total(number[:-1], other[: len(number) - 1])
    top = number[-1] ^ carry
    return (*places, top ^ other[-1] if len(other) == len(number) else top)


def plus(number: Wires, public: int) -> tuple[Wire, ...]:
    """A number plus a public one, on the circle of its own width: an AND for each place but the last, at most."""
    places, carry = [], None
    for place, wire in enumerate(number):
        adds, last = public >> place & 1, place == len(number) - 1
        if carry is None:
            places.append(~wire if adds else wire)
            carry = wire if adds else None
        else:
            places.append(~(wire ^ carry) if adds else wire ^ carry)
            carry = None if last else ~(~wire & ~carry) if adds else wire & carry
    return tuple(places)


def times(number: Wires, factor: int) -> tuple[Wire, ...]:
    """A number times a public odd one: an addition for each further place that is set in it."""
    found = tuple(number)
    for place in range(1, factor.bit_length()):
        if factor >> place & 1:
            found += (number[0] ^ number[0],) * (place + 1 - len(found))
            found = (*found[:place], *total(found[place:], number))
    return found


def taken(coins: Iterator[Wire], count: int) -> tuple[Wire, ...]:
    """The next wires, for one coin: none is used twice."""
    return tuple(islice(coins, count))
