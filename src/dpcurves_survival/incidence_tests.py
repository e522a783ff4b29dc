"""Gray's test under differential privacy: do groups have the same cumulative incidence of a cause (competing risks)?

`gray_test` takes released counts of events and of records at risk, by group, and returns the test statistic and its
p-value. Let d_i be the events of the cause and Y_i the records at risk of group i in a cell of time, S_i the share
without any event, and F_i the incidence of the cause before it. F, d and R are those of all groups together. Then

    at risk     R_i = Y_i * (1 - F_i) / S_i                         for the subdistribution hazard
    score       z_i = sum over cells of (1 - F)**rho * (d_i - d * R_i / R)
    statistic   z' V**-1 z                                          without the last group

V is Gray's covariance under equal incidence, plus the covariance of the noise. The p-value is simulated with noise and
normal sampling errors. Also called: test of equal subdistribution hazards, `cmprsk::cuminc` of R.

Formal guarantees: results are functions of released counts and of simulated noise, and no record is read, so they cost
no budget.

Reference: Gray 1988, *A class of K-sample tests for comparing the cumulative incidence of a competing risk*.

>>> events, records = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([[10.0, 8.0], [10.0, 10.0]])  # (groups, cells)
>>> counts = GroupCounts(events, np.zeros((2, 2)), records)
>>> SubdistributionRisk.from_counts(counts, np.ones((2, 2), bool), rho=0.0).score().round(2).tolist()
[0.11, -0.11]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument, check_common_arguments, require_power, require_type
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation.notes import add_advice
from dpcurves.curves.question import require_independent
from dpcurves.curves.result import warn_about_notes
from dpcurves.data.axis import Category
from dpcurves.inference.known_numbers import may_be_zero
from dpcurves.inference.simulation import monte_carlo_p_value, public_generator

from . import inference
from .competing_risks import CompetingRisks


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer Gray's test. Privacy does not depend on them."""

    least_variance: float = (
        1e-9  # events squared; added to the covariance of groups, which is else singular if a group has no events
    )
    bias_z: float = 4.0  # z-score of its noise from which a shift by wide cells is noted
    least_bias: float = 0.5  # standard deviations of the score; a smaller shift hardly moves the level of the test


TUNING = Tuning()
"""Default numbers that steer Gray's test; privacy does not depend on them."""


class GrayTest(NamedTuple):
    """Gray's statistic of two or more groups, and its p-value under equal incidence.

    Attributes:
        statistic: The test statistic of the released counts.
        p_value: For the population, accounting for noise and sampling. Simulated, so a multiple of 1 / (draws + 1).
        notes: Cautions about the p-value, from released counts alone.

    Both numbers are NaN, *not known*, if no cell is known to have records at risk in two groups, or noise alone may
    have made all events of the cause.
    """

    statistic: float
    p_value: float
    notes: tuple[str, ...] = ()


