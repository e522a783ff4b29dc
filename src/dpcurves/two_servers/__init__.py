"""Two aggregators that nobody has to trust alone: the task, what owners send, the servers, and who asks them."""

from ..serving.errors import ProtocolAborted
from ..serving.identity import Server
from .task import Task

__all__ = ["ProtocolAborted", "Server", "Task"]
