"""A grid for a task document, proposed from a public sample: whoever counts once cannot look for a range."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Annotated
from warnings import catch_warnings, simplefilter

from typer import Argument, Option

from dpcurves.cli.options import A_COLUMN, whole
from dpcurves.cli.terminal import Misuse, say, terminal

SPREAD = 100.0
"""Ratio of large to small values from which on cells of equal ratios are proposed."""
TRIMMED = 0.05
"""Part of the sample on either side that does not decide between equal widths and equal ratios."""
STEPS = 10
"""Bounds are multiples of a round step, about so many of which the range of the sample is."""
FEWEST = 8
"""Values that a sample has at least: of fewer nothing follows."""
PUBLIC = "the sample must be public: published records, or made-up ones; never a part of the table that is protected"


def suggest(
    sample: Annotated[str, Argument(metavar="SAMPLE", help="A small file of public records: CSV or Parquet.")],
    *,
    column: Annotated[str, Option(help=A_COLUMN, metavar="NAME")],
    cells: Annotated[str, Option(help="How many cells to propose.", metavar="N")] = "256",
) -> None:
    """Propose a grid for a task from a small public sample: two servers and the local model cannot look for one.

    The range of the sample is widened by a step at each end, to round numbers, but not across zero. Values beyond are
    clamped, or counted apart, as the task says.

    Example: dpcurves task suggest published.csv --column amount
    """
    low, high, inner = _seen(sample, column)
    grid = proposed(low, high, inner, whole("cells", cells))
    say(terminal(), f"--grid {grid}", PUBLIC)


def proposed(low: float, high: float, inner: tuple[float, float], cells: int) -> str:
    """The grid as an option takes it.

    Args:
        low: The least value that was seen.
        high: The largest one.
        inner: Values between which most lie.
        cells: The number of cells.

    >>> proposed(18, 93, (22, 80), 64), proposed(0.5, 90_000, (2, 30_000), 64)
    ('10:100:64', 'geometric:0.1:100000:64')
    """
    if inner[0] > 0 and inner[1] >= SPREAD * inner[0]:
        least = low if low > 0 else inner[0]
        ends = floor(log10(least) - 1e-9), ceil(log10(high) + 1e-9)
        return f"geometric:{float(f'1e{ends[0]}'):.15g}:{float(f'1e{ends[1]}'):.15g}:{cells}"
    width = (high - low) / STEPS if high > low else max(abs(high), 1.0) / STEPS
    power = floor(log10(width))
    step = next(digit * 10.0**power for digit in (1, 2, 5, 10) if digit * 10.0**power >= width * (1 - 1e-9))
    first, last = floor(low / step - 1e-9), ceil(high / step + 1e-9)
    first = max(first, 0) if low >= 0 else first
    last = min(last, 0) if high <= 0 else last
    return f"{first * step:.15g}:{last * step:.15g}:{cells}"


def _seen(sample: str, column: str) -> tuple[float, float, tuple[float, float]]:
    """The least and the largest value of a public sample, and two between which most of them lie.

    Raises:
        Misuse: it has too few values.
    """
    import numpy as np

    from dpcurves.curves import UnboundedCdfQuestion
    from dpcurves.privacy import Neighbours, PrivacyLoss
    from dpcurves.session import Session
    from dpcurves.shortcuts import EXACTLY

    exact = PrivacyLoss.pure(EXACTLY)
    with catch_warnings(), Session(sample, budget=exact, adjacency=Neighbours.ADD_REMOVE) as session:
        simplefilter("ignore")  # what a released curve is warned of is no matter of a public sample
        curve = session.ask(UnboundedCdfQuestion(column), exact)
    if curve.count < FEWEST:
        raise Misuse("sample", f"at least {FEWEST} records with a number in this column are needed")
    half = 0.5 / curve.count
    low, high = curve.x[np.searchsorted(curve.y, half) - 1], curve.x[np.searchsorted(curve.y, 1 - half)]
    below, above = curve.quantile([TRIMMED, 1 - TRIMMED])
    return float(low), float(high), (float(below), float(above))
