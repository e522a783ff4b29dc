"""Calibration curves (reliability diagrams), and the Hosmer-Lemeshow test.

Records are grouped by predicted probability. For a group with n records, O positives and sum E of predictions,

    calibration curve   O / n  against  E / n
    Hosmer-Lemeshow     sum over groups of (O - E)**2 / (n * m * (1 - m) + V)      m = E / n

with V the variance of the noise of O - E.

- *Groups*: edges from a pilot query of even intervals; or at noisy quantiles of the scores, if a number of groups is
  requested or scores are concentrated. n, O and E are noisy sums.
- *Estimate*: shares of positives are smoothed by `estimation.two_classes.smooth_shares`, a Gaussian process with a line
  as mean, not by a logistic (Platt) fit; intervals are computed from the counts alone.
- *Test*: the p-value is simulated with sampling and noise, because the statistic is not chi-squared under noise.

Formal guarantees: the granted loss; fractions for edges, counts and sums add up, and groups are a function of earlier
answers (adaptive composition).

References: Hosmer and Lemeshow 1980; Murphy and Winkler 1977 (reliability diagrams).

>>> import dpcurves as dp
>>> labels, scores = [0, 1, 1, 1] * 500, [0.2, 0.2, 0.8, 0.8] * 500
>>> curve = dp.calibration_curve(labels, scores, groups=2, epsilon=100, adjacency=dp.ADD_REMOVE)
>>> curve.prob_true.round(1).tolist()  # share of positives by group of similar scores
[0.5, 1.0]
"""

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
from ..inference.moments import KNOWN_PROBABILITY, clip_to_possible
from ..inference.simulation import public_generator
from .result import PlotArguments, notes_on_dependence, notes_on_width
from .score_groups import GroupIntervalResult, GroupQuestion, Numbers, ScoreGroups

CALIBRATION_FRACTIONS = GroupBudgetFractions(cuts=Fraction(1, 5), counts=Fraction(3, 5), sums=Fraction(1, 5))
"""Budget fractions of a calibration curve: of the quantiles of the scores at which groups are cut, of counts of both
classes, and of sums of scores in the groups."""
CALIBRATION_GROUP_NUMBERS: Numbers = (50.0, 4), (200.0, 6), (1500.0, 10), (20_000.0, 14), (inf, 20)
"""Number of groups by signal-to-noise ratio (records over the noise standard deviation of a count): pairs of the ratio
up to which a pair applies, and the number. They have the smallest error after `smooth_shares` on the distributions on
which its constants were chosen; of equally good numbers the smaller one, for narrower intervals."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(GroupIntervalResult):
    """The observed share of positives against the mean predicted probability, in groups of similar scores.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``; shrunk towards the middle of the group, more so if
            it is noisier.
        prob_true: Share of positives in each group, in [0, 1], of the same shape; shrunk towards a smooth curve through
            all groups, more so if it is noisier: see `smooth_shares`. Intervals are computed from the counts alone.
        count: Records in each group, not negative.
        edges: Edges of the groups, of shape ``(groups + 1,)``.
        privacy: The privacy statement, which every picture shows.
        groups: The released counts of the groups.

    Data frame: columns ``left`` and ``right``, the bounds of a group, ``prob_pred``, ``prob_true`` and ``count``; with
    a level, also ``lower`` and ``upper``.
    """

    KIND = "calibration"
    SIZE = display.SQUARE
    TITLE = "Calibration curve"
    COLUMN_WORDS = display.describe_columns(
        left="scores, from",
        right="scores, to",
        prob_pred="mean predicted probability",
        prob_true="share of positives",
        count=("records", display.CellFormat.COUNT),
    )
    MEASURED = "prob_true"
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
        """Return the curve from the released counts of groups, with a note if intervals are very wide.

        Args:
            groups: Released counts of the groups of predicted probabilities.
            privacy: The privacy statement, to which the note is added.
        """
        count = np.maximum(groups.group_counts.count, 0.0)
        curve = cls(groups.likely_means, _estimate_shares(groups), count, groups.grid.edges, privacy, groups)
        # from this signal-to-noise ratio on, the interval of a group is surely narrower than 1/2
        if float(count.max()) > 20 * groups.count_noise_deviation:
            return curve
        widths = np.diff(curve.intervals(0.95), axis=1)  # the level of the intervals that notes describe
        return replace(curve, privacy=privacy.with_notes(*notes_on_width(widths, "the interval of each group")))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return intervals of `prob_true`, of shape ``(groups, 2)``, each with confidence `level`.

        Each contains the share of positives among these records of its group; with `population`, the share among the
        population with a score in the group, which needs independent units of one record each. About one in twenty
        intervals at level 0.95 may miss, so a single group off the diagonal is no evidence: `HosmerLemeshow` tests all
        groups at once.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        limits = self.groups.intervals(share_intervals, level, self.privacy, population=population, generator=generator)
        return join_intervals(limits, np.stack([self.prob_true] * 2, axis=1))

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw observed shares against mean scores, with intervals; return the axes.

        Args:
            shades: Intervals of the shares, one `Shade` for these records and perhaps one for the population.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        observed = self._mask_unknown("prob_true", self.prob_true)
        return display.draw_calibration(self.prob_pred, observed, self.count, shades=shades, **how)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each group: bounds, mean score, share of positives,
        records."""
        bounds = {"left": self.edges[:-1], "right": self.edges[1:]}
        return {**bounds, **{name: getattr(self, name) for name in self.ARRAYS}}

    def _summary(self) -> list[tuple[str, str]]:
        """Return two pairs of texts: the number of groups, and the number of records in them."""
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


