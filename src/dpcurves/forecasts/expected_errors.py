"""A forecast: the whole conversation of a question, with its noise, on public records, as often as is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import nan
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np

from ..arguments import Refused, require_kind, whole
from ..arrays import FloatArray
from ..curves import Question
from ..curves.notes import CurveWarning
from ..display import numeral
from ..ledger import Currency
from ..noise.randomness import Randomness
from ..postprocess import public_generator
from ..privacy import Neighbours, PrivacyLoss
from ..session import Session
from .kinds import Kind, Table, kind_of

REHEARSALS = 20
MOST_TABLES = 4
WIDTHS = 2
"""Answers to a table whose intervals are computed: widths differ little from one to the next."""
SAYS_NOTHING = "the band would be wider than 0.5 for all these records: a release would say next to nothing"
WIDEST = 0.25
"""Half of a band that says nothing."""
MOST_RECORDS = 1_000_000
"""More records are not made up: what is far off with so many is no further off with more."""
GIVEN = "the given records"


class Expected(NamedTuple):
    """How far off answers are for records of one kind.

    Attributes:
        records: What the records are like.
        error: The mean over rehearsals.
        standard_error: Its own, by the number of rehearsals.
        half_width: How far the 95% interval that is printed reaches to a side, for these records: the mean over
            rehearsals. NaN where there is none.
        population: Its half width for the population.
    """

    records: str
    error: float
    standard_error: float
    half_width: float = nan
    population: float = nan


@dataclass(frozen=True)
class Forecast:
    """The expected error of an answer, for records of these distributions only.

    Attributes:
        words: The measure of error, in words.
        size: The number of records.
        rehearsals: How often each was answered.
        expected: The expected error for each distribution of records.
        interval: The interval whose half width is told, in words; empty where there is none.
    """

    words: str
    size: int
    rehearsals: int
    expected: tuple[Expected, ...]
    interval: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """One line where no curve of these records would tell more than none at all."""
        shares = self.words.startswith("share") and "band" in self.interval
        nothing = shares and min(each.half_width for each in self.expected) > WIDEST
        return (SAYS_NOTHING,) if nothing else ()

    @property
    def low(self) -> float:
        """The expected error for the most favourable distribution of records."""
        return min(each.error for each in self.expected)

    @property
    def high(self) -> float:
        """The expected error for the least favourable distribution of records."""
        return max(each.error for each in self.expected)

    def __str__(self) -> str:
        """A line for each kind of records, under what is told."""
        lines = [f"{self.words}, for {self.size:,} records, {self.rehearsals} rehearsals of each kind:"]
        for each in self.expected:
            told = f"  {each.records}: {numeral(each.error)} ± {numeral(each.standard_error)}"
            if self.interval:
                told += f"; 95% interval ± {numeral(each.half_width)}, for the population ± {numeral(each.population)}"
            lines.append(told)
        if self.interval:
            lines.append(f"  the interval is that of {self.interval}")
        return "\n".join([*lines, *self.notes])


def forecast(
    question: Question[Any],
    loss: PrivacyLoss,
    adjacency: Neighbours,
    *,
    records: int | None = None,
    like: Mapping[str, Any] | None = None,
    rehearsals: int = REHEARSALS,
    generator: np.random.Generator | None = None,
) -> Forecast:
    """Forecast the error of an answer, and the interval that will be printed: by simulation on public records.

    The error of a curve depends on the records, because later turns depend on earlier answers. It is therefore
    simulated for records drawn from several public distributions, from the most to the least favourable; or for public
    records that are thought to resemble the confidential ones, such as those of an earlier year. Nothing confidential
    is opened, and nothing is spent.

    Formal guarantees: a function of public facts alone.

    Args:
        question: One of those that `KINDS` has, without `by` and of columns that have names.
        loss: What it may lose.
        adjacency: Replace-one or add-remove.
        records: How many records to draw: the public number of units, or a guess of it; at most a million are drawn.
        like: Public records to use instead, as columns of arrays. They are not protected.
        rehearsals: The number of simulations for each distribution; at least 2.
        generator: The random numbers for records and noise.

    Raises:
        ValueError: there is no forecast of this question; or neither or both of `records` and `like` were given.
        TypeError: `loss` is no `PrivacyLoss`, or `adjacency` no adjacency.

    >>> import dpcurves as dp
    >>> question, loss = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=20)), dp.PrivacyLoss.pure("0.5")
    >>> found = dp.forecast(question, loss, dp.REPLACE_ONE, records=2000, rehearsals=3)
    >>> found.words, 1 < found.low < found.high < 9
    ('records in a cell, root mean square', True)
    """
    kind, rehearsals = kind_of(question), whole("rehearsals", rehearsals)
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_kind("adjacency", adjacency, Neighbours, "dp.REPLACE_ONE or dp.ADD_REMOVE")
    if rehearsals < 2:
        raise Refused("rehearsals", f"at least 2 are needed, got {rehearsals}")
    if (records is None) == (like is None):
        raise Refused("records, like", "give either records, a number to simulate, or like, public records")
    asked, draw = _Asked(question, kind, loss, adjacency, rehearsals), public_generator(generator)
    if like is not None:
        table = dict(like)
        return asked.forecast(_size(table), {GIVEN: iter([table])}, draw)
    size = min(_positive(records), MOST_RECORDS)
    return asked.forecast(size, {name: asked.tables(name, size, draw) for name in kind.laws}, draw)


class _Asked(NamedTuple):
    """What is rehearsed."""

    question: Any
    kind: Kind
    loss: PrivacyLoss
    adjacency: Neighbours
    rehearsals: int

    def forecast(self, size: int, tables: Mapping[str, Iterator[Table]], draw: np.random.Generator) -> Forecast:
        expected = tuple(_expected(name, self._told(each, draw)) for name, each in tables.items())
        return Forecast(self.kind.words, size, self.rehearsals, expected, self.kind.width)

    def tables(self, law: str, size: int, draw: np.random.Generator) -> Iterator[Table]:
        """Tables of one law, a few."""
        for _ in range(min(MOST_TABLES, self.rehearsals)):
            yield self.kind.columns(self.question, self.kind.laws[law](draw, size))

    def _told(self, tables: Iterator[Table], draw: np.random.Generator) -> FloatArray:
        """Errors, and half widths for these records and for the population: ``(rehearsals, 3)``."""
        found, made = list[tuple[float, float, float]](), list(tables)
        for number, table in enumerate(made):
            times = len(range(number, self.rehearsals, len(made)))
            found += list(self._answered(table, times, int(draw.integers(2**31))))
        return np.array(found)

    def _answered(self, table: Table, times: int, seed: int) -> Iterator[tuple[float, float, float]]:
        loss = self.loss.of_one_release()
        budget, chance = Currency.of(loss).budget(loss * Fraction(times)), Randomness.from_seed(seed)
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            Session(table, budget=budget, adjacency=self.adjacency, randomness=chance) as session,
        ):
            for number in range(times):
                curve = session.ask(self.question, loss, request=f"rehearsal {number}")
                half = self.kind.half
                halves = (nan, nan) if half is None or number >= WIDTHS else (half(curve, False), half(curve, True))
                yield self.kind.error(self.question, curve, table), *halves


def _expected(name: str, told: FloatArray) -> Expected:
    errors, known = told[:, 0], told[~np.isnan(told[:, 1]), 1:]
    halves = known.mean(axis=0).tolist() if len(known) else (nan, nan)
    return Expected(name, float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), *halves)


def _size(table: Table) -> int:
    if not table or not all(len(each) == len(next(iter(table.values()))) > 0 for each in table.values()):
        raise Refused("like", "columns of one length, with at least one record, are needed")
    return len(next(iter(table.values())))


def _positive(records: int | None) -> int:
    number = whole("records", records)
    if number < 1:
        raise Refused("records", f"at least 1 is needed, got {number}")
    return number
