"""A table that stays in its engine: where it lies, and how it is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import entry_points

from ...arguments import NotInstalled
from ...privacy import Unit
from .engine import CountingEngine

GROUP = "dpcurves.engines"
"""Entry points of other packages: the scheme of a URL, and the function of it and a table that makes its handle."""


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


def table_at(url: str, table: str) -> EngineTable:
    """The table of the engine that a URL leads to.

    Raises:
        NotInstalled: no installed package knows URLs of this scheme.
        ValueError: the URL or the table's name can not be taken.
    """
    scheme = url.partition("://")[0]
    for each in entry_points(group=GROUP, name=scheme):
        made: EngineTable = each.load()(url, table=table)
        return made
    raise NotInstalled("data", f"no installed package opens {scheme}://")
