"""Compile expressions to nested SQL queries with common subexpression elimination: each repeated part is computed once.

    layer 0    columns of the table
    layer 1    parts that are used again, computed from layer 0
    layer 2    parts that are used again, computed from layers 0 and 1; and so on

A part that is used again becomes a named column of a subquery; a part that is used once is written in its place. So the
SQL grows with the expression, not with the number of uses. `LayeredCompiler.compile` returns the SQL of an expression,
and `layers` lists the named columns. Dialects subclass it to write literals and operations. Compiling touches no
records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, final

from .checked import Checked, ValueType
from .syntax import COMPARISONS


class LayeredCompiler(ABC):
    """Base class of compilers to a dialect of SQL.

    A part that is used once is written where it is used. Other parts are named in the first layer in which their
    arguments have names. So the SQL is no longer than a multiple of the expression, and planners, which take time for
    each layer, see few of them. Subclasses write the operations of a dialect; operations that all dialects write alike
    are here.

    Args:
        read_column: Function of a column name and a type that returns the SQL of the value: NULL if missing.
        most_nested: Number of operations that are written inside each other; the next one gets a name.

    Attributes:
        layers: Name and SQL of each named part, as a list for each subquery, from the innermost subquery out.
    """

    def __init__(self, read_column: Callable[[str, ValueType], str], most_nested: int = 6) -> None:
        """Prepare the compilation of expressions to layered SQL, where nested subqueries name intermediate results.

        Args:
            read_column: Function of a column name and a type that returns the SQL of the column's value as that type.
            most_nested: Largest number of operations nested in one SQL expression; deeper ones are named in an inner
                subquery.
        """
        self.read_column = read_column
        self.layers: list[list[tuple[str, str]]] = []
        self._most_nested = most_nested
        self._compiled: dict[int, tuple[Checked, _Part]] = {}
        self._uses: Counter[int] = Counter()
        self._names: dict[tuple[int, str], str] = {}

    @abstractmethod
    def write_literal(self, checked: Checked) -> str:
        """Return the SQL of a literal in the dialect, by its type ``checked.type``; a value of None is NULL.

        Args:
            checked: Node of a literal.
        """

    @abstractmethod
    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return the SQL of an operation that dialects write differently.

        Args:
            checked: The operation.
            arguments: SQL of its arguments: names, literals, or operations in brackets.
        """

    @final
    def compile(self, checked: Checked) -> str:
        """Return the SQL of an expression: the name of a computed column, or a literal.

        Args:
            checked: The expression, lowered and checked. Its repeated parts are one object.
        """
        self._count_uses(checked, set())
        return self._name_part(self._compile(checked)).sql

    def _count_uses(self, checked: Checked, seen: set[int]) -> None:
        """Count how often each subexpression is an argument of another, in `_uses`, to find those that deserve a named
        column.

        Args:
            checked: The expression.
            seen: Identities of the parts that were counted; each part is visited once.
        """
        if id(checked) not in seen:
            seen.add(id(checked))
            self._uses.update(map(id, checked.arguments))
            for argument in checked.arguments:
                self._count_uses(argument, seen)

    def _compile(self, checked: Checked) -> _Part:
        """Return the SQL of a node, compiled once; a subexpression that is used several times becomes a named column.

        Args:
            checked: Node of the expression.
        """
        if id(checked) not in self._compiled:
            part = _Part(self.write_literal(checked), 0) if checked.function == "literal" else self._nest(checked)
            self._compiled[id(checked)] = checked, self._name_part(part) if self._uses[id(checked)] > 1 else part
        return self._compiled[id(checked)][1]

    def _nest(self, checked: Checked) -> _Part:
        """Return the SQL of an operation with its arguments inside, as far as `most_nested` allows; others become named
        columns.

        An argument that the SQL of the operation repeats, as in ``CASE WHEN x > 0 THEN x END``, becomes a named column,
        too.

        Args:
            checked: An operation or a column; its arguments are compiled here.
        """
        arguments = [self._compile(argument) for argument in checked.arguments]
        slots = [f"argument{index}_" for index in range(len(arguments))]
        outline = self._write(checked, slots)
        parts = [
            part if outline.count(slot) == 1 and part.nesting < self._most_nested else self._name_part(part)
            for part, slot in zip(arguments, slots, strict=True)
        ]
        sql = self._write(checked, [f"({part.sql})" if part.nesting else part.sql for part in parts])
        layer = max((part.layer for part in parts), default=0)
        return _Part(sql, layer, 1 + max((part.nesting for part in parts), default=0))

    def _name_part(self, part: _Part) -> _Part:
        """Give an operation a separate column in the next layer, and return the reference to it; names and literals
        are returned unchanged.

        Args:
            part: SQL of the operation, with its layer and nesting.
        """
        return _Part(self._name(part.layer, part.sql), part.layer + 1) if part.nesting else part

    def _name(self, layer: int, sql: str) -> str:
        """Return the alias of the column that holds an operation's result in a layer (subquery); equal operations of
        one layer share an alias.

        Args:
            layer: Index of the layer, which is added if it does not exist.
            sql: The operation.
        """
        if (layer, sql) not in self._names:
            while len(self.layers) <= layer:
                self.layers.append([])
            self._names[layer, sql] = f"v{len(self._names)}_"
            self.layers[layer].append((self._names[layer, sql], sql))
        return self._names[layer, sql]

    def _write(self, checked: Checked, arguments: list[str]) -> str:
        """Return the SQL of one operation; `write_operation` writes those that differ between SQL dialects.

        Args:
            checked: The operation.
            arguments: SQL of its arguments: names, literals, or operations in brackets.
        """
        name = checked.function
        if name == "column":
            return self.read_column(str(checked.value), checked.type)
        if name in SYMBOLS:
            return f"{arguments[0]} {SYMBOLS[name]} {arguments[1]}"
        if name == "in":
            return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
        if name == "case":
            pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
            branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
            return f"CASE {branches} ELSE {arguments[-1]} END"
        if name == "substr":
            arguments = [arguments[0], *(f"{int(part.number)}" for part in checked.arguments[1:])]
        if name in COMMON_FUNCTIONS:  # of one argument the value is that argument, and Spark has no function of it
            return f"{name}({', '.join(arguments)})" if len(arguments) > 1 else arguments[0]
        return self.write_operation(checked, arguments)


class _Part(NamedTuple):
    """SQL of a part of an expression.

    Attributes:
        sql: Its name, its literal, or its operation.
        layer: First layer that can use it.
        nesting: Number of operations inside each other; 0 for a name or a literal.
    """

    sql: str
    layer: int
    nesting: int = 0


SYMBOLS: Mapping[str, str] = MappingProxyType({**COMPARISONS, "whole_add": "+", "whole_sub": "-", "whole_mul": "*"})
"""Comparisons, and arithmetic of whole numbers below ``2**53``: see `lower_expression`."""
COMMON_FUNCTIONS = frozenset({"coalesce", "least", "greatest", "substr"})
"""Functions that all dialects write as their name with arguments in brackets."""
