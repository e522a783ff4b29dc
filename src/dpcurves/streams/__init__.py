"""Readings of a stream: from noisy integers, tick by tick, to counts, windows and events. They cost no privacy.

`follow`, `plot`, `CsvLines`, `JsonLines`, `RedisStream` and `RedisSink` stand floors above, in `dpcurves.feed`.
They are found here by name alone, when somebody asks for them: no reading can.
"""

from importlib import import_module
from typing import Any

from .aggregated import Aggregated, AggregatedReader
from .auto import Auto, AutoWindow
from .counts import Counts, CountsReader, Smoothing, TickReading
from .events import Event, Jump, Low
from .groups import GroupReader, Groups, GroupWindow, Smoother
from .plain import Plain, PlainWindow
from .pruned import PrunedStates
from .totals import TotalReading, Totals, TotalsReader

__all__ = [
    "Aggregated", "AggregatedReader", "Auto", "AutoWindow", "Counts", "CountsReader", "Event", "GroupReader",
    "GroupWindow", "Groups", "Jump", "Low", "Plain", "PlainWindow", "PrunedStates", "Smoother", "Smoothing",
    "TickReading", "TotalReading", "Totals", "TotalsReader",
]  # fmt: skip

_ABOVE = dict.fromkeys(("CsvLines", "JsonLines", "RedisSink", "RedisStream", "follow", "plot"), "feed")


def __getattr__(name: str) -> Any:
    """What follows streams, from the room that does."""
    if name not in _ABOVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dpcurves.{_ABOVE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ABOVE})
