"""The local model, deployed: tasks, what a person's device does, and what an aggregator does. Nobody is trusted."""

from .collection import Collection, aggregate
from .kept import Kept
from .task import Task

__all__ = ["Collection", "Kept", "Task", "aggregate"]
