from .counting import Records, tabulate
from .table_sources import open_records

__all__ = [
    "Records", "open_records", "tabulate",
]  # fmt: skip
