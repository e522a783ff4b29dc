"""What all results have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..release import Face


class Result:
    """A curve, or a number, that was read from releases: it prints as one line, and tells its notes."""

    if TYPE_CHECKING:

        @property
        def face(self) -> Face: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known before the numbers are believed, each in one line, from released numbers alone."""
        return self.face.notes

    def __repr__(self) -> str:
        facts = (*self._in_short(), self.face.loss, self.face.adjacency)
        return f"{type(self).__name__}({', '.join(facts)})"

    def _in_short(self) -> tuple[str, ...]:
        """What the one line says before loss and adjacency: the column, and how many cells, points or records."""
        return ()
