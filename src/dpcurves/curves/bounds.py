"""Private clipping bounds of a column: the smallest interval [-2**k u, 2**k u] that covers about a share of the
records.

Clipping bounds must not come from the data without privacy. `BoundsQuestion` asks for them: given a public unit u and a
share p of the n records with a value, it returns `Bounds`, whose bound is the first of u, 2 u, 4 u, ... with

    #{records with |value| <= bound} + noise  >=  p * n + threshold noise

It is found by the sparse vector technique, which costs the same for any number of doublings. With probability 0.95 the
interval covers at most `alpha` records fewer than the share, and the next smaller one at most `alpha` more. A trust
model that can only add up (secure sums over sites) releases noisy counts of the doubled intervals instead.
`PlaneBoundsQuestion` asks for a rectangle of two columns, with half of the budget for each.

Formal guarantees: pure or zero-concentrated, like the granted loss, by the proof of the sparse vector technique
(`mechanisms.thresholds.SparseVector`). Infinite values lie in no interval; missing values are in neither count.

References: Chen 2018, Algorithm 10; Dwork and Roth 2014, section 3.6.

>>> import dpcurves as dp
>>> result = dp.bounds([-3.0, 0.5, 6.0] * 500, coverage=0.9, unit=1, epsilon=100, adjacency=dp.ADD_REMOVE)
>>> result.lower, result.upper
(-8.0, 8.0)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, isnan, nan
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import Exact, InvalidArgument, parse_positive_fraction, require_type
from ..arrays import FloatArray
from ..conversation import (
    WHOLE_BUDGET,
    CoverageInterval,
    CoverageWorkload,
    Evidence,
    Needs,
    PrivacyStatement,
    Setting,
    ask_workload,
)
from ..conversation.notes import add_advice
from ..data import DOUBLINGS, Axis, Predictor, doubling_grid
from ..queries import CoverageQuery
from .question import TableQuestion, build_privacy_statement
from .result import UNINFORMATIVE_RELEASE, PlotArguments, ReleasedResult

COVERAGE_CONFIDENCE = 0.95
"""Probability with which released bounds contain the stated share of the records, minus the number of records in their
statement. A larger one makes this number larger."""
CAPPED_SEARCH_NOTE = add_advice(
    "no interval seemed wide enough: this is the widest that was tried", "ask again with a larger unit"
)
"""Note if the search for bounds ended at the widest interval that it tries, which may cover too few records."""
FEW_RECORDS_NOTE = f"the interval may hold none of the records: {UNINFORMATIVE_RELEASE} of them"
"""Note if there are so few records, by their public number, that the noise allows for an interval without any."""
SMALLEST_UNIT = 2.0**-30
"""Unit of the search for bounds if the magnitude of the values is unknown, about a billionth. Bounds are then this
number times a power of two. That the search begins so low costs no budget: intervals with few records only add a small
probability that noise ends it early."""


@dataclass(frozen=True, repr=False)
class Bounds(ReleasedResult):
    """Closed interval ``[-bound, bound]`` that contains about the requested share of the records.

    Attributes:
        bound: A power of two times the unit.
        is_capped: Whether the search reached the largest interval, which may cover less than requested.
        alpha: A number of records: with probability 0.95 the interval covers at most `alpha` records fewer than the
            requested share, and the next smaller interval at most `alpha` more.
        coverage: The requested share of these records.
        label: The column.
        privacy: The privacy statement, which every picture shows.
        evidence: The release: the number of doublings, or, for sums over sites, counts on the grid of doubled units.

    Data frame of one row: columns ``lower`` and ``upper``.
    """

    KIND = "bounds"
    AXIS_COLUMNS = ("lower", "upper")
    TITLE = "Bounds of {label}"
    COLUMN_WORDS = display.describe_columns(lower="lower bound of {label}", upper="upper bound of {label}")
    REPR_FACTS = "{label}, {lower:g} to {upper:g}"
    ARRAYS = ("lower", "upper", "alpha")

    bound: float
    is_capped: bool
    alpha: float
    coverage: float
    label: str
    privacy: PrivacyStatement
    evidence: Evidence

    @property
    def lower(self) -> float:
        """The lower bound, in the unit of the column."""
        return -self.bound

    @property
    def upper(self) -> float:
        """The upper bound, in the unit of the column."""
        return self.bound

    @property
    def description(self) -> str:
        """The interval as text, with a note if the search ended at the largest interval."""
        interval = f"from {display.format_number(self.lower)} to {display.format_number(self.upper)}"
        return interval + (f"; {CAPPED_SEARCH_NOTE}" if self.is_capped else "")

    @property
    def coverage_statement(self) -> str:
        """Text: the share of the records that the interval covers, and with which probability."""
        return describe_coverage(self.coverage, nan if self.is_capped else self.alpha)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the interval, and in thin lines the intervals of half and twice the width; return the axes.

        Args:
            shades: Not used: bounds have no intervals.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        wider = None if self.is_capped else 2 * self.bound
        return display.draw_bounds(
            self.bound, label=self.label, covers=self.coverage_statement, narrower=self.bound / 2, wider=wider, **how,
        )  # fmt: skip

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row: lower and upper bound.

        Returns:
            ``lower`` and ``upper``, arrays of one number each, in units of the column.
        """
        return {"lower": np.array([self.lower]), "upper": np.array([self.upper])}

    def _edge_columns(self) -> tuple[()]:
        """Return no columns, so that files keep a bound beyond all calendar dates."""
        return ()  # a bound beyond all dates remains in the frame

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the bounds with `_from_json`: label, whether the search reached its
        largest interval, and coverage."""
        return {"label": self.label, "capped": self.is_capped, "coverage": self.coverage}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Bounds:
        """Return the bounds from a parsed JSON document, the inverse of `to_json`.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question, (evidence,) = document.question, document.releases
        upper = float(document.arrays["upper"])
        alpha = float(document.arrays["alpha"])
        coverage = float(question["coverage"])
        capped = bool(question["capped"])
        return cls(upper, capped, alpha, coverage, question["label"], document.privacy, evidence)

    def _summary(self) -> list[tuple[str, str]]:
        """Return two (name, text) pairs: the interval of the column, and the share of records that it covers."""
        return [(self.label, self.description), ("covers", self.coverage_statement)]


