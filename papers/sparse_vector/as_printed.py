"""Threshold tests as they were published. NOT PRIVATE, for no finite epsilon: kept here to show why.

- `gptt` is Algorithm 5. Nothing limits how many answers are "above", and all of them are paid for as one.
- `LEE`, `STODDARD` and `CHEN` are the splits of Algorithms 2, 3 and 4, which are `gptt` with them.
- `RESET` is what Algorithm 8 comes to for a cutoff above 1: its counter is set to zero inside the loop, so it never
  reaches the cutoff, and the algorithm never ends.
- Noise here is a double of a Laplace distribution, whose low bits betray the value (Mironov 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """What an epsilon is turned into: rates of the noise of the threshold, and of that of each query.

    Attributes:
        name: As it is called here.
        threshold: epsilon_1, as a share of epsilon.
        query: epsilon_2, as a share of epsilon; infinite: no noise.
    """

    name: str
    threshold: float
    query: float


LEE = Split("Algorithm 2", 1 / 4, 3 / 4)
STODDARD = Split("Algorithm 3", 1, inf)
CHEN = Split("Algorithm 4", 1 / 2, 1 / 2)
RESET = Split("Algorithm 8, c = 2, reset", 1 / 2, 1 / 8)
VARIANTS = LEE, STODDARD, CHEN


def gptt(
    queries: FloatArray, threshold: float, epsilon: float, split: Split, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Algorithm 5, with queries of sensitivity 1: which are above."""
    noisy = noisy_threshold(threshold, epsilon * split.threshold, generator)
    if split.query == inf:
        return queries >= noisy
    return queries + generator.laplace(0, 1 / (epsilon * split.query), len(queries)) >= noisy


def noisy_threshold(threshold: float, rate: float, generator: np.random.Generator) -> float:
    """Line 2."""
    return threshold + float(generator.laplace(0, 1 / rate))


def larger(above: Callable[[FloatArray], NDArray[np.bool_]], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Lines 1 to 6 of Algorithm 6, pair by pair: whether u is in Larger(v), at row v and column u; never v in its own.

    Args:
        above: The answers of one run of `gptt` to these queries.
        counts: Records of each domain element.
    """
    v, u = np.nonzero(~np.eye(len(counts), dtype=bool))
    found = np.zeros((len(counts), len(counts)), dtype=bool)
    found[v, u] = above((counts[u] - counts[v]).astype(np.float64))
    return found
