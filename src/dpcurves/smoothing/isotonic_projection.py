"""Isotonic projection of noisy curves: the least change of noises, in squares or absolute values, to a monotone
curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, compile_loop
from .noise_graph import EdgeSlots, Elimination, Indices, NoiseGraph


@dataclass(frozen=True, slots=True)
class _KnownCount:
    count: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.count) and self.count >= 0):
            raise InvalidArgument("count", f"a finite number of at least zero is needed, got {self.count}")


class AtMost(_KnownCount):
    """The last point is at most `count`."""

    __slots__ = ()


class Exactly(_KnownCount):
    """The last point equals `count`: it is at the public maximum, and the number of records is public."""

    __slots__ = ()


Ceiling = AtMost | Exactly | None
"""Constraint on the last point; None: no constraint."""


def compute_steps(noisy: ArrayLike, points: int, ceiling: Ceiling) -> FloatArray:
    """Return the steps from 0 to the first point, between points, and from the last to the ceiling: (points + 1,).

    Without a ceiling, the last step is infinite.

    Raises:
        ValueError: the curve has another number of points, or a point is not finite.
    """
    curve = np.asarray(noisy, dtype=np.float64)
    if curve.shape != (points,):
        raise InvalidArgument("noisy", f"{points} points are needed, got an array of shape {curve.shape}")
    if not np.all(np.isfinite(curve)):
        raise InvalidArgument("noisy", "finite numbers are needed")
    return np.diff(curve, prepend=0.0, append=np.inf if ceiling is None else ceiling.count)


def cumulate_steps(steps: FloatArray, ceiling: Ceiling) -> FloatArray:
    """Return the curve with these steps, (points,), clipped to its ceiling against rounding errors."""
    curve = np.cumsum(steps[:-1])
    if ceiling is None:
        return curve
    if isinstance(ceiling, Exactly):
        curve[-1] = ceiling.count
    return np.minimum(curve, ceiling.count)


def is_monotone(steps: FloatArray, ceiling: Ceiling) -> bool:
    """Tell whether the curve is monotone and satisfies its ceiling."""
    return not np.any(steps < 0) and not (isinstance(ceiling, Exactly) and steps[-1] > 0)


# Isotonic projection in squares.


ROUNDING = 1e-13
"""Relative to all summands of a step: a smaller fall is rounding error."""
INFEASIBLE = 1e-9
"""Relative to the same: a step under pressure that falls by more has no solution."""


class NoiseChange(NamedTuple):
    """A change of the noises of a curve, and the resulting steps.

    Attributes:
        steps: Steps of the curve after the change, (points + 1,); not negative.
        noise: Sum of the changes of the noises of each slot, (2 * points - 1,).
    """

    steps: FloatArray
    noise: FloatArray


def project_isotonic_l2(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
    """Return the monotone curve from 0 with the smallest change of the noises, in squares over their variances.

    Exact up to rounding. The changes are ``z = V D' p``, where V holds the variances, D maps noises to steps, and the
    pressure ``p`` solves the complementarity problem ``p >= 0, s = K p + b >= 0, p's = 0``: b are the noisy steps, s
    the projected ones, and K = D V D' is the Laplacian of the graph. K is an M-matrix: a step under pressure stays
    under pressure, so solving for these steps and adding those that fall ends at the solution (Chandrasekaran 1970). A
    solve is linear in the number of points; about ten are needed if noise is a tree. (If it is independent from point
    to point there can be as many as points: use `isotonic_projection` there.)

    Arguments:
        noisy: Noisy counts below each point, (points,).
        graph: Structure of the noise at these points.
        ceiling: Constraint on the last point.

    Returns:
        (points,), nondecreasing, between 0 and the ceiling. A monotone curve is returned unchanged.

    Formal guarantees: post-processing. It costs nothing if `noisy`, `graph` and `ceiling` are public.

    Source: Barczewski, Mawass and Ramon, equation 3 with p = 2, over all subsets of points
    (`NoiseGraph.restrict_to_points`); here for counts, where the paper divides by their number.

    Raises:
        ValueError: the curve does not fit the graph, or no change of the noises makes it monotone.

    >>> from dpcurves.smoothing import AtMost, build_noise_graph
    >>> graph = build_noise_graph(4, first=[0, 1, 2, 3], last=[1, 2, 3, 4], variance=[1, 1, 1, 1])
    >>> project_isotonic_l2([3, 0, 4, 9], graph, AtMost(8)).tolist()
    [1.5, 1.5, 4.0, 8.0]
    """
    steps = compute_steps(noisy, graph.points, ceiling)
    if is_monotone(steps, ceiling):
        return np.array(noisy, dtype=np.float64)
    return cumulate_steps(solve_least_squares(steps, graph, ceiling).steps, ceiling)


def solve_least_squares(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> NoiseChange:
    """Return the change with the least sum of squares over variances, given the noisy steps.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    pressed = _initial_active_set(steps, ceiling)
    while True:
        (smoothed, noise), size = _solve_active_set(steps, graph, pressed)
        falling = (smoothed < -ROUNDING * size) & ~pressed
        if not falling.any():
            break
        pressed |= falling
    if np.any(smoothed < -INFEASIBLE * size):
        raise InvalidArgument("noisy", "it falls between points that noise does not move apart")
    return NoiseChange(np.where(pressed, 0.0, np.maximum(smoothed, 0)), noise)


