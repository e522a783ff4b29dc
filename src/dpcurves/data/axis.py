"""Axes of a table: a column, an expression or the scores of a model, with the public cells in which values are counted.

- `Axis`: numbers, an expression of columns, or a `Predictor`, on a grid.
- `TypedAxis`: also dates, times and durations, as numbers of days or seconds.
- `OrderedAxis`: one of two times, which must be in order.
- `LatticeAxis`: zero, other multiples of a public step, and other numbers; or a cell for each multiple.
- `Categories`: declared categories. `UnlistedCategories` are found by partition selection.

A value that lies in no cell of an axis is missing. A table counts the records that are missing on any axis in one more
cell.

Formal guarantees: the cell of a record is a function of that record and of public facts, for models and expressions as
well. So each record lies in one cell of a table or is missing, and counts have the sensitivity of disjoint cells.

>>> Axis("age", Grid(0, 100, cells=10)).slots, Categories("sex", ("f", "m")).slots
(10, 2)
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil, floor, isnan
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType, describe_value, require_sequence, require_type
from ..arrays import FloatArray
from ..expressions import Expression, find_column_names, parse_expression, when
from ..object_summary import ObjectSummary
from .grid import Grid, Outside
from .universe import HashUniverse, Universe, require_universe

if TYPE_CHECKING:
    from rich.table import Table

MOST_JSON = 2**24
"""Largest length of a model's JSON text, in characters; a longer text is refused."""


class Input(NamedTuple):
    """Input column of a model.

    Attributes:
        column: Column name.
        values: Declared categories; the model reads the index of a value among them. None: the column is numeric.
    """

    column: str
    values: tuple[str | int | float | bool, ...] | None = None


class Predictor(ABC):
    """Named model that is made of public numbers only.

    Formal guarantees: the value for a record is a function of that record alone. `compute_values` works element by
    element, in a fixed order, with operations whose results do not depend on neighbouring array elements. So a record
    changes no other record's score, in any batch and position. No input raises an error: a missing value in an input
    column gives a missing score.
    """

    __slots__ = ()
    KIND: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """Return the columns that the model reads, in the order of `compute_values`."""

    @abstractmethod
    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the value of the model for each record, shape (records,); NaN where an input is missing.

        Args:
            columns: Values of each of the `inputs`, shape (records,) each: numbers, or indices of categories. NaN:
                missing.
        """

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Return all fields of the model except its name, as JSON values by field."""

    def to_json(self) -> str:
        """Return the model as JSON text, from which the same model is parsed, bit for bit."""
        return json.dumps(self.to_object())

    def to_object(self) -> dict[str, Any]:
        """Return the model as JSON-compatible Python objects; `to_json` writes them as text.

        Returns:
            The kind of model as ``dpcurves``, its name, and its `fields`.
        """
        return {"dpcurves": self.KIND, "name": self.name, **self.fields()}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the model's JSON in hexadecimal. Models with equal digests are equal."""
        return sha256(self.to_json().encode()).hexdigest()

    def predict(self, table: Any) -> FloatArray:
        """Return the values for a public table, a data frame or a mapping. Ask questions about confidential tables.

        Args:
            table: Public table with the model's columns.

        Returns:
            Predictions, (records,); NaN where a column is missing a value.

        Raises:
            ValueError: a column is missing.
        """
        if not hasattr(table, "__contains__") or not hasattr(table, "__getitem__") or isinstance(table, str | bytes):
            raise WrongArgumentType(
                "table", f"a data frame or a mapping of columns is needed, got {describe_value(table)}"
            )
        missing_column = next(
            (model_input.column for model_input in self.inputs if model_input.column not in table), None
        )
        if missing_column is not None:
            raise InvalidArgument(
                "table",
                f"{self.name!r} reads a column {missing_column!r}, which is not in the table;"
                " add it, or correct the name",
                missing_column,
            )
        return self.compute_values(
            [_encode_column(table[model_input.column], model_input.values) for model_input in self.inputs]
        )

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, sha256={self.digest!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Predictor) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def require_name(name: object) -> None:
    """Refuse a name of a column or category that cannot be printed in plots and ledgers.

    Args:
        name: The name.

    Raises:
        ValueError: the name is empty, too long or not printable.
    """
    require_type("name", name, str, "a text")
    text = str(name)
    longest_axis_name = 60  # characters of a model's name, which is printed in plots and ledgers
    if not (0 < len(text) <= longest_axis_name and text.isprintable() and text.strip() == text):
        raise InvalidArgument(
            "name",
            f"a name of 1 to {longest_axis_name} printable characters is needed, as in 'age', got "
            f"{describe_value(name)}",
        )


