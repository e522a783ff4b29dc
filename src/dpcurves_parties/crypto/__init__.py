"""Cryptography: secret shares, function secret sharing of comparisons, garbled circuits. Randomness is an argument."""

from .checked import CheckedValues, SharedChecked, checked_values, share_checked_cells
from .checked_keys import CheckedKeys, CheckedShare, checked_record_words
from .comparison import Shared, prefix_sums, share_cells, values
from .comparison_keys import ComparisonKeys, PublicShare
from .domain import Domain
from .engine import Engine, TaskKeys
from .fast import FastEngine, engine_of_task, lanes_here
from .portable import PortableEngine
from .ring import Z64, Z128, Ring
from .server_keys import Octets, SeedShare

__all__ = [
    "Z64", "Z128", "CheckedKeys", "CheckedShare", "CheckedValues", "ComparisonKeys", "Domain", "Engine", "FastEngine",
    "Octets", "PortableEngine", "PublicShare", "Ring", "SeedShare", "Shared", "SharedChecked", "TaskKeys",
    "checked_record_words", "checked_values", "engine_of_task", "lanes_here", "prefix_sums", "share_cells",
    "share_checked_cells", "values",
]  # fmt: skip
