"""Choice of the contribution bound: how many records of each privacy unit a question uses, if nobody stated it.

The bound is chosen from noisy counts of units by the number of their records. Also called contribution bounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, isfinite, log, log2, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import Plan, Release
from ..data import Axis, Grid
from ..laws import Family, IntervalSums, Noise
from ..privacy import AdjacencyWithoutBound
from ..privacy.adjacency import format_record_count
from ..queries import CountQuery, CountUse, PartitionQuery, SizedUnitsQuery, SumQuery, UnitSizesQuery
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


LOOK = Fraction(1, 6)
"""The share of the loss that finds the bound.

The best bound of a histogram leaves out few units: the one more record of each that a larger bound keeps is worth its
noise while, of r cells, more than r times the noise of a cell have so many. For 8 cells at a share s these are
8 (1 / epsilon) / (1 - s) units, and one noisy count of units deviates by 1.4 (1 / epsilon) / s: as much, at an eighth.
What is spent on the look makes the answer worse by 1 / (1 - s).
"""
LEVEL = 0.95
SMOOTHED = 0.3
"""The error of a distribution function of evenly spread records, over that of a reading before it is smoothed."""
SPREAD = 0.3
"""The error of a distribution function of one record that was drawn from many."""
OWN, UNLIKE = 0.2, 0.15
"""The distance of a unit's records from those of all, as far as it is chance, and as far as it grows with their number.
"""

# Before the noisy counts: the logarithm of the number of units goes on from cell to cell with a slope that changes
# little, and rather falls (of power laws it is the same, of normal logarithms it falls evenly); or it ends, and may
# begin anew behind empty cells.
STEP, LOWEST, SLOPES = 0.5, -1.0, 4.0
"""Steps of logarithms to base 2, the least one, and the largest slope, up and down: what is below holds no unit."""
LEVELLED = 0.2
"""By which part of it a number of units may differ from the one that stands for it."""
FALL, BENT = 0.15, 0.4
"""By how much slopes fall from cell to cell, and the mean distance from that."""
ENDS, BEGINS, ANEW, EMPTY = 0.05, 0.004, 0.003, 0.3
"""Chances that a cell is the last before empty ones, the first behind them, of any number, and empty at first. Among
the some ten cells behind the last one noise is above 5.8 of its scales in 1 of 70 looks: such must not count as units.
"""
ENDING = -3.0
"""The slope in a cell behind which there is none."""
PATHS = 200
TINY, EVEN, MOST_ODDS = 1e-12, 1e-6, 500.0
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79)
"""Multiples of their roots fill the unit cube evenly: draws that are the same everywhere."""


def candidate_bounds() -> list[int]:
    """The bounds that may be chosen: powers of two, the last numbers of all cells but the last."""
    return [2**power for power in range(MOST_DOUBLINGS + 1)]


def _unit_count_levels(size: int) -> FloatArray:
    """Numbers of units that a cell may have, beside none."""
    return np.asarray(2.0 ** (LOWEST + STEP * np.arange(size)))


class UnitSizes(NamedTuple):
    """Numbers of units by their records as they may have been, given noisy counts: each row is one of them.

    Attributes:
        units: The number of units in each cell.
        records: The mean number of records of a unit in each cell.
    """

    units: FloatArray
    records: FloatArray

    @classmethod
    def from_slopes(cls, units: FloatArray, slopes: FloatArray) -> UnitSizes:
        """These units; inside cells, their numbers go on with slopes of logarithms to base 2.

        >>> UnitSizes.from_slopes(np.ones((1, 4)), np.array([[0.0, 0.0, 0.0, -2.0]])).records.round(2).tolist()
        [[1.0, 2.0, 2.89, 5.33]]
        """
        lowest = np.append([1.0, 2.0], 2.0 ** np.arange(1, units.shape[1] - 1))
        slopes = np.where(np.minimum(np.abs(slopes), np.abs(slopes + 1)) < EVEN, slopes + EVEN, slopes)
        parts = [(2.0**each - 1) / each for each in (slopes + 1, slopes)]
        records = lowest * parts[0] / parts[1]
        records[:, :2] = lowest[:2]
        return cls(units, records)

    @property
    def total_records(self) -> FloatArray:
        """Number of records in all, (paths, 1)."""
        return np.asarray(np.maximum((self.units * self.records).sum(axis=1, keepdims=True), 1))

    @property
    def kept_records_per_unit(self) -> FloatArray:
        """Records of a unit of each cell that each bound keeps, (paths, cells, bounds)."""
        return np.minimum(self.records[:, :, None], np.array(candidate_bounds(), dtype=np.float64))

    @property
    def used_records(self) -> FloatArray:
        """Records that each bound keeps, (paths, bounds)."""
        return np.asarray(np.maximum((self.units[:, :, None] * self.kept_records_per_unit).sum(axis=1), 1))


VALUES = 4
"""Cells of values in which units are counted by one record each, where shares are read."""
UNRELATED, STEEP, APART = 0.65, 0.05, 0.001
"""The chance that values of units do not depend on the number of their records; by how much a share changes when this
number doubles, if they do; and how far shares may be apart in any case."""


def build_unit_size_query(column: str, question: object, growth: NoiseGrowth) -> CountQuery:
    """The count of units by their records, and for shares along a grid by one record's value, too."""
    values, grid = getattr(question, "column", None), getattr(question, "grid", None)
    if growth.readings or not isinstance(values, str) or not isinstance(grid, Grid) or grid.cells < VALUES:
        return UnitSizesQuery.from_column(column)
    cuts = [round(grid.cells * part / VALUES) for part in range(1, VALUES)]
    return SizedUnitsQuery.from_column(column, Axis(values, grid.merge_cells(cuts)))


