"""One-call functions for differentially private statistics of arrays in memory: CDF, quantiles, histogram, mean, ROC.

    curve = dp.cdf(ages, grid=dp.Grid(0, 100, cells=100), epsilon=1, adjacency=dp.ADD_REMOVE)

Each function takes the values of records as arrays (or a table and the name of a column), public settings such as a
grid, and the privacy loss: `epsilon` (pure DP) or `rho` (zero-concentrated DP) and the adjacency, none of which has a
default. It returns a result with estimates, intervals and plots.

Formal guarantees: each call loses at most its loss, with one record as the privacy unit. Each call opens a separate
ledger (the log of charged losses) in memory, so **losses of several calls are not added up**. Two calls on the same
records lose the sum of their losses, which you must track yourself. For more than one question open a `Session`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload
from warnings import catch_warnings

from . import curves
from .arguments import (
    Exact,
    InvalidArgument,
    WrongArgumentType,
    check_common_arguments,
    describe_value,
    parse_positive_fraction,
    require_bounds_pair,
    require_sequence,
    require_type,
)
from .conversation import RocThresholds
from .curves import Question
from .data import (
    CAP_WITHOUT_WEIGHT_RULE,
    HUNDREDTHS,
    SCORES,
    UNIT_INTERVAL,
    Categories,
    Category,
    Grid,
    HashUniverse,
    TextUniverse,
    UnlistedCategories,
)
from .expressions import Expression
from .ledger import Currency
from .noise.randomness import Randomness
from .privacy import ModelOrigin, Neighbours, PrivacyLoss
from .queries import Hint
from .session import Session

if TYPE_CHECKING:
    from .curves import (
        CDF,
        ROC,
        BarChart,
        BinnedResiduals,
        Bounds,
        ByCategory,
        Calibration,
        Comparison,
        Contingency,
        Histogram,
        Histogram2D,
        HosmerLemeshow,
        Quantiles,
        ResidualPlot,
        Scores,
        Summary,
        WeightedHistogram,
    )

Curve = TypeVar("Curve")
Call = TypeVar("Call", bound=Callable[..., Any])
Values: TypeAlias = Any
"""One-dimensional values: a list, a NumPy or Arrow array, or a series of pandas or Polars."""
NOISELESS_EPSILON = 10**9
"""Epsilon at which integer noise is 0 except with negligible probability (about exp(-10**9)). It protects nobody, so it
is only for public records."""
ARGUMENT_RANKS = {"adjacency": 1, "groups": 2, "bins": 2, "epsilon": 3, "rho": 3, "randomness": 5}
"""Order of arguments in the signatures of one-call functions, lowest rank first. Arguments without a default have rank
0, all other arguments rank 4."""

WEIGHTED_RULE = "weights are summed along public cells: give a grid"
"""Rule in the error for weights without a grid, in one-call functions that search for no range of weighted values."""
WEIGHTED_HINT = "sums of weights use no hint: leave hint out"
"""Rule in the error for a hint on the estimator beside weights."""
NO_HINT = "a range search uses no hint: leave hint out, or give a grid"
"""Rule in the error for a hint on the estimator without a grid."""


class PrivacyArguments(TypedDict, total=False):
    """Keyword arguments of every question asked in one call; see `cdf`."""

    adjacency: Required[Neighbours]
    epsilon: Exact | None
    rho: Exact | None
    randomness: Randomness | None


class ColumnArguments(PrivacyArguments, total=False):
    """Keyword arguments of calls about one column, which can be a column of a table; see `cdf`."""

    column: str | Expression
    where: str | Expression | None


def ask_once(
    question: Question[Curve],
    table: Mapping[str, Any],
    *,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    randomness: Randomness | None = None,
    column: str | Expression | None = None,
    where: str | Expression | None = None,
) -> Curve:
    """Return the result of one question about a table, in a session whose whole budget is the loss of the question.

    The ledger is in memory, so the loss is not added to losses of other calls.

    Args:
        question: The question.
        table: Columns of equal length by name, or a `ColumnOfTable`.
        adjacency: `ADD_REMOVE` or `REPLACE_ONE`, with one record as unit.
        epsilon: The loss under pure differential privacy; None: `rho` is given.
        rho: The loss under zero-concentrated differential privacy; None: `epsilon` is given.
        randomness: Source of noise; None: the system's. Results with noise from a seed are marked as not private.
        column, where: Ignored here. They are in the signature of each call, and `add_privacy_arguments` has put them
            into the table already.

    Raises:
        ValueError: both or neither of `epsilon` and `rho` are given, or the question does not fit the table.
    """
    return _ask_with_loss(question, table, parse_loss(epsilon, rho), adjacency=adjacency, randomness=randomness)


def _ask_with_loss(
    question: Question[Curve],
    table: Mapping[str, Any],
    loss: PrivacyLoss,
    *,
    adjacency: Neighbours,
    randomness: Randomness | None = None,
    **_parsed: Any,
) -> Curve:
    """Return the result of one question at this loss, in a session with a ledger in memory.

    `_parsed` takes arguments of a call that are in `loss` and `table` already, and ignores them.

    Args:
        question: The question; its filter is that of a `ColumnOfTable`, if one is given.
        table: Columns by name, or a `ColumnOfTable`.
        loss: Privacy loss, which is the whole budget of the session.
        adjacency: Add-remove or replace-one.
        randomness: Source of noise; None: secure random numbers of the operating system.
    """
    if isinstance(table, ColumnOfTable):
        question = replace(cast("Any", question), where=table.where)
        table = table.table
    with Session(
        table, budget=Currency.from_loss(loss).smallest_cap(loss), adjacency=adjacency, randomness=randomness
    ) as session:
        return session.ask(question, loss)


def add_privacy_arguments(function: Call) -> Call:
    """Decorate a one-call function: add the privacy arguments of `ask_once` to its signature, and check each call.

    If the first parameter of the function is `values`, it also gets `column` and `where`, by which a column of a table
    can be passed in place of values. The decorated function raises `TypeError` for an unknown or a missing argument.

    Args:
        function: Function with `values` or a table first, and the privacy arguments among its ``**paid``.

    Returns:
        The function with a full signature: required arguments first, then privacy arguments, then the rest.
    """
    parameters: Iterable[Parameter] = (
        parameter
        for parameter in signature(function).parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD
    )
    privacy_parameters = (
        parameter
        for parameter in signature(ask_once).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY and parameter.name not in {COLUMN, WHERE}
    )
    if next(iter(signature(function).parameters)) == VALUES:
        parameters = chain(parameters, TABLE_PARAMETERS)
    default_ranks = {True: 0, False: 4}
    ordered = sorted(
        [*parameters, *privacy_parameters],
        key=lambda parameter: (
            parameter.kind,
            ARGUMENT_RANKS.get(parameter.name, default_ranks[parameter.default is parameter.empty]),
        ),
    )
    full_signature = signature(function).replace(parameters=ordered)
    checked = check_common_arguments(function)

    @wraps(function)
    def call_function(*args: Any, **keywords: Any) -> Any:
        """Check the arguments, replace `column` and `where` by a column of the table that is passed as values, and call
        the function.

        Args:
            args: Positional arguments of the call.
            keywords: Keyword arguments of the call.

        Raises:
            TypeError: an argument is unknown or missing.
        """
        unknown = next((name for name in keywords if name not in full_signature.parameters), None)
        if unknown is not None:
            hint = BOUNDS_ADVICE if unknown in ("lower", "upper") and "bounds" in full_signature.parameters else ""
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown!r}{hint}")
        _require_arguments(function.__name__, full_signature, args, keywords)
        if keywords.get(COLUMN) is not None or keywords.get(WHERE) is not None:
            args, keywords = _select_column(args, keywords)
        return checked(*args, **{name: value for name, value in keywords.items() if name not in {COLUMN, WHERE}})

    call_function.__signature__ = full_signature  # type: ignore[attr-defined]
    call_function.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered} | {
        "return": full_signature.return_annotation
    }
    return cast(Call, call_function)


BOUNDS_ADVICE = ": both ends are one argument, bounds=(lower, upper)"
"""End of the error for arguments ``lower`` and ``upper`` of a function that takes both as ``bounds``."""
VALUES = "values"
"""First parameter of one-call functions of one column; functions that have it also take a table, with `COLUMN` and
`WHERE`."""
COLUMN = "column"
"""Parameter that names the column, or an expression of columns, if a table is passed."""
WHERE = "where"
"""Parameter of the filter of rows, if a table is passed."""
TABLE_PARAMETERS = tuple(
    Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation="str | Expression | None")
    for name in (COLUMN, WHERE)
)
"""Parameters that one-call functions of one column get in addition, for calls with a table: its column and filter."""


class ColumnOfTable(dict[str, Any]):
    """A column of a table in place of values: a mapping from the column's name or expression to None.

    Attributes:
        table: The table, in any form that `Session` takes, which alone reads its records.
        where: Filter of its rows; None: all rows.
    """

    def __init__(self, table: Any, column: str, where: str | Expression | None) -> None:
        super().__init__({column: None})
        self.table = table
        self.where = where


def _select_column(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return `args` and `keywords` of a call, with a `ColumnOfTable` as the first of `args`, or else as ``values``.

    Raises:
        ValueError: `where` is given without `column`, or `label` is given besides `column`.
    """
    column = keywords.get(COLUMN)
    where = keywords.get(WHERE)
    if column is None:
        raise InvalidArgument(
            WHERE, "a filter needs a table: pass the table and name its column by column=, as in column='wage'"
        )
    require_type(COLUMN, column, (str, Expression), "the name of a column, or an expression,")
    if keywords.get("label") is not None:
        raise InvalidArgument("label", "the column is the label; leave label out")
    table = args[0] if args else keywords[VALUES]
    selected = ColumnOfTable(table, str(column), where)
    if args:
        return (selected, *args[1:]), keywords
    return (), {**keywords, VALUES: selected}


