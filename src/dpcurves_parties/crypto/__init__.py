"""Cryptography: secret shares, function secret sharing of comparisons, garbled circuits. Randomness is an argument."""

from .comparison import (
    CheckedValues,
    Node,
    NodeMarkKey,
    NodeSums,
    NodeWalk,
    evaluate_checked_keys,
    evaluate_keys,
    find_path_nodes,
    prefix_sums,
    share_cells,
    share_checked_cells,
    sum_left_counts,
)
from .engine import Engine, FastEngine, PortableEngine, TaskKeys, select_engine, supported_lanes
from .keys import CheckedKeys, CheckedShare, ComparisonKeys, PublicShare, RandomByteSource, SeedShare, SharedKeys
from .ring import Z64, Z128, Domain, Ring

__all__ = [
    "Z64",
    "Z128",
    "CheckedKeys",
    "CheckedShare",
    "CheckedValues",
    "ComparisonKeys",
    "Domain",
    "Engine",
    "FastEngine",
    "Node",
    "NodeMarkKey",
    "NodeSums",
    "NodeWalk",
    "PortableEngine",
    "PublicShare",
    "RandomByteSource",
    "Ring",
    "SeedShare",
    "SharedKeys",
    "TaskKeys",
    "evaluate_checked_keys",
    "evaluate_keys",
    "find_path_nodes",
    "prefix_sums",
    "select_engine",
    "share_cells",
    "share_checked_cells",
    "sum_left_counts",
    "supported_lanes",
]  # fmt: skip
