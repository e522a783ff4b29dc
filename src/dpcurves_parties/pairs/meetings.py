"""Two people who meet in a task, and the name that their meeting has."""

from __future__ import annotations

from dataclasses import dataclass

from dpcurves.arguments import ProtocolAborted, Refused
from dpcurves.arrays import IntArray
from dpcurves.queries import Pairing, commitment


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two people of one pair. The first one garbles.

    Attributes:
        task: The hash of the task.
        number: The number of the pair.
        people: The numbers of both.
    """

    task: bytes
    number: int
    people: tuple[int, int]

    @property
    def name(self) -> bytes:
        """A name that is unique among the meetings of all tasks."""
        return b"meeting 1\n" + self.task + f" {self.number} {self.people[0]} {self.people[1]}".encode()

    def partner(self, person: int) -> int:
        """The number of the other person.

        Raises:
            ValueError: the person is not of this meeting.
        """
        if person not in self.people:
            raise Refused("person", "it is not of this meeting")
        return self.people[1 - self.people.index(person)]


def meetings(task: bytes, pairs: IntArray) -> tuple[Meeting, ...]:
    """A meeting for each pair: (pairs, 2). One that breaks is dropped, and nobody of it is paired anew."""
    return tuple(Meeting(task, number, (one, other)) for number, (one, other) in enumerate(pairs.tolist()))


def promised_pairs(pairing: Pairing, people: int, seed: bytes, promised: str) -> IntArray:
    """The pairs of a seed that was promised while people entered, before any value: nobody chose it afterwards.

    Raises:
        ProtocolAborted: it is another seed.
    """
    if commitment(seed) != promised:
        raise ProtocolAborted("seed", "it is not the one that was promised")
    return pairing.pairs(people, seed)
