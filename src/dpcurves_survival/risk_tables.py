"""Numbers from noisy risk tables: draws of the tables that a release does not contradict, and curves of each."""

from __future__ import annotations

from math import exp, inf
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.inference.bands import Band, level_of_an_end, simultaneous_errors, upper_quantile

LEAST_AT_RISK = 1.0
LEAST_SPREAD = 1e-12
MOST_HAZARD = 1 - 1e-6
MOST_LOG_RATIO, EDGE, HALVINGS = 8.0, 0.01, 40
"""Log hazard ratios that are searched, by halving."""


class Curves(NamedTuple):
    """Curves of a group, each with any number of leading axes.

    Attributes:
        left: The share without any event before each edge, (..., cells + 1).
        come: The share with an event of each cause before each edge (Aalen and Johansen), (..., causes, cells + 1).
        hazard: The cumulative hazard of each cause (Nelson and Aalen), (..., causes, cells + 1).
        at: When events of each cell come, (cells,).
        against: When they come in the other curves, where `at` is one end of a cell: the other end, (cells,).
    """

    left: FloatArray
    come: FloatArray
    hazard: FloatArray
    at: FloatArray
    against: FloatArray

    def restricted_mean(self, until: float, edge: int) -> FloatArray:
        """The mean time without an event, or until `until`, which is the time of that edge: (...)."""
        came = self.left[..., :edge] - self.left[..., 1 : edge + 1]
        return np.asarray((came * np.minimum(self.at[:edge], until)).sum(axis=-1) + until * self.left[..., edge])

    def lost_to(self, until: float, edge: int) -> FloatArray:
        """The mean time that each cause takes from `until` (Andersen 2013): (..., causes)."""
        came = np.diff(self.come[..., : edge + 1], axis=-1)
        return np.asarray((came * np.maximum(until - self.against[:edge], 0.0)).sum(axis=-1))


class RiskTable(NamedTuple):
    """Events of each cause, and records at risk, by cell: released ones, their noise, or draws.

    Attributes:
        events: (..., causes, cells).
        records: At risk in each cell where all that are censored in it leave after its events, and all that enter in it
            come before them, (..., cells).
        fewest: Where all are censored before its events, and enter after them, (..., cells).
    """

    events: FloatArray
    records: FloatArray
    fewest: FloatArray

    def taken(self, draws: int) -> RiskTable:
        """So many of the draws."""
        return RiskTable(*(each[:draws] for each in self))

    def curves(self, known: BoolArray, at: FloatArray, *, early: bool = False) -> Curves:
        """The curves, level where nothing is known; in the other order of a cell, where it is `early`.

        Hazards may be below zero where the noise is: so are they right on average.
        """
        share = self.events / np.maximum(self.fewest if early else self.records, LEAST_AT_RISK)[..., None, :]
        share = np.where(known, share.clip(-1, 1), 0.0)
        left = _from(1.0, np.cumprod(1 - share.sum(axis=-2).clip(-1, 1), axis=-1))
        come = _from(0.0, np.cumsum(left[..., None, :-1] * share, axis=-1))
        return Curves(left, come, _from(0.0, np.cumsum(share, axis=-1)), at, at)

    def ends(self, known: BoolArray, cells: FloatArray) -> tuple[Curves, Curves]:
        """The lowest and the highest each number may be, in whatever order records left inside cells.

        Kaplan and Meier's share is lowest where all are censored before the events of their cell, and highest where
        they are censored after them; hazards are the other way round, and an incidence lies between the lowest share
        times the lowest hazards, and the highest times the highest. Events that come one after the other find fewer at
        risk, so that their hazards add up to ``-log(1 - hazard)`` at most. Where nothing is known the lowest share is
        0, and all that were left may have any of the events.

        Args:
            known: In which of the first cells enough are at risk.
            cells: Between which times the events of each cell come, (cells, 2): the same time twice, if they are tied.
        """
        late, early = self.curves(known, cells[:, 1]), self.curves(known, cells[:, 0], early=True)
        least, most = (np.diff(each.hazard, axis=-1) for each in (late, early))
        first, low, high = int(known.sum()), early.left.clip(0, 1), late.left.clip(0, 1)
        come_low = _from(0.0, np.cumsum(low[..., None, :-1] * least, axis=-1))
        come_high = _from(0.0, np.cumsum(high[..., None, :-1] * most, axis=-1))
        whole = most.sum(axis=-2, keepdims=True).clip(0, MOST_HAZARD)
        apart = np.divide(-np.log1p(-whole), whole, out=np.ones_like(whole), where=whole > 0)
        more = _from(0.0, np.cumsum(most * np.where(cells[:, 0] < cells[:, 1], apart, 1.0), axis=-1))
        if first < len(known):
            low[..., first + 1 :] = 0.0
            come_high[..., first + 1 :] += high[..., None, first : first + 1]
            more[..., first + 1 :] = np.inf
        return (
            Curves(low, come_low.clip(0, 1), late.hazard, cells[:, 0], cells[:, 1]),
            Curves(high, come_high.clip(0, 1), more, cells[:, 1], cells[:, 0]),
        )

    def plausible(self, noise: RiskTable, likely: FloatArray, normal: FloatArray | None) -> RiskTable:
        """Tables that the release does not contradict: what was released less noise that is drawn afresh.

        With `normal`, of samples of the population: events of each cell scatter as multinomial ones of the records at
        risk (Greenwood 1926), independently over cells.

        Args:
            noise: Simulated, (draws, ...).
            likely: Hazards of each cause that are about right, not below 0, (causes, cells).
            normal: Draws of the standard normal law, (draws, causes + 1, cells); None: tables of these records.
        """
        events, records = self.events - noise.events, np.maximum(self.records - noise.records, LEAST_AT_RISK)
        if normal is not None:
            chances = np.concatenate([likely, np.maximum(1 - likely.sum(axis=0, keepdims=True), 0.0)])
            moved = np.sqrt(records[:, None] * chances) * normal
            events = events + (moved - chances * moved.sum(axis=1, keepdims=True))[:, :-1]
        return RiskTable(events, records, self.fewest - noise.fewest)


