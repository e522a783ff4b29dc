"""Isotonic projection: the monotone curve that is nearest to a noisy one, in squares or absolute values of the noises.

A distribution function is monotone, and its noisy estimate is not. The projection makes it so with the smallest change
of the noises. A noisy curve is the true one plus independent noises z, each on a block of consecutive points
(`noise_graph`). With D the matrix that maps noises to the steps between points, and b the noisy steps, the projection
solves

    minimise  sum_k z_k**2 / variance_k        (`project_isotonic_l2`)
           or sum_k |z_k| / deviation_k        (`project_isotonic_l1`)
    subject to  steps  b + D z >= 0

A public number of records may bound the last point. In squares the solution is ``z = V D' p`` with pressures p of a
complementarity problem, whose matrix is a Laplacian, so active sets only grow. In absolute values it is a linear
programme, solved by an interior point method. Both take linear time per iteration.

Formal guarantees: post-processing of released numbers.

References: Barczewski, Mawass and Ramon, equation 3; Chandrasekaran 1970 (complementarity); Mehrotra 1992 (interior
points); Barlow, Bartholomew, Bremner and Brunk 1972 (isotonic regression).

>>> steps = compute_steps([10.0, 6.0, 20.0], points=3, ceiling=AtMost(30.0))
>>> steps.tolist(), is_monotone(steps, AtMost(30.0))  # from 0 to each point, and to the ceiling
([10.0, -4.0, 14.0, 10.0], False)
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
    """A public number of records that limits the last point of a curve."""

    count: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.count) and self.count >= 0):
            raise InvalidArgument("count", f"a finite number of records of at least zero is needed, got {self.count}")


class AtMost(_KnownCount):
    """Constraint of a monotone curve: its last point is at most `count`."""

    __slots__ = ()


class Exactly(_KnownCount):
    """Constraint of a monotone curve: its last point equals `count`, because the number of records is public."""

    __slots__ = ()


Ceiling = AtMost | Exactly | None
"""Constraint on the last point; None: no constraint."""


def compute_steps(noisy: ArrayLike, points: int, ceiling: Ceiling) -> FloatArray:
    """Return the steps of a noisy curve, of shape ``(points + 1,)``.

    They are from 0 to the first point, between points, and from the last point to the ceiling. Without a ceiling, the
    last step is infinite.

    Args:
        noisy: The curve, of shape ``(points,)``.
        points: Number of points.
        ceiling: Constraint on the last point; None: no constraint.

    Raises:
        ValueError: the curve has another number of points, or a point is not finite.
    """
    curve = np.asarray(noisy, dtype=np.float64)
    if curve.shape != (points,):
        raise InvalidArgument(
            "noisy",
            f"an array of shape ({points},) is needed, one number for each point, got {curve.shape}; give one curve",
        )
    if not np.all(np.isfinite(curve)):
        raise InvalidArgument("noisy", "finite numbers are needed: leave out nan and infinite values")
    return np.diff(curve, prepend=0.0, append=np.inf if ceiling is None else ceiling.count)


def cumulate_steps(steps: FloatArray, ceiling: Ceiling) -> FloatArray:
    """Return the curve with these steps, that is their cumulative sums, (points,), clipped to the ceiling, which
    rounding errors may exceed.

    Args:
        steps: Increase to each point, and a last step to the ceiling, which is not used, (points + 1,).
        ceiling: Largest value of the curve, or its exact last value; None: there is none.
    """
    curve = np.cumsum(steps[:-1])
    if ceiling is None:
        return curve
    if isinstance(ceiling, Exactly):
        curve[-1] = ceiling.count
    return np.minimum(curve, ceiling.count)


def is_monotone(steps: FloatArray, ceiling: Ceiling) -> bool:
    """Return True if a curve with these steps is non-decreasing and reaches its ceiling exactly, if that is exact.

    Args:
        steps: Increase to each point, and the last step to the ceiling, (points + 1,).
        ceiling: Largest value of the curve, or its exact last value; None: no ceiling.
    """
    return not np.any(steps < 0) and not (isinstance(ceiling, Exactly) and steps[-1] > 0)


# Isotonic projection in squares.


STEP_TOLERANCE = 1e-13
"""Ratio to all summands of a step: a smaller fall of a monotone curve is rounding error and is left as it is."""


class NoiseChange(NamedTuple):
    """A change of the noises of a curve, and the steps that result.

    Attributes:
        steps: Steps of the curve after the change, of shape ``(points + 1,)``; not negative.
        noise: Sum of the changes of the noises of each slot, of shape ``(2 * points - 1,)``.
    """

    steps: FloatArray
    noise: FloatArray


def project_isotonic_l2(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
    """Return the monotone curve from 0 with the smallest change of the noises, in squares over their variances. For
    curves whose noise is independent from point to point `summaries.isotonic_projection` is faster.

    Exact up to rounding. The changes are ``z = V D' p``, where V holds the variances, D maps noises to steps, and the
    pressure ``p`` solves the complementarity problem ``p >= 0, s = K p + b >= 0, p's = 0``: b are the noisy steps, s
    the projected ones, and K = D V D' is the Laplacian of the graph. K is an M-matrix: a step under pressure stays
    under pressure, so solving for these steps and adding the steps that fall ends at the solution (Chandrasekaran
    1970). A solve is linear in the number of points; about ten are needed if noise is a tree. (If it is independent
    from point to point there can be as many as points: use `isotonic_projection` there.)

    Args:
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
    """Return the change of the noises, given as steps, with the smallest sum of squares over variances that makes the
    curve monotone.

    Args:
        steps: Noisy steps of the curve, and last the step to the ceiling, (points + 1,).
        graph: Noises, as edges between the steps that they change.
        ceiling: Largest value of the curve, or its exact last value; None: there is none.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    pressed = _initial_active_set(steps, ceiling)
    while True:
        (smoothed, noise), size = _solve_active_set(steps, graph, pressed)
        falling = (smoothed < -STEP_TOLERANCE * size) & ~pressed
        if not falling.any():
            break
        pressed |= falling
    # relative to all summands: a step under pressure that falls by more has no solution
    if np.any(smoothed < -1e-9 * size):
        raise InvalidArgument(
            "noisy",
            "the curve decreases between points that have the same noises, so that no noise explains"
            " it: check curve and noises",
        )
    return NoiseChange(np.where(pressed, 0.0, np.maximum(smoothed, 0)), noise)


def _initial_active_set(steps: FloatArray, ceiling: Ceiling) -> NDArray[np.bool_]:
    """Return the initial active set of the projection: a mask of steps that are surely 0 in the solution.

    These are all negative steps or, with an exact ceiling, the last step alone, because meeting the ceiling may raise
    negative steps above 0.

    Args:
        steps: Increase to each point, and the last step to the ceiling, (points + 1,).
        ceiling: Largest value of the curve, or its exact last value; None: there is none.
    """
    if not isinstance(ceiling, Exactly):
        return steps < 0
    last = np.zeros(steps.shape, dtype=np.bool_)
    last[-1] = True
    return last


def _solve_active_set(
    steps: FloatArray, graph: NoiseGraph, pressed: NDArray[np.bool_]
) -> tuple[NoiseChange, FloatArray]:
    """Solve the projection for a given active set: return the change that moves these steps to 0, and the sum of
    absolute summands of each step, which scales its rounding error.

    Args:
        steps: Steps of the curve before the change.
        graph: Noises, as edges between the steps that they change.
        pressed: Mask of the steps to move to 0, the active set.
    """
    ground = np.where(pressed, 0.0, np.inf)
    pressure = Elimination.from_graph(graph, graph.variance, ground).solve(np.where(pressed, -steps, 0.0))
    change = NoiseChange(steps.copy(), np.empty(len(graph.variance)))
    size = np.abs(steps)
    _apply_pressure(graph.slots, graph.variance, pressure, change, size)
    return change, size


@compile_loop
def _apply_pressure(
    slots: EdgeSlots, variance: FloatArray, pressure: FloatArray, change: NoiseChange, size: FloatArray
) -> None:
    """Compute, in place, how the noises change under given Lagrange multipliers of the steps.

    Args:
        slots: For each noise, the steps that it raises (`lower`) and reduces (`upper`).
        variance: Variances of the noises, (noises,).
        pressure: Lagrange multiplier of each step, (steps,).
        change: Changes of noises, which are set, and of steps, to which they are added.
        size: Absolute summands of the steps' changes, to which they are added, (steps,).
    """
    for slot in range(len(variance)):
        lower = slots.lower[slot]
        upper = slots.upper[slot]
        noise = variance[slot] * (pressure[lower] - pressure[upper])
        summand = variance[slot] * (abs(pressure[lower]) + abs(pressure[upper]))
        change.noise[slot] = noise
        change.steps[lower] += noise
        change.steps[upper] -= noise
        size[lower] += summand
        size[upper] += summand


# Linear programmes on a noise graph, by an interior point method: the least sum of absolute changes of noises.


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgramme:
    """Minimise ``c x`` over ``x >= 0`` with ``A x = -b``, where ``A = [D, -D, -I]``.

    D maps noises to the steps that they move, as in `NoiseGraph`. The variables are the upward changes of the noises,
    the downward changes, and the smoothed steps that must not be negative. The dual has a pressure p for each step, and
    each variable has a slack ``c - A'p``. The slack of a bounded step equals its pressure.

    Attributes:
        graph: The graph of the noises.
        slots: Indices of the slots with noise.
        lower: First step of each of these slots.
        upper: Last step of each of these slots.
        cost: The cost of a unit of change in each of these slots.
        steps: The noisy steps b, (points + 1,).
        bounded_steps: The number of steps that must not be negative: all steps, or all but the last.
        last_ground: The ground of an unbounded last step: 0 if it must be 0, infinite if it is free.
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
        """Factorise the matrix of the normal equations, ``A diag(weight) A'``: the graph's Laplacian, grounded by the
        bounded steps.

        Args:
            weight: Weight of each variable, (variables,).
        """
        noises = len(self.slots)
        slot_weights = np.zeros(len(self.graph.variance))
        ground = np.full(len(self.steps), self.last_ground)
        slot_weights[self.slots] = weight[:noises] + weight[noises : 2 * noises]
        ground[: self.bounded_steps] = weight[2 * noises :]
        return Elimination.from_graph(self.graph, slot_weights, ground)

    def slack_change(self, pressure: FloatArray) -> FloatArray:
        """Return by how much the slack of each variable changes with the dual variables: ``-A'p``, (variables,).

        Args:
            pressure: Change p of the dual variables (Lagrange multipliers of the steps), ``(points + 1,)``.
        """
        change = np.empty(2 * len(self.slots) + self.bounded_steps)
        _fill_slack_change(self.lower, self.upper, pressure, change)
        return change

    def apply_constraints(self, value: FloatArray) -> FloatArray:
        """Return ``A x``, the change of the steps that the variables x cause, (points + 1,); 0 at a free step.

        Args:
            value: x: upward changes, downward changes and bounded steps, of shape ``(variables,)``.
        """
        steps = np.zeros(len(self.steps))
        steps[: self.bounded_steps] -= value[2 * len(self.slots) :]
        _add_noise_to_steps(self.lower, self.upper, value, steps)
        if self.last_ground == np.inf:
            steps[-1] = 0.0
        return steps


