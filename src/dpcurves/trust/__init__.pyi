from .base import Planner, TrustModel, find_filter, run_conversation
from .central import Central, Curator

__all__ = [
    "Central", "Curator", "Planner", "TrustModel", "find_filter", "run_conversation",
]  # fmt: skip
