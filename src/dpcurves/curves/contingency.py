"""Counts of pairs of declared categories, a test of independence, and Kendall's rank correlation."""

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
from ..conversation import ALL, CellWorkload, Evidence, Needs, PrivacyStatement, Setting, ask_workload
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
from ..inference.moments import KNOWN, clip_to_possible, known_counts, whole_ends
from ..summaries.kernels import count_pairs
from .histogram import JOINED, Histogram2D
from .pair_mean import SimulatedCounts, UStatistic
from .question import build_privacy_statement, combine_categories, require_independent
from .result import IntervalResult, PlotArguments, notes_on_dependence
from .summary import COUNT, Summary, SummaryByCategory

MOST_CELLS = 2**12
DRAWS, AT_ONCE = 2000, 2**24
LEAST = 0.5
"""Records: fewer are none."""
LEAST_SIDE = 2
"""Rows, and columns, that are not empty: of fewer nothing can depend on anything."""


@dataclass(frozen=True, eq=False, repr=False)
class Contingency(IntervalResult):
    """Counts of records with each pair of categories, and a test of independence of the two columns.

    Where the number of records is public and an interval of level 0.95 holds all numbers up to it, a count is *not
    known*: NaN. So are shares of a row or a column whose records noise alone may have made, which it does of no record
    with a chance of 2.5% at most; their intervals contain all that is possible.

    Attributes:
        count: Records of each pair, never below zero, nor above the number of records where that is public, of shape
            ``(rows, columns)``.
        unbiased_counts: The counts before negative values were set to zero.
        statistic: Pearson's chi-squared, with the variance of the noise added to that of sampling in each cell.
        p_value: The probability that independent columns give at least this statistic. Noise and sampling are
            simulated, and records are taken as independent; a chi-squared distribution would take noise for dependence.
            Both are *not known*, NaN, where noise alone may have made all but one row, or one column.
        rows, columns: The declared categories.
        privacy: The privacy statement, which every picture shows.
        evidence: What all this was read from.

    Data frame: a row for each pair, with both categories under the names of their columns: see `ByCategory.to_frame`.
    """

    KIND = "contingency"
    SUPPRESSIBLE_COLUMNS = ("count", "row_share", "column_share")
    TITLE = "{rows.column} by {columns.column}"
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
        """From counts of all pairs."""
        draw = public_generator(generator)
        cells = evidence.unbiased_cells
        noise = _simulate_noise(evidence, draw)
        statistic = float(chi_squared(cells, noise.var(axis=0)))
        p_value = independence_p_value(cells, noise, draw)
        noted = privacy.with_notes(*notes_on_dependence(privacy))
        spread = noise.std(axis=0).ravel()
        count = known_counts(cells.ravel(), spread, privacy.most_records, lambda: _find_error_quantiles(noise, KNOWN))
        table = cls(count.reshape(cells.shape), cells, statistic, p_value, rows, columns, noted, evidence)
        if min(int(table._is_occupied(axis).sum()) for axis in (0, 1)) < LEAST_SIDE:
            return replace(table, statistic=nan, p_value=nan)
        return table

    @property
    def expected_count(self) -> FloatArray:
        """Records of each pair if the columns were independent, of shape ``(rows, columns)``."""
        return expected_counts(self.unbiased_counts)

    @property
    def row_shares(self) -> FloatArray:
        """The share of each pair in its row: shape ``(rows, columns)``; NaN where noise alone may have made the row."""
        return self._compute_shares(1)

    @property
    def column_shares(self) -> FloatArray:
        """The share of each pair in its column, as in `row_shares`."""
        return self._compute_shares(0)

    def sum_over(self, *columns: str) -> Any:
        """The margin: counts of the other column's categories, or of all, with intervals. Spends nothing.

        They are sums of `unbiased_counts`; records of no declared category of this column are in none.

        Args:
            columns: The name of the column whose categories are added up, or both.

        Returns:
            A `SummaryByCategory`, or a `Summary` of all.

        Raises:
            ValueError: it is neither column, or pairs were not counted one by one.

        Formal guarantees: post-processing; the noise of a sum is the sum of independent noises, see `margins.added`.
        """
        return self.pairs.sum_over(*columns)

    @property
    def pairs(self) -> SummaryByCategory:
        """The counts by both columns, each on its own, with the law of its own noise.

        A public number of all records, and the missing ones, are not used: they tell next to nothing of one pair.

        Raises:
            ValueError: pairs were not counted one by one.
        """
        columns, keys = (self.rows.column, self.columns.column), combine_categories((self.rows, self.columns))
        label, privacy, cell = " and ".join(columns), replace(self.privacy, notes=()), Grid(0, 1, cells=1)
        counts = [Summary.from_counts((each,), cell, label, privacy, COUNT) for each in self.evidence.cell_evidence]
        return SummaryByCategory(columns, dict(zip(keys, counts, strict=True)))

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Lower and upper ends of all counts, row by row, all correct at once with chance `level`: ``(pairs, 2)``.

        They are for the counts of these records, so their ends are whole numbers; with `population`, for the expected
        counts in a sample of this size, with the variance of noise and of sampling: see `simultaneous_mean_ends`. That needs
        independent units of one record. No end is below zero, or above the number of records where that is public.
        """
        level = require_probability("level", level)
        if not population:
            return self._record_intervals(level)
        require_independent(self.privacy)
        likely = np.maximum(self.unbiased_counts, 0.0)
        draw, size = public_generator(None), max(float(likely.sum()), 1.0)
        noise = _simulate_noise(self.evidence, draw)
        errors = noise + simulate_sampling_errors(likely, round(size), len(noise), draw)
        lower, upper = simultaneous_mean_ends(self.unbiased_counts, noise.var(axis=0), [errors], likely, size, level)
        found = clip_to_possible(np.stack([lower.ravel(), upper.ravel()], axis=1), self.privacy.most_records)
        return join_intervals(found, self._record_intervals(level))

    def row_share_intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Confidence limits of `row_shares`, each on its own with probability `level`: shape ``(rows, columns, 2)``.

        See `share_intervals`, which needs no distribution of a ratio of noisy numbers. A row that may be empty, as one
        whose shares are not known, has 0 to 1.
        """
        return self._share_intervals(level, 1, population=population)

    def column_share_intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Confidence limits of `column_shares`, as in `row_share_intervals`."""
        return self._share_intervals(level, 0, population=population)

    def _share_intervals(self, level: float, axis: int, *, population: bool) -> FloatArray:
        require_independent(self.privacy, population)
        draw = public_generator(None)
        noise = _simulate_noise(
            self.evidence, draw
        )  # before sampling, of the same stream: one does not depend on the other
        rest = noise.sum(axis=axis + 1, keepdims=True) - noise
        others = self.unbiased_counts.sum(axis=axis, keepdims=True) - self.unbiased_counts
        none = np.zeros(self.count.size)
        groups = GroupCounts(self.unbiased_counts.ravel(), others.ravel(), none, none, none)
        many = len(noise), self.count.size
        moved = GroupNoise(noise.reshape(many), rest.reshape(many), np.zeros(1))
        normal = draw.standard_normal(many) if population else None
        ends = share_intervals(groups, moved, normal, require_probability("level", level)).reshape(*self.count.shape, 2)
        return np.where(self._is_occupied(axis)[..., None], ends, (0.0, 1.0))

    def _compute_shares(self, axis: int) -> FloatArray:
        likely = np.maximum(self.unbiased_counts, 0.0)
        total = np.maximum(likely.sum(axis=axis, keepdims=True), LEAST)
        return np.where(self._is_occupied(axis), likely / total, np.nan)

    def _is_occupied(self, axis: int) -> BoolArray:
        """A mask of the rows (1) or columns (0) that have more records than noise makes out of none."""
        moved = upper_quantiles(np.abs(self._noise.sum(axis=axis + 1)), (1 + KNOWN) / 2)
        return np.expand_dims(self.unbiased_counts.sum(axis=axis) > np.maximum(moved, LEAST), axis)

    def _record_intervals(self, level: float) -> FloatArray:
        return whole_ends(
            self.unbiased_counts.ravel(), _find_error_quantiles(self._noise, level), self.privacy.most_records
        )

    @cached_property
    def _noise(self) -> FloatArray:
        return _simulate_noise(self.evidence, public_generator(None))

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        names = [str(each) for each in self.rows.values], [str(each) for each in self.columns.values]
        title, error = self.test_description, None
        if shades:
            low, high = (np.reshape(end, self.count.shape) for end in shades[-1][:2])
            error, title = np.maximum(self.count - low, high - self.count), f"{title}\n±: {shades[-1].label}"
        labels = self.rows.column, self.columns.column
        title = title if how["name"] is None else f"{how['name']}: {title}"
        return draw_contingency(
            self.count, self.row_shares, names, labels, how["privacy"], title=title, error=error, ax=how["ax"]
        )

    @property
    def test_description(self) -> str:
        """The result of the test, in words."""
        if isnan(self.p_value):
            return "independence: not known, for noise alone may have made all but one row or column"
        return (
            f"chi-squared {format_number(self.statistic)}, p-value of independence {self.p_value:.2g}, noise included"
        )

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Contingency:
        def rename_categories(axis: Categories) -> Categories:
            words = (categories or {}).get(axis.column, {})
            named = tuple(words.get(str(value), value) for value in axis.values)
            return Categories(columns.get(axis.column, axis.column), named)

        return replace(self, rows=rename_categories(self.rows), columns=rename_categories(self.columns))

    def _columns(self) -> dict[str, Any]:
        numbers = {
            "count": self.count.ravel(),
            "row_share": self.row_shares.ravel(), "column_share": self.column_shares.ravel(),
        }  # fmt: skip
        return display.join_columns(self.label_columns(), numbers)

    def label_columns(self) -> list[tuple[str, list[str]]]:
        """Both columns, each with the category of every pair: see `display.join_columns`."""
        return [(column, list(map(str, values))) for column, values in self._category_columns()]

    def _category_columns(self) -> list[tuple[str, list[Category]]]:
        """Both columns, each with the category of every pair as it was declared."""
        places = np.indices(self.count.shape).reshape(2, -1).tolist()
        axes = zip((self.rows, self.columns), places, strict=True)
        return [(axis.column, [axis.values[place] for place in at]) for axis, at in axes]

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Category]]:
        return display.find_declared_numbers(self._category_columns(), columns)

    def _question(self) -> dict[str, object]:
        parts = {"row_axis": self.rows, "column_axis": self.columns}
        return {name: {"column": each.column, "categories": list(each.values)} for name, each in parts.items()}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Contingency:
        parts = (document.question[name] for name in ("row_axis", "column_axis"))
        rows, columns = (Categories(part["column"], tuple(part["categories"])) for part in parts)
        return cls.from_counts(document.releases[0], rows, columns, document.privacy)


@dataclass(frozen=True, slots=True)
class ContingencyQuestion:
    """Counts of records with each pair of categories of two columns, and a test of independence. One turn.

    Attributes:
        rows, columns: Two columns, with the categories that were declared in public. A record with any other value in
            one of them is missing.

    Raises:
        ValueError: both are one column, there are fewer than 2 categories in one, or over 4096 pairs.
        TypeError: one of them is no `Categories`.
    """

    rows: Categories
    columns: Categories

    def __post_init__(self) -> None:
        for name, each in (("rows", self.rows), ("columns", self.columns)):
            require_type(name, each, Categories, 'Categories, as in Categories("ward", ("a", "b")),')
            if each.slots < 2:
                raise InvalidArgument(name, "at least 2 categories are needed")
        if self.rows.column == self.columns.column:
            raise InvalidArgument("columns", "another column than that of the rows is needed")
        if self.rows.slots * self.columns.slots > MOST_CELLS:
            raise InvalidArgument("rows, columns", f"at most {MOST_CELLS} pairs of categories are counted")

    def steps(self, setting: Setting) -> Needs[Contingency]:
        """Ask for one table of counts."""
        found = yield from ask_workload(CellWorkload((self.rows, self.columns)), ALL)
        return Contingency.from_counts(found.counts, self.rows, self.columns, build_privacy_statement(found.releases))

    def __str__(self) -> str:
        return f"table of {self.rows.column} by {self.columns.column}"


def _simulate_noise(evidence: Evidence, draw: np.random.Generator) -> FloatArray:
    law = evidence.sums
    return simulate_cell_noise(law, evidence.total, max(400, min(DRAWS, AT_ONCE // (law.rows * law.cells))), draw)


def _find_error_quantiles(noise: FloatArray, level: float) -> FloatArray:
    return simultaneous_errors([noise.reshape(len(noise), -1)], level)


Tau = Callable[[FloatArray, FloatArray], FloatArray]
"""From numbers of pairs, see `count_pairs`, and of people."""


def kendall_tau_a(table: Contingency | Histogram2D) -> UStatistic:
    """Kendall's tau-a: concordant minus discordant pairs, divided by the number of all pairs.

    A pair that is tied in either column counts as neither, but is among all pairs: where there are ties, the largest
    tau-a is below 1 (Kendall 1938; Bell et al. 2019 call ties discordant in words, and give them 0 in equation 6: so
    does this).

    Categories are ordered as they were declared. Values in one cell of a grid count as tied; `resolution` is the share
    of such pairs, whose order is not known. (A column with few values is better declared as categories.)

    Args:
        table: Counts of pairs of categories, or of cells of a plane that were counted one by one, by any trust model.

    Returns:
        The coefficient, between -1 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `table` is something else.
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
    """Kendall's tau-b: concordant minus discordant pairs, over the root of untied pairs in rows times those in columns.

    Where each cell holds one value it equals ``scipy.stats.kendalltau``. Where all pairs are tied in a column it is 0.
    Arguments and errors as of `kendall_tau_a`.

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
        is_declared: Whether cells are the values themselves: categories.
    """

    is_declared: bool

    @classmethod
    def from_table(cls, table: Contingency | Histogram2D) -> _PairCounts:
        if isinstance(table, Contingency):
            return cls(table.unbiased_counts, table.evidence, table.privacy, table.notes, True)
        if not isinstance(table, Histogram2D):
            raise WrongArgumentType("table", f"a Contingency or a Histogram2D is needed, got {type(table).__name__}")
        evidence = table.evidence[-1]
        if len(table.evidence) > 1 or JOINED in table.notes:
            raise InvalidArgument(
                "table", "cells share estimates; count each, with Histogram2DQuestion(..., CellEstimator())"
            )
        counts = evidence.unbiased_cells
        if counts.size != table.count.size:
            raise InvalidArgument("table", "values outside were counted apart, and which is larger is not known")
        return cls(counts.reshape(table.count.shape), evidence, table.privacy, table.notes, False)

    def estimate_tau(self, tau: Tau, resolution: Callable[[FloatArray, float, float], float]) -> UStatistic:
        """A ratio of numbers of pairs, each without what noise adds to it on average."""
        about = count_pairs(self.likely_counts)
        bias = count_pairs(self.likely_counts + self.noise).mean(axis=0) - about
        people = float(self.counts.sum())
        found = float(tau(count_pairs(self.counts) - bias, np.asarray(people)))
        centre = float(tau(about, np.asarray(self.likely_counts.sum())))

        def compute_interval(level: float, population: bool) -> tuple[float, float]:
            drawn = self.simulate_counts(population)
            moved = tau(count_pairs(drawn) - bias, drawn.sum(axis=(-2, -1)))
            # Noise skews a ratio, and one that stands at an end does not tell how far it is off on the other side: so
            # the larger of both sides. Ends about `centre` would have the error of keeping counts above zero, too.
            reach = max(upper_quantile(sign * (moved - centre), (1 + level) / 2) for sign in (-1, 1))
            return found - max(reach, 0.0), found + max(reach, 0.0)

        tied = (
            0.0
            if self.is_declared
            else resolution(about, _count_all_pairs(float(self.likely_counts.sum())), self._count_pairs_untied_in_both)
        )
        return UStatistic(found, tied, compute_interval, self.privacy, self.notes, -1.0, 1.0)

    @property
    def _count_pairs_untied_in_both(self) -> float:
        """About how many pairs are in different rows and in different columns."""
        counts = self.likely_counts
        within = sum(float((counts.sum(axis=axis) ** 2).sum()) for axis in (0, 1)) - float((counts**2).sum())
        return max((float(counts.sum()) ** 2 - within) / 2, 0.0)


