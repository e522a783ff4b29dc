"""Least squares on contrasts and convolved sums, written down as in a textbook, with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
from dense_least_squares import Dense, FloatArray

from dpcurves.distributions import Family, HaarSums, Noise, NoisySums, NormalisedSums, ToeplitzSums

Distribution = HaarSums | ToeplitzSums


def value_variances(distribution: NoisySums) -> FloatArray:
    parts = [np.full(distribution.rows * part.length, part.noise.variance) for part in distribution.parts]
    return np.concatenate([*parts, [] if distribution.missing is None else [distribution.missing.variance]])


def design(distribution: Distribution) -> FloatArray:
    """From unknowns (the intervals of each row, the missing count) to values, by the definitions."""
    blocks = [np.kron(np.eye(distribution.rows), block) for block in _blocks(distribution)]
    apart = distribution.missing is not None
    matrix = np.zeros((distribution.size, distribution.rows * distribution.points + apart))
    matrix[: distribution.size - apart, : distribution.rows * distribution.points] = np.concatenate(blocks)
    if apart:
        matrix[-1, -1] = 1
    return matrix


def _blocks(distribution: Distribution) -> list[FloatArray]:
    """List the matrices of one row, one for each part."""
    if isinstance(distribution, ToeplitzSums):
        root = [1.0]
        for k in range(1, distribution.points):
            root.append(root[-1] * (2 * k - 1) / (2 * k))
        rounded = [floor(weight * 2**distribution.bits + 0.5) for weight in root]
        lower = [
            [rounded[i - j] if j <= i else 0 for j in range(distribution.points)] for i in range(distribution.points)
        ]
        block = np.array(lower, dtype=np.float64)
        if isinstance(distribution, NormalisedSums):  # columns that are about equally long
            squared = (block**2).sum(axis=0) / 4.0**distribution.bits
            block = block * np.floor(2**distribution.column_bits / np.sqrt(squared) + 1e-9)
        return [block]
    blocks = [np.ones((1, distribution.points))] if distribution.top is not None else []
    size = 2
    levels = []
    while size < 2 * distribution.points:
        nodes = range(0, distribution.points, size)
        lines = [
            _signs(distribution.points, node, size // 2) for node in nodes if node + size // 2 < distribution.points
        ]
        levels.append(np.array(lines))
        size *= 2
    return blocks + levels[::-1]


def _signs(points: int, node: int, half: int) -> FloatArray:
    line = np.zeros(points)
    line[node : node + half] = 1
    line[node + half : node + 2 * half] = -1
    return line


def dense_sums(distribution: Distribution, values: FloatArray, total: int | None) -> Dense:
    """The best linear unbiased cells, row by row, and the missing count behind them."""
    matrix, spread = design(distribution), _spread(distribution)
    border = np.zeros((matrix.shape[1] + 1, matrix.shape[1] + 1))
    precision = matrix.T / value_variances(distribution)
    border[:-1, :-1] = precision @ matrix
    known = float(total is not None)
    border[-1, :-1] = border[:-1, -1] = known
    border[-1, -1] = 1 - known
    inverse = np.linalg.inv(border)
    estimate = inverse[:-1] @ np.append(precision @ values, total or 0)
    return Dense(spread @ estimate, spread @ inverse[:-1, :-1] @ spread.T)


def _spread(distribution: Distribution) -> FloatArray:
    """Evenly over the cells of each interval."""
    row = np.zeros((distribution.cells, distribution.points))
    for cell in range(distribution.cells):
        point = cell // distribution.width
        row[cell, point] = 1 / (min(distribution.width * (point + 1), distribution.cells) - distribution.width * point)
    apart = int(distribution.missing is not None)
    spread = np.zeros((distribution.rows * distribution.cells + apart, distribution.rows * distribution.points + apart))
    spread[: distribution.rows * distribution.cells, : distribution.rows * distribution.points] = np.kron(
        np.eye(distribution.rows), row
    )
    spread[distribution.rows * distribution.cells :, distribution.rows * distribution.points :] = np.eye(apart)
    return spread


def _noise(dice: np.random.Generator) -> Noise:
    return Noise(Family.GAUSSIAN if dice.random() < 0.5 else Family.LAPLACE, Fraction(int(dice.integers(2, 240)), 4))


def _random_contrasts(dice: np.random.Generator) -> HaarSums:
    rows, cells, width = int(dice.integers(1, 4)), int(dice.integers(1, 20)), int(dice.integers(1, 4))
    levels = tuple(_noise(dice) for _ in range((-(-cells // width) - 1).bit_length()))
    return HaarSums(rows, cells, width, _noise(dice), levels, _noise(dice) if dice.random() < 0.7 else None)


def _random_convolved(dice: np.random.Generator) -> ToeplitzSums:
    rows, cells, width = int(dice.integers(1, 4)), int(dice.integers(1, 20)), int(dice.integers(1, 4))
    bits = int(dice.integers(1, 21))
    noise = Noise(Family.GAUSSIAN, Fraction(int(dice.integers(2, 240)) * 4**bits, 4))
    missing = _noise(dice) if dice.random() < 0.7 else None
    if dice.random() < 0.5:
        return ToeplitzSums(rows, cells, width, bits, noise, missing)
    column_bits = int(dice.integers(3, 13))
    noise = replace(noise, parameter=noise.parameter * 4**column_bits)
    return NormalisedSums(rows, cells, width, bits, noise, missing, column_bits=column_bits)


def random_contrasts() -> list[HaarSums]:
    dice = np.random.default_rng(1)
    return [_random_contrasts(dice) for _ in range(60)]


def random_distributions() -> list[Distribution]:
    dice = np.random.default_rng(2)
    return [*random_contrasts(), *(_random_convolved(dice) for _ in range(60))]
