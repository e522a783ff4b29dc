"""Conformance tests of database engines: an engine must place public numbers in cells exactly as this library does.

    require_conformance    checks the cells of a question before anything is charged; raises `ValueError`
    run_checks             yields the findings of all checks (``dpcurves engine check``)
    CheckableEngine        what an engine must implement to be checked

Databases round, compare and convert floating-point numbers differently. A record counted in another cell would break
the sensitivity that the plan assumes. So each engine evaluates public numbers first:

    cells       edges of grids of every spacing and scale, the doubles next to each, and `SPECIAL_NUMBERS` numbers
    offsets     distance from the middle of the cell in steps, for sums
    digests     HMAC-SHA256 of a row, which ranks the rows of a unit
    decimals    doubles nearest to decimal numbers

Formal guarantees: the checks touch no records; they evaluate public numbers only.

>>> numbers = collect_test_numbers(Grid(0, 1, cells=4))
>>> [bool(np.isin(number, numbers)) for number in (0.25, np.nextafter(0.25, 0), 2.0**53)]
[True, True, True]
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple, Protocol

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data import MOST_STORED_EDGES, Axis, Grid, Outside, Values
from dpcurves.records.engines.engine import BoundAxis

SPECIAL_NUMBERS = (
    np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, np.finfo(float).max, -np.finfo(float).max, np.finfo(float).tiny,
    5e-324, -5e-324, 0.0, -0.0, 2.0**31, 2.0**32, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e22, 0.1 + 0.2,
)  # fmt: skip
"""Values that engines get wrong, besides edges: special, extreme and unrepresentable numbers. An engine that puts one
into another cell than dpcurves does is refused."""
SAMPLED_EDGES = 1000
"""Edges of a fine grid whose cells are checked: this many from its start, from its end, and evenly between; and as many
values whose offsets are checked. More take longer."""
HALF_WIDTH_STEPS = (1, 2**20 + 1, 2**39)
"""Half widths of a cell, in steps, for which offsets from its middle are checked: smallest, odd and large. An engine
that computes one otherwise is refused."""
DECIMALS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-1e-400", "1.5", "-0.1", "123456789.123456789",
    "9007199254740993", "4.9e-324", "2.4e-324", "1.7976931348623157e308", "1.7976931348623159e308", "0",
)  # fmt: skip
"""Decimal numbers whose conversion to doubles is checked: special, out of range, halfway between doubles. An engine
that converts one otherwise is refused."""


class CheckableEngine(Protocol):
    """The interface of an engine that evaluates public numbers."""

    @property
    def name(self) -> str:
        """Name of the engine's product and its version, for the report."""

    @property
    def decimals(self) -> Sequence[str]:
        """Decimal numbers, as texts, that the engine can represent, and whose conversion to doubles is tested."""

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        """Return the slot of each value, as the engine computes it; the test compares it with the library's own result.

        A slot is the index of a cell, with cells below and above the grid if it counts values outside.

        Args:
            grid: Cells of the values.
            values: Public numbers, NaN if missing.

        Returns:
            Slots, (values,); `grid.slots` for a missing value.
        """

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        """Return the offset of each value from the middle of its cell, in steps, as `Grid.offset_of` does.

        Args:
            grid: Cells of the values.
            values: Public numbers.
            half: Half of the width of a cell, in steps.
        """

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        """Return the HMAC-SHA256 of a row. Digests decide which rows of a unit count if it has too many.

        Args:
            key: Secret key.
            message: Bytes of the row.
        """

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        """Return the double that the engine makes of each decimal number; NaN if it makes none.

        Args:
            decimals: Decimal numbers, as texts.

        Returns:
            Doubles, in the order of `decimals`.
        """


class Finding(NamedTuple):
    """The result of one conformance check.

    Attributes:
        description: The check, as one line of text.
        is_equal: Whether the engine agrees with this library.
    """

    description: str
    is_equal: bool


class ConformanceReport(NamedTuple):
    """The findings of all conformance checks of one engine.

    Attributes:
        name: The engine's product and version.
        findings: One per check.
    """

    name: str
    findings: tuple[Finding, ...]


def require_conformance(engine: CheckableEngine, bound: Sequence[BoundAxis]) -> None:
    """Check that an engine counts the cells of a question as this library does. Nothing is charged or read.

    Args:
        engine: The engine that will count.
        bound: Axes of the question, bound to columns.

    Raises:
        ValueError: the engine assigns a public number to another cell.
    """
    for bound_axis in bound:
        if isinstance(bound_axis.axis, Axis) and not all(
            finding.is_equal for finding in _check_grid(engine, bound_axis.axis.grid)
        ):
            cells = f"the cells of {bound_axis.axis.column!r}"
            raise InvalidArgument(
                "data",
                f"{engine.name} does not count {cells} as dpcurves does, and nothing was charged;"
                " use another engine, and report this",
            )