def _count_all_pairs(people: float) -> float:
    people = max(people, 2.0)
    return people * (people - 1) / 2


def _compute_tau_a(pairs: FloatArray, people: FloatArray) -> FloatArray:
    enough = np.maximum(people, 2.0)
    return np.asarray(np.clip(2 * pairs[..., 0] / (enough * (enough - 1)), -1.0, 1.0))


def _compute_tau_b(pairs: FloatArray, people: FloatArray) -> FloatArray:
    """The least number of pairs that are apart is that of one person who is apart from all others."""
    rows, columns = (np.maximum(pairs[..., side], np.maximum(people - 1, 1.0)) for side in (1, 2))
    return np.asarray(np.clip(pairs[..., 0] / np.sqrt(rows * columns), -1.0, 1.0))


def _find_tau_a_resolution(pairs: FloatArray, everyone: float, apart: float) -> float:
    """The share of pairs that are tied: each may be concordant or discordant."""
    return min(max(everyone - apart, 0.0) / everyone, 2.0)


def _find_tau_b_resolution(pairs: FloatArray, everyone: float, apart: float) -> float:
    """Tied pairs move the ratio by at most their number over that of pairs apart, or twice their share of all.

    Values have as many pairs apart as cells, or more. With T tied pairs and D of all N apart, a ratio S / D becomes one
    between (S - T) / N and (S + T) / D, and ``N - D <= T``.
    """
    tied = max(everyone - apart, 0.0)
    least = max(float(np.sqrt(max(pairs[1], 0.0) * max(pairs[2], 0.0))), 1.0)
    return min(max(tied / least, 2 * tied / everyone), 2.0)
