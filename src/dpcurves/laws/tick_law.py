"""What laws of streams have in common: a release of one tick, the same numbers again at every tick."""

from __future__ import annotations

from abc import abstractmethod

from .law import Law


class TickLaw(Law):
    """A law of what one tick of a stream releases."""

    __slots__ = ()

    @property
    def missing(self) -> None:
        """Tuples in no declared state count nowhere."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values a tick has."""

    def blank(self) -> tuple[int, ...]:
        return (0,) * self.size
