from .device import AGGREGATOR, Collector, Device, FolderMailbox, KeyBundle, Mailbox, Person, Place, Writer
from .promise import (
    Agreed,
    Agreement,
    Meeting,
    Promise,
    answers_by_servers,
    answers_of_pairs,
    given_to_answers,
    given_to_answers_by_servers,
    given_to_sum,
    meetings,
    number_of,
    promised_pairs,
    response_to,
    shares_of,
    sum_of_pairs,
)
from .session import Connection, End, Settlements, Shelf, conducted, settled
from .statistics import (
    AUC,
    COLLISION,
    GINI,
    KENDALL,
    KERNELS,
    Kernel,
    Noise,
    OwnChoice,
    Permutations,
    Unsigned,
    WithoutRepetition,
    Zetas,
    answered_by,
    area_of,
    best,
    pair_statistic,
    plan,
    simulate,
)
from .task import PAIRINGS, PairTask, Trust, read_seed

__all__ = [
    "AGGREGATOR", "AUC", "COLLISION", "GINI", "KENDALL", "KERNELS", "PAIRINGS", "Agreed", "Agreement", "Collector",
    "Connection", "Device", "End", "FolderMailbox", "Kernel", "KeyBundle", "Mailbox", "Meeting", "Noise",
    "OwnChoice", "PairTask", "Permutations", "Person", "Place", "Promise", "Settlements", "Shelf", "Trust",
    "Unsigned", "WithoutRepetition", "Writer", "Zetas", "answered_by", "answers_by_servers", "answers_of_pairs",
    "area_of", "best", "conducted", "given_to_answers", "given_to_answers_by_servers", "given_to_sum", "meetings",
    "number_of", "pair_statistic", "plan", "promised_pairs", "read_seed", "response_to", "settled", "shares_of",
    "simulate", "sum_of_pairs",
]  # fmt: skip
