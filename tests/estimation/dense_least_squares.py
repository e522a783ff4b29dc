"""Least squares written down as in a textbook, with dense matrices; and small random distributions to try it on."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.distributions import Family, IntervalSums, Noise, Tier

FloatArray = NDArray[np.float64]


class Dense(NamedTuple):
    """The best linear unbiased estimate of all cells, row by row, and of the missing count behind them."""

    estimate: FloatArray
    covariance: FloatArray


def value_variances(distribution: IntervalSums) -> FloatArray:
    parts = [np.full(distribution.rows * len(level.starts), level.noise.variance) for level in distribution.levels]
    return np.concatenate([*parts, [] if distribution.missing is None else [distribution.missing.variance]])


def dense_least_squares(distribution: IntervalSums, values: FloatArray, total: int | None) -> Dense:
    design, spread = _design(distribution)
    precision = design.T / value_variances(distribution)
    covariance = np.linalg.inv(precision @ design)
    estimate = covariance @ precision @ values
    if total is not None:
        everything = np.ones(design.shape[1])  # Lagrange: condition on the sum of all unknowns
        gain = covariance @ everything / (everything @ covariance @ everything)
        estimate = estimate + gain * (total - everything @ estimate)
        covariance = covariance - np.outer(gain, everything @ covariance)
    return Dense(spread @ estimate, spread @ covariance @ spread.T)


def _design(distribution: IntervalSums) -> tuple[FloatArray, FloatArray]:
    """Unknowns (finest intervals of each row, the missing count) to values; and unknowns to cells."""
    finest = distribution.levels[-1].bounds(distribution.cells)
    pieces, apart = len(finest) - 1, distribution.missing is not None
    blocks = [
        np.kron(np.eye(distribution.rows), _covers(level.bounds(distribution.cells), finest))
        for level in distribution.levels
    ]
    design = np.zeros((distribution.size, distribution.rows * pieces + apart))
    design[: distribution.size - apart, : distribution.rows * pieces] = np.concatenate(blocks)
    spread = np.zeros((distribution.rows * distribution.cells + apart, distribution.rows * pieces + apart))
    share = (_covers(finest, np.arange(distribution.cells + 1)) / np.diff(finest)[:, None]).T
    spread[: distribution.rows * distribution.cells, : distribution.rows * pieces] = np.kron(
        np.eye(distribution.rows), share
    )
    if apart:
        design[-1, -1] = spread[-1, -1] = 1
    return design, spread


def _covers(coarse: NDArray[np.int64], fine: NDArray[np.int64]) -> FloatArray:
    inside = (coarse[:-1, None] <= fine[:-1]) & (fine[1:] <= coarse[1:, None])
    return inside.astype(np.float64)


noises = st.builds(Noise, st.sampled_from(Family), st.fractions(Fraction(1, 4), Fraction(60), max_denominator=4))


@st.composite
def regular_levels(draw: st.DrawFn, cells: int) -> tuple[Tier, ...]:
    """Widths that divide each other; the last interval is shorter where they do not divide the cells."""
    width, levels = draw(st.integers(1, 3)), list[Tier]()
    while width < cells or not levels:
        levels.append(Tier(range(0, cells, width), draw(noises)))
        width *= draw(st.integers(2, 4))
    return tuple(reversed(levels))


@st.composite
def irregular_levels(draw: st.DrawFn, cells: int) -> tuple[Tier, ...]:
    starts, levels = list(range(cells)), list[Tier]()
    for _ in range(draw(st.integers(1, 4))):
        starts = [0] + [start for start in starts[1:] if draw(st.booleans())]
        levels.append(Tier(tuple(starts), draw(noises)))
    return tuple(reversed(levels))


@st.composite
def distributions(draw: st.DrawFn) -> IntervalSums:
    cells = draw(st.integers(1, 14))
    levels = draw(st.one_of(regular_levels(cells), irregular_levels(cells)))
    return IntervalSums(draw(st.integers(1, 3)), cells, levels, draw(st.none() | noises))


totals = st.none() | st.integers(0, 1000)
