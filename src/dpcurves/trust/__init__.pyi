from .base import Planner, TrustModel, conversation
from .central import Central, Curator

__all__ = [
    "Central", "Curator", "Planner", "TrustModel", "conversation",
]  # fmt: skip
