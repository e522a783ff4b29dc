"""Shares, comparison functions and what expands their seeds. Randomness is an argument; no statistics here."""

from .comparison import Octets, Shared, prefix_sums, share_cells, values
from .comparison_keys import ComparisonKeys, Domain, PublicShare, SeedShare
from .engine import Engine, TaskKeys
from .fast import FastEngine, engine_of_task, lanes_here
from .portable import PortableEngine
from .ring import Z64, Z128, Ring

__all__ = [
    "Z64", "Z128", "ComparisonKeys", "Domain", "Engine", "FastEngine", "Octets", "PortableEngine", "PublicShare",
    "Ring", "SeedShare", "Shared", "TaskKeys", "engine_of_task", "lanes_here", "prefix_sums", "share_cells", "values",
]  # fmt: skip
