"""Local model: no party but the person sees a record; each randomises one answer at home."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan, Release, Setting, Strategy, UnsupportedQuery, Workload
from dpcurves.ledger import Allotment
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, Query, Read
from dpcurves.strategies import at_once
from dpcurves.trust.base import Answer, require

from .reported_tree import Coins, planned, ways_of
from .responses import Randomiser
from .responses.coins import even
from .responses.randomiser import Reports, close_together, unset_from
from .tallied import Tallied


# SECRET. The holder of the local model: one person, and the one value.
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Person:
    """Person in the local model, who trusts no other party. It has no repr.

    Attributes:
        slot: The cell of the table that the person's value lies in, row by row; as many as there are cells: missing.
    """

    slot: int


MOST_PEOPLE = 2**31


@dataclass(frozen=True, slots=True)
class Local:
    """Each person sends one randomised report, and whoever adds them up may be anybody.

    Formal guarantees: `contribute` is a function of one person's value and of that person's randomness alone, and what
    it gives loses at most ``plan.loss`` to whoever sees it, however the others behave and whatever they know. `collect`
    sees reports alone. *Assumed*: each person sends one report; it is not hidden who sends which, and nothing is
    shuffled. A false report can shift a count by the weight of one report, no more.

    Attributes:
        aim: Quantity computed from the cumulative counts that a question asks for; None: these counts themselves.
            It changes which levels people report about, and how many report about each; never the loss of a report.
        coins: Source of the random bits that do not depend on the value: the person, or public.
        INSTEAD: Advice to a caller whose session would open all records.
    """

    INSTEAD: ClassVar[str] = "people answer a dp.local.Task, one report each, and dp.local.aggregate reads the curve"

    aim: Read | None = None
    coins: Coins = Coins.OWN

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of holders: people."""
        return (Person,)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """On cells that are known beforehand: a person reports once, and is not asked again."""
        return at_once(workload, Setting(loss, adjacency))

    def turn(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan of the people's reports to a query. Raises `UnsupportedQuery`."""
        plan = planned(self._aimed(query), loss, adjacency, self.coins)
        if plan.law.required(Tallied).people > MOST_PEOPLE:
            raise UnsupportedQuery("people", f"at most {MOST_PEOPLE} report")
        return replace(plan, made_by=f"each person at home: {plan.made_by}")

    def _aimed(self, query: Query) -> Query:
        if self.aim is None:
            return query
        counts = query.narrowed(CountQuery)
        if counts is None or counts.read is not Read.PREFIXES:
            raise UnsupportedQuery("aim", f"{self.aim.value} is read from a curve, and the question asks for none")
        return replace(counts, read=self.aim)

    def run(self, plan: Plan, holders: Sequence[Person], allotment: Allotment, randomness: Randomness) -> Release:
        """Run all people at once, in one place: for simulations."""
        slots = np.array([person.slot for person in holders], dtype=np.int64)
        return collect(plan, [contributions(plan, slots, randomness)], allotment, seeded=randomness.seeded)


def contribute(plan: Plan, slot: int, randomness: Randomness) -> bytes:
    """Message of a person: the number of a level, drawn, and a randomised report about it, padded with zeros.

    Or, where each person reports about all levels, these reports one behind another.

    Args:
        plan: Plan of all reports.
        slot: SECRET. See `Person`.
        randomness: Source of the noise.

    Raises:
        ValueError: there is no such slot.
    """
    return contributions(plan, np.array([slot], dtype=np.int64), randomness).tobytes()


def contributions(plan: Plan, slots: IntArray, randomness: Randomness) -> Reports:
    """The messages of many people, (people, octets): as if each had drawn one.

    Raises:
        ValueError: there is no such slot.
    """
    law = plan.law.required(Tallied)
    if slots.size and not 0 <= slots.min() <= slots.max() <= law.rows * law.cells:
        raise Refused("value", "it lies in no cell, and is not missing")
    if law.about_all:
        drawn = [way.draw(answers_about(law, number, slots), randomness) for number, way in enumerate(_ways(plan))]
        return np.concatenate(drawn, axis=1)
    ends = np.cumsum([level.reports for level in law.levels])
    levels = np.searchsorted(ends, even(law.people, len(slots), randomness), side="right")
    messages = np.zeros((len(slots), octets(plan)), dtype=np.uint8)
    messages[:, 0] = levels
    for number, way in enumerate(_ways(plan)):
        here = np.flatnonzero(levels == number)
        messages[here, 1 : 1 + way.octets] = way.draw(answers_about(law, number, slots[here]), randomness)
    return messages


def octets(plan: Plan) -> int:
    """Length of a message in octets: every message has the same."""
    lengths = [way.octets for way in _ways(plan)]
    return sum(lengths) if plan.law.required(Tallied).about_all else 1 + max(lengths)


class About(NamedTuple):
    """Reports about one level.

    Attributes:
        here: In which rows they were.
        reports: These, (reports, octets).
        filled_up: True if nothing but zeros stood behind them.
    """

    here: IntArray | slice
    reports: Reports
    filled_up: BoolArray | np.bool_


class Tables:
    """Tallies that messages are added to, and the only state kept of the messages.

    Attributes:
        refused: Number of invalid messages.
        reports: Numbers of reports about each level.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._ways = plan, _ways(plan)
        self._tallies = [np.zeros(way.answers, dtype=np.int64) for way in self._ways]
        self.reports, self.refused = [0] * len(self._ways), 0
        self._about_all = plan.law.required(Tallied).about_all

    def are_messages(self, messages: Reports) -> BoolArray:
        """Mask of the rows of (rows, octets) that are valid messages under this plan."""
        return self.sorted_out(messages)[1]

    def add(self, messages: Reports) -> None:
        """Count what are messages, and how many are not."""
        about, good = self.sorted_out(messages)
        self.refused += int(len(good) - good.sum())
        self.count(about, good)

    def sorted_out(self, messages: Reports) -> tuple[list[About], BoolArray]:
        """The reports about each level, as `count` takes them; and which rows are messages under this plan at all."""
        about = self._parts(messages) if self._about_all else self._by_level(messages)
        good = np.full(len(messages), self._about_all)
        for way, (here, reports, filled_up) in zip(self._ways, about, strict=True):
            sound = way.are_reports(reports) & filled_up
            good[here] = good & sound if self._about_all else sound
        return about, good

    def count(self, about: list[About], counted: BoolArray) -> None:
        """Count of what `sorted_out` gave the rows that are to be counted, all of which are messages."""
        for number, (way, (here, reports, _)) in enumerate(zip(self._ways, about, strict=True)):
            kept = counted[here]
            told = reports if kept.all() else reports[kept]
            self._tallies[number] += way.tally(told)
            self.reports[number] += len(told)

    def _parts(self, messages: Reports) -> list[About]:
        """Every message has a report about each level."""
        parts = np.split(messages, np.cumsum([way.octets for way in self._ways])[:-1], axis=1)
        return [About(slice(None), part, np.True_) for part in parts]

    def _by_level(self, messages: Reports) -> list[About]:
        """Every message is about one level: copied only where there are others between them."""
        levels, whole, found = np.ascontiguousarray(messages[:, 0]), close_together(messages), list[About]()
        for number, way in enumerate(self._ways):
            about = levels == number
            here = slice(None) if about.all() else np.flatnonzero(about)
            rows = whole if isinstance(here, slice) else np.take(whole, here, axis=0)
            found.append(About(here, rows[:, 1 : 1 + way.octets], unset_from(rows, 1 + way.octets)))
        return found

    def release(self, allotment: Allotment, *, seeded: bool) -> Release:
        """Release of the tallies, as the answer to a plan of as many people as there were.

        Raises:
            ValueError: there was no report, or the payment is for another loss than the plan's.
        """
        require(allotment, self._plan)
        plan = carried_out(self._plan, self.reports)
        counts = [tally[:-1] for tally in self._tallies]
        missing = [tally[-1:] for tally in self._tallies]
        return Release(plan, tuple(np.concatenate([*counts, *missing]).tolist()), allotment, seeded)


def collect(plan: Plan, messages: Iterable[Reports], allotment: Allotment, *, seeded: bool) -> Release:
    """Add up messages, chunk by chunk, in the memory of the tables alone. What is no message is left out.

    Raises:
        ValueError: there is no message, or the payment is for another loss than the plan's.
    """
    tables = Tables(plan)
    for chunk in messages:
        tables.add(chunk)
    return tables.release(allotment, seeded=seeded)


def carried_out(plan: Plan, reports: Sequence[int]) -> Plan:
    """The plan with as many people at each level as there were. Who sent a report is public, and so are these numbers.

    Raises:
        ValueError: there was nobody.
    """
    law = plan.law.required(Tallied)
    levels = tuple(replace(level, reports=many) for level, many in zip(law.levels, reports, strict=True))
    done = replace(law, levels=levels)
    return replace(plan, law=done, adjacency=ReplaceOne(plan.adjacency.unit, done.people))


def _ways(plan: Plan) -> tuple[Randomiser, ...]:
    return ways_of(plan.law.required(Tallied), plan.loss)


def answers_about(law: Tallied, number: int, slots: IntArray) -> IntArray:
    """The intervals of a level that hold these slots, row by row; the last answer is that the value is missing."""
    level = law.levels[number]
    row, cell = np.divmod(slots, law.cells)
    interval = np.searchsorted(level.first, cell, side="right") - 1
    many = len(level.starts)
    return np.where(slots == law.rows * law.cells, law.rows * many, row * many + interval)
