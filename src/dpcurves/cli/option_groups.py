"""Option groups: parameters of a command are dataclasses, and their fields become its options."""

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
