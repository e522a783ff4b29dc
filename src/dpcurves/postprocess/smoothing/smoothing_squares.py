"""The smallest change of noises, in squares, that makes a curve rise as counts do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Refused
from ...arrays import FloatArray
from ...compiled import compiled
from .elimination import Elimination
from .increments import Ceiling, Exactly, curve_of, is_smooth, steps_to
from .noise_graph import NoiseGraph, Slots

ROUNDING = 1e-13  # of all that was added up to a step: a fall below it is none
INFEASIBLE = 1e-9  # of the same: a step under pressure that still falls by more


class Change(NamedTuple):
    """A change of the noises.

    Attributes:
        steps: The steps of the curve after the change, (points + 1,); not negative.
        noise: What is added to the noises of each slot, all together, (2 * points - 1,).
    """

    steps: FloatArray
    noise: FloatArray


def smooth_squares(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
    """The monotone curve from 0 on with the smallest change of the noises, in squares over their variances.

    Exact but for rounding. The changes are ``z = V D' p``, where V holds the variances, D takes noises to steps, and
    the pressure ``p`` solves the complementarity problem ``p >= 0, s = K p + b >= 0, p's = 0``: b are the noisy
    steps, s the smoothed ones, and K = D V D' is the Laplacian of the graph. K is an M-matrix: a step that is pressed
    once stays pressed, so solving for the pressed steps and adding those that fall ends at the solution (Chandrasekaran
    1970). A solve is linear in the number of points; some ten are needed where noise is a tree. (Where it is
    independent from point to point there can be as many as points: that is what `non_decreasing` is for.)

    Args:
        noisy: Counts below each point, with noise, (points,).
        graph: How the noise acts at these points.
        ceiling: What is known of the last point.

    Returns:
        (points,), not decreasing, between 0 and the ceiling. A curve that is so already is returned as it is.

    Formal guarantees: post-processing. It costs nothing if `noisy`, `graph` and `ceiling` are public.

    Source: Barczewski, Mawass and Ramon, equation 3 with p = 2, over all subsets of points (`NoiseGraph.at`); here for
    counts, where the paper divides by their number.

    Raises:
        ValueError: the curve does not fit the graph, or no change of the noises can make it monotone.

    >>> from dpcurves.postprocess import AtMost, noise_graph
    >>> graph = noise_graph(4, first=[0, 1, 2, 3], last=[1, 2, 3, 4], variance=[1, 1, 1, 1])
    >>> smooth_squares([3, 0, 4, 9], graph, AtMost(8)).tolist()
    [1.5, 1.5, 4.0, 8.0]
    """
    steps = steps_to(noisy, graph.points, ceiling)
    if is_smooth(steps, ceiling):
        return np.array(noisy, dtype=np.float64)
    return curve_of(least_squares_change(steps, graph, ceiling).steps, ceiling)


def least_squares_change(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> Change:
    """The change with the least sum of squares over variances, from the noisy steps.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    pressed = _first_pressed(steps, ceiling)
    while True:
        (smoothed, noise), size = _change(steps, graph, pressed)
        falling = (smoothed < -ROUNDING * size) & ~pressed
        if not falling.any():
            break
        pressed |= falling
    if np.any(smoothed < -INFEASIBLE * size):
        raise Refused("noisy", "it falls between points that noise does not move apart")
    return Change(np.where(pressed, 0.0, np.maximum(smoothed, 0)), noise)


def _first_pressed(steps: FloatArray, ceiling: Ceiling) -> NDArray[np.bool_]:
    """Steps that are 0 in the solution: those that fall; but what meets its ceiling may lift others before they do."""
    if not isinstance(ceiling, Exactly):
        return steps < 0
    last = np.zeros(steps.shape, dtype=np.bool_)
    last[-1] = True
    return last


def _change(steps: FloatArray, graph: NoiseGraph, pressed: NDArray[np.bool_]) -> tuple[Change, FloatArray]:
    """The change that takes the pressed steps to 0, and the size of what was added up to each step."""
    ground = np.where(pressed, 0.0, np.inf)
    pressure = Elimination.of(graph, graph.variance, ground).solve(np.where(pressed, -steps, 0.0))
    change, size = Change(steps.copy(), np.empty(len(graph.variance))), np.abs(steps)
    _press(graph.slots, graph.variance, pressure, change, size)
    return change, size


@compiled
def _press(slots: Slots, variance: FloatArray, pressure: FloatArray, change: Change, size: FloatArray) -> None:
    for slot in range(len(variance)):
        lower, upper = slots.lower[slot], slots.upper[slot]
        noise = variance[slot] * (pressure[lower] - pressure[upper])
        part = variance[slot] * (abs(pressure[lower]) + abs(pressure[upper]))
        change.noise[slot] = noise
        change.steps[lower] += noise
        change.steps[upper] -= noise
        size[lower] += part
        size[upper] += part
