from .engine import EngineTable, table_from_url

__all__ = [
    "EngineTable", "table_from_url",
]  # fmt: skip
