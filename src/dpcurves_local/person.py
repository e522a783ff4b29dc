"""SECRET. The holder of the local model: one person, and the one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Person:
    """Person in the local model, who trusts no other party. It has no repr.

    Attributes:
        slot: The cell of the table that the person's value lies in, row by row; as many as there are cells: missing.
    """

    slot: int