ADJACENCY_CHOICES = "dp.REPLACE_ONE (the number of records is public) or dp.ADD_REMOVE (it is private)"
"""Part of the error for a missing adjacency: what can be passed."""
EXAMPLE_ARGUMENTS = {
    "adjacency": "dp.ADD_REMOVE", "bounds": "(0, 100)", "grid": "dp.Grid(0, 100, cells=64)", "delta": '"1e-6"',
    "coverage": "0.95", "model": "dp.PUBLIC_MODEL", "row_categories": '("a", "b")', "column_categories": '("a", "b")',
    "x_grid": "dp.Grid(0, 100, cells=64)", "y_grid": "dp.Grid(0, 100, cells=64)",
}  # fmt: skip
"""Values of arguments without a default in the complete call that an error about missing arguments shows."""


def _require_arguments(
    function: str, full_signature: Signature, args: Sequence[Any], passed_by_name: Mapping[str, Any]
) -> None:
    """Check that a call has all required arguments; the message of the error shows a complete call.

    Args:
        function: Name of the function.
        full_signature: Its signature.
        args: Positional arguments.
        passed_by_name: Keyword arguments.

    Raises:
        TypeError: an argument without a default is missing.
    """
    parameters = list(full_signature.parameters.values())
    passed = {parameter.name for parameter in parameters[: len(args)]} | set(passed_by_name)
    missing_names = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.name not in passed
    ]
    if not missing_names:
        return
    loss = [] if {"epsilon", "rho"} & passed else ["epsilon=1"]
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind is not Parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    missing_keywords = [
        f"{name}={EXAMPLE_ARGUMENTS.get(name, '...')}" for name in missing_names if name not in positional
    ]
    passed_keywords = [f"{name}=..." for name in passed_by_name]
    call = f"dp.{function}({', '.join([*positional, *passed_keywords, *missing_keywords, *loss])})"
    kind = "argument" if len(missing_names) == 1 else "arguments"
    neighbours = f"; adjacency is {ADJACENCY_CHOICES}" if "adjacency" in missing_names else ""
    missing = f"missing {len(missing_names)} required keyword-only {kind}: {', '.join(map(repr, missing_names))}"
    raise TypeError(f"{function}() {missing}{neighbours}; a complete call: {call}")


