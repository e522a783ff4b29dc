"""Linear programmes on a noise graph, solved from inside: the least sum of absolute changes of noises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...compiled import compiled
from .elimination import Elimination
from .noise_graph import Indices, NoiseGraph

GAP = 1e-10  # between the programme and its dual, as a part of the objective
SHORTFALL = 1e-10  # of the equations, where the largest fall is 1
ROUNDING = 1e-13  # of the largest step
ROUNDS = 150  # some 15 are needed, 30 for the hardest curves
CORRECTIONS = 3  # of one round at most; one is usual
NEARLY_ALL = 0.9995  # of the way to the nearest bound


@dataclass(frozen=True, slots=True, eq=False)
class Programme:
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
        bounded: How many steps must not be negative: all of them, or all but the last.
        last_ground: The ground of a last step that is not bounded: 0 if it must be 0, infinite if it is free.
    """

    graph: NoiseGraph
    slots: NDArray[np.intp]
    lower: Indices
    upper: Indices
    cost: FloatArray
    steps: FloatArray
    bounded: int
    last_ground: float

    def factors(self, weight: FloatArray) -> Elimination:
        """Factor ``A diag(weight) A'``: the Laplacian of the graph, with weights of the bounded steps as its ground."""
        noises = len(self.slots)
        of_slot, ground = np.zeros(len(self.graph.variance)), np.full(len(self.steps), self.last_ground)
        of_slot[self.slots] = weight[:noises] + weight[noises : 2 * noises]
        ground[: self.bounded] = weight[2 * noises :]
        return Elimination.of(self.graph, of_slot, ground)

    def slack_change(self, pressure: FloatArray) -> FloatArray:
        """``-A'p``."""
        change = np.empty(2 * len(self.slots) + self.bounded)
        _slacken(self.lower, self.upper, pressure, change)
        return change

    def moved(self, value: FloatArray) -> FloatArray:
        """``A x``, but 0 at a free step."""
        steps = np.zeros(len(self.steps))
        steps[: self.bounded] -= value[2 * len(self.slots) :]
        _move(self.lower, self.upper, value, steps)
        if self.last_ground == np.inf:
            steps[-1] = 0.0
        return steps


class Inside(NamedTuple):
    """A point where nothing is at its bound, and slacks fit pressures; or the way from one to the next.

    Attributes:
        value: x: upwards, downwards, steps.
        slack: The slack of each value.
        pressure: p, (points + 1,).
    """

    value: FloatArray
    slack: FloatArray
    pressure: FloatArray


def least_cost(programme: Programme) -> Inside:
    """The solution, by the predictor-corrector method of Mehrotra (1992); each round is linear in the points.

    It comes near the middle of several solutions: the analytic centre of all of them.

    Raises:
        ArithmeticError: rounding keeps it from the solution.
    """
    point = _start(programme)
    enough = SHORTFALL + ROUNDING * float(np.abs(programme.steps).max())
    noises = len(programme.slots)
    for _ in range(ROUNDS):
        gap = GAP * float(programme.cost @ (point.value[:noises] + point.value[noises : 2 * noises]))
        short = float(np.abs(programme.moved(point.value) + programme.steps).max())
        if short <= enough and float(point.value @ point.slack) <= gap:
            return point
        _advance(programme, point, gap / 2, enough / 8)
    raise ArithmeticError(f"noisy: not smoothed in {ROUNDS} rounds: numbers or variances are too far apart")


def _start(programme: Programme) -> Inside:
    """Least squares, moved inside: the slacks are exact from here on."""
    pressure = np.full(len(programme.steps), programme.cost.min() / 2)
    if programme.last_ground == np.inf:
        pressure[-1] = 0.0
    slack = programme.slack_change(pressure)
    slack[: 2 * len(programme.slots)] += np.tile(programme.cost, 2)
    equal = programme.factors(np.ones(len(slack)))
    value = -programme.slack_change(equal.solve(-programme.steps))
    value += max(-1.5 * float(value.min()), 0.0)
    value += 0.5 * float(value @ slack) / float(slack.sum())
    return Inside(value, slack, pressure)


