from .engine import EngineTable, table_at

__all__ = [
    "EngineTable", "table_at",
]  # fmt: skip