class NoiseGrowth(NamedTuple):
    """The noise of a question per record that a unit may have, and the number of its readings.

    Attributes:
        error: Standard deviation of a reading, in records, if one record of each unit is used.
        readings: The number of counts among which records that are left out are missing; 0: shares of all are read.
    """

    error: float
    readings: int


def estimate_noise_growth(plans: Sequence[Plan], noise: float) -> NoiseGrowth:
    """The growth of the noise from plans for two records of each unit.

    Args:
        plans: They are made under this bound.
        noise: The standard deviation of one count, for what has no error of its own.
    """
    steps = [plan.query.per_record_sensitivity if isinstance(plan.query, SumQuery) else 1 for plan in plans]
    errors = [plan.error / step for plan, step in zip(plans, steps, strict=True)]
    known = [error for error in errors if isfinite(error) and error > 0] or [noise]
    queries = [plan.query for plan in plans]
    if all(type(each) is CountQuery and each.use is CountUse.CELLS for each in queries):
        return NoiseGrowth(min(known) / 2, max(each.rows * each.cells for each in queries))
    smoothed = any(isinstance(each, PartitionQuery) or each.uses_prefixes for each in queries)
    return NoiseGrowth(min(known) / 2 * (SMOOTHED if smoothed else 1.0), 0)


@dataclass(frozen=True, slots=True)
class ChosenContributionBound:
    """A bound that noisy counts chose.

    Attributes:
        rows: The most records of a unit that are used.
        budget_fraction: The share of the loss that found it.
        excluded_share: About which share of all records is left out.
        excluded_interval: The share that is left out at 0.95: its lower end holds in any case, its upper end if no unit has more
            than `largest_size` records, of which no noisy count tells.
        largest_size: The end of the last cell that does not seem to be empty.
    """

    rows: int
    budget_fraction: Fraction
    excluded_share: float
    excluded_interval: tuple[float, float]
    largest_size: int

    def describe(self, column: str) -> str:
        """The bound in a line."""
        low, high = self.excluded_interval
        used = f"{format_record_count(self.rows)} of each {column} {'is' if self.rows == 1 else 'are'} used"
        return (
            f"at most {used}, as noisy counts of {column} by their records, "
            f"for {self.budget_fraction} of the loss, chose; they leave out about {self.excluded_share:.1%} of the records (at 95%: at "
            f"least {low:.1%}, and at most {high:.1%} if none has more than {self.largest_size:,})"
        )


def choose_bound(release: Release, growth: NoiseGrowth) -> int:
    """The bound of the least expected error, from noisy counts of units: by how much larger it is than the least.

    Args:
        release: Noisy counts of units by the number of their records.
        growth: How the noise of the question grows.
    """
    counts = _collect_counts(release)
    sizes = sample_unit_sizes(counts.sums, counts.noise, counts.cells)
    if growth.readings:
        return minimise_expected_error([(1.0, count_errors(sizes, growth, counts.noise.family))])
    if counts.cells > 1:
        return minimise_expected_error(_share_errors_by_value(sizes, growth, counts))
    return minimise_expected_error([(1.0, each) for each in _share_errors(sizes, growth)])


