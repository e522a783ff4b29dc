from .counts import (
    AdaptiveSmoother,
    AdaptiveWindowSmoother,
    AggregatedCounts,
    AggregatedReader,
    Counts,
    CountsReader,
    PrunedStates,
    Smoothing,
    TimeStepReading,
    UnsmoothedCounts,
    UnsmoothedWindow,
)
from .drift import DriftWatch, WindowDrift
from .groups import GroupEstimator, Groups, GroupWindowEstimator, Smoother, TotalReading, Totals, TotalsReader
from .question import Event, Jump, Low
from .uncounted import UncountedReading

__all__ = [
    "AdaptiveSmoother",
    "AdaptiveWindowSmoother",
    "AggregatedCounts",
    "AggregatedReader",
    "Counts",
    "CountsReader",
    "DriftWatch",
    "Event",
    "GroupEstimator",
    "GroupWindowEstimator",
    "Groups",
    "Jump",
    "Low",
    "PrunedStates",
    "Smoother",
    "Smoothing",
    "TimeStepReading",
    "TotalReading",
    "Totals",
    "TotalsReader",
    "UncountedReading",
    "UnsmoothedCounts",
    "UnsmoothedWindow",
    "WindowDrift",
]  # fmt: skip
