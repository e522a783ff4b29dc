"""Rank categories by a released number, and return the ranks that each may have under noise (confidence set of ranks).

`ranking` takes a released summary by category, and returns a `Ranking`: the categories in decreasing order, each with
its best and worst possible rank. Noise may swap categories with similar numbers, so a single order would be misleading.
If intervals [l_i, u_i] hold for all categories simultaneously, the true rank of category i lies, with the same
probability, between

    1 + #{j: l_j > u_i}      and      n - #{j: u_j < l_i}

Formal guarantees: no records are read and no budget is spent, because ranks are functions of released numbers
(post-processing).

Reference: Klein, Wright and Wieczorek 2020, *A joint confidence region for an overall ranking of populations*.

>>> find_possible_ranks([8, 3, 2], [9, 5, 4]).tolist()  # lower and upper ends of decreasing numbers
[[1, 1], [2, 3], [2, 3]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .. import display
from ..arguments import InvalidArgument, require_probability, require_type
from ..arrays import FloatArray, IntArray
from ..display.canvas import POPULATION, RECORDS
from .result import IntervalResult, PlotArguments
from .summary import SummaryByCategory


def ranking(numbers: SummaryByCategory) -> Ranking:
    """Rank categories by their released counts, sums, means or variances, with the possible ranks of each.

    Costs no budget. Categories are ranked by the requested number: see `Summary.statistic`.

    Args:
        numbers: Counts, sums or summaries by category.

    Returns:
        The categories in decreasing order; `Ranking.ranks` returns the best and the worst rank of each.

    Raises:
        TypeError: `numbers` is of another type.
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
    most_categories = 500  # draws times categories grow with the square of their number
    if len(numbers) > most_categories:
        raise InvalidArgument(
            "numbers",
            f"at most {most_categories} categories can be ranked, got {len(numbers)}: ask by fewer categories",
        )
    values = np.array([number.value for number in numbers.values()])
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
    keys = list(numbers)
    return Ranking(numbers.columns, {keys[index]: numbers[keys[index]] for index in order})


