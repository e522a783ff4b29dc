"""Consistent totals: counts and sums of several releases, changed as little as noise allows so that they add up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple, Self, Unpack, cast

import numpy as np

from .. import display
from ..arguments import InvalidArgument, WrongArgumentType, describe_value, require_probability
from ..arrays import FloatArray, IntArray
from ..conversation import PrivacyStatement
from ..data import Grid, Outside
from ..display import format_number
from ..inference.bands import join_intervals, upper_quantiles
from ..inference.moments import SPENT, mean_intervals, whole_ends
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
from .result import EACH, CompositeResult, PlotArguments, refuse_damaged, result_from_json
from .summary import COUNT, HALF, SUM, Summary, SummaryByCategory

MOST_PARTS, MOST_TOTALS = 2**14, 2**11
DRAWS, NUMBERS = 5000, 2**24
LEAST_DRAWS = 1000
DRAWS_OF_SAMPLES, NUMBERS_OF_SAMPLES = 400, 2**21
"""Draws for intervals of the population, at the least, and about how many numbers are drawn for them."""
SQUARES = 5
"""The stream of draws for the scatter of sums."""
CONTRADICTION = 0.001
EVERYTHING = "all"
TINY = 1e-12
MOST_MOVES, MOST_TRIED = 500, 32
"""Records that are moved at most to bring crossing totals nearer, and parts of a group that are tried for each."""
APART = (
    "these releases differ by more than their noise explains (p-value {chance:.2g}): records of no declared category "
    "are in totals and in no part, or the records changed between them"
)
WORDS = {COUNT: "records", SUM: "sum"}


Table = Summary | SummaryByCategory | Contingency | Histogram | ByCategory[Histogram]
Nested = Mapping[str, Any] | Sequence[Any]
"""Labels of a level, each with those of the level below it: a mapping, or the labels of the last level in a list."""


@dataclass(frozen=True)
class CategoryHierarchy:
    """Columns whose categories lie within each other, as municipalities in districts: every label has one parent.

    Attributes:
        levels: The columns, the widest first.
        nested: The labels of the first level, each with those below it, down to lists of labels of the last level.
        parents: For each level but the first, the parent of each label, by their texts.

    Raises:
        ValueError: there are fewer than two levels, a column stands twice, labels are not nested as deep as levels
            are, or a label has two parents.

    >>> CategoryHierarchy(("region", "district"), {"north": ["a", "b"], "south": ["c"]}).find_ancestor("district", "region", "c")
    'south'
    """

    levels: tuple[str, ...] = ()
    nested: Nested = ()

    def __post_init__(self) -> None:
        if self.levels and (len(self.levels) < 2 or len(set(self.levels)) < len(self.levels)):
            raise InvalidArgument(
                "levels", "two columns or more are needed, the widest first, as in ('region', 'district')"
            )
        if bool(self.levels) != bool(self.nested):
            raise InvalidArgument("nested", "levels and their nested labels are needed together")

    @cached_property
    def parents(self) -> dict[str, dict[str, str]]:
        """For each level but the first, the parent of each label, by their texts."""
        found: dict[str, dict[str, str]] = {level: {} for level in self.levels[1:]}
        below: list[tuple[str, Any]] = [
            (str(label), rest) for label, rest in _list_child_labels(self.nested, self.levels)
        ]
        for depth, level in enumerate(self.levels[1:], 1):
            next_below = list[tuple[str, Any]]()
            for parent, rest in below:
                for label, more in _list_child_labels(rest, self.levels[depth:]):
                    if found[level].setdefault(str(label), parent) != parent:
                        raise InvalidArgument(
                            "nested",
                            f"label {describe_value(label)} of {level!r} lies in two of {self.levels[depth - 1]!r}",
                        )
                    next_below.append((str(label), more))
            below = next_below
        return found

    def find_determining_column(self, column: str, among: Sequence[str]) -> str | None:
        """The column among these that determines this one: itself, or the widest level below it; None if none does."""
        if column in among or column not in self.levels:
            return column if column in among else None
        return next((level for level in self.levels[self.levels.index(column) + 1 :] if level in among), None)

    def find_ancestor(self, below: str, level: str, label: object) -> str:
        """The text of the label of `level` that a label of a level `below` lies in; or this label's own text.

        Raises:
            ValueError: the label is not in the tree.
        """
        text = str(label)
        for column in self.levels[self.levels.index(below) : self.levels.index(level) : -1] if below != level else ():
            if text not in self.parents[column]:
                raise InvalidArgument(
                    "nested", f"label {describe_value(text)} of {column!r} is needed, within one of the level above"
                )
            text = self.parents[column][text]
        return text


def _list_child_labels(nested: Any, levels: Sequence[str]) -> list[tuple[Any, Any]]:
    """Labels of the first of these levels, each with what is nested in it: nothing in the last one."""
    if len(levels) == 1:
        if isinstance(nested, str) or not isinstance(nested, Sequence):
            raise InvalidArgument(
                "nested", f"a list of labels of {levels[0]!r} is needed, got {describe_value(nested)}"
            )
        return [(label, None) for label in nested]
    if not isinstance(nested, Mapping):
        raise InvalidArgument(
            "nested",
            f"labels of {levels[0]!r}, each with those of {levels[1]!r}, are needed, got {describe_value(nested)}",
        )
    return list(nested.items())


NO_TREE = CategoryHierarchy()


class _Table(NamedTuple):
    """Released table as plain numbers: the columns of its categories, these, and the results that the numbers are of.

    The cells of histograms are categories, too: by number, those for values outside of the grid among them.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    members: tuple[Summary, ...] | tuple[Histogram, ...]

    @property
    def grid(self) -> Grid | None:
        """The cells, if it is of histograms."""
        first = self.members[0]
        return first.grid if isinstance(first, Histogram) else None

    @property
    def slots(self) -> int:
        """Numbers of each member."""
        return len(self.keys) // len(self.members)

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The categories of each member."""
        keys = self.keys[:: self.slots]
        return list(keys) if self.grid is None else [key[:-1] for key in keys]

    def format_category(self, column: str, key: tuple[Any, ...], tree: CategoryHierarchy) -> str:
        """The category of a number in one column, which may have been added up."""
        below = tree.find_determining_column(column, self.columns)
        if below is None:
            return EVERYTHING
        label = key[self.columns.index(below)]
        if self.grid is not None and column == self.columns[-1]:
            return str(_name_cells(self.grid)[label])
        return str(label) if below == column else tree.find_ancestor(below, column, label)

    def format_categories(self, columns: Sequence[str], tree: CategoryHierarchy) -> list[tuple[str, ...]]:
        """The categories of each number in these columns, as text; of a wider level those that they lie in."""
        at = [(tree.find_determining_column(column, self.columns), column) for column in columns]
        places = [(self.columns.index(cast("str", below)), below, column) for below, column in at]
        return [
            tuple(
                str(key[place]) if below == column else tree.find_ancestor(cast("str", below), column, key[place])
                for place, below, column in places
            )
            for key in self.keys
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Consistent(CompositeResult):
    """Counts, or sums, of several releases that add up: `dpcurves.consistent` makes it.

    Counts are whole numbers from 0 on that add up, near those of `least_squares`: see `round_parts`. Sums are those of
    least squares. Intervals are for these records and for the population, each on its own.

    Attributes:
        tables: The released tables by their names.
        statistic: ``"count"`` or ``"sum"``.
        hierarchy: Columns whose categories lie within each other.

    Pictures show the parts: totals of them would leave no room.

    Data frame: a row for each number of each table, with its name in the column ``table``, the categories, ``all``
    where a column was added up, the number that was ``released_values`` and the ``consistent`` one. Cells of histograms of
    ``age`` stand in a column ``cell of age``.
    """

    TITLE = "Totals that add up"
    DISTINGUISHING_FACT = "consistent"
    SUPPRESSIBLE_COLUMNS = ("consistent", "released")
    INTERVAL_NAME = EACH

    tables: Mapping[str, Table]
    statistic: str = COUNT
    hierarchy: CategoryHierarchy = NO_TREE

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of all tables together (basic composition)."""
        statements = [each.privacy for each in self.tables.values()]
        first, pure = statements[0], all(each.epsilon is not None for each in statements)
        epsilon = sum(each.epsilon or 0.0 for each in statements) if pure else None
        rho = epsilon**2 / 2 if epsilon is not None else sum(each.rho for each in statements)
        together = replace(
            first, epsilon=epsilon, rho=rho, delta=sum(each.delta for each in statements),
            seeded=any(each.seeded for each in statements), notes=(),
            mechanism="; ".join(dict.fromkeys(each.mechanism for each in statements)),
            grant=", ".join(each.grant for each in statements),
        )  # fmt: skip
        notes = dict.fromkeys(note for each in statements for note in each.notes)
        apart = (APART.format(chance=self.p_value),) if self.p_value <= CONTRADICTION else ()
        return together.with_notes(*notes, *apart)

    @property
    def p_value(self) -> float:
        """The chance that noise alone makes the releases differ as much as they do. One release differs by nothing."""
        return self._least_squares_fit.p_value

    @property
    def released_values(self) -> FloatArray:
        """The released numbers without bias, in the order of the data frame: shape ``(numbers,)``."""
        return self._least_squares_fit.released_values

    @property
    def least_squares(self) -> FloatArray:
        """The numbers by least squares, without bias, in the order of the data frame: shape ``(numbers,)``.

        They add up, but may be negative, and are seldom whole.
        """
        return self._least_squares_fit.values

    @cached_property
    def values(self) -> FloatArray:
        """The consistent numbers, in the order of the data frame: shape ``(numbers,)``. Counts are whole, from 0 on."""
        if self.statistic == SUM:
            return self.least_squares
        tables = list(self._tables.values())
        place, groups = _find_parts(tables, self.hierarchy)
        starts = np.cumsum([0, *(len(each.keys) for each in tables)])
        parts = self.least_squares[starts[place] : starts[place + 1]]
        whole = round_parts(parts, groups, self.privacy.most_records)
        sums = [_sum_by_group(whole, [group]) for group in groups]
        return np.concatenate([*sums[:place], whole, *sums[place:]])

    def table(self, name: str) -> dict[Key, Any]:
        """The consistent numbers of one table, by category; a total is under ``()``.

        For histograms each is an array of the cells, with those of values outside of the grid at its ends, if any.

        Raises:
            ValueError: there is no table of this name.
        """
        if name not in self.tables:
            raise InvalidArgument("name", f"one of {', '.join(map(describe_value, self.tables))} is needed")
        start = 0
        for own, each in self._tables.items():
            end = start + len(each.keys)
            if own == name:
                keys, values = [key[0] if len(key) == 1 else key for key in each.groups], self.values[start:end]
                values = values.astype(np.int64) if self.statistic == COUNT else values
                found = values.tolist() if each.grid is None else values.reshape(-1, each.slots)
                return dict(zip(keys, found, strict=True))
            start = end
        raise AssertionError(name)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Confidence limits of the numbers, each on its own with probability `level`.

        The noise of every release is simulated and goes through the same linear map as the released numbers, so the
        error of a number by least squares has the law of what is simulated. Limits of counts are whole, and not below
        zero; they contain the whole number that stands beside them.

        With `population`, they are for the expected numbers in a sample of this size, which needs independent units of
        one record each. Numbers of a sample add up, so that its deviations pass the map unchanged: they are added to
        the errors by noise. Those of counts are as in `mean_intervals`. Those of sums have the variance of what Poisson
        many records, or of what a public number of independent units, add up to: at most the sum of squares, for whose
        upper limit a tenth of the error chance is spent; where squares were not released, they are at most on the chord
        between the squares of both bounds.

        Returns:
            Of shape ``(numbers, 2)``, in the order of the data frame.
        """
        level, fitted, most = require_probability("level", level), self._least_squares_fit, self.privacy.most_records
        errors = upper_quantiles(np.abs(fitted.errors), level) + fitted.rounding
        exact = self.least_squares
        records = np.stack([exact - errors, exact + errors], axis=1)
        if self.statistic == COUNT:
            records = join_intervals(whole_ends(exact, errors, most), np.stack([self.values] * 2, axis=1))
        if not population:
            return records
        require_independent(self.privacy)
        draws = min(len(fitted.errors), max(DRAWS_OF_SAMPLES, NUMBERS_OF_SAMPLES // len(self.values)))
        moved, units = fitted.errors[:draws], inf if most is None else float(most)
        normal = sampling_generator(None).standard_normal(moved.shape)
        if self.statistic == COUNT:
            return join_intervals(records, mean_intervals(exact, moved, normal, units, level))
        spent = SPENT * (1 - level)
        squares = np.concatenate([_bound_sums_of_squares(each.members, 1 - spent) for each in self._tables.values()])
        spread = np.sqrt(np.maximum(squares - exact**2 / units, 0.0))
        errors = upper_quantiles(np.abs(moved + normal * spread), level + spent) + fitted.rounding
        return join_intervals(records, np.stack([exact - errors, exact + errors], axis=1))

    @cached_property
    def _tables(self) -> dict[str, _Table]:
        return {name: _to_table(each) for name, each in self.tables.items()}

    @cached_property
    def _least_squares_fit(self) -> _LeastSquaresFit:
        return _fit_least_squares(list(self._tables.values()), self.statistic, self.hierarchy)

    def _members(self) -> Mapping[str, Any]:
        """Each table that is one result, and each result of those by category: documents are not nested deeper."""
        found: dict[str, Any] = {}
        for name, each in self.tables.items():
            parts = dict(each) if isinstance(each, ByCategory) else {}
            found |= {f"{name}: {format_key(key)}": one for key, one in parts.items()} or {name: each}
        return found

    def _columns(self) -> Mapping[str, Any]:
        parts = [(name, each, key) for name, each in self._tables.items() for key in each.keys]
        tables = sorted(self._tables.values(), key=lambda each: -len(each.columns))
        used = dict.fromkeys(column for each in tables for column in each.columns)
        wider = [level for level in self.hierarchy.levels if level in used]
        labels = [
            (column, [each.format_category(column, key, self.hierarchy) for _, each, key in parts])
            for column in dict.fromkeys((*wider, *used))
        ]
        joined = display.join_columns(
            labels, {"released": self.released_values, "consistent": self.values}, reserved=["table"]
        )
        return {"table": [name for name, _, _ in parts], **joined}

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        tables = list(self._tables.values())
        place, _ = _find_parts(tables, self.hierarchy)
        start = sum(len(each.keys) for each in tables[:place])
        own = slice(start, start + len(tables[place].keys))
        label = f"{WORDS[self.statistic]} of {tables[place].members[0].label}"
        rows = [shade.select_rows(own) for shade in shades]
        names = [format_key(key) if key else EVERYTHING for key in tables[place].groups]
        if tables[place].grid is not None:
            members = cast("tuple[Histogram, ...]", tables[place].members)
            bars = [_Bars(each, self.values[own], number, rows) for number, each in enumerate(members)]
            return display.draw_small_multiples(names, [each.draw for each in bars], how["privacy"], ax=how["ax"])
        return display.draw_means(names, self.values[own], how["privacy"], label=label, shades=rows, ax=how["ax"])

    def _question(self) -> Mapping[str, object]:
        tables = [
            {"name": name, "by": list(each.columns), "categories": list(each)} if isinstance(each, ByCategory) else name
            for name, each in self.tables.items()
        ]
        nested = (
            {"levels": list(self.hierarchy.levels), "nested": self.hierarchy.nested} if self.hierarchy.levels else {}
        )
        return {"consistent": self.statistic, "tables": tables, **nested}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        question = document.question
        with refuse_damaged():
            tables = {
                (each if isinstance(each, str) else each["name"]): _parse_table(document, each)
                for each in question["tables"]
            }
        tree = CategoryHierarchy(tuple(question.get("levels", ())), question.get("nested", ()))
        return cls(*_check_tables(tables, question["consistent"], tree))

    def _repr_facts(self) -> tuple[str, ...]:
        return self.statistic, f"{len(self.tables)} tables", f"{len(self.values)} numbers"

    def _summary(self) -> list[tuple[str, str]]:
        parts = [(name, f"{len(each.keys)} numbers") for name, each in self._tables.items()]
        return [*parts, ("p-value of what noise explains", f"{self.p_value:.2g}")]


def consistent(
    results: Mapping[str, Table] | Sequence[Table],
    statistic: str = COUNT,
    *,
    levels: Sequence[str] = (),
    nested: Nested = (),
) -> Consistent:
    """Counts, or sums, of several releases of the same records that add up. Spends nothing.

    One of the results has the categories of all columns: the parts. All others are totals of them: by some of these
    columns, or of everything. What parts and totals differ by is shared by weighted least squares, each by its
    variance: no other linear estimate without bias has less of it (Aitken 1936; as in Hay and others 2010, for tables
    of any margins). Counts are then rounded to whole numbers, from 0 on, which add up as well.

    Columns may also be levels of a tree of any depth: then one result has the categories of the lowest level, and
    others those of wider ones.

    Args:
        results: Released counts, sums, summaries, two-way tables or histograms, by name or in a list. The cells of
            histograms are categories: all histograms need the same ones, and a count is a total of their cells.
        statistic: ``"count"``, or ``"sum"`` where all results have sums of one column between the same bounds.
        levels: Columns whose categories lie within each other, the widest first.
        nested: Their labels: those of the first level, each with those below it, down to lists of the last level.

    Returns:
        A `Consistent`: the numbers of all tables, with intervals.

    Raises:
        ValueError: no result has the categories of all, categories differ, two results are from one release, or they
            protect differently.
        TypeError: a result is of another kind.

    Formal guarantees: post-processing. *Proof of the intervals.* Let y and z be the released parts and totals, and B
    the matrix with B y = z without noise. The estimate is ``y + K (z - B y)`` with ``K = V B' (W + B V B')^-1``, where
    V and W are the variances of the noise, which are public: its error is ``e + K (f - B e)``, of the noises e and f
    alone, which are independent between releases, and is simulated as such.

    >>> import dpcurves as dp
    >>> people = {"age": [30, 40, 50] * 1000, "sex": ["F", "M", "M"] * 1000}
    >>> half = dp.PrivacyLoss.pure("0.5")
    >>> with dp.Session(people, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
    ...     parts = session.ask(dp.CountQuestion("age", by=dp.Categories("sex", ("F", "M"))), half)
    ...     total = session.ask(dp.CountQuestion("age"), half)
    >>> fitted = dp.consistent({"sex": parts, "everybody": total})
    >>> sum(fitted.table("sex").values()) == fitted.table("everybody")[()]
    True
    """
    if not isinstance(results, Mapping):
        results = dict(name_results(list(results)))
    return Consistent(*_check_tables(dict(results), statistic, CategoryHierarchy(tuple(levels), nested)))


def name_results(results: Sequence[Any]) -> list[tuple[str, Any]]:
    """Results by the columns of their categories; a second one of the same columns has a number."""
    found: dict[str, Any] = {}
    for each in results:
        read = _to_table(each)
        own = read.columns if read.grid is None else read.columns[:-1]
        word, number = " by ".join(("total", ", ".join(own))) if own else "total", 2
        name = word
        while name in found:
            name, number = f"{word} ({number})", number + 1
        found[name] = each
    return list(found.items())


def _check_tables(
    tables: Mapping[str, Any], statistic: object, tree: CategoryHierarchy
) -> tuple[dict[str, Any], str, CategoryHierarchy]:
    """The tables and the statistic, if these can be made to add up."""
    word = {COUNT: COUNT, SUM: SUM}.get(str(statistic))
    if word is None:
        raise InvalidArgument("statistic", f"{COUNT} or {SUM} is needed: these add up, got {describe_value(statistic)}")
    if not tables:
        raise InvalidArgument("results", "at least one is needed")
    read = {str(name): _to_table(each) for name, each in tables.items()}
    privacies = [each.privacy for each in tables.values()]
    if len({(each.adjacency, each.unit, each.rows_per_unit) for each in privacies}) > 1:
        raise InvalidArgument("results", "results of one session are needed: these protect differently")
    grants = [each.grant for each in privacies]
    if len(set(grants)) < len(grants):
        raise InvalidArgument(
            "results", "two are from one release: a margin of a table tells nothing more than the table"
        )
    cells = [(each.grid.edges.tolist(), each.grid.outside) for each in read.values() if each.grid is not None]
    if word == SUM:
        summed = [one for each in read.values() for one in each.members if isinstance(one, Summary)]
        kinds = {(one.label, one.lower, one.upper, len(one.evidence) > 1) for one in summed}
        if cells or len(kinds) > 1 or not next(iter(kinds))[-1]:
            raise InvalidArgument("statistic", "sums of one column between the same bounds are needed in all results")
    if any(each != cells[0] for each in cells):
        raise InvalidArgument("results", "histograms of one column in the same cells are needed")
    _ = _find_parts(list(read.values()), tree)
    members = [f"{name}: {format_key(key)}" for name, each in read.items() for key in each.groups]
    if len({*members, *read}) < len(members) + len(read):
        raise InvalidArgument("results", "two numbers would have one name: call the tables otherwise")
    return {str(name): each for name, each in tables.items()}, word, tree


def _to_table(result: object) -> _Table:
    if isinstance(result, Contingency):
        result = result.pairs
    if isinstance(result, Summary):
        return _Table((), ((),), (result,))
    if isinstance(result, Histogram):
        return _histogram_table((), ((),), (result,))
    if isinstance(result, ByCategory):
        keys = tuple(key if isinstance(key, tuple) else (key,) for key in result)
        members = tuple(result.values())
        if all(isinstance(each, Histogram) for each in members):
            return _histogram_table(result.columns, keys, members)
        if isinstance(result, SummaryByCategory):
            return _Table(result.columns, keys, members)
    raise WrongArgumentType(
        "results", "counts, sums, summaries, histograms, those by category and two-way tables are made consistent"
    )


def _histogram_table(
    columns: tuple[str, ...], keys: Sequence[tuple[Any, ...]], members: tuple[Histogram, ...]
) -> _Table:
    slots = range(members[0].grid.slots)
    return _Table(
        (*columns, f"cell of {members[0].label}"), tuple((*key, cell) for key in keys for cell in slots), members
    )


def _name_cells(grid: Grid) -> list[str]:
    """A name of each cell, and of what is counted apart.

    >>> _name_cells(Grid(0, 2, cells=2, outside="apart"))
    ['below 0', '0 to 1', '1 to 2', 'above 2']
    """
    edges = [format_number(each) for each in grid.edges]
    names = [f"{low} to {high}" for low, high in pairwise(edges)]
    if grid.values is not None:
        names = [format_number(each) for each in grid.values]
        edges = [names[0], names[-1]]
    apart = grid.outside is Outside.APART
    return [f"below {edges[0]}", *names, f"above {edges[-1]}"] if apart else names


class _Bars(NamedTuple):
    """Consistent counts of one histogram in a small picture: of the numbers of all members, and the bands of them."""

    member: Histogram
    values: FloatArray
    number: int
    shades: Sequence[Any]

    def draw(self, ax: Any) -> Any:
        """Its cells, without those for values outside of the grid."""
        first = self.number * self.member.grid.slots + (self.member.grid.outside is Outside.APART)
        own = slice(first, first + self.member.grid.cells)
        shades = [each.select_rows(own) for each in self.shades]
        return display.draw_bars(
            self.member.x, self.values[own], self.member.privacy, upwards="records per cell", label=self.member.label,
            shades=shades, ax=ax, name=None,
        )  # fmt: skip


def _find_parts(tables: Sequence[_Table], tree: CategoryHierarchy) -> tuple[int, list[IntArray]]:
    """The number of the table with all columns, and of each other one the number of the total that each part is in."""

    def count_determined_columns(place: int) -> int:
        return sum(
            tree.find_determining_column(column, tables[place].columns) is not None
            for each in tables
            for column in each.columns
        )

    place = max(range(len(tables)), key=lambda each: (count_determined_columns(each), len(tables[each].columns)))
    parts = tables[place]
    if len(parts.keys) > MOST_PARTS or sum(len(each.keys) for each in tables) - len(parts.keys) > MOST_TOTALS:
        raise InvalidArgument("results", f"at most {MOST_PARTS} parts and {MOST_TOTALS} totals are made consistent")
    found = []
    for number, table in enumerate(tables):
        if number == place:
            continue
        if any(tree.find_determining_column(column, parts.columns) is None for column in table.columns):
            raise InvalidArgument("results", "one result with the categories of all the columns is needed")
        numbers = {key: row for row, key in enumerate(table.format_categories(table.columns, tree))}
        own = parts.format_categories(table.columns, tree)
        if set(own) != set(numbers):
            raise InvalidArgument("results", "the same categories are needed in all results")
        found.append(np.array([numbers[key] for key in own]))
    return place, found


class _LeastSquaresFit(NamedTuple):
    """Released and consistent numbers, simulated errors of the latter (draws, numbers), and what rounding may add."""

    released_values: FloatArray
    values: FloatArray
    errors: FloatArray
    rounding: FloatArray
    p_value: float


def _fit_least_squares(tables: Sequence[_Table], statistic: str, tree: CategoryHierarchy) -> _LeastSquaresFit:
    place, groups = _find_parts(tables, tree)
    draws = min(DRAWS, max(LEAST_DRAWS, NUMBERS // sum(len(each.keys) for each in tables)))
    draw = public_generator(None)
    estimates = [_estimate_numbers(each.members, statistic, draws, draw) for each in tables]
    value, variance, noise, rounding = estimates[place]
    totals = [each for number, each in enumerate(estimates) if number != place]
    if not totals:
        return _LeastSquaresFit(value, value, noise, rounding, 1.0)
    gain, scale = _compute_gain(variance, groups, np.concatenate([each.variance for each in totals]))
    residual = np.concatenate([each.value for each in totals]) - _sum_by_group(value, groups)
    noises = np.concatenate([each.noise for each in totals], axis=1) - _sum_by_group(noise, groups)
    parts = value + residual @ gain, noise + noises @ gain, rounding
    sums: list[tuple[FloatArray, ...]] = [tuple(_sum_by_group(each, [group]) for each in parts) for group in groups]
    values, errors, roundings = zip(*sums[:place], parts, *sums[place:], strict=True)
    by_noise = np.einsum("ij,ij->i", noises @ scale, noises)
    return _LeastSquaresFit(
        np.concatenate([each.value for each in estimates]), np.concatenate(values), np.concatenate(errors, axis=1),
        np.concatenate(roundings), monte_carlo_p_value(float(residual @ scale @ residual), by_noise),
    )  # fmt: skip


class _Estimates(NamedTuple):
    """Numbers without bias, (numbers,), the variances of their noise, draws of it, (draws, numbers), and roundings."""

    value: FloatArray
    variance: FloatArray
    noise: FloatArray
    rounding: FloatArray


def _estimate_numbers(
    members: Sequence[Summary] | Sequence[Histogram], statistic: str, draws: int, draw: np.random.Generator
) -> _Estimates:
    """Numbers of all members: counts, or sums, each of which a count and a sum of distances from the middle make."""
    first = members[0]
    if isinstance(first, Histogram):
        return _estimate_cells(cast("Sequence[Histogram]", members), draws, draw)
    members = cast("Sequence[Summary]", members)
    middle, half = (first.lower + first.upper) / 2, (first.upper - first.lower) / 2
    weights = (1.0,) if statistic == COUNT else (middle, half / HALF)
    value, variance, rounding = np.zeros((3, len(members)))
    noise = np.zeros((draws, len(members)))
    for column, one in enumerate(members):
        for weight, turn in zip(weights, one.evidence, strict=False):
            value[column] += weight * float(turn.unbiased_cells[0, 0])
            variance[column] += weight**2 * float(turn.sums.prefix_variances(turn.total is not None)[0][-1])
            noise[:, column] += weight * simulate_cell_noise(turn.sums, turn.total, draws, draw)[:, 0, 0]
        if statistic == SUM:
            rounding[column] = half / (2 * HALF) * max(float(one.evidence[0].unbiased_cells[0, 0]), 0.0)
    return _Estimates(value, variance, noise, rounding)


def _estimate_cells(members: Sequence[Histogram], draws: int, draw: np.random.Generator) -> _Estimates:
    """Counts of all cells of all members."""
    value = np.concatenate([each.evidence.unbiased_cells[0] for each in members])
    variance = np.repeat([each.error**2 for each in members], members[0].grid.slots)
    noises = [simulate_cell_noise(each.evidence.sums, each.evidence.total, draws, draw)[:, 0] for each in members]
    return _Estimates(value, variance, np.concatenate(noises, axis=1), np.zeros_like(value))


def _bound_sums_of_squares(members: Sequence[Summary] | Sequence[Histogram], level: float) -> FloatArray:
    """Upper limits of the sums of squared values, each with chance `level`: (members,).

    A value is ``middle + half * v``, with v between -1 and 1. Where the sum of ``v**2`` was not released it is at most
    the count.
    """
    found, draw = list[float](), numbered_generator(SQUARES)
    for one in cast("Sequence[Summary]", members):
        released = _sum_of_squares(one, [float(turn.unbiased_cells[0, 0]) for turn in one.evidence])
        noise = _sum_of_squares(
            one, [simulate_cell_noise(turn.sums, turn.total, DRAWS, draw)[:, 0, 0] for turn in one.evidence]
        )
        found.append(max(released, 0.0) + float(upper_quantiles(np.abs(noise)[:, None], level)[0]))
    return np.array(found)


def _sum_of_squares(one: Summary, sums: Sequence[Any]) -> Any:
    """The sum of squared values, or the most that it can be, from what was released of these values."""
    middle, half = (one.lower + one.upper) / 2, (one.upper - one.lower) / 2
    count, value, *others = sums
    square = (others[0] / HALF**2 + count) / 2 if others else count
    return middle**2 * count + 2 * middle * half * value / HALF + half**2 * square


# Whole numbers from 0 on that add up, near those of least squares.
#
# Parts decide all totals, so any whole parts add up. What keeps totals near theirs is the order: the total of all is
# rounded first and shared among the groups of the next finer totals, each of these among the groups within it, down to
# parts (top-down, as Abowd and others 2022 do for a census). Totals that do not lie within the others, as those of a
# second column, are then brought nearer by moving single records between parts of one group.


def round_parts(parts: FloatArray, groups: Sequence[IntArray], most: int | None = None) -> FloatArray:
    """Round parts to whole numbers from 0 on whose totals are near those of these parts: of the same shape.

    Args:
        parts: Numbers of parts, which may be negative, (parts,).
        groups: For each table of totals, the number of the total that each part is in.
        most: The largest number of all together; None: there is none.

    >>> round_parts(np.array([1.4, 1.4, 1.4, -0.2]), [np.array([0, 0, 0, 1])]).tolist()
    [2.0, 1.0, 1.0, 0.0]
    """
    finer, across = _split_nested_totals(groups)
    total = max(round(float(parts.sum())), 0)
    whole, of_group = np.array([float(total if most is None else min(total, most))]), np.zeros(len(parts), np.int64)
    for group in (*finer, np.arange(len(parts))):
        values, shared = _sum_by_group(parts, [group]), np.zeros(int(group.max()) + 1)
        parent = np.zeros(len(shared), np.int64)
        parent[group] = of_group
        order = np.argsort(parent, kind="stable")
        for number, children in enumerate(np.split(order, np.searchsorted(parent[order], np.arange(1, len(whole))))):
            shared[children] = apportion_total(values[children], int(whole[number]))
        whole, of_group = shared, group
    within = finer[-1] if finer else np.zeros(len(parts), np.int64)
    return _move_records(whole, parts, within, across)


def apportion_total(values: FloatArray, total: int) -> FloatArray:
    """The whole numbers from 0 on with this total that are nearest to the values, in squares: of their shape.

    They are the nearest real ones (`project_to_simplex`), rounded down, and one more for those with the largest rests.

    >>> apportion_total(np.array([2.6, 0.6, -3.0]), 3).tolist()
    [3.0, 0.0, 0.0]
    """
    if total <= 0 or not len(values):
        return np.zeros(len(values))
    exact = project_to_simplex(values, float(total))
    whole = np.floor(exact + TINY * total)
    rest = exact - whole
    more = np.argsort(-rest, kind="stable")[: max(total - int(whole.sum()), 0)]
    whole[more] += 1
    return whole


def _split_nested_totals(groups: Sequence[IntArray]) -> tuple[list[IntArray], list[IntArray]]:
    """Totals of which each lies within the one before, from few to many, and all others."""
    finer, across = list[IntArray](), list[IntArray]()
    for group in sorted(groups, key=lambda each: int(each.max())):
        coarse = finer[-1] if finer else np.zeros(len(group), np.int64)
        pairs = len(np.unique(np.stack([group, coarse]), axis=1).T)
        (finer if pairs == int(group.max()) + 1 else across).append(group)
    return finer, across


def _move_records(whole: FloatArray, parts: FloatArray, within: IntArray, across: Sequence[IntArray]) -> FloatArray:
    """Move records between parts of a group as long as that brings parts and totals nearer, in squares."""
    whole = whole.copy()
    for _ in range(MOST_MOVES if across else 0):
        excess = [_sum_by_group(whole - parts, [group]) for group in across]
        above = whole - parts + sum(each[group] for each, group in zip(excess, across, strict=True))
        # A record that moves from part i to part j changes the squares by 2 * (apart - above_i + above_j), where apart
        # is 1 and the number of tables in which both parts are of different totals.
        best = 0.0, 0, 0
        for group in np.unique(within[np.abs(above) > 0]):
            own = np.flatnonzero(within == group)
            given = own[whole[own] >= 1]
            if not len(given):
                continue
            source = given[np.argsort(-above[given], kind="stable")[:MOST_TRIED]]
            target = own[np.argsort(above[own], kind="stable")[:MOST_TRIED]]
            apart = 1.0 + sum((each[source][:, None] != each[target]).astype(float) for each in across)
            change = apart - above[source][:, None] + above[target]
            change[source[:, None] == target] = 0.0
            row, column = np.unravel_index(int(np.argmin(change)), change.shape)
            best = min(best, (float(change[row, column]), int(source[row]), int(target[column])))
        if best[0] >= -TINY:
            break
        whole[best[1]] -= 1
        whole[best[2]] += 1
    return whole


def _sum_by_group(values: FloatArray, groups: Sequence[IntArray]) -> FloatArray:
    """The totals of parts, (..., parts) to (..., totals), one group of totals behind the other."""
    sums = []
    for group in groups:
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        sums.append(np.add.reduceat(values[..., order], starts, axis=-1))
    return np.concatenate(sums, axis=-1)


def _compute_gain(
    variance: FloatArray, groups: Sequence[IntArray], of_totals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The matrix by which differences of totals change parts, (totals, parts), and that which scales differences."""
    weighted = np.concatenate(
        [(np.arange(int(group.max()) + 1)[:, None] == group) * variance for group in groups]
    )  # B V
    scatter = _sum_by_group(weighted, groups) + np.diag(of_totals)
    inverse = np.asarray(np.linalg.pinv(scatter, rcond=TINY, hermitian=True), dtype=np.float64)
    return inverse @ weighted, inverse


def _parse_table(document: display.CurveDocument, told: Any) -> Any:
    """The table that a document tells of: a result of its own, or numbers by category."""
    stored = document.arrays["curves"]
    if isinstance(told, str):
        return result_from_json(json.dumps(stored[told]))
    keys = [tuple(key) if isinstance(key, list) else key for key in told["categories"]]
    members = {key: result_from_json(json.dumps(stored[f"{told['name']}: {format_key(key)}"])) for key in keys}
    summed = all(isinstance(each, Summary) for each in members.values())
    kind: type[ByCategory[Any]] = SummaryByCategory if summed else ByCategory
    return kind([str(column) for column in told["by"]], members)