def _encode_column(values: Any, categories: tuple[str | int | float | bool, ...] | None) -> FloatArray:
    """Return a public column as an array of numbers: numeric values, or indices of declared categories, (records,).

    Args:
        values: Values of the column.
        categories: Declared categories, whose indices are returned; None: the column is numeric. Missing values and
            values that are not declared become NaN.
    """
    if categories is None:
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([_to_number(value) for value in values], dtype=np.float64)
    texts = {category: float(index) for index, category in enumerate(categories) if isinstance(category, str)}
    numbers = {
        float(category): float(index) for index, category in enumerate(categories) if not isinstance(category, str)
    }
    return np.array([_find_category(value, texts, numbers) for value in values], dtype=np.float64)


def _find_category(value: Any, texts: dict[str, float], numbers: dict[float, float]) -> float:
    """Return the index of a value among the text categories, else among the numeric ones, else NaN.

    Args:
        value: Value of a record.
        texts: Index of each category by its text.
        numbers: Index of each numeric category by its number.
    """
    number = _to_number(value)
    without_point = str(int(number)) if not isinstance(value, str) and number.is_integer() else ""
    return next((texts[name] for name in (str(value), without_point) if name in texts), numbers.get(number, np.nan))


def _to_number(value: Any) -> float:
    """Return a value as a double; NaN if it is not a number.

    Args:
        value: Value of a public column.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


ALL_RECORDS = "*"
"""Name of a column in which each record has the value 1, for any content of its fields. A numeric column of a table
that has this name is written as an expression: ``'"*"'``."""

Category = str | int | float | bool
SCALAR_TYPES: tuple[tuple[type, type], ...] = (
    (np.str_, str), (np.bool_, bool), (np.integer, int), (np.floating, float)
)  # fmt: skip
"""NumPy's scalar types and the Python types that a declared category of each is converted to."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A numeric column, an expression of columns, or the predictions of a model, on a grid.

    A value that is not a number is missing.

    Attributes:
        column: Name of a column, SQL text of an expression, or a model.
        grid: The cells.
        where: SQL text of a filter of the rows; empty: all rows. All axes of a query have the same one.

    Raises:
        TypeError: the grid is not a `Grid`, or the column neither a name nor a model.
        ValueError: the column is ``"*"`` (all records), and the grid has several cells.
    """

    column: str | Predictor
    grid: Grid
    where: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.column, Expression):
            object.__setattr__(self, "column", str(self.column))
        require_type("column", self.column, (str, Predictor), "the name of a column, or a Scorecard or TreeEnsemble,")
        require_type("grid", self.grid, Grid, "a Grid, as in Grid(0, 100, cells=64),")
        if self.column == ALL_RECORDS and self.grid.cells > 1:
            raise InvalidArgument(
                "column",
                """'*' means all records, which can only be counted; for a column of this name, write '"*"'""",
                "*",
            )

    @property
    def slots(self) -> int:
        """Number of cells that records are counted in, including cells for values outside the grid if these are counted
        apart.
        """
        return self.grid.slots


@dataclass(frozen=True, slots=True)
class TypedAxis(Axis):
    """A column of numbers, dates, times or durations, as declared by its schema, on a grid.

    Dates are days since 1970-01-01. Timestamps, times of day and durations are seconds.
    """


@dataclass(frozen=True, slots=True)
class DurationAxis(TypedAxis):
    """A column of numbers or durations (in seconds) on a grid. Dates and timestamps are refused."""


@dataclass(frozen=True, slots=True)
class OrderedAxis(Axis):
    """One of two columns of times on a grid, in records whose two times are in order; other records are missing.

    Formal guarantees: whether a record is missing is a function of that record alone, so it lies in one cell of a
    table, or is missing, as for any other axis: sensitivities are the same as for an `Axis`.

    Attributes:
        earlier: The column, or expression, of the earlier time. Infinite numbers are times.
        later: The column, or expression, of the later time.
        allows_equal: Whether equal times are in order.
    """

    earlier: str = field(kw_only=True)
    later: str = field(kw_only=True)
    allows_equal: bool = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class OpenEndedAxis(OrderedAxis):
    """One of two columns of times on a grid that counts values outside it apart; a record without this time counts with
    the values on one side of the grid, and a record whose two times are out of order is missing.

    Attributes:
        missing_above: Whether missing numbers count above the grid; else below it.

    Raises:
        ValueError: the grid does not count values outside it apart.
    """

    missing_above: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        # slotted dataclasses are made twice, so that `super()` without arguments would miss its class
        super(OpenEndedAxis, self).__post_init__()
        if self.grid.outside is not Outside.APART:
            raise InvalidArgument("grid", "must count values outside it apart: use with_outside(Outside.APART)")


@dataclass(frozen=True, slots=True)
class LatticeAxis(Axis):
    """Cells of zero (0), of other multiples of a public step (1), and of other numbers or those beyond the bounds (2).

    Zero lies on every lattice, so records with zero show none. With `has_points` each multiple has a cell. Numbers that
    a grid clips are read as its endpoints: if both are multiples, these numbers lie on the lattice and show none, as
    zero does, or have the cells of the endpoints.

    A multiple of a step below 1 is the double nearest to a whole number over a whole number, so 0.3 is a multiple of
    0.1, and 0.1 + 0.2 is not. The test is arithmetic of doubles, which all engines compute alike.

    Formal guarantees: the cell is a function of the record alone, so sensitivities are the same as for an `Axis`.

    Attributes:
        step: A whole number, or one over a whole number.
        bounds: The smallest and the largest number that may count as a multiple; if they cross, no number does.
        has_points: Whether each multiple has a cell, in rising order; the last cell has all other numbers.
        is_clipped: Whether numbers beyond the bounds are read as the bounds, and both are multiples.
    """

    step: float = field(kw_only=True)
    bounds: tuple[float, float] = field(kw_only=True)
    has_points: bool = field(default=False, kw_only=True)
    is_clipped: bool = field(default=False, kw_only=True)

    @classmethod
    def from_axis(cls, axis: Axis, step: float, *, has_points: bool = False) -> LatticeAxis:
        """Return the axis that counts a column on multiples of a step within its grid, and apart from them.

        Args:
            axis: Column and grid.
            step: Distance of neighbouring multiples, in units of the column.
            has_points: True: each multiple has a separate cell; False: all multiples are counted together.
        """
        lower, upper = axis.grid.endpoints
        first, last = find_multiples(lower, upper, step)
        cells = last - first + 2 if has_points else 3
        are_multiples = (multiply_step(first, step), multiply_step(last, step)) == (lower, upper)
        return cls(
            axis.column,
            Grid(0, cells, cells=cells),
            where=axis.where,
            step=step,
            bounds=(lower, upper),
            has_points=has_points,
            is_clipped=axis.grid.outside is Outside.CLIPPED and are_multiples,
        )

    def build_expression(self, number: Expression) -> Expression:
        """Return, as an expression, the index of the cell that a number is counted in; missing where the number is
        missing.

        Args:
            number: Expression of a number.
        """
        lower, upper = self.bounds
        off = float(self.grid.cells - 1)
        if lower > upper:
            return when(number.is_null(), None, off)
        is_below, is_above = number < lower, number > upper
        if self.has_points:
            first, last = find_multiples(lower, upper, self.step)
            cell: Expression = round_to_steps(number, self.step) - float(first)
            below, above = (0.0, float(last - first)) if self.is_clipped else (off, off)
        else:
            cell = when(number == 0.0, 0.0, 1.0)
            below = above = 0.0 if self.is_clipped else off
        inside = when(is_multiple(number, self.step), cell, off)
        return when(number.is_null(), None, when(is_below, below, when(is_above, above, inside)))


def find_multiples(lower: float, upper: float, step: float) -> tuple[int, int]:
    """Return the quotients of the first and the last multiple of a step between two numbers, up to rounding.

    Args:
        lower: The lower number.
        upper: The upper number.
        step: Distance of neighbouring multiples, above zero.

    >>> find_multiples(0.0, 1.0, 0.1), find_multiples(-7.0, 12.0, 5.0)
    ((0, 10), (-1, 2))
    """
    return ceil(lower / step - 1e-9), floor(upper / step + 1e-9)


def multiply_step(quotient: int, step: float) -> float:
    """Return a multiple of a step as a double, rounded in the same way as `is_multiple` computes multiples.

    >>> multiply_step(3, 0.1), multiply_step(-2, 5.0)
    (0.3, -10.0)

    Args:
        quotient: Number of steps, which may be below zero.
        step: A whole number, or one over a whole number.
    """
    return quotient * step if step >= 1 else quotient / round(1 / step)


def round_to_steps(number: Expression, step: float) -> Expression:
    """Return the number divided by a step and rounded, as an expression: the index of the nearest multiple.

    Args:
        number: Expression of a number.
        step: A whole number, or one over a whole number.
    """
    return (number / step if step >= 1 else number * float(round(1 / step))).call("round")


def is_multiple(number: Expression, step: float) -> Expression:
    """Return the condition, as an expression, that a number is a multiple of a step, which is a whole number or one
    over one.

    Args:
        number: Expression of a number.
        step: A whole number, or one over a whole number.

    >>> from dpcurves.expressions import col
    >>> print(is_multiple(col("x"), 5.0), "|", is_multiple(col("x"), 0.05))
    round(x / 5) * 5 = x | round(x * 20) / 20 = x
    """
    steps = round_to_steps(number, step)
    return (steps * step if step >= 1 else steps / float(round(1 / step))) == number


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of categories, declared in public and in this order. Any other value is missing.

    A category that is a number, or True (1) or False (0), matches every value that parses to this number, such as the
    text "1.0" for 1 if no type is declared; a column declared as text is refused. A category that is text matches the
    same text; in a column declared as numbers it must be written as the number is, as ``"1"``; ``"01"`` is refused.

    Attributes:
        column: Column name.
        values: The categories.
        arguments: Argument that each category came from, for error messages.
        is_implied: True for two classes whose negative one was not named: 0 or 1 where labels are numbers.
        where: SQL text of a filter of the rows, as of an `Axis`.

    Raises:
        ValueError: no category, a repeated category, two that print alike, or one that no value can equal.
        TypeError: the categories are a single text, not a sequence, or one is neither text nor number.
    """

    column: str
    values: tuple[Category, ...]
    arguments: tuple[str, ...] = field(default=(), repr=False, compare=False)
    is_implied: bool = field(default=False, repr=False, compare=False)
    where: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.column, Expression):
            object.__setattr__(self, "column", str(self.column))
        require_type("column", self.column, str, "the name of a column")
        declared = require_sequence("categories", self.values, 'a tuple of them, as in ("a", "b"),')
        values = tuple(parse_category("categories", category) for category in declared)
        if not values or min(len(set(values)), len(set(map(str, values)))) < len(values):
            raise InvalidArgument(
                "categories", "at least one category is needed, and each must be listed once, as in ('a', 'b')"
            )
        object.__setattr__(self, "values", values)

    @property
    def slots(self) -> int:
        """Number of cells that records are counted in: one per category."""
        return len(self.values)

    def _build_summary(self) -> ObjectSummary:
        """Return what `repr` and notebooks show: column, number of categories, the first 12 categories, and the
        filter.
        """
        listed = 12  # categories that the summary names
        names = ", ".join(map(str, self.values[:listed]))
        if len(self.values) > listed:
            names += ", ..."
        rows = [("column", self.column), ("number", f"{len(self.values):,}"), ("categories", names)]
        if self.where:
            rows.append(("filter", self.where))
        return ObjectSummary("Public categories", rows)

    def _repr_html_(self) -> str:
        """Return the summary of the categories as HTML, for notebooks."""
        return self._build_summary().to_html()

    def __rich__(self) -> Table:
        """Return the summary of the categories, for terminals with rich."""
        return self._build_summary().to_rich()

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Name of the argument that each category came from, for error messages; ``categories`` unless `arguments`
        names others.

        Without `arguments` each is ``categories``.
        """
        return self.arguments or ("categories",) * len(self.values)


LOOKS_LIKE_AN_EXPRESSION = re.compile(r"""[-+*/()<>=!:"']|\b(?:and|or|not|is|in|case)\b""", re.IGNORECASE)
"""Signs and words of which a text must have one to be parsed as an expression; any other text is the name of a
column."""