@check_common_arguments
def gray_test(
    risks: Mapping[Any, CompetingRisks] | Sequence[CompetingRisks],
    cause: Category,
    *,
    rho: float = 0.0,
    generator: np.random.Generator | None = None,
    tuning: Tuning = TUNING,
) -> GrayTest:
    """Test whether groups have the same cumulative incidence of a cause under competing risks. Spends no budget.

    Observed minus expected events of the cause are squared in units of their covariance under equal incidence (Gray
    1988) plus the covariance of the noise. Without noise the statistic equals the statistic of R's ``cmprsk::cuminc``,
    with the events of a cell tied. Other causes and censoring may differ between groups, but censoring must be
    independent of the time and the cause of events. The p-value is simulated with noise, and with normal sampling
    errors. A group counts as long as its number at risk is clear of the noise.

    Args:
        risks: Results of *different* records on one grid: `dp.CompetingRisksQuestion` with ``by=``, or a sequence.
        cause: The cause.
        rho: Power of one minus the pooled incidence in the weights of times, from 0; 0: equal weights.
        generator: Random generator of the simulation; None: a fixed public seed, so that results can be repeated.
        tuning: Numbers that steer the test.

    Returns:
        The `statistic`, its `p_value` for the population, and `notes` if the test may be biased.

    Raises:
        TypeError: An item is no `CompetingRisks`.
        ValueError: There are fewer than two groups, causes or grids differ, the cause does not exist, units have
            several records, or `rho` is negative.

    Warns:
        CurveWarning: Each of the result's `notes`.

    >>> import dpcurves as dp
    >>> table = {"t": [2, 4, 6, 9] * 600, "e": [1, 2, 1, 0] * 600, "arm": [1, 1, 2, 2] * 600}
    >>> question = dp.CompetingRisksQuestion("t", "e", dp.Values(range(12)), (1, 2), by=dp.Categories("arm", (1, 2)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     arms = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> dp.gray_test(arms, 2).p_value < 0.01
    True
    """
    groups = _parse_groups(risks)
    groups[0]._cause_index(cause)
    rho = require_power("rho", rho)
    random = public_generator(generator)

    # Cells count where two or more groups are still followed.
    comparison = _Comparison.from_groups(groups, cause, random)
    known = comparison.known & (comparison.known.sum(axis=0) > 1)
    events = np.where(known, comparison.released.events, 0.0).sum()
    event_noise = np.where(known, comparison.noise.events, 0.0).sum(axis=(-2, -1))
    if not known.any() or may_be_zero(events, event_noise):
        return GrayTest(nan, nan)

    # The covariance of the scores is that of sampling plus that of the noise, which is simulated.
    risk = SubdistributionRisk.from_counts(comparison.released, known, rho)
    score = risk.score()
    covariance = risk.covariance()
    noisy_scores = SubdistributionRisk.from_counts(comparison.add_noise(), known, rho).score()
    whole = covariance + np.cov(noisy_scores, rowvar=False)
    sampling = random.multivariate_normal(np.zeros(len(groups)), covariance, size=len(noisy_scores), method="svd")
    precision = np.linalg.inv(whole[:-1, :-1] + tuning.least_variance * np.eye(len(groups) - 1))

    # If all groups have one incidence, a score is noise and sampling alone.
    null_scores = noisy_scores - score + sampling
    statistic, simulated = (
        np.einsum("...i,ij,...j->...", scores[..., :-1], precision, scores[..., :-1]) for scores in (score, null_scores)
    )

    # Declared values have no inside, so wide cells cannot bias the test.
    deviations = 0.0 if groups[0].grid.values is not None else comparison.estimate_bias(whole, rho, tuning)
    fact = (
        f"the test may be {deviations:.1f} standard deviations off because cells are wide, if times are written more "
        "finely: groups that are censored differently inside cells seem to differ in their incidence"
    )
    notes = (add_advice(fact, "take narrower cells"),)
    test = GrayTest(float(statistic), monte_carlo_p_value(float(statistic), simulated), notes if deviations > 0 else ())
    warn_about_notes(test)
    return test


class GroupCounts(NamedTuple):
    """Counts of groups in cells of time, released or simulated, of shape (..., groups, cells).

    Attributes:
        events: Events of the tested cause.
        others: Events of all other causes.
        records: Records at risk.
    """

    events: FloatArray
    others: FloatArray
    records: FloatArray


