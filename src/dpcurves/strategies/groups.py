"""Groups of similar scores: counted where private cuts end them, or read from the counts of all cells.

The cuts are chosen in private; then positives and negatives are counted and distances of scores from the middle of
their group summed. A record lies in one group, in one class, and its distance is at most half the group's width.
Scores outside of the grid lie in no group: they are counted apart, below and above.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..data import Axis, Grid, Outside
from ..queries import CountQuery, MergePartitionQuery, QuantileCutsQuery, Read, SumQuery
from ..release import ALL, Release, Setting, Step
from ..workloads import HALF, Grouped, Groups, Strategy


def all_cells(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for both classes in all cells; scores outside are then counted as the grid says."""
    release = yield Step(CountQuery((workload.classes, workload.score), Read.PREFIXES), ALL)
    return Grouped((release,), workload.score.grid, release, None)


def cut_and_measured(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for groups of about equal size; cuts at the same place leave one. Small ones are joined, if that is asked."""
    score = workload.score
    if workload.least is None:
        cuts = yield Step(QuantileCutsQuery((score,), workload.groups), workload.shares.cuts)
        return (yield from measured(workload, score.grid.cut(cuts.values), [cuts]))
    clamped = Axis(score.column, score.grid.with_outside(Outside.CLAMPED))
    cuts = yield Step(QuantileCutsQuery((clamped,), workload.groups), workload.shares.cuts)
    fine = Axis(score.column, clamped.grid.cut(cuts.values))
    merges = yield Step(MergePartitionQuery((fine,), workload.least), workload.shares.merges)
    return (yield from measured(workload, merged(fine.grid, merges.values), [cuts, merges]))


def measured(workload: Groups, cells: Grid, before: Sequence[Release]) -> Strategy[Grouped]:
    """Ask for counts and sums of these groups; scores outside of them are counted apart."""
    score = Axis(workload.score.column, cells.with_outside(Outside.APART))
    axes = workload.classes, score
    counts = yield Step(CountQuery(axes, Read.CELLS), workload.shares.counts)
    sums = yield Step(SumQuery(axes, half=HALF), workload.shares.sums)
    return Grouped((*before, counts, sums), score.grid, counts, sums)


def merged(fine: Grid, ends: tuple[int, ...]) -> Grid:
    """The bins that are left after joining: cells behind the last end belong to the last bin."""
    inner = [place + 1 for place, said in enumerate(ends) if said]
    left_over = bool(inner) and inner[-1] < fine.cells
    return fine.cut(inner[:-1] if left_over else inner)