def run_checks(engine: CheckableEngine) -> Iterator[Finding]:
    """Yield the findings of all checks of `dpcurves engine check`: cells, offsets, digests and decimals.

    Args:
        engine: The engine that is checked.
    """
    for outside in Outside:
        for grid in _build_grids(outside):
            yield from _check_grid(engine, grid)
    digest = engine.compute_digest(b"a key", b"a row")
    rows = b"a row", b"5:a row"  # alone, and length-prefixed as one text of a row
    expected_digests = [hmac.digest(b"a key", row, "sha256") for row in rows]
    yield Finding("HMAC-SHA256, which ranks the rows of a unit", digest in expected_digests)
    expected = [_parse_double(text) for text in engine.decimals]
    parsed = engine.parse_decimals(engine.decimals)
    yield Finding("decimal numbers", np.array_equal(parsed, np.array(expected), equal_nan=True))


def collect_test_numbers(grid: Grid) -> FloatArray:
    """Return the numbers whose cells are checked for a grid.

    These are the edges and closed endpoints, the doubles next to each, and `SPECIAL_NUMBERS`. A fine grid contributes
    some of its edges.

    Args:
        grid: Public cells.
    """
    numbers = np.arange(grid.cells + 1) if grid.cells <= MOST_STORED_EDGES else _select_edges(grid.cells)
    edges = np.concatenate([grid.edge(numbers), grid.closed_endpoints])
    with np.errstate(over="ignore"):
        around = (edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf))
    return np.concatenate([*around, np.array(SPECIAL_NUMBERS)])


def _select_edges(cells: int) -> IntArray:
    """Return increasing indices of sampled edges: the first, the last, and evenly spaced ones.

    Args:
        cells: Number of cells of a grid, at least 1.

    Returns:
        Indices from 0 to `cells`, each once.
    """
    fractions = np.linspace(0, 1, SAMPLED_EDGES) * float(cells)
    ends = np.arange(SAMPLED_EDGES)
    return np.unique(np.clip(np.concatenate([ends, fractions.astype(np.int64), cells - ends]), 0, cells))


def _check_grid(engine: CheckableEngine, grid: Grid) -> Iterator[Finding]:
    """Yield the findings for one grid: the cells of test numbers, and their offsets if the grid is not too fine.

    Args:
        engine: The engine that is checked.
        grid: Public cells; of a very fine grid, sampled edges are checked.
    """
    # At most 2**22 cells are counted one by one; finer grids are counted by prefixes only.
    if grid.cells > 2**22:
        grid = grid.merge_cells(_select_edges(grid.cells).tolist())  # prefixes are counted between a few edges
    values = collect_test_numbers(grid)
    yield Finding(
        f"{_shorten_repr(grid)}: cells", np.array_equal(engine.find_slots(grid, values), grid.cell_of(values))
    )
    if grid.cells <= MOST_STORED_EDGES:
        sample = np.unique(np.concatenate([values[:: max(len(values) // SAMPLED_EDGES, 1)], np.array(SPECIAL_NUMBERS)]))
        are_equal = (
            np.array_equal(engine.find_offsets(grid, sample, half), grid.offset_of(sample, half))
            for half in HALF_WIDTH_STEPS
        )
        yield Finding(f"{_shorten_repr(grid)}: offsets", all(are_equal))


def _parse_double(text: str) -> float:
    """Return the double nearest to a decimal number, which the engine's parsing is compared with; infinite if too
    large.

    Args:
        text: Decimal number.
    """
    try:
        return float(Decimal(text))
    except OverflowError:
        return float("inf") if Decimal(text) > 0 else -float("inf")


def _build_grids(outside: Outside) -> tuple[Grid, ...]:
    """Return the grids of the conformance check, of every spacing and scale, with this treatment of values outside.

    Args:
        outside: Whether values outside a grid are clipped, or counted in cells of their own.
    """
    return (
        Grid(0, 1, cells=4, outside=outside),
        Grid(0, 5, cells=1, outside=outside),
        Grid(0, 1, cells=64, outside=outside),
        Grid(-1, 1, cells=4096, outside=outside),  # zeros of both signs lie on an edge
        Grid(-100, 1300, cells=65536, outside=outside),
        Grid(0.05, 10.05, cells=1000, outside=outside),
        Grid(-1e308, 7e307, cells=11, outside=outside),
        Grid(-5e-324, 1e-323, cells=3, outside=outside),
        Grid.geometric(1e-300, 1e7, cells=1000, outside=outside),
        Grid.logistic(-30, 9, cells=1000, outside=outside),
        Grid.from_edges([-1, -0.0, 5e-324, 1, 1.7976931348623157e308], outside=outside),
        Values((-7, 0, 0.1, 0.2, 31), outside=outside),
    )


def _shorten_repr(grid: Grid) -> str:
    """Return the repr of a grid, cut to about 80 characters.

    Args:
        grid: The grid.
    """
    text = repr(grid)
    return text if len(text) < 90 else f"{text[:80]}...)"
