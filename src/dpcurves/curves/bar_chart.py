"""Bar charts: counts and shares of records by category of one column.

Categories are disjoint, and values of no declared category form another one (``other``), so all counts are one noisy
histogram:

    count_i = n_i + z_i      share_i = count_i / sum_j count_j

Unlisted categories are first found by partition selection (`mechanisms.partition_selection`). *Intervals* of counts
hold for all categories at the same time; intervals of shares hold one by one and invert a test on
``(1 - s) * count_i - s * (all others)``, because a ratio of noisy numbers has no simple distribution.

Suppression (`BarChart.suppress_below`) hides released counts that are mostly noise; it adds no protection.

Formal guarantees: adding or removing a record changes one count by 1, replacing one changes two: the granted loss.

>>> import dpcurves as dp
>>> wards = dp.bar_chart(["a", "b", "b", "c"] * 500, categories=("a", "b"), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> dict(zip(wards.category, wards.share.round(2).tolist(), strict=True))
{'a': 0.25, 'b': 0.5, 'other': 0.25}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import InvalidArgument, describe_value, require_number, require_probability, require_type
from ..arrays import BoolArray, FloatArray
from ..conversation import WHOLE_BUDGET, CellWorkload, Evidence, Needs, PrivacyStatement, Setting, ask_workload
from ..conversation.notes import add_advice
from ..data import Categories, Category, ListedCategories, SelectedCategories, UnlistedCategories
from ..display import TEXTS, draw_category_bars, format_number
from ..inference import (
    public_generator,
    share_intervals,
    simulate_sampling_errors,
    simultaneous_errors,
    simultaneous_mean_ends,
)
from ..inference.bands import join_intervals, upper_quantile
from ..inference.groups import GroupCounts, GroupNoise
from ..inference.moments import KNOWN_PROBABILITY, clip_to_possible, known_counts, whole_ends
from ..inference.simulation import sampling_generator
from ..inference.two_samples import ReleasedSample
from ..summaries.two_classes import project_to_simplex
from .question import CATEGORIES_EXAMPLE, TableQuestion, build_privacy_statement, require_independent
from .result import NO_CATEGORY, SUMMARY_LEVEL, TUNING, IntervalResult, PlotArguments
from .summary import format_with_intervals

LISTED = "listed"
"""Order of bars: as the categories were listed."""
BY_COUNT = "count"
"""Order of bars: the largest released count first."""
BY_NAME = "name"
"""Order of bars: by name, numbers by size."""
ORDERS = LISTED, BY_COUNT, BY_NAME
"""All orders of bars. Another word is refused."""
MOST_CATEGORIES = 2**12
"""Largest number of categories of a bar chart; more are refused. Simulating the noise of so many takes 64 MB."""
NEARLY_ALL_OTHER = add_advice(
    "about {share:.0%} of the records with a value, by released counts, are in none of the listed categories",
    "compare the spelling of the categories with that of the data",
)
"""Note if nearly all records with a value are in no listed category, which is most often a matter of spelling."""


class CountNoise(NamedTuple):
    """Simulated noise of released counts.

    Attributes:
        cells: Noise of each category, (draws, categories).
        missing: Noise of the number of missing records, (draws,).
    """

    cells: FloatArray
    missing: FloatArray

    @classmethod
    def simulate(cls, evidence: Evidence, generator: np.random.Generator) -> CountNoise:
        """Return the simulated noise of the counts of one row of categories, and of missing records.

        Args:
            evidence: Released counts with their noise distribution.
            generator: Random numbers of the simulation.
        """
        distribution = evidence.sums
        # 2,000 draws of short charts, 400 of long ones; 2**24 simulated numbers take 128 MB
        draws = max(400, min(2000, 2**24 // distribution.cells))
        cells, missing = zip(*distribution.simulate(evidence.total, draws, generator), strict=True)
        return cls(np.concatenate(cells)[:, 0], np.concatenate(missing))


@dataclass(frozen=True, eq=False, repr=False)
class BarChart(IntervalResult):
    """Counts of records by category of one column, and their shares, as horizontal bars.

    If the number of records is public and an interval of level 0.95 contains all numbers up to it, a count is *not
    known*: NaN. So are all shares if noise alone may have made the number of records with a value; an empty table does
    so with probability 2.5 %.

    Attributes:
        categories: The categories in the order of the release.
        missing: Unbiased number of records without a value. If other values have no category, they are among them; and
            so are records that fail a filter, if the number of records is public.
        has_other: Whether the last category has all values that are in no other category.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts.
        order: The order of the bars: ``listed``, ``count`` or ``name``; see `sort_by`.
        suppressed_below: Released counts below this number are left out of tables and pictures: see `suppress_below`.

    Data frame: a column with the name of the counted column, ``count`` and ``share``; with a level, ``lower`` and
    ``upper`` of counts, and ``share_lower`` and ``share_upper``.
    """

    KIND = "bar-chart"
    SUPPRESSIBLE_COLUMNS = ("count", "share")
    INTERVAL_COLUMNS = ("lower", "upper", "share_lower", "share_upper")
    TITLE = "Records by {categories.column}"
    COLUMN_WORDS = display.describe_columns(
        count=("records", display.CellFormat.COUNT), share=("share of records", display.CellFormat.SHARE)
    )
    MEASURED = "count"
    REPR_FACTS = "{categories.column}, {categories.slots} categories"
    ARRAYS = ("category", "count", "share", "missing")
    JSON_SCHEMAS = MappingProxyType({"category": TEXTS})

    categories: Categories
    missing: float
    has_other: bool
    privacy: PrivacyStatement
    evidence: Evidence
    order: str = LISTED
    suppressed_below: float = 0.0

    @classmethod
    def from_counts(cls, evidence: Evidence, categories: Categories, privacy: PrivacyStatement) -> BarChart:
        """Return the chart of released counts of these categories, in their order.

        The last one has all other values if they are `ListedCategories` or `SelectedCategories`. A note says if nearly
        all records are there, or if noise alone may give all counts and their sum.

        Args:
            evidence: The counts, one row of all categories and missing values, with the distribution of their noise.
            categories: Column and public categories whose cells were counted.
            privacy: The privacy statement, stored with the result.
        """
        _, missing = evidence.sums.reconstruct(np.array(evidence.values, dtype=np.float64), evidence.total)
        has_other = isinstance(categories, SelectedCategories)
        plain = Categories(categories.column, categories.values)
        chart = cls(plain, float(missing), has_other, privacy, evidence)
        counts = np.maximum(chart.unbiased_counts, 0.0)
        is_other = isinstance(categories, ListedCategories) and counts[-1] >= TUNING.nearly_all * counts.sum()
        errors = simultaneous_errors([chart._noise.cells], KNOWN_PROBABILITY)
        if not chart._has_values and errors.max() >= 1 and (chart.unbiased_counts <= errors).all():
            return replace(chart, privacy=privacy.with_notes(NO_CATEGORY))
        if not is_other or not chart._has_values:
            return chart
        note = NEARLY_ALL_OTHER.format(share=float(counts[-1] / counts.sum()))
        return replace(chart, privacy=privacy.with_notes(note))

    @property
    def values(self) -> tuple[Category, ...]:
        """The public categories, in the order of the bars."""
        return tuple(self.categories.values[place] for place in self._places)

    @property
    def category(self) -> list[str]:
        """The categories in the order of the bars, as text."""
        return list(map(str, self.values))

    @property
    def unbiased_counts(self) -> FloatArray:
        """The counts before negative values were set to zero, (categories,)."""
        counts: FloatArray = self.evidence.unbiased_cells[0]
        return counts[self._places]

    @property
    def count(self) -> FloatArray:
        """Records of each category, (categories,): not negative, and at most the number of records if that is public.

        NaN if not known, or if suppressed.
        """
        noise = self._noise.cells
        total = self.privacy.most_records
        errors = noise.std(axis=0)
        counts = known_counts(
            self.unbiased_counts, errors, total, lambda: simultaneous_errors([noise], KNOWN_PROBABILITY)
        )
        return np.where(self.is_suppressed, np.nan, counts)

    @property
    def share(self) -> FloatArray:
        """Share of each category in the records of all categories of the chart, (categories,); NaN if not known, or if
        suppressed."""
        counts = np.maximum(self.unbiased_counts, 0.0)
        shares = counts / max(float(counts.sum()), 1.0)
        return np.where(self.is_suppressed | (not self._has_values), np.nan, shares)

    @property
    def total(self) -> float:
        """Number of records in all categories of the chart: not negative, and at most a public number of records."""
        return float(clip_to_possible(self.unbiased_counts.sum(), self.privacy.most_records))

    @property
    def is_suppressed(self) -> BoolArray:
        """True for categories whose released count is below `suppressed_below`, (categories,)."""
        return np.maximum(self.unbiased_counts, 0.0) < self.suppressed_below

    def sort_by(self, order: str) -> BarChart:
        """Return the chart in another order of the bars: ``"count"``, ``"name"`` or ``"listed"``. Costs no budget.

        By count, the largest released count is first; noise may swap categories whose intervals overlap. Numbers are
        sorted as numbers, everything else as text. The category of other values stays last.

        Args:
            order: ``"count"``: largest count first; ``"name"``; or ``"listed"``, as declared.

        Raises:
            ValueError: the order is not one of these.

        >>> import dpcurves as dp
        >>> wards = dp.bar_chart(["b", "a", "b"] * 300, categories=("a", "b"), epsilon=1, adjacency=dp.ADD_REMOVE)
        >>> wards.sort_by("count").category
        ['b', 'a', 'other']
        """
        if order not in ORDERS:
            raise InvalidArgument("order", f"must be one of {', '.join(ORDERS)}, got {describe_value(order)}")
        return replace(self, order=order)

    def suppress_below(self, least_count: float) -> BarChart:
        """Return the chart without the counts, shares and intervals of categories whose released count is below
        `least_count`.

        Tables show ``..`` there, and pictures no bar. The rule reads released counts alone. It adds no protection, and
        JSON keeps the released counts: it spares readers numbers that are mostly noise.

        Raises:
            TypeError: `least_count` is no number.
            ValueError: `least_count` is negative.

        >>> import dpcurves as dp
        >>> wards = dp.bar_chart(["a"] * 900, categories=("a", "b"), epsilon=1, adjacency=dp.ADD_REMOVE)
        >>> wards.suppress_below(100).is_suppressed.tolist()
        [False, True, True]
        """
        least = require_number("least_count", least_count)
        if least < 0:
            raise InvalidArgument("least_count", f"must be a number from 0 on, as in 10, got {least:g}")
        return replace(self, suppressed_below=least)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return simultaneous intervals of all counts with confidence `level`: shape ``(categories, 2)``.

        They are for the counts of these records, so their bounds are integers; with `population`, for the expected
        counts in a sample of this size, with the variance of noise and of sampling. That needs independent units of one
        record. No bound is negative, or above the number of records if that is public. Suppressed counts have intervals
        too.

        Args:
            level: Probability that all intervals hold at once, between 0 and 1.
            population: Whether they are for the population, not for these records.

        Returns:
            Lower and upper ends in records, (categories, 2), in the order of `category`.

        Raises:
            ValueError: `level` is not between 0 and 1; or for the population, a unit may have several records.
        """
        level = require_probability("level", level)
        counts = self.unbiased_counts
        noise = self._noise.cells
        total = self.privacy.most_records
        errors = self._compute_once(level, None, lambda: simultaneous_errors([noise], level))
        for_records = whole_ends(counts, errors, total)
        if not population:
            return for_records
        require_independent(self.privacy)
        likely = np.maximum(counts, 0.0)
        size = max(float(likely.sum()), 1.0)
        sampling = simulate_sampling_errors(likely, round(size), len(noise), sampling_generator(None))
        ends = simultaneous_mean_ends(counts, noise.var(axis=0), [noise + sampling], likely, size, level)
        return join_intervals(clip_to_possible(np.stack(ends, axis=1), total), for_records)

    def share_intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence limits of `share`, each with confidence `level`: shape ``(categories, 2)``.

        A share s is in the interval if noise alone (and sampling, for the population) explains how far ``(1 - s) *
        count - s * others`` lies from 0, so no distribution of a ratio of noisy numbers is needed. If shares are not
        known, the limits are 0 and 1.

        Args:
            level: Probability that one interval holds, between 0 and 1; they need not hold all at once.
            population: Whether they are for the population, not for these records.
        """
        require_independent(self.privacy, population)
        level = require_probability("level", level)
        if not self._has_values:
            return np.tile((0.0, 1.0), (self.categories.slots, 1))
        counts = self.unbiased_counts
        noise = self._noise.cells
        zeros = np.zeros(len(counts))
        groups = GroupCounts(counts, counts.sum() - counts, zeros, zeros, zeros)
        group_noise = GroupNoise(noise, noise.sum(axis=1, keepdims=True) - noise, np.zeros(1))
        normal = sampling_generator(None).standard_normal(noise.shape) if population else None
        return share_intervals(groups, group_noise, normal, level)

    def missing_interval(self, level: float) -> tuple[float, float]:
        """Return confidence limits of the number of `missing` records, of these records.

        Args:
            level: Probability that the interval holds, between 0 and 1.

        Returns:
            Lower and upper end, whole numbers.
        """
        error = upper_quantile(np.abs(self._noise.missing), require_probability("level", level))
        limits = whole_ends(np.array([self.missing]), np.array([error]), self.privacy.most_records)
        lower, upper = limits[0].tolist()
        return lower, upper

    @property
    def _missing_label(self) -> str:
        """What the `missing` records have in common, as text for tables."""
        reasons = ["missing", *([] if self.has_other else ["not listed"])]
        if self.privacy.where and self.evidence.total is not None:
            reasons.append("failing the filter")
        *others, last = reasons
        return f"{', '.join(others)} or {last}" if others else last

    def _describe_missing(self, level: float) -> str:
        """Return the number of `missing` records with its interval as text.

        Args:
            level: Confidence level, between 0 and 1.

        Returns:
            The rounded number, its level in percent and its interval, as in ``12 (95%: 3 to 21 for these records)``.
        """
        low, high = self.missing_interval(level)
        number = format_number(round(float(clip_to_possible(np.array(self.missing), self.privacy.most_records))))
        return f"{number} ({100 * level:g}%: {display.format_interval(low, high)} {display.RECORDS})"

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> BarChart:
        """Return the same chart with other names of the column and its categories, for display.

        Args:
            columns: New name of the column, by its name.
            categories: By column, the new label of each category (as text) that gets one; None: categories keep their
                labels.

        Raises:
            ValueError: two categories would have the same label.
        """
        column = self.categories.column
        labels = (categories or {}).get(self.categories.column, {})
        renamed = tuple(labels.get(str(value), value) for value in self.categories.values)
        if len(set(map(str, renamed))) < len(renamed):
            raise InvalidArgument(
                "categories", "two categories would have the same label; give each a label of its own"
            )
        return replace(self, categories=Categories(columns.get(column, column), renamed))

    def label_columns(self) -> list[tuple[str, list[str]]]:
        """Return the counted column with the category of every bar as text.

        Returns:
            A pair of a column name and its texts, in the order of the bars, as the only entry of the list.
        """
        return [(self.categories.column, self.category)]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Index of each bar's category in the release, ``(bars,)``, in the order of the bars."""
        values = self.categories.values
        last = [self.categories.slots - 1] * self.has_other
        places = list(range(len(values) - self.has_other))
        if self.order == BY_COUNT:
            counts = self.evidence.unbiased_cells[0]
            places.sort(key=lambda place: -counts[place])
        elif self.order == BY_NAME and not any(isinstance(values[place], str) for place in places):
            places.sort(key=lambda place: float(values[place]))
        elif self.order == BY_NAME:
            places.sort(key=lambda place: str(values[place]))
        return np.array(places + last, dtype=np.int64)

    @cached_property
    def _noise(self) -> CountNoise:
        """Noise of the counts in the order of the bars, simulated with a fixed public seed."""
        noise = CountNoise.simulate(self.evidence, public_generator(None))
        return noise._replace(cells=noise.cells[:, self._places])

    @property
    def _has_values(self) -> bool:
        """Whether the total count is larger than noise alone would explain for an empty table."""
        noise_quantile = upper_quantile(np.abs(self._noise.cells.sum(axis=1)), (1 + KNOWN_PROBABILITY) / 2)
        return float(self.unbiased_counts.sum()) > max(noise_quantile, 0.5)  # half a record: none

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """Return the columns of the ends of the intervals of counts and of shares, NaN if suppressed.

        Args:
            level: Confidence level of the intervals.
            population: Whether they are for the population.
        """
        counts, shares = (
            intervals(level, population=population).T for intervals in (self.intervals, self.share_intervals)
        )
        ends = zip(self.INTERVAL_COLUMNS, (*counts, *shares), strict=True)
        return {name: np.where(self.is_suppressed, np.nan, end) for name, end in ends}

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        """Return the lower and upper ends of the intervals of counts, (2, categories); NaN if suppressed.

        Args:
            level: Probability that all intervals hold at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return np.where(self.is_suppressed, np.nan, self.intervals(level, population=population).T)

    def _suppress_columns(
        self, columns: dict[str, NDArray[Any]], interval_columns: Sequence[str], suppress: float | None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns with ``..`` where a count is suppressed or its interval is wide.

        Args:
            columns: All columns by name, (categories,) each.
            interval_columns: Names of the columns of interval ends.
            suppress: Largest width of an interval as a fraction of its number; None: intervals of any width are shown.
        """
        columns = super()._suppress_columns(columns, interval_columns, suppress)
        if not self.is_suppressed.any():
            return columns
        return display.suppress_rows(columns, [*self.SUPPRESSIBLE_COLUMNS, *interval_columns], self.is_suppressed)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw a horizontal bar for each category with its intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        label = f"records by {self.categories.column}"
        return draw_category_bars(
            self.category,
            self.count,
            label=label,
            shades=shades,
            shares=self.share,
            suppressed=self.is_suppressed,
            **how,
        )

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame, a row for each bar: category, count and share.

        Returns:
            The category column under its name, then ``count`` (records) and ``share`` (in [0, 1]), (bars,) each.
        """
        reserved = [f"{name}{suffix}" for name in self.INTERVAL_COLUMNS for suffix in ("", "_population")]
        return display.join_columns(self.label_columns(), {"count": self.count, "share": self.share}, reserved=reserved)

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Category]]:
        """Return the number of each category text, if all categories are numbers.

        Args:
            columns: Names of the columns of the table; the category column counts only if it is among them.

        Returns:
            By column name, a mapping from each text to its number; empty if a category is text.
        """
        return display.find_declared_numbers([(self.categories.column, list(self.values))], columns)

    def _summary(self) -> list[tuple[str, str]]:
        """Return pairs of texts: the number of categories, of all their records and of missing records, and the number
        of each category with its intervals and its share."""
        return self._summary_rows(None)

    def _summary_rows(self, suppress: float | None) -> list[tuple[str, str]]:
        """Return the rows of the summary: totals, then the count of each of the first 100 categories with its
        intervals.

        Args:
            suppress: A number whose interval is wider than this fraction of it is shown as ``..``; None: all are shown.
                Suppressed counts are always shown as ``..``.

        Returns:
            (name, text) pairs.
        """
        limits = {
            scope: self.intervals(SUMMARY_LEVEL, population=is_population)
            for scope, is_population in self.scopes.items()
        }
        rows = [
            ("categories", str(self.categories.slots)), ("records in them, about", format_number(round(self.total))),
            (self._missing_label, self._describe_missing(SUMMARY_LEVEL)),
        ]  # fmt: skip
        bars = zip(self.category, self.count.tolist(), self.share.tolist(), self.is_suppressed.tolist(), strict=True)
        most_rows = 100  # categories in an HTML summary
        for place, (name, count, share, is_suppressed) in list(enumerate(bars))[:most_rows]:
            ends = {scope: intervals[place] for scope, intervals in limits.items()}
            text = display.SUPPRESSED if is_suppressed else format_with_intervals(count, ends, suppress)
            is_printed = text != display.SUPPRESSED and not np.isnan(share)
            rows.append((name, f"{text}, {share:.1%} of the records" if is_printed else text))
        more = self.categories.slots - most_rows
        return [*rows, *([("more categories", str(more))] if more > 0 else [])]

    @property
    def _rest_names(self) -> frozenset[str]:
        """The name of the category of all other values, if the chart has one."""
        return frozenset(map(str, self.categories.values[-1:])) if self.has_other else frozenset()

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the chart with `_from_json`.

        Returns:
            JSON values by field name.
        """
        return {
            "column": self.categories.column, "categories": list(self.categories.values), "has_other": self.has_other,
            "order": self.order, "suppressed_below": self.suppressed_below,
        }  # fmt: skip

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the chart from a parsed JSON document, computed again from the released counts.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: categories and counts differ in number, or the order is unknown.
        """
        question = document.question
        evidence = document.releases[0]
        categories = Categories(question["column"], tuple(question["categories"]))
        if categories.slots != evidence.unbiased_cells.size or question["order"] not in ORDERS:
            raise InvalidArgument(
                "curve.evidence.question",
                "the stored categories do not fit the released counts: use the text that to_json wrote",
            )
        _, missing = evidence.sums.reconstruct(np.array(evidence.values, dtype=np.float64), evidence.total)
        return cls(
            categories, float(missing), bool(question["has_other"]), document.privacy, evidence, question["order"],
            float(question["suppressed_below"]),
        )  # fmt: skip


def simulate_chart_sample(chart: BarChart, generator: np.random.Generator) -> ReleasedSample:
    """Return the released counts of a chart, in the order of the release, with simulated noise.

    Args:
        chart: The released bar chart.
        generator: Random numbers of the simulation.
    """
    counts = chart.evidence.unbiased_cells[0]
    likely = project_to_simplex(counts, max(float(counts.sum()), 1.0))
    return ReleasedSample(counts, likely, CountNoise.simulate(chart.evidence, generator).cells)


@dataclass(frozen=True, slots=True)
class BarChartQuestion(TableQuestion):
    """Counts of records by category of one column. One round.

    Attributes:
        by: The column with its categories: publicly declared, or unlisted ones that partition selection finds
            (`UnlistedCategories`).
        other: Whether all values of no declared category are counted as a further category, ``other``; else such
            records are missing. Selected categories always have it.

    Raises:
        TypeError: `by` is not a `Categories`.
        ValueError: there are more than 4096 categories, or `other` is False for unlisted categories.

    Formal guarantees: a record is in at most one category, or missing, so all counts are one histogram of disjoint
    cells. It is released by the mechanism of histograms: adding or removing a record changes one count by 1, replacing
    one changes two, and all counts together lose the charged loss (see `mechanisms.linear`). The further category is
    one more cell of the same histogram, and costs nothing.
    """

    by: Categories
    other: bool = True

    def __post_init__(self) -> None:
        require_type("by", self.by, Categories, CATEGORIES_EXAMPLE)
        require_type("other", self.other, bool, "True or False")
        if isinstance(self.by, UnlistedCategories) and not self.other:
            raise InvalidArgument(
                "other",
                "must be True if categories are not listed, to count the values that are not selected; leave other out",
            )
        if self.counted_categories.slots > MOST_CATEGORIES:
            raise InvalidArgument(
                "categories",
                f"at most {MOST_CATEGORIES} categories are allowed, got {self.counted_categories.slots}: list fewer",
            )

    @property
    def counted_categories(self) -> Categories:
        """The counted categories, with the category of other values if it is counted.

        >>> BarChartQuestion(Categories("ward", ("a", "b"))).counted_categories.values
        ('a', 'b', 'other')
        """
        if not self.other or isinstance(self.by, SelectedCategories | UnlistedCategories):
            return self.by
        return ListedCategories.from_categories(self.by)

    def steps(self, setting: Setting) -> Needs[BarChart]:
        """Ask for one noisy count per category; return the bar chart.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        answer = yield from ask_workload(CellWorkload((self.counted_categories,)), WHOLE_BUDGET)
        return BarChart.from_counts(answer.counts, self.counted_categories, build_privacy_statement(answer.releases))

    def __str__(self) -> str:
        return f"bar chart of {self.by.column}"
