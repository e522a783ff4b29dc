from .base import Planner, TrustModel, conversation
from .central import Central, Formerly
from .curator import Curator

__all__ = [
    "Central", "Curator", "Formerly", "Planner",
    "TrustModel", "conversation",
]  # fmt: skip
