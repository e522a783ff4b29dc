"""Exact privacy losses of noise and choices of this package, in closed form, beside the search by samples.

A search by samples needs events that are frequent and neighbours that reach the loss; a scale or a sensitivity that is
wrong by a factor of two can stay below both. Here the loss of each pair of neighbours is a number:

- *Noisy sums*: what the mechanism releases with its draws replaced by zeros (`traced_draws`), and the noise that it
  drew for each sum. Discrete Laplace noise of scale b loses ``|shift| / b``, discrete Gaussian noise with parameter v
  loses rho ``shift**2 / (2 * v)``, and independent noises add up.
- *Sums of sites*: the distribution of the sum of the shares that the honest sites draw.
- *Reports of people, answers of pairs*: see `response_losses`.
- *Choices*: the probability of each outcome of `run`, for all tables of up to three records. Draws are replaced by a
  walk through all choices, or, for the sparse vector technique, by a sum over the common noise.
- *Medians, areas, streams, partition selection, two servers*: see `traced_losses`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from math import ceil, inf, sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves import mechanisms, queries
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Grid, doubling_grid
from dpcurves.distributions import Family, Noise, ThresholdAnswers
from dpcurves.mechanisms import thresholds
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise import discrete_gaussian
from dpcurves.noise.randomness import InProcessMemory, Randomness
from dpcurves.privacy import Neighbours, PrivacyLoss
from dpcurves.queries import ThresholdComparison
from dpcurves_sites import shares

from . import neighbouring_datasets as families
from .deployments import (
    ADD_REMOVE,
    EPSILON_ONE,
    REPLACE_ONE,
    RHO_HALF,
    AuditTarget,
    PairAnswersSampler,
    ReportSampler,
    ResponseSampler,
    StreamSampler,
    TwoServersSampler,
)
from .neighbouring_datasets import NeighbouringDatasets, NeighbourPair
from .questions import COLUMN, UNIT
from .response_losses import find_answers_loss, find_report_distribution, find_shares_epsilon
from .targets import EDGES, GRID_CELLS, LazyTreeSampler, MechanismSampler, NoiseSampler, SitesSampler
from .traced_draws import (
    ORDERS,
    PLANTED_NOISE,
    UNUSED_RANDOMNESS,
    ChoicePath,
    ReplacedDraws,
    SeededDraw,
    Table,
    TracedRelease,
    compare_releases,
    find_outcome_distribution,
    find_tails,
    require_secret_source,
)
from .traced_losses import (
    find_two_servers_loss,
    list_other_losses,
    list_stream_losses,
    list_tables,
    list_traced_losses,
    make_adjacency,
)

NoisyBlock = tuple[Sequence[int], Noise]
"""Exact sums, and the noise that each of them gets."""


@dataclass(frozen=True)
class ExactLoss:
    """The exact loss of a release of this package for its worst pair among tiny neighbours.

    Attributes:
        name: Name of the release.
        claim: The loss that it claims.
        find_loss: The function that returns the largest loss, as an epsilon or a rho as claimed.
    """

    name: str
    claim: PrivacyLoss
    find_loss: Callable[[], float]

    def find_largest(self) -> float:
        """Return the largest loss; infinite if a mechanism draws noise from a seeded source of its own."""
        try:
            return self.find_loss()
        except SeededDraw:
            return inf

    @property
    def claimed(self) -> float:
        """Claimed epsilon or rho as a number, to compare the exact loss with."""
        return float(self.claim.rho if self.claim.epsilon is None else self.claim.epsilon)

    @property
    def parameter(self) -> str:
        """Name of the claimed parameter: epsilon or rho."""
        return "rho" if self.claim.epsilon is None else "epsilon"

    def exceeds_claim(self, loss: float) -> bool:
        """Return whether a loss is larger than the claim, beyond rounding errors."""
        # 1e-9: relative rounding error of a loss in floating point
        return loss > self.claimed * (1 + 1e-9)


def list_exact_losses(targets: Iterable[AuditTarget], *, quick: bool) -> Iterator[ExactLoss]:
    """Yield the exact losses of the targets that are noisy sums, and of further mechanisms whose outcomes can be
    enumerated.

    A quick audit computes noisy sums for the first `QUICK_PAIRS` pairs of each family only.

    Args:
        targets: Audited releases.
        quick: Whether fewer pairs of neighbours are enough.
    """
    for target in targets:
        find_loss = _choose_target_loss(target, quick=quick)
        if find_loss is not None:
            yield ExactLoss(target.name, target.loss, find_loss)
    for loss in (EPSILON_ONE, RHO_HALF):
        for neighbours in (ADD_REMOVE, REPLACE_ONE):
            setting = f"{loss}, {neighbours.value}"
            for name, sampler, family in _list_more_sums(loss, neighbours):
                pairs = family.take_first(QUICK_PAIRS) if quick else family
                yield ExactLoss(f"{name}: {setting}", loss, partial(_find_sums_loss, sampler, pairs, loss))
            yield ExactLoss(
                f"blocks of a tree on demand: {setting}", loss, partial(_find_blocks_loss, loss, neighbours)
            )
            for name, mechanism, query, find_distribution in _list_choices():
                yield ExactLoss(
                    f"{name}: {setting}",
                    loss,
                    partial(_find_choice_loss, mechanism, query, find_distribution, loss, neighbours),
                )
            for named in (list_traced_losses(loss, neighbours), list_stream_losses(loss, neighbours)):
                yield from (ExactLoss(*item) for item in named)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        yield from (ExactLoss(*item) for item in list_other_losses(neighbours))


QUICK_PAIRS = 8
"""Pairs of neighbouring data sets of each family in a quick audit: opening their tables takes nearly all of its time.
More pairs can show a larger loss."""


def _choose_target_loss(target: AuditTarget, *, quick: bool) -> Callable[[], float] | None:
    """Return the function that computes a target's exact loss from its sampler; None if it cannot be computed.

    Args:
        target: The target.
        quick: Whether `QUICK_PAIRS` pairs are enough.
    """
    sampler, claim = target.sampler, target.loss
    family = target.family.take_first(QUICK_PAIRS) if quick else target.family
    if has_noisy_sums(target):
        return partial(_find_sums_loss, sampler, family, claim)
    match sampler:
        case SitesSampler():
            return partial(_find_shares_loss if claim.epsilon is not None else _find_sites_loss, sampler, family)
        case ResponseSampler() | ReportSampler():
            pairs = target.family.pairs
            step = ceil(len(pairs) / QUICK_PAIRS) if quick else 1
            return partial(_find_reports_loss, sampler, pairs[::step], claim)
        case TwoServersSampler():
            return partial(find_two_servers_loss, sampler, family, claim)
    return partial(find_answers_loss, sampler, family) if type(sampler) is PairAnswersSampler else None


def has_noisy_sums(target: AuditTarget) -> bool:
    """Return whether a target's sampler adds independent noise to exact sums, so that its loss is known in closed form.

    Subclasses of `NoiseSampler` run mechanisms or protocols instead.
    """
    return type(target.sampler) is NoiseSampler


def has_exact_loss(target: AuditTarget) -> bool:
    """Return whether an exact loss covers the mechanism of a target: samples then show faults of samplers alone."""
    return has_noisy_sums(target) or isinstance(
        target.sampler,
        (
            LazyTreeSampler,
            MechanismSampler,
            PairAnswersSampler,
            ReportSampler,
            ResponseSampler,
            SitesSampler,
            StreamSampler,
            TwoServersSampler,
        ),
    )


def _list_more_sums(loss: PrivacyLoss, neighbours: Neighbours) -> Iterator[tuple[str, Any, NeighbouringDatasets]]:
    """Yield further audited sums: a histogram with units of two records, and sums of values at both ends of a cell.

    A record that is replaced by one at the other end of its cell changes a signed sum by twice the largest value.

    Args:
        loss: Claimed loss.
        neighbours: Add-remove or replace-one.

    Returns:
        Yields name, sampler, and neighbouring data sets.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    flat = mechanisms.FlatHistogram()
    cells = queries.CountQuery(axis, queries.CountUse.CELLS)
    units = NoiseSampler("histogram of units", cells, flat, loss, neighbours, dp.Unit(UNIT, 2))
    yield "noise of a histogram of units", units, families.units(EDGES, 2, adjacency=neighbours)
    ends = EDGES[0], np.nextafter(EDGES[1], -inf)
    pairs = [
        (np.array([ends[side]] if neighbours is REPLACE_ONE else []), np.array([ends[1 - side]])) for side in (0, 1)
    ]
    family = families.pairs(pairs, adjacency=neighbours, name="both ends of a cell")
    sums = NoiseSampler("sums of values", queries.SumQuery(axis, 8), flat, loss, neighbours)
    yield "sums of values at both ends of a cell", sums, family


