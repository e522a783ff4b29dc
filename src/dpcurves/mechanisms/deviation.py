"""How far the cells of every window are from being alike: all windows of 1, 2, 4, 8, ... cells, in n log n steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Counts = NDArray[np.int64]
Penalties = NDArray[np.uint32]


def window_deviations(counts: Counts) -> Penalties:
    """The least sum of absolute distances of the cells of a window from one number, which is their median.

    Formal guarantees: a deviation is ``min over c of sum(|x_i - c|)``, so it changes by at most the L1 distance between
    two windows (of any two functions that each differ by at most d, the minima differ by at most d), and is not below
    zero; cut to 32 bits, it changes by no more.

    Args:
        counts: Whole numbers of at least 0, of shape ``(n,)``, below 2**63 together.

    Returns:
        Of shape ``(lengths, n + 1)``: in row k, at i, that of the ``2**k`` cells before place i; 0 where there are not
        so many.

    >>> window_deviations(np.array([5, 5, 2, 9]))
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 3, 7],
           [0, 0, 0, 0, 7]], dtype=uint32)
    """
    deviations = np.zeros((len(counts).bit_length(), len(counts) + 1), dtype=np.uint32)
    order = np.zeros(len(counts), dtype=np.int32)
    for power in range(1, len(deviations)):
        length = 1 << power
        padded = np.zeros(-(-len(counts) // length) * length + length, dtype=np.int64)
        padded[: len(counts)] = counts
        order = _merged(padded, order, length)
        _slide(padded, order, length, deviations[power])
    return deviations


@compiled
def _merged(padded: Counts, order: NDArray[np.int32], length: int) -> NDArray[np.int32]:
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
def _slide(padded: Counts, order: NDArray[np.int32], length: int, deviations: Penalties) -> None:  # noqa: PLR0912
    """Move a window over blocks of its own length (Suomela 2014): it has the end of one and the beginning of the next.

    Of both blocks the cells in the window form a linked list in the order of size. The last block's cells come in from
    first to last, so they are all taken out before, from last to first: then each finds its neighbours where it left
    them. `mark` is the first cell of a block that is not among the smaller half of the window, `small` counts those
    before it, and `low` is the sum of the smaller half.
    """
    after, before = np.empty((2, length + 1), dtype=np.int32), np.empty((2, length + 1), dtype=np.int32)
    mark, small = np.full(2, length), np.zeros(2, dtype=np.int64)
    half, ends, low, whole, old = length // 2, len(deviations) - 1, 0, 0, 0
    for block in range(len(padded) // length):
        new, first = 1 - old, block * length
        last = length  # the list of the new block, and all its cells taken out again
        for k in range(length):
            cell = order[first + k]
            after[new, last], before[new, cell] = cell, last
            last = cell
        after[new, last], before[new, length] = length, last
        for cell in range(length - 1, -1, -1):
            after[new, before[new, cell]], before[new, after[new, cell]] = after[new, cell], before[new, cell]
        mark[new], small[new] = length, 0
        for cell in range(length):
            end = first + cell + 1
            if end > ends:
                return
            if block:  # the first cell of the old block leaves
                base, at, value = first - length, mark[old], padded[first - length + cell]
                after[old, before[old, cell]] = after[old, cell]
                before[old, after[old, cell]] = before[old, cell]
                whole -= value
                among = at == length or value < padded[base + at] or (value == padded[base + at] and cell < at)
                if among:
                    small[old] -= 1
                    low -= value
                else:
                    if at == cell:
                        mark[old] = after[old, cell]
                    if small[old] > 0:
                        mark[old] = before[old, mark[old]]
                        small[old] -= 1
                        low -= padded[base + mark[old]]
            value, at = padded[first + cell], mark[new]
            after[new, before[new, cell]] = cell  # a cell of the new block comes
            before[new, after[new, cell]] = cell
            whole += value
            if at == length or value < padded[first + at] or (value == padded[first + at] and cell < at):
                mark[new] = before[new, at]
                low += value - padded[first + mark[new]]
            while small[0] + small[1] < min(half, end):
                ours, theirs = mark[old], mark[new]
                if theirs == length or (ours < length and padded[first - length + ours] <= padded[first + theirs]):
                    low += padded[first - length + ours]
                    mark[old] = after[old, ours]
                    small[old] += 1
                else:
                    low += padded[first + theirs]
                    mark[new] = after[new, theirs]
                    small[new] += 1
            if end >= length:
                deviations[end] = min(whole - 2 * low, 4294967295)
        old = new
