"""Compilation of expressions to SQL in layers: each part is a column of a subquery, and is computed once for a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import final

from .checked import Checked, ValueType
from .syntax import COMPARISONS


class LayeredCompiler(ABC):
    """Names each part, and puts it into the first layer in which its arguments have names.

    Subclasses write the operations of a dialect of SQL; those that all dialects write alike are here.

    Args:
        read_column: Function of a column name and a type that returns the SQL of the value: NULL if missing.

    Attributes:
        layers: Names and SQL of the parts, from the innermost subquery out.
    """

    def __init__(self, read_column: Callable[[str, ValueType], str]) -> None:
        self.read_column = read_column
        self.layers: list[list[tuple[str, str]]] = []
        self._compiled: dict[int, tuple[Checked, str, int]] = {}
        self._names: dict[tuple[int, str], str] = {}

    @abstractmethod
    def write_literal(self, checked: Checked) -> str:
        """Return the SQL of a public value."""

    @abstractmethod
    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return the SQL of an operation that dialects write differently, on names or literals."""

    @final
    def compile(self, checked: Checked) -> str:
        """Return the name or literal of a part."""
        return self._compile(checked)[0]

    def _compile(self, checked: Checked) -> tuple[str, int]:
        """Return the name or literal of a part, and the first layer that can use it."""
        if id(checked) not in self._compiled:
            if checked.function == "literal":
                compiled = self.write_literal(checked), 0
            else:
                parts = [self._compile(argument) for argument in checked.arguments]
                layer = max((part_layer for _, part_layer in parts), default=0)
                sql = self._write(checked, [name for name, _ in parts])
                compiled = self._name(layer, sql), layer + 1
            self._compiled[id(checked)] = checked, *compiled
        return self._compiled[id(checked)][1:]

    def _name(self, layer: int, sql: str) -> str:
        """Return the SQL alias of an expression in a layer of the query; equal expressions share one alias."""
        if (layer, sql) not in self._names:
            while len(self.layers) <= layer:
                self.layers.append([])
            self._names[layer, sql] = f"v{len(self._names)}_"
            self.layers[layer].append((self._names[layer, sql], sql))
        return self._names[layer, sql]

    def _write(self, checked: Checked, arguments: list[str]) -> str:
        """Return the SQL of one operation on named parts."""
        name = checked.function
        if name == "column":
            return self.read_column(str(checked.value), checked.type)
        if name in COMPARISONS:
            return f"{arguments[0]} {COMPARISONS[name]} {arguments[1]}"
        if name == "in":
            return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
        if name == "case":
            pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
            branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
            return f"CASE {branches} ELSE {arguments[-1]} END"
        if name == "substr":
            arguments = [arguments[0], *(f"{int(part.number)}" for part in checked.arguments[1:])]
        if name in SHARED:  # of one argument the value is that argument, and Spark has no function of it
            return f"{name}({', '.join(arguments)})" if len(arguments) > 1 else arguments[0]
        return self.write_operation(checked, arguments)


SHARED = frozenset({"coalesce", "least", "greatest", "substr"})
"""Functions that all dialects write as their name with arguments in brackets."""
