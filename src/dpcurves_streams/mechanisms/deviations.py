"""Deviations of growing groups of counts from their mean, by Fenwick trees over values: a loop over SECRET counts."""

from __future__ import annotations

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.compiled import compiled

UNIT = 16
"""Deviations are rounded down to multiples of ``1 / UNIT``."""
LARGEST = 2**16 - 1
"""Counts above are grouped as if they were this."""
LONGEST = 2**18
"""Ticks after which a group is closed, whatever they hold: products of lengths and sums fit into 64 bits."""
NOTHING, JOIN, BEGIN, CLOSE = 0, 1, 2, 3
"""What is still to be done with the value that came last."""
LENGTH, SUM, TOP, LAST, TASK, OPEN, THRESHOLD = range(7)
"""Columns of what is kept of each key: the group's length, sum and largest value; the last value and what is to be done
with it; whether the group is open; and its noisy threshold."""
COLUMNS = 7
NUMBERS, SUMS, PLAIN = 0, 1, 2
"""What is kept of each value of a group: trees of how many there are and of their sums; and how many, plainly."""


@compiled
def group(values: IntArray, common: IntArray, own: IntArray, kept: IntArray, trees: IntArray) -> IntArray:
    """Decide for each tick and key whether its value joins the group at hand (1) or not (0), (ticks, keys).

    A value that follows a closed group begins a new one, untested, with a new threshold. Any other is tested once: it
    joins if the deviation with it, plus noise of its own, is below the threshold; else it closes the group, and is one
    of its own that is closed too (Chen 2018, Algorithm 16). What this does to the group is done when the next tick
    comes: until then the trees are as they were.

    The deviation ``sum(|c - mean|)`` of n values with the sum s is ``2 * (s * below - n * sum_below) / n``, with the
    number and the sum of values up to the mean: looked up in trees of sums, in steps that grow as the logarithm.

    Args:
        values: Counts from 0 on, below the size of the trees, (ticks, keys).
        common: Thresholds with their noise, on the lattice, should a group begin here, (ticks, keys).
        own: Noise of the tests, on the lattice, (ticks, keys).
        kept: (keys, COLUMNS): changed in place.
        trees: (keys, 3, size), with a size that is a power of two: changed in place.
    """
    joined, size = np.zeros(values.shape, np.int64), trees.shape[2]
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            row, tree = kept[key], trees[key]
            task, last, value = row[TASK], row[LAST], values[tick, key]
            if task >= BEGIN:
                place = row[TOP] + 1
                tree[:, :place] = 0
                while place <= size:  # nodes above that hold some below
                    tree[:, place - 1] = 0
                    place += place & -place
                row[LENGTH] = row[SUM] = row[TOP] = 0
            if task in (JOIN, BEGIN):
                row[LENGTH] += 1
                row[SUM] += last
                row[TOP] = max(row[TOP], last)
                tree[PLAIN, last] += 1
                place = last + 1
                while place <= size:
                    tree[NUMBERS, place - 1] += 1
                    tree[SUMS, place - 1] += last
                    place += place & -place
            row[LAST] = value
            if row[OPEN] == 0:
                row[TASK], row[OPEN], row[THRESHOLD] = BEGIN, 1, common[tick, key]
                continue
            length, total = row[LENGTH] + 1, row[SUM] + value
            mean = total // length
            below, sum_below = (1, value) if value <= mean else (0, 0)
            place = min(mean + 1, size)
            while place > 0:
                below += tree[NUMBERS, place - 1]
                sum_below += tree[SUMS, place - 1]
                place -= place & -place
            deviation = 2 * UNIT * (total * below - length * sum_below) // length
            joins = length <= LONGEST and deviation + own[tick, key] < row[THRESHOLD]
            row[TASK], row[OPEN], joined[tick, key] = JOIN if joins else CLOSE, joins, joins
    return joined


def settled(kept: IntArray) -> IntArray:
    """The state of `group` from `kept` before it looks at the next value; the trees are not touched."""
    done = kept.copy()
    new, joins = kept[:, TASK] >= BEGIN, (kept[:, TASK] == JOIN) | (kept[:, TASK] == BEGIN)
    for column in (LENGTH, SUM, TOP):
        done[new, column] = 0
    done[joins, LENGTH] += 1
    done[joins, SUM] += done[joins, LAST]
    done[joins, TOP] = np.maximum(done[joins, TOP], done[joins, LAST])
    done[:, TASK] = NOTHING
    return done


def trees_of(plain: IntArray, size: int) -> IntArray:
    """Trees of so many values, (keys, 3, size), from how many of each there are, (keys, values)."""
    trees = np.zeros((len(plain), 3, size), np.int64)
    trees[:, PLAIN, : plain.shape[1]] = plain
    place = np.arange(1, size + 1)
    start = place - (place & -place)
    for layer, each in ((NUMBERS, trees[:, PLAIN]), (SUMS, trees[:, PLAIN] * (place - 1))):
        ends = np.concatenate((np.zeros((len(plain), 1), np.int64), np.cumsum(each, axis=1)), axis=1)
        trees[:, layer] = ends[:, place] - ends[:, start]
    return trees
