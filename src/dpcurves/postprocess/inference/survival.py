"""Kaplan-Meier and Nelson-Aalen curves from noisy counts of events and of censored records on a grid of times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import BoolArray, FloatArray
from ..shape.monotone import non_decreasing
from .bands import simultaneous_errors, upper_quantiles

DEVIATIONS = 4.0
"""Standard deviations of its noise that a number at risk has to exceed, or nothing is said from there on."""
LEAST_AT_RISK = 0.5
HALF = 0.5
FEWEST_AT_RISK = 20.0
"""At fewer records at risk nothing is said of the population: there the law of the curve is far from normal."""


class AtRisk(NamedTuple):
    """Events of each cell, and records that are at risk in it; or the noise of both: (..., cells)."""

    events: FloatArray
    records: FloatArray


def at_risk(events: FloatArray, censored: FloatArray) -> AtRisk:
    """Numbers at risk from slots of a grid that counts values outside apart, (..., cells + 2) to (..., cells).

    Times below the grid count in its first cell. Those above are at risk all along, and censored at its end. Records
    that are censored in a cell are at risk in it, as at ties of the textbook.
    """
    inside, all_ = events[..., 1:-1].copy(), (events + censored)[..., 1:].copy()
    inside[..., 0] += events[..., 0]
    all_[..., 0] += (events + censored)[..., 0]
    return AtRisk(inside, np.cumsum(all_[..., ::-1], axis=-1)[..., ::-1][..., :-1])


def known_cells(found: AtRisk, noise: AtRisk, least: float = LEAST_AT_RISK) -> BoolArray:
    """The first cells, up to the one in which noise, or a small number, hides how many are at risk."""
    enough = found.records > np.maximum(least, DEVIATIONS * np.sqrt(np.mean(noise.records**2, axis=0)))
    return np.logical_and.accumulate(enough)


def survival(found: AtRisk, known: BoolArray) -> FloatArray:
    """The share that survives each cell (Kaplan and Meier 1958), which never rises; level where nothing is known.

    Noise can make a share rise: the nearest curve that does not is taken (least squares).
    """
    raw: FloatArray = np.cumprod(1 - _hazards(found, known), dtype=np.float64)
    return np.asarray(np.clip(-non_decreasing(-raw), 0.0, 1.0))


def hazards_of(share: FloatArray) -> FloatArray:
    """The part of those at risk that leaves in each cell, from the share that survives it."""
    before = np.append(1.0, share[:-1])
    return np.asarray(np.clip(1 - np.divide(share, before, out=np.ones_like(share), where=before > 0), 0.0, 1.0))


def cumulative_hazard(found: AtRisk, known: BoolArray) -> FloatArray:
    """The sum of events over records at risk, to the end of each cell (Nelson 1969, Aalen 1978); it never falls."""
    return np.asarray(np.maximum(non_decreasing(np.cumsum(_hazards(found, known))), 0.0))


def log_errors(found: AtRisk, noise: AtRisk, known: BoolArray, normal: FloatArray | None) -> FloatArray:
    """Simulated errors of the logarithms of the shares that were read: (draws, known cells).

    By noise: what was released less noise that is drawn afresh has hazards of its own, and their shares are as far from
    those that were read. So neither hazards nor the number at risk are taken as known where few are left. For the
    population sampling adds independent increments of Greenwood's variance (1926), of those hazards.

    Args:
        found: What was released, without bias.
        noise: Simulated, (draws, cells).
        known: From `known_cells`.
        normal: Draws of the standard normal law for sampling, (draws, cells); None: for these records.
    """
    told = AtRisk(found.events[known], found.records[known])
    read = np.log(_left(told.events, np.maximum(told.records, LEAST_AT_RISK)))
    records = np.maximum(told.records - noise.records[:, known], 1.0)
    left = _left(told.events - noise.events[:, known], records)
    moved = np.log(left) - read
    if normal is not None:
        moved = moved + normal[:, known] * np.sqrt(np.maximum(1 - left, 0.0) / (records * left))
    return np.asarray(np.cumsum(moved, axis=1))


def _left(events: FloatArray, records: FloatArray) -> FloatArray:
    """The share of those at risk that has no event: above 0, so that it has a logarithm."""
    return np.asarray(np.maximum(1 - events / records, 1 / (records + 1)))


class Orders(NamedTuple):
    """Both ends of what exact times may give: events of each cell first, or the censored of each cell first.

    Attributes:
        late: The share that survives each cell where its events come first, (cells,): that of ties in the textbook.
        early: The share where all that are censored in a cell leave before its events, (cells,).
        late_errors, early_errors: From `log_errors`.
    """

    late: FloatArray
    early: FloatArray
    late_errors: FloatArray
    early_errors: FloatArray


def survival_band(orders: Orders, known: BoolArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of the shares that survive, all correct at once with chance `level`: each (cells,).

    The largest studentised error of a logarithm is bounded (equal precision: Nair 1984), downwards for the order of a
    cell that leaves fewest, upwards for the one that leaves most. Kaplan and Meier's estimate from exact times lies
    between both orders: each event takes the larger part of those at risk, the more were censored before. Where nothing
    is known the lower end is 0.

    Args:
        orders: Shares and errors of both orders.
        known: From `known_cells`.
        level: The chance that all ends hold.
    """
    down, up = (np.full(len(orders.late), np.inf) for _ in range(2))
    sides = [np.maximum(-orders.early_errors, 0.0), np.maximum(orders.late_errors, 0.0)]
    down[known], up[known] = np.split(simultaneous_errors([np.concatenate(sides, axis=1)], level), 2)
    lower, upper = orders.early * np.exp(-down), np.minimum(orders.late * np.exp(np.where(known, up, 0.0)), 1.0)
    upper = np.where(known & (orders.late > 0), upper, 1.0)
    return np.minimum.accumulate(lower), np.minimum.accumulate(np.maximum(upper, orders.late))


def median_cells(orders: Orders, known: BoolArray, level: float) -> tuple[int, int]:
    """Between which cells the first one lies that at most half survive, with chance `level`.

    From the first cell that half or fewer may survive to the last before which more than half may, each cell judged on
    its own with half of the error chance (Brookmeyer and Crowley 1982), by the order of its records that is least
    favourable. That is enough: the interval begins beyond the median only if too many seem to survive at the median
    itself, and ends before it only if too few do just before it. The number of cells where there is none.

    Args:
        orders: Shares and errors of both orders.
        known: From `known_cells`.
        level: The chance.
    """
    cells = len(orders.late)
    each, told = (1 + level) / 2, known & (orders.late > 0)
    down, up = (np.zeros(cells) for _ in range(2))
    down[known] = np.maximum(upper_quantiles(-orders.early_errors, each), 0.0)
    up[known] = np.maximum(upper_quantiles(orders.late_errors, each), 0.0)
    may_be_half = ~known | (orders.early * np.exp(-down) <= HALF)
    may_be_more = told & (orders.late * np.exp(up) > HALF)
    last = int(np.flatnonzero(may_be_more)[-1]) if may_be_more.any() else -1
    if not told.any() or last == np.flatnonzero(told)[-1]:
        last = cells - 1  # beyond what is told the curve may be level
    return int(np.argmax(np.append(may_be_half, True))), last + 1


def _hazards(found: AtRisk, known: BoolArray) -> FloatArray:
    records = np.where(known, np.maximum(found.records, LEAST_AT_RISK), 1.0)
    return np.where(known, np.minimum(found.events / records, 1.0), 0.0)
