"""Two servers, neither of which has to be trusted alone: the task, data owners' reports, the servers, and analysts."""

from ..serving.errors import ProtocolAborted
from ..serving.identity import Server
from .task import Task

__all__ = ["ProtocolAborted", "Server", "Task"]
