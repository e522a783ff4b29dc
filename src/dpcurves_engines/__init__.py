"""SENSITIVE: exact counts pass here. PostgreSQL and Spark count where records lie; each session first checks on public
rows that they count as DuckDB does."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
