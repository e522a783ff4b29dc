"""The number of records of each unit that a question uses, where nobody stated a bound: chosen by noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, inf, isfinite, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import Plan, Release
from ..data import Axis, Grid
from ..laws import Family, IntervalSums, Noise
from ..privacy import AnyRows
from ..queries import CountQuery, PartitionQuery, Read, SizedUnitsQuery, SumQuery, UnitSizesQuery
from ..queries.query import MOST_DOUBLINGS

# A bound on the records of a unit costs records, and every record more costs noise. Units are counted by the number of
# their records, in cells that end at powers of two: there a unit counts once, whatever it has. Where shares along a
# grid are asked for, it counts in one of four cells of values as well, by one of its records, so that noisy counts
# tell, too, whether units of many records have other values. From noisy counts follow about how many records each power
# of two leaves out, and how far shares of the others are off; the question's own plan says how its noise grows. The
# least expected error of all is chosen, and the question is asked with what is left of the loss.
#
# Formal guarantees. Let two tables differ in one unit, with all its records, whatever their number. Units by their
# number of records differ in one cell, by one, if it came or went, and in two if it was replaced: their noise is
# planned for one record a unit, so this turn loses its share. (By which of its records a unit is counted, its own rows
# and a secret key tell, so it lies in one cell here, too.) The bound is a function of the noisy counts and of public
# facts. Given the bound, the records that are used differ in at most so many that come, and so many that go (a unit's
# records are drawn by its own rows and a secret key), so the question loses its share. Both add up to what was granted,
# whatever the first answer was (basic composition; in rho as in epsilon). A bound that was released is public: later
# questions may use it, or any other, and lose what they pay.


LOOK = Fraction(1, 8)
"""The share of the loss that finds the bound."""
MEAN_IN_CELL = 1.44
"""The mean of numbers from one power of two to the next, over the lower: if as many lie in any part of it by ratio."""
LEVEL = 0.95
SMOOTHED = 0.3
"""The error of a distribution function of evenly spread records, over that of a reading before it is smoothed."""
SPREAD = 0.3
"""The error of a distribution function of one record that was drawn from many."""
OWN, UNLIKE = 0.2, 0.15
"""The distance of a unit's records from those of all, as far as it is chance, and as far as it grows with their number.
"""

# Before the noisy counts: units in one cell are as many as in the one before, give or take; few cells have more units
# than any other number; behind one cell there are none.
COUNTS = np.concatenate([[0.0, 0.0], 0.5 * 1.6 ** np.arange(46)])
"""Numbers of units in a cell: none yet, none any more, and about so many."""
LEVELLED = 0.2
"""By which part of it a number of units may differ from the one that stands for it."""
STEP, FALL, ANEW, ENDS, BEGINS = 1.0, 0.3, 0.1, 0.1, 0.5
"""The mean step of the logarithm, its fall, and the chances of any number, of the end, and of no beginning yet."""
PATHS = 200
TINY, MOST_ODDS = 1e-12, 500.0
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79)
"""Multiples of their roots fill the unit cube evenly: draws that are the same everywhere."""


def middles() -> FloatArray:
    """The records of a unit in each cell, about."""
    return np.array([1.0, 2.0, *(MEAN_IN_CELL * 2.0**power for power in range(1, MOST_DOUBLINGS + 1))])


def bounds() -> list[int]:
    """The bounds that may be chosen: powers of two, the last numbers of all cells but the last."""
    return [2**power for power in range(MOST_DOUBLINGS + 1)]


VALUES = 4
"""Cells of values in which units are counted by one record each, where shares are read."""
UNRELATED, STEEP, APART = 0.65, 0.05, 0.001
"""The chance that values of units do not depend on the number of their records; by how much a share changes when this
number doubles, if they do; and how far shares may be apart in any case."""


def look_at_units(column: str, question: object, growth: NoiseGrowth) -> CountQuery:
    """The count of units by their records, and for shares along a grid by one record's value, too."""
    values, grid = getattr(question, "column", None), getattr(question, "grid", None)
    if growth.readings or not isinstance(values, str) or not isinstance(grid, Grid) or grid.cells < VALUES:
        return UnitSizesQuery.of(column)
    cuts = [round(grid.cells * part / VALUES) for part in range(1, VALUES)]
    return SizedUnitsQuery.of(column, Axis(values, grid.cut(cuts)))


