"""Calibration curves, and the Hosmer-Lemeshow test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nan
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..conversation import GroupBudgetFractions, Needs, PrivacyStatement, Setting
from ..estimation.two_classes import smooth_shares
from ..inference import hosmer_lemeshow, positive_intervals, share_intervals, simulated_p_value
from ..inference.bands import join_intervals, upper_quantiles
from ..inference.moments import KNOWN, clip_to_possible
from ..inference.simulation import public_generator
from .result import PlotArguments, notes_on_dependence, notes_on_width
from .score_groups import GroupIntervalResult, GroupQuestion, Numbers, ScoreGroups

SHARES = GroupBudgetFractions(cuts=Fraction(1, 5), counts=Fraction(3, 5), sums=Fraction(1, 5))
NUMBERS: Numbers = (50.0, 4), (200.0, 6), (1500.0, 10), (20_000.0, 14), (inf, 20)
"""Groups that show most beside noise, once they are read by `smooth_shares`: chosen on the same laws as its constants.
Where two numbers of groups are alike there, the smaller one has the narrower intervals."""
LEVEL, MANY = 0.95, 20
"""The level of the intervals that notes are about, and standard deviations of its noise of which a group has more where
its interval is surely narrower than a half."""
UNKNOWN = 0.5
"""The share of positives where nobody seems to be."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(GroupIntervalResult):
    """The observed share of positives against the mean predicted probability, in groups of similar scores.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``; the noisier it is, the nearer to the middle of the
            group.
        prob_true: Share of positives in each group, in [0, 1], of the same shape. The noisier the share of a group, the
            more it is shrunk towards a smooth curve through all groups: see `smooth_shares`. Intervals are computed
            from the counts alone.
        count: Records in each group, never below zero.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        privacy: The privacy statement, which every picture shows.
        groups: What the curve was read from.

    Data frame: columns ``left`` and ``right``, where a group lies, ``prob_pred``, ``prob_true`` and ``count``; with a
    level, also ``lower`` and ``upper``.
    """

    KIND = "calibration"
    SIZE = display.SQUARE
    TITLE = "Calibration curve"
    REPR_FACTS = "{count.size} groups"
    ARRAYS = ("prob_pred", "prob_true", "count")
    POSSIBLE_RANGES = MappingProxyType({"prob_true": (0.0, 1.0)})

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    privacy: PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def from_counts(cls, groups: ScoreGroups, privacy: PrivacyStatement) -> Calibration:
        """From released groups."""
        count = np.maximum(groups.group_counts.count, 0.0)
        curve = cls(groups.likely_means, _estimate_shares(groups), count, groups.grid.edges, privacy, groups)
        if float(count.max()) > MANY * groups.count_noise_deviation:
            return curve
        widths = np.diff(curve.intervals(LEVEL), axis=1)
        return replace(curve, privacy=privacy.with_notes(*notes_on_width(widths, "the interval of each group")))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `prob_true`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each holds the share of positives among these records of its group; with `population`, the share among the
        population that the records were drawn from with a score in the group, which needs independent units of one
        record each. About one in twenty intervals at level 0.95 may miss, so one group beside the diagonal is no
        evidence: `HosmerLemeshow` judges all groups at once.
        """
        ends = self.groups.intervals(share_intervals, level, self.privacy, population=population, generator=generator)
        return join_intervals(ends, np.stack([self.prob_true] * 2, axis=1))

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        observed = self._mask_unknown("prob_true", self.prob_true)
        return display.draw_calibration(self.prob_pred, observed, self.count, shades=shades, **how)

    def _columns(self) -> dict[str, FloatArray]:
        ends = {"left": self.edges[:-1], "right": self.edges[1:]}
        return {**ends, **{name: getattr(self, name) for name in self.ARRAYS}}

    def _summary(self) -> list[tuple[str, str]]:
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


@dataclass(frozen=True, slots=True)
class CalibrationQuestion(GroupQuestion):
    """The share of positive labels among records of similar score (a calibration curve).

    With many groups the noise of each is large beside its count; with few the line through them is coarse. If `groups`
    is None there are 20, or 14 where records are fewer than 20,000 standard deviations of the noise of one count
    (records times epsilon of 57,000 under replace-one; half of that under add-remove), 10 below 1500 of them, 6 below
    200, 4 below 50. Where the number of records is private, a first turn counts them, for a fiftieth of the loss. A
    look at all scores in 16 even intervals, for a tenth of the loss or less, then says where groups end: they have
    fewer records where scores are rare. Where most scores lie in one of these intervals, and where a number of groups
    is asked for, groups are of about equal size, and a fifth of the loss finds where they end.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `Trees` that predicts them.
        groups: How many groups of about equal size, 2 to 1000; fewer where scores are tied. None: see above.
        grid: Public cells that group edges are chosen from, between 0 and 1; scores outside are counted apart
            and lie in no group, whatever the grid says of them.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is stated about the model that made the scores; it is printed with the result.
    """

    _BUDGET_FRACTIONS = SHARES
    _ALLOWS_UNEQUAL_GROUPS = True
    _GROUP_NUMBERS = NUMBERS

    def steps(self, setting: Setting) -> Needs[Calibration]:
        """The number of records, if it is needed; then counts of both classes in groups."""
        return self._ask_result(Calibration.from_counts, setting)

    def __str__(self) -> str:
        return f"calibration curve of {self.score} for {self.label}"


def _estimate_shares(groups: ScoreGroups) -> FloatArray:
    """Shares of positives; a class that noise took below zero has none, and unknown where nobody seems to be."""
    released = groups.group_counts
    positive, negative = np.maximum(released.positive, 0.0), np.maximum(released.negative, 0.0)
    if positive.sum() + negative.sum() == 0:
        return np.full(positive.shape, UNKNOWN)
    return smooth_shares(groups.likely_means, positive, negative, groups.count_noise_deviation**2 / 2)


TEST_SHARES = GroupBudgetFractions(cuts=Fraction(1, 10), counts=Fraction(2, 3), sums=Fraction(7, 30))
TEST_NUMBERS: Numbers = (350.0, 4), (1050.0, 5), (inf, 10)
"""Groups that find a wrong model best, about, without being too few to show where it is wrong."""
DROWNED = 3
"""Standard deviations of its noise that a group has to hold, on average, or it is hidden."""


@dataclass(frozen=True, eq=False, repr=False)
class HosmerLemeshow(GroupIntervalResult):
    """The Hosmer-Lemeshow statistic, and its p-value under a null hypothesis that includes the known noise.

    Attributes:
        statistic: The sum over groups of squared differences of observed and expected positives, divided by their
            variance if the model is right: the binomial variance and that of the noise. Without noise it is the usual
            statistic.
        p_value: The probability that a model that is right about the population gives at least this statistic. It
            accounts for noise and for sampling: labels are taken as independent draws with the predicted probabilities.
            As the statistic is not chi-squared under noise, its distribution under the null hypothesis is simulated.
            Both are NaN where no group is known.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        count, observed, expected: Records, observed and expected positives of each group: within what is possible.
            Where noise alone may have made the count, which it does of no record with a chance of 5%, they are *not
            known*: NaN. Unbiased ones are in ``groups.released``.
        privacy: The privacy statement, which every picture shows.
        groups: What the test was read from.

    Data frame: one row for each group; with a level, also ``observed_lower`` and ``observed_upper``.
    """

    KIND = "hosmer-lemeshow"
    TITLE = "Hosmer-Lemeshow test"
    REPR_FACTS = "p-value {p_value:.3g}, {count.size} groups"
    SUMMARY = (("statistic", "{statistic!n}"), ("p-value, for the population", "{p_value:.2g}"))
    ARRAYS = ("statistic", "p_value")
    ROW = ("lower", "upper", "count", "positives", "expected")
    JSON_SCHEMAS = MappingProxyType({
        "groups": {
            "description": "A row for each group: bounds, records, positives, expected positives.",
            "type": "array", "items": {**display.BY_NAME, "required": list(ROW)},
        }
    })  # fmt: skip
    INTERVAL_COLUMNS = ("observed_lower", "observed_upper")

    statistic: float
    p_value: float
    edges: FloatArray
    count: FloatArray
    observed: FloatArray
    expected: FloatArray
    privacy: PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def from_counts(
        cls, groups: ScoreGroups, privacy: PrivacyStatement, *, generator: np.random.Generator | None = None
    ) -> HosmerLemeshow:
        """From released groups."""
        released = groups.group_counts
        privacy = privacy.with_notes(*notes_on_dependence(privacy), *_notes_on_hidden_groups(groups))
        chance, noise = public_generator(generator), groups.surplus_noise_variance
        p_value = simulated_p_value(released, groups.simulate_noise(chance), noise, chance)
        statistic = float(hosmer_lemeshow(released, noise))
        count, observed, expected = _mask_unknown_groups(groups, privacy.most_records)
        if np.isnan(count).all():
            statistic = p_value = nan
        return cls(statistic, p_value, groups.grid.edges, count, observed, expected, privacy, groups)

    @property
    def rows(self) -> list[dict[str, float]]:
        """A row for each group: bounds, records, positives, expected positives."""
        columns = (self.edges[:-1], self.edges[1:], self.count, self.observed, self.expected)
        return [dict(zip(self.ROW, row, strict=True)) for row in np.column_stack(columns).tolist()]

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `observed`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each is for the number of positives among these records of its group; with `population`, for the expected number
        in a group of that size, which needs independent units of one record each. They contain `observed`.
        """
        ends = self.groups.intervals(
            positive_intervals, level, self.privacy, population=population, generator=generator
        )
        lower, upper = np.fmin(ends[:, 0], self.observed), np.fmax(ends[:, 1], self.observed)
        return np.stack([lower, upper], axis=1)

    def _columns(self) -> dict[str, FloatArray]:
        return {
            "lower": self.edges[:-1], "upper": self.edges[1:], "count": self.count,
            "observed": self.observed, "expected": self.expected,
        }  # fmt: skip

    def _arrays(self) -> dict[str, object]:
        return {"statistic": self.statistic, "p_value": self.p_value, "groups": self.rows}

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        return display.draw_hosmer_lemeshow(self.rows, self.statistic, self.p_value, shades=shades, **how)