def _initial_active_set(steps: FloatArray, ceiling: Ceiling) -> NDArray[np.bool_]:
    """Steps that are 0 in the solution: those that fall; but what meets its ceiling may lift others before they do."""
    if not isinstance(ceiling, Exactly):
        return steps < 0
    last = np.zeros(steps.shape, dtype=np.bool_)
    last[-1] = True
    return last


def _solve_active_set(
    steps: FloatArray, graph: NoiseGraph, pressed: NDArray[np.bool_]
) -> tuple[NoiseChange, FloatArray]:
    """The change that takes the pressed steps to 0, and the size of what was added up to each step."""
    ground = np.where(pressed, 0.0, np.inf)
    pressure = Elimination.from_graph(graph, graph.variance, ground).solve(np.where(pressed, -steps, 0.0))
    change, size = NoiseChange(steps.copy(), np.empty(len(graph.variance))), np.abs(steps)
    _apply_pressure(graph.slots, graph.variance, pressure, change, size)
    return change, size


@compile_loop
def _apply_pressure(
    slots: EdgeSlots, variance: FloatArray, pressure: FloatArray, change: NoiseChange, size: FloatArray
) -> None:
    for slot in range(len(variance)):
        lower, upper = slots.lower[slot], slots.upper[slot]
        noise = variance[slot] * (pressure[lower] - pressure[upper])
        part = variance[slot] * (abs(pressure[lower]) + abs(pressure[upper]))
        change.noise[slot] = noise
        change.steps[lower] += noise
        change.steps[upper] -= noise
        size[lower] += part
        size[upper] += part


# Linear programmes on a noise graph, solved from inside: the least sum of absolute changes of noises.


GAP = 1e-10  # between the programme and its dual, as a part of the objective
SHORTFALL = 1e-10  # of the equations, where the largest fall is 1
ROUNDS = 150  # some 15 are needed, 30 for the hardest curves
CORRECTIONS = 3  # of one round at most; one is usual
NEARLY_ALL = 0.9995  # of the way to the nearest bound


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgramme:
    """Minimise ``c x`` over ``x >= 0`` with ``A x = -b``, where ``A = [D, -D, -I]``.

    D takes noises to the steps that they move, as in `NoiseGraph`. The variables are the changes of the noises
    upwards, the changes downwards, and the smoothed steps that must not be negative. The dual has a pressure p on each
    step, and each variable has a slack: ``c - A'p``. That of a bounded step is its pressure.

    Attributes:
        graph: The graph of the noises.
        slots: Those with noise.
        lower: First step of each of them.
        upper: Last step of each of them.
        cost: The cost of a unit of change in each of them.
        steps: The noisy steps b, (points + 1,).
        bounded_steps: How many steps must not be negative: all of them, or all but the last.
        last_ground: The ground of a last step that is not bounded: 0 if it must be 0, infinite if it is free.
    """

    graph: NoiseGraph
    slots: NDArray[np.intp]
    lower: Indices
    upper: Indices
    cost: FloatArray
    steps: FloatArray
    bounded_steps: int
    last_ground: float

    def factor_laplacian(self, weight: FloatArray) -> Elimination:
        """Factor ``A diag(weight) A'``: the Laplacian of the graph, with weights of the bounded steps as its ground."""
        noises = len(self.slots)
        of_slot, ground = np.zeros(len(self.graph.variance)), np.full(len(self.steps), self.last_ground)
        of_slot[self.slots] = weight[:noises] + weight[noises : 2 * noises]
        ground[: self.bounded_steps] = weight[2 * noises :]
        return Elimination.from_graph(self.graph, of_slot, ground)

    def slack_change(self, pressure: FloatArray) -> FloatArray:
        """``-A'p``."""
        change = np.empty(2 * len(self.slots) + self.bounded_steps)
        _fill_slack_change(self.lower, self.upper, pressure, change)
        return change

    def apply_constraints(self, value: FloatArray) -> FloatArray:
        """``A x``, but 0 at a free step."""
        steps = np.zeros(len(self.steps))
        steps[: self.bounded_steps] -= value[2 * len(self.slots) :]
        _add_noise_to_steps(self.lower, self.upper, value, steps)
        if self.last_ground == np.inf:
            steps[-1] = 0.0
        return steps


