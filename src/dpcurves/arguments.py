"""Checks of arguments: each error names the argument and the rule, and shows no value that may come from a record.

    InvalidArgument(argument, rule)     a ValueError with the message "argument: rule"
    WrongArgumentType(argument, rule)   a TypeError with that message

A rule states the expected value and gives an example to type. A value that the caller typed is shown
(`describe_value`); a value of a column never is.

Numbers that decide a guarantee are exact: an epsilon of 0.1 is the decimal 1/10, not the nearest double
(`parse_positive_fraction`).

>>> parse_positive_fraction("epsilon", 0.1)
Fraction(1, 10)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from functools import wraps
from math import inf
from numbers import Real
from operator import index
from os import PathLike, fspath
from types import FunctionType, MappingProxyType
from typing import Any, Self, TypeVar, cast

from .foreign_text import escape_for_terminal

Member = TypeVar("Member", bound=Enum)
Function = TypeVar("Function", bound=Callable[..., Any])
Exact = Fraction | Decimal | int | float | str

MAX_NUMBER_LENGTH = 400
"""Characters of an exact number, such as an epsilon: enough for the numerator and denominator of a double. A longer
text is refused, because exact arithmetic on it is slow."""
MAX_EXPONENT = 300
"""Largest absolute power of ten of an exact number, close to the range of doubles (1e308). Numbers outside 1e-300 to
1e300 are refused, because exact arithmetic on them is slow."""


def describe_value(value: object) -> str:
    """Return a description of a value on one short line: a single text or number by itself, any other object by its
    type.

    Containers are never printed, because they may hold records.

    Args:
        value: Any object that a caller passed as an argument.

    >>> describe_value("0:1"), describe_value([3, 4]), describe_value(10**99)
    ("'0:1'", 'a list', 'an int of 100 characters')
    """
    kind = value.__name__ if isinstance(value, type) else type(value).__name__
    kind_text = f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
    if isinstance(value, type):
        return f"the class {kind}"
    if not isinstance(value, str | int | float | Fraction | Decimal | None):
        return kind_text
    try:
        text = repr(float(value) if isinstance(value, float) else value)
    except Exception:  # an integer above Python's limit of printed digits, or a subclass whose repr fails
        return kind_text
    # characters that an error message shows
    return text if len(text) <= 60 and text.isprintable() else f"{kind_text} of {len(text)} characters"


class ArgumentError(Exception):
    """An error about an argument. Its message is ``argument: rule``; callers read the attributes, not the message.

    Attributes:
        argument: Name of the rejected argument as the caller writes it; several names are separated by commas.
        rule: The rule that the argument violates, and the value that was passed unless it may come from a record.
        value: The value that was passed, for callers that name it differently, such as a column; None if it is unknown.
    """

    def __init__(self, argument: str, rule: str, value: str | None = None) -> None:
        super().__init__(argument, rule, value)
        self.argument = argument
        self.rule = rule
        self.value = value

    def __str__(self) -> str:
        return f"{self.argument}: {self.rule}"

    def with_argument(self, argument: str) -> Self:
        """Return an equal error, with the same rule and value, whose message names the argument `argument`."""
        return type(self)(argument, self.rule, self.value)


class InvalidArgument(ArgumentError, ValueError):
    """The value of an argument is not allowed."""


class WrongArgumentType(InvalidArgument, TypeError):
    """The type of an argument is not allowed."""


class MissingPackage(ArgumentError, ImportError):
    """A feature needs an optional dependency that is not installed."""


class ProtocolError(InvalidArgument):
    """A message violates the protocol or comes from the wrong sender. The error is one line and reveals no secret.

    Attributes:
        status: The HTTP status code.
    """

    def __init__(self, argument: str, rule: str, status: int = 400) -> None:
        super().__init__(argument, rule)
        self.status = status

    @classmethod
    def from_error_line(cls, line: str, status: int) -> ProtocolError:
        """Return the error of the line ``argument: rule`` that another machine sent with an HTTP status.

        The words of another machine become one line of limited length, in which all characters are visible.

        Args:
            line: The line, as the other machine sent it.
            status: The HTTP status.
        """
        # 400 characters: a longer reason could push earlier lines off the screen
        line = escape_for_terminal(line, 400)
        kind = ServiceUnavailable if status in (503, 504) else cls  # service unavailable, gateway timeout
        argument, separator, rule = line.partition(": ")
        return kind(argument, rule, status) if separator else kind("server", line, status)


class ServiceUnavailable(ProtocolError):
    """Another machine did not answer, or is overloaded. The same request may be sent again."""


def parse_choice(name: str, value: object, choices: type[Member], *, also: str = "") -> Member:
    """Return the member of an enumeration that is passed as itself or by its lower-case name.

    Args:
        name: Name of the argument, in errors.
        value: A member, or its lower-case name with hyphens.
        choices: The enumeration.
        also: Text after the choices, in errors; empty: none.

    Raises:
        ValueError: `value` is neither. There is no default, so that a misspelled choice never becomes another choice.

    >>> from dpcurves.privacy import Neighbours
    >>> parse_choice("adjacency", "replace-one", Neighbours)
    <Neighbours.REPLACE_ONE: 'replace-one'>
    """
    members = {member.name.lower().replace("_", "-"): member for member in choices}
    if isinstance(value, choices):
        return value
    if not isinstance(value, str) or value not in members:
        raise InvalidArgument(name, f"must be one of {', '.join(members)}{also}, got {describe_value(value)}")
    return members[value]


def require_type(name: str, value: object, kind: type[Any] | tuple[type[Any], ...], expected: str) -> None:
    """Raise unless `value` is an instance of `kind`; `expected` describes a valid value.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.
        kind: Class, or a tuple of classes that are all accepted.
        expected: Words for a valid value with an example, as in ``a text, as in 'age'``.

    Raises:
        TypeError: `value` has another type.
    """
    if not isinstance(value, kind):
        raise WrongArgumentType(name, f"{expected} is needed, got {describe_value(value)}")


def parse_positive_fraction(name: str, value: Any) -> Fraction:
    """Return a finite positive number as an exact fraction. A float means the decimal that it prints.

    Args:
        name: Name of the argument, for the error message.
        value: An int, float, Decimal, Fraction or text such as ``1/3``.

    Raises:
        ValueError: `value` is not such a number, or lies outside 1e-300 to 1e300, where exact arithmetic is too slow.

    >>> parse_positive_fraction("epsilon", 0.1), parse_positive_fraction("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    number = _parse_finite(value)
    if number is None or number <= 0:
        raise InvalidArgument(name, f"a finite number above zero is needed, as in 0.5, got {describe_value(value)}")
    # A Decimal such as 1e999999999 must be rejected before it is expanded into a Fraction.
    is_short = not isinstance(number, Decimal) or (
        abs(number.adjusted()) <= MAX_EXPONENT and len(str(number)) <= MAX_NUMBER_LENGTH
    )
    if not is_short or not Fraction(1, 10**MAX_EXPONENT) <= Fraction(number) <= 10**MAX_EXPONENT:
        raise InvalidArgument(
            name, f"a number from 1e-{MAX_EXPONENT} to 1e{MAX_EXPONENT} is needed, got {describe_value(value)}"
        )
    return Fraction(number)


def _parse_finite(value: Any) -> Fraction | Decimal | None:
    """Return the finite number that `value` is or prints, or None."""
    if isinstance(value, Fraction):  # convert to Python's integers: a Fraction may hold NumPy's, which overflow
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        text = str(value)
        require_plain_digits(text)
        number = Fraction(text) if "/" in text and len(text) <= MAX_NUMBER_LENGTH else Decimal(text)
    except Exception:  # str() of a foreign object may fail in any way
        return None
    return number if isinstance(number, Fraction) or number.is_finite() else None


def require_plain_digits(text: str) -> None:
    """Refuse a number with ``_`` between its digits, or with other digits than 0 to 9, both of which Python reads: a
    slip in typing 1.0 must not become 10.

    Args:
        text: A number as the user typed it.

    Raises:
        ValueError: the text has one of these characters.
    """
    if "_" in text or not text.isascii():
        raise ValueError("write the number in the digits 0 to 9, without _, as in 1000")


def parse_float(text: str) -> float:
    """Return the double of a text in plain digits (`require_plain_digits`).

    Args:
        text: A number as the user typed it.

    Raises:
        ValueError: the text has another form.

    >>> parse_float("1e3")
    1000.0
    """
    require_plain_digits(text)
    return float(text)


def require_nonnegative_fraction(name: str, value: Fraction) -> Fraction:
    """Return a rational number of at least 0 in Python's integers; a Fraction may hold NumPy's, which overflow.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is not rational: a float does not say which decimal is meant.
        ValueError: `value` is negative.
    """
    if not isinstance(value, Fraction | int):
        raise WrongArgumentType(name, f"a Fraction is needed, as in Fraction(1, 2), got {type(value).__name__}")
    if value < 0:
        raise InvalidArgument(name, f"a number of at least 0 is needed, got {value}")
    return Fraction(int(value.numerator), int(value.denominator))


def require_positive_fraction(name: str, value: Fraction, largest: int) -> Fraction:
    """Return a rational number above zero and not above `largest`, a power of two.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.
        largest: Largest accepted number; the message writes it as a power of two.

    Raises:
        TypeError: `value` is not rational.
        ValueError: `value` is out of range.
    """
    number = require_nonnegative_fraction(name, value)
    if not 0 < number <= largest:
        raise InvalidArgument(name, f"a number above 0 and up to 2**{largest.bit_length() - 1} is needed, got {number}")
    return number


def require_draw_count(size: int) -> int:
    """Return the number of draws of a random sample, after a check that it is at least 0.

    Args:
        size: Number of draws.

    Raises:
        ValueError: `size` is negative.
    """
    if size < 0:
        raise InvalidArgument("size", f"a number of draws of at least 0 is needed, as in 1000, got {size}")
    return size


def require_number(name: str, value: Any) -> float:
    """Return a real number as a float, which may be infinite or NaN.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is not a number.
        ValueError: `value` overflows a double.
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "")  # NumPy's timedelta64, "m", is registered as an integer
    if not isinstance(value, Real | Decimal) or kind == "m":
        raise WrongArgumentType(name, f"a number is needed, as in 0.5, got {describe_value(value)}")
    try:
        return float(value)
    except (OverflowError, ValueError):  # float() of a signalling NaN raises ValueError
        raise InvalidArgument(name, "a number from -1.8e308 to 1.8e308 is needed, the range of doubles") from None


def convert_to_double(value: object) -> float | None:
    """Return a real number of Python or NumPy as a float; None for a truth value, for other types, and for a
    number beyond the range of doubles.

    Args:
        value: Any object.

    >>> convert_to_double(3), convert_to_double(True), convert_to_double("3"), convert_to_double(10**400)
    (3.0, None, None, None)
    """
    if isinstance(value, bool):
        return None
    try:
        return require_number("", value)
    except InvalidArgument:
        return None


def require_power(name: str, value: Any) -> float:
    """Return a power of Fleming and Harrington's weights, a finite number of at least 0.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        ValueError: `value` is not such a number.
    """
    power = convert_to_double(value)
    if power is None or not 0 <= power < inf:
        raise InvalidArgument(name, "must be a number of at least 0, as in 1")
    return power


def require_probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is not a number.
        ValueError: `value` is out of range.
    """
    number = require_number(name, value)
    if not 0 < number < 1:
        raise InvalidArgument(name, f"a number between 0 and 1 is needed, as in 0.95, got {describe_value(value)}")
    return number


def require_proportion(name: str, value: Any) -> float:
    """Return a number from 0 to 1.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is not a number.
        ValueError: `value` is out of range.
    """
    number = require_number(name, value)
    if not 0 <= number <= 1:
        # The message omits the value: a caller who swaps `p` and the column passes values of records here.
        raise InvalidArgument(name, "numbers from 0 to 1 are needed, as in 0.25")
    return number


def describe_nearest_name(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of a message that names the name nearest to an unknown one, ignoring case; empty if none is
    near.

    Args:
        name: The unknown name.
        names: The known names.
        cutoff: The least similarity, from 0 to 1, of `difflib.get_close_matches`.

    >>> describe_nearest_name("DIED", ["days", "died"]), describe_nearest_name("x", ["days"])
    ("; the nearest is 'died'", '')
    """
    known = list(names)
    folded = {candidate.casefold(): candidate for candidate in reversed(known)}
    near = get_close_matches(name, known, n=1, cutoff=cutoff) or [
        folded[match] for match in get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    ]
    return f"; the nearest is {near[0]!r}" if near else ""


def require_known_fields(fields: Iterable[object], known: Iterable[str]) -> None:
    """Raise unless all names in `fields` are among the `known` names.

    Raises:
        ValueError: a name is unknown; the message has the first of them in alphabetical order.

    >>> require_known_fields({"color": 1, "name": 2}, ("name", "size"))
    Traceback (most recent call last):
      ...
    dpcurves.arguments.InvalidArgument: color: there is no such field; use one of name, size
    """
    names = tuple(known)
    unknown = sorted(set(map(str, fields)) - set(names))
    if unknown:
        raise InvalidArgument(unknown[0], f"there is no such field; use one of {', '.join(names)}")


def require_numbers(name: str, values: Any, expected: str) -> tuple[float, ...]:
    """Return the numbers of an iterable as floats, in their order.

    Args:
        name: Name of the argument, in errors.
        values: The argument.
        expected: Description of the expected values, for errors.

    Raises:
        TypeError: `values` is a single number or text, or has an item that is not a number.
    """
    return tuple(require_number(name, value) for value in require_sequence(name, values, expected))


def require_sequence(name: str, values: Any, expected: str) -> tuple[Any, ...]:
    """Return the items of an iterable as a tuple, in their order.

    Args:
        name: Name of the argument, in errors.
        values: The argument.
        expected: Description of the expected values, for errors.

    Raises:
        TypeError: `values` is a single object, text, or an array with another number of dimensions than one.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise WrongArgumentType(name, f"{expected} is needed, got {describe_value(values)}")
    return tuple(values)


def convert_to_integers(instance: object, **names: str) -> None:
    """Convert integer fields of a frozen dataclass to Python's integers; NumPy's overflow silently.

    Args:
        instance: The dataclass instance, which is changed in place.
        names: For each field, the name of the argument in an error message.

    Raises:
        TypeError: a field does not hold an integer.
    """
    for field, name in names.items():
        object.__setattr__(instance, field, require_integer(name, getattr(instance, field)))


def convert_tuples_to_integers(instance: object, **names: str) -> None:
    """Convert fields that hold tuples of integers, as `convert_to_integers` does.

    Args:
        instance: Object whose attributes are replaced by tuples of Python's int; it may be frozen.
        names: Field and the name of the argument in error messages, as in ``sizes="sizes"``.

    Raises:
        TypeError: a field holds something else.
        ValueError: an integer has more than 256 bits.
    """
    for field, name in names.items():
        values = require_sequence(name, getattr(instance, field), "a tuple of whole numbers, as in (1, 2),")
        object.__setattr__(instance, field, tuple(require_integer(name, value) for value in values))


def require_integer(name: str, value: Any) -> int:
    """Return an integer as Python's int.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is not an integer.
        ValueError: `value` has more than 256 bits.
    """
    try:
        integer = int(index(value))
    except TypeError:
        raise WrongArgumentType(name, f"a whole number is needed, as in 5, got {describe_value(value)}") from None
    most_bits = 256  # longer integers overflow doubles in later steps
    if integer.bit_length() > most_bits:
        raise InvalidArgument(
            name, f"a whole number of at most {most_bits} bits is needed, got {describe_value(value)}"
        )
    return integer


def require_bounds_pair(bounds: Any) -> tuple[float, float]:
    """Return the two items of `bounds`; whether they are numbers, and in order, is checked where they are used.

    Raises:
        ValueError: `bounds` does not have two items.
        TypeError: `bounds` is a single object or text.
    """
    pair = require_sequence("bounds", bounds, "a pair of numbers, the lower one first, as in (0, 100),")
    if len(pair) != 2:
        raise InvalidArgument(
            "bounds", f"two numbers are needed, the lower one first, as in (0, 100), got {len(pair)} of them"
        )
    return pair[0], pair[1]


def require_truth_value(name: str, value: object) -> bool:
    """Return a truth value of Python or NumPy as Python's.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` is something else, such as an array or a text.
    """
    is_numpy = getattr(getattr(value, "dtype", None), "kind", "") == "b" and type(value).__hash__ is not None
    if not isinstance(value, bool) and not is_numpy:
        raise WrongArgumentType(name, f"True or False is needed, got {describe_value(value)}")
    return bool(value)


def require_count(name: str, value: Any) -> int:
    """Return an integer from 1 to a million: more draws would fill the memory.

    Args:
        name: Name of the argument, for the error message.
        value: True and False are refused, though Python takes them for 1 and 0.

    Raises:
        TypeError: `value` is not an integer.
        ValueError: `value` lies outside.
    """
    largest_count = 1_000_000
    count = require_integer(name, value)
    if isinstance(value, bool) or not 1 <= count <= largest_count:
        raise InvalidArgument(
            name, f"a whole number from 1 to {largest_count:,} is needed, got {describe_value(value)}"
        )
    return count


def require_path(name: str, value: Any) -> None:
    """Raise unless `value` is the path of a file as a text or a path.

    Args:
        name: Name of the argument, for the error message.

    Raises:
        TypeError: `value` is neither.
        ValueError: `value` is empty, or holds characters that no file name has.
    """
    require_type(name, value, (str, PathLike), "the path of a file, as in 'result.csv',")
    text = fspath(value)
    if isinstance(text, bytes):
        raise WrongArgumentType(name, "the path of a file as a text is needed, as in 'result.csv', got bytes")
    if not text or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidArgument(name, "the path of a file is needed, as in 'result.csv'")


def require_axes(name: str, value: object) -> None:
    """Raise unless `value` is axes of matplotlib, which is not imported here.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.

    Raises:
        TypeError: `value` has no figure.
    """
    if getattr(value, "figure", None) is None:
        raise WrongArgumentType(
            name, f"axes of matplotlib are needed, as plt.subplots() returns them, got {describe_value(value)}"
        )


def require_links(name: str, value: Any) -> None:
    """Raise unless `value` is a list of pairs of texts.

    Args:
        name: Name of the argument, for the error message.
        value: List of (text, file name) pairs.

    Raises:
        TypeError: `value` is something else.
    """
    expected = "a list of pairs of a text and a file name, as in [('all numbers', 'result.csv')],"
    for pair in require_sequence(name, value, expected):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise WrongArgumentType(name, f"{expected} is needed, got a list with {describe_value(pair)}")


def check_type(kind: type[Any], expected: str) -> Callable[[str, Any], object]:
    """Return a check that an argument has a type, from `require_type`.

    Args:
        kind: Class of valid values.
        expected: Words for a valid value, for the error message.

    Returns:
        A function of the name and the value of an argument; it raises TypeError if the value is not of the class.
    """
    return lambda name, value: require_type(name, value, kind, expected)


require_text = check_type(str, "a text")
CHECKS: Mapping[tuple[str, str], Callable[[str, Any], object]] = MappingProxyType({
    ("level", "float"): require_probability, ("draws", "int"): require_count, ("most", "int"): require_count,
    ("ax", "Axes"): require_axes, ("picture", "Axes"): require_axes,
    ("links", "Sequence[tuple[str, str]]"): require_links,
})  # fmt: skip
"""Functions that check an argument before the method runs, by parameter name and annotation (without ``| None``), for
parameters that many methods have. They raise an error that names the argument."""
TYPE_CHECKS: Mapping[str, Callable[[str, Any], object]] = MappingProxyType({
    "bool": require_truth_value, "str": require_text, "str | Path": require_path,
    "Mapping": check_type(Mapping, "a mapping, as in {'old': 'new'},"),
})  # fmt: skip
"""Functions that check an argument before the method runs, by the parameter's annotation alone (without ``| None`` and
without brackets and their content). `CHECKS` holds the ones that also depend on the name."""


def check_common_arguments(function: Function) -> Function:
    """Return the function with checks before it runs: arguments of common names, such as `level`, get the checks that
    `CHECKS` and `TYPE_CHECKS` list by name.

    None is allowed where the annotation has it. An argument `tuning` must have the class of its default.

    Args:
        function: Function or method whose arguments are checked by their names.

    >>> @check_common_arguments
    ... def ends(level: float, *, population: bool = False) -> float: return level
    >>> ends(0.9, population=[True])
    Traceback (most recent call last):
      ...
    dpcurves.arguments.WrongArgumentType: population: True or False is needed, got a list
    """
    code = cast("FunctionType", function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    checks = list[tuple[int, str, bool, Callable[[str, Any], object]]]()
    for position, name in enumerate(names):
        annotation = str(function.__annotations__.get(name, ""))
        bare = annotation.removesuffix(" | None")
        check = TYPE_CHECKS.get(remove_brackets(bare)) or CHECKS.get((name, bare))
        if name == "tuning":
            kind = type((function.__kwdefaults__ or {})[name])
            check = check_type(kind, f"a {kind.__name__} of {kind.__module__}")
        if check is not None:
            checks.append((position if position < code.co_argcount else len(names), name, bare != annotation, check))
    if not checks:
        return function

    @wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        """Check the arguments that were passed, and call the function.

        Args:
            args: Positional arguments of the wrapped function.
            keywords: Keyword arguments of the wrapped function.

        Returns:
            The result of the wrapped function.
        """
        for position, name, may_be_none, check in checks:
            value = args[position] if position < len(args) else keywords.get(name, MISSING)
            if value is not MISSING and not (may_be_none and value is None):
                check(name, value)
        return function(*args, **keywords)

    return cast("Function", checked)


def remove_brackets(annotation: str) -> str:
    """Return an annotation without brackets and their content.

    Args:
        annotation: Type annotation as text.

    >>> remove_brackets("Mapping[str, list[int]] | Sequence[int]")
    'Mapping | Sequence'
    """
    shorter = re.sub(r"\[[^\[\]]*\]", "", annotation)
    return annotation if shorter == annotation else remove_brackets(shorter)


MISSING = object()
"""Stands for an argument that was not passed, which is then not checked; None may be passed."""


def check_public_methods(kind: type[Any]) -> None:
    """Put `check_common_arguments` around the public methods that a class defines itself.

    Args:
        kind: Class that is changed in place. Its private methods, properties and methods with a wrapper stay as they
            are.
    """
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and not name.startswith("_") and not hasattr(method, "__wrapped__"):
            setattr(kind, name, check_common_arguments(method))
