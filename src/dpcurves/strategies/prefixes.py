"""Count, refine, refine: three counts of one column, each on intervals that the answers before made worth counting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import sqrt

from ..data import Axis
from ..data.grid import MOST_LAID_OUT
from ..laws import Family, Noise
from ..postprocess.estimation.empirical_bayes import Splits, least_squares_total
from ..postprocess.estimation.joint_estimate import JointEstimate, layout_of
from ..queries import CountQuery, Hint, PartitionQuery, Read
from ..release import ALL, Evidence, Release, Setting, Step
from ..workloads import Counted, Prefixes, Strategy
from .refinement import (
    CLEAR,
    NEARLY_EXACT,
    Tilings,
    all_depths,
    around,
    at_depth,
    first_depth,
    first_turn,
    has_atoms,
    is_dense,
    is_exact,
    is_glance,
    is_uneven,
    is_widespread,
    last_refinement,
    overall_look,
    parts,
    refinement,
    thirds_seen,
)

FEWEST = 100
"""Cells from which on looking before counting pays."""
CLOSER = Fraction(1, 10)
"""Part of the loss of each turn but the last one, where counts close in on a few quantiles."""
MOST_TURNS = 4
FEW_ENOUGH = 24
"""Intervals for each quantile, with which the third turn is the last one."""
HELD_AT_LAST, HELD_BEFORE = 3.0, 2.0
"""Records that an interval may hold near a quantile, in deviations of the noise of its count: in the last turn, and in
the turns between."""
MOST_QUANTILES, FEWEST_CELLS = 3, 16
RECORDS_TO_CLOSE_IN = 300.0
"""Times the standard deviation of the noise of one count, and the cube of the number of quantiles: where the number of
records is public, closing in needs more of them. For one quantile of 300 records at epsilon 1 under replace-one it was
up to a third further off, of 1,000 a quarter nearer. The median of three quartiles was a third further off at 3,000
records, and all three were twice as near at 30,000."""
FEW_VALUES = 256
RECORDS_TO_A_VALUE = 2.5
"""Times the standard deviation of the noise of one count: from here on each is counted.

Chosen on whole numbers of three laws, smooth, heaped and zero-inflated (121 and 1,001 values, epsilon 1, replace-one,
12 releases each), and judged on no others: bands were 15 to 46% narrower than those of three turns; the curve was up to
20% further off on smooth and zero-inflated ones, and up to a third nearer on heaped ones.
"""


def one_table(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Ask as the named method does; where none is named, once for the counts of all cells."""
    if workload.way is not None:
        return (yield from workload.way.turns(workload.axes, setting))
    hint = None if workload.hint is Hint.SPREAD else workload.hint
    return Counted.last_of([(yield Step(CountQuery(workload.axes, Read.PREFIXES, hint), ALL))])