class InteriorPoint(NamedTuple):
    """A point where nothing is at its bound, and slacks fit pressures; or the way from one to the next.

    Attributes:
        value: x: upwards, downwards, steps.
        slack: The slack of each value.
        pressure: p, (points + 1,).
    """

    value: FloatArray
    slack: FloatArray
    pressure: FloatArray


def solve_interior_point(programme: LinearProgramme) -> InteriorPoint:
    """The solution, by the predictor-corrector method of Mehrotra (1992); each round is linear in the points.

    It comes near the middle of several solutions: the analytic centre of all of them.

    Raises:
        ArithmeticError: rounding keeps it from the solution.
    """
    point = _initial_point(programme)
    enough = SHORTFALL + ROUNDING * float(np.abs(programme.steps).max())
    noises = len(programme.slots)
    for _ in range(ROUNDS):
        gap = GAP * float(programme.cost @ (point.value[:noises] + point.value[noises : 2 * noises]))
        short = float(np.abs(programme.apply_constraints(point.value) + programme.steps).max())
        if short <= enough and float(point.value @ point.slack) <= gap:
            return point
        _take_predictor_corrector_step(programme, point, gap / 2, enough / 8)
    raise ArithmeticError(f"noisy: not smoothed in {ROUNDS} rounds: numbers or variances are too far apart")


def _initial_point(programme: LinearProgramme) -> InteriorPoint:
    """Least squares, moved inside: the slacks are exact from here on."""
    pressure = np.full(len(programme.steps), programme.cost.min() / 2)
    if programme.last_ground == np.inf:
        pressure[-1] = 0.0
    slack = programme.slack_change(pressure)
    slack[: 2 * len(programme.slots)] += np.tile(programme.cost, 2)
    equal = programme.factor_laplacian(np.ones(len(slack)))
    value = -programme.slack_change(equal.solve(-programme.steps))
    value += max(-1.5 * float(value.min()), 0.0)
    value += 0.5 * float(value @ slack) / float(slack.sum())
    return InteriorPoint(value, slack, pressure)


def _take_predictor_corrector_step(programme: LinearProgramme, point: InteriorPoint, gap: float, enough: float) -> None:
    """A predictor-corrector step, not too near to any bound.

    A smaller gap than `gap` is not aimed at, and equations that hold up to `enough` are not corrected: rounding is felt
    there. Nearer to the bounds it grows until the equations can not be met any more.
    """
    factors = programme.factor_laplacian(point.value / point.slack)
    aim = np.zeros(len(point.value))
    straight = _newton_direction(programme, factors, point, aim)
    ahead = _complementarity(
        point,
        straight,
        _feasible_step_length(point.value, straight.value),
        _feasible_step_length(point.slack, straight.slack),
    )
    product = float(point.value @ point.slack)
    _fill_corrector_aim(point, straight, max(product * (ahead / product) ** 3, gap) / len(aim), aim)
    way = _newton_direction(programme, factors, point, aim)
    _refine_direction(programme, factors, point, way, enough)
    value_part = NEARLY_ALL * _feasible_step_length(point.value, way.value)
    slack_part = NEARLY_ALL * _feasible_step_length(point.slack, way.slack)
    _add_scaled(point.value, way.value, value_part)
    _add_scaled(point.slack, way.slack, slack_part)
    _add_scaled(point.pressure, way.pressure, slack_part)


def _newton_direction(
    programme: LinearProgramme, factors: Elimination, point: InteriorPoint, aim: FloatArray
) -> InteriorPoint:
    """Newton's step to where each value is what it aims at, but for what its slack changes."""
    pressure = factors.solve(-programme.steps - programme.apply_constraints(aim))
    slack = programme.slack_change(pressure)
    value = aim - point.value
    _subtract_slack_effect(point, slack, value)
    return InteriorPoint(value, slack, pressure)


def _refine_direction(
    programme: LinearProgramme, factors: Elimination, point: InteriorPoint, way: InteriorPoint, enough: float
) -> None:
    """Solve again for what rounding left of the equations: near bounds, slacks are small differences of pressures."""
    for _ in range(CORRECTIONS):
        left = -programme.steps - programme.apply_constraints(point.value + way.value)
        if float(np.abs(left).max()) <= enough:
            break
        rest = factors.solve(left)
        slack = programme.slack_change(rest)
        _subtract_slack_effect(point, slack, way.value)
        _add_scaled(way.slack, slack, 1.0)
        _add_scaled(way.pressure, rest, 1.0)


@compile_loop
def _subtract_slack_effect(point: InteriorPoint, slack_change: FloatArray, value_change: FloatArray) -> None:
    """Lower values as their slacks rise."""
    for i in range(len(value_change)):
        value_change[i] -= point.value[i] / point.slack[i] * slack_change[i]