def parse_loss(epsilon: Exact | None, rho: Exact | None) -> PrivacyLoss:
    """Return the loss of `epsilon` (pure) or `rho` (zCDP).

    Raises:
        ValueError: both or neither are passed, because there is no default; or the number is outside 1e-9 to 1e9.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidArgument(
            "epsilon", "give either epsilon (pure), as in epsilon=0.5, or rho (zCDP); there is no default"
        )
    if epsilon is not None:
        return Currency.require_countable(PrivacyLoss.pure(epsilon), epsilon)
    return Currency.require_countable(PrivacyLoss.zcdp(rho if rho is not None else 0), rho)


def require_column(values: Any, name: str) -> Any:
    """Return a column unchanged if it has one dimension. A list is not converted to an array.

    The type of an array of mixed values would depend on rows.

    Args:
        values: A list, a series or an array.
        name: Name of the argument, for the error message.

    Raises:
        ValueError: the values are not one-dimensional.
    """
    if getattr(values, "ndim", 1) == 2 and getattr(values, "shape", (0, 0))[1] == 2:
        raise InvalidArgument(
            name, "the array has two columns; pass the column of the positive class, as in scores[:, 1]"
        )
    if not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1 or isinstance(values, str | bytes):
        raise InvalidArgument(name, "a list, a series or an array of one dimension is needed, as in [0.2, 0.7]")
    return values


def series_name(values: Any, default: str) -> str:
    """Return the name of a pandas or Polars series, which is public like a column name, or else `default`.

    Args:
        values: Values of a column, of any type.
        default: Name of values without one.

    >>> series_name([1, 2], "value")
    'value'
    """
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else default


def make_table(label: str | None, values: Any, default_name: str = "value") -> dict[str, Any]:
    """Return a table of one column, as a mapping from its name to the values.

    Args:
        label: Name of the column. None: the name of the pandas or Polars series, or else `default_name`.
        values: Values of the column; a `ColumnOfTable` is returned unchanged.
        default_name: Name of the column if neither a label nor the series gives one.

    Raises:
        ValueError: a whole table is given, or the values are not one-dimensional.
        TypeError: `label` is no text.
    """
    if isinstance(values, ColumnOfTable):
        return values
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        raise InvalidArgument("values", "a table is given; name its column by column=, as in column='wage'")
    label = series_name(values, default_name) if label is None else label
    require_type("label", label, str, "a text")
    return {label: require_column(values, "values")}


def make_pair_table(
    labels: Sequence[str] | None = None, /, **columns: Values
) -> tuple[tuple[str, str], dict[str, Any]]:
    """Return the names of two columns, and the table with both: a mapping from names to values.

    Args:
        labels: Two different names. None: the names of two pandas or Polars series; if these are missing or equal, the
            names of the arguments.
        columns: Exactly two columns of equal length, by argument name.

    Returns:
        The two names, then the columns by name.

    Raises:
        ValueError: `labels` is not two different texts, or the columns are not one-dimensional or differ in length.
    """
    (first_argument, first), (second_argument, second) = columns.items()
    names = series_name(first, first_argument), series_name(second, second_argument)
    if labels is not None:
        pair = require_sequence("labels", labels, "a pair of texts")
        if len(pair) != 2 or pair[0] == pair[1]:
            raise InvalidArgument("labels", 'two different texts are needed, as in ("control", "treated")')
        names = pair[0], pair[1]
    elif names[0] == names[1]:
        names = first_argument, second_argument
    value_columns = require_column(first, first_argument), require_column(second, second_argument)
    if len(value_columns[0]) != len(value_columns[1]):
        raise InvalidArgument(
            ", ".join(columns), "the arrays differ in length: pass one value for every record in each"
        )
    return names, dict(zip(names, value_columns, strict=True))


def add_weights(
    table: Mapping[str, Any], weight: Values | None, weight_cap: float | None
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the table with a column of survey weights, and the keyword arguments of a weighted question.

    The arguments are the column's name `weight` and `weight_cap`. Without weights, the table is returned unchanged with
    an empty mapping.

    Args:
        table: Columns by name, or a `ColumnOfTable`.
        weight: Weights of the records, (records,); for a `ColumnOfTable` the name of a column. None: no weights.
        weight_cap: Public upper bound of a weight; None only without weights.

    Returns:
        The table, and the arguments `weight` and `weight_cap` by name.

    Raises:
        ValueError: `weight` is not a column of the same length, or `weight_cap` is passed without `weight`.
    """
    if weight is None:
        if weight_cap is not None:
            raise InvalidArgument("weight_cap", CAP_WITHOUT_WEIGHT_RULE)
        return table, {}
    if isinstance(table, ColumnOfTable):
        require_type("weight", weight, (str, Expression), "the name of a column of the table")
        return table, {"weight": str(weight), "weight_cap": weight_cap}
    first_column = next(iter(table.values()))
    values = require_column(weight, "weight")
    if len(values) != len(first_column):
        raise InvalidArgument(
            "weight", "the weights differ in number from the other columns: pass one weight for every record"
        )
    name = "weight" if "weight" not in table else "survey weight"
    return {**table, name: values}, {"weight": name, "weight_cap": weight_cap}


def require_grid(grid: Grid | None) -> Grid:
    """Return the grid of a weighted question, after a check that the user gave one.

    Args:
        grid: The grid; None if the user gave none.

    Raises:
        InvalidArgument: `grid` is None; weighted questions have no range search here.
    """
    if grid is None:
        raise InvalidArgument("grid", WEIGHTED_RULE)
    return grid


def refuse_hint(hint: Hint | None) -> None:
    """Check that no hint is given, because weighted questions use none.

    Args:
        hint: The hint; None: none is given.

    Raises:
        InvalidArgument: there is a hint.
    """
    if hint is not None:
        raise InvalidArgument("hint", WEIGHTED_HINT)


def make_summary_question(kind: str, label: str, bounds: Sequence[float] | Auto, **weights: Any) -> Question[Summary]:
    """Return the question about one number of a column.

    Args:
        kind: ``Summary``, ``Mean``, ``Sum`` or ``Variance``.
        label: Name of the column.
        bounds: Public clipping bounds (lower, upper); ``"auto"``: the question searches for them privately.
        weights: Arguments `weight` and `weight_cap` of a weighted question; none: unweighted.

    Raises:
        TypeError: `bounds` is a text other than ``"auto"``.
    """
    if isinstance(bounds, str) and bounds == "auto":
        if weights:
            return curves.AutoRangeWeightedSummaryQuestion(label, **weights, statistic=kind.lower())
        return cast("Question[Summary]", getattr(curves, f"AutoRange{kind}Question")(label))
    if isinstance(bounds, str):
        raise WrongArgumentType(
            "bounds", f"two numbers, as in (0, 100), or 'auto', are needed, got {describe_value(bounds)}"
        )
    if weights:
        return curves.WeightedSummaryQuestion(label, *require_bounds_pair(bounds), **weights, statistic=kind.lower())
    return cast("Question[Summary]", getattr(curves, f"{kind}Question")(label, *require_bounds_pair(bounds)))


