"""Public laws of records that answers are rehearsed on: numbers along a grid, classes and scores, and points."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..data import Grid

Generator = np.random.Generator
Places = Callable[[Generator, int], FloatArray]
"""So many places along a grid, from 0 to 1."""
Bits = NDArray[np.int64]
ClassesAndScores = Callable[[Generator, int], tuple[Bits, FloatArray]]
"""Classes, 0 or 1, and scores from 0 to 1, of so many records."""
Points = Callable[[Generator, int], tuple[FloatArray, FloatArray]]
"""So many points."""
TIES = 40


def _hill(draw: Generator, size: int) -> FloatArray:
    return np.clip(draw.normal(0.5, 0.125, size), 0, 1)


def _tail(draw: Generator, size: int) -> FloatArray:
    return np.clip(draw.lognormal(-2.3, 0.9, size), 0, 1)


def _tied(draw: Generator, size: int) -> FloatArray:
    return np.floor(draw.beta(2, 3, size) * TIES) / TIES


def _narrow(draw: Generator, size: int) -> FloatArray:
    """Nine of ten within a hundredth of the grid."""
    return np.where(draw.random(size) < 0.9, draw.normal(0.3, 0.0025, size), draw.random(size))


def _zeros(draw: Generator, size: int) -> FloatArray:
    """A third at the lower end, as wages of all; the others in a long tail, most of them on round numbers."""
    tail = _tail(draw, size)
    heaped = np.where(draw.random(size) < 0.7, np.floor(tail * TIES) / TIES, tail)
    return np.where(draw.random(size) < 1 / 3, 0.0, heaped)


PLACES = MappingProxyType(
    {
        "a hill": _hill, "a long tail": _tail, "tied values": _tied, "a narrow peak": _narrow,
        "a third zero, the rest heaped": _zeros,
    }
)  # fmt: skip


def _watched(places: Places) -> Callable[[Generator, int], tuple[FloatArray, Bits]]:
    """Times at these places, and whether they are those of an event: half of the records are watched until another."""

    def drawn(draw: Generator, size: int) -> tuple[FloatArray, Bits]:
        time, until = places(draw, size), 1.3 * places(draw, size)
        until = np.where(draw.random(size) < 0.5, until, np.inf)
        return np.minimum(time, until), (time <= until).astype(np.int64)

    return drawn


TIMES = MappingProxyType({name: _watched(PLACES[name]) for name in ("a hill", "a long tail", "tied values")})


def _pairs(lean: float) -> Points:
    """Two places, of which the second follows the first as far as `lean` says."""

    def drawn(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
        first = draw.beta(1, 2, size)
        return first, lean * first + (1 - lean) * draw.random(size)

    return drawn


def _mostly_one(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    """Nine of ten in one pair."""
    first, second = _pairs(0.3)(draw, size)
    rare = draw.random(size) < 0.1
    return np.where(rare, first, 0.0), np.where(rare, second, 0.0)


PAIRS = MappingProxyType(
    {
        "independent columns": _pairs(0.0), "columns that go together": _pairs(0.7),
        "nine of ten in one pair": _mostly_one,
    }
)  # fmt: skip


def _classes(positive: float, apart: float, steps: int = 0) -> ClassesAndScores:
    """Scores are the chances to be positive, of classes so many standard deviations apart; in steps, if there are any.

    Args:
        positive: What part of the records is positive.
        apart: How far apart the classes are.
        steps: Into how many steps the scores are rounded; 0: none.
    """

    def drawn(draw: Generator, size: int) -> tuple[Bits, FloatArray]:
        from scipy.special import expit, logit

        bits = (draw.random(size) < positive).astype(np.int64)
        hidden = draw.normal(size=size) + apart * bits
        score = np.asarray(expit(apart * hidden - apart**2 / 2 + logit(positive)))
        return bits, np.round(score * steps) / steps if steps else score

    return drawn


CLASSES = MappingProxyType(
    {
        "as many of each class": _classes(0.5, 1),
        "one positive in fifty": _classes(0.02, 1.5),
        "classes far apart": _classes(0.4, 3),
        "tied scores": _classes(0.3, 1, 10),
    }
)


def _even(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    return draw.random(size), draw.random(size)


def _blobs(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    centres, widths, own = draw.random((6, 2)), draw.uniform(0.02, 0.1, 6), draw.integers(0, 6, size)
    across, upwards = (np.clip(draw.normal(axis[own], widths[own]), 0, 1) for axis in centres.T)
    return across, upwards


def _along_a_line(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    across = _tail(draw, size)
    return across, np.clip(across + draw.normal(0, 0.05, size), 0, 1)


POINTS = MappingProxyType({"even": _even, "six blobs": _blobs, "along a line": _along_a_line})


def _residuals(spread: Callable[[Generator, FloatArray], FloatArray]) -> Points:
    """Predictions, in their units, with residuals in theirs."""

    def drawn(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
        predicted = draw.normal(0, 3, size)
        return predicted, spread(draw, predicted)

    return drawn


RESIDUALS = MappingProxyType(
    {
        "normal": _residuals(lambda draw, at: draw.normal(0, 2, len(at))),
        "a fan": _residuals(lambda draw, at: np.abs(at) * draw.normal(0, 0.7, len(at))),
        "heavy tails": _residuals(lambda draw, at: draw.standard_t(3, len(at))),
    }
)


Hidden = tuple[Generator, int, float]
"""What a regression is made up of: random numbers, how many records, and how strong the effect is."""


def _effect(strength: float) -> Callable[[Generator, int], Hidden]:
    return lambda draw, size: (draw, size, strength)


EFFECTS = MappingProxyType(
    {"no effect": _effect(0.0), "a weak effect": _effect(0.2), "an effect that is plain to see": _effect(1.0)}
)


def along(grid: Grid, places: FloatArray) -> FloatArray:
    """Values at these places of a grid, by the numbers of its cells: so they are as even along any kind of grid."""
    position = np.clip(places, 0, 1) * grid.cells
    cell = np.minimum(position.astype(np.int64), grid.cells - 1)
    left, right = grid.edge(cell), grid.edge(cell + 1)
    return np.asarray(left + (position - cell) * (right - left))
