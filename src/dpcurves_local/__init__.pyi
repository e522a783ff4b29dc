import dpcurves.queries

from .collection import Collection, Inviter, aggregate
from .device import Kept, Rounding
from .second_round import First, Road, SecondRound, TwoRoundArea, area_roads, publish, read_task
from .task import Task, grid_for
from .trust import Coins, Local

Read = dpcurves.queries.Read

__all__ = [
    "Coins", "Collection", "First", "Inviter", "Kept", "Local", "Read", "Road", "Rounding", "SecondRound", "Task",
    "TwoRoundArea", "aggregate", "area_roads", "grid_for", "publish", "read_task",
]  # fmt: skip
