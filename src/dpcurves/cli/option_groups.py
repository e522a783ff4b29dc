"""Option groups: dataclasses whose fields become options of a command, and parsers of option values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from .refusal import Misuse, as_typed

# Parsers of option values: numbers, choices, labels and lists of them.


Choice = TypeVar("Choice")
TRUTH = {"true": True, "false": False}
ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|$)')
LONGEST_NUMBER = 60


def whole(argument: str, text: str, least: int = 1) -> int:
    """Parse a whole number.

    Raises:
        Misuse: the text is no whole number, or is below `least`.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None or int(text) < least:
        raise Misuse(argument, f"a whole number of at least {least} is needed, got {text!r}")
    return int(text)


def amount(argument: str, text: str) -> str:
    """Check a finite number above zero, and return it exactly as it was typed: ``0.1``, ``1e-3`` or ``1/3``.

    Raises:
        Misuse: the text is no such number.
    """
    decimal, quotient = _decimal(text), re.fullmatch(r"[0-9]{1,18}/[0-9]{1,18}", text)
    if (decimal is None and quotient is None) or len(text) > LONGEST_NUMBER:
        raise Misuse(argument, f"a number above zero is needed, got {text!r}")
    if decimal is not None and not (isfinite(decimal) and decimal > 0):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    if quotient is not None and 0 in map(int, text.split("/")):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    return text


def chance(argument: str, text: str) -> float:
    """Parse a number between 0 and 1, both exclusive.

    Raises:
        Misuse: the text is no such number.
    """
    number = _decimal(text)
    if number is None or not 0 < number < 1:
        raise Misuse(argument, f"a number between 0 and 1 is needed, as in 0.95, got {text!r}")
    return number


def numbers(argument: str, text: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers.

    Raises:
        Misuse: an item is no finite number.
    """
    found = [_decimal(item) for item in text.split(",")]
    exact = tuple(number for number in found if number is not None and isfinite(number))
    if len(exact) < len(found):
        raise Misuse(argument, f"numbers with commas between them are needed, got {text!r}")
    return exact


def chosen(argument: str, text: str, choices: Mapping[str, Choice]) -> Choice:
    """Value that a word stands for among the choices.

    Raises:
        Misuse: the word is none of the choices.
    """
    if text not in choices:
        raise Misuse(argument, f"{' or '.join(choices)} is needed, got {text!r}")
    return choices[text]


def category(text: str) -> str | int | float | bool:
    """Parse a label: a number or a truth value if it looks like one, else text. Quotes make it text.

    >>> category("1"), category("true"), category("late"), category('"1"')
    (1, True, 'late', '1')
    """
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    number = _decimal(text)
    if number is not None and isfinite(number):
        return number
    return TRUTH.get(text.lower(), text)


def typed(label: str | int | float | bool) -> str:
    """Text of a label as `category` reads it: the inverse of `category`.

    >>> typed(1), typed(True), typed("late"), typed('a "b", c')
    ('1', 'true', '"late"', '"a ""b"", c"')
    """
    if isinstance(label, str):
        return '"' + label.replace('"', '""') + '"'
    return repr(label).lower() if isinstance(label, bool) else repr(label)


def categories(argument: str, text: str) -> tuple[str | int | float | bool, ...]:
    """Parse comma-separated labels; a label that holds a comma stands in quotes.

    >>> categories("categories", 'UA, "a,b",3')
    ('UA', 'a,b', 3)

    Raises:
        Misuse: one is empty, or a quote is left open.
    """
    found: list[str | int | float | bool] = []
    place = 0
    while place <= len(text):
        item = ITEM.match(text, place)
        if item is None or not item[1].strip():
            raise Misuse(argument, f"labels with commas between them are needed, got {text!r}")
        found.append(category(item[1].strip()))
        place = item.end() + (0 if item[0].endswith(",") else 1)
    return tuple(found)


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def certificate_and_key(tls: str) -> tuple[Path, Path]:
    """Paths of the certificate and of its private key that ``--tls`` names.

    Raises:
        Misuse: there are not two.
    """
    certificate, _, key = tls.partition(",")
    if not certificate or not key or "," in key:
        raise Misuse("tls", "two files with a comma between them are needed, as in cert.pem,key.pem")
    return Path(certificate), Path(key)


# Option groups: parameters of a command are dataclasses, and their fields become its options.


Command = Callable[..., None]
Group = type[Any]


def groups_of(command: Command) -> dict[str, Group]:
    """Dataclasses of a command's parameters, by parameter name."""
    return {name: hint for name, hint in get_type_hints(command).items() if name != "return"}


NOTHING: Mapping[str, str] = MappingProxyType({})


def with_options(command: Command, standing: Mapping[str, str] = NOTHING, said: Collection[str] = ()) -> Command:
    """Make a command take the fields of its dataclasses one by one.

    Every parameter of `command` is a dataclass. Its fields are annotated as options, or are groups of options again;
    together they are what is shown by ``--help``, in this order.

    Args:
        command: Function that the command calls.
        standing: Defaults of required options, by their metavar; an empty default means the name of the option itself.
        said: Names of fields that become no options, because their values are given elsewhere.
    """
    groups = groups_of(command)
    every = [parameter for group in groups.values() for parameter in parameters_of(group, standing)]
    parameters = [parameter for parameter in every if parameter.name not in said]

    unsaid = dict.fromkeys(said)

    @wraps(command)
    def flat(**values: Any) -> None:
        with as_typed(values):
            command(**{name: filled(group, {**unsaid, **values}) for name, group in groups.items()})

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def parameters_of(group: Group, standing: Mapping[str, str] = NOTHING) -> Iterator[Parameter]:
    """Parameters of a group's options, including those of nested groups."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hints[field.name]):
            yield from parameters_of(hints[field.name], standing)
        else:
            default = _standing(field.name, hints[field.name], standing) if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])


def _standing(name: str, hint: Any, standing: Mapping[str, str]) -> Any:
    takes = next((str(each.metavar) for each in getattr(hint, "__metadata__", ()) if hasattr(each, "metavar")), "")
    return standing[takes] or name if takes in standing else Parameter.empty


def filled(group: Group, values: Mapping[str, Any]) -> Any:
    """Build a group from the values of its fields, and of those of its nested groups."""
    hints = get_type_hints(group)
    names = [field.name for field in fields(group)]
    return group(**{name: filled(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names})


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """Names of all options of these groups."""
    return frozenset(parameter.name for group in groups for parameter in parameters_of(group))


def values_of(group: Any) -> dict[str, Any]:
    """Values of a group's options by name, including those of nested groups: the inverse of `filled`."""
    found: dict[str, Any] = {}
    for field in fields(group):
        value = getattr(group, field.name)
        found |= values_of(value) if is_dataclass(value) else {field.name: value}
    return found