def is_expression(axis: Axis | Categories, names: Container[str] = ()) -> bool:
    """Return True if the column of an axis is an expression, or all records, and not one of the named columns.

    >>> is_expression(Axis("wage / hours", Grid(0, 1, cells=1)), ["wage", "hours"])
    True
    >>> is_expression(Axis("wage / hours", Grid(0, 1, cells=1)), ["wage / hours"])
    False

    Args:
        axis: Column with its cells or its categories.
        names: Names of the columns of the table; empty: none are known.
    """
    column = axis.column
    if not isinstance(column, str) or not LOOKS_LIKE_AN_EXPRESSION.search(column):
        return False
    return column not in names or (column == ALL_RECORDS and isinstance(axis, Axis))


def find_input_columns(axis: Axis | Categories, names: Container[str] = ()) -> tuple[str, ...]:
    """Return the columns that an axis reads: the columns of its model or expression, and of its filter.

    Args:
        axis: The axis.
        names: Names of columns, which are no expressions even if they contain operators.

    >>> find_input_columns(Axis("wage / hours", Grid(0, 1, cells=1), where="age > 65"))
    ('wage', 'hours', 'age')
    """
    columns: list[str] = []
    if isinstance(axis.column, Predictor):
        columns += [model_input.column for model_input in axis.column.inputs]
    elif not is_expression(axis, names):
        columns.append(axis.column)
    elif axis.column != ALL_RECORDS:
        try:
            columns += find_column_names(parse_expression(axis.column))
        except InvalidArgument:
            columns.append(axis.column)
    if isinstance(axis, OrderedAxis):
        times = (Axis(text, axis.grid) for text in (axis.earlier, axis.later))
        columns += (column for time in times for column in find_input_columns(time, names))
    if axis.where:
        columns += find_column_names(parse_expression(axis.where))
    return tuple(dict.fromkeys(columns))


