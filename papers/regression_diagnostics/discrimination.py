"""Table 1: how little the errors may grow, or the truth bend, such that residual plots still show it.

The text has residuals of least squares, and variances of ``alpha x + 1``; the numbers of the table come out with
residuals of the line that is true without a bend, and with deviations of ``alpha x + 1``. Both readings are measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from plane import Floats, Records
from prirp import Method
from reproduction.measured import Findings, Measured
from residual_sizes import ResidualSize
from residuals import CELLS, METHODS, PACKAGE, PRINTED, Overlaid, distance, edges_of, total_variation

GROWING, BENT = "alpha", "gamma"
KINDS = GROWING, BENT
FIRST = {GROWING: 0.003, BENT: 0.0001}
RATIO, RUNGS = 2 ** (1 / 6), 35
"""Tried are the first, and up to so many times the ratio of the one before."""
REACHED, SEED, EPSILON = 0.95, 11, 1.0


@dataclass(frozen=True)
class Table:
    """The least alpha and gamma for each number of records: of confidential plots, and of private ones at epsilon 1."""

    confidential: dict[str, dict[int, dict[str, float]]]
    private: dict[str, dict[int, dict[str, float]]]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Explanatory values and standard normal errors of many data sets, of shape ``(sets, records)``."""

    x: Floats
    error: Floats

    @classmethod
    def of(cls, sets: int, records: int) -> Drawn:
        """From one seed."""
        chance = np.random.default_rng((SEED, records))
        return cls(chance.uniform(0, 50, (sets, records)), chance.normal(size=(sets, records)))


Plots = Callable[[Drawn, float, float], tuple[Floats, Floats]]
"""Predictions and residuals of all sets, for alpha and gamma."""


def of_the_text(sets: Drawn, alpha: float, gamma: float) -> tuple[Floats, Floats]:
    """Residuals of least squares, where alpha makes variances grow."""
    y = sets.x + gamma * sets.x**2 + sets.error * np.sqrt(alpha * sets.x + 1)
    centred = sets.x - sets.x.mean(axis=1, keepdims=True)
    slope = (centred * y).sum(axis=1) / (centred**2).sum(axis=1)
    predicted = y.mean(axis=1, keepdims=True) + slope[:, None] * centred
    return predicted, y - predicted


def of_the_table(sets: Drawn, alpha: float, gamma: float) -> tuple[Floats, Floats]:
    """Residuals of ``y = x``, where alpha makes deviations grow."""
    return sets.x, gamma * sets.x**2 + sets.error * (alpha * sets.x + 1)


TEXT, TABLE = "as the text has it", "as the table has it"
READINGS: dict[str, Plots] = {TEXT: of_the_text, TABLE: of_the_table}
PRIVATE = {
    TEXT: (METHODS[PRINTED], of_the_text), TABLE: (METHODS[PRINTED], of_the_table),
    PACKAGE: (METHODS[PACKAGE], of_the_table),
}  # fmt: skip


def table(size: ResidualSize, step: Callable[[], None]) -> Table:
    """By the procedure of the paper."""
    found = Table({reading: {} for reading in READINGS}, {name: {} for name in PRIVATE})
    for records in size.table_records:
        for reading, plots in READINGS.items():
            found.confidential[reading][records] = _least_confidential(Drawn.of(size.table_sets, records), plots)
        for name, (method, plots) in PRIVATE.items():
            runs = size.package_plots if name == PACKAGE else size.table_plots
            found.private[name][records] = _least_private(method, Drawn.of(1, records), plots, runs)
        step()
    return found


def _least_confidential(sets: Drawn, plots: Plots) -> dict[str, float]:
    """Distances from the mean of all plots of Ideal, in cells that lie over all its points."""
    ideal = plots(sets, 0.0, 0.0)
    edges = edges_of(Records(ideal[0].ravel(), ideal[1].ravel()))
    shares = _shares(*ideal, edges)
    expected = shares.mean(axis=0)

    def distances(alpha: float, gamma: float) -> Floats:
        return _distances(expected, _shares(*plots(sets, alpha, gamma), edges))

    return _both(distances, _distances(expected, shares))


def _distances(expected: Floats, shares: Floats) -> Floats:
    return np.array([distance(expected, each) for each in shares])


def _shares(predicted: Floats, residual: Floats, edges: tuple[Floats, Floats]) -> Floats:
    """Shares of the records in each cell, for each set."""
    place = np.zeros(predicted.shape, dtype=np.int64)
    for values, ends in zip((predicted, residual), edges, strict=True):
        cell = np.floor((values - ends[0]) / (ends[-1] - ends[0]) * CELLS).astype(np.int64)
        place = np.where((place < 0) | (cell < 0) | (cell >= CELLS), -1, place * CELLS + cell)
    rows = np.arange(len(place))[:, None] * (CELLS**2 + 1) + np.where(place < 0, CELLS**2, place)
    counts = np.bincount(rows.ravel(), minlength=len(place) * (CELLS**2 + 1)).reshape(len(place), -1)
    return np.asarray(counts[:, :-1] / predicted.shape[1])


def _least_private(method: Method, one: Drawn, plots: Plots, runs: int) -> dict[str, float]:
    """Similarities of many private plots of one data set to the confidential plot of Ideal."""
    ideal = _records(plots(one, 0.0, 0.0))
    overlaid = Overlaid.on(ideal)

    def similarities(alpha: float, gamma: float) -> Floats:
        return overlaid.similarities(method, _records(plots(one, alpha, gamma)), EPSILON, range(runs, 2 * runs))

    return _both(similarities, overlaid.similarities(method, ideal, EPSILON, range(runs)))


def _records(plots: tuple[Floats, Floats]) -> Records:
    """The only set."""
    predicted, residual = plots
    return Records(predicted[0], residual[0])


def _both(similarities: Callable[[float, float], Floats], ideal: Floats) -> dict[str, float]:
    """The least alpha, and the least gamma."""
    return {
        GROWING: _least(lambda alpha: similarities(alpha, 0.0), ideal, FIRST[GROWING]),
        BENT: _least(lambda gamma: similarities(0.0, gamma), ideal, FIRST[BENT]),
    }


def _least(similarities: Callable[[float], Floats], ideal: Floats, first: float) -> float:
    """The first rung from which on the distributions are told apart, by halving."""
    low, high = -1, RUNGS
    while high - low > 1:
        middle = (low + high) // 2
        apart = total_variation(ideal, similarities(first * RATIO**middle)) >= REACHED
        low, high = (low, middle) if apart else (middle, high)
    return first * RATIO**high


def findings(found: Table) -> Findings:
    """All numbers of the table."""
    named = Findings()
    for records in found.private[TEXT]:
        for kind in KINDS:
            by_text, by_table = (found.confidential[reading][records][kind] for reading in (TEXT, TABLE))
            named[f"table1-confidential-{kind}-{records}"] = Measured(by_text, by_table)
            named[f"table1-private-{kind}-{records}"] = Measured(
                *(found.private[name][records][kind] for name in PRIVATE)
            )
    return named
