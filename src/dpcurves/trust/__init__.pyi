from .base import Planner, TrustModel, conversation
from .central import Central, Curator, Formerly

__all__ = [
    "Central", "Curator", "Formerly", "Planner", "TrustModel", "conversation",
]  # fmt: skip
