"""What distribution functions are released of: synthetic records, drawn again and again, and real histograms."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcurves.data import Grid

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Counts = IntArray

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "DPCURVES_DATA"
HISTOGRAMS = {
    "ADULT": "ADULTFRANK.n4096",
    "MEDCOST": "MEDCOST.n4096",
    "INCOME": "INCOME.n4096",
    "HEPTH": "HEPTH.n4096",
    "MDSAL1": "GrossCompenMDSalary1",
    "MDSAL2": "GrossCompenMDSalary2_filtered",
    "BIDS": "bids",
}


def folder() -> Path:
    """Where the data is, unless an option says otherwise."""
    return Path(os.environ.get(VARIABLE, ROOT.parent / "shared" / "data"))


@dataclass(frozen=True, eq=False)
class Sample:
    """Records of which only their cells are known: each lies in the middle of its cell."""

    grid: Grid
    counts: Counts

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def shares(self) -> FloatArray:
        """Below each edge: what is to be released."""
        return np.append(0.0, np.cumsum(self.counts) / self.counts.sum())

    @cached_property
    def middles(self) -> FloatArray:
        edges = self.grid.edges
        return (edges[:-1] + edges[1:]) / 2

    @property
    def values(self) -> FloatArray:
        """One for each record."""
        return np.repeat(self.middles, self.counts)


@dataclass(frozen=True)
class Task:
    """A grid and what is counted on it.

    Attributes:
        draw: The counts of the draw with this number.
        draws: How many there are: one of real histograms, as many as one likes of others.
    """

    name: str
    grid: Grid
    draw: Callable[[int], Counts]
    draws: int

    @lru_cache(maxsize=64)  # noqa: B019 - tasks live as long as the table
    def sample(self, number: int) -> Sample:
        """Draw the sample of this number, which is one for all methods."""
        return Sample(self.grid, self.draw(number))


def normal(name: str, mean: float, deviation: float, draws: int, cells: int = 4096) -> Task:
    """10,000 draws of a normal distribution, clipped to [-5, 5]."""
    grid = Grid(-5, 5, cells=cells)

    def draw(number: int) -> Counts:
        values = np.random.default_rng([7, number]).normal(mean, deviation, 10_000).clip(-5, 5)
        return np.bincount(grid.cell_of(values), minlength=cells)

    return Task(name, grid, draw, draws)


def poisson(exponent: int, draws: int) -> Task:
    """3 records in a cell on average, on a domain of length 1."""
    cells = 2**exponent

    def draw(number: int) -> Counts:
        return np.random.default_rng([exponent, number]).poisson(3, cells)

    return Task(f"pois{exponent}", Grid(0, 1, cells=cells), draw, draws)


def synthetic(draws: int) -> list[Task]:
    """Draw from N(0, 1), from N(0.3, 0.01**2), and from three Poisson processes."""
    return [normal("normal", 0, 1, draws), normal("peaked", 0.3, 0.01, draws)] + [
        poisson(exponent, draws) for exponent in (10, 12, 15)
    ]


def real(at: Path) -> list[Task]:
    """Histograms of 4,096 cells that are there, on a domain of length 1."""
    files = {name: at / "hist1d" / f"{file}.npy" for name, file in HISTOGRAMS.items()}
    return [_stored(name, file) for name, file in files.items() if file.exists()]


def _stored(name: str, file: Path) -> Task:
    counts = np.load(file).astype(np.int64)
    return Task(name, Grid(0, 1, cells=len(counts)), lambda number: counts, draws=1)
