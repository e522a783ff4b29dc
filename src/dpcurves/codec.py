"""Codec of dataclasses: plain objects of JSON, made from fields and their types, and read back.

Our own, as stored forms are frozen: fields have other names in JSON, or lie in the object around them. msgspec renames
fields of its own structs alone, and cattrs would need a hook for each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

Kind = TypeVar("Kind")
PLAIN = frozenset({bool, int, float, str, NoneType})
INSIDE = ""
"""The name in ``FIELDS`` of a field whose own fields stand beside the others."""


@dataclass(frozen=True)
class Codec:
    """Plain objects of values, by their types.

    Fields of a dataclass are written in their order, under their names, but for those that have their default. A class
    with a mapping ``FIELDS`` says which of its fields are written, by their names in JSON.

    Attributes:
        writers: For types that are no dataclasses, as fields are annotated with them: makes plain objects of a value.
        readers: Makes the value of plain objects again.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Share:
    ...     FIELDS = {"of": "whole", "part": "part"}
    ...     part: Fraction
    ...     whole: int = 1
    >>> STORED.written(Share(Fraction(1, 3), 5))
    {'of': 5, 'part': '1/3'}
    >>> STORED.made(Share, {"part": "1/3"})
    Share(part=Fraction(1, 3), whole=1)
    """

    writers: dict[Any, Callable[[Any], Any]]
    readers: dict[Any, Callable[[Any], Any]]

    def add(self, kind: Any, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
        """Take in a type from a room above."""
        self.writers[kind], self.readers[kind] = write, read

    def write(self, value: Any, hint: Any = None) -> Any:
        """The plain objects of a value, by its own type, or by that of the field that holds it."""
        for kind in (*type(value).__mro__, hint):
            if kind in self.writers:
                return self.writers[kind](value)
        if isinstance(value, tuple):
            return [each if type(each) in PLAIN else self.write(each) for each in value]  # there may be many
        if isinstance(value, Mapping):
            return {name: self.write(each) for name, each in value.items()}
        return self.written(value) if is_dataclass(value) else value

    def written(self, thing: Any, but: Collection[str] = ()) -> dict[str, Any]:
        """The fields of a dataclass as plain objects, but for some."""
        found: dict[str, Any] = {}
        for name, (field, hint) in _parts(cast(Any, type(thing))).items():
            value = getattr(thing, field.name)
            if name == INSIDE:
                found |= self.written(value)
            elif name not in but and (field.default is MISSING or value != field.default):
                found[name] = self.write(value, hint)
        return found

    def read(self, hint: Any, stored: Any) -> Any:
        """The value of a type, of the plain objects that `write` made of it.

        Raises:
            LookupError, TypeError, ValueError: they are of no such value.
        """
        if hint in self.readers:
            return self.readers[hint](stored)
        kinds = get_args(hint)
        if get_origin(hint) in {Union, UnionType}:
            return None if stored is None and NoneType in kinds else self.read(kinds[0], stored)
        if get_origin(hint) is Mapping:
            return {self.read(kinds[0], name): self.read(kinds[1], each) for name, each in stored.items()}
        if get_origin(hint) is tuple and kinds[-1] is ...:
            return tuple(self.read(kinds[0], each) for each in stored)
        if get_origin(hint) is tuple:
            return tuple(self.read(kind, each) for kind, each in zip(kinds, stored, strict=True))
        return hint(stored) if issubclass(hint, Enum) else self.made(hint, stored)

    def made(self, kind: type[Kind], stored: Mapping[str, Any], **given: Any) -> Kind:
        """The object of a class, of the plain objects that `written` made of its fields, or of what is given for them.

        Raises:
            LookupError, TypeError, ValueError: a field without a default is missing, or one is of another form.
        """
        for name, (field, hint) in _parts(cast(Any, kind)).items():
            if field.name not in given and (name in stored or name == INSIDE or field.default is MISSING):
                given[field.name] = self.read(hint, stored if name == INSIDE else stored[name])
        return kind(**given)


@cache
def _parts(kind: Any) -> Mapping[str, tuple[Field[Any], Any]]:
    """The fields of a class and their types, by their names in JSON."""
    hints, known = get_type_hints(kind), {each.name: each for each in fields(kind) if each.init}
    names: Mapping[str, str] = getattr(kind, "FIELDS", None) or {name: name for name in known}
    return {name: (known[field], hints[field]) for name, field in names.items()}


STORED = Codec(
    writers={Fraction: str, bytes: bytes.hex, np.integer: int, Enum: lambda member: member.value},
    readers={each: each for each in (bool, int, float, str, Fraction)} | {bytes: bytes.fromhex},
)
"""The forms of what is stored: exact numbers as texts, octets as hexadecimal digits."""
