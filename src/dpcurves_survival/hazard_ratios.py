"""The hazard ratio of two groups from noisy risk tables, with intervals that account for noise in every count.

Cox's score (1972), with Breslow's ties (1974), is a sum over cells of time: the events of the first group minus those
expected of it. Its sampling variance falls with the number at risk; the variance of its noise does not. So cells are
weighted by what is known of them: the weights give the best linear predictor of the sum of true scores, given noisy
ones (Goldberger 1962). They are 1 where there is no noise, and near 0 where few are at risk. An interval holds the
ratios at which the weighted score is no larger than noise, what the weights leave out and, for the population, sampling
make it (a test that is inverted: Fieller 1954). Noise is drawn afresh for each ratio, in events and in numbers at risk,
so bias from noise in numbers at risk is subtracted, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    """Numbers that steer the estimate.

    Attributes:
        least_at_risk: Records that are taken to be at risk at the least, where noise hides how many.
        blocks: Groups of neighbouring cells that have a weight of their own, at most.
        spread: Variation of the hazard over time, as a coefficient of variation, before anything is known.
        departure: Standard deviation of the log ratio over time that weights and intervals allow for.
        numbers: Simulated numbers, cells times draws, at most, unless there are fewer draws than `draws`.
        draws: Simulated noises that are taken at least.
        largest: The largest log ratio that is searched.
        pilot: The largest that weights are computed at.
        rounds: How often weights are computed anew at the ratio that they gave.
    """

    least_at_risk: float = 0.5
    blocks: int = 64
    spread: float = 1.0
    departure: float = 0.2
    numbers: int = 2**17
    draws: int = 1000
    largest: float = 8.0
    pilot: float = 4.0
    rounds: int = 3


TUNING = Tuning()
LEAST_VARIANCE = 1e-12  # squared events; keeps matrices of cells without any record regular
MOST_HAZARD = 0.95  # of a cell, in the model that noise and sampling are drawn from
PRECISION = 1e-10  # of a log ratio
SECANT, SECANTS = 0.05, 7  # first step of a log ratio, and steps: the last are below 1e-6
NEWTONS = 10  # steps to the hazard of a cell


def first_group_fraction(log_ratio: float, at_risk: FloatArray) -> FloatArray:
    """The share of the hazard of all at risk that is that of the first group, from (2, ..., cells); 0 of none."""
    first = at_risk[0] * exp(log_ratio)
    whole = first + at_risk[1]
    return np.asarray(np.divide(first, whole, out=np.zeros_like(whole), where=whole > 0))


def split_events(log_ratio: float, died: FloatArray, at_risk: FloatArray) -> FloatArray:
    """Split the events of each cell over both groups, whose continuous hazards have this ratio: (2, cells).

    The cumulative hazard of the second group in each cell comes by Newton's method from below, which never passes it:
    the number of events is concave in it.
    """
    ratios = np.array([[exp(log_ratio)], [1.0]])
    hazard = np.zeros_like(died)
    for _ in range(NEWTONS):
        alive = at_risk * np.exp(-ratios * hazard)
        slope = np.maximum((ratios * alive).sum(axis=0), LEAST_VARIANCE)
        hazard = hazard + np.maximum(died - (at_risk - alive).sum(axis=0), 0.0) / slope
    return np.asarray(at_risk * -np.expm1(-ratios * hazard))


class ScoreErrors(NamedTuple):
    """What noise, sampling and a ratio that changes over time make of the scores of blocks.

    Attributes:
        noise: Draws, (draws, blocks).
        mean: What the scores are expected to be; they add up to 0, (blocks,).
        normal_draws: Draws of the standard normal law, (draws, blocks + 2).
        sampling_variances: Sampling variances, (blocks,).
        information: By how much each score falls where the log ratio rises by 1, (blocks,).
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
        """Scores of a log ratio that changes over time, first evenly, then back and forth, (2, blocks)."""
        whole = max(float(self.information.sum()), LEAST_VARIANCE)
        place = (np.cumsum(self.information) - self.information / 2) / whole
        shapes = np.stack([np.sqrt(3) * (2 * place - 1), np.sqrt(5) * (6 * place**2 - 6 * place + 1)])
        shapes = shapes - (shapes @ self.information)[:, None] / whole
        return np.asarray(self.departure / np.sqrt(2) * shapes * self.information)

    @property
    def weights(self) -> FloatArray:
        """Weights of scores that predict the sum of all true ones best, (blocks,)."""
        true = np.diag(self.sampling_variances) + self.departure_scores.T @ self.departure_scores
        noise = np.atleast_2d(np.cov(self.noise, rowvar=False))
        least = LEAST_VARIANCE * max(float(self.sampling_variances.max(initial=0.0)), 1.0)
        seen = true + noise + least * np.eye(len(true))
        return np.asarray(np.maximum(np.linalg.solve(seen, true.sum(axis=1) + least), 0.0))

    def simulate_score(self, weights: FloatArray, *, population: bool) -> FloatArray:
        """Draws of the weighted score at the ratio of the population, or at that of these records, (draws,).

        The true scores of these records add up to 0 at the ratio of these records.
        """
        mean = float(weights @ self.information) / max(float(self.information.sum()), LEAST_VARIANCE)
        sampled = weights if population else weights - mean
        moved = np.concatenate([np.sqrt(self.sampling_variances) * sampled, self.departure_scores @ weights])
        return np.asarray(self.simulate_score_noise(weights) + self.normal_draws @ moved)

    def simulate_score_noise(self, weights: FloatArray) -> FloatArray:
        """Draws of the weighted score of records whose true scores are those expected, (draws,)."""
        return np.asarray(self.noise @ weights + self.mean @ (weights - 1))


