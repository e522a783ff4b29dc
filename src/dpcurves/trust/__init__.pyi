from .base import Planner, TrustModel, conversation
from .central import Central
from .curator import Curator

__all__ = [
    "Central", "Curator", "Planner",
    "TrustModel", "conversation",
]  # fmt: skip