def add_losses(left: Sequence[NoisyBlock], right: Sequence[NoisyBlock], claim: PrivacyLoss) -> float:
    """Return the exact loss of independent noisy sums of two data sets, as an epsilon or a rho as claimed.

    An epsilon is ``epsilon**2 / 2`` zero-concentrated (Bun and Steinke 2016). The loss is infinite if the noises of
    both differ, or if Gaussian noise claims an epsilon.

    Args:
        left: Sums and noise of one data set, block by block.
        right: Sums and noise of the other data set.
        claim: The claim; decides whether the loss is an epsilon or a rho.

    >>> from dpcurves.distributions import Family
    >>> noise = Noise(Family.LAPLACE, Fraction(2))
    >>> add_losses([([3, 1], noise)], [([4, 3], noise)], PrivacyLoss.pure(1))
    1.5
    """
    epsilon = rho = Fraction(0)
    for (sums, noise), (others, other_noise) in zip(left, right, strict=True):
        shifts = [abs(int(a) - int(b)) for a, b in zip(sums, others, strict=True)]
        if noise != other_noise:
            return inf
        if noise.family is Family.LAPLACE:
            epsilon += Fraction(sum(shifts)) / noise.parameter
        else:
            rho += Fraction(sum(shift**2 for shift in shifts)) / (2 * noise.parameter)
    if claim.epsilon is None:
        return float(rho + epsilon**2 / 2)
    return inf if rho else float(epsilon)


