from .base import Planner, TrustModel, run_conversation
from .central import Central, Curator

__all__ = [
    "Central", "Curator", "Planner", "TrustModel", "run_conversation",
]  # fmt: skip
