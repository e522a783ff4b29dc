"""What all results have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..release import PrivacyStatement


class Result:
    """A curve, or a number, that was read from releases: it prints as one line, and tells its notes."""

    if TYPE_CHECKING:

        @property
        def privacy(self) -> PrivacyStatement: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known before the numbers are believed, each in one line, from released numbers alone."""
        return self.privacy.notes

    def __repr__(self) -> str:
        facts = (*self._in_short(), self.privacy.loss, self.privacy.adjacency)
        return f"{type(self).__name__}({', '.join(facts)})"

    def _in_short(self) -> tuple[str, ...]:
        """What the one line says before loss and adjacency: the column, and how many cells, points or records."""
        return ()
