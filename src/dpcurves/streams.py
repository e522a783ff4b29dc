"""Streams: what is asked of them, how they are followed and drawn, and how noisy counts are read."""

from .feed import CsvLines, JsonLines, RedisSink, RedisStream, follow, plot
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
    "Aggregated", "AggregatedReader", "Auto", "AutoWindow", "Counts", "CountsReader", "CsvLines", "Event",
    "GroupReader", "GroupWindow", "Groups", "JsonLines", "Jump", "Low", "Plain", "PlainWindow", "PrunedStates",
    "RedisSink", "RedisStream", "Smoother", "Smoothing", "TickReading", "TotalReading", "Totals", "TotalsReader",
    "follow", "plot",
]  # fmt: skip