@dataclass(frozen=True, slots=True)
class BoundsQuestion(TableQuestion):
    """Private bound on the distance of values from zero, as a power of two times a public unit. One round.

    Intervals ``[-unit, unit]``, ``[-2 unit, 2 unit]``, ... are tested until one appears to cover the share (Chen 2018,
    Algorithm 10); infinite values lie in no interval, and missing values are excluded from the share. A trust model
    that can only add up releases noisy counts of the doubled units instead, from which the interval is computed.

    Attributes:
        column: A column of numbers.
        unit: The smallest bound: public, of about the size of relevant values.
        coverage: The share of the records with a value; at most 6 decimals.
        doublings: The largest number of doublings, after which the search ends: public.

    Raises:
        ValueError: `unit`, `coverage` or `doublings` is out of range.
    """

    column: str
    unit: float
    coverage: Exact
    doublings: int = DOUBLINGS

    def __post_init__(self) -> None:
        """Check the fields by building the query.

        Raises:
            InvalidArgument: `unit`, `coverage` or `doublings` is out of range.
        """
        build_coverage_query(self.column, self.unit, self.coverage, self.doublings)

    @property
    def query(self) -> CoverageQuery:
        """The query for the smallest interval, of those that double in width, that covers the share of the records."""
        return build_coverage_query(self.column, self.unit, self.coverage, self.doublings)

    def steps(self, setting: Setting) -> Needs[Bounds]:
        """Ask one query that searches the bounds, with the whole budget; return the bounds. `setting` is not used."""
        bounds, _ = yield from ask_for_bounds(self.query, WHOLE_BUDGET)
        return replace(bounds, privacy=bounds.privacy.with_notes(*_list_notes(bounds)))

    def __str__(self) -> str:
        """Return the question in words, such as "bounds of income"."""
        return f"bounds of {self.column}"


