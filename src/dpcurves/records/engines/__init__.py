"""SENSITIVE. Engines that count where records lie: exact integers of a plan's table leave them, and nothing else."""

from .handle import EngineTable
from .postgres import postgres
from .postgres_proof import checked_postgres

__all__ = ["EngineTable", "checked_postgres", "postgres"]
