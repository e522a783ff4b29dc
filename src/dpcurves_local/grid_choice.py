"""The number of cells for reports about a kernel of pairs: more leave less open, with larger noise."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot

import numpy as np

from dpcurves.arguments import Refused, require_kind
from dpcurves.data import Grid
from dpcurves.laws import Responses
from dpcurves.postprocess.inference.reported_pairs import Reported
from dpcurves.postprocess.summaries.kernels import Function, Midpoint
from dpcurves.privacy import PrivacyLoss

from .reported_tree import epsilon_of
from .responses import choose_randomiser
from .task import MOST_PEOPLE

MOST_CELLS = 2**10


def grid_for(kernel: Function, lower: float, upper: float, *, people: int, loss: PrivacyLoss) -> Grid:
    """The grid on which a `HistogramQuestion` tells the mean of a kernel over pairs of people best.

    From 2, 4, ..., 1,024 cells those with the least error are taken, as Corollary 1 of Bell, Bellet, Gascon and
    Kulkarni (2019) has it for k-ary responses and slopes: here with the randomiser that is chosen, the exact standard
    deviation of values that lie evenly, and what cells leave open of this kernel (its half range, on average). Public
    facts alone.

    Raises:
        TypeError: `loss` is no loss.
        ValueError: `people` is not from 2 to 2**31, `lower` is not below `upper`, or the kernel is not symmetric, or
            not finite.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> loss = dp.PrivacyLoss.pure(1)
    >>> [grid_for(lambda x, y: np.abs(x - y), 0, 1, people=10**digits, loss=loss).cells for digits in (3, 5, 7)]
    [32, 128, 512]
    """
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
    if not 2 <= people <= MOST_PEOPLE:
        raise Refused("people", f"from 2 to {MOST_PEOPLE} report, got {people}")
    return min(_grids(lower, upper), key=lambda grid: expected_error(kernel, grid, people, loss))


def expected_error(kernel: Function, grid: Grid, people: int, loss: PrivacyLoss) -> float:
    """The root of the squares of noise, that of sampling with it, and of what cells leave open, of even values."""
    cells, on_cells = grid.cells, Midpoint(kernel)(grid.edges)
    way = choose_randomiser(cells + 1, epsilon_of(loss))
    _, common, own = Responses(range(cells), people, way.NAME, *way.support).answered(np.zeros(cells + 1))
    told = Reported(np.append(np.full(cells, people / cells), 0.0), people, common, own)
    noise = told.centred(on_cells.mean, told.mean(on_cells.mean)).deviation(population=True) / told.pairs
    return hypot(noise, float(on_cells.reach.mean()))


def _grids(lower: float, upper: float) -> Iterator[Grid]:
    cells = 2
    while cells <= MOST_CELLS:
        yield Grid(lower, upper, cells=cells)
        cells *= 2
