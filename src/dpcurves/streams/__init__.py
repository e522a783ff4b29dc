"""Readings of a stream: from noisy integers, tick by tick, to counts, windows and events. They cost no privacy."""

from .auto import Auto, AutoWindow
from .counts import Counts, CountsReader, Smoothing, TickReading
from .events import Event, Jump, Low
from .plain import Plain, PlainWindow
from .totals import TotalReading, Totals, TotalsReader

__all__ = [
    "Auto", "AutoWindow", "Counts", "CountsReader", "Event", "Jump", "Low", "Plain", "PlainWindow", "Smoothing",
    "TickReading", "TotalReading", "Totals", "TotalsReader",
]  # fmt: skip
