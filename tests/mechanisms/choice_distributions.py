"""Exact distributions of all mechanisms that choose, through `AUTO.run` as it stands, and what tiny neighbours lose by
them.

Draws are replaced: by a walk through every choice with its chance, or, where one noise is behind several answers, by
what is compared, whose distribution is known in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import atan, pi
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from cut_distribution import distribution_of_choice
from numpy.typing import NDArray
from scipy.special import logsumexp
from test_merged_cells import distribution as distribution_of_merged
from test_privtree import above
from threshold_distribution import distribution as distribution_of_thresholds
from tiny_tables import axes, cuts, data_sets, neighbours

from dpcurves.conversation import Plan
from dpcurves.data import Axis, doubling_grid
from dpcurves.distributions import Noise, ThresholdAnswers
from dpcurves.mechanisms import AUTO, exponential, smooth_sensitivity, thresholds
from dpcurves.noise import exponential as selection
from dpcurves.noise.exponential import PartitionDistribution
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import (
    AucQuery,
    CoverageQuery,
    IntervalPartitionQuery,
    MedianQuery,
    MergePartitionQuery,
    Query,
    ThresholdComparison,
    ThresholdQuery,
    TreePartitionQuery,
    WorstBoxQuery,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ANY = Randomness.from_seed(0)
ORDERS = (1.01, 1.2, 1.5, 2.0, 3.0, 4.5, 8.0, 16.0, 64.0)
ANGLES = (np.arange(2000) + 0.5) / 2000 * pi - pi / 2
"""Angles of a Cauchy variable: the midpoint rule on the circle, whose error falls faster than any power."""


def adjacencies(records: int) -> tuple[Adjacency, ...]:
    """Both kinds of neighbours, for units of 1, 2 and 3 records, among so many units."""
    units = [Unit("patient", number) for number in (1, 2, 3)]
    return (*map(AddRemove, units), *(ReplaceOne(unit, records) for unit in units))


class Walk:
    """Choices from a list, of which each later walk takes another one; their chance is the product."""

    def __init__(self, taken: list[int], cells: int) -> None:
        self.taken, self.cells, self.offered, self.chance = taken, cells, list[int](), 1.0

    def pick(self, chances: Sequence[float]) -> int:
        step = len(self.offered)
        if step == len(self.taken):
            self.taken.append(0)
        self.offered.append(len(chances))
        self.chance *= chances[self.taken[step]]
        return self.taken[step]

    def next(self) -> Walk | None:
        taken = self.taken[: len(self.offered)]
        while taken and taken[-1] + 1 == self.offered[len(taken) - 1]:
            taken.pop()
        return Walk([*taken[:-1], taken[-1] + 1], self.cells) if taken else None

    # What stands in the place of draws.

    def sample_exponential_mechanism(self, penalties: IntArray, rate: Fraction, randomness: Randomness) -> int:
        return self.pick(distribution_of_choice(tuple(penalties.tolist()), rate))

    def sample_partition(self, deviations: Any, rate: Fraction, prior: float, randomness: Randomness) -> IntArray:
        chances, place, firsts = (
            PartitionDistribution.from_penalties(deviations, rate, prior),
            deviations.shape[1] - 1,
            list[int](),
        )
        while place:
            terms = [
                float(Fraction(whole) * Fraction(2) ** scale) for whole, scale in chances.last_interval_weights(place)
            ]
            place -= 1 << self.pick([term / sum(terms) for term in terms])
            firsts.append(place)
        return np.array(firsts[::-1], dtype=np.int64)

    def is_noisily_above_zero(self, scores: IntArray, noise: Noise, randomness: Randomness) -> NDArray[np.bool_]:
        scale = float(noise.parameter)
        chances = [above(score, scale) for score in scores.tolist()]
        return np.array([bool(self.pick((1 - chance, chance))) for chance in chances], dtype=np.bool_)

    def sample_cauchy_floor(self, centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
        """An edge, or -1 for all that lies outside. A piece without cells has no noise, and one edge."""
        if scale == 0:
            return int(centre)
        ends = [0.5 + atan((edge - float(centre)) / float(scale)) / pi for edge in range(self.cells + 2)]
        inside = np.diff(ends).tolist()
        return self.pick((1 - sum(inside), *inside)) - 1


def walked(table: IntArray, plan: Plan) -> list[float]:
    """Chances of all answers of `AUTO.run`, in the order of the answers."""
    found: dict[tuple[int, ...], float] = {}
    walk: Walk | None = Walk([], plan.query.cells)
    while walk is not None:
        with ExitStack() as replaced:
            for room, name in (
                (selection, "sample_exponential_mechanism"), (exponential, "sample_partition"),
                (thresholds, "is_noisily_above_zero"), (smooth_sensitivity, "sample_cauchy_floor"),
            ):  # fmt: skip
                replaced.enter_context(patch.object(room, name, getattr(walk, name)))
            values = AUTO.run(table, plan, ANY)
        found[values] = found.get(values, 0.0) + walk.chance
        walk = walk.next()
    return [found[values] for values in sorted(found)]


def compared(table: IntArray, plan: Plan) -> list[float]:
    """Chances of all answers of the sparse vector technique, of what `AUTO.run` compares."""
    seen: list[Sequence[int]] = []

    def reached(exact: Sequence[int], own: object, common: object, most: int) -> tuple[int, ...]:
        seen.append(exact)
        return (0,) * most

    with patch.object(thresholds, "select_reached", reached):
        AUTO.run(table, plan, ANY)
    return list(_of_differences(tuple(seen[0]), plan.distribution.require_type(ThresholdAnswers)))


@lru_cache(maxsize=10_000)
def _of_differences(exact: tuple[int, ...], distribution: ThresholdAnswers) -> FloatArray:
    return distribution_of_thresholds(np.array(exact), distribution)


def merged(table: IntArray, plan: Plan) -> list[float]:
    """Chances of all answers of merged cells, of what `AUTO.run` hands on: counts, and both noises' distribution."""
    seen: list[tuple[tuple[int, ...], int]] = []
    noises: list[Noise] = []

    def ends(counts: Sequence[int], least: int, own: object, common: object) -> list[int]:
        seen.append((tuple(counts), least))
        return [1] * len(counts)

    def draws(noise: Noise, size: int, randomness: Randomness) -> IntArray:
        noises.append(noise)
        return np.zeros(size, dtype=np.int64)

    with patch.object(thresholds, "mark_interval_ends", ends), patch.object(thresholds, "sample_noise", draws):
        AUTO.run(table, plan, ANY)
    counts, least = seen[0]
    return list(distribution_of_merged(counts, least, noises[0]))