class InteriorPoint(NamedTuple):
    """A point with positive variables and slacks that match its pressures; or a direction between two of them.

    Attributes:
        value: The variables x: upward changes, downward changes, steps.
        slack: The slack of each variable.
        pressure: p, (points + 1,).
    """

    value: FloatArray
    slack: FloatArray
    pressure: FloatArray


def solve_interior_point(programme: LinearProgramme) -> InteriorPoint:
    """Solve the linear programme of the L1 projection by Mehrotra's predictor-corrector interior-point method (1992).

    Each iteration takes time linear in the number of points.

    If there are several solutions, the result is near the analytic centre of the set of solutions.

    Args:
        programme: The linear programme.

    Raises:
        ArithmeticError: rounding errors prevent convergence.
    """
    point = _initial_point(programme)
    # residual of the equations at which it stops, in units of the largest fall
    tolerance = 1e-10 + STEP_TOLERANCE * float(np.abs(programme.steps).max())
    noises = len(programme.slots)
    most_rounds = 150  # about 15 are usual, 30 for the hardest curves
    for _ in range(most_rounds):
        # relative duality gap at which the iteration stops
        gap = 1e-10 * float(programme.cost @ (point.value[:noises] + point.value[noises : 2 * noises]))
        residual = float(np.abs(programme.apply_constraints(point.value) + programme.steps).max())
        if residual <= tolerance and float(point.value @ point.slack) <= gap:
            return point
        _take_predictor_corrector_step(programme, point, gap / 2, tolerance / 8)
    raise ArithmeticError(
        f"noisy: not smoothed in {most_rounds} rounds: numbers or variances are too far apart; scale them"
    )


