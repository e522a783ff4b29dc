"""Base of results that are numbers computed from released counts, with simulated intervals.

A question lists its statistics by name; each `Statistic` is a function of the counts of all tables. `CountedNumbers`
evaluates them on unbiased counts, and simulates noise and sampling for their intervals. `ask_one_table` and
`ask_tables` ask for the counts. Metrics of multiclass models, model pairs, uplift and forecasts are subclasses.

Formal guarantees: post-processing of released counts, which costs no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from re import split
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, describe_value, require_probability, require_type
from dpcurves.arrays import FloatArray
from dpcurves.conversation import WHOLE_BUDGET, Evidence, Needs, PrivacyStatement, Release, ask_workload
from dpcurves.curves.by_category import collect_by_category, split_rows
from dpcurves.curves.pair_mean import MergedCellCounts, SimulatedCounts, compute_basic_interval
from dpcurves.curves.question import build_privacy_statement, require_independent
from dpcurves.curves.result import INDIVIDUAL_INTERVAL, IntervalResult, PlotArguments
from dpcurves.display import format_number
from dpcurves.display.groups import ForestPanel, draw_forest
from dpcurves.inference.known_numbers import KNOWN_LEVEL, is_uninformative, known_number
from dpcurves.inference.simulation import choose_draws, numbered_generator
from dpcurves.summaries.two_classes import LEAST_MASS

TABLE_STREAM = 40
"""Index of the first stream of the fixed random numbers that simulate noise. Table i uses this index plus 2 i, and
the next one; the stream before draws sampling errors. Other statistics use other streams, so that errors are
independent."""
Tables = Sequence[FloatArray]
PROPER_WORDS = MappingProxyType({"auc": "AUC", "brier": "Brier", "qini": "Qini"})
"""Abbreviations and names of people in names of statistics, and how readers see them; other words stay as they are."""


class Statistic(NamedTuple):
    """A number as a function of the counts of all tables.

    Attributes:
        compute: Function from tables of shape (..., *shape) to numbers of shape (...); NaN where counts are too small
            to divide by.
        minimum, maximum: Bounds of the number.
        null_value: Value for a perfect model, or without a difference; None: no value of the number is special.
    """

    compute: Callable[[Tables], FloatArray]
    minimum: float = 0.0
    maximum: float = 1.0
    null_value: float | None = None


def format_statistic(name: str) -> str:
    """Return the name of a statistic as readers see it; a column, a class or a model behind it stays as it is.

    Args:
        name: Short name of the statistic, such as ``macro auc``.

    >>> format_statistic("macro auc"), format_statistic("auc of auc over qini")
    ('macro AUC', 'AUC of auc over qini')
    """
    statistic = split(", | of ", name, maxsplit=1)[0]
    return " ".join(PROPER_WORDS.get(word, word) for word in statistic.split(" ")) + name.removeprefix(statistic)


def find_slot_shapes(question: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shape of each counted table of a question, in which axes of grids have two more cells.

    The additional cells count values below and above the grid.

    Args:
        question: The question. Its method `shapes` returns the shapes without these cells, and `grids` how many of the
            last axes of each table are grids.
    """
    slot_shapes = []
    for shape, grid_axes in zip(question.shapes(), question.grids(), strict=True):
        first_grid_axis = len(shape) - grid_axes
        grid_slots = [cells + 2 for cells in shape[first_grid_axis:]]  # with the values below and above the grid
        slot_shapes.append((*shape[:first_grid_axis], *grid_slots))
    return tuple(slot_shapes)


