"""The test of Hosmer and Lemeshow: do observed and expected positives agree, group by group?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..postprocess import hosmer_lemeshow, positive_intervals, simulated_p_value
from ..postprocess.inference.bands import upper_quantiles
from ..postprocess.inference.moments import KNOWN, possible
from ..postprocess.inference.simulation_seed import public_generator
from ..release import PrivacyStatement, Setting
from ..workloads import Needs, Shares
from .group_question import GroupQuestion
from .group_result import CoveredGroups
from .notes import notes_on_dependence
from .turns.group_numbers import Numbers
from .turns.score_groups import ScoreGroups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Shade

SHARES = Shares(cuts=Fraction(1, 10), counts=Fraction(2, 3), sums=Fraction(7, 30))
NUMBERS: Numbers = (350.0, 4), (1050.0, 5), (inf, 10)
"""Groups that find a wrong model best, about, without being too few to show where it is wrong."""
DROWNED = 3
"""Standard deviations of its noise that a group has to hold, on average, or it is hidden."""


@dataclass(frozen=True, eq=False, repr=False)
class HosmerLemeshow(CoveredGroups):
    """The Hosmer-Lemeshow statistic, and its p-value under a null hypothesis that includes the known noise.

    Attributes:
        statistic: The sum over groups of squared differences of observed and expected positives, divided by their
            variance if the model is right: the binomial variance and that of the noise. Without noise it is the usual
            statistic.
        p_value: The probability that a model that is right about the population gives at least this statistic. It
            accounts for noise and for sampling: labels are taken as independent draws with the predicted probabilities.
            As the statistic is not chi-squared under noise, its distribution under the null hypothesis is simulated.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        count, observed, expected: Records, observed and expected positives of each group: within what is possible.
            Where noise alone may have made the count, which it does of no record with a chance of 5%, they are *not
            known*: NaN. Unbiased ones are in ``groups.released``.
        privacy: The privacy statement, which every picture shows.
        groups: What the test was read from.

    Data frame: one row for each group; with a level, also ``observed_lower`` and ``observed_upper``.
    """

    KIND: ClassVar[str] = "hosmer-lemeshow"

    statistic: float
    p_value: float
    edges: FloatArray
    count: FloatArray
    observed: FloatArray
    expected: FloatArray
    privacy: PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def read(
        cls, groups: ScoreGroups, privacy: PrivacyStatement, *, generator: np.random.Generator | None = None
    ) -> HosmerLemeshow:
        """From released groups."""
        released = groups.released
        privacy = privacy.noted(*groups.notes, *notes_on_dependence(privacy), *_drowned(groups))
        chance, noise = public_generator(generator), groups.noise_of_surplus
        p_value = simulated_p_value(released, groups.deviations(chance), noise, chance)
        statistic = float(hosmer_lemeshow(released, noise))
        return cls(statistic, p_value, groups.grid.edges, *_known(groups, privacy.most_records), privacy, groups)

    @property
    def rows(self) -> list[dict[str, float]]:
        """A row for each group: bounds, records, positives, expected positives."""
        names = ("lower", "upper", "count", "positives", "expected")
        columns = (self.edges[:-1], self.edges[1:], self.count, self.observed, self.expected)
        return [dict(zip(names, row, strict=True)) for row in np.column_stack(columns).tolist()]

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of `observed`, of shape ``(groups, 2)``: each group on its own, with chance `level`.

        Each is for the number of positives among these records of its group; with `population`, for the expected number
        in a group of that size, which needs independent units of one record each. They contain `observed`.

        Args:
            level: The chance of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
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

    def _named_ends(self) -> tuple[str, str]:
        return "observed_lower", "observed_upper"

    def _arrays(self) -> dict[str, object]:
        return {"statistic": self.statistic, "p_value": self.p_value, "groups": self.rows}

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        """Draw observed positives beside expected ones."""
        return display.draw_hosmer_lemeshow(
            self.rows, self.statistic, self.p_value, privacy, shades=shaded, ax=ax, name=name
        )

    def _in_short(self) -> tuple[str, ...]:
        return (f"p-value {self.p_value:.3g}", f"{len(self.count)} groups")

    def _title(self) -> str:
        return "Hosmer-Lemeshow test"

    def _summary(self) -> list[tuple[str, str]]:
        return [
            ("statistic", display.numeral(self.statistic)),
            ("p-value, for the population", f"{self.p_value:.2g}"),
        ]


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

    _SHARES = SHARES
    _NUMBERS = NUMBERS

    def steps(self, setting: Setting) -> Needs[HosmerLemeshow]:
        """The number of records, if it is needed; then edges of groups, counts, and sums of scores."""
        return self._read_by(HosmerLemeshow.read, setting)

    def __str__(self) -> str:
        return f"Hosmer-Lemeshow test of {self.score} for {self.label}"


def _known(groups: ScoreGroups, most: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Records, observed and expected positives of each group, as far as something is known of them."""
    released, noise = groups.released, groups.deviations(None)
    errors = upper_quantiles(np.abs(noise.positive + noise.negative), KNOWN)
    count = np.where(released.count <= errors, np.nan, possible(released.count, most))
    observed = np.clip(released.positive, 0.0, count)
    # Cells of declared values reach beyond [0, 1].
    low, high = np.maximum(released.lower, 0.0), np.minimum(released.upper, 1.0)
    return count, observed, np.clip(released.expected, low * count, high * count)


def _drowned(groups: ScoreGroups) -> tuple[str, ...]:
    """A note where groups hold so few records that noise hides them: then a wrong model looks as a right one does."""
    each, noise = max(float(groups.released.count.mean()), 0.0), groups.noise_of_a_count
    if each >= DROWNED * noise:
        return ()
    return (f"noise hides the groups: {each:,.0f} records each, ± {noise:,.0f}; no p-value tells much of the model",)
