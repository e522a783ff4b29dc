"""Records like those of a released curve: drawn from it alone, so that nothing is spent (post-processing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import Refused, WrongKind, shown
from ..arrays import FloatArray
from ..curves import (
    CDF,
    ROC,
    Contingency,
    ContingencyQuestion,
    Histogram,
    Histogram2D,
    Histogram2DQuestion,
    Scores,
    Survival,
    SurvivalQuestion,
)
from ..curves.turns.labels import labels
from ..data import Grid, Outside
from .reference_laws import Generator

Table = dict[str, Any]
Law = Callable[[Generator, int], Table]


def law_of(question: Any, curve: object, needed: str) -> tuple[Law, float]:
    """The law of records that a curve says they have, in the columns of a question, and how many it says there are.

    Records lie evenly within cells, for nothing was counted there; with declared values they lie on them.

    Raises:
        TypeError: this is no curve that says how records lie.
        ValueError: it says so of other columns than the question is about.
    """
    match curve:
        case CDF() if hasattr(question, "column"):
            grid, shares = curve.prefixes.grid, np.diff(curve.y)
            return _of_one(question.column, shares, grid), curve.count
        case Histogram() if hasattr(question, "column"):
            return _of_one(question.column, curve.count, curve.grid), curve.total
        case Scores() | ROC() if hasattr(question, "score") and isinstance(question.score, str):
            return _of_classes(question, curve.table.counts.likely, curve.table.grid)
        case Survival() if isinstance(question, SurvivalQuestion):
            return _of_times(question, curve), float(curve.at_risk[0])
        case Contingency() if isinstance(question, ContingencyQuestion):
            return _of_pairs(question, curve), float(np.maximum(curve.unbiased, 0).sum())
        case Histogram2D() if isinstance(question, Histogram2DQuestion):
            return _of_points(question, curve), float(curve.count.sum())
        case CDF() | Histogram() | Scores() | ROC() | Survival() | Contingency() | Histogram2D():
            rule = f"a {type(curve).__name__} does not say how the records of a {type(question).__name__} lie"
            raise Refused("like", rule)
        case _:
            raise WrongKind("like", f"{needed} is needed, got {shown(curve)}")


def _chances(weights: FloatArray) -> FloatArray:
    """Shares that add up to 1, by weights; all equal where there is no weight."""
    weights = np.maximum(np.nan_to_num(np.asarray(weights, dtype=np.float64).ravel()), 0.0)
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def _within(edges: FloatArray, values: FloatArray | None, cell: Any, draw: Generator) -> FloatArray:
    """A place in each of these cells."""
    if values is not None:
        return np.asarray(values[cell])
    return np.asarray(edges[cell] + (edges[cell + 1] - edges[cell]) * draw.random(len(cell)))


def _of_one(column: str, weights: FloatArray, grid: Grid) -> Law:
    edges, values, chances = grid.edges, grid.values, _chances(weights)
    cells = len(edges) - 1
    chances = chances if len(chances) == cells else _chances(chances[1 : 1 + cells])  # those outside are left out

    def drawn(draw: Generator, size: int) -> Table:
        return {column: _within(edges, values, draw.choice(cells, size, p=chances), draw)}

    return drawn


def _of_classes(question: Any, counts: FloatArray, grid: Grid) -> tuple[Law, float]:
    """Scores outside the grid, where they are counted apart, lie at its ends."""
    names = np.array(labels(question.label, question.pos_label, question.neg_label).values)
    slots, chances, edges = counts.shape[1], _chances(counts), grid.edges

    def drawn(draw: Generator, size: int) -> Table:
        bit, slot = np.divmod(draw.choice(2 * slots, size, p=chances), slots)
        inner = slot - int(grid.outside is Outside.APART)
        score = _within(edges, grid.values, np.clip(inner, 0, grid.cells - 1), draw)
        score = np.where(inner < 0, edges[0], np.where(inner >= grid.cells, edges[-1], score))
        return {question.label: names[bit], question.score: score}

    return drawn, float(counts.sum())


def _of_times(question: SurvivalQuestion, curve: Survival) -> Law:
    """Times of events by the curve, and times until which records are watched by how many are at risk beside it."""
    names = np.array(labels(question.event, question.came, question.censored, ("censored", "came")).values)
    left = np.append(curve.at_risk[1:], 0.0) / max(float(curve.at_risk[0]), 1.0)
    watched = np.minimum.accumulate(np.clip(left / np.maximum(curve.y, 1e-9), 0.0, 1.0))
    edges, values = curve.x, curve.grid.values
    happens, ends = (_chances(np.append(-np.diff(each), each[-1])) for each in (curve.y, watched))

    def drawn(draw: Generator, size: int) -> Table:
        cell, until = (draw.choice(len(edges), size, p=each) for each in (happens, ends))
        placed = [_within(edges, values, np.minimum(each, len(edges) - 2), draw) for each in (cell, until)]
        time, stop = (
            np.where(each < len(edges) - 1, at, np.inf) for each, at in zip((cell, until), placed, strict=True)
        )
        came = (time <= stop) & np.isfinite(time)
        seen = np.minimum(np.minimum(time, stop), edges[-1])
        return {question.time: seen, question.event: names[came.astype(np.int64)]}

    return drawn


def _of_pairs(question: ContingencyQuestion, curve: Contingency) -> Law:
    sides, chances = (question.rows, question.columns), _chances(curve.unbiased)
    shape = curve.unbiased.shape
    if shape != (question.rows.slots, question.columns.slots):
        raise Refused("like", f"a table of {question.rows.slots} by {question.columns.slots} pairs is needed")

    def drawn(draw: Generator, size: int) -> Table:
        places = np.divmod(draw.choice(len(chances), size, p=chances), shape[1])
        return {side.column: np.array(side.values)[at] for side, at in zip(sides, places, strict=True)}

    return drawn


def _of_points(question: Histogram2DQuestion, curve: Histogram2D) -> Law:
    chances, across = _chances(curve.count), curve.count.shape[1]

    def drawn(draw: Generator, size: int) -> Table:
        x, y = np.divmod(draw.choice(len(chances), size, p=chances), across)
        return {
            question.x: _within(curve.x_edges, None, x, draw),
            question.y: _within(curve.y_edges, None, y, draw),
        }

    return drawn
