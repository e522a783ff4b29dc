"""The area under a ROC curve by a recursion over Hadamard responses, which leaves out what is too small (section 4).

Each person is of a level, drawn evenly, and sends one Hadamard response about the node of that level that holds the
score: one bit, if the index is a public coin. Loss: that of the response, epsilon. *Put right*: the code has the signs
alone, without the ``2**(-l/2)`` of Algorithms 2 and 3, under which a count comes out 2**l times too small; the number a
that solves the equation below, where the printed formula lies far from it; and a tie counts one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dpcurves.noise.randomness import Randomness
from dpcurves_local.responses import HadamardResponse
from dpcurves_local.responses.bernoulli_sampler import sample_uniform
from dpcurves_local.responses.randomiser import Reports

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TRANSFORM = 4
"""How many point queries over a report cost as much as one addition of a transform, times a level: measured once."""


@dataclass
class Reported:
    """The reports of one class, in buckets of levels, which answer how many people are in a node.

    Attributes:
        reports: The responses about each level, 1, ..., alpha.
        epsilon: What each loses.
        queries: How many nodes were asked for, one by one.
    """

    reports: Sequence[Reports]
    epsilon: Fraction
    queries: int = 0
    _tables: dict[int, IntArray] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """How many people reported."""
        return sum(len(level) for level in self.reports)

    @property
    def levels(self) -> int:
        """The logarithm of the number of cells: alpha."""
        return len(self.reports)

    @property
    def scatter(self) -> float:
        """The bound v of the variance of a node's count, from levels that asked some of the people."""
        gain = 2 * float(HadamardResponse(2, self.epsilon).support.gain)
        return self.people * self.levels / gain**2

    def counts(self, level: int, nodes: IntArray) -> FloatArray:
        """Unbiased numbers of people in these nodes of a level: by whichever is quicker, queries or a transform."""
        sent, way = self.reports[level - 1], HadamardResponse(2**level, self.epsilon)
        if level not in self._tables and TRANSFORM * level * 2**level < len(sent) * len(nodes):
            self._tables[level] = way.count_support(sent)
        if level in self._tables:
            supports = self._tables[level][nodes]
        else:
            self.queries += len(nodes)
            supports = np.array([way.count_support_of(int(node), sent) for node in nodes], dtype=np.int64)
        off = len(sent) * float(way.support.p_other)
        return np.asarray((supports - off) / float(way.support.gain) * self.people / max(len(sent), 1))


def reported(cells: IntArray, levels: int, epsilon: Fraction, randomness: Randomness) -> list[Reports]:
    """What people with these cells send, level by level: drawn level, then a Hadamard response about the node."""
    drawn = sample_uniform(levels, len(cells), randomness)
    return [
        HadamardResponse(2 ** (level + 1), epsilon).draw(cells[drawn == level] >> (levels - 1 - level), randomness)
        for level in range(levels)
    ]


def best_a(people: int, fewest: int, constant: float, levels: int) -> float:
    """The least bound of Theorem 3 has ``sqrt(a) (sqrt(a) - 1)**2 = 21 sqrt(2 n C alpha) / (8 n_min)``: this a."""
    right = 21 * sqrt(2 * people * constant * levels) / (8 * fewest)
    return float(brentq(lambda root: root * (root - 1) ** 2 - right, 1.0, 2 + right)) ** 2


def pruned_area(positives: Reported, negatives: Reported, *, rest: float = 0.5) -> float:
    """The area, a tie counted one half, from the root down (equation 10).

    Args:
        positives: The reports of one class.
        negatives: Those of the other.
        rest: What part of its pairs a node that is left out counts: one half, or 0 in the variant of Corollary 5.
    """
    sizes = positives.people, negatives.people
    a = best_a(sum(sizes), min(sizes), positives.scatter / positives.people / positives.levels, positives.levels)
    least = sqrt(a * positives.scatter) / 2, sqrt(a * negatives.scatter) / 2
    border, found = a * sqrt(positives.scatter * negatives.scatter), 0.0
    nodes, held = np.zeros(1, dtype=np.int64), (np.array([float(sizes[0])]), np.array([float(sizes[1])]))
    for level in range(1, positives.levels + 1):
        children = (2 * nodes[:, None] + np.array([0, 1])).ravel()
        ours, theirs = (each.counts(level, children).reshape(-1, 2) for each in (positives, negatives))
        large = np.maximum(held[0], least[0]) * np.maximum(held[1], least[1]) >= border
        found += rest * float((ours[~large].sum(axis=1) * theirs[~large].sum(axis=1)).sum())
        found += float((ours[large, 1] * theirs[large, 0]).sum())
        nodes, held = children.reshape(-1, 2)[large].ravel(), (ours[large].ravel(), theirs[large].ravel())
    found += float((held[0] * held[1]).sum()) / 2
    return found / (sizes[0] * sizes[1])
