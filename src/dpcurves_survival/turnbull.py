"""Turnbull's estimate from counts of pairs of cells: an event came after the one and by the end of the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.inference.bands import simultaneous_errors
from dpcurves.summaries.two_classes import on_simplex

STEPS, STEPS_OF_DRAWS, SETTLED = 20_000, 300, 1e-13
MIXED = 0.1
"""The share of an even law in the beginning: what has no mass never gets any."""
LEAST = 1e-300


def collapsed(slots: FloatArray, *, early: bool) -> FloatArray:
    """Counts by the first cell an event may lie in and by the cell past the last one: (..., cells + 1, cells + 1).

    Entry ``(a, b)`` holds events in cells a to b; the last cell is for those beyond the grid. Of whole numbers an event
    after the value of one cell lies in the next at the earliest. Where times are exact, this is where each is rounded
    up to the end of its cell; rounded down, an event lies in the same cell at the earliest, and before the one in which
    it was seen.

    Args:
        slots: By the last time without and the first time with an event, on a grid that counts values outside apart.
        early: Whether times are rounded down.
    """
    cells = slots.shape[-1] - 2
    last, first = np.meshgrid(np.arange(-1, cells + 1), np.arange(-1, cells + 1), indexing="ij")
    begin = np.clip(last if early else last + 1, 0, cells)
    end = np.clip(np.where(first > cells - 1, cells, first - early), 0, cells)
    alike = last == first  # both in one cell: it came there
    begin, end = np.where(alike, np.clip(last, 0, cells), begin), np.where(alike, np.clip(last, 0, cells), end)
    end = np.where((last < first) | alike, np.maximum(end, begin), -1)
    found = np.zeros((*slots.shape[:-2], cells + 1, cells + 1))
    for row, column in zip(*np.nonzero(end >= 0), strict=True):
        found[..., begin[row, column], end[row, column]] += slots[..., row, column]
    return found


def likely_of(counts: FloatArray) -> FloatArray:
    """Counts with none below zero and with the same sum, of pairs that are possible: the nearest ones.

    >>> likely_of(np.array([[3.0, -1.0], [0.0, 2.0]])).tolist()
    [[2.5, 0.0], [0.0, 1.5]]
    """
    size = counts.shape[-1]
    possible = np.triu(np.ones((size, size), dtype=np.bool_))
    rows = counts.reshape(-1, size, size)
    found = np.zeros_like(rows)
    for row, given in zip(found, rows, strict=True):
        row[possible] = on_simplex(given[possible], max(float(given[possible].sum()), 1.0))
    return found.reshape(counts.shape)


def turnbull(counts: FloatArray, start: FloatArray | None = None, steps: int = STEPS) -> FloatArray:
    """The most likely masses of cells, by self-consistency (Turnbull 1976; Efron 1967): (..., cells + 1).

    Args:
        counts: From `likely_of`, (..., cells + 1, cells + 1).
        start: Masses to begin with; None: even ones.
        steps: At most so many steps.
    """
    size = counts.shape[-1]
    even = np.full((*counts.shape[:-2], size), 1 / size)
    mass = even if start is None else (1 - MIXED) * start + MIXED * even
    whole = np.maximum(counts.sum(axis=(-2, -1)), LEAST)[..., None]
    for _ in range(steps):
        below = np.cumsum(mass, axis=-1)
        chance = below[..., None, :] - (below - mass)[..., :, None]
        share = np.divide(counts, chance, out=np.zeros_like(counts), where=(counts > 0) & (chance > LEAST))
        opened, closed = share.sum(axis=-1), share.sum(axis=-2)
        closed = np.concatenate([np.zeros((*closed.shape[:-1], 1)), closed[..., :-1]], axis=-1)
        moved = mass * np.cumsum(opened - closed, axis=-1) / whole
        change, mass = float(np.abs(moved - mass).max(initial=0.0)), np.maximum(moved, 0.0)
        if change < SETTLED:
            break
    return mass


def survivors(likely: FloatArray) -> FloatArray:
    """The share without an event past each cell, from counts of `likely_of`: (cells,)."""
    return 1 - np.cumsum(turnbull(likely))[:-1]


class Masses(NamedTuple):
    """The share without an event past each cell, and errors of it that noise, or sampling too, makes by simulation.

    Attributes:
        left: (cells,).
        errors: (draws, cells).
    """

    left: FloatArray
    errors: FloatArray

    @classmethod
    def simulated(cls, counts: FloatArray, noise: FloatArray, sampled: np.random.Generator | None) -> Masses:
        """From collapsed counts and draws of their noise; with a generator, also of as many records (a bootstrap)."""
        likely = likely_of(counts)
        found = turnbull(likely)
        drawn = likely + noise
        if sampled is not None:
            people = max(round(float(likely.sum())), 1)
            many = sampled.multinomial(people, likely.ravel() / max(float(likely.sum()), 1.0), size=len(noise))
            drawn += many.reshape(noise.shape) - likely
        moved = turnbull(likely_of(drawn), np.broadcast_to(found, (len(noise), len(found))), STEPS_OF_DRAWS)
        left = 1 - np.cumsum(found)[:-1]
        return cls(left, (1 - np.cumsum(moved, axis=-1)[:, :-1]) - left)

    def band(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends that hold all shares at once, each less what noise adds on average."""
        bias = self.errors.mean(axis=0)
        half = simultaneous_errors([self.errors - bias], level)
        return self.left - bias - half, self.left - bias + half
