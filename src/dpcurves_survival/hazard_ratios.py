"""Estimate the hazard ratio of two groups from noisy risk tables (Cox regression on the group).

Cox's score (1972), with Breslow's ties (1974), is a sum over cells of time: observed minus expected events of the first
group. Its sampling variance falls with the number at risk, but the variance of its noise does not. So cells are
weighted by their information. The weights give the best linear predictor of the sum of true scores, given noisy ones
(Goldberger 1962); they are 1 without noise, and near 0 where few records are at risk.

The interval inverts a test (Fieller 1954). It contains the ratios at which the weighted score is explained by noise, by
the part that the weights leave out and, for the population, by sampling. Noise of events and of numbers at risk is
simulated anew for each ratio, which also removes the bias from noise in numbers at risk.

Formal guarantees: post-processing of released risk tables, which costs no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import exp, inf
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.inference.bands import end_level, upper_quantile

from .inference import RiskTable


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimate of a hazard ratio."""

    least_at_risk: float = 0.5
    """Records: the lower limit of numbers at risk is the standard deviation of their noise, but at most this."""
    least_event_variance: float = 1e-12
    """Squared events: lower limit of variances and of divisors, so that matrices of empty cells have an inverse."""
    blocks: int = 64
    """Largest number of blocks of neighbouring cells with separate weights: more blocks would fit the noise."""
    spread: float = 1.0
    """Coefficient of variation of the hazard over time, as a prior."""
    departure: float = 0.2
    """Standard deviation, over time, of the log hazard ratio that weights and intervals allow for: 0 would assume
    proportional hazards."""
    numbers: int = 2**17
    """Largest product of cells and draws, which bounds memory; at least `draws` draws are made even if they exceed
    it."""
    draws: int = 1000
    """Least number of draws of noise."""
    largest: float = 8.0
    """Log ratio: the largest absolute value that is searched; a ratio of 3,000."""
    pilot: float = 4.0
    """Log ratio: the largest absolute value at which weights are computed; a ratio of 55."""
    rounds: int = 3
    """Recomputations of the weights, each at the ratio that the weights before gave."""
    endpoint_tolerance: float = 1e-7
    """Log ratio: error of the search for an endpoint, far below the Monte Carlo error of the draws."""


TUNING = Tuning()
"""Default numbers that steer the estimate of a hazard ratio and its interval."""


def first_group_fraction(log_ratio: float, at_risk: FloatArray) -> FloatArray:
    """Return the share of the first group in the total hazard of each cell, shape (..., cells); 0 where nobody is at
    risk.

    Args:
        log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
        at_risk: Records at risk of both groups, shape (2, ..., cells).
    """
    first = at_risk[0] * exp(log_ratio)
    whole = first + at_risk[1]
    return np.asarray(np.divide(first, whole, out=np.zeros_like(whole), where=whole > 0))


def split_events(log_ratio: float, died: FloatArray, at_risk: FloatArray) -> FloatArray:
    """Return the events of each cell divided between two groups whose continuous hazards have this ratio, shape (2,
    cells).

    The cumulative hazard of the second group in each cell is found by Newton's method from below. It never overshoots,
    because the number of events is concave in the hazard.

    Args:
        log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
        died: Events of both groups together, shape (cells,).
        at_risk: Records at risk of both groups, shape (2, cells).
    """
    ratios = np.array([[exp(log_ratio)], [1.0]])
    hazard = np.zeros_like(died)
    # Newton steps for the hazard of a cell
    for _ in range(10):
        alive = at_risk * np.exp(-ratios * hazard)
        slope = np.maximum((ratios * alive).sum(axis=0), TUNING.least_event_variance)
        growth = np.maximum(died - (at_risk - alive).sum(axis=0), 0.0) / slope
        hazard = hazard + growth
        if growth.max(initial=0.0) < 1e-14:  # of a hazard: a few rounding errors
            break
    return np.asarray(at_risk * -np.expm1(-ratios * hazard))