UNSELECTED_CATEGORIES = "not found yet"
"""Placeholder for the categories of a column before partition selection has found them."""
OTHER_CATEGORY = "other"
"""Name of the category of all values that partition selection did not select."""
OTHER_CATEGORY_SUFFIX = "groups"
"""Appended to `OTHER_CATEGORY` if a selected category has that name."""


@dataclass(frozen=True, slots=True)
class UnlistedCategories(Categories):
    """A column of unlisted categories: noisy counts select the categories that many units have; the rest is ``other``.

    Partition selection needs a delta beside the loss, or a public universe of names: see
    `mechanisms.partition_selection`.

    Attributes:
        values: Placeholder for the categories before they are selected.
        universe: Possible names: all texts of some letters (`TextUniverse`), or hashes (`HashUniverse`). None: any.

    Raises:
        TypeError: `universe` is not a universe.
    >>> UnlistedCategories("ward").to_selected_categories(("b", "a")).values
    ('b', 'a', 'other')
    """

    values: tuple[Category, ...] = (UNSELECTED_CATEGORIES,)
    universe: Universe | None = None

    def __post_init__(self) -> None:
        super(UnlistedCategories, self).__post_init__()
        require_universe(self.universe)

    def to_selected_categories(self, names: tuple[str, ...]) -> SelectedCategories:
        """Return the categories that partition selection found, and a category for all others, under a name that no
        selected one has.

        Args:
            names: Names that partition selection found, in the order of the result; for a `HashUniverse` their hashes.
        """
        digits = self.universe.digits if isinstance(self.universe, HashUniverse) else 0
        return SelectedCategories(self.column, (*names, _name_other(names)), digits=digits)


