"""Pairs of tiny neighbouring data sets on which an audit calls a release.

Each function makes a family for one type of data:

    values        one column of numbers
    scores        labels and scores
    units         units with several records, for contribution bounds
    categories    one column of texts
    answers       exact answers of counting queries, for threshold mechanisms
    pairs         pairs given by the caller

Faults of releases often show on unusual data only. So the families have ties, values at edges and just beside them,
empty tables, NaN, infinities and huge numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, nan, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, describe_value, require_type
from dpcurves.privacy import Neighbours

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
Floats = NDArray[np.float64]
LARGE_VALUE = 1e308
"""Value near the largest double: the sum of two overflows to infinity."""
UNUSUAL_VALUES = (nan, inf, -inf, LARGE_VALUE, -LARGE_VALUE, 5e-324, -0.0)  # the smallest positive double
"""Values of records that arithmetic or a parser may treat specially: not a number, infinite, largest, smallest, minus
0."""


@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two neighbouring data sets.

    Attributes:
        name: Description of their difference.
        left: The first data set, as the release takes it.
        right: The second data set.
    """

    name: str
    left: Any
    right: Any

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class NeighbouringDatasets:
    """A family: pairs of neighbouring data sets of one type.

    Attributes:
        name: Description of the data.
        adjacency: Add-remove or replace-one; it holds in each pair.
        pairs: The pairs. Those that distinguish best come first, because a short audit tries only these.
    """

    name: str
    adjacency: Neighbours
    pairs: tuple[NeighbourPair, ...]

    def with_pairs(self, *pairs: NeighbourPair) -> NeighbouringDatasets:
        """Return this family with further pairs, which are tried first.

        Args:
            pairs: Pairs under the same adjacency.
        """
        return replace(self, pairs=(*pairs, *self.pairs))

    def take_first(self, number: int) -> NeighbouringDatasets:
        """Return the family reduced to its first `number` pairs of neighbouring data sets."""
        return replace(self, pairs=self.pairs[:number])


def pairs(datasets: Iterable[tuple[Any, Any]], *, adjacency: Neighbours, name: str = "pairs") -> NeighbouringDatasets:
    """Return a family of neighbouring data sets from pairs that the caller supplies.

    Args:
        datasets: Pairs of neighbouring data sets, as the release takes them.
        adjacency: The relation that holds in each pair.
        name: Name of the family, in reports.

    Raises:
        ValueError: there is no pair.

    >>> pairs([([], [1]), ([1], [1, 1])], adjacency=ADD_REMOVE).pairs[1].name
    'pair 2'
    """
    named_pairs = tuple(
        NeighbourPair(f"pair {number}", left, right) for number, (left, right) in enumerate(datasets, start=1)
    )
    if not named_pairs:
        raise InvalidArgument(
            "family",
            "at least one pair of neighbouring data sets is needed, as audit.families.values(edges, "
            "adjacency=...) gives",
        )
    return NeighbouringDatasets(name, _require_adjacency(adjacency), named_pairs)