def _find_sums_loss(sampler: Any, family: NeighbouringDatasets, claim: PrivacyLoss) -> float:
    """Return the largest exact loss of noisy sums over the pairs of a family, by runs of the mechanism.

    Args:
        sampler: Sampler of the mechanism, which plans and tabulates.
        family: Pairs of neighbouring data sets.
        claim: Claimed loss; decides whether the loss is an epsilon or a rho.
    """
    losses = []
    for pair in family.pairs:
        sides = []
        for data in (pair.left, pair.right):
            plan, table = sampler.plan_and_tabulate(data)
            sides.append(TracedRelease(partial(sampler.mechanism.run, table, plan, UNUSED_RANDOMNESS)))
        losses.append(compare_releases(sides[0], sides[1], claim))
    return max(losses)


MOST_DEVIATIONS = 12
"""Standard deviations of a sum of noise shares, besides what an order shifts, beyond which its distribution is cut off
and outcomes are left out."""


def _find_sites_loss(sampler: SitesSampler, family: NeighbouringDatasets) -> float:
    """Return the largest loss (rho) of a federated sum over all pairs of neighbours and Renyi orders of at most 8.

    The sum has the noise that the honest sites add alone: a share of discrete Gaussian noise of each.

    Args:
        sampler: Sums of several sites, with their trust model.
        family: Neighbouring data sets.
    """
    orders = [order for order in ORDERS if order <= 8]  # the distribution is cut off where larger ones would look

    @cache
    def find_divergence(noise: Noise, shift: int, order: float) -> float:
        """Return the Renyi divergence between the sum of the shares and this sum moved by `shift`, divided by the
        order: a lower bound of rho.

        Args:
            noise: Noise of the sum, as planned.
            shift: Difference of the sums of two neighbours, an integer.
            order: Order of the divergence, above 1.
        """
        logs = np.log(convolve_gaussians(list_share_variances(sampler.model, noise), shift * ceil(order)))
        moved, still = logs[shift:], logs[: len(logs) - shift]
        return float(np.log(np.exp(order * moved + (1 - order) * still).sum())) / (order * (order - 1))

    largest = 0.0
    for pair in family.pairs:
        (plan, left), (_, right) = (sampler.plan_and_tabulate(data) for data in (pair.left, pair.right))
        blocks = [compute_exact_sums(sampler.query.reorder_table(table), plan.distribution) for table in (left, right)]
        shifts = [
            (noise, abs(int(shift)))
            for (sums, noise), (others, _) in zip(*blocks, strict=True)
            for shift in np.asarray(sums) - np.asarray(others)
            if shift
        ]
        largest = max(
            largest, *(sum(find_divergence(noise, shift, order) for noise, shift in shifts) for order in orders)
        )
    return largest