class Ranking(SummaryByCategory):
    """Categories in decreasing order of their number, each with its possible ranks.

    All intervals hold simultaneously, and so do all ranks. `dpcurves.ranking` builds it. Plots show the intervals in
    the order of the ranking.

    Data frame: the categories, ``value``, and with a level ``lower``, ``upper``, ``from_rank`` and ``to_rank``.
    """

    TITLE = "Ranking by {column}"
    DISTINGUISHING_FACT = "ranked"
    INTERVAL_NAME = "simultaneous interval"
    SUPPRESSIBLE_COLUMNS = ("value",)
    MEASURED = "value"

    def ranks(self, level: float = 0.95, *, population: bool = False) -> IntArray:
        """Return the best and the worst possible rank of each category, simultaneous with probability `level`: (n, 2).

        The true rank of a category is 1 plus the number of categories that are truly larger. *Proof.* If all intervals
        cover, every category whose lower limit exceeds this category's upper limit is truly larger, and every category
        whose upper limit is below its lower limit is truly smaller. All intervals cover with probability at least
        `level` (Bonferroni): see `intervals`. (Klein, Wright and Wieczorek 2020, section 3.)

        Args:
            level: Probability that all ranks hold, between 0 and 1.
            population: Whether intervals are for the ranks in the population, not for the ranks in these records.

        Returns:
            Ranks in the order of the ranking, from 1.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        return find_possible_ranks(*self.intervals(level, population=population).T)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return simultaneous confidence limits of the numbers, covering with probability `level`: (categories, 2).

        Each has level ``1 - (1 - level) / categories``, and the number of simulated draws that this level needs.

        Args:
            level: Probability that all intervals hold, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        # with 400 draws for each category, each tail of an interval of level 0.95 has 10 draws or more; at least 5,000
        single_level = 1 - (1 - require_probability("level", level)) / len(self)
        draws = max(5000, 400 * len(self))
        return np.array([number.interval(single_level, population=population, draws=draws) for number in self.values()])

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the categories with their values; with a `level`, also limits of intervals and of ranks.

        Args:
            level: Probability that all intervals and ranks hold; None: values alone.
            population: Whether limits for the population are meant, rather than for these records.

        Returns:
            A data frame with one row per category, in the order of the ranking.
        """
        columns: dict[str, Any] = {"value": [number.value for number in self.values()]}
        if level is not None:
            columns["lower"], columns["upper"] = self.intervals(level, population=population).T
            columns["from_rank"], columns["to_rank"] = self.ranks(level, population=population).T
        reserved = "from_rank", "to_rank"
        return display.to_frame(display.join_columns(self.label_columns(), columns, reserved=reserved))

    def _column_words(self) -> Mapping[str, display.ColumnWords]:
        """Return title and cell format of the number that the categories are ranked by.

        Returns:
            Title and format of ``value``.
        """
        first = next(iter(self.values()))
        cell_format = display.CellFormat.COUNT if first.statistic == "count" else display.CellFormat.NUMBER
        return display.describe_columns(value=(first.plot_label, cell_format))

    def _describe_ends(
        self, names: Sequence[str], words: Mapping[str, display.ColumnWords], level: float
    ) -> dict[str, display.IntervalEnds]:
        """Return what each column of interval endpoints bounds: the numbers of the categories, or their possible ranks.

        Args:
            names: Names of the columns of the data frame.
            words: Title and cell format of each column of numbers, by name.
            level: Level of the intervals, for their titles.

        Returns:
            The description of each column of ends, by its name.
        """
        ends = IntervalResult._describe_ends(self, names, words, level)
        for name in names:
            for word, bound in (("from_rank", display.Bound.LOWER), ("to_rank", display.Bound.UPPER)):
                if name.removesuffix("_population") == word:
                    scope = POPULATION if name.endswith("_population") else RECORDS
                    ends[name] = display.IntervalEnds("value", bound, f"rank {scope}", display.CellFormat.COUNT)
        return ends

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return the table of the categories in their order, with their numbers and possible ranks.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: A number is left out if the width of its interval for these records exceeds this fraction of the
                number; None: all numbers are shown. The rule spares readers noise, and adds no protection.
        """
        return [self.describe_table(level=level, population=population, suppress=suppress)]

    def order_by_size(self, values: FloatArray) -> IntArray:
        """Return the indices of rows in the order of a plot: the order of the ranking.

        Args:
            values: Not used: the categories are ranked already.

        Returns:
            0 to categories - 1, (categories,).
        """
        return np.arange(len(self))

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        """Return lower and upper ends of the simultaneous intervals, (2, categories).

        Args:
            level: Probability that all intervals hold at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return self.intervals(level, population=population).T

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the numbers with their intervals in the order of the ranking, and possible ranks at the right; return
        the axes.

        Args:
            shades: Intervals of the numbers, those for these records last.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        axes = super()._plot(shades, **how)
        rank_axis = axes.secondary_yaxis("right")
        rank_labels = [str(low) if low == high else f"{low} to {high}" for low, high in self._ranks_from_shades(shades)]
        rank_axis.set_yticks(range(len(rank_labels)), rank_labels)
        rank_axis.tick_params(length=0)
        rank_axis.set_ylabel("rank, of these records")
        return axes

    def _ranks_from_shades(self, shades: Sequence[Any]) -> list[tuple[int, int]]:
        """Return the best and the worst possible rank of each category, from the intervals that are plotted.

        Args:
            shades: Plotted intervals, those for these records last. Empty: each rank is the position in the ranking.
        """
        if not shades:
            return [(rank, rank) for rank in range(1, len(self) + 1)]
        return [(low, high) for low, high in find_possible_ranks(shades[-1].lower, shades[-1].upper).tolist()]

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields of the categories, and ``ranked`` set to true."""
        return {**super()._question(), "ranked": True}


def find_possible_ranks(lower: ArrayLike, upper: ArrayLike) -> IntArray:
    """Return the best and the worst rank that simultaneous intervals allow each category: (n, 2).

    Args:
        lower: Lower limit of each number, (n,).
        upper: Upper limit of each number, (n,).

    Returns:
        Ranks from 1, the largest number first, for the categories in the order of `lower`.

    >>> find_possible_ranks([8, 3, 2], [9, 5, 4]).tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    lower_limits = np.asarray(lower, dtype=np.float64)
    upper_limits = np.asarray(upper, dtype=np.float64)
    best = 1 + (lower_limits[None, :] > upper_limits[:, None]).sum(axis=1)
    worst = len(lower_limits) - (upper_limits[None, :] < lower_limits[:, None]).sum(axis=1)
    return np.stack([best, worst], axis=1).astype(np.int64)