def _initial_point(programme: LinearProgramme) -> InteriorPoint:
    """Return the start of the interior-point method: the least-squares solution, moved into the interior of the bounds.

    Args:
        programme: The linear programme.
    """
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
    """Change `point`, in place, by one predictor-corrector step that keeps a distance from all bounds.

    The step does not seek a duality gap below `gap`, and does not correct equations with residuals up to `enough`,
    because below these rounding errors dominate. Near the bounds they grow until the equations can no longer be
    satisfied.

    Args:
        programme: The linear programme.
        point: Values, slacks and pressures, which are changed.
        gap: Duality gap that is small enough.
        enough: Residual that is small enough.
    """
    factors = programme.factor_laplacian(point.value / point.slack)
    target = np.zeros(len(point.value))
    predictor = _newton_direction(programme, factors, point, target)
    predicted_product = _complementarity(
        point,
        predictor,
        _feasible_step_length(point.value, predictor.value),
        _feasible_step_length(point.slack, predictor.slack),
    )
    product = float(point.value @ point.slack)
    _fill_corrector_target(
        point, predictor, max(product * (predicted_product / product) ** 3, gap) / len(target), target
    )
    direction = _newton_direction(programme, factors, point, target)
    _refine_direction(programme, factors, point, direction, enough)
    nearly_all = 0.9995  # fraction of the distance to the nearest bound that a step covers
    value_step = nearly_all * _feasible_step_length(point.value, direction.value)
    slack_step = nearly_all * _feasible_step_length(point.slack, direction.slack)
    _add_scaled(point.value, direction.value, value_step)
    _add_scaled(point.slack, direction.slack, slack_step)
    _add_scaled(point.pressure, direction.pressure, slack_step)


