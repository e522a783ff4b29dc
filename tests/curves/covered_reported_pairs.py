"""How often intervals of means over pairs hold that are read from reports: Algorithm 1, and Kendall's tau."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from covered_orders import CAUTIOUS as OF_TABLES
from covered_orders import SIDES, _held, cells_of, distribution_of, means, of_cells, taus
from covered_reports import CASES as REPORTS
from covered_reports import reported
from kinds import Case

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves_local import Collection, Task

CASES = REPORTS
CAUTIOUS = frozenset(kind for kind in OF_TABLES if kind.startswith("tau"))
"""For the reason that holds for tables of one curator. Those of Algorithm 1 have an exact variance."""


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of reports about one table, and about the cells of one histogram."""
    draw = np.random.default_rng([seed, case.units, 17])
    distribution, shares = distribution_of(case.data), cells_of(case.data, 16)
    table, counts = (
        draw.multinomial(case.units, distribution.ravel()).reshape(distribution.shape),
        draw.multinomial(case.units, shares),
    )
    rows, columns = (np.repeat(side.ravel(), table.ravel()) for side in np.indices(distribution.shape))
    task = Task(dp.ContingencyQuestion(*SIDES), dp.PrivacyLoss.pure(case.epsilon), people=case.units)
    collection = Collection(task)
    collection.add(task.randomize_table({"first": rows, "second": columns}, randomness=Randomness.from_seed(2 * seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)
        told = collection.curve()
    found = {"tau-a": dp.kendall_tau_a(told), "tau-b": dp.kendall_tau_b(told)}
    yield from _held(found, taus(table, 0), taus(distribution, 1), level)
    values = np.repeat(np.arange(16) + 0.5, counts)
    histogram = reported(dp.HistogramQuestion("x", dp.Grid(0, 16, cells=16)), values, case, 2 * seed + 1)
    yield from _held(of_cells(histogram), means(counts, 0), means(shares, 1), level)
