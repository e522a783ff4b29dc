from .asking import sql
from .postgres import postgres
from .postgres_engine import checked_postgres
from .spark import spark, spark_at
from .spark_engine import checked_spark

__all__ = [
    "checked_postgres", "checked_spark", "postgres", "spark", "spark_at", "sql",
]  # fmt: skip