def minimise_expected_error(errors: Sequence[tuple[float, FloatArray]]) -> int:
    """The bound whose errors, (paths, bounds) of each way with its chance, are the fewest times the least ones."""
    total = sum(chance * np.log(error / error.min(axis=1, keepdims=True)).mean(axis=0) for chance, error in errors)
    return candidate_bounds()[int(np.argmin(total))]


def describe_bound(release: Release, rows: int) -> ChosenContributionBound:
    """A bound, with the share of the records that it leaves out."""
    counts = _collect_counts(release)
    sizes = sample_unit_sizes(counts.sums, counts.noise, counts.cells)
    found = np.flatnonzero((sizes.units > 0).mean(axis=0) > 1 / 2)
    most = candidate_bounds()[min(int(found[-1]), MOST_DOUBLINGS)] if len(found) else 1
    low, high = _excluded_interval(counts, rows, most)
    kept = (sizes.units * np.minimum(sizes.records, rows)).sum(axis=1, keepdims=True)
    left = 1 - float(np.median(kept / sizes.total_records))
    return ChosenContributionBound(rows, LOOK, min(max(left, low), high), (low, high), most)


class _UnitCounts(NamedTuple):
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


def _collect_counts(release: Release) -> _UnitCounts:
    law = release.plan.law.require_type(IntervalSums)
    query, sizes = release.plan.query, MOST_DOUBLINGS + 2
    table = np.asarray(release.values[: query.cells * query.rows], dtype=np.float64).reshape(sizes, -1)
    return _UnitCounts(table, law.levels[0].noise)


def sample_unit_sizes(noisy: FloatArray, noise: Noise, added: int = 1) -> UnitSizes:
    """Numbers of units in each cell as they may have been, given noisy ones, sums of so many each.

    Drawn forwards and backwards along cells, in the same way for the same noisy counts: see the chances above. What
    stands alone far behind the others is noise more often than not.
    """
    return _sample_unit_sizes(tuple(noisy.tolist()), noise, added)


@lru_cache(4)
def _sample_unit_sizes(found_units: tuple[float, ...], noise: Noise, added: int) -> UnitSizes:
    """See `sample_unit_sizes`: a bound is chosen and described by the same counts."""
    noisy = np.array(found_units)
    deviation = max(sqrt(added * noise.variance), 1e-3)
    most = max(float(noisy.max()) + 3 * deviation, 2.0)
    levels = _unit_count_levels(ceil((log2(most) - LOWEST) / STEP) + 1)
    slopes, counts, moves = _candidate_slopes(), np.append(0.0, levels), _transition_matrix(len(levels))
    scale = np.sqrt(deviation**2 + (LEVELLED * counts) ** 2 + counts)
    state = np.append(EMPTY, np.full(len(moves) - 1, (1 - EMPTY) / (len(moves) - 1)))
    forward = np.zeros((len(noisy), len(moves)))
    for cell, found in enumerate(noisy):
        off = np.abs(found - counts) / scale
        fit = -np.log(scale) - (sqrt(2) * off if noise.family is Family.LAPLACE and added == 1 else off**2 / 2)
        state = (state if cell == 0 else state @ moves) * _repeat_for_states(np.exp(fit - fit.max())) + 1e-300
        state /= state.sum()
        forward[cell] = state
    draws = np.outer(np.sqrt(PRIMES[: len(noisy)]), np.arange(PATHS) + 0.5) % 1
    paths = np.zeros((PATHS, len(noisy)), dtype=np.int64)
    for cell in reversed(range(len(noisy))):
        last = cell == len(noisy) - 1
        following = np.zeros(PATHS, dtype=np.int64) if last else paths[:, cell + 1]
        for after in np.unique(following):
            risen, own = np.cumsum(forward[cell] if last else forward[cell] * moves[:, after]), following == after
            paths[own, cell] = np.minimum(np.searchsorted(risen, draws[cell][own] * risen[-1]), len(moves) - 1)
    units = _repeat_for_states(counts)[paths]
    slope = np.append(ENDING, np.tile(slopes, len(levels)))[paths]
    onwards = np.append(slope[:, 1:], np.full((PATHS, 1), ENDING), axis=1)
    return UnitSizes.from_slopes(np.where((noisy > 5 * deviation) & (units > 0), noisy, units), (slope + onwards) / 2)


