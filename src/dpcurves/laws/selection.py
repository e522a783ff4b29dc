"""Answers that are choices, not measurements: there is nothing to subtract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .law import Law


@dataclass(frozen=True, slots=True)
class Choices(Law):
    """Values are choices. `example` is one that tells nothing."""

    KEY: ClassVar[str] = "chosen"

    example: tuple[int, ...]

    @property
    def missing(self) -> None:
        """Nothing was counted."""
        return None

    def blank(self) -> tuple[int, ...]:
        return self.example

    @classmethod
    def values_in(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The choices; no number of records is told."""
        return stored[cls.KEY], None

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """The choices."""
        return {self.KEY: list(values)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote: of as many choices."""
        return cls(tuple(int(value) for value in stored[cls.KEY]))


@dataclass(frozen=True, slots=True)
class Selection(Choices):
    """The law of as many choices as `example` has."""

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.example)


@dataclass(frozen=True, slots=True)
class PartitionDecisions(Choices):
    """Decisions of a growing partition: how many there are is known once they are made."""

    @property
    def size(self) -> None:
        """Not known before."""
        return None