@dataclass(frozen=True, slots=True)
class SelectedCategories(Categories):
    """Categories that partition selection released. The last one counts all other values that are not missing.

    Attributes:
        digits: Hexadecimal digits of SHA-256 that replace the names; 0: the names themselves.
    """

    digits: int = 0


@dataclass(frozen=True, slots=True)
class ListedCategories(SelectedCategories):
    """Categories, declared in public, and a last one that counts all other values that are not missing.

    >>> ListedCategories.from_categories(Categories("ward", ("a", "b"))).values
    ('a', 'b', 'other')
    """

    @classmethod
    def from_categories(cls, categories: Categories) -> ListedCategories:
        """Return declared categories with one more category, for all other values, whose name differs from all declared
        ones.

        Args:
            categories: Categories that the user listed.
        """
        return cls(categories.column, (*categories.values, _name_other(categories.values)), where=categories.where)

    @property
    def listed(self) -> Categories:
        """The categories that the user declared, without the last one for all other values."""
        return Categories(self.column, self.values[:-1], where=self.where)


def _name_other(names: Sequence[Category]) -> str:
    """Return a name for the category of all other values that differs from all printed names of the given categories.

    Args:
        names: Declared categories.
    """
    other = OTHER_CATEGORY
    printed_names = set(map(str, names))
    while other in printed_names:
        other = f"{other} {OTHER_CATEGORY_SUFFIX}"
    return other


