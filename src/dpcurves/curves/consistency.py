"""Consistent totals: counts and sums of several releases, adjusted by least squares so that they add up.

Released are parts p by all columns and totals t by some of them, each with independent noise of known variance. With
the matrix A that adds parts up, the estimate of the parts is the best linear unbiased one (Aitken 1936):

    p^ = argmin_p  (released parts - p)' V_p**-1 (released parts - p) + (t - A p)' V_t**-1 (t - A p)

and totals are ``A p^``, so all numbers add up. Counts are then rounded to non-negative integers whose totals are close
to these (`round_parts`), by largest remainders (`apportion_total`).

- *Intervals* send simulated noise through the same linear map; for the population sampling is added.
- *p-value*: whether the releases differ by more than their noise; a small one shows that they are of other records.

Nested categories, such as districts in regions, are a `CategoryHierarchy`. Also called reconciliation, or consistency.

Formal guarantees: the estimate is a function of released numbers and of public variances, so it loses nothing more
(post-processing).

References: Aitken 1936; Hay, Rastogi, Miklau and Suciu 2010.

>>> apportion_total(np.array([2.6, 1.1, -3.0]), total=4).tolist()
[3.0, 1.0, 0.0]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, pairwise
from math import inf
from typing import Any, NamedTuple, Self, Unpack, cast

import numpy as np

from .. import display
from ..arguments import (
    InvalidArgument,
    WrongArgumentType,
    check_common_arguments,
    describe_value,
    require_probability,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray, IntArray
from ..conversation import PrivacyStatement
from ..data import Grid, Outside
from ..display import format_number
from ..inference.bands import join_intervals, upper_quantiles
from ..inference.moments import TUNING as MOMENTS_TUNING
from ..inference.moments import mean_intervals, whole_ends
from ..inference.simulation import (
    monte_carlo_p_value,
    numbered_generator,
    public_generator,
    sampling_generator,
    simulate_cell_noise,
)
from ..summaries.two_classes import project_to_simplex
from .by_category import ByCategory
from .contingency import Contingency
from .histogram import Histogram
from .question import Key, format_key, require_independent
from .result import INDIVIDUAL_INTERVAL, CompositeResult, PlotArguments, refuse_damaged, result_from_json
from .summary import COUNT, HALF_RANGE_STEPS, SUM, Summary, SummaryByCategory

TOTAL_CATEGORY = "all"
"""Name of the category of sums over a column, unless a released category has this name: see `name_totals`."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the adjustment of totals."""

    draws: int = 5000
    """Draws of the simulated noise, for small tables."""
    tolerance: float = 1e-12
    """Ratio. Rounding errors of doubles: relative to the total when counts are rounded down, relative to the largest
    singular value in a pseudoinverse, absolute for the gain of an exchange.
    """


TUNING = Tuning()
"""Draws of noise and the rounding tolerance with which released totals are adjusted to their parts: see `Tuning`."""


CONTRADICTION_NOTE = (
    "these releases differ by more than their noise explains (p-value {p_value:.2g}): records of no declared category "
    "are in totals and in no part, or the records changed between them"
)
"""Note on releases whose totals and parts differ so much that noise explains it with p-value 0.001 at most."""
QUANTITIES = {COUNT: "records", SUM: "sum"}
"""Labels of the statistics in pictures, by statistic."""


Table = Summary | SummaryByCategory | Contingency | Histogram | ByCategory[Histogram]
Nested = Mapping[str, Any] | Sequence[Any]
"""Labels of a level with their child labels: a mapping, or a list of labels on the last level."""


@dataclass(frozen=True)
class CategoryHierarchy:
    """Columns whose categories are nested, as municipalities in districts: every label has one parent.

    Attributes:
        levels: The columns, the widest first.
        nested: The labels of the first level, each with its child labels, down to lists of labels of the last level.
        parents: For each level but the first, the parent of each label, as text.

    Raises:
        ValueError: there are fewer than two levels, a column is repeated, `nested` is not as deep as `levels`, or a
            label has two parents.

    >>> hierarchy = CategoryHierarchy(("region", "district"), {"north": ["a", "b"], "south": ["c"]})
    >>> hierarchy.find_ancestor("district", "region", "c")
    'south'
    """

    levels: tuple[str, ...] = ()
    nested: Nested = ()

    def __post_init__(self) -> None:
        if self.levels and (len(self.levels) < 2 or len(set(self.levels)) < len(self.levels)):
            raise InvalidArgument(
                "levels", "give two or more different columns, the widest first, as in ('region', 'district')"
            )
        require_type("nested", self.nested, (Mapping, Sequence), "a mapping or a list of labels")
        if bool(self.levels) != bool(self.nested):
            raise InvalidArgument("nested", "give levels and nested together, or neither")

    @cached_property
    def parents(self) -> dict[str, dict[str, str]]:
        """For each level but the first, the parent of each label, as text.

        Raises:
            InvalidArgument: a label has two parents.
        """
        parents: dict[str, dict[str, str]] = {level: {} for level in self.levels[1:]}
        children: list[tuple[str, Any]] = [
            (str(label), subtree) for label, subtree in _list_child_labels(self.nested, self.levels)
        ]
        for depth, level in enumerate(self.levels[1:], 1):
            grandchildren = list[tuple[str, Any]]()
            for parent, subtree in children:
                for label, label_subtree in _list_child_labels(subtree, self.levels[depth:]):
                    if parents[level].setdefault(str(label), parent) != parent:
                        raise InvalidArgument(
                            "nested",
                            f"label {describe_value(label)} of {level!r} has two parents in "
                            f"{self.levels[depth - 1]!r}: nest it in one of them",
                        )
                    grandchildren.append((str(label), label_subtree))
            children = grandchildren
        return parents

    def find_determining_column(self, column: str, among: Sequence[str]) -> str | None:
        """Return the column in `among` whose categories determine those of `column`: itself, or a finer level; None
        without one.
        """
        if column in among or column not in self.levels:
            return column if column in among else None
        return next((level for level in self.levels[self.levels.index(column) + 1 :] if level in among), None)

    def find_ancestor(self, below: str, level: str, label: object) -> str:
        """Return the label on a wider level that contains a label.

        Args:
            below: Column of the label.
            level: Column of the wider level. If it equals `below`, the label itself is returned.
            label: The label.

        Raises:
            ValueError: the label is not in the hierarchy.
        """
        text = str(label)
        for column in self.levels[self.levels.index(below) : self.levels.index(level) : -1] if below != level else ():
            if text not in self.parents[column]:
                raise InvalidArgument(
                    "nested",
                    f"label {describe_value(text)} of {column!r} is missing; nest it in a label of the level above",
                )
            text = self.parents[column][text]
        return text


