"""Noisy counts of regions in one turn, read by least squares."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..arrays import IntArray
from ..laws import least_squares
from ..queries import Read, RegionQuery
from ..release import Evidence, Release, Setting, Step
from .extent import Extent
from .table_estimator import Axes, EstimatedTable

Releases = tuple[Release, ...]

FOR_TOTAL = Fraction(1, 20)
"""What part of the share one count of all records gets, where their number is private and has to be known."""

FIRST = -1
"""The turn of that count."""


def counted(
    axes: Axes, extent: Extent, labels: Sequence[IntArray], read: Read, share: Fraction, *, turn: int = 0
) -> Generator[Step, Release, EstimatedTable]:
    """Count regions, from coarse to fine: cells with the same label are one region, what lies outside is another.

    Args:
        axes: The axes of the table.
        extent: Its cells.
        labels: The region of each cell inside, for each tiling; each one's regions are divided by the next.
        read: See `RegionQuery`.
        share: The share of the budget.
        turn: See `RegionQuery`: an estimator that counts several times gives each time a number of its own.
    """
    query = regions(axes, extent, labels, read, turn=turn)
    release = yield Step(query, share)
    return read_regions(query, extent, Evidence.of(release), (release,))


def regions(axes: Axes, extent: Extent, labels: Sequence[IntArray], read: Read, *, turn: int) -> RegionQuery:
    """The question that `counted` asks."""
    order = np.lexsort(labels[::-1])
    first = np.zeros(extent.cells, dtype=np.bool_)
    first[0] = True
    tilings = []
    for label in labels:
        first[1:] |= np.diff(label[order]) != 0
        ends = [extent.cells] if len(extent.outside) else []
        tilings.append((*np.flatnonzero(first).tolist(), *ends))
    return RegionQuery(axes, (*extent.inside[order].tolist(), *extent.outside.tolist()), tuple(tilings), read, turn)


def read_regions(query: RegionQuery, extent: Extent, evidence: Evidence, releases: Releases) -> EstimatedTable:
    """The estimate of every cell from noisy counts of regions, spread evenly over their cells."""
    estimate = least_squares(evidence.measured, evidence.values, evidence.total)
    table = np.empty(estimate.cells.shape[1])
    table[np.asarray(query.order)] = estimate.cells[0]
    outside = float(table[extent.outside].sum())
    return EstimatedTable(table[extent.inside].reshape(extent.shape), outside, estimate.missing, releases)


def together(first: Release, second: Release) -> Evidence:
    """Two releases of nested tilings in one order, the coarse one first, as one.

    The second of the two counts of missing records is kept.
    """
    coarse, fine = Evidence.of(first), Evidence.of(second)
    law = replace(fine.measured, levels=coarse.measured.levels + fine.measured.levels)
    return Evidence(law, (*coarse.values[:-1], *fine.values), fine.total)


def records_inside(
    axes: Axes, extent: Extent, setting: Setting, share: Fraction, part: Fraction = FOR_TOTAL
) -> Generator[Step, Release, tuple[float, Fraction, Releases]]:
    """About how many records there are, what is left of the share, and what was paid for.

    Where their number is public it costs nothing, and those outside or missing are counted in; else this part of the
    share pays for one count.
    """
    if setting.adjacency.total is not None:
        return float(setting.adjacency.total), share, ()
    whole = [np.zeros(extent.cells, dtype=np.int64)]
    found = yield from counted(axes, extent, whole, Read.CELLS, share * part, turn=FIRST)
    return float(found.cells.sum()), share * (1 - part), found.releases