class SubdistributionRisk(NamedTuple):
    """Intermediate numbers of Gray's test, from which its score and covariance are computed.

    Shapes are (..., groups, cells) unless stated.

    Attributes:
        events: Events of the tested cause, 0 where a group is not at risk.
        others: Events of other causes, 0 where a group is not at risk.
        records: Records at risk.
        survival_before: Share without any event before each cell.
        survival: Share without any event past each cell.
        at_risk: Records at risk for the subdistribution hazard, R in Gray (1988): records at risk, times the share
            without an event of the cause, over the share without any event.
        pooled_incidence_before: Incidence of the cause before each cell, in all groups together, (..., cells).
        pooled_incidence: Incidence of the cause past each cell, in all groups together, (..., cells).
        weight: Weight of each cell, (..., cells).
    """

    events: FloatArray
    others: FloatArray
    records: FloatArray
    survival_before: FloatArray
    survival: FloatArray
    at_risk: FloatArray
    pooled_incidence_before: FloatArray
    pooled_incidence: FloatArray
    weight: FloatArray

    @classmethod
    def from_counts(cls, counts: GroupCounts, known: BoolArray, rho: float) -> SubdistributionRisk:
        """Return the risk sets of Gray's test from counts of the groups.

        Without noise, the share without any event is at least the share at risk, because censoring takes the rest.
        Noise could make it smaller, and divide by almost nothing, so that it is raised to that share.

        Args:
            counts: Counts of the groups.
            known: Cells in which each group is at risk, shape (groups, cells).
            rho: Power of one minus the pooled incidence in the weights.
        """
        records = np.where(known, np.maximum(counts.records, inference.TUNING.least_at_risk), 0.0)
        events, others = (np.where(known, part, 0.0) for part in counts[:2])
        hazard, any_hazard = (_divide(part, records) for part in (events, events + others))
        survival = np.cumprod(1 - any_hazard.clip(0.0, 1.0), axis=-1)
        before = _shift(survival, 1.0)
        before = np.maximum(before, _divide(records, records[..., :1]).clip(0.0, 1.0))
        incidence_before = _shift(np.cumsum(before * hazard, axis=-1), 0.0).clip(0.0, 1.0)
        at_risk = _divide(records * (1 - incidence_before), before)
        pooled = np.cumsum(_divide(events.sum(axis=-2), _divide(records, before).sum(axis=-2)), axis=-1).clip(0.0, 1.0)
        pooled_before = _shift(pooled, 0.0)
        return cls(
            events, others, records, before, survival, at_risk, pooled_before, pooled, (1 - pooled_before) ** rho
        )

    def score(self) -> FloatArray:
        """Return weighted observed minus expected events of the cause in each group, (..., groups)."""
        died = self.events.sum(axis=-2)[..., None, :]
        fraction = _divide(self.at_risk, self.at_risk.sum(axis=-2)[..., None, :])
        return np.asarray((self.weight[..., None, :] * (self.events - died * fraction)).sum(axis=-1))

    def covariance(self) -> FloatArray:
        """Return the covariance of the score under equal incidence, (groups, groups), as ``cmprsk::cuminc`` does.

        Gray (1988, section 3) gives it as integrals over the martingales of both kinds of event, whose variances in a
        cell are the variances of its events minus the correction for ties.
        """
        died = np.maximum(self.events.sum(axis=0), 0.0)
        others = np.maximum(self.others, 0.0)
        exposed = _divide(self.records, self.survival_before)
        whole = exposed.sum(axis=0)
        direct = -_divide(exposed[:, None] * exposed[None], whole)
        direct += np.eye(len(exposed))[..., None] * exposed[:, None]
        direct = self.weight * direct
        indirect = np.cumsum(direct * _divide(died, whole * (1 - self.pooled_incidence_before)), axis=-1)
        remaining = _divide(1 - self.pooled_incidence, self.survival, other=0.0)
        at_end = indirect[..., -1]
        covariance = np.zeros(indirect.shape[:2])
        # Each kind of event moves the score now, and the score of later cells through the incidence of its group.
        at_tie = 1 - _divide(np.maximum(died - 1, 0.0), whole * self.survival_before - 1).clip(0.0, 1.0)
        own_variance = at_tie * self.survival_before * _divide(died, whole * self.records)
        ties_of_others = 1 - _divide(np.maximum(others - 1, 0.0), self.records - 1).clip(0.0, 1.0)
        other_variance = ties_of_others * self.survival_before**2 * _divide(others, self.records**2)
        for later, now, variance in (
            (np.where(self.survival > 0, 1 - remaining, 1.0), direct, own_variance),
            (-remaining, 0.0, np.where(self.survival > 0, other_variance, 0.0)),
        ):
            moved = now - later * indirect + later * at_end[..., None]
            covariance += np.einsum("ikc,jkc,kc->ij", moved, moved, variance)
        return covariance


def _shift(values: FloatArray, first: float) -> FloatArray:
    """Return values shifted by one cell along the last axis: `first`, then all values but the last.

    Args:
        values: Values by cell, (..., cells).
        first: Value of the first cell of the result.
    """
    return np.concatenate([np.full((*values.shape[:-1], 1), first), values[..., :-1]], axis=-1)


def _divide(numerator: FloatArray, denominator: FloatArray, other: float = 0.0) -> FloatArray:
    """Return ``numerator / denominator`` where the denominator is positive, and `other` elsewhere.

    Args:
        numerator: Numbers, (..., cells).
        denominator: Numbers of the same shape, or of a shape that NumPy broadcasts to it.
        other: Value where the denominator is 0 or negative.
    """
    upper, lower = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.asarray(np.divide(upper, lower, out=np.full(upper.shape, other), where=lower > 0))


