from .base import Planner, TrustModel, find_filter, run_conversation
from .central import Central, CountedTable, Curator

__all__ = [
    "Central", "CountedTable", "Curator", "Planner", "TrustModel", "find_filter", "run_conversation",
]  # fmt: skip
