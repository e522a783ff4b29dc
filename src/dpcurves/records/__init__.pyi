from .counting import CountSource, Records, Scored, tabulate
from .opening import open_records

__all__ = [
    "CountSource", "Records", "Scored", "open_records", "tabulate",
]  # fmt: skip
