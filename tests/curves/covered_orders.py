"""How often intervals of Kendall's tau, and of means over pairs that are read from cells, hold: of released tables.

The second column is the first one's cell and a step to either side or none, so tables of both have a known
distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from by_hand import answer, both
from kinds import POPULATIONS, Case, FloatArray

import dpcurves as dp
from dpcurves.arrays import IntArray
from dpcurves.privacy import PrivacyLoss
from dpcurves.summaries.kernels import count_pairs

SIDE = 6
STEPS = np.array([0.3, 0.4, 0.3])
SIDES = tuple(dp.Categories(name, tuple(range(SIDE))) for name in ("first", "second"))
TAUS = "tau-a", "tau-b"
NEAR = dp.CellKernel(np.abs(np.subtract.outer(np.arange(16.0), np.arange(16.0))))
CAUTIOUS = frozenset(
    [f"{name}, {whom}" for name in TAUS for whom in ("records", "population")]
    + [f"{name}, population" for name in ("collisions", "Renyi-2", "difference")]
)
"""The outermost of two intervals is taken, for noise and few people of great weight skew ratios and squares."""


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of one table of two ordered columns, and of one histogram of 16 cells."""
    draw = np.random.default_rng([seed, case.units, case.adjacency, 13])
    adjacency, loss = both(case.units)[case.adjacency], PrivacyLoss.pure(case.epsilon)
    distribution = distribution_of(case.data)
    table = draw.multinomial(case.units, distribution.ravel()).reshape(distribution.shape)
    rows, columns = (np.repeat(side.ravel(), table.ravel()) for side in np.indices(distribution.shape))
    sides = {"first": rows, "second": columns}
    told = answer(dp.ContingencyQuestion(*SIDES), sides, loss, adjacency, 2 * seed)
    found = {"tau-a": dp.kendall_tau_a(told), "tau-b": dp.kendall_tau_b(told)}
    yield from _held(found, taus(table, 0), taus(distribution, 1), level)
    shares = cells_of(case.data, 16)
    counts = draw.multinomial(case.units, shares)
    question = dp.HistogramQuestion("x", dp.Grid(0, 16, cells=16))
    histogram = answer(question, {"x": np.repeat(np.arange(16) + 0.5, counts)}, loss, adjacency, 2 * seed + 1)
    yield from _held(of_cells(histogram), means(counts, 0), means(shares, 1), level)


def _held(
    found: Mapping[str, dp.UStatistic], records: Mapping[str, float], population: Mapping[str, float], level: float
) -> Iterator[tuple[str, bool]]:
    for whom, truths in (("records", records), ("population", population)):
        for name, statistic in found.items():
            low, high = statistic.interval(level, population=whom == "population")
            yield f"{name}, {whom}", low - 1e-9 <= truths[name] <= high + 1e-9


def of_cells(histogram: dp.Histogram) -> dict[str, dp.UStatistic]:
    """What is read of a histogram of 16 cells."""
    return {
        "difference": dp.u_statistic(histogram, NEAR),
        "collisions": dp.collision_probability(histogram),
        "Renyi-2": dp.renyi2_entropy(histogram),
    }


def cells_of(kind: str, cells: int) -> FloatArray:
    """What share of a population lies in each of so many parts of its grid."""
    values, grid = POPULATIONS[kind]
    place = grid.cell_of(np.clip(values, grid.lower, grid.upper)) * cells // grid.cells
    return np.bincount(place, minlength=cells) / len(values)


def distribution_of(kind: str) -> FloatArray:
    """The chances of pairs of sides."""
    distribution = np.zeros((SIDE, SIDE))
    for row, share in enumerate(cells_of(kind, SIDE)):
        for step, part in zip((-1, 0, 1), STEPS, strict=True):
            distribution[row, min(max(row + step, 0), SIDE - 1)] += share * part
    return distribution


def taus(table: FloatArray | IntArray, replaced: int) -> dict[str, float]:
    """Both, of people; or of chances, whose people are put back."""
    order, rows, columns = count_pairs(np.asarray(table, dtype=np.float64)).tolist()
    people, alone = float(table.sum()), 0.0 if replaced else 1.0
    return {"tau-a": 2 * order / (people * (people - alone)), "tau-b": order / float(np.sqrt(rows * columns))}


def means(counts: FloatArray | IntArray, replaced: int) -> dict[str, float]:
    """Over pairs of different people; or of chances."""
    people = float(counts.sum())
    alone = 0.0 if replaced else 1.0
    pairs, alike = people * (people - alone), float((counts * (counts - alone)).sum())
    near = float(counts @ NEAR.table @ counts) / pairs
    return {"difference": near, "collisions": alike / pairs, "Renyi-2": -float(np.log(alike / pairs))}
