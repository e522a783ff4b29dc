"""Counts of pairs of declared categories, a test of independence, and Kendall's rank correlation.

Each pair of categories is a cell of one noisy histogram, ``count_ij = n_ij + z_ij``. From the counts follow

    independence     X2 = sum (count_ij - e_ij)**2 / (e_ij + Var z_ij)     e_ij = row total * column total / total
    Kendall's tau-a  (concordant - discordant pairs) / all pairs
    Kendall's tau-b  (concordant - discordant pairs) / sqrt(pairs untied in rows * pairs untied in columns)

The p-value is simulated under independence with the noise of the release, because X2 is not chi-squared under noise.
Shares of rows and columns have intervals that invert tests. Without noise these are the statistics of Pearson (1900)
and of ``scipy.stats.kendalltau``.

Formal guarantees: the granted loss, because a record lies in one cell of the histogram. Tests and correlations are
functions of its counts and lose nothing more (post-processing).

References: Pearson 1900; Kendall 1938; Gaboardi, Lim, Rogers and Vadhan 2016; Bell, Bellet, Gascon and Kulkarni 2019.

>>> import dpcurves as dp
>>> table = dp.contingency(["f", "f", "m", "m"] * 500, ["a", "b", "b", "b"] * 500, row_categories=("f", "m"),
...     column_categories=("a", "b"), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> table.count.tolist(), table.p_value < 0.01
([[500.0, 500.0], [0.0, 1000.0]], True)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from .. import display
from ..arguments import InvalidArgument, WrongArgumentType, require_probability, require_type
from ..arrays import BoolArray, FloatArray
from ..conversation import WHOLE_BUDGET, CellWorkload, Evidence, Needs, PrivacyStatement, Setting, ask_workload
from ..data import Categories, Category, Grid
from ..display import draw_contingency, format_number
from ..inference import (
    public_generator,
    share_intervals,
    simulate_cell_noise,
    simulate_sampling_errors,
    simultaneous_errors,
)
from ..inference.bands import join_intervals, simultaneous_mean_ends, upper_quantile, upper_quantiles
from ..inference.groups import GroupCounts, GroupNoise, chi_squared, expected_counts, independence_p_value
from ..inference.moments import KNOWN_PROBABILITY, clip_to_possible, known_counts, whole_ends
from ..summaries.kernels import count_pairs
from .histogram import JOINED_CELLS_NOTE, Histogram2D
from .pair_mean import SimulatedCounts, UStatistic
from .question import TableQuestion, build_privacy_statement, combine_categories, require_independent
from .result import NO_CATEGORY, IntervalResult, PlotArguments, notes_on_dependence, require_label_mappings
from .summary import COUNT, Summary, SummaryByCategory


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the tests of a two-way table."""

    least_occupied: float = 0.5
    """Records: a row or column with fewer counts as empty."""


TUNING = Tuning()
"""The number of records below which tests of a two-way table take a row or column as empty: see the field of
`Tuning`."""


