from .counts import (
    Aggregated,
    AggregatedReader,
    Auto,
    AutoWindow,
    Counts,
    CountsReader,
    Plain,
    PlainWindow,
    PrunedStates,
    Smoothing,
    TickReading,
)
from .drift import DriftWatch, WindowDrift
from .groups import GroupReader, Groups, GroupWindow, Smoother, TotalReading, Totals, TotalsReader
from .question import Event, Jump, Low
from .uncounted import UncountedReading

__all__ = [
    "Aggregated", "AggregatedReader", "Auto", "AutoWindow", "Counts", "CountsReader", "DriftWatch", "Event",
    "GroupReader", "GroupWindow", "Groups", "Jump", "Low", "Plain", "PlainWindow", "PrunedStates", "Smoother",
    "Smoothing",
    "TickReading", "TotalReading", "Totals", "TotalsReader", "UncountedReading", "WindowDrift",
]  # fmt: skip
