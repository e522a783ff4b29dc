"""Base of laws of streams: a release of one tick, the same numbers again at every tick."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol

from dpcurves.arrays import FloatArray
from dpcurves.laws.law import Law
from dpcurves.laws.noise import Family


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
        """The number of values of a tick."""

    def blank(self) -> tuple[int, ...]:
        return (0,) * self.size


class Estimator(Protocol):
    """The estimator of totals from values, tick by tick."""

    def read(self, values: FloatArray) -> FloatArray:
        """The totals after the values of one more tick, (keys,)."""


class PrefixLaw(TickLaw):
    """A law of values that estimate how many tuples came so far, for each key."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def keys(self) -> int: ...

    @property
    @abstractmethod
    def family(self) -> Family:
        """The family of the draws that noise adds up."""

    @abstractmethod
    def estimator(self) -> Estimator:
        """The estimator of totals from values, from the first tick on."""

    @abstractmethod
    def variance(self, tick: int, window: int | None = None) -> float:
        """The variance of the total after a tick, or of the sum of the last ticks, so many as the window has."""