def values(edges: Sequence[float] | Floats, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Return a family of tables with one column of numbers, as float64 arrays.

    Values lie in the middle of cells, at edges, beside them, far away, and are tied or special.

    Args:
        edges: The increasing edges of public cells; or the bounds of a sum.
        adjacency: Add-remove or replace-one.

    Raises:
        ValueError: there are fewer than two edges, or they do not increase.

    >>> family = values([0, 0.5, 1], adjacency=ADD_REMOVE)
    >>> family.pairs[0].name, family.pairs[0].left.tolist(), family.pairs[0].right.tolist()
    ('0.75 joins an empty table', [], [0.75])
    """
    bounds = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(bounds)]
    equal_values = [middles[len(middles) // 2]] * 3
    near = sorted({step for edge in _pick_few(bounds) for step in (nextafter(edge, -inf), edge, nextafter(edge, inf))})
    far = [bounds[0] - (bounds[-1] - bounds[0]), bounds[-1] + (bounds[-1] - bounds[0])]
    last = bounds[-1]  # has the largest effect on sums
    name = f"values at {len(bounds)} edges from {bounds[0]:g} to {bounds[-1]:g}"

    def make_table(*columns: Sequence[float]) -> Floats:
        """Return the values of several lists as one column of doubles."""
        return np.array([value for part in columns for value in part], dtype=np.float64)

    def add_records() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one added value: ordinary, tied, at edges, far away and special."""
        bases = {"an empty table": [], "three equal values": equal_values, "one value of each cell": _pick_few(middles)}
        for description, base in bases.items():
            for value in (middles[-1], last, middles[0]):
                yield NeighbourPair(f"{value:g} joins {description}", make_table(base), make_table(base, [value]))
        yield NeighbourPair(
            f"{equal_values[0]:g} joins values at all edges",
            make_table(_pick_few(bounds), _pick_few(bounds)),
            make_table(_pick_few(bounds), _pick_few(bounds), equal_values[:1]),
        )
        for value in (*near, *far, *UNUSUAL_VALUES):
            yield NeighbourPair(f"{value!r} joins an empty table", make_table([]), make_table([value]))
            yield NeighbourPair(
                f"{value!r} joins three equal values", make_table(equal_values), make_table(equal_values, [value])
            )

    def replace_records() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one replaced value: ordinary, tied, at edges, far away and special."""
        outer_middles = (middles[0], middles[-1])
        outer_edges = (bounds[0], last)
        some_middles = _pick_few(middles)
        steps = list(pairwise(_pick_few(middles)))
        for description, base in {
            "alone": [],
            "beside three equal values": equal_values,
            "beside one of each cell": some_middles,
        }.items():
            for old, new in (outer_middles, outer_edges, *steps):
                yield NeighbourPair(
                    f"{old:g} becomes {new:g}, {description}", make_table(base, [old]), make_table(base, [new])
                )
        for old, new in (*pairwise(near), *((middles[0], value) for value in (*far, *UNUSUAL_VALUES))):
            yield NeighbourPair(f"{old!r} becomes {new!r}, alone", make_table([old]), make_table([new]))
            yield NeighbourPair(
                f"{old!r} becomes {new!r}, beside three equal values",
                make_table(equal_values, [old]),
                make_table(equal_values, [new]),
            )

    return _choose_pairs(name, adjacency, add_records(), replace_records())


def scores(edges: Sequence[float] | Floats, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Return a family of tables with labels (0 or 1) and scores: a dictionary of columns ``label`` and ``score``.

    Neighbours differ in a score, in a label, or in both. Records are tied, of one class alone, or at edges.

    Args:
        edges: The increasing edges of the cells of scores.
        adjacency: Add-remove or replace-one.

    Raises:
        ValueError: there are fewer than two edges, or they do not increase.

    >>> scores([0, 0.5, 1], adjacency=REPLACE_ONE).pairs[0].name
    'label 0 at 0.25 becomes label 1 at 0.75, alone'
    """
    bounds = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(bounds)]
    low, high = middles[0], middles[-1]
    two_classes: list[tuple[float, float]] = [(0, low), (1, high)]
    tied: list[tuple[float, float]] = [(0, low), (1, low), (0, low)]

    def make_table(rows: Sequence[tuple[float, float]]) -> dict[str, NDArray[Any]]:
        """Convert labels and scores of records to a table with the columns ``label`` and ``score``.

        Args:
            rows: Label and score of each record.

        Returns:
            Columns ``label`` (integers, unless a label is neither 0 nor 1) and ``score``.
        """
        labels = np.array([row[0] for row in rows], dtype=np.int64 if all(row[0] in (0, 1) for row in rows) else float)
        return {"label": labels, "score": np.array([row[1] for row in rows], dtype=np.float64)}

    bases: dict[str, list[tuple[float, float]]] = {
        "alone": [], "beside one of each class": two_classes, "beside tied scores": tied,
        "beside three positives": [(1, high)] * 3,
    }  # fmt: skip
    special_scores = (*_pick_few(bounds), *(nextafter(edge, -inf) for edge in _pick_few(bounds)), *UNUSUAL_VALUES)

    def add_records() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one added label and score; the shorter table comes first."""
        for context, base in bases.items():
            for label, score in ((1, high), (0, low), (1, low), (0, high)):
                yield NeighbourPair(
                    f"label {label} at {score:g} joins, {context}",
                    make_table(base),
                    make_table([*base, (label, score)]),
                )
        for score in special_scores:
            yield NeighbourPair(f"label 1 at {score!r} joins, alone", make_table([]), make_table([(1, score)]))
        yield NeighbourPair("a label of neither class joins, alone", make_table([]), make_table([(7, low)]))

    def replace_records() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one replaced label, score, or both."""
        changes = (((0, low), (1, high)), ((0, low), (1, low)), ((1, low), (1, high)), ((0, low), (0, high)))
        for context, base in bases.items():
            for old, new in changes:
                name = f"label {old[0]} at {old[1]:g} becomes label {new[0]} at {new[1]:g}, {context}"
                yield NeighbourPair(name, make_table([*base, old]), make_table([*base, new]))
        for score in special_scores:
            yield NeighbourPair(
                f"label 1 at {low:g} becomes {score!r}, alone", make_table([(1, low)]), make_table([(1, score)])
            )
        yield NeighbourPair(
            "label 1 becomes one of neither class, alone", make_table([(1, low)]), make_table([(7, low)])
        )

    return _choose_pairs(f"labels and scores at {len(bounds)} edges", adjacency, add_records(), replace_records())


