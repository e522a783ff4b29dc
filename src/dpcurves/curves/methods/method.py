"""What every way of counting gives: the releases of a conversation, and which of them are read."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, Protocol

from ...data import Axis
from ...release import Evidence, Release, Setting, Step
from ..keys import By


class Counted(NamedTuple):
    """A conversation that has ended.

    Attributes:
        releases: All answers, in their order. The last one counts the cells.
        read: Those that curves are read from, in their order: all, or the last one alone, if the others chose what it
            counts.
    """

    releases: tuple[Release, ...]
    read: tuple[Evidence, ...]

    @classmethod
    def last_of(cls, releases: tuple[Release, ...]) -> Counted:
        """A conversation whose last answer alone is read."""
        return cls(releases, (Evidence.of(releases[-1]),))


class Method(Protocol):
    """A way of counting one column along its grid. Fields are public.

    Formal guarantees: `turns` is a pure function of the fields, of public facts and of the releases that it is sent.
    """

    def turns(self, axis: Axis, by: By, setting: Setting) -> Generator[Step, Release, Counted]:
        """Ask; with `by`, for each category on the same cells."""
        ...