def cauchy(table: IntArray, plan: Plan) -> list[float]:
    """The centre and the scale of the noise of an area: a point of the upper half plane."""
    seen: list[list[float]] = []

    def whole_below(centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
        seen.append([float(centre), float(scale)])
        return 0

    with patch.object(smooth_sensitivity, "sample_cauchy_floor", whole_below):
        AUTO.run(table, plan, ANY)
    return seen[0]


class Chooser(NamedTuple):
    """A query that a mechanism answers by a choice, the distribution of its answers, and cells that a record may be
    in."""

    name: str
    query: Query
    distribution: Callable[[IntArray, Plan], list[float]]

    @property
    def kinds(self) -> int:
        return self.query.rows * self.query.cells + 1


def threshold_query(weights: tuple[tuple[int, ...], ...], most: int) -> ThresholdQuery:
    compared = tuple(ThresholdComparison(row, threshold) for row, threshold in zip(weights, (0, 1, 2), strict=False))
    return ThresholdQuery(axes(1, len(weights[0])), compared, most)


def choosers(cells: int = 3) -> Iterator[Chooser]:
    """Choosing mechanisms, on so many cells or a little more."""
    boxes = (((0, 1), (0, 2)), ((0, 2), (1, 2)), ((0, 2), (0, 2)), ((1, 2), (0, 1)))
    for pieces in (2, 3, 4):
        yield Chooser(f"quantile cuts, {pieces} pieces", cuts(cells, pieces), walked)
    for levels in (1, 2):
        yield Chooser(f"noisy medians, {levels} levels", MedianQuery(axes(1, cells + 1 - levels), levels), walked)
    yield Chooser("noisy area", AucQuery(axes(2, 2)), cauchy)
    yield Chooser("buckets", IntervalPartitionQuery(axes(1, cells + 1), range(cells + 1)), walked)
    yield Chooser("worst box", WorstBoxQuery(axes(2, 2), boxes, (1, 0, 2, 3)), walked)
    for shape, fans in (((cells + 1,), (2,)), ((cells,), (3,)), ((2, 2), (2, 2))):
        tree = tuple(Axis(f"x{number}", axes(1, side)[0].grid) for number, side in enumerate(shape))  # type: ignore[union-attr]
        yield Chooser(f"PrivTree, {shape} by {fans}", TreePartitionQuery(tree, fans, 0), walked)
    for least in (1, 3):
        yield Chooser(f"merged cells, {least} at least", MergePartitionQuery(axes(1, cells), least), merged)
    general, monotone = ((1, 0, -1), (-1, 1, 0), (0, -1, 1)), ((1, 0, 0), (1, 1, 0), (1, 1, 1))
    for name, weights, most in (("both ways", general, 1), ("both ways", general, 2), ("one way", monotone, 1)):
        yield Chooser(f"sparse vector, {name}, up to {most}", threshold_query(weights, most), compared)
    for coverage in ("1", "19/20"):
        axis = (Axis("residual", doubling_grid(1, 1)),)
        yield Chooser(f"bounds of {coverage}", CoverageQuery(axis, Fraction(coverage)), compared)


class Lost(NamedTuple):
    """The most that any pair of neighbours loses, in the currency of the claim, and the claim."""

    worst: float
    claimed: float

    @property
    def share(self) -> float:
        return self.worst / self.claimed


def lost(chooser: Chooser, loss: PrivacyLoss, adjacency: Adjacency, records: int = 3) -> Lost:
    """The worst of all neighbours of so many records at most, exactly: epsilon, or rho at all of `ORDERS`."""
    plan, sets = AUTO.plan(chooser.query, loss, adjacency), data_sets(chooser.kinds, records)
    present, alike = np.unique(sets[:, :-1], axis=0, return_inverse=True)
    distributions = np.array([chooser.distribution(np.append(table, 0), plan) for table in present])
    pairs = np.unique(alike.ravel()[neighbours(sets, adjacency)], axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ours, theirs = distributions[pairs[:, 0]], distributions[pairs[:, 1]]
    if chooser.distribution is cauchy:
        worst = _of_points(ours, theirs, pure=loss.is_pure)
    else:
        assert np.allclose(distributions.sum(axis=1), 1, rtol=0, atol=1e-9)
        once = pairs[:, 0] < pairs[:, 1] if loss.is_pure else slice(None)  # epsilon is the same either way
        worst = _of_chances(np.log(ours[once]), np.log(theirs[once]), pure=loss.is_pure)
    return Lost(worst, float(loss.rho if loss.epsilon is None else loss.epsilon))


def _of_chances(ours: FloatArray, theirs: FloatArray, *, pure: bool) -> float:
    if pure:
        return float(np.abs(ours - theirs).max())
    found = [logsumexp(a * ours + (1 - a) * theirs, axis=1).max() / (a * (a - 1)) for a in ORDERS]
    return float(max(found))


def _of_points(ours: FloatArray, theirs: FloatArray, *, pure: bool) -> float:
    """Cauchy variables of these centres and scales: the hyperbolic distance, or integrals over the circle.

    Nothing is rounded, so whatever is told of the variables loses no more.
    """
    (f, s), (g, t) = ours.T, theirs.T
    if pure:
        return float(np.arccosh(1 + ((f - g) ** 2 + (s - t) ** 2) / (2 * s * t)).max())
    ratio = np.empty((len(f), len(ANGLES)))
    for place in range(len(f)):
        x = g[place] + t[place] * np.tan(ANGLES)
        ratio[place] = np.log(s[place] / t[place] * (t[place] ** 2 + (x - g[place]) ** 2)) - np.log(
            s[place] ** 2 + (x - f[place]) ** 2
        )
    found = [(logsumexp(a * ratio, axis=1) - np.log(len(ANGLES))).max() / (a * (a - 1)) for a in ORDERS]
    return float(max(found))


def table(losses: Sequence[PrivacyLoss], records: int, cells: int = 3) -> Iterator[tuple[str, list[float]]]:
    """The worst over what is claimed of each chooser and loss, in the order of `adjacencies`."""
    for chooser, loss in product(choosers(cells), losses):
        yield f"{chooser.name}: {loss}", [lost(chooser, loss, each, records).share for each in adjacencies(records)]
