"""Estimates of all cells of a table: by a named estimator, on a grown partition, or cell by cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..histograms import PrivTreeEstimator, RefinedGridEstimator
from ..histograms.extent import Extent
from ..histograms.table_estimator import epsilon_per_record
from ..queries import CountQuery, Read
from ..queries.query import LARGEST_LEAST
from ..release import ALL, Evidence, Setting, Step
from ..workloads import EstimatedTable, Strategy, Table

GROWING = Fraction(1, 4)
"""The part of the loss that grows a partition, where it is known how few records need not be told apart."""


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
    """Ask as the named estimator does; where none is named, on blocks that are small where that tells more.

    Where few records need not be told apart, they are not: PrivTree then has a threshold that says how few.
    """
    usual = tree_estimator(workload.seen, setting) if workload.seen else RefinedGridEstimator()
    estimator = workload.estimator or usual
    return (yield from estimator.counts(workload.axes, setting, ALL))


def tree_estimator(seen: int, setting: Setting) -> PrivTreeEstimator:
    """PrivTree whose boxes are divided while they hold more than so many scales of the noise of their counts.

    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> tree_estimator(3, Setting(PrivacyLoss.pure("0.8"), ReplaceOne(EACH_RECORD, 500))).least
    10
    """
    epsilon = epsilon_per_record(setting, 1 - GROWING)
    least = min(seen / epsilon, LARGEST_LEAST) if epsilon > 0 else LARGEST_LEAST
    return PrivTreeEstimator(growing=GROWING, least=int(least))