def _list_notes(bounds: Bounds) -> tuple[str, ...]:
    """Return a note if the interval need hold none of a public number of records, with probability 0.95.

    Where the number is private, no release says whether they are few.

    Args:
        bounds: The released interval.
    """
    most = bounds.privacy.most_records
    is_known = most is None or bounds.is_capped or bounds.coverage * most > bounds.alpha
    return () if is_known else (FEW_RECORDS_NOTE,)


def describe_coverage(coverage: float, alpha: float) -> str:
    """Return text on the share of the records that an interval covers.

    Args:
        coverage: Requested share.
        alpha: Number of records by which the covered number may fall short, with probability 0.95. NaN: unknown.

    >>> describe_coverage(0.95, 12)
    'at least 95% of these records minus 12, with probability 0.95'
    """
    share = f"{100 * coverage:.6g}% of these records"
    if isnan(alpha):
        return f"perhaps less than {share}"
    fewer = display.format_number(ceil(alpha))
    return f"at least {share} minus {fewer}, with probability {COVERAGE_CONFIDENCE:g}"


def build_coverage_query(
    column: str | Predictor,
    unit: float,
    coverage: Exact,
    doublings: int = DOUBLINGS,
    *,
    spare_records: int = 0,
    name: str = "unit",
) -> CoverageQuery:
    """Return the query for the smallest of the intervals -unit to unit, doubled again and again, that covers a share of
    the records.

    Args:
        column: The column, or the model whose scores are bounded.
        unit: Half width of the first interval.
        coverage: Share of the records that the interval must cover.
        doublings: Largest number of doublings.
        spare_records: Number of records by which the interval may fall short.
        name: Name of the user's argument for the unit, for messages.

    Raises:
        ValueError: `unit`, `coverage` or `doublings` is out of range.
    """
    axis = Axis(column, doubling_grid(unit, doublings, name=name))
    return CoverageQuery((axis,), parse_positive_fraction("coverage", coverage), spare_records)


def ask_for_bounds(query: CoverageQuery, budget_fraction: Fraction) -> Needs[tuple[Bounds, CoverageInterval]]:
    """Ask for one interval that covers the query's share of the records, with a fraction of the loss.

    Args:
        query: Doubled intervals, and the share of records to cover.
        budget_fraction: Fraction of the question's loss that the query spends, above 0 and at most 1.

    Returns:
        The bounds as a result, and the released interval from which they were made.
    """
    interval = yield from ask_workload(CoverageWorkload(query), budget_fraction)
    middle = query.grid.cells // 2
    bounds = Bounds(
        bound=-float(query.grid.edge(np.array(middle - interval.interval))), is_capped=interval.interval == middle,
        alpha=interval.alpha(1 - COVERAGE_CONFIDENCE) + query.spare,
        coverage=float(query.coverage), label=str(query.axes[0].column),
        privacy=build_privacy_statement([interval.release]),
        evidence=Evidence.from_release(interval.release),
    )  # fmt: skip
    return bounds, interval


BOUNDS_QUESTION_EXAMPLE = 'a BoundsQuestion, as in BoundsQuestion("x", 1, 0.9),'
"""What the error about an argument of another type says is needed."""

COLUMN_FRACTION = Fraction(1, 2)
"""Budget fraction of the bounds of each of the two columns of a rectangle."""