@dataclass(frozen=True)
class _Comparison:
    """Released counts of groups of competing risks, with simulated noise.

    Attributes:
        released: The counts.
        noise: Their noise, with a first axis of draws.
        censored: Records censored inside each cell, (groups, cells).
        censored_noise: The noise of `censored`, (draws, groups, cells).
        known: Cells in which each group is known to be at risk, (groups, cells).
        inner: Cells past which each group is followed, (groups, cells).
    """

    released: GroupCounts
    noise: GroupCounts
    censored: FloatArray
    censored_noise: FloatArray
    known: BoolArray
    inner: BoolArray

    @classmethod
    def from_groups(
        cls, groups: Sequence[CompetingRisks], cause: Category, generator: np.random.Generator
    ) -> _Comparison:
        """Return the comparison of one cause between groups, with newly simulated noise of every group.

        Args:
            groups: Results with the same causes and grid.
            cause: One of their causes.
            generator: Random generator of the simulated noise.
        """
        row = groups[0].causes.index(cause)
        tables = [group._risk_table for group in groups]
        noises = [group._sample_noise(generator) for group in groups]
        draws = min(len(noise.records) for noise in noises)

        def stack_groups(parts: Sequence[inference.RiskTable]) -> tuple[GroupCounts, FloatArray]:
            """Return the counts of all groups, and how many records of each cell are at risk only if its events precede
            its censoring, each (..., groups, cells).

            Args:
                parts: Released risk table of each group, or noise of these tables.

            Returns:
                Counts of the cause, of other causes and at risk; then the numbers of uncertain records.
            """
            events = np.stack([part.events[..., row, :] for part in parts], axis=-2)
            whole = np.stack([part.events.sum(axis=-2) for part in parts], axis=-2)
            records = np.stack([part.records for part in parts], axis=-2)
            fewest = np.stack([part.fewest_records for part in parts], axis=-2)
            return GroupCounts(events, whole - events, records), records - fewest

        released, censored = stack_groups(tables)
        cut = [inference.RiskTable(*(part[:draws] for part in noise)) for noise in noises]
        noise, censored_noise = stack_groups(cut)
        known = []
        inner = []
        for group in range(len(groups)):
            at_risk = inference.AtRisk(released.events[group] + released.others[group], released.records[group])
            moved = inference.AtRisk(noise.events[:, group] + noise.others[:, group], noise.records[:, group])
            known.append(inference.find_known_cells(at_risk, moved))
            inner.append(inference.find_inner_cells(at_risk, censored[group], moved, censored_noise[:, group]))
        return cls(released, noise, censored, censored_noise, np.stack(known), np.stack(inner))

    def add_noise(self) -> GroupCounts:
        """Return the released counts with noise added a second time, to simulate the test: (draws, groups, cells).

        The noise is the same at each call.
        """
        return GroupCounts(*(counts + noise for counts, noise in zip(self.released, self.noise, strict=True)))

    def estimate_bias(self, covariance: FloatArray, rho: float, tuning: Tuning) -> float:
        """Return how far the test may be off because cells are wide.

        The test takes all records censored in a cell for at risk at its events. If records are censored evenly over a
        cell, half of them are not. The result is the largest shift of a score that this makes.

        Args:
            covariance: Covariance of the scores, (groups, groups).
            rho: Power of one minus the pooled incidence in the weights.
            tuning: Limits below which a shift is ignored.

        Returns:
            The shift in standard deviations of the score; 0 if noise may have made it, or it is small.
        """
        cells = self.known & self.inner.all(axis=0)
        if not cells.any():
            return 0.0

        def shift_scores(counts: GroupCounts, censored: FloatArray) -> FloatArray:
            """Return the scores if half of the censored records of a cell leave before its events, minus the scores
            if all leave after them.

            Args:
                counts: Counts of all groups, (..., groups, cells).
                censored: Censored records, (..., groups, cells).

            Returns:
                Differences of the scores in events, (..., groups).
            """
            fewer = counts._replace(records=counts.records - censored / 2)
            even, late = (SubdistributionRisk.from_counts(each, cells, rho).score() for each in (fewer, counts))
            return even - late

        shift = shift_scores(self.released, self.censored)
        error = shift_scores(self.add_noise(), self.censored + self.censored_noise) - shift
        deviation = np.sqrt(np.maximum(np.diag(covariance), tuning.least_variance))
        least = np.maximum(tuning.bias_z * np.sqrt(np.mean(error**2, axis=0)), tuning.least_bias * deviation)
        return float(np.max(np.where(np.abs(shift) > least, np.abs(shift) / deviation, 0.0)))


def _parse_groups(risks: Any) -> list[CompetingRisks]:
    """Return the results of the compared groups as a list, after checking that they can be compared.

    Args:
        risks: A mapping of groups to results, or a sequence of results.

    Raises:
        TypeError: An item is no `CompetingRisks`.
        InvalidArgument: There are fewer than two groups, causes or grids differ, or units have several records.
    """
    groups: list[Any] = []
    if isinstance(risks, Mapping):
        groups = list(risks.values())
    elif isinstance(risks, Sequence):
        groups = list(risks)
    if len(groups) < 2:
        raise InvalidArgument("risks", "two or more groups are needed, as dp.CompetingRisksQuestion gives with by=")
    for group in groups:
        require_type("risks", group, CompetingRisks, "competing risks, as dp.CompetingRisksQuestion gives them,")
        require_independent(group.privacy)
        if group.causes != groups[0].causes or not np.array_equal(group.x, groups[0].x):
            raise InvalidArgument(
                "risks", "all groups must have the same causes on the same grid: ask for all with by="
            )
    return groups
