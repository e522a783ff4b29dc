"""Estimates of all cells of a table: by a named estimator, on a grown partition, or cell by cell."""

from __future__ import annotations

import numpy as np

from ..histograms import RefinedGridEstimator
from ..histograms.extent import Extent
from ..queries import CountQuery, Read
from ..release import ALL, Evidence, Setting, Step
from ..workloads import EstimatedTable, Strategy, Table


def cell_by_cell(workload: Table, setting: Setting) -> Strategy[EstimatedTable]:
    """Ask as the named estimator does; where none is named, once for the count of each cell, as it is."""
    if workload.estimator is not None:
        return (yield from workload.estimator.counts(workload.axes, setting, ALL))
    release = yield Step(CountQuery(workload.axes, Read.CELLS), ALL)
    found, extent = Evidence.of(release), Extent.of(workload.axes)
    cells, missing = found.sums.reconstruct(np.asarray(release.values, dtype=np.float64), found.total)
    table = cells.ravel()
    inside, outside = table[extent.inside].reshape(extent.shape), float(table[extent.outside].sum())
    return EstimatedTable(inside, outside, float(missing), (release,), joined=False)


def grown(workload: Table, setting: Setting) -> Strategy[EstimatedTable]:
    """Ask as the named estimator does; where none is named, on blocks that are small where that tells more."""
    estimator = workload.estimator or RefinedGridEstimator()
    return (yield from estimator.counts(workload.axes, setting, ALL))