class ScoreErrors(NamedTuple):
    """Errors of the block scores by noise, by sampling, and by a ratio that changes over time.

    Attributes:
        noise: Draws, (draws, blocks).
        mean: Expected scores, which add up to 0, (blocks,).
        normal_draws: Draws of the standard normal distribution, (draws, blocks + 2).
        sampling_variances: Sampling variances, (blocks,).
        information: Decrease of each score per unit of the log ratio, (blocks,).
        departure: See `Tuning`.
    """

    noise: FloatArray
    mean: FloatArray
    normal_draws: FloatArray
    sampling_variances: FloatArray
    information: FloatArray
    departure: float

    @property
    def departure_scores(self) -> FloatArray:
        """Change of each block's score if the true log hazard ratio is not constant over time (hazards are not
        proportional): one row for a linear and one for a quadratic trend, (2, blocks).
        """
        whole = max(float(self.information.sum()), TUNING.least_event_variance)
        position = (np.cumsum(self.information) - self.information / 2) / whole
        shapes = np.stack([np.sqrt(3) * (2 * position - 1), np.sqrt(5) * (6 * position**2 - 6 * position + 1)])
        shapes = shapes - (shapes @ self.information)[:, None] / whole
        return np.asarray(self.departure / np.sqrt(2) * shapes * self.information)

    @property
    def weights(self) -> FloatArray:
        """Weights that downweight noisy block scores when the scores are added up, at least 0, (blocks,).

        They are the coefficients of the best linear predictor of the total score without noise from the noisy scores.
        """
        true = np.diag(self.sampling_variances) + self.departure_scores.T @ self.departure_scores
        noise = np.atleast_2d(np.cov(self.noise, rowvar=False))
        smallest = TUNING.least_event_variance * max(float(self.sampling_variances.max(initial=0.0)), 1.0)
        seen = true + noise + smallest * np.eye(len(true))
        return np.asarray(np.maximum(np.linalg.solve(seen, true.sum(axis=1) + smallest), 0.0))

    def simulate_score(self, weights: FloatArray, *, population: bool) -> FloatArray:
        """Return simulated values of the weighted score at the true hazard ratio, with noise and sampling errors,
        (draws,).

        Args:
            weights: Weight of each block score, (blocks,).
            population: True: the true ratio is the ratio of the population. False: the ratio of these records, at which
                their scores without noise add up to 0.
        """
        mean = float(weights @ self.information) / max(float(self.information.sum()), TUNING.least_event_variance)
        sampled = weights if population else weights - mean
        moved = np.concatenate([np.sqrt(self.sampling_variances) * sampled, self.departure_scores @ weights])
        return np.asarray(self.simulate_score_noise(weights) + self.normal_draws @ moved)

    def simulate_score_noise(self, weights: FloatArray) -> FloatArray:
        """Return simulated values of the weighted score with errors from noise alone, (draws,).

        The scores without noise are taken to equal their expectations.

        Args:
            weights: Weight of each block score, (blocks,).
        """
        return np.asarray(self.noise @ weights + self.mean @ (weights - 1))


