"""Contrasts along several axes at once: the tensor product of Haar wavelets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from .law import CountLaw
from .noise import LEAST_VARIANCE, Noise, optional_from_json, optional_to_json


@dataclass(frozen=True, slots=True)
class HaarTensorSums(CountLaw):
    """The Haar wavelet transform of a table along each of its axes, with noise of its own on each value.

    Along an axis of p cells there are p values: the total, and the contrasts of the nodes of a binary tree, level by
    level from coarse to fine, in a level from left to right; see `HaarSums`. These are the bands of the axis. In a
    table they are taken along one axis after the other, in any order, so it has as many values as cells. Their order is
    that of the cells, the last axis fastest; then comes the count of all cells that do not lie in the table, if there
    are any, and at the end that of records that are missing.

    Attributes:
        sides: How many cells the table has along each axis.
        noises: The noises of the values of each combination of bands, that of the last axis fastest.
        apart: Noise of the count of records that lie in cells beyond the table. None: there are no such cells.
        missing: Noise of the count of records that are missing.

    Raises:
        ValueError: there is not one noise for each combination of bands.
    """

    KEY: ClassVar[str] = "wavelets"

    sides: tuple[int, ...]
    noises: tuple[Noise, ...]
    apart: Noise | None
    missing: Noise

    def __post_init__(self) -> None:
        if len(self.noises) != prod(len(bands(side)) for side in self.sides):
            raise Refused("noises", f"one for each combination of bands of {self.sides} cells, got {len(self.noises)}")

    @property
    def rows(self) -> int:
        """One: the table is flat."""
        return 1

    @property
    def cells(self) -> int:
        """The number of cells of the table."""
        return prod(self.sides)

    @property
    def size(self) -> int:
        return self.cells + (self.apart is not None) + 1

    @property
    def blocks(self) -> list[tuple[slice, ...]]:
        """The places of the values of each combination of bands in a table of values, in the order of `noises`."""
        return list(product(*(_slices(side) for side in self.sides)))

    @property
    def mean_prefix_variance(self) -> float:
        """The variance of an unbiased count of a box that begins at the first cell, the mean over all such boxes.

        Such a count is a sum of values times factors, each the product of one factor for every axis.
        """
        variances: FloatArray = np.array([noise.variance for noise in self.noises])
        variances = variances.reshape([len(bands(side)) for side in self.sides])
        for side in self.sides:
            variances = np.tensordot(mean_squares(side), variances, axes=(0, 0))
        return float(variances)

    def _own_json(self) -> dict[str, Any]:
        noises = [noise.to_json() for noise in self.noises]
        return {"sides": list(self.sides), "wavelets": noises, "apart": optional_to_json(self.apart)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        noises = tuple(Noise.from_json(noise) for noise in stored["wavelets"])
        sides = tuple(int(side) for side in stored["sides"])
        law = cls(sides, noises, optional_from_json(stored["apart"]), Noise.from_json(stored["missing"]))
        if (law.rows, law.cells) != (stored["rows"], stored["cells"]):
            raise Refused("evidence", f"a table of {law.cells} cells is needed")
        return law


def bands(side: int) -> tuple[int, ...]:
    """The numbers of totals and of contrasts of each level among the values of an axis, from coarse to fine.

    >>> bands(5), bands(8), bands(1)
    ((1, 1, 1, 2), (1, 1, 2, 4), (1,))
    """
    halves = (1 << level for level in reversed(range((side - 1).bit_length())))
    return (1, *((side + half - 1) // (2 * half) for half in halves))


def _slices(side: int) -> list[slice]:
    ends = np.cumsum([0, *bands(side)]).tolist()
    return [slice(begin, end) for begin, end in pairwise(ends)]


def mean_squares(side: int) -> FloatArray:
    """Mean squares of the factors with which values of each band are in prefixes of 1 to `side` cells.

    A node of total T and contrast D has ``(T + D) / 2`` in its left half and ``(T - D) / 2`` in its right half. So of a
    prefix that ends in it at a part u of the left half ``u / 2`` of both is taken, and at a part u of the right half
    ``(1 + u) / 2`` of T and ``(1 - u) / 2`` of D.

    >>> mean_squares(2)
    array([0.625, 0.125])
    """
    last, factor = np.arange(side), np.ones(side)
    found = []
    for half in (1 << level for level in range((side - 1).bit_length())):
        right = last // half % 2 == 1
        split = last // (2 * half) * (2 * half) + half < side
        own = np.where(right, 1 - factor, factor) / 2
        found.append(float(np.mean(np.where(split, own**2, 0.0))))
        factor = np.where(split, np.where(right, 1 - own, own), factor)
    return np.array([float(np.mean(factor**2)), *reversed(found)])


@dataclass(frozen=True, slots=True, eq=False)
class TableEstimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: The cells of the table, of shape ``law.sides``.
        apart: How many records lie in cells beyond the table; 0 if there are no such cells.
        missing: How many records are missing.
    """

    cells: FloatArray
    apart: float
    missing: float


def wavelet_estimate(law: HaarTensorSums, values: Sequence[int], total: int | None) -> TableEstimate:
    """Unbiased counts: there is no other linear estimate but for the total, which a public one corrects.

    Raises:
        ValueError: the values do not fit the law.
    """
    if len(values) != law.size:
        raise Refused("values", f"{law.size} are needed to fit the law, got {len(values)}")
    found = np.asarray(values, dtype=np.float64)
    table, single = found[: law.cells].reshape(law.sides).copy(), found[law.cells :]
    if total is not None:
        noises = [law.noises[0], *([] if law.apart is None else [law.apart]), law.missing]
        share = np.array([max(noise.variance, LEAST_VARIANCE) for noise in noises])
        share *= (total - table.flat[0] - single.sum()) / share.sum()
        table.flat[0] += share[0]
        single = single + share[1:]
    for axis in range(table.ndim):
        table = np.moveaxis(_cells(np.moveaxis(table, axis, -1)), -1, axis)
    return TableEstimate(table, float(single[:-1].sum()), float(single[-1]))


def _cells(values: FloatArray) -> FloatArray:
    """Along the last axis: totals and contrasts to cells. A node without a right half is its left half."""
    side = values.shape[-1]
    total, *contrasts = np.split(values, np.cumsum(bands(side)[:-1]), axis=-1)
    for level, contrast in enumerate(contrasts):
        split = contrast.shape[-1]
        halves = np.empty((*contrast.shape[:-1], -(-side >> (len(contrasts) - 1 - level))))
        halves[..., 0 : 2 * split : 2] = (total[..., :split] + contrast) / 2
        halves[..., 1 : 2 * split : 2] = (total[..., :split] - contrast) / 2
        halves[..., 2 * split :] = total[..., split:]
        total = halves
    return total