def _candidate_slopes() -> FloatArray:
    return np.arange(-SLOPES, SLOPES + STEP / 2, STEP)


def _repeat_for_states(counts: FloatArray) -> FloatArray:
    """Repeat values of each number of units for its states: none, and each number with each slope that led to it."""
    return np.append(counts[0], np.repeat(counts[1:], len(_candidate_slopes())))


@lru_cache(2)
def _transition_matrix(levels: int) -> FloatArray:
    """Chances of the state of a cell, by that of the cell before."""
    slopes = _candidate_slopes()
    bent = np.exp(-np.abs(slopes - slopes[:, None] + FALL) / BENT)
    bent *= (1 - ENDS - ANEW) / bent.sum(axis=1, keepdims=True)
    size = levels * len(slopes)
    moves = np.zeros((1 + size, 1 + size))
    moves[0] = np.append(1 - BEGINS, np.full(size, BEGINS / size))
    moves[1:, 0], moves[1:, 1:] = ENDS, ANEW / size
    level, slope = np.divmod(np.arange(size), len(slopes))
    for place, rise in enumerate(np.rint(slopes / STEP).astype(int)):
        reached = level + rise
        onto = np.where(reached < 0, 0, 1 + np.minimum(reached, levels - 1) * len(slopes) + place)
        moves[np.arange(1, size + 1), onto] += bent[slope, place]
    return moves


def count_errors(sizes: UnitSizes, growth: NoiseGrowth, family: Family) -> FloatArray:
    """Mean absolute errors of a count under each bound, (paths, bounds): counts lack what is left out."""
    lost = np.maximum(sizes.total_records - sizes.used_records, 0) / growth.readings
    return expected_error(lost, growth.error * np.array(candidate_bounds(), dtype=np.float64), family)


def _share_errors(sizes: UnitSizes, growth: NoiseGrowth) -> list[FloatArray]:
    """Errors of a share under each bound, in three ways that are as likely.

    Shares are those of the records that are used: these may be like the others, or each unit may have a law of its own,
    so that it matters how much weights of units change, or records of units that have many may differ.
    """
    alike, own = _squared_share_errors(sizes, growth)
    return [
        np.sqrt(each) for each in (alike, own, alike + (UNLIKE * (1 - sizes.used_records / sizes.total_records)) ** 2)
    ]


def expected_error(lost: FloatArray, deviation: FloatArray, family: Family) -> FloatArray:
    """The mean absolute error of a count or sum that lacks so much, under noise of this standard deviation.

    >>> expected_error(np.array([0.0, 100.0]), np.array([2.0, 2.0]), Family.LAPLACE).round(2).tolist()
    [1.41, 100.0]
    """
    if family is Family.LAPLACE:
        return np.asarray(lost + deviation / sqrt(2) * np.exp(-sqrt(2) * lost / deviation))
    from scipy.special import ndtr

    parts = lost / deviation
    return np.asarray(lost * (2 * ndtr(parts) - 1) + deviation * sqrt(2 / pi) * np.exp(-(parts**2) / 2))


def _squared_share_errors(sizes: UnitSizes, growth: NoiseGrowth) -> tuple[FloatArray, FloatArray]:
    """Squared errors of shares, if records of all units are alike, and if each unit has a law of its own."""
    used, rows = sizes.used_records, np.array(candidate_bounds(), dtype=np.float64)
    drawn = SPREAD**2 * np.maximum(1 / used - 1 / sizes.total_records, 0)
    alike = (growth.error * rows / used) ** 2 + drawn
    return alike, alike + OWN**2 * (sizes.units[:, :, None] * _weight_changes(sizes) ** 2).sum(axis=1)


def _weight_changes(sizes: UnitSizes) -> FloatArray:
    """By how much a bound changes the weight of one unit of each size among all records: (paths, sizes, bounds)."""
    return np.asarray(
        sizes.kept_records_per_unit / sizes.used_records[:, None, :] - (sizes.records / sizes.total_records)[:, :, None]
    )


