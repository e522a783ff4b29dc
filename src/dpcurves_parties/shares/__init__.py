"""Counts of two servers, neither of which has to be trusted alone: the task, its service, and analysts."""

from ..serving.identity import Server
from ..serving.messages import ProtocolAborted
from .task import Task

__all__ = ["ProtocolAborted", "Server", "Task"]