@dataclass(frozen=True, slots=True)
class HosmerLemeshowQuestion(GroupQuestion):
    """Do predicted probabilities agree with the labels, group by group? Three turns: edges of groups, counts, sums.

    With many groups the noise of each is large beside its count. If `groups` is None there are 10 groups, or 5 where
    records times epsilon are below 3000, or 4 below 1000 (under replace-one; under add-remove, which needs half the
    noise, half of that). Where the number of records is private, a first turn counts them, for a fiftieth of the loss.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `Trees` that predicts them.
        groups: How many groups of about equal size, 2 to 1000; fewer where scores are tied. None: see above.
        grid: Public cells that group edges are chosen from, between 0 and 1; scores outside are counted apart
            and lie in no group, whatever the grid says of them.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is stated about the model that made the scores; it is printed with the result.
    """

    _BUDGET_FRACTIONS = TEST_SHARES
    _GROUP_NUMBERS = TEST_NUMBERS

    def steps(self, setting: Setting) -> Needs[HosmerLemeshow]:
        """The number of records, if it is needed; then edges of groups, counts, and sums of scores."""
        return self._ask_result(HosmerLemeshow.from_counts, setting)

    def __str__(self) -> str:
        return f"Hosmer-Lemeshow test of {self.score} for {self.label}"


def _mask_unknown_groups(groups: ScoreGroups, most: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Records, observed and expected positives of each group, as far as something is known of them."""
    released, noise = groups.group_counts, groups.simulate_noise(None)
    errors = upper_quantiles(np.abs(noise.positive + noise.negative), KNOWN)
    count = np.where(released.count <= errors, np.nan, clip_to_possible(released.count, most))
    observed = np.clip(released.positive, 0.0, count)
    # Cells of declared values reach beyond [0, 1].
    low, high = np.maximum(released.lower, 0.0), np.minimum(released.upper, 1.0)
    return count, observed, np.clip(released.expected_positives, low * count, high * count)


def _notes_on_hidden_groups(groups: ScoreGroups) -> tuple[str, ...]:
    """A note where groups hold so few records that noise hides them: then a wrong model looks as a right one does."""
    each, noise = max(float(groups.group_counts.count.mean()), 0.0), groups.count_noise_deviation
    if each >= DROWNED * noise:
        return ()
    return (f"noise hides the groups: {each:,.0f} records each, ± {noise:,.0f}; no p-value tells much of the model",)
