"""How much worse a method is than the best one of each cell of a table: never below 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .data import FloatArray
from .errors import Measured


class Cell(NamedTuple):
    """One task at one epsilon."""

    task: str
    epsilon: str


Rows = Mapping[str, Measured]
"""What each method made of one cell."""


class Regrets(NamedTuple):
    """Regrets of one method, over all cells.

    Attributes:
        mean: The geometric mean of each metric, (3,).
        worst: The largest one, (3,).
        where: The cells of the largest ones.
    """

    mean: FloatArray
    worst: FloatArray
    where: tuple[Cell, ...]


def regrets(table: Mapping[Cell, Rows], method: str) -> Regrets:
    """Against the best of all rows of a cell, its own among them."""
    cells = list(table)
    ratios = np.array([table[cell][method].mean / best(table[cell]) for cell in cells])
    worst = ratios.argmax(axis=0)
    return Regrets(np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0), tuple(cells[place] for place in worst))


def best(rows: Rows, without: str = "") -> FloatArray:
    """The least mean of each metric, (3,)."""
    return np.min([measured.mean for name, measured in rows.items() if name != without], axis=0)


def best_names(rows: Rows, without: str) -> list[str]:
    """Whose the least means of the others are."""
    names = [name for name in rows if name != without]
    means = np.array([rows[name].mean for name in names])
    return [names[place] for place in means.argmin(axis=0)]
