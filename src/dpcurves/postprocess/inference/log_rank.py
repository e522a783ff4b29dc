"""Do two groups survive alike? The log-rank statistic of noisy counts, judged with its noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import BoolArray, FloatArray
from .resampling import chance_of_as_much, samples, whole_records
from .survival import DEVIATIONS, AtRisk, hazards_of, survival
from .two_samples import TwoSampleTest

LEAST_VARIANCE = 1e-9
"""Squared records: where neither chance nor noise moves the events, any difference is a large one."""
LEAST_MOVE = 0.5
"""Standard deviations: a statistic that is moved by less is found at level 5% in at most 8%."""


class Excess(NamedTuple):
    """Events of the first group more than expected, and the variance of that by chance, each (...)."""

    events: FloatArray
    variance: FloatArray


def excess(first: AtRisk, second: AtRisk) -> Excess:
    """The events of the first group beyond those expected if both survive alike (Mantel 1966), from (..., cells).

    The variance is that of a hypergeometric law, cell by cell. Numbers below zero are taken as zero.
    """
    ones, others = (np.maximum(each.records, 0.0) for each in (first, second))
    records, events = ones + others, first.events + second.events
    share = np.divide(ones, records, out=np.full_like(records, 0.5), where=records > 0)
    left = np.clip(np.divide(records - events, records - 1, out=np.zeros_like(records), where=records > 1), 0.0, 1.0)
    scatter = np.maximum(events, 0.0) * share * (1 - share) * left
    return Excess(np.asarray((first.events - events * share).sum(axis=-1)), np.asarray(scatter.sum(axis=-1)))


def log_rank(
    groups: tuple[AtRisk, AtRisk],
    noises: tuple[AtRisk, AtRisk],
    known: BoolArray,
    generator: np.random.Generator,
) -> TwoSampleTest:
    """The square of the excess over its variance by chance and by noise, and how often it is as large by these alone.

    Each draw (a parametric bootstrap) takes as many records as each group seems to have, gives them events at the
    hazards that both groups together seem to have and censors them as their own group seems to be censored, and adds
    the noise. Without noise the statistic is that of the textbook, whose law is nearly chi-squared with 1 degree.

    Args:
        groups: The released groups, without bias, (cells,).
        noises: Simulated, (draws, cells).
        known: The first cells, in which enough are at risk in both groups.
        generator: For the records.
    """
    if not known.any():
        return TwoSampleTest(0.0, 1.0)
    first, second = (_within(each, known) for each in groups)
    moved = [_within(each, known) for each in noises]
    found, null = excess(first, second), _alike((first, second), moved, generator)
    scattered = excess(*(_sum(each, noise) for each, noise in zip((first, second), moved, strict=True)))
    noise = float(scattered.events.var())
    reached, shown = (each.events**2 / np.maximum(each.variance + noise, LEAST_VARIANCE) for each in (found, null))
    return TwoSampleTest(float(reached), chance_of_as_much(float(reached), shown))


def moved_by_censoring(
    groups: tuple[AtRisk, AtRisk],
    censored: tuple[FloatArray, FloatArray],
    noises: tuple[AtRisk, AtRisk],
    noises_of_censored: tuple[FloatArray, FloatArray],
) -> float:
    """The shift of the excess if records are censored evenly over their cells, in its standard deviations.

    Then half of them are not at risk when an event of their cell comes, where all were taken to be: which makes a
    difference between groups that are censored differently. 0 if that is less than `LEAST_MOVE`, or may be noise.

    Args:
        groups: The released groups, without bias, in the cells that the test is of, (cells,).
        censored: The released counts of the censored of both, (cells,).
        noises: The noise of the groups, simulated, (draws, cells).
        noises_of_censored: That of the censored.
    """
    added = tuple(_sum(each, noise) for each, noise in zip(groups, noises, strict=True))
    gone = tuple(each + noise for each, noise in zip(censored, noises_of_censored, strict=True))
    read, scattered = excess(*groups), excess(*added)
    move = _with_fewer(groups, censored) - read.events
    error = float(np.sqrt(np.mean((_with_fewer(added, gone) - scattered.events - move) ** 2)))
    deviation = float(np.sqrt(max(float(read.variance) + float(scattered.events.var()), LEAST_VARIANCE)))
    told = abs(float(move)) > max(DEVIATIONS * error, LEAST_MOVE * deviation)
    return abs(float(move)) / deviation if told else 0.0


def _with_fewer(groups: Sequence[AtRisk], censored: Sequence[FloatArray]) -> FloatArray:
    """The excess of events if half of the censored are not at risk."""
    fewer = (each._replace(records=each.records - gone / 2) for each, gone in zip(groups, censored, strict=True))
    return excess(*fewer).events


def _alike(groups: tuple[AtRisk, AtRisk], noises: list[AtRisk], generator: np.random.Generator) -> Excess:
    hazard = _hazard(_sum(*groups))
    drawn = [_drawn(each, hazard, len(noises[0].events), generator) for each in groups]
    return excess(*(_sum(each, noise) for each, noise in zip(drawn, noises, strict=True)))


def _drawn(group: AtRisk, hazard: FloatArray, draws: int, generator: np.random.Generator) -> AtRisk:
    """Records that leave cell by cell, by an event or censored; those that stay longer are at risk in all cells."""
    without = np.append(group.records[1:], group.records[-1] - group.events[-1])
    censored = _hazard(AtRisk(group.records - group.events - without, group.records - group.events))
    stay = np.cumprod((1 - hazard) * (1 - censored))
    before = np.append(1.0, stay[:-1])
    chances = np.concatenate([before * hazard, before * (1 - hazard) * censored, stay[-1:]])
    records = whole_records(float(group.records[0]))
    leaving = samples(chances, records, draws, generator).astype(np.float64)
    cells = len(hazard)
    gone = leaving[:, :cells] + leaving[:, cells:-1]
    return AtRisk(leaving[:, :cells], records - np.cumsum(gone, axis=-1) + gone)


def _hazard(group: AtRisk) -> FloatArray:
    """The chance to leave in each cell of those who are at risk, from a curve that never rises."""
    return hazards_of(survival(group, np.ones(len(group.events), dtype=np.bool_)))


def _sum(one: AtRisk, other: AtRisk) -> AtRisk:
    return AtRisk(one.events + other.events, one.records + other.records)


def _within(group: AtRisk, known: BoolArray) -> AtRisk:
    return AtRisk(group.events[..., known], group.records[..., known])