class NoiseGrowth(NamedTuple):
    """The noise of a question per record that a unit may have, and the number of its readings.

    Attributes:
        error: Standard deviation of a reading, in records, if one record of each unit is used.
        readings: The number of counts among which records that are left out are missing; 0: shares of all are read.
    """

    error: float
    readings: int


def growth_of(plans: Sequence[Plan], noise: float) -> NoiseGrowth:
    """The growth of the noise from plans for two records of each unit.

    Args:
        plans: They are made under this bound.
        noise: The standard deviation of one count, for what has no error of its own.
    """
    errors = [_in_records(plan) for plan in plans]
    known = [error for error in errors if isfinite(error) and error > 0] or [noise]
    queries = [plan.query for plan in plans]
    if all(type(each) is CountQuery and each.read is Read.CELLS for each in queries):
        return NoiseGrowth(min(known) / 2, max(each.rows * each.cells for each in queries))
    smoothed = any(isinstance(each, PartitionQuery) or each.of_prefixes for each in queries)
    return NoiseGrowth(min(known) / 2 * (SMOOTHED if smoothed else 1.0), 0)


def _in_records(plan: Plan) -> float:
    return plan.error / plan.query.per_record_sensitivity if isinstance(plan.query, SumQuery) else plan.error


@dataclass(frozen=True, slots=True)
class RowBound:
    """A bound that noisy counts chose.

    Attributes:
        rows: The most records of a unit that are used.
        share: The share of the loss that found it.
        left: About which share of all records is left out.
        interval: The share that is left out at 0.95: its lower end holds in any case, its upper end if no unit has more
            than `most` records, of which no noisy count tells.
        most: The end of the last cell that does not seem to be empty.
    """

    rows: int
    share: Fraction
    left: float
    interval: tuple[float, float]
    most: int

    def note(self, column: str) -> str:
        """The bound in a line."""
        low, high = self.interval
        return (
            f"at most {self.rows:,} records of each {column} are used, as noisy counts of {column} by their records, "
            f"for {self.share} of the loss, chose; they leave out about {self.left:.1%} of the records (at 95%: at "
            f"least {low:.1%}, and at most {high:.1%} if none has more than {self.most:,})"
        )


def chosen(release: Release, growth: NoiseGrowth) -> int:
    """The bound of the least expected error, from noisy counts of units: by how much larger it is than the least.

    Args:
        release: Noisy counts of units by the number of their records.
        growth: How the noise of the question grows.
    """
    counts = _noisy(release)
    units = likely(counts.sums, counts.noise, counts.cells)
    errors = (
        _errors_seen(units, growth, counts) if counts.cells > 1 else [(1.0, each) for each in _errors(units, growth)]
    )
    total = sum(chance * np.log(error / error.min(axis=1, keepdims=True)).mean(axis=0) for chance, error in errors)
    return bounds()[int(np.argmin(total))]


def described(release: Release, rows: int) -> RowBound:
    """A bound, with the share that it leaves out."""
    counts = _noisy(release)
    units = likely(counts.sums, counts.noise, counts.cells)
    found = np.flatnonzero((units > 0).mean(axis=0) > 1 / 2)
    most = bounds()[min(int(found[-1]), MOST_DOUBLINGS)] if len(found) else 1
    low, high = _interval(counts, rows, most)
    sizes = middles()
    left = 1 - float((units @ np.minimum(sizes, rows) / np.maximum(units @ sizes, 1)).mean())
    return RowBound(rows, LOOK, min(max(left, low), high), (low, high), most)


