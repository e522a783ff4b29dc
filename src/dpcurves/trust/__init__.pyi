from .base import Planner, TrustModel, conversation
from .central import Central, Formerly
from .central_stream import CentralStream, Watcher
from .curator import Curator
from .function_shares import FunctionShares, Owners, ShareHolder
from .local import Local
from .person import Person

__all__ = [
    "Central", "CentralStream", "Curator", "Formerly", "FunctionShares", "Local", "Owners", "Person", "Planner",
    "ShareHolder", "TrustModel", "Watcher", "conversation",
]  # fmt: skip
