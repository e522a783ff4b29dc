"""Option groups: dataclasses whose fields become options of a command, and parsers of option values.

Parsers take the name of an option and the text that was typed, and raise `Misuse` where the text is of another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from fractions import Fraction
from functools import wraps
from inspect import Parameter, Signature, signature
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, get_type_hints

from typer import Option

from .refusal import Misuse, as_typed

# Parsers of option values: numbers, choices, labels and lists of them.


Choice = TypeVar("Choice")
Label = str | int | float | bool
TRUTH = {"true": True, "false": False}
ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|$)')
LONGEST_NUMBER = 60


def whole(argument: str, text: str, least: int = 1) -> int:
    """Parse a whole number of at least `least`."""
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None or int(text) < least:
        raise Misuse(argument, f"a whole number of at least {least} is needed, got {text!r}")
    return int(text)


def several(argument: str, text: str) -> int:
    """Parse a whole number of at least 2."""
    return whole(argument, text, least=2)


def amount(argument: str, text: str) -> str:
    """Check a finite number above zero, and return it exactly as it was typed: ``0.1``, ``1e-3`` or ``1/3``."""
    decimal, quotient = _decimal(text), re.fullmatch(r"[0-9]{1,18}/[0-9]{1,18}", text)
    if (decimal is None and quotient is None) or len(text) > LONGEST_NUMBER:
        raise Misuse(argument, f"a number above zero is needed, got {text!r}")
    if decimal is not None and not (isfinite(decimal) and decimal > 0):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    if quotient is not None and 0 in map(int, text.split("/")):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    return text


def size(argument: str, text: str) -> float:
    """Parse a finite number above zero, rounded to a float."""
    return float(Fraction(amount(argument, text)))


def chance(argument: str, text: str) -> float:
    """Parse a number between 0 and 1, both exclusive."""
    number = _decimal(text)
    if number is None or not 0 < number < 1:
        raise Misuse(argument, f"a number between 0 and 1 is needed, as in 0.95, got {text!r}")
    return number


def numbers(argument: str, text: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers."""
    found = [_decimal(item) for item in text.split(",")]
    exact = tuple(number for number in found if number is not None and isfinite(number))
    if len(exact) < len(found):
        raise Misuse(argument, f"numbers with commas between them are needed, got {text!r}")
    return exact


def one_number(argument: str, text: str) -> float:
    """Parse one finite number."""
    found = numbers(argument, text)
    if len(found) != 1:
        raise Misuse(argument, f"one number is needed, got {text!r}")
    return found[0]


def chosen(argument: str, text: str, choices: Mapping[str, Choice]) -> Choice:
    """Value that a word stands for among the choices."""
    if text not in choices:
        raise Misuse(argument, f"{' or '.join(choices)} is needed, got {text!r}")
    return choices[text]


def category(text: str) -> Label:
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


def one_label(argument: str, text: str) -> Label:
    """Parse a label as `category` does, whatever the option is called."""
    return category(text)


def typed(label: Label) -> str:
    """Text of a label as `category` reads it: the inverse of `category`.

    >>> typed(1), typed(True), typed("late"), typed('a "b", c')
    ('1', 'true', '"late"', '"a ""b"", c"')
    """
    if isinstance(label, str):
        return '"' + label.replace('"', '""') + '"'
    return repr(label).lower() if isinstance(label, bool) else repr(label)


def categories(argument: str, text: str) -> tuple[Label, ...]:
    """Parse comma-separated labels; a label that holds a comma stands in quotes.

    >>> categories("categories", 'UA, "a,b",3')
    ('UA', 'a,b', 3)
    """
    found: list[Label] = []
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
    """Paths of the certificate and of its private key that ``--tls`` names."""
    certificate, _, key = tls.partition(",")
    if not certificate or not key or "," in key:
        raise Misuse("tls", "two files with a comma between them are needed, as in cert.pem,key.pem")
    return Path(certificate), Path(key)


# Option groups: parameters of a command are dataclasses, and their fields become its options.


