"""Histograms of monotone transforms, such as the logarithm of a column, without computing the function on records.

For an increasing function f and edges e_k of its values,

    e_k <= f(x) < e_(k + 1)    if and only if    f**-1(e_k) <= x < f**-1(e_(k + 1))

so a record can be compared with the inverse edges.

    find_chain     expression such as ``ln(wage / 2)`` -> its increasing functions, and the expression inside
    invert_grid    functions, grid of their values -> grid of the inner expression with the same cells

Engines then need no logarithm, whose last bits differ between libraries. Where f is undefined or infinite, the inner
expression is missing.

Formal guarantees: inverse edges are computed from public numbers. The cell of a record is a function of the record.

>>> chain = find_chain("ln(wage / 2)")
>>> chain.steps, invert_grid(chain.steps, Grid(0, 2, cells=2)).edges.round(3).tolist()
((('ln', 0.0),), [1.0, 2.718, 7.389])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..arguments import InvalidArgument
from ..arrays import FloatArray
from ..data import ALL_RECORDS, Grid
from ..expressions import Call, Literal, Node, find_monotone_chain, format_expression, parse_expression

Step = tuple[str, float]
"""An increasing function by its name in `INVERSES`, and the number that it adds, multiplies by, and so on."""
MOST_EDGES = 2**20
"""Largest number of cells of a grid on a logarithm or an exponential: their edges are stored one by one. More are
refused."""


class Chain(NamedTuple):
    """An expression split into increasing functions and the expression inside.

    Attributes:
        steps: The functions, the outermost first. The last one is a logarithm or an exponential.
        inner: The expression inside, which is missing where a function is undefined or infinite.
    """

    steps: tuple[Step, ...]
    inner: str


@lru_cache(maxsize=256)
def find_chain(text: str) -> Chain | None:
    """Split an expression such as ``ln(wage) / 2`` into the increasing functions outside and the inner expression.

    A grid of its values is then counted as a grid of inner values, so that no logarithm is computed per row.

    Args:
        text: The expression, such as ``ln(wage) / 2``.

    Returns:
        The functions and the inner expression; None if there is no logarithm or exponential among the functions.

    Raises:
        ValueError: the text is no expression, or nests logarithms or exponentials.
    """
    if text == ALL_RECORDS:
        return None
    steps, inner = find_monotone_chain(parse_expression(text, "column"))
    if not steps:
        return None
    lower, upper = -np.inf, np.inf
    largest_exponent = 709.782712893384  # logarithm of the largest double
    for name, _ in steps:
        if name in {"ln", "log2", "log10"}:
            lower = max(lower, 0.0)
        elif name == "exp":
            upper = min(upper, largest_exponent)
    return Chain(steps, format_expression(_restrict(inner, lower, upper) if len(_logarithms(steps)) == 1 else inner))


def invert_grid(steps: tuple[Step, ...], grid: Grid) -> Grid:
    """Return the grid of the inner expression whose cells hold the same records as a grid of the function's values.

    Each edge is inverted once and rounded to a double, so that all engines count the same records in a cell.

    Formal guarantees: the result is computed from public numbers alone.

    Args:
        steps: Increasing functions, the outermost first.
        grid: Grid of the function's values.

    Raises:
        ValueError: there are too many edges, an edge is no value of the function, or two edges have the same inverse.

    >>> invert_grid((("log2", 0.0),), Grid(0, 3, cells=3)).edges
    array([1., 2., 4., 8.])
    """
    if grid.cells > MOST_EDGES:
        raise InvalidArgument(
            "grid", f"at most {MOST_EDGES:,} cells are allowed on a logarithm or an exponential: give a coarser grid"
        )
    edges = np.asarray(grid.edges, dtype=np.float64)
    with np.errstate(all="ignore"):
        for name, number in steps:
            edges = INVERSES[name](edges, number)
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise InvalidArgument(
            "grid", "the edges must be values of the function: take a narrower range, as in 0:12 for ln(wage)"
        )
    return Grid.from_edges(edges.tolist(), outside=grid.outside)


def _logarithms(steps: tuple[Step, ...]) -> list[Step]:
    """Return the logarithm or exponential among the increasing functions of an expression; at most one is allowed.

    Args:
        steps: The functions, the outermost first.

    Raises:
        ValueError: there are several, whose common domain is not computed.
    """
    functions = [step for step in steps if step[0] in INVERSES and step[0] not in {"add", "sub", "mul", "div"}]
    if len(functions) > 1:
        raise InvalidArgument(
            "column",
            "a logarithm or an exponential must be of a plain column, not of another one: leave out the inner or "
            "the outer one",
        )
    return functions


def _restrict(inner: Node, lower: float, upper: float) -> Node:
    """Restrict an expression to an interval: return one that is missing where its value is outside or not finite.

    Args:
        inner: The expression.
        lower: Values must be above this; minus infinity: no limit.
        upper: Values must be at most this; infinity: no limit.
    """
    conditions = []
    if lower > -np.inf:
        conditions.append(Call("gt", (inner, Literal(float(lower)))))
    if upper < np.inf:
        conditions.append(Call("le", (inner, Literal(float(upper)))))
    # A value that is infinite has no finite logarithm.
    condition: Node = Call("between", (inner, Literal(-LARGEST_DOUBLE), Literal(LARGEST_DOUBLE)))
    for further in conditions:
        condition = Call("and", (condition, further))
    return Call("case", (condition, inner, Literal(None)))


LARGEST_DOUBLE = float(np.finfo(np.float64).max)
"""The largest double; stands for infinite edges in conditions, which accept finite numbers only."""
INVERSES: Mapping[str, Callable[[FloatArray, float], FloatArray]] = MappingProxyType({
    "ln": lambda edges, _: np.exp(edges),
    "log2": lambda edges, _: np.exp2(edges),
    "log10": lambda edges, _: np.power(10.0, edges),
    "exp": lambda edges, _: np.where(edges > 0, np.log(np.where(edges > 0, edges, 1.0)), -LARGEST_DOUBLE),
    "add": lambda edges, number: edges - number,
    "sub": lambda edges, number: edges + number,
    "mul": lambda edges, number: edges / number,
    "div": lambda edges, number: edges * number,
})  # fmt: skip
"""Inverses of the increasing functions, from edges and the number of the step."""
