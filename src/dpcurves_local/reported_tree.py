"""A tree of intervals that people report about, each person about one level: which tree, and by which randomisers."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt, prod, sqrt
from typing import NamedTuple

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.noise.exponential import LEAST_EPSILON
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, Query, Read
from dpcurves_local.tallied import Responses

from .responses import RANDOMISERS, Hadamard, Randomiser, choose_randomiser, randomiser_named
from .responses.randomiser import LONGEST
from .tallied import Tallied

MOST_CELLS = 2**20
"""Cells of all rows together: the tables of one level."""
_LEVELS = {Read.CELLS: 10, Read.PREFIXES: 10, Read.AREA: 20}
"""The most levels. The mean of a curve is told by coarse intervals: finer ones need few people."""
_TILTS = {
    Read.CELLS: (Fraction(1, 2), Fraction(1), Fraction(2)),
    Read.PREFIXES: (Fraction(1, 2), Fraction(1), Fraction(2)),
    Read.AREA: (Fraction(1, 2), Fraction(5, 8), Fraction(3, 4), Fraction(7, 8), Fraction(1)),
}
"""The ratio of people who report about a level to those of the level above it."""
_FINE = 2**40
_INDEX = 4
"""Octets of the longest index of a Hadamard response: some randomiser is always as short."""


class Coins(StrEnum):
    """The party that draws the coins that do not depend on the value: the level, and the index of a Hadamard response.

    `OWN`: each person, and they are sent along. `PUBLIC`: they follow from what stands for the person's name in
    reports, so that the one bit of a Hadamard response is all that the person says.
    """

    OWN = "own"
    PUBLIC = "public"


def planned(query: Query, loss: PrivacyLoss, adjacency: Adjacency, coins: Coins = Coins.OWN) -> Plan:
    """Plan the reported levels, their people and randomisers: with the least predicted error of what is read.

    Formal guarantees: each person sends one report about one level, which the person draws without regard to the value.
    Whatever the level, the report is one of a randomiser that loses at most epsilon; so a person's whole message does,
    to whoever sees it, where neighbours differ in one person's value. How many people report is public. Under
    zero-concentrated privacy, ``epsilon**2 / 2`` is at most rho (Bun and Steinke 2016, Proposition 1.4).

    Or each person reports about all of L levels, with noise of its own for each: then a report loses epsilon / L, or
    rho / L, and these add up (*ibid.*, Lemma 1.7). Purely that errs more, unless epsilon is large; under
    zero-concentrated privacy it errs less, for no level asks a sample. The predicted error decides. (Advanced
    composition would promise an epsilon that fails with a chance delta, which no task does.)

    With public coins people report about one level each, by Hadamard responses. A bit loses epsilon whatever the level
    and the index are, so it does not matter who knew or chose them.

    Raises:
        UnsupportedQuery: other numbers than counts of cells are asked for, or more than 2**20 of them; or the number of
            people is private, or one has several records.
    """
    counts = query.narrowed(CountQuery)
    if counts is None:
        raise UnsupportedQuery("question", f"people report cells of a grid, they answer no {type(query).__name__}")
    if not isinstance(adjacency, ReplaceOne) or adjacency.unit.records != 1:
        raise UnsupportedQuery("adjacency", "how many people report is public, and each has one value: use replace-one")
    if prod(query.shape) > MOST_CELLS:
        raise UnsupportedQuery("grid", f"at most {MOST_CELLS} cells are reported about, got {prod(query.shape)}")
    law = _law(query.rows, query.cells, counts.read, loss, adjacency.units, coins)
    ways = ", ".join(dict.fromkeys(level.randomiser for level in law.levels))
    levels = f"{len(law.levels)} levels" if len(law.levels) > 1 else "one level"
    levels += ", all by each person" if law.about_all else ""
    levels += ", by public coins" if coins is Coins.PUBLIC else ""
    return Plan(query, loss, adjacency, f"{ways} responses about {levels}", law, sqrt(_error(law, counts.read)))


def epsilon_of(loss: PrivacyLoss) -> Fraction:
    """The pure privacy loss of one report."""
    if loss.epsilon is not None:
        return loss.epsilon
    doubled = 2 * loss.rho * _FINE**2
    return Fraction(isqrt(doubled.numerator // doubled.denominator), _FINE)


@lru_cache(maxsize=64)  # a pure function of public facts
def randomisers(law: Tallied, epsilon: Fraction) -> tuple[Randomiser, ...]:
    """By which people report about each level: the last answer is that the value is missing."""
    return tuple(randomiser_named(level.randomiser, law.rows * len(level.starts) + 1, epsilon) for level in law.levels)


def ways_of(law: Tallied, loss: PrivacyLoss) -> tuple[Randomiser, ...]:
    """By which people report about each level under this loss of a person."""
    return randomisers(law, epsilon_of(loss * Fraction(1, len(law.levels)) if law.about_all else loss))


@lru_cache(maxsize=64)  # a pure function of public facts
def _law(rows: int, cells: int, read: Read, loss: PrivacyLoss, people: int, coins: Coins) -> Tallied:  # noqa: PLR0917
    trees = sorted({_widths(cells, levels) for levels in range(1, _LEVELS[read] + 1)}, key=len)
    table = _Table(rows, cells, people, epsilon_of(loss), _WAYS[coins])
    split = [
        _tree(table, widths, tilt)
        for widths in trees
        for tilt in (_TILTS[read] if len(widths) > 1 else _TILTS[read][:1])
        if len(widths) <= people
    ]
    together = [
        tree_about_all(rows, cells, widths, loss, people)
        for widths in trees
        if coins is Coins.OWN and len(widths) > 1 and epsilon_of(loss * Fraction(1, len(widths))) >= LEAST_EPSILON
    ]
    return min([*split, *together], key=lambda law: _error(law, read))


_WAYS: dict[Coins, tuple[type[Randomiser], ...]] = {Coins.OWN: RANDOMISERS, Coins.PUBLIC: (Hadamard,)}


class _Table(NamedTuple):
    """The table of one level that people report about.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        people: How many report.
        epsilon: What one report may lose.
        ways: By which randomisers it may be.
    """

    rows: int
    cells: int
    people: int
    epsilon: Fraction
    ways: tuple[type[Randomiser], ...]


def _widths(cells: int, levels: int) -> tuple[int, ...]:
    """Cells in the intervals of each level, from coarse to fine, in powers of one number."""
    fan = next(fan for fan in range(2, cells + 2) if fan**levels >= cells)
    return tuple(fan**power for power in reversed(range(levels)) if fan**power < cells or power == 0)


def _tree(table: _Table, widths: tuple[int, ...], tilt: Fraction) -> Tallied:
    reports = _parts(table.people, len(widths), tilt)
    levels = (_level(table, width, many) for width, many in zip(widths, reports, strict=True))
    return Tallied(table.rows, table.cells, tuple(levels))


def _level(table: _Table, width: int, reports: int, longest: int = LONGEST) -> Responses:
    starts = range(0, table.cells, width)
    way = choose_randomiser(table.rows * len(starts) + 1, table.epsilon, longest, table.ways)
    return Responses(starts, reports, way.NAME, *way.support)


def tree_about_all(rows: int, cells: int, widths: tuple[int, ...], loss: PrivacyLoss, people: int) -> Tallied:
    """The tree about all of whose levels each person reports, with an equal share of the loss for each."""
    epsilon, longest = epsilon_of(loss * Fraction(1, len(widths))), max(LONGEST // len(widths), _INDEX)
    table = _Table(rows, cells, people, epsilon, RANDOMISERS)
    levels = (_level(table, width, people, longest) for width in widths)
    return Tallied(rows, cells, tuple(levels), about_all=True)


def _parts(people: int, levels: int, tilt: Fraction) -> list[int]:
    """The number of people who report about each level: at least one."""
    weights = [tilt**level for level in range(levels)]
    ends = [round((people - levels) * sum(weights[:level], Fraction(0)) / sum(weights)) for level in range(levels + 1)]
    return [1 + after - before for before, after in pairwise(ends)]


def _error(law: Tallied, read: Read) -> float:
    """The mean variance of prefixes, or that of their mean, or of one cell of those that are counted together."""
    if read is Read.AREA:
        return law.area_variance()
    if read is Read.PREFIXES:
        return law.mean_prefix_variance(total_is_public=True)
    return law.nested.levels[-1].noise.variance