Command = Callable[..., None]
Group = type[Any]
Reader = Callable[[str, str], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def option(takes: str, told: str, default: Any = MISSING, read: Reader | None = None) -> Any:
    """Declare a field as an option: its metavar, its help, its default, and the parser of its text."""
    return field(default=default, metadata={"typer": Option(help=told, metavar=takes), "read": read})


def perhaps(takes: str, told: str, read: Reader | None = None) -> Any:
    """Declare a field as an option that may be left out, and then is None."""
    return option(takes, told, None, read)


class Asked:
    """Base of option groups that say something of a question."""

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a question that the options give, each read by its parser; `usual` are the question's defaults.

        Raises:
            Misuse: an option is of the wrong form.
        """
        given = {each.name: (getattr(self, each.name), each.metadata.get("read")) for each in fields(self)}  # type: ignore[arg-type]
        return {
            name: text if read is None or text is None else read(name.replace("_", "-"), text)
            for name, (text, read) in given.items()
        }


def only(**options: Any) -> Group:
    """Make a group of a few options that says of a question what they are called."""
    texts = [(name, str | None if each.default is None else str, each) for name, each in options.items()]
    return make_dataclass("_".join(options), texts, bases=(Asked,), frozen=True)


def groups_of(command: Command) -> dict[str, Group]:
    """Dataclasses of a command's parameters, and its annotated options, by parameter name."""
    return {name: hint for name, hint in get_type_hints(command, include_extras=True).items() if name != "return"}


def with_options(command: Command, standing: Mapping[str, str] = NOTHING, said: Collection[str] = ()) -> Command:
    """Make a command take the fields of its dataclasses one by one.

    Every parameter of `command` is annotated as an option, or is a dataclass. Its fields are declared as options, or
    are groups of options again; together they are what is shown by ``--help``, in this order.

    Args:
        command: Function that the command calls.
        standing: Defaults of required options, by their metavar; an empty default means the name of the option itself.
        said: Names of fields that become no options, because their values are given elsewhere.
    """
    groups, own, unsaid = groups_of(command), signature(command).parameters, dict.fromkeys(said)
    every: list[Parameter] = []
    for name, group in groups.items():
        every += parameters_of(group, standing) if is_dataclass(group) else [own[name].replace(annotation=group)]
    parameters = [parameter for parameter in every if parameter.name not in said]

    @wraps(command)
    def flat(**values: Any) -> None:
        with as_typed(values):
            given = {**unsaid, **values}
            command(**{name: filled(it, given) if is_dataclass(it) else given[name] for name, it in groups.items()})

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def parameters_of(group: Group, standing: Mapping[str, str] = NOTHING) -> Iterator[Parameter]:
    """Parameters of a group's options, including those of nested groups."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        hint = hints[each.name]
        if is_dataclass(hint):
            yield from parameters_of(hint, standing)  # type: ignore[arg-type]
            continue
        if "typer" in each.metadata:
            hint = Annotated[hint, each.metadata["typer"]]
        default = _standing(each.name, hint, standing) if each.default is MISSING else each.default
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _standing(name: str, hint: Any, standing: Mapping[str, str]) -> Any:
    takes = next((str(each.metavar) for each in getattr(hint, "__metadata__", ()) if hasattr(each, "metavar")), "")
    return standing[takes] or name if takes in standing else Parameter.empty


def filled(group: Group, values: Mapping[str, Any]) -> Any:
    """Build a group from the values of its fields, and of those of its nested groups."""
    hints = get_type_hints(group)
    names = [each.name for each in fields(group)]
    return group(**{name: filled(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names})


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """Names of all options of these groups."""
    return frozenset(parameter.name for group in groups for parameter in parameters_of(group))


def values_of(group: Any) -> dict[str, Any]:
    """Values of a group's options by name, including those of nested groups: the inverse of `filled`."""
    found: dict[str, Any] = {}
    for each in fields(group):
        value = getattr(group, each.name)
        found |= values_of(value) if is_dataclass(value) else {each.name: value}
    return found
