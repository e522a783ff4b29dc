"""Two parties who compute together: as processes that talk, or as people who leave letters for each other."""

from .connection import Connection, conducted
from .device import Device
from .jobs import (
    answers_of_pairs,
    given_to_answers,
    given_to_sum,
    number_of,
    response_to,
    shares_of,
    sum_of_pairs,
)
from .letters import AGGREGATOR, Card, Place, Writer
from .mailbox import FolderMailbox, Mailbox
from .meetings import Meeting, meetings, promised_pairs
from .person import Collector, Person
from .promise import Agreed, Agreement, Promise
from .settlement import Settlements, settled

__all__ = [
    "AGGREGATOR", "Agreed", "Agreement", "Card", "Collector", "Connection", "Device", "FolderMailbox", "Mailbox",
    "Meeting", "Person", "Place", "Promise", "Settlements", "Writer", "answers_of_pairs", "conducted",
    "given_to_answers", "given_to_sum", "meetings", "number_of", "promised_pairs", "response_to", "settled",
    "shares_of", "sum_of_pairs",
]  # fmt: skip
