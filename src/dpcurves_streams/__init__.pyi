import dpcurves.data

from .feed import CsvFile, CsvLines, JsonLines, JsonLinesTuples, RedisSink, RedisStream, follow, plot
from .readings import (
    Aggregated,
    AggregatedReader,
    Auto,
    AutoWindow,
    Counts,
    CountsReader,
    Event,
    GroupReader,
    Groups,
    GroupWindow,
    Jump,
    Low,
    Plain,
    PlainWindow,
    PrunedStates,
    Smoother,
    Smoothing,
    TickReading,
    TotalReading,
    Totals,
    TotalsReader,
)  # fmt: skip
from .trust import CentralStream, Watcher

Forest = dpcurves.data.Forest

__all__ = [
    "Aggregated", "AggregatedReader", "Auto", "AutoWindow", "CentralStream", "Counts", "CountsReader", "CsvFile",
    "CsvLines", "Event", "Forest", "GroupReader", "GroupWindow", "Groups", "JsonLines", "JsonLinesTuples", "Jump",
    "Low", "Plain", "PlainWindow", "PrunedStates", "RedisSink", "RedisStream", "Smoother", "Smoothing",
    "TickReading", "TotalReading", "Totals", "TotalsReader", "Watcher", "follow", "plot",
]  # fmt: skip
