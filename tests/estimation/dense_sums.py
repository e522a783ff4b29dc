"""Least squares on contrasts and convolved sums, written down as in a textbook, with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
from dense_least_squares import Dense, FloatArray

from dpcurves.laws import Family, HaarSums, Noise, NoisySums, NormalisedSums, ToeplitzSums

Law = HaarSums | ToeplitzSums


def value_variances(law: NoisySums) -> FloatArray:
    parts = [np.full(law.rows * part.length, part.noise.variance) for part in law.parts]
    return np.concatenate([*parts, [] if law.missing is None else [law.missing.variance]])


def design(law: Law) -> FloatArray:
    """From unknowns (the intervals of each row, the missing count) to values, by the definitions."""
    blocks = [np.kron(np.eye(law.rows), block) for block in _blocks(law)]
    apart = law.missing is not None
    matrix = np.zeros((law.size, law.rows * law.points + apart))
    matrix[: law.size - apart, : law.rows * law.points] = np.concatenate(blocks)
    if apart:
        matrix[-1, -1] = 1
    return matrix


def _blocks(law: Law) -> list[FloatArray]:
    """List the matrices of one row, one for each part."""
    if isinstance(law, ToeplitzSums):
        root = [1.0]
        for k in range(1, law.points):
            root.append(root[-1] * (2 * k - 1) / (2 * k))
        rounded = [floor(weight * 2**law.bits + 0.5) for weight in root]
        lower = [[rounded[i - j] if j <= i else 0 for j in range(law.points)] for i in range(law.points)]
        block = np.array(lower, dtype=np.float64)
        if isinstance(law, NormalisedSums):  # columns that are about equally long
            squared = (block**2).sum(axis=0) / 4.0**law.bits
            block = block * np.floor(2**law.column_bits / np.sqrt(squared) + 1e-9)
        return [block]
    blocks = [np.ones((1, law.points))] if law.top is not None else []
    size = 2
    levels = []
    while size < 2 * law.points:
        nodes = range(0, law.points, size)
        lines = [_signs(law.points, node, size // 2) for node in nodes if node + size // 2 < law.points]
        levels.append(np.array(lines))
        size *= 2
    return blocks + levels[::-1]


def _signs(points: int, node: int, half: int) -> FloatArray:
    line = np.zeros(points)
    line[node : node + half] = 1
    line[node + half : node + 2 * half] = -1
    return line


def dense_sums(law: Law, values: FloatArray, total: int | None) -> Dense:
    """The best linear unbiased cells, row by row, and the missing count behind them."""
    matrix, spread = design(law), _spread(law)
    border = np.zeros((matrix.shape[1] + 1, matrix.shape[1] + 1))
    precision = matrix.T / value_variances(law)
    border[:-1, :-1] = precision @ matrix
    known = float(total is not None)
    border[-1, :-1] = border[:-1, -1] = known
    border[-1, -1] = 1 - known
    inverse = np.linalg.inv(border)
    estimate = inverse[:-1] @ np.append(precision @ values, total or 0)
    return Dense(spread @ estimate, spread @ inverse[:-1, :-1] @ spread.T)


def _spread(law: Law) -> FloatArray:
    """Evenly over the cells of each interval."""
    row = np.zeros((law.cells, law.points))
    for cell in range(law.cells):
        point = cell // law.width
        row[cell, point] = 1 / (min(law.width * (point + 1), law.cells) - law.width * point)
    apart = int(law.missing is not None)
    spread = np.zeros((law.rows * law.cells + apart, law.rows * law.points + apart))
    spread[: law.rows * law.cells, : law.rows * law.points] = np.kron(np.eye(law.rows), row)
    spread[law.rows * law.cells :, law.rows * law.points :] = np.eye(apart)
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


def random_laws() -> list[Law]:
    dice = np.random.default_rng(2)
    return [*random_contrasts(), *(_random_convolved(dice) for _ in range(60))]