Auto: TypeAlias = Literal["auto"]
"""Value of the arguments grid, bounds or unit if no public one is known: a part of the loss finds one."""


def resolve_grid(grid: Grid | Auto | None) -> Grid | None:
    """Return the grid, or None for None and ``"auto"``, which ask for a range search.

    Raises:
        TypeError: `grid` is another text.
    """
    if isinstance(grid, str) and grid != "auto":
        raise WrongArgumentType(
            "grid", f"a Grid, as in Grid(0, 100, cells=64), or 'auto', is needed, got {describe_value(grid)}"
        )
    return None if isinstance(grid, str) else grid


def resolve_unit(unit: float | Auto) -> float:
    """Return the unit; for ``"auto"`` the smallest one, 2**-30, which is small enough for any column.

    Args:
        unit: Public magnitude of the values, or ``"auto"``.
    """
    from .curves.bounds import SMALLEST_UNIT

    return SMALLEST_UNIT if isinstance(unit, str) and unit == "auto" else unit


__all__ = [
    "bar_chart",
    "binned_residuals",
    "bounds",
    "calibration_curve",
    "cdf",
    "compare",
    "contingency",
    "count",
    "histogram",
    "histogram2d",
    "hosmer_lemeshow",
    "mean",
    "quantiles",
    "residual_plot",
    "roc_curve",
    "scores",
    "select_partitions",
    "sum",
    "summary",
    "variance",
]  # fmt: skip


