"""Deviations of cells from their mean in all windows of 1, 2, 4, 8, ... cells, in n log n steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray
from ...compiled import compiled

Places = NDArray[np.int32]
Penalties = NDArray[np.uint32]

LARGEST_INTEGER = 2**63 - 1
LARGEST_DEVIATION = 2**32 - 1


def window_deviations(counts: IntArray) -> Penalties:
    """The least sum of absolute distances of the cells of a window from one number, which is their median.

    Formal guarantees: a deviation is ``min over c of sum(|x_i - c|)``, so it changes by at most the L1 distance between
    two windows (of any two functions that each differ by at most d, the minima differ by at most d), and is not below
    zero; cut to 32 bits, it changes by no more.

    Args:
        counts: Whole numbers of at least 0, of shape ``(n,)``, below ``2**63 - 1`` together.

    Returns:
        Of shape ``(lengths, n + 1)``: in row k, at i, that of the ``2**k`` cells before place i; 0 where there are not
        so many.

    >>> window_deviations(np.array([5, 5, 2, 9]))
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 3, 7],
           [0, 0, 0, 0, 7]], dtype=uint32)
    """
    deviations = np.zeros((len(counts).bit_length(), len(counts) + 1), dtype=np.uint32)
    order, below = np.zeros(len(counts), dtype=np.int32), np.append(0, np.cumsum(counts))
    for power in range(1, len(deviations)):
        length = 1 << power
        padded = np.zeros(-(-len(counts) // length) * length + length, dtype=np.int64)
        padded[: len(counts)] = counts
        order = _merged(padded, order, length)
        lower = _lower_halves(*_taken_out(padded, order, length), power, len(counts))[length:]
        deviations[power, length:] = np.minimum(below[length:] - below[:-length] - 2 * lower, LARGEST_DEVIATION)
    return deviations


@compiled
def _merged(padded: IntArray, order: Places, length: int) -> Places:
    """Each block's places from its smallest to its largest cell, from those of its two halves; ties by place."""
    half = length // 2
    merged = np.empty(len(padded), dtype=np.int32)
    for start in range(0, len(padded), length):
        left, right, middle = 0, 0, start + half
        for k in range(length):
            a = order[start + left] if left < half and start + left < len(order) else left
            b = order[middle + right] if right < half and middle + right < len(order) else right
            if right == half or (left < half and padded[start + a] <= padded[middle + b]):
                merged[start + k] = a
                left += 1
            else:
                merged[start + k] = b + half
                right += 1
    return merged


@compiled
def _taken_out(padded: IntArray, order: Places, length: int) -> tuple[IntArray, Places, Places]:
    """List the cells of each block, linked in the order of size, from which all are taken out again.

    They are taken out from last to first: whoever puts them in from first to last finds for each its neighbours where
    it left them. Behind the cells of a block stands the end of its list, which is larger than all.
    """
    blocks = len(padded) // length
    values = np.empty((blocks, length + 1), dtype=np.int64)
    after, before = np.empty((2, blocks, length + 1), dtype=np.int32)
    for block in range(blocks):
        first, last = block * length, length
        values[block, :length], values[block, length] = padded[first : first + length], LARGEST_INTEGER
        for cell in order[first : first + length]:
            after[block, last], before[block, cell] = cell, last
            last = cell
        after[block, last], before[block, length] = length, last
        for cell in range(length - 1, -1, -1):
            smaller, larger = before[block, cell], after[block, cell]
            after[block, smaller], before[block, larger] = larger, smaller
    return values, after, before


@compiled
def _lower_halves(values: IntArray, after: Places, before: Places, power: int, cells: int) -> IntArray:
    """Sums of the smaller halves of windows, by their ends: (cells + 1,).

    A window moves over blocks of its own length (Suomela 2014): it has the end of one and the beginning of the next.
    `mark` is the first cell of a block that is not among the smaller half, `small` counts those before it, and `low` is
    the sum of the smaller half; of both blocks, those of even number first.
    """
    length, half, sums = 1 << power, 1 << power >> 1, np.zeros(cells + 1, dtype=np.int64)
    mark, small, low = np.full(2, length), np.zeros(2, dtype=np.int64), 0
    for end in range(1, cells + 1):
        new, cell = end - 1 >> power, end - 1 & length - 1
        old, into, out = new - 1, new & 1, 1 - (new & 1)
        if cell == 0:
            mark[into], small[into] = length, 0
        if new:  # the first cell of the old block leaves
            value, at = values[old, cell], mark[out]
            after[old, before[old, cell]], before[old, after[old, cell]] = after[old, cell], before[old, cell]
            among = value < values[old, at] or (value == values[old, at] and cell < at)
            if at == cell:
                mark[out] = after[old, cell]
            if among or small[out] > 0:
                mark[out] = mark[out] if among else before[old, mark[out]]
                small[out] -= 1
                low -= value if among else values[old, mark[out]]
        value, at = values[new, cell], mark[into]
        after[new, before[new, cell]] = before[new, after[new, cell]] = cell  # a cell of the new block comes
        if value < values[new, at] or (value == values[new, at] and cell < at):
            mark[into] = before[new, at]
            low += value - values[new, mark[into]]
        while small[0] + small[1] < min(half, end):
            ours = new and values[old, mark[out]] <= values[new, mark[into]]
            block, side = (old, out) if ours else (new, into)
            low += values[block, mark[side]]
            mark[side] = after[block, mark[side]]
            small[side] += 1
        sums[end] = low
    return sums
