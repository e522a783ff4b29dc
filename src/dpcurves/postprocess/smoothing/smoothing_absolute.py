"""The smallest change of noises, in absolute values, that makes a curve rise as counts do."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import FloatArray
from .increments import AtMost, Ceiling, curve_of, is_smooth, steps_to
from .interior_point import Programme, least_cost
from .noise_graph import NoiseGraph
from .smoothing_squares import Change, least_squares_change

ZERO = 1e-9  # of the largest fall: a step below it, under pressure, is 0


def smooth_absolute(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
    """A monotone curve from 0 on with the smallest change of the noises, in absolute values.

    Changes count in units of the standard deviation of their noise, so that the curve is a most likely one if the
    noise is Laplace. There can be several; this is in the middle of them. The sum of changes is the least to about
    1e-10 of it. The time is linear in the number of points, times some 15 rounds.

    Args:
        noisy: Counts below each point, with noise, (points,).
        graph: How the noise acts at these points.
        ceiling: What is known of the last point.

    Returns:
        (points,), not decreasing, between 0 and the ceiling. A curve that is so already is returned as it is.

    Formal guarantees: post-processing. It costs nothing if `noisy`, `graph` and `ceiling` are public.

    Source: Barczewski, Mawass and Ramon, equation 3 with p = 1, over all subsets of points (`NoiseGraph.at`). The paper
    leaves out the absolute values, without which there is no least change.

    Raises:
        ValueError: the curve does not fit the graph, or no change of the noises can make it monotone.
        ArithmeticError: numbers or variances are too far apart for the precision of doubles.

    >>> from dpcurves.postprocess import AtMost, noise_graph
    >>> graph = noise_graph(4, first=[0, 0, 2, 0, 1, 2, 3], last=[4, 2, 4, 1, 2, 3, 4], variance=[1, 1, 1, 4, 4, 4, 4])
    >>> smooth_absolute([-2, 3, 4, 9], graph, AtMost(8)).round(6).tolist()
    [0.0, 3.0, 4.0, 8.0]
    """
    steps = steps_to(noisy, graph.points, ceiling)
    if is_smooth(steps, ceiling):
        return np.array(noisy, dtype=np.float64)
    return curve_of(least_absolute_change(steps, graph, ceiling).steps, ceiling)


def least_absolute_change(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> Change:
    """The change with the least sum of absolute values over standard deviations, from noisy steps that are not smooth.

    Where several noises are in one slot, the one with the largest variance is changed.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    least_squares_change(steps, graph, ceiling)  # raises the error
    finite = np.where(np.isfinite(steps), steps, 0.0)
    fall = max(float(-finite.min()), abs(float(finite[-1])) if steps[-1] < np.inf else 0.0)
    programme = _programme(finite / fall, graph, ceiling)
    found, noises = least_cost(programme), len(programme.slots)
    smoothed, noise = np.zeros(len(steps)), np.zeros(len(graph.variance))
    noise[programme.slots] = fall * (found.value[:noises] - found.value[noises : 2 * noises])
    bounded = found.value[2 * noises :]
    pressed = (bounded < ZERO) & (bounded < found.pressure[: programme.bounded])
    smoothed[: programme.bounded] = np.where(pressed, 0.0, fall * bounded)
    return Change(smoothed, noise)


def _programme(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> Programme:
    slots = np.flatnonzero(graph.variance)
    spread = np.sqrt(graph.largest[slots])
    bounded = graph.points + isinstance(ceiling, AtMost)
    ends, cost = (graph.slots.lower[slots], graph.slots.upper[slots]), spread.min() / spread
    return Programme(graph, slots, *ends, cost, steps, bounded, np.inf if ceiling is None else 0.0)
