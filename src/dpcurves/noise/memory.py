"""Noisy sums that a holder must neither draw twice nor forget. SECRET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Memory(Protocol):
    """The secret memory of one holder for one paid part of a grant: noisy sums, by name.

    It keeps noisy sums, not noise: noise that is remembered and added anew to counts that have changed would show the
    change without any noise; a sum that is drawn anew could be averaged. It is as durable as the ledger, and written
    before anything is revealed. What was opened without it cannot be gone on with. It has no repr.
    """

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        """Notes under these names. A name without a note is left out."""
        ...

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        """Note what is not noted yet, durably once this returns; what is noted now under these names.

        The first writer wins, also between processes: only what is returned may be used.
        """
        ...


class FleetingMemory:
    """A memory that ends with the process, for one paid part: afterwards nothing more can be asked of that part."""

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes: dict[str, int] = {}

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        return {name: self._notes[name] for name in names if name in self._notes}

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        """Note what is not noted yet; what is noted now under these names."""
        return {name: self._notes.setdefault(name, value) for name, value in notes.items()}
