"""Medians, means and squares of groups that grow by one value at a time: loops over public numbers."""

from __future__ import annotations

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.compiled import compiled

FIRST_PLACES = 64
LENGTH, MEAN, SQUARES, MEDIAN = range(4)
"""What is told of a group: how many values it has, their mean, the sum of squared distances from it, their median."""


class GroupsAtHand:
    """The groups that values were put into so far, one for each key, with room for values to come.

    Args:
        keys: How many keys there are.
    """

    __slots__ = ("_halves", "_heaps", "_kept")

    def __init__(self, keys: int) -> None:
        self._kept, self._halves = np.zeros((keys, MEDIAN)), np.zeros(keys, dtype=np.int64)
        self._heaps = np.zeros((keys, 2, FIRST_PLACES))

    def follow(self, values: FloatArray, joined: IntArray) -> FloatArray:
        """Put each value into its group, and tell what the group is then, (ticks, keys, 4): `LENGTH` to `MEDIAN`.

        Args:
            values: Noisy counts, (ticks, keys).
            joined: 1 for what joins the group at hand, (ticks, keys).
        """
        found = np.empty((*values.shape, 4))
        follow_moments(values, joined, self._kept, found)
        places, longest = self._heaps.shape[2], int(found[..., LENGTH].max(initial=0.0))
        if longest > places:
            more = max(places, longest - places)
            self._heaps = np.concatenate((self._heaps, np.zeros((len(self._heaps), 2, more))), axis=2)
        follow_medians(values, self._halves, self._heaps, found)
        return found


@compiled
def follow_moments(values: FloatArray, joined: IntArray, kept: FloatArray, found: FloatArray) -> None:
    """Fill in lengths, means and squares, one value after the other (Welford 1962)."""
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            if joined[tick, key] == 0:
                kept[key] = 0.0
            group, value = kept[key], values[tick, key]
            off = value - group[MEAN]
            group[LENGTH] += 1
            group[MEAN] += off / group[LENGTH]
            group[SQUARES] += off * (value - group[MEAN])
            found[tick, key, :MEDIAN] = group


@compiled
def follow_medians(values: FloatArray, halves: IntArray, heaps: FloatArray, found: FloatArray) -> None:
    """Fill in medians, where lengths are known, from two heaps.

    One has the lower half with its largest value on top, the other one the upper half with its smallest: a value costs
    steps that grow as the logarithm of the group.
    """
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            length, below = int(found[tick, key, LENGTH]), halves[key] if found[tick, key, LENGTH] > 1 else 0
            side = 0 if below == 0 or values[tick, key] <= -heaps[key, 0, 0] else 1
            moving = -values[tick, key] if side == 0 else values[tick, key]
            for _ in range(2):
                heap, place = heaps[key, side], below if side == 0 else length - 1 - below
                size, below = place + 1, below + 1 - side
                while place > 0 and heap[(place - 1) // 2] > moving:
                    heap[place] = heap[(place - 1) // 2]
                    place = (place - 1) // 2
                heap[place] = moving
                if 2 * below - length in (0, 1):
                    break
                moving, last, below = -heap[0], heap[size - 1], below - 1 + side  # the top goes to the other heap
                place = 0
                while 2 * place + 1 < size - 1:
                    child = 2 * place + 1
                    child += child + 1 < size - 1 and heap[child + 1] < heap[child]
                    if heap[child] >= last:
                        break
                    heap[place] = heap[child]
                    place = child
                heap[place] = last
                side = 1 - side
            halves[key] = below
            even = length % 2 == 0
            found[tick, key, MEDIAN] = (heaps[key, 1, 0] - heaps[key, 0, 0]) / 2 if even else -heaps[key, 0, 0]
