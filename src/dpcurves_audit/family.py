"""Pairs of tiny neighbouring data sets, and families of them for one kind of data."""

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
LARGE, SUBNORMAL = 1e308, 5e-324
ODD = (nan, inf, -inf, LARGE, -LARGE, SUBNORMAL, -0.0)
"""Values that arithmetic or a parser may treat in a way of their own."""
MOST_EDGES = 6


@dataclass(frozen=True, eq=False)
class NeighbourPair:
    """Two neighbouring data sets.

    Attributes:
        name: Their difference, in words.
        left: One of them, as the release takes it.
        right: The other one.
    """

    name: str
    left: Any
    right: Any

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class NeighbouringDatasets:
    """Pairs of neighbours for one kind of data.

    Attributes:
        name: The kind, in words.
        adjacency: Whether neighbours differ by one unit more, or by one unit replaced.
        pairs: The pairs. Those that tell most releases apart stand first: with little time no others are tried.
    """

    name: str
    adjacency: Neighbours
    pairs: tuple[NeighbourPair, ...]

    def with_pairs(self, *pairs: NeighbourPair) -> NeighbouringDatasets:
        """This family with more pairs, which are tried first."""
        return replace(self, pairs=(*pairs, *self.pairs))

    def take_first(self, number: int) -> NeighbouringDatasets:
        """The family of its first pairs alone."""
        return replace(self, pairs=self.pairs[:number])


def pairs(datasets: Iterable[tuple[Any, Any]], *, adjacency: Neighbours, name: str = "pairs") -> NeighbouringDatasets:
    """Pairs of neighbours that somebody made.

    Raises:
        ValueError: there is none.

    >>> pairs([([], [1]), ([1], [1, 1])], adjacency=ADD_REMOVE).pairs[1].name
    'pair 2'
    """
    made = tuple(NeighbourPair(f"pair {place}", left, right) for place, (left, right) in enumerate(datasets, start=1))
    if not made:
        raise InvalidArgument("family", "at least one pair of neighbours is needed")
    return NeighbouringDatasets(name, _require_adjacency(adjacency), made)


