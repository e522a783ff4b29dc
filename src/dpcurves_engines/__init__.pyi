from .postgres_engine import checked_postgres, postgres
from .spark_engine import checked_spark
from .spark_table import spark, spark_at
from .statement import sql

__all__ = [
    "checked_postgres", "checked_spark", "postgres", "spark", "spark_at", "sql",
]  # fmt: skip