class _Counts(NamedTuple):
    """Noisy counts of units by their records, (sizes, cells of values), and the noise of each."""

    table: FloatArray
    noise: Noise

    @property
    def sums(self) -> FloatArray:
        """Units of each size."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def cells(self) -> int:
        """The number of cells that are added up."""
        return int(self.table.shape[1])


def _noisy(release: Release) -> _Counts:
    law = release.plan.law.required(IntervalSums)
    query, sizes = release.plan.query, MOST_DOUBLINGS + 2
    table = np.asarray(release.values[: query.cells * query.rows], dtype=np.float64).reshape(sizes, -1)
    return _Counts(table, law.levels[0].noise)


def likely(noisy: FloatArray, noise: Noise, added: int = 1) -> FloatArray:
    """Numbers of units in each cell as they may have been, (paths, cells), given noisy ones, sums of so many each.

    Numbers of units in neighbouring cells are of one size more often than not, so what stands alone far behind the
    others is noise. Drawn forwards and backwards along cells, in the same way for the same noisy counts.
    """
    deviation = max(sqrt(added * noise.variance), 1e-3)
    forward = np.zeros((len(noisy), len(COUNTS)))
    moves, state = _moves(), np.array([BEGINS, 0.0, *np.full(len(COUNTS) - 2, (1 - BEGINS) / (len(COUNTS) - 2))])
    for cell, found in enumerate(noisy):
        scale = np.hypot(deviation, LEVELLED * COUNTS)
        off = np.abs(found - COUNTS) / scale
        fit = -np.log(scale) - (sqrt(2) * off if noise.family is Family.LAPLACE and added == 1 else off**2 / 2)
        state = (state if cell == 0 else state @ moves) * np.exp(fit - fit.max()) + 1e-300
        state /= state.sum()
        forward[cell] = state
    draws = np.outer(np.sqrt(PRIMES[: len(noisy)]), np.arange(PATHS) + 0.5) % 1
    paths = np.zeros((PATHS, len(noisy)), dtype=np.int64)
    for cell in reversed(range(len(noisy))):
        after = np.ones((PATHS, len(COUNTS))) if cell == len(noisy) - 1 else moves[:, paths[:, cell + 1]].T
        risen = np.cumsum(forward[cell] * after, axis=1)
        paths[:, cell] = (risen < draws[cell][:, None] * risen[:, -1:]).sum(axis=1)
    units = COUNTS[np.minimum(paths, len(COUNTS) - 1)]
    return np.where((noisy > 5 * deviation) & (units > 0), noisy, units)


@cache
def _moves() -> FloatArray:
    """Chances of a number of units in a cell, after each in the cell before."""
    logarithms = np.log(COUNTS[2:])
    step = np.exp(-1.4 * np.abs(logarithms[None, :] - logarithms[:, None] + FALL) / STEP)
    moves = np.zeros((len(COUNTS), len(COUNTS)))
    moves[2:, 2:] = (1 - ENDS) * ((1 - ANEW) * step / step.sum(axis=1, keepdims=True) + ANEW / len(step))
    moves[0, 0], moves[0, 2:], moves[1, 1], moves[2:, 1] = BEGINS, (1 - BEGINS) / len(step), 1, ENDS
    return moves


def _errors(units: FloatArray, growth: NoiseGrowth) -> list[FloatArray]:
    """Errors of a reading under each bound, (paths, bounds): of counts; of shares in three ways, that are as likely.

    Counts lack what is left out. Shares are those of the records that are used: these may be like the others, or each
    unit may have a law of its own, so that it matters how much weights of units change, or records of units that have
    many may differ.
    """
    sizes, rows = middles(), np.array(bounds(), dtype=np.float64)
    used = np.maximum(units @ np.minimum(sizes[:, None], rows), 1)
    whole = np.maximum((units @ sizes)[:, None], 1)
    if growth.readings:
        return [np.hypot(growth.error * rows, (whole - used) / growth.readings)]
    alike, own = _of_shares(units, growth)
    return [np.sqrt(each) for each in (alike, own, alike + (UNLIKE * (1 - used / whole)) ** 2)]


def _of_shares(units: FloatArray, growth: NoiseGrowth) -> tuple[FloatArray, FloatArray]:
    """Squared errors of shares, if records of all units are alike, and if each unit has a law of its own."""
    sizes, rows = middles(), np.array(bounds(), dtype=np.float64)
    used = np.maximum(units @ np.minimum(sizes[:, None], rows), 1)
    whole = np.maximum((units @ sizes)[:, None], 1)
    drawn = SPREAD**2 * np.maximum(1 / used - 1 / whole, 0)
    alike = (growth.error * rows / used) ** 2 + drawn
    return alike, alike + OWN**2 * (units[:, :, None] * _moved(units) ** 2).sum(axis=1)


def _moved(units: FloatArray) -> FloatArray:
    """By how much a bound changes the weight of one unit of each size among all records: (paths, sizes, bounds)."""
    sizes, rows = middles(), np.array(bounds(), dtype=np.float64)
    used = np.maximum(units @ np.minimum(sizes[:, None], rows), 1)
    whole = np.maximum(units @ sizes, 1)
    return np.asarray(np.minimum(sizes[:, None], rows)[None] / used[:, None, :] - (sizes / whole[:, None])[:, :, None])


def _errors_seen(units: FloatArray, growth: NoiseGrowth, counts: _Counts) -> list[tuple[float, FloatArray]]:
    """Errors of shares in four ways, with their chances: values depend on the number of records, or do not; units have
    laws of their own, or do not.

    For each share below a cell of values a line is fitted along the logarithms of the numbers of records, by the noisy
    counts: a bound moves weights from units of many records to those of few, and with these the share.
    """
    sizes, rows = middles(), np.array(bounds(), dtype=np.float64)
    mean = units.mean(axis=0)
    lever = ((units[:, :, None] * _moved(units)) * np.log2(sizes)[:, None]).sum(axis=1)  # (paths, bounds)
    bent, clear = np.zeros_like(lever), 0.0
    for number, below in enumerate(np.cumsum(counts.table, axis=1).T[:-1], start=1):
        slope, variance = _slope(below, mean, number * counts.noise.variance)
        kept = STEEP**2 / (variance + STEEP**2)
        bent += ((slope * kept) ** 2 + STEEP**2 * (1 - kept)) / counts.cells * lever**2
    for inside in counts.table.T:  # of which the noises are independent
        slope, variance = _slope(inside, mean, counts.noise.variance)
        kept = STEEP**2 / (variance + STEEP**2)
        clear += (log(1 - kept) + slope**2 / variance * kept) / 2
    related = 1 / (1 + exp(min(-clear, MOST_ODDS)) * UNRELATED / (1 - UNRELATED))
    used = units @ np.minimum(sizes[:, None], rows) / np.maximum((units @ sizes)[:, None], 1)
    far = (APART * (1 - used)) ** 2
    ways = (1 - related, far), (related, far + bent)
    return [(chance, np.sqrt(each + more)) for each in _of_shares(units, growth) for chance, more in ways]


def _slope(inside: FloatArray, units: FloatArray, noise: float) -> tuple[float, float]:
    """By how much the share of units inside cells of values rises as the number of records doubles, and its variance.

    Args:
        inside: Noisy counts of units of each size.
        units: How many there are of each size, about.
        noise: The variance of the noise of each count.
    """
    along, variance = np.log2(middles()), noise + np.maximum(units, 1.0) / 4
    weights = np.where(units > 1 / 2, units**2 / variance, 0.0)
    apart = along - weights @ along / max(float(weights.sum()), TINY)
    known = max(float(weights @ apart**2), TINY)
    return float((weights * apart) @ (inside / np.maximum(units, 1.0))) / known, 1 / known


def _reach(noise: Noise, added: int, error: float) -> float:
    """A number that the sum of so many noises is above with at most this chance.

    Several two-sided geometric noises, which are nowhere further than a step beyond Laplace noise, by the bound of
    Chernoff: the least of ``(ln(1 / error) - added * ln(1 - t**2)) / t`` scales, for t between 0 and 1.
    """
    if noise.family is not Family.LAPLACE:
        return 1 + sqrt(added * noise.variance) * NormalDist().inv_cdf(1 - error)
    if added == 1:
        return 1 + float(noise.parameter) * log(1 / error)
    steep = np.linspace(0.01, 0.99, 99)
    return added + float(noise.parameter) * float(((log(1 / error) - added * np.log(1 - steep**2)) / steep).min())


def _interval(counts: _Counts, rows: int, most: int) -> tuple[float, float]:
    """Ends of the share that is left out, if each cell is within what noise leaves open for all of them at once."""
    noisy = counts.sums
    wide = _reach(counts.noise, counts.cells, (1 - LEVEL) / 2 / len(noisy))
    low, high = np.maximum(noisy - wide, 0.0), np.maximum(noisy + wide, 0.0)
    ends = np.array(bounds(), dtype=np.float64)
    least, largest = np.append(0.0, ends) + 1, np.append(ends, inf)
    over, inside = least > rows, largest <= most
    lost = float(low[over] @ (least[over] - rows))
    others = float(high[~over] @ largest[~over] + high[over].sum() * rows)
    found = float(high[over & inside] @ (largest[over & inside] - rows))
    kept = float(low[~over] @ least[~over] + low[over].sum() * rows)
    return lost / (lost + others) if lost else 0.0, found / (found + kept) if found else 0.0


def notes_on_price(adjacency: AnyRows, look: Plan) -> tuple[str, ...]:
    """The price of the bound, and what it is for, before anything is charged."""
    values = ", by a value of one record," if isinstance(look.query, SizedUnitsQuery) else ""
    return (
        f"no bound of records per {adjacency.column} is stated: {look.loss}, {LOOK} of the loss, counts "
        f"{adjacency.column} by the number of their records{values} and chooses a power of two up to "
        f"{2**MOST_DOUBLINGS:,}; errors below are those of one record each, and grow with the bound",
    )