@compile_loop
def _feasible_step_length(place: FloatArray, change: FloatArray) -> float:
    """The part of the change that can be made before the first is 0, at most 1."""
    rate = 1.0
    for i in range(len(place)):
        rate = max(rate, -change[i] / place[i])
    return 1 / rate


@compile_loop
def _complementarity(point: InteriorPoint, way: InteriorPoint, value_part: float, slack_part: float) -> float:
    """The sum of values times slacks, some part of the way ahead."""
    product = 0.0
    for i in range(len(point.value)):
        value, slack = point.value[i] + value_part * way.value[i], point.slack[i] + slack_part * way.slack[i]
        product += value * slack
    return product


@compile_loop
def _fill_corrector_aim(point: InteriorPoint, straight: InteriorPoint, centre: float, aim: FloatArray) -> None:
    """Aim at one product of values and slacks for all, and against the curvature of the straight way."""
    for i in range(len(aim)):
        aim[i] = (centre - straight.value[i] * straight.slack[i]) / point.slack[i]


@compile_loop
def _add_scaled(place: FloatArray, change: FloatArray, part: float) -> None:
    for i in range(len(place)):
        place[i] += part * change[i]


@compile_loop
def _fill_slack_change(lower: Indices, upper: Indices, pressure: FloatArray, change: FloatArray) -> None:
    noises = len(lower)
    for i in range(noises):
        push = pressure[lower[i]] - pressure[upper[i]]
        change[i], change[noises + i] = -push, push
    for i in range(len(change) - 2 * noises):
        change[2 * noises + i] = pressure[i]


@compile_loop
def _add_noise_to_steps(lower: Indices, upper: Indices, value: FloatArray, steps: FloatArray) -> None:
    noises = len(lower)
    for i in range(noises):
        change = value[i] - value[noises + i]
        steps[lower[i]] += change
        steps[upper[i]] -= change


# The smallest change of noises, in absolute values, that makes a curve rise as counts do.


ZERO = 1e-9  # of the largest fall: a step below it, under pressure, is 0


def project_isotonic_l1(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
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

    Source: Barczewski, Mawass and Ramon, equation 3 with p = 1, over all subsets of points
    (`NoiseGraph.restrict_to_points`). The paper leaves out the absolute values, without which there is no least change.

    Raises:
        ValueError: the curve does not fit the graph, or no change of the noises can make it monotone.
        ArithmeticError: numbers or variances are too far apart for the precision of doubles.

    >>> from dpcurves.smoothing import AtMost, build_noise_graph
    >>> first, last = [0, 0, 2, 0, 1, 2, 3], [4, 2, 4, 1, 2, 3, 4]
    >>> graph = build_noise_graph(4, first=first, last=last, variance=[1, 1, 1, 4, 4, 4, 4])
    >>> project_isotonic_l1([-2, 3, 4, 9], graph, AtMost(8)).round(6).tolist()
    [0.0, 3.0, 4.0, 8.0]
    """
    steps = compute_steps(noisy, graph.points, ceiling)
    if is_monotone(steps, ceiling):
        return np.array(noisy, dtype=np.float64)
    return cumulate_steps(solve_least_absolute(steps, graph, ceiling).steps, ceiling)


def solve_least_absolute(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> NoiseChange:
    """The change with the least sum of absolute values over standard deviations, from noisy steps that are not smooth.

    Where several noises are in one slot, the one with the largest variance is changed.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    solve_least_squares(steps, graph, ceiling)  # raises the error
    finite = np.where(np.isfinite(steps), steps, 0.0)
    fall = max(float(-finite.min()), abs(float(finite[-1])) if steps[-1] < np.inf else 0.0)
    programme = _build_programme(finite / fall, graph, ceiling)
    found, noises = solve_interior_point(programme), len(programme.slots)
    smoothed, noise = np.zeros(len(steps)), np.zeros(len(graph.variance))
    noise[programme.slots] = fall * (found.value[:noises] - found.value[noises : 2 * noises])
    bounded = found.value[2 * noises :]
    pressed = (bounded < ZERO) & (bounded < found.pressure[: programme.bounded_steps])
    smoothed[: programme.bounded_steps] = np.where(pressed, 0.0, fall * bounded)
    return NoiseChange(smoothed, noise)


def _build_programme(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> LinearProgramme:
    slots = np.flatnonzero(graph.variance)
    spread = np.sqrt(graph.largest[slots])
    bounded = graph.points + isinstance(ceiling, AtMost)
    ends, cost = (graph.slots.lower[slots], graph.slots.upper[slots]), spread.min() / spread
    return LinearProgramme(graph, slots, *ends, cost, steps, bounded, np.inf if ceiling is None else 0.0)