def _from(first: float, values: FloatArray) -> FloatArray:
    """Values with one more before them, along the last axis."""
    return np.concatenate([np.full((*values.shape[:-1], 1), first), values], axis=-1)


def band_between(told: tuple[FloatArray, FloatArray], drawn: tuple[FloatArray, FloatArray], level: float) -> Band:
    """Ends that hold all points at once, drawn in the order of records that makes each lowest, and highest.

    The largest studentised distance of draws from what was released is bounded, downwards for the one order, upwards
    for the other.

    Args:
        told: The lowest and the highest of what was released, (points,).
        drawn: Draws of both, (draws, points).
        level: The chance that all ends hold.
    """
    seen = [np.isfinite(each) for each in told]
    (low, high), (down, up) = (
        tuple(each[..., at] for each, at in zip(both, seen, strict=True)) for both in (told, drawn)
    )
    sides = np.maximum(low - down, 0.0), np.maximum(up - high, 0.0)
    error = simultaneous_errors([np.concatenate(sides, axis=1)], level)
    ends = tuple(each.copy() for each in told)
    ends[0][seen[0]] -= error[: seen[0].sum()]
    ends[1][seen[1]] += error[seen[0].sum() :]
    return ends[0], ends[1]


def interval_between(low: FloatArray, high: FloatArray, level: float) -> tuple[float, float]:
    """Ends that hold a number, drawn in the order of records that makes it lowest and in the one that makes it highest.

    Noise is taken to be symmetric about what was released, so that draws are as far from it as it is from the truth.
    Where orders matter more than noise, each end holds with a smaller chance (see `level_of_an_end`).

    Args:
        low: (draws,).
        high: (draws,), each at least about as large.
        level: The chance that both ends hold.
    """
    if np.isnan(low).any() or np.isnan(high).any():
        return -np.inf, np.inf
    spread = max((float(np.ptp(np.quantile(each, (0.25, 0.75)))) for each in (low, high) if np.isfinite(each).all()),
                 default=0.0) / (2 * NormalDist().inv_cdf(0.75))  # fmt: skip
    apart = float(np.median(high) - np.median(low))
    each = level_of_an_end(max(apart, 0.0) / max(spread, LEAST_SPREAD) if np.isfinite(apart) else np.inf, level)
    return -upper_quantile(-low, each), upper_quantile(high, each)


def log_hazard_ratio(first: RiskTable, second: RiskTable, known: BoolArray, order: int = 0) -> FloatArray:
    """The logarithm of the hazard of the first group over that of the second, by Cox's partial likelihood: (...).

    Events of a cell are ties (Breslow 1974). It is where the events of the first group are as many as expected.

    Args:
        first: One cause, in any number of draws.
        second: The other group.
        known: Cells that are read.
        order: -1: the lowest it may be in whatever order records left inside cells, all of the second group first; 1:
            the highest; 0: all events of a cell at once, and before the censored.
    """
    died = first.events[..., 0, known]
    least, most = np.full(died.shape[:-1], -MOST_LOG_RATIO), np.full(died.shape[:-1], MOST_LOG_RATIO)
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        more = died.sum(axis=-1) > _expected(first, second, known, order, np.exp(middle)[..., None])
        least, most = np.where(more, middle, least), np.where(more, most, middle)
    return np.asarray((least + most) / 2)


def ratio_of(log: float) -> float:
    """The ratio of a logarithm; 0 or infinite at the ends of what is searched, where no root was found.

    >>> ratio_of(0.0), ratio_of(-8.0), ratio_of(8.0)
    (1.0, 0.0, inf)
    """
    if abs(log) > MOST_LOG_RATIO - EDGE:
        return 0.0 if log < 0 else inf
    return exp(log)


def _expected(first: RiskTable, second: RiskTable, known: BoolArray, order: int, ratio: FloatArray) -> FloatArray:
    """Events of the first group that are expected under a ratio; in an extreme order the most, or the fewest.

    If all of the second group leave first, each of its events finds fewer of them at risk, on average no more than
    midway between the first and the last (the share is convex in their number), and each event of the first group finds
    none of those, and half of its own on average (concave).
    """
    died, other = (each.events[..., 0, known] for each in (first, second))
    (ones, few), (others, fewer) = (
        (np.maximum(each.records[..., known], 0.0), np.maximum(each.fewest[..., known], 0.0))
        for each in (first, second)
    )

    def share(one: FloatArray, two: FloatArray) -> FloatArray:
        whole = one * ratio + two
        return np.divide(one * ratio, whole, out=np.zeros_like(whole), where=whole > 0)

    if order == 0:
        return np.asarray(((died + other) * share(ones, others)).sum(axis=-1))
    if order < 0:
        last = np.maximum(fewer - other, 0.0)
        early = other * (share(ones, fewer) + share(ones, last)) / 2
        return np.asarray((early + died * share(np.maximum(ones - died / 2, 0.0), last)).sum(axis=-1))
    last = np.maximum(few - died, 0.0)
    early = died * (share(few, others) + share(last, others)) / 2
    return np.asarray((early + other * share(last, np.maximum(others - other / 2, 0.0))).sum(axis=-1))