def _newton_direction(
    programme: LinearProgramme, factors: Elimination, point: InteriorPoint, target: FloatArray
) -> InteriorPoint:
    """Return the Newton direction that moves each variable to its target, corrected for the change of its slack.

    Args:
        programme: The linear programme.
        factors: Factors of its normal equations at the point.
        point: Variables, slacks and pressure now.
        target: Variables to move to.
    """
    pressure = factors.solve(-programme.steps - programme.apply_constraints(target))
    slack = programme.slack_change(pressure)
    value = target - point.value
    _subtract_slack_effect(point, slack, value)
    return InteriorPoint(value, slack, pressure)


def _refine_direction(
    programme: LinearProgramme, factors: Elimination, point: InteriorPoint, direction: InteriorPoint, enough: float
) -> None:
    """Correct `direction`, in place, by iterative refinement, until the largest residual is at most `enough`.

    Near its bounds the programme is badly scaled, so a direction that was solved once has a large residual.

    Args:
        programme: The linear programme.
        factors: Factorised matrix of the equations.
        point: Present values and slacks.
        direction: Direction of the step, which is changed.
        enough: Residual that is small enough.
    """
    # refinements at most; 1 is usual
    for _ in range(3):
        residual = -programme.steps - programme.apply_constraints(point.value + direction.value)
        if float(np.abs(residual).max()) <= enough:
            break
        correction = factors.solve(residual)
        slack = programme.slack_change(correction)
        _subtract_slack_effect(point, slack, direction.value)
        _add_scaled(direction.slack, slack, 1.0)
        _add_scaled(direction.pressure, correction, 1.0)