def _share_errors_by_value(
    sizes: UnitSizes, growth: NoiseGrowth, counts: _UnitCounts
) -> list[tuple[float, FloatArray]]:
    """Errors of shares in four ways, with their chances: values depend on the number of records, or do not; units have
    laws of their own, or do not.

    For each share below a cell of values a line is fitted along the logarithms of the numbers of records, by the noisy
    counts: a bound moves weights from units of many records to those of few, and with these the share.
    """
    mean, along = sizes.units.mean(axis=0), np.log2(sizes.records)
    lever = (sizes.units[:, :, None] * _weight_changes(sizes) * along[:, :, None]).sum(axis=1)  # (paths, bounds)
    bent, clear = np.zeros_like(lever), 0.0
    for number, below in enumerate(np.cumsum(counts.table, axis=1).T[:-1], start=1):
        slope, variance = _fit_slope(below, mean, along.mean(axis=0), number * counts.noise.variance)
        kept = STEEP**2 / (variance + STEEP**2)
        bent += ((slope * kept) ** 2 + STEEP**2 * (1 - kept)) / counts.cells * lever**2
    for inside in counts.table.T:  # of which the noises are independent
        slope, variance = _fit_slope(inside, mean, along.mean(axis=0), counts.noise.variance)
        kept = STEEP**2 / (variance + STEEP**2)
        clear += (log(1 - kept) + slope**2 / variance * kept) / 2
    related = 1 / (1 + exp(min(-clear, MOST_ODDS)) * UNRELATED / (1 - UNRELATED))
    far = (APART * (1 - sizes.used_records / sizes.total_records)) ** 2
    ways = (1 - related, far), (related, far + bent)
    return [(chance, np.sqrt(each + more)) for each in _squared_share_errors(sizes, growth) for chance, more in ways]


def _fit_slope(inside: FloatArray, units: FloatArray, along: FloatArray, noise: float) -> tuple[float, float]:
    """By how much the share of units inside cells of values rises as the number of records doubles, and its variance.

    Args:
        inside: Noisy counts of units of each size.
        units: How many there are of each size, about.
        along: The logarithm of each size.
        noise: The variance of the noise of each count.
    """
    variance = noise + np.maximum(units, 1.0) / 4
    weights = np.where(units > 1 / 2, units**2 / variance, 0.0)
    apart = along - weights @ along / max(float(weights.sum()), TINY)
    known = max(float(weights @ apart**2), TINY)
    return float((weights * apart) @ (inside / np.maximum(units, 1.0))) / known, 1 / known


def _upper_noise_bound(noise: Noise, added: int, error: float) -> float:
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


def _excluded_interval(counts: _UnitCounts, rows: int, most: int) -> tuple[float, float]:
    """Ends of the share that is left out, if each cell is within what noise leaves open for all of them at once."""
    noisy = counts.sums
    wide = _upper_noise_bound(counts.noise, counts.cells, (1 - LEVEL) / 2 / len(noisy))
    low, high = np.maximum(noisy - wide, 0.0), np.maximum(noisy + wide, 0.0)
    ends = np.array(candidate_bounds(), dtype=np.float64)
    least, largest = np.append(0.0, ends) + 1, np.append(ends, inf)
    over, inside = least > rows, largest <= most
    lost = float(low[over] @ (least[over] - rows))
    others = float(high[~over] @ largest[~over] + high[over].sum() * rows)
    found = float(high[over & inside] @ (largest[over & inside] - rows))
    kept = float(low[~over] @ least[~over] + low[over].sum() * rows)
    return lost / (lost + others) if lost else 0.0, found / (found + kept) if found else 0.0


def describe_bound_price(adjacency: AdjacencyWithoutBound, look: Plan) -> tuple[str, ...]:
    """The price of the bound, and what it is for, before anything is charged."""
    values = ", by a value of one record," if isinstance(look.query, SizedUnitsQuery) else ""
    return (
        f"no bound of records per {adjacency.column} is stated: {look.loss}, {LOOK} of the loss, counts "
        f"{adjacency.column} by the number of their records{values} and chooses a power of two up to "
        f"{2**MOST_DOUBLINGS:,}; errors below are those of one record each, and grow with the bound",
    )
