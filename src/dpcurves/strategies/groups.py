"""Groups of similar scores: counted where private cuts or a look end them, or read from the counts of all cells.

The cuts are chosen in private; then positives and negatives are counted and distances of scores from the middle of
their group summed. A record lies in one group, in one class, and its distance is at most half the group's width.
Scores outside of the grid lie in no group: they are counted apart, below and above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ..data import Axis, Grid, Outside
from ..queries import CountQuery, MergePartitionQuery, QuantileCutsQuery, Read, SumQuery
from ..release import ALL, Release, Setting, Step
from ..workloads import HALF, Grouped, Groups, Shares, Strategy
from .ranks import CROWDED, looked, part_of_look, quantiles_of, records_over_noise, require_cuttable

SUMS_AFTER_A_LOOK = Fraction(3, 50)
"""The part of the loss for sums of distances where groups are no wider than a look leaves them."""
INTERVALS = 16
"""Even intervals of a look."""
EVEN_HALF = 0.5
"""The share of the records that is taken to lie evenly: groups are narrower where records are few than equal ones."""


def all_cells(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for both classes in all cells; scores outside are then counted as the grid says."""
    release = yield Step(CountQuery((workload.classes, workload.score), Read.PREFIXES), ALL)
    return Grouped((release,), workload.score.grid, release, None)


def cut_and_measured(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for groups of about equal size; cuts at the same place leave one. Small ones are joined, if that is asked.

    Where groups need not be equal, a look at all records in even intervals takes the place of cuts, which cost more;
    cuts are asked for only where most records lie in one interval.

    Formal guarantees: each turn is priced by itself, and what it asks is a function of earlier answers and of public
    facts, as the parts of the loss are; these add up to the whole share, whatever the answers are. So by adaptive
    composition all turns together lose that share.
    """
    score = workload.score
    if workload.about is not None and score.grid.cells > INTERVALS:
        require_cuttable(score)
        return (yield from _looked(workload, part_of_look(records_over_noise(workload.about, setting)), setting))
    if workload.least is None:
        cuts = yield Step(QuantileCutsQuery((score,), workload.groups), workload.shares.cuts)
        return (yield from measured(workload, score.grid.cut(cuts.values), [cuts]))
    clamped = Axis(score.column, score.grid.with_outside(Outside.CLAMPED))
    cuts = yield Step(QuantileCutsQuery((clamped,), workload.groups), workload.shares.cuts)
    fine = Axis(score.column, clamped.grid.cut(cuts.values))
    merges = yield Step(MergePartitionQuery((fine,), workload.least), workload.shares.merges)
    return (yield from measured(workload, merged(fine.grid, merges.values), [cuts, merges]))


def _looked(workload: Groups, part: Fraction, setting: Setting) -> Strategy[Grouped]:
    """Look at all scores, and measure groups between quantiles of what that shows; or cut groups with what is left."""
    score, left = workload.score, ALL - part
    shares, ends, look = yield from looked(score, INTERVALS, part)
    if float(shares.max()) > CROWDED:
        rest = Shares(*(each * left for each in workload.shares))
        found = yield from cut_and_measured(replace(workload, about=None, shares=rest), setting)
        return replace(found, releases=(look, *found.releases))
    cells = score.grid.cut(quantiles_of(shares, ends, workload.groups, EVEN_HALF))
    rest = Shares(Fraction(0), left - SUMS_AFTER_A_LOOK, SUMS_AFTER_A_LOOK)
    return (yield from measured(replace(workload, shares=rest), cells, [look]))


def measured(workload: Groups, cells: Grid, before: Sequence[Release]) -> Strategy[Grouped]:
    """Ask for counts and sums of these groups; scores outside of them are counted apart."""
    score = Axis(workload.score.column, cells.with_outside(Outside.APART))
    axes = workload.classes, score
    # One cell may be the one that all records were counted in before, for another share: see `group_number`.
    alone = cells.cells == 1 and workload.score.grid.outside is Outside.APART
    counts = yield Step(CountQuery(axes, Read.PREFIXES if alone else Read.CELLS), workload.shares.counts)
    sums = yield Step(SumQuery(axes, half=HALF), workload.shares.sums)
    return Grouped((*before, counts, sums), score.grid, counts, sums)


def merged(fine: Grid, ends: tuple[int, ...]) -> Grid:
    """The bins that are left after joining: cells behind the last end belong to the last bin."""
    inner = [place + 1 for place, said in enumerate(ends) if said]
    left_over = bool(inner) and inner[-1] < fine.cells
    return fine.cut(inner[:-1] if left_over else inner)
