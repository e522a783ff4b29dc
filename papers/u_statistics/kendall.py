"""Kendall's rank correlation of hotel ratings (Figure 4's 0.8), from the data and from a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from scipy.stats import kendalltau

import dpcurves as dp
from dpcurves.noise.randomness import Randomness

FILE = Path("tabular") / "tripadvisor_lara_ratings.parquet"
STARS = (-1, 1, 2, 3, 4, 5)


def are_there(folder: Path) -> bool:
    """Whether the ratings are."""
    return (folder / FILE).exists()


def findings(folder: Path) -> Findings:
    """Measure it with the code of missing ratings kept, and without; and released by one curator at epsilon 1."""
    rooms, cleanliness = ratings(folder)
    known = (rooms > 0) & (cleanliness > 0)
    kept = float(kendalltau(rooms, cleanliness).statistic)
    alone = float(kendalltau(rooms[known], cleanliness[known]).statistic)
    return {
        "figure4-kendall": Measured(kept, package=released(rooms, cleanliness)),
        "figure4-known": Measured(alone),
        "figure4-records": Measured(float(len(rooms))),
    }


def ratings(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stars for rooms and for cleanliness; -1: not told."""
    from pyarrow import parquet

    table = parquet.read_table(folder / FILE, columns=["rooms", "cleanliness"])
    rooms, cleanliness = (table[name].to_numpy().astype(np.int64) for name in ("rooms", "cleanliness"))
    return rooms, cleanliness


def released(rooms: NDArray[np.int64], cleanliness: NDArray[np.int64]) -> float:
    """Tau-b of a table that was released at epsilon 1."""
    table = {"rooms": rooms, "cleanliness": cleanliness}
    question = dp.ContingencyQuestion(*(dp.Categories(name, STARS) for name in table))
    loss = dp.PrivacyLoss.pure(1)
    with dp.Session(table, budget=loss, adjacency=dp.REPLACE_ONE, randomness=Randomness.from_seed(1)) as session:
        return dp.kendall_tau_b(session.ask(question, loss)).value
