"""Write a question as the Python code that creates it, for pages from which readers copy code (code generation).

A *question* is a frozen dataclass that asks for a private curve or number. `write_question_code` takes one
and returns a `QuestionCode`: an expression as a person would write it, wrapped to the line width, and the import
statements that it needs beside ``import dpcurves as dp``. Arguments that equal their defaults are left out. Executed,
the expression gives an equal question.

Formal guarantees: no record is read; questions hold public facts alone.

>>> from dpcurves.curves import CdfQuestion
>>> print(write_question_code(CdfQuestion("age", Grid(0, 120, cells=120))).expression)
dp.CdfQuestion("age", dp.Grid(0, 120, cells=120))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from importlib import import_module
from math import copysign, isfinite
from typing import Any, get_args, get_type_hints

from ..arguments import Exact, InvalidArgument
from ..data import Grid, Outside, Predictor, Spacing, Values
from ..data.values import format_values
from ..privacy import PrivacyLoss

LINE_WIDTH = 88
"""Characters. A longer line of the Python code of a question is broken at its brackets."""
INDENT = "    "
"""Indentation of a broken line of the Python code of a question, once for each bracket around it."""


@dataclass(frozen=True, slots=True)
class QuestionCode:
    """A question as Python code.

    Attributes:
        imports: Import statements beside ``import dpcurves as dp``, each a line.
        expression: The expression of the question, of one or several lines.
    """

    imports: tuple[str, ...]
    expression: str


def write_question_code(question: Any, *, column: int = 0) -> QuestionCode:
    """Return a question as a Python expression with its imports.

    Args:
        question: The question.
        column: Number of characters before the expression on its first line, which shorten that line.

    >>> from dpcurves.curves import CdfQuestion
    >>> print(write_question_code(CdfQuestion("age", Grid(0, 120, cells=120))).expression)
    dp.CdfQuestion("age", dp.Grid(0, 120, cells=120))
    """
    writer = _Writer()
    call = writer.convert_question(question)
    return QuestionCode(tuple(sorted(writer.imports)), _render(call, column, 0))


def write_loss_code(loss: PrivacyLoss) -> str:
    """Return a privacy loss as Python code, on one line.

    Args:
        loss: The privacy loss.

    >>> write_loss_code(PrivacyLoss.pure("0.5")), write_loss_code(PrivacyLoss.zcdp("1/3", 1e-6))
    ('dp.PrivacyLoss.pure(0.5)', 'dp.PrivacyLoss.zcdp("1/3", delta=1e-06)')
    """
    name, amount = ("zcdp", loss.rho) if loss.epsilon is None else ("pure", loss.epsilon)
    delta = f", delta={_format_number(loss.delta)}" if loss.delta else ""
    return f"dp.PrivacyLoss.{name}({_format_number(amount)}{delta})"


@dataclass(frozen=True, slots=True)
class _Code:
    """A call or a sequence, as code that may be broken into lines between its parts.

    Attributes:
        opening: Text before the parts, such as ``dp.Grid(``.
        parts: Arguments or elements, as texts or as code.
        closing: Bracket after the parts.
        is_filled: If True, a broken line takes as many parts as fit, as for lists of numbers. If False, it takes one.
    """

    opening: str
    parts: tuple[str | _Code, ...]
    closing: str
    is_filled: bool = False

    @property
    def line(self) -> str:
        """The call with all its arguments as one line of Python code."""
        comma = "," if self.opening.endswith("=(") or self.opening == "(" else ""
        ending = comma if comma and len(self.parts) == 1 else ""  # a tuple of one element
        return f"{self.opening}{', '.join(map(_format_line, self.parts))}{ending}{self.closing}"


def _format_line(part: str | _Code) -> str:
    """Return a call as one line of Python; a text unchanged.

    Args:
        part: A call, or code that is already one line.
    """
    return part if isinstance(part, str) else part.line


def _render(code: str | _Code, column: int, depth: int, ending: int = 0) -> str:
    """Return code as text, broken into lines if it is too long for one.

    Args:
        code: Text, which is never broken, or a call or sequence.
        column: Number of characters before it on its first line.
        depth: Number of brackets around it, for the indentation.
        ending: Number of characters that must fit behind it.
    """
    if isinstance(code, str) or not code.parts or column + len(code.line) + ending <= LINE_WIDTH:
        return _format_line(code)
    margin = INDENT * (depth + 1)
    if code.is_filled:
        lines = _fill_lines([_format_line(part) for part in code.parts], LINE_WIDTH - len(margin))
    else:
        lines = [f"{_render(part, len(margin), depth + 1, 1)}," for part in code.parts]
    return "\n".join([code.opening, *(margin + line for line in lines), INDENT * depth + code.closing])


def _fill_lines(parts: Sequence[str], width: int) -> list[str]:
    """Return lines with as many parts as fit, and a comma after each part.

    Args:
        parts: Texts without line ends.
        width: Most characters of a line; a longer part has its own line.
    """
    lines = [""]
    for part in parts:
        text = f"{part},"
        is_full = bool(lines[-1]) and len(lines[-1]) + 1 + len(text) > width
        lines = [*lines, text] if is_full else [*lines[:-1], f"{lines[-1]} {text}".strip()]
    return lines


class _Writer:
    """Converter of questions to code. It collects the imports that the code needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def convert_question(self, question: Any) -> _Code:
        """Return a question as the call of its class: names of columns, grids and categories by position, then
        keywords.

        Args:
            question: The question.

        Raises:
            InvalidArgument: the class of a field cannot be written as code.
        """
        is_positional = True
        parts = list[str | _Code]()
        for member in sorted(fields(question), key=lambda member: bool(member.kw_only)):
            value = getattr(question, member.name)
            is_leading = isinstance(value, str | Grid) or (is_dataclass(value) and not isinstance(value, Predictor))
            is_positional &= not member.kw_only and member.default is MISSING and is_leading
            if is_positional:
                parts.append(self._convert_field(question, member))
            elif not _has_default(member, value):
                parts.append(self._name_part(member.name, self._convert_field(question, member)))
        return _Code(f"{self._find_name(type(question))}(", tuple(parts), ")")

    def _convert_field(self, owner: Any, member: Field[Any]) -> str | _Code:
        """Return the value of a dataclass field as code.

        A whole float in a field of floats is written as an integer. Categories keep their type, which is part of a
        category.

        Args:
            owner: Object of a dataclass.
            member: One of its fields.

        Raises:
            InvalidArgument: the class of the value cannot be written as code.
        """
        hint = get_type_hints(type(owner))[member.name]
        hints = {hint, *get_args(hint)}
        is_number = bool(hints & {float, Fraction}) and not hints & {bool}
        return self._convert(getattr(owner, member.name), is_number=is_number)

    def _convert(self, value: Any, *, is_number: bool = False) -> str | _Code:
        """Return the Python expression that builds a value of a question, for code that repeats the question.

        Args:
            value: A field's value: an enumeration, grid, model, text, number, None, dataclass, or sequence of these.
            is_number: True if the field holds numbers only, so that 2.0 may be written as 2.

        Raises:
            InvalidArgument: the class of the value cannot be written as code.
        """
        code: str | _Code
        match value:
            case Enum():
                code = self._convert_member(value)
            case Grid():
                code = _convert_grid(value)
            case Predictor():
                code = f"dp.predictor_from_json({_quote(value.to_json())})"
            case str():
                code = _quote(value)
            case tuple() | list():
                elements = tuple(self._convert(element, is_number=is_number) for element in value)
                code = _Code("(", elements, ")", is_filled=all(isinstance(element, str) for element in elements))
            case bool() | int() | float() | Fraction():
                is_converted = is_number and not isinstance(value, bool)
                code = _format_number(value) if is_converted else _format_scalar(value)
            case None:
                code = "None"
            case _ if is_dataclass(value):
                code = self._convert_dataclass(value)
            case _:
                rule = f"a {type(value).__name__} cannot be written as code; use the question's JSON form"
                raise InvalidArgument("question", rule)
        return code

    def _convert_dataclass(self, value: Any) -> _Code:
        """Return an object of a dataclass as the call of its class: fields without a default by position, others by
        keyword.

        Args:
            value: A question, a column, a grid method or another dataclass. Fields with their default value are left
                out.

        Raises:
            InvalidArgument: the class of a field cannot be written as code.
        """
        if type(value).__name__.endswith("Question"):
            return self.convert_question(value)
        parts = list[str | _Code]()
        for member in sorted(fields(value), key=lambda member: bool(member.kw_only)):
            if not member.init or not member.compare or _has_default(member, getattr(value, member.name)):
                continue
            code = self._convert_field(value, member)
            parts.append(
                code if member.default is MISSING and not member.kw_only else self._name_part(member.name, code)
            )
        return _Code(f"{self._find_name(type(value))}(", tuple(parts), ")")

    def _convert_member(self, member: Enum) -> str:
        """Return a member of an enumeration: a public constant such as ``dp.PUBLIC_MODEL``, or the class's member.

        Args:
            member: Member of an enumeration of the package.
        """
        constant = next((name for name in dir(import_module("dpcurves")) if _public(name) is member), "")
        return f"dp.{constant}" if constant else f"{self._find_name(type(member))}.{member.name}"

    def _name_part(self, name: str, code: str | _Code) -> str | _Code:
        """Return the code of a keyword argument, ``name=value``.

        Args:
            name: Name of the argument.
            code: Code of its value: one line, or a call that may be broken into lines.

        Returns:
            Code of the same form that begins with ``name=``.
        """
        if isinstance(code, str):
            return f"{name}={code}"
        return _Code(f"{name}={code.opening}", code.parts, code.closing, code.is_filled)

    def _find_name(self, kind: type[Any]) -> str:
        """Return the name of a class in code: of ``dp``, or imported from the package that exports it.

        Args:
            kind: The class. An import statement that its name needs is added to `imports`.
        """
        name = kind.__name__
        if _public(name) is kind:
            return f"dp.{name}"
        package = kind.__module__.rpartition(".")[0]
        module = package if getattr(import_module(package), name, None) is kind else kind.__module__
        self.imports.add(f"from {module} import {name}")
        return name


def _public(name: str) -> Any:
    """Return the public object of `dpcurves` with this name; None without such an object.

    Args:
        name: A name of Python; case matters.
    """
    return getattr(import_module("dpcurves"), name, None)


def _has_default(member: Field[Any], value: Any) -> bool:
    """Return True if a field has its default value, of the same type: 1 and True are different categories.

    Args:
        member: Field of the dataclass; a default factory does not count.
        value: Value of the field.
    """
    return member.default is not MISSING and type(value) is type(member.default) and value == member.default


def _convert_grid(grid: Grid) -> _Code:
    """Return a grid as the call that makes it: declared values, a width, edges, or bounds with a number of cells.

    Args:
        grid: Public cells, or declared values.
    """
    apart: tuple[str, ...] = ("outside=dp.Outside.APART",) if grid.outside is Outside.APART else ()
    if isinstance(grid, Values):
        text = format_values(grid.declared_values)
        numbers = tuple(map(_format_number, grid.declared_values))
        listed: str | _Code = text if text.startswith("range") else _Code("(", numbers, ")", is_filled=True)
        return _Code("dp.Values(", (listed, *apart), ")")
    bounds = _format_number(grid.lower), _format_number(grid.upper)
    if grid.spacing is not Spacing.EXPLICIT:
        name = "dp.Grid" if grid.spacing is Spacing.LINEAR else f"dp.Grid.{grid.spacing.value}"
        return _Code(f"{name}(", (*bounds, f"cells={grid.cells}", *apart), ")")
    width = float(f"{(grid.upper - grid.lower) / grid.cells:.12g}")
    if _makes_same_grid(lambda: Grid(grid.lower, grid.upper, width=width, outside=grid.outside), grid):
        return _Code("dp.Grid(", (*bounds, f"width={_format_number(width)}", *apart), ")")
    edges = _Code("(", tuple(map(_format_number, grid.explicit)), ")", is_filled=True)
    return _Code("dp.Grid.from_edges(", (edges, *apart), ")")


def _makes_same_grid(make: Callable[[], Grid], grid: Grid) -> bool:
    """Return True if `make` returns an equal grid, False if it returns an unequal grid or refuses its arguments.

    Args:
        make: Function without arguments that builds a grid.
        grid: The grid that is wanted.
    """
    try:
        return make() == grid
    except InvalidArgument:
        return False


def _format_number(value: Exact) -> str:
    """Return a number as code that gives an equal number: 2 for 2.0, 0.5 for Fraction(1, 2), "1/3" for Fraction(1, 3).

    Args:
        value: A float, integer, decimal or fraction of a field that takes numbers alone.
    """
    number = float(value)
    if isinstance(value, float):
        # 2**53: whole floats below this number are written as integers
        is_whole = isfinite(number) and number.is_integer() and abs(number) < 2**53
        return str(int(number)) if is_whole and (number or copysign(1, number) > 0) else _format_scalar(number)
    exact = Fraction(value)
    if exact.denominator == 1:
        return str(exact.numerator)
    return repr(number) if Fraction(repr(number)) == exact else _quote(str(exact))


def _format_scalar(value: Any) -> str:
    """Return a truth value or a number as code that gives the same type.

    Args:
        value: True, False, an integer or a float.
    """
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _quote(text: str) -> str:
    """Return a text as a Python literal, in double quotation marks unless the text has some.

    Args:
        text: Any text.
    """
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted.startswith("'") and '"' not in text and "\\'" not in quoted else quoted