def _list_child_labels(nested: Any, levels: Sequence[str]) -> list[tuple[Any, Any]]:
    """Return the labels of the first level of nested columns, each with the labels nested in it.

    On the last level the nested labels are None.

    Args:
        nested: Nested mappings of labels, with lists on the last level.
        levels: Names of the levels that `nested` has.

    Raises:
        InvalidArgument: `nested` is not a mapping, or on the last level not a list.
    """
    if len(levels) == 1:
        if isinstance(nested, str) or not isinstance(nested, Sequence):
            raise InvalidArgument(
                "nested",
                f"a list of labels of {levels[0]!r} is needed, as in ['north', 'south'], got {describe_value(nested)}",
            )
        return [(label, None) for label in nested]
    if not isinstance(nested, Mapping):
        raise InvalidArgument(
            "nested",
            f"a mapping from labels of {levels[0]!r} to those of {levels[1]!r} is needed, got {describe_value(nested)}",
        )
    return list(nested.items())


NO_TREE = CategoryHierarchy()
"""Default hierarchy: no column's categories are divided by those of another."""


class _Table(NamedTuple):
    """A released table: columns of its categories, a key of each number, and the results that hold the numbers.

    Cells of histograms are categories as well, by index, including those for values outside of the grid.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    members: tuple[Summary, ...] | tuple[Histogram, ...]

    @property
    def grid(self) -> Grid | None:
        """Grid of the table's histograms; None for a table of summaries."""
        first = self.members[0]
        return first.grid if isinstance(first, Histogram) else None

    @property
    def slots(self) -> int:
        """Count of released numbers per result: 1 for a summary, the number of cells for a histogram."""
        return len(self.keys) // len(self.members)

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The categories of each result of the table, one tuple per result, in the order of `members`."""
        keys = self.keys[:: self.slots]
        return list(keys) if self.grid is None else [key[:-1] for key in keys]

    def format_category(self, column: str, key: tuple[Any, ...], tree: CategoryHierarchy) -> str | None:
        """Return the category of a number in one column as text; None if the column was added up.

        Args:
            column: The column, or a wider level of the hierarchy.
            key: Categories of the number, in the order of the table's columns.
            tree: Hierarchy of columns.
        """
        determining = tree.find_determining_column(column, self.columns)
        if determining is None:
            return None
        label = key[self.columns.index(determining)]
        if self.grid is not None and column == self.columns[-1]:
            return str(_name_cells(self.grid)[label])
        return str(label) if determining == column else tree.find_ancestor(determining, column, label)

    def format_categories(self, columns: Sequence[str], tree: CategoryHierarchy) -> list[tuple[str, ...]]:
        """Return, for each number of the table, its categories in some columns as texts.

        Args:
            columns: The columns. A column that is a wider level of `tree` gets the ancestor of the label.
            tree: Hierarchy of columns.
        """
        determining = [(tree.find_determining_column(column, self.columns), column) for column in columns]
        sources = [(self.columns.index(cast("str", source)), source, column) for source, column in determining]
        rows = []
        for key in self.keys:
            categories = [
                str(key[index]) if source == column else tree.find_ancestor(cast("str", source), column, key[index])
                for index, source, column in sources
            ]
            rows.append(tuple(categories))
        return rows


def name_totals(categories: Sequence[str | None]) -> list[str]:
    """Return the texts of a column of categories; a sum over the column gets a name that no category has, such as
    "all".

    Args:
        categories: Category of each row; None: the row is a sum over the column.

    >>> name_totals(["a", None]), name_totals(["all", "ALL categories", None])
    (['a', 'all'], ['all', 'ALL categories', 'all categories (2)'])
    """
    taken = {category.casefold() for category in categories if category is not None}
    numbered = (f"{TOTAL_CATEGORY} categories ({number})" for number in count(2))
    names = chain((TOTAL_CATEGORY, f"{TOTAL_CATEGORY} categories"), numbered)
    total = next(name for name in names if name not in taken)
    return [total if category is None else category for category in categories]


@dataclass(frozen=True, eq=False, repr=False)
class ConsistentTotals(CompositeResult):
    """Counts, or sums, of several releases that add up; created by `dpcurves.make_consistent`.

    Counts are non-negative integers close to `least_squares`: see `round_parts`. Sums are the least-squares estimates.
    Intervals hold one by one, for these records or for the population.

    Attributes:
        tables: The released tables by name.
        statistic: ``"count"`` or ``"sum"``.
        hierarchy: Columns with nested categories.

    Pictures show the parts without totals, which would dominate the scale.

    Data frame: a row for each number of each table, with its name in the column ``table``, the categories (``all`` if a
    column was added up, or ``all categories`` if it has a category ``all``), the ``released`` number and the
    ``consistent`` one. Cells of histograms of ``age`` are in a column ``cell of age``.
    """

    TITLE = "Totals that add up"
    MEASURED = "consistent"
    DISTINGUISHING_FACT = "consistent"
    SUPPRESSIBLE_COLUMNS = ("consistent", "released")
    INTERVAL_NAME = INDIVIDUAL_INTERVAL

    tables: Mapping[str, Table]
    statistic: str = COUNT
    hierarchy: CategoryHierarchy = NO_TREE

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of all tables together, with the sum of their losses (basic composition)."""
        statements = [statement.privacy for statement in self.tables.values()]
        first = statements[0]
        is_pure = all(statement.epsilon is not None for statement in statements)
        epsilon = sum(statement.epsilon or 0.0 for statement in statements) if is_pure else None
        rho = epsilon**2 / 2 if epsilon is not None else sum(statement.rho for statement in statements)
        combined = replace(
            first, epsilon=epsilon, rho=rho, delta=sum(statement.delta for statement in statements),
            seeded=any(statement.seeded for statement in statements), notes=(),
            mechanism="; ".join(dict.fromkeys(statement.mechanism for statement in statements)),
            grant=", ".join(statement.grant for statement in statements),
        )  # fmt: skip
        notes = dict.fromkeys(note for statement in statements for note in statement.notes)
        # about 1 in 1,000 consistent sets of releases gets the note
        contradiction = (CONTRADICTION_NOTE.format(p_value=self.p_value),) if self.p_value <= 0.001 else ()
        return combined.with_notes(*notes, *contradiction)

    @property
    def p_value(self) -> float:
        """p-value of the differences between the releases under noise alone; 1 for a single release."""
        return self._least_squares_fit.p_value

    @property
    def released_values(self) -> FloatArray:
        """The unbiased released numbers, in the order of the data frame: shape ``(numbers,)``."""
        return self._least_squares_fit.released_values

    @property
    def least_squares(self) -> FloatArray:
        """The unbiased least-squares estimates, in the order of the data frame: shape ``(numbers,)``.

        They add up, but may be negative and are rarely integers.
        """
        return self._least_squares_fit.values

    @cached_property
    def values(self) -> FloatArray:
        """The consistent numbers, in the order of the data frame: shape ``(numbers,)``. Counts are non-negative
        integers.
        """
        if self.statistic == SUM:
            return self.least_squares
        tables = list(self._tables.values())
        parts_index, groups = _find_parts(tables, self.hierarchy)
        starts = np.cumsum([0, *(len(table.keys) for table in tables)])
        parts = self.least_squares[starts[parts_index] : starts[parts_index + 1]]
        rounded = round_parts(parts, groups, self.privacy.most_records)
        sums = [_sum_by_group(rounded, [group]) for group in groups]
        return np.concatenate([*sums[:parts_index], rounded, *sums[parts_index:]])

    def table(self, name: str) -> dict[Key, Any]:
        """Return the consistent numbers of one table by category; a total is under ``()``.

        For histograms each value is an array of the cells, with cells for values outside of the grid at its ends, if
        any.

        Args:
            name: Name of the table.

        Raises:
            ValueError: there is no table of this name.
        """
        if name not in self.tables:
            raise InvalidArgument(
                "name", f"no table has this name; name one of {', '.join(map(describe_value, self.tables))}"
            )
        start = 0
        for table_name, table in self._tables.items():
            end = start + len(table.keys)
            if table_name == name:
                keys = [key[0] if len(key) == 1 else key for key in table.groups]
                values = self.values[start:end]
                values = values.astype(np.int64) if self.statistic == COUNT else values
                numbers = values.tolist() if table.grid is None else values.reshape(-1, table.slots)
                return dict(zip(keys, numbers, strict=True))
            start = end
        raise AssertionError(name)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence limits of the numbers, each with confidence `level`.

        The noise of every release is simulated and goes through the same linear map as the released numbers, so the
        simulated errors have the distribution of the least-squares errors. Limits of counts are non-negative integers
        that contain the displayed count.

        With `population`, the limits are for the expected numbers in a sample of this size, which needs independent
        units of one record each. Sampled numbers add up, so their deviations pass the map unchanged and are added to
        the errors by noise. Sums have the variance of a sum over a Poisson number of records, or over a public number
        of independent units: at most the sum of squares, for whose upper limit a tenth of the error probability is
        used; if squares were not released, they are at most on the chord between the squares of both bounds.

        Args:
            level: Probability that one interval holds, between 0 and 1.
            population: Whether they are for the population, not for these records.

        Returns:
            Array of shape ``(numbers, 2)``, in the order of the data frame.
        """
        level = require_probability("level", level)
        fit = self._least_squares_fit
        max_records = self.privacy.most_records
        errors = upper_quantiles(np.abs(fit.errors), level) + fit.rounding
        estimates = self.least_squares
        records = np.stack([estimates - errors, estimates + errors], axis=1)
        if self.statistic == COUNT:
            records = join_intervals(whole_ends(estimates, errors, max_records), np.stack([self.values] * 2, axis=1))
        if not population:
            return records
        require_independent(self.privacy)
        # 400 draws at least, and otherwise 2**21 simulated numbers in all draws together, which take 16 MB
        draws = min(len(fit.errors), max(400, 2**21 // len(self.values)))
        noise_errors = fit.errors[:draws]
        units = inf if max_records is None else float(max_records)
        normal = sampling_generator(None).standard_normal(noise_errors.shape)
        if self.statistic == COUNT:
            return join_intervals(records, mean_intervals(estimates, noise_errors, normal, units, level))
        error_share = MOMENTS_TUNING.variance_error_share * (1 - level)
        squares = np.concatenate(
            [_bound_sums_of_squares(table.members, 1 - error_share) for table in self._tables.values()]
        )
        deviations = np.sqrt(np.maximum(squares - estimates**2 / units, 0.0))
        errors = upper_quantiles(np.abs(noise_errors + normal * deviations), level + error_share) + fit.rounding
        return join_intervals(records, np.stack([estimates - errors, estimates + errors], axis=1))

    @cached_property
    def _tables(self) -> dict[str, _Table]:
        """The released tables, converted to `_Table`, by name."""
        return {name: _to_table(table) for name, table in self.tables.items()}

    @cached_property
    def _least_squares_fit(self) -> _LeastSquaresFit:
        """Released and consistent numbers with simulated errors, computed once."""
        return _fit_least_squares(list(self._tables.values()), self.statistic, self.hierarchy)

    def _members(self) -> Mapping[str, Any]:
        """Return the results of the JSON document by name: a table that is one result, or each result of a table by
        category, since documents are flat."""
        members: dict[str, Any] = {}
        for name, table in self.tables.items():
            parts = dict(table) if isinstance(table, ByCategory) else {}
            members |= {f"{name}: {format_key(key)}": member for key, member in parts.items()} or {name: table}
        return members

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of the data frame, one row for each number of each table.

        Returns:
            ``table``, the category columns by name, ``released`` and ``consistent``, all of one length.
        """
        rows = [(name, table, key) for name, table in self._tables.items() for key in table.keys]
        tables = sorted(self._tables.values(), key=lambda table: -len(table.columns))
        columns = dict.fromkeys(column for table in tables for column in table.columns)
        wider = [level for level in self.hierarchy.levels if level in columns]
        labels = []
        for column in dict.fromkeys((*wider, *columns)):
            categories = [table.format_category(column, key, self.hierarchy) for _, table, key in rows]
            labels.append((column, name_totals(categories)))
        joined = display.join_columns(
            labels, {"released": self.released_values, "consistent": self.values}, reserved=["table"]
        )
        return {"table": [name for name, _, _ in rows], **joined}

    def _column_words(self) -> Mapping[str, display.ColumnWords]:
        """Return title and format of the columns: counts are shown as whole numbers, sums are not.

        Returns:
            Title and format of ``table``, ``released`` and ``consistent``.
        """
        cell_format = display.CellFormat.COUNT if self.statistic == COUNT else display.CellFormat.NUMBER
        names = {"released": ("released", cell_format), "consistent": ("consistent", cell_format)}
        return display.describe_columns(table="table", **names)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the parts with their intervals: in rows, or for histograms as small multiples; return the axes.

        Args:
            shades: Intervals, one row for each number of the result, wider ones first; empty: none.
            how: Privacy statement and axes (`PlotArguments`); the name is not used.
        """
        tables = list(self._tables.values())
        parts_index, _ = _find_parts(tables, self.hierarchy)
        start = sum(len(member.keys) for member in tables[:parts_index])
        part_rows = slice(start, start + len(tables[parts_index].keys))
        label = f"{QUANTITIES[self.statistic]} of {tables[parts_index].members[0].label}"
        rows = [shade.select_rows(part_rows) for shade in shades]
        names = [format_key(key) if key else TOTAL_CATEGORY for key in tables[parts_index].groups]
        if tables[parts_index].grid is not None:
            members = cast("tuple[Histogram, ...]", tables[parts_index].members)
            bars = [_Bars(member, self.values[part_rows], number, rows) for number, member in enumerate(members)]
            return display.draw_small_multiples(names, [member.draw for member in bars], how["privacy"], ax=how["ax"])
        return display.draw_means(names, self.values[part_rows], how["privacy"], label=label, shades=rows, ax=how["ax"])

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields that restore the result with `_from_json`: statistic, tables and hierarchy."""
        tables = [
            {"name": name, "by": list(table.columns), "categories": list(table)}
            if isinstance(table, ByCategory)
            else name
            for name, table in self.tables.items()
        ]
        nested = (
            {"levels": list(self.hierarchy.levels), "nested": self.hierarchy.nested} if self.hierarchy.levels else {}
        )
        return {"consistent": self.statistic, "tables": tables, **nested}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the result from a parsed JSON document, computed again from its releases.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question = document.question
        with refuse_damaged():
            tables = {
                (stored_table if isinstance(stored_table, str) else stored_table["name"]): _parse_table(
                    document, stored_table
                )
                for stored_table in question["tables"]
            }
        tree = CategoryHierarchy(tuple(question.get("levels", ())), question.get("nested", ()))
        return cls(*_check_tables(tables, question["consistent"], tree))

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts that `repr` shows: statistic, numbers of tables and of numbers."""
        return self.statistic, f"{len(self.tables)} tables", f"{len(self.values)} numbers"

    def _summary(self) -> list[tuple[str, str]]:
        """Return pairs of texts: the size of each table, and the p-value of the differences under noise."""
        parts = [(name, f"{len(table.keys)} numbers") for name, table in self._tables.items()]
        return [*parts, ("p-value of the differences under noise", f"{self.p_value:.2g}")]


@check_common_arguments
def make_consistent(
    results: Mapping[str, Table] | Sequence[Table],
    statistic: str = COUNT,
    *,
    levels: Sequence[str] = (),
    nested: Nested = (),
) -> ConsistentTotals:
    """Adjust counts, or sums, of several releases of the same records so that they add up. Costs no budget.

    One of the results has the categories of all columns: the parts. All others are totals: by some of these columns, or
    over everything. Differences between parts and totals are distributed by weighted least squares, by the noise
    variances, which has the smallest variance among unbiased linear estimates (Aitken 1936; as in Hay and others 2010,
    for tables of any margins). Counts are then rounded to non-negative integers that add up as well.

    Columns may also be levels of a hierarchy of any depth: then one result has the categories of the lowest level, and
    other results have the categories of wider levels.

    Args:
        results: Released counts, sums, summaries, two-way tables or histograms, by name or in a list. The cells of
            histograms are categories: all histograms need the same cells, and a count is a total of their cells.
        statistic: ``"count"``, or ``"sum"`` if all results have sums of one column between the same bounds.
        levels: Columns with nested categories, the widest first.
        nested: Their labels: the labels of the first level, each with its child labels, down to lists of the last
            level.

    Returns:
        A `ConsistentTotals`: the numbers of all tables, with intervals.

    Raises:
        ValueError: no result has the categories of all columns, categories differ, two results are from one release, or
            their privacy units differ.
        TypeError: a result is of another kind.

    Formal guarantees: post-processing. *Proof of the intervals.* Let y and z be the released parts and totals, and B
    the matrix with B y = z without noise. The estimate is ``y + K (z - B y)`` with ``K = V B' (W + B V B')^-1``, where
    V and W are the public variances of the noise. Its error is ``e + K (f - B e)`` for the noises e and f, which are
    independent between releases; the simulation draws them independently.

    >>> import dpcurves as dp
    >>> people = {"age": [30, 40, 50] * 1000, "sex": ["F", "M", "M"] * 1000}
    >>> half = dp.PrivacyLoss.pure("0.5")
    >>> with dp.Session(people, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
    ...     parts = session.ask(dp.CountQuestion("age", by=dp.Categories("sex", ("F", "M"))), half)
    ...     total = session.ask(dp.CountQuestion("age"), half)
    >>> fitted = dp.make_consistent({"sex": parts, "everybody": total})
    >>> sum(fitted.table("sex").values()) == fitted.table("everybody")[()]
    True
    """
    if not isinstance(results, Mapping):
        listed = require_sequence("results", results, "a list of results, or a mapping of names to results,")
        results = dict(name_results(listed))
    columns = require_sequence("levels", levels, "a list of columns, as in ['region', 'district'],")
    return ConsistentTotals(*_check_tables(dict(results), statistic, CategoryHierarchy(columns, nested)))


def name_results(results: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return the results by names made of the columns of their categories; repeated names get a number.

    Args:
        results: Results, perhaps by category.
    """
    named: dict[str, Any] = {}
    for result in results:
        table = _to_table(result)
        columns = table.columns if table.grid is None else table.columns[:-1]
        base_name = " by ".join(("total", ", ".join(columns))) if columns else "total"
        number = 2
        name = base_name
        while name in named:
            name = f"{base_name} ({number})"
            number = number + 1
        named[name] = result
    return list(named.items())


def _check_tables(
    tables: Mapping[str, Any], statistic: object, tree: CategoryHierarchy
) -> tuple[dict[str, Any], str, CategoryHierarchy]:
    """Return tables by name, statistic and hierarchy of columns, after checks.

    Args:
        tables: Released results by name.
        statistic: ``count`` or ``sum``.
        tree: Hierarchy of columns.

    Raises:
        InvalidArgument: the tables cannot be made to add up: they differ in unit, columns, cells or bounds, or two are
            of the same release.
    """
    checked = {COUNT: COUNT, SUM: SUM}.get(str(statistic))
    if checked is None:
        raise InvalidArgument("statistic", f"must be {COUNT} or {SUM}, got {describe_value(statistic)}")
    if not tables:
        raise InvalidArgument("results", "at least one result is needed, as in [table, total]")
    converted = {str(name): _to_table(item) for name, item in tables.items()}
    privacies = [item.privacy for item in tables.values()]
    if len({(item.adjacency, item.unit, item.rows_per_unit) for item in privacies}) > 1:
        raise InvalidArgument("results", "the results differ in adjacency or privacy unit: give results of one session")
    grants = [item.grant for item in privacies]
    if len(set(grants)) < len(grants):
        raise InvalidArgument(
            "results",
            "two results are from the same release, so the second adds no information: leave out the margin of "
            "the table",
        )
    cells = [(item.grid.edges.tolist(), item.grid.outside) for item in converted.values() if item.grid is not None]
    if checked == SUM:
        summaries = [summary for item in converted.values() for summary in item.members if isinstance(summary, Summary)]
        sum_facts = {(summary.label, summary.lower, summary.upper, len(summary.evidence) > 1) for summary in summaries}
        if cells or len(sum_facts) > 1 or not next(iter(sum_facts))[-1]:
            raise InvalidArgument(
                "statistic",
                "sums of one column between the same bounds are needed in all results: leave out the others",
            )
    if any(item != cells[0] for item in cells):
        raise InvalidArgument(
            "results", "histograms of one column in the same cells are needed: ask for all on one grid"
        )
    _ = _find_parts(list(converted.values()), tree)  # refuses tables that do not fit together
    members = [f"{name}: {format_key(key)}" for name, item in converted.items() for key in item.groups]
    if len({*members, *converted}) < len(members) + len(converted):
        raise InvalidArgument(
            "results", "two numbers would have the same name: give the tables other names, as in {'by sex': table}"
        )
    return {str(name): item for name, item in tables.items()}, checked, tree


def _to_table(result: object) -> _Table:
    """Return a released result as a table of numbers by category, the form in which totals are made consistent.

    Args:
        result: A released count, sum, summary, histogram or two-way table, perhaps by category.

    Raises:
        WrongArgumentType: the result is of a kind that cannot be made consistent.
    """
    if isinstance(result, Contingency):
        result = result.pairs
    if isinstance(result, Summary):
        return _Table((), ((),), (result,))
    if isinstance(result, Histogram):
        return _histogram_table((), ((),), (result,))
    if isinstance(result, ByCategory):
        keys = tuple(key if isinstance(key, tuple) else (key,) for key in result)
        members = tuple(result.values())
        if all(isinstance(member, Histogram) for member in members):
            return _histogram_table(result.columns, keys, members)
        if isinstance(result, SummaryByCategory):
            return _Table(result.columns, keys, members)
    raise WrongArgumentType(
        "results",
        "only counts, sums, summaries and histograms (also by category) and two-way tables are made consistent: "
        "leave out the others",
    )


def _histogram_table(
    columns: tuple[str, ...], keys: Sequence[tuple[Any, ...]], members: tuple[Histogram, ...]
) -> _Table:
    """Return the table of histograms by category, whose cells are categories of one more column.

    Args:
        columns: Columns of the categories.
        keys: Category of each histogram.
        members: The histograms, on the same grid.
    """
    slots = range(members[0].grid.slots)
    return _Table(
        (*columns, f"cell of {members[0].label}"), tuple((*key, cell) for key in keys for cell in slots), members
    )


def _name_cells(grid: Grid) -> list[str]:
    """Return a label for each cell, such as "0 to 1", and "below" and "above" labels if values outside were counted
    separately.

    Args:
        grid: Grid of the cells.

    >>> _name_cells(Grid(0, 2, cells=2, outside="apart"))
    ['below 0', '0 to 1', '1 to 2', 'above 2']
    """
    edges = [format_number(edge) for edge in grid.edges]
    names = [f"{low} to {high}" for low, high in pairwise(edges)]
    if grid.values is not None:
        names = [format_number(edge) for edge in grid.values]
        edges = [names[0], names[-1]]
    has_outside = grid.outside is Outside.APART
    return [f"below {edges[0]}", *names, f"above {edges[-1]}"] if has_outside else names


class _Bars(NamedTuple):
    """Consistent counts of one histogram in a small picture, with the numbers and bands of all histograms."""

    member: Histogram
    values: FloatArray
    number: int
    shades: Sequence[Any]

    def draw(self, ax: Any) -> Any:
        """Draw the counts of the cells as bars with intervals, without those for values outside of the grid; return
        the axes.

        Args:
            ax: Axes to draw on.
        """
        cells_below = 1 if self.member.grid.outside is Outside.APART else 0  # the cell of values below the grid
        first = self.number * self.member.grid.slots + cells_below
        rows = slice(first, first + self.member.grid.cells)
        shades = [shade.select_rows(rows) for shade in self.shades]
        return display.draw_bars(
            self.member.x, self.values[rows], self.member.privacy, upwards="records per cell", label=self.member.label,
            shades=shades, ax=ax, name=None,
        )  # fmt: skip


def _find_parts(tables: Sequence[_Table], tree: CategoryHierarchy) -> tuple[int, list[IntArray]]:
    """Return which table has the finest categories (the parts), and for each other table which of its totals each part
    belongs to.

    Args:
        tables: All tables.
        tree: Hierarchy of columns.

    Returns:
        Index of the table with all columns; and for each other table the index of the total of each part, shape
            (parts,).

    Raises:
        InvalidArgument: no table has all columns, or categories differ.
    """

    def count_determined_columns(index: int) -> int:
        """Return how many columns of all tables the columns of this table determine.

        Args:
            index: Position of the table among the tables.
        """
        return sum(
            tree.find_determining_column(column, tables[index].columns) is not None
            for other in tables
            for column in other.columns
        )

    parts_index = max(range(len(tables)), key=lambda each: (count_determined_columns(each), len(tables[each].columns)))
    parts = tables[parts_index]
    most_parts = 2**14  # parts, which bounds memory and time
    most_totals = 2**11  # a matrix of totals by parts is inverted
    if len(parts.keys) > most_parts or sum(len(each.keys) for each in tables) - len(parts.keys) > most_totals:
        raise InvalidArgument(
            "results", f"at most {most_parts} parts and {most_totals} totals are allowed: give fewer or coarser tables"
        )
    groups = []
    for number, table in enumerate(tables):
        if number == parts_index:
            continue
        if any(tree.find_determining_column(column, parts.columns) is None for column in table.columns):
            raise InvalidArgument(
                "results", "a result with the categories of all the columns is needed: add a table by all of them"
            )
        numbers = {key: row for row, key in enumerate(table.format_categories(table.columns, tree))}
        categories = parts.format_categories(table.columns, tree)
        if set(categories) != set(numbers):
            raise InvalidArgument(
                "results", "the results differ in the categories of a column: ask for all with the same list"
            )
        groups.append(np.array([numbers[key] for key in categories]))
    return parts_index, groups


class _LeastSquaresFit(NamedTuple):
    """Released and consistent numbers, simulated errors of the latter (draws, numbers), bounds of rounding errors, and
    a p-value.
    """

    released_values: FloatArray
    values: FloatArray
    errors: FloatArray
    rounding: FloatArray
    p_value: float


def _fit_least_squares(tables: Sequence[_Table], statistic: str, tree: CategoryHierarchy) -> _LeastSquaresFit:
    """Return the weighted least-squares estimates of all tables under the condition that totals are sums of parts, with
    simulated errors and the p-value of the differences between the tables.

    Args:
        tables: The tables, one of which has all parts.
        statistic: ``count`` or ``sum``.
        tree: Hierarchy of columns.
    """
    parts_index, groups = _find_parts(tables, tree)
    # 2**24 simulated numbers in all draws together take 128 MB; large tables have 1,000 draws
    draws = min(TUNING.draws, max(1000, 2**24 // sum(len(estimate.keys) for estimate in tables)))
    generator = public_generator(None)
    estimates = [_estimate_numbers(estimate.members, statistic, draws, generator) for estimate in tables]
    value, variance, noise, rounding = estimates[parts_index]
    totals = [estimate for number, estimate in enumerate(estimates) if number != parts_index]
    if not totals:
        return _LeastSquaresFit(value, value, noise, rounding, 1.0)
    gain, scale = _compute_gain(variance, groups, np.concatenate([estimate.variance for estimate in totals]))
    residual = np.concatenate([estimate.value for estimate in totals]) - _sum_by_group(value, groups)
    noises = np.concatenate([estimate.noise for estimate in totals], axis=1) - _sum_by_group(noise, groups)
    parts = value + residual @ gain, noise + noises @ gain, rounding
    sums: list[tuple[FloatArray, ...]] = []
    for group in groups:
        sums.append(tuple(_sum_by_group(estimate, [group]) for estimate in parts))
    values, errors, roundings = zip(*sums[:parts_index], parts, *sums[parts_index:], strict=True)
    noise_statistics = np.einsum("ij,ij->i", noises @ scale, noises)
    return _LeastSquaresFit(
        np.concatenate([estimate.value for estimate in estimates]), np.concatenate(values),
        np.concatenate(errors, axis=1),
        np.concatenate(roundings), monte_carlo_p_value(float(residual @ scale @ residual), noise_statistics),
    )  # fmt: skip


class _Estimates(NamedTuple):
    """Unbiased numbers, (numbers,), the variances of their noise, draws of it, (draws, numbers), and rounding
    bounds.
    """

    value: FloatArray
    variance: FloatArray
    noise: FloatArray
    rounding: FloatArray


def _estimate_numbers(
    members: Sequence[Summary] | Sequence[Histogram], statistic: str, draws: int, generator: np.random.Generator
) -> _Estimates:
    """Return unbiased counts or sums of all members, with the variance and draws of their noise.

    A sum combines a count and a sum of distances from the middle of the bounds.

    Args:
        members: Released results.
        statistic: Which of their numbers is estimated.
        draws: Number of draws of the noise.
        generator: Random numbers of the draws.
    """
    first = members[0]
    if isinstance(first, Histogram):
        return _estimate_cells(cast("Sequence[Histogram]", members), draws, generator)
    members = cast("Sequence[Summary]", members)
    middle = (first.lower + first.upper) / 2
    half = (first.upper - first.lower) / 2
    weights = (1.0,) if statistic == COUNT else (middle, half / HALF_RANGE_STEPS)
    value, variance, rounding = np.zeros((3, len(members)))
    noise = np.zeros((draws, len(members)))
    for column, summary in enumerate(members):
        for weight, evidence in zip(weights, summary.evidence, strict=False):
            value[column] += weight * float(evidence.unbiased_cells[0, 0])
            variance[column] += weight**2 * float(evidence.sums.prefix_variances(evidence.total is not None)[0][-1])
            noise[:, column] += weight * simulate_cell_noise(evidence.sums, evidence.total, draws, generator)[:, 0, 0]
        if statistic == SUM:
            rounding[column] = half / (2 * HALF_RANGE_STEPS) * max(float(summary.evidence[0].unbiased_cells[0, 0]), 0.0)
    return _Estimates(value, variance, noise, rounding)


def _estimate_cells(members: Sequence[Histogram], draws: int, generator: np.random.Generator) -> _Estimates:
    """Return unbiased counts of all cells of all members, with the variance and draws of their noise.

    Args:
        members: Histograms by category, on the same grid.
        draws: Number of draws of the noise.
        generator: Random numbers of the simulation.
    """
    value = np.concatenate([histogram.evidence.unbiased_cells[0] for histogram in members])
    variance = np.repeat([histogram.error**2 for histogram in members], members[0].grid.slots)
    noises = [
        simulate_cell_noise(histogram.evidence.sums, histogram.evidence.total, draws, generator)[:, 0]
        for histogram in members
    ]
    return _Estimates(value, variance, np.concatenate(noises, axis=1), np.zeros_like(value))


def _bound_sums_of_squares(members: Sequence[Summary] | Sequence[Histogram], level: float) -> FloatArray:
    """Return an upper limit of the sum of squared values of each member, shape (members,).

    A value is ``middle + half * v``, with v between -1 and 1. If the sum of ``v**2`` was not released, it is bounded by
    the count.

    Args:
        members: Released results.
        level: Confidence level of each limit.
    """
    limits = list[float]()
    generator = numbered_generator(5)  # the random stream of sums of squares
    for summary in cast("Sequence[Summary]", members):
        released = _sum_of_squares(summary, [float(evidence.unbiased_cells[0, 0]) for evidence in summary.evidence])
        noise = _sum_of_squares(
            summary,
            [
                simulate_cell_noise(evidence.sums, evidence.total, TUNING.draws, generator)[:, 0, 0]
                for evidence in summary.evidence
            ],
        )
        limits.append(max(released, 0.0) + float(upper_quantiles(np.abs(noise)[:, None], level)[0]))
    return np.array(limits)


def _sum_of_squares(summary: Summary, sums: Sequence[Any]) -> Any:
    """Return the sum of squared values, or its upper bound if squares were not released.

    Args:
        summary: Result whose clipping bounds say what the sums stand for.
        sums: Released count, sum of distances from the middle, and perhaps sum of their squares; numbers or arrays of
            draws.

    Returns:
        The sum in squared units of the column, in the form of `sums`.
    """
    middle = (summary.lower + summary.upper) / 2
    half = (summary.upper - summary.lower) / 2
    count, value, *squares = sums
    square = (squares[0] / HALF_RANGE_STEPS**2 + count) / 2 if squares else count
    return middle**2 * count + 2 * middle * half * value / HALF_RANGE_STEPS + half**2 * square


# Non-negative integers that add up, close to least squares.
#
# Parts determine all totals, so any integer parts add up. Top-down rounding keeps totals close to their estimates: the
# grand total is rounded first and distributed among the groups of the next finer totals, then each of these among its
# groups, down to parts (as Abowd and others 2022 do for a census). Totals that are not nested, such as totals of a
# second column, are then improved by moving single records between parts of one group.


def round_parts(parts: FloatArray, groups: Sequence[IntArray], most: int | None = None) -> FloatArray:
    """Return the parts rounded to non-negative integers, (parts,), whose totals stay close to the totals of the parts.

    Args:
        parts: Numbers of parts, which may be negative, (parts,).
        groups: For each table of totals, the index of the total of each part.
        most: The largest grand total; None if it is unlimited.

    >>> round_parts(np.array([1.4, 1.4, 1.4, -0.2]), [np.array([0, 0, 0, 1])]).tolist()
    [2.0, 1.0, 1.0, 0.0]
    """
    nested, crossing = _split_nested_totals(groups)
    total = max(round(float(parts.sum())), 0)
    rounded = np.array([float(total if most is None else min(total, most))])
    group_of_part = np.zeros(len(parts), np.int64)
    for group in (*nested, np.arange(len(parts))):
        values = _sum_by_group(parts, [group])
        next_rounded = np.zeros(int(group.max()) + 1)
        parent = np.zeros(len(next_rounded), np.int64)
        parent[group] = group_of_part
        order = np.argsort(parent, kind="stable")
        for number, children in enumerate(np.split(order, np.searchsorted(parent[order], np.arange(1, len(rounded))))):
            next_rounded[children] = apportion_total(values[children], int(rounded[number]))
        rounded, group_of_part = next_rounded, group
    innermost = nested[-1] if nested else np.zeros(len(parts), np.int64)
    return _move_records(rounded, parts, innermost, crossing)


def apportion_total(values: FloatArray, total: int) -> FloatArray:
    """Return the non-negative integers with this total that are closest to the values in squares, as floats of shape
    ``(values,)``.

    They are the closest real numbers (`project_to_simplex`), rounded down, plus one for those with the largest
    remainders.

    Args:
        values: Numbers to round, which may be negative, (values,).
        total: Sum of the returned integers, at least 0.

    >>> apportion_total(np.array([2.6, 0.6, -3.0]), 3).tolist()
    [3.0, 0.0, 0.0]
    """
    if total <= 0 or not len(values):
        return np.zeros(len(values))
    exact = project_to_simplex(values, float(total))
    integers = np.floor(exact + TUNING.tolerance * total)
    remainders = exact - integers
    incremented = np.argsort(-remainders, kind="stable")[: max(total - int(integers.sum()), 0)]
    integers[incremented] += 1
    return integers


def _split_nested_totals(groups: Sequence[IntArray]) -> tuple[list[IntArray], list[IntArray]]:
    """Divide groupings of parts into a chain, in which each refines the one before, and all groupings that cross the
    chain.

    Args:
        groups: For each grouping the index of the total that each part belongs to, (parts,).

    Returns:
        The nested groupings, each of which refines the one before, and the groupings that cross them.
    """
    nested = list[IntArray]()
    crossing = list[IntArray]()
    for group in sorted(groups, key=lambda totals: int(totals.max())):
        coarse = nested[-1] if nested else np.zeros(len(group), np.int64)
        pairs = len(np.unique(np.stack([group, coarse]), axis=1).T)
        (nested if pairs == int(group.max()) + 1 else crossing).append(group)
    return nested, crossing


def _move_records(
    rounded: FloatArray, parts: FloatArray, innermost: IntArray, crossing: Sequence[IntArray]
) -> FloatArray:
    """Return rounded parts that are closer to the estimates after single records were moved between them.

    Records move between parts of one `innermost` group, as long as this brings parts and `crossing` totals closer to
    their estimates in squares.

    Args:
        rounded: Rounded counts of the parts, shape (parts,).
        parts: Estimates of the parts, shape (parts,).
        innermost: Group of each part, shape (parts,).
        crossing: Other groupings, whose totals may change.

    Returns:
        Rounded counts, (parts,), with the same sum in each group.
    """
    rounded = rounded.copy()
    most_tried = 32  # parts of a group that are tried as source and as target of a move
    for _ in range(500 if crossing else 0):  # largest number of moved records, which bounds the time
        total_excess = [_sum_by_group(rounded - parts, [group]) for group in crossing]
        part_excess = rounded - parts + sum(totals[group] for totals, group in zip(total_excess, crossing, strict=True))
        # Moving a record from part i to part j changes the squares by 2 * (distance - excess_i + excess_j), where the
        # distance is 1 plus the number of tables in which both parts belong to different totals.
        best = 0.0, 0, 0
        for group in np.unique(innermost[np.abs(part_excess) > 0]):
            members = np.flatnonzero(innermost == group)
            sources = members[rounded[members] >= 1]
            if not len(sources):
                continue
            source = sources[np.argsort(-part_excess[sources], kind="stable")[:most_tried]]
            target = members[np.argsort(part_excess[members], kind="stable")[:most_tried]]
            distance = 1.0 + sum((totals[source][:, None] != totals[target]).astype(float) for totals in crossing)
            change = distance - part_excess[source][:, None] + part_excess[target]
            change[source[:, None] == target] = 0.0
            row, column = np.unravel_index(int(np.argmin(change)), change.shape)
            best = min(best, (float(change[row, column]), int(source[row]), int(target[column])))
        if best[0] >= -TUNING.tolerance:
            break
        rounded[best[1]] -= 1
        rounded[best[2]] += 1
    return rounded


def _sum_by_group(values: FloatArray, groups: Sequence[IntArray]) -> FloatArray:
    """Return sums over groups of parts, for each of several groupings.

    Args:
        values: Numbers of the parts, (..., parts).
        groups: For each grouping, the group number of each part, (parts,).

    Returns:
        Sums, (..., totals): the groups of the first grouping, then the groups of the next.
    """
    sums = []
    for group in groups:
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        sums.append(np.add.reduceat(values[..., order], starts, axis=-1))
    return np.concatenate(sums, axis=-1)


def _compute_gain(
    variance: FloatArray, groups: Sequence[IntArray], total_variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the matrices of a generalised least-squares fit of parts to their totals.

    Args:
        variance: Variance of the noise of each part, shape (parts,).
        groups: For each table of totals, the index of the total of each part.
        total_variance: Variance of the noise of each total, shape (totals,).

    Returns:
        Matrix from differences of totals to changes of parts, shape (totals, parts); and the inverse covariance of the
        differences, shape (totals, totals).
    """
    # With the 0/1 matrix B of sums and the diagonal V of variances: the product B V, and then B V B' + W.
    memberships = [np.arange(int(group.max()) + 1)[:, None] == group for group in groups]
    weighted = np.concatenate([membership * variance for membership in memberships])
    scatter = _sum_by_group(weighted, groups) + np.diag(total_variance)
    inverse = np.asarray(np.linalg.pinv(scatter, rcond=TUNING.tolerance, hermitian=True), dtype=np.float64)
    return inverse @ weighted, inverse


def _parse_table(document: display.CurveDocument, description: Any) -> Any:
    """Return one table of a document: a single result, or results by category, as `description` names it.

    Args:
        document: Parsed JSON document with all results.
        description: Name of the only result; or an object with name, columns and categories of several.
    """
    stored = document.arrays["curves"]
    if isinstance(description, str):
        return result_from_json(json.dumps(stored[description]))
    keys = [tuple(key) if isinstance(key, list) else key for key in description["categories"]]
    members = {key: result_from_json(json.dumps(stored[f"{description['name']}: {format_key(key)}"])) for key in keys}
    are_summaries = all(isinstance(member, Summary) for member in members.values())
    kind: type[ByCategory[Any]] = SummaryByCategory if are_summaries else ByCategory
    return kind([str(column) for column in description["by"]], members)