@dataclass(frozen=True, eq=False, repr=False)
class CountedNumbers(IntervalResult):
    """Numbers computed from released counts, each with its own interval.

    Attributes:
        question: The question, which defines the numbers.
        evidence: The released counts, table by table.
        privacy: The privacy statement, which every plot shows.

    Data frame: a row for each number.
    """

    INTERVAL_NAME = INDIVIDUAL_INTERVAL
    COLUMN_WORDS = display.describe_columns(number="number", value="value")
    MEASURED = "value"
    NOTES_UNKNOWN = True
    REPR_FACTS = "{names.size} numbers"
    JSON_SCHEMAS = MappingProxyType({"numbers": {"description": "Each number by its name.", **display.BY_NAME}})
    LABEL: ClassVar[str] = ""
    TAKES_OUTER_ENDS: ClassVar[bool] = False
    """True if intervals for these records also take the outer ends of the basic and the percentile interval."""
    CLIPS_OUTSIDE: ClassVar[bool] = True
    """True if records outside the grid are read in the end cells; else they are left out."""

    question: Any
    evidence: tuple[Evidence, ...]
    privacy: PrivacyStatement

    @property
    def names(self) -> Any:
        """Names of the statistics, in the order of the question, as an array of texts."""
        return np.array(list(self._statistics))

    def value(self, name: str) -> float:
        """Return the estimate of a statistic by name; NaN where it is unknown, as noise alone may explain it.

        See `dpcurves.inference.known_numbers.known_number`.

        Args:
            name: One of `names`, or the name that tables and pictures show.

        Raises:
            ValueError: no statistic has this name.
        """
        statistic = self._find_statistic(name)
        return known_number(
            self._estimate_value(statistic), self._find_deciding_ends(name), statistic.minimum, statistic.maximum
        )

    def _is_unknown(self) -> bool:
        """Return True if no statistic of the result is known. The search stops at the first known one, to cost
        little.
        """
        return all(np.isnan(self.value(name)) for name in self._statistics)

    def _estimate_value(self, statistic: Statistic) -> float:
        """Return the estimate of a statistic from unbiased counts, clipped to its range; NaN where counts are too small
        to divide by.

        Args:
            statistic: The statistic as a function of the counts of all tables.
        """
        value = float(statistic.compute(self._unbiased_tables))
        return min(max(value, statistic.minimum), statistic.maximum) if np.isfinite(value) else float("nan")

    def _find_deciding_ends(self, name: str) -> tuple[float, float]:
        """Return the interval for these records that decides whether a statistic counts as known or is shown as NaN.

        It is the whole range of the statistic if simulated counts are often too small to divide by.

        Args:
            name: Name of the statistic.

        Returns:
            Lower and upper end.
        """
        statistic = self._find_statistic(name)

        def find_ends() -> tuple[float, float]:
            """Return the interval of the statistic at the level `KNOWN_LEVEL`, or its whole range.

            Returns:
                Lower and upper end; the range if more than half of the error probability falls on undefined values.
            """
            undefined_share = np.isnan(statistic.compute([table.counts + table.noise for table in self._tables])).mean()
            if undefined_share > (1 - KNOWN_LEVEL) / 2:
                return statistic.minimum, statistic.maximum
            return self._find_ends(name, KNOWN_LEVEL, population=False)

        return self._compute_once((name, KNOWN_LEVEL), None, find_ends)

    def interval(self, name: str, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return an interval that contains a statistic with probability about `level`.

        It is for these records, rounded to their cells; with `population`, for the population that they were drawn
        from, which needs independent units of one record each. Noise and sampling are simulated. The joint counts of
        several tables are not released, so sampling errors of several tables are assumed to add up at their worst.
        Simulated counts that are too small to divide by count as errors beyond both ends: if there are more of these
        than an end may miss, the end is the bound of the statistic. The interval of an unknown statistic is its whole
        range.

        Args:
            name: One of `names`.
            level: Probability that the interval contains the statistic, between 0 and 1.
            population: Whether the interval covers the population's statistic rather than the one of these records.

        Returns:
            Lower and upper endpoint.

        Raises:
            ValueError: `name` is not one of `names`; `level` is not between 0 and 1; or, with `population`, a unit may
                have several records.
        """
        level = require_probability("level", level)
        statistic = self._find_statistic(name)
        require_independent(self.privacy, population)
        if is_uninformative(*self._find_deciding_ends(name), statistic.minimum, statistic.maximum):
            return statistic.minimum, statistic.maximum
        return self._find_ends(name, level, population=population)

    def _find_ends(self, name: str, level: float, *, population: bool) -> tuple[float, float]:
        """Return the confidence interval of a statistic from simulated errors.

        The interval is extended to contain the estimate, and cut at the bounds of the statistic.

        Args:
            name: Name of the statistic.
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these records.

        Returns:
            Lower and upper end; the whole range if the estimate is not finite.
        """
        statistic = self._find_statistic(name)
        errors = self._compute_once(
            (name, population), None, lambda: self._simulate_errors(statistic, population=population)
        )
        estimate = float(statistic.compute(self._unbiased_tables))
        outer_ends = population or self.TAKES_OUTER_ENDS
        if not np.isfinite(estimate):
            return statistic.minimum, statistic.maximum
        if np.isfinite(errors).all():
            low, high = compute_basic_interval(estimate, errors, level, outer_ends)
        else:
            filled_errors = [np.where(np.isfinite(errors), errors, fill) for fill in (-np.inf, np.inf)]
            ends = [compute_basic_interval(estimate, interval, level, outer_ends) for interval in filled_errors]
            low = min(interval[0] for interval in ends)
            high = max(interval[1] for interval in ends)
        value = self._estimate_value(statistic)
        return max(min(low, value), statistic.minimum), min(max(high, value), statistic.maximum)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return the confidence intervals of all statistics, each at `level` separately, (statistics, 2). See
        `interval`.

        Args:
            level: Confidence level of each interval.
            population: If True, the intervals are for the population.
        """
        return np.array([self.interval(name, level, population=population) for name in self._statistics])

    def _simulate_errors(self, statistic: Statistic, *, population: bool) -> FloatArray:
        """Return draws of the error of a statistic, shape (draws,); NaN where simulated counts are too small to divide
        by.

        Args:
            statistic: The statistic.
            population: If True, sampling is simulated besides the noise.
        """
        single_table = population and len(self._tables) == 1
        likely_value = statistic.compute(self._likely_tables)
        simulated_values = statistic.compute([table.simulate_counts(single_table) for table in self._tables])
        if single_table or not population:
            return np.asarray(simulated_values - likely_value)
        sampling_deviation = 0.0
        for table in self._tables:
            sampling_deviation += float(
                np.std(
                    statistic.compute(
                        [
                            varied_table.likely_counts + varied_table.sampling_noise
                            if varied_table is table
                            else varied_table.likely_counts
                            for varied_table in self._tables
                        ]
                    )
                )
            )
        return np.asarray(
            simulated_values
            - likely_value
            + sampling_deviation * numbered_generator(TABLE_STREAM - 1).standard_normal(len(simulated_values))
        )

    @cached_property
    def _statistics(self) -> Mapping[str, Statistic]:
        """The statistics that the question asks for, by name, each a function of the counts of all tables."""
        return self.question.statistics()  # type: ignore[no-any-return]

    def _find_statistic(self, name: str) -> Statistic:
        """Return the statistic with this name, or with this title.

        Args:
            name: Short name of the statistic, or its title for readers.

        Raises:
            InvalidArgument: no statistic has this name or title.
        """
        require_type("name", name, str, "a text")
        if name not in self._statistics and name in (titles := self._number_titles()):
            return list(self._statistics.values())[titles.index(name)]
        if name not in self._statistics:
            raise InvalidArgument("name", f"must be one of {', '.join(self._statistics)}, got {describe_value(name)}")
        return self._statistics[name]

    @property
    def _table_evidence(self) -> tuple[Evidence, ...]:
        """Released counts of the tables from which the statistics are computed: here all released tables."""
        return self.evidence

    @cached_property
    def _tables(self) -> list[MergedCellCounts]:
        """Released counts of each table of the question with their simulated noise: separate random streams, equal
        draws.

        Likely counts keep the sums over the grids of a table. Noise of many cells with few records would otherwise move
        records between classes or treatments.
        """
        shapes = self.question.shapes()
        slots = zip(self._table_evidence, find_slot_shapes(self.question), strict=False)
        counts_by_table = [evidence.unbiased_cells.reshape(shape) for evidence, shape in slots]
        size = max(evidence.size for evidence in counts_by_table)
        # from 400 to 4,000 draws; 2**21 simulated values of a table, draws times cells, take 16 MB
        draws = max(400, min(4000, choose_draws(size), 2**21 // size))
        simulated = [
            SimulatedCounts(
                counts,
                evidence,
                self.privacy,
                self.privacy.notes,
                row_axes=counts.ndim - grid_axes,
                stream=TABLE_STREAM + 2 * index,
                draws=draws,
            )
            for index, (counts, evidence, grid_axes) in enumerate(
                zip(counts_by_table, self._table_evidence, self.question.grids(), strict=False)
            )
        ]
        return [
            MergedCellCounts(evidence, shape, self.CLIPS_OUTSIDE)
            for evidence, shape in zip(simulated, shapes, strict=False)
        ]

    @property
    def _unbiased_tables(self) -> Tables:
        """Unbiased released counts of each table, in the shapes of the question; they may be negative."""
        return [table.counts for table in self._tables]

    @property
    def _likely_tables(self) -> Tables:
        """Non-negative estimates of the counts of each table, close to the released ones, (*shape of the question's
        table).
        """
        return [table.likely_counts for table in self._tables]

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of the data frame, with one row for each statistic.

        Returns:
            ``number``, the title of the statistic, and ``value``, its estimate.
        """
        return {"number": self._number_titles(), "value": [self.value(name) for name in self._statistics]}

    def _arrays(self) -> Mapping[str, object]:
        """Return the arrays of the JSON document: the estimate of each statistic, by name."""
        return {"numbers": {name: self.value(name) for name in self._statistics}}

    def _summary(self) -> list[tuple[str, str]]:
        """Return the rows of the printed summary: title and estimate of each statistic, as texts."""
        values = [format_number(self.value(name)) for name in self._statistics]
        return list(zip(self._number_titles(), values, strict=True))

    def _plot(self, shades: Sequence[Any], /, **arguments: Unpack[PlotArguments]) -> Any:
        """Draw a forest plot of all statistics with their intervals; return the first axes.

        Differences, and other statistics with a null value, have a separate panel with a line at that value.

        Args:
            shades: Intervals, one row for each statistic of the result.
            arguments: Axes, text and colours of the plot.
        """
        statistics = list(self._statistics.items())
        names = self._row_names()
        panels = []
        for null_value in sorted({statistic.null_value for _, statistic in statistics}, key=lambda null: null is None):
            numbers = [index for index, (_, statistic) in enumerate(statistics) if statistic.null_value == null_value]
            rows = [names[index] for index in numbers]
            values = [self.value(statistics[index][0]) for index in numbers]
            panels.append(ForestPanel(self._axis_title(null_value), rows, values, numbers, null_value))
        return draw_forest(panels, shades=shades, **arguments)

    def _number_titles(self) -> list[str]:
        """Return the title of each statistic for readers, as tables of files, pages, workbooks and the terminal show
        it.
        """
        return [format_statistic(name) for name in self._statistics]

    def _row_names(self) -> list[str]:
        """Return the row labels of the forest plot: the title of each statistic."""
        return self._number_titles()

    def _axis_title(self, null_value: float | None) -> str:
        """Return the label of the x axis of a panel of the forest plot.

        Args:
            null_value: The null value that the statistics of the panel share; None: they have none.
        """
        return self.LABEL

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields from which `_from_json` restores the result.

        Returns:
            The question under ``asked``.
        """
        from dpcurves.curves.question_json import question_to_json

        return {"asked": question_to_json(self.question)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the result from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: there is not one count for each cell of the question's tables.
        """
        from dpcurves.curves.question_json import question_from_json

        question = question_from_json(document.question["asked"])
        evidence = document.releases
        if [table.sums.rows * table.sums.cells for table in evidence] != [
            prod(shape) for shape in find_slot_shapes(question)
        ]:
            raise InvalidArgument(
                "curve.evidence.releases",
                "a count for each cell of the tables of the question is needed: use the text that to_json wrote",
            )
        return cls(question, evidence, document.privacy)


def ask_one_table(kind: Callable[..., Any], question: Any, asked: Any, rows: int) -> Needs[Any]:
    """Yield one query for a table of counts, with the whole budget; return its result, or one result per category.

    Args:
        kind: The class of the result.
        question: The question, which has `by` and `model`.
        asked: Workload of the query: the table of cells that is counted.
        rows: Rows of counts of each category.
    """
    answer = yield from ask_workload(asked, WHOLE_BUDGET)
    rows_by_category = [answer.counts] if question.by is None else split_rows(answer.counts, rows)
    privacy = build_privacy_statement(answer.releases, question.model)
    return collect_by_category(question.by, (kind(question, (evidence,), privacy) for evidence in rows_by_category))


def ask_tables(kind: Callable[..., Any], question: Any, asked: Sequence[Any]) -> Needs[Any]:
    """Yield one query per table, in order, each with an equal budget fraction; return one result of all tables.

    Args:
        kind: Function that makes the result from question, counts and privacy statement.
        question: The question.
        asked: Workloads of the queries: the tables of cells that are counted.
    """
    tables = list[Evidence]()
    releases = list[Release]()
    for workload in asked:
        answer = yield from ask_workload(workload, Fraction(1, len(asked)))
        tables.append(answer.counts)
        releases += answer.releases
    return kind(question, tuple(tables), build_privacy_statement(releases, question.model))


def divide_counts(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return `part` divided by `whole`, broadcast against each other; NaN where `whole` is below `LEAST_MASS`.

    Args:
        part: Numerators, in records.
        whole: Denominators, in records.
    """
    numerator, denominator = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    return np.asarray(
        np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator >= LEAST_MASS)
    )


def mask_empty(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the values with NaN where they are based on too few records: below `LEAST_MASS`.

    Args:
        values: Numbers of any shape.
        counts: Noisy counts that the values are based on, in records, of a shape that broadcasts.
    """
    return np.asarray(np.where(np.asarray(counts) >= LEAST_MASS, values, np.nan))


def compute_auc(negative: FloatArray, positive: FloatArray) -> FloatArray:
    """Return the area under the ROC curve of counts (..., cells) of increasing scores.

    Ties count one half. The area is NaN without pairs.

    Args:
        negative: Counts of negatives in cells of increasing scores, (..., cells).
        positive: Counts of positives, of the same shape.

    Returns:
        Areas, (...).

    >>> float(compute_auc(np.array([2.0, 0.0]), np.array([1.0, 1.0])))
    0.75
    """
    negatives_below = np.cumsum(negative, axis=-1) - negative / 2
    negatives = negative.sum(axis=-1)
    positives = positive.sum(axis=-1)
    share = divide_counts(
        (positive * negatives_below).sum(axis=-1), np.where(negatives >= LEAST_MASS, negatives, 0.0) * positives
    )
    return np.asarray(np.where(positives >= LEAST_MASS, share, np.nan))


def require_few_counts(shapes: Sequence[tuple[int, ...]], name: str) -> None:
    """Raise if a table of a question has more counts than intervals can be simulated for.

    Args:
        shapes: Shapes of the tables.
        name: Name of the argument that decides the number of cells, for the message.

    Raises:
        ValueError: a table has too many counts.
    """
    most_counts = 2**15  # cells of all its axes
    if max(map(prod, shapes)) > most_counts:
        raise InvalidArgument(name, f"at most {most_counts} counts are allowed in a table; choose fewer cells")
