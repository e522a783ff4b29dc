"""SECRET. Two-party computation of the pairs of a task: the job, this server's inputs, and the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import IntArray
from dpcurves.ledger import Allotment
from dpcurves.noise.randomness import Randomness
from dpcurves.release import Plan, Release, UnsupportedQuery

from ..crypto.circuits import traced
from ..crypto.two_party import Job, Owner, Talk, evaluate, garble, together
from ..serving.errors import ProtocolAborted
from ..serving.two_servers.tables import Standing
from .jobs import (
    answers_by_servers,
    given_to_answers_by_servers,
    given_to_sum,
    number_of,
    response_to,
    sum_of_pairs,
)
from .mechanisms import Noise, response_of
from .meetings import promised_pairs
from .release import noise_of, of_answers, of_sum
from .settlement import Shelf, settled
from .task import PairTask

Bits = NDArray[np.bool_]
WARM = 256
"""Instances that the fast loops are taken for."""


def warm() -> None:
    """Compile the fast loops, so that the first answer does not wait for them."""
    job = Job(b"warm", traced(lambda x, y: x < y, 1, 1), (Owner.SHARED, Owner.SHARED), WARM)
    zeros = [np.zeros(WARM, np.uint64)] * 2
    together(garble(job, zeros, Randomness.system()), evaluate(job, zeros, Randomness.system()))


@dataclass(frozen=True)
class PairsOf:
    """Public facts of the pairs of a closed task.

    Attributes:
        task: The task.
        people: Number of people that count.
        seed: Seed that pairs are drawn from.
    """

    task: PairTask
    people: int
    seed: bytes

    @cached_property
    def plan(self) -> Plan:
        """Plan of the computation.

        Raises:
            ProtocolAborted: so few people can not be asked.
        """
        try:
            return self.task.plan(self.people)
        except UnsupportedQuery as error:
            raise ProtocolAborted("reports", f"of {self.people} people nothing is told: {error}", 409) from None

    @cached_property
    def pairs(self) -> IntArray:
        """Two numbers of people for each pair; people are numbered as their reports are in order of ids."""
        return promised_pairs(self.task.pairing, self.people, self.seed, self.task.commitment)

    def job(self, name: bytes) -> Job:
        """The circuit for all pairs."""
        kernel, count = self.task.kernel, len(self.pairs)
        if self.task.noise is Noise.EACH:
            return answers_by_servers(name, kernel, response_of(self.task.query, self.task.loss), count)
        return sum_of_pairs(name, kernel, noise_of(self.plan), count)

    def release(self, bits: Sequence[Bits], allotment: Allotment) -> Release:
        """Release of the opened output."""
        if self.task.noise is Noise.EACH:
            answers = response_to(response_of(self.task.query, self.task.loss), bits)
            return of_answers(self.plan, self.pairs, answers, allotment, seeded=False)
        return of_sum(self.plan, self.pairs, number_of(bits), allotment, seeded=False)


@dataclass(frozen=True, repr=False)
class PairSession:
    """SECRET. Party of one server in the session. It has no repr.

    Formal guarantees: those of `garble` and `settled`: the other server learns no more than the opened output of one
    run, whose noise is thrown by both, once for each set of people, however often it is asked for.

    Attributes:
        pairs: Public facts of the pairs.
        standing: Set of people that count.
        party: 0 garbles, 1 evaluates.
        shares: This server's shares of each column, in order.
    """

    pairs: PairsOf
    standing: Standing
    party: int
    shares: Sequence[NDArray[np.uint64]]

    @property
    def name(self) -> bytes:
        """Name of the session."""
        return self.named(self.pairs.task, str(self.standing.set))

    @staticmethod
    def named(task: PairTask, people: str) -> bytes:
        """Name of the session of a set of people, equal in all releases of this program: none draws coins again."""
        return sha256(f"dpcurves pairs {task.hash} {people}".encode()).digest()

    def talk(self, shelf: Shelf, randomness: Randomness) -> Talk[list[Bits]]:
        """Protocol: both run the computation once, or open the shares that they have."""
        return settled(self.name, lambda: self._run(randomness), shelf, randomness)

    def _run(self, randomness: Randomness) -> Talk[list[Bits]]:
        job = self.pairs.job(self.name)
        act, coins = (garble, evaluate)[self.party], [None] * len(job.ending.owners) if job.ending else []
        return act(job, self._given(randomness), randomness, coins)

    def _given(self, randomness: Randomness) -> list[NDArray[np.uint64] | None]:
        task, pairs = self.pairs.task, self.pairs.pairs
        shares = dict(zip(task.kernel.columns, self.shares, strict=True))
        if task.noise is Noise.ON_SUM:
            return given_to_sum(task.kernel, shares, pairs)
        response = response_of(task.query, task.loss)
        return given_to_answers_by_servers(task.kernel, response, shares, pairs, self.party, randomness)
