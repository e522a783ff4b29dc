"""JSON codec of dataclasses: encode to plain objects, decode by the types of the fields, and derive the JSON Schema.

    Codec.encode     value -> JSON value: Fraction as text "1/3", bytes as hexadecimal text, a dataclass as object
    Codec.decode     type, JSON value -> value; the inverse of `encode`
    Codec.schema     type -> JSON Schema of the encoded values
    Codec.add        registers a further type

`STORED_CODEC` is the codec of stored documents. Their formats are frozen, and JSON names may differ from field names or
be inlined into the enclosing object. That is why no library is used: msgspec renames fields of its own structs only,
and cattrs needs a hook for each inlined class. The module converts its arguments, and reads no files and no records.

>>> STORED_CODEC.encode(Fraction(1, 3)), STORED_CODEC.decode(Fraction, "1/3")
('1/3', Fraction(1, 3))
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
"""The dataclass that is decoded."""
JSON_SCALARS = frozenset({bool, int, float, str, NoneType})
"""Types that JSON has: such items of a tuple are written as they are, without a call, because counts are long."""
INLINED_FIELD = ""
"""Key in ``FIELDS`` of a dataclass: the fields of the value under it are written into the enclosing JSON object instead
of an object of their own."""
JsonSchema: TypeAlias = Mapping[str, Any]
"""A JSON Schema, draft 2020-12."""
Count: TypeAlias = Annotated[int, ("minimum", 1)]
"""Integer of at least 1, in the schema."""
Natural: TypeAlias = Annotated[int, ("minimum", 0)]
"""Integer of at least 0, in the schema."""
INTEGERS = {"type": "array", "items": {"type": "integer"}}
"""JSON Schema of a list of integers, used in the schemas of several documents."""


@dataclass(frozen=True)
class Codec:
    """Converter of values to plain JSON objects and back, by type.

    The fields of a dataclass are written in order, under their names; a field that has its default is left out. A class
    with a mapping ``FIELDS`` from JSON names to field names writes those fields only.

    Attributes:
        writers: For types that are not dataclasses: the function that converts a value to plain objects.
        readers: For the same types: the inverse function.
        schemas: For the same types: the JSON Schema. An annotation of a type, as in `Count`, is for one field only.
        definitions: Schemas of dataclasses that other schemas refer to, by name.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Share:
    ...     FIELDS = {"of": "whole", "part": "part"}
    ...     part: Fraction
    ...     whole: int = 1
    >>> STORED_CODEC.encode(Share(Fraction(1, 3), 5))
    {'of': 5, 'part': '1/3'}
    >>> STORED_CODEC.decode(Share, {"part": "1/3"})
    Share(part=Fraction(1, 3), whole=1)
    >>> (schema := STORED_CODEC.schema_of_fields(Share))["required"], schema["properties"]["of"]
    (['part'], {'type': 'integer'})
    """

    writers: dict[Any, Callable[[Any], Any]]
    readers: dict[Any, Callable[[Any], Any]]
    schemas: dict[Any, JsonSchema] = field(default_factory=dict)
    definitions: dict[str, JsonSchema] = field(default_factory=dict)

    def add(
        self,
        kind: Any,
        write: Callable[[Any], Any],
        read: Callable[[Any], Any],
        schema: JsonSchema = MappingProxyType({}),
    ) -> None:
        """Register how values of a type are written and read, for types of a higher layer.

        Args:
            kind: The type.
            write: Function from a value of the type to JSON.
            read: Function from JSON to such a value.
            schema: JSON Schema of what `write` returns; empty: the schema accepts anything.
        """
        self.writers[kind], self.readers[kind], self.schemas[kind] = write, read, schema

    def encode(self, value: Any, hint: Any = None) -> Any:
        """Return a value as JSON values.

        Args:
            value: A value of a registered type, a dataclass, a tuple or mapping of such, or a value that JSON has.
            hint: Annotation of its field, whose writer is used if the type of the value has none; None: no annotation.
        """
        for kind in (*type(value).__mro__, hint):
            if kind in self.writers:
                return self.writers[kind](value)
        if isinstance(value, tuple):
            # Counts are tuples of many integers: skip the call for items that are plain already.
            return [item if type(item) in JSON_SCALARS else self.encode(item) for item in value]
        if isinstance(value, Mapping):
            return {name: self.encode(item) for name, item in value.items()}
        return self.encode_fields(value) if is_dataclass(value) else value

    def encode_fields(self, instance: Any, exclude: Collection[str] = ()) -> dict[str, Any]:
        """Return the fields of a dataclass as JSON values by JSON name. Fields with their default are left out.

        Args:
            instance: Object of a dataclass.
            exclude: JSON names that are left out, too.
        """
        encoded: dict[str, Any] = {}
        for name, (member, hint) in _json_fields(cast(Any, type(instance))).items():
            value = getattr(instance, member.name)
            if name == INLINED_FIELD:
                encoded |= self.encode_fields(value)
            elif name not in exclude and (member.default is MISSING or value != member.default):
                encoded[name] = self.encode(value, hint)
        return encoded

    def decode(self, hint: Any, stored: Any) -> Any:
        """Return the value of a type from the JSON values that `encode` made.

        Args:
            hint: The type, as an annotation.
            stored: The JSON values.

        Raises:
            LookupError, TypeError, ValueError: `stored` does not have the form of the type.
        """
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        if hint in self.readers:
            return self.readers[hint](stored)
        kinds = get_args(hint)
        if get_origin(hint) in {Union, UnionType}:
            return None if stored is None and NoneType in kinds else self.decode(kinds[0], stored)
        if get_origin(hint) is Mapping:
            return {self.decode(kinds[0], name): self.decode(kinds[1], item) for name, item in stored.items()}
        if get_origin(hint) is tuple and kinds[-1] is ...:
            return tuple(self.decode(kinds[0], item) for item in stored)
        if get_origin(hint) is tuple:
            return tuple(self.decode(kind, item) for kind, item in zip(kinds, stored, strict=True))
        return hint(stored) if issubclass(hint, Enum) else self.decode_fields(hint, stored)

    def decode_fields(self, kind: type[Kind], stored: Mapping[str, Any], **values: Any) -> Kind:
        """Return an instance of a dataclass from what `encode_fields` made.

        Args:
            kind: The dataclass.
            stored: JSON values by JSON name. Unknown names are ignored.
            values: Values by field name, which take precedence over `stored`.

        Raises:
            LookupError, TypeError, ValueError: a field without a default is missing, or a field has the wrong form.
        """
        for name, (member, hint) in _json_fields(cast(Any, kind)).items():
            if member.name not in values and (name in stored or name == INLINED_FIELD or member.default is MISSING):
                values[member.name] = self.decode(hint, stored if name == INLINED_FIELD else stored[name])
        return kind(**values)

    def schema(self, hint: Any) -> JsonSchema:
        """Return the JSON Schema of the encoded values of a type; docstrings of dataclasses become descriptions.

        Unknown JSON names are allowed, because another version of the package may write more fields.

        Args:
            hint: The type, as an annotation. Schemas of dataclasses are added to `definitions` and referred to.
        """
        origin = get_origin(hint)
        kinds = get_args(hint)
        if hint in self.schemas:
            schema = self.schemas[hint]
        elif origin is Annotated:
            schema = {**self.schema(kinds[0]), **dict(kinds[1:])}
        elif origin in {Union, UnionType}:
            (optional,) = (self.schema(kind) for kind in kinds if kind is not NoneType)
            schema = {"if": {"type": "null"}, "else": optional}
            if "$ref" not in optional:
                schema = {**optional, "type": [optional["type"], "null"]}
        elif origin is tuple:
            schema = {"type": "array", "items": self.schema(kinds[0])}
        elif origin is Mapping:
            schema = {"type": "object", "additionalProperties": self.schema(kinds[1])}
        else:
            schema = (
                {"enum": [member.value for member in hint]} if issubclass(hint, Enum) else self._make_reference(hint)
            )
        return schema

    def _make_reference(self, kind: type[Any]) -> JsonSchema:
        """Return a reference to the schema of a dataclass, which is added to `definitions`.

        Args:
            kind: A dataclass; its name in lower case is the name of the definition.

        Returns:
            ``{"$ref": "#/$defs/name"}``.
        """
        name = kind.__name__.lower()
        if name not in self.definitions:
            self.definitions[name] = self.schema_of_fields(kind)
        return {"$ref": f"#/$defs/{name}"}

    def schema_of_fields(self, kind: type[Any]) -> JsonSchema:
        """Return the JSON Schema of the object that `encode_fields` writes for a dataclass.

        Args:
            kind: The dataclass, whose docstring describes its attributes (`parse_attribute_docs`).
        """
        members = _json_fields(cast(Any, kind))
        descriptions = parse_attribute_docs(kind)
        named = {name: member for name, member in members.items() if name != INLINED_FIELD}
        schema: dict[str, Any] = {"description": descriptions[""]} if "" in descriptions else {}
        schema |= {
            "type": "object",
            "required": [name for name, (member, _) in named.items() if member.default is MISSING],
            "properties": {
                name: {
                    **({"description": descriptions[member.name]} if member.name in descriptions else {}),
                    **self.schema(hint),
                }
                for name, (member, hint) in named.items()
            },
        }
        return schema | ({"allOf": [self.schema(members[INLINED_FIELD][1])]} if INLINED_FIELD in members else {})


def parse_attribute_docs(kind: type[Any]) -> dict[str, str]:
    """Return the descriptions of a class's attributes from its docstring.

    Args:
        kind: A class with a docstring in Google style.

    Returns:
        The description of each attribute by name, and the text before the section ``Attributes`` under the name ``""``;
        empty without a docstring.
    """
    head, _, rest = cleandoc(vars(kind).get("__doc__") or "").partition("\nAttributes:\n")
    head = re.split(r"\n(?:Raises:|>>> )", head)[0]
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n {5,}.*)*)", rest.partition("\n\n")[0], re.MULTILINE)
    entries = [(name, text) for names, text in entries for name in names.split(", ")]
    return {name: re.sub(r"\s+", " ", text.replace("`", "")).strip() for name, text in [("", head), *entries] if text}


@cache
def _json_fields(kind: Any) -> Mapping[str, tuple[Field[Any], Any]]:
    """Return the fields of a dataclass with their types, by JSON name.

    JSON names come from the class attribute ``FIELDS``; without it they are the names of the fields.

    Args:
        kind: A dataclass.

    Returns:
        For each JSON name, the dataclass field and its resolved type, in the order of the document.
    """
    hints = get_type_hints(kind, include_extras=True)
    members = {member.name: member for member in fields(kind) if member.init}
    names: Mapping[str, str] = getattr(kind, "FIELDS", None) or {name: name for name in members}
    return {name: (members[member], hints[member]) for name, member in names.items()}


EXACT_NUMBER = "-?[0-9]{1,4000}(/[1-9][0-9]{0,3999}|[.][0-9]{1,4000})?"
"""Regular expression of exact numbers in JSON documents: integers, ratios and decimals of up to 4,000 digits. Anything
else is refused: an exponent, as in 1e999999999, would take hours to multiply out."""


def parse_exact_number(stored: Any) -> Fraction:
    """Parse an exact number of a document, which another machine may have written.

    Args:
        stored: A number or a text of a JSON document.

    Raises:
        ValueError: the text is neither an integer, a ratio of two, nor a decimal number without exponent.

    >>> parse_exact_number("1/3"), parse_exact_number("0.5")
    (Fraction(1, 3), Fraction(1, 2))
    """
    if isinstance(stored, str) and not re.fullmatch(EXACT_NUMBER, stored):
        raise ValueError("an exact number must be an integer or a ratio of two, as in 1/3, without an exponent")
    return Fraction(stored)


STORED_CODEC = Codec(
    writers={Fraction: str, bytes: bytes.hex, np.integer: int, Enum: lambda member: member.value},
    readers={kind: kind for kind in (bool, int, float, str)} | {Fraction: parse_exact_number, bytes: bytes.fromhex},
    schemas={
        bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, str: {"type": "string"},
        Fraction: {"type": "string", "pattern": "^-?[0-9]+(/[1-9][0-9]*)?$"}, bytes: {"type": "string"},
    },
)  # fmt: skip
"""Writes and reads stored documents, such as released results: exact numbers become strings, bytes hexadecimal digits.
Modules register their own types here."""
