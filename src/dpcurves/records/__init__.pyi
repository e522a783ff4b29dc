from .counting import Records, tabulate
from .opening import open_records

__all__ = [
    "Records", "open_records", "tabulate",
]  # fmt: skip
