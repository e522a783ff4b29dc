"""Streams: what is asked of them, how they are followed and drawn, and how noisy counts are read."""

from .data import Forest
from .feed import CsvFile, CsvLines, JsonLines, JsonLinesTuples, RedisSink, RedisStream, follow, plot
from .stream_readings import (
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

__all__ = [
    "Aggregated", "AggregatedReader", "Auto", "AutoWindow", "Counts", "CountsReader", "CsvFile", "CsvLines", "Event",
    "Forest", "GroupReader", "GroupWindow", "Groups", "JsonLines", "JsonLinesTuples", "Jump", "Low", "Plain",
    "PlainWindow", "PrunedStates", "RedisSink", "RedisStream", "Smoother", "Smoothing", "TickReading", "TotalReading",
    "Totals", "TotalsReader", "follow", "plot",
]  # fmt: skip
