"""Answers to a question about public records, as a session gives them, but without a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from ..curves import Question, VerifyQuestion
from ..curves.notes import CurveWarning
from ..data import Axis, Categories
from ..ledger import Allotment, QuestionBudget
from ..noise.memory import FleetingMemory
from ..noise.randomness import Randomness
from ..privacy import EACH_RECORD, Neighbours, PrivacyLoss
from ..queries import Query
from ..queries.subsets import SubsetQuery
from ..records import CountSource, Scored, open_records
from ..rehearsal import pay_and_converse, rehearse
from ..release import Release, Step
from ..trust import Central, Curator

Curve = TypeVar("Curve")
Counted = TypeVar("Counted")
Axes = Sequence[Axis | Categories]
KEY = bytes(32)
"""The key of public records: nothing about them is secret."""


def answers(
    question: Question[Curve],
    table: Mapping[str, Any],
    loss: PrivacyLoss,
    neighbours: Neighbours,
    seed: int,
) -> Iterator[Curve]:
    """Answers to a question about public records, one after the other, each with noise of its own.

    Plans, turns, noise and estimates are those of a session with one curator. No ledger is kept, because nothing is
    protected, and what was counted once is not counted again. Never for confidential records: no charge is made.

    Raises:
        ValueError: as of `Session.ask`.
    """
    with catch_warnings(action="ignore", category=CurveWarning):
        opened = Scored(open_records(table, unit=EACH_RECORD, key=KEY))
        try:
            records = _CountedOnce(opened)
            adjacency = neighbours.among(EACH_RECORD, opened.units() if neighbours.knows_units else None)
            trust, randomness, loss = Central(), Randomness.from_seed(seed), loss.of_one_release()
            while True:
                budget = QuestionBudget.rehearsing(loss)
                reply = _Reply(records, trust, adjacency, randomness)
                yield pay_and_converse(question, adjacency, trust, budget, reply)
        finally:
            opened.close()


_CONFIRMED: list[tuple[VerifyQuestion, Mapping[str, Any], int]] = []
"""The last table whose subsets were judged: all answers about it have one truth, which takes many fits."""


def confirmed(question: VerifyQuestion, table: Mapping[str, Any]) -> int:
    """In how many subsets public records confirm a claim: the subsets are those of `answers`."""
    for asked, of, count in _CONFIRMED:
        if asked == question and of is table:
            return count
    plans = rehearse(question, PrivacyLoss.pure(1), Neighbours.ADD_REMOVE.among(EACH_RECORD, None))
    (query,) = (plan.query for plan in plans if isinstance(plan.query, SubsetQuery))
    records = Scored(open_records(table, unit=EACH_RECORD, key=KEY))
    try:
        count = records.confirmed(query)
    finally:
        records.close()
    _CONFIRMED[:] = [(question, table, count)]
    return count


class _Reply:
    """A conversation's replies: a part is opened when it is paid for, and asked again under the same payment."""

    def __init__(self, records: CountSource, trust: Central, adjacency: Any, randomness: Randomness) -> None:
        self._of = records, trust, adjacency, randomness
        self._memories: dict[int, FleetingMemory] = {}
        self._paid: dict[int, Release] = {}

    def __call__(self, step: Step, allotment: Allotment) -> Release:
        query, part = step.query, allotment.part
        if part not in self._paid:
            self._memories[part] = FleetingMemory()
            self._paid[part] = self._run(query.paid_as, allotment)
        return self._paid[part] if query == query.paid_as else self._run(query, allotment)

    def _run(self, query: Query, allotment: Allotment) -> Release:
        records, trust, adjacency, randomness = self._of
        plan = trust.turn(query, allotment.loss, adjacency)
        return trust.run(plan, [Curator(records, self._memories[allotment.part])], allotment, randomness)


class _CountedOnce:
    """A `CountSource` of public records that keeps what it counted: most answers begin with the same counts."""

    def __init__(self, records: Scored) -> None:
        self._records, self._kept = records, dict[Any, Any]()

    def check(self, axes: Axes) -> None:
        self._once(("check", axes), lambda: self._records.check(axes))

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        return self._once(("counts", axes), lambda: self._records.counts(axes))

    def sums(self, axes: Axes, half: int) -> list[int]:
        return self._once(("sums", axes, half), lambda: self._records.sums(axes, half))

    def squares(self, axes: Axes, half: int) -> list[int]:
        return self._once(("squares", axes, half), lambda: self._records.squares(axes, half))

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        return self._once(("prefixes", axes, tuple(at)), lambda: self._records.prefixes(axes, at))

    def confirmed(self, query: SubsetQuery) -> int:
        return self._once(("confirmed", query), lambda: self._records.confirmed(query))

    def units(self) -> int:
        return self._records.units()

    def _once(self, key: Any, count: Callable[[], Counted]) -> Counted:
        if key not in self._kept:
            self._kept[key] = count()
        kept: Counted = self._kept[key]
        return kept