@dataclass(frozen=True, eq=False, repr=False)
class Contingency(IntervalResult):
    """Counts of records with each pair of categories, and a test of independence of the two columns.

    If the number of records is public and an interval of level 0.95 contains all numbers up to it, a count is *not
    known*: NaN. So are shares of a row or a column whose records may be noise alone, that is whose count an empty row
    exceeds with probability 2.5 %; their intervals contain all possible values.

    Attributes:
        count: Records of each pair, not negative, and at most the number of records if that is public, of shape
            ``(rows, columns)``.
        unbiased_counts: The counts before negative values were set to zero.
        statistic: Pearson's chi-squared, with the variance of the noise added to the sampling variance in each cell.
        p_value: The probability that independent columns give at least this statistic. Noise and sampling are
            simulated, and records are treated as independent; a chi-squared distribution would mistake noise for
            dependence. Both are *not known*, NaN, if all but one row, or one column, may be noise alone.
        rows, columns: The declared categories.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts.

    Data frame: a row for each pair, with both categories under the names of their columns: see `ByCategory.to_frame`.
    """

    KIND = "contingency"
    SUPPRESSIBLE_COLUMNS = ("count", "row_share", "column_share")
    TITLE = "Records by {rows.column} and {columns.column}"
    COLUMN_WORDS = display.describe_columns(
        count=("records", display.CellFormat.COUNT),
        row_share=("share of the row", display.CellFormat.SHARE),
        column_share=("share of the column", display.CellFormat.SHARE),
    )
    MEASURED = "count"
    REPR_FACTS = "{rows.column} by {columns.column}, p-value {p_value:.2g}"
    SUMMARY = (("chi-squared", "{statistic!n}"), ("p-value, for the population", "{p_value:.2g}"))
    ARRAYS = ("count", "statistic", "p_value")
    JSON_SCHEMAS = MappingProxyType({"count": display.ROWS})

    count: FloatArray
    unbiased_counts: FloatArray
    statistic: float
    p_value: float
    rows: Categories
    columns: Categories
    privacy: PrivacyStatement
    evidence: Evidence

    @classmethod
    def from_counts(
        cls,
        evidence: Evidence,
        rows: Categories,
        columns: Categories,
        privacy: PrivacyStatement,
        *,
        generator: np.random.Generator | None = None,
    ) -> Contingency:
        """Return the table and the test of independence from released counts of all pairs.

        Args:
            evidence: Counts of all pairs of categories, a row for each row of the table, with the distribution of their
                noise.
            rows: Column and public categories of the rows.
            columns: Column and public categories of the columns.
            privacy: The privacy statement; notes on dependence are added to it.
            generator: Random numbers of the simulated noise; None: a fixed public seed.
        """
        rng = public_generator(generator)
        cells = evidence.unbiased_cells
        noise = _simulate_noise(evidence, rng)
        statistic = float(chi_squared(cells, noise.var(axis=0)))
        p_value = independence_p_value(cells, noise, rng)
        total_error = upper_quantile(np.abs(noise.sum(axis=(1, 2))), (1 + KNOWN_PROBABILITY) / 2)
        errors = _find_error_quantiles(noise, KNOWN_PROBABILITY)
        is_total_noise = float(cells.sum()) <= max(total_error, TUNING.least_occupied)
        is_noise = is_total_noise and errors.max() >= 1 and bool((cells.ravel() <= errors).all())
        statement = privacy.with_notes(*notes_on_dependence(privacy), *([NO_CATEGORY] if is_noise else []))
        deviations = noise.std(axis=0).ravel()
        count = known_counts(
            cells.ravel(), deviations, privacy.most_records, lambda: _find_error_quantiles(noise, KNOWN_PROBABILITY)
        )
        table = cls(count.reshape(cells.shape), cells, statistic, p_value, rows, columns, statement, evidence)
        # occupied rows, and columns, that a test of independence needs
        if min(int(table._is_occupied(axis).sum()) for axis in (0, 1)) < 2:
            return replace(table, statistic=nan, p_value=nan)
        return table

    @property
    def expected_count(self) -> FloatArray:
        """Expected records of each pair under independence, of shape ``(rows, columns)``."""
        return expected_counts(self.unbiased_counts)

    @property
    def row_shares(self) -> FloatArray:
        """The share of each pair in its row: shape ``(rows, columns)``; NaN if the row may be noise alone."""
        return self._compute_shares(1)

    @property
    def column_shares(self) -> FloatArray:
        """The share of each pair in its column, as in `row_shares`.

        Shape ``(rows, columns)``.
        """
        return self._compute_shares(0)

    def sum_over(self, *columns: str) -> Any:
        """Return the margin: counts of the other column's categories, or of all, with intervals. Costs no budget.

        They are sums of `unbiased_counts`; records outside the declared categories are in no margin.

        Args:
            columns: The name of the column to add up, or both names.

        Returns:
            A `SummaryByCategory`, or a `Summary` of all.

        Raises:
            ValueError: a name is neither column, or pairs were not counted one by one.

        Formal guarantees: post-processing; the noise of a sum is the sum of independent noises, see
            `by_category.sum_curves`.
        """
        return self.pairs.sum_over(*columns)

    @property
    def pairs(self) -> SummaryByCategory:
        """The counts by both columns, each with the distribution of its noise.

        A public number of all records, and the missing records, are not used: they hardly reduce the error of one pair.

        Raises:
            ValueError: pairs were not counted one by one.
        """
        columns = (self.rows.column, self.columns.column)
        keys = combine_categories((self.rows, self.columns))
        label = " and ".join(columns)
        privacy = replace(self.privacy, notes=())
        cell = Grid(0, 1, cells=1)
        counts = [
            Summary.from_counts((evidence,), cell, label, privacy, COUNT) for evidence in self.evidence.cell_evidence
        ]
        return SummaryByCategory(columns, dict(zip(keys, counts, strict=True)))

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return simultaneous intervals of all counts with confidence `level`, row by row: ``(pairs, 2)``.

        They are for the counts of these records, so their bounds are integers; with `population`, for the expected
        counts in a sample of this size, with the variance of noise and of sampling. That needs independent units of one
        record. No bound is negative, or above the number of records if that is public.

        Args:
            level: Probability that all intervals hold at once, between 0 and 1.
            population: Whether they are for the population, not for these records.
        """
        level = require_probability("level", level)
        if not population:
            return self._record_intervals(level)
        require_independent(self.privacy)
        counts = np.maximum(self.unbiased_counts, 0.0)
        rng = public_generator(None)
        size = max(float(counts.sum()), 1.0)
        noise = _simulate_noise(self.evidence, rng)
        errors = noise + simulate_sampling_errors(counts, round(size), len(noise), rng)
        lower, upper = simultaneous_mean_ends(self.unbiased_counts, noise.var(axis=0), [errors], counts, size, level)
        limits = clip_to_possible(np.stack([lower.ravel(), upper.ravel()], axis=1), self.privacy.most_records)
        return join_intervals(limits, self._record_intervals(level))

    def row_share_intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence limits of `row_shares`, each with confidence `level`: shape ``(rows, columns, 2)``.

        See `share_intervals`, which needs no distribution of a ratio of noisy numbers. A row that may be empty, with
        unknown shares, has limits 0 and 1.

        Args:
            level: Confidence level of each interval.
            population: If True, the intervals are for the population.
        """
        return self._share_intervals(level, 1, population=population)

    def column_share_intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence limits of `column_shares`, as in `row_share_intervals`.

        Args:
            level: Confidence level of each interval.
            population: If True, the intervals are for the population.
        """
        return self._share_intervals(level, 0, population=population)

    def _share_intervals(self, level: float, axis: int, *, population: bool) -> FloatArray:
        """Return confidence limits of the shares in rows or in columns, shape (rows, columns, 2).

        Args:
            level: Confidence level of each share.
            axis: 1: shares in rows. 0: shares in columns.
            population: If True, limits are for the population, else for these records.
        """
        require_independent(self.privacy, population)
        rng = public_generator(None)
        noise = _simulate_noise(self.evidence, rng)  # before sampling, from the same stream: both are independent
        other_noise = noise.sum(axis=axis + 1, keepdims=True) - noise
        other_counts = self.unbiased_counts.sum(axis=axis, keepdims=True) - self.unbiased_counts
        zeros = np.zeros(self.count.size)
        groups = GroupCounts(self.unbiased_counts.ravel(), other_counts.ravel(), zeros, zeros, zeros)
        shape = len(noise), self.count.size
        group_noise = GroupNoise(noise.reshape(shape), other_noise.reshape(shape), np.zeros(1))
        normal = rng.standard_normal(shape) if population else None
        limits = share_intervals(groups, group_noise, normal, require_probability("level", level)).reshape(
            *self.count.shape, 2
        )
        return np.where(self._is_occupied(axis)[..., None], limits, (0.0, 1.0))

    def _compute_shares(self, axis: int) -> FloatArray:
        """Return the share of each pair in its row (axis 1) or column (axis 0): (rows, columns); NaN if that may be
        noise alone.

        Args:
            axis: 1: shares in rows; 0: shares in columns.
        """
        counts = np.maximum(self.unbiased_counts, 0.0)
        total = np.maximum(counts.sum(axis=axis, keepdims=True), TUNING.least_occupied)
        return np.where(self._is_occupied(axis), counts / total, np.nan)

    def _is_occupied(self, axis: int) -> BoolArray:
        """Return which rows (axis 1) or columns (axis 0) have more records than noise makes of an empty one, in a
        shape that broadcasts to (rows, columns).

        Args:
            axis: 1: rows; 0: columns.
        """
        noise_quantiles = upper_quantiles(np.abs(self._noise.sum(axis=axis + 1)), (1 + KNOWN_PROBABILITY) / 2)
        return np.expand_dims(
            self.unbiased_counts.sum(axis=axis) > np.maximum(noise_quantiles, TUNING.least_occupied), axis
        )

    def _record_intervals(self, level: float) -> FloatArray:
        """Return simultaneous intervals of the counts of these records, integers, row by row: (pairs, 2).

        Args:
            level: Probability that all intervals hold at once, between 0 and 1.
        """
        return whole_ends(
            self.unbiased_counts.ravel(), _find_error_quantiles(self._noise, level), self.privacy.most_records
        )

    @cached_property
    def _noise(self) -> FloatArray:
        """Noise of the counts, simulated with a fixed public seed, (draws, rows, columns)."""
        return _simulate_noise(self.evidence, public_generator(None))

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the table of counts, shaded by their shares in rows, with the test as title; return the axes.

        Args:
            shades: Intervals, one row for each pair of categories; the table shows the half-width of the last. Empty:
                none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        names = [str(value) for value in self.rows.values], [str(value) for value in self.columns.values]
        title = self.test_description
        error = None
        if shades:
            lower, upper = (np.reshape(limit, self.count.shape) for limit in shades[-1][:2])
            error = np.maximum(self.count - lower, upper - self.count)
            title = f"{title}\n±: {shades[-1].label}"
        labels = self.rows.column, self.columns.column
        title = title if how["name"] is None else f"{how['name']}: {title}"
        return draw_contingency(
            self.count, self.row_shares, names, labels, how["privacy"], title=title, error=error, ax=how["ax"]
        )

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return two tables for reports: the counts as a cross table with sums, and all numbers with intervals, which
        pages show folded.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.
        """
        table = self.describe_table(level=level, population=population, suppress=suppress)
        counts = next(column.values for column in table.columns if column.name == "count")
        names = [str(value) for value in self.rows.values], [str(value) for value in self.columns.values]
        title = f"Records; columns: {display.format_label(self.columns.column)}"
        counts = counts.reshape(self.count.shape)
        label = self.columns.column
        cross_table = display.build_cross_table(title, self.rows.column, names, counts, column_label=label)
        return [cross_table, replace(table.select_rows(400), is_detail=True)]  # rows that a page shows

    @property
    def test_description(self) -> str:
        """The result of the test of independence, in one line of text."""
        if isnan(self.p_value):
            return "independence: not known, since all but one row or column may be noise alone"
        return (
            f"chi-squared {format_number(self.statistic)}, p-value of independence {self.p_value:.2g}, noise included"
        )

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Contingency:
        """Return the same table with other names of columns and categories, for display.

        Args:
            columns: New name of a column by its present name; columns without an entry keep their names.
            categories: By column, the new label of each category (as text) that gets one; None: labels stay.
        """

        require_label_mappings(columns, categories)

        def rename_categories(axis: Categories) -> Categories:
            """Return an axis with the new name of its column and the new labels of its categories; those without a new
            label keep theirs.

            Args:
                axis: Column with its categories.
            """
            labels = (categories or {}).get(axis.column, {})
            renamed = tuple(labels.get(str(value), value) for value in axis.values)
            return Categories(columns.get(axis.column, axis.column), renamed)

        return replace(self, rows=rename_categories(self.rows), columns=rename_categories(self.columns))

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame, one row for each pair: both categories, count, shares in row and
        column."""
        numbers = {
            "count": self.count.ravel(),
            "row_share": self.row_shares.ravel(), "column_share": self.column_shares.ravel(),
        }  # fmt: skip
        return display.join_columns(self.label_columns(), numbers)

    def label_columns(self) -> list[tuple[str, list[str]]]:
        """Return both columns, each with the category of every pair as text: see `display.join_columns`."""
        return [(column, list(map(str, values))) for column, values in self._category_columns()]

    def _category_columns(self) -> list[tuple[str, list[Category]]]:
        """Return both columns, each with the declared category of every pair.

        Returns:
            (column name, categories) pairs, the rows of the table first; the categories are listed row by row.
        """
        indices = np.indices(self.count.shape).reshape(2, -1).tolist()
        axes = zip((self.rows, self.columns), indices, strict=True)
        return [(axis.column, [axis.values[index] for index in axis_indices]) for axis, axis_indices in axes]

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Category]]:
        """Return, for each of these columns whose categories are numbers, the number of each category text.

        Args:
            columns: Names of the columns of the table.
        """
        return display.find_declared_numbers(self._category_columns(), columns)

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the table with `_from_json`: both columns with their categories."""
        axes = {"row_axis": self.rows, "column_axis": self.columns}
        return {name: {"column": axis.column, "categories": list(axis.values)} for name, axis in axes.items()}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Contingency:
        """Return the table from a parsed JSON document, computed again from its counts.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        stored_axes = (document.question[name] for name in ("row_axis", "column_axis"))
        rows, columns = (Categories(stored["column"], tuple(stored["categories"])) for stored in stored_axes)
        return cls.from_counts(document.releases[0], rows, columns, document.privacy)


@dataclass(frozen=True, slots=True)
class ContingencyQuestion(TableQuestion):
    """Counts of records with each pair of categories of two columns, and a test of independence. One round.

    Attributes:
        rows, columns: Two columns, with publicly declared categories. A record with any other value in one of them is
            missing.

    Raises:
        ValueError: both are the same column, one has fewer than 2 categories, or there are over 4096 pairs.
        TypeError: `rows` or `columns` is not a `Categories`.
    """

    rows: Categories
    columns: Categories

    def __post_init__(self) -> None:
        for name, axis in (("rows", self.rows), ("columns", self.columns)):
            require_type(name, axis, Categories, 'Categories, as in Categories("ward", ("a", "b")),')
            if axis.slots < 2:
                raise InvalidArgument(name, 'at least 2 categories are needed, as in Categories("ward", ("a", "b"))')
        if self.rows.column == self.columns.column:
            raise InvalidArgument("columns", "a column other than that of rows is needed: name another column")
        most_cells = 2**12  # pairs of categories
        if self.rows.slots * self.columns.slots > most_cells:
            raise InvalidArgument(
                "rows, columns", f"at most {most_cells} pairs of categories are allowed: declare fewer categories"
            )

    def steps(self, setting: Setting) -> Needs[Contingency]:
        """Ask for one noisy count per pair of categories; return the contingency table.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        counts = yield from ask_workload(CellWorkload((self.rows, self.columns)), WHOLE_BUDGET)
        return Contingency.from_counts(counts.counts, self.rows, self.columns, build_privacy_statement(counts.releases))

    def __str__(self) -> str:
        return f"table of {self.rows.column} by {self.columns.column}"