def parse_category(name: str, declared: Any) -> Category:
    """Return a declared category as Python text, number or truth value.

    Args:
        name: Name of the argument, for the message.
        declared: The category; scalars of NumPy are converted.

    Raises:
        TypeError: the category has another type, such as a date, bytes, an enum member or a tuple. No value equals it.
        ValueError: the category is NaN, invalid Unicode, or has more digits than Python prints.

    >>> parse_category("pos_label", np.float64(0.5)), parse_category("pos_label", np.bool_(True))
    (0.5, True)
    """
    value: Category = _to_python_scalar(declared)
    if type(value) not in (str, int, float, bool):
        raise WrongArgumentType(
            name, f"a text, a number, True or False is needed, as in 'a' or 1, got a {type(declared).__name__}"
        )
    if isinstance(value, float) and isnan(value):
        raise InvalidArgument(
            name, "NaN cannot be a category, because missing values are counted as missing; leave it out"
        )
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        raise InvalidArgument(
            name, "a text of Unicode characters without lone surrogates is needed; correct the encoding of the category"
        )
    most_digits = 1000  # digits of an integer category: below Python's limit for converting integers to text (4300)
    if isinstance(value, int) and abs(value) >= 10**most_digits:
        raise InvalidArgument(
            name, f"a whole number of at most {most_digits} digits is needed; write longer ones as text, in quotes"
        )
    return value


def _to_python_scalar(value: Any) -> Any:
    """Convert a NumPy scalar to Python. A time span stays as it is, because NumPy classes it as an integer.

    Args:
        value: A NumPy scalar; all other values are returned unchanged.
    """
    if isinstance(value, np.timedelta64):
        return value
    return next((kind(value) for scalar, kind in SCALAR_TYPES if isinstance(value, scalar)), value)
