"""Increasing functions of a column, applied to the edges of a grid in place of the rows.

For an increasing function f, such as a logarithm, and edges e_k of its values,

    e_k <= f(x) < e_(k + 1)    if and only if    f**-1(e_k) <= x < f**-1(e_(k + 1))

so rows are compared with inverse edges, which are computed once (`invert_grid`). Engines need no logarithm, whose last
bits differ between libraries. Where f is not defined or infinite, the inner expression is missing (`find_chain`).

Formal guarantees: inverse edges are computed from public numbers.

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
MOST_EDGES = 2**20
"""Edges of a grid on a logarithm or an exponential: the largest number, because they are stored one by one."""


class Chain(NamedTuple):
    """Increasing functions that end in a logarithm or exponential, outermost first, and the expression inside."""

    steps: tuple[Step, ...]
    inner: str


@lru_cache(maxsize=256)
def find_chain(text: str) -> Chain | None:
    """Return the increasing functions of an expression, or None if it has no logarithm or exponential outside.

    The inner expression is missing where a function is not defined, or not finite.

    Raises:
        ValueError: the text is no expression.
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


def _logarithms(steps: tuple[Step, ...]) -> list[Step]:
    """Return the logarithms and exponentials of a chain.

    Raises:
        ValueError: there are several: their domains are not worked out.
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
    """Return an expression that is missing outside of an open interval on the left, and a closed one on the right."""
    conditions = []
    if lower > -np.inf:
        conditions.append(Call("gt", (inner, Literal(float(lower)))))
    if upper < np.inf:
        conditions.append(Call("le", (inner, Literal(float(upper)))))
    # A value that is infinite has no finite logarithm.
    condition: Node = Call("between", (inner, Literal(-LARGEST), Literal(LARGEST)))
    for further in conditions:
        condition = Call("and", (condition, further))
    return Call("case", (condition, inner, Literal(None)))


LARGEST = float(np.finfo(np.float64).max)
"""The largest double."""
INVERSES: Mapping[str, Callable[[FloatArray, float], FloatArray]] = MappingProxyType({
    "ln": lambda edges, _: np.exp(edges),
    "log2": lambda edges, _: np.exp2(edges),
    "log10": lambda edges, _: np.power(10.0, edges),
    "exp": lambda edges, _: np.where(edges > 0, np.log(np.where(edges > 0, edges, 1.0)), -LARGEST),
    "add": lambda edges, number: edges - number,
    "sub": lambda edges, number: edges + number,
    "mul": lambda edges, number: edges / number,
    "div": lambda edges, number: edges * number,
})  # fmt: skip
"""Inverses of increasing functions."""


def invert_grid(steps: tuple[Step, ...], grid: Grid) -> Grid:
    """Return the grid of the inner values whose cells are the cells of the function's values.

    Formal guarantees: it is computed from public numbers alone. A cell begins at the inverse of its edge, rounded to a
    double once, so all engines count the same rows in it.

    Raises:
        ValueError: there are too many edges, or two of them have the same inverse.

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
