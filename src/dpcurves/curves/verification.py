"""Verify a claim about a regression coefficient on confidential records, by subsample and aggregate.

An analyst who fitted a regression to synthetic or older data asks whether the coefficient has the same sign, or lies in
the same interval, on the confidential records. `VerifyQuestion` has the regression and the claim; a session answers it
with a `Verification`, the noisy share of subsets that confirm the claim:

1. Units are assigned to disjoint subsets by a keyed hash, and the regression is fitted in each subset.
2. A subset confirms the claim if its coefficient lies strictly between `above` and `below`.
3. The number of confirming subsets is released with noise.

`Verification.probability` is the posterior probability that more than half of the subsets confirm the claim, with a
uniform prior on their number.

Formal guarantees: the granted loss. A unit lies in one subset, so its addition or removal changes the count by at most
1 and its replacement by at most 2, for any regression and any number of records of the unit.

References: Nissim, Raskhodnikova and Smith 2007 (sample and aggregate); Barrientos, Reiter, Machanavajjhala and Chen
2019.

>>> from fractions import Fraction
>>> from dpcurves.distributions import Family, Noise
>>> round(majority_probability(28, 50, Noise(Family.LAPLACE, Fraction(2))), 2)  # 28 of 50, with noise of scale 2
0.86
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Unpack

import numpy as np

from .. import display
from ..arguments import (
    InvalidArgument,
    describe_value,
    require_number,
    require_probability,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, Evidence, Needs, PrivacyStatement, Setting, SingleQueryWorkload, ask_workload
from ..conversation.notes import add_advice
from ..data import Axis, Categories, Category, Grid, parse_category
from ..display.canvas import Shade
from ..inference.moments import count_interval, majority_probability, probability_interval, subset_majority_probability
from ..models import NumericColumn
from ..queries import SubsetQuery
from .question import TableQuestion, build_privacy_statement, require_independent
from .result import INDIVIDUAL_INTERVAL, IntervalResult, PlotArguments

FEW_SUBSETS_NOTE = "fewer than 20 subsets: one that is confirmed or not moves the share by 5% or more"
"""Note if a claim was checked on fewer than 20 subsets of the records."""
UNDECIDED_NOTE = add_advice(
    "noise leaves it open whether more than half of the subsets confirm", "more subsets, or a larger loss, tell more"
)
"""Note if the probability that most subsets confirm the claim lies between 0.05 and 0.95."""
NO_FIT_NOTE = add_advice(
    "a fit that does not exist confirms nothing: where a subset has few records of a class, or predictors tell the "
    "classes apart without error, the share is low though the effect is strong",
    "try fewer subsets",
)
"""Note if less than 0.95 of the subsets confirm a claim on a logistic regression, whose fit may not exist."""


@dataclass(frozen=True, eq=False, repr=False)
class Verification(IntervalResult):
    """The share of disjoint subsets in which a claim about a coefficient holds (Barrientos et al. 2019).

    Attributes:
        share: The noisy share of the subsets that confirm the claim, clipped to [0, 1].
        probability: The posterior probability that more than half of these subsets confirm it, given the released count
            and a uniform prior on the true count.
        subsets: The number of subsets.
        claim: The claim, as text.
        privacy: The privacy statement, which every plot shows.
        evidence: The released count.

    Data frame of one row: columns ``share``, ``probability`` and ``subsets``.
    """

    KIND = "verification"
    TITLE = "Verification"
    COLUMN_WORDS = display.describe_columns(
        share=("share of subsets that confirm", display.CellFormat.SHARE),
        probability="probability that more than half do",
        subsets=("subsets", display.CellFormat.COUNT),
    )
    MEASURED = "share"
    REPR_FACTS = "{share:.0%} of {subsets} subsets, probability {probability:.3g}"
    SUMMARY = (
        ("claim", "{claim}"), ("subsets that confirm", "{share:.0%} of {subsets}"),
        ("chance that more than half do", "{probability:.3g}"),
    )  # fmt: skip
    ARRAYS = ("share", "probability", "subsets", "claim")
    INTERVAL_NAME = INDIVIDUAL_INTERVAL

    share: float
    probability: float
    subsets: int
    claim: str
    privacy: PrivacyStatement
    evidence: Evidence

    @classmethod
    def from_counts(
        cls, evidence: Evidence, subsets: int, claim: str, privacy: PrivacyStatement, *, of_classes: bool = False
    ) -> Verification:
        """Return the result from the released number of subsets that confirm the claim.

        Args:
            evidence: The released number, one integer, with the distribution of its noise.
            subsets: Number of all subsets.
            claim: The claim, in words.
            privacy: The privacy statement; notes are added to it.
            of_classes: Whether the regression is logistic; then a note warns that a low share may be due to fits
                that do not exist.
        """
        (released,) = evidence.values
        probability = majority_probability(released, subsets, evidence.sums.parts[0].noise)
        notes = [FEW_SUBSETS_NOTE] if subsets < 20 else []  # subsets: fewer give a noisy share
        sure = 0.95  # probability from which a claim counts as sure
        notes += [UNDECIDED_NOTE] if 1 - sure < probability < sure else []
        share = min(max(released / subsets, 0.0), 1.0)
        notes += [NO_FIT_NOTE] if of_classes and share < sure else []
        return cls(share, probability, subsets, claim, privacy.with_notes(*notes), evidence)

    @property
    def population_probability(self) -> float:
        """The posterior probability that a random subset of the population confirms the claim more often than not.

        The prior on the probability that a subset confirms it is uniform.

        Raises:
            ValueError: a unit has several records.
        """
        require_independent(self.privacy)
        return subset_majority_probability(*self._released_count)

    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return a confidence interval for the share of these subsets that confirm the claim.

        Its coverage probability is at least `level`. With `population`, it is for the probability that a random subset
        of this size confirms the claim, and includes binomial sampling.

        Args:
            level: Least probability that the interval holds the share, between 0 and 1.
            population: Whether the population is meant, rather than these subsets.

        Returns:
            Lower and upper endpoint, as shares from 0 to 1.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit has several records.
        """
        level = require_probability("level", level)
        if population:
            require_independent(self.privacy)
            return probability_interval(*self._released_count, level)
        low, high = count_interval(*self._released_count, level)
        return low / self.subsets, high / self.subsets

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return the confidence interval of the share, of shape ``(1, 2)``: see `interval`.

        Args:
            level: Least probability that the interval holds the share, between 0 and 1.
            population: Whether the population is meant, rather than these subsets.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit has several records.
        """
        return np.array([self.interval(level, population=population)])

    @property
    def _released_count(self) -> tuple[int, int, Any]:
        """The released count, the number of subsets, and the noise of the count."""
        return self.evidence.values[0], self.subsets, self.evidence.sums.parts[0].noise

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the share with its interval, and the probability without one; return the axes.

        Args:
            shades: Intervals of the share, one `Shade` for these records and perhaps one for the population.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        values = {"subsets that confirm": self.share, "chance that over half do": self.probability}
        shades_of_share = [
            Shade(np.append(lower, np.nan), np.append(upper, np.nan), label) for lower, upper, label in shades
        ]
        return display.draw_numbers(values, shades=shades_of_share, **how)  # the probability has no interval

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame, each of one row: share, probability, number of subsets."""
        return {
            "share": np.array([self.share]), "probability": np.array([self.probability]),
            "subsets": np.array([self.subsets]),
        }  # fmt: skip

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the result with `_from_json`: claim and number of subsets."""
        return {"claim": self.claim, "subsets": self.subsets}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Verification:
        """Return the result from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: the number of subsets is missing or below 2, or the claim is too long.
        """
        question, (evidence,) = document.question, document.releases
        subsets = int(question["subsets"])
        claim = str(question["claim"])
        if not subsets >= 2 or len(claim) > 10_000:
            raise InvalidArgument("curve", "the number of subsets is missing: use the text that to_json wrote")
        return cls.from_counts(evidence, subsets, claim, document.privacy)


@dataclass(frozen=True, slots=True)
class VerifyQuestion(TableQuestion):
    """Ask whether a regression coefficient has this sign, or lies in this interval, on these records. One round.

    Each unit is assigned to one of the disjoint subsets by a keyed hash. In each subset the outcome is regressed on all
    columns: by least squares if it is a `NumericColumn`, by logistic regression if it has two categories, with the
    second coded as 1. The number of subsets in which the coefficient lies strictly between `above` and `below` is
    released, with noise.

    Formal guarantees: a unit lies in one subset, so adding or removing it changes one verdict, and replacing it changes
    two: the noise is for a count of sensitivity 1, or 2, for any fit and any number of records of a unit. A subset
    whose fit does not exist (too few records, collinear columns, classes that a plane separates) does not confirm the
    claim, and has no other effect. The number of iterations does not depend on the records.

    Attributes:
        outcome: The dependent variable: a `NumericColumn`, or `Categories`.
        columns: The predictors. Numbers are clipped to their declared range; each category except the first has a
            coefficient. Records that lack a predictor are left out.
        coefficient: The column of the tested coefficient, on the scale of the columns (log-odds for logistic
            regression).
        level: Its category, if the column has categories; the first category has no coefficient.
        above, below: The claimed limits; at least one is needed.
        subsets: The number of subsets. Each must be large enough for a fit; noise matters less with more subsets.
        model: A statement about the origin of the claim, printed with the result.

    Raises:
        ValueError: the model has no coefficient of this name, neither limit is claimed, or see `SubsetQuery`.
        TypeError: a column is neither `NumericColumn` nor `Categories`.

    >>> import dpcurves as dp
    >>> years, pay = np.arange(5_000) % 13 + 8.0, np.arange(5_000) % 13 * 120 + np.arange(5_000) % 7 * 90
    >>> claim = VerifyQuestion(dp.NumericColumn("pay", 0, 2_000), (dp.NumericColumn("years", 8, 20),), "years", above=0)
    >>> loss, table = dp.PrivacyLoss.pure(2), {"years": years, "pay": pay}
    >>> found = dp.Session(table, budget=loss, adjacency=dp.REPLACE_ONE).ask(claim, loss)
    >>> found.share > 0.5
    True
    """

    outcome: NumericColumn | Categories
    columns: tuple[NumericColumn | Categories, ...]
    coefficient: str
    level: Category | None = None
    above: float | None = None
    below: float | None = None
    subsets: int = 50
    model: str = "the claim is taken as public"

    def __post_init__(self) -> None:
        """Parse the fields, and check that the model has the coefficient and that a limit is claimed.

        Raises:
            InvalidArgument: no coefficient has this name, both limits are missing, or the query refuses a field.
            WrongArgumentType: a field has another type.
        """
        object.__setattr__(
            self, "columns", require_sequence("columns", self.columns, "a tuple of NumericColumn and Categories")
        )
        for name, column in (("outcome", self.outcome), *(("columns", column) for column in self.columns)):
            require_type(name, column, (NumericColumn, Categories), "a NumericColumn or Categories")
        require_type("coefficient", self.coefficient, str, "the name of a column")
        if self.level is not None:
            object.__setattr__(self, "level", parse_category("level", self.level))
        for name in ("above", "below"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, require_number(name, getattr(self, name)))
        if self.above is None and self.below is None:
            raise InvalidArgument(
                "above", "the claim is missing: give above=0 for a positive coefficient, or below=0 for a negative one"
            )
        self._query()

    def steps(self, setting: Setting) -> Needs[Verification]:
        """Ask for the noisy number of subsets that confirm the claim; return the verification.

        Args:
            setting: Public loss and adjacency; not used.
        """
        release = yield from ask_workload(SingleQueryWorkload(self._query()), WHOLE_BUDGET)
        privacy = build_privacy_statement([release], self.model)
        of_classes = isinstance(self.outcome, Categories)
        return Verification.from_counts(
            Evidence.from_release(release), self.subsets, self._claim(), privacy, of_classes=of_classes
        )

    def _query(self) -> SubsetQuery:
        """Return the query for the number of subsets in which the coefficient lies between the claimed limits."""
        above = -inf if self.above is None else self.above
        below = inf if self.below is None else self.below
        axes = tuple(
            Axis(column.column, Grid(column.lower, column.upper, cells=1))
            if isinstance(column, NumericColumn)
            else column
            for column in (self.outcome, *self.columns)
        )
        return SubsetQuery(axes, self.subsets, self._find_coefficient_index(), above, below)

    def _find_coefficient_index(self) -> int:
        """Return the index of the tested coefficient among all coefficients except the intercept.

        Raises:
            InvalidArgument: no coefficient has this name.
        """
        coefficients: list[tuple[str, Any]] = []
        for column in self.columns:
            # The first category is the reference level, which has no coefficient.
            levels = (None,) if isinstance(column, NumericColumn) else column.values[1:]
            coefficients.extend((column.column, level) for level in levels)
        requested = (self.coefficient, self.level)
        if requested not in coefficients:
            raise InvalidArgument(
                "coefficient",
                f"must be one of {', '.join(map(_format_coefficient, coefficients))}, got "
                f"{describe_value(self.coefficient)}",
            )
        return coefficients.index(requested)

    def _claim(self) -> str:
        """Return the claim as text, as in "0 < coefficient of age for income"."""
        low = "" if self.above is None else f"{self.above:g} < "
        high = "" if self.below is None else f" < {self.below:g}"
        return (
            f"{low}coefficient of {_format_coefficient((self.coefficient, self.level))} for {self.outcome.column}{high}"
        )

    def __str__(self) -> str:
        """Return the question in words, with the claim and the number of subsets."""
        return f"verification of {self._claim()} in {self.subsets} subsets"


def _format_coefficient(coefficient: tuple[str, Category | None]) -> str:
    """Return the name of a coefficient for messages, such as "age" or "sex=F".

    Args:
        coefficient: The column, and its category; None for a column of numbers.
    """
    column, level = coefficient
    return column if level is None else f"{column}={level}"
