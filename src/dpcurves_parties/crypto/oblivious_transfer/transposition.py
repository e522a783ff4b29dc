"""Transposition of a bit matrix: from 128 columns of bits to one block for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcurves.compiled import compiled

from ..fast import instructions_here
from ..ring import Words

_MASKS = tuple(
    (np.uint64(shift), np.uint64(sum(((1 << shift) - 1) << start for start in range(0, 64, 2 * shift))))
    for shift in (32, 16, 8, 4, 2, 1)
)
_AT_A_TIME = 64


def transposed(columns: Words) -> Words:
    """Rows ``(64 * words, 2)`` of columns ``(128, words)``: bit j of a column's word is that of its row j.

    (Hacker's Delight, section 7-3: halves of squares of bits are swapped, then quarters, and so on.)
    """
    columns = np.ascontiguousarray(columns)
    rows = np.empty((64 * columns.shape[1], 2), np.uint64)
    if instructions_here():
        _transpose(columns, rows)
    else:
        for start in range(0, columns.shape[1], _AT_A_TIME):
            part = columns[:, start : start + _AT_A_TIME]
            rows[64 * start : 64 * (start + part.shape[1])] = _squares(part)
    return rows


def _squares(columns: Words) -> Words:
    count = columns.shape[1]
    squares = columns.reshape(2, 64, count).copy()
    for shift, mask in _MASKS:
        pairs = squares.reshape(2, -1, 2, int(shift), count)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        change = ((low >> shift) ^ high) & mask
        high ^= change
        low ^= change << shift
    return squares.transpose(2, 1, 0).reshape(64 * count, 2)


@compiled
def _transpose(columns: Any, rows: Any) -> None:
    square = np.empty(64, np.uint64)
    for word in range(columns.shape[1]):
        for half in range(2):
            for place in range(64):
                square[place] = columns[64 * half + place, word]
            shift, mask = 32, np.uint64(0xFFFFFFFF)
            while shift:
                for start in range(0, 64, 2 * shift):
                    for place in range(start, start + shift):
                        change = ((square[place] >> np.uint64(shift)) ^ square[place + shift]) & mask
                        square[place + shift] ^= change
                        square[place] ^= change << np.uint64(shift)
                shift >>= 1
                mask ^= mask << np.uint64(shift)
            for place in range(64):
                rows[64 * word + place, half] = square[place]
