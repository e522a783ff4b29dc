"""SENSITIVE. PostgreSQL and Spark as engines that count where records lie, held to count as DuckDB does."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