@add_privacy_arguments
def cdf(
    values: Values,
    *,
    grid: Grid | Auto | None = None,
    label: str | None = None,
    hint: Hint | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> CDF:
    """Return the distribution function of `values`.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        column: Name of the table's column, or an expression such as ``"wage / hours"``.
        where: Filter of the table's rows, such as ``"age >= 65 AND sex = 'F'"``, which is published; see
            `TableQuestion`.
        grid: Public cells, which must not be chosen from the data. Values outside are clipped to the first or last
            cell; ``outside="apart"`` counts them separately. None or ``"auto"``: a fraction of the budget pays for a
            range search, see `AutoRangeCdfQuestion`.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss under pure differential privacy.
        rho: The loss under zero-concentrated differential privacy, instead of `epsilon`.
        label: Label of the x axis. None: the name of the series, or else ``value``.
        hint: Public knowledge about the distribution of the values; see `CdfQuestion`.
        weight: Survey weights, of shape ``(n,)``, for a weighted curve; see `WeightedCdfQuestion`. Records with a
            missing, negative or infinite weight are left out.
        weight_cap: Public upper bound of one record's weight. Required with `weight`; it must not be chosen from the
            data.
        randomness: Source of noise. Curves with noise from a seed are marked as not private.

    Returns:
        The curve: edges `x` and shares of records below them `y`, of shape ``(cells + 1,)``, with bands and quantiles.

    Raises:
        ValueError: an argument is out of its range, or `hint` is given without a grid.

    Formal guarantees: pure `epsilon`-DP, or `rho`-zCDP, under `adjacency`, with one record as the privacy unit. The
    ledger is in memory: losses of other calls are not added up.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(curve.cdf(6) - 2 / 3) < 0.05)
    True
    >>> people = {"wage": [30, 50, 80] * 1000, "hours": [10] * 3000, "age": [70, 30, 70] * 1000}
    >>> curve = dp.cdf(people, column="wage / hours", where="age >= 65", grid=dp.Grid(0, 10, cells=64), epsilon=1,
    ...                adjacency=dp.ADD_REMOVE)
    >>> bool(abs(curve.cdf(6) - 1 / 2) < 0.05)
    True
    """
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    cells = resolve_grid(grid)
    question: Question[Any]
    if weights:
        refuse_hint(hint)
        question = (
            curves.AutoRangeWeightedCdfQuestion(label, **weights)
            if cells is None
            else curves.WeightedCdfQuestion(label, cells, **weights)
        )
    elif cells is not None:
        question = curves.CdfQuestion(label, cells, hint=hint)
    elif hint is not None:
        raise InvalidArgument("hint", NO_HINT)
    else:
        question = curves.AutoRangeCdfQuestion(label)
    curve: CDF = ask_once(question, table, **paid)
    return curve


@add_privacy_arguments
def quantiles(
    values: Values,
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    grid: Grid | Auto | None = None,
    label: str | None = None,
    hint: Hint | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> Quantiles:
    """Return quantiles of `values` at the given probabilities. Any number of quantiles costs as much as one
    distribution function.

    Arguments and guarantees as for `cdf`; the ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        probabilities: Shares between 0 and 1 of the records.
        grid: Public cells, or ``"auto"`` (None), as for `cdf`.
        label: Label of the axis. None: the name of the series, or else ``value``.
        hint: Public knowledge about the distribution of the values; see `CdfQuestion`.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        The probabilities `p` and the values `x`, of shape ``(len(probabilities),)``, with intervals, and the curve that
        they lie on.

    Raises:
        ValueError: an argument is out of its range, or `hint` is given without a grid.

    >>> import dpcurves as dp
    >>> grid = dp.Grid(0, 100, cells=1024)
    >>> found = dp.quantiles(list(range(100)) * 50, [0.25, 0.5], grid=grid, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(found.x[1] - 50) < 3)
    True
    """
    from .curves.quantiles import parse_shares

    levels = parse_shares("probabilities", probabilities)
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    cells = resolve_grid(grid)
    question: Question[Quantiles]
    if weights:
        refuse_hint(hint)
        question = (
            curves.AutoRangeWeightedQuantilesQuestion(label, levels, **weights)
            if cells is None
            else curves.WeightedQuantilesQuestion(label, cells, levels, **weights)
        )
    elif cells is not None:
        question = curves.QuantilesQuestion(label, cells, levels, hint=hint)
    elif hint is not None:
        raise InvalidArgument("hint", NO_HINT)
    else:
        question = curves.AutoRangeQuantilesQuestion(label, levels)
    return ask_once(question, table, **paid)


@overload
def histogram(
    values: Values,
    *,
    grid: Grid | Auto,
    label: str | None = None,
    weight: None = None,
    weight_cap: None = None,
    **paid: Unpack[ColumnArguments],
) -> Histogram: ...


@overload
def histogram(
    values: Values,
    *,
    grid: Grid | Auto,
    label: str | None = None,
    weight: Values,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> WeightedHistogram: ...


@add_privacy_arguments
def histogram(
    values: Values,
    *,
    grid: Grid | Auto,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> Histogram | WeightedHistogram:
    """Return counts of `values` in the cells of `grid`, or sums of their weights.

    Arguments and guarantees as for `cdf`. With ``grid="auto"`` a fraction of the budget chooses equal cells; see
    `AutoRangeHistogramQuestion`. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        grid: Public cells; or ``"auto"``.
        label: Label of the axis. None: the name of the series, or else ``value``.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        A `Histogram`: edges `x`, of shape ``(cells + 1,)``, and counts `count`, of shape ``(cells,)``, with intervals.
        With `weight`, a `WeightedHistogram`: its counts are sums of weights, and its intervals are of their shares; see
        `WeightedHistogramQuestion`.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 1, 2] * 100, grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(bars.count[1] - 200) < 40)
    True
    """
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    cells = resolve_grid(grid)
    question: Question[Any]
    if weights:
        question = (
            curves.AutoRangeWeightedHistogramQuestion(label, **weights)
            if cells is None
            else curves.WeightedHistogramQuestion(label, cells, **weights)
        )
    else:
        question = curves.AutoRangeHistogramQuestion(label) if cells is None else curves.HistogramQuestion(label, cells)
    bars: Histogram | WeightedHistogram = ask_once(question, table, **paid)
    return bars


@add_privacy_arguments
def bar_chart(
    values: Values,
    *,
    categories: Sequence[Category] | None = None,
    delta: Exact | None = None,
    universe: TextUniverse | HashUniverse | None = None,
    other: bool = True,
    label: str | None = None,
    **paid: Unpack[ColumnArguments],
) -> BarChart:
    """Return counts and shares of `values` by category, for a bar chart.

    Arguments and guarantees as for `cdf`, with categories instead of a grid. The ledger is in memory, so losses of
    other calls are not added up.

    Args:
        values: Text, numbers or truth values, of shape ``(n,)``. NaN and None are missing. With `column`: a table.
        categories: The categories, which must not be chosen from the data. None: partition selection finds those that
            many records have, with `delta` or within a `universe`; see `select_partitions`.
        delta: Delta of (epsilon, delta)-differential privacy, for categories that are not listed.
        universe: All possible categories, instead of `delta`.
        other: Whether values of no listed category are counted together as ``other``; else they are missing.
        label: Label of the axis. None: the name of the series, or else ``value``. With `column`, leave it out.

    Returns:
        The `count` and `share` of each category, with intervals, and the number of `missing` records. `sort_by` orders
        the bars by count or name, and `suppress_below` leaves out small counts.

    Raises:
        ValueError: there are neither categories, nor a delta, nor a universe; or several of them.

    >>> import dpcurves as dp
    >>> wards = dp.bar_chart(["north", "south", "north", "west"] * 500, categories=("north", "south"), epsilon=1,
    ...                      adjacency=dp.REPLACE_ONE)
    >>> wards.category, bool(abs(wards.count[0] - 1000) < 40), bool(abs(wards.share[2] - 0.25) < 0.03)
    (['north', 'south', 'other'], True, True)
    """
    loss = parse_loss(paid.get("epsilon"), paid.get("rho"))
    (label,) = table = make_table(label, values)
    if [choice is None for choice in (categories, delta, universe)].count(True) != 2:
        raise InvalidArgument(
            "categories",
            'give the categories, as in ("a", "b"); or delta="1e-6" or a universe, which find those of many records',
        )
    by: Categories = UnlistedCategories(label, universe=universe)
    if categories is not None:
        by = Categories(label, require_sequence("categories", categories, 'a tuple of them, as in ("a", "b"),'))
    question = curves.BarChartQuestion(by, other)
    if delta is None:
        return ask_once(question, table, **paid)
    return _ask_with_loss(question, table, loss.with_delta(parse_positive_fraction("delta", delta)), **paid)


@add_privacy_arguments
def roc_curve(
    y_true: Values,
    y_score: Values,
    *,
    grid: Grid = UNIT_INTERVAL,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    thresholds: RocThresholds = RocThresholds.QUANTILES,
    **paid: Unpack[PrivacyArguments],
) -> ROC:
    """Return the ROC curve of a score that is higher for positives, and the area under it.

    Args:
        y_true: Labels, of shape ``(n,)``. Labels of neither class are missing.
        y_score: Scores, of shape ``(n,)``; high scores mean positive. The model is taken as public.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public; a replaced record may change its label.
        epsilon: The loss under pure differential privacy.
        rho: The loss under zero-concentrated differential privacy, instead of `epsilon`.
        grid: Public cells of the scores. The default divides [0, 1] and counts scores outside separately; use
            `Grid.logistic` for log-odds.
        pos_label: Label of positives.
        neg_label: Label of negatives; optional if the label of positives is 1, 0, -1, true or false.
        thresholds: Choice of thresholds, by default at private quantiles of the scores.
        randomness: Source of noise. Curves with noise from a seed are marked as not private.

    Returns:
        Rates `fpr` and `tpr` and `thresholds`, of shape ``(cells + 1,)``, the area `auc`, with band and intervals.

    Formal guarantees: as for `cdf`; the ledger is in memory, so losses of other calls are not added up.

    >>> import dpcurves as dp
    >>> roc = dp.roc_curve([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> roc.auc > 0.9
    True
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question = curves.RocQuestion(*names, grid, pos_label, neg_label, thresholds=thresholds)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def scores(
    y_true: Values,
    y_score: Values,
    *,
    grid: Grid | Auto = HUNDREDTHS,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Scores:
    """Return one release of scores in two classes for many results: ROC, precision-recall, calibration curves and
    others.

    Arguments and guarantees as for `roc_curve`, but thresholds are not chosen from the data: scores are counted in the
    cells of the public `grid`, by default hundredths of [0, 1]. With ``grid="auto"`` a fraction of the budget pays for
    a range search, for scores on another scale; see `AutoRangeScoresQuestion`. The ledger is in memory, so losses of
    other calls are not added up.

    Args:
        y_true: Labels, of shape ``(n,)``. Labels of neither class are missing.
        y_score: Scores, of shape ``(n,)``; high scores mean positive.
        grid: Public cells of the scores; or ``"auto"``.
        pos_label: Label of the positive class, as for `roc_curve`.
        neg_label: Label of the negative class, as for `roc_curve`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        True and false positives at all thresholds. Curves and metrics computed from them cost no budget.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> found.value("auc") > 0.9, found.confusion(0.5).rates["recall"] > 0.9
    (True, True)
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question: Question[Any] = curves.AutoRangeScoresQuestion(*names, None, pos_label, neg_label)
    if (cells := resolve_grid(grid)) is not None:
        question = curves.ScoresQuestion(*names, cells, None, pos_label, neg_label)
    result: Scores = ask_once(question, table, **paid)
    return result


@add_privacy_arguments
def calibration_curve(
    y_true: Values,
    y_prob: Values,
    *,
    groups: int | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Calibration:
    """Return the share of positive labels among records of similar predicted probability.

    Arguments and guarantees as for `roc_curve`. The edges of groups are chosen privately: `groups` groups of about
    equal size; by default 4 to 20 groups, fewer for larger noise and with fewer records where scores are rare. The
    ledger is in memory, so losses of other calls are not added up.

    Args:
        y_true: Labels, of shape ``(n,)``. Labels of neither class are missing.
        y_prob: Predicted probabilities, of shape ``(n,)``.
        groups: The number of groups, from 2 to 1000. None: 4 to 20.
        grid: Public cells from which edges of groups are chosen, between 0 and 1.
        pos_label: Label of the positive class, as for `roc_curve`.
        neg_label: Label of the negative class, as for `roc_curve`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Mean scores `prob_pred` and shares of positives `prob_true`, of shape ``(groups,)``, with intervals.

    >>> import dpcurves as dp
    >>> curve = dp.calibration_curve([0, 1] * 900, [0.2, 0.7] * 900, groups=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(curve.prob_true[0] < curve.prob_true[-1])
    True
    """
    names, table = make_pair_table(y_true=y_true, y_prob=y_prob)
    question = curves.CalibrationQuestion(*names, groups, grid, pos_label, neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def hosmer_lemeshow(
    y_true: Values,
    y_prob: Values,
    *,
    groups: int | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> HosmerLemeshow:
    """Test whether predicted probabilities agree with the labels; return statistic and p-value, which accounts for
    noise and sampling.

    Arguments and guarantees as for `calibration_curve`, but the default number of groups depends on the number of
    records and the loss; see `HosmerLemeshowQuestion`. The ledger is in memory, so losses of other calls are not added
    up.

    Args:
        y_true: Labels, of shape ``(n,)``. Labels of neither class are missing.
        y_prob: Predicted probabilities, of shape ``(n,)``.
        groups: The number of groups, from 2 to 1000. None: 4, 5 or 10.
        grid: Public cells from which edges of groups are chosen, between 0 and 1.
        pos_label: Label of the positive class, as for `roc_curve`.
        neg_label: Label of the negative class, as for `roc_curve`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        The `statistic`, its `p_value`, and observed and expected positives of the groups.

    >>> import dpcurves as dp
    >>> test = dp.hosmer_lemeshow([0, 1] * 900, [0.1, 0.2] * 900, groups=4, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> test.p_value < 0.05
    True
    """
    names, table = make_pair_table(y_true=y_true, y_prob=y_prob)
    question = curves.HosmerLemeshowQuestion(*names, groups, grid, pos_label, neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def binned_residuals(
    y_true: Values,
    y_score: Values,
    *,
    model: ModelOrigin,
    bins: int = 16,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> BinnedResiduals:
    """Return mean residuals (label minus prediction) in bins of similar predicted probability, with an envelope.

    Arguments and guarantees as for `roc_curve`, with two more arguments. Up to `bins` bins have privately chosen edges;
    bins whose counts are small relative to the noise are merged. `model` is `PUBLIC_MODEL`, `DISJOINT_RECORDS` or
    `PRIVATE_MODEL`: residuals are private only if the passed constant is true of the model. The ledger is in memory, so
    losses of other calls are not added up.

    Args:
        y_true: Labels, of shape ``(n,)``. Labels of neither class are missing.
        y_score: Predicted probabilities, of shape ``(n,)``.
        model: `PUBLIC_MODEL`, `DISJOINT_RECORDS` or `PRIVATE_MODEL`: the records that the model was fitted to.
        bins: The largest number of bins.
        grid: Public cells from which edges of bins are chosen.
        pos_label: Label of the positive class, as for `roc_curve`.
        neg_label: Label of the negative class, as for `roc_curve`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Mean predictions, mean residuals and counts of the bins, each of shape ``(bins,)``, and their `edges`.

    >>> import dpcurves as dp
    >>> y, p = [0, 1, 1, 1] * 900, [0.2, 0.2, 0.7, 0.7] * 900
    >>> found = dp.binned_residuals(y, p, model=dp.PUBLIC_MODEL, bins=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(found.outside > 0)
    True
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question = curves.BinnedResidualsQuestion(*names, model, bins, grid=grid, pos_label=pos_label, neg_label=neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def residual_plot(
    predicted: Values,
    residual: Values,
    *,
    unit_predicted: float | Auto = "auto",
    unit_residual: float | Auto = "auto",
    coverage: Exact,
    model: ModelOrigin,
    cells: int = 64,
    **paid: Unpack[PrivacyArguments],
) -> ResidualPlot:
    """Return residuals against predictions: a private density, and a synthetic scatter plot sampled from it.

    Arguments and guarantees as for `binned_residuals`, with more arguments. The bounds of each axis are chosen
    privately: the smallest power of two times `unit_predicted` or `unit_residual`, such that both bounds together cover
    about the share `coverage` of the records. ``"auto"`` starts from a billionth, if no magnitude is known. Each axis
    is divided into `cells` cells within its bounds. The ledger is in memory, so losses of other calls are not added up.

    Args:
        predicted: Predictions, of shape ``(n,)``.
        residual: Residuals, of shape ``(n,)``.
        unit_predicted: Public magnitude of `predicted`, in its unit; or ``"auto"``.
        unit_residual: Public magnitude of `residual`, in its unit; or ``"auto"``.
        coverage: Share of the records, between 0 and 1, that both bounds together cover, about.
        model: One of the constants that `binned_residuals` takes.
        cells: Cells along each axis.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        The `density`, of shape ``(cells, cells)``, predictions first, and sampled `points`, of shape ``(n, 2)``.

    >>> import dpcurves as dp
    >>> x, residual = [0.1 * i for i in range(10)] * 500, [0.2, -0.2] * 2500
    >>> found = dp.residual_plot(
    ...     x, residual, unit_predicted=1, unit_residual=1, coverage=0.95, model=dp.PUBLIC_MODEL, epsilon=2,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.outside < 0.05
    True
    """
    _, columns = make_pair_table(("predicted", "residual"), predicted=predicted, residual=residual)
    question = curves.ResidualPlotQuestion(
        "predicted", "residual", resolve_unit(unit_predicted), resolve_unit(unit_residual), coverage, model, cells
    )
    return ask_once(question, columns, **paid)


@add_privacy_arguments
def bounds(
    values: Values,
    *,
    unit: float | Auto = "auto",
    coverage: Exact,
    label: str | None = None,
    **paid: Unpack[ColumnArguments],
) -> Bounds:
    """Return a bound on the absolute values of `values`: the least power of two times `unit` that covers about the
    share `coverage`.

    Arguments and guarantees as for `cdf`, without a grid. `unit` is public, of the magnitude of relevant values, or
    ``"auto"`` for a billionth, if none is known; see `BoundsQuestion`. The ledger is in memory, so losses of other
    calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        unit: Public magnitude of relevant values, in their unit; or ``"auto"``.
        coverage: Share of the records, between 0 and 1, that the bound covers, about.
        label: Label of the axis. None: the name of the series, or else ``value``.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        The interval from `lower` to `upper`, in the unit of the values, and an upper limit of the share outside.

    >>> import dpcurves as dp
    >>> found = dp.bounds([3, -5, 6] * 1000, unit=1, coverage=0.95, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> (found.lower, found.upper)
    (-8.0, 8.0)
    """
    (label,) = table = make_table(label, values)
    return ask_once(curves.BoundsQuestion(label, resolve_unit(unit), coverage), table, **paid)


def compare(private: Any, question: Question[Any], public: Any) -> Comparison:
    """Return the comparison of a released curve with the curve of a public table, such as synthetic records, with a
    test for a difference.

    The public table is counted exactly. The confidential table is not queried again, so this costs no privacy budget.

    Args:
        private: A `CDF`, `Histogram`, `ROC`, `Calibration` or `BinnedResiduals` from `Session.ask`.
        question: The question that it answers.
        public: A table of public records, in any form that `Session` takes. Its counts are not protected.

    Returns:
        Both curves, the difference, and its interval or p-value.

    Raises:
        ValueError: the question gives another kind of curve, or see `Comparison.from_curves`.

    >>> import dpcurves as dp
    >>> question = dp.CdfQuestion("age", dp.Grid(0, 10, cells=64))
    >>> with dp.Session({"age": [2, 6] * 5000}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> [dp.compare(curve, question, {"age": ages}).differs for ages in ([2, 6] * 300, [6] * 600)]
    [False, True]
    """
    with catch_warnings(action="ignore", category=curves.CurveWarning):
        public_curve = ask_once(question, public, adjacency=Neighbours.REPLACE_ONE, epsilon=NOISELESS_EPSILON)
    return curves.Comparison.from_curves(private, public_curve)


@add_privacy_arguments
def contingency(
    rows: Values,
    columns: Values,
    *,
    row_categories: Sequence[Category],
    column_categories: Sequence[Category],
    labels: tuple[str, str] | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Contingency:
    """Return counts of pairs of categories, and a test of independence; see `Contingency`.

    Arguments and guarantees as for `cdf`, without a grid: the categories of both columns are public, and records with
    any other value are missing. The ledger is in memory, so losses of other calls are not added up.

    Args:
        rows: Text, numbers or truth values, of shape ``(n,)``.
        columns: Text, numbers or truth values, of shape ``(n,)``.
        row_categories: Public categories of `rows`.
        column_categories: Public categories of `columns`.
        labels: Names of both columns. None: those of the series, or else ``rows`` and ``columns``.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Counts of shape ``(rows, columns)``, with intervals, and the `statistic` and `p_value` of the test.

    >>> import dpcurves as dp
    >>> found = dp.contingency(
    ...     ["a", "b"] * 500, [0, 1] * 500, row_categories=("a", "b"), column_categories=(0, 1), epsilon=1,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.p_value < 0.01
    True
    """
    names, table = make_pair_table(labels, rows=rows, columns=columns)
    expected = 'a tuple of categories, as in ("a", "b"),'
    rows_declared = Categories(names[0], require_sequence("row_categories", row_categories, expected))
    columns_declared = Categories(names[1], require_sequence("column_categories", column_categories, expected))
    return ask_once(curves.ContingencyQuestion(rows_declared, columns_declared), table, **paid)


@add_privacy_arguments
def histogram2d(
    x: Values,
    y: Values,
    *,
    x_grid: Grid,
    y_grid: Grid,
    labels: tuple[str, str] | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Histogram2D:
    """Return counts of records in the cells of a plane; `Histogram2DQuestion` offers other estimators.

    Arguments and guarantees as for `cdf`, with a grid for each column. The ledger is in memory, so losses of other
    calls are not added up.

    Args:
        x: Numbers, of shape ``(n,)``. NaN and None are missing.
        y: Numbers, of shape ``(n,)``. NaN and None are missing.
        x_grid: Public cells of `x`.
        y_grid: Public cells of `y`.
        labels: Names of both columns. None: those of the series, or else ``x`` and ``y``.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Counts of shape ``(cells of x, cells of y)``, and the edges of both columns.

    >>> import dpcurves as dp
    >>> grid, half = dp.Grid(0, 1, cells=64), [0.25, 0.75] * 5000
    >>> found = dp.histogram2d(half, half, x_grid=grid, y_grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(found.count[:32, :32].sum() - 5000) < 500)
    True
    """
    names, table = make_pair_table(labels, x=x, y=y)
    return ask_once(curves.Histogram2DQuestion(*names, x_grid, y_grid), table, **paid)


@add_privacy_arguments
def summary(
    values: Values, *, bounds: tuple[float, float] | Auto, label: str | None = None, **paid: Unpack[ColumnArguments]
) -> Summary:
    """Return count, sum, mean and variance of `values`, all from one release.

    Arguments and guarantees as for `cdf`, with public `bounds`, the lower first, instead of a grid. Values outside are
    clipped to the nearer bound. ``bounds="auto"`` spends a fraction of the budget on a range search; see
    `AutoRangeMeanQuestion`. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        bounds: Public clipping bounds, the lower first, in the unit of the values; or ``"auto"``.
        label: Label of the axis. None: the name of the series, or else ``value``.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Count, sum, mean and variance, each with its interval.

    >>> import dpcurves as dp
    >>> ages = dp.summary([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.mean - 50) < 2 and abs(ages.variance - 866.7) < 100)
    True
    """
    (label,) = table = make_table(label, values)
    return ask_once(make_summary_question("Summary", label, bounds), table, **paid)


@add_privacy_arguments
def mean(
    values: Values,
    *,
    bounds: tuple[float, float] | Auto,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> Summary:
    """Return the mean of `values`, with count, sum and variance. The mean has less noise than in `summary`.

    With `weight` and `weight_cap`, as in `cdf`, the mean is weighted; see `WeightedSummaryQuestion`.

    The variance gets a seventh of the budget, enough for the interval of the population mean. Use `summary` or
    `variance` if the variance itself matters.

    Arguments and guarantees as for `summary`. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        bounds: Public clipping bounds, the lower first, in the unit of the values; or ``"auto"``.
        label: Label of the axis. None: the name of the series, or else ``value``.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        A summary with `mean`, in the unit of the values, and with `count`, `sum` and their intervals.

    >>> import dpcurves as dp
    >>> ages = dp.mean([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.mean - 50) < 2)
    True
    """
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    return ask_once(make_summary_question("Mean", label, bounds, **weights), table, **paid)


@add_privacy_arguments
def count(
    values: Values,
    *,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> Summary:
    """Return the number of `values` that are neither NaN nor None, or the sum of their weights.

    Arguments and guarantees as for `cdf`, without a grid: every number counts. With `weight` and `weight_cap` the
    result is a `WeightedSummary`, whose `count` estimates how many people the records represent. If n is public, the
    number of missing values is private. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        label: Label of the axis. None: the name of the series, or else ``value``.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        A summary with `count` and its `interval`; its other numbers are NaN.

    >>> import dpcurves as dp
    >>> ages = dp.count([20, 40, None] * 1000, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.count - 2000) < 40)
    True
    """
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    question: Question[Any] = curves.CountQuestion(label)
    if weights:
        question = curves.WeightedSummaryQuestion(label, 0, 1, **weights, statistic="count")
    summary_: Summary = ask_once(question, table, **paid)
    return summary_


@add_privacy_arguments
def select_partitions(
    names: Values,
    *,
    delta: Exact | None = None,
    universe: TextUniverse | HashUniverse | None = None,
    label: str | None = None,
    **paid: Unpack[PrivacyArguments],
) -> ByCategory[Summary]:
    """Return counts of categories that are found by partition selection; records of all others are counted as
    ``other``.

    Args:
        names: Categories, of shape ``(n,)``. None is missing.
        delta: Delta of (epsilon, delta)-differential privacy, or approximate zCDP: it bounds the probability that a
            category of a single record is released. Choose it far below one over the number of records. Not needed with
            `universe`.
        universe: All possible categories, a `TextUniverse` or `HashUniverse`, if no delta is granted.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss under pure differential privacy, apart from `delta`.
        rho: The loss under zero-concentrated differential privacy, apart from `delta`; instead of `epsilon`.
        label: Name of the categories. None: the name of the series, or else ``group``.
        randomness: Source of noise. Results with noise from a seed are marked as not private.

    Returns:
        A count for each selected category, and for ``other``, by name.

    Formal guarantees: the loss and `delta` under `adjacency`, with one record as the privacy unit; see
    `mechanisms.partition_selection`. The ledger is in memory, so losses of other calls are not added up.

    >>> import dpcurves as dp
    >>> found = dp.select_partitions(["north"] * 900 + ["south"] * 90 + ["x"], epsilon=4, delta="1e-6",
    ...                         adjacency=dp.ADD_REMOVE)
    >>> list(found), bool(abs(found["south"].count - 90) < 20)
    (['north', 'south', 'other'], True)
    >>> universe = dp.TextUniverse("a-z", 5)
    >>> "north" in dp.select_partitions(["north"] * 900, universe=universe, epsilon=4, adjacency=dp.ADD_REMOVE)
    True
    """
    loss = parse_loss(paid.get("epsilon"), paid.get("rho"))
    loss = loss if delta is None else loss.with_delta(parse_positive_fraction("delta", delta))
    (label,) = column = make_table(label, names, "group")
    table = column | {f"{label} is given": [1] * len(names)}
    question = curves.CountQuestion(f"{label} is given", by=UnlistedCategories(label, universe=universe))
    adjacency = paid["adjacency"]
    randomness = paid.get("randomness")
    with Session(
        table, budget=Currency.from_loss(loss).smallest_cap(loss), adjacency=adjacency, randomness=randomness
    ) as session:
        counts: ByCategory[Summary] = session.ask(question, loss)
    return counts


@add_privacy_arguments
def sum(
    values: Values,
    *,
    bounds: tuple[float, float] | Auto,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[ColumnArguments],
) -> Summary:
    """Return count, sum and mean of `values`; the budget is divided so that the sum has the least noise.

    With `weight` and `weight_cap`, as in `cdf`, the sum is weighted; see `WeightedSummaryQuestion`.

    Arguments and guarantees as for `summary`. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        bounds: Public clipping bounds, the lower first, in the unit of the values; or ``"auto"``.
        label: Label of the axis. None: the name of the series, or else ``value``.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        A summary with `sum`, in the unit of the values, and with `count`, `mean` and their intervals.

    >>> import dpcurves as dp
    >>> ages = dp.sum([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.sum - 150_000) < 5000)
    True
    """
    (label,) = column = make_table(label, values)
    table, weights = add_weights(column, weight, weight_cap)
    return ask_once(make_summary_question("Sum", label, bounds, **weights), table, **paid)


@add_privacy_arguments
def variance(
    values: Values, *, bounds: tuple[float, float] | Auto, label: str | None = None, **paid: Unpack[ColumnArguments]
) -> Summary:
    """Return the variance of `values`, with count, sum and mean, as in `summary`; plots show the variance.

    Arguments and guarantees as for `summary`. The ledger is in memory, so losses of other calls are not added up.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing. With `column`: a table, as `Session` takes it.
        bounds: Public clipping bounds, the lower first, in the unit of the values; or ``"auto"``.
        label: Label of the axis. None: the name of the series, or else ``value``.
        column: A column or expression of the table, as for `cdf`.
        where: A filter of its rows, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        A summary with `variance`, in the squared unit of the values, and with `count`, `sum` and `mean`.

    >>> import dpcurves as dp
    >>> ages = dp.variance([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.variance - 866.7) < 100)
    True
    """
    (label,) = table = make_table(label, values)
    return ask_once(make_summary_question("Variance", label, bounds), table, **paid)