def values(edges: Sequence[float] | Floats, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Tables of one column of numbers, as arrays of float64: at edges, beside them, far away, tied, and odd ones.

    Args:
        edges: The edges of public cells, rising; or the bounds of a sum.
        adjacency: The neighbours.

    Raises:
        ValueError: there are fewer than two edges, or they do not rise.

    >>> found = values([0, 0.5, 1], adjacency=ADD_REMOVE)
    >>> found.pairs[0].name, found.pairs[0].left.tolist(), found.pairs[0].right.tolist()
    ('0.75 joins an empty table', [], [0.75])
    """
    at = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(at)]
    crowd = [middles[len(middles) // 2]] * 3
    near = sorted({step for edge in _pick_few(at) for step in (nextafter(edge, -inf), edge, nextafter(edge, inf))})
    far = [at[0] - (at[-1] - at[0]), at[-1] + (at[-1] - at[0])]
    last = at[-1]  # sums depend on it most
    name = f"values at {len(at)} edges from {at[0]:g} to {at[-1]:g}"

    def make_table(*parts: Sequence[float]) -> Floats:
        return np.array([value for part in parts for value in part], dtype=np.float64)

    def add_records() -> Iterator[NeighbourPair]:
        bases = {"an empty table": [], "three equal values": crowd, "one value of each cell": _pick_few(middles)}
        for told, base in bases.items():
            for value in (middles[-1], last, middles[0]):
                yield NeighbourPair(f"{value:g} joins {told}", make_table(base), make_table(base, [value]))
        yield NeighbourPair(
            f"{crowd[0]:g} joins values at all edges",
            make_table(_pick_few(at), _pick_few(at)),
            make_table(_pick_few(at), _pick_few(at), crowd[:1]),
        )
        for value in (*near, *far, *ODD):
            yield NeighbourPair(f"{value!r} joins an empty table", make_table([]), make_table([value]))
            yield NeighbourPair(f"{value!r} joins three equal values", make_table(crowd), make_table(crowd, [value]))

    def replace_records() -> Iterator[NeighbourPair]:
        ends, whole = (middles[0], middles[-1]), (at[0], last)
        spread = _pick_few(middles)
        steps = list(pairwise(_pick_few(middles)))
        for told, base in {"alone": [], "beside three equal values": crowd, "beside one of each cell": spread}.items():
            for old, new in (ends, whole, *steps):
                yield NeighbourPair(
                    f"{old:g} becomes {new:g}, {told}", make_table(base, [old]), make_table(base, [new])
                )
        for old, new in (*pairwise(near), *((middles[0], each) for each in (*far, *ODD))):
            yield NeighbourPair(f"{old!r} becomes {new!r}, alone", make_table([old]), make_table([new]))
            yield NeighbourPair(
                f"{old!r} becomes {new!r}, beside three equal values",
                make_table(crowd, [old]),
                make_table(crowd, [new]),
            )

    return _choose_pairs(name, adjacency, add_records(), replace_records())


def scores(edges: Sequence[float] | Floats, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Tables of labels (0 or 1) and scores: columns ``label`` and ``score`` of a dictionary.

    Neighbours differ in a score, in a label, or in both; records are tied, of one class alone, or at edges.

    >>> scores([0, 0.5, 1], adjacency=REPLACE_ONE).pairs[0].name
    'label 0 at 0.25 becomes label 1 at 0.75, alone'
    """
    at = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(at)]
    low, high = middles[0], middles[-1]
    both: list[tuple[float, float]] = [(0, low), (1, high)]
    tied: list[tuple[float, float]] = [(0, low), (1, low), (0, low)]

    def make_table(rows: Sequence[tuple[float, float]]) -> dict[str, NDArray[Any]]:
        labels = np.array([row[0] for row in rows], dtype=np.int64 if all(row[0] in (0, 1) for row in rows) else float)
        return {"label": labels, "score": np.array([row[1] for row in rows], dtype=np.float64)}

    bases: dict[str, list[tuple[float, float]]] = {
        "alone": [], "beside one of each class": both, "beside tied scores": tied,
        "beside three positives": [(1, high)] * 3,
    }  # fmt: skip
    marks = (*_pick_few(at), *(nextafter(edge, -inf) for edge in _pick_few(at)), *ODD)

    def add_records() -> Iterator[NeighbourPair]:
        for told, base in bases.items():
            for label, score in ((1, high), (0, low), (1, low), (0, high)):
                yield NeighbourPair(
                    f"label {label} at {score:g} joins, {told}", make_table(base), make_table([*base, (label, score)])
                )
        for score in marks:
            yield NeighbourPair(f"label 1 at {score!r} joins, alone", make_table([]), make_table([(1, score)]))
        yield NeighbourPair("a label of neither class joins, alone", make_table([]), make_table([(7, low)]))

    def replace_records() -> Iterator[NeighbourPair]:
        moves = (((0, low), (1, high)), ((0, low), (1, low)), ((1, low), (1, high)), ((0, low), (0, high)))
        for told, base in bases.items():
            for old, new in moves:
                name = f"label {old[0]} at {old[1]:g} becomes label {new[0]} at {new[1]:g}, {told}"
                yield NeighbourPair(name, make_table([*base, old]), make_table([*base, new]))
        for score in marks:
            yield NeighbourPair(
                f"label 1 at {low:g} becomes {score!r}, alone", make_table([(1, low)]), make_table([(1, score)])
            )
        yield NeighbourPair(
            "label 1 becomes one of neither class, alone", make_table([(1, low)]), make_table([(7, low)])
        )

    return _choose_pairs(f"labels and scores at {len(at)} edges", adjacency, add_records(), replace_records())


