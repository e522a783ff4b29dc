"""Noisy counts from two servers that hold secret shares of each report: the task document, the servers, and clients."""

from ..serving.identity import Server
from ..serving.messages import ProtocolError
from .task import Task

__all__ = ["ProtocolError", "Server", "Task"]
