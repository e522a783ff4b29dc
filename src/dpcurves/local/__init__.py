"""The local model, deployed: tasks, what a person's device does, and what an aggregator does. Nobody is trusted."""

from ..curves.area_of_bits import First
from ..mechanisms.reported_tree import Coins
from ..queries import Read
from .collection import Collection, aggregate
from .grid_choice import grid_for
from .kept import Kept
from .roads import Road, area_roads
from .rounding import Rounding
from .second_round import SecondRound, TwoRoundArea, publish, read_task
from .task import Task

__all__ = [
    "Coins",
    "Collection",
    "First",
    "Kept",
    "Read",
    "Road",
    "Rounding",
    "SecondRound",
    "Task",
    "TwoRoundArea",
    "aggregate",
    "area_roads",
    "grid_for",
    "publish",
    "read_task",
]