def _find_shares_loss(sampler: SitesSampler, family: NeighbouringDatasets) -> float:
    """Return the largest epsilon of sums with the Polya shares of the honest sites.

    Args:
        sampler: Sums of several sites, with their trust model.
        family: Neighbouring data sets.
    """

    @cache
    def find_epsilon(noise: Noise, shift: int) -> float:
        """Return the epsilon of a noisy sum of which each site draws a share of the noise, between sums that differ by
        `shift`.

        Args:
            noise: Planned noise of the sum.
            shift: Difference of the exact sums of two neighbouring data sets.
        """
        return find_shares_epsilon(list_polya_shares(sampler.model, noise), shift)

    def find_loss(pair: NeighbourPair) -> float:
        """Return the epsilon of all noisy sums of a pair of data sets together; the sums have independent noise.

        Args:
            pair: Neighbouring data sets.
        """
        (plan, left), (_, right) = (sampler.plan_and_tabulate(data) for data in (pair.left, pair.right))
        blocks = [compute_exact_sums(sampler.query.reorder_table(table), plan.distribution) for table in (left, right)]
        return sum(
            find_epsilon(noise, abs(int(shift)))
            for (sums, noise), (others, _) in zip(*blocks, strict=True)
            for shift in np.asarray(sums) - np.asarray(others)
            if shift
        )

    return max(map(find_loss, family.pairs))


def list_polya_shares(model: Any, noise: Noise) -> list[tuple[Fraction, Fraction]]:
    """Return the scale and shape of the Polya noise shares that the honest sites draw for one sum.

    Args:
        model: Trust model of the sites, with the number of honest sites.
        noise: Noise of the sum, as planned.
    """
    drawn: list[tuple[Fraction, Fraction]] = []

    def record(scale: Fraction, shape: Fraction, size: int, randomness: Randomness) -> Table:
        """Return zeros in the place of a site's Polya noise share, and record the share's scale and shape.

        Args:
            scale: Scale of the Laplace noise to which all shares add up.
            shape: Shape of the Polya distribution.
            size: Number of samples.
            randomness: Source of random bits; without effect.
        """
        drawn.append((scale, shape))
        return np.zeros(size, dtype=np.int64)

    with patch.object(shares, "sample_polya_differences", require_secret_source(record)):
        for _ in range(model.honest_sites):
            model.sample_noise_share(noise, 1, UNUSED_RANDOMNESS)
    return drawn


def _find_reports_loss(sampler: Any, pairs: Iterable[NeighbourPair], claim: PrivacyLoss) -> float:
    """Return the largest loss of the reports of one person, in both directions.

    Args:
        sampler: Sampler of a randomiser or of a person in a survey.
        pairs: Neighbouring answers, or values of a named person.
        claim: Claimed loss.
    """
    distributions: dict[str, dict[bytes, float]] = {}

    def find_once(data: Any) -> dict[bytes, float]:
        """Return the probabilities of all reports of a person; computed at the first call with these data, then cached.

        Args:
            data: Data set of a pair: value and name of the person.
        """
        if repr(data) not in distributions:
            distributions[repr(data)] = find_report_distribution(sampler, data)
        return distributions[repr(data)]

    return max(
        compare_distributions(find_once(one), find_once(other), claim)
        for pair in pairs
        for one, other in ((pair.left, pair.right), (pair.right, pair.left))
    )


def list_share_variances(model: Any, noise: Noise) -> list[float]:
    """Return the variance parameters of the Gaussian noise that the honest sites draw for one sum.

    Args:
        model: Trust model of the sites, with the number of honest ones.
        noise: Noise of the sum, as planned.

    Returns:
        One variance parameter for each honest site.
    """
    variances: list[float] = []

    def record(variance: Fraction, size: int, randomness: Randomness) -> Table:
        """Return zeros in the place of Gaussian noise, and record the noise's variance parameter.

        Args:
            variance: Variance parameter of the noise.
            size: Number of samples.
            randomness: Source of random bits; without effect.
        """
        variances.append(float(variance))
        return np.zeros(size, dtype=np.int64)

    with patch.object(discrete_gaussian, "sample", require_secret_source(record)):
        for _ in range(model.honest_sites):
            model.sample_noise_share(noise, 1, UNUSED_RANDOMNESS)
    return variances


