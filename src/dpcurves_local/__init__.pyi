import dpcurves.queries

from .area_of_bits import First
from .collection import Collection, aggregate
from .grid_choice import grid_for
from .kept import Kept
from .reported_tree import Coins
from .roads import Road, area_roads
from .rounding import Rounding
from .second_round import SecondRound, TwoRoundArea, publish, read_task
from .task import Task
from .trust import Local

Read = dpcurves.queries.Read

__all__ = [
    "Coins", "Collection", "First", "Kept", "Local", "Read", "Road", "Rounding", "SecondRound", "Task", "TwoRoundArea",
    "aggregate", "area_roads", "grid_for", "publish", "read_task",
]  # fmt: skip