def _simulate_noise(evidence: Evidence, rng: np.random.Generator) -> FloatArray:
    """Return simulated noise of the counts, (draws, rows, columns).

    Args:
        evidence: Released counts with the distribution of their noise.
        rng: Random numbers of the simulation.
    """
    distribution = evidence.sums
    # 2,000 draws of small tables, 400 of large ones; 2**24 simulated numbers in all draws together take 128 MB
    return simulate_cell_noise(
        distribution, evidence.total, max(400, min(2000, 2**24 // (distribution.rows * distribution.cells))), rng
    )


def _find_error_quantiles(noise: FloatArray, level: float) -> FloatArray:
    """Return half-widths of simultaneous intervals of all pairs with confidence `level`, (pairs,).

    Args:
        noise: Simulated noise of the counts, (draws, rows, columns).
        level: Probability that all intervals hold at once, between 0 and 1.
    """
    return simultaneous_errors([noise.reshape(len(noise), -1)], level)


Tau = Callable[[FloatArray, FloatArray], FloatArray]
"""A coefficient from numbers of pairs, see `count_pairs`, and of people."""


def kendall_tau_a(table: Contingency | Histogram2D) -> UStatistic:
    """Return Kendall's tau-a: concordant minus discordant pairs, divided by the number of all pairs.

    A pair that is tied in either column counts as neither, but is among all pairs: with ties, the largest tau-a is
    below 1 (Kendall 1938; Bell et al. 2019 call ties discordant in the text, and give them 0 in equation 6, as here).

    Categories are ordered as declared. Values in one cell of a grid count as tied; `resolution` is the share of such
    pairs, whose order is unknown. (Declare a column with few values as categories.)

    Args:
        table: Counts of pairs of categories, or of cells of a plane that were counted one by one, by any trust model.

    Returns:
        The coefficient, between -1 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `table` is of another type.
        ValueError: several cells share one estimate, or values outside of a grid were counted apart.

    >>> import dpcurves as dp
    >>> stars = dp.Categories("service", (1, 2, 3)), dp.Categories("overall", (1, 2, 3))
    >>> ratings = {"service": [1, 2, 3, 3] * 500, "overall": [1, 2, 3, 2] * 500}
    >>> with dp.Session(ratings, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     table = session.ask(dp.ContingencyQuestion(*stars), dp.PrivacyLoss.pure(1))
    >>> abs(kendall_tau_a(table).value - 4 / 6 * 0.75) < 0.03
    True
    """
    return _PairCounts.from_table(table).estimate_tau(_compute_tau_a, _find_tau_a_resolution)


def kendall_tau_b(table: Contingency | Histogram2D) -> UStatistic:
    """Return Kendall's tau-b: concordant minus discordant pairs, over the root of untied pairs by rows times columns.

    If each cell holds one value it equals ``scipy.stats.kendalltau``. If all pairs are tied in a column it is 0. Errors
    as for `kendall_tau_a`.

    Args:
        table: Counts of pairs of categories, or of cells of a plane that were counted one by one.

    Returns:
        The coefficient, between -1 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    >>> import dpcurves as dp
    >>> stars = dp.Categories("service", (1, 2, 3)), dp.Categories("overall", (1, 2, 3))
    >>> ratings = {"service": [1, 2, 3, 3] * 500, "overall": [1, 2, 3, 2] * 500}
    >>> with dp.Session(ratings, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     table = session.ask(dp.ContingencyQuestion(*stars), dp.PrivacyLoss.pure(1))
    >>> abs(kendall_tau_b(table).value - 0.8) < 0.05
    True
    """
    return _PairCounts.from_table(table).estimate_tau(_compute_tau_b, _find_tau_b_resolution)


@dataclass(frozen=True, eq=False)
class _PairCounts(SimulatedCounts):
    """A table of counts, (rows, columns), and its noise.

    Attributes:
        is_declared: Whether cells are declared values: categories.
    """

    is_declared: bool

    @classmethod
    def from_table(cls, table: Contingency | Histogram2D) -> _PairCounts:
        """Return the counts of a two-way table, for statistics of pairs.

        Args:
            table: Released two-way table, or histogram in the plane.

        Raises:
            WrongArgumentType: the result is no two-way table.
            InvalidArgument: cells share estimates, or outside values were counted apart.
        """
        if isinstance(table, Contingency):
            return cls(table.unbiased_counts, table.evidence, table.privacy, table.notes, True)
        if not isinstance(table, Histogram2D):
            raise WrongArgumentType(
                "table",
                f"a Contingency or a Histogram2D is needed, as dp.contingency gives one, got {type(table).__name__}",
            )
        evidence = table.evidence[-1]
        if len(table.evidence) > 1 or JOINED_CELLS_NOTE in table.notes:
            raise InvalidArgument(
                "table", "the cells were estimated together; count each, with Histogram2DQuestion(..., CellEstimator())"
            )
        counts = evidence.unbiased_cells
        if counts.size != table.count.size:
            raise InvalidArgument(
                "table",
                "values outside were counted apart, so their order is unknown; ask on a grid with outside='clipped'",
            )
        return cls(counts.reshape(table.count.shape), evidence, table.privacy, table.notes, False)

    def estimate_tau(self, tau: Tau, resolution: Callable[[FloatArray, float, float], float]) -> UStatistic:
        """Return the coefficient `tau` as a statistic with interval, with the mean effect of noise subtracted from each
        number of pairs.

        Args:
            tau: The coefficient, from numbers of pairs and of people.
            resolution: Its largest change by ties inside cells, from numbers of pairs, all pairs, and pairs untied in
                both columns.
        """
        likely_pairs = count_pairs(self.likely_counts)
        bias = count_pairs(self.likely_counts + self.noise).mean(axis=0) - likely_pairs
        people = float(self.counts.sum())
        estimate = float(tau(count_pairs(self.counts) - bias, np.asarray(people)))
        centre = float(tau(likely_pairs, np.asarray(self.likely_counts.sum())))

        def compute_interval(level: float, population: bool) -> tuple[float, float]:
            """Return the symmetric interval of the coefficient at `level`.

            Args:
                level: Confidence level, between 0 and 1.
                population: If True, the interval is for the population.
            """
            counts = self.simulate_counts(population)
            draws = tau(count_pairs(counts) - bias, counts.sum(axis=(-2, -1)))
            # Noise skews a ratio, and a ratio at a bound does not show its error on the other side, so the larger
            # error is used for both sides. An interval around `centre` would also have the error of clipped counts.
            radius = max(upper_quantile(sign * (draws - centre), (1 + level) / 2) for sign in (-1, 1))
            return estimate - max(radius, 0.0), estimate + max(radius, 0.0)

        tied_share = 0.0
        if not self.is_declared:
            all_pairs = _count_all_pairs(float(self.likely_counts.sum()))
            tied_share = resolution(likely_pairs, all_pairs, self._count_pairs_untied_in_both)
        return UStatistic(
            value=estimate,
            resolution=tied_share,
            interval_function=compute_interval,
            privacy=self.privacy,
            notes=self.notes,
            minimum=-1.0,
            maximum=1.0,
        )

    @property
    def _count_pairs_untied_in_both(self) -> float:
        """The approximate number of pairs of people in different rows and in different columns."""
        counts = self.likely_counts
        tied_pairs = sum(float((counts.sum(axis=axis) ** 2).sum()) for axis in (0, 1)) - float((counts**2).sum())
        return max((float(counts.sum()) ** 2 - tied_pairs) / 2, 0.0)


def _count_all_pairs(people: float) -> float:
    """Return the number of pairs among `people` people; fewer than two count as two."""
    people = max(people, 2.0)
    return people * (people - 1) / 2


def _compute_tau_a(pairs: FloatArray, people: FloatArray) -> FloatArray:
    """Return tau-a, (...), from numbers of pairs (..., 3) and of people (...).

    Args:
        pairs: Numbers of pairs by kind, (..., 3); the first is concordant minus discordant pairs.
        people: Number of records, (...); fewer than 2 count as 2.

    Returns:
        Tau-a, in [-1, 1].
    """
    at_least_two = np.maximum(people, 2.0)
    return np.asarray(np.clip(2 * pairs[..., 0] / (at_least_two * (at_least_two - 1)), -1.0, 1.0))


def _compute_tau_b(pairs: FloatArray, people: FloatArray) -> FloatArray:
    """Return Kendall's tau-b, (...), from numbers of pairs and of people.

    Args:
        pairs: Numbers of pairs, (..., 3): concordant minus discordant, untied in rows, untied in columns. At least as
            many count as untied as if one person differed from all others.
        people: Number of records, (...).
    """
    rows, columns = (np.maximum(pairs[..., side], np.maximum(people - 1, 1.0)) for side in (1, 2))
    return np.asarray(np.clip(pairs[..., 0] / np.sqrt(rows * columns), -1.0, 1.0))


def _find_tau_a_resolution(pairs: FloatArray, all_pairs: float, untied: float) -> float:
    """Return the largest change of tau-a by ties: the share of tied pairs, each of which may be concordant or
    discordant.

    Args:
        pairs: Not used; every resolution takes it.
        all_pairs: Number of all pairs of records, above 0.
        untied: Number of pairs that are tied in neither column.

    Returns:
        The change, from 0 to 2.
    """
    return min(max(all_pairs - untied, 0.0) / all_pairs, 2.0)


def _find_tau_b_resolution(pairs: FloatArray, all_pairs: float, untied: float) -> float:
    """Return the largest change of tau-b by ties: tied over untied pairs, or twice their share of all pairs.

    Values have at least as many untied pairs as cells. With T tied pairs and D of all N untied, a ratio S / D becomes
    one between (S - T) / N and (S + T) / D, and ``N - D <= T``.

    Args:
        pairs: Numbers of pairs, (3,): concordant minus discordant, untied in rows, untied in columns.
        all_pairs: Number of all pairs of records.
        untied: Number of pairs that are tied in neither column.
    """
    tied = max(all_pairs - untied, 0.0)
    untied_root = max(float(np.sqrt(max(pairs[1], 0.0) * max(pairs[2], 0.0))), 1.0)
    return min(max(tied / untied_root, 2 * tied / all_pairs), 2.0)
