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