def refined(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Ask as the named method does; where none is named, in three turns, all of them read, if that pays, or one."""
    axis = workload.axes[0] if len(workload.axes) == 1 else None
    if workload.way is None and isinstance(axis, Axis) and is_worth_closing_in(axis, workload, setting):
        return (yield from closing_in(axis, workload.around, setting))
    if workload.way is None and isinstance(axis, Axis) and is_worth_refining(axis, workload.hint, setting):
        return (yield from refining(axis, setting))
    return (yield from one_table(workload, setting))


def formerly(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Ask as earlier versions did, along the whole grid, and in one turn with a hint that records are spread."""
    if workload.way is None and workload.hint is Hint.SPREAD:
        return Counted.last_of([(yield Step(CountQuery(workload.axes, Read.PREFIXES, workload.hint), ALL))])
    return (yield from refined(replace(workload, around=()), setting))


def is_worth_closing_in(axis: Axis, workload: Prefixes, setting: Setting) -> bool:
    """Tell whether counts close in on a few quantiles. A function of public facts alone.

    Not with a hint that changes anything, nor with next to no noise. Where the number of records is private, on a
    single quantile only.
    """
    if (
        workload.hint not in (None, Hint.SPREAD)
        or setting.loss.rho == 0
        or not FEWEST_CELLS <= axis.slots <= MOST_LAID_OUT
    ):
        return False
    quantiles, total, alone = len(workload.around), setting.adjacency.total, _noise_alone(setting)
    if not 1 <= quantiles <= MOST_QUANTILES or alone.variance < NEARLY_EXACT:
        return False
    if total is None:
        return quantiles == 1
    return total >= RECORDS_TO_CLOSE_IN * quantiles**3 * sqrt(alone.variance)


def closing_in(axis: Axis, shares: tuple[float, ...], setting: Setting) -> Strategy[Counted]:
    """Ask for a fixed partition, then for intervals that are short where the quantiles may lie, until these are few.

    Formal guarantees: each turn is priced as `PartitionQuery`, whatever was answered before; its intervals are
    functions of earlier answers and of public facts. There are three turns or `MOST_TURNS`, and each has `CLOSER` of
    the loss but for the last one, which has all that is left. *Proof by induction from the last turn*: whatever was
    answered before, the turns that are left lose together what is left, whether that is spent in one turn, or in one of
    `CLOSER` and then what is left. So the conversation is at each turn the adaptive composition of two mechanisms of
    fixed losses, the second of which is one of several that are all priced the same: pure losses and rho add up to what
    was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone, left = layout_of(axis.slots), _noise_alone(setting), ALL - CLOSER
    total, sampled = setting.adjacency.total, setting.adjacency.unit.records == 1
    glance = Noise(alone.family, alone.parameter / CLOSER)
    releases = [(yield Step(PartitionQuery((axis,), at_depth(layout, first_depth(layout, total, glance))), CLOSER))]
    while True:
        joint, turn = JointEstimate.of(releases), len(releases)
        spread = 0.0 if total is not None else 1 / least_squares_total(joint.known)[1]
        rest = Noise(alone.family, alone.parameter / left)
        last = around(joint.splits, rest, shares, spread, HELD_AT_LAST, sampled=sampled)
        if turn == MOST_TURNS - 1 or (turn > 1 and len(last) <= FEW_ENOUGH * len(shares)):
            releases.append((yield Step(PartitionQuery((axis,), (last,), turn=turn), left)))
            return _all_read(tuple(releases))
        starts = around(joint.splits, glance, shares, spread, HELD_BEFORE)
        releases.append((yield Step(PartitionQuery((axis,), (starts,), turn=turn), CLOSER)))
        left -= CLOSER


def is_worth_refining(axis: Axis, hint: Hint | None, setting: Setting) -> bool:
    """Tell whether three turns are asked for. A function of public facts alone.

    Not with a hint that records have atoms. Else with the hint that they are peaked, or if there are many cells, few
    records for them as far as that is public, and enough noise for a turn to be worth its price; declared values only
    where these are too many for their records to be counted each. A hint that records are spread changes nothing: the
    answers tell, and where they are not it would make errors many times as large.
    """
    if setting.loss.rho == 0 or axis.slots > MOST_LAID_OUT:
        return False
    if hint in (Hint.PEAKED, Hint.ATOMS):
        return hint is Hint.PEAKED
    known = axis.slots, setting.adjacency.total, _noise_alone(setting)
    if axis.grid.values is not None and are_worth_counting(*known):
        return False
    return axis.slots >= FEWEST and not is_dense(*known) and not is_exact(*known)


def are_worth_counting(values: int, total: int | None, noise: Noise) -> bool:
    """Tell whether each declared value is counted by itself, in one turn. A function of public facts alone.

    Records lie on declared values, and neighbours that are counted together leave open which of them they are: means
    over pairs, and quantiles, are then known to within what lies between these. So each is counted from
    `RECORDS_TO_A_VALUE` on; where the number of records is not public, if there are at most `FEW_VALUES`, which no
    measurement chose.
    """
    return values <= FEW_VALUES if total is None else total >= RECORDS_TO_A_VALUE * values * sqrt(noise.variance)


def refining(axis: Axis, setting: Setting) -> Strategy[Counted]:
    """Ask for a fixed partition, then for intervals that were not clear, and once more.

    Two turns do if records are known to be few, or seem to lie evenly, or if nearly nothing was clear or the last turn
    has much to count, and records do not seem to lie in single cells. Under zero-concentrated privacy a last turn that
    has much to count counts all cells.

    Formal guarantees: each turn is priced as `PartitionQuery`, or as `CountQuery` of all cells, whatever was answered
    before: its intervals are functions of earlier answers and of public facts. The parts of the loss are public before
    anything is asked. Whatever the first answer is, what follows loses all that the first one left: in one turn, or in
    one of a tenth of the whole loss and then one of the rest. So the conversation is the adaptive composition of two
    mechanisms of fixed losses, the second of which is one of several that are all priced the same: pure losses and rho
    add up to what was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone = layout_of(axis.slots), _noise_alone(setting)
    total = setting.adjacency.total
    first, glance, rest = parts(axis.slots, total, alone)
    thirds = thirds_seen(total, alone)
    releases = [(yield Step(PartitionQuery((axis,), first_turn(layout, thirds)), first))]
    joint = JointEstimate.of(releases)
    last = _worth_counting(joint, (glance + rest) / first, last_refinement)
    if is_widespread(last, joint.splits, alone):
        all_cells = _all_cells(axis, joint, (glance + rest) / first)
        return _all_read((*releases, (yield Step(all_cells, glance + rest))))
    tilings = _worth_counting(joint, glance / first, refinement)
    glanced = thirds > 1 and is_glance(tilings, last, joint.splits, joint.noise.family)
    if not glanced and thirds > 1 and joint.splits.even <= CLEAR and has_atoms(joint.splits):
        glanced, tilings = True, _worth_counting(joint, glance / first, overall_look)
    if glanced:
        releases.append((yield Step(PartitionQuery((axis,), tilings, turn=1), glance)))
        last = _worth_counting(JointEstimate.of(releases), rest / first, last_refinement)
    else:
        rest += glance
    releases.append((yield Step(PartitionQuery((axis,), last, turn=2), rest)))
    return _all_read(tuple(releases))


def _all_read(releases: tuple[Release, ...]) -> Counted:
    """Read all turns together; a tree over all cells that are not halved as those of the turns are, alone."""
    told = tuple(Evidence.of(release) for release in releases)
    if isinstance(releases[-1].plan.query, CountQuery) and not told[-1].sums.is_convolved:
        return Counted.last_of(releases)
    return Counted(releases, told)


def _all_cells(axis: Axis, joint: JointEstimate, times: Fraction) -> CountQuery | PartitionQuery:
    """The query that counts every cell, with so many times the loss of the first turn: see `is_uneven`.

    A square root of prefix sums has less noise than a tree, but nothing of it can be smoothed.
    """
    if is_uneven(_worth_counting(joint, times, refinement), joint.splits):
        return CountQuery((axis,), Read.UNEVEN)
    return PartitionQuery((axis,), all_depths(layout_of(axis.slots)), turn=1)


def _worth_counting(joint: JointEstimate, times: Fraction, refine: Callable[[Splits, Noise], Tilings]) -> Tilings:
    """The next query, with so many times the loss of the first turn; all cells, if nothing stands out."""
    levels = joint.turns[0].measured.levels
    alone = Noise(joint.noise.family, joint.noise.parameter / len(levels) / times)
    tilings = refine(joint.splits, alone)
    return tilings if len(tilings[-1]) > 1 else tuple(level.starts for level in levels)


def _noise_alone(setting: Setting) -> Noise:
    """The noise of a count if the whole loss were spent on one tiling; to choose by, not to protect."""
    loss, adjacency = setting.loss, setting.adjacency
    if loss.epsilon is not None:
        return Noise(Family.LAPLACE, adjacency.l1_sensitivity / loss.epsilon)
    return Noise(Family.GAUSSIAN, adjacency.squared_l2_sensitivity / (2 * loss.rho))
