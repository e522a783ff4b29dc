"""Codec of dataclasses: plain objects of JSON, made from fields and their types, read back, and their JSON Schema.

Our own, as stored forms are frozen: fields have other names in JSON, or lie in the object around them. msgspec renames
fields of its own structs alone, and cattrs would need a hook for each of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

Kind = TypeVar("Kind")
PLAIN = frozenset({bool, int, float, str, NoneType})
INSIDE = ""
"""The name in ``FIELDS`` of a field whose own fields stand beside the others."""
Rule: TypeAlias = Mapping[str, Any]
"""A schema in the words of JSON Schema, draft 2020-12."""
Count: TypeAlias = Annotated[int, ("minimum", 1)]
Natural: TypeAlias = Annotated[int, ("minimum", 0)]
INTEGERS = {"type": "array", "items": {"type": "integer"}}


@dataclass(frozen=True)
class Codec:
    """Plain objects of values, by their types.

    Fields of a dataclass are written in their order, under their names, but for those that have their default. A class
    with a mapping ``FIELDS`` says which of its fields are written, by their names in JSON.

    Attributes:
        writers: For types that are no dataclasses, as fields are annotated with them: makes plain objects of a value.
        readers: Makes the value of plain objects again.
        rules: The schema of what is written. A rule of a field alone stands in its type, as of `Count`.
        definitions: The schemas of dataclasses that others refer to, by their names.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Share:
    ...     FIELDS = {"of": "whole", "part": "part"}
    ...     part: Fraction
    ...     whole: int = 1
    >>> STORED.encode(Share(Fraction(1, 3), 5))
    {'of': 5, 'part': '1/3'}
    >>> STORED.decode(Share, {"part": "1/3"})
    Share(part=Fraction(1, 3), whole=1)
    >>> (rule := STORED.rule_of_fields(Share))["required"], rule["properties"]["of"]
    (['part'], {'type': 'integer'})
    """

    writers: dict[Any, Callable[[Any], Any]]
    readers: dict[Any, Callable[[Any], Any]]
    rules: dict[Any, Rule] = field(default_factory=dict)
    definitions: dict[str, Rule] = field(default_factory=dict)

    def add(
        self, kind: Any, write: Callable[[Any], Any], read: Callable[[Any], Any], rule: Rule = MappingProxyType({})
    ) -> None:
        """Take in a type from a room above; where no rule is given, all forms fit its schema."""
        self.writers[kind], self.readers[kind], self.rules[kind] = write, read, rule

    def encode(self, value: Any, hint: Any = None) -> Any:
        """The plain objects of a value, by its own type, or by that of the field that holds it."""
        for kind in (*type(value).__mro__, hint):
            if kind in self.writers:
                return self.writers[kind](value)
        if isinstance(value, tuple):
            return [each if type(each) in PLAIN else self.encode(each) for each in value]  # there may be many
        if isinstance(value, Mapping):
            return {name: self.encode(each) for name, each in value.items()}
        return self.encode_fields(value) if is_dataclass(value) else value

    def encode_fields(self, thing: Any, exclude: Collection[str] = ()) -> dict[str, Any]:
        """The fields of a dataclass as plain objects, but for some."""
        found: dict[str, Any] = {}
        for name, (part, hint) in _json_fields(cast(Any, type(thing))).items():
            value = getattr(thing, part.name)
            if name == INSIDE:
                found |= self.encode_fields(value)
            elif name not in exclude and (part.default is MISSING or value != part.default):
                found[name] = self.encode(value, hint)
        return found

    def decode(self, hint: Any, stored: Any) -> Any:
        """The value of a type, of the plain objects that `encode` made of it.

        Raises:
            LookupError, TypeError, ValueError: they are of no such value.
        """
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        if hint in self.readers:
            return self.readers[hint](stored)
        kinds = get_args(hint)
        if get_origin(hint) in {Union, UnionType}:
            return None if stored is None and NoneType in kinds else self.decode(kinds[0], stored)
        if get_origin(hint) is Mapping:
            return {self.decode(kinds[0], name): self.decode(kinds[1], each) for name, each in stored.items()}
        if get_origin(hint) is tuple and kinds[-1] is ...:
            return tuple(self.decode(kinds[0], each) for each in stored)
        if get_origin(hint) is tuple:
            return tuple(self.decode(kind, each) for kind, each in zip(kinds, stored, strict=True))
        return hint(stored) if issubclass(hint, Enum) else self.decode_fields(hint, stored)

    def decode_fields(self, kind: type[Kind], stored: Mapping[str, Any], **given: Any) -> Kind:
        """The object of a class, of the plain objects that `encode_fields` made of its fields, or of what is given for them.

        Raises:
            LookupError, TypeError, ValueError: a field without a default is missing, or one is of another form.
        """
        for name, (part, hint) in _json_fields(cast(Any, kind)).items():
            if part.name not in given and (name in stored or name == INSIDE or part.default is MISSING):
                given[part.name] = self.decode(hint, stored if name == INSIDE else stored[name])
        return kind(**given)

    def rule(self, hint: Any) -> Rule:
        """The schema of what `encode` makes of values of a type; the docstring of a dataclass describes its fields.

        A name that JSON has beside those of fields is not forbidden: older and newer versions may write more.
        """
        origin, kinds = get_origin(hint), get_args(hint)
        if hint in self.rules:
            rule = self.rules[hint]
        elif origin is Annotated:
            rule = {**self.rule(kinds[0]), **dict(kinds[1:])}
        elif origin in {Union, UnionType}:
            (held,) = (self.rule(each) for each in kinds if each is not NoneType)
            rule = {"if": {"type": "null"}, "else": held}
            if "$ref" not in held:
                rule = {**held, "type": [held["type"], "null"]}
        elif origin is tuple:
            rule = {"type": "array", "items": self.rule(kinds[0])}
        elif origin is Mapping:
            rule = {"type": "object", "additionalProperties": self.rule(kinds[1])}
        else:
            rule = {"enum": [each.value for each in hint]} if issubclass(hint, Enum) else self._make_reference(hint)
        return rule

    def _make_reference(self, kind: type[Any]) -> Rule:
        """A reference to the rule of a dataclass, which stands in `definitions` from now on."""
        name = kind.__name__.lower()
        if name not in self.definitions:
            self.definitions[name] = self.rule_of_fields(kind)
        return {"$ref": f"#/$defs/{name}"}

    def rule_of_fields(self, kind: type[Any]) -> Rule:
        """The schema of what `encode_fields` makes of objects of a dataclass."""
        parts, told = _json_fields(cast(Any, kind)), parse_attribute_docs(kind)
        own = {name: each for name, each in parts.items() if name != INSIDE}
        rule: dict[str, Any] = {"description": told[""]} if "" in told else {}
        rule |= {
            "type": "object",
            "required": [name for name, (field, _) in own.items() if field.default is MISSING],
            "properties": {
                name: {**({"description": told[field.name]} if field.name in told else {}), **self.rule(hint)}
                for name, (field, hint) in own.items()
            },
        }
        return rule | ({"allOf": [self.rule(parts[INSIDE][1])]} if INSIDE in parts else {})


def parse_attribute_docs(kind: type[Any]) -> dict[str, str]:
    """Descriptions in the docstring of a class: its own, under ``""``, and its attributes by their names."""
    head, _, rest = cleandoc(vars(kind).get("__doc__") or "").partition("\nAttributes:\n")
    head = re.split(r"\n(?:Raises:|>>> )", head)[0]
    found = re.findall(r"^    ([\w, ]+): (.*(?:\n {5,}.*)*)", rest.partition("\n\n")[0], re.MULTILINE)
    found = [(name, text) for names, text in found for name in names.split(", ")]
    return {name: re.sub(r"\s+", " ", text.replace("`", "")).strip() for name, text in [("", head), *found] if text}


@cache
def _json_fields(kind: Any) -> Mapping[str, tuple[Field[Any], Any]]:
    """The fields of a class and their types, by their names in JSON."""
    hints, known = get_type_hints(kind, include_extras=True), {each.name: each for each in fields(kind) if each.init}
    names: Mapping[str, str] = getattr(kind, "FIELDS", None) or {name: name for name in known}
    return {name: (known[field], hints[field]) for name, field in names.items()}


STORED = Codec(
    writers={Fraction: str, bytes: bytes.hex, np.integer: int, Enum: lambda member: member.value},
    readers={each: each for each in (bool, int, float, str, Fraction)} | {bytes: bytes.fromhex},
    rules={
        bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, str: {"type": "string"},
        Fraction: {"type": "string", "pattern": "^-?[0-9]+(/[1-9][0-9]*)?$"}, bytes: {"type": "string"},
    },
)  # fmt: skip
"""The forms of what is stored: exact numbers as texts, octets as hexadecimal digits."""
