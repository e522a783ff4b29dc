"""Kinds of data that all intervals are tried on: tied, heaped, zero-inflated, clipped, continuous; and all cases.

A population is a long list; samples are drawn from it with replacement, so records are independent and their
distribution is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from dpcurves.data import Grid, Outside

FloatArray = NDArray[np.float64]
Counts = NDArray[Any]
"""Counts of each class and score, (2, scores): whole numbers, or what is expected."""
SIZE = 20_000
CELLS = 64
CONTINUOUS = "continuous"
KINDS = ("tied", "heaped", "zero-inflated", "clipped")
DATA = (*KINDS, CONTINUOUS)
UNITS = (1_000, 100_000)
LOSSES = ("0.1", "1")


class Case(NamedTuple):
    """On what, of how many, at which price, under which adjacency: 0 is add-remove, 1 replace-one."""

    data: str
    units: int
    epsilon: str
    adjacency: int


CASES = tuple(Case(*each) for each in product(DATA, UNITS, LOSSES, (0, 1)))


class Population(NamedTuple):
    """Values that samples are drawn from, and the grid that they are counted on."""

    values: FloatArray
    grid: Grid


def _populations() -> Iterator[tuple[str, Population]]:
    """Grids are laid so that ties and heaps lie inside cells."""
    draw = np.random.default_rng(41)
    income = draw.lognormal(10.2, 0.9, SIZE)
    heaped = np.where(draw.random(SIZE) < 0.7, np.round(income, -3), np.round(income, -2))
    yield "tied", Population(np.floor(draw.beta(2, 2.5, SIZE) * 90), Grid(0, 96, cells=CELLS))  # 1.5 years each
    yield "heaped", Population(heaped, Grid(0, 250_000, cells=CELLS))
    yield "zero-inflated", Population(np.where(draw.random(SIZE) < 0.4, 0.0, heaped), Grid(-1000, 250_000, cells=CELLS))
    yield "clipped", Population(heaped, Grid(10_000, 40_000, cells=CELLS))
    yield CONTINUOUS, Population(draw.beta(2, 3, SIZE), Grid(0, 1, cells=CELLS))


POPULATIONS: Mapping[str, Population] = MappingProxyType(dict(_populations()))


def scores(kind: str, records: int, chance: np.random.Generator) -> FloatArray:
    """Scores as models give them: those of a tree of five leaves are tied; a half is heaped, or exactly 0 or 1."""
    spread = chance.beta(2, 3, records)
    match kind:
        case "continuous":
            return np.asarray(expit(chance.normal(-1, 1, records)))
        case "tied":
            return chance.choice([0.05, 0.1, 0.3, 0.55, 0.9], records)
        case "heaped":
            return np.where(chance.random(records) < 0.5, spread.round(1), spread)
        case "zero-inflated":
            return np.where(chance.random(records) < 0.5, chance.choice([0.0, 1.0], records, p=[0.8, 0.2]), spread)
        case _:
            return np.clip(spread, 0.05, 0.6)


def labels_of(score: FloatArray, chance: np.random.Generator, *, slope: float = 1.0, shift: float = 0.0) -> FloatArray:
    """Positive with log-odds of `slope` times those of the score, and `shift` more."""
    return (chance.random(len(score)) < chances_of(score, slope=slope, shift=shift)).astype(np.float64)


def chances_of(score: FloatArray, *, slope: float = 1.0, shift: float = 0.0) -> FloatArray:
    """The chances of such labels."""
    with np.errstate(divide="ignore"):
        return np.asarray(expit(slope * logit(score) + shift))


class People(NamedTuple):
    """Rising scores, each with the chances of a negative and of a positive record to have it, (2, scores)."""

    scores: FloatArray
    weights: FloatArray
    grid: Grid

    def drawn(self, records: int, chance: np.random.Generator) -> Counts:
        """How many records of each class have each score, (2, scores)."""
        return chance.multinomial(records, self.weights.ravel()).reshape(self.weights.shape)

    def in_cells(self, counts: Counts) -> FloatArray:
        """Counts (2, scores) in the slots of the grid, (2, slots)."""
        cell = self.grid.cell_of(self.scores)
        return np.stack([np.bincount(cell, row.astype(np.float64), minlength=self.grid.slots) for row in counts])

    def columns(self, counts: Counts) -> dict[str, FloatArray]:
        """The records themselves: labels `y` and scores `s`."""
        label = np.repeat([0.0, 1.0], counts.sum(axis=1))
        return {"y": label, "s": np.concatenate([np.repeat(self.scores, row) for row in counts])}


def people(kind: str, *, cells: int = CELLS, shift: float = 0.0) -> People:
    """A population whose model is right, but for a shift of the log-odds. Clipped scores lie outside their grid."""
    known, many = np.unique(scores(kind, SIZE, np.random.default_rng(7)), return_counts=True)
    positive = chances_of(known, shift=shift)
    grid = Grid(0.1, 0.55, cells=cells) if kind == "clipped" else Grid(0, 1, cells=cells, outside=Outside.APART)
    return People(known, np.stack([many * (1 - positive), many * positive]) / SIZE, grid)