@dataclass(frozen=True, slots=True)
class CalibrationQuestion(GroupQuestion):
    """The share of positive labels among records of similar score (a calibration curve).

    With many groups the noise of each is large relative to its count; with few the curve is coarse. If `groups` is None
    there are 20, or 14 below 20,000 records per standard deviation of the noise of one count (records times epsilon of
    57,000 under replace-one; half of that under add-remove), 10 below 1500, 6 below 200, 4 below 50. If the number of
    records is private, a first round counts them, for a fiftieth of the budget. A pilot query of all scores in 16 even
    intervals, for at most a tenth of the budget, then chooses the edges of the groups: groups have fewer records where
    scores are rare. If most scores lie in one of these intervals, or if `groups` is given, groups are of about equal
    size, and a fifth of the budget finds their edges.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `TreeEnsemble` that predicts them.
        groups: The number of groups of about equal size, 2 to 1000; ties may leave fewer. None: see above.
        grid: Public cells from which group edges are chosen, between 0 and 1; scores outside are counted apart and lie
            in no group, for any `grid.outside`.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: A statement about the model that made the scores; it is printed with the result.
    """

    _BUDGET_FRACTIONS = CALIBRATION_FRACTIONS
    _ALLOWS_UNEQUAL_GROUPS = True
    _GROUP_NUMBERS = CALIBRATION_GROUP_NUMBERS

    def steps(self, setting: Setting) -> Needs[Calibration]:
        """Ask for the number of records if grouping needs one, then for counts of both classes per score group;
        return the calibration curve.

        Args:
            setting: Loss of the question, and adjacency, which may have a public number of records.
        """
        return self._ask_result(Calibration.from_counts, setting)

    def __str__(self) -> str:
        """Return the question in words, with score and label."""
        return f"calibration curve of {self.score} for {self.label}"


def _estimate_shares(groups: ScoreGroups) -> FloatArray:
    """Return the smoothed share of positives in each group, (groups,), between 0 and 1.

    Args:
        groups: Released counts of the groups; negative ones count as 0. If all are 0, each share is 1/2.
    """
    released = groups.group_counts
    positive = np.maximum(released.positive, 0.0)
    negative = np.maximum(released.negative, 0.0)
    if positive.sum() + negative.sum() == 0:
        return np.full(positive.shape, 0.5)  # the share of positives in groups without records
    return smooth_shares(groups.likely_means, positive, negative, groups.count_noise_deviation**2 / 2)


