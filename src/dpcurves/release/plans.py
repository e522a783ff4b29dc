"""The plans of a whole conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from .plan import Plan


class Plans(tuple[Plan, ...]):
    """What was planned, turn by turn.

    Attributes:
        notes: What has to be known before anything is paid, each in one line, from public facts alone.
    """

    notes: tuple[str, ...]

    def __new__(cls, plans: Iterable[Plan], notes: Iterable[str] = ()) -> Self:
        """Keep the plans and the notes."""
        made = super().__new__(cls, plans)
        made.notes = tuple(notes)
        return made