@compile_loop
def _subtract_slack_effect(point: InteriorPoint, slack_change: FloatArray, value_change: FloatArray) -> None:
    """Subtract from the change of each variable, in place, the part that the change of its slack causes (elimination of
    slacks from the Newton equations).

    Args:
        point: Present point, with positive variables and slacks.
        slack_change: Increase of each slack, of shape ``(variables,)``.
        value_change: Array of shape ``(variables,)`` that is changed.
    """
    for i in range(len(value_change)):
        value_change[i] -= point.value[i] / point.slack[i] * slack_change[i]


@compile_loop
def _feasible_step_length(values: FloatArray, change: FloatArray) -> float:
    """Return the largest fraction of the change, up to 1, that keeps all values non-negative (ratio test of the
    interior-point method).

    Args:
        values: Present positive values, (variables,).
        change: Proposed change of each value, (variables,).
    """
    rate = 1.0
    for i in range(len(values)):
        rate = max(rate, -change[i] / values[i])
    return 1 / rate


@compile_loop
def _complementarity(point: InteriorPoint, direction: InteriorPoint, value_step: float, slack_step: float) -> float:
    """Return the complementarity gap, the sum of variables times slacks, after steps of these lengths.

    Args:
        point: Variables and slacks.
        direction: Change of both for a step of length 1.
        value_step: Length of the step of variables.
        slack_step: Length of the step of slacks.
    """
    product = 0.0
    for i in range(len(point.value)):
        value = point.value[i] + value_step * direction.value[i]
        slack = point.slack[i] + slack_step * direction.slack[i]
        product += value * slack
    return product


@compile_loop
def _fill_corrector_target(point: InteriorPoint, predictor: InteriorPoint, centre: float, target: FloatArray) -> None:
    """Set `target`, in place, to the target of the corrector: an equal product `centre` of variables and slacks, minus
    the second-order predictor term.

    Args:
        point: Present point, with positive variables and slacks.
        predictor: Direction of the predictor.
        centre: Product of a variable and its slack that the step aims at.
        target: Array of shape ``(variables,)`` that is filled.
    """
    for i in range(len(target)):
        target[i] = (centre - predictor.value[i] * predictor.slack[i]) / point.slack[i]


@compile_loop
def _add_scaled(target: FloatArray, change: FloatArray, factor: float) -> None:
    """Add `factor` times `change` to `target`, in place.

    Args:
        target: Array that is changed.
        change: Array of the same shape.
        factor: Multiple of `change` that is added.
    """
    for i in range(len(target)):
        target[i] += factor * change[i]


@compile_loop
def _fill_slack_change(lower: Indices, upper: Indices, pressure: FloatArray, change: FloatArray) -> None:
    """Set `change`, in place, to the change of all slacks that a change of the dual variables causes.

    Args:
        lower, upper: For each noise, the steps that it raises and reduces.
        pressure: Change of the dual variable of each step, (steps,).
        change: Slacks of positive parts, of negative parts, and of bounded steps, one after another; overwritten.
    """
    noises = len(lower)
    for i in range(noises):
        push = pressure[lower[i]] - pressure[upper[i]]
        change[i], change[noises + i] = -push, push
    for i in range(len(change) - 2 * noises):
        change[2 * noises + i] = pressure[i]