TEST_FRACTIONS = GroupBudgetFractions(cuts=Fraction(1, 10), counts=Fraction(2, 3), sums=Fraction(7, 30))
"""Budget fractions of a Hosmer-Lemeshow test: cuts of the groups, counts of both classes, and sums of scores."""
TEST_GROUP_NUMBERS: Numbers = (350.0, 4), (1050.0, 5), (inf, 10)
"""Numbers of groups of a test, as pairs like those of `CALIBRATION_GROUP_NUMBERS`: about the highest power against a
wrong model, with enough groups to show where it is wrong."""


@dataclass(frozen=True, eq=False, repr=False)
class HosmerLemeshow(GroupIntervalResult):
    """The Hosmer-Lemeshow statistic, and its p-value under a null hypothesis that includes the known noise.

    Attributes:
        statistic: The sum over groups of squared differences of observed and expected positives, divided by their
            variance under the model: the binomial variance plus the variance of the noise. Without noise it is the
            usual statistic.
        p_value: The probability that a model that is correct for the population gives at least this statistic. It
            accounts for noise and for sampling: labels are independent draws with the predicted probabilities. Since
            the statistic is not chi-squared under noise, its null distribution is simulated. Both are NaN if no group
            is known.
        edges: Edges of the groups, of shape ``(groups + 1,)``.
        count, observed, expected: Records, observed and expected positives of each group, clipped to possible values.
            They are *not known*, NaN, if an empty group would have a count of this size with probability 5 %. Unbiased
            numbers are in ``groups.group_counts``.
        privacy: The privacy statement, which every picture shows.
        groups: The released counts of the groups.

    Data frame: one row for each group; with a level, also ``observed_lower`` and ``observed_upper``.
    """

    KIND = "hosmer-lemeshow"
    TITLE = "Hosmer-Lemeshow test"
    COLUMN_WORDS = display.describe_columns(
        lower="scores, from",
        upper="scores, to",
        count=("records", display.CellFormat.COUNT),
        observed=("positives", display.CellFormat.COUNT),
        expected="expected positives",
    )
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
        """Return the test from the released counts of groups.

        Args:
            groups: Released counts of the groups of predicted probabilities.
            privacy: The privacy statement; notes on dependence and on hidden groups are added to it.
            generator: Random numbers of the simulated null distribution; None: a fixed public seed.
        """
        released = groups.group_counts
        privacy = privacy.with_notes(*notes_on_dependence(privacy), *_notes_on_hidden_groups(groups))
        rng = public_generator(generator)
        noise = groups.surplus_noise_variance
        p_value = simulated_p_value(released, groups.simulate_noise(rng), noise, rng)
        statistic = float(hosmer_lemeshow(released, noise))
        count, observed, expected = _mask_unknown_groups(groups, privacy.most_records)
        if np.isnan(count).all():
            statistic = p_value = nan
        return cls(statistic, p_value, groups.grid.edges, count, observed, expected, privacy, groups)

    @property
    def rows(self) -> list[dict[str, float]]:
        """One mapping for each group: bounds, records, positives and expected positives by name, as in the JSON
        document."""
        columns = (self.edges[:-1], self.edges[1:], self.count, self.observed, self.expected)
        return [dict(zip(self.ROW, row, strict=True)) for row in np.column_stack(columns).tolist()]

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return intervals of `observed`, of shape ``(groups, 2)``, each with confidence `level`.

        Each is for the number of positives among these records of its group; with `population`, for the expected number
        in a group of that size, which needs independent units of one record each. They contain `observed`.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        limits = self.groups.intervals(
            positive_intervals, level, self.privacy, population=population, generator=generator
        )
        lower = np.fmin(limits[:, 0], self.observed)
        upper = np.fmax(limits[:, 1], self.observed)
        return np.stack([lower, upper], axis=1)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each group: bounds, records, observed and expected
        positives."""
        return {
            "lower": self.edges[:-1], "upper": self.edges[1:], "count": self.count,
            "observed": self.observed, "expected": self.expected,
        }  # fmt: skip

    def _arrays(self) -> dict[str, object]:
        """Return the arrays of the JSON document: statistic, p-value and `rows`.

        Returns:
            ``statistic`` and ``p_value``, numbers, and ``groups``, the rows of the table.
        """
        return {"statistic": self.statistic, "p_value": self.p_value, "groups": self.rows}

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw observed and expected positives of each group, with intervals, and the test; return the axes.

        Args:
            shades: Intervals of the observed positives, one `Shade` for these records and perhaps one for the
                population.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_hosmer_lemeshow(self.rows, self.statistic, self.p_value, shades=shades, **how)


@dataclass(frozen=True, slots=True)
class HosmerLemeshowQuestion(GroupQuestion):
    """Test whether predicted probabilities agree with the labels, group by group. Three rounds: group edges, counts,
    sums.

    With many groups the noise of each is large relative to its count. If `groups` is None there are 10 groups, or 5 for
    records times epsilon below 3000, or 4 below 1000 (under replace-one; half of that under add-remove, which needs
    half the noise). If the number of records is private, a first round counts them, for a fiftieth of the budget.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `TreeEnsemble` that predicts them.
        groups: The number of groups of about equal size, 2 to 1000; ties may leave fewer. None: see above.
        grid: Public cells from which group edges are chosen, between 0 and 1; scores outside are counted apart and lie
            in no group, for any `grid.outside`.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: A statement about the model that made the scores; it is printed with the result.
    """

    _BUDGET_FRACTIONS = TEST_FRACTIONS
    _GROUP_NUMBERS = TEST_GROUP_NUMBERS

    def steps(self, setting: Setting) -> Needs[HosmerLemeshow]:
        """Count the records if their number is needed; ask for group edges, counts, and sums of scores; return the
        test.

        Args:
            setting: Loss of the question, and adjacency, which may have a public number of records.
        """
        return self._ask_result(HosmerLemeshow.from_counts, setting)

    def __str__(self) -> str:
        """Return the question in words, with score and label."""
        return f"Hosmer-Lemeshow test of {self.score} for {self.label}"


def _mask_unknown_groups(groups: ScoreGroups, most: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return records, observed and expected positives of each group, shape (groups,) each.

    They are NaN where noise alone may explain the count of the group.

    Args:
        groups: Released counts of the groups.
        most: Public number of all records; None: it is private.
    """
    released = groups.group_counts
    noise = groups.simulate_noise(None)
    errors = upper_quantiles(np.abs(noise.positive + noise.negative), KNOWN_PROBABILITY)
    count = np.where(released.count <= errors, np.nan, clip_to_possible(released.count, most))
    observed = np.clip(released.positive, 0.0, count)
    # Cells of declared values extend beyond [0, 1].
    low = np.maximum(released.lower, 0.0)
    high = np.minimum(released.upper, 1.0)
    return count, observed, np.clip(released.expected_positives, low * count, high * count)


def _notes_on_hidden_groups(groups: ScoreGroups) -> tuple[str, ...]:
    """Return a note if the mean count of a group is small relative to the noise, so that a wrong model looks like a
    right one.

    Args:
        groups: Released counts of the groups.

    Returns:
        One note if the mean count is below 3 standard deviations of its noise; otherwise an empty tuple.
    """
    mean_count = max(float(groups.group_counts.count.mean()), 0.0)
    noise = groups.count_noise_deviation
    # signal-to-noise ratio of the mean group: below 3, noise hides the groups
    if mean_count >= 3 * noise:
        return ()
    return (
        f"noise hides the groups: {mean_count:,.0f} records each, ± {noise:,.0f}; "
        "the p-value says little about the model",
    )