@dataclass(frozen=True, repr=False)
class PlaneBounds(ReleasedResult):
    """Two intervals, one for each column.

    Attributes:
        x: The bounds of the first column.
        y: The bounds of the second column.
        privacy: The privacy statement of both together, which every picture shows.

    Data frame of two rows: columns ``column``, ``lower`` and ``upper``. JSON stores both under their columns.
    """

    KIND = "curves"
    TITLE = "Bounds of {x.label} and {y.label}"
    COLUMN_WORDS = display.describe_columns(column="column", lower="lower bound", upper="upper bound")
    DISTINGUISHING_FACT = "columns"

    x: Bounds
    y: Bounds
    privacy: PrivacyStatement

    @property
    def rounds(self) -> tuple[()]:
        """Empty: the results of both intervals hold the releases."""
        return ()

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the rectangle that both intervals span; return the axes.

        Args:
            shades: Not used: bounds have no intervals.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        bounds = (self.x.bound, self.y.bound)
        labels = (self.x.label, self.y.label)
        capped = [interval.label for interval in self._both if interval.is_capped]
        covers = [f"{interval.label} covers {interval.coverage_statement}" for interval in self._both]
        return display.draw_plane_bounds(bounds, labels=labels, covers=covers, widest=capped, **how)

    @property
    def _both(self) -> tuple[Bounds, Bounds]:
        """The bounds of the first and of the second column."""
        return self.x, self.y

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the data frame, one row for each column of the data: its name, lower and upper
        bound."""
        attributes = {"column": "label", "lower": "lower", "upper": "upper"}
        return {
            name: np.array([getattr(interval, attribute) for interval in self._both])
            for name, attribute in attributes.items()
        }

    def _arrays(self) -> dict[str, object]:
        """Return the arrays of the JSON document: the bounds of both columns as separate documents, by column."""
        return {"curves": {interval.label: json.loads(interval.to_json()) for interval in self._both}}

    def _question(self) -> dict[str, object]:
        """Return the JSON field ``columns``: the labels of both intervals."""
        return {"columns": [interval.label for interval in self._both]}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> PlaneBounds:
        """Return both bounds from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: the document does not hold bounds of two named columns.
        """
        columns = document.question.get("columns", [])
        stored = document.arrays["curves"]
        if len(columns) != 2 or not set(columns) <= stored.keys():
            raise InvalidArgument(
                "curve", "the stored result needs bounds of two columns: use the text that to_json wrote"
            )
        x, y = (Bounds.from_json(json.dumps(stored[column])) for column in columns)
        return cls(x, y, document.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        """Return two (name, text) pairs for each column: its interval, and the share of records that it covers."""
        rows = (
            ((interval.label, interval.description), (f"{interval.label} covers", interval.coverage_statement))
            for interval in self._both
        )
        return [row for pair in rows for row in pair]


@dataclass(frozen=True, slots=True)
class PlaneBoundsQuestion(TableQuestion):
    """Private bounds on the distances of two columns from zero. Two rounds with half of the budget each.

    A single test of both columns with common noise would have a quarter less noise under add-remove, but a sixth more
    under replace-one, where a replaced record may enter an interval of one column and leave one of the other.

    Attributes:
        x: The first column, with unit and coverage.
        y: The second column, with another unit and coverage.

    Raises:
        ValueError: both have the same column.
    """

    x: BoundsQuestion
    y: BoundsQuestion

    def __post_init__(self) -> None:
        """Check that each column has a separate question.

        Raises:
            WrongArgumentType: `x` or `y` is no `BoundsQuestion`.
            InvalidArgument: both have the same column.
        """
        for name in ("x", "y"):
            require_type(name, getattr(self, name), BoundsQuestion, BOUNDS_QUESTION_EXAMPLE)
        if self.x.column == self.y.column:
            raise InvalidArgument(
                "y", f"a column other than that of x is needed, got {self.y.column!r} for both: name another column"
            )

    def steps(self, setting: Setting) -> Needs[PlaneBounds]:
        """Ask for the bounds of each column with half of the budget; return both intervals. `setting` is not used."""
        width, first = yield from ask_for_bounds(self.x.query, COLUMN_FRACTION)
        height, second = yield from ask_for_bounds(self.y.query, COLUMN_FRACTION)
        privacy = build_privacy_statement((first.release, second.release))
        notes = dict.fromkeys((*_list_notes(width), *_list_notes(height)))
        return PlaneBounds(width, height, privacy.with_notes(*notes))

    def __str__(self) -> str:
        """Return the question in words, such as "bounds of income and age"."""
        return f"bounds of {self.x.column} and {self.y.column}"