@compile_loop
def _add_noise_to_steps(lower: Indices, upper: Indices, value: FloatArray, steps: FloatArray) -> None:
    """Add, in place, each noise's net change, `value[i] - value[noises + i]`, to step `lower[i]`, and subtract it from
    step `upper[i]`.

    Args:
        lower: Step that each noise raises.
        upper: Step that each noise lowers.
        value: Upward changes of all noises, then the downward changes; further entries have no effect.
        steps: Array of steps that is changed.
    """
    noises = len(lower)
    for i in range(noises):
        change = value[i] - value[noises + i]
        steps[lower[i]] += change
        steps[upper[i]] -= change


# Isotonic projection in absolute values.


def project_isotonic_l1(noisy: ArrayLike, graph: NoiseGraph, ceiling: Ceiling) -> FloatArray:
    """Return a monotone curve from 0 with the smallest change of the noises, in absolute values.

    Changes are in units of the standard deviation of their noise, so that the curve is a maximum likelihood estimate if
    the noise is Laplace. If there are several, the result is near the middle of them. The sum of changes is minimal up
    to a relative error of about 1e-10. The time is linear in the number of points, times about 15 iterations.

    Args:
        noisy: Noisy counts below each point, (points,).
        graph: Structure of the noise at these points.
        ceiling: Constraint on the last point.

    Returns:
        (points,), nondecreasing, between 0 and the ceiling. A monotone curve is returned unchanged.

    Formal guarantees: post-processing. It costs nothing if `noisy`, `graph` and `ceiling` are public.

    Source: Barczewski, Mawass and Ramon, equation 3 with p = 1, over all subsets of points
    (`NoiseGraph.restrict_to_points`). The paper omits the absolute values, without which the minimum does not exist.

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
    """Return the change of the noises, given as steps, with the smallest sum of absolute values over standard
    deviations that makes the curve monotone.

    If several noises change the same steps, the noise with the largest variance is changed.

    Args:
        steps: Differences of neighbouring counts, of which negative ones must rise to 0; infinite: unbounded, (steps,).
        graph: Which noise changes which steps, and variances.
        ceiling: Upper bound of the sum of all steps.

    Returns:
        Steps after the change, and the change of each noise.

    Raises:
        ValueError: no change makes all steps at least 0.
    """
    solve_least_squares(steps, graph, ceiling)  # raises the error
    finite = np.where(np.isfinite(steps), steps, 0.0)
    fall = max(float(-finite.min()), abs(float(finite[-1])) if steps[-1] < np.inf else 0.0)
    programme = _build_programme(finite / fall, graph, ceiling)
    solution = solve_interior_point(programme)
    noises = len(programme.slots)
    smoothed = np.zeros(len(steps))
    noise = np.zeros(len(graph.variance))
    noise[programme.slots] = fall * (solution.value[:noises] - solution.value[noises : 2 * noises])
    bounded = solution.value[2 * noises :]
    # in units of the largest fall
    pressed = (bounded < 1e-9) & (bounded < solution.pressure[: programme.bounded_steps])
    smoothed[: programme.bounded_steps] = np.where(pressed, 0.0, fall * bounded)
    return NoiseChange(smoothed, noise)


def _build_programme(steps: FloatArray, graph: NoiseGraph, ceiling: Ceiling) -> LinearProgramme:
    """Build the linear programme of the L1 projection, for steps scaled by the largest fall of the curve.

    Args:
        steps: Steps of the curve, divided by the largest fall.
        graph: Noises, as edges between the steps that they change.
        ceiling: Largest value of the curve, or its exact last value; None: there is none.
    """
    slots = np.flatnonzero(graph.variance)
    spread = np.sqrt(graph.largest[slots])
    bounded = graph.points + isinstance(ceiling, AtMost)
    ends = (graph.slots.lower[slots], graph.slots.upper[slots])
    cost = spread.min() / spread
    return LinearProgramme(graph, slots, *ends, cost, steps, bounded, np.inf if ceiling is None else 0.0)
