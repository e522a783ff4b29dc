"""What ends a protocol before it tells anything."""

from __future__ import annotations


class ProtocolAborted(ValueError):
    """A message was not what the protocol says, or came from somebody else. One line; nothing was told.

    Attributes:
        status: What HTTP calls it.
    """

    def __init__(self, line: str, status: int = 400) -> None:
        super().__init__(line)
        self.status = status
