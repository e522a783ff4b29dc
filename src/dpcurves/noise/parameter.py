"""What a law of noise may be given: rational numbers, kept exact."""

from __future__ import annotations

from fractions import Fraction

from ..arguments import Refused, WrongKind


def positive(value: Fraction, largest: int, name: str) -> Fraction:
    """Return a number that is above zero and not above `largest`.

    Raises:
        TypeError: it is no rational number.
        ValueError: it is out of range.
    """
    exact = rational(value, name)
    if not 0 < exact <= largest:
        raise Refused(name, f"a number above 0 and up to 2**{largest.bit_length() - 1} is needed, got {exact}")
    return exact


def rational(value: Fraction, name: str) -> Fraction:
    """Return a number of at least 0 in Python's own integers (a Fraction can hold NumPy's, which overflow).

    Raises:
        TypeError: it is no rational number: a float would not say which one is meant.
        ValueError: it is below zero.
    """
    if not isinstance(value, Fraction | int):
        raise WrongKind(name, f"a Fraction is needed, got {type(value).__name__}")
    if value < 0:
        raise Refused(name, f"a number of at least 0 is needed, got {value}")
    return Fraction(int(value.numerator), int(value.denominator))


def counted(size: int) -> int:
    """Return a number of draws that is not below zero.

    Raises:
        ValueError: it is below zero.
    """
    if size < 0:
        raise Refused("size", f"a number of draws of at least 0 is needed, got {size}")
    return size
