"""Choice of the strategy of a workload, for who can count once, and for who can count again after an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

from ..arguments import WrongKind
from ..conversation import (
    ALL,
    Anywhere,
    Below,
    Brackets,
    Cells,
    Counted,
    EstimatedTable,
    Evidence,
    FirstInterval,
    Groups,
    Prefixes,
    Range,
    Ranks,
    Release,
    Setting,
    Single,
    Step,
    Strategy,
    Table,
    Workload,
)
from ..histograms import RefinedGridEstimator
from ..histograms.table_estimator import Extent
from ..queries import CountQuery, Read
from . import covers, found_range, prefixes, ranks


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


# Choice of the strategy of a workload, for who can count once, and for who can count again on chosen cells.


Answer = TypeVar("Answer")
Made = Callable[[Any, Setting], Strategy[Any]]


def at_once(workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    """The strategy of a holder that counts once, on cells that are known beforehand: one turn, or threshold by
    threshold.

    Raises:
        TypeError: it is no workload of ours.
    """
    return _met(AT_ONCE, workload, setting)


def adaptively(workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    """The strategy of a holder that keeps the records after an answer: several turns, where public facts say that they
    pay.

    Raises:
        TypeError: it is no workload of ours.
    """
    return _met(ADAPTIVELY, workload, setting)


def formerly(workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    """The strategy of `adaptively` in earlier versions: for answers that were paid then, and are read again.

    Raises:
        TypeError: it is no workload of ours.
    """
    return _met(FORMERLY, workload, setting)


def _met(ways: Mapping[type[Workload[Any]], Made], workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    if type(workload) not in ways:
        raise WrongKind("question", f"one of the workloads of dpcurves is needed, not a {type(workload).__name__}")
    return cast("Strategy[Answer]", ways[type(workload)](workload, setting))


def _cells(workload: Cells, setting: Setting) -> Strategy[Counted]:
    return Counted.last_of([(yield Step(CountQuery(workload.axes, Read.CELLS), ALL))])


def _single(workload: Single, setting: Setting) -> Strategy[Release]:
    return (yield Step(workload.query, ALL))


AT_ONCE: Mapping[type[Workload[Any]], Made] = MappingProxyType({
    Cells: _cells, Prefixes: prefixes.one_table, Below: prefixes.below, Brackets: prefixes.brackets, Ranks: ranks.fixed,
    Groups: ranks.all_cells, Table: cell_by_cell, FirstInterval: covers.compared, Single: _single,
    Anywhere: found_range.refused, Range: found_range.refused,
})  # fmt: skip
ADAPTIVELY: Mapping[type[Workload[Any]], Made] = MappingProxyType({
    **AT_ONCE, Prefixes: prefixes.refined, Ranks: ranks.found, Groups: ranks.cut_and_measured, Table: grown,
    Anywhere: found_range.found, Range: found_range.looked_for,
})  # fmt: skip
FORMERLY: Mapping[type[Workload[Any]], Made] = MappingProxyType({
    **ADAPTIVELY, Prefixes: prefixes.formerly, Ranks: ranks.formerly,
})  # fmt: skip
