"""Who computes with whom: permutations of all people from one public seed, which was promised before any value."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from ..arguments import ProtocolAborted, Refused
from ..noise import Randomness

SEED_SIZE = 32
_PURPOSE = b"dpcurves: seed of meetings, version 1\n"


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two people of one permutation. The first one garbles.

    Attributes:
        task: The hash of the task.
        round: The number of the permutation.
        people: The numbers of both.
    """

    task: bytes
    round: int
    people: tuple[int, int]

    @property
    def name(self) -> bytes:
        """What no other meeting of any task is called."""
        return b"meeting 1\n" + self.task + f" {self.round} {self.people[0]} {self.people[1]}".encode()

    def partner(self, person: int) -> int:
        """Who is met.

        Raises:
            ValueError: the person is not of this meeting.
        """
        if person not in self.people:
            raise Refused("person", "it is not of this meeting")
        return self.people[1 - self.people.index(person)]


def promise(seed: bytes) -> bytes:
    """What is published of a seed while people enter, so that nobody chooses it afterwards."""
    return sha256(_PURPOSE + seed).digest()


def meetings(task: bytes, seed: bytes, promised: bytes, people: int, rounds: int) -> tuple[Meeting, ...]:
    """All meetings: neighbours in each permutation; with an odd number of people, the last one of each meets nobody.

    Anybody can work them out again. A meeting that breaks is dropped, and nobody of it is paired anew.

    Raises:
        ProtocolAborted: the seed is not the promised one.
        ValueError: there are fewer than 2 people, or no round.
    """
    if len(seed) != SEED_SIZE or not hmac.compare_digest(promise(seed), promised):
        raise ProtocolAborted("seed", "it is not the one that was promised")
    if people < 2 or rounds < 1:
        raise Refused("people", "at least two, and one round, are needed")
    return tuple(
        Meeting(task, number, both) for number in range(rounds) for both in _pairs(_order(task, seed, number, people))
    )


def _order(task: bytes, seed: bytes, number: int, people: int) -> list[int]:
    """A permutation, by Fisher and Yates's shuffle."""
    drawn, order = Randomness.keyed(seed, f"permutation {number} of {task.hex()}"), list(range(people))
    for place in range(people - 1, 0, -1):
        other = drawn.below(place + 1)
        order[place], order[other] = order[other], order[place]
    return order


def _pairs(order: list[int]) -> list[tuple[int, int]]:
    return [both for place, both in enumerate(pairwise(order)) if place % 2 == 0]
