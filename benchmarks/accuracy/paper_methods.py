"""The methods of the papers on private distribution functions, tuned per cell where the papers tuned them."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcurves.noise import discrete_laplace
from dpcurves.noise.randomness import Randomness
from dpcurves.postprocess import AtMost, NoiseGraph, path_graph, regular_bounds, smooth_squares

from .data import FloatArray
from .methods import Job, Method, untuned


def of_papers() -> list[Method]:
    """Each with the number of its paper's method."""
    return [untuned("noise path, smoothed", smoothed_path, zero_concentrated=False)]


def smoothed_path(job: Job) -> FloatArray:
    """Dyadic noise at the scale (L + 1) / epsilon, and the least change in squares that makes the curve rise."""
    points, epsilon = job.sample.grid.cells, job.loss.epsilon
    if epsilon is None:
        raise ValueError("loss: the noise path has a pure loss")
    levels = points.bit_length()
    randomness, noisy = Randomness.from_seed(job.seed), np.cumsum(job.sample.counts).astype(np.float64)
    for ends in regular_bounds(points, 2):
        noise = discrete_laplace.sample(Fraction(levels) / epsilon, len(ends) - 1, randomness)
        noisy += np.repeat(noise, np.diff(ends))
    smooth = smooth_squares(noisy, _graph(points), AtMost(float(job.sample.records)))
    return np.append(0.0, smooth / job.sample.records)


@lru_cache(maxsize=8)
def _graph(points: int) -> NoiseGraph:
    bounds = regular_bounds(points, 2)
    return path_graph(bounds, [1.0] * len(bounds))
