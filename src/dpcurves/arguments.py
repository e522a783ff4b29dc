"""Checks of arguments: each refusal names the argument and the rule, and shows nothing that may be a record."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Real
from operator import index
from typing import Any, Self, TypeVar

Member = TypeVar("Member", bound=Enum)
Exact = Fraction | Decimal | int | float | str

MOST_SHOWN = 60
MOST_WRITTEN = 400
"""Characters of an exact number."""
MOST_TENS = 300
"""The most powers of ten of an exact number, up or down: nearly as many as doubles have."""


def describe_value(given: object) -> str:
    """A given value on one short line: of anything but a single text or number just its kind, for it may hold records.

    >>> describe_value("0:1"), describe_value([3, 4]), describe_value(10**99)
    ("'0:1'", 'a list', 'an int of 100 characters')
    """
    kind = given.__name__ if isinstance(given, type) else type(given).__name__
    named = f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
    if isinstance(given, type):
        return f"the class {kind}"
    if not isinstance(given, str | int | float | Fraction | Decimal | None):
        return named
    try:
        text = repr(float(given) if isinstance(given, float) else given)
    except Exception:  # a whole number that Python does not print, or an object's own trouble
        return named
    return text if len(text) <= MOST_SHOWN and text.isprintable() else f"{named} of {len(text)} characters"


class ArgumentError(Exception):
    """An error that says what it is about. The sentence is made from its parts; nobody has to take it apart again.

    Attributes:
        argument: What is refused, by the name that it has where it is written; several are separated by commas.
        rule: What is needed instead, and, where it is no record's, what was given.
        given: What was given, where whoever reports the error may know it by another name, as a column.
    """

    def __init__(self, argument: str, rule: str, given: str | None = None) -> None:
        super().__init__(argument, rule, given)
        self.argument, self.rule, self.given = argument, rule, given

    def __str__(self) -> str:
        return f"{self.argument}: {self.rule}"

    def with_argument(self, argument: str) -> Self:
        """Say the error of another argument."""
        return type(self)(argument, self.rule, self.given)


class InvalidArgument(ArgumentError, ValueError):
    """An argument that cannot be taken."""


class WrongArgumentType(InvalidArgument, TypeError):
    """An argument of another kind than is needed."""


class MissingPackage(ArgumentError, ImportError):
    """An extra is needed for this."""


class ProtocolError(InvalidArgument):
    """A message was not what the protocol says, or came from somebody else. One line; nothing was told.

    Attributes:
        status: What HTTP calls it.
    """

    def __init__(self, argument: str, rule: str, status: int = 400) -> None:
        super().__init__(argument, rule)
        self.status = status

    @classmethod
    def from_error_line(cls, line: str, status: int) -> ProtocolError:
        """The message of another machine, in one line: its argument comes first."""
        kind = ServiceUnavailable if status in AWAY else cls
        argument, parted, rule = line.partition(": ")
        return kind(argument, rule, status) if parted else kind("server", line, status)


class ServiceUnavailable(ProtocolError):
    """Another machine did not answer, or is too busy. The same request may be sent again later."""


AWAY = (503, 504)
"""HTTP statuses of a server that is away or busy, or waits for another one in vain."""


def parse_choice(name: str, given: object, choices: type[Member], *, also: str = "") -> Member:
    """The choice that is given as itself or by its word.

    Raises:
        ValueError: it is anything else; a choice that is not understood must not become another one.

    >>> from dpcurves.privacy import Neighbours
    >>> parse_choice("adjacency", "replace-one", Neighbours)
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """
    words = {each.name.lower().replace("_", "-"): each for each in choices}
    if isinstance(given, choices):
        return given
    if not isinstance(given, str) or given not in words:
        raise InvalidArgument(name, f"one of {', '.join(words)} is needed{also}, got {describe_value(given)}")
    return words[given]


def require_type(name: str, given: object, kind: type[Any] | tuple[type[Any], ...], expected: str) -> None:
    """It is of this kind; `expected` says what to write.

    Raises:
        TypeError: it is of another.
    """
    if not isinstance(given, kind):
        raise WrongArgumentType(name, f"{expected} is needed, got {describe_value(given)}")


def parse_positive_fraction(name: str, given: Any) -> Fraction:
    """A finite number above zero, exactly; a float means the decimal that it prints.

    Raises:
        ValueError: it is none, or far beyond all that is ever needed, so that it would be worked out for ever.

    >>> parse_positive_fraction("epsilon", 0.1), parse_positive_fraction("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    found = _parse_finite(given)
    if found is None or found <= 0:
        raise InvalidArgument(name, f"a finite number above zero is needed, got {describe_value(given)}")
    if not _is_workable(found):
        raise InvalidArgument(
            name, f"a number from 1e-{MOST_TENS} to 1e{MOST_TENS} is needed, got {describe_value(given)}"
        )
    return Fraction(found)


def _parse_finite(given: Any) -> Fraction | Decimal | None:
    """The finite number that was given or written; None where it is none."""
    if isinstance(given, Fraction):  # of Python's integers: NumPy's, which it may hold, overflow
        return Fraction(int(given.numerator), int(given.denominator))
    try:
        text = str(given)
        found = Fraction(text) if "/" in text and len(text) <= MOST_WRITTEN else Decimal(text)
    except Exception:  # it has no text, or one of no number
        return None
    return found if isinstance(found, Fraction) or found.is_finite() else None


def _is_workable(found: Fraction | Decimal) -> bool:
    """Tell whether it has so few digits that it is computed at once."""
    if isinstance(found, Decimal) and not (abs(found.adjusted()) <= MOST_TENS and len(str(found)) <= MOST_WRITTEN):
        return False
    exactly = Fraction(found)
    return bool(Fraction(1, 10**MOST_TENS) <= exactly <= 10**MOST_TENS)


def require_nonnegative_fraction(name: str, value: Fraction) -> Fraction:
    """A number of at least 0 in Python's own integers (a Fraction can hold NumPy's, which overflow).

    Raises:
        TypeError: it is no rational number: a float would not say which one is meant.
        ValueError: it is below zero.
    """
    if not isinstance(value, Fraction | int):
        raise WrongArgumentType(name, f"a Fraction is needed, got {type(value).__name__}")
    if value < 0:
        raise InvalidArgument(name, f"a number of at least 0 is needed, got {value}")
    return Fraction(int(value.numerator), int(value.denominator))


def require_positive_fraction(name: str, value: Fraction, largest: int) -> Fraction:
    """A rational number above zero and not above `largest`, a power of two.

    Raises:
        TypeError: it is no rational number.
        ValueError: it is out of range.
    """
    found = require_nonnegative_fraction(name, value)
    if not 0 < found <= largest:
        raise InvalidArgument(name, f"a number above 0 and up to 2**{largest.bit_length() - 1} is needed, got {found}")
    return found


def require_draw_count(size: int) -> int:
    """A number of draws that is not below zero.

    Raises:
        ValueError: it is below zero.
    """
    if size < 0:
        raise InvalidArgument("size", f"a number of draws of at least 0 is needed, got {size}")
    return size


def require_number(name: str, given: Any) -> float:
    """A number, as a float; it may be infinite, or NaN.

    Raises:
        TypeError: it is none.
        ValueError: it has more digits before its point than a double.
    """
    kind = getattr(getattr(given, "dtype", None), "kind", "")  # a span of time, "m", is a whole number by its class
    if not isinstance(given, Real | Decimal) or kind == "m":
        raise WrongArgumentType(name, f"a number is needed, got {describe_value(given)}")
    try:
        return float(given)
    except (OverflowError, ValueError):  # the latter of NaNs that signal
        raise InvalidArgument(name, "a number that a double can hold is needed") from None


def require_probability(name: str, given: Any) -> float:
    """A number strictly between 0 and 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is another one.
    """
    found = require_number(name, given)
    if not 0 < found < 1:
        raise InvalidArgument(name, f"a number between 0 and 1 is needed, as in 0.95, got {describe_value(given)}")
    return found


def require_proportion(name: str, given: Any) -> float:
    """A number from 0 to 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is another one.
    """
    found = require_number(name, given)
    if not 0 <= found <= 1:
        # Not what was given: who takes `p` and the values for each other has given those of records.
        raise InvalidArgument(name, "shares between 0 and 1 are needed, as in 0.25")
    return found


def require_known_fields(given: Iterable[object], known: Iterable[str]) -> None:
    """Refuse fields that there are not.

    Raises:
        ValueError: there is one; the first by the alphabet is named.

    >>> require_known_fields({"color": 1, "name": 2}, ("name", "size"))
    Traceback (most recent call last):
      ...
    dpcurves.arguments.InvalidArgument: color: there is no such field; there are name, size
    """
    names = tuple(known)
    unknown = sorted(set(map(str, given)) - set(names))
    if unknown:
        raise InvalidArgument(unknown[0], f"there is no such field; there are {', '.join(names)}")


def require_sequence(name: str, given: Any, expected: str) -> tuple[Any, ...]:
    """The items in their order, as a tuple.

    Raises:
        TypeError: it is a single thing, or text.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        raise WrongArgumentType(name, f"{expected} is needed, got {describe_value(given)}")
    return tuple(given)


MOST_BITS = 256


def convert_to_integers(thing: object, **names: str) -> None:
    """Put Python's integers in place of NumPy's, which overflow in silence, in fields of a frozen dataclass.

    Args:
        thing: What has the fields, which hold a whole number.
        names: What each field is called where it is written wrong.

    Raises:
        TypeError: a field holds something else.
    """
    for field, name in names.items():
        object.__setattr__(thing, field, require_integer(name, getattr(thing, field)))


def convert_tuples_to_integers(thing: object, **names: str) -> None:
    """Do as `convert_to_integers`, with fields that hold a tuple of whole numbers.

    Raises:
        TypeError: a field holds something else.
    """
    for field, name in names.items():
        given = require_sequence(name, getattr(thing, field), "a tuple of whole numbers")
        object.__setattr__(thing, field, tuple(require_integer(name, each) for each in given))


def require_integer(name: str, value: Any) -> int:
    """A whole number, as Python's integer.

    Raises:
        TypeError: it is none.
        ValueError: it has more than 256 bits: it would not be shown, nor worked with in doubles.
    """
    try:
        found = int(index(value))
    except TypeError:
        raise WrongArgumentType(name, f"a whole number is needed, got {describe_value(value)}") from None
    if found.bit_length() > MOST_BITS:
        raise InvalidArgument(
            name, f"a whole number of at most {MOST_BITS} bits is needed, got {describe_value(value)}"
        )
    return found


def require_bounds_pair(bounds: Any) -> tuple[float, float]:
    """The lower and the upper one of two bounds.

    Raises:
        ValueError: they are not two.
    """
    ends = require_sequence("bounds", bounds, "a pair of numbers, the lower one first,")
    if len(ends) != 2:
        raise InvalidArgument("bounds", f"two numbers are needed, the lower one first, got {len(ends)}")
    return ends[0], ends[1]