@dataclass(frozen=True)
class ScoredRiskTables:
    """Two groups whose hazards are compared.

    Attributes:
        events: Released events, without bias, (2, cells).
        records: Released records at risk, (2, cells).
        fewest_records: Those where all are censored before the events of their cell, (2, cells).
        noise_of_events: Simulated, (2, draws, cells).
        noise_of_records: Simulated, (2, draws, cells).
        tied: Whether all events of a cell come at once, and before its censored.
        has_only_exits: Whether records only leave, so that numbers at risk never rise.
        normal_draws: Draws of the standard normal law, (draws, cells + 2).
        tuning: Numbers that steer the estimate.
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
        """Read released tables of one cause, and their simulated noise."""
        cells = tables[0].records.shape[-1]
        draws = min(max(tuning.draws, tuning.numbers // cells), *(len(noise.records) for noise in noises))
        events, records, fewest = (np.stack(pair) for pair in zip(*(
            (table.events[0], table.records, table.fewest_records) for table in tables
        ), strict=True))  # fmt: skip
        noise_of_events = np.stack([noise.events[:draws, 0] for noise in noises])
        noise_of_records = np.stack([noise.records[:draws] for noise in noises])
        normal = generator.standard_normal((draws, cells + 2))
        return cls(events, records, fewest, noise_of_events, noise_of_records, tied, has_only_exits, normal, tuning)

    def _smooth_at_risk(self, records: FloatArray) -> FloatArray:
        """Plausible numbers at risk: they never rise where records only leave, and are above 0 where noise is."""
        if self.has_only_exits:
            falling = np.minimum.accumulate(records, axis=-1)
            rising = np.maximum.accumulate(records[..., ::-1], axis=-1)[..., ::-1]
            records = (falling + rising) / 2
        return np.asarray(np.maximum(records, self._min_at_risk if records.ndim == 2 else self._min_at_risk[:, None]))

    @cached_property
    def _min_at_risk(self) -> FloatArray:
        return np.asarray(np.minimum(self.noise_of_records.std(axis=1), self.tuning.least_at_risk))

    @cached_property
    def at_risk(self) -> FloatArray:
        """Plausible numbers at risk, (2, cells)."""
        return self._smooth_at_risk(self.records)

    @cached_property
    def _noisy_at_risk(self) -> FloatArray:
        """Plausible numbers at risk where noise is added once more, (2, draws, cells)."""
        return self._smooth_at_risk(self.at_risk[:, None] + self.noise_of_records)

    @cached_property
    def block_starts(self) -> IntArray:
        """The first cell of each block: blocks have about as many records at risk."""
        cells = self.records.shape[1]
        if cells <= self.tuning.blocks:
            return np.arange(cells)
        below = np.cumsum(self.at_risk.sum(axis=0))
        ends = np.searchsorted(below, below[-1] * np.arange(1, self.tuning.blocks) / self.tuning.blocks)
        return np.unique(np.append(0, np.minimum(ends + 1, cells - 1)))

    def _sum_blocks(self, cells: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(cells, self.block_starts, axis=-1))

    def _repeat_over_cells(self, blocks: FloatArray) -> FloatArray:
        """Repeat the number of each block for all of its cells."""
        return np.asarray(np.repeat(blocks, np.diff(np.append(self.block_starts, self.records.shape[1])), axis=-1))

    def expected_events(self, log_ratio: float) -> FloatArray:
        """Events of both groups if this is their ratio, (2, cells).

        The hazard of both together is that of each block, shrunk to that of all blocks as far as noise asks for it.
        Times are those of hazards whose ratio is constant; their ties bring Breslow's ratio nearer to 1 in cells where
        many have their event, and over all cells it is this one.
        """
        ratios = np.array([[exp(log_ratio)], [1.0]])
        exposed = self._sum_blocks((ratios * self.at_risk).sum(axis=0))
        events = self._sum_blocks(self.events.sum(axis=0))
        usual = max(float(events.sum()) / max(float(exposed.sum()), LEAST_VARIANCE), LEAST_VARIANCE)
        noise = self._sum_blocks(self.noise_of_events.sum(axis=0)).var(axis=0)
        likely = (self.tuning.spread * usual * exposed) ** 2
        weight = likely / np.maximum(likely + noise, LEAST_VARIANCE)
        hazard = usual + weight * (events / np.maximum(exposed, LEAST_VARIANCE) - usual)
        hazard = self._repeat_over_cells(np.where(exposed > 0, np.maximum(hazard, 0.0), 0.0))
        died = (np.minimum(ratios * hazard, MOST_HAZARD) * self.at_risk).sum(axis=0)
        wanted = float(died @ first_group_fraction(log_ratio, self.at_risk))
        first, second, excess = log_ratio, log_ratio + SECANT, 0.0
        for step in range(SECANTS):
            events = split_events(second if step else first, died, self.at_risk)
            before, excess = excess, float(events[0].sum()) - wanted
            if step and abs(excess - before) > LEAST_VARIANCE:
                move = excess * (second - first) / (excess - before)
                first, second = second, second - min(max(move, -1.0), 1.0)
        return events

    def score_blocks(self, log_ratio: float, events: FloatArray, at_risk: FloatArray) -> FloatArray:
        """Events of the first group minus those expected of it, by block: (..., blocks).

        Args:
            log_ratio: The logarithm of the hazard of the first group over that of the second.
            events: Events of both groups, (2, ..., cells).
            at_risk: Records at risk of both groups, (2, ..., cells).
        """
        return self._sum_blocks(events[0] - events.sum(axis=0) * first_group_fraction(log_ratio, at_risk))

    def simulate_errors(self, log_ratio: float) -> ScoreErrors:
        """What noise and sampling make of the scores if this is the ratio."""
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
        """Weights of blocks, (blocks,)."""
        log_ratio, weights = 0.0, np.ones(len(self.block_starts))
        for _ in range(self.tuning.rounds):
            weights = self.simulate_errors(log_ratio).weights
            log_ratio = self._find_root(lambda at, by=weights: self._score_total(at, by))  # type: ignore[misc]
            log_ratio = min(max(log_ratio, -self.tuning.pilot), self.tuning.pilot)
        return weights

    def _score_total(self, log_ratio: float, weights: FloatArray) -> float:
        return float(self.score_blocks(log_ratio, self.events, self.at_risk) @ weights)

    def _find_root(self, falling: Callable[[float], float]) -> float:
        """Where a falling function is zero; infinite where that lies beyond the ratios that are searched."""
        low, high = -self.tuning.largest, self.tuning.largest
        if falling(low) <= 0:
            return -inf
        if falling(high) >= 0:
            return inf
        return float(brentq(falling, low, high, xtol=PRECISION))

    @cached_property
    def log_ratio(self) -> float:
        """The estimate: where the weighted score is the median of what noise makes it; infinite where nowhere."""

        def excess_score(log_ratio: float) -> float:
            return self._score_total(log_ratio, self.block_weights) - float(
                np.median(self.simulate_errors(log_ratio).simulate_score_noise(self.block_weights))
            )

        return self._find_root(excess_score)

    def interval(self, level: float, *, population: bool) -> tuple[float, float]:
        """Endpoints of the log ratio, for these records or for the population."""
        each = self._endpoint_level(level, population=population)

        def excess_over_endpoint(log_ratio: float, side: int) -> float:
            errors = self.simulate_errors(log_ratio).simulate_score(self.block_weights, population=population)
            reach = side * upper_quantile(side * errors, each)
            return self._score_total(log_ratio, self.block_weights) - reach + self._tie_order_shift(log_ratio, side)

        return self._find_root(lambda at: excess_over_endpoint(at, 1)), self._find_root(
            lambda at: excess_over_endpoint(at, -1)
        )

    def _endpoint_level(self, level: float, *, population: bool) -> float:
        """The chance of each endpoint, where orders inside cells are open, too."""
        at = min(max(self.log_ratio, -self.tuning.pilot), self.tuning.pilot)
        apart = self._tie_order_shift(at, -1) - self._tie_order_shift(at, 1)
        if apart <= 0:
            return end_level(0.0, level)
        errors = self.simulate_errors(at).simulate_score(self.block_weights, population=population)
        spread = float(np.ptp(np.quantile(errors, (0.25, 0.75)))) / (2 * NormalDist().inv_cdf(0.75))
        return end_level(apart / spread if spread > 0 else inf, level)

    def _tie_order_shift(self, log_ratio: float, side: int) -> float:
        """How far the weighted score may move, down (1) or up (-1), if events of a cell came in another order."""
        if self.tied:
            return 0.0
        between = self._sum_blocks(np.maximum(self.records - self.fewest_records, 0.0))
        share = between / np.maximum(self._sum_blocks(self.at_risk), LEAST_VARIANCE)
        fewest = self.at_risk * (1 - np.minimum(self._repeat_over_cells(share), 1.0))
        orders = [expected_first_group_events(log_ratio, self.expected_events(log_ratio), self.at_risk, fewest, at)
                  for at in (0, -side)]  # fmt: skip
        return float(self._sum_blocks(orders[0] - orders[1]) @ self.block_weights)


def expected_first_group_events(
    log_ratio: float, events: FloatArray, most: FloatArray, fewest: FloatArray, order: int
) -> FloatArray:
    """Events of the first group that are expected in each cell; in an extreme order the most, or the fewest: (cells,).

    If all of the second group leave first, each of its events finds fewer of them at risk, on average no more than
    midway between the first and the last (the share is convex in their number), and each event of the first group finds
    none of those, and half of its own on average (concave).

    Args:
        log_ratio: The logarithm of the ratio.
        events: Events of both groups, (2, cells).
        most: At risk if all that leave in a cell leave after its events, (2, cells).
        fewest: At risk if they leave before, (2, cells).
        order: -1: the most, all of the second group first; 1: the fewest; 0: events are tied.
    """
    if order == 0:
        return np.asarray(events.sum(axis=0) * first_group_fraction(log_ratio, most))
    if order > 0:
        second = expected_first_group_events(-log_ratio, events[::-1], most[::-1], fewest[::-1], -1)
        return np.asarray(events.sum(axis=0) - second)
    last = np.maximum(fewest[1] - events[1], 0.0)

    def fraction_of_first(first: FloatArray, second: FloatArray) -> FloatArray:
        return first_group_fraction(log_ratio, np.stack([first, second]))

    early = events[1] * (fraction_of_first(most[0], fewest[1]) + fraction_of_first(most[0], last)) / 2
    return np.asarray(early + events[0] * fraction_of_first(np.maximum(most[0] - events[0] / 2, 0.0), last))
