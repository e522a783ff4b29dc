"""Two parties who compute together: as processes that talk, or as people who leave letters for each other."""

from .connection import Connection, conducted
from .device import Device
from .letters import AGGREGATOR, Card, Place, Writer
from .mailbox import FolderMailbox, Mailbox
from .meetings import Meeting, meetings, promise
from .person import Collector, Person
from .settlement import Settlements, settled

__all__ = [
    "AGGREGATOR", "Card", "Collector", "Connection", "Device", "FolderMailbox", "Mailbox", "Meeting", "Person", "Place",
    "Settlements", "Writer", "conducted", "meetings", "promise", "settled",
]  # fmt: skip
