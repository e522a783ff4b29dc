"""A table that stays in its engine: where it lies, and how it is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...privacy import Unit
from .engine import CountingEngine


class EngineTable(ABC):
    """A handle of a table on a server, given to a session in place of a file. Its repr shows no password."""

    @property
    @abstractmethod
    def engine(self) -> str:
        """The engine's name, as it stands in a privacy statement."""

    @property
    def version(self) -> int | None:
        """The version of the table that is read, whatever is written later; None: none is fixed."""
        return None

    @abstractmethod
    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect, and look at the schema and at no row.

        Raises:
            ValueError: it cannot be reached, or the table is not there.
        """