def _advance(programme: Programme, point: Inside, gap: float, enough: float) -> None:
    """A predictor-corrector step, not too near to any bound.

    A smaller gap than `gap` is not aimed at, and equations that hold up to `enough` are not corrected: rounding is felt
    there. Nearer to the bounds it grows until the equations can not be met any more.
    """
    factors = programme.factors(point.value / point.slack)
    aim = np.zeros(len(point.value))
    straight = _direction(programme, factors, point, aim)
    ahead = _product(point, straight, _reach(point.value, straight.value), _reach(point.slack, straight.slack))
    product = float(point.value @ point.slack)
    _bend(point, straight, max(product * (ahead / product) ** 3, gap) / len(aim), aim)
    way = _direction(programme, factors, point, aim)
    _correct(programme, factors, point, way, enough)
    value_part = NEARLY_ALL * _reach(point.value, way.value)
    slack_part = NEARLY_ALL * _reach(point.slack, way.slack)
    _go(point.value, way.value, value_part)
    _go(point.slack, way.slack, slack_part)
    _go(point.pressure, way.pressure, slack_part)


def _direction(programme: Programme, factors: Elimination, point: Inside, aim: FloatArray) -> Inside:
    """Newton's step to where each value is what it aims at, but for what its slack changes."""
    pressure = factors.solve(-programme.steps - programme.moved(aim))
    slack = programme.slack_change(pressure)
    value = aim - point.value
    _yield(point, slack, value)
    return Inside(value, slack, pressure)


def _correct(programme: Programme, factors: Elimination, point: Inside, way: Inside, enough: float) -> None:
    """Solve again for what rounding left of the equations: near bounds, slacks are small differences of pressures."""
    for _ in range(CORRECTIONS):
        left = -programme.steps - programme.moved(point.value + way.value)
        if float(np.abs(left).max()) <= enough:
            break
        rest = factors.solve(left)
        slack = programme.slack_change(rest)
        _yield(point, slack, way.value)
        _go(way.slack, slack, 1.0)
        _go(way.pressure, rest, 1.0)


@compiled
def _yield(point: Inside, slack_change: FloatArray, value_change: FloatArray) -> None:
    """Lower values as their slacks rise."""
    for i in range(len(value_change)):
        value_change[i] -= point.value[i] / point.slack[i] * slack_change[i]


@compiled
def _reach(place: FloatArray, change: FloatArray) -> float:
    """The part of the change that can be made before the first is 0, at most 1."""
    rate = 1.0
    for i in range(len(place)):
        rate = max(rate, -change[i] / place[i])
    return 1 / rate


@compiled
def _product(point: Inside, way: Inside, value_part: float, slack_part: float) -> float:
    """The sum of values times slacks, some part of the way ahead."""
    product = 0.0
    for i in range(len(point.value)):
        value, slack = point.value[i] + value_part * way.value[i], point.slack[i] + slack_part * way.slack[i]
        product += value * slack
    return product


@compiled
def _bend(point: Inside, straight: Inside, centre: float, aim: FloatArray) -> None:
    """Aim at one product of values and slacks for all, and against the curvature of the straight way."""
    for i in range(len(aim)):
        aim[i] = (centre - straight.value[i] * straight.slack[i]) / point.slack[i]


@compiled
def _go(place: FloatArray, change: FloatArray, part: float) -> None:
    for i in range(len(place)):
        place[i] += part * change[i]


@compiled
def _slacken(lower: Indices, upper: Indices, pressure: FloatArray, change: FloatArray) -> None:
    noises = len(lower)
    for i in range(noises):
        push = pressure[lower[i]] - pressure[upper[i]]
        change[i], change[noises + i] = -push, push
    for i in range(len(change) - 2 * noises):
        change[2 * noises + i] = pressure[i]


@compiled
def _move(lower: Indices, upper: Indices, value: FloatArray, steps: FloatArray) -> None:
    noises = len(lower)
    for i in range(noises):
        change = value[i] - value[noises + i]
        steps[lower[i]] += change
        steps[upper[i]] -= change
