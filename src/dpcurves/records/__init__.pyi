from .counting import CountSource, Records, tabulate
from .opening import open_records

__all__ = [
    "CountSource", "Records", "open_records", "tabulate",
]  # fmt: skip
