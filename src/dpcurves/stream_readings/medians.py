"""Medians, means and squares of groups that grow by one value at a time: a loop over public numbers."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from ..compiled import compiled

LENGTH, BELOW, OPEN = 0, 1, 2
"""Columns of what is kept of each key: the group's length, how many values the lower heap holds, and whether the group
is open."""
COLUMNS = 3


@compiled
def follow_groups(
    values: FloatArray, joined: IntArray, kept: IntArray, heaps: FloatArray, moments: FloatArray
) -> FloatArray:
    """Put each value into its group, and give its length, mean, sum of squared distances and median, (ticks, keys, 4).

    Medians come from two heaps, of the lower half with its largest value on top and of the upper half with its smallest
    one: a value costs steps that grow as the logarithm of the group.

    Args:
        values: Noisy counts, (ticks, keys).
        joined: 1 for what joins the group at hand, (ticks, keys).
        kept: (keys, COLUMNS): changed in place.
        heaps: (keys, 2, size), of as many places as a group can get: changed in place.
        moments: Mean and sum of squared distances of each group, (keys, 2): changed in place.
    """
    found = np.empty((values.shape[0], values.shape[1], 4))
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            value, row = values[tick, key], kept[key]
            if joined[tick, key] == 0:
                row[OPEN] = 1 - row[OPEN]
                row[LENGTH] = row[BELOW] = 0
                moments[key, 0] = moments[key, 1] = 0.0
            row[LENGTH] += 1
            off = value - moments[key, 0]
            moments[key, 0] += off / row[LENGTH]
            moments[key, 1] += off * (value - moments[key, 0])
            side = 0 if row[BELOW] == 0 or value <= -heaps[key, 0, 0] else 1
            moving = -value if side == 0 else value
            for _ in range(2):
                heap = heaps[key, side]
                size = row[BELOW] if side == 0 else row[LENGTH] - 1 - row[BELOW]
                row[BELOW] += 1 - side
                place = size
                while place > 0 and heap[(place - 1) // 2] > moving:
                    heap[place] = heap[(place - 1) // 2]
                    place = (place - 1) // 2
                heap[place] = moving
                above = row[LENGTH] - row[BELOW]
                if row[BELOW] - above in (0, 1):
                    break
                moving, size = -heap[0], size + 1  # the top goes to the other heap
                row[BELOW] -= 1 - side
                last, place = heap[size - 1], 0
                while 2 * place + 1 < size - 1:
                    child = 2 * place + 1
                    if child + 1 < size - 1 and heap[child + 1] < heap[child]:
                        child += 1
                    if heap[child] >= last:
                        break
                    heap[place] = heap[child]
                    place = child
                heap[place] = last
                side = 1 - side
            median = -heaps[key, 0, 0]
            if row[LENGTH] % 2 == 0:
                median = (median + heaps[key, 1, 0]) / 2
            found[tick, key, 0] = row[LENGTH]
            found[tick, key, 1:3] = moments[key]
            found[tick, key, 3] = median
    return found
