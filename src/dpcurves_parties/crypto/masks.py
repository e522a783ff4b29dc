"""Choices without branches: masks are words of all ones or all zeros."""

from __future__ import annotations

import numpy as np

from .ring import Words

TOP = np.uint64(1 << 63)
_ONE = np.uint64(1)


def control(seeds: Words) -> Words:
    """Bit mask of blocks ``(count, 2)``: ones where the control bit is set, the top bit of the second word."""
    return (seeds[:, 1].view(np.int64) >> 63).view(np.uint64)


def turns_right(cells: Words, bits: int, level: int) -> Words:
    """Bit mask of cells: ones where the path to a cell of so many bits turns right at a level, else zeros."""
    return -((cells >> np.uint64(bits - 1 - level)) & _ONE)


def twice(mask: Words, room: Words | None = None) -> Words:
    """The mask for both words of a block: NumPy is slow at masks that it has to repeat itself."""
    wide = np.empty((len(mask), 2), np.uint64) if room is None else room
    wide[:, 0] = mask
    wide[:, 1] = mask
    return wide


def chosen(right: Words, left_side: Words, right_side: Words) -> Words:
    """The right side where `right` is all ones."""
    result = left_side ^ right_side
    result &= right
    result ^= left_side
    return result


def seed_correction(right: Words, left_difference: Words, right_difference: Words) -> tuple[Words, Words]:
    """Correction word of seeds: makes the servers' seeds equal off the path, and their control bits different on it.

    The differences are those of both servers' left and right children. The top bit of the correction is that of left
    children; the second result has it where right children's is another one, and is 0 elsewhere.
    """
    correction = chosen(twice(right), right_difference, left_difference)
    left_control = (left_difference[:, 1] ^ ~right) & TOP
    right_control = (right_difference[:, 1] ^ right) & TOP
    correction[:, 1] &= ~TOP
    correction[:, 1] |= left_control
    return correction, left_control ^ right_control