def units(edges: Sequence[float] | Floats, rows_per_unit: int, *, adjacency: Neighbours) -> NeighbouringDatasets:
    """Tables whose units have several records: columns ``value`` and ``unit`` of a dictionary.

    A unit has as many records as are used of it, or more, in one cell or in several, first or last in the table, alone
    or between the records of other units.

    >>> units([0, 1, 2], 2, adjacency=ADD_REMOVE).pairs[0].right["unit"].tolist()
    ['a', 'a']
    """
    at = _require_rising(edges)
    middles = [(lower + upper) / 2 for lower, upper in pairwise(at)]
    low, high = middles[0], middles[-1]
    cap = rows_per_unit
    others: list[tuple[str, float]] = [(unit, low) for unit in "bc" for _ in range(cap + 1)]

    def make_table(rows: Sequence[tuple[str, float]]) -> dict[str, NDArray[Any]]:
        return {
            "value": np.array([value for _, value in rows], dtype=np.float64),
            "unit": np.array([unit for unit, _ in rows], dtype=np.str_),
        }

    def make_rows(number: int, *at: float) -> list[tuple[str, float]]:
        return [("a", at[place % len(at)]) for place in range(number)]

    def interleave_rows(own: list[tuple[str, float]]) -> list[tuple[str, float]]:
        found = [*others]
        for place, row in enumerate(own):
            found.insert(2 * place, row)
        return found

    kinds = {
        "in one cell": [high], "in two cells": [low, high], "across all cells": list(_pick_few(middles)),
    }  # fmt: skip

    def add_units() -> Iterator[NeighbourPair]:
        for number in (cap, cap + 1, 3 * cap, 1):
            for told, at in kinds.items():
                own, name = make_rows(number, *at), f"a unit of {number} records {told} joins"
                yield NeighbourPair(f"{name} an empty table", make_table([]), make_table(own))
                yield NeighbourPair(f"{name} before other units", make_table(others), make_table([*own, *others]))
                yield NeighbourPair(
                    f"{name} between records of other units", make_table(others), make_table(interleave_rows(own))
                )

    def replace_units() -> Iterator[NeighbourPair]:
        for number in (cap, cap + 1, 3 * cap):
            for told, at in kinds.items():
                old, new = make_rows(number, low), make_rows(number, *(at if at != [low] else [high]))
                name = f"a unit's {number} records move {told}"
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
    """Tables of one column of texts: declared categories, and texts that are none.

    >>> categories(["red", "blue"], adjacency=ADD_REMOVE).pairs[0].right.tolist()
    ['red']
    """
    known = [str(each) for each in names]
    if not known:
        raise InvalidArgument("names", "at least one category is needed")
    odd = ["", "?", f"{known[0]} ", known[0].upper(), "\u200b", "nan"]

    def make_table(rows: Sequence[str]) -> NDArray[Any]:
        return np.array(rows, dtype=np.str_)

    few = [*known[:2], *known[-1:]]

    def add_records() -> Iterator[NeighbourPair]:
        for each in (*few, *odd):
            yield NeighbourPair(f"{each!r} joins an empty table", make_table([]), make_table([each]))
            yield NeighbourPair(f"{each!r} joins one of each", make_table(known), make_table([*known, each]))

    def replace_records() -> Iterator[NeighbourPair]:
        for old, new in (*pairwise(few), (few[0], few[-1]), *((few[0], each) for each in odd)):
            if old != new:
                yield NeighbourPair(f"{old!r} becomes {new!r}, alone", make_table([old]), make_table([new]))
                yield NeighbourPair(
                    f"{old!r} becomes {new!r}, beside one of each", make_table([*known, old]), make_table([*known, new])
                )

    return _choose_pairs(f"{len(known)} categories", adjacency, add_records(), replace_records())


