"""SENSITIVE. All that opens records. Trust models and the session reach this room; what reads answers never does."""

from .counting import CountSource, Records, tabulate
from .opening import open_records

__all__ = ["CountSource", "Records", "open_records", "tabulate"]
