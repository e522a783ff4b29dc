"""Public agreement of people who compute in pairs, made before any value: the computation, and the pairing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Protocol

from dpcurves.arguments import ProtocolAborted
from dpcurves.queries import Pairing, PairQuery
from dpcurves.release import Plan

from ..crypto.two_party import Job
from .finite_coins import Response
from .jobs import answers_of_pairs
from .law import PairAnswers
from .mechanisms import Kernel, response_of
from .meetings import Meeting, meetings, promised_pairs


class Agreed(Protocol):
    """The part of an agreement that a person needs."""

    @property
    def task(self) -> bytes:
        """The hash of all of it."""

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""

    @property
    def values(self) -> int:
        """Number of values that a person supplies."""

    def job(self, meeting: Meeting) -> Job:
        """Computation of a meeting."""

    def require(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that was not agreed on.

        Raises:
            ProtocolAborted: it is none of the promised pairs, or not this person's.
        """


@dataclass(frozen=True, slots=True)
class Promise:
    """Public commitment to a task, published while people enter, before the seed is shown.

    Attributes:
        kernel: The function of two people's values.
        response: The noise of each pair.
        pairing: Scheme by which pairs are drawn.
        people: Number of people.
        commitment: The commitment to the seed, which fixes it and does not reveal it.
        document: The hash of the document that it stands in; empty: it stands alone.
    """

    kernel: Kernel
    response: Response
    pairing: Pairing
    people: int
    commitment: str
    document: bytes = b""

    @classmethod
    def of(cls, kernel: Kernel, plan: Plan, document: bytes = b"") -> Promise:
        """Promise of a plan.

        Raises:
            ProtocolAborted: it is of another kernel, or no pairs answer on their own by it, or it promises no seed.
        """
        query = plan.query
        if not isinstance(query, PairQuery) or query.kernel != kernel.form or not query.seed:
            raise ProtocolAborted("plan", "one of this kernel is needed, made with a seed")
        people = plan.law.required(PairAnswers).people
        return cls(kernel, response_of(query, plan.loss), query.pairing, people, query.seed, document)

    @property
    def task(self) -> bytes:
        """The hash of all of it."""
        facts = (self.kernel.form, self.response, self.pairing, self.people, self.commitment, self.document)
        return sha256("\n".join(["dpcurves: pairs of people, version 2", *map(repr, facts)]).encode()).digest()

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""
        return self.pairing.each

    def shown(self, seed: bytes) -> Agreement:
        """Everything, once the seed is known.

        Raises:
            ProtocolAborted: it is not the seed that was promised.
        """
        return _shown(self, seed)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Promise with its seed: the pairs that follow from it, and their computation.

    Attributes:
        promise: Promise that was published before.
        seed: Seed that pairs are drawn from.
        meetings: Meetings of all pairs.

    Raises:
        ProtocolAborted: the seed is not the promised one.
    """

    promise: Promise
    seed: bytes
    meetings: tuple[Meeting, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        told = self.promise
        pairs = promised_pairs(told.pairing, told.people, self.seed, told.commitment)
        object.__setattr__(self, "meetings", meetings(told.task, pairs))

    @property
    def task(self) -> bytes:
        """The hash of the promise."""
        return self.promise.task

    @property
    def most(self) -> int:
        """Most meetings that a person enters."""
        return self.promise.most

    @property
    def values(self) -> int:
        """Number of values that a person supplies."""
        return len(self.promise.kernel.columns)

    def meetings_of(self, person: int) -> tuple[Meeting, ...]:
        """The meetings of one person."""
        return tuple(meeting for meeting in self.meetings if person in meeting.people)

    def job(self, meeting: Meeting) -> Job:
        """The kernel of both people's values, with noise from coins of both."""
        return answers_of_pairs(meeting.name, self.promise.kernel, self.promise.response, 1)

    def require(self, meeting: Meeting, person: int) -> None:
        """Refuse a meeting that the seed did not give, or that is not this person's.

        Raises:
            ProtocolAborted: it is so.
        """
        there = 0 <= meeting.number < len(self.meetings) and self.meetings[meeting.number] == meeting
        if not there or person not in meeting.people:
            raise ProtocolAborted("meeting", "it is none that was agreed on")


@lru_cache(maxsize=4)  # a pure function of what is public
def _shown(promise: Promise, seed: bytes) -> Agreement:
    return Agreement(promise, seed)