def answers(queries: int, *, adjacency: Neighbours = ADD_REMOVE, at: float = 0) -> NeighbouringDatasets:
    """Exact answers of counting queries on neighbours, as arrays: what mechanisms of thresholds are told.

    One record moves each answer by at most 1. It moves all of them, one of them, or, where it is replaced, some up and
    some down.

    Args:
        queries: The number of queries.
        adjacency: The neighbours: those that come or go move answers in one direction.
        at: The answers that it moves, as those around a threshold.

    >>> answers(2).pairs[0].right.tolist()
    [1.0, 1.0]
    """
    if queries < 1:
        raise InvalidArgument("queries", f"at least one query is needed, got {describe_value(queries)}")
    level = np.full(queries, float(at))
    half = np.arange(queries) < (queries + 1) // 2
    single = np.arange(queries) == queries - 1

    def move_answers() -> Iterator[NeighbourPair]:
        for base, told in ((level, "equal answers"), (level - half, "first half below"), (level + half, "first above")):
            yield NeighbourPair(f"all {queries} answers rise by 1, {told}", base, base + 1)
            yield NeighbourPair(f"the last of {queries} answers rises by 1, {told}", base, base + single)
            yield NeighbourPair(f"the first half of {queries} answers rises by 1, {told}", base, base + half)

    def move_answers_apart() -> Iterator[NeighbourPair]:
        for base, told in ((level, "equal answers"), (level - half, "first half below"), (level + half, "first above")):
            yield NeighbourPair(
                f"half of {queries} answers rise by 1 and half fall, {told}", base, base + np.where(half, 1.0, -1.0)
            )
            yield NeighbourPair(
                f"all answers but the last rise by 1, it falls, {told}", base, base + np.where(single, -1.0, 1.0)
            )

    return _choose_pairs(
        f"{queries} counting queries",
        adjacency,
        move_answers(),
        (each for part in (move_answers_apart(), move_answers()) for each in part),
    )


def streams(steps: int, *, adjacency: Neighbours = ADD_REMOVE, level: float = 0) -> NeighbouringDatasets:
    """Counts of the steps of a stream, as arrays: one tuple more in one step, or moved to another step.

    >>> streams(4).pairs[0].right.tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    if steps < 1:
        raise InvalidArgument("steps", f"at least one step is needed, got {describe_value(steps)}")
    base = np.full(steps, float(level))
    places = sorted({steps - 1, 0, steps // 2, max(0, steps // 2 - 1)}, reverse=True)
    unit = {place: (np.arange(steps) == place).astype(np.float64) for place in places}
    bumpy = base + np.arange(steps) % 3

    def add_tuples() -> Iterator[NeighbourPair]:
        for told, before in (("equal counts", base), ("counts that vary", bumpy)):
            for place in places:
                yield NeighbourPair(
                    f"one tuple more in step {place + 1} of {steps}, {told}", before, before + unit[place]
                )

    def move_tuples() -> Iterator[NeighbourPair]:
        for old, new in pairwise(places):
            yield NeighbourPair(f"a tuple moves from step {old + 1} to {new + 1}", base + unit[old], base + unit[new])

    return _choose_pairs(f"{steps} steps of a stream", adjacency, add_tuples(), move_tuples())


def _choose_pairs(
    name: str, adjacency: Neighbours, additions: Iterator[NeighbourPair], replacements: Iterator[NeighbourPair]
) -> NeighbouringDatasets:
    found = tuple(additions if _require_adjacency(adjacency) is ADD_REMOVE else replacements)
    if not found:
        raise InvalidArgument("family", f"there are no neighbours under {adjacency.value}")
    return NeighbouringDatasets(name, adjacency, found)


def _require_adjacency(adjacency: Neighbours) -> Neighbours:
    require_type("adjacency", adjacency, Neighbours, "ADD_REMOVE or REPLACE_ONE")
    return adjacency


def _require_rising(edges: Sequence[float] | Floats) -> list[float]:
    at = [float(edge) for edge in edges]
    if len(at) < 2 or any(not lower < upper for lower, upper in pairwise(at)) or not np.isfinite(at).all():
        raise InvalidArgument("edges", "at least two finite numbers are needed that rise")
    return at


def _pick_few(at: Sequence[float]) -> list[float]:
    """At most six of the numbers: those at both ends and around the middle."""
    if len(at) <= MOST_EDGES:
        return list(at)
    middle = len(at) // 2
    return [at[0], at[1], at[middle - 1], at[middle], at[-2], at[-1]]