def convolve_gaussians(variances: Sequence[float], reach: int) -> NDArray[np.float64]:
    """Return the distribution of a sum of independent discrete Gaussians, to `MOST_DEVIATIONS` and `reach` from 0 on
    both sides.

    Args:
        variances: Variance parameter of each summand.
        reach: Integers that are added at both sides, so that shifts up to this length stay inside.

    Returns:
        Probabilities of consecutive integers; 0 is in the middle.

    >>> distribution = convolve_gaussians([1.0, 1.0], 2)
    >>> middle = len(distribution) // 2
    >>> len(distribution) % 2, round(float(distribution.sum()), 9), round(float(distribution[middle]), 3)
    (1, 1.0, 0.282)
    """
    half = ceil(MOST_DEVIATIONS * sqrt(sum(variances))) + reach
    steps = np.arange(-half, half + 1)
    distribution = np.zeros(len(steps))
    distribution[half] = 1.0
    for variance in variances:
        weights = np.exp(-(steps**2) / (2 * variance))
        distribution = np.convolve(distribution, weights / weights.sum(), mode="same")
    return distribution


def _find_blocks_loss(claim: PrivacyLoss, neighbours: Neighbours) -> float:
    """Return the largest loss of the stored blocks of a tree on demand, of which all its answers are sums.

    The depth of the tree is even, so that the blocks lose no more than the answers may (`LazyTree`).

    Args:
        claim: Claimed loss.
        neighbours: Add-remove or replace-one.
    """
    axes = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    noises: list[Noise] = []

    def draw_planted(noise: Noise, size: int, randomness: Randomness) -> Table:
        """Return distinct large integers in the place of noise, and record the noise's distribution.

        Args:
            noise: Noise of a stored block.
            size: Number of samples.
            randomness: Source of random bits; without effect.
        """
        drawn = len(noises)
        noises.extend([noise] * size)
        return PLANTED_NOISE * np.arange(drawn + 1, drawn + size + 1)

    tree = mechanisms.LazyTree(noise_sampler=draw_planted)
    query = queries.PrefixQuery(axes, tuple(range(1, GRID_CELLS + 1)))
    plan = tree.plan(query, claim, make_adjacency(neighbours))

    def find_blocks(table: Table) -> list[NoisyBlock]:
        """Return the exact sums of all stored blocks, and the noise of each; empty if several blocks share noise, so
        that losses do not add up.

        Args:
            table: Exact counts of the cells, followed by the missing records.

        Returns:
            A pair for each block: a list with its exact sum, and its noise.
        """
        below = [0, *accumulate(table[:-1].tolist())]
        stored: list[int] = []

        class Memory(InProcessMemory):
            """A memory whose stored sums are read."""

            def keep(self, notes: Any) -> dict[str, int]:
                """Store the noisy sums of tree nodes, and record them in the order in which their noise was drawn.

                Args:
                    notes: Noisy sums by name.

                Returns:
                    Stored sums by name.
                """
                stored.extend(notes.values())
                return super().keep(notes)

        noises.clear()
        tree.answer(lambda edges: [*(below[edge] for edge in edges), int(table[-1])], plan, Memory(), UNUSED_RANDOMNESS)
        exact = [value - PLANTED_NOISE * number for number, value in enumerate(stored, start=1)]
        if len(noises) != len(stored) or max(map(abs, exact)) > table.sum():
            return []  # a block has the noise of another one
        return [([value], noise) for value, noise in zip(exact, noises, strict=True)]

    def find_loss(left: list[NoisyBlock], right: list[NoisyBlock]) -> float:
        """Return the privacy loss of the stored blocks of two neighbouring tables; infinite if either table stores no
        block.

        Args:
            left: Noisy blocks of the one table.
            right: Noisy blocks of the other table.
        """
        return add_losses(left, right, claim) if left and right else inf

    pairs = list_tables(GRID_CELLS, neighbours)
    return max(find_loss(find_blocks(left), find_blocks(right)) for left, right in pairs)


# Choices: probabilities of all outcomes.

FindDistribution = Callable[[Any, Table, Plan], dict[Any, float]]


