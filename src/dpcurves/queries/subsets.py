"""A claim about a coefficient, tried in disjoint subsets of the units."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

from ..arguments import Refused, make_whole, number
from ..data.axis import Axis, Categories
from .base import Query

MOST_SUBSETS = 10_000
MOST_COEFFICIENTS = 64


@dataclass(frozen=True, slots=True)
class SubsetQuery(Query):
    """In how many disjoint subsets of the units is a coefficient within an interval?

    The first axis is the outcome: on a grid of one cell, its declared range, it is fitted by least squares; two
    categories by logistic regression, the second one being 1. The other axes are the predictors: numbers, clipped to
    the range of their grid of one cell, and categories, which have a coefficient each but for the first. A subset is
    confirmed if its fit exists and the coefficient, in the units of the columns, lies strictly between the bounds.

    Attributes:
        subsets: Into how many the units are put, by a keyed hash of each.
        coefficient: The number of the coefficient: 0 is the first predictor's, or that of its second category.
        above, below: The interval.

    Raises:
        ValueError: there is no predictor, a column stands twice or is on more than one cell, an outcome has other than
            two categories, there are more than 64 coefficients, the interval is empty or has no end, or `subsets` is
            not from 2 to 10,000.
    """

    subsets: int
    coefficient: int
    above: float = -inf
    below: float = inf

    def __post_init__(self) -> None:
        make_whole(self, subsets="subsets", coefficient="coefficient")
        for name in ("above", "below"):
            object.__setattr__(self, name, number(name, getattr(self, name)))
        if not 2 <= self.subsets <= MOST_SUBSETS:
            raise Refused("subsets", f"a number from 2 to {MOST_SUBSETS} is needed, got {self.subsets}")
        if (
            isnan(self.above + self.below)
            or not self.above < self.below
            or self.below - self.above == inf == abs(self.above) == abs(self.below)
        ):
            raise Refused("above", "give above or below, or both, the lower one first")
        self._require_columns()

    def _require_columns(self) -> None:
        if len({axis.column for axis in self.axes}) < len(self.axes) or len(self.axes) < 2:
            raise Refused("columns", "an outcome and at least one other column are needed, each once")
        if any(
            isinstance(axis, Axis) and (axis.grid.cells != 1 or not isinstance(axis.column, str)) for axis in self.axes
        ):
            raise Refused("columns", "columns with declared ranges are needed")
        if isinstance(self.outcome, Categories) and self.outcome.slots != 2:
            raise Refused("outcome", "two categories are needed, or a range of numbers")
        if not 0 <= self.coefficient < self.coefficients <= MOST_COEFFICIENTS:
            raise Refused("coefficient", f"one of {self.coefficients} is needed, of {MOST_COEFFICIENTS} at most")

    @property
    def outcome(self) -> Axis | Categories:
        """The dependent variable."""
        return self.axes[0]

    @property
    def coefficients(self) -> int:
        """The number of coefficients beside the intercept."""
        return sum(1 if isinstance(axis, Axis) else axis.slots - 1 for axis in self.axes[1:])
