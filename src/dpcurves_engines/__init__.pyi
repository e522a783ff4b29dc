from .postgres_engine import check_postgres, postgres
from .spark_engine import check_spark
from .spark_table import spark, spark_at
from .statement import sql

__all__ = [
    "check_postgres", "check_spark", "postgres", "spark", "spark_at", "sql",
]  # fmt: skip