def _list_choices() -> Iterator[tuple[str, Any, Any, FindDistribution]]:
    """Yield the mechanisms whose answers are choices, with a small query for each.

    Yields:
        Name for the report, mechanism, query, and the function that returns the exact probability of each answer.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    boxes = queries.WorstBoxQuery(axis, (((0, 1),), ((1, 4),), ((0, 4),)), (0, 1, 1))
    bounds = queries.CoverageQuery((Axis(COLUMN, doubling_grid(0.125, 2)),), Fraction(9, 10))
    tree = queries.TreePartitionQuery(axis, (2,), 0)
    # a record lowers all comparisons but the last: the more there are, the more is lost
    falling = (ThresholdComparison((-1, 0, 0, 1), 0),) * 12
    compared = queries.ThresholdQuery(axis, (*falling, ThresholdComparison((1, 0, 0, -1), 0)), 1)
    for pieces in (2, 4):
        cuts = queries.QuantileCutsQuery(axis, pieces)
        yield f"quantile cuts, {pieces} pieces", mechanisms.ExponentialQuantiles(), cuts, walk_choices
    yield "worst box", mechanisms.ExponentialWorstBox(), boxes, walk_choices
    buckets = queries.IntervalPartitionQuery(axis, range(GRID_CELLS))
    yield "buckets", mechanisms.ExponentialPartition(), buckets, walk_choices
    yield "PrivTree", mechanisms.PrivTree(), tree, walk_choices
    merged = queries.MergePartitionQuery(axis, 1)
    yield "merged cells", mechanisms.MergedCells(), merged, sum_over_minimums
    yield "sparse vector", mechanisms.SparseVector(), compared, sum_over_common_noise
    yield "private bounds", mechanisms.SparseVector(), bounds, sum_over_common_noise


def walk_choices(mechanism: Any, table: Table, plan: Plan) -> dict[Any, float]:
    """Return the exact probability of each outcome of a mechanism, by enumerating all paths through its random choices.

    Args:
        mechanism: A mechanism that makes choices alone.
        table: Exact numbers of a query.
        plan: The plan of the query.
    """
    return find_outcome_distribution(lambda: mechanism.run(table, plan, UNUSED_RANDOMNESS))


def _record_noise(mechanism: Any, table: Table, plan: Plan) -> list[Noise]:
    """Return the distributions of the noise that a run draws, in order.

    Args:
        mechanism: Mechanism whose noise is recorded, not drawn.
        table: Exact table of the query.
        plan: Plan of the mechanism.
    """
    draws = ReplacedDraws(ChoicePath())
    with draws.replace():
        mechanism.run(table, plan, UNUSED_RANDOMNESS)
    return draws.noises


def sum_over_common_noise(mechanism: Any, table: Table, plan: Plan) -> dict[Any, float]:
    """Return the probability of each answer of the sparse vector technique with one positive answer.

    Given the common noise, comparisons are independent. The sum ends where the rest has a probability below 1e-17.

    Args:
        mechanism: The mechanism, whose run shows the distributions of the noise.
        table: Exact numbers of a query.
        plan: The plan of the query, with one positive answer.

    Returns:
        Probability by answer: the index of the first comparison that is positive, or the number of comparisons if none
        is.

    Raises:
        ValueError: the plan has several positive answers.
    """
    distribution = plan.distribution.require_type(ThresholdAnswers)
    if distribution.size != 1:
        raise ValueError(f"distribution must have one positive answer, got {distribution.size}")
    query: Any = plan.query
    differences = thresholds.compute_differences(table, query.comparison_matrix)
    noises = _record_noise(mechanism, table, plan)
    if len(noises) != 1 + len(differences) or len(set(noises[1:])) > 1:
        return {table.tobytes(): 1.0}  # without independent noise in each comparison, nothing protects the table
    scale = float(noises[0].parameter)
    common = np.arange(-ceil(40 * scale), ceil(40 * scale) + 1)
    weights = np.exp(-abs(common) / scale) * np.tanh(0.5 / scale)
    distribution_of_answers: dict[Any, float] = {}
    for index, difference in enumerate(differences):
        reached = find_tails(noises[1], common - difference)
        distribution_of_answers[index] = float(weights @ reached)
        weights = weights * (1 - reached)
    distribution_of_answers[len(differences)] = float(weights.sum())
    return distribution_of_answers


def sum_over_minimums(mechanism: Any, table: Table, plan: Plan) -> dict[Any, float]:
    """Return the exact probability of each answer of the mechanism that merges cells.

    In an interval, counts are compared with one noisy minimum, over which the probabilities are summed.

    Args:
        mechanism: Without effect: the plan has the noise.
        table: Records in each cell, then missing records, (cells + 1,).
        plan: The plan of the query.

    Returns:
        Probability by answer; an answer has one bit per cell, 1 where an interval of merged cells ends.
    """
    query: Any = plan.query
    noises = _record_noise(mechanism, table, plan)
    if len(noises) != 2 * query.cells or len(set(noises)) > 1:
        return {table.tobytes(): 1.0}  # a minimum or a count would share its noise
    noise = noises[0]
    scale = float(noise.parameter)
    common = np.arange(-ceil(40 * scale), ceil(40 * scale) + 1)
    minimum_distribution = np.exp(-abs(common) / scale) * np.tanh(0.5 / scale)
    counts = table[:-1]

    @cache
    def find_distribution_from(start: int) -> dict[tuple[int, ...], float]:
        """Return the probability of each way to merge the cells from `start` on into intervals.

        Args:
            start: First cell of an interval.

        Returns:
            Probability by way; a way has one bit per cell, 1 where an interval ends.
        """
        if start == len(counts):
            return {(): 1.0}
        distribution: dict[tuple[int, ...], float] = {}
        weights = minimum_distribution
        for cell in range(start, len(counts)):
            reached = find_tails(noise, query.min_records + common - counts[start : cell + 1].sum())
            for others, probability in find_distribution_from(cell + 1).items():
                distribution[(*(0,) * (cell - start), 1, *others)] = float(weights @ reached) * probability
            weights = weights * (1 - reached)
        distribution[(0,) * (len(counts) - start)] = float(weights.sum())
        return distribution

    return find_distribution_from(0)


def _find_choice_loss(
    mechanism: Any, query: Any, find_distribution: FindDistribution, claim: PrivacyLoss, neighbours: Neighbours
) -> float:
    """Return the largest loss of a choice over all neighbouring tables of up to `MOST_RECORDS` records.

    Args:
        mechanism: The mechanism.
        query: Query that the mechanism answers.
        find_distribution: Function that returns the exact probability of each outcome for a table.
        claim: Claimed loss.
        neighbours: Add-remove or replace-one.
    """
    plan = mechanism.plan(query, claim, make_adjacency(neighbours))
    distributions: dict[bytes, dict[Any, float]] = {}

    def find_once(table: Table) -> dict[Any, float]:
        """Return the probabilities of outcomes, found at the first call with this table.

        Args:
            table: Exact table of the query.

        Returns:
            Probability of each outcome, by outcome; equal calls return the same mapping.
        """
        key = table.tobytes()
        if key not in distributions:
            distributions[key] = find_distribution(mechanism, table, plan)
        return distributions[key]

    pairs = list_tables(query.cells, neighbours)
    return max(compare_distributions(find_once(left), find_once(right), claim) for left, right in pairs)


def compare_distributions(left: dict[Any, float], right: dict[Any, float], claim: PrivacyLoss) -> float:
    """Return the loss of two sets of probabilities of outcomes: epsilon, or rho at all of `ORDERS`; in one direction.

    Args:
        left: Probability of each outcome with one data set.
        right: Probability of each outcome with the other data set.
        claim: The claim; decides whether the loss is an epsilon or a rho.

    >>> round(compare_distributions({1: 0.75, 2: 0.25}, {1: 0.5, 2: 0.5}, PrivacyLoss.pure(1)), 3)
    0.405
    """
    ours = np.array([left.get(outcome, 0.0) for outcome in {**left, **right}])
    theirs = np.array([right.get(outcome, 0.0) for outcome in {**left, **right}])
    if (theirs[ours > 0] == 0).any():
        return inf
    ours, theirs = np.log(ours[ours > 0]), np.log(theirs[ours > 0])
    if claim.epsilon is not None:
        return float((ours - theirs).max())
    return max(
        float(np.log(np.exp(order * ours + (1 - order) * theirs).sum())) / (order * (order - 1)) for order in ORDERS
    )
