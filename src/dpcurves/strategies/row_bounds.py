"""The number of records of each unit that a question uses, where nobody stated a bound: chosen by noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from ..arrays import FloatArray
from ..conversation import Plan, Release
from ..privacy import AnyRows
from ..queries import CountQuery, Read, SumQuery
from ..queries.query import MOST_DOUBLINGS

# A bound on the records of a unit costs records, and every record more costs noise. Units are counted by the number of
# their records, in cells that end at powers of two: there a unit counts once, whatever it has. From noisy counts follow
# about how many records each power of two leaves out, and the question's own plan says how its noise grows; the least
# expected error of both is chosen, and the question is asked with what is left of the loss.
#
# Formal guarantees. Let two tables differ in one unit, with all its records, whatever their number. Units by their
# number of records differ in one cell, by one, if it came or went, and in two if it was replaced: their noise is
# planned for one record a unit, so this turn loses its share. The bound is a function of the noisy counts and of public
# facts. Given the bound, the records that are used differ in at most so many that come, and so many that go (a unit's
# records are drawn by its own rows and a secret key), so the question loses its share. Both add up to what was granted,
# whatever the first answer was (basic composition; in rho as in epsilon). A bound that was released is public: later
# questions may use it, or any other, and lose what they pay.


LOOK = Fraction(1, 12)
"""The share of the loss that finds the bound."""
SURE = 3.0
"""The evidence, as a logarithm of odds, that one cell more needs to be taken as not empty."""
MEAN_IN_CELL = 1.44
"""The mean of numbers from one power of two to the next, over the lower: if as many lie in any part of it by ratio."""
UNLIKE = 0.3
"""The distance of the distribution of records that are left out from that of the others, as far as it is expected."""
LEVEL = 0.95


def middles() -> FloatArray:
    """The records of a unit in each cell, about."""
    return np.array([1.0, 2.0, *(MEAN_IN_CELL * 2.0**power for power in range(1, MOST_DOUBLINGS + 1))])


def bounds() -> list[int]:
    """The bounds that may be chosen: powers of two, the last numbers of all cells but the last."""
    return [2**power for power in range(MOST_DOUBLINGS + 1)]


class Growth(NamedTuple):
    """The noise of a question per record that a unit may have, and the number of its readings.

    Attributes:
        error: Standard deviation of a reading, in records, if one record of each unit is used.
        readings: The number of counts among which records that are left out are missing; 0: shares of all are read.
    """

    error: float
    readings: int


def growth_of(plans: Sequence[Plan], noise: float) -> Growth:
    """The growth of the noise from plans for two records of each unit.

    Args:
        plans: They are made under this bound.
        noise: The standard deviation of one count, for what has no error of its own.
    """
    errors = [_in_records(plan) for plan in plans]
    known = [error for error in errors if isfinite(error) and error > 0] or [noise]
    counts = [plan.query for plan in plans if type(plan.query) is CountQuery and plan.query.read is Read.CELLS]
    readings = max(each.rows * each.cells for each in counts) if counts and len(counts) == len(plans) else 0
    return Growth(min(known) / 2, readings)


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


def chosen(release: Release, growth: Growth) -> RowBound:
    """The bound of the least expected error, from noisy counts of units.

    Args:
        release: Noisy counts of units by the number of their records.
        growth: How the noise of the question grows.
    """
    noisy, deviation = _noisy(release)
    units = likely(noisy, deviation)
    errors = [expected_error(units, each, growth) for each in bounds()]
    rows = bounds()[int(np.argmin(errors))]
    most = bounds()[min(int(np.flatnonzero(units)[-1]), MOST_DOUBLINGS)] if units.any() else 1
    return RowBound(rows, LOOK, left_out(units, rows), _interval(noisy, deviation, rows, most), most)


def _noisy(release: Release) -> tuple[FloatArray, float]:
    law = release.plan.law
    noisy = np.asarray(release.values[: MOST_DOUBLINGS + 2], dtype=np.float64)
    return noisy, sqrt(law.levels[0].noise.variance)  # type: ignore[attr-defined]


def likely(noisy: FloatArray, deviation: float) -> FloatArray:
    """Units in each cell: none behind the cell up to which evidence for records outweighs what each cell needs.

    >>> likely(np.array([100.0, 30.0, -4.0, 12.0, 3.0, -2.0, 9.0]), 4.0).tolist()
    [100.0, 30.0, 0.0, 12.0, 0.0, 0.0, 0.0]
    """
    positive = np.maximum(noisy, 0.0)
    evidence = np.cumsum(sqrt(2) * positive / deviation - SURE) if deviation > 0 else np.cumsum(positive > 0)
    last = int(np.argmax(evidence)) if evidence.max() > 0 else 0
    return np.where(np.arange(len(noisy)) <= last, positive, 0.0)


def left_out(units: FloatArray, rows: int) -> float:
    """The share of all records that this bound leaves out."""
    sizes = middles()
    whole = float(units @ sizes)
    return 1 - float(units @ np.minimum(sizes, rows)) / whole if whole > 0 else 0.0


def expected_error(units: FloatArray, rows: int, growth: Growth) -> float:
    """The error of a reading under this bound: noise, and records that are left out, as independent parts.

    Counts lack what is left out. Shares are those of the records that are used, which differ from all the more, the more
    are left out, and the fewer units have most of these.
    """
    sizes = middles()
    used, beyond = float(units @ np.minimum(sizes, rows)), units * np.maximum(sizes - rows, 0.0)
    lost, noise = float(beyond.sum()), growth.error * rows
    if used <= 0:
        return noise if rows == 1 else inf
    if growth.readings:
        return sqrt(noise**2 + (lost / growth.readings) ** 2)
    return sqrt((noise / used) ** 2 + (UNLIKE * lost / (lost + used)) ** 2)


def _interval(noisy: FloatArray, deviation: float, rows: int, most: int) -> tuple[float, float]:
    """Ends of the share that is left out, if each cell is within as many deviations as hold for all of them."""
    wide = deviation * float(norm.isf((1 - LEVEL) / 2 / len(noisy)))
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
    return (
        f"no bound of records per {adjacency.column} is stated: {look.loss}, {LOOK} of the loss, counts "
        f"{adjacency.column} by the number of their records and chooses a power of two up to {2**MOST_DOUBLINGS:,}; "
        "errors below are those of one record each, and grow with the bound",
    )
