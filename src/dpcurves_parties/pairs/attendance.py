"""SECRET. All meetings of one person: what can be said in each by now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpcurves.arguments import ProtocolAborted
from dpcurves.noise import Randomness

from ..serving.errors import Trouble
from ..serving.ticket import Role, hash_of
from .device import Device
from .person import Person
from .post import Post
from .promise import Agreement

OF_SERVERS = 500
"""From this status on it is no partner who is to blame."""


class Attended(NamedTuple):
    """Progress of a person in a task: state of the drawing, and of the meetings.

    Attributes:
        drawn: True if the pairs are drawn.
        done: Meetings in which all is said.
        waiting: Meetings in which the partner has to write.
        broken: Meetings that are dropped: the partner has not entered, or what came was not from there.
    """

    drawn: bool = False
    done: int = 0
    waiting: int = 0
    broken: int = 0

    @property
    def over(self) -> bool:
        """True once pairs are drawn and no meeting waits for a message."""
        return self.drawn and not self.waiting


@dataclass(slots=True, repr=False, eq=False)
class Attendance:
    """SECRET: a person with a ticket, a device and the way to the others. It has no repr.

    Attributes:
        number: The person's number in the task.
        device: The person's own file.
        post: The way to the others.
        heed: Is told of each meeting that breaks, in one line without a value.
    """

    number: int
    device: Device
    post: Post
    heed: Callable[[str], object] = lambda line: None

    @classmethod
    def of(cls, post: Post, randomness: Randomness, path: Any, heed: Callable[[str], object]) -> Attendance:
        """Enter a task with the device in a file, which is made if it is not there.

        Raises:
            ProtocolAborted: the ticket is of another task or was used with another device; or the task is closed.
        """
        task, token = post.task, post.ticket.token
        number = task.bearers.get((Role.OWNER, hash_of(token)))
        if post.ticket.task != task.hash or number is None:
            raise ProtocolAborted("ticket", "it is of another task")
        promised = task.promise
        device = Device.of(path, promised.task, promised.most, randomness)
        post.enter(device.writer.bundle(promised.task, number))
        return cls(number, device, post, heed)

    def attend(self, values: Sequence[Any]) -> Attended:
        """Send the messages due in all meetings. A failed meeting does not prevent others from going on.

        Raises:
            ProtocolAborted: the server can not be reached, or the device not be written.
        """
        agreed = self.post.agreement
        if agreed is None:
            return Attended()
        person = Person(self.number, agreed, self.device, self.post, self.post.bundle)
        counts = {True: 0, False: 0, None: 0}
        for meeting in agreed.meetings_of(self.number):
            counts[self._said(person, agreed, meeting.number, values)] += 1
        return Attended(True, counts[True], counts[False], counts[None])

    def _said(self, person: Person, agreed: Agreement, number: int, values: Sequence[Any]) -> bool | None:
        """Result of a meeting: True if all messages are sent, False if some are due; None: the meeting is broken."""
        meeting = agreed.meetings[number]
        if not self.post.has_entered(meeting.partner(self.number)):
            return None  # before anything is spent
        try:
            return person.attend(meeting, values)
        except ProtocolAborted as error:
            if isinstance(error, Trouble) or error.status >= OF_SERVERS:
                raise
            self.heed(f"pair {number} is dropped: {error}")
            return None
