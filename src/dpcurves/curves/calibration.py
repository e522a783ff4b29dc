"""Are scores honest? How often the positive label comes true among records of similar score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..postprocess import share_intervals
from ..postprocess.estimation.smooth_shares import smooth_shares
from ..release import PrivacyStatement, Setting
from ..workloads import Needs, Shares
from .group_question import GroupQuestion
from .group_result import CoveredGroups
from .notes import notes_on_width
from .turns.group_numbers import Numbers
from .turns.score_groups import ScoreGroups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade

SHARES = Shares(cuts=Fraction(1, 5), counts=Fraction(3, 5), sums=Fraction(1, 5))
NUMBERS: Numbers = (50.0, 4), (200.0, 6), (1500.0, 10), (20_000.0, 14), (inf, 20)
"""Groups that show most beside noise, once they are read by `smooth_shares`: chosen on the same laws as its constants.
Where two numbers of groups are alike there, the smaller one has the narrower intervals."""
LEVEL, MANY = 0.95, 20
"""The level of the intervals that notes are about, and standard deviations of its noise of which a group has more where
its interval is surely narrower than a half."""
UNKNOWN = 0.5
"""The share of positives where nobody seems to be."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(CoveredGroups):
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

    Data frame: columns ``prob_pred``, ``prob_true`` and ``count``; with a level, also ``lower`` and ``upper``.
    """

    KIND: ClassVar[str] = "calibration"
    SIZE = display.SQUARE

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    privacy: PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def read(cls, groups: ScoreGroups, privacy: PrivacyStatement) -> Calibration:
        """From released groups."""
        released, privacy = groups.released, privacy.noted(*groups.notes)
        count = np.maximum(released.count, 0.0)
        curve = cls(groups.likely_means, _shares(groups), count, groups.grid.edges, privacy, groups)
        if float(count.max()) > MANY * groups.noise_of_a_count:
            return curve
        widths = np.diff(curve.intervals(LEVEL), axis=1)
        return replace(curve, privacy=privacy.noted(*notes_on_width(widths, "the interval of each group")))

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `prob_true`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each holds the share of positives among these records of its group; with `population`, the share among the
        population that the records were drawn from with a score in the group, which needs independent units of one
        record each. About one in twenty intervals at level 0.95 may miss, so one group beside the diagonal is no
        evidence: `HosmerLemeshow` judges all groups at once.

        Args:
            level: The chance of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        ends = self.groups.intervals(share_intervals, level, self.privacy, population=population, generator=generator)
        lower, upper = np.minimum(ends[:, 0], self.prob_true), np.maximum(ends[:, 1], self.prob_true)
        return np.stack([lower, upper], axis=1)

    def _columns(self) -> dict[str, FloatArray]:
        return {"prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count}

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        """Draw the curve beside the diagonal."""
        return display.draw_calibration(
            self.prob_pred, self.prob_true, self.count, privacy, shades=shaded, ax=ax, name=name
        )

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.count)} groups",)

    def _title(self) -> str:
        return "Calibration curve"

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

    _SHARES = SHARES
    _MAY_LOOK = True
    _NUMBERS = NUMBERS

    def steps(self, setting: Setting) -> Needs[Calibration]:
        """The number of records, if it is needed; then counts of both classes in groups."""
        return self._read_by(Calibration.read, setting)

    def __str__(self) -> str:
        return f"calibration curve of {self.score} for {self.label}"


def _shares(groups: ScoreGroups) -> FloatArray:
    """Shares of positives; a class that noise took below zero has none, and unknown where nobody seems to be."""
    released = groups.released
    positive, negative = np.maximum(released.positive, 0.0), np.maximum(released.negative, 0.0)
    if positive.sum() + negative.sum() == 0:
        return np.full(positive.shape, UNKNOWN)
    return smooth_shares(groups.likely_means, positive, negative, groups.noise_of_a_count**2 / 2)
