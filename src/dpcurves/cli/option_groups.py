"""Options that come in groups: a command takes dataclasses, and their fields become options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, get_type_hints

from .refusal import as_typed

Command = Callable[..., None]
Group = type[Any]


def groups_of(command: Command) -> dict[str, Group]:
    """What a command takes: its parameters, and the dataclasses that they are."""
    return {name: hint for name, hint in get_type_hints(command).items() if name != "return"}


NOTHING: Mapping[str, str] = MappingProxyType({})


def with_options(command: Command, standing: Mapping[str, str] = NOTHING, said: Collection[str] = ()) -> Command:
    """Make a command take the fields of its dataclasses one by one.

    Every parameter of `command` is a dataclass. Its fields are annotated as options, or are groups of options again;
    together they are what is shown by ``--help``, in this order.

    Args:
        command: What is done.
        standing: What stands for options that are needed and were not given, by what they take; the name of the option
            itself where that is empty.
        said: Names of fields that are no options: what they hold is said elsewhere.
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
    """Each option of a group, those of the groups in it among them."""
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
    """A group with these values of its fields, and of those of the groups in it."""
    hints = get_type_hints(group)
    names = [field.name for field in fields(group)]
    return group(**{name: filled(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names})


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """The names of all options of these groups."""
    return frozenset(parameter.name for group in groups for parameter in parameters_of(group))


def values_of(group: Any) -> dict[str, Any]:
    """The inverse of `filled`: each option of a group, those of the groups in it among them."""
    found: dict[str, Any] = {}
    for field in fields(group):
        value = getattr(group, field.name)
        found |= values_of(value) if is_dataclass(value) else {field.name: value}
    return found
