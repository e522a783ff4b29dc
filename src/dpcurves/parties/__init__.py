"""Two parties who compute together: as processes that talk, or as people who leave sealed letters for each other."""

from .connection import Connection, End, conducted
from .device import Device
from .jobs import (
    answers_by_servers,
    answers_of_pairs,
    given_to_answers,
    given_to_answers_by_servers,
    given_to_sum,
    number_of,
    response_to,
    shares_of,
    sum_of_pairs,
)
from .letters import AGGREGATOR, KeyBundle, Place, Writer
from .mailbox import FolderMailbox, Mailbox
from .meetings import Meeting, meetings, promised_pairs
from .person import Collector, Person
from .promise import Agreed, Agreement, Promise
from .seed_file import read_seed
from .settlement import Settlements, Shelf, settled
from .task import PAIRINGS, PairTask, Trust

__all__ = [
    "AGGREGATOR", "PAIRINGS", "Agreed", "Agreement", "Collector", "Connection", "Device", "End",
    "FolderMailbox", "KeyBundle", "Mailbox", "Meeting", "PairTask", "Person", "Place", "Promise", "Settlements",
    "Shelf", "Trust", "Writer", "answers_by_servers", "answers_of_pairs", "conducted", "given_to_answers",
    "given_to_answers_by_servers", "given_to_sum", "meetings", "number_of", "promised_pairs", "read_seed",
    "response_to", "settled", "shares_of", "sum_of_pairs",
]  # fmt: skip