def units(edges: Sequence[float] | Floats, rows_per_unit: int, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Return a family of tables whose units have several records: a dictionary of columns ``value`` and ``unit``.

    A unit has as many records as the contribution bound, or more. They lie in one cell or in several, first or last in
    the table, alone or between the records of other units.

    Args:
        edges: The increasing edges of the cells of values.
        rows_per_unit: The contribution bound of the release.
        adjacency: Add-remove or replace-one, of units.

    Raises:
        ValueError: there are fewer than two edges, or they do not increase.

    >>> units([0, 1, 2], 2, adjacency=ADD_REMOVE).pairs[0].right["unit"].tolist()
    ['a', 'a']
    """
    at = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(at)]
    low, high = middles[0], middles[-1]
    cap = rows_per_unit
    others: list[tuple[str, float]] = [(unit, low) for unit in "bc" for _ in range(cap + 1)]

    def make_table(rows: Sequence[tuple[str, float]]) -> dict[str, NDArray[Any]]:
        """Convert records of units to a table with the columns ``unit`` and ``value``.

        Args:
            rows: Unit and value of each record.

        Returns:
            Columns ``value`` and ``unit``.
        """
        return {
            "value": np.array([value for _, value in rows], dtype=np.float64),
            "unit": np.array([unit for unit, _ in rows], dtype=np.str_),
        }

    def make_rows(number: int, *values: float) -> list[tuple[str, float]]:
        """Return `number` records of one unit, with these values in turn.

        Args:
            number: Number of records.
            values: Values, which are repeated in turn.

        Returns:
            Pairs of the unit's name and a value.
        """
        return [("a", values[index % len(values)]) for index in range(number)]

    def interleave_rows(rows: list[tuple[str, float]]) -> list[tuple[str, float]]:
        """Return the records of all units, with the rows of this unit between records of other units."""
        interleaved = [*others]
        for index, row in enumerate(rows):
            interleaved.insert(2 * index, row)
        return interleaved

    layouts = {
        "in one cell": [high], "in two cells": [low, high], "across all cells": list(_pick_few(middles)),
    }  # fmt: skip

    def add_units() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one added unit, of as many records as the bound, more, or one; the shorter table
        comes first.
        """
        for number in (cap, cap + 1, 3 * cap, 1):
            for layout, cells in layouts.items():
                rows = make_rows(number, *cells)
                name = f"a unit of {number} records {layout} joins"
                yield NeighbourPair(f"{name} an empty table", make_table([]), make_table(rows))
                yield NeighbourPair(f"{name} before other units", make_table(others), make_table([*rows, *others]))
                yield NeighbourPair(
                    f"{name} between records of other units", make_table(others), make_table(interleave_rows(rows))
                )

    def replace_units() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in the records of one unit: other values, or another number."""
        for number in (cap, cap + 1, 3 * cap):
            for layout, cells in layouts.items():
                old = make_rows(number, low)
                new = make_rows(number, *(cells if cells != [low] else [high]))
                name = f"a unit's {number} records move {layout}"
                yield NeighbourPair(f"{name}, alone", make_table(old), make_table(new))
                yield NeighbourPair(
                    f"{name}, between others", make_table(interleave_rows(old)), make_table(interleave_rows(new))
                )
            name = f"a unit of 1 record has {number}"
            yield NeighbourPair(
                name,
                make_table(interleave_rows(make_rows(1, low))),
                make_table(interleave_rows(make_rows(number, high))),
            )

    return _choose_pairs(f"units of up to {cap} records", adjacency, add_units(), replace_units())


def categories(names: Sequence[str], *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Return a family of tables with one column of texts: declared categories, and other texts.

    Args:
        names: The declared categories.
        adjacency: Add-remove or replace-one.

    Raises:
        ValueError: there is no category.

    >>> categories(["red", "blue"], adjacency=ADD_REMOVE).pairs[0].right.tolist()
    ['red']
    """
    labels = [str(label) for label in names]
    if not labels:
        raise InvalidArgument("names", "at least one category is needed, as in ('a', 'b')")
    other_texts = ["", "?", f"{labels[0]} ", labels[0].upper(), "\u200b", "nan"]

    def make_table(rows: Sequence[str]) -> NDArray[Any]:
        """Return a data set of one text column, one text a record.

        Args:
            rows: The texts.
        """
        return np.array(rows, dtype=np.str_)

    some_labels = [*labels[:2], *labels[-1:]]

    def add_records() -> Iterator[NeighbourPair]:
        """Yield pairs that differ in one added text; the shorter data set comes first."""
        for label in (*some_labels, *other_texts):
            yield NeighbourPair(f"{label!r} joins an empty table", make_table([]), make_table([label]))
            yield NeighbourPair(f"{label!r} joins one of each", make_table(labels), make_table([*labels, label]))

    def replace_records() -> Iterator[NeighbourPair]:
        """Yield pairs of data sets that differ in one replaced text."""
        for old, new in (
            *pairwise(some_labels),
            (some_labels[0], some_labels[-1]),
            *((some_labels[0], label) for label in other_texts),
        ):
            if old != new:
                yield NeighbourPair(f"{old!r} becomes {new!r}, alone", make_table([old]), make_table([new]))
                yield NeighbourPair(
                    f"{old!r} becomes {new!r}, beside one of each",
                    make_table([*labels, old]),
                    make_table([*labels, new]),
                )

    return _choose_pairs(f"{len(labels)} categories", adjacency, add_records(), replace_records())


def answers(queries: int, *, adjacency: Neighbours = ADD_REMOVE, value: float = 0) -> NeighbouringDatasets:
    """Return a family of exact answers of counting queries, as arrays: the input of threshold mechanisms.

    One record changes each answer by at most 1. It changes all of them, one of them, or, if it is replaced, some up and
    some down.

    Args:
        queries: Number of queries.
        adjacency: Add-remove moves answers in one direction only.
        value: The exact answer of each query before the change, such as a threshold.

    Raises:
        ValueError: there is no query.

    >>> answers(2).pairs[0].right.tolist()
    [1.0, 1.0]
    """
    if queries < 1:
        raise InvalidArgument(
            "queries",
            f"at least one query is needed, in a list, as in [CountQuery((axis,))], got {describe_value(queries)}",
        )
    level = np.full(queries, float(value))
    half = np.arange(queries) < (queries + 1) // 2
    single = np.arange(queries) == queries - 1

    def move_answers() -> Iterator[NeighbourPair]:
        """Yield pairs whose answers rise: all, half of them, or one. A data set is the array of exact answers to all
        queries.
        """
        for base, description in (
            (level, "equal answers"),
            (level - half, "first half below"),
            (level + half, "first above"),
        ):
            yield NeighbourPair(f"all {queries} answers rise by 1, {description}", base, base + 1)
            yield NeighbourPair(f"the last of {queries} answers rises by 1, {description}", base, base + single)
            yield NeighbourPair(f"the first half of {queries} answers rises by 1, {description}", base, base + half)

    def move_answers_apart() -> Iterator[NeighbourPair]:
        """Yield pairs whose answers rise and fall, as if a record was replaced. A data set is the array of exact
        answers to all queries.
        """
        for base, description in (
            (level, "equal answers"),
            (level - half, "first half below"),
            (level + half, "first above"),
        ):
            yield NeighbourPair(
                f"half of {queries} answers rise by 1 and half fall, {description}",
                base,
                base + np.where(half, 1.0, -1.0),
            )
            yield NeighbourPair(
                f"all answers but the last rise by 1, it falls, {description}", base, base + np.where(single, -1.0, 1.0)
            )

    return _choose_pairs(
        f"{queries} counting queries",
        adjacency,
        move_answers(),
        (pair for moves in (move_answers_apart(), move_answers()) for pair in moves),
    )


def streams(steps: int, *, adjacency: Neighbours = ADD_REMOVE, level: float = 0) -> NeighbouringDatasets:
    """Return counts of the time steps of a stream, as arrays: one more tuple in a step, or one moved to another step.

    Args:
        steps: Number of time steps, at least 1.
        adjacency: One tuple more, or one moved.
        level: Smallest count of a time step.

    Raises:
        ValueError: `steps` is below 1.

    >>> streams(4).pairs[0].right.tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    if steps < 1:
        raise InvalidArgument("steps", f"at least one step is needed, as in range(3), got {describe_value(steps)}")
    base = np.full(steps, float(level))
    positions = sorted({steps - 1, 0, steps // 2, max(0, steps // 2 - 1)}, reverse=True)
    unit = {position: (np.arange(steps) == position).astype(np.float64) for position in positions}
    varying = base + np.arange(steps) % 3

    def add_tuples() -> Iterator[NeighbourPair]:
        """Yield pairs with one more tuple in a step. A data set is the number of tuples in each step."""
        for description, counts in (("equal counts", base), ("counts that vary", varying)):
            for position in positions:
                yield NeighbourPair(
                    f"one tuple more in step {position + 1} of {steps}, {description}", counts, counts + unit[position]
                )

    def move_tuples() -> Iterator[NeighbourPair]:
        """Yield pairs in which one tuple moves to another step. A data set is the number of tuples in each step."""
        for old, new in pairwise(positions):
            yield NeighbourPair(f"a tuple moves from step {old + 1} to {new + 1}", base + unit[old], base + unit[new])

    return _choose_pairs(f"{steps} steps of a stream", adjacency, add_tuples(), move_tuples())


def _choose_pairs(
    name: str, adjacency: Neighbours, additions: Iterator[NeighbourPair], replacements: Iterator[NeighbourPair]
) -> NeighbouringDatasets:
    """Return the neighbouring data sets that the adjacency asks for.

    Args:
        name: Name of the family, for the report.
        adjacency: Add-remove or replace-one.
        additions: Pairs with one record more.
        replacements: Pairs with one record replaced.

    Raises:
        InvalidArgument: the family has no pair under this adjacency.
    """
    chosen = tuple(additions if _require_adjacency(adjacency) is ADD_REMOVE else replacements)
    if not chosen:
        raise InvalidArgument(
            "family",
            f"these data sets have no neighbours under {adjacency.value};"
            " choose the other adjacency or other data sets",
        )
    return NeighbouringDatasets(name, adjacency, chosen)


def _require_adjacency(adjacency: Neighbours) -> Neighbours:
    """Check that an argument is a neighbouring relation (add-remove or replace-one), and return it.

    Args:
        adjacency: Argument of the caller.

    Raises:
        WrongArgumentType: the argument is no neighbouring relation.
    """
    require_type("adjacency", adjacency, Neighbours, "ADD_REMOVE or REPLACE_ONE")
    return adjacency


def _require_rising(edges: Sequence[float] | Floats) -> list[float]:
    """Return the edges of cells as floats, after checking that they increase.

    Args:
        edges: Edges of cells: at least two finite numbers, increasing.

    Raises:
        InvalidArgument: the edges are not finite and increasing, or there are fewer than two.
    """
    numbers = [float(edge) for edge in edges]
    if (
        len(numbers) < 2
        or any(not lower < upper for lower, upper in pairwise(numbers))
        or not np.isfinite(numbers).all()
    ):
        raise InvalidArgument(
            "edges", "at least two finite numbers are needed, each above the one before, as in (0, 1, 2)"
        )
    return numbers


def _pick_few(numbers: Sequence[float]) -> list[float]:
    """Return at most six of the numbers: at both ends and around the middle.

    Args:
        numbers: Numbers in increasing order.
    """
    if len(numbers) <= 6:  # pairs are made at no more edges
        return list(numbers)
    middle = len(numbers) // 2
    return [numbers[0], numbers[1], numbers[middle - 1], numbers[middle], numbers[-2], numbers[-1]]
