"""Cryptography: secret shares, function secret sharing of comparisons, garbled circuits. Randomness is an argument."""

from .comparison import (
    CheckedValues,
    Marking,
    Node,
    NodeSums,
    NodeWalk,
    below_from,
    checked_values,
    nodes_of,
    prefix_sums,
    share_cells,
    share_checked_cells,
    values,
)
from .engine import Engine, FastEngine, PortableEngine, TaskKeys, engine_of_task, lanes_here
from .keys import CheckedKeys, CheckedShare, ComparisonKeys, Octets, PublicShare, SeedShare, Shared
from .ring import Z64, Z128, Domain, Ring

__all__ = [
    "Z64", "Z128", "CheckedKeys", "CheckedShare", "CheckedValues", "ComparisonKeys", "Domain", "Engine",
    "FastEngine", "Marking", "Node", "NodeSums", "NodeWalk", "Octets", "PortableEngine", "PublicShare", "Ring",
    "SeedShare", "Shared", "TaskKeys", "below_from", "checked_values",
    "engine_of_task", "lanes_here", "nodes_of", "prefix_sums", "share_cells", "share_checked_cells", "values",
]  # fmt: skip
