"""Options that come in groups: a command takes dataclasses, and their fields become options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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


def with_options(command: Command, standing: Mapping[str, str] = NOTHING) -> Command:
    """Make a command take the fields of its dataclasses one by one.

    Every parameter of `command` is a dataclass. Its fields are annotated as options, or are groups of options again;
    together they are what is shown by ``--help``, in this order.

    Args:
        command: What is done.
        standing: What stands for options that are needed and were not given, by what they take; the name of the option
            itself where that is empty.
    """
    groups = groups_of(command)
    parameters = [parameter for group in groups.values() for parameter in _parameters(group, standing)]

    @wraps(command)
    def flat(**values: Any) -> None:
        with as_typed(values):
            command(**{name: _filled(group, values) for name, group in groups.items()})

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _parameters(group: Group, standing: Mapping[str, str]) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hints[field.name]):
            yield from _parameters(hints[field.name], standing)
        else:
            default = _standing(field.name, hints[field.name], standing) if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])


def _standing(name: str, hint: Any, standing: Mapping[str, str]) -> Any:
    takes = next((str(each.metavar) for each in getattr(hint, "__metadata__", ()) if hasattr(each, "metavar")), "")
    return standing[takes] or name if takes in standing else Parameter.empty


def _filled(group: Group, values: Mapping[str, Any]) -> Any:
    hints = get_type_hints(group)
    names = [field.name for field in fields(group)]
    return group(
        **{name: _filled(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names}
    )
