"""SENSITIVE. Engines for PostgreSQL and Spark, which count records where they are stored.

Exact counts pass here. Each session first checks on public numbers that an engine assigns the same cells as DuckDB.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
