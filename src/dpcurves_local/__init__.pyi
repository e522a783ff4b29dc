import dpcurves.queries

from .aggregator import Collection, Inviter, aggregate
from .device import ReportMemo, Rounding
from .second_round import (
    AreaProtocol,
    FirstClass,
    SecondRound,
    TwoRoundArea,
    compare_area_protocols,
    publish,
    read_task,
)
from .task import Task, choose_grid
from .trust import Coins, Local

CountUse = dpcurves.queries.CountUse

__all__ = [
    "AreaProtocol",
    "Coins",
    "Collection",
    "CountUse",
    "FirstClass",
    "Inviter",
    "Local",
    "ReportMemo",
    "Rounding",
    "SecondRound",
    "Task",
    "TwoRoundArea",
    "aggregate",
    "choose_grid",
    "compare_area_protocols",
    "publish",
    "read_task",
]  # fmt: skip
