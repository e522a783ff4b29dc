"""SENSITIVE: exact counts pass here. PostgreSQL and Spark count records in place; each session first checks on public
numbers that they assign the same cells as DuckDB."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
