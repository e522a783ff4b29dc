"""What is to be reached, and what the papers reach when they are tuned to each cell."""

from __future__ import annotations

from typing import NamedTuple

KS, W1, RMSE = range(3)


class Target(NamedTuple):
    """An error that is to stay at or below a limit.

    Attributes:
        loss: As `losses` names it.
        metric: The number of the metric.
        limit: In the unit of the metric.
        papers: The best of the papers' own methods, as others measured it.
        hint: What is said about the data; empty: nothing.
    """

    task: str
    loss: str
    metric: int
    limit: float
    papers: float | None
    hint: str = ""


PURE, ZERO_CONCENTRATED = "epsilon 1", "(1, 1e-4), zCDP"
POISSON_RECORDS = 98_304
TARGETS = (
    Target("normal", PURE, KS, 4.2e-3, 9.9e-3),
    Target("normal", PURE, W1, 10.5e-3, 23e-3),
    Target("peaked", PURE, KS, 2.6e-3, 16e-3),
    Target("peaked", PURE, W1, 0.2e-3, 3.0e-3),
    Target("pois15", PURE, RMSE, 17.5 / POISSON_RECORDS, 41 / POISSON_RECORDS),
    Target("normal", PURE, KS, 3.9e-3, 9.9e-3, "spread"),
    Target("normal", PURE, W1, 7.9e-3, 23e-3, "spread"),
    Target("normal", ZERO_CONCENTRATED, KS, 4.0e-3, 6.2e-3),
    Target("normal", ZERO_CONCENTRATED, W1, 9e-3, 21e-3),
)
MEAN_REGRET, WORST_REGRET = 1.12, 1.6
SECONDS, SECONDS_CELLS = 0.3, 2**15