@dataclass(frozen=True)
class ScoredRiskTables:
    """Risk tables of two groups whose hazards are compared, with simulated noise.

    Attributes:
        events: Unbiased released events, (2, cells).
        records: Released records at risk, (2, cells).
        fewest_records: Records at risk if all censoring precedes the events of a cell, (2, cells).
        noise_of_events: Simulated noise, (2, draws, cells).
        noise_of_records: Simulated noise, (2, draws, cells).
        tied: Whether all events of a cell are simultaneous and precede its censoring.
        has_only_exits: Whether there are no entries, so that numbers at risk are nonincreasing.
        normal_draws: Draws of the standard normal distribution, (draws, cells + 2).
        tuning: Parameters of the estimator.
    """

    events: FloatArray
    records: FloatArray
    fewest_records: FloatArray
    noise_of_events: FloatArray
    noise_of_records: FloatArray
    tied: bool
    has_only_exits: bool
    normal_draws: FloatArray
    tuning: Tuning = TUNING

    @classmethod
    def from_tables(
        cls,
        tables: Sequence[RiskTable],
        noises: Sequence[RiskTable],
        generator: np.random.Generator,
        *,
        tied: bool,
        has_only_exits: bool,
        tuning: Tuning = TUNING,
    ) -> ScoredRiskTables:
        """Return released risk tables of two groups, with their simulated noise, prepared to estimate the hazard ratio.

        Args:
            tables: Released risk table of each group, for one cause.
            noises: Simulated noise of each table.
            generator: Random numbers of the sampling errors.
            tied: If True, all times of a cell are equal.
            has_only_exits: If True, records only leave; nobody enters late.
            tuning: Numbers of draws.
        """
        cells = tables[0].records.shape[-1]
        draws = min(max(tuning.draws, tuning.numbers // cells), *(len(noise.records) for noise in noises))
        events = np.stack([table.events[0] for table in tables])
        records = np.stack([table.records for table in tables])
        fewest = np.stack([table.fewest_records for table in tables])
        noise_of_events = np.stack([noise.events[:draws, 0] for noise in noises])
        noise_of_records = np.stack([noise.records[:draws] for noise in noises])
        normal = generator.standard_normal((draws, cells + 2))
        return cls(events, records, fewest, noise_of_events, noise_of_records, tied, has_only_exits, normal, tuning)

    def _smooth_at_risk(self, records: FloatArray) -> FloatArray:
        """Return noisy numbers at risk made possible: raised to at least `_min_at_risk`, and nonincreasing if nobody
        enters.

        Args:
            records: Noisy numbers at risk, (2, cells) or (2, draws, cells).

        Returns:
            Numbers of the same shape.
        """
        if self.has_only_exits:
            falling = np.minimum.accumulate(records, axis=-1)
            rising = np.maximum.accumulate(records[..., ::-1], axis=-1)[..., ::-1]
            records = (falling + rising) / 2
        return np.asarray(np.maximum(records, self._min_at_risk if records.ndim == 2 else self._min_at_risk[:, None]))

    @cached_property
    def _min_at_risk(self) -> FloatArray:
        """Smallest number at risk that the estimate may take in each cell, so that nothing is divided by 0, (2, cells):
        the standard deviation of its noise, but at most `least_at_risk`.
        """
        return np.asarray(np.minimum(self.noise_of_records.std(axis=1), self.tuning.least_at_risk))

    @cached_property
    def at_risk(self) -> FloatArray:
        """Estimated numbers at risk of both groups, (2, cells): positive, and nonincreasing if records only leave."""
        return self._smooth_at_risk(self.records)

    @cached_property
    def _noisy_at_risk(self) -> FloatArray:
        """Numbers at risk with fresh simulated noise, as other releases of these records would show them, (2, draws,
        cells).

        Row 0 is the first group.
        """
        return self._smooth_at_risk(self.at_risk[:, None] + self.noise_of_records)

    @cached_property
    def block_starts(self) -> IntArray:
        """First cell of each block; blocks have about equal numbers at risk."""
        cells = self.records.shape[1]
        if cells <= self.tuning.blocks:
            return np.arange(cells)
        below = np.cumsum(self.at_risk.sum(axis=0))
        ends = np.searchsorted(below, below[-1] * np.arange(1, self.tuning.blocks) / self.tuning.blocks)
        return np.unique(np.append(0, np.minimum(ends + 1, cells - 1)))

    def _sum_blocks(self, cells: FloatArray) -> FloatArray:
        """Return the sum over the cells of each block, along the last axis: (..., cells) to (..., blocks).

        Args:
            cells: Number of each cell, (..., cells).
        """
        return np.asarray(np.add.reduceat(cells, self.block_starts, axis=-1))

    def _repeat_over_cells(self, blocks: FloatArray) -> FloatArray:
        """Return the value of each block for each of its cells, along the last axis: (..., blocks) to (..., cells).

        Args:
            blocks: Value of each block, (..., blocks).
        """
        return np.asarray(np.repeat(blocks, np.diff(np.append(self.block_starts, self.records.shape[1])), axis=-1))

    @cached_property
    def _noise_of_block_events(self) -> FloatArray:
        """Noise variance of the events of both groups in each block, (blocks,)."""
        return np.asarray(self._sum_blocks(self.noise_of_events.sum(axis=0)).var(axis=0))

    def expected_events(self, log_ratio: float) -> FloatArray:
        """Return the expected events of both groups in each time cell if the hazard ratio were this one.

        The pooled hazard is constant in blocks, and shrunk towards the hazard of all blocks by the noise. Event times
        follow continuous hazards with a constant ratio; their ties bring Breslow's ratio closer to 1 in cells with many
        events, and over all cells it is this ratio.

        Args:
            log_ratio: Logarithm of the hazard of the first group over that of the second.

        Returns:
            Expected events, (2, cells), first group first.
        """
        ratios = np.array([[exp(log_ratio)], [1.0]])
        exposed = self._sum_blocks((ratios * self.at_risk).sum(axis=0))
        events = self._sum_blocks(self.events.sum(axis=0))
        usual = max(
            float(events.sum()) / max(float(exposed.sum()), TUNING.least_event_variance), TUNING.least_event_variance
        )
        noise = self._noise_of_block_events
        likely = (self.tuning.spread * usual * exposed) ** 2
        weight = likely / np.maximum(likely + noise, TUNING.least_event_variance)
        hazard = usual + weight * (events / np.maximum(exposed, TUNING.least_event_variance) - usual)
        hazard = self._repeat_over_cells(np.where(exposed > 0, np.maximum(hazard, 0.0), 0.0))
        # the largest hazard of a cell in the simulation model
        died = (np.minimum(ratios * hazard, 0.95) * self.at_risk).sum(axis=0)
        target = float(died @ first_group_fraction(log_ratio, self.at_risk))
        # the first step of the secant method, in log ratio
        first = log_ratio
        second = log_ratio + 0.05
        excess = 0.0
        # steps of the secant method; the last are below 1e-6
        for step in range(7):
            events = split_events(second if step else first, died, self.at_risk)
            before = excess
            excess = float(events[0].sum()) - target
            if step and abs(excess - before) > TUNING.least_event_variance:
                move = excess * (second - first) / (excess - before)
                first = second
                second = second - min(max(move, -1.0), 1.0)
                if abs(move) < 1e-12:  # of a log ratio: a few rounding errors
                    break
        return events

    def score_blocks(self, log_ratio: float, events: FloatArray, at_risk: FloatArray) -> FloatArray:
        """Return observed minus expected events of the first group in each block, shape (..., blocks).

        Args:
            log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
            events: Events of both groups, shape (2, ..., cells).
            at_risk: Records at risk of both groups, shape (2, ..., cells).
        """
        return self._sum_blocks(events[0] - events.sum(axis=0) * first_group_fraction(log_ratio, at_risk))

    def simulate_errors(self, log_ratio: float, expected: FloatArray | None = None) -> ScoreErrors:
        """Return simulated errors of the score of each block of cells: by noise, by sampling, and by a ratio that
        changes over time.

        Args:
            log_ratio: Assumed true log ratio.
            expected: The `expected_events` at this ratio; None: they are computed.
        """
        if expected is None:
            expected = self.expected_events(log_ratio)
        share = first_group_fraction(log_ratio, self.at_risk)
        noisy = self.score_blocks(log_ratio, expected[:, None] + self.noise_of_events, self._noisy_at_risk)
        mean = self.score_blocks(log_ratio, expected, self.at_risk)
        hazard = np.divide(expected, self.at_risk, out=np.zeros_like(expected), where=self.at_risk > 0)
        scatter = (np.stack([1 - share, share]) ** 2 * expected * (1 - hazard)).sum(axis=0)
        information = expected.sum(axis=0) * share * (1 - share)
        normal = self.normal_draws[:, : len(self.block_starts) + 2]
        sums = self._sum_blocks(scatter), self._sum_blocks(information)
        return ScoreErrors(noisy - mean, mean, normal, *sums, self.tuning.departure)

    @cached_property
    def block_weights(self) -> FloatArray:
        """Weights of the block scores in their sum, (blocks,): small for noisy blocks (see `ScoreErrors.weights`).

        They are computed at a hazard ratio of 1, then `rounds` times again at the ratio estimated with the last
        weights.
        """
        log_ratio = 0.0
        weights = np.ones(len(self.block_starts))
        for _ in range(self.tuning.rounds):
            weights = self.simulate_errors(log_ratio).weights
            log_ratio = self._find_root(lambda log_ratio, by=weights: self._score_total(log_ratio, by))  # type: ignore[misc]
            log_ratio = min(max(log_ratio, -self.tuning.pilot), self.tuning.pilot)
        return weights

    def _score_total(self, log_ratio: float, weights: FloatArray) -> float:
        """Return the weighted sum of the released block scores at this ratio, in events.

        Args:
            log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
            weights: Weight of each block score, (blocks,).
        """
        return float(self.score_blocks(log_ratio, self.events, self.at_risk) @ weights)

    def _find_root(self, decreasing: Callable[[float], float], tolerance: float = 1e-10) -> float:
        """Return the root of a decreasing function, a log ratio, within `tolerance`; infinite if it lies beyond the
        search range.

        Args:
            decreasing: Function of a log ratio.
            tolerance: Largest error of the root, as a log ratio.
        """
        low, high = -self.tuning.largest, self.tuning.largest
        falling = cache(decreasing)  # the solver starts at both ends, where it is known
        if falling(low) <= 0:
            return -inf
        if falling(high) >= 0:
            return inf
        return float(brentq(falling, low, high, xtol=tolerance))

    @cached_property
    def log_ratio(self) -> float:
        """Estimated log hazard ratio: where the weighted score equals the median of its noise; infinite if that is
        nowhere.
        """

        def excess_score(log_ratio: float) -> float:
            """Return the weighted released score minus the median of its simulated noise, at this ratio.

            Args:
                log_ratio: Logarithm of the hazard of the first group over the hazard of the second.

            Returns:
                Score in events; decreases in `log_ratio`.
            """
            score_noise = self.simulate_errors(log_ratio).simulate_score_noise(self.block_weights)
            return self._score_total(log_ratio, self.block_weights) - float(np.median(score_noise))

        return self._find_root(excess_score)

    def interval(self, level: float, *, population: bool) -> tuple[float, float]:
        """Return lower and upper endpoint of the log hazard ratio at confidence `level`, for these records or for
        the population; infinite if beyond the search range.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these records.
        """
        each = self._endpoint_level(level, population=population)

        def excess_over_endpoint(log_ratio: float, side: int) -> float:
            """Return the weighted score minus the error quantile of this side (1: lower endpoint, -1: upper),
            shifted by the least favourable order inside cells; its root is the endpoint.

            Args:
                log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
                side: 1 for the lower endpoint, -1 for the upper endpoint.
            """
            expected = self.expected_events(log_ratio)
            errors = self.simulate_errors(log_ratio, expected)
            scores = errors.simulate_score(self.block_weights, population=population)
            reach = side * upper_quantile(side * scores, each)
            shift = self._tie_order_shift(log_ratio, side, expected)
            return self._score_total(log_ratio, self.block_weights) - reach + shift

        lower, upper = (
            self._find_root(partial(excess_over_endpoint, side=side), self.tuning.endpoint_tolerance)
            for side in (1, -1)
        )
        return lower, upper

    def _endpoint_level(self, level: float, *, population: bool) -> float:
        """Return the level at which each endpoint of the interval is computed, adjusted for unknown orders inside
        cells.

        Args:
            level: Confidence level of the interval, between 0 and 1.
            population: Whether the interval is for the population, not for these records.
        """
        at = min(max(self.log_ratio, -self.tuning.pilot), self.tuning.pilot)
        expected = self.expected_events(at)
        apart = self._tie_order_shift(at, -1, expected) - self._tie_order_shift(at, 1, expected)
        if apart <= 0:
            return end_level(0.0, level)
        errors = self.simulate_errors(at, expected).simulate_score(self.block_weights, population=population)
        spread = float(np.ptp(np.quantile(errors, (0.25, 0.75)))) / (2 * NormalDist().inv_cdf(0.75))
        return end_level(apart / spread if spread > 0 else inf, level)

    def _tie_order_shift(self, log_ratio: float, side: int, expected: FloatArray) -> float:
        """Return how far the weighted score may move if the events inside a cell come in another order, in events.

        The shift is 0 if `tied`, when all events of a cell are simultaneous.

        Args:
            log_ratio: Logarithm of the hazard ratio.
            side: 1: the largest move down, at most 0. -1: the largest move up, at least 0.
            expected: Expected events of both groups at this ratio, from `expected_events`, (2, cells).
        """
        if self.tied:
            return 0.0
        between = self._sum_blocks(np.maximum(self.records - self.fewest_records, 0.0))
        share = between / np.maximum(self._sum_blocks(self.at_risk), TUNING.least_event_variance)
        fewest = self.at_risk * (1 - np.minimum(self._repeat_over_cells(share), 1.0))
        orders = [expected_first_group_events(log_ratio, expected, self.at_risk, fewest, at)
                  for at in (0, -side)]  # fmt: skip
        return float(self._sum_blocks(orders[0] - orders[1]) @ self.block_weights)


def expected_first_group_events(
    log_ratio: float, events: FloatArray, most: FloatArray, fewest: FloatArray, order: int
) -> FloatArray:
    """Return the expected events of the first group in each cell, given the events of both groups together, (cells,).

    The order of records inside a cell is unknown, so `order` selects ties or an extreme. If all of the second group
    leave first, each event of this group finds fewer of its members at risk, on average at most midway between first
    and last (the fraction is convex in their number), and each event of the first group finds no member of the second
    group, and on average half of the first (concave).

    Args:
        log_ratio: Logarithm of the hazard of the first group over the hazard of the second.
        events: Events of both groups, (2, cells).
        most: Numbers at risk if censoring in a cell follows its events, (2, cells).
        fewest: Numbers at risk if censoring in a cell precedes its events, (2, cells).
        order: -1: the most events, if all of the second group leave first. 1: the fewest. 0: events are tied.
    """
    if order == 0:
        return np.asarray(events.sum(axis=0) * first_group_fraction(log_ratio, most))
    if order > 0:
        second = expected_first_group_events(-log_ratio, events[::-1], most[::-1], fewest[::-1], -1)
        return np.asarray(events.sum(axis=0) - second)
    last = np.maximum(fewest[1] - events[1], 0.0)

    def fraction_of_first(first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the share of the first group in the total hazard of each cell, (cells,), if its hazard is
        ``exp(log_ratio)`` times the other's, for these numbers at risk; 0 where no record is at risk.

        Args:
            first: Numbers at risk of the first group, (cells,).
            second: Numbers at risk of the other group, (cells,).
        """
        return first_group_fraction(log_ratio, np.stack([first, second]))

    early = events[1] * (fraction_of_first(most[0], fewest[1]) + fraction_of_first(most[0], last)) / 2
    return np.asarray(early + events[0] * fraction_of_first(np.maximum(most[0] - events[0] / 2, 0.0), last))
