"""Rankings of categories by a released number, with the ranks that each may have: ties are said, and not broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .. import display
from ..arguments import InvalidArgument, require_probability, require_type
from ..arrays import FloatArray, IntArray
from ..display.canvas import RECORDS
from .question import format_key
from .result import PlotArguments
from .summary import LEVEL, SummaryByCategory, format_with_intervals

MOST = 500
LEAST_DRAWS, DRAWS_OF_ONE = 5000, 400
"""Draws of noise, in all at least, and for each category: so that each interval's tail has 20 draws at level 0.95."""


class Ranking(SummaryByCategory):
    """Categories by the size of their number, the largest first, each with the ranks that it may have.

    All intervals hold at once, and so do all ranks: `dpcurves.ranking` makes it. Pictures show the intervals in the
    order of the ranking.

    Data frame: the categories, ``value``, and with a level ``lower``, ``upper``, ``from_rank`` and ``to_rank``.
    """

    TITLE = "Ranking by {column}"
    DISTINGUISHING_FACT = "ranked"
    INTERVAL_NAME = "simultaneous interval"
    SUPPRESSIBLE_COLUMNS = ("value",)

    def ranks(self, level: float = 0.95, *, population: bool = False) -> IntArray:
        """The best and the worst rank that each category may have, all right at once with chance `level`: (n, 2).

        The true rank of a category is 1 and as many as are truly larger. *Proof.* Where all intervals cover, those
        whose lower end is above the upper end of this one are truly larger, and those whose upper end is below its
        lower end truly are not. All cover with chance `level` at least (Bonferroni): see `intervals`. (Klein, Wright
        and Wieczorek 2020, section 3.)

        Returns:
            In the order of the ranking, from 1 on.
        """
        return find_possible_ranks(*self.intervals(level, population=population).T)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Confidence limits of the number of each category, all right at once with chance `level`: (categories, 2).

        Each is one at ``1 - (1 - level) / categories``, from as many simulated draws as that takes.
        """
        each, draws = (
            1 - (1 - require_probability("level", level)) / len(self),
            max(LEAST_DRAWS, DRAWS_OF_ONE * len(self)),
        )
        return np.array([one.interval(each, population=population, draws=draws) for one in self.values()])

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The categories with their values; with a `level`, ends of intervals and ranks from and to.

        They are for these records, or, with `population`, for the population.
        """
        columns: dict[str, Any] = {"value": [one.value for one in self.values()]}
        if level is not None:
            columns["lower"], columns["upper"] = self.intervals(level, population=population).T
            columns["from_rank"], columns["to_rank"] = self.ranks(level, population=population).T
        reserved = "from_rank", "to_rank"
        return display.to_frame(display.join_columns(self.label_columns(), columns, reserved=reserved))

    def _summary_rows(self, suppress: float | None) -> list[tuple[str, str]]:
        """Each category with its interval, those of all at once, and the ranks that it may have."""
        rows, ranks, ends = [], self.ranks().tolist(), self.intervals(LEVEL).tolist()
        for (key, one), (low, high), own in zip(self.items(), ranks, ends, strict=True):
            rank = f"rank {low}" if low == high else f"rank {low} to {high}"
            rows.append((format_key(key), f"{rank}: {format_with_intervals(one.value, {RECORDS: own}, suppress)}"))
        return rows

    def order_by_size(self, values: FloatArray) -> IntArray:
        """The order of rows in a picture: that of the ranking."""
        return np.arange(len(self))

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        return self.intervals(level, population=population).T

    def _category_names(self, name: str | None) -> list[str]:
        names = [self.format_category(category) if len(self.columns) > 1 else str(category) for category in self]
        return display.format_distinct_labels(names if name is None else [f"{name}, {each}" for each in names])

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        drawn = super()._plot(shades, **how)
        beside = drawn.secondary_yaxis("right")
        said = [str(low) if low == high else f"{low} to {high}" for low, high in self._ranks_from_shades(shades)]
        beside.set_yticks(range(len(said)), said)
        beside.tick_params(length=0)
        beside.set_ylabel("rank, of these records")
        return drawn

    def _ranks_from_shades(self, shades: Sequence[Any]) -> list[tuple[int, int]]:
        """Ranks by the intervals that are drawn for these records; the order itself where none are."""
        if not shades:
            return [(place, place) for place in range(1, len(self) + 1)]
        return [(low, high) for low, high in find_possible_ranks(shades[-1].lower, shades[-1].upper).tolist()]

    def _question(self) -> Mapping[str, object]:
        return {**super()._question(), "ranked": True}


def find_possible_ranks(lower: ArrayLike, upper: ArrayLike) -> IntArray:
    """The best and the worst rank of each number, the largest first, that intervals allow: (n, 2).

    >>> find_possible_ranks([8, 3, 2], [9, 5, 4]).tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    least, most = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    best = 1 + (least[None, :] > most[:, None]).sum(axis=1)
    worst = len(least) - (most[None, :] < least[:, None]).sum(axis=1)
    return np.stack([best, worst], axis=1).astype(np.int64)


def ranking(numbers: SummaryByCategory) -> Ranking:
    """Rank categories by their released counts, sums, means or variances, with the ranks that each may have.

    Spends nothing. What is ranked is the number that was asked for: see `Summary.statistic`.

    Args:
        numbers: Counts, sums or summaries by category.

    Returns:
        The categories by falling number, and `ranks()`, the least and the largest rank of each.

    Raises:
        TypeError: `numbers` is something else.
        ValueError: there are more than 500 categories.

    >>> import dpcurves as dp
    >>> people = {"age": [30, 40, 50] * 1000, "ward": ["a", "b", "b"] * 1000}
    >>> with dp.Session(people, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
    ...     wards = dp.Categories("ward", ("a", "b"))
    ...     counts = session.ask(dp.CountQuestion("age", by=wards), dp.PrivacyLoss.pure(1))
    >>> dp.ranking(counts).ranks().tolist()
    [[1, 1], [2, 2]]
    """
    require_type("numbers", numbers, SummaryByCategory, "counts, sums or summaries by category")
    if len(numbers) > MOST:
        raise InvalidArgument("numbers", f"at most {MOST} categories are ranked")
    values = np.array([one.value for one in numbers.values()])
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
    keys = list(numbers)
    return Ranking(numbers.columns, {keys[place]: numbers[keys[place]] for place in order})
