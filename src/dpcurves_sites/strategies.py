"""Ways to meet what a question needs by sums alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcurves.conversation import ALL, Evidence, Grouped, Groups, Setting, Shares, Strategy
from dpcurves.strategies.ranks import SUMS_AFTER_A_LOOK, all_cells, looked, measured, quantiles_of, require_cuttable

LOOK = 64
"""Even intervals of a look: finer than where private cuts take over in crowded ones."""
LOOK_SHARE = Fraction(1, 10)
EVENLY = 0.02
"""The share of the records that is taken to lie evenly, so that no group is of no width where noise hides records."""


def groups_from_a_look(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Groups of about equal size between quantiles of a noisy look at all scores; of few cells, all cells are counted.

    Where small groups would be joined, there are as many groups as leave the least number of records in each, by the
    look.

    Formal guarantees: each turn is priced by itself, and what the second asks is a function of the first one's answer.
    """
    score = workload.score
    if score.grid.cells <= LOOK:
        return (yield from all_cells(workload, setting))
    require_cuttable(score)
    shares, ends, look = yield from looked(score, LOOK, LOOK_SHARE)
    pieces = workload.groups
    if workload.least is not None:
        records = float(setting.adjacency.total or Evidence.of(look).unbiased[0].sum())
        pieces = max(1, min(pieces, int(records / workload.least)))
    cells = score.grid.cut(quantiles_of(shares, ends, pieces, EVENLY))
    rest = Shares(Fraction(0), ALL - LOOK_SHARE - SUMS_AFTER_A_LOOK, SUMS_AFTER_A_LOOK)
    return (yield from measured(replace(workload, shares=rest), cells, [look]))
