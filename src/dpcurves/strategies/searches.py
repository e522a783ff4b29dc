"""Questions to one tree of noises that is paid once: counts below a few edges, and searches for quantiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..data import Axis, Outside
from ..postprocess import PathQuantile
from ..queries import PrefixQuery
from ..release import ALL, Evidence, Setting, Step
from ..workloads import Below, Brackets, Counted, Strategy


def below(workload: Below, setting: Setting) -> Strategy[Counted]:
    """Ask how many records of each class lie below these edges of the grid, below its ends, and in all."""
    axis, query = workload.axis, PrefixQuery(workload.axes, at=())
    apart = int(axis.grid.outside is Outside.APART)
    own = sorted({edge + apart for edge in (0, *workload.edges, axis.grid.cells)} | {axis.slots})
    at = tuple(row * axis.slots + each for row in range(query.rows) for each in own if each)
    turn = yield Step(replace(query, at=at), ALL)
    cut = axis.grid.cut(workload.edges)
    return Counted((turn,), (Evidence.of(turn).in_cells(query.rows),), cut)


def brackets(workload: Brackets, setting: Setting) -> Strategy[Counted]:
    """Count below the middles of all brackets, and all records, until each bracket is one cell.

    There are ``ceil(log2(slots))`` turns, for the quantiles and both ends of their intervals at once, and for those of
    intervals for the population where units are single records. All read the one tree of noises that is paid for.
    """
    axis, each = workload.axis, 1 - (1 - workload.level) / len(workload.shares)
    alone = setting.adjacency.unit.records == 1
    first = turn = yield _turn(axis, {axis.slots, max(axis.slots // 2, 1)})
    seen = Evidence.of(turn)
    while asked := {
        at for share in workload.shares for at in PathQuantile.of(seen, share, each, independent=alone).asked
    }:
        turn = yield _turn(axis, asked)
        seen = _joined(seen, Evidence.of(turn))
    return Counted((first,), (seen,), axis.grid)


def _turn(axis: Axis, slots: Iterable[int]) -> Step:
    return Step(PrefixQuery((axis,), at=tuple(sorted(slots))), ALL)


def _joined(one: Evidence, other: Evidence) -> Evidence:
    """Counts of two turns that read one tree."""
    law, more = one.path, other.path
    counts = (*one.values[: len(law.at)], *other.values[: len(more.at)])
    return Evidence(replace(law, at=law.at + more.at), (*counts, *one.values[len(law.at) :]), one.total)
