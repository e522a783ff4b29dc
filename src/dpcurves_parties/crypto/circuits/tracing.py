"""Tracing: makes the circuit of a Python function of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpcurves.arguments import Refused, WrongKind, shown

from .bits import Bits
from .circuit import Circuit
from .wiring import Wiring

MOST_BITS = 64
Shape = int | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Record:
    """Record of a party: its numbers by name."""

    _numbers: Mapping[str, Bits]

    def __getattr__(self, name: str) -> Bits:
        try:
            return self._numbers[name]
        except KeyError:
            raise AttributeError(f"{name} is none of {', '.join(self._numbers)}") from None


def traced(kernel: Callable[..., object], *shapes: Shape) -> Circuit:
    """The circuit of a function, which is called once, with numbers that stand for all values.

    Args:
        kernel: Takes as many arguments as there are shapes; returns one number or a tuple of them.
        shapes: Bits of each argument, which is a number without a sign; or of its parts, by name. Parts are inputs in
            their order.

    Raises:
        TypeError: the function returns something else, or asks whether a number is true.
        ValueError: a number has less than one bit or more than 64.

    >>> traced(lambda x, y: abs(x.income - y.income), {"income": 32}, {"income": 32}).ands
    63
    """
    widths = [each for shape in shapes for each in (shape.values() if isinstance(shape, Mapping) else [shape])]
    for each in widths:
        if not 1 <= each <= MOST_BITS:
            raise Refused("bits", f"a number has 1 to {MOST_BITS} bits, got {shown(each)}")
    wiring = Wiring(widths)
    numbers = iter([Bits.input(wiring, place) for place in range(len(widths))])
    arguments = [
        Record({name: next(numbers) for name in shape}) if isinstance(shape, Mapping) else next(numbers)
        for shape in shapes
    ]
    found = kernel(*arguments)
    results = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(each, Bits) for each in results):
        raise WrongKind("kernel", f"it has to return a number made of its arguments, got {shown(found)}")
    return wiring.circuit([each.number for each in results])
